"""Checks of the tensors that functions read."""

import torch
from torch.autograd import forward_ad

from .._errors import Unsupported
from ._errors import CaptureError, DeviceMismatch

NO_TANGENTS = "expects no tangents: attention has no derivative in forward mode"


def check_tangents(tensors):
    """Checks that no tensor has a tangent, which would be dropped."""
    if forward_ad._current_level >= 0 and any(
        isinstance(x, torch.Tensor) and forward_ad.unpack_dual(x).tangent is not None
        for x in tensors
    ):
        raise Unsupported(NO_TANGENTS)


def check_device(tensor, query):
    """Checks that a tensor is where the query is; a number may be on the CPU."""
    if not isinstance(tensor, torch.Tensor):
        if query.is_cuda:
            raise DeviceMismatch(
                f"expects functions to read tensors on {query.device}, where query is,"
                f" but got {type(tensor).__name__}"
            )
    elif tensor.device != query.device and (
        tensor.dim() or tensor.device.type != "cpu"
    ):
        raise DeviceMismatch(
            f"expects functions to read tensors on {query.device}, where query is, but"
            f" got one of {tuple(tensor.shape)} on {tensor.device}"
        )


def check_mask(tensor):
    """Checks that a tensor that a mask reads needs no gradient."""
    if getattr(tensor, "requires_grad", False):
        raise CaptureError(
            "expects a mask to read tensors that need no gradient, but got one of"
            f" {tuple(tensor.shape)}: detach it"
        )


def check_detached(tensor):
    """Checks that a tensor that a function detaches needs no gradient, which would not
    be dropped."""
    if getattr(tensor, "requires_grad", False):
        raise CaptureError(
            "expects a function to detach what needs no gradient, but got a tensor of"
            f" {tuple(tensor.shape)}: detach it in front of the attention"
        )


def check(program, query):
    """Checks where the tensors of a program are, and that those of the mask, and what
    functions detach, need no gradient."""
    device, needs_gradient = query.device, False
    for capture in program.captures:
        tensor = capture.tensor
        if getattr(tensor, "device", None) != device:
            check_device(tensor, query)
        needs_gradient |= getattr(tensor, "requires_grad", False)
    if not needs_gradient:
        return
    if program.mask is not None:
        for number in program.masked_captures():
            check_mask(program.captures[number].tensor)
    for number in program.detached:
        check_detached(program.captures[number].tensor)
