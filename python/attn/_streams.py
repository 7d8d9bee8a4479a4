"""Streams of GPUs."""

import sys

from ._errors import InvalidArgument


def to_handle(stream):
    """A stream as the integer that its driver knows it by; None stays None."""
    if stream is None or (isinstance(stream, int) and not isinstance(stream, bool)):
        return stream
    handle = getattr(stream, "cuda_stream", None)  # of PyTorch
    if isinstance(handle, int):
        return handle
    protocol = getattr(stream, "__cuda_stream__", None)  # of CUDA's own packages
    if protocol is not None:
        return protocol()[1]
    raise InvalidArgument(
        "expects stream to be an integer or a stream of CUDA, but got"
        f" {type(stream).__name__}"
    )


def current(device):
    """The stream that PyTorch works on now, or the default one without it."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return 0
    return torch.cuda.current_stream(device[1]).cuda_stream
