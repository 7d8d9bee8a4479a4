"""Functions that know of types and shapes: casts, constants, reductions."""

import itertools
import math
import sys
import typing

from . import _proxy
from ._errors import TraceError
from ._functions import (
    FUNCTIONS,
    Math,
    apply,
    define,
    elementwise,
    expand,
    operand,
    unknown,
)

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
        name = dtype if dtype in _CASTS else _of_code(dtype)
    elif isinstance(dtype, type):
        name = dtype.__name__.rstrip("_")
    elif type(dtype).__module__ == "torch":
        name = str(dtype)
    else:
        name = getattr(dtype, "name", None) or str(dtype)
    name = name.rpartition(".")[2]
    return (
        name
        if name in _CASTS or name.startswith(("uint", "complex", "float8"))
        else None
    )


def _of_code(code):
    """The name of what NumPy spells as "f4" and the like."""
    numpy = sys.modules.get("numpy")
    try:
        return numpy.dtype(code).name if numpy else code
    except (TypeError, ValueError):
        return code


def cast(recorder, x, dtype):
    name = dtype_name(dtype)
    if name not in _CASTS:
        known = ", ".join(n for n in _CASTS if any(c.isdigit() for c in n))
        raise TraceError(f"expects a cast to bool, {known}, but got {dtype}")
    return elementwise(recorder, _CASTS[name], (x,))


@define("astype")
def astype(recorder, x, dtype, *_, **__):
    return cast(recorder, x, dtype)


@define("to", "type", "_to_copy", "convert_element_type")
def to(recorder, x, *args, dtype=None, copy=None, device=None, **_):
    for value in (*args, dtype):
        if value is None or isinstance(value, bool):
            continue
        is_like = hasattr(value, "shape") and hasattr(value, "dtype")
        # Classes of NumPy's numbers have both, of their instances.
        if is_like and not isinstance(value, type):
            value = value.dtype
        if type(value).__name__ == "device" or (
            isinstance(value, str) and dtype_name(value) is None
        ):
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
    FUNCTIONS[_name] = lambda recorder, x, *_, _dtype=_dtype, **__: cast(
        recorder, x, _dtype
    )


# ===----------------------------------------------------------------------===
# Constants
# ===----------------------------------------------------------------------===


def _filled(recorder, shape, value, dtype, kind):
    """A value, which is a number, in a type or of a kind."""
    shape = () if shape is None else shape
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    value = operand(recorder, value)
    if dtype is None and kind is not None and value._kind != kind:
        dtype = {"F": "float32", "I": "int64", "B": "bool"}[kind]
    if dtype is not None:
        number = recorder.constant_of(value._number)
        make = {"to_float": float, "to_i64": int, "to_i32": int, "to_bool": bool}
        make = make.get(_CASTS.get(dtype_name(dtype)))
        if number is not None and make:
            value = _constant(recorder, make(number))
        else:
            value = cast(recorder, value, dtype)
    return _proxy.Array(recorder, shape, lambda _: value) if shape else value


def _constant(recorder, number):
    return _proxy.Scalar(recorder, recorder.constant(number))


def _size(size):
    return size[0] if len(size) == 1 and not isinstance(size[0], int) else size


for _name, _number in (("zeros", 0), ("ones", 1)):

    def _new(recorder, x, *size, dtype=None, _number=_number, **_):
        return _filled(
            recorder, _size(size), _constant(recorder, _number), dtype, x._kind
        )

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
    dims = (
        range(len(x.shape)) if dim is None else [d % len(x.shape) for d in _tuple(dim)]
    )
    return x[
        tuple(0 if d in dims and n == 1 else slice(None) for d, n in enumerate(x.shape))
    ]


@define("stack")
def stack(recorder, values, dim=0, axis=0, **_):
    values = [operand(recorder, value) for value in values]
    if (
        dim
        or axis
        or not values
        or any(type(value) is not _proxy.Scalar for value in values)
    ):
        raise TraceError("expects to stack numbers along dimension 0")

    def at(indices):
        (index,) = indices
        if isinstance(index, _proxy.Scalar):
            raise TraceError("a list of traced values has no traced index: use where()")
        return values[index]

    result = _proxy.Array(recorder, (len(values),), at)
    result._is_list = True
    return result


