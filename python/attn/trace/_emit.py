"""Writes the body of a region: values with their types, and the range of each
integer, which says what a division or an index needs."""

import math
import struct

# No length, and so no index, is greater.
MOST = 2**30 - 1

_BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64}
_FLOATS = {"bf16": 16, "f16": 16, "f32": 32, "f64": 64}


class Value:
    """An SSA value. `lo` and `hi` bound an integer, and are None if unknown."""

    __slots__ = ("hi", "lo", "name", "type")

    def __init__(self, name, type, lo=None, hi=None):
        self.name = name
        self.type = type
        self.lo = lo
        self.hi = hi

    def fits(self, lo, hi=math.inf):
        return (
            self.lo is not None
            and self.lo >= lo
            and (hi == math.inf or (self.hi is not None and self.hi <= hi))
        )


def _float_literal(value, type):
    """A float as MLIR spells it, rounded to the type."""
    if type == "f32":
        try:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            value = math.copysign(math.inf, value)
    if math.isfinite(value):
        return f"{value:.17e}"
    bits = struct.pack(">f" if type == "f32" else ">d", value)
    return "0x" + bits.hex().upper()


class Emitter:
    """The lines of one region. `float_type` is that of scores. What is written
    twice is one value."""

    def __init__(self, float_type, prefix="%"):
        self.float_type = float_type
        self.lines = []
        self.location = ""
        self._prefix = prefix
        self._seen = {}
        self._names = 0

    def emit(self, text, type, lo=None, hi=None):
        """A value from the text of an operation, from `lo` to `hi` where that is
        known."""
        # What does not fit wraps around, to any number.
        if (lo is not None and lo < -(2**63)) or (hi is not None and hi >= 2**63):
            lo = hi = None
        value = self._seen.get(text)
        if value is None:
            value = self._seen[text] = self._new(type, lo, hi)
            self.lines.append(f"{value.name} = {text}{self.location}")
        return value

    def _new(self, type, lo=None, hi=None):
        self._names += 1
        return Value(f"{self._prefix}{self._names - 1}", type, lo, hi)

    def op(self, name, *operands, lo=None, hi=None):
        """An operation whose operands and result have one type."""
        names = ", ".join(operand.name for operand in operands)
        type = operands[0].type
        return self.emit(f"{name} {names} : {type}", type, lo, hi)

    def loop(self, extent, first, combine):
        """What `combine(carried, counter)` makes of `first` for each number of a
        counter below `extent`."""
        bounds = [self.integer(n).name for n in (0, extent, 1)]
        result, carried = self._new(first.type), self._new(first.type)
        counter = self._new("index", 0, extent - 1)
        lines, seen, location = self.lines, self._seen, self.location
        # What is written in the loop is not seen behind it.
        self.lines, self._seen = [], dict(seen)
        last = combine(carried, counter)
        body, self.lines, self._seen = self.lines, lines, seen
        lines.append(
            f"{result.name} = scf.for {counter.name} = {bounds[0]} to {bounds[1]} step"
            f" {bounds[2]} iter_args({carried.name} = {first.name}) -> ({first.type}) {{"
        )
        lines += [f"  {line}" for line in body]
        lines += [f"  scf.yield {last.name} : {last.type}", f"}}{location}"]
        self.location = location
        return result

    def compare(self, predicate, a, b):
        """`predicate` is that of integers, or None, and that of floats."""
        signed, ordered = predicate
        if a.type in _FLOATS:
            text = f"arith.cmpf {ordered}, {a.name}, {b.name} : {a.type}"
        else:
            text = f"arith.cmpi {signed}, {a.name}, {b.name} : {a.type}"
        return self.emit(text, "i1")

    def select(self, condition, a, b):
        lo = hi = None
        if None not in (a.lo, b.lo):
            lo = min(a.lo, b.lo)
        if None not in (a.hi, b.hi):
            hi = max(a.hi, b.hi)
        text = f"arith.select {condition.name}, {a.name}, {b.name} : {a.type}"
        return self.emit(text, a.type, lo, hi)

    def convert(self, op, value, type, lo=None, hi=None):
        text = f"{op} {value.name} : {value.type} to {type}"
        return self.emit(text, type, lo, hi)

    # ===------------------------------------------------------------------===
    # Constants
    # ===------------------------------------------------------------------===

    def integer(self, value, type="index"):
        return self.emit(f"arith.constant {value} : {type}", type, value, value)

    def float(self, value):
        literal = _float_literal(value, self.float_type)
        return self.emit(
            f"arith.constant {literal} : {self.float_type}", self.float_type
        )

    def bool(self, value):
        return self.emit(f"arith.constant {'true' if value else 'false'}", "i1")

    # ===------------------------------------------------------------------===
    # Conversions between kinds
    # ===------------------------------------------------------------------===

    def to_kind(self, value, kind):
        return {"B": self.to_bool, "I": self.to_index, "F": self.to_float}[kind](value)

    def to_index(self, value):
        """Any integer as an index; of a float, what is behind the point falls off."""
        if value.type == "index":
            return value
        if value.type == "i1":
            return self.convert("arith.index_castui", value, "index", 0, 1)
        if value.type in _FLOATS:
            value = self.convert("arith.fptosi", value, "i64")
        return self.convert("arith.index_cast", value, "index", value.lo, value.hi)

    def to_float(self, value):
        """Any number in the type of scores."""
        if value.type == self.float_type:
            return value
        if value.type in _FLOATS:
            grows = _FLOATS[value.type] < _FLOATS[self.float_type]
            op = "arith.extf" if grows else "arith.truncf"
            return self.convert(op, value, self.float_type)
        if value.type == "i1":
            return self.convert("arith.uitofp", value, self.float_type)
        if value.type == "index":
            narrow = "i32" if value.fits(-(2**31), 2**31 - 1) else "i64"
            value = self.convert("arith.index_cast", value, narrow)
        return self.convert("arith.sitofp", value, self.float_type)

    def to_bool(self, value):
        """Whether a number is not 0."""
        if value.type == "i1":
            return value
        if value.type in _FLOATS:
            return self.compare((None, "une"), self.to_float(value), self.float(0.0))
        return self.compare(("ne", None), value, self.integer(0, value.type))

    def to_integer(self, value, bits):
        """What a cast to an integer of so many bits leaves, as an index. One to
        32 or 64 bits leaves an integer as it is."""
        if value.type in _FLOATS:
            value = self.convert("arith.fptosi", value, f"i{max(bits, 32)}")
            value = self.convert("arith.index_cast", value, "index")
        value = self.to_index(value)
        half = 2 ** (bits - 1)
        if bits >= 32 or value.fits(-half, half - 1):
            return value
        value = self.convert("arith.index_cast", value, f"i{bits}", -half, half - 1)
        return self.to_index(value)

    def round_to(self, value, type):
        """A float rounded to a narrower type, in the type of scores again."""
        value = self.to_float(value)
        if _FLOATS[type] >= _FLOATS[value.type]:
            return value
        return self.to_float(self.convert("arith.truncf", value, type))

    # ===------------------------------------------------------------------===
    # Captures
    # ===------------------------------------------------------------------===

    def load(self, tensor, spec, indices):
        """An element of a captured tensor. An index less than 0 counts from the
        end, as in Python."""
        wrapped = []
        for dim, index in enumerate(indices):
            index = self.to_index(index)
            if not index.fits(0):
                zero, at = self.integer(0), self.integer(dim)
                extent = self.emit(
                    f"tensor.dim {tensor}, {at.name} : {spec.type}", "index", 0
                )
                below = self.compare(("slt", None), index, zero)
                index = self.select(below, self.op("arith.addi", index, extent), index)
            wrapped.append(index.name)
        if spec.padded:
            wrapped.append(self.integer(0).name)
        if spec.dtype == "u8":
            text = f"tensor.extract {tensor}[{', '.join(wrapped)}] : {spec.type}"
            return self.convert(
                "arith.index_castui", self.emit(text, "i8"), "index", 0, 255
            )
        bits = _BITS.get(spec.dtype)
        lo, hi = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if bits else (None, None)
        text = f"tensor.extract {tensor}[{', '.join(wrapped)}] : {spec.type}"
        return self.emit(text, spec.dtype, lo, hi)
