# RUN: %python %s
"""Functions that only PyTorch has, and tensors of it, in traced functions."""

import unittest

try:
    import numpy
    import torch
    import torch.nn.functional as F

    import trace_cases as cases
except ImportError:
    torch = None

import attn
from attn import trace


def load_tests(loader, tests, pattern):
    return unittest.TestSuite() if torch is None else tests


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.inputs = [torch.asarray(x) for x in cases.inputs()]
        self.bias = torch.randn(4, 96)

    def check(self, score=None, mask=None, plain=None):
        with torch.no_grad():
            got = attn.attention(*self.inputs, score, mask, opt_level=0)
            expected, _ = cases.reference(torch, *self.inputs, plain or score, mask)
        self.assertIsInstance(got, torch.Tensor)
        numpy.testing.assert_allclose(got, expected, rtol=1e-4, atol=2e-5)


class Functions(Case):
    def test_activations(self):
        self.check(
            lambda s, b, h, q, kv: (
                F.silu(s) + F.gelu(s) + F.gelu(s, approximate="tanh") + F.relu(s)
                + F.leaky_relu(s, 0.2) + F.elu(s) + F.softplus(s) + F.hardtanh(s)
                + F.relu6(s) + F.logsigmoid(s) + F.hardsigmoid(s) + F.hardswish(s)
                + F.mish(s) + F.softsign(s) + F.threshold(s, 0.1, 20.0)
                + F.selu(s) + F.celu(s, 0.7) + torch.sinc(s)
            )
        )  # fmt: skip

    def test_numbers(self):
        self.check(
            lambda s, b, h, q, kv: (
                torch.sigmoid(s) + s.tanh() + torch.erf(s) + torch.erfc(s)
                + torch.rsqrt(s * s + 1) + torch.square(s) + torch.frac(s)
                + torch.add(s, s, alpha=2) - torch.sub(s, 1, alpha=3)
                + torch.rsub(s, 1) + torch.lerp(s, s * 2, 0.3)
                + torch.addcmul(s, s, s, value=0.1) + torch.pow(s, 2) + s.square()
                + 2.0**s + torch.remainder(q - kv, 7) + torch.fmod(q - kv, 7)
                + torch.div(q - kv, 5, rounding_mode="trunc")
                + torch.div(q - kv, 5, rounding_mode="floor")
                + torch.floor_divide(q - kv, 5) + (q - kv).sign() + s.exp2()
                + torch.nan_to_num(s / (q - kv), 0.0, 1.0, -1.0) + torch.round(s)
            )
        )  # fmt: skip

    def test_floors(self):
        # 0.7 / 0.1 is rounded up to 7, of which the floor is not 6.
        with torch.no_grad():
            q, k, v = self.inputs
            x = torch.tensor([0.7, -0.7, 0.3, 5.5, 0.0, -7.0, -1.0, 6.0])
            y = torch.tensor([0.1, 0.1, 0.1, -0.5, 3.0, 0.7, 4.0, 2.0])
            score = lambda s, b, h, q, kv: x[q % 8] // y[kv % 8] + s * 0
            _, lse = attn.attention(
                q, k, v, score, lambda b, h, q, kv: kv == q, return_lse=True
            )
            expected = (x // y)[torch.arange(96) % 8].expand(2, 4, 96)
            self.assertTrue(torch.equal(lse, expected))

    def test_edges(self):
        # Made finite, as scores are. NumPy has others.
        x = torch.tensor([-0.0, 0.0, 4.0, float("nan")])
        half = torch.tensor(0.5)
        self.check(lambda s, b, h, q, kv: s + torch.atan(x[kv % 3] ** -0.5))
        self.check(lambda s, b, h, q, kv: s + torch.heaviside(x[kv % 4], half))

    def test_choices(self):
        self.check(
            lambda s, b, h, q, kv: (
                s.masked_fill(q < kv, -2.0).clamp(-1, 1)
                + torch.clamp(s, min=0.0)
                + s.clamp_max(0.5)
                + torch.where(q.gt(kv), s, torch.finfo(s.dtype).tiny)
                + s.maximum(s * 2)
                + torch.max(s, s * 3)
                + torch.logical_not(q == kv)
                + torch.ones_like(s) * torch.zeros_like(s)
            )
        )
        # A method takes the condition second.
        self.check(
            lambda s, b, h, q, kv: (
                s.where(q >= kv, -1.0) + self.bias[h, q].where(h > 1, other=s)
                + self.bias.exp()[h, kv].where(condition=q > kv, other=s * 2)
            ),
            lambda b, h, q, kv: (q >= kv).where(kv > 3, q < 5),
        )  # fmt: skip
        # 0-d tensors are numbers.
        self.check(
            lambda s, b, h, q, kv: torch.where(
                q >= kv, s, torch.tensor(-float("inf"), dtype=s.dtype, device=s.device)
            )
        )

    def test_types(self):
        self.check(
            lambda s, b, h, q, kv: (
                s + q.float() / 7 + (s * 3).int() + (s * 3).to(torch.int64)
                + (q > kv).to(s.dtype) + (q - kv).type_as(s) * 0.1 + kv.bool().long()
                + q.to(dtype=torch.float64) * 0.5 + h.to("cpu") + (q + 100).to(torch.int8)
            )
        )  # fmt: skip
        half = trace.trace(lambda s, b, h, q, kv: s.half() + s.bfloat16())
        text = half.to_mlir(trace.Variant(dim=8))
        self.assertIn("arith.truncf %s : f32 to f16", text)
        self.assertIn("arith.truncf %s : f32 to bf16", text)

    def test_masks_of_transformers(self):
        padding = torch.rand(2, 96) < 0.8
        packed = torch.arange(96).div(30, rounding_mode="floor").repeat(2, 1)
        left = torch.tensor([3, 9])
        offset = torch.tensor(5)
        every = lambda b, h, q, kv: q.new_ones((), dtype=torch.bool)
        causal = lambda b, h, q, kv: kv <= q
        chunk = lambda b, h, q, kv: (kv - left[b]) // 16 == (q - left[b]) // 16
        shifted = lambda b, h, q, kv: causal(b, h, q + offset, kv + 2)
        for mask in (
            trace.and_masks(every, causal, lambda b, h, q, kv: padding[b, kv]),
            trace.and_masks(causal, chunk),
            trace.and_masks(shifted, lambda b, h, q, kv: packed[b, q] == packed[b, kv]),
        ):
            self.check(mask=mask)
        self.assertIsNone(trace.trace(None, every).mask)
        scores = torch.randn(2, 1, 96, 96)
        self.check(
            lambda s, b, h, q, kv: s + scores[b][0][q][kv],
            plain=lambda s, b, h, q, kv: s + scores[b, 0, q, kv],
        )

    def test_rows(self):
        rows, columns = torch.randn(2, 4, 96, 4), torch.randn(2, 1, 96, 4)
        product = lambda s, b, h, q, kv: s + (rows[b, h, q] * columns[b, 0, kv]).sum(-1)
        self.check(
            lambda s, b, h, q, kv: s + torch.dot(rows[b, h, q], columns[b, h // 8, kv]),
            plain=product,
        )
        self.check(
            lambda s, b, h, q, kv: s + rows[b, h, q] @ columns[b, 0, kv], plain=product
        )
        self.check(
            lambda s, b, h, q, kv: (
                s + torch.einsum("d,d->", rows[b, h, q], columns[b, 0, kv])
            ),
            plain=product,
        )
        self.check(
            lambda s, b, h, q, kv: (
                s + rows[b, h, q].max(dim=-1)[0] + torch.min(rows[b, h, kv], -1)[0]
            )
        )
        # Rows of NumPy have its methods, which know of no indices.
        tables = rows.numpy()
        self.check(
            lambda s, b, h, q, kv: (
                s + tables[b, h, q].max(-1) * rows[b, h, kv].max(-1)[0]
            ),
            plain=lambda s, b, h, q, kv: (
                s + rows.amax(-1)[b, h, q] * rows.amax(-1)[b, h, kv]
            ),
        )
        spans = torch.tensor([[0, 30], [25, 60], [70, 90]])
        self.check(
            mask=lambda b, h, q, kv: (
                (spans[:, 0] <= q.unsqueeze(-1)) & (q.unsqueeze(-1) < spans[:, 1])
            ).any(dim=-1)
        )
        self.check(mask=lambda b, h, q, kv: torch.isin(q - kv, spans[:, 0]))

    def test_own_operators(self):
        # As a library registers them, by the name of what they compute.
        with torch.library._scoped_library("attn_test_ops", "DEF") as library:
            library.define("tanh(Tensor x) -> Tensor")
            library.impl("tanh", torch.tanh, "CPU")
            tanh = torch.ops.attn_test_ops.tanh
            self.check(lambda s, b, h, q, kv: tanh(s))


    def test_names_of_arguments(self):
        self.check(
            lambda s, b, h, q, kv: (
                torch.mul(input=s, other=2) + s.pow(exponent=2)
                + torch.clamp(input=s, max=1) + torch.sub(input=s, other=kv, alpha=2)
                + torch.where(q > kv, input=s, other=0.5) + torch.maximum(s, other=q)
                + torch.lerp(s, end=s * 3, weight=0.25)
                + torch.addcmul(s, tensor1=s, tensor2=s, value=0.3)
            )
        )  # fmt: skip


class Tensors(Case):
    def test_parameters(self):
        table = torch.nn.Parameter(torch.randn(4, 8, 96))
        scale = torch.nn.Parameter(torch.tensor(0.3))

        def score(s, b, h, q, kv):
            return s * scale + table[h, 2][kv] + table[h, 2:][1, q] + scale

        program = trace.trace(score)
        # One for each view, and those of parameters keep their gradient.
        self.assertEqual([t.type for t in program.captures],
                         ["tensor<f32>", "tensor<?x?xf32>", "tensor<?x?xf32>"])  # fmt: skip
        self.assertTrue(all(t.requires_grad for t in program.arguments()))
        self.assertIs(program.captures[0].tensor, scale)
        self.check(
            score,
            plain=lambda s, b, h, q, kv: (
                s * scale + table[h, 2, kv] + table[h, 3, q] + scale
            ),
        )

    def test_modules(self):
        class Bias(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.table = torch.nn.Parameter(torch.randn(4, 200))

            def forward(self, s, b, h, q, kv):
                return s + self.table[h, q - kv + 96]

            def score(self, s, b, h, q, kv):
                return self(s, b, h, q, kv) * 0.5

        bias = Bias()
        self.check(bias)
        self.check(bias.score)

    def test_views(self):
        bias = self.bias
        wide = torch.randn(4).unsqueeze(1).expand(4, 96)
        self.check(
            lambda s, b, h, q, kv: (
                s + bias.T[kv, h] + bias[:, 1:].flip(0)[h, q - q] + wide[h, q]
                + bias[h, 3:][..., q - q] + bias.detach()[h, kv] + bias.double()[h, q]
                + bias.mean() + bias[1, 2] + torch.log(bias.abs() + 1)[h, kv]
            ),
            plain=lambda s, b, h, q, kv: (
                s + bias.T[kv, h] + bias[:, 1:].flip(0)[h, q - q] + wide[h, q]
                + bias[h, 3 + q - q] + bias[h, kv] + bias[h, q]
                + bias.mean() + bias[1, 2] + torch.log(bias.abs() + 1)[h, kv]
            ),
        )  # fmt: skip

    def test_types(self):
        for name in "float64 float16 bfloat16 int64 int32 int16 int8 bool".split():
            table = (torch.randn(4, 96) * 2).to(getattr(torch, name))
            self.check(lambda s, b, h, q, kv: s + table[h, kv] * 0.5)

    def test_bytes_without_a_sign(self):
        ids = torch.randint(0, 256, (96,), dtype=torch.uint8)
        pairs = torch.randint(0, 256, (96, 4), dtype=torch.uint8)

        def plain(s, b, h, q, kv):
            s = s + ids.long()[q] * 0.01 + pairs.long()[kv, h] / 255.0
            return s + (ids[q] > ids[kv]) + self.bias[h, ids.long()[q] // 3]

        for table, of_heads in ((ids, pairs.T), (ids.numpy(), pairs.numpy().T)):
            self.check(
                lambda s, b, h, q, kv: (
                    s + table[q] * 0.01 + of_heads[h, kv] / 255.0
                    + (table[q] > table[kv]) + self.bias[h, table[q] // 3]
                ),
                plain=plain,
            )  # fmt: skip
        self.check(mask=lambda b, h, q, kv: (ids[q] < 128) | (pairs.T[h, kv] >= 128))

    def test_both_libraries(self):
        table = numpy.arange(96, dtype="f4")
        self.check(
            lambda s, b, h, q, kv: s + table[q] * 0.1 + self.bias[h, kv],
            plain=lambda s, b, h, q, kv: s + q * 0.1 + self.bias[h, kv],
        )


class Errors(Case):
    def check(self, text, score):
        with self.assertRaisesRegex(attn.TraceError, text) as caught:
            trace.trace(score)
        self.assertEqual(caught.exception.filename, __file__)

    def test_writes(self):
        bias = self.bias

        def score(s, b, h, q, kv):
            bias[0] = 1
            return s

        self.check("may not write to tensors, as '__setitem__' does", score)

        def score(s, b, h, q, kv):
            bias[h] = 1
            return s

        self.check("may not write to tensors, as '__setitem__' does", score)
        self.check("as 'zero_' does", lambda s, b, h, q, kv: s + bias.zero_()[h, q])
        self.check("as 'mul_' does", lambda s, b, h, q, kv: s.mul_(2))

    def test_random(self):
        text = "torch.rand has no lowering: a program has no random numbers"
        self.check(text, lambda s, b, h, q, kv: s + torch.rand(()))
        self.check("rand_like", lambda s, b, h, q, kv: s + torch.rand_like(s))
        self.check("dropout", lambda s, b, h, q, kv: F.dropout(s, 0.1))

    def test_subclasses(self):
        class Wrapped(torch.Tensor):
            @staticmethod
            def __new__(cls, inner):
                return torch.Tensor._make_wrapper_subclass(cls, inner.shape)

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                raise NotImplementedError

            def __tensor_flatten__(self):
                raise NotImplementedError

        wrapped = Wrapped(self.bias)
        self.check(
            "cannot read Wrapped: it is made of other tensors",
            lambda s, b, h, q, kv: s + wrapped[h, q],
        )
        parameter = torch.nn.Parameter(self.bias)
        trace.trace(lambda s, b, h, q, kv: s + parameter[h, q])

    def test_places_of_extremes(self):
        values = lambda row: row.max(-1)[0] + torch.min(row, dim=0).values
        trace.trace(lambda s, b, h, q, kv: s + values(self.bias[h]))
        for use in (
            lambda s, b, h, q, kv: s + self.bias[h].max(dim=-1)[1],
            lambda s, b, h, q, kv: torch.max(self.bias[h], 0).indices * s,
            lambda s, b, h, q, kv: s + self.bias[h, self.bias[h].min(dim=0)[1]],
        ):
            self.check("the values of max or min along a dimension", use)

    def test_equations(self):
        self.check(
            "einsum of one or two rows to a number",
            lambda s, b, h, q, kv: s
            + torch.einsum("d,d->d", self.bias[h], self.bias[0]),
        )

    def test_unknown(self):
        self.check(
            "torch.digamma has no lowering", lambda s, b, h, q, kv: torch.digamma(s)
        )
        self.check(
            "sigmoidd has no lowering; there are sigmoid", lambda s, *_: s.sigmoidd()
        )

    def test_branches(self):
        self.check("a branch depends", lambda s, b, h, q, kv: s if q > kv else s * 2)
        self.check("is no number of Python", lambda s, b, h, q, kv: s * h.item())
        self.check(
            "expects an index to be an integer",
            lambda s, b, h, q, kv: s + self.bias[q > kv, 0],
        )
        self.check("index out of range", lambda s, b, h, q, kv: s + self.bias[q, 99])
        text = "a slice needs bounds that are the same for all pairs"
        self.check(text, lambda s, b, h, q, kv: s + self.bias[0, q:kv].sum())
        self.check(text, lambda s, b, h, q, kv: s + self.bias[0][q:].sum())
        self.check(text, lambda s, b, h, q, kv: s + self.bias[h, :q].sum())


if __name__ == "__main__":
    unittest.main()
