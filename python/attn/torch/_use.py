"""PyTorch's names of attention as names of ours."""

import sys
import warnings

import torch
from torch.nn.attention import flex_attention as flex

from .._errors import InvalidArgument, Unsupported
from . import _frontend, _reference
from ._sdpa import sdpa

_sdpa = torch.nn.functional.scaled_dot_product_attention
_flex_attention = flex.flex_attention
_told = set()


def _why_not(query, key, value, attn_mask=None, dropout_p=0.0):
    """Why a call is PyTorch's own, or None."""
    if dropout_p:
        return f"dropout_p is {dropout_p}"
    tensors = query, key, value
    for tensor in tensors:
        if not _frontend.is_plain(tensor):
            return f"there is a {type(tensor).__name__} that is no plain tensor"
    if query.device.type not in _frontend.DEVICES:
        return f"tensors are on {query.device.type}"
    dtypes = [x.dtype for x in tensors]
    if not _frontend.TYPES.issuperset(dtypes):
        names = ", ".join(str(x).removeprefix("torch.") for x in dtypes)
        return f"query, key and value are of {names}"
    dtype = _frontend.dtype_of_cast(query)
    if dtype is None:
        dtype = query.dtype
        if not dtype == key.dtype == value.dtype:
            return "query, key and value are of several dtypes"
    if query.is_cuda:
        if dtype == torch.float64:
            return "a GPU has no float64 here"
        needs = [x is not None and x.requires_grad for x in (*tensors, attn_mask)]
        if torch.is_grad_enabled() and any(needs) and dtype == torch.float32:
            return "on a GPU there are gradients where q, k and v have 16 bits alone"
    return None


def _keep(reason):
    """Says once why PyTorch's own attention runs."""
    if reason not in _told and not torch.compiler.is_dynamo_compiling():
        _told.add(reason)
        warnings.warn(
            f"attention is PyTorch's own: {reason}", UserWarning, stacklevel=4
        )


def _run(ours, theirs, missing, reason, arguments, named):
    """Ours, or PyTorch's own for a `reason` or after an error that says what is
    `missing`."""
    if reason is None:
        # A graph that is traced has no way back.
        if torch.compiler.is_dynamo_compiling():
            return ours(*arguments, **named)
        try:
            return ours(*arguments, **named)
        except missing as error:
            result = theirs(*arguments, **named)
            _keep(str(error))
            return result
    _keep(reason)
    return theirs(*arguments, **named)


def scaled_dot_product_attention(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    scale=None,
    enable_gqa=False,
):
    """attn.torch.sdpa, and PyTorch's own function for what that has not."""
    return _run(
        *(sdpa, _sdpa, (*_reference.REASONS, InvalidArgument)),
        _why_not(query, key, value, attn_mask, dropout_p),
        (query, key, value, attn_mask, dropout_p, is_causal),
        {"scale": scale, "enable_gqa": enable_gqa},
    )


def flex_attention(query, key, value, *arguments, **named):
    """attn.torch.flex_attention, and PyTorch's own for what that has not."""
    return _run(
        *(_frontend.flex_attention, _flex_attention, _reference.REASONS),
        _why_not(query, key, value),
        (query, key, value, *arguments),
        named,
    )


_REPLACEMENTS = ((_sdpa, scaled_dot_product_attention), (_flex_attention, flex_attention))
# Where PyTorch refers to what is called, and not to how it is called; and ours.
_SKIPPED = ("torch._", "attn.")


class use:
    """Lets what is written for PyTorch run attn:

        with attn.torch.use():
            model(x)

    Inside, `torch.nn.functional.scaled_dot_product_attention` and PyTorch's
    `flex_attention` are ours, under these names and under those that loaded
    modules have imported them by; in all threads. What we have not, such as
    dropout, runs as before, with one warning for each reason. References that are
    elsewhere stay: in objects, and in what torch.compile has compiled before.

    `use().start()` is for the rest of the process, or until `stop()`.
    """

    def __init__(self):
        self._replaced = []

    def start(self):
        """Replaces the names, and returns this object."""
        if torch.compiler.is_dynamo_compiling():
            raise Unsupported(
                "expects attn.torch.use around what torch.compile compiles, but got it"
                " inside"
            )
        for name, module in list(sys.modules.items()):
            if name.startswith(_SKIPPED):
                continue
            names = getattr(module, "__dict__", None) or {}
            for theirs, ours in _REPLACEMENTS:
                for key in [k for k, value in list(names.items()) if value is theirs]:
                    names[key] = ours
                    self._replaced.append((names, key, theirs, ours))
        return self

    def stop(self):
        """Puts back what `start` has replaced, and nobody else since."""
        while self._replaced:
            names, key, theirs, ours = self._replaced.pop()
            if names.get(key) is ours:
                names[key] = theirs

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()
