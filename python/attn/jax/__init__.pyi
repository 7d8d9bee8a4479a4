# The types of the public names of attn.jax. Functions that are traced get values
# that record what is done with them, which are Any.

from collections.abc import Callable
from typing import Any, Literal, overload

from jax import Array
from jax.typing import ArrayLike

from ..trace import and_masks as and_masks
from ..trace import or_masks as or_masks

_ScoreMod = Callable[[Any, Any, Any, Any, Any], Any]
_MaskMod = Callable[[Any, Any, Any, Any], Any]

def register() -> None: ...
@overload
def flex_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    score_mod: _ScoreMod | None = None,
    mask_mod: _MaskMod | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: Literal[False] = False,
    *,
    options: dict[str, bool | int | str] | None = None,
) -> Array: ...
@overload
def flex_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    score_mod: _ScoreMod | None = None,
    mask_mod: _MaskMod | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    return_lse: Literal[True],
    options: dict[str, bool | int | str] | None = None,
) -> tuple[Array, Array]: ...
@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: None = None,
    return_residual: Literal[False] = False,
) -> Array: ...
@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: None = None,
    return_residual: Literal[True],
) -> tuple[Array, Array]: ...
