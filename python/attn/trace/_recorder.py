"""Collects the operations of a program while its functions run."""

import contextlib
import sys
import typing

from .._dtypes import LONG_NAMES
from .._tensors import Bitcast, _view
from . import _literals
from ._errors import TraceError, user_frame
from ._ops import OPS

# (operation, kinds of its operands...) -> kinds that it takes them in, kind of its
# result; or what is wrong with them.
_typed = {}

# The kinds of elements.
_KINDS = {
    name: "B" if name == "i1" else "I" if name.startswith("i") else "F"
    for name in LONG_NAMES.values()
}
# Of 8 bits without a sign, which kernels are passed as bytes with one.
_KINDS["u8"] = "I"
# Of PyTorch's dtypes, which say them slowly.
_dtype_names = {}

# The values that each region begins with.
SCORE_KINDS = "FIIII"
MASK_KINDS = "IIII"


def typed(*at):
    """What the operation of a name takes operands of kinds in, and what it makes."""
    found = _typed.get(at)
    if found is None:
        name, *kinds = at
        try:
            found = OPS[name].rule(*kinds)
        except TypeError as error:
            found = str(error)
        _typed[at] = found
    return found


class Call(typing.NamedTuple):
    """A call on captured tensors that their library has made."""

    function: typing.Callable
    args: tuple
    kwargs: dict
    result: object


class Capture:
    """A tensor that functions read.

    tensor   what a call passes: what the user has, or a view of it
    dtype    "f32", "i1", ..., or "u8", elements of which are passed as i8
    shape    its extents
    padded   whether the program sees one more dimension of extent 1, as the
             innermost stride of the tensor is not 1
    fixed    the dimensions whose extents had a part in what was traced, as those
             of rows that are summed up; other extents make no other program
    """

    __slots__ = ("dtype", "fixed", "padded", "shape", "tensor")

    def __init__(self, tensor, dtype, shape, padded, fixed=None):
        self.tensor = tensor
        self.dtype = dtype
        self.shape = shape
        self.padded = padded
        self.fixed = set() if fixed is None else fixed

    @property
    def rank(self):
        return len(self.shape)

    @property
    def type(self):
        """The type in MLIR."""
        extents = ["?"] * self.rank + ["1"] * self.padded
        dtype = "i8" if self.dtype == "u8" else self.dtype
        return f"tensor<{'x'.join([*extents, dtype])}>"

    @property
    def is_as_given(self):
        """Whether kernels take the tensor as it is."""
        return not self.padded and self.dtype != "u8"

    def passed(self, tensor):
        """What kernels take for a tensor in the place of this one."""
        if self.dtype == "u8":
            is_of_torch = type(tensor).__module__.startswith("torch")
            int8 = sys.modules["torch"].int8 if is_of_torch else "int8"
            tensor = tensor.view(int8)
        if not self.padded:
            return tensor
        # One more dimension, of extent 1.
        if isinstance(tensor, Bitcast):
            return Bitcast(tensor.array[..., None], tensor.dtype)
        return tensor[..., None]

    def spec(self):
        """What of it decides the program."""
        return self.dtype, self.rank, self.padded

    def __repr__(self):
        return f"Capture({self.type}, shape={self.shape})"


class ScalarSlot(typing.NamedTuple):
    """A number that programs get when they run: `kind` is "B", "I", "F", or "P"
    for an integer that is more than 0, by which something is divided."""

    kind: str
    value: typing.Union[bool, int, float]


