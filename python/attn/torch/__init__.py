"""Attention of PyTorch's tensors, with gradients.

    from attn.torch import flex_attention, create_block_mask

in the place of torch.nn.attention.flex_attention. docs/torch.md tells the rest.
"""

from . import ops
from ._compat import AuxOutput, AuxRequest, BlockMask
from .errors import CaptureError, MaskMismatch, OptionConflict
from .frontend import flex_attention
from .mask import Mask, and_masks, create_block_mask, noop_mask, or_masks
from .sdpa import sdpa, varlen
from .variant import Variant

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "CaptureError",
    "Mask",
    "MaskMismatch",
    "OptionConflict",
    "Variant",
    "and_masks",
    "create_block_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
    "sdpa",
    "varlen",
]
