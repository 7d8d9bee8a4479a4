"""What users of attn.jax write, as typed.py is for attn.torch. Not run."""

from typing import Any, assert_type

import jax
from jax import Array

from attn.jax import and_masks, dot_product_attention, flex_attention


def causal(b: Array, h: Array, q_idx: Array, kv_idx: Array) -> Array:
    return q_idx >= kv_idx


def scores(s: Array, b: Array, h: Array, q_idx: Array, kv_idx: Array) -> Array:
    return s * 2


def near(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return q_idx - kv_idx < 3


q = jax.random.normal(jax.random.key(0), (1, 2, 16, 8))
assert_type(flex_attention(q, q, q, scores, and_masks(causal, near)), Array)
assert_type(flex_attention(q, q, q, return_lse=True), tuple[Array, Array])
assert_type(flex_attention(q, q, q, mask_mod=near, scale=0.5), Array)
assert_type(flex_attention(q, q, q, options={"bounds_check": True}), Array)
assert_type(dot_product_attention(q, q, q, is_causal=True), Array)
assert_type(dot_product_attention(q, q, q, return_residual=True), tuple[Array, Array])
