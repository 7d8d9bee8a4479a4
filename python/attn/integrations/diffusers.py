"""Attention for models of Hugging Face's diffusers.

    import attn.integrations.diffusers
    attn.integrations.diffusers.register()
    pipeline.transformer.set_attention_backend("attn")

Of its registry of backends there is no public part: what is used here is that of
0.35 to 0.42.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ..torch import sdpa
from ..torch._errors import InvalidArgument, Unsupported

if TYPE_CHECKING:
    from torch import Tensor

NAME: str = "attn"


def register(name: str = NAME) -> None:
    """Makes `name`, in lower case, an attention backend of diffusers, for
    `model.set_attention_backend`, the context `attention_backend` and the variable
    DIFFUSERS_ATTN_BACKEND of code that is loaded later. Once is enough."""
    from diffusers.models import attention_dispatch as theirs

    if name != name.lower():
        raise InvalidArgument(f"expects a name in lower case, but got {name!r}")
    names = theirs.AttentionBackendName
    if name in names._value2member_map_:
        member = names(name)
        if theirs._AttentionBackendRegistry._backends.get(member) is attention:
            return
        raise InvalidArgument(
            f"expects a name that diffusers has not for another backend, but got {name!r}"
        )
    theirs._AttentionBackendRegistry.register(_add_member(names, name))(attention)


def _add_member(names, name):
    """A new member of the enumeration of strings that lists all backends."""
    member = str.__new__(names, name)
    member._name_, member._value_ = name.upper(), name
    member.__objclass__ = names
    member._sort_order_ = len(names._member_names_)
    setattr(names, member._name_, member)
    names._member_names_.append(member._name_)
    names._member_map_[member._name_] = member
    names._value2member_map_[name] = member
    return member


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: Literal[False] = False,
    _parallel_config: None = None,
) -> Tensor:
    """Attention as diffusers asks for it: tensors are [batch, length, heads, head
    dimension], as is the output. A mask of two dimensions, [batch, length of key],
    is for all queries."""
    if return_lse:
        raise InvalidArgument("expects return_lse=False, but got True")
    if _parallel_config is not None:
        raise Unsupported("expects no context parallelism, which attn has not")
    if attn_mask is not None and attn_mask.shape == (key.shape[0], key.shape[1]):
        attn_mask = attn_mask[:, None, None]
    out = sdpa(
        *(x.transpose(1, 2) for x in (query, key, value)),
        *(attn_mask, dropout_p, is_causal, scale, enable_gqa),
    )
    return out.transpose(1, 2)
