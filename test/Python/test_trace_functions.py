# RUN: %python %s
"""What a traced function may be, and what of NumPy it may call."""

import abc
import collections
import dataclasses
import functools
import math
import types
import unittest

try:
    import numpy
    import trace_cases as cases
except ImportError:
    numpy = None

import attn
from attn import trace
from trace_case import Case

WINDOW = 7
if numpy is not None:
    TABLE = numpy.arange(100, dtype="f4") / 100


def load_tests(loader, tests, pattern):
    return unittest.TestSuite() if numpy is None else tests


def read_table(index):
    return TABLE[index]


def causal(b, h, q, kv):
    return q >= kv


class Functions(Case):
    """What a function may be, and where its arrays may be."""

    def setUp(self):
        super().setUp()
        self.bias = numpy.random.default_rng(1).standard_normal((4, 96)).astype("f4")
        self.plain = lambda s, b, h, q, kv: s + self.bias[h, kv]

    def test_globals(self):
        self.check(lambda s, b, h, q, kv: s + TABLE[q - kv])
        self.check(lambda s, b, h, q, kv: s + read_table(kv))

    def test_methods_and_objects(self):
        class Mod(abc.ABC):
            def __init__(self, bias):
                self.bias = bias

            def read(self, h, kv):
                return self.bias[h, kv]

            def score(self, s, b, h, q, kv):
                return s + self.read(h, kv)

            def __call__(self, s, b, h, q, kv):
                return s + self.bias[h, kv]

        mod = Mod(self.bias)
        self.check(mod.score, plain=self.plain)
        self.check(mod, plain=self.plain)
        self.check(lambda s, b, h, q, kv: mod(s, b, h, q, kv), plain=self.plain)

    def test_objects_of_other_kinds(self):
        named = collections.namedtuple("Named", "bias n")(self.bias, 3)

        @dataclasses.dataclass
        class Mod:
            bias: object

            def __getitem__(self, key):
                return self.bias[key]

            def __len__(self):
                return 7

        class Derived(Mod):
            __slots__ = ("more",)

            def __getitem__(self, key):
                return super().__getitem__(key) + self.more[key[::-1]]

        mod = Derived(self.bias)
        mod.more = self.bias.T
        self.check(
            lambda s, b, h, q, kv: (
                s
                + named.bias[h, q] * named.n
                + mod[h, kv]
                + isinstance(mod, Mod)
                + len(mod)
            ),
            plain=lambda s, b, h, q, kv: (
                s + self.bias[h, q] * 3 + self.bias[h, kv] * 2 + 8
            ),
        )

    def test_containers(self):
        tables = {"a": [self.bias, (self.bias, 1)]}
        names = types.SimpleNamespace(bias=self.bias)
        self.check(
            lambda s, b, h, q, kv: s + tables["a"][1][0][h, kv] + names.bias[h, q]
        )

    def test_large_containers(self):
        # Looking for arrays has an end.
        numbers = [0.5] * 10**6
        nested = [[[[n] for n in range(20)] for _ in range(20)] for _ in range(50)]
        self.check(lambda s, b, h, q, kv: s * numbers[-1] + nested[3][4][5][0])

    def test_partials_and_defaults(self):
        def score(table, s, b, h, q, kv, *, other, more=self.bias):
            return s + table[h, kv] * other[h, q] + more[h, q]

        self.check(functools.partial(score, self.bias, other=self.bias))

    def test_helpers(self):
        bias = self.bias

        def power(x, n):
            return bias[0, 0] if n == 0 else x * power(x, n - 1)

        def even(x, n):
            return x if n == 0 else odd(x, n - 1)

        def odd(x, n):
            return x + bias[1, 1] if n == 0 else even(x, n - 1)

        self.check(lambda s, b, h, q, kv: power(s, 3) + odd(s, 2))

    def test_functions_made_inside(self):
        bias = self.bias
        self.check(
            lambda s, b, h, q, kv: s + sum([bias[h, x] for x in (q, kv)], start=0)
        )

    def test_combinations(self):
        near = lambda b, h, q, kv: q - kv < WINDOW
        first = lambda b, h, q, kv: kv < 3
        self.check(mask=trace.and_masks(causal, trace.or_masks(near, first)))
        program = trace.trace(mask_mod=trace.and_masks())
        self.assertIsNone(program.mask)

    def test_helpers_of_the_trace(self):
        self.check(
            lambda s, b, h, q, kv: trace.where(
                q > kv, trace.tanh(s), trace.minimum(q, 3)
            ),
            plain=lambda s, b, h, q, kv: numpy.where(
                q > kv, numpy.tanh(s), numpy.minimum(q, 3)
            ),
        )
        with self.assertRaisesRegex(attn.TraceError, "'tanh' got none: call it with"):
            trace.tanh(1.0)
        self.assertEqual(float(trace.capture(TABLE)[3]), TABLE[3])

    def test_unchanged(self):
        # The function sees other objects, and the user's stay as they are.
        def score(s, b, h, q, kv):
            return s + bias[h, q]

        bias = self.bias
        trace.trace(score)
        self.assertIs(score.__closure__[0].cell_contents, bias)

    def test_static_reads(self):
        # What is not traced is done by NumPy, once.
        bias = self.bias
        self.check(
            lambda s, b, h, q, kv: (
                s
                + bias.T[kv, h] * bias[1, 2] * bias.mean()
                + numpy.exp(bias)[h, q]
                + (bias * 2)[h, q]
                + len(bias) * bias.shape[0]
                + (bias[1] - bias[2])[q]
                + bias.astype("f8")[h, kv]
            )
        )

    def test_constants(self):
        self.check(lambda s, b, h, q, kv: s * 0 + 1, plain=lambda s, *_: s * 0 + 1)
        self.check(lambda s, b, h, q, kv: 2.5, plain=lambda s, *_: s * 0 + 2.5)
        self.check(lambda s, b, h, q, kv: q)
        self.assertIsNone(trace.trace(lambda s, b, h, q, kv: s).score)
        self.assertIsNone(trace.trace(None, lambda b, h, q, kv: True).mask)
        o = attn.attention(self.q, self.k, self.v, None, lambda b, h, q, kv: False)
        self.assertEqual(abs(o).max(), 0)


