"""Attention under the names of torch.nn.functional and of packed sequences."""

import numbers

import torch
from torch import overrides

from . import _compat, _frontend, _options
from ._compat import AuxOutput, AuxRequest
from ._errors import InvalidArgument, OptionConflict

_INTEGERS = (int, numbers.Integral, torch.SymInt)


def _causal(b, h, q_idx, kv_idx):
    return kv_idx <= q_idx


def _reader(attn_mask):
    """What reads a mask of 4 dimensions where those of 1 are for all."""
    wide = [extent != 1 for extent in attn_mask.shape]

    def read(*indices):
        return attn_mask[
            tuple([x if w else _compat.first(x) for x, w in zip(indices, wide)])
        ]

    return read


def functions(attn_mask, is_causal):
    """The score function and the mask function, of a mask of 4 dimensions or None."""
    if attn_mask is None:
        return None, _causal if is_causal else None
    read = _reader(attn_mask)
    if attn_mask.dtype == torch.bool:
        return None, read
    return (lambda score, *indices: score + read(*indices)), None


def _fold(tensor, lead):
    """A tensor of [..., n, m] as one of 4 dimensions: `lead` is what there is
    before the last two, or what that is broadcast to."""
    tensor = tensor.expand(*lead, *tensor.shape[-2:])
    while tensor.dim() < 4:
        tensor = tensor.unsqueeze(0)
    return tensor.flatten(0, tensor.dim() - 4)


def _check_broadcast(attn_mask, wanted):
    extents = zip(reversed(attn_mask.shape), reversed(wanted))
    if attn_mask.dim() > len(wanted) or any(e not in (1, whole) for e, whole in extents):
        raise InvalidArgument(
            f"expects attn_mask to broadcast to {wanted}, but got"
            f" {tuple(attn_mask.shape)}"
        )


def _broadcast(*shapes):
    try:
        return torch.broadcast_shapes(*shapes)
    except RuntimeError:
        raise InvalidArgument(
            "expects batches and heads that broadcast, but got"
            f" {', '.join(str(tuple(shape)) for shape in shapes)}"
        ) from None


def _check_mask(attn_mask, query, key):
    if not isinstance(attn_mask, torch.Tensor):
        raise InvalidArgument(
            f"expects attn_mask to be a tensor, but got {type(attn_mask).__name__}"
        )
    pairs = query.size(-2), key.size(-2)
    if attn_mask.device != query.device:
        raise InvalidArgument(
            f"expects attn_mask on {query.device}, where query is, but got one on"
            f" {attn_mask.device}"
        )
    if attn_mask.dtype != torch.bool and not attn_mask.is_floating_point():
        raise InvalidArgument(
            f"expects attn_mask of bool or floats, but got {attn_mask.dtype}"
        )
    if attn_mask.dim() < 2 or any(
        extent not in (1, whole) for extent, whole in zip(attn_mask.shape[-2:], pairs)
    ):
        raise InvalidArgument(
            f"expects attn_mask of [..., {pairs[0]} or 1, {pairs[1]} or 1], but got"
            f" {tuple(attn_mask.shape)}"
        )


