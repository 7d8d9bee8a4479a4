"""The functions of programs by name, as Python, NumPy, PyTorch and aten spell
them: `FUNCTIONS`. The name of an aten operation is one of them before its dot.
Where NumPy means something else by a name, that is "numpy." and the name, and where
methods of tensors do, "Tensor." and the name.

A function takes a recorder, and then what the one of that name takes: Scalars,
Arrays, captured tensors and numbers.
"""

import difflib
import sys

from . import _proxy
from ._errors import TraceError
from ._ops import OPERATORS, OPS

FUNCTIONS = {}

_RANDOM = frozenset(
    "rand randn rand_like randn_like randint randint_like randperm bernoulli dropout"
    " alpha_dropout feature_dropout native_dropout normal multinomial poisson binomial"
    " _standard_gamma gumbel_softmax rrelu uniform exponential"
    " geometric cauchy log_normal".split()
)


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
    if isinstance(value, _proxy.Traced):
        if value._recorder is not recorder:
            raise _proxy.escaped()
        # An array of JAX without dimensions is held until it is a number.
        return value if value.shape or type(value) is _proxy.Scalar else value._at(())
    if isinstance(value, (bool, int, float)) and type(value).__module__ != "numpy":
        kind = next(k for k in (bool, int, float) if isinstance(value, k))
        return _proxy.Scalar(recorder, recorder.number(kind(value), position, positive))
    if isinstance(value, (list, tuple)):
        return FUNCTIONS["stack"](recorder, value)
    symbol = recorder.symbol and recorder.symbol(value)
    if symbol is not None:
        return _proxy.Scalar(recorder, symbol)
    noted = len(recorder.computed)
    number = _number(value)
    # Its kind and its contents are known where it was captured. What was computed
    # is another thing.
    if all(call.result is not value for call in recorder.computed[:noted]):
        del recorder.computed[noted:]
    if number is None:
        table = _proxy.Table(recorder, value)
        return table if len(value.shape) else table._element(())
    return _proxy.Scalar(recorder, recorder.number(number, position, positive))


def _number(value):
    """The number that an array without dimensions is, or None if it is a table: one
    with dimensions, with a gradient, or that is not in the memory of the CPU."""
    shape = getattr(value, "shape", None)
    if shape is None:
        raise TraceError(
            f"expects traced values, tensors and numbers, but got {type(value).__name__}"
        )
    is_here = type(value).__module__ == "numpy" or (
        not _proxy.is_jax(value)
        and getattr(getattr(value, "device", None), "type", None) == "cpu"
        and not value.requires_grad
        and not is_transformed(value)
        and not _is_fake(value)
    )
    if len(shape) or not is_here:
        return None
    number = value.item()
    if not isinstance(number, (bool, int, float)):
        raise TraceError(f"expects real numbers, but got {type(number).__name__}")
    return number


def is_transformed(tensor):
    """Whether this is a tensor of torch.func, which stands for several or has a
    tangent, or another one with a tangent."""
    torch = sys.modules["torch"]
    return torch._C._functorch.is_functorch_wrapped_tensor(tensor) or (
        torch.autograd.forward_ad._current_level >= 0
        and torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None
    )


def _is_fake(tensor):
    """Whether this is one that torch.compile traces with, which has no contents."""
    kinds = sys.modules["torch"]._subclasses
    fakes = kinds.FakeTensor, kinds.functional_tensor.FunctionalTensor
    return isinstance(tensor, fakes)


def apply(recorder, function, values, positive=None):
    """`function` of Scalars, for each element where some are Arrays."""
    values = [
        (
            value
            if type(value) is _proxy.Scalar and value._recorder is recorder
            else operand(
                recorder, value, None if len(values) != 2 else n, n == positive
            )
        )
        for n, value in enumerate(values)
    ]
    arrays = [value for value in values if isinstance(value, _proxy.Array)]
    if not arrays:
        return function(*values)
    shape = _broadcast(arrays)

    def at(indices):
        return function(*(_pick(value, indices) for value in values))

    return _proxy.Array(recorder, shape, at, arrays)


