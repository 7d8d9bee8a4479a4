"""Attention of PyTorch's tensors, with gradients.

    from attn.torch import flex_attention, create_block_mask

in the place of torch.nn.attention.flex_attention. docs/torch.md tells the rest.
"""

import torch

from . import _compat, flash, ops
from ._compat import AuxOutput, AuxRequest, BlockMask
from .errors import CaptureError, DeviceMismatch, MaskMismatch, OptionConflict
from .frontend import flex_attention
from .mask import Mask, and_masks, create_block_mask, noop_mask, or_masks
from .sdpa import sdpa, varlen
from .use import use
from .variant import Variant

# The operators whose results are worth keeping where a policy of
# torch.utils.checkpoint says what is computed again.
SAC_OPS = (torch.ops.attn.forward.default,)
_compat.register_flops()
flash.register()

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "CaptureError",
    "DeviceMismatch",
    "Mask",
    "MaskMismatch",
    "OptionConflict",
    "SAC_OPS",
    "Variant",
    "and_masks",
    "create_block_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
    "sdpa",
    "use",
    "varlen",
]
