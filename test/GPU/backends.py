"""Tensors of NumPy on a CPU and of PyTorch anywhere, under one interface.

Numbers are drawn by NumPy for both, so that a case is the same everywhere.
"""

import types

import attn
import numpy

# The bytes of a row around a tensor in a larger one. With multiples of what
# copies by hardware want, they take the same way as those of a dense tensor.
_PAD_BYTES = 16
_SIZES = {"f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i8": 1, "i1": 1}
_NUMPY_TYPES = {
    "f32": "float32",
    "f16": "float16",
    "bf16": "uint16",
    "i64": "int64",
    "i32": "int32",
    "i8": "int8",
    "i1": "bool",
}
_TORCH_TYPES = {**_NUMPY_TYPES, "bf16": "bfloat16"}


def _to_bf16(array):
    """The bits of the nearest bfloat16 numbers."""
    bits = numpy.asarray(array, "float32").view("uint32")
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return numpy.where(numpy.isnan(array), 0x7FC0, rounded).astype("uint16")


def _from_bf16(bits):
    return (bits.astype("uint32") << 16).view("float32")


def _poison(dtype):
    """What no result may depend on: NaN, or an integer that is no position."""
    if dtype.startswith("i"):
        return 1 if dtype == "i1" else -101
    return float("nan")


class NumPy:
    """Arrays on the CPU. bfloat16 is uint16 here and `attn.bitcast` in calls."""

    x = numpy
    device = target = "cpu"

    def tensor(self, array, dtype):
        if dtype == "bf16":
            return _to_bf16(array)
        return numpy.asarray(array).astype(_NUMPY_TYPES[dtype])

    def full(self, shape, value, dtype):
        return self.tensor(numpy.full(shape, value), dtype)

    def double(self, tensor, dtype):
        """Exactly, as float64; integers and booleans as they are in maths."""
        if dtype == "bf16":
            tensor = _from_bf16(tensor)
        if dtype == "i1":
            return tensor
        return tensor.astype("int64" if dtype.startswith("i") else "float64")

    def round(self, values, dtype):
        """Float64 numbers that numbers of a type are nearest to."""
        return self.double(self.tensor(values, dtype), dtype)

    def argument(self, tensor, dtype):
        return attn.bitcast(tensor, "bf16") if dtype == "bf16" else tensor

    def arange(self, count):
        return numpy.arange(count)

    def copy(self, tensor):
        return tensor.copy()

    def same_bits(self, a, b):
        return numpy.ascontiguousarray(a).tobytes() == numpy.ascontiguousarray(
            b
        ).tobytes()

    def repeat_heads(self, tensor, count):
        return tensor.repeat(count, 1)

    def synchronize(self):
        pass


class Torch:
    """Tensors of PyTorch on a device."""

    def __init__(self, device):
        import torch

        self.x = torch
        # Of maths on integers, as it is in NumPy.
        torch.set_default_dtype(torch.float64)
        self.device = torch.device(device)
        self.target = self.device.type

    def _type(self, dtype):
        return getattr(self.x, _TORCH_TYPES[dtype])

    def tensor(self, array, dtype):
        array = numpy.ascontiguousarray(array)
        # Of both types that NumPy has, the narrower one that is exact enough.
        if array.dtype == "float64" and dtype in ("f16", "bf16"):
            array = array.astype("float32")
        tensor = self.x.from_numpy(array).to(self.device)
        return tensor.to(self._type(dtype))

    def full(self, shape, value, dtype):
        return self.x.full(shape, value, dtype=self._type(dtype), device=self.device)

    def double(self, tensor, dtype):
        if dtype == "i1":
            return tensor
        return tensor.long() if dtype.startswith("i") else tensor.double()

    def round(self, values, dtype):
        return values.float().to(self._type(dtype)).double()

    def argument(self, tensor, dtype):
        return tensor

    def arange(self, count):
        return self.x.arange(count, device=self.device)

    def copy(self, tensor):
        return tensor.clone()

    def same_bits(self, a, b):
        if a.dtype.is_floating_point:
            words = {2: self.x.int16, 4: self.x.int32}[a.element_size()]
            a, b = a.contiguous().view(words), b.contiguous().view(words)
        return self.x.equal(a, b)

    def repeat_heads(self, tensor, count):
        return tensor.repeat_interleave(count, 1)

    def synchronize(self):
        if self.device.type == "cuda":
            self.x.cuda.synchronize()


def make(name):
    """"numpy", or a device of PyTorch."""
    return NumPy() if name == "numpy" else Torch(name)


def embed(backend, tensor, dtype):
    """The same tensor in the middle of a larger one that is poisoned.

    There are rows around each matrix and elements behind each row, and matrices
    before and behind it along the dimensions further out. Strides and addresses
    are multiples of 16 bytes if those of the dense tensor are.
    """
    pad = _PAD_BYTES // _SIZES[dtype]
    shape = [extent + 2 * pad for extent in tensor.shape]
    shape[-1] = tensor.shape[-1] + pad
    outer = backend.full(tuple(shape), _poison(dtype), dtype)
    inner = outer
    for dim, extent in enumerate(tensor.shape[:-1]):
        inner = inner[(slice(None),) * dim + (slice(pad, pad + extent),)]
    inner = inner[..., : tensor.shape[-1]]
    inner[...] = tensor
    return outer, inner


def namespace(values):
    return types.SimpleNamespace(**values)
