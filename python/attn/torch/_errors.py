"""Errors that are also those of torch.nn.attention.flex_attention.

Programs that catch a class of PyTorch's keep working: each of these is an
attn.Error and the built-in class that FlexAttention raises there. Where its
versions differ, both are.
"""

from .._errors import InvalidArgument, Unsupported


class MaskMismatch(InvalidArgument, RuntimeError):
    """A block mask is for other lengths, batches or devices, or has none of
    what is asked for."""


class OptionConflict(InvalidArgument, RuntimeError):
    """Options that exclude each other."""


class DeviceMismatch(InvalidArgument, RuntimeError):
    """A function reads a tensor that is not where the query is."""


class CaptureError(InvalidArgument, AssertionError, RuntimeError):
    """A function reads a tensor that it may not read."""


__all__ = [
    "CaptureError",
    "DeviceMismatch",
    "InvalidArgument",
    "MaskMismatch",
    "OptionConflict",
    "Unsupported",
]
