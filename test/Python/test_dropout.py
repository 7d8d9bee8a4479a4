# RUN: %python %s
"""Dropout: attn.attention and attn.torch.sdpa, and what is drawn."""

import unittest

import numpy as np

import attn

try:
    import torch
except ImportError:
    torch = None


FAST = {"opt_level": 0}


def qkv(shape=(2, 4, 40, 16), keys=50, dtype=np.float32):
    draw = np.random.default_rng(0)
    batch, heads, queries, dim = shape
    q = draw.standard_normal(shape).astype(dtype)
    k = draw.standard_normal((batch, heads // 2, keys, dim)).astype(dtype)
    v = np.broadcast_to(np.eye(keys, dtype=dtype), (batch, heads // 2, keys, keys))
    return q, k, v.copy()


def causal(b, h, q_idx, kv_idx):
    return kv_idx <= q_idx


class Attention(unittest.TestCase):
    def run_(self, *functions, **options):
        return attn.attention(*qkv(), *functions, **options, **FAST)

    def test_drops_as_documented(self):
        plain = self.run_()
        for p in 0.25, 0.75:
            found = self.run_(dropout_p=p, seed=3)
            kept = found != 0
            np.testing.assert_allclose(found, kept * plain / (1 - p), rtol=2e-5)
            deviation = (p * (1 - p) / kept.size) ** 0.5
            self.assertLess(abs(kept.mean() - (1 - p)), 6 * deviation)

    def test_same_pairs_under_a_mask(self):
        full = self.run_(dropout_p=0.5, seed=-1, offset=1 << 40) != 0
        found = self.run_(None, causal, dropout_p=0.5, seed=-1, offset=1 << 40) != 0
        np.testing.assert_array_equal(found, full & np.tri(40, 50, dtype=bool))

    def test_seeds_and_offsets_differ(self):
        seen = set()
        for seed, offset in (0, 0), (1, 0), (1 << 32, 0), (0, 1), (0, 1 << 33), (-1, 0):
            seen.add((self.run_(dropout_p=0.5, seed=seed, offset=offset) != 0).tobytes())
        self.assertEqual(len(seen), 6)
        again = self.run_(dropout_p=0.5, seed=np.array(1, np.int64)) != 0
        self.assertIn(again.tobytes(), seen)
        # Those of 64 bits.
        self.assertEqual(
            (self.run_(dropout_p=0.5, seed=(1 << 64) - 1) != 0).tobytes(),
            (self.run_(dropout_p=0.5, seed=-1) != 0).tobytes(),
        )

    def test_score_and_log_sum_exp(self):
        def score(s, b, h, i, j):
            return 2 * np.tanh(s) - 0.1 * (i - j)

        plain, lse = self.run_(score, causal, return_lse=True, scale=0.5)
        found, of_found = self.run_(
            score, causal, return_lse=True, scale=0.5, dropout_p=0.5, seed=7
        )
        np.testing.assert_array_equal(lse, of_found)
        np.testing.assert_allclose(found, (found != 0) * plain * 2, rtol=2e-5)

    def test_nothing_is_dropped(self):
        np.testing.assert_array_equal(self.run_(dropout_p=0.0, seed=1), self.run_())

    def test_errors(self):
        for p in 1.0, -0.1, float("nan"):
            with self.assertRaisesRegex(
                attn.InvalidArgument, "dropout_p to be at least 0 and less than 1"
            ):
                self.run_(dropout_p=p, seed=1)
        for p, seed in ((0.5, 1 << 64), (0.5, -(1 << 63) - 1), ("a", 1)):
            with self.assertRaises(attn.InvalidArgument):
                self.run_(dropout_p=p, seed=seed)
        with self.assertRaisesRegex(attn.InvalidArgument, "expects a seed where"):
            self.run_(dropout_p=0.5)


@unittest.skipIf(torch is None, "needs PyTorch")
class Sdpa(unittest.TestCase):
    def setUp(self):
        from attn.torch import _kernels, _options
        from unittest import mock

        patch = mock.patch.object(_options, "NONE", _options.read({"ATTN": FAST}))
        patch.start()
        self.addCleanup(patch.stop)
        torch.manual_seed(0)

    def tensors(self, dtype=None):
        return [
            torch.from_numpy(x).to(dtype or torch.float64).requires_grad_()
            for x in qkv()
        ]

    def sdpa(self, *tensors, **options):
        import attn.torch as ours

        return ours.sdpa(*tensors, enable_gqa=True, **options)

    def test_forward_and_gradients(self):
        q, k, v = self.tensors()
        torch.manual_seed(5)
        found = self.sdpa(q, k, v, dropout_p=0.4, is_causal=True)
        torch.manual_seed(5)
        again = self.sdpa(q, k, v, dropout_p=0.4, is_causal=True)
        self.assertTrue(torch.equal(found, again))
        other = self.sdpa(q, k, v, dropout_p=0.4, is_causal=True)
        self.assertFalse(torch.equal(found, other))
        weights = (found != 0).double() / 0.6
        kk, vv = (x.repeat_interleave(2, 1) for x in (k, v))
        scores = q @ kk.transpose(2, 3) / 4
        mask = torch.ones(40, 50, dtype=torch.bool).tril()
        scores = scores.masked_fill(~mask, -torch.inf)
        expected = (scores.softmax(-1) * weights) @ vv
        torch.testing.assert_close(found, expected)
        cotangent = torch.randn_like(found)
        wanted = torch.autograd.grad(expected, (q, k, v), cotangent)
        got = torch.autograd.grad(found, (q, k, v), cotangent)
        for a, b in zip(got, wanted):
            torch.testing.assert_close(a, b)

    def test_compiled(self):
        q, k, v = self.tensors(torch.float32)

        @torch.compile(fullgraph=True, backend="aot_eager")
        def call(q, k, v):
            return self.sdpa(q, k, v, dropout_p=0.4, is_causal=True)

        found = call(q, k, v)
        plain = self.sdpa(q, k, v, is_causal=True)
        torch.testing.assert_close(found, (found != 0) * plain / 0.6)
        self.assertFalse(torch.equal(found, call(q, k, v)))
        found.sum().backward()
        self.assertTrue(q.grad.isfinite().all())

    def test_errors(self):
        tensors = self.tensors()
        for p in 1.0, -0.5:
            with self.assertRaisesRegex(ValueError, "at least 0 and less than 1"):
                self.sdpa(*tensors, dropout_p=p)


if __name__ == "__main__":
    unittest.main()
