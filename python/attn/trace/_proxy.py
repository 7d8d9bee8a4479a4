"""What a traced function sees instead of numbers: a `Scalar` for each score and
index, which records what is done with it, and an `Array` for what has
dimensions: a captured tensor that was read at traced indices, or what was
computed from such.
"""

import sys

from .._tensors import Bitcast
from . import _functions
from ._errors import TraceError, array_error, branch_error, number_error
from ._ops import NAMES, OPERATORS

_NUMBERS = (int, float, bool)


def _method(name):
    """A method, or what a dunder of the same name does."""

    def call(self, *args, **kwargs):
        return _functions.call(self._recorder, name, args, kwargs, self)

    return call


class Traced:
    """What Scalar and Array have in common: operators, and the functions of
    NumPy and PyTorch."""

    __slots__ = ("_recorder",)
    # Operators of arrays leave the operation to these.
    __array_priority__ = 1000

    def _no_branch(self):
        raise self._recorder.refuse(branch_error())

    __bool__ = _no_branch

    def __int__(self):
        raise number_error("int")

    def __float__(self):
        raise number_error("float")

    def __complex__(self):
        raise number_error("complex number")

    def __index__(self):
        raise number_error("index")

    def __array__(self, *_, **__):
        raise array_error()

    def item(self):
        raise number_error("number of Python")

    tolist = numpy = item

    def __hash__(self):
        raise TraceError(
            "a traced value has no hash, so it is no key of a dict, a set or a cache"
        )

    def __setitem__(self, key, value):
        raise TraceError(
            "a function that is traced may not write to tensors: compute a new value"
        )

    def __contains__(self, value):
        raise self._recorder.refuse(branch_error())

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if kwargs.get("out") is not None:
            raise TraceError(
                f"a function that is traced may not write to tensors: leave out= of"
                f" numpy.{ufunc.__name__} away"
            )
        name = ufunc.__name__
        if method == "reduce":
            return _functions.FUNCTIONS["reduce"](self._recorder, name, inputs, kwargs)
        if method != "__call__":
            raise TraceError(f"numpy.{name}.{method} has no lowering")
        kwargs = {k: v for k, v in kwargs.items() if k != "out"}
        return _functions.call(self._recorder, name, inputs, kwargs, family="numpy")

    def __array_function__(self, func, types, args, kwargs):
        return _functions.call(
            self._recorder, func.__name__, args, kwargs, family="numpy"
        )

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return _functions.call_torch(func, args, kwargs or {})

    def __getattr__(self, name):
        if name.startswith("__"):  # what libraries look for
            raise AttributeError(name)
        return _functions.method(self, name)

    @property
    def device(self):
        return _functions.device(self._recorder)

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def dim(self):
        return len(self.shape)

    ndim = property(dim)

    def numel(self):
        count = 1
        for extent in self.shape:
            count *= extent
        return count


class Scalar(Traced):
    """One number for each pair of a query and a key."""

    __slots__ = ("_number",)

    def __init__(self, recorder, number):
        self._recorder = recorder
        self._number = number

    @property
    def _kind(self):
        return self._recorder.kinds[self._number]

    shape = ()

    @property
    def dtype(self):
        return _functions.dtype_of(self._recorder, self._kind)

    def item(self):
        # Graphs of torch.compile have tensors without dimensions for numbers.
        recorder = self._recorder
        if recorder.symbol is not None and recorder.is_captured_number(self._number):
            return self
        return super().item()

    def __len__(self):
        raise TraceError("a traced number has no length")

    def __iter__(self):
        raise TraceError("a traced number has no elements")

    def __repr__(self):
        return f"<traced {NAMES[self._kind]}>"

    def __getitem__(self, key):
        if key is Ellipsis or (isinstance(key, tuple) and not key):
            return self
        return _functions.expand(self)[key]


def _operator(name, position):
    """A dunder for the operator `name` whose other operand is at `position`."""

    def call(self, other):
        if type(other) is Scalar:
            recorder = self._recorder
            if other._recorder is not recorder:
                raise escaped()
            number = other._number
        elif type(other) in _NUMBERS:
            recorder = self._recorder
            positive = position == 1 and name in ("floor_div", "mod")
            number = recorder.number(other, position, positive)
        else:
            args = (self, other) if position else (other, self)
            return _functions.elementwise(self._recorder, name, args)
        if position:
            return Scalar(recorder, recorder.op(name, self._number, number))
        return Scalar(recorder, recorder.op(name, number, self._number))

    return call


def _comparison(name):
    def call(self, other):
        recorder = self._recorder
        if type(other) is Scalar:
            if other._recorder is not recorder:
                raise escaped()
            number = other._number
        elif type(other) in _NUMBERS:
            number = recorder.number(other, name)
        else:
            return _functions.elementwise(recorder, name, (self, other))
        return Scalar(recorder, recorder.op(name, self._number, number))

    return call


def escaped():
    return TraceError("a traced value was used after its function had returned")


