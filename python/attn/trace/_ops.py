"""The operations of programs: one table, by which functions in Python, graphs of
FX and the emitter know them.

A value is of one of three kinds: "B", a bool, "I", an integer, which has 64 bits
whatever it was read from, or "F", a float in the type of scores (f32, or f64
where q is). As in NumPy and PyTorch, an operation on several kinds takes place in
the last of them, and numbers of Python do not change the type of an operation.

An `Op` has a rule, which says from the kinds of its operands in which kinds it
takes them and what it makes (and raises TypeError), and an emitter, which writes
it as MLIR.
"""

import typing

from ._emit import Value


class Op(typing.NamedTuple):
    """`emit(emitter, kind, *operands)` gets operands that have been converted,
    and the kind of the last one. `names` are what Python, NumPy, PyTorch and aten
    call it; those of aten have an overload behind a dot."""

    rule: typing.Callable
    emit: typing.Callable
    names: str = ""


# Python's binary operators, by the middle of their methods' names.
OPERATORS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_div",
    "mod": "mod",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "lshift": "shl",
    "rshift": "shr",
}
NAMES = {"B": "bool", "I": "int", "F": "float"}

# ===----------------------------------------------------------------------===
# Rules
# ===----------------------------------------------------------------------===


def _join(kinds):
    return "F" if "F" in kinds else "I" if "I" in kinds else "B"


def _same(*kinds):
    """All operands and the result have one kind."""
    kind = _join(kinds)
    return (kind,) * len(kinds), kind


def _number(*kinds):
    """As _same, but bools are integers."""
    kind = _join((*kinds, "I"))
    return (kind,) * len(kinds), kind


def _float(*kinds):
    return ("F",) * len(kinds), "F"


def _compare(*kinds):
    return (_join(kinds),) * 2, "B"


def _order(*kinds):
    return (_join((*kinds, "I")),) * 2, "B"


def _bits(*kinds):
    if "F" in kinds:
        raise TypeError("takes bools or integers, but got a float")
    return _same(*kinds)


def _integer(*kinds):
    if "F" in kinds:
        raise TypeError("takes integers, but got a float")
    return ("I",) * len(kinds), "I"


def _logical(*kinds):
    return ("B",) * len(kinds), "B"


def _select(condition, a, b):
    if condition != "B":
        raise TypeError(f"takes a bool as its condition, but got {NAMES[condition]}")
    kind = _join((a, b))
    return ("B", kind, kind), kind


def _class_of(kind):
    return ("F",), "B"


def _to(kind):
    return lambda x: ((x,), kind)


# ===----------------------------------------------------------------------===
# Emitters
# ===----------------------------------------------------------------------===


def _ends(*values):
    return None if None in values else values


def _simple(integer=None, float=None, bool=None):
    """An operation of MLIR for each kind."""
    names = {"I": integer, "F": float, "B": bool}

    def emit(e, kind, *operands):
        return e.op(names[kind], *operands)

    return emit


def _ranged(integer, float, bool, range):
    """As _simple; `range(a, b)` is the range of integers whose ends are known."""

    def emit(e, kind, a, b):
        if kind == "I":
            lo, hi = range(a, b)
            return e.op(integer, a, b, lo=lo, hi=hi)
        return e.op(float if kind == "F" else bool, a, b)

    return emit


def _add_range(a, b):
    lo, hi = _ends(a.lo, b.lo), _ends(a.hi, b.hi)
    return lo and sum(lo), hi and sum(hi)


def _sub_range(a, b):
    lo, hi = _ends(a.lo, b.hi), _ends(a.hi, b.lo)
    return lo and lo[0] - lo[1], hi and hi[0] - hi[1]


def _mul_range(a, b):
    if a.fits(0) and b.fits(0):
        hi = _ends(a.hi, b.hi)
        return a.lo * b.lo, hi and hi[0] * hi[1]
    if None in (a.lo, a.hi, b.lo, b.hi):
        return None, None
    products = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return min(products), max(products)


def _min_range(a, b):
    lo = _ends(a.lo, b.lo)
    highs = [hi for hi in (a.hi, b.hi) if hi is not None]
    return lo and min(lo), min(highs, default=None)


def _max_range(a, b):
    hi = _ends(a.hi, b.hi)
    lows = [lo for lo in (a.lo, b.lo) if lo is not None]
    return max(lows, default=None), hi and max(hi)


def _predicate(integer, float):
    def emit(e, kind, a, b):
        return e.compare((integer, float), a, b)

    return emit


def _floor_div(e, kind, a, b):
    if kind == "F":
        # Not the floor of the quotient, which may have been rounded up. Nor is b
        # added to the rest, as it may be infinite: the quotient is one less.
        rest, is_wrong = _rest(e, kind, a, b)
        exact = e.op("arith.divf", e.op("arith.subf", a, rest), b)
        whole = e.op("math.roundeven", exact)
        below = e.op("arith.subf", whole, e.float(1.0))
        by_zero = e.compare((None, "oeq"), b, e.float(0.0))
        quotient = e.select(is_wrong, below, whole)
        return e.select(by_zero, e.op("arith.divf", a, b), quotient)
    if a.fits(0) and b.fits(1):
        hi = None if a.hi is None else a.hi // b.lo
        return e.op("arith.divui", a, b, lo=0, hi=hi)
    lo = hi = None
    if b.fits(1) and None not in (a.lo, a.hi):
        lo, hi = min(a.lo, 0), max(a.hi, 0)
    return e.op("arith.floordivsi", a, b, lo=lo, hi=hi)


