"""The functions of programs by name, as Python, NumPy, PyTorch and aten spell
them: `FUNCTIONS`. The name of an aten operation is one of them before its dot.

A function takes a recorder, and then what the one of that name takes: Scalars,
Arrays, captured tensors and numbers.
"""

import difflib
import math
import sys

from .errors import TraceError
from .ops import NAMES, OPS

__all__ = ["FUNCTIONS", "NAMES", "call"]

FUNCTIONS = {}

_RANDOM = frozenset(
    "rand randn rand_like randn_like randint randint_like randperm bernoulli dropout"
    " alpha_dropout feature_dropout native_dropout normal multinomial poisson".split()
)

# Names that the operations of the table have elsewhere.
_ALIASES = {
    "add": "add",
    "sub": "sub subtract",
    "mul": "mul multiply",
    "div": "true_divide divide truediv",
    "floor_div": "floor_divide floordiv",
    "mod": "remainder mod",
    "fmod": "fmod",
    "neg": "neg negative __neg__",
    "abs": "abs absolute fabs __abs__",
    "sign": "sign sgn",
    "minimum": "minimum",
    "maximum": "maximum",
    "fmin": "fmin",
    "fmax": "fmax",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "not": "bitwise_not invert __invert__",
    "shl": "bitwise_left_shift left_shift",
    "shr": "bitwise_right_shift right_shift",
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_xor": "logical_xor",
    "logical_not": "logical_not",
    "eq": "eq equal __eq__",
    "ne": "ne not_equal __ne__",
    "lt": "lt less __lt__",
    "le": "le less_equal __le__",
    "gt": "gt greater __gt__",
    "ge": "ge greater_equal __ge__",
    "isnan": "isnan",
    "isinf": "isinf",
    "isfinite": "isfinite",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc fix",
    "asin": "asin arcsin",
    "acos": "acos arccos",
    "atan": "atan arctan",
    "asinh": "asinh arcsinh",
    "acosh": "acosh arccosh",
    "atanh": "atanh arctanh",
    "atan2": "atan2 arctan2",
    "copysign": "copysign",
    **{
        name: name
        for name in "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt cbrt sin cos tan"
        " sinh cosh tanh erf erfc".split()
    },
}


def define(*names):
    def register(function):
        for name in names:
            FUNCTIONS[name] = function
        return function

    return register


# ===----------------------------------------------------------------------===
# Operands
# ===----------------------------------------------------------------------===


def operand(recorder, value, position=None, positive=False):
    """Anything that stands for a number as a Scalar, or for more as an Array."""
    from .proxy import Scalar, Table, Traced, escaped

    if isinstance(value, Traced):
        if value._recorder is not recorder:
            raise escaped()
        return value
    if isinstance(value, (bool, int, float)) and type(value).__module__ != "numpy":
        kind = next(k for k in (bool, int, float) if isinstance(value, k))
        return Scalar(recorder, recorder.number(kind(value), position, positive))
    shape = getattr(value, "shape", None)
    if shape is None:
        if isinstance(value, (list, tuple)):
            return stack(recorder, value)
        raise TraceError(
            f"expects traced values, tensors and numbers, but got {type(value).__name__}"
        )
    if len(shape):
        return Table(recorder, value)
    # What is in the memory of the CPU, and has no gradient, is a number.
    is_here = type(value).__module__ == "numpy" or (
        getattr(getattr(value, "device", None), "type", None) == "cpu"
        and not value.requires_grad
    )
    if is_here:
        number = value.item()
        if not isinstance(number, (bool, int, float)):
            raise TraceError(f"expects real numbers, but got {type(number).__name__}")
        return Scalar(recorder, recorder.number(number, position, positive))
    return Table(recorder, value)._element(())


def apply(recorder, function, values, positive=None):
    """`function` of Scalars, for each element where some are Arrays."""
    from .proxy import Array, Scalar

    values = [
        value
        if type(value) is Scalar and value._recorder is recorder
        else operand(recorder, value, None if len(values) != 2 else n, n == positive)
        for n, value in enumerate(values)
    ]
    arrays = [value for value in values if isinstance(value, Array)]
    if not arrays:
        return function(*values)
    shape = _broadcast(arrays)

    def at(indices):
        return function(*(_pick(value, indices) for value in values))

    return Array(recorder, shape, at, [pair for x in arrays for pair in x._fix])


