"""What instructions compute that depend on their operands alone.

`find(opcode)` is the types of the operands and a function of arrays, one element
for each thread. The table is of whole opcodes, so that a modifier that nobody
has thought of is an unknown instruction, and not one that is taken for another.
"""

import functools
import itertools

import numpy

_TYPES = {
    "pred": numpy.bool_,
    "f64": numpy.float64,
    "f32": numpy.float32,
    "f16": numpy.float16,
    # As bits.
    "bf16": numpy.uint16,
    **{
        f"{sign}{n}": numpy.dtype(f"u{n // 8}")
        for sign in "ub"
        for n in (8, 16, 32, 64)
    },
    **{f"s{n}": numpy.dtype(f"i{n // 8}") for n in (8, 16, 32, 64)},
}
_TYPES = {name: numpy.dtype(type_) for name, type_ in _TYPES.items()}
_INTEGERS = [f"{sign}{n}" for n in (16, 32, 64) for sign in "us"]
_BITS = ["b16", "b32", "b64"]


def type_of(name):
    return _TYPES[name]


def to_bf16(values):
    """The bits of the nearest bf16 of float32, ties to even."""
    bits = numpy.ascontiguousarray(values, numpy.float32).view(numpy.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return numpy.where(numpy.isnan(values), 0x7FFF, rounded).astype(numpy.uint16)


def from_bf16(bits):
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


def _half_bits(values):
    return values.astype(numpy.float16).view(numpy.uint16)


def _pack(high, low):
    return high.astype(numpy.uint32) << 16 | low


def _divide(a, b):
    """Rounded to zero; by zero all bits are set, as the hardware does."""
    safe = numpy.where(b == 0, 1, b).astype(b.dtype)
    quotient = a // safe
    if a.dtype.kind == "i":
        # NumPy rounds down.
        quotient = quotient + ((quotient < 0) & (quotient * safe != a))
    return numpy.where(b == 0, -1, quotient).astype(a.dtype)


def _remainder(a, b):
    return numpy.where(b == 0, a, a - _divide(a, b) * b).astype(a.dtype)


def _shift(values, count, left):
    """All bits are gone after a shift by the width, or are the sign."""
    width = values.dtype.itemsize * 8
    small = numpy.minimum(count, width - 1).astype(values.dtype)
    shifted = values << small if left else values >> small
    if values.dtype.kind == "u" and (count >= width).any():
        shifted = numpy.where(count >= width, 0, shifted)
    return shifted.astype(values.dtype)


def _extract(values, start, length):
    start, length = ((x & 255).astype(numpy.uint64) for x in (start, length))
    last, wide = numpy.uint64(63), values.astype(numpy.uint64)
    rest = numpy.where(start > last, 0, wide >> numpy.minimum(start, last))
    mask = (numpy.uint64(1) << numpy.minimum(length, last)) - numpy.uint64(1)
    return numpy.where(length > last, rest, rest & mask).astype(values.dtype)


def _make_mask(start, length):
    start, length = (numpy.minimum(x, 32).astype(numpy.uint64) for x in (start, length))
    ones = (numpy.uint64(1) << length) - numpy.uint64(1)
    return (ones << start).astype(numpy.uint32)


def _extract_signed(values, start, length):
    """Beyond the field, and beyond the value, is the sign."""
    start, length = ((x & 255).astype(numpy.int64) for x in (start, length))
    wide = values.astype(numpy.int64) >> numpy.minimum(start, 31)
    rest = 64 - numpy.clip(length, 1, 33)
    return numpy.where(length == 0, 0, wide << rest >> rest).astype(numpy.int32)


def _high(a, b):
    """The upper half of a product."""
    width = a.dtype.itemsize * 8
    products = [int(x) * int(y) >> width for x, y in zip(a, b)]
    mask = (1 << width) - 1
    return numpy.array([x & mask for x in products], f"u{width // 8}")


def _count_bits(values):
    return numpy.array([bin(int(x)).count("1") for x in values], numpy.uint32)


def _reverse_bits(values):
    width = values.dtype.itemsize * 8
    turned = [int(f"{int(x):0{width}b}"[::-1], 2) for x in values]
    return numpy.array(turned, values.dtype)


def _count_leading_zeros(values):
    width = values.dtype.itemsize * 8
    return numpy.array([width - int(x).bit_length() for x in values], numpy.uint32)


def _widen(values):
    return values.astype(f"{values.dtype.kind}{2 * values.dtype.itemsize}")


def _to_integer(values, to):
    # Of 64 bits, which hold the ends of all types.
    limits = numpy.iinfo(_TYPES[to])
    wide = numpy.where(numpy.isnan(values), 0, values).astype(numpy.longdouble)
    least, most = numpy.longdouble(limits.min), numpy.longdouble(limits.max)
    return numpy.clip(numpy.trunc(wide), least, most).astype(_TYPES[to])


def _ordered(a, b):
    return ~(numpy.isnan(a) | numpy.isnan(b))


_COMPARISONS = {
    "eq": numpy.equal,
    "lt": numpy.less,
    "le": numpy.less_equal,
    "gt": numpy.greater,
    "ge": numpy.greater_equal,
}


def _add_integers(table):
    for name in _INTEGERS:
        binary = {
            "add": numpy.add,
            "sub": numpy.subtract,
            "mul.lo": numpy.multiply,
            "mul.hi": _high,
            "div": _divide,
            "rem": _remainder,
            "min": numpy.minimum,
            "max": numpy.maximum,
        }
        for operation, function in binary.items():
            table[f"{operation}.{name}"] = ((name, name), function)
        table[f"mad.lo.{name}"] = ((name,) * 3, lambda a, b, c: a * b + c)
        if name[0] == "s":
            table[f"neg.{name}"] = ((name,), numpy.negative)
            table[f"abs.{name}"] = ((name,), numpy.abs)
        if name[1:] != "64":
            wide = name[0] + str(2 * int(name[1:]))
            table[f"mul.wide.{name}"] = (
                (name, name),
                lambda a, b: _widen(a) * _widen(b),
            )
            table[f"mad.wide.{name}"] = (
                (name, name, wide),
                lambda a, b, c: _widen(a) * _widen(b) + c,
            )
    table["min.relu.s32"] = (
        ("s32", "s32"),
        lambda a, b: numpy.maximum(numpy.minimum(a, b), 0),
    )
    table["max.relu.s32"] = (
        ("s32", "s32"),
        lambda a, b: numpy.maximum(numpy.maximum(a, b), 0),
    )


def _add_bits(table):
    for name in _BITS + ["pred"]:
        table[f"and.{name}"] = ((name, name), numpy.bitwise_and)
        table[f"or.{name}"] = ((name, name), numpy.bitwise_or)
        table[f"xor.{name}"] = ((name, name), numpy.bitwise_xor)
        table[f"not.{name}"] = ((name,), numpy.invert)
    for name in _BITS:
        left = functools.partial(_shift, left=True)
        table[f"shl.{name}"] = ((name, "u32"), left)
        for sign in "bus":
            right = functools.partial(_shift, left=False)
            table[f"shr.{sign}{name[1:]}"] = ((sign + name[1:], "u32"), right)
        table[f"popc.{name}"] = ((name,), _count_bits)
        table[f"clz.{name}"] = ((name,), _count_leading_zeros)
        table[f"brev.{name}"] = ((name,), _reverse_bits)
    table["bfe.u32"] = (("u32",) * 3, _extract)
    table["bfe.u64"] = (("u64", "u32", "u32"), _extract)
    table["bmsk.clamp.b32"] = (("u32", "u32"), _make_mask)
    table["bfe.s32"] = (("s32", "u32", "u32"), _extract_signed)
    for name in _BITS + _INTEGERS + ["f32", "f64"]:
        choose = lambda a, b, p: numpy.where(p, a, b)
        table[f"selp.{name}"] = ((name, name, "pred"), choose)
    for name in _BITS + _INTEGERS + ["f32", "f64", "pred"]:
        table[f"mov.{name}"] = ((name,), lambda a: a)


def _add_comparisons(table):
    for name in _INTEGERS + ["f32", "f64"]:
        for comparison, function in _COMPARISONS.items():
            table[f"setp.{comparison}.{name}"] = ((name, name), function)
    for name in _BITS + _INTEGERS:
        table[f"setp.eq.{name}"] = ((name, name), numpy.equal)
        table[f"setp.ne.{name}"] = ((name, name), numpy.not_equal)
    # Of floats, `ne` is false if one is not a number, and others may be true.
    for name in "f32", "f64":
        both = (name, name)
        for comparison, function in _COMPARISONS.items():
            table[f"setp.{comparison}u.{name}"] = (
                both,
                lambda a, b, function=function: function(a, b) | ~_ordered(a, b),
            )
        table[f"setp.neu.{name}"] = (both, numpy.not_equal)
        table[f"setp.ne.{name}"] = (both, lambda a, b: (a != b) & _ordered(a, b))
        table[f"setp.num.{name}"] = (both, _ordered)
        table[f"setp.nan.{name}"] = (both, lambda a, b: ~_ordered(a, b))


def _add_floats(table):
    binary = {"add": numpy.add, "sub": numpy.subtract, "mul": numpy.multiply}
    for operation, function in binary.items():
        for rounding, name in itertools.product(("", ".rn"), ("f32", "f64")):
            table[f"{operation}{rounding}.{name}"] = ((name, name), function)
    for name in "f32", "f64":
        table[f"max.{name}"] = ((name, name), numpy.fmax)
        table[f"min.{name}"] = ((name, name), numpy.fmin)
        # The sign of the first operand.
        table[f"copysign.{name}"] = ((name, name), lambda a, b: numpy.copysign(b, a))
    # What they give if one is not a number.
    table["max.NaN.f32"] = (("f32", "f32"), numpy.maximum)
    table["min.NaN.f32"] = (("f32", "f32"), numpy.minimum)
    table["fma.rn.f32"] = (
        ("f32",) * 3,
        lambda a, b, c: (a.astype(numpy.float64) * b + c).astype(numpy.float32),
    )
    # Of powers of two, products are exact; of angles, they are rounded to f32.
    table["fma.rn.f64"] = (("f64",) * 3, lambda a, b, c: a * b + c)
    unary = {
        "neg": numpy.negative,
        "abs": numpy.abs,
        "ex2.approx.ftz": numpy.exp2,
        "lg2.approx.ftz": numpy.log2,
        "rcp.approx.ftz": numpy.reciprocal,
        "sqrt.approx.ftz": numpy.sqrt,
        "rsqrt.approx.ftz": lambda a: 1 / numpy.sqrt(a),
        "tanh.approx": numpy.tanh,
    }
    for operation, function in unary.items():
        table[f"{operation}.f32"] = (("f32",), function)
    for operation in "neg", "abs":
        for name in "f16", "f64":
            table[f"{operation}.{name}"] = ((name,), unary[operation])


def _add_conversions(table):
    integers = _INTEGERS + ["u8", "s8"]
    for of in integers:
        table[f"cvt.rn.f32.{of}"] = ((of,), lambda a: a.astype(numpy.float32))
    for to in integers:
        for of in integers:
            table[f"cvt.{to}.{of}"] = ((of,), lambda a, to=to: a.astype(_TYPES[to]))
    table["cvt.rn.f64.s64"] = (("s64",), lambda a: a.astype(numpy.float64))
    table["cvt.rn.f32.f64"] = (("f64",), lambda a: a.astype(numpy.float32))
    table["cvt.f64.f32"] = (("f32",), lambda a: a.astype(numpy.float64))
    # Rounded to zero; what does not fit becomes the nearest, and NaN 0.
    for to in _INTEGERS:
        table[f"cvt.rzi.{to}.f32"] = (("f32",), functools.partial(_to_integer, to=to))
    rounding = {"rmi": "floor", "rpi": "ceil", "rni": "rint", "rzi": "trunc"}
    for modifier, name in rounding.items():
        for type_ in "f32", "f64":
            function = getattr(numpy, name)
            table[f"cvt.{modifier}.{type_}.{type_}"] = ((type_,), function)
    table["cvt.f32.bf16"] = (("bf16",), from_bf16)
    table["cvt.f32.f16"] = (("f16",), lambda a: a.astype(numpy.float32))
    table["cvt.rn.bf16.f32"] = (("f32",), to_bf16)
    table["cvt.rn.f16.f32"] = (("f32",), lambda a: a.astype(numpy.float16))
    table["cvt.rn.bf16x2.f32"] = (
        ("f32", "f32"),
        lambda high, low: _pack(to_bf16(high), to_bf16(low)),
    )
    table["cvt.rn.f16x2.f32"] = (
        ("f32", "f32"),
        lambda high, low: _pack(*(_half_bits(x) for x in (high, low))),
    )


def _make_table():
    table = {}
    _add_integers(table)
    _add_bits(table)
    _add_comparisons(table)
    _add_floats(table)
    _add_conversions(table)
    return table


_TABLE = _make_table()


def find(opcode):
    """The types of operands and the function, or None."""
    found = _TABLE.get(opcode)
    return found and ([_TYPES[name] for name in found[0]], found[1])
