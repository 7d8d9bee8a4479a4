# RUN: %python %s
"""sdpa, varlen and Variant of attn.torch."""

import copy
import pickle
import unittest

try:
    import torch
    from torch.nn.functional import scaled_dot_product_attention as reference
except ImportError:
    torch = None
try:
    from torch.nn.attention import varlen
except ImportError:
    varlen = None

if torch is not None:
    import attn.torch as ours
    from attn.torch import _kernels, _options, sdpa
    from flex import FAST, causal, eager, qkv


def scaled(s, b, h, i, j, scales):
    return s * scales[h]


class Fast(unittest.TestCase):
    """sdpa and varlen take no options: all kernels here compile soon."""

    def setUp(self):
        torch.manual_seed(0)
        self.none, _options.NONE = _options.NONE, _options.read(FAST)

    def tearDown(self):
        _options.NONE = self.none


@unittest.skipIf(torch is None, "needs PyTorch")
class Sdpa(Fast):
    def check(self, *arguments, **named):
        got = sdpa(*arguments, **named)
        expected = reference(*arguments, **named)
        torch.testing.assert_close(got, expected, rtol=1e-11, atol=1e-11)
        self.assertEqual(got.stride(), got.contiguous().stride())

    def test_shapes(self):
        for lead, kv_lead in [
            ((2, 3), (2, 3)),
            ((), ()),
            ((5,), (5,)),
            ((2, 2, 3), (2, 2, 3)),
            ((2, 3), (1, 3)),
            ((2, 3), (2, 1)),
            ((2, 3), (3,)),
            ((1, 3), (2, 3)),
        ]:
            with self.subTest(lead=lead, kv_lead=kv_lead):
                q = torch.randn(*lead, 7, 8, dtype=torch.float64)
                k = torch.randn(*kv_lead, 9, 8, dtype=torch.float64)
                v = torch.randn(*kv_lead, 9, 4, dtype=torch.float64)
                self.check(q, k, v)

    def test_causal_and_scale(self):
        # PyTorch's, too, is that of the first query at the first key.
        self.check(*qkv((2, 2, 9, 8), (2, 2, 5)), is_causal=True)
        self.check(*qkv((2, 2, 5, 8), (2, 2, 9)), is_causal=True, scale=0.2)

    def test_groups(self):
        self.check(*qkv((2, 6, 9, 8), (2, 2, 5)), enable_gqa=True)
        q, k, v = (x[0] for x in qkv((1, 6, 9, 8), (1, 2, 5)))
        torch.testing.assert_close(
            sdpa(q, k, v, enable_gqa=True),
            reference(q[None], k[None], v[None], enable_gqa=True)[0],
        )

    def test_masks(self):
        q, k, v = qkv((2, 3, 7, 8), (2, 3, 9))
        for shape in [(7, 9), (1, 9), (2, 1, 7, 9), (3, 7, 1), (2, 3, 7, 9)]:
            floats = torch.randn(shape, dtype=torch.float64)
            for mask in (floats > -0.5, floats):
                with self.subTest(shape=shape, dtype=mask.dtype):
                    self.check(q, k, v, mask)
        q = torch.randn(2, 2, 3, 7, 8, dtype=torch.float64)
        mask = torch.rand(2, 1, 1, 7, 7) > 0.3
        self.check(q, q, q, mask)
        self.check(q[0, 0], q[0, 0], q[0, 0], mask[0, 0])

    def test_masks_of_nothing(self):
        q, k, v = qkv((2, 1, 4, 8), (2, 1, 3))
        for mask, tensors in [
            (torch.ones(4, 0, dtype=torch.bool), (q, k[:, :, :0], v[:, :, :0])),
            (torch.ones(0, 1, dtype=torch.float64), (q[:, :, :0], k, v)),
            (torch.zeros(0, 1, 1, 1, dtype=torch.float64), (q[:0], k[:0], v[:0])),
        ]:
            with self.subTest(shape=tuple(mask.shape)):
                out = sdpa(*tensors, mask)
                self.assertEqual(out.shape, (*tensors[0].shape[:3], 8))
                self.assertTrue((out == 0).all())

    def test_a_row_without_a_key(self):
        q, k, v = qkv((1, 1, 4, 8))
        mask = torch.ones(4, 4, dtype=torch.bool)
        mask[1] = False
        for x in (mask, torch.zeros(4, 4).double().masked_fill(~mask, -torch.inf)):
            self.assertTrue((sdpa(q, k, v, x)[0, 0, 1] == 0).all())

    def test_gradients(self):
        # A bias is summed over the dimensions that it is broadcast along.
        tensors = qkv((2, 3, 7, 8), (2, 3, 11), grad=True)
        for shape in [
            *((7, 11), (1, 11), (7, 1), (1, 1), (3, 7, 11), (3, 1, 1), (1, 1, 11)),
            *((2, 1, 7, 11), (1, 3, 7, 1), (2, 1, 1, 1), (2, 3, 1, 11), (2, 3, 7, 11)),
        ]:
            mask = torch.randn(shape, dtype=torch.float64, requires_grad=True)
            inputs = [*tensors, mask]
            a, b = (
                torch.autograd.grad(f(*tensors, mask).square().sum(), inputs)
                for f in (sdpa, reference)
            )
            with self.subTest(shape=shape):
                for x, y in zip(a, b):
                    torch.testing.assert_close(x, y, rtol=1e-10, atol=1e-10)

    def test_one_query(self):
        # Which has a kernel of its own, whose tiles have as few rows.
        k, v = torch.randn(2, 2, 3, 40, 8, dtype=torch.float64)
        for length in (1, 2, 1):
            q = torch.randn(2, 3, length, 8, dtype=torch.float64, requires_grad=True)
            self.check(q, k, v, torch.rand(length, 40) < 0.7)
            self.check(q, k, v, is_causal=True)
            (got,) = torch.autograd.grad(sdpa(q, k, v).square().sum(), q)
            (expected,) = torch.autograd.grad(reference(q, k, v).square().sum(), q)
            torch.testing.assert_close(got, expected, rtol=1e-11, atol=1e-11)

    def test_errors(self):
        q, k, v = qkv((2, 3, 7, 8))
        mask = torch.ones(7, 7, dtype=torch.bool)
        for kind, text, arguments, named in [
            (ValueError, "at least 0 and less than 1", (q, k, v), {"dropout_p": 1.0}),
            (RuntimeError, "got both", (q, k, v, mask), {"is_causal": True}),
            (
                ValueError,
                r"\[\.\.\., 7 or 1, 7 or 1\], but got \(7, 6\)",
                (q, k, v, mask[:, :6]),
                {},
            ),
            (
                ValueError,
                "bool or floats, but got torch.int64",
                (q, k, v, mask.long()),
                {},
            ),
            (ValueError, "attn_mask on cpu", (q, k, v, mask.to("meta")), {}),
            (
                ValueError,
                r"broadcast to \(2, 3, 7, 7\)",
                (q, k, v, mask.expand(4, 7, 7)),
                {},
            ),
            (
                ValueError,
                r"broadcast to \(7, 7\), but got \(2, 7, 7\)",
                (q[0, 0], k[0, 0], v[0, 0], mask.expand(2, 7, 7)),
                {},
            ),
            (
                ValueError,
                r"broadcast to \(2, 3, 7, 7\), but got \(1, 2, 3, 7, 7\)",
                (q, k, v, mask.expand(1, 2, 3, 7, 7)),
                {},
            ),
            (
                ValueError,
                "batches and heads that broadcast",
                (q, k[:, :2], v[:, :2]),
                {},
            ),
            (
                ValueError,
                "for tensors that have heads",
                (q[0, 0], k, v),
                {"enable_gqa": True},
            ),
        ]:
            with self.assertRaisesRegex(kind, text):
                sdpa(*arguments, **named)