def _mod(e, kind, a, b):
    """The remainder with the sign of the divisor."""
    if kind == "I" and b.fits(1):
        hi = None if b.hi is None else b.hi - 1
        if a.fits(0):
            if a.hi is not None and (hi is None or a.hi < hi):
                hi = a.hi
            return e.op("arith.remui", a, b, lo=0, hi=hi)
        rest = e.op("arith.remsi", a, b, lo=None if hi is None else -hi, hi=hi)
        below = e.compare(("slt", None), rest, e.integer(0))
        result = e.select(below, e.op("arith.addi", rest, b), rest)
        result.lo, result.hi = 0, hi
        return result
    rest, is_wrong = _rest(e, kind, a, b)
    add = "arith.addi" if kind == "I" else "arith.addf"
    return e.select(is_wrong, e.op(add, rest, b), rest)


def _rest(e, kind, a, b):
    """The remainder with the sign of the dividend, and whether it is not the one
    with the sign of the divisor."""
    rest = e.op("arith.remsi" if kind == "I" else "arith.remf", a, b)
    zero = e.integer(0) if kind == "I" else e.float(0.0)
    below = ("slt", "olt")
    signs = e.emit(
        f"arith.xori {e.compare(below, rest, zero).name},"
        f" {e.compare(below, b, zero).name} : i1",
        "i1",
    )
    return rest, e.op("arith.andi", signs, e.compare(("ne", "une"), rest, zero))


def _trunc_div(e, kind, a, b):
    if kind == "F":
        return e.op("math.trunc", e.op("arith.divf", a, b))
    return e.op("arith.divui" if a.fits(0) and b.fits(1) else "arith.divsi", a, b)


def _fmod(e, kind, a, b):
    return e.op("arith.remsi" if kind == "I" else "arith.remf", a, b)


def _neg(e, kind, a):
    if kind == "F":
        return e.op("arith.negf", a)
    lo, hi = _sub_range(Value("", "", 0, 0), a)
    return e.op("arith.subi", e.integer(0), a, lo=lo, hi=hi)


def _abs(e, kind, a):
    if kind == "F":
        return e.op("math.absf", a)
    hi = None if None in (a.lo, a.hi) else max(abs(a.lo), abs(a.hi))
    return a if a.fits(0) else e.op("math.absi", a, lo=0, hi=hi)


def _sign(e, kind, a):
    make = e.float if kind == "F" else e.integer
    below, zero, above = (
        make(x) for x in ((-1.0, 0.0, 1.0) if kind == "F" else (-1, 0, 1))
    )
    positive = e.compare(("sgt", "ogt"), a, zero)
    negative = e.compare(("slt", "olt"), a, zero)
    # A zero and NaN stay what they are.
    rest = a if kind == "F" else zero
    return e.select(positive, above, e.select(negative, below, rest))


def _pow(e, kind, a, b):
    if kind == "F":
        return e.op("math.powf", a, b)
    return e.op("math.ipowi", a, b)


def _and(e, kind, a, b):
    lo = hi = None
    masks = [x.hi for x in (a, b) if kind == "I" and x.fits(0)]
    if masks:
        lo, hi = 0, min((m for m in masks if m is not None), default=None)
    return e.op("arith.andi", a, b, lo=lo, hi=hi)


def _or(e, kind, a, b):
    lo = hi = None
    if kind == "I" and a.fits(0) and b.fits(0):
        lo = 0
        if None not in (a.hi, b.hi):
            hi = 2 ** max(a.hi.bit_length(), b.hi.bit_length()) - 1
    return e.op("arith.ori", a, b, lo=lo, hi=hi)


def _not(e, kind, a):
    ones = e.bool(True) if kind == "B" else e.integer(-1)
    return e.op("arith.xori", a, ones)


def _shift(name):
    def emit(e, kind, a, b):
        # More than all bits is as good as all, and has a meaning.
        if not b.fits(0, 63):
            b = e.op("arith.minui", b, e.integer(63))
        lo = hi = None
        if name == "arith.shrsi" and a.fits(0):
            lo, hi = 0, a.hi
        return e.op(name, a, b, lo=lo, hi=hi)

    return emit


def _rounding(name):
    """What leaves an integer as it is."""

    def emit(e, kind, a):
        return e.op(name, a) if kind == "F" else a

    return emit


def _classify(name):
    def emit(e, kind, a):
        return e.emit(f"math.{name} {a.name} : {a.type}", "i1")

    return emit


def _cast(kind):
    return lambda e, _, a: e.to_kind(a, kind)