def _broadcast(arrays):
    rank = max(len(x.shape) for x in arrays)
    shape = []
    for dim in range(-rank, 0):
        extents = {x.shape[dim] for x in arrays if len(x.shape) >= -dim}
        if len(extents) > 1:
            for x in arrays:
                x.fixed()
        wide = extents - {1}
        if len(wide) > 1:
            shapes = " and ".join(str(x.shape) for x in arrays)
            raise TraceError(f"expects shapes that fit together, but got {shapes}")
        shape.append(max(wide, default=1))
    return shape


def _pick(value, indices):
    """The element of an Array that one of a broadcast one needs."""
    rank = len(value.shape)
    if rank == 0 and not hasattr(value, "_at"):
        return value
    at = indices[len(indices) - rank :]
    return value._at(tuple(0 if n == 1 else i for n, i in zip(value.shape, at)))


def elementwise(recorder, name, args):
    """An operation of the table."""
    from .proxy import Scalar

    def function(*scalars):
        return Scalar(recorder, recorder.op(name, *(x._number for x in scalars)))

    return apply(recorder, function, args, 1 if name in ("floor_div", "mod") else None)


def expand(scalar):
    """A Scalar as an Array without dimensions."""
    from .proxy import Array

    return Array(scalar._recorder, (), lambda indices: scalar)


class _Math:
    """Functions of Scalars, with constants, for those that are made of others."""

    def __init__(self, recorder):
        self._recorder = recorder

    def __call__(self, value):
        from .proxy import Scalar

        return Scalar(self._recorder, self._recorder.constant(value))

    def __getattr__(self, name):
        return lambda *args: elementwise(self._recorder, name, args)


def _real(value):
    from .proxy import Table

    if isinstance(value, Table) and value.is_whole:
        return value._tensor
    if isinstance(value, (tuple, list)):
        return type(value)(map(_real, value))
    if isinstance(value, dict):
        return {key: _real(x) for key, x in value.items()}
    return value


real = _real

# ===----------------------------------------------------------------------===
# Calls
# ===----------------------------------------------------------------------===


def unknown(name, family=""):
    known = sorted({n.strip("_") for n in FUNCTIONS})
    near = difflib.get_close_matches(name.strip("_"), known, 3, 0.6)
    hint = f"; there are {', '.join(near)}" if near else ""
    if name in _RANDOM or name.startswith("random"):
        hint = (
            ": a program has no random numbers; read them from a captured tensor, as"
            " of a mask that was drawn beforehand"
        )
    elif name in ("item", "nonzero", "sort", "argsort", "topk", "unique", "cumsum"):
        hint = ": compute it outside of the function, and read the result"
    return f"{family + '.' if family else ''}{name} has no lowering{hint}"


def call(recorder, name, args, kwargs, self=None, family=""):
    """The function of a name, of `self` and the arguments."""
    from .proxy import Table, has_traced, hold

    if self is not None:
        args = (self, *args)
    if family and not has_traced(args) and not has_traced(kwargs):
        # Of captured tensors alone: done by their library, once a call.
        table = next(x for x in flatten((args, list(kwargs.values()))) if isinstance(x, Table))
        module = sys.modules[type(table._tensor).__module__.partition(".")[0]]
        function = getattr(module, name, None)
        if function is not None:
            return hold(recorder, function(*_real(args), **_real(kwargs)))
    function = FUNCTIONS.get(name)
    if function is None:
        raise TraceError(unknown(name, family))
    try:
        return function(recorder, *args, **kwargs)
    except TypeError as error:
        if isinstance(error, TraceError) or error.__traceback__.tb_next is not None:
            raise
        raise TraceError(f"{name}: {error}") from error


def flatten(value):
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from flatten(item)
    else:
        yield value


