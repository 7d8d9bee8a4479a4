"""Calls of kernels that differ in nothing but where their tensors are."""

import array
import ctypes
import functools
from ctypes import byref, c_int64, c_size_t, c_void_p

from . import _native

_TENSOR_WORDS = ctypes.sizeof(_native.Tensor) // 8


@functools.lru_cache(maxsize=64)
def _lasting_options(stream, prepared):
    """Options that many calls take, which only read them."""
    return byref(_native.run_options(stream, prepared=prepared))


class _Frame:
    """The memory of one call: arrays of attnTensor, of which `addresses` are those
    of all tensors. `tensors` are the arguments that tell of the arrays."""

    __slots__ = ("_memory", "addresses", "error", "error_place", "inputs", "tensors")

    def __init__(self, words, count):
        self._memory = (c_int64 * len(words))(*words)
        self.addresses = memoryview(self._memory).cast("B").cast("q")[1::_TENSOR_WORDS]
        self.inputs = ctypes.addressof(self._memory)
        results = self.inputs + 8 * _TENSOR_WORDS * count
        self.tensors = (
            *(c_void_p(self.inputs), c_size_t(count)),
            *(c_void_p(results), c_size_t(len(self.addresses) - count)),
        )
        self.error = c_void_p()
        self.error_place = byref(self.error)


class Places:
    """What calls of a kernel have in common whose tensors differ in nothing but
    where they are: arrays of attnTensor without addresses. It makes as few
    objects for a call as there can be, and checks nothing: for callers that know
    their tensors.

    inputs, results  (code of the element type, shape, strides in elements) of
                     each
    """

    def __init__(self, inputs, results):
        tensors = (*inputs, *results)
        numbers = [n for _, *lists in tensors for x in lists for n in x]
        self._numbers = (c_int64 * len(numbers))(*numbers)
        at = ctypes.addressof(self._numbers)
        self._words = []
        for code, shape, strides in tensors:
            # As _Tensor has them. The padding behind the type is its high half.
            size = 8 * len(shape)
            self._words += 8 * _TENSOR_WORDS, 0, code, len(shape), at, at + size
            at += 2 * size
        self._count = len(inputs)
        # Those that no call has. A thread takes one for itself.
        self._frames = []
        self._run = _native.kernel_run()

    def prepare(self, kernel, addresses, stream=None):
        """The handle of what calls with inputs at these addresses share. Those of
        results do not matter."""
        frame = _Frame(self._words, self._count)
        inputs = array.array("q", addresses[: self._count])
        frame.addresses[: self._count] = inputs
        return _native.prepare_array(kernel, frame.inputs, self._count, stream)

    def run(self, kernel, addresses, stream=None, prepared=None):
        """Runs a kernel on inputs and results at these addresses, with the handle
        of what was prepared or None."""
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = _Frame(self._words, self._count)
        frame.addresses[:] = array.array("q", addresses)
        options = None
        if stream is not None or prepared is not None:
            options = _lasting_options(stream, prepared)
        status = self._run(
            c_void_p(kernel), *frame.tensors, options, frame.error_place
        )
        if status:
            _native.check(status, frame.error)
        self._frames.append(frame)