def _broadcast(arrays):
    rank = max(len(x.shape) for x in arrays)
    shape = []
    for dim in range(-rank, 0):
        # One that is a symbol of a graph is no longer one: it has no hash.
        extents = {int(x.shape[dim]) for x in arrays if len(x.shape) >= -dim}
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

    def function(*scalars):
        return _proxy.Scalar(recorder, recorder.op(name, *(x._number for x in scalars)))

    return apply(recorder, function, args, 1 if name in ("floor_div", "mod") else None)


def element(span, index):
    """What a range has at an index, which may be traced."""
    if not isinstance(index, _proxy.Scalar):
        return span[index]
    f = Math(index._recorder)
    if span.step != 1:
        index = f.mul(index, f(span.step))
    return f.add(index, f(span.start)) if span.start else index


def expand(scalar):
    """A Scalar as an Array without dimensions."""
    return _proxy.Array(scalar._recorder, (), lambda indices: scalar)


class Math:
    """Functions of Scalars, with constants, for those that are made of others."""

    def __init__(self, recorder):
        self._recorder = recorder

    def __call__(self, value):
        return _proxy.Scalar(self._recorder, self._recorder.constant(value))

    def __getattr__(self, name):
        return lambda *args: elementwise(self._recorder, name, args)


def real(value):
    if isinstance(value, _proxy.Table) and value.is_whole:
        return value._tensor
    if isinstance(value, (tuple, list)):
        return type(value)(map(real, value))
    if isinstance(value, dict):
        return {key: real(x) for key, x in value.items()}
    return value


# ===----------------------------------------------------------------------===
# Calls
# ===----------------------------------------------------------------------===


def unknown(name, family="", known=FUNCTIONS):
    """What is wrong with a name, of which there are `known` ones."""
    known = sorted({n.strip("_") for n in known if "." not in n})
    near = difflib.get_close_matches(name.strip("_"), known, 3, 0.6)
    hint = f"; there are {', '.join(near)}" if near else ""
    if is_random(name) or name.startswith("random"):
        hint = (
            ": a program has no random numbers; read them from a captured tensor, as"
            " of a mask that was drawn beforehand"
        )
    elif name == "stop_gradient":
        hint = ": call it in front of the attention, and read the result"
    elif name in ("item", "nonzero", "sort", "argsort", "topk", "unique", "cumsum"):
        hint = ": compute it outside of the function, and read the result"
    return f"{family + '.' if family else ''}{name} has no lowering{hint}"


def call(recorder, name, args, kwargs, self=None, family=""):
    """The function of a name, of `self` and the arguments."""
    if self is not None:
        args = (self, *args)
    if family and not _proxy.has_traced(args) and not _proxy.has_traced(kwargs):
        # Of captured tensors alone: done by their library, once a call.
        table = next(
            x
            for x in flatten((args, list(kwargs.values())))
            if isinstance(x, _proxy.Table)
        )
        module = sys.modules[
            "jax.numpy"
            if _proxy.is_jax(table._tensor)
            else type(table._tensor).__module__.partition(".")[0]
        ]
        function = getattr(module, name, None)
        if function is not None:
            return _proxy.hold(recorder, function(*real(args), **real(kwargs)))
    function = FUNCTIONS.get(f"{family}.{name}") or FUNCTIONS.get(name)
    if function is None:
        raise TraceError(unknown(name, family))
    if kwargs and name not in _OWN_KEYWORDS:
        args, kwargs = _by_place(args, kwargs)
    try:
        return function(recorder, *args, **kwargs)
    except TypeError as error:
        if isinstance(error, TraceError) or error.__traceback__.tb_next is not None:
            raise
        raise TraceError(f"{name}: {error}") from error


