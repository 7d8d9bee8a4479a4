# RUN: %python %s
"""PyTorch's own names: attn.torch.use(), and attn as its flash attention."""

import sys
import types
import unittest
import warnings
from unittest import mock

try:
    import torch
except ImportError:
    torch = None

if torch is not None:
    import torch.nn.functional as F
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    import attn.torch as ours
    from attn.torch import _kernels, _options
    from flex import FAST, causal, qkv

    used = sys.modules["attn.torch._use"]


@unittest.skipIf(torch is None, "needs PyTorch")
class Use(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        patch = mock.patch.object(_options, "NONE", _options.read(FAST))
        patch.start()
        self.addCleanup(patch.stop)
        used._told.clear()

    def count(self, function, *arguments):
        """What a function returns, and how many forward kernels it runs."""
        with mock.patch.object(
            _kernels.Kernels, "run", autospec=True, side_effect=_kernels.Kernels.run
        ) as run:
            return function(*arguments), run.call_count

    def test_a_transformer(self):
        """A block of a vision transformer, with gradients."""
        layer = torch.nn.TransformerEncoderLayer(32, 4, 48, dropout=0.0, batch_first=True)
        x = torch.randn(2, 17, 32, requires_grad=True)
        wanted, count = self.count(layer, x)
        self.assertEqual(count, 0)
        grad = torch.autograd.grad(wanted.sin().sum(), x)[0]
        with ours.use():
            o, count = self.count(layer, x)
        self.assertEqual(count, 1)
        torch.testing.assert_close(o, wanted)
        torch.testing.assert_close(torch.autograd.grad(o.sin().sum(), x)[0], grad)
        self.assertEqual(self.count(layer, x)[1], 0)

    def test_names(self):
        """Those of modules that have imported them, and not those of later ones."""
        before = flex_attention, F.scaled_dot_product_attention
        q, k, v = qkv((1, 2, 9, 8))
        mask = create_block_mask(causal, None, None, 9, 9, device="cpu")
        wanted = ours.flex_attention(q, k, v, block_mask=mask)
        with ours.use():
            with ours.use():
                self.assertIsNot(flex_attention, before[0])
            o, count = self.count(lambda: flex_attention(q, k, v, block_mask=mask))
            self.assertEqual(count, 1)
            self.assertTrue(torch.equal(o, wanted))
            o = F.scaled_dot_product_attention(q, k, v, None, 0.0, True)
            torch.testing.assert_close(o, wanted)
        self.assertEqual((flex_attention, F.scaled_dot_product_attention), before)
        self.assertIs(torch.nn.functional.scaled_dot_product_attention, before[1])
        module = types.ModuleType("a_module_of_a_user")
        module.attention = before[1]
        with mock.patch.dict(sys.modules, {module.__name__: module}):
            switch = ours.use().start()
            self.assertIs(module.attention, used.scaled_dot_product_attention)
            # What somebody else has put there stays.
            module.attention = before[0]
            switch.stop()
        self.assertIs(module.attention, before[0])
        self.assertEqual((flex_attention, F.scaled_dot_product_attention), before)

    def test_what_stays(self):
        q, k, v = qkv((1, 2, 9, 8), dtype=torch.float32)
        with ours.use():
            with self.assertWarnsRegex(UserWarning, "PyTorch's own: dropout_p is 0.5"):
                _, count = self.count(
                    lambda: F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
                )
            self.assertEqual(count, 0)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)

            class Named(torch.Tensor):
                pass

            named = q.as_subclass(Named)
            with self.assertWarnsRegex(UserWarning, "a Named that is no plain tensor"):
                o = F.scaled_dot_product_attention(named, k, v)
            self.assertIs(type(o), Named)
            with self.assertWarnsRegex(UserWarning, "tensors are on meta"):
                F.scaled_dot_product_attention(*[q.to("meta")] * 3)
            with self.assertRaisesRegex(RuntimeError, "dtype"):
                F.scaled_dot_product_attention(q, k.double(), v)

    def test_what_ours_refuse(self):
        """An error says what is missing, and PyTorch's own runs."""
        q, k, v = qkv((1, 2, 9, 8), dtype=torch.float32)

        def score_mod(s, b, h, i, j):
            return s + torch.lgamma(i + 1.0)

        wanted = flex_attention(q, k, v, score_mod)
        with ours.use():
            with self.assertWarnsRegex(UserWarning, "PyTorch's own: .*lgamma") as told:
                o = flex_attention(q, k, v, score_mod)
            self.assertEqual(told.filename, __file__)
            with self.assertWarnsRegex(UserWarning, "PyTorch's own: .*head dimensions"):
                nothing = F.scaled_dot_product_attention(q[..., :0], k[..., :0], v)
            # What is wrong for both stays an error, and nothing is told.
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with self.assertRaises(RuntimeError):
                    F.scaled_dot_product_attention(q, k[..., :3], v)
        self.assertTrue(torch.equal(o, wanted))
        torch.testing.assert_close(nothing, v.mean(2, keepdim=True).expand(-1, -1, 9, -1))

    def test_autocast(self):
        """The dtypes that count are those of the region."""
        q, k, v = qkv((1, 2, 9, 8), dtype=torch.float32)
        calls = [
            lambda: F.scaled_dot_product_attention(q, k.bfloat16(), v),
            lambda: F.scaled_dot_product_attention(q, k.half(), v.bfloat16()),
        ]
        for call in calls:
            with torch.autocast("cpu", torch.bfloat16):
                wanted = call()
                with ours.use(), warnings.catch_warnings():
                    warnings.simplefilter("error")
                    o, count = self.count(call)
            self.assertEqual((count, o.dtype), (1, torch.bfloat16))
            torch.testing.assert_close(o, wanted, rtol=0.02, atol=0.02)

    def test_compiled(self):
        q, k, v = qkv((1, 2, 9, 8), dtype=torch.float32)

        def model(q):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True).sin()

        wanted = model(q)
        with ours.use():
            compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
            o, count = self.count(compiled, q)
        self.assertEqual(count, 1)
        torch.testing.assert_close(o, wanted)


