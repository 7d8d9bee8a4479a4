"""Attention of DTensors: each rank computes its part, with the indices that
functions get counted in the whole.

Batches and heads may be sharded, and queries where keys are not. No rank waits
for another one: gradients of keys that all ranks have are sums over these, which
PyTorch adds up where they are needed.
"""

import sys

from .._errors import Unsupported
from . import _compat, _layout
from ._mask import Mask


def _type():
    """The class DTensor, if the process has loaded it."""
    module = sys.modules.get("torch.distributed.tensor")
    return getattr(module, "DTensor", None)


def is_sharded(tensor):
    kind = _type()
    return kind is not None and isinstance(tensor, kind)


def _check(query, key, value):
    """Checks that the parts of a rank belong together, and returns which
    dimensions of queries are sharded."""
    if not all(map(is_sharded, (query, key, value))):
        raise Unsupported(
            "expects query, key and value to be DTensors if one of them is, but got"
            f" {type(query).__name__}, {type(key).__name__} and {type(value).__name__}"
        )
    mesh = query.device_mesh
    if key.device_mesh != mesh or value.device_mesh != mesh:
        raise Unsupported("expects query, key and value on one mesh of devices")
    sharded = set()
    for n, (q, k, v) in enumerate(
        zip(query.placements, key.placements, value.placements)
    ):
        dim = q.dim if q.is_shard() else None
        # What all ranks have serves all queries, and all of what there is one for.
        for_all = dim is None or dim == 2 or (dim in (0, 1) and key.size(dim) == 1)
        # A dimension of one cannot be shared out.
        is_one = dim in (0, 1) and key.size(dim) == 1 and mesh.size(n) > 1
        fits = k == v and (
            for_all if k.is_replicate() else k == q and dim in (0, 1) and not is_one
        )
        even = dim != 1 or not any(
            x.size(1) % mesh.size(n)
            for x in (query, *(() if k.is_replicate() else (key,)))
        )
        if q.is_partial() or not fits or not even or dim in sharded:
            raise Unsupported(
                "expects query, key and value to be sharded by batch, by heads that"
                " ranks have as many of, or query by its length, but got"
                f" {q}, {k} and {v} of {mesh.size(n)} ranks: redistribute them"
            )
        if dim is not None:
            sharded.add(dim)
    return sharded


def _local(tensor, query):
    """The part of a rank. Its gradient is one of several to be added where all
    ranks have the tensor, and queries are sharded."""
    return tensor.to_local(
        grad_placements=[
            _compat.partial() if p.is_replicate() and q.is_shard() else p
            for p, q in zip(tensor.placements, query.placements)
        ]
    )


def _shift(function, starts, first):
    """A function of indices in the whole as one of those in a part. `starts` are
    of batch, heads and queries, or None; `first` is how many arguments come
    before."""
    if function is None:
        return None
    b0, h0, i0 = starts

    def shifted(*values):
        b, h, q_idx, kv_idx = values[first:]
        return function(
            *values[:first],
            b if b0 is None else b + b0,
            h if h0 is None else h + h0,
            q_idx if i0 is None else q_idx + i0,
            kv_idx,
        )

    return shifted


def call(function, query, key, value, score_mod, mask_mod):
    """What function(query, key, value, score_mod, block_mask) returns for the
    parts of this rank, as DTensors: a tensor, or tuples of tensors."""
    sharded = _check(query, key, value)
    offset = _compat.global_offset(query)
    starts = [offset[dim] if dim in sharded else None for dim in range(3)]
    parts = [_local(x, query) for x in (query, key, value)]
    q, k, _ = parts
    mask = None
    if mask_mod is not None or q.size(0) != k.size(0):
        shape = q.size(0), 1, q.size(2), k.size(2)
        allowed = _shift(mask_mod or (lambda b, h, i, j: b >= 0), starts, 0)
        mask = Mask(allowed, shape, (128, 128), q.device)
    result = function(*parts, _shift(score_mod, starts, 1), mask)

    def whole(part):
        if part is None:
            return None
        if isinstance(part, tuple):
            parts = map(whole, part)
            return type(part)(*parts) if hasattr(part, "_fields") else tuple(parts)
        shape = (*query.shape[:3], *part.shape[3:])
        # The log-sum-exp and the like are dense.
        strides = (
            _layout.strides_like(query, shape)
            if part.dim() == 4
            else (shape[1] * shape[2], shape[2], 1)
        )
        return _type().from_local(
            part,
            query.device_mesh,
            query.placements,
            run_check=False,
            shape=query.shape[:3] + part.shape[3:],
            stride=strides,
        )

    return whole(result)
