# The types of the public names of attn.torch.

from collections.abc import Callable
from typing import Any, Literal, overload

from torch import Tensor, device as Device
from torch.nn.attention.flex_attention import AuxOutput as AuxOutput
from torch.nn.attention.flex_attention import AuxRequest as AuxRequest
from torch.nn.attention.flex_attention import BlockMask as BlockMask
from torch.nn.attention.varlen import AuxRequest as _VarlenRequest

from .. import InvalidArgument

_ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
_MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

SAC_OPS: tuple[Any, ...]

class MaskMismatch(InvalidArgument, RuntimeError): ...
class DeviceMismatch(InvalidArgument, RuntimeError): ...
class OptionConflict(InvalidArgument, RuntimeError): ...
class CaptureError(InvalidArgument, AssertionError, RuntimeError): ...

class Mask:
    mask_mod: _MaskMod
    BLOCK_SIZE: tuple[int, int]
    device: Device
    def __init__(
        self,
        mask_mod: _MaskMod,
        shape: tuple[int, int, int, int],
        block_size: tuple[int, int],
        device: Device | str,
    ) -> None: ...
    @property
    def shape(self) -> tuple[int, int, int, int]: ...
    @property
    def seq_lengths(self) -> tuple[int, int]: ...
    def numel(self) -> int: ...
    def prepare(self) -> Mask: ...
    def to_dense(self) -> Tensor: ...
    def sparsity(self) -> float: ...
    def to_string(
        self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4
    ) -> str: ...
    def __getitem__(
        self, index: int | slice | Tensor | tuple[int | slice | Tensor, ...]
    ) -> Mask: ...
    def to(self, device: Device | str) -> Mask: ...
    def to_block_mask(self) -> BlockMask: ...

class Variant:
    def __init__(
        self,
        score_mod: Callable[..., Tensor] | None = None,
        mask_mod: Callable[..., Tensor] | None = None,
        *,
        scale: float | None = None,
        kernel_options: dict[str, Any] | None = None,
    ) -> None: ...
    def prepare(self) -> Variant: ...
    @overload
    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *captures: Tensor | bool | int | float,
        return_lse: Literal[False] = False,
    ) -> Tensor: ...
    @overload
    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *captures: Tensor | bool | int | float,
        return_lse: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...

class use:
    def __init__(self) -> None: ...
    def start(self) -> use: ...
    def stop(self) -> None: ...
    def __enter__(self) -> use: ...
    def __exit__(self, *_: object) -> None: ...

@overload
def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: _ScoreMod | None = None,
    block_mask: Mask | BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: Literal[False] = False,
    kernel_options: dict[str, Any] | None = None,
    *,
    return_aux: None = None,
) -> Tensor: ...
@overload
def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: _ScoreMod | None = None,
    block_mask: Mask | BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    return_lse: Literal[True],
    kernel_options: dict[str, Any] | None = None,
    return_aux: None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: _ScoreMod | None = None,
    block_mask: Mask | BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: Literal[False] = False,
    kernel_options: dict[str, Any] | None = None,
    *,
    return_aux: AuxRequest,
) -> tuple[Tensor, AuxOutput]: ...
def create_block_mask(
    mask_mod: _MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Device | str | None = None,
    BLOCK_SIZE: int | tuple[int, int] = 128,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
    dq_kv_order: bool = True,
) -> Mask: ...
def and_masks(*mask_mods: _MaskMod) -> _MaskMod: ...
def or_masks(*mask_mods: _MaskMod) -> _MaskMod: ...
def noop_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor: ...
def sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor: ...
@overload
def varlen(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor,
    max_q: int | None = None,
    max_k: int | None = None,
    *,
    return_aux: None = None,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
    score_mod: _ScoreMod | None = None,
) -> Tensor: ...
@overload
def varlen(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor,
    max_q: int | None = None,
    max_k: int | None = None,
    *,
    return_aux: AuxRequest,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
    score_mod: _ScoreMod | None = None,
) -> tuple[Tensor, AuxOutput]: ...
@overload
def varlen(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor,
    max_q: int | None = None,
    max_k: int | None = None,
    *,
    return_aux: _VarlenRequest,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
    score_mod: _ScoreMod | None = None,
) -> Tensor | tuple[Tensor, Tensor]: ...