def _describe(tensor):
    """The dtype, the shape and the strides, in elements, of a tensor, both tuples,
    and where it is in memory, or None if that is not known."""
    module = type(tensor).__module__
    if module == "numpy":
        size = tensor.itemsize or 1
        return (
            tensor.dtype.name,
            tensor.shape,
            tuple([s // size for s in tensor.strides]),
            tensor.__array_interface__["data"][0],
        )
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tensor, torch.Tensor):
        if type(tensor) is not torch.Tensor and hasattr(tensor, "__tensor_flatten__"):
            # Such as DTensor.
            raise TypeError("it is made of other tensors; read one of these")
        if tensor.layout is not torch.strided:
            layout = str(tensor.layout).removeprefix("torch.")
            raise TypeError(f"it has the layout {layout}; read one that is dense")
        address = None
        # Views that have gradients are not the same though their memory is.
        if not tensor.requires_grad:
            try:
                address = tensor.data_ptr()
            except RuntimeError:
                pass
        dtype = tensor.dtype
        name = _dtype_names.get(dtype)
        if name is None:
            name = _dtype_names[dtype] = str(dtype)[6:]
        return name, tuple(tensor.shape), tensor.stride(), address
    if module.startswith("jax"):
        from ._jax_mode import describe

        return describe(tensor)
    view = _view(tensor, "a captured tensor")
    strides = view.strides
    if strides is None:
        strides, size = [], 1
        for extent in reversed(view.shape):
            strides.insert(0, size)
            size *= extent
    return view.dtype, tuple(view.shape), tuple(strides), view.data


class Recorder:
    """What one region of a program has recorded. A value is a number: the
    arguments of the region, of the given kinds, come first, and then its
    operations in order. `other` is the recorder of another region of the same
    program, with which it shares captures and scalars."""

    # Where a graph has symbols for numbers: the number of a value that is one, or
    # None.
    symbol = None
    # The first error that the function may not go on after.
    refused = None
    # Whether gradients are computed of what is recorded, by all that is known.
    wants_gradient = True
    # How many loops what is recorded now is in.
    _depth = 0

    def __init__(
        self, kinds, other=None, namespace=None, device=None, located=False
    ):
        self.kinds = list(kinds)
        self.ops = []
        self.places = []
        self._numbers = {}
        self._arguments = len(kinds)
        if other is None:
            self.captures, self.scalars = [], []
            self._by_id, self._by_memory, self._slots = {}, {}, {}
            # The captures that may have no gradient, as it would be dropped.
            self.detached = set()
            # What PyTorch has computed meanwhile of captured tensors, as Calls.
            self.computed = []
        else:
            self.captures, self.scalars = other.captures, other.scalars
            self._by_id, self._by_memory = other._by_id, other._by_memory
            self._slots = other._slots
            self.detached = other.detached
            self.computed = other.computed
        # The library, by its name, whose types values say that they have, and
        # the device where they say they are.
        self.namespace = namespace
        self.device = device
        self.located = located

    def refuse(self, error):
        """An error that counts even if something catches it, as operators of
        PyTorch do, which try another way after a TypeError."""
        self.refused = self.refused or error
        return error

    # ===------------------------------------------------------------------===
    # Operations
    # ===------------------------------------------------------------------===

    def add(self, record, kind):
        """The number of a value that `record` computes: the name of an
        operation, and its operands."""
        number = self._numbers.get(record)
        return self._append(record, kind) if number is None else number

    def _append(self, record, kind):
        number = self._numbers[record] = len(self.kinds)
        self.ops.append(record)
        self.kinds.append(kind)
        if self.located:
            self.places.append(_place())
        return number

    def op(self, *record):
        """The same for an operation of the table."""
        number = self._numbers.get(record)
        if number is not None:
            return number
        kinds = self.kinds
        if len(record) == 3:  # as most have
            name, a, b = record
            at = name, kinds[a], kinds[b]
        else:
            name, *operands = record
            at = name, *[kinds[n] for n in operands]
        found = _typed.get(at) or typed(*at)
        if type(found) is str:
            raise TraceError(f"'{name}' {found}")
        return self._append(record, found[1])

    @contextlib.contextmanager
    def counter(self, extent):
        """The number of what counts from 0 to `extent` in a loop. What is computed
        with it is recorded as everything is: that it is in the loop shows in its
        operands. Loops share counters, but none with one around it."""
        number = self.add(("counter", extent, self._depth), "I")
        self._depth += 1
        try:
            yield number
        finally:
            self._depth -= 1

    def reduce(self, name, counter, value):
        """The number of what an operation makes of `value` for all numbers of a
        counter."""
        kind = typed(name, self.kinds[value], self.kinds[value])[1]
        return self.add(("reduce", name, kind, counter, value), kind)

    # ===------------------------------------------------------------------===
    # Numbers
    # ===------------------------------------------------------------------===

    def constant(self, value):
        """A number that is part of the program."""
        if type(value) is bool:
            return self.add(("constant", "B", value), "B")
        if type(value) is int:
            if not -(2**63) <= value < 2**63:
                raise TraceError(f"expects an integer of 64 bits, but got {value}")
            return self.add(("constant", "I", value), "I")
        # Text, as 0.0 and -0.0 are equal, and NaN is not equal to itself.
        return self.add(("constant", "F", value.hex()), "F")

    def constant_of(self, number):
        """The constant that a value is, or None."""
        if number < self._arguments:
            return None
        record = self.ops[number - self._arguments]
        if record[0] != "constant":
            return None
        return float.fromhex(record[2]) if record[1] == "F" else record[2]

    def number(self, value, position=None, positive=False):
        """A number of Python: a constant if it is written in the function, and
        else a scalar. `position` is that in a binary operation, as
        literals.source has it, or None. `positive` says that it matters whether
        it is more than 0."""
        kind = type(value)
        if kind is float and (value != value or value in (float("inf"), -float("inf"))):
            return self.constant(value)
        frame, name = user_frame(sys._getframe(2)), None
        if frame is not None:
            name = _literals.source(frame, position, value)
            if name is _literals.LITERAL:
                return self.constant(value)
        return self.scalar(value, positive, name and (frame.f_code, name))

    def scalar(self, value, positive=False, variable=None):
        """A number that the program gets when it runs; those of one variable
        are the same."""
        if type(value) is int and not -(2**63) <= value < 2**63:
            raise TraceError(f"expects an integer of 64 bits, but got {value}")
        key = variable and (variable, type(value), value)
        slot = self._slots.get(key) if key else None
        if slot is None:
            slot = len(self.scalars)
            kind = {bool: "B", int: "I", float: "F"}[type(value)]
            self.scalars.append(ScalarSlot(kind, value))
            if key:
                self._slots[key] = slot
        kind = self.scalars[slot].kind
        if positive and kind == "I" and value > 0:
            self.scalars[slot] = ScalarSlot("P", value)
        return self.add(("scalar", slot), "I" if kind == "P" else kind)

    # ===------------------------------------------------------------------===
    # Captures
    # ===------------------------------------------------------------------===

    def capture(self, tensor):
        """The number of a tensor among the captures."""
        known = self._by_id.get(id(tensor))
        if known is not None:
            return known[0]
        noted = len(self.computed)
        try:
            dtype, shape, strides, address = _describe(tensor)
        except (TypeError, ValueError, AttributeError, RuntimeError) as error:
            raise TraceError(f"cannot read {type(tensor).__name__}: {error}") from error
        del self.computed[noted:]  # that was not the function
        name = LONG_NAMES.get(dtype, dtype)
        module = type(tensor).__module__
        if dtype == "uint8" and module.startswith(("numpy", "torch", "jax")):
            name = "u8"
        if name not in _KINDS:
            raise TraceError(
                f"expects a captured tensor of {', '.join(LONG_NAMES)}, or uint8 of"
                f" NumPy, PyTorch or JAX, but got {dtype}: convert it in front of the"
                " attention"
            )
        padded = bool(shape) and strides[-1] != 1 and shape[-1] > 1
        if padded and isinstance(tensor, memoryview):
            raise TraceError("expects a captured memoryview whose last stride is 1")
        count = number = len(self.captures)
        if address:
            memory = address, name, shape, strides
            number = self._by_memory.setdefault(memory, count)
        if number == count:
            self.captures.append(Capture(tensor, name, shape, padded))
        # Kept, as otherwise another one could get its id.
        self._by_id[id(tensor)] = number, tensor
        return number

    def note(self, function, args, result, kwargs=None):
        """Notes a call on captured tensors that their library has made."""
        self.computed.append(Call(function, args, kwargs or {}, result))

    def load(self, tensor, indices):
        """The number of an element, by the numbers of its indices."""
        number = self.capture(tensor)
        kind = _KINDS[self.captures[number].dtype]
        return self.add(("load", number, *indices), kind)

    def is_captured_number(self, number):
        """Whether a value is what a captured tensor without dimensions has."""
        at = number - self._arguments
        return at >= 0 and self.ops[at][0] == "load" and len(self.ops[at]) == 2

    @property
    def is_aliased(self):
        """Whether two of the tensors that were read are the same memory."""
        return len(self._by_id) != len(self.captures)

    def fix(self, tensor, dim):
        """Notes that the program depends on an extent."""
        self.captures[self.capture(tensor)].fixed.add(dim)


def _place():
    """File, line and column of what the user's code does now."""
    frame = user_frame(sys._getframe(2))
    if frame is None:
        return None
    column = 0
    if hasattr(frame.f_code, "co_positions"):
        positions = list(frame.f_code.co_positions())[frame.f_lasti // 2]
        column = (positions[2] or 0) + 1
    return frame.f_code.co_filename, frame.f_lineno, column