def sdpa(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    scale=None,
    enable_gqa=False,
):
    """Attention with the signature of
    torch.nn.functional.scaled_dot_product_attention.

    query       [..., Hq, L, E]; what is before the last two dimensions may be
                missing, or be more than a batch and heads
    key, value  [..., Hkv, S, E] and [..., Hkv, S, Ev], which broadcast
    attn_mask   broadcasts to [..., Hq, L, S]: of bool, where True takes part, or
                of floats that are added to scores; they may have gradients
    dropout_p   how likely a probability becomes 0, at least 0 and less than 1.
                PyTorch's generator of the device gives the seed, in CUDA graphs
                another one for each replay
    is_causal   whether query i sees keys up to i alone; not with attn_mask
    scale       of scores, by default 1 / sqrt(E)
    enable_gqa  whether Hq may be a multiple of Hkv

    Returns [..., Hq, L, Ev], laid out as query is. A query whose keys are all
    masked gives 0.
    """
    if _compat.is_overridden((query, key, value, attn_mask)):
        return overrides.handle_torch_function(
            sdpa,
            (query, key, value, attn_mask),
            *(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa),
        )
    _frontend.check_dropout(dropout_p)
    if attn_mask is not None and is_causal:
        raise OptionConflict("expects attn_mask or is_causal, but got both")
    tensors = query, key, value
    if all(_frontend.is_plain(x) and x.device.type in _frontend.DEVICES for x in tensors):
        query, key, value = _frontend.cast(*tensors)
    _frontend.check_tensors(query, key, value)
    if attn_mask is not None:
        _check_mask(attn_mask, query, key)
    lead = query.shape[:-2]
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        if enable_gqa and min(query.dim(), key.dim(), value.dim()) < 3:
            raise InvalidArgument("expects enable_gqa for tensors that have heads")
        heads = 1 if enable_gqa else 0
        outer = _broadcast(
            *(x.shape[: x.dim() - 2 - heads] for x in (query, key, value))
        )
        lead = (*outer, *lead[len(lead) - heads :])
        query, key, value = (
            _fold(x, (*outer, *x.shape[x.dim() - 2 - heads : -2]))
            for x in (query, key, value)
        )
    elif not enable_gqa and not lead == key.shape[:2] == value.shape[:2]:
        # What PyTorch broadcasts and kernels do not: all but a batch of 1.
        outer = _broadcast(query.shape[:2], key.shape[:2], value.shape[:2])
        if query.shape[:2] != outer:
            lead = outer
            query = query.expand(*outer, -1, -1).contiguous()
        batch = 1 if key.size(0) == value.size(0) == 1 else outer[0]
        key, value = (x.expand(batch, outer[1], -1, -1) for x in (key, value))
    if attn_mask is not None:
        _check_broadcast(attn_mask, (*lead, query.size(-2), key.size(-2)))
        if len(lead) > 2:
            attn_mask = _fold(attn_mask, lead)
        while attn_mask.dim() < 4:
            attn_mask = attn_mask.unsqueeze(0)
    _frontend.check_shapes(query, key, value, None, enable_gqa, any_batch=True)
    score_mod, mask_mod = functions(attn_mask, is_causal)
    what = query, key, value, score_mod, mask_mod, scale
    dropout = _frontend.draw(dropout_p, query.device)
    out, _ = _frontend.dispatch(what, False, _options.NONE, dropout=dropout)
    return out.view(*lead, *out.shape[-2:]) if out.shape[:-2] != lead else out


def _intervals(cu_seq_q, cu_seq_k, total_q, window):
    """The first key that each query sees, and the one behind the last, by the
    places of both in the packed sequences."""
    index = torch.arange(total_q, device=cu_seq_q.device)
    last = cu_seq_q.numel() - 2
    sequence = torch.searchsorted(cu_seq_q, index, right=True) - 1
    inside = (sequence >= 0) & (sequence <= last)
    sequence = sequence.clamp(0, max(last, 0))
    first, end = cu_seq_k[sequence], cu_seq_k[sequence + 1]
    # The last query of a sequence is at its last key.
    place = index - cu_seq_q[sequence + 1] + end
    left, right = window
    if left >= 0:
        first = torch.maximum(first, place - left)
    if right >= 0:
        end = torch.minimum(end, place + right + 1)
    # What is behind the last sequence sees nothing.
    return first, torch.where(inside, end, first)


def _check_ends(name, ends, query):
    if not isinstance(ends, torch.Tensor):
        raise InvalidArgument(
            f"expects {name} to be a tensor, but got {type(ends).__name__}: make one by"
            " torch.tensor, where query is"
        )
    if (
        ends.dim() != 1
        or ends.numel() < 2
        or ends.dtype not in (torch.int32, torch.int64)
    ):
        raise InvalidArgument(
            f"expects {name} of int32 or int64 with one dimension and 2 elements or"
            f" more, but got {ends.dtype} of {tuple(ends.shape)}"
        )
    if ends.device != query.device:
        raise InvalidArgument(
            f"expects {name} on {query.device}, where query is, but got one on"
            f" {ends.device}"
        )


