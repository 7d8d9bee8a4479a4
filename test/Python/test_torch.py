# RUN: %python %s
"""Calls of kernels on tensors of PyTorch."""

import unittest

try:
    import torch
    from torch.nn.functional import scaled_dot_product_attention as sdpa
except ImportError:
    torch = None

import attn
import support

CAUSAL = support.EXAMPLES / "causal.mlir"
WINDOW = support.EXAMPLES / "sliding-window.mlir"


@unittest.skipIf(torch is None, "needs PyTorch")
class PyTorch(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.kernel = attn.compile(CAUSAL)
        self.inputs = [torch.randn(1, 2, 5, 8) for _ in range(3)]

    def check(self, got, inputs, bound=1e-5):
        expected = sdpa(*(x.double() for x in inputs), is_causal=True)
        self.assertLess((got.double() - expected).abs().max().item(), bound)

    def test_types(self):
        for name, dtype, bound in [
            ("f64", "float64", 1e-14),
            ("f32", "float32", 1e-5),
            ("f16", "float16", 1e-2),
            ("bf16", "bfloat16", 0.05),
        ]:
            dtype = getattr(torch, dtype)
            inputs = [x.to(dtype) for x in self.inputs]
            o = attn.compile(CAUSAL.read_text().replace("f32", name))(*inputs)
            self.assertIsInstance(o, torch.Tensor)
            self.assertEqual((o.dtype, tuple(o.shape)), (dtype, (1, 2, 5, 8)))
            self.check(o, inputs, bound)

    def test_views(self):
        q, k, v = torch.randn(1, 5, 3, 2, 8).permute(2, 0, 3, 1, 4)
        self.check(self.kernel(q, k, v), (q, k, v))
        q = torch.randn(1, 1, 5, 8).expand(1, 2, 5, 8)
        self.check(self.kernel(q, k, v), (q, k, v))

    def test_out(self):
        expected = self.kernel(*self.inputs)
        out = torch.empty(1, 5, 2, 8).transpose(1, 2)
        self.assertIs(self.kernel(*self.inputs, out=out), out)
        self.assertTrue(torch.equal(out, expected))
        with self.assertRaisesRegex(attn.InvalidArgument, "'o' not to overlap"):
            self.kernel(*self.inputs, out=self.inputs[1])

    def test_scalars(self):
        kernel = attn.compile(WINDOW)
        q = torch.randn(1, 30, 8, 64).half()
        expected = kernel(q, q, q, 4)[1]
        for window in (torch.tensor(4), torch.tensor(4, dtype=torch.int32)):
            self.assertTrue(torch.equal(kernel(q, q, q, window)[1], expected))
        with self.assertRaisesRegex(attn.InvalidArgument, "'window' to be an integer"):
            kernel(q, q, q, torch.tensor(4.0))
        kernel = attn.compile(support.mask_program("bf16"))
        q = self.inputs[0]
        o = kernel(q, q, q, torch.tensor(1, dtype=torch.bfloat16))
        self.assertLess((o - q[:, :, :1]).abs().max().item(), 1e-6)

    def test_gradients(self):
        q, k, v = self.inputs
        q = q.clone().requires_grad_()
        with self.assertRaisesRegex(attn.InvalidArgument, "'q' not to require a grad"):
            self.kernel(q, k, v)
        with torch.no_grad():
            self.check(self.kernel(q, k, v), (q, k, v))
        self.check(self.kernel(q.detach(), k, v), (q.detach(), k, v))

    def test_mixed_with_others(self):
        q, k, v = self.inputs
        numbers = support.flatten(v.tolist())
        o = self.kernel(q, k, support.tensor((1, 2, 5, 8), values=numbers))
        self.assertIsInstance(o, torch.Tensor)
        self.check(o, (q, k, v))

    def test_errors(self):
        q, k, v = self.inputs
        negated = torch.view_as_complex(torch.randn(1, 2, 5, 8, 2)).conj().imag
        for bad, message in [
            (k.double(), "'k' to have element type f32, but got f64"),
            (k.to(torch.complex64), "'k' .*complex64"),
            (k.to_sparse(), "'k' to be a strided tensor"),
            (k.to("meta"), "'k' on a CPU or a GPU, but got meta"),
            (k[0], "'k' to have rank 4"),
            (k.transpose(2, 3), "'k' to have shape"),
            (negated, "'k' .*resolve_neg"),
            (torch.randn(1, 2, 8, 5).transpose(2, 3), "'k' .*innermost stride of 1"),
        ]:
            with self.assertRaisesRegex(attn.InvalidArgument, message):
                self.kernel(q, bad, v)

    def test_dlpack(self):
        class Wrapper:
            def __init__(self, tensor):
                self.tensor = tensor

            def __dlpack__(self, **arguments):
                return self.tensor.__dlpack__(**arguments)

            def __dlpack_device__(self):
                return self.tensor.__dlpack_device__()

        q, k, v = self.inputs
        out = Wrapper(torch.empty_like(q))
        self.kernel(Wrapper(q), Wrapper(k), Wrapper(v), out=out)
        self.check(out.tensor, (q, k, v))


@unittest.skipIf(torch is None or not torch.cuda.is_available(), "needs a GPU")
class Cuda(unittest.TestCase):
    def test_no_kernel_reads_memory_of_another_device(self):
        q = torch.randn(1, 2, 5, 8, device="cuda")
        with self.assertRaises(attn.Error):
            attn.compile(CAUSAL, target="cpu")(q, q, q)
        with self.assertRaisesRegex(attn.InvalidArgument, "'k' on cuda:0"):
            attn.compile(CAUSAL)(q, q.cpu(), q)


if __name__ == "__main__":
    unittest.main()