@unittest.skipIf(torch is None, "needs PyTorch")
class Varlen(Fast):
    def check(
        self, lengths, kv_lengths, window=(-1, -1), extra=0, heads=(2, 2), **named
    ):
        ends, kv_ends = (
            torch.tensor([0, *x], dtype=torch.int32).cumsum(0, dtype=torch.int32)
            for x in (lengths, kv_lengths)
        )
        total, kv_total = sum(lengths) + extra, sum(kv_lengths) + extra
        q = torch.randn(total, heads[0], 8, dtype=torch.float64)
        k, v = torch.randn(2, kv_total, heads[1], 8, dtype=torch.float64)
        out, aux = ours.varlen(
            *(q, k, v, ends, kv_ends, max(lengths), max(kv_lengths)),
            window_size=window,
            return_aux=ours.AuxRequest(lse=True, max_scores=True),
            **named,
        )
        self.assertEqual(out.shape, q.shape)
        self.assertEqual(aux.lse.shape, (heads[0], total))
        left, right = (float("inf") if w < 0 else w for w in window)
        for n, (m, s) in enumerate(zip(lengths, kv_lengths)):
            part, kv_part = (
                slice(e[n], e[n + 1]) for e in (ends.tolist(), kv_ends.tolist())
            )
            x = [t.transpose(0, 1)[None] for t in (q[part], k[kv_part], v[kv_part])]

            def mask_mod(b, h, i, j):
                place = i + s - m
                return (j >= place - left) & (j <= place + right)

            o, lse = eager(*x, None, mask_mod)
            torch.testing.assert_close(out[part].transpose(0, 1), o[0])
            torch.testing.assert_close(aux.lse[:, part], lse[0])
            self.assertTrue((aux.max_scores[:, part] <= lse[0] + 1e-9).all())
            empty = lse[0] == -torch.inf
            self.assertTrue(torch.equal(aux.max_scores[:, part] == -torch.inf, empty))
        self.assertTrue((out[sum(lengths) :] == 0).all())

    def test_sequences(self):
        self.check([3, 7, 1], [3, 7, 1])
        self.check([3, 0, 5], [4, 6, 9], extra=3)
        self.check([6], [9], heads=(4, 2), enable_gqa=True)

    @unittest.skipIf(varlen is None, "needs PyTorch's packed sequences")
    def test_request_of_torch(self):
        ends = torch.tensor([0, 3, 8])
        packed = torch.randn(8, 2, 8)
        arguments = packed, packed, packed, ends, ends
        out, aux = ours.varlen(*arguments, return_aux=ours.AuxRequest(lse=True))
        for call in (ours.varlen, torch.compile(ours.varlen, fullgraph=True)):
            same, lse = call(*arguments, return_aux=varlen.AuxRequest(lse=True))
            self.assertTrue(torch.equal(same, out) and torch.equal(lse, aux.lse))
            alone = call(*arguments, return_aux=varlen.AuxRequest())
            self.assertTrue(torch.equal(alone, out))

    def test_windows(self):
        for window in [(-1, 0), (2, 0), (0, 0), (3, 2), (2, -1)]:
            self.check([5, 9, 2], [7, 9, 1], window)

    def test_errors(self):
        q = torch.randn(4, 2, 8)
        ends = torch.tensor([0, 4])
        for text, arguments in [
            (
                "total length, heads, head dimension",
                (q[None], q[None], q[None], ends, ends),
            ),
            ("cu_seq_q of int32 or int64", (q, q, q, ends.float(), ends)),
            ("cu_seq_k of int32 or int64", (q, q, q, ends, ends[:1])),
            (
                "as many sequences, but got 1 and 2",
                (q, q, q, ends, torch.tensor([0, 2, 4])),
            ),
            ("cu_seq_q on cpu", (q, q, q, ends.to("meta"), ends)),
            ("cu_seq_k to be a tensor, but got list", (q, q, q, ends, [0, 4])),
        ]:
            with self.assertRaisesRegex(ValueError, text):
                ours.varlen(*arguments)
        for window in (1,), (1, 2, 3), 3, None, (1.5, 0), (-2, 0):
            with self.assertRaisesRegex(ValueError, "window_size to be two integers"):
                ours.varlen(q, q, q, ends, ends, window_size=window)