def call_torch(func, args, kwargs):
    """A function of PyTorch with traced values among its arguments."""
    from .proxy import Table, Traced

    name = getattr(func, "__name__", str(func))
    traced = next(
        (x for x in flatten((args, list(kwargs.values()))) if isinstance(x, Traced)),
        None,
    )
    if name == "__getitem__":
        key = args[1]
        traced = next(x for x in flatten(key) if isinstance(x, Traced))
        return Table(traced._recorder, args[0])[key]
    if name == "__setitem__" or (name.endswith("_") and not name.endswith("__")):
        raise mutation(name)
    if traced is None:
        raise TraceError(unknown(name, "torch"))
    return call(traced._recorder, name, args, kwargs, family="torch")


def mutation(name):
    return TraceError(
        f"a function that is traced may not write to tensors, as '{name}' does:"
        " compute a new value"
    )


def random(name):
    return TraceError(unknown(name, "torch"))


class _NoMethod(TraceError, AttributeError):
    """What a traced value does not have."""


def method(value, name):
    if name.endswith("_"):
        raise mutation(name)
    if name not in FUNCTIONS:
        raise _NoMethod(unknown(name))
    return lambda *args, **kwargs: call(value._recorder, name, args, kwargs, value)


for _name in OPS:

    def _function(recorder, *args, _name=_name, **kwargs):
        if kwargs:
            raise TraceError(f"'{_name}' takes no {', '.join(kwargs)}")
        return elementwise(recorder, _name, args)

    for _alias in _ALIASES.get(_name, "").split():
        FUNCTIONS[_alias] = _function

for _dunder, _name in {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "div": "div",
    "floordiv": "floor_div",
    "mod": "mod",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "lshift": "shl",
    "rshift": "shr",
}.items():
    FUNCTIONS[f"__{_dunder}__"] = lambda r, a, b, n=_name: elementwise(r, n, (a, b))
    FUNCTIONS[f"__r{_dunder}__"] = lambda r, a, b, n=_name: elementwise(r, n, (b, a))


@define("add")
def _add(recorder, a, b, alpha=None):
    if alpha is not None:
        b = elementwise(recorder, "mul", (b, alpha))
    return elementwise(recorder, "add", (a, b))


@define("sub", "subtract")
def _sub(recorder, a, b, alpha=None):
    if alpha is not None:
        b = elementwise(recorder, "mul", (b, alpha))
    return elementwise(recorder, "sub", (a, b))


@define("rsub")
def _rsub(recorder, a, b, alpha=None):
    return _sub(recorder, b, a, alpha)


@define("div", "divide", "true_divide")
def _div(recorder, a, b, rounding_mode=None):
    names = {None: "div", "floor": "floor_div", "trunc": "trunc_div"}
    if rounding_mode not in names:
        raise TraceError(
            f"expects a rounding_mode of None, 'floor' or 'trunc', but got {rounding_mode!r}"
        )
    return elementwise(recorder, names[rounding_mode], (a, b))


@define("divmod", "__divmod__")
def _divmod(recorder, a, b):
    return tuple(elementwise(recorder, name, (a, b)) for name in ("floor_div", "mod"))


@define("__rdivmod__")
def _rdivmod(recorder, a, b):
    return _divmod(recorder, b, a)


@define("round", "around", "rint")
def _round(recorder, x, decimals=0):
    if decimals:
        raise TraceError(f"expects to round to 0 decimals, but got {decimals}")
    return elementwise(recorder, "round", (x,))


def _to_int(name):
    # math.floor and the like make an int.
    def function(recorder, x, digits=None):
        if digits is not None:
            raise TraceError(f"expects to round to no digits, but got {digits}")
        return cast(recorder, elementwise(recorder, name, (x,)), "int64")

    return function


for _name in ("floor", "ceil", "trunc", "round"):
    FUNCTIONS[f"__{_name}__"] = _to_int(_name)


@define("positive", "__pos__", "contiguous", "clone", "detach", "lift_fresh",
        "lift_fresh_copy", "alias", "cpu", "cuda", "copy", "ascontiguousarray")  # fmt: skip
