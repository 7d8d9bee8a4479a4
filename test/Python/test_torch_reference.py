# RUN: %python %s
"""What there is no kernel for, by PyTorch's own operations on request."""

import unittest
import warnings
from unittest import mock

try:
    import torch
except ImportError:
    torch = None

if torch is not None:
    import attn
    import attn.torch as ours
    from attn.torch import _kernels, _reference
    from flex import FAST, causal, qkv

    OPTIONS = {"ATTN": {**FAST["ATTN"], "fallback": "reference"}}

    def too_long(s, b, h, i, j):
        """More traced values in a list than a trace writes out."""
        return s + torch.stack([x for n in range(150) for x in (i - n, j + n)]).sum()


@unittest.skipIf(torch is None, "needs PyTorch")
class Reference(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        _reference._seen.clear()

    def test_a_function_without_a_kernel(self):
        q, k, v = qkv((2, 4, 9, 8), (2, 2, 11), grad=True)
        with self.assertRaises(attn.TraceError):
            ours.flex_attention(q, k, v, too_long, enable_gqa=True)
        call = {"enable_gqa": True, "kernel_options": OPTIONS}
        with self.assertWarnsRegex(UserWarning, "all scores in memory: .*256"):
            o = ours.flex_attention(q, k, v, too_long, **call)
        found = torch.autograd.grad(o.sin().sum(), (q, k, v))
        # It is the same by a function that a kernel has.
        wanted = ours.flex_attention(
            q, k, v, lambda s, b, h, i, j: s + 150 * i + 150 * j, **call
        )
        torch.testing.assert_close(o, wanted)
        for a, b in zip(found, torch.autograd.grad(wanted.sin().sum(), (q, k, v))):
            torch.testing.assert_close(a, b)
        with warnings.catch_warnings():
            # Each reason is told once.
            warnings.simplefilter("error")
            ours.flex_attention(q, k, v, too_long, **call)

    def test_that_it_is_what_kernels_compute(self):
        table = torch.randn(4, 12, dtype=torch.float64, requires_grad=True)
        lengths = torch.tensor([11, 3, 0])

        def score_mod(s, b, h, i, j):
            return torch.where(i > j, s * 0.5, s) + table[h][j] * (b + 1)

        cases = [
            (None, None, {}),
            (score_mod, None, {}),
            (None, lambda b, h, i, j: (j < lengths[b]) & (j <= i + h), {}),
            (score_mod, lambda b, h, i, j: (j < lengths[b]) & (j < i), {"scale": 0.3}),
        ]
        both = ours.AuxRequest(lse=True, max_scores=True)
        for dtype in (torch.float64, torch.float32, torch.bfloat16):
            q, k, v = qkv((3, 4, 9, 8), (1, 2, 11), dtype=dtype, dim_v=3, grad=True)
            q = q.detach().transpose(1, 2).contiguous().transpose(1, 2).requires_grad_()
            for score, allowed, named in cases:
                mask = ours.create_block_mask(
                    allowed or ours.noop_mask, 3, None, 9, 11, device="cpu"
                )
                named = {**named, "enable_gqa": True, "return_aux": both}
                results = []
                for kind in "kernel", "reference":
                    patch = mock.patch.object(
                        _kernels, "lookup", side_effect=attn.Unsupported("there is none")
                    )
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        if kind == "reference":
                            patch.start()
                            self.addCleanup(patch.stop)
                        o, aux = ours.flex_attention(
                            *(q, k, v, score, mask), kernel_options=OPTIONS, **named
                        )
                        if kind == "reference":
                            patch.stop()
                    loss = o.sin().sum() + aux.lse.masked_fill(aux.lse == -torch.inf, 0).sum()
                    inputs = (q, k, v, table) if score else (q, k, v)
                    results.append((o, *aux, *torch.autograd.grad(loss, inputs)))
                self.assertEqual(results[0][0].stride(), results[1][0].stride())
                for a, b in zip(*results):
                    error = {torch.float64: 1e-9, torch.float32: 1e-5}.get(dtype, 0.05)
                    torch.testing.assert_close(a, b, rtol=error, atol=error)

    def test_autocast(self):
        """Scores are those of the tensors in 16 bits, in float32 as in a kernel."""
        q, k, v = qkv((1, 2, 9, 8), dtype=torch.float32)
        q = q * 20
        plain = [x.bfloat16() for x in (q, k, v)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call = {"return_lse": True, "kernel_options": OPTIONS}
            wanted = ours.flex_attention(*plain, too_long, **call)
            with torch.autocast("cpu", torch.bfloat16):
                found = ours.flex_attention(q, k, v, too_long, **call)
        self.assertEqual(found[0].dtype, torch.bfloat16)
        for a, b in zip(found, wanted):
            self.assertTrue(torch.equal(a, b))

    def test_gradients_that_no_kernel_computes(self):
        """The forward kernel does not run in vain."""
        q, k, v = qkv((1, 2, 9, 8), grad=True)
        wanted = torch.autograd.grad(ours.flex_attention(q, k, v).sum(), (q, v))
        error = attn.Unsupported("no gradient here")
        with mock.patch.object(_kernels.Kernels, "_make_gradient", side_effect=error):
            with mock.patch.object(_kernels.Kernels, "run") as run:
                with self.assertWarnsRegex(UserWarning, "no gradient here"):
                    o = ours.flex_attention(q, k, v, kernel_options=OPTIONS)
            run.assert_not_called()
            with torch.no_grad():
                q = q.detach()
                ours.flex_attention(q, q, q, kernel_options=OPTIONS)
        q = qkv((1, 2, 9, 8))[0]
        _, tangent = torch.func.jvp(
            lambda x: ours.flex_attention(x, x, x, kernel_options=OPTIONS), (q,), (q,)
        )
        step = 1e-6
        near = [ours.flex_attention(x, x, x) for x in (q * (1 + step), q * (1 - step))]
        torch.testing.assert_close(tangent, (near[0] - near[1]) / (2 * step), rtol=1e-5, atol=1e-6)
        self.assertEqual(len(wanted), 2)
        self.assertTrue(o.requires_grad)

    def test_errors(self):
        q, k, v = qkv((1, 2, 9, 8))
        # What is wrong stays wrong.
        with self.assertRaisesRegex(attn.InvalidArgument, "enable_gqa"):
            ours.flex_attention(q, k[:, :1], v[:, :1], kernel_options=OPTIONS)
        with self.assertRaisesRegex(attn.InvalidArgument, "'reference' or None, but got 'slow'"):
            ours.flex_attention(q, k, v, kernel_options={"ATTN": {"fallback": "slow"}})
        with self.assertRaisesRegex(attn.InvalidArgument, "no fallback in a Variant"):
            ours.Variant(kernel_options=OPTIONS)

    def test_graphs(self):
        """What cannot be traced is operations of PyTorch in a graph as well."""
        q, k, v = qkv((1, 2, 9, 8), grad=True)
        table = torch.randn(2, 9, dtype=torch.float64, requires_grad=True)
        mask = ours.create_block_mask(causal, None, None, 9, 9, "cpu")

        def score_mod(s, b, h, i, j):
            return torch.lgamma(s.abs() + 1) + table[h, j]

        def call(q):
            return ours.flex_attention(q, k, v, score_mod, mask, kernel_options=OPTIONS)

        results = []
        for backend in (None, "eager", "aot_eager"):
            torch._dynamo.reset()
            function = call
            if backend is not None:
                function = torch.compile(call, backend=backend, fullgraph=True)
            o = function(q)
            results.append((o, *torch.autograd.grad(o.sin().sum(), (q, table))))
        for found in results[1:]:
            for a, b in zip(found, results[0]):
                torch.testing.assert_close(a, b)


if __name__ == "__main__":
    unittest.main()
