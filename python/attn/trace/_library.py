"""Functions of numbers that are made of the operations of the table."""

import math

from . import _gradients
from ._errors import TraceError
from ._functions import FUNCTIONS, Math, apply, define, elementwise, operand

# ===----------------------------------------------------------------------===
# Arithmetic
# ===----------------------------------------------------------------------===


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


@define("lax.div")
def _div_of_lax(recorder, a, b):
    def function(a, b):
        is_float = "F" in (a._kind, b._kind)
        return getattr(Math(recorder), "div" if is_float else "trunc_div")(a, b)

    return apply(recorder, function, (a, b))


@define("divmod", "__divmod__")
def _divmod(recorder, a, b):
    return tuple(elementwise(recorder, name, (a, b)) for name in ("floor_div", "mod"))


@define("__rdivmod__")
def _rdivmod(recorder, a, b):
    return _divmod(recorder, b, a)


@define("round", "round_", "around", "rint")
def _round(recorder, x, decimals=0):
    if decimals:
        raise TraceError(f"expects to round to 0 decimals, but got {decimals}")
    return elementwise(recorder, "round", (x,))


def _to_int(name):
    # math.floor and the like make an int.
    def function(recorder, x, digits=None):
        if digits is not None:
            raise TraceError(f"expects to round to no digits, but got {digits}")
        return elementwise(recorder, "to_i64", (elementwise(recorder, name, (x,)),))

    return function


for _name in ("floor", "ceil", "trunc", "round"):
    FUNCTIONS[f"__{_name}__"] = _to_int(_name)


@define("positive", "__pos__", "contiguous", "clone", "lift_fresh",
        "lift_fresh_copy", "alias", "cpu", "cuda", "copy", "ascontiguousarray")  # fmt: skip
def _same(recorder, x, *_, **__):
    return operand(recorder, x)


@define("detach")
def _detach(recorder, x):
    def detached(x):
        _gradients.stop(recorder, x._number)
        return x

    return apply(recorder, detached, (x,))


# Of numbers in graphs.
for _name in "maximum", "minimum":
    FUNCTIONS[f"sym_{_name[:3]}"] = FUNCTIONS[_name]
FUNCTIONS["sym_float"] = lambda recorder, x: elementwise(recorder, "to_float", (x,))
FUNCTIONS["sym_int"] = _to_int("trunc")


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
    f = Math(recorder)
    exponent = recorder.constant_of(b._number)
    if exponent == 0.5:
        return f.sqrt(a)
    if exponent == -0.5:
        # Of -0.0 that of PyTorch is -inf, as rsqrt has it, and others have inf.
        is_signed = a._kind == "F" and recorder.namespace != "torch"
        return f.rsqrt(f.add(a, f(0.0)) if is_signed else a)
    if b._kind == "F" and recorder.constant_of(a._number) == 2:
        return f.exp2(b)
    if exponent is None or exponent != int(exponent) or abs(exponent) > 16:
        return f.pow(a, b)
    # A few products.
    is_float = "F" in (a._kind, b._kind)
    if exponent < 0 and not is_float:
        raise TraceError("integers to negative integer powers are no integers")
    square = f.to_float(a) if is_float else f.to_i64(a)
    product, rest = None, abs(int(exponent))
    while rest:
        if rest & 1:
            product = square if product is None else f.mul(product, square)
        rest >>= 1
        if rest:
            square = f.mul(square, square)
    if product is None:
        return f(1.0 if is_float else 1)
    return f.div(f(1.0), product) if exponent < 0 else product


# ===----------------------------------------------------------------------===
# Choices
# ===----------------------------------------------------------------------===


@define("where")
def where(recorder, condition, a=None, b=None, *, input=None, other=None):
    a, b = input if a is None else a, other if b is None else b
    if a is None or b is None:
        raise TraceError(
            "expects where(condition, a, b): indices of what is true are no program"
        )
    return elementwise(recorder, "select", (condition, a, b))


@define("Tensor.where")
def _where(recorder, x, condition, other):
    return where(recorder, condition, x, other)


@define("numpy.select")
def select(recorder, condlist, choicelist, default=0):
    if len(condlist) != len(choicelist):
        raise TraceError(
            "expects select of as many choices as conditions, but got"
            f" {len(choicelist)} and {len(condlist)}"
        )
    # The first condition that holds is the outermost one.
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        default = elementwise(recorder, "select", (condition, choice, default))
    return default


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
    f, most = Math(recorder), 3.4028234663852886e38

    def function(x, nan, high, low):
        y = f.select(
            f.eq(x, f(math.inf)), high, f.select(f.eq(x, f(-math.inf)), low, x)
        )
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
            f = Math(recorder)
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


@_compose("selu")
def _selu(f, x):
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    below = f.mul(f(alpha), f.expm1(f.minimum(x, f(0.0))))
    return f.mul(f(scale), f.select(f.gt(x, f(0.0)), x, below))


@_compose("sinc")
def _sinc(f, x):
    is_zero = f.eq(x, f(0.0))
    # Not of 0 by 0, whose gradient would be NaN.
    angle = f.mul(f(math.pi), f.select(is_zero, f(1.0), x))
    return f.select(is_zero, f(1.0), f.div(f.sin(angle), angle))


