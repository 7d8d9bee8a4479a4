"""Attention by PyTorch's own operations, with all scores in memory: for what no
kernel does, where a caller has asked for it."""

import warnings

import torch

from .._errors import CompileError, Unsupported
from ..trace import TraceError
from . import _compat, _layout

# What a caller gets the reference for.
REASONS = (CompileError, TraceError, Unsupported)
_seen = set()


def warn(error):
    """Says why there is no kernel, once for each reason."""
    text = str(error)
    if text not in _seen:
        _seen.add(text)
        warnings.warn(
            f"attention runs by PyTorch's own operations, with all scores in memory:"
            f" {text}",
            stacklevel=4,
        )


def attention(query, key, value, score_mod, mask_mod, scale):
    """The output and the log-sum-exp, as the kernels have them. The functions
    run as PyTorch's, under torch.func.vmap, and in the dtypes of the kernels, whatever
    autocast says."""
    with torch.autocast(query.device.type, enabled=False):
        return _attention(query, key, value, score_mod, mask_mod, scale)


def _attention(query, key, value, score_mod, mask_mod, scale):
    wide = torch.float64 if query.dtype == torch.float64 else torch.float32
    shape = (*query.shape[:3], key.shape[2])
    heads = query.shape[1] // max(1, key.shape[1])
    keys, values = (
        x.repeat_interleave(heads, 1).expand(shape[0], -1, -1, -1) for x in (key, value)
    )
    scale = query.shape[3] ** -0.5 if scale is None else scale
    scores = (query.to(wide) @ keys.to(wide).transpose(2, 3)) * scale
    indices = [torch.arange(n, device=query.device) for n in shape]
    if score_mod is not None:
        scores = _compat.of_all_pairs(score_mod, indices, scores).to(wide)
    if mask_mod is not None:
        allowed = _compat.of_all_pairs(mask_mod, indices).expand(shape)
        scores = scores.masked_fill(~allowed, -torch.inf)
    empty = (scores == -torch.inf).all(-1, keepdim=True)
    # Without a NaN in the gradient of rows without a key.
    scores = scores.masked_fill(empty, 0.0)
    lse = scores.logsumexp(-1).masked_fill(empty.squeeze(-1), -torch.inf)
    weights = scores.softmax(-1).masked_fill(empty, 0.0)
    out = weights.to(query.dtype) @ values
    strides = _layout.strides_like(query, out.shape)
    if out.stride() != strides:
        out = _layout.empty_like(query, out.shape).copy_(out)
    return out, lse