def _same(recorder, x, *_, **__):
    return operand(recorder, x)


# ===----------------------------------------------------------------------===
# Powers
# ===----------------------------------------------------------------------===


@define("pow", "power", "float_power", "__pow__")
def power(recorder, a, b):
    return apply(recorder, lambda a, b: _power(recorder, a, b), (a, b))


@define("__rpow__")
def _rpower(recorder, a, b):
    return power(recorder, b, a)


def _power(recorder, a, b):
    f = _Math(recorder)
    exponent = recorder.constant_of(b._number)
    base = recorder.constant_of(a._number)
    if exponent == 0.5:
        return f.sqrt(a)
    if exponent == -0.5:
        return f.rsqrt(a)
    if base == 2 and b._kind == "F":
        return f.exp2(b)
    if exponent is not None and exponent == int(exponent) and abs(exponent) <= 16:
        count = int(exponent)
        if count < 0 and a._kind != "F" and type(exponent) is int:
            raise TraceError("integers to negative integer powers are no integers")
        result = f(1 if a._kind != "F" and type(exponent) is int else 1.0)
        square, rest = a, abs(count)
        while rest:
            if rest & 1:
                result = square if rest == abs(count) == 1 or result is None else f.mul(result, square)
            rest >>= 1
            square = f.mul(square, square) if rest else square
        return f.div(f(1.0), result) if count < 0 else result
    return f.pow(a, b)


# ===----------------------------------------------------------------------===
# Choices
# ===----------------------------------------------------------------------===


@define("where")
def where(recorder, condition, a=None, b=None, *, input=None, other=None):
    a, b = input if a is None else a, other if b is None else b
    if a is None or b is None:
        raise TraceError("expects where(condition, a, b): indices of what is true are no program")
    return elementwise(recorder, "select", (condition, a, b))


@define("masked_fill")
def masked_fill(recorder, x, mask, value):
    return elementwise(recorder, "select", (mask, value, x))


@define("clamp", "clip")
def clamp(recorder, x, min=None, max=None, a_min=None, a_max=None):
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    if low is not None:
        x = elementwise(recorder, "maximum", (x, low))
    return x if high is None else elementwise(recorder, "minimum", (x, high))


@define("clamp_min")
def _clamp_min(recorder, x, min):
    return clamp(recorder, x, min=min)


@define("clamp_max")
def _clamp_max(recorder, x, max):
    return clamp(recorder, x, max=max)


@define("nan_to_num")
def nan_to_num(recorder, x, nan=0.0, posinf=None, neginf=None):
    f, most = _Math(recorder), 3.4028234663852886e38

    def function(x, nan, high, low):
        y = f.select(f.eq(x, f(math.inf)), high, f.select(f.eq(x, f(-math.inf)), low, x))
        return f.select(f.isnan(x), nan, y)

    high = f(most) if posinf is None else posinf
    low = f(-most) if neginf is None else neginf
    return apply(recorder, function, (x, nan, high, low))


# ===----------------------------------------------------------------------===
# Functions made of others
# ===----------------------------------------------------------------------===


def _compose(*names):
    """Defines a function by one of a _Math and Scalars."""

    def register(function):
        def composed(recorder, *args, inplace=False):
            f = _Math(recorder)
            return apply(recorder, lambda *scalars: function(f, *scalars), args)

        return define(*names)(composed)

    return register


@_compose("sigmoid", "expit")
def _sigmoid(f, x):
    return f.div(f(1.0), f.add(f(1.0), f.exp(f.neg(x))))


@_compose("silu", "swish")
def _silu(f, x):
    return f.div(x, f.add(f(1.0), f.exp(f.neg(x))))


@_compose("relu")
def _relu(f, x):
    return f.maximum(x, f(0 if x._kind != "F" else 0.0))


@_compose("relu6")
def _relu6(f, x):
    return f.minimum(f.maximum(x, f(0.0)), f(6.0))


@_compose("softsign")
def _softsign(f, x):
    return f.div(x, f.add(f(1.0), f.abs(x)))


