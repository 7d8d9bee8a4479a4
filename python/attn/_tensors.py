"""Views of the tensors of callers, and new tensors for results.

A tensor is what NumPy or PyTorch has, what exports DLPack (the Python array
API, JAX, CuPy, ...), or what exports a buffer (memoryview, array.array). None
is imported here before a caller has: a tensor of NumPy exists only after
NumPy was imported. Nothing is copied.
"""

import ctypes
import sys

from . import _dlpack
from ._dtypes import LONG_NAMES, SHORT_TO_LONG, SIZES, pack_scalar, parse
from ._errors import InvalidArgument
from ._native import CPU, CUDA


class View:
    """Where the elements of a tensor are; strides are in elements."""

    __slots__ = (
        "what",
        "data",
        "dtype",
        "shape",
        "strides",
        "device",
        "device_name",
        "owner",
    )

    def __init__(
        self,
        what,
        data,
        dtype,
        shape,
        strides,
        owner,
        device=(CPU, 0),
        device_name=None,
    ):
        self.what = what
        self.data = data
        self.dtype = dtype
        self.shape = tuple(shape)
        self.strides = strides if strides is None else tuple(strides)
        self.device = device
        self.device_name = device_name or "cpu"
        self.owner = owner


class Bitcast:
    """An array of numbers whose bits are elements of another type.

    For types that the array's library lacks: NumPy alone has no bfloat16, so a
    bf16 tensor is `attn.bitcast(array_of_uint16, "bf16")`. A call whose first
    tensor is a Bitcast returns Bitcasts. `array` is the array of integers.
    """

    __slots__ = ("array", "dtype")

    def __init__(self, array, dtype):
        self.array = array
        self.dtype = dtype

    @property
    def shape(self):
        return tuple(self.array.shape)

    def __repr__(self):
        return f"attn.bitcast({self.array!r}, {self.dtype!r})"


def bitcast(array, dtype):
    """The array with its bits taken as elements of `dtype`, such as "bf16"."""
    dtype = parse(dtype)
    if isinstance(array, Bitcast):
        array = array.array
    # For the checks only.
    _view(array, "the array of a bitcast", dtype=dtype)
    return Bitcast(array, dtype)


def _module(name):
    """A module that the process has imported, or None."""
    return sys.modules.get(name)


def _importable(name):
    try:
        return __import__(name)
    except ImportError:
        return None


def _is_torch(tensor):
    torch = _module("torch")
    return torch is not None and isinstance(tensor, torch.Tensor)


def _is_numpy(tensor):
    numpy = _module("numpy")
    return numpy is not None and isinstance(tensor, (numpy.ndarray, numpy.generic))


# ===----------------------------------------------------------------------===
# Views
# ===----------------------------------------------------------------------===


def _element_type(what, name, size, dtype):
    """The short name of a type, or `dtype` if that is as long as it."""
    if dtype is not None:
        if SIZES[dtype] != size:
            raise InvalidArgument(
                f"expects {what} to have elements of {SIZES[dtype]} bytes, to take"
                f" them as {dtype}, but got {name}"
            )
        return dtype
    short = LONG_NAMES.get(name)
    if short is None:
        hint = ""
        if size == 2:
            hint = '; attn.bitcast(array, "bf16") takes its bits as another type'
        raise InvalidArgument(
            f"expects {what} to have one of the element types"
            f" {', '.join(LONG_NAMES)}, but got {name}{hint}"
        )
    return short