@unittest.skipIf(torch is None, "needs PyTorch")
class Variants(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.traced = 0

        def score_mod(s, b, h, i, j, slopes, factor, window):
            self.traced += 1
            return s * factor + slopes[h] * (j - i)

        def mask_mod(b, h, i, j, slopes, factor, window):
            return (i - j).abs() < window

        self.variant = ours.Variant(score_mod, mask_mod, kernel_options=FAST)

    def expected(self, tensors, slopes, factor, window):
        return eager(
            *tensors,
            lambda s, b, h, i, j: s * factor + slopes[h] * (j - i),
            lambda b, h, i, j: (i - j).abs() < window,
        )

    def test_calls(self):
        for length in (9, 20):
            for factor, window in [(1.5, 3), (0.5, 30)]:
                tensors = qkv((2, 4, length, 8))
                slopes = torch.randn(4, dtype=torch.float64)
                o, lse = self.variant(*tensors, slopes, factor, window, return_lse=True)
                expected = self.expected(tensors, slopes, factor, window)
                torch.testing.assert_close((o, lse), expected)
                o = self.variant(*tensors, slopes, factor, window)
                torch.testing.assert_close(o, expected[0])
        # Twice: once more for the places in the user's code, at compilation.
        self.assertLessEqual(self.traced, 3)

    def test_gradients(self):
        tensors = qkv((2, 4, 9, 8), grad=True)
        slopes = torch.randn(4, dtype=torch.float64, requires_grad=True)
        inputs = [*tensors, slopes]
        a, b = (
            torch.autograd.grad(o.square().sum(), inputs)
            for o in (
                self.variant(*tensors, slopes, 2.0, 5),
                self.expected(tensors, slopes, 2.0, 5)[0],
            )
        )
        for x, y in zip(a, b):
            torch.testing.assert_close(x, y, rtol=1e-10, atol=1e-10)

    def test_one_tensor_for_two(self):
        variant = ours.Variant(
            lambda s, b, h, i, j, x, y: s + x[h] * y[j], kernel_options=FAST
        )
        tensors = qkv((1, 4, 4, 8))
        x, y = torch.randn(2, 4, dtype=torch.float64)
        for a, b in [(x, x), (x, y), (y, x)]:
            o = variant(*tensors, a, b)
            expected = eager(*tensors, lambda s, _, h, i, j: s + a[h] * b[j])[0]
            torch.testing.assert_close(o, expected)

    def test_copies(self):
        q, k, v = qkv((1, 2, 9, 8))
        scales = torch.rand(2, dtype=torch.float64)
        variant = ours.Variant(scaled)
        for original in (variant, variant.prepare()):
            expected = original(q, k, v, scales)
            for copied in (
                copy.copy(original),
                copy.deepcopy(original),
                pickle.loads(pickle.dumps(original)),
            ):
                self.assertTrue(torch.equal(copied(q, k, v, scales), expected))

    def test_other_captures(self):
        """Of another type, layout or rank, and 0 dimensions."""
        variant = ours.Variant(
            lambda s, b, h, i, j, x, y: s + x[h] * y, kernel_options=FAST
        )
        tensors = qkv((1, 4, 4, 8))
        x = torch.randn(4, 3, dtype=torch.float64)
        for x in (x[:, 0], x[:, 1].contiguous(), x[:, 1].half()):
            for y in (torch.tensor(0.5, dtype=torch.float64), 2.5):
                o = variant(*tensors, x, y)
                expected = eager(*tensors, lambda s, b, h, i, j: s + x[h] * y)[0]
                torch.testing.assert_close(o, expected)

    def test_what_else_is_read_stays(self):
        table = torch.ones(4, dtype=torch.float64)
        variant = ours.Variant(
            lambda s, b, h, i, j: s + table[j] * 2, kernel_options=FAST
        )
        tensors = qkv((1, 2, 4, 8))
        variant(*tensors)
        table.copy_(torch.randn(4))
        expected = eager(*tensors, lambda s, b, h, i, j: s + table[j] * 2)[0]
        torch.testing.assert_close(variant(*tensors), expected)

    def test_captures_that_are_too_small(self):
        """That are, or become so as there are more heads, queries or batches."""
        alibi = ours.Variant(
            lambda s, b, h, i, j, slopes: s + slopes[h] * (j - i),
            lambda b, h, i, j, slopes: j <= i,
            kernel_options=FAST,
        )
        three = torch.randn(3, dtype=torch.float64)
        too_few = "dimension 0 of the tensor to have extent 4 or more, .* got 3"
        for heads in (3, 2, 1):
            alibi(*qkv((1, heads, 8, 8)), three)
        for _ in range(2):
            with self.assertRaisesRegex(ValueError, too_few):
                alibi(*qkv((1, 4, 8, 8)), three)
        # No pair reads what is not there.
        self.assertEqual(alibi(*qkv((1, 4, 0, 8)), three).shape, (1, 4, 0, 8))

        documents = ours.Variant(
            mask_mod=lambda b, h, i, j, d: d[b, i] == d[b, j], kernel_options=FAST
        )
        one = torch.zeros(1, 8, dtype=torch.int32)
        documents(*qkv((1, 2, 8, 8)), one)
        with self.assertRaisesRegex(ValueError, "dimension 0 .* 2 or more"):
            documents(*qkv((2, 2, 8, 8)), one)
        with self.assertRaisesRegex(ValueError, "dimension 1 .* 9 or more"):
            documents(*qkv((1, 2, 9, 8)), one)
        documents(*qkv((2, 2, 8, 8)), one.expand(2, 8))
        # What is masked is not read.
        padded = ours.Variant(
            lambda s, b, h, i, j, bias: s + bias[j],
            lambda b, h, i, j, bias: j < 3,
            kernel_options=FAST,
        )
        padded(*qkv((1, 2, 8, 8)), three)

    def test_autocast(self):
        variant = ours.Variant(
            lambda s, b, h, i, j, slopes: s + slopes[h] * (j - i), kernel_options=FAST
        )
        tensors = [x.float().requires_grad_() for x in qkv((1, 2, 9, 8))]
        slopes = torch.randn(2, requires_grad=True)
        with torch.autocast("cpu", torch.bfloat16):
            o = variant(*tensors, slopes)
            with torch.autocast("cpu", enabled=False):
                self.assertEqual(variant(*tensors, slopes).dtype, torch.float32)
            # Of other dtypes, too, as elsewhere.
            mixed = variant(tensors[0].bfloat16(), *tensors[1:], slopes)
        self.assertEqual(o.dtype, torch.bfloat16)
        self.assertTrue(torch.equal(mixed, o))
        expected = variant(*(x.bfloat16() for x in tensors), slopes)
        self.assertTrue(torch.equal(o, expected))
        o.float().sum().backward()
        for x in (*tensors, slopes):
            self.assertEqual(x.grad.dtype, torch.float32)
        self.assertEqual(variant(*tensors, slopes).dtype, torch.float32)

    def test_errors(self):
        q, k, v = qkv((1, 2, 4, 8))
        table = torch.randn(3, 4, dtype=torch.float64)
        for function in (
            lambda s, b, h, i, j, t: s + t[1][j],
            lambda s, b, h, i, j, t: s + (t * 2)[h, j],
        ):
            with self.assertRaisesRegex(
                ValueError, "made of one: pass that as a capture"
            ):
                ours.Variant(function)(q, k, v, table)
        variant = ours.Variant(lambda s, b, h, i, j, t: s + t[h, j])
        with self.assertRaisesRegex(ValueError, "on cpu, .* on meta"):
            variant(q, k, v, table.to("meta"))
        with self.assertRaisesRegex(
            ValueError, "score_mod to be a function, but got int"
        ):
            ours.Variant(3)
        plain = ours.Variant(kernel_options=FAST)
        plain(q, k, v)
        with self.assertRaisesRegex(ValueError, "k and v .* same length"):
            plain(q, k, v[:, :, 1:])
        with self.assertRaisesRegex(ValueError, "'k' .*f32"):
            plain(q, k.float(), v)
        with self.assertRaisesRegex(ValueError, "one device"):
            plain(q, k.to("meta"), v)


if __name__ == "__main__":
    unittest.main()