@_compose("log_sigmoid", "logsigmoid")
def _log_sigmoid(f, x):
    return f.sub(f.minimum(x, f(0.0)), f.log1p(f.exp(f.neg(f.abs(x)))))


@_compose("hardsigmoid")
def _hardsigmoid(f, x):
    return f.div(f.minimum(f.maximum(f.add(x, f(3.0)), f(0.0)), f(6.0)), f(6.0))


@_compose("hardswish")
def _hardswish(f, x):
    return f.mul(x, _hardsigmoid(x._recorder, x))


@_compose("mish")
def _mish(f, x):
    return f.mul(x, f.tanh(f.log1p(f.exp(x))))


@_compose("square")
def _square(f, x):
    return f.mul(x, x)


@_compose("reciprocal")
def _reciprocal(f, x):
    return f.div(f(1.0), x)


@_compose("frac")
def _frac(f, x):
    return f.sub(x, f.trunc(x))


@_compose("signbit")
def _signbit(f, x):
    return f.lt(f.copysign(f(1.0), x), f(0.0))


@_compose("deg2rad", "radians")
def _deg2rad(f, x):
    return f.mul(x, f(math.pi / 180))


@_compose("rad2deg", "degrees")
def _rad2deg(f, x):
    return f.mul(x, f(180 / math.pi))


@_compose("hypot")
def _hypot(f, x, y):
    return f.sqrt(f.add(f.mul(x, x), f.mul(y, y)))


@_compose("logaddexp")
def _logaddexp(f, x, y):
    return f.add(f.maximum(x, y), f.log1p(f.exp(f.neg(f.abs(f.sub(x, y))))))


@_compose("heaviside")
def _heaviside(f, x, y):
    return f.select(f.eq(x, f(0.0)), y, f.select(f.gt(x, f(0.0)), f(1.0), f(0.0)))


@_compose("lerp")
def _lerp(f, x, y, weight):
    return f.add(x, f.mul(weight, f.sub(y, x)))


@_compose("isneginf")
def _isneginf(f, x):
    return f.eq(x, f(-math.inf))


@_compose("isposinf")
def _isposinf(f, x):
    return f.eq(x, f(math.inf))


@define("gelu")
def gelu(recorder, x, approximate="none"):
    f = _Math(recorder)
    if approximate not in ("none", "tanh"):
        raise TraceError(f"expects approximate to be 'none' or 'tanh', but got {approximate!r}")

    def function(x):
        if approximate == "none":
            y = f.erf(f.mul(x, f(math.sqrt(0.5))))
        else:
            cube = f.mul(f.mul(x, x), x)
            y = f.tanh(f.mul(f(math.sqrt(2 / math.pi)), f.add(x, f.mul(f(0.044715), cube))))
        return f.mul(f.mul(f(0.5), x), f.add(f(1.0), y))

    return apply(recorder, function, (x,))


def _with(names, defaults, function):
    """Defines a function with numbers that have defaults."""

    def composed(recorder, x, *args, inplace=False, **kwargs):
        f = _Math(recorder)
        wrong = [key for key in kwargs if key not in defaults]
        if wrong or len(args) > len(defaults):
            raise TraceError(f"{names[0]} takes {', '.join(defaults)}, but got {', '.join(wrong) or 'more'}")
        given = dict(zip(defaults, args), **kwargs)
        values = [given[key] if key in given else f(value) for key, value in defaults.items()]
        return apply(recorder, lambda *scalars: function(f, *scalars), (x, *values))

    define(*names)(composed)


_with(["leaky_relu"], {"negative_slope": 0.01},
      lambda f, x, slope: f.select(f.gt(x, f(0.0)), x, f.mul(x, slope)))  # fmt: skip
_with(["elu"], {"alpha": 1.0},
      lambda f, x, a: f.select(f.gt(x, f(0.0)), x, f.mul(a, f.expm1(f.minimum(x, f(0.0))))))  # fmt: skip
_with(["hardtanh"], {"min_val": -1.0, "max_val": 1.0},
      lambda f, x, low, high: f.minimum(f.maximum(x, low), high))  # fmt: skip
