# RUN: %python %s
"""attn.torch where numbers wrap, tensors are views of another kind, and modes of
PyTorch are on."""

import math
import unittest

import numpy

try:
    import torch
except ImportError:
    torch = None

if torch is not None:
    import attn
    from attn.torch import Variant, create_block_mask, flex_attention


def _inputs(dtype="float64"):
    torch.manual_seed(0)
    return torch.randn(3, 1, 2, 40, 16, dtype=getattr(torch, dtype))


def _expected(q, k, v, score=None, mask=None):
    x = q @ k.transpose(2, 3) / 4
    i, j = torch.arange(40)[:, None], torch.arange(40)[None]
    if score is not None:
        x = score(x, 0, 0, i, j)
    if mask is not None:
        x = x.masked_fill(~mask(0, 0, i, j), -math.inf)
    return torch.softmax(x, -1) @ v


@unittest.skipIf(torch is None, "needs PyTorch")
class Edges(unittest.TestCase):
    def check(self, actual, expected):
        self.assertLess((actual - expected).abs().max().item(), 1e-12)

    def test_numbers_that_wrap(self):
        def mask(b, h, i, j):
            return (i * 6364136223846793005 + j * 1442695040888963407) % 100 < 50

        q, k, v = _inputs()
        block_mask = create_block_mask(mask, None, None, 40, 40, device="cpu")
        out = flex_attention(q, k, v, block_mask=block_mask)
        self.check(out, _expected(q, k, v, mask=mask))

    def test_numbers_beyond_float32(self):
        big = torch.tensor(-1e300, dtype=torch.float64)
        number = float(big)
        q, k, v = _inputs()
        out = flex_attention(
            q, k, v, lambda s, b, h, i, j: torch.where(i < 4, number, s)
        )
        score = lambda s, b, h, i, j: torch.where(i < 4, big, s)  # noqa: E731
        self.check(out, _expected(q, k, v, score))

    def test_negated_views(self):
        z = torch.fft.rfft(torch.randn(78, dtype=torch.float64)).conj().imag
        self.assertTrue(z.is_neg())
        score = lambda s, b, h, i, j: s + 10 * z[j]  # noqa: E731
        q, k, v = _inputs()
        self.check(flex_attention(q, k, v, score), _expected(q, k, v, score))

    def test_graph_of_real_tensors(self):
        from torch.fx.experimental.proxy_tensor import make_fx

        q, k, v = _inputs()
        graph = make_fx(lambda q, k, v: flex_attention(q, k, v))(q, k, v)
        q, k, v = _inputs() + 1
        self.check(graph(q, k, v), _expected(q, k, v))

    def test_forward_mode(self):
        from torch.autograd import forward_ad

        q, k, v = _inputs()
        with forward_ad.dual_level():
            with self.assertRaisesRegex(attn.Unsupported, "expects no tangents"):
                flex_attention(forward_ad.make_dual(q, q), k, v)

    def test_block_mask_of_inference(self):
        from torch.nn.attention import flex_attention as there

        def causal(b, h, i, j):
            return i >= j

        q, k, v = _inputs()
        with torch.inference_mode():
            mask = there.create_block_mask(causal, None, None, 40, 40, device="cpu")
            out = flex_attention(q, k, v, block_mask=mask)
        self.check(out, _expected(q, k, v, mask=causal))

    def test_variants_refuse(self):
        variant = Variant(lambda s, b, h, i, j, c: s + c)
        q, k, v = _inputs()
        for capture in (None, numpy.zeros(3), "x"):
            with self.assertRaisesRegex(attn.InvalidArgument, "expects captures to be"):
                variant(q, k, v, capture)
        with self.assertRaisesRegex(attn.Unsupported, "expects query, key and value"):
            variant(q[0], k, v, 1.0)
        with self.assertRaisesRegex(attn.InvalidArgument, "expects query to be"):
            variant([1], k, v, 1.0)

    def test_sums_of_no_numbers(self):
        table = torch.ones(40, 4)
        with self.assertRaises(attn.TraceError):
            flex_attention(
                *_inputs("float32"), lambda s, b, h, i, j: s + table[i].nansum()
            )


if __name__ == "__main__":
    unittest.main()