def _check_window(window):
    if (
        not isinstance(window, (tuple, list))
        or len(window) != 2
        or not all(isinstance(x, _INTEGERS) and x >= -1 for x in window)
    ):
        raise InvalidArgument(
            "expects window_size to be two integers of -1 or more, (left, right), but"
            f" got {window!r}"
        )


def varlen(
    query,
    key,
    value,
    cu_seq_q,
    cu_seq_k,
    max_q=None,
    max_k=None,
    *,
    return_aux=None,
    scale=None,
    window_size=(-1, -1),
    enable_gqa=False,
    score_mod=None,
):
    """Attention of packed sequences, each to itself, with the signature of
    torch.nn.attention.varlen.varlen_attn.

    query         [total of queries, Hq, E]: sequences one behind the other
    key, value    [total of keys, Hkv, E] and [.., Ev]
    cu_seq_q      int32 or int64 [sequences + 1]: sequence n has the queries from
                  cu_seq_q[n] to before cu_seq_q[n + 1]; queries behind the last
                  one have no key
    cu_seq_k      the same for keys
    max_q, max_k  mean nothing here
    return_aux    an AuxRequest for the log-sum-exp and the largest scores, or
                  that of torch.nn.attention.varlen
    scale         of scores, by default 1 / sqrt(E)
    window_size   (left, right): how many keys before and behind its own a query
                  sees, where the last query is at the last key; -1 is all, so
                  (-1, 0) is causal
    enable_gqa    whether Hq may be a multiple of Hkv
    score_mod     as flex_attention has it; b is 0, and q_idx and kv_idx count
                  from the start of the packed tensors

    Returns [total of queries, Hq, Ev], and with return_aux an AuxOutput, whose
    tensors are [Hq, total of queries]. A request of torch.nn.attention.varlen
    with lse gives that tensor in place of an AuxOutput.
    """
    tensors = query, key, value, cu_seq_q, cu_seq_k
    if _compat.is_overridden(tensors):
        return overrides.handle_torch_function(
            varlen,
            tensors,
            *(*tensors, max_q, max_k),
            return_aux=return_aux,
            scale=scale,
            window_size=window_size,
            enable_gqa=enable_gqa,
            score_mod=score_mod,
        )
    is_like_torch = _compat.is_varlen_request(return_aux)
    if is_like_torch:
        return_aux = AuxRequest(lse=True) if return_aux.lse else None
    if return_aux is not None:
        _frontend.check_request(return_aux)
    _frontend.check_tensors(query, key, value)
    if not query.dim() == key.dim() == value.dim() == 3:
        raise InvalidArgument(
            "expects query, key and value of [total length, heads, head dimension], but"
            f" got {query.dim()}, {key.dim()} and {value.dim()} dimensions"
        )
    _check_ends("cu_seq_q", cu_seq_q, query)
    _check_ends("cu_seq_k", cu_seq_k, query)
    if cu_seq_q.numel() != cu_seq_k.numel():
        raise InvalidArgument(
            "expects cu_seq_q and cu_seq_k of as many sequences, but got"
            f" {cu_seq_q.numel() - 1} and {cu_seq_k.numel() - 1}"
        )
    _check_window(window_size)
    first, end = _intervals(cu_seq_q, cu_seq_k, query.size(0), window_size)

    def mask_mod(b, h, q_idx, kv_idx):
        return (kv_idx >= first[q_idx]) & (kv_idx < end[q_idx])

    query, key, value = (x.transpose(0, 1).unsqueeze(0) for x in (query, key, value))
    _frontend.check_shapes(query, key, value, None, enable_gqa)
    query, key, value = _frontend.cast(query, key, value)
    wants_lse = return_aux is not None and return_aux.lse
    arguments = query, key, value, score_mod, mask_mod, scale
    wants_max = return_aux is not None and return_aux.max_scores
    out, lse = _frontend.dispatch(arguments, wants_lse or wants_max, _options.NONE)
    out = out.squeeze(0).transpose(0, 1)
    if return_aux is None:
        return out
    if is_like_torch:
        return out, lse.squeeze(0)
    largest = None
    if wants_max:
        largest = _frontend.max_scores(lse, *arguments, _options.NONE).squeeze(0)
    return out, AuxOutput(lse.squeeze(0) if wants_lse else None, largest)
