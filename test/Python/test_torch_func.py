# RUN: %python %s
"""attn.torch in torch.func: vmap, grad and vjp, against loops."""

import unittest
from unittest import mock

try:
    import torch
except ImportError:
    torch = None

if torch is not None:
    import attn
    import attn.torch as ours
    from attn._places import Places
    from attn.torch import _options
    from flex import FAST, causal, flex_attention, qkv


@unittest.skipIf(torch is None, "needs PyTorch")
class Func(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        # sdpa and varlen take no options.
        patch = mock.patch.object(_options, "NONE", _options.read(FAST))
        patch.start()
        self.addCleanup(patch.stop)

    def check(self, function, arguments, in_dims, launches=None):
        """vmap of a function is the function of each element."""
        sizes = [
            x.shape[d] for x, d in zip(arguments, in_dims) if d is not None
        ]
        each = [
            function(*[x if d is None else x.select(d, n) for x, d in zip(arguments, in_dims)])
            for n in range(sizes[0])
        ]
        with mock.patch.object(
            Places, "run", autospec=True, side_effect=Places.run
        ) as launched:
            got = torch.func.vmap(function, in_dims)(*arguments)
        if launches is not None:
            self.assertEqual(launched.call_count, launches)
        leaves = torch.utils._pytree.tree_leaves
        for x, *y in zip(leaves(got), *map(leaves, each)):
            torch.testing.assert_close(x, torch.stack(y))

    def test_vmap(self):
        q, k, v = qkv((3, 2, 4, 9, 8)[1:])
        many = [torch.stack([x, x * 2, x + 1], 2) for x in (q, k, v)]
        mask = ours.create_block_mask(causal, None, None, 9, 9, "cpu")
        for in_dims in (2, 2, 2), (2, None, None), (None, 2, 2), (None, None, 2):
            arguments = [x if d is None else m for x, m, d in zip((q, k, v), many, in_dims)]
            self.check(
                lambda q, k, v: flex_attention(
                    q, k, v, lambda s, b, h, i, j: s * h, mask, return_aux=ours.AuxRequest(lse=True, max_scores=False)
                )[0],
                *(arguments, in_dims, 1),
            )

    def test_what_asks_for_the_batch(self):
        lengths = torch.tensor([4, 9])
        q, k, v = (torch.randn(2, 4, 9, 8, 3) for _ in range(3))
        mask = ours.create_block_mask(lambda b, h, i, j: j < lengths[b], 2, None, 9, 9, "cpu")
        self.check(
            lambda q, k, v: flex_attention(q, k, v, block_mask=mask), (q, k, v), (4, 4, 4), 3
        )

    def test_captures(self):
        q, k, v = qkv((2, 3, 5, 8), dtype=torch.float32)
        tables, factors = torch.randn(3, 4, 5).transpose(0, 2), torch.randn(4)

        def call(q, table, factor):
            return flex_attention(
                q, k, v, lambda s, b, h, i, j: s * factor + table[i, h]
            )

        many = torch.stack([q] * 4)
        self.check(call, (many, tables, factors), (0, 1, 0), 4)
        self.check(call, (many, tables[:, 0], factors), (0, None, 0), 4)
        self.check(lambda q, t: call(q, t, 2.0), (many, tables[:, 0]), (0, None), 1)

    def test_prepared_masks(self):
        """What a mask has prepared is for one of the elements."""
        q, k, v = qkv((2, 3, 9, 8))
        documents = torch.stack([torch.arange(9) // n for n in (2, 3, 5)])
        masks = []

        def call(q, documents):
            mask = ours.create_block_mask(
                lambda b, h, i, j: documents[i] == documents[j], None, None, 9, 9, "cpu"
            )
            masks.append(mask.prepare())
            return flex_attention(q, k, v, block_mask=mask)

        many = torch.stack([q, q + 1, q * 2])
        self.check(call, (many, documents), (0, 0), 3)
        self.assertEqual([len(mask.shared._found) for mask in masks], [1, 1, 1, 0])
        masks.clear()
        grad = torch.func.grad(lambda q, documents: call(q, documents).square().sum())
        self.check(grad, (many, documents), (0, 0), 6)
        self.assertEqual([len(mask.shared._found) for mask in masks], [2, 2, 2, 0])

    def test_shared_keys(self):
        q, k, v = qkv((3, 4, 5, 8), (1, 2, 6))
        many = [torch.stack([x, -x]) for x in (q, k, v)]
        mask = ours.create_block_mask(lambda b, h, i, j: j != i, 3, None, 5, 6, "cpu")

        def call(q, k, v):
            return flex_attention(q, k, v, block_mask=mask, enable_gqa=True)

        self.check(call, (many[0], k, v), (0, None, None), 1)
        self.check(call, many, (0, 0, 0), 2)

    def test_other_names(self):
        x = torch.randn(3, 2, 4, 9, 8)
        self.check(lambda x: ours.sdpa(x, x, x, is_causal=True), (x,), (0,), 1)
        ends = torch.tensor([0, 4, 9])
        x = torch.randn(3, 9, 4, 8)
        self.check(lambda x: ours.varlen(x, x, x, ends, ends), (x,), (0,), 1)
        variant = ours.Variant(lambda s, b, h, i, j, t: s + t[h], kernel_options=FAST)
        x, table = torch.randn(3, 2, 4, 9, 8), torch.randn(3, 4)
        self.check(lambda x, t: variant(x, x, x, t), (x, table), (0, 0), 3)

    def test_nested(self):
        x = torch.randn(3, 2, 2, 4, 9, 8)
        inner = torch.func.vmap(lambda x: flex_attention(x, x, x))
        self.check(inner, (x,), (0,), 1)

    def loss(self, q, k, v, table):
        def score_mod(s, b, h, i, j):
            return s + table[h, i] * table[h, j]

        return flex_attention(q, k, v, score_mod).square().sum()

    def test_gradients(self):
        q, k, v = qkv((2, 3, 5, 8))
        table = torch.randn(3, 5, dtype=torch.float64)
        found = torch.func.grad(self.loss, argnums=(0, 1, 2, 3))(q, k, v, table)
        inputs = [x.clone().requires_grad_() for x in (q, k, v, table)]
        wanted = torch.autograd.grad(self.loss(*inputs), inputs)
        for a, b in zip(found, wanted):
            self.assertTrue(torch.equal(a, b))
        out, pull = torch.func.vjp(lambda q, k: flex_attention(q, k, v), q, k)
        weights = torch.randn(4, *out.shape, dtype=torch.float64)
        self.check(pull, (weights,), (0,), 1)

    def test_gradients_of_each(self):
        q, k, v = qkv((2, 3, 5, 8))
        table = torch.randn(3, 5, dtype=torch.float64)
        many = [torch.stack([x, x * 2, x + 1]) for x in (q, k, v, table)]
        # One forward and one gradient kernel.
        self.check(
            torch.func.grad(self.loss, argnums=(0, 1, 2)),
            *((*many[:3], table), (0, 0, 0, None), 2),
        )
        self.check(
            torch.func.grad(self.loss, argnums=(0, 2)),
            *((many[0], k, v, table), (0, None, None, None), 2),
        )
        for argnums in ((3,), (0, 3)):
            grad = torch.func.grad(self.loss, argnums=argnums)
            self.check(grad, (*many[:3], table), (0, 0, 0, None), 4)
            self.check(grad, many, (0, 0, 0, 0), 6)

    def test_gradient_of_vmap(self):
        q, k, v = qkv((2, 3, 5, 8))
        many = torch.stack([q, -q])

        def loss(q, k):
            one = torch.func.vmap(lambda q: flex_attention(q, k, v))
            return one(q).square().sum()

        found = torch.func.grad(loss, argnums=(0, 1))(many, k)
        inputs = [x.clone().requires_grad_() for x in (many, k)]
        o = torch.stack([flex_attention(x, inputs[1], v) for x in inputs[0]])
        for a, b in zip(found, torch.autograd.grad(o.square().sum(), inputs)):
            torch.testing.assert_close(a, b)

    def test_second_gradients_and_tangents(self):
        q, k, v = qkv((1, 1, 3, 4))
        first = torch.func.grad(lambda q: flex_attention(q, k, v).square().sum())
        with self.assertRaisesRegex(attn.Unsupported, "no second one"):
            torch.func.grad(lambda q: first(q).sum())(q)
        with self.assertRaisesRegex(attn.Unsupported, "no tangents"):
            torch.func.jvp(lambda q: flex_attention(q, k, v), (q,), (q,))
        with self.assertRaisesRegex(attn.Unsupported, "no tangents"):
            torch.func.linearize(lambda q: flex_attention(q, k, v), q)
        bias = torch.zeros(3, dtype=torch.float64)
        with self.assertRaisesRegex(attn.Unsupported, "no tangents"):
            torch.func.linearize(
                lambda x: flex_attention(q, k, v, lambda s, b, h, i, j: s + x[i]), bias
            )
        with self.assertRaisesRegex(attn.Unsupported, "no tangents"):
            torch.func.hessian(lambda q: flex_attention(q, k, v).sum())(q)

    def test_no_elements(self):
        table = torch.randn(3, 5, dtype=torch.float64)
        none = torch.randn(0, 2, 3, 5, 8, dtype=torch.float64)

        def call(q, scale):
            return flex_attention(q, q, q, lambda s, b, h, i, j: s + scale * b)

        o = torch.func.vmap(call)(none, torch.randn(0))
        self.assertEqual(o.shape, none.shape)
        inner = torch.func.vmap(call, in_dims=(1, None))(none[0:0], torch.tensor(2.0))
        self.assertEqual(inner.shape, (2, 0, 3, 5, 8))
        grads = torch.func.vmap(
            torch.func.grad(self.loss, argnums=(0, 3)), in_dims=(0, 0, 0, None)
        )(none, none, none, table)
        self.assertEqual([x.shape for x in grads], [none.shape, (0, 3, 5)])


if __name__ == "__main__":
    unittest.main()