class NumPyFunctions(Case):
    """Functions that only NumPy has."""

    def test_ufuncs(self):
        self.check(
            lambda s, b, h, q, kv: (
                numpy.add(s, 1)
                + numpy.square(s)
                + numpy.hypot(s, 2)
                + numpy.arctan2(s, 2.0)
                + numpy.cbrt(s)
                + numpy.logaddexp(s, 0.5)
                + numpy.fmax(s, numpy.float32(0.25))
                + numpy.reciprocal(s * s + 1)
                + numpy.copysign(1.5, s)
                + numpy.deg2rad(s)
                + numpy.float64(0.5) * s
                + numpy.heaviside(s, 0.5)
                + numpy.rint(s)
                + numpy.divmod(q, 5)[1]
                + divmod(kv, 3)[0]
                + numpy.fmod(q - kv, 7)
                + numpy.nan_to_num(numpy.where(q > kv, numpy.nan, s))
                + +s
            )
        )

    def test_quotients_of_infinity(self):
        x = numpy.array([0.5, -0.5, 0.5, -0.5, 7.0, 0.0], "f4")
        y = numpy.array([-1, 1, 1, -1, -2, -1], "f4") * numpy.inf
        y[4] = -2.0
        self.check(lambda s, b, h, q, kv: s + x[q % 6] // y[q % 6])
        self.check(lambda s, b, h, q, kv: s + numpy.isinf(x[q % 6] % y[q % 6]))

    def test_edges(self):
        # Made finite, as scores are.
        x = numpy.array([-0.0, 0.0, 4.0, numpy.nan, -1.0], "f4")
        with numpy.errstate(all="ignore"):
            self.check(lambda s, b, h, q, kv: s + numpy.arctan(abs(x)[kv % 3] ** -0.5))
            self.check(lambda s, b, h, q, kv: s + numpy.arctan(x[kv % 3] ** -0.5))
        self.check(
            lambda s, b, h, q, kv: (
                s
                + numpy.isnan(numpy.heaviside(x[kv % 5], 0.5))
                + numpy.nan_to_num(numpy.heaviside(x[kv % 5], 0.25))
            )
        )

    def test_select(self):
        self.check(
            lambda s, b, h, q, kv: (
                numpy.select([kv > q, kv < 9, q < 30], [s, 2, h], 3.0)
                + numpy.select([kv > 50], [s])
            )
        )

    def test_casts(self):
        x = numpy.linspace(-3, 3, 96).astype("f4")
        for name in "int8 int16 int32 int64 float16 float32 float64 bool_".split():
            kind = getattr(numpy, name)
            dtype = numpy.dtype(kind)
            for dtype in kind, dtype, dtype.name, dtype.str, dtype.char:
                self.check(lambda s, b, h, q, kv: s * 0 + x[kv].astype(dtype))
        # A class is no tensor whose type is meant.
        trace.trace(lambda s, b, h, q, kv: s + numpy.ones_like(s, numpy.float32))

    def test_extremes(self):
        rows = numpy.random.default_rng(2).standard_normal((96, 2, 3)).astype("f4")
        score = lambda s, b, h, q, kv: (
            s
            + rows[q].max(-1)[1]
            - rows[kv].min(0)[2]
            + numpy.max(rows[kv, 1], -1)
            + numpy.amin(rows[kv, 0], 0)
            + rows[kv].max((0, 1))
        )
        plain = lambda s, b, h, q, kv: (
            s
            + rows.max(-1)[q, 1]
            - rows.min(1)[kv, 2]
            + rows.max(-1)[kv, 1]
            + rows.min(-1)[kv, 0]
            + rows.max((1, 2))[kv]
        )
        self.check(score, plain=plain)

    def test_reductions(self):
        masks = lambda b, h, q, kv: [q >= kv, q - kv < 9, (q + kv) % 2 == 0]
        self.check(
            mask=lambda b, h, q, kv: numpy.logical_and.reduce(
                numpy.stack(masks(b, h, q, kv))
            )
        )
        self.check(mask=lambda b, h, q, kv: numpy.stack(masks(b, h, q, kv)).any(0))

    def test_powers_of_variables(self):
        n, x = 2, 0.5
        self.check(
            lambda s, b, h, q, kv: s**n + (kv % 7) ** n * 0.01 + n ** (h % 3) + x**h
        )

    def test_math(self):
        self.check(
            lambda s, b, h, q, kv: (
                s * 0.5 + math.floor(s) - math.ceil(s) + math.trunc(s) + round(s)
            ),
            plain=lambda s, b, h, q, kv: (
                s * 0.5
                + numpy.floor(s)
                - numpy.ceil(s)
                + numpy.trunc(s)
                + numpy.rint(s)
            ),
        )

    def test_members(self):
        table = numpy.array([1, 5, 9])
        o = attn.attention(
            self.q, self.k, self.v, None, lambda b, h, q, kv: trace.isin(q - kv, table)
        )
        expected, _ = cases.reference(
            numpy,
            self.q,
            self.k,
            self.v,
            None,
            lambda b, h, q, kv: numpy.isin(q - kv, table),
        )
        numpy.testing.assert_allclose(o, expected, rtol=1e-4, atol=2e-5)

    def test_types(self):
        seen = []

        def score(s, b, h, q, kv):
            seen.append((s.dtype, q.dtype, (q > kv).dtype, s.shape, s.ndim, s.size()))
            return s + numpy.finfo(s.dtype).tiny

        program = trace.trace(score, namespace="numpy")
        self.assertEqual(
            seen[0], (numpy.dtype("f4"), numpy.dtype("i4"), numpy.dtype("?"), (), 0, ())
        )
        self.assertEqual(len(program.scalars), 1)


if __name__ == "__main__":
    unittest.main()
