# RUN: %python %s
"""Gradients of attn.torch.flex_attention."""

import functools
import unittest
from unittest import mock

try:
    import torch
except ImportError:
    torch = None

import attn

if torch is not None:
    from torch.utils.checkpoint import checkpoint

    import attn.torch as ours
    import flex
    from attn.torch import _kernels
    from flex import FAST, causal, eager, flex_attention, qkv

    LSE = ours.AuxRequest(lse=True)


@unittest.skipIf(torch is None, "needs PyTorch")
class Gradients(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def check(self, tensors, score_mod=None, mask_mod=None, wrt=(), **options):
        """Against what PyTorch makes of its own operations, for a loss of both
        results."""
        q, k, v = tensors
        mask = mask_mod and ours.create_block_mask(
            mask_mod, q.size(0), None, q.size(2), k.size(2), device="cpu"
        )
        out, aux = flex_attention(q, k, v, score_mod, mask, return_aux=LSE, **options)
        expected = eager(q, k, v, score_mod, mask_mod)
        inputs = [*tensors, *wrt]
        # There is no gradient of an lse of -inf.
        finite = aux.lse.detach().isfinite()
        weights = torch.randn_like(out), torch.randn_like(aux.lse)
        gradients = [
            torch.autograd.grad(
                (o * weights[0]).sum() + (lse[finite] * weights[1][finite]).sum(),
                inputs,
                retain_graph=True,
            )
            for o, lse in ((out, aux.lse), expected)
        ]
        for x, a, b in zip(inputs, *gradients):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)
            self.assertEqual((a.shape, a.dtype), (x.shape, x.dtype))
        return gradients[0]

    def test_plain(self):
        self.check(qkv((2, 2, 21, 8), (2, 2, 30), dim_v=5, grad=True))

    def test_rows_without_a_key(self):
        tensors = qkv((1, 2, 21, 8), grad=True)
        dq, _, _ = self.check(tensors, None, lambda b, h, i, j: j < i - 4)
        self.assertTrue((dq[:, :, :5] == 0).all())

    def test_shared_heads_and_batches(self):
        tensors = qkv((3, 6, 9, 8), (1, 2, 13), grad=True)
        lengths = torch.tensor([13, 2, 0])
        self.check(tensors, None, lambda b, h, i, j: j < lengths[b], enable_gqa=True)

    def test_sink(self):
        # A score of a key without a value, learnt for each head: it takes its
        # part of the sum of exponentials, which the log-sum-exp tells.
        q, k, v = qkv((2, 3, 11, 8), grad=True)
        sinks = torch.randn(3, dtype=torch.float64, requires_grad=True)
        mask = ours.create_block_mask(
            lambda b, h, i, j: j < i, 2, None, 11, 11, device="cpu"
        )
        out, aux = flex_attention(q, k, v, block_mask=mask, return_aux=LSE)
        part = torch.sigmoid(aux.lse - sinks[:, None])
        lse = torch.logaddexp(aux.lse, sinks[:, None].expand_as(aux.lse))
        ones = torch.ones(11, 11, dtype=torch.bool).tril(-1)
        scores = (q @ k.mT * 8**-0.5).masked_fill(~ones, -torch.inf)
        column = sinks[:, None, None].expand(2, 3, 11, 1)
        scores = torch.cat((scores, column), -1)
        weights = torch.randn_like(out), torch.randn_like(lse)
        found, expected = (
            torch.autograd.grad(
                (o * weights[0]).sum() + (sums * weights[1]).sum(), (q, k, v, sinks)
            )
            for o, sums in (
                (out * part[..., None], lse),
                (scores.softmax(-1)[..., :-1] @ v, scores.logsumexp(-1)),
            )
        )
        for a, b in zip(found, expected):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)

    def test_captures(self):
        tensors = qkv((2, 3, 11, 8), grad=True)
        # One table read twice, a number, a part of a parameter, a computed
        # tensor, a narrower type, and one that is not next to its elements.
        table = torch.randn(3, 21, dtype=torch.float64, requires_grad=True)
        number = torch.nn.Parameter(torch.tensor(0.7, dtype=torch.float64))
        whole = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
        part, computed = whole[2:, 1], (whole * 2).sum(0)
        strided = torch.randn(11, 4, dtype=torch.float64, requires_grad=True)

        def score_mod(s, b, h, i, j):
            s = s * number + table[h, i - j + 10] + table[h, j].sin()
            s = s + part[h] * computed[h]
            return s + strided[:, 2][j]

        self.check(tensors, score_mod, causal, (table, number, whole, strided))

    def test_forms_of_captures(self):
        # Lengths that are primes, the longer one first; groups; batches that share keys.
        tensors = qkv((2, 4, 13, 8), (1, 2, 11), dim_v=5, grad=True)

        def draw(*shape):
            return torch.randn(shape, dtype=torch.float64, requires_grad=True)

        head, row, column, pair = draw(4), draw(13), draw(11), draw(13, 11)
        transposed, all_dims = draw(11, 13), draw(2, 4, 13, 11)
        distance, clamped, composed, number = draw(23), draw(5), draw(3), draw()
        order = torch.randint(0, 3, (13,))

        def score_mod(s, b, h, i, j):
            near = torch.clamp(i - j, -2, 2) + 2
            s = s * head[h] + row[i] + column[j] * number + pair[i, j]
            s = s + transposed[j, i] + all_dims[b, h, i, j].tanh()
            return s + distance[i - j + 10] + clamped[near] * composed[order[i]]

        self.check(
            *(tensors, score_mod, lambda b, h, i, j: j <= i + 2),
            (head, row, column, pair, transposed, all_dims)
            + (distance, clamped, composed, number),
            enable_gqa=True,
        )

    def test_rows(self):
        tensors = qkv((1, 2, 9, 8), (1, 2, 11), grad=True)
        rows = torch.randn(2, 9, 300, dtype=torch.float64, requires_grad=True)
        columns = torch.randn(2, 11, 300, dtype=torch.float64, requires_grad=True)
        a = (rows * 0.1).detach().requires_grad_()
        wrt = a, columns
        for score in (
            lambda s, b, h, i, j: s + (a[h, i] * columns[h, j]).sum(-1),
            lambda s, b, h, i, j: s * torch.tanh((a[h, i] * columns[h, j]).sum(-1)),
            lambda s, b, h, i, j: s - (a[h, i] - columns[h, j]).abs().mean(-1) * s,
        ):
            self.check(tensors, score, wrt=wrt)
        small = [x[..., :6].detach().requires_grad_() for x in wrt]
        a, columns = small
        for score in (
            lambda s, b, h, i, j: s + a[h, i, 0] * columns[h, j, 0] + a[h, i, 1] * columns[h, j, 1],
            lambda s, b, h, i, j: s + (a[h, i] + columns[h, j]).amax(-1),
            # Those that are equal share.
            lambda s, b, h, i, j: s + (a[h, i].round() * columns[h, j]).relu().amax(-1),
            lambda s, b, h, i, j: s - (a[h, i] * columns[h, j]).amin(-1) * s,
        ):
            self.check(tensors, score, wrt=small)

    def test_captures_of_16_bits(self):
        tensors = qkv((1, 2, 11, 8), dtype=torch.float32, grad=True)
        bias = torch.randn(2, 11).bfloat16().requires_grad_()

        def score_mod(s, b, h, i, j):
            return s + bias[h, j]

        o = flex_attention(*tensors, score_mod)
        expected = eager(*tensors, score_mod)[0]
        weight = torch.randn_like(o)
        a, b = (torch.autograd.grad((x * weight).sum(), bias)[0] for x in (o, expected))
        self.assertEqual(a.dtype, torch.bfloat16)
        torch.testing.assert_close(a, b, rtol=0.02, atol=1e-3)

    def test_types(self):
        def capped(s, b, h, i, j):
            return 5 * torch.tanh(s / 5)

        for dtype in (torch.float32, torch.bfloat16):
            tensors = qkv((1, 2, 70, 16), dtype=dtype, grad=True)
            mask = ours.create_block_mask(causal, None, None, 70, 70)
            weight = torch.randn(1, 2, 70, 16).to(dtype)
            exact, rounded, got = (
                torch.autograd.grad((o * weight).sum(), tensors)
                for o in (
                    eager(*tensors, capped, causal, wide=torch.float64)[0],
                    eager(*tensors, capped, causal)[0],
                    flex_attention(*tensors, capped, mask),
                )
            )
            wide = [x.detach().double().requires_grad_() for x in tensors]
            o = eager(*wide, capped, causal)[0]
            exact = torch.autograd.grad((o * weight).sum(), wide)
            for a, b, c in zip(got, exact, rounded):
                flex.check_errors(self, a, b, c, dtype)

    def test_only_what_is_asked_for(self):
        attn.clear_cache()
        q, k, v = qkv((1, 2, 11, 8))
        bias = torch.randn(2, dtype=torch.float64, requires_grad=True)
        k.requires_grad_()
        o = flex_attention(q, k, v, lambda s, b, h, i, j: s * bias[h])
        o.sum().backward()
        self.assertIsNone(q.grad)
        self.assertIsNotNone(k.grad)
        asked = [wrt for x in _kernels._kernels.values() for wrt in x._gradients]
        self.assertEqual(asked, [("k", "t0")])
        # Of an output or a log-sum-exp that nothing depends on.
        for number in (0, 1):
            o, aux = flex_attention(
                q, k, v, lambda s, b, h, i, j: s * bias[h], return_aux=LSE
            )
            theirs = eager(q, k, v, lambda s, b, h, i, j: s * bias[h])
            a, b = (
                torch.autograd.grad(x[number].square().sum(), (k, bias))
                for x in ((o, aux.lse), theirs)
            )
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)

    def test_layouts(self):
        q, k, v = torch.randn(2, 9, 3, 2, 8).permute(2, 0, 3, 1, 4)
        v = v.transpose(2, 3).contiguous().transpose(2, 3)
        tensors = [x.detach().double().requires_grad_() for x in (q, k, v)]
        o = flex_attention(*tensors)
        # A gradient that is one number for all.
        gradients = torch.autograd.grad(o.sum(), tensors)
        expected = torch.autograd.grad(eager(*tensors)[0].sum(), tensors)
        for x, a, b in zip(tensors, gradients, expected):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)
        self.assertEqual(gradients[0].stride(), tensors[0].stride())
        self.assertEqual(gradients[1].stride(), tensors[1].stride())


