"""Attention of JAX's arrays, with gradients, in jit, grad, vmap and shard_map.

    from attn.jax import flex_attention

docs/jax.md tells the rest.
"""

from ..trace import and_masks, or_masks
from ._calls import register
from ._frontend import dot_product_attention, flex_attention

__all__ = [
    "and_masks",
    "dot_product_attention",
    "flex_attention",
    "or_masks",
    "register",
]