@_compose("relu6")
def _relu6(f, x):
    return f.minimum(f.maximum(x, f(0.0)), f(6.0))


@_compose("softsign", "soft_sign")
def _softsign(f, x):
    return f.div(x, f.add(f(1.0), f.abs(x)))


@_compose("log_sigmoid", "logsigmoid")
def _log_sigmoid(f, x):
    return f.sub(f.minimum(x, f(0.0)), f.log1p(f.exp(f.neg(f.abs(x)))))


@_compose("hardsigmoid", "hard_sigmoid")
def _hardsigmoid(f, x):
    return f.div(f.minimum(f.maximum(f.add(x, f(3.0)), f(0.0)), f(6.0)), f(6.0))


@_compose("hardswish", "hard_swish", "hard_silu")
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
    # Not of one infinity less another.
    rest = f.select(f.eq(x, y), f(0.0), f.sub(x, y))
    return f.add(f.maximum(x, y), f.log1p(f.exp(f.neg(f.abs(rest)))))


@_compose("heaviside")
def _heaviside(f, x, y):
    return f.select(f.eq(x, f(0.0)), y, f.select(f.gt(x, f(0.0)), f(1.0), f(0.0)))


@_compose("lerp")
def _lerp(f, x, y, weight):
    return f.add(x, f.mul(weight, f.sub(y, x)))


@_compose("numpy.heaviside")
def _heaviside_of_numpy(f, x, y):
    # PyTorch's is 0 of NaN.
    return f.select(f.isnan(x), x, _heaviside(x._recorder, x, y))


@_compose("isneginf")
def _isneginf(f, x):
    return f.eq(x, f(-math.inf))


@_compose("isposinf")
def _isposinf(f, x):
    return f.eq(x, f(math.inf))


@define("gelu")
def gelu(recorder, x, approximate="none"):
    f = Math(recorder)
    if approximate not in ("none", "tanh"):
        raise TraceError(
            f"expects approximate to be 'none' or 'tanh', but got {approximate!r}"
        )

    def function(x):
        if approximate == "none":
            y = f.erf(f.mul(x, f(math.sqrt(0.5))))
        else:
            cube = f.mul(f.mul(x, x), x)
            y = f.tanh(
                f.mul(f(math.sqrt(2 / math.pi)), f.add(x, f.mul(f(0.044715), cube)))
            )
        return f.mul(f.mul(f(0.5), x), f.add(f(1.0), y))

    return apply(recorder, function, (x,))


def _with(names, defaults, function):
    """Defines a function with numbers that have defaults."""

    def composed(recorder, x, *args, inplace=False, **kwargs):
        f = Math(recorder)
        wrong = [key for key in kwargs if key not in defaults]
        if wrong or len(args) > len(defaults):
            raise TraceError(
                f"{names[0]} takes {', '.join(defaults)}, but got {', '.join(wrong) or 'more'}"
            )
        given = dict(zip(defaults, args), **kwargs)
        values = [
            given[key] if key in given else f(value) for key, value in defaults.items()
        ]
        return apply(recorder, lambda *scalars: function(f, *scalars), (x, *values))

    define(*names)(composed)


_with(["leaky_relu"], {"negative_slope": 0.01},
      lambda f, x, slope: f.select(f.gt(x, f(0.0)), x, f.mul(x, slope)))  # fmt: skip
_with(["elu"], {"alpha": 1.0},
      lambda f, x, a: f.select(f.gt(x, f(0.0)), x, f.mul(a, f.expm1(f.minimum(x, f(0.0))))))  # fmt: skip
_with(["hardtanh", "hard_tanh"], {"min_val": -1.0, "max_val": 1.0},
      lambda f, x, low, high: f.minimum(f.maximum(x, low), high))  # fmt: skip
_with(["celu"], {"alpha": 1.0},
      lambda f, x, a: f.select(
          f.gt(x, f(0.0)), x, f.mul(a, f.expm1(f.div(f.minimum(x, f(0.0)), a)))
      ))  # fmt: skip
_with(["squareplus"], {"b": 4.0},
      lambda f, x, b: f.mul(
          f(0.5), f.add(x, f.sqrt(f.add(f.mul(x, x), b)))
      ))  # fmt: skip
_with(["threshold", "_threshold"], {"threshold": 0.0, "value": 0.0},
      lambda f, x, t, value: f.select(f.gt(x, t), x, value))  # fmt: skip
_with(["softplus"], {"beta": 1.0, "threshold": 20.0},
      lambda f, x, beta, t: f.select(f.gt(f.mul(x, beta), t), x,
                                     f.div(f.log1p(f.exp(f.minimum(f.mul(x, beta), t))), beta)))  # fmt: skip


def _fused(name, op):
    def function(recorder, x, a, b, value=None):
        f = Math(recorder)
        values = (x, a, b, f(1.0) if value is None else value)
        return apply(
            recorder,
            lambda x, a, b, v: f.add(x, f.mul(v, getattr(f, op)(a, b))),
            values,
        )

    define(name)(function)


_fused("addcmul", "mul")
_fused("addcdiv", "div")
