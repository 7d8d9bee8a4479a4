"""Element types, under the names that MLIR has for them."""

import struct

from ._errors import InvalidArgument

# The codes of attnDType in attn-c/Attn.h, which are only ever added to.
NAMES = ("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "i1")
CODES = {name: code for code, name in enumerate(NAMES)}
SIZES = {
    "f64": 8,
    "f32": 4,
    "f16": 2,
    "bf16": 2,
    "i64": 8,
    "i32": 4,
    "i16": 2,
    "i8": 1,
    "i1": 1,
}

# As NumPy and PyTorch spell them.
LONG_NAMES = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "bool": "i1",
}
SHORT_TO_LONG = {short: long for long, short in LONG_NAMES.items()}


def parse(name):
    """The short name for either spelling."""
    short = LONG_NAMES.get(name, name) if isinstance(name, str) else name
    if short not in CODES:
        raise InvalidArgument(
            f"expects an element type of {', '.join(NAMES)}, but got {name!r}"
        )
    return short


def _to_bf16(value):
    """The bits of a float, rounded to nearest, ties to even."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    if value != value:
        return (bits >> 16) | 0x40  # stays a NaN without the lower bits
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16


_FORMATS = {"f64": "d", "f32": "f", "f16": "e"}


def pack_scalar(value, dtype, what):
    """The bytes of a Python number as an element of a type.

    Nothing is rounded to an integer and nothing wraps: a number that the type
    does not have is an error, but for the rounding of floats.
    """
    if dtype == "i1":
        if value not in (0, 1):
            raise InvalidArgument(f"expects {what} to be a bool, but got {value!r}")
        return bytes([int(value)])
    if dtype.startswith("i"):
        if isinstance(value, float):
            raise InvalidArgument(
                f"expects {what} to be an integer ({dtype}), but got {value!r}"
            )
        try:
            return int(value).to_bytes(SIZES[dtype], "little", signed=True)
        except OverflowError:
            raise InvalidArgument(
                f"expects {what} to fit {dtype}, but got {value!r}"
            ) from None
    try:
        if dtype == "bf16":
            return struct.pack("<H", _to_bf16(float(value)))
        return struct.pack("<" + _FORMATS[dtype], float(value))
    except OverflowError:
        raise InvalidArgument(
            f"expects {what} to fit {dtype}, but got {value!r}"
        ) from None