@define("index", "_unsafe_index")
def index(recorder, x, indices):
    items = tuple(slice(None) if i is None else i for i in indices)
    return _table(recorder, x)[items]


@define("select")
def select(recorder, x, dim, index):
    return _table(recorder, x)[(slice(None),) * (dim % len(x.shape)) + (index,)]


def _table(recorder, x):
    return x if isinstance(x, _proxy.Array) else _proxy.Table(recorder, x)


def _tuple(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


# ===----------------------------------------------------------------------===
# Reductions
# ===----------------------------------------------------------------------===


# Reductions of more elements than these are not written out.
_MOST_WRITTEN = 256


def _reduce(recorder, x, dim, keepdim, name, empty=None, finish=None):
    """Combines the elements along dimensions, all of them if `dim` is None, by an
    operation. `finish(result, count)` makes a result of it."""
    x = operand(recorder, x)
    if not hasattr(x, "_at"):
        return finish(x, 1) if finish else x
    rank = len(x.shape)
    dims = range(rank) if dim is None else sorted(d % max(rank, 1) for d in _tuple(dim))
    kept = [d for d in range(rank) if d not in dims]
    # Those that are symbols of a graph are no longer: the program depends on them.
    extents = [int(x.shape[d]) for d in dims]
    count = math.prod(extents)
    # No loop reads the values of a list, and of a mask that is in a loop nothing
    # tells which tiles need it.
    is_logical = name in ("logical_or", "logical_and")
    is_written = x._is_list or (is_logical and count <= _MOST_WRITTEN)
    combine = _write_out if is_written else _loop

    def at(indices):
        def element(places):
            place = dict(zip((*kept, *dims), (*indices, *places)))
            return x._at(tuple([place[d] for d in range(rank)]))

        x.fixed()
        if count:
            value = combine(recorder, name, extents, element)
            is_extreme = name in ("maximum", "minimum") and value._kind == "F"
            if is_extreme and count > 1 and not is_written:
                value = _average_equal(recorder, extents, element, value)
        elif empty is None:
            raise TraceError("expects a reduction over at least one element")
        else:
            value = _constant(recorder, empty)
        return finish(value, count) if finish else value

    if not kept and not keepdim:
        return at(())
    if keepdim:
        shape = [1 if d in dims else n for d, n in enumerate(x.shape)]
        return _proxy.Array(recorder, shape, lambda i: at([i[d] for d in kept]), (x,))
    return _proxy.Array(recorder, [x.shape[d] for d in kept], at, (x,))


def _loop(recorder, name, extents, element):
    """What an operation makes of `element(indices)` for all indices below some: a
    loop for each of these."""
    if not extents:
        return element(())
    extent, *inner = extents
    if extent == 1:
        return _loop(recorder, name, inner, lambda places: element((0, *places)))
    with recorder.counter(extent) as counter:
        index = _proxy.Scalar(recorder, counter)
        value = _loop(recorder, name, inner, lambda places: element((index, *places)))
    return _proxy.Scalar(recorder, recorder.reduce(name, counter, value._number))


def _write_out(recorder, name, extents, element):
    """The same without a loop."""
    places = list(itertools.product(*map(range, extents)))
    if len(places) > _MOST_WRITTEN:
        raise TraceError(
            f"expects a reduction over at most {_MOST_WRITTEN} traced values in a"
            f" list, but got {len(places)}"
        )
    values = [element(place) for place in places]
    # Pairs of pairs: a chain would be as long as the list.
    while len(values) > 1:
        rest = values[len(values) & ~1 :]
        pairs = zip(values[::2], values[1::2])
        values = [elementwise(recorder, name, pair) for pair in pairs] + rest
    return values[0]


def _average_equal(recorder, extents, element, value):
    """The average of the elements that are a value: their maximum, with a gradient
    that these share equally, and that needs no maxima of the elements before each."""
    f = Math(recorder)

    def sum_up(term):
        return _loop(recorder, "add", extents, lambda places: term(element(places)))

    total = sum_up(lambda x: f.select(f.eq(x, value), x, f(0.0)))
    return f.div(total, sum_up(lambda x: f.to_float(f.eq(x, value))))


def _reduction(names, op, *, empty=None, first=None, finish=None):
    """Defines a reduction. `first` converts each element."""

    def function(
        recorder,
        x,
        dim=None,
        keepdim=False,
        *,
        axis=None,
        keepdims=False,
        dtype=None,
        **_,
    ):
        f = Math(recorder)
        if first:
            x = apply(recorder, lambda v: first(f, v), (x,))
        if dtype is not None:
            x = cast(recorder, x, dtype)
        last = finish and (lambda value, count: finish(f, value, count))
        dim = axis if dim is None else dim
        return _reduce(recorder, x, dim, keepdim or keepdims, op, empty, last)

    return define(*names)(function)


def _count(f, x):
    """A bool as an integer, as sums count it."""
    return f.to_i64(x) if x._kind == "B" else x


_reduction(["sum"], "add", empty=0, first=_count)
_reduction(["prod"], "mul", empty=1, first=_count)
_reduction(["mean"], "add", first=lambda f, x: f.to_float(x),
           finish=lambda f, value, count: f.div(value, f(float(count))))  # fmt: skip
_any = _reduction(["any"], "logical_or", empty=False, first=lambda f, x: f.to_bool(x))
_reduction(["all"], "logical_and", empty=True, first=lambda f, x: f.to_bool(x))
_reduction(["count_nonzero"], "add", empty=0, first=lambda f, x: f.to_i64(f.to_bool(x)))
_amax = _reduction(["amax"], "maximum")
_amin = _reduction(["amin"], "minimum")


class _Extreme(typing.NamedTuple):
    values: object
    indices: object


class _NoIndices(_proxy.Traced):
    """Where the largest elements are: what is done with it is an error."""

    __slots__ = ()

    @property
    def _recorder(self):
        raise TraceError(
            "expects the values of max or min along a dimension, but got its indices,"
            " which no program has: compute them in front of the attention"
        )

    def __index__(self):
        return self._recorder


def _extreme(name, op, along):
    def function(recorder, x, other=None, *args, **kwargs):
        x = operand(recorder, x)
        if other is not None and not (isinstance(other, (int, tuple)) and x.shape):
            return elementwise(recorder, op, (x, other))
        if "dim" in kwargs or (other is not None and _is_of_torch(recorder, x)):
            # PyTorch has the indices, too.
            kwargs.setdefault("dim", other)
            return _Extreme(along(recorder, x, *args, **kwargs), _NoIndices())
        return along(recorder, x, other, *args, **kwargs)

    define(name)(function)
    define(f"numpy.{name}")(along)


def _is_of_torch(recorder, x):
    """Whether methods of an Array are those of PyTorch: that of the tensors that it
    is made of, or else the library of the caller."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    if not x._extents:
        return recorder.namespace == "torch"
    return any(isinstance(tensor, torch.Tensor) for tensor, _ in x._extents)


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


@define("einsum")
def einsum(recorder, equation, *rows):
    given, _, result = str(equation).replace(" ", "").partition("->")
    if len(set(given.split(","))) > 1 or result or len(rows) > 2:
        raise TraceError(
            f"expects einsum of one or two rows to a number, such as 'd,d->', but got"
            f" {equation!r}"
        )
    product = elementwise(recorder, "mul", rows) if len(rows) == 2 else rows[0]
    return FUNCTIONS["sum"](recorder, product)


@define("isin")
def isin(recorder, x, values, *_, **__):
    x, values = operand(recorder, x), operand(recorder, values)
    if x.shape:
        raise TraceError("expects isin of a number and a row")
    return _any(recorder, elementwise(recorder, "eq", (values, x)))


@define("reduce")
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
