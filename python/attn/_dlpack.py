"""Reads DLPack capsules (dmlc.github.io/dlpack) through ctypes."""

import ctypes

from . import _streams
from ._errors import InvalidArgument
from ._native import CPU, CUDA

# kDLCUDAHost is memory of the CPU, only pinned; kDLCUDAManaged is the GPU's.
_DEVICES = {1: CPU, 2: CUDA, 3: CPU, 13: CUDA}
_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_READ_ONLY, _COPIED = 1, 2


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned; a plain DLManagedTensor begins with the tensor."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    ]


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype = ctypes.c_int
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype = ctypes.c_void_p
_get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Borrowed:
    """The tensor of a capsule that is kept and not consumed: its destructor
    gives the memory back to the exporter."""

    def __init__(self, capsule, what):
        flags = 0
        if _is_valid(capsule, b"dltensor_versioned"):
            pointer = _get_pointer(capsule, b"dltensor_versioned")
            managed = _Versioned.from_address(pointer)
            if managed.major != 1:
                raise InvalidArgument(
                    f"expects {what} to export DLPack 1, but got {managed.major}"
                )
            tensor, flags = managed.tensor, managed.flags
        elif _is_valid(capsule, b"dltensor"):
            tensor = _DLTensor.from_address(_get_pointer(capsule, b"dltensor"))
        else:
            raise InvalidArgument(
                f"expects {what} to export a DLPack capsule, but got"
                f" {type(capsule).__name__}"
            )
        self.capsule = capsule
        self.read_only = bool(flags & _READ_ONLY)
        self.copied = bool(flags & _COPIED)
        kind = _KINDS.get(tensor.code, f"type{tensor.code}_")
        self.dtype = "bool" if kind == "bool" else f"{kind}{tensor.bits}"
        if tensor.lanes != 1:
            self.dtype += f"x{tensor.lanes}"
        self.element_size = tensor.bits * tensor.lanes // 8
        self.address = (tensor.data or 0) + tensor.byte_offset
        self.shape = tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else ()
        self.strides = None  # dense
        if tensor.strides:
            self.strides = tuple(tensor.strides[: tensor.ndim])
        kind = _DEVICES.get(tensor.device_type)
        if kind is None:
            raise InvalidArgument(
                f"expects {what} on a CPU or a GPU, but got the DLPack device"
                f" {tensor.device_type}"
            )
        self.device = (kind, tensor.device_id if kind == CUDA else 0)
        self.device_name = "cpu" if kind == CPU else f"cuda:{tensor.device_id}"


def borrow(tensor, what, stream=None):
    """The memory of an exporter, ready for use on a stream of its device."""
    try:
        device_type, device_id = tensor.__dlpack_device__()
        arguments = {}
        if _DEVICES.get(int(device_type)) == CUDA:
            if stream is None:
                stream = _streams.current((CUDA, device_id))
            # 1 and not 0 is the default stream there.
            arguments["stream"] = stream or 1
        try:
            capsule = tensor.__dlpack__(max_version=(1, 0), **arguments)
        except TypeError:  # an exporter from before versions
            capsule = tensor.__dlpack__(**arguments)
    except Exception as error:
        raise InvalidArgument(
            f"expects {what} to export DLPack, but {type(tensor).__name__} says:"
            f" {type(error).__name__}: {error}"
        ) from error
    return Borrowed(capsule, what)
