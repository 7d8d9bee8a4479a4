"""Checks of the tensors that functions read."""

import torch

from .errors import CaptureError, DeviceMismatch


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


def check(program, query):
    """Checks where the tensors of a program are, and that those of the mask need no
    gradient."""
    for number, capture in enumerate(program.captures):
        tensor = capture.tensor
        check_device(tensor, query)
        if program.mask is None or not getattr(tensor, "requires_grad", False):
            continue
        if any(op[:2] == ("load", number) for op in program.mask.ops):
            raise CaptureError(
                "expects a mask to read tensors that need no gradient, but got one of"
                f" {tuple(tensor.shape)}: detach it"
            )
