"""Attention for models of Hugging Face's transformers (5 and later).

    import attn.integrations.transformers
    attn.integrations.transformers.register()
    model.set_attn_implementation("attn")
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..torch import AuxRequest, BlockMask, Mask, flex_attention
from ..torch._errors import InvalidArgument
from ..torch._frontend import with_dropout

NAME: str = "attn"


def register(name: str = NAME) -> None:
    """Makes `name` an attention implementation of transformers: the function
    and the masks, as without the latter models would silently have none."""
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(name, attention)
    AttentionMaskInterface.register(name, mask)


class LayerMask(Mask, BlockMask):
    """A Mask that transformers takes for one of its own, which it hands from
    step to step. Models ask it what they ask a tensor of 4 dimensions."""

    ndim: int = 4

    def dim(self) -> int:
        return self.ndim

    def contiguous(self) -> LayerMask:
        return self


def _as_it_is(offset: int | Tensor) -> int | Tensor:
    """An offset as it is now: caches count in tensors of their own."""
    return offset.clone() if isinstance(offset, Tensor) else offset


def _causal(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    return kv_idx <= q_idx


def mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int | Tensor = 0,
    kv_offset: int | Tensor = 0,
    mask_function: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor] = _causal,
    attention_mask: Tensor | None = None,
    device: torch.device | str = "cpu",
    **_: object,
) -> LayerMask:
    """The Mask of a layer, as transformers asks for it.

    q_offset, kv_offset  where queries and keys begin: numbers, or tensors of one
    mask_function        (b, h, q_idx, kv_idx) -> bool, of positions
    attention_mask       bool [batch, positions], False for padding; positions
                         behind its end are masked, too
    """
    q_offset, kv_offset = _as_it_is(q_offset), _as_it_is(kv_offset)
    padding = attention_mask
    if padding is not None:
        missing = kv_offset + kv_length - padding.shape[-1]
        padding = torch.nn.functional.pad(padding.bool(), (0, max(0, int(missing))))

    def mask_mod(b, h, q_idx, kv_idx):
        q_idx, kv_idx = q_idx + q_offset, kv_idx + kv_offset
        allowed = mask_function(b, h, q_idx, kv_idx)
        return allowed if padding is None else allowed & padding[b, kv_idx]

    shape = batch_size, 1, q_length, kv_length
    return LayerMask(mask_mod, shape, (128, 128), device)


def _of_tensor(given):
    """Score and mask functions of a tensor that broadcasts to all pairs."""
    is_bool = given.dtype == torch.bool
    wide = [extent != 1 for extent in given.shape]

    def element(b, h, q_idx, kv_idx):
        places = zip((b, h, q_idx, kv_idx), wide)
        return given[tuple([x if is_wide else x * 0 for x, is_wide in places])]

    def score_mod(score, b, h, q_idx, kv_idx):
        return score + element(b, h, q_idx, kv_idx)

    return (None, element) if is_bool else (score_mod, None)


def attention(
    module: torch.nn.Module | None,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Mask | BlockMask | Tensor | None = None,
    scaling: float | None = None,
    dropout: float = 0.0,
    is_causal: bool | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    position_bias: Tensor | None = None,
    kernel_options: dict[str, Any] | None = None,
    **_: object,
) -> tuple[Tensor, None]:
    """Attention as models of transformers call it.

    query           [batch, heads, length, dim]; key and value may have fewer heads
    dropout         how likely a probability becomes 0, as of attn.torch.sdpa
    attention_mask  what `mask` makes, a BlockMask, a tensor of bool, or one of
                    floats to be added; None for all pairs
    softcap         scores become softcap * tanh(score / softcap)
    s_aux           [heads]: a sink, a score of a key without a value
    position_bias   [batch or 1, heads, length, keys], added to scores

    Returns [batch, length, heads, dim], and None for weights.
    """
    added, block_mask = [], None
    lengths = query.shape[2], key.shape[2]
    if isinstance(attention_mask, (Mask, BlockMask)):
        block_mask = attention_mask
        if tuple(block_mask.shape[-2:]) != lengths:
            block_mask = block_mask._adjust(*lengths)
    elif isinstance(attention_mask, torch.Tensor):
        score, allowed = _of_tensor(attention_mask[..., : lengths[1]])
        if score is not None:
            added.append(score)
        else:
            block_mask = Mask(allowed, (query.shape[0], 1, *lengths), (128, 128), query.device)
    elif attention_mask is not None:
        raise InvalidArgument(
            "expects attention_mask to be a mask or a tensor, but got"
            f" {type(attention_mask).__name__}"
        )
    elif is_causal:
        block_mask = Mask(_causal, (1, 1, *lengths), (128, 128), query.device)
    if position_bias is not None:
        added.append(_of_tensor(position_bias)[0])

    def score_mod(score, b, h, q_idx, kv_idx):
        if softcap is not None:
            score = torch.tanh(score / softcap) * softcap
        for add in added:
            score = add(score, b, h, q_idx, kv_idx)
        return score

    arguments = (
        *(query, key, value, score_mod if added or softcap is not None else None),
        *(block_mask, scaling, query.shape[1] != key.shape[1]),
    )
    if dropout:
        out, lse = with_dropout(*arguments, kernel_options, dropout)
    else:
        out, aux = flex_attention(
            *arguments,
            kernel_options=kernel_options,
            return_aux=AuxRequest(lse=s_aux is not None),
        )
        lse = aux.lse
    if s_aux is not None:
        # The sink takes its part of the sum of exponentials.
        part = torch.sigmoid(lse - s_aux.to(lse.dtype)[:, None])
        out = (out * part[..., None]).to(query.dtype)
    return out.transpose(1, 2).contiguous(), None
