"""Functions of JAX while a function is traced. Its modules take traced values no
more than its arrays are read at them, so that functions see a stand-in for each
module and function: of traced values, it does what the trace has under that name,
and of others what JAX has. Only imported where JAX is."""

import types

import jax

from . import _functions
from ._errors import TraceError
from ._proxy import has_traced, hold

# What jax.lax means by names that others have for something else.
_LAX = {
    "bitwise_and": "bitwise_and",
    "clamp": lambda low, x, high: ("clip", (x, low, high)),
    "integer_pow": "power",
    "is_finite": "isfinite",
    "logistic": "sigmoid",
    "max": "maximum",
    "min": "minimum",
    "rem": "fmod",
    "select": "where",
    "shift_left": "left_shift",
    "shift_right_arithmetic": "right_shift",
}
# Those of jax.lax that are as everywhere.
_SAME = frozenset(
    "abs acos acosh add asin asinh atan atan2 atanh bitwise_not bitwise_or bitwise_xor"
    " cbrt ceil convert_element_type cos cosh div eq erf erfc exp exp2 expm1 floor ge"
    " gt le log log1p lt mul ne neg pow rsqrt sign sin sinh sqrt square sub tan"
    " tanh".split()
)


def _is_own(name):
    return (name or "").partition(".")[0] == "jax"


def wrapped(value):
    """The user's function that jax.jit and the like have wrapped, or None."""
    if isinstance(value, types.FunctionType) or _is_own(
        getattr(value, "__module__", None)
    ):
        return None
    return getattr(value, "__wrapped__", None)


def is_own(value):
    """Whether this is a module or a function of JAX. Its classes are types, which
    the trace knows."""
    if isinstance(value, types.ModuleType):
        return _is_own(value.__name__)
    return (
        callable(value)
        and not isinstance(value, type)
        and _is_own(getattr(value, "__module__", None))
    )


def stand_in(recorder, value):
    """What a traced function sees instead of a module or a function of JAX."""
    if isinstance(value, types.ModuleType):
        return _Module(recorder, value)
    return _Function(recorder, value, value.__module__, value.__name__)


class _Module:
    def __init__(self, recorder, module):
        self._recorder, self._module = recorder, module

    def __getattr__(self, name):
        value = getattr(self._module, name)
        if isinstance(value, types.ModuleType):
            return _Module(self._recorder, value)
        if callable(value) and not isinstance(value, type):
            return _Function(self._recorder, value, self._module.__name__, name)
        return hold(self._recorder, value)


class _Function:
    def __init__(self, recorder, function, module, name):
        self._recorder, self._function, self._name = recorder, function, name
        parts = module.split(".")
        self._family = next((x for x in ("lax", "nn", "random") if x in parts), "numpy")

    def __call__(self, *args, **kwargs):
        recorder = self._recorder
        if not has_traced(args) and not has_traced(kwargs):
            found = self._function(*_functions.real(args), **_functions.real(kwargs))
            return hold(recorder, found)
        name = self._name
        if self._family == "lax":
            kwargs.pop("accuracy", None)
            known = _LAX.get(name, name if name in _SAME else None)
            if known is None:
                raise TraceError(_functions.unknown(name, "jax.lax", {*_LAX, *_SAME}))
            name, args = (known, args) if type(known) is str else known(*args)
        elif self._family == "nn" and name == "gelu":
            args, kwargs = args[:1], {"approximate": _gelu(*args[1:], **kwargs)}
        elif name not in _functions.FUNCTIONS:
            known = _functions.FUNCTIONS.keys() & set(dir(getattr(jax, self._family)))
            raise TraceError(_functions.unknown(name, f"jax.{self._family}", known))
        return _functions.call(recorder, name, args, kwargs, family=self._family)


def _gelu(approximate=True):
    return "tanh" if approximate else "none"


def describe(array):
    """The dtype, the shape, the strides and no address of an array, which may be
    one that JAX traces. As arrays do not change, one object is one array."""
    if jax.dtypes.issubdtype(array.dtype, jax.dtypes.extended):
        raise TypeError(f"it has the dtype {array.dtype}")
    strides, size = [], 1
    for extent in reversed(array.shape):
        strides.insert(0, size)
        size *= extent
    return str(array.dtype), tuple(array.shape), tuple(strides), None
