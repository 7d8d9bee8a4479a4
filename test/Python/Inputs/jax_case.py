"""Attention by operations of JAX in float64, and where JAX is: what
scripts/clients has installed, or the system's. Where it is missing, `jax` is None."""

import os
import pathlib
import sys
import unittest
from unittest import mock

_INSTALLED = pathlib.Path(__file__).resolve().parents[3] / "build" / "jax"
if (_INSTALLED / "attn-installed").exists():
    # With a NumPy of its own, which is newer than that of the system may be.
    sys.path.insert(0, str(_INSTALLED))
# Two devices, of which each is all processors, and fast compilations.
os.environ["XLA_FLAGS"] = (
    "--xla_force_host_platform_device_count=2 --xla_backend_optimization_level=0"
    " --xla_llvm_disable_expensive_passes=true"
)
try:
    import jax
except ImportError:
    jax = numpy = None

if jax is not None:
    import jax.numpy as jnp
    import numpy

    from attn.jax import _frontend

    jax.config.update("jax_enable_x64", True)


def reference(q, k, v, score_mod=None, mask_mod=None, scale=None):
    """The output and the log-sum-exp, in float64."""

    # As one program, which is compiled faster than each operation.
    def compute(q, k, v):
        return _compute(q, k, v, score_mod, mask_mod, scale)

    return jax.jit(compute)(q, k, v)


def _compute(q, k, v, score_mod, mask_mod, scale):
    q, k, v = (x.astype(jnp.float64) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = (jnp.repeat(x, group, 1) for x in (k, v))
    s = q @ k.swapaxes(2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
    indices = jnp.meshgrid(*map(jnp.arange, s.shape), indexing="ij")
    if score_mod is not None:
        s = score_mod(s, *indices)
    if mask_mod is not None:
        s = jnp.where(mask_mod(*indices), s, -jnp.inf)
    empty = (s == -jnp.inf).all(-1, keepdims=True)
    p = jnp.exp(jnp.where(empty, 0, s) - jnp.where(empty, 0, s).max(-1, keepdims=True))
    p = jnp.where(empty, 0, p / p.sum(-1, keepdims=True))
    return p @ v, jax.scipy.special.logsumexp(s, -1)


def qkv(*shape, kv_heads=None, keys=None, dim_v=None, dtype="float32", seed=0):
    """Queries, keys and values: [B, H, S, D]."""
    batch, heads, queries, dim = shape
    kv = batch, kv_heads or heads, keys or queries
    shapes = shape, (*kv, dim), (*kv, dim_v or dim)
    seeds = jax.random.split(jax.random.key(seed), 3)
    return [jax.random.normal(s, x).astype(dtype) for s, x in zip(seeds, shapes)]


TOLERANCES = {"float64": 1e-11, "float32": 2e-5, "float16": 6e-3, "bfloat16": 5e-2}


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def squares(function):
    """A loss of all results of a function."""

    def loss(*arguments):
        found = jax.tree.leaves(function(*arguments))
        # Of a query without a key, the log-sum-exp has no gradient.
        finite = [jnp.where(jnp.isfinite(x), x, 0).astype(jnp.float64) for x in found]
        return sum((x * jnp.cos(x)).sum() for x in finite)

    return loss


@unittest.skipIf(jax is None, "needs JAX")
class Case(unittest.TestCase):
    def setUp(self):
        # Compiled fast.
        patch = mock.patch.object(_frontend, "_DEFAULT", "opt_level=0")
        patch.start()
        self.addCleanup(patch.stop)

    def close(self, found, expected, tolerance):
        found, expected = jax.tree.leaves(found), jax.tree.leaves(expected)
        self.assertEqual(len(found), len(expected))
        for x, y in zip(found, expected):
            self.assertEqual(x.shape, y.shape)
            x, y = (numpy.asarray(z, "float64") for z in (x, y))
            numpy.testing.assert_allclose(x, y, tolerance, tolerance)

    def same(self, found, expected):
        for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            numpy.testing.assert_array_equal(x, y)