def _element_strides(what, shape, byte_strides, size):
    strides = []
    for extent, stride in zip(shape, byte_strides):
        if stride % size and extent > 1:
            raise InvalidArgument(
                f"expects {what} to have strides that are multiples of its element"
                f" size {size}, but got {stride}"
            )
        strides.append(stride // size)
    return strides


def _reject_read_only(what):
    raise InvalidArgument(f"expects {what} to be writable, but got a read-only one")


def _view_numpy(array, what, writable, dtype):
    numpy = _module("numpy")
    if isinstance(array, numpy.ma.MaskedArray):
        raise InvalidArgument(f"expects {what} to be no masked array")
    if isinstance(array, numpy.generic):
        array = numpy.asarray(array)
        if writable:
            _reject_read_only(what)
    if writable and not array.flags.writeable:
        _reject_read_only(what)
    name, size = array.dtype.name, array.dtype.itemsize
    if not array.dtype.isnative:
        raise InvalidArgument(
            f"expects {what} to be in the byte order of this machine, but got"
            f" {array.dtype.str}"
        )
    if array.dtype.hasobject or size == 0:
        raise InvalidArgument(f"expects {what} to hold numbers, but got {name}")
    return View(
        what,
        array.__array_interface__["data"][0],
        _element_type(what, name, size, dtype),
        array.shape,
        _element_strides(what, array.shape, array.strides, size),
        array,
    )


def _view_torch(tensor, what, writable, dtype):
    torch = _module("torch")
    if tensor.layout is not torch.strided:
        raise InvalidArgument(
            f"expects {what} to be a strided tensor, but got {tensor.layout}"
        )
    if tensor.requires_grad and torch.is_grad_enabled():
        raise InvalidArgument(
            f"expects {what} not to require a gradient, as PyTorch knows none of a"
            " kernel: detach it, call the kernel in torch.no_grad(), or use"
            " attn.torch"
        )
    if tensor.is_conj() or tensor.is_neg():
        raise InvalidArgument(
            f"expects {what} to be in memory as it is: call resolve_conj() and"
            " resolve_neg()"
        )
    device = tensor.device
    kind = {"cpu": CPU, "cuda": CUDA}.get(device.type)
    if kind is None:
        raise InvalidArgument(f"expects {what} on a CPU or a GPU, but got {device}")
    try:
        data = tensor.data_ptr()
    except RuntimeError as error:
        raise InvalidArgument(
            f"expects {what} to have memory, but got {type(tensor).__name__}: {error}"
        ) from None
    return View(
        what,
        data,
        _element_type(
            what, str(tensor.dtype).split(".")[-1], tensor.element_size(), dtype
        ),
        tensor.shape,
        tensor.stride(),
        tensor,
        (kind, device.index or 0),
        str(device),
    )


_BUFFER_KINDS = {
    "d": "float",
    "f": "float",
    "e": "float",
    "?": "bool",
    **dict.fromkeys("bhilqn", "int"),
    **dict.fromkeys("BHILQNc", "uint"),
}


class _PyBuffer(ctypes.Structure):
    """Py_buffer of Python's C interface."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_void_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


_PYBUF_FULL_RO = 0x11C


def _address(buffer):
    """The address of a memoryview's first element, of which Python tells all
    else itself."""
    info = _PyBuffer()
    api = ctypes.pythonapi
    api.PyObject_GetBuffer(ctypes.py_object(buffer), ctypes.byref(info), _PYBUF_FULL_RO)
    # The memoryview keeps the memory in place on its own.
    api.PyBuffer_Release(ctypes.byref(info))
    return info.buf


def _view_buffer(buffer, what, writable, dtype):
    if writable and buffer.readonly:
        _reject_read_only(what)
    kind = _BUFFER_KINDS.get(buffer.format.lstrip("@="))
    name = buffer.format if kind is None else kind
    if kind in ("int", "uint", "float"):
        name = f"{kind}{8 * buffer.itemsize}"
    if kind is None or buffer.suboffsets:
        raise InvalidArgument(
            f"expects {what} to be a buffer of numbers, but got the format"
            f" {buffer.format!r}"
        )
    return View(
        what,
        _address(buffer),
        _element_type(what, name, buffer.itemsize, dtype),
        buffer.shape,
        _element_strides(what, buffer.shape, buffer.strides, buffer.itemsize),
        buffer,
    )


def _view_dlpack(tensor, what, writable, dtype, stream):
    data = _dlpack.borrow(tensor, what, stream)
    if writable and (data.read_only or data.copied):
        _reject_read_only(what)
    return View(
        what,
        data.address,
        _element_type(what, data.dtype, data.element_size, dtype),
        data.shape,
        data.strides,
        (tensor, data),
        data.device,
        data.device_name,
    )


def _view(tensor, what, writable=False, dtype=None, stream=None):
    if _is_torch(tensor):
        return _view_torch(tensor, what, writable, dtype)
    if _is_numpy(tensor):
        return _view_numpy(tensor, what, writable, dtype)
    if isinstance(tensor, Bitcast):
        return _view(tensor.array, what, writable, tensor.dtype, stream)
    if hasattr(tensor, "__dlpack__") and hasattr(tensor, "__dlpack_device__"):
        return _view_dlpack(tensor, what, writable, dtype, stream)
    try:
        buffer = memoryview(tensor)
    except TypeError:
        raise InvalidArgument(
            f"expects {what} to be a tensor (of NumPy or PyTorch, or with DLPack or"
            f" the buffer protocol), but got {type(tensor).__name__}"
        ) from None
    return _view_buffer(buffer, what, writable, dtype)


def element_type(tensor, what):
    """The short name of a tensor's element type."""
    if isinstance(tensor, Bitcast):
        return tensor.dtype
    name = str(getattr(tensor, "dtype", "")).rpartition(".")[2]
    return LONG_NAMES.get(name) or _view(tensor, what).dtype


def _scalar_value(value):
    """A number, or a tensor without dimensions, as a number; else None."""
    if isinstance(value, (bool, int, float)) and not _is_numpy(value):
        return value
    if _is_torch(value) or _is_numpy(value):
        if len(value.shape) == 0 and LONG_NAMES.get(str(value.dtype).split(".")[-1]):
            number = value.item()
            # That of a type which NumPy does not know is no Python number.
            return number if isinstance(number, (int, float)) else float(number)
    return None


def view_input(value, info, what, stream=None):
    """The view of an input; numbers are converted to the type that the kernel
    declares."""
    if not info.shape:
        number = _scalar_value(value)
        if number is not None:
            data = pack_scalar(number, info.dtype, what)
            storage = ctypes.c_int64.from_buffer_copy(data.ljust(8, b"\0"))
            return View(what, ctypes.addressof(storage), info.dtype, (), (), storage)
    elif isinstance(value, (bool, int, float)) and not _is_numpy(value):
        raise InvalidArgument(
            f"expects {what} to be a tensor of rank {len(info.shape)}, but got the"
            f" number {value!r}"
        )
    return _view(value, what, stream=stream)


def view_result(value, what, stream=None):
    return _view(value, what, writable=True, stream=stream)


# ===----------------------------------------------------------------------===
# New tensors
# ===----------------------------------------------------------------------===


def _new_numpy(shape, dtype, bits):
    numpy = _importable("numpy")
    if dtype == "bf16":
        ml_dtypes = None if bits else _importable("ml_dtypes")
        if ml_dtypes is None:
            return Bitcast(numpy.empty(shape, numpy.uint16), dtype)
        return numpy.empty(shape, ml_dtypes.bfloat16)
    return numpy.empty(shape, SHORT_TO_LONG[dtype])


def _new_torch(shape, dtype, device):
    torch = _module("torch")
    return torch.empty(shape, dtype=getattr(torch, SHORT_TO_LONG[dtype]), device=device)


_BUFFER_FORMATS = {
    "f64": "d",
    "f32": "f",
    "i64": "q",
    "i32": "i",
    "i16": "h",
    "i8": "b",
    "i1": "?",
}


def _new_buffer(shape, dtype):
    count = 1
    for extent in shape:
        count *= extent
    if count == 0:
        raise InvalidArgument(
            "expects out= for results without elements, as a memoryview has some"
        )
    data = memoryview(bytearray(count * SIZES[dtype]))
    element = _BUFFER_FORMATS.get(dtype)
    array = data.cast(element or "H", shape)
    return array if element else Bitcast(array, dtype)


def new_like(tensor, device, shape, dtype):
    """A result for a call whose first tensor is `tensor`, on its device; None
    for a call with scalars only."""
    bits = isinstance(tensor, Bitcast)
    if bits:
        tensor = tensor.array
    if _is_torch(tensor):
        return _new_torch(shape, dtype, tensor.device)
    if _is_numpy(tensor):
        return _new_numpy(shape, dtype, bits)
    has_buffer = not hasattr(tensor, "__dlpack__") and tensor is not None
    if has_buffer:
        return _new_buffer(shape, dtype)
    # Nothing says how to make another tensor of a DLPack exporter's kind.
    if device[0] == CUDA:
        if _importable("torch") is None:
            raise InvalidArgument(
                "expects out= for tensors on a GPU that are not of PyTorch"
            )
        return _new_torch(shape, dtype, f"cuda:{device[1]}")
    if _importable("numpy") is None:
        return _new_buffer(shape, dtype)
    return _new_numpy(shape, dtype, bits)