_with(["threshold"], {"threshold": 0.0, "value": 0.0},
      lambda f, x, t, value: f.select(f.gt(x, t), x, value))  # fmt: skip
_with(["softplus"], {"beta": 1.0, "threshold": 20.0},
      lambda f, x, beta, t: f.select(f.gt(f.mul(x, beta), t), x,
                                     f.div(f.log1p(f.exp(f.minimum(f.mul(x, beta), t))), beta)))  # fmt: skip


def _fused(name, op):
    def function(recorder, x, a, b, value=None):
        f = _Math(recorder)
        values = (x, a, b, f(1.0) if value is None else value)
        return apply(
            recorder,
            lambda x, a, b, v: f.add(x, f.mul(v, getattr(f, op)(a, b))),
            values,
        )

    define(name)(function)


_fused("addcmul", "mul")
_fused("addcdiv", "div")

# ===----------------------------------------------------------------------===
# Types
# ===----------------------------------------------------------------------===

_CASTS = {
    "float64": "to_float",
    "double": "to_float",
    "float32": "to_float",
    "float": "to_float",
    "float16": "to_f16",
    "half": "to_f16",
    "bfloat16": "to_bf16",
    "int64": "to_i64",
    "long": "to_i64",
    "int": "to_i64",
    "int32": "to_i32",
    "int16": "to_i16",
    "short": "to_i16",
    "int8": "to_i8",
    "char": "to_i8",
    "bool": "to_bool",
}


def dtype_name(dtype):
    """The name of a type of NumPy, PyTorch or Python, or None if it is none."""
    if isinstance(dtype, str):
        name = dtype
    elif isinstance(dtype, type):
        name = dtype.__name__.rstrip("_")
    elif type(dtype).__module__ == "torch":
        name = str(dtype)
    else:
        name = getattr(dtype, "name", None) or str(dtype)
    name = name.rpartition(".")[2]
    return name if name in _CASTS or name.startswith(("uint", "complex", "float8")) else None


def cast(recorder, x, dtype):
    name = dtype_name(dtype)
    if name not in _CASTS:
        known = ", ".join(n for n in _CASTS if any(c.isdigit() for c in n))
        raise TraceError(f"expects a cast to bool, {known}, but got {dtype}")
    return elementwise(recorder, _CASTS[name], (x,))


@define("to", "type", "astype", "_to_copy", "convert_element_type")
def to(recorder, x, *args, dtype=None, copy=None, device=None, **_):
    for value in (*args, dtype):
        if value is None or isinstance(value, bool):
            continue
        if hasattr(value, "shape") and hasattr(value, "dtype"):  # like another one
            value = value.dtype
        if type(value).__name__ == "device" or (isinstance(value, str) and dtype_name(value) is None):
            continue
        x = cast(recorder, x, value)
    return operand(recorder, x)


@define("type_as")
def type_as(recorder, x, other):
    return cast(recorder, x, other.dtype)


for _name, _dtype in {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "char": "int8",
    "bool": "bool",
}.items():
    FUNCTIONS[_name] = lambda recorder, x, *_, _dtype=_dtype, **__: cast(recorder, x, _dtype)

_DTYPES = {"F": "float32", "I": "int32", "B": "bool"}


def dtype_of(recorder, kind):
    """The type of a kind, as the library of the caller has it."""
    name = _DTYPES[kind]
    module = sys.modules.get(recorder.namespace)
    if module is None:
        return name
    if recorder.namespace == "numpy":
        return module.dtype(name)
    return getattr(module, name)


def device(recorder):
    if recorder.device is not None:
        return recorder.device
    torch = sys.modules.get("torch")
    return torch.device("cpu") if torch else "cpu"


# ===----------------------------------------------------------------------===
# Constants
# ===----------------------------------------------------------------------===


def _filled(recorder, shape, value, dtype, kind):
    """A value, which is a number, in a type or of a kind."""
    from .proxy import Array

    shape = () if shape is None else shape
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    value = operand(recorder, value)
    if dtype is not None:
        value = cast(recorder, value, dtype)
    elif kind is not None and value._kind != kind:
        value = cast(recorder, value, {"F": "float32", "I": "int64", "B": "bool"}[kind])
    return Array(recorder, shape, lambda _: value) if shape else value


