"""Attention of PyTorch's tensors, with gradients.

    from attn.torch import flex_attention, create_block_mask

in the place of torch.nn.attention.flex_attention. docs/torch.md tells the rest.
"""

import torch

from . import _compat, _flash, _ops
from ._compat import AuxOutput, AuxRequest, BlockMask
from ._errors import CaptureError, DeviceMismatch, MaskMismatch, OptionConflict
from ._frontend import flex_attention
from ._mask import Mask, and_masks, create_block_mask, noop_mask, or_masks
from ._sdpa import sdpa, varlen
from ._use import use
from ._variant import Variant

# The operators whose results are worth keeping where a policy of
# torch.utils.checkpoint says what is computed again.
SAC_OPS = (torch.ops.attn.forward.default,)
_compat.register_flops()
_flash.register()

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