# ===----------------------------------------------------------------------===
# The table
# ===----------------------------------------------------------------------===

OPS = {
    "add": Op(
        _same, _ranged("arith.addi", "arith.addf", "arith.ori", _add_range), "add"
    ),
    "sub": Op(
        _number, _ranged("arith.subi", "arith.subf", None, _sub_range), "sub subtract"
    ),
    "mul": Op(
        _same,
        _ranged("arith.muli", "arith.mulf", "arith.andi", _mul_range),
        "mul multiply",
    ),
    "div": Op(_float, _simple(float="arith.divf"), "true_divide divide truediv"),
    "floor_div": Op(_number, _floor_div, "floor_divide floordiv"),
    "mod": Op(_number, _mod, "remainder mod"),
    "trunc_div": Op(_number, _trunc_div),
    "fmod": Op(_number, _fmod, "fmod"),
    "neg": Op(_number, _neg, "neg negative __neg__"),
    "abs": Op(_number, _abs, "abs absolute fabs __abs__"),
    "sign": Op(_number, _sign, "sign sgn"),
    "pow": Op(_number, _pow),
    "minimum": Op(
        _same,
        _ranged("arith.minsi", "arith.minimumf", "arith.andi", _min_range),
        "minimum",
    ),
    "maximum": Op(
        _same,
        _ranged("arith.maxsi", "arith.maximumf", "arith.ori", _max_range),
        "maximum",
    ),
    "fmin": Op(
        _number, _ranged("arith.minsi", "arith.minnumf", None, _min_range), "fmin"
    ),
    "fmax": Op(
        _number, _ranged("arith.maxsi", "arith.maxnumf", None, _max_range), "fmax"
    ),
    "and": Op(_bits, _and, "bitwise_and"),
    "or": Op(_bits, _or, "bitwise_or"),
    "xor": Op(_bits, lambda e, kind, a, b: e.op("arith.xori", a, b), "bitwise_xor"),
    "not": Op(_bits, _not, "bitwise_not invert __invert__"),
    "shl": Op(_integer, _shift("arith.shli"), "bitwise_left_shift left_shift"),
    "shr": Op(_integer, _shift("arith.shrsi"), "bitwise_right_shift right_shift"),
    "logical_and": Op(
        _logical, lambda e, kind, a, b: e.op("arith.andi", a, b), "logical_and"
    ),
    "logical_or": Op(
        _logical, lambda e, kind, a, b: e.op("arith.ori", a, b), "logical_or"
    ),
    "logical_xor": Op(
        _logical, lambda e, kind, a, b: e.op("arith.xori", a, b), "logical_xor"
    ),
    "logical_not": Op(_logical, _not, "logical_not"),
    "eq": Op(_compare, _predicate("eq", "oeq"), "eq equal __eq__"),
    "ne": Op(_compare, _predicate("ne", "une"), "ne not_equal __ne__"),
    "lt": Op(_order, _predicate("slt", "olt"), "lt less __lt__"),
    "le": Op(_order, _predicate("sle", "ole"), "le less_equal __le__"),
    "gt": Op(_order, _predicate("sgt", "ogt"), "gt greater __gt__"),
    "ge": Op(_order, _predicate("sge", "oge"), "ge greater_equal __ge__"),
    "select": Op(_select, lambda e, kind, c, a, b: e.select(c, a, b)),
    "isnan": Op(_class_of, _classify("isnan"), "isnan"),
    "isinf": Op(_class_of, _classify("isinf"), "isinf"),
    "isfinite": Op(_class_of, _classify("isfinite"), "isfinite"),
    "floor": Op(_number, _rounding("math.floor"), "floor"),
    "ceil": Op(_number, _rounding("math.ceil"), "ceil"),
    "trunc": Op(_number, _rounding("math.trunc"), "trunc fix"),
    "round": Op(_number, _rounding("math.roundeven")),
    "to_float": Op(_to("F"), _cast("F")),
    "to_bool": Op(_to("B"), _cast("B")),
    "to_i8": Op(_to("I"), lambda e, _, a: e.to_integer(a, 8)),
    "to_i16": Op(_to("I"), lambda e, _, a: e.to_integer(a, 16)),
    "to_i32": Op(_to("I"), lambda e, _, a: e.to_integer(a, 32)),
    "to_i64": Op(_to("I"), lambda e, _, a: e.to_integer(a, 64)),
    "to_f16": Op(_to("F"), lambda e, _, a: e.round_to(a, "f16")),
    "to_bf16": Op(_to("F"), lambda e, _, a: e.round_to(a, "bf16")),
    "atan2": Op(_float, _simple(float="math.atan2"), "atan2 arctan2"),
    "copysign": Op(_float, _simple(float="math.copysign"), "copysign"),
}

for _name in (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt cbrt sin cos tan asin acos atan"
    " sinh cosh tanh asinh acosh atanh erf erfc"
).split():
    _more = f"{_name} arc{_name[1:]}" if _name.startswith("a") else _name
    OPS[_name] = Op(_float, _simple(float="math." + _name), _more)
