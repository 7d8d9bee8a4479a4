"""Strides of results."""

import functools

import torch


def strides_like(tensor, shape):
    """Dense strides for `shape` in the order of the strides of `tensor`, but
    with the last dimension innermost: as FlexAttention lays out results."""
    strides = tensor.stride()
    try:
        return _strides_like(strides, shape)
    except TypeError:  # symbols of a graph have no hash
        return _strides_like.__wrapped__(strides, shape)


@functools.lru_cache(maxsize=4096)
def _strides_like(strides, shape):
    # Of equal strides, the later dimension is the inner one.
    order = sorted(range(len(shape)), key=strides.__getitem__, reverse=True)
    order.remove(len(shape) - 1)
    result, step = [0] * len(shape), shape[-1]
    result[-1] = 1
    for dim in reversed(order):
        result[dim] = step
        # As torch.empty has it, an empty dimension counts as one.
        step *= max(shape[dim], 1)
    return tuple(result)


def dense_strides(shape):
    """Those of a tensor whose elements are in order."""
    result, step = [], 1
    for extent in reversed(shape):
        result.insert(0, step)
        step *= max(extent, 1)
    return tuple(result)


def empty_like(tensor, shape, dtype=None):
    """A new tensor of a shape, laid out like `tensor`."""
    return torch.empty_strided(
        shape,
        strides_like(tensor, shape),
        dtype=dtype or tensor.dtype,
        device=tensor.device,
    )


def with_unit_stride(tensor):
    """The tensor, or a copy in the same order if its elements are not next to
    each other in the last dimension."""
    if tensor.stride(-1) == 1 or tensor.size(-1) <= 1:
        return tensor
    return empty_like(tensor, tensor.shape).copy_(tensor)
