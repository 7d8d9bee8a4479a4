"""Strides of results."""

import functools

import torch

from . import _compat


def strides_like(tensor, shape):
    """Dense strides for `shape` in the order of the strides of `tensor`, but
    with the last dimension innermost: as FlexAttention lays out results."""
    strides = tensor.stride()
    try:
        return _strides_like(strides, shape)
    except TypeError:  # symbols of a graph have no hash
        return _strides_of_symbols(strides, shape)


@functools.lru_cache(maxsize=4096)
def _strides_like(strides, shape):
    # Of equal strides, the later dimension is the inner one.
    order = sorted(range(len(shape)), key=strides.__getitem__, reverse=True)
    return _dense(order, shape, max)


def _strides_of_symbols(strides, shape):
    # Of strides of which nothing tells which is less, as those of lengths that a
    # graph computes, the later dimension is the inner one, too.
    order = []
    for dim in range(len(shape)):
        at = dim
        while at and _compat.is_known(strides[order[at - 1]] < strides[dim]):
            at -= 1
        order.insert(at, dim)
    return _dense(order, shape, torch.sym_max)


def _dense(order, shape, maximum):
    order.remove(len(shape) - 1)
    result, step = [0] * len(shape), shape[-1]
    result[-1] = 1
    for dim in reversed(order):
        result[dim] = step
        # As torch.empty has it, an empty dimension counts as one.
        step *= maximum(shape[dim], 1)
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
