"""Calls of kernels that differ in nothing but where their tensors are."""

import ctypes
import functools
import struct
from ctypes import byref, c_int64, c_void_p

from . import _native

_TENSOR_WORDS = ctypes.sizeof(_native.Tensor) // 8


@functools.lru_cache(maxsize=64)
def _lasting_options(stream, prepared):
    """Options that many calls take, which only read them."""
    return byref(_native.run_options(stream, prepared=prepared))


class Places:
    """What calls of a kernel have in common whose tensors differ in nothing but
    where they are: arrays of attnTensor without addresses. It makes as few
    objects for a call as there can be, and checks nothing: for callers that know
    their tensors.

    inputs, results  (code of the element type, shape, strides in elements) of
                     each
    """

    def __init__(self, inputs, results):
        numbers = [n for _, *lists in (*inputs, *results) for x in lists for n in x]
        self._numbers = (c_int64 * len(numbers))(*numbers)
        at = ctypes.addressof(self._numbers)
        self._arrays = []
        for tensors in (inputs, results):
            words = []
            for code, shape, strides in tensors:
                # As _Tensor has them. The padding behind the type is its high
                # half.
                size = 8 * len(shape)
                words += 8 * _TENSOR_WORDS, 0, code, len(shape), at, at + size
                at += 2 * size
            pack = struct.Struct(f"={len(words)}q").pack
            self._arrays.append((words, pack, len(tensors)))

    def prepare(self, kernel, inputs, stream=None):
        """The handle of what calls with inputs at these addresses share."""
        (words, pack, count), _ = self._arrays
        words = words[:]
        words[1::_TENSOR_WORDS] = inputs
        return _native.prepare_array(kernel, pack(*words), count, stream)

    def run(self, kernel, inputs, results, stream=None, prepared=None):
        """Runs a kernel on tensors at these addresses, with the handle of what
        was prepared or None."""
        (words, pack, count), (result_words, result_pack, result_count) = self._arrays
        # Of this call alone, as other threads may be in another.
        words, result_words = words[:], result_words[:]
        words[1::_TENSOR_WORDS] = inputs
        result_words[1::_TENSOR_WORDS] = results
        options = None
        if stream is not None or prepared is not None:
            options = _lasting_options(stream, prepared)
        error = c_void_p()
        status = _native.library().attnKernelRun(
            kernel,
            pack(*words),
            count,
            result_pack(*result_words),
            result_count,
            options,
            byref(error),
        )
        if status:
            _native.check(status, error)