@unittest.skipIf(
    torch is None or not hasattr(torch.nn.attention, "activate_flash_attention_impl"),
    "needs PyTorch 2.10",
)
class Flash(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def test_on_a_cpu(self):
        from torch.nn import attention

        self.assertIn("attn", attention.list_flash_attention_impls())
        self.assertIsNone(attention.current_flash_attention_impl())
        q, k, v = qkv((2, 4, 33, 8), dtype=torch.float32, grad=True)
        bias = torch.randn(2, 1, 33, 33)
        allowed = torch.rand(33, 33) > 0.3
        cases = [
            {},
            {"is_causal": True},
            {"scale": 0.1},
            {"attn_mask": bias},
            {"attn_mask": allowed},
            {"attn_mask": bias[0, 0]},
        ]

        def run(named):
            o = F.scaled_dot_product_attention(q, k, v, **named)
            return o, *torch.autograd.grad(o.sin().sum(), (q, k, v))

        wanted = [run(named) for named in cases]
        with warnings.catch_warnings():
            # That the operators of PyTorch are replaced.
            warnings.simplefilter("ignore")
            attention.activate_flash_attention_impl("attn")
        try:
            self.assertEqual(attention.current_flash_attention_impl(), "attn")
            with mock.patch.object(
                _kernels.Kernels, "run", autospec=True, side_effect=_kernels.Kernels.run
            ) as counted:
                found = [run(named) for named in cases]
            self.assertEqual(counted.call_count, len(cases))
            for one, other in zip(found, wanted):
                for a, b in zip(one, other):
                    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
                    self.assertEqual(a.stride(), b.stride())
        finally:
            attention.restore_flash_attention_impl()
        with mock.patch.object(_kernels.Kernels, "run") as counted:
            run({})
        counted.assert_not_called()


if __name__ == "__main__":
    unittest.main()