for _dunder, _name in OPERATORS.items():
    setattr(Scalar, f"__{_dunder}__", _operator(_name, 1))
    setattr(Scalar, f"__r{_dunder}__", _operator(_name, 0))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Scalar, f"__{_name}__", _comparison(_name))
# Python forgets an inherited one next to __eq__.
Scalar.__hash__ = Traced.__hash__


class Array(Traced):
    """A function from indices to Scalars, with a shape. Nothing is recorded
    before an element is asked for."""

    __slots__ = ("_at", "_extents", "_is_list", "shape")

    def __init__(self, recorder, shape, at, of=()):
        self._recorder = recorder
        self.shape = tuple(shape)
        # From a tuple of ints and Scalars, one for each dimension.
        self._at = at
        # The captured tensors and dimensions that the shape is from.
        self._extents = [extent for array in of for extent in array._extents]
        # Whether its elements have no traced index.
        self._is_list = any([array._is_list for array in of])

    def fixed(self):
        """Itself, whose shape has now become part of the program."""
        for tensor, dim in self._extents:
            self._recorder.fix(tensor, dim)
        return self

    @property
    def dtype(self):
        return _functions.dtype_of(
            self._recorder, self._at((0,) * len(self.shape))._kind
        )

    def __len__(self):
        self.fixed()
        return self.shape[0]

    def __iter__(self):
        return iter([self[n] for n in range(len(self))])

    def __repr__(self):
        return f"<traced array of shape {self.shape}>"

    def __getitem__(self, key):
        items = split_key(key, len(self.shape))
        shape, plan, dim = [], [], 0
        for item in items:
            if item is None:
                plan.append((None, None))
                shape.append(1)
                continue
            extent = self.shape[dim]
            if isinstance(item, slice):
                if any(
                    isinstance(x, Traced) for x in (item.start, item.stop, item.step)
                ):
                    raise traced_slice()
                span = range(extent)[item]
                if item != slice(None):
                    self.fixed()
                plan.append((dim, span))
                shape.append(len(span))
            elif isinstance(item, Scalar):
                check_index(item)
                plan.append((dim, item))
            else:
                item = plain_index(item)
                if not -extent <= item < extent:
                    raise TraceError(
                        f"expects an index of {extent} elements, but got {item}"
                    )
                if item < 0:
                    self.fixed()
                plan.append((dim, item % extent))
            dim += 1

        def at(indices):
            indices, full = list(indices), []
            for source, what in plan:
                if source is None:
                    indices.pop(0)
                elif isinstance(what, range):
                    full.append(_functions.element(what, indices.pop(0)))
                else:
                    full.append(what)
            return self._at(tuple(full))

        if not shape:
            return at(())
        return Array(self._recorder, shape, at, (self,))

    def __matmul__(self, other):
        return _functions.call(self._recorder, "matmul", (self, other), {})

    def __rmatmul__(self, other):
        return _functions.call(self._recorder, "matmul", (other, self), {})


def _array_operator(name, position):
    def call(self, other):
        args = (self, other) if position else (other, self)
        return _functions.elementwise(self._recorder, name, args)

    return call


for _dunder, _name in OPERATORS.items():
    setattr(Array, f"__{_dunder}__", _array_operator(_name, 1))
    setattr(Array, f"__r{_dunder}__", _array_operator(_name, 0))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Array, f"__{_name}__", _array_operator(_name, 1))
Array.__hash__ = Traced.__hash__
for _name in (
    "neg",
    "pos",
    "invert",
    "abs",
    "pow",
    "rpow",
    "round",
    "floor",
    "ceil",
    "trunc",
    "divmod",
    "rdivmod",
):
    setattr(Traced, f"__{_name}__", _method(f"__{_name}__"))


# ===----------------------------------------------------------------------===
# Indices
# ===----------------------------------------------------------------------===


def traced_slice():
    return TraceError(
        "a slice needs bounds that are the same for all pairs: index with"
        " start + n instead, for each n"
    )


def check_index(item):
    if item._kind != "I":
        raise TraceError(
            f"expects an index to be an integer, but got a traced"
            f" {NAMES[item._kind]}: cast it by .int()"
        )


def plain_index(item):
    """A number of Python as an index."""
    if (
        isinstance(item, bool)
        or not hasattr(type(item), "__index__")
        or isinstance(item, Array)
    ):
        raise TraceError(
            "expects ints, slices, None and ... next to traced indices, but got"
            f" {type(item).__name__}"
        )
    return item.__index__()


def split_key(key, rank):
    """The items of an index, one for each dimension or None for a new one."""
    items = list(key) if isinstance(key, tuple) else [key]
    used = sum(item is not None and item is not Ellipsis for item in items)
    dots = [n for n, item in enumerate(items) if item is Ellipsis]
    if used > rank or len(dots) > 1:
        raise TraceError(f"expects at most {rank} indices and one ..., but got {used}")
    at = dots[0] if dots else len(items)
    items[at : at + bool(dots)] = [slice(None)] * (rank - used)
    return items


