# RUN: %python %s
"""attn.torch in graphs in graphs, in exported programs, and under modes of PyTorch
that see operators: each against the same call without."""

import unittest

try:
    import torch
except ImportError:
    torch = None

if torch is not None:
    from torch.export import Dim, export
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.utils.flop_counter import FlopCounterMode

    import attn
    import attn.torch as ours
    from attn.torch import Variant
    from flex import FAST, flex_attention, qkv


@unittest.skipIf(torch is None, "needs PyTorch")
class Graphs(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.reset()
        self.q, self.k, self.v = (x.float() for x in qkv((2, 4, 12, 8)))

    def expect_same(self, got, expected):
        torch.testing.assert_close(got, expected)

    # A counter that is made first, before anything of ours was in a graph.
    def test_0_first_counter(self):
        counts = []
        for _ in range(2):
            with FlopCounterMode(display=False) as counter:
                flex_attention(self.q, self.k, self.v)
            counts.append(counter.get_total_flops())
        self.assertEqual(counts, [2 * 8 * 144 * 16] * 2)

    def test_variant(self):
        table = torch.rand(4)
        variant = Variant(lambda s, b, h, i, j, t: s + t[h], kernel_options=FAST)
        graph = make_fx(lambda q: variant(q, self.k, self.v, table))(self.q)
        self.expect_same(
            graph(2 * self.q), variant(2 * self.q, self.k, self.v, table)
        )

        class Model(torch.nn.Module):
            def forward(self, q, t):
                return variant(q, q, q, t)

        program = export(Model(), (self.q, table)).module()
        self.expect_same(
            program(2 * self.q, -table), variant(*(2 * self.q,) * 3, -table)
        )
        with FlopCounterMode(display=False) as counter:
            variant(self.q, self.k, self.v, table)
        self.assertEqual(counter.get_total_flops(), 2 * 8 * 144 * 16)

    def test_functions_under_modes(self):
        def loss(q):
            return flex_attention(q, self.k, self.v, lambda s, b, h, i, j: s * h).sum()

        gradient = torch.func.grad(loss)
        expected = gradient(self.q)
        with FlopCounterMode(display=False) as counter:
            self.expect_same(gradient(self.q), expected)
        # The forward pass, and scores, what comes for probabilities, and dq.
        self.assertEqual(counter.get_total_flops(), 5 * 2 * 8 * 144 * 8)
        graph = make_fx(gradient)(self.q)
        self.expect_same(graph(3 * self.q), gradient(3 * self.q))
        mapped = torch.func.vmap(lambda q: flex_attention(q, self.k, self.v))
        many = torch.stack([self.q, 2 * self.q])
        graph = make_fx(mapped)(many)
        self.expect_same(graph(-many), mapped(-many))

    def test_symbols_in_exported_functions(self):
        class Model(torch.nn.Module):
            def forward(self, q):
                n = q.shape[2]
                part = 1.0 / n
                mask = ours.create_block_mask(
                    lambda b, h, i, j: i - j < n // 2, None, None, n, n, q.device
                )
                return flex_attention(
                    q, q, q, lambda s, b, h, i, j: s + (j - i) / n + i * part, mask
                )

        model, longer = Model(), torch.randn(2, 4, 20, 8)
        for strict in False, True:
            program = export(
                model, (self.q,), dynamic_shapes=({2: Dim.DYNAMIC},), strict=strict
            )
            self.expect_same(program.module()(longer), model(longer))

    def test_parameters_in_exported_functions(self):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.table = torch.nn.Parameter(torch.rand(4))

            def forward(self, q):
                return flex_attention(q, q, q, lambda s, b, h, i, j: s + self.table[h])

        model = Model()
        got = export(model, (self.q,), strict=True).module()(self.q)
        self.assertTrue(got.requires_grad)
        self.expect_same(got, model(self.q))

    def test_constant_indices_in_exported_functions(self):
        class Read(torch.nn.Module):
            def forward(self, q, table):
                return flex_attention(
                    q, q, q, lambda s, b, h, i, j: s + table[1, i, 0, j] - table[0, 2, 1, j]
                )

        class Masked(torch.nn.Module):
            def forward(self, q, mask):
                return ours.sdpa(q, q, q, attn_mask=mask)

        mask = torch.rand(12, 12) > 0.3
        for model, table in (Read(), torch.rand(2, 12, 2, 12)), (Masked(), mask):
            program = export(model, (self.q, table), strict=True)
            program = program.run_decompositions()
            self.expect_same(program.module()(self.q, table), model(self.q, table))

    def test_graphs_in_graphs(self):
        from torch._higher_order_ops import while_loop

        def either(p, q):
            return torch.cond(
                p,
                lambda q: flex_attention(q, self.k, self.v),
                lambda q: q * 1.0,
                (q,),
            )

        def twice(q):
            return while_loop(
                lambda n, x: n < 2,
                lambda n, x: (n + 1, flex_attention(x, self.k, self.v)),
                (torch.tensor(0), q),
            )[1]

        once = flex_attention(self.q, self.k, self.v)
        yes = torch.tensor(True)
        self.expect_same(torch.compile(either)(yes, self.q), once)
        self.expect_same(
            torch.compile(twice)(self.q), flex_attention(once, self.k, self.v)
        )
        q = self.q.clone().requires_grad_()
        torch.compile(either)(yes, q).sum().backward()
        expected = torch.func.grad(
            lambda q: flex_attention(q, self.k, self.v).sum()
        )(self.q)
        self.expect_same(q.grad, expected)

    def test_compiled_autograd(self):
        q = self.q.clone().requires_grad_()
        with torch._dynamo.config.patch(compiled_autograd=True):
            out = flex_attention(q, self.k, self.v)
            torch.compile(lambda x: x.backward(), backend="aot_eager")(out.sum())
        expected = torch.func.grad(
            lambda q: flex_attention(q, self.k, self.v).sum()
        )(self.q)
        self.expect_same(q.grad, expected)

    def test_autocast_of_several_types(self):
        with torch.autocast("cpu"):
            got = flex_attention(self.q, self.k, self.v.bfloat16())
        cast = [x.bfloat16() for x in (self.q, self.k, self.v)]
        self.expect_same(got, flex_attention(*cast))
        with self.assertRaisesRegex(attn.InvalidArgument, "to be a tensor"):
            with torch.autocast("cpu"):
                flex_attention(self.q, self.k, [1.0])

    def test_vmap_of_dropout(self):
        """The gradient drops what the result has dropped, and elements alike."""
        many, bias = torch.randn(3, 2, 4, 12, 8), torch.randn(12, 12)

        def loss(v, bias):
            out = ours.sdpa(self.q, self.k, v, attn_mask=bias, dropout_p=0.4)
            return (out * self.q).sum()

        function = torch.func.grad_and_value(loss, (0, 1))
        (gradient, _), value = torch.func.vmap(
            function, (0, None), randomness="same"
        )(many, bias)
        # It is linear in v.
        torch.testing.assert_close(
            (gradient * many).flatten(1).sum(1), value, rtol=1e-4, atol=1e-4
        )
        alike = torch.func.vmap(loss, (0, None), randomness="same")(
            many[:1].expand(3, -1, -1, -1, -1), bias
        )
        self.expect_same(alike, alike[:1].expand(3))

    def test_tangents_of_numbers(self):
        number = torch.tensor(1.5)

        def call(x):
            return flex_attention(self.q, self.k, self.v, lambda s, b, h, i, j: s * x)

        with self.assertRaisesRegex(attn.Unsupported, "no tangents"):
            torch.func.jvp(call, (number,), (number,))
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(number, number)
            with self.assertRaisesRegex(attn.Unsupported, "no tangents"):
                call(dual)
        self.expect_same(torch.func.vmap(call)(number[None])[0], call(number))

    def test_batches_of_gradients(self):
        with self.assertRaisesRegex(attn.Unsupported, "one gradient at a time"):
            torch.autograd.functional.jacobian(
                lambda q: flex_attention(q, self.k, self.v).sum((2, 3)),
                self.q,
                vectorize=True,
            )

    def test_use_in_a_graph(self):
        def call(q):
            with ours.use():
                return torch.nn.functional.scaled_dot_product_attention(q, q, q)

        got = torch.compile(call, backend="eager")(self.q)
        self.expect_same(got, ours.sdpa(self.q, self.q, self.q))


if __name__ == "__main__":
    unittest.main()