def _constant(recorder, number):
    from .proxy import Scalar

    return Scalar(recorder, recorder.constant(number))


def _size(size):
    return size[0] if len(size) == 1 and not isinstance(size[0], int) else size


for _name, _number in (("zeros", 0), ("ones", 1)):

    def _new(recorder, x, *size, dtype=None, _number=_number, **_):
        return _filled(recorder, _size(size), _constant(recorder, _number), dtype, x._kind)

    def _like(recorder, x, dtype=None, _number=_number, **_):
        return _filled(recorder, x.shape, _constant(recorder, _number), dtype, x._kind)

    FUNCTIONS[f"new_{_name}"] = _new
    FUNCTIONS[f"{_name}_like"] = _like


@define("new_full")
def new_full(recorder, x, size, fill_value, dtype=None, **_):
    return _filled(recorder, size, fill_value, dtype, x._kind)


@define("full_like")
def full_like(recorder, x, fill_value, dtype=None, **_):
    return _filled(recorder, x.shape, fill_value, dtype, x._kind)


@define("full")
def full(recorder, size, fill_value, dtype=None, **_):
    return _filled(recorder, size, fill_value, dtype, None)


@define("scalar_tensor", "tensor", "as_tensor", "asarray", "array", "new_tensor")
def scalar_tensor(recorder, value, *rest, dtype=None, **_):
    if rest:
        value = rest[0]
    return _filled(recorder, (), value, dtype, None)


# ===----------------------------------------------------------------------===
# Shapes
# ===----------------------------------------------------------------------===


@define("unsqueeze", "expand_dims")
def unsqueeze(recorder, x, dim=None, axis=None):
    x, dim = operand(recorder, x), axis if dim is None else dim
    rank = len(x.shape)
    dim = dim + rank + 1 if dim < 0 else dim
    x = x if hasattr(x, "_at") else expand(x)
    return x[(slice(None),) * dim + (None,)]


@define("squeeze")
def squeeze(recorder, x, dim=None, axis=None):
    x, dim = operand(recorder, x), axis if dim is None else dim
    if not x.shape:
        return x
    x.fixed()
    dims = range(len(x.shape)) if dim is None else [d % len(x.shape) for d in _tuple(dim)]
    return x[tuple(0 if d in dims and n == 1 else slice(None) for d, n in enumerate(x.shape))]


@define("stack")
def stack(recorder, values, dim=0, axis=0, **_):
    from .proxy import Array, Scalar

    values = [operand(recorder, value) for value in values]
    if dim or axis or not values or any(type(value) is not Scalar for value in values):
        raise TraceError("expects to stack numbers along dimension 0")

    def at(indices):
        (index,) = indices
        if isinstance(index, Scalar):
            raise TraceError("a list of traced values has no traced index: use where()")
        return values[index]

    return Array(recorder, (len(values),), at)