@unittest.skipIf(torch is None, "needs PyTorch")
class Autograd(unittest.TestCase):
    """How gradients and PyTorch's other tools go together."""

    def setUp(self):
        torch.manual_seed(0)
        self.bias = torch.nn.Parameter(torch.randn(2, dtype=torch.float64))
        self.tensors = qkv((1, 2, 11, 8), dtype=torch.float64, grad=True)

    def score_mod(self, s, b, h, i, j):
        return s * self.bias[h]

    def run_all(self, function=None):
        function = function or flex_attention
        o = function(*self.tensors, self.score_mod)
        return torch.autograd.grad(o.square().sum(), [*self.tensors, self.bias])

    def test_bits_repeat(self):
        first = self.run_all()
        for a, b in zip(first, self.run_all()):
            self.assertTrue(torch.equal(a, b))
        torch.use_deterministic_algorithms(True)
        self.addCleanup(torch.use_deterministic_algorithms, False)
        for a, b in zip(first, self.run_all()):
            self.assertTrue(torch.equal(a, b))

    def test_any_order(self):
        options = {"ATTN": {**FAST["ATTN"], "deterministic": False}}
        call = functools.partial(flex_attention, kernel_options=options)
        first = self.run_all()
        for asked, given in (False, {"deterministic": False}), (True, {}):
            torch.use_deterministic_algorithms(asked)
            self.addCleanup(torch.use_deterministic_algorithms, False)
            with mock.patch.object(
                _kernels, "compile_program", wraps=_kernels.compile_program
            ) as compiled:
                attn.clear_cache()
                found = self.run_all(call)
            for a, b in zip(first, found):
                self.assertTrue(torch.allclose(a, b, atol=1e-12))
            for arguments in compiled.call_args_list:
                self.assertEqual(
                    {k: v for k, v in arguments.kwargs.items() if k == "deterministic"},
                    given,
                )
            self.assertTrue(compiled.called)

    def test_checkpoint(self):
        kept = self.run_all(
            lambda *x: checkpoint(flex_attention, *x, use_reentrant=False)
        )
        for a, b in zip(kept, self.run_all()):
            self.assertTrue(torch.equal(a, b))
        # The other kind does not see what the function reads.
        expected = torch.autograd.grad(
            flex_attention(*self.tensors).sum(), self.tensors
        )
        checkpoint(flex_attention, *self.tensors, use_reentrant=True).sum().backward()
        for x, b in zip(self.tensors, expected):
            self.assertTrue(torch.equal(x.grad, b))

    def test_what_is_kept(self):
        kept = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda x: kept.append(tuple(x.shape)) or x, lambda x: x
        ):
            flex_attention(*self.tensors, self.score_mod)
        whole = (1, 2, 11, 8)
        # The inputs, the output and the log-sum-exp.
        self.assertEqual(sorted(kept), sorted([whole] * 4 + [(2,), (1, 2, 11)]))

    def test_no_gradient(self):
        with torch.no_grad():
            o = flex_attention(*self.tensors, self.score_mod)
        self.assertFalse(o.requires_grad)
        with torch.inference_mode():
            flex_attention(*self.tensors, self.score_mod)
        o = flex_attention(*(x.detach() for x in self.tensors))
        self.assertFalse(o.requires_grad)

    def test_no_value_is_detached(self):
        """What is dropped where PyTorch drops it would be a wrong gradient."""
        bias = torch.randn(11, dtype=torch.float64, requires_grad=True)

        def in_a_region(s, b, h, i, j):
            with torch.no_grad():
                weight = torch.sigmoid(s)
            return s * weight

        wrong = [
            ("the score", lambda s, b, h, i, j: s * s.detach()),
            ("the score", lambda s, b, h, i, j: s * torch.detach(s * i)),
            ("the score", in_a_region),
            (
                r"tensor of \(11,\): detach that",
                lambda s, b, h, i, j: s + (bias[j].round() - bias[j]).detach(),
            ),
        ]
        for text, score_mod in wrong:
            with self.assertRaisesRegex(attn.TraceError, text):
                flex_attention(*self.tensors, score_mod)
            compiled = torch.compile(flex_attention, backend="eager", fullgraph=True)
            torch._dynamo.reset()
            with self.assertRaisesRegex(RuntimeError, text):
                compiled(*self.tensors, score_mod)
        with self.assertRaisesRegex(attn.TraceError, r"tensor of \(11, 1\)"):
            flex_attention(
                *self.tensors, lambda s, b, h, i, j: s + bias[i, None].detach().sum()
            )

    def test_what_may_be_detached(self):
        bias = torch.randn(11, dtype=torch.float64)

        def score_mod(s, b, h, i, j):
            with torch.no_grad():
                at = j - i
            s = torch.where((s > 0).detach(), s, s * 2) + at.detach()
            return s + s.round().detach() + bias[i.detach()].detach() * bias[j]

        def plain(s, b, h, i, j):
            return torch.where(s > 0, s, s * 2) + (j - i) + (
                torch.where(s > 0, s, s * 2) + (j - i)
            ).round() + bias[i] * bias[j]  # fmt: skip

        results = []
        for function in (score_mod, plain):
            o = flex_attention(*self.tensors, function)
            results.append(torch.autograd.grad(o.sin().sum(), self.tensors))
        for a, b in zip(*results):
            torch.testing.assert_close(a, b)
        # Without gradients, anything may be detached; with them again, it may not.
        detached = lambda s, b, h, i, j: s.detach()
        for _ in range(2):
            with torch.no_grad():
                flex_attention(*self.tensors, detached)
            with self.assertRaises(attn.TraceError):
                flex_attention(*self.tensors, detached)

    def test_a_capture_that_is_detached(self):
        """A program of a tensor without a gradient is none for one with it."""
        variant = ours.Variant(lambda s, b, h, i, j, x: s + x[i].detach())

        def call(q, k, v, x):
            return flex_attention(q, k, v, lambda s, b, h, i, j: s + x[i].detach())

        for _ in range(2):
            bias = torch.randn(11, dtype=torch.float64)
            torch.testing.assert_close(
                variant(*self.tensors, bias), call(*self.tensors, bias)
            )
            bias.requires_grad_()
            for function in (variant, call):
                with self.assertRaises(RuntimeError):
                    function(*self.tensors, bias)

    def test_no_second_gradient(self):
        o = flex_attention(*self.tensors)
        (dq,) = torch.autograd.grad(
            o.square().sum(), self.tensors[0], create_graph=True
        )
        with self.assertRaisesRegex(attn.Unsupported, "has no second one"):
            dq.sum().backward()

    def test_a_change_in_place_is_an_error(self):
        bias = torch.zeros(2, dtype=torch.float64)
        o = flex_attention(*self.tensors, lambda s, b, h, i, j: s + bias[h])
        bias += 1
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            o.sum().backward()

    def test_training(self):
        """A learned bias finds what it has to be."""
        torch.manual_seed(1)
        x = torch.randn(4, 1, 16, 8)
        truth = torch.zeros(16)
        truth[3] = 5.0
        with torch.no_grad():
            goal = flex_attention(x, x, x, lambda s, b, h, i, j: s + truth[j])
        bias = torch.nn.Parameter(torch.zeros(16))
        optimizer = torch.optim.Adam([bias], lr=0.3)
        losses = []
        for _ in range(60):
            o = flex_attention(x, x, x, lambda s, b, h, i, j: s + bias[j])
            loss = (o - goal).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], 0.01 * losses[0])
        self.assertEqual(bias.argmax().item(), 3)


if __name__ == "__main__":
    unittest.main()