def _by_place(args, kwargs):
    """The same arguments, where those are by their place that PyTorch has names for
    which functions here do not have."""
    args, kwargs = list(args), dict(kwargs)
    while True:
        place = len(args)
        names = [name for name in kwargs if _PLACES.get(name) == place]
        if len(names) != 1:
            return args, kwargs
        args.append(kwargs.pop(names[0]))


# The places of PyTorch's keywords, and functions that have other ones.
_PLACES = {
    "input": 0,
    "self": 0,
    "elements": 0,
    "other": 1,
    "exponent": 1,
    "test_elements": 1,
    "tensor": 1,
    "tensor1": 1,
    "vec": 1,
    "end": 1,
    "tensor2": 2,
    "weight": 2,
}
_OWN_KEYWORDS = {"where", "Tensor.where"}


def flatten(value):
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from flatten(item)
    elif isinstance(value, slice):
        yield from (value.start, value.stop, value.step)
    else:
        yield value


# What `torch.Tensor.where` is one of, and `torch.where` is not.
_METHOD = type(str.upper)


def call_torch(func, args, kwargs):
    """A function of PyTorch with traced values among its arguments."""
    # An operation of aten has an overload behind a dot.
    name = getattr(func, "__name__", str(func)).partition(".")[0]
    # What functions of `math` are in a graph.
    name = name.removeprefix("_sym_")
    if name == "__getitem__":
        return _proxy.read(*args)
    traced = next(
        (
            x
            for x in flatten((args, list(kwargs.values())))
            if isinstance(x, _proxy.Traced)
        ),
        None,
    )
    if name == "__setitem__" or (name.endswith("_") and not name.endswith("__")):
        error = mutation(name)
        raise error if traced is None else traced._recorder.refuse(error)
    if traced is None:
        raise TraceError(unknown(name, "torch"))
    if type(func) is _METHOD and f"Tensor.{name}" in FUNCTIONS:
        name = f"Tensor.{name}"
    return call(traced._recorder, name, args, kwargs, family="torch")


def mutation(name):
    if is_random(name):
        return random(name)
    return TraceError(
        f"a function that is traced may not write to tensors, as '{name}' does:"
        " compute a new value"
    )


def is_random(name):
    return name.removesuffix("_") in _RANDOM


def random(name):
    return TraceError(unknown(name, "torch"))


class _NoMethod(TraceError, AttributeError):
    """What a traced value does not have."""


def method(value, name):
    if name.endswith("_"):
        raise value._recorder.refuse(mutation(name))
    if name not in FUNCTIONS:
        raise _NoMethod(unknown(name))
    if f"Tensor.{name}" in FUNCTIONS:
        name = f"Tensor.{name}"
    return lambda *args, **kwargs: call(value._recorder, name, args, kwargs, value)


for _name in OPS:

    def _function(recorder, *args, _name=_name, **kwargs):
        if kwargs:
            raise TraceError(f"'{_name}' takes no {', '.join(kwargs)}")
        return elementwise(recorder, _name, args)

    for _alias in OPS[_name].names.split():
        FUNCTIONS[_alias] = _function

for _dunder, _name in {**OPERATORS, "div": "div"}.items():
    FUNCTIONS[f"__{_dunder}__"] = lambda r, a, b, n=_name: elementwise(r, n, (a, b))
    FUNCTIONS[f"__r{_dunder}__"] = lambda r, a, b, n=_name: elementwise(r, n, (b, a))


_DTYPES = {"F": "float32", "I": "int32", "B": "bool"}


def dtype_of(recorder, kind):
    """The type of a kind, as the library of the caller has it."""
    name = _DTYPES[kind]
    module = sys.modules.get(recorder.namespace)
    if module is None:
        return name
    return (
        module.dtype(name) if recorder.namespace == "numpy" else getattr(module, name)
    )


def device(recorder):
    if recorder.device is not None:
        return recorder.device
    torch = sys.modules.get("torch")
    return torch.device("cpu") if torch else "cpu"