def _tuple(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


# ===----------------------------------------------------------------------===
# Reductions
# ===----------------------------------------------------------------------===


def _reduce(recorder, x, dim, keepdim, combine, empty=None, finish=None):
    """Combines the elements along dimensions, all of them if `dim` is None.
    `finish(result, count)` makes a result of it."""
    from .proxy import Array

    x = operand(recorder, x)
    if not hasattr(x, "_at"):
        return finish(x, 1) if finish else x
    rank = len(x.shape)
    dims = range(rank) if dim is None else sorted(d % max(rank, 1) for d in _tuple(dim))
    kept = [d for d in range(rank) if d not in dims]
    places = [()]
    for d in dims:
        places = [(*place, n) for place in places for n in range(x.shape[d])]

    def at(indices):
        full = [0] * rank
        for d, index in zip(kept, indices):
            full[d] = index
        chosen = []
        for place in places:
            for d, n in zip(dims, place):
                full[d] = n
            chosen.append(tuple(full))
        values = x.elements(chosen)
        if not values:
            if empty is None:
                raise TraceError("expects a reduction over at least one element")
            values = [_constant(recorder, empty)]
        # Pairs of pairs: a chain would be as long as the row.
        while len(values) > 1:
            rest = values[len(values) & ~1 :]
            values = [combine(a, b) for a, b in zip(values[::2], values[1::2])] + rest
        return finish(values[0], len(places)) if finish else values[0]

    if not kept and not keepdim:
        return at(())
    if keepdim:
        shape = [1 if d in dims else n for d, n in enumerate(x.shape)]
        return Array(recorder, shape, lambda i: at([i[d] for d in kept]), x._fix)
    return Array(recorder, [x.shape[d] for d in kept], at, x._fix)


def _reduction(names, op, *, empty=None, first=None, finish=None):
    """Defines a reduction. `first` converts each element."""

    def function(recorder, x, dim=None, keepdim=False, *, axis=None, keepdims=False, dtype=None, **_):
        f = _Math(recorder)
        if first:
            x = apply(recorder, lambda v: first(f, v), (x,))
        if dtype is not None:
            x = cast(recorder, x, dtype)
        last = finish and (lambda value, count: finish(f, value, count))
        dim = axis if dim is None else dim
        return _reduce(recorder, x, dim, keepdim or keepdims, getattr(f, op), empty, last)

    return define(*names)(function)


def _count(f, x):
    """A bool as an integer, as sums count it."""
    return f.to_i64(x) if x._kind == "B" else x


_reduction(["sum", "nansum"], "add", empty=0, first=_count)
_reduction(["prod"], "mul", empty=1, first=_count)
_reduction(["mean"], "add", first=lambda f, x: f.to_float(x),
           finish=lambda f, value, count: f.div(value, f(float(count))))  # fmt: skip
_any = _reduction(["any"], "logical_or", empty=False, first=lambda f, x: f.to_bool(x))
_reduction(["all"], "logical_and", empty=True, first=lambda f, x: f.to_bool(x))
_reduction(["count_nonzero"], "add", empty=0, first=lambda f, x: f.to_i64(f.to_bool(x)))
_amax = _reduction(["amax"], "maximum")
_amin = _reduction(["amin"], "minimum")


def _extreme(name, op, along):
    def function(recorder, x, other=None, *args, **kwargs):
        if other is not None and not (isinstance(other, int) and not isinstance(x, (int, float)) and x.shape):
            return elementwise(recorder, op, (x, other))
        if other is not None or "dim" in kwargs:
            # PyTorch has the indices too, which no program does.
            kwargs.setdefault("dim", other)
            return (along(recorder, x, *args, **kwargs), None)
        return along(recorder, x, *args, **kwargs)

    define(name)(function)


_extreme("max", "maximum", _amax)
_extreme("min", "minimum", _amin)


@define("dot", "vdot", "inner", "matmul", "__matmul__", "mv")
def dot(recorder, a, b):
    a, b = operand(recorder, a), operand(recorder, b)
    if len(a.shape) != 1 or len(b.shape) != 1 or a.shape != b.shape:
        raise TraceError(
            f"expects the product of two rows of one length, but got shapes {a.shape}"
            f" and {b.shape}"
        )
    return FUNCTIONS["sum"](recorder, elementwise(recorder, "mul", (a, b)))


@define("isin")
def isin(recorder, x, values, *_, **__):
    x, values = operand(recorder, x), operand(recorder, values)
    if x.shape:
        raise TraceError("expects isin of a number and a row")
    return _any(recorder, elementwise(recorder, "eq", (values, x)))


def reduce_ufunc(recorder, name, inputs, kwargs):
    """A ufunc's reduce, of NumPy."""
    names = {
        "add": "sum",
        "multiply": "prod",
        "maximum": "amax",
        "minimum": "amin",
        "logical_or": "any",
        "logical_and": "all",
        "bitwise_or": "any",
        "bitwise_and": "all",
    }
    if name not in names:
        raise TraceError(unknown(f"{name}.reduce", "numpy"))
    axis = kwargs.get("axis", 0)
    return FUNCTIONS[names[name]](recorder, inputs[0], axis=axis)