class Table(Array):
    """A captured tensor, of which some dimensions have traced indices. What is
    not traced is done by the tensor itself, when the program is bound."""

    __slots__ = ("_bound", "_tensor")

    def __init__(self, recorder, tensor, bound=None):
        self._tensor = tensor
        self._bound = bound or (None,) * len(tensor.shape)
        free = [d for d, index in enumerate(self._bound) if index is None]
        shape = [tensor.shape[d] for d in free]
        super().__init__(recorder, shape, self._element)
        self._extents = [(tensor, d) for d in free]

    @property
    def is_whole(self):
        """Whether nothing traced is part of it."""
        return all(index is None for index in self._bound)

    def _element(self, indices):
        recorder, indices = self._recorder, iter(indices)
        numbers = []
        for index in self._bound:
            index = next(indices) if index is None else index
            numbers.append(
                index._number if isinstance(index, Scalar) else recorder.constant(index)
            )
        return Scalar(recorder, recorder.load(self._tensor, tuple(numbers)))

    def __getitem__(self, key):
        if self.is_whole and not has_traced(key):
            return hold(self._recorder, self._view(key))
        items = iter(split_key(key, len(self.shape)))
        static, bound = [], []
        for index in self._bound:
            while index is None:
                item = next(items)
                if item is not None:
                    break
                static.append(None)
                bound.append(None)
            if index is not None:
                static.append(slice(None))
                bound.append(index)
            elif isinstance(item, Scalar):
                check_index(item)
                if item._recorder is not self._recorder:
                    raise escaped()
                static.append(slice(None))
                bound.append(item)
            elif isinstance(item, slice):
                if any(
                    isinstance(x, Traced) for x in (item.start, item.stop, item.step)
                ):
                    raise traced_slice()
                static.append(item)
                bound.append(None)
            else:
                static.append(plain_index(item))
        for _ in items:  # what is left adds dimensions
            static.append(None)
            bound.append(None)
        tensor = self._tensor
        if any(item != slice(None) for item in static):
            try:
                tensor = self._view(tuple(static))
            except IndexError as error:
                raise TraceError(f"index out of range: {error}") from error
        table = Table(self._recorder, tensor, tuple(bound))
        return table if table.shape else table._element(())

    def _view(self, key):
        """What the tensor has at an index without traced values."""
        if isinstance(self._tensor, Bitcast):
            return Bitcast(self._tensor.array[key], self._tensor.dtype)
        view = self._tensor[key]
        subscript = type(self._tensor).__getitem__
        self._recorder.note(subscript, (self._tensor, key), view)
        return view

    def __array__(self, *args, **kwargs):
        if not self.is_whole:
            return super().__array__()
        numpy = sys.modules["numpy"]
        return numpy.asarray(self._tensor, *args, **kwargs)

    @property
    def dtype(self):
        return self._tensor.dtype if self.is_whole else super().dtype

    def __getattr__(self, name):
        if not self.is_whole or name.startswith("__"):
            return super().__getattr__(name)
        value = getattr(self._tensor, name)
        if not callable(value):
            return hold(self._recorder, value)

        def call(*args, **kwargs):
            args, kwargs = _functions.real(args), _functions.real(kwargs)
            return hold(self._recorder, value(*args, **kwargs))

        return call


def read(tensor, key):
    """What a captured tensor has at an index with traced values."""
    items = key if type(key) is tuple else (key,)
    if len(items) == tensor.dim() and all([type(x) is Scalar for x in items]):
        recorder = items[0]._recorder
        kinds, numbers = recorder.kinds, []
        for item in items:
            if item._recorder is not recorder:
                raise escaped()
            if kinds[item._number] != "I":
                check_index(item)
            numbers.append(item._number)
        return Scalar(recorder, recorder.load(tensor, numbers))
    recorder = next(
        x._recorder for x in _functions.flatten(items) if isinstance(x, Traced)
    )
    return Table(recorder, tensor)[key]


def has_traced(value):
    """Whether traced values are in an argument."""
    if isinstance(value, Table):
        return not value.is_whole
    if isinstance(value, Traced):
        return True
    if isinstance(value, (tuple, list)):
        return any(map(has_traced, value))
    if isinstance(value, slice):
        return has_traced((value.start, value.stop, value.step))
    if isinstance(value, dict):
        return any(map(has_traced, value.values()))
    return False


def is_jax(value):
    """Whether this is an array of JAX, or stands for one while JAX traces."""
    return type(value).__module__.startswith("jax") and isinstance(
        value, sys.modules["jax"].Array
    )


def is_array(value):
    """Whether this is a tensor that reads itself at what it takes for indices,
    and so has to be replaced by a Table; PyTorch's ask us."""
    module = type(value).__module__
    if module.startswith("jax"):
        return is_jax(value)
    if module == "numpy":
        return hasattr(value, "shape") and value.shape != ()
    if isinstance(value, (memoryview, Bitcast)):
        return True
    return (
        hasattr(type(value), "__dlpack__")
        and not module.startswith("torch")
        and not hasattr(type(value), "__torch_function__")
        and len(getattr(value, "shape", ())) > 0
    )


def hold(recorder, value):
    """A Table of an array, and anything else as it is."""
    return Table(recorder, value) if is_array(value) else value
