"""attn as an implementation of PyTorch's flash attention (PyTorch 2.10 and later):

    torch.nn.attention.activate_flash_attention_impl("attn")

lets torch.nn.functional.scaled_dot_product_attention run our kernels where it has
chosen flash attention: without a mask on a GPU, in 16 bits, and on a CPU.
"""

import torch

from .._errors import Unsupported
from ..trace._reuse import program_of
from . import _frontend, _kernels, _options
from ._sdpa import functions

_FORWARD = "_scaled_dot_product_flash_attention"


class _Handle:
    """Overrides of PyTorch's operators, which are there until `remove`."""

    def __init__(self):
        self._library = torch.library.Library("aten", "IMPL")
        for name, function, device in (
            (_FORWARD, _forward, "CUDA"),
            (_FORWARD + "_backward", _backward, "CUDA"),
            (_FORWARD + "_for_cpu", _forward_on_cpu, "CPU"),
            (_FORWARD + "_for_cpu_backward", _backward_on_cpu, "CPU"),
        ):
            self._library.impl(name, function, device)

    def remove(self):
        self._library._destroy()


def _prepare(query, key, value, dropout_p, is_causal, attn_mask, scale):
    """The kernels of a call, and what they take behind q, k and v."""
    if dropout_p:
        raise Unsupported(f"expects dropout_p to be 0, but got {dropout_p}")
    if attn_mask is not None:
        attn_mask = attn_mask[(None,) * (4 - attn_mask.dim())]
    score_mod, mask_mod = functions(attn_mask, is_causal)
    program = program_of(score_mod, mask_mod, query.device)
    found = _kernels.lookup(program, query, key, value, scale, _options.NONE)
    return found, _frontend.arguments(program, query)


def _run(query, key, value, dropout_p, is_causal, attn_mask, scale):
    found, arguments = _prepare(
        query, key, value, dropout_p, is_causal, attn_mask, scale
    )
    return tuple(found.run((query, key, value, *arguments), True))


def _run_backward(
    grad_out, query, key, value, out, lse, dropout_p, is_causal, attn_mask, scale
):
    found, arguments = _prepare(
        query, key, value, dropout_p, is_causal, attn_mask, scale
    )
    return found.run_gradient(
        (query, key, value, *arguments),
        (out, lse),
        (grad_out, torch.zeros_like(lse)),
        (True, True, True, *[False] * len(arguments)),
    )


# As PyTorch declares them.


def _forward(
    query,
    key,
    value,
    dropout_p=0.0,
    is_causal=False,
    return_debug_mask=False,
    *,
    scale=None,
):
    out, lse = _run(query, key, value, dropout_p, is_causal, None, scale)
    # What dropout would need.
    state = torch.empty(2, dtype=torch.uint64, device=query.device)
    unused = torch.empty((), dtype=torch.uint64, device=query.device)
    debug = query.new_empty(0)
    return out, lse, None, None, query.size(2), key.size(2), state, unused, debug


def _backward(
    grad_out,
    query,
    key,
    value,
    out,
    logsumexp,
    cum_seq_q,
    cum_seq_k,
    max_q,
    max_k,
    dropout_p,
    is_causal,
    philox_seed,
    philox_offset,
    *,
    scale=None,
):
    return _run_backward(
        *(grad_out, query, key, value, out, logsumexp),
        *(dropout_p, is_causal, None, scale),
    )


def _by_rows(tensor):
    """The tensor with heads behind the length, as PyTorch has results on a CPU."""
    return tensor.transpose(1, 2).contiguous().transpose(1, 2)


def _forward_on_cpu(
    query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None
):
    out, lse = _run(query, key, value, dropout_p, is_causal, attn_mask, scale)
    return out, _by_rows(lse)


def _backward_on_cpu(
    grad_out,
    query,
    key,
    value,
    out,
    logsumexp,
    dropout_p,
    is_causal,
    *,
    attn_mask=None,
    scale=None,
):
    found = _run_backward(
        *(grad_out, query, key, value, out, logsumexp),
        *(dropout_p, is_causal, attn_mask, scale),
    )
    return tuple(map(_by_rows, found))


def register():
    """Makes the name known, where PyTorch has such names. It activates nothing."""
    add = getattr(torch.nn.attention, "register_flash_attention_impl", None)
    if add is not None:
        add("attn", register_fn=_Handle)
