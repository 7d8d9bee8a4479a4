# RUN: %python %s
"""Programs of traced functions: what they capture, their keys, and their text."""

import os
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

try:
    import numpy
    import trace_cases as cases
except ImportError:
    numpy = None

import attn
import support
from attn import _attention, trace
from attn.trace import _functions
from trace_case import Case


def load_tests(loader, tests, pattern):
    if numpy is None:
        return loader.loadTestsFromTestCase(WithoutNumPy)
    return tests


def causal(b, h, q, kv):
    return q >= kv


class Keys(Case):
    def key(self, score=None, mask=None):
        return trace.trace(score, mask, namespace="numpy").key()

    def make(self, window, cap, causal, table):
        def score(s, b, h, q, kv):
            return cap * numpy.tanh(s / cap) + table[q % window] * (2 if causal else 3)

        return score, lambda b, h, q, kv: (q - kv < window) & causal

    def test_values(self):
        table = numpy.zeros(9, "f4")
        key = self.key(*self.make(4, 20.0, True, table))
        self.assertEqual(hash(key), hash(self.key(*self.make(4, 20.0, True, table))))
        for other in (
            self.make(5, 20.0, True, table),
            # Equal to another number of the function.
            self.make(2, 2.0, True, table),
            self.make(4, 1e9, True, table + 1),
            self.make(4, 20.0, True, numpy.zeros(70, "f4")),
        ):
            self.assertEqual(key, self.key(*other))
        for other in (
            # Python went another way, or the types are others.
            self.make(4, 20.0, False, table),
            self.make(4, 20, True, table),
            self.make(4, 20.0, True, table.astype("f8")),
            self.make(4, 20.0, True, numpy.zeros(18, "f4")[::2]),
            # Something is divided by it.
            self.make(-4, 20.0, True, table),
        ):
            self.assertNotEqual(key, self.key(*other))

    def test_literals(self):
        key = self.key(lambda s, b, h, q, kv: s * 2.0)
        self.assertEqual(key, self.key(lambda x, b, h, i, j: x * 2.0))
        self.assertNotEqual(key, self.key(lambda s, b, h, q, kv: s * 3.0))
        self.assertNotEqual(key, self.key(lambda s, b, h, q, kv: s * 2))
        self.assertNotEqual(
            self.key(lambda s, b, h, q, kv: s + 0.0),
            self.key(lambda s, b, h, q, kv: s + -0.0),
        )

    def test_variables(self):
        # Each of them is one scalar, wherever it is read.
        left, right = 8, 8

        def mask(b, h, q, kv):
            return (q // left == kv // left) & (q % right < 4) & (left - q < kv)

        program = trace.trace(None, mask)
        self.assertEqual([slot.kind for slot in program.scalars], ["P", "P"])
        self.check(mask=mask)
        # In comparisons, too, of which Python swaps the operands.
        program = trace.trace(
            None,
            lambda b, h, q, kv: ((left < q) & (right < q) & (q > left) & (right >= kv)),
        )
        self.assertEqual(len(program.scalars), 2)

    def test_compilations(self):
        # Numbers and tables that change take effect, and compile nothing.
        window, table = 3, numpy.ones(4, "f4")

        def score(s, b, h, q, kv):
            return s * table[h % len(table)]

        def mask(b, h, q, kv):
            return q - kv < window

        with mock.patch.object(_attention, "compile", wraps=attn.compile) as compile:
            for window in (3, 9, 2, 1, -50):
                table = numpy.full(window % 4 + 1, window / 9, "f4")
                for length in 96, 60, 33:
                    self.q, self.k, self.v = (x[:, :, :length] for x in cases.inputs())
                    self.check(score, mask)
        self.assertEqual(compile.call_count, 1)
        attn.clear_cache()
        with mock.patch.object(_attention, "compile", wraps=attn.compile) as compile:
            self.check(score, mask)
        self.assertEqual(compile.call_count, 1)

    def test_threads(self):
        results, errors = [None] * 8, []

        def run(n):
            try:
                results[n] = attn.attention(
                    self.q, self.k, self.v, lambda s, b, h, q, kv: s * n * 0.125
                )
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        for n, got in enumerate(results):
            scaled = lambda s, b, h, q, kv: s * n * 0.125
            expected, _ = cases.reference(numpy, self.q, self.k, self.v, scaled)
            numpy.testing.assert_allclose(got, expected, rtol=1e-4, atol=2e-5)


class Captures(Case):
    def test_order(self):
        a, b_, c = numpy.zeros((3, 4), "f4"), numpy.zeros(5, "i8"), numpy.zeros(6, "?")
        x, y = 3, 0.5

        def score(s, b, h, q, kv):
            return s * y + a[q, kv] + b_[q] + a[kv, q] + x

        program = trace.trace(score, lambda b, h, q, kv: c[q] & (b_[kv] < x))
        self.assertEqual(
            [t.tensor is u for t, u in zip(program.captures, (a, b_, c))], [True] * 3
        )
        self.assertEqual([t.type for t in program.captures],
                         ["tensor<?x?xf32>", "tensor<?xi64>", "tensor<?xi1>"])  # fmt: skip
        self.assertEqual([(s.kind, s.value) for s in program.scalars],
                         [("F", y), ("I", x), ("I", x)])  # fmt: skip
        self.assertEqual(program.arguments()[3:], [y, x, x])

    def test_views(self):
        # Views of the same memory are one capture.
        a = numpy.arange(24, dtype="f4").reshape(4, 6)
        program = trace.trace(
            lambda s, b, h, q, kv: s + a[1, 2:][q] * a[1, 2:][kv] + a[1][q]
        )
        self.assertEqual([t.shape for t in program.captures], [(4,), (6,)])
        # One whose last stride is not 1 has another dimension.
        program = trace.trace(lambda s, b, h, q, kv: s + a.T[q, h])
        self.assertEqual(program.captures[0].type, "tensor<?x?x1xf32>")
        self.assertEqual(program.arguments()[0].shape, (6, 4, 1))

    def test_extents(self):
        # They are not part of the program, but those of loops are.
        def score(s, b, h, q, kv):
            return s + a[h % len(a), q % 6].sum(-1)

        keys = []
        for shape in (4, 6, 3), (2, 6, 3), (4, 6, 5):
            a = numpy.ones(shape, "f4")
            program = trace.trace(score)
            keys.append(program.key())
            self.assertEqual(program.captures[0].fixed, {0, 1, 2})
            self.check(score)
        self.assertEqual([key == keys[0] for key in keys], [True, True, False])

    def test_loops(self):
        # One for each reduction, with what depends on its elements.
        a = numpy.arange(4 * 9 * 700, dtype="f4").reshape(4, 9, 700) % 7 - 3
        score = lambda s, b, h, q, kv: (
            s
            + (a[h % 4, q % 9] * a[h % 4, kv % 9]).sum(-1) * 1e-3
            + a[h % 4, kv % 9].sum(-1)
        )
        self.check(score)
        text = trace.trace(score).to_mlir(trace.Variant())
        self.assertEqual(text.count("scf.for"), 2)
        self.assertEqual(text.count("tensor.extract"), 3)
        # Loops in loops share nothing but what is outside of both.
        pairs = lambda s, b, h, q, kv: s + a[h % 4, :, :5].sum((-1, -2)) * s
        self.check(pairs)
        text = trace.trace(pairs).to_mlir(trace.Variant())
        self.assertRegex(text, r"scf\.for[^}]*scf\.for[^}]*}[^}]*}")
        # The tiles that a mask needs are known of what is written out.
        ends = numpy.arange(0, 900, 3)
        for count in 20, 300:
            mask = lambda b, h, q, kv: (ends[:count] == kv[..., None]).any(-1)
            self.check(mask=mask)
            text = trace.trace(None, mask).to_mlir(trace.Variant())
            self.assertEqual("scf.for" in text, count == 300)

    def test_floats_that_are_too_great(self):
        most, least = 1e300, -1e300
        program = trace.trace(lambda s, b, h, q, kv: s + most - least)
        self.assertEqual(program.arguments(), [float("inf"), -float("inf")])
        self.assertEqual(program.arguments(trace.Variant("f64")), [1e300, -1e300])
        # As a constant, too.
        text = trace.trace(lambda s, b, h, q, kv: s + 1e300).to_mlir(trace.Variant())
        self.assertIn("arith.constant 0x7F800000 : f32", text)

    def test_bitcast(self):
        table = attn.bitcast(numpy.full((4, 2, 9), 0x3F80, "u2"), "bf16")
        self.check(
            lambda s, b, h, q, kv: s + table[h, 1][kv % 9] * kv + table[h, 0, 0],
            plain=lambda s, b, h, q, kv: s + kv + 1,
        )


class Names(unittest.TestCase):
    """The table knows the operations of graphs of PyTorch."""

    def test_aten(self):
        names = """index.Tensor add.Tensor sub.Tensor ge.Tensor bitwise_and.Tensor
            bitwise_or.Tensor mul.Tensor where.self scalar_tensor remainder.Scalar
            floor_divide le.Scalar abs eq.Tensor lt.Scalar div.Tensor clamp new_zeros
            lift_fresh_copy new_ones neg exp2 tan sin cos relu log silu sigmoid tanh gelu
            dot __rshift__.Scalar __lshift__.Scalar bitwise_not ne.Tensor any.dim
            unsqueeze _to_copy convert_element_type full logical_and logical_or
            logical_not pow.Tensor_Scalar sqrt rsqrt erf minimum maximum exp log1p sign
            floor masked_fill.Scalar select.int squeeze.dim ceil trunc round isnan isinf
            reciprocal fmod.Tensor bitwise_xor.Tensor sum.dim_IntList amax expm1"""
        self.assertEqual(
            [
                n
                for n in names.split()
                if n.partition(".")[0] not in _functions.FUNCTIONS
            ],
            [],
        )

    def test_graphs(self):
        # As an importer calls them.
        call = lambda s, name, *args: _functions.call(s._recorder, name, args, {})
        table = numpy.zeros((4, 5), "f4")
        one = trace.trace(
            lambda s, b, h, q, kv: s
            + call(s, "index", table, [h, kv])
            + call(s, "select", call(s, "index", table, [None, q]), 0, 2)
        )
        two = trace.trace(lambda s, b, h, q, kv: s + table[h, kv] + table[2, q])
        self.assertEqual(len(one.score.ops), len(two.score.ops))


class Variants(Case):
    def bias(self, s, b, h, q, kv):
        return s * 0.5 + 0.1 * h

    def test_types(self):
        for dtype, bound in ("f8", 1e-13), ("f2", 2e-3):
            q, k, v = cases.inputs(dtype)
            o, lse = attn.attention(q, k, v, self.bias, causal, return_lse=True)
            self.assertEqual(
                (o.dtype, lse.dtype),
                (numpy.dtype(dtype), numpy.dtype("f8" if dtype == "f8" else "f4")),
            )
            expected = cases.reference(numpy, q, k, v, self.bias, causal)
            numpy.testing.assert_allclose(o, expected[0], atol=bound)
            numpy.testing.assert_allclose(lse, expected[1], atol=bound)

    def test_layout(self):
        q, k, v = (
            numpy.ascontiguousarray(x.swapaxes(1, 2)) for x in (self.q, self.k, self.v)
        )
        o, lse = attn.attention(
            q, k, v, self.bias, causal, layout="bshd", scale=0.7, return_lse=True
        )
        expected = cases.reference(
            numpy, self.q, self.k, self.v, self.bias, causal, scale=0.7
        )
        numpy.testing.assert_allclose(
            o.swapaxes(1, 2), expected[0], rtol=1e-4, atol=2e-5
        )
        numpy.testing.assert_allclose(
            lse.swapaxes(1, 2), expected[1], rtol=1e-4, atol=2e-5
        )

    def test_scales(self):
        o = attn.attention(self.q, self.k, self.v, scale=0.7)
        expected, _ = cases.reference(numpy, self.q, self.k, self.v, scale=0.7)
        numpy.testing.assert_allclose(o, expected, rtol=1e-4, atol=2e-5)
        for score in None, self.bias:
            program = trace.trace(score)
            variant = _attention.variant_of(self.q, self.k, self.v, scale="runtime")
            kernel = attn.compile(program.to_mlir(variant))
            self.assertEqual(kernel.inputs[-1].name, "scale")
            for scale in 0.7, 0.1:
                o = kernel(self.q, self.k, self.v, *program.arguments(variant), scale)
                expected, _ = cases.reference(
                    numpy, self.q, self.k, self.v, score, scale=scale
                )
                numpy.testing.assert_allclose(o, expected, rtol=1e-4, atol=2e-5)

    def test_shapes(self):
        # Another head dimension of v, a shared batch of k and v, odd extents.
        self.k, self.v = self.k[:1, :, :17], self.v[:1, :, :17, :5]
        o = attn.attention(self.q, self.k, self.v, self.bias, causal)
        wide = (numpy.repeat(x, 2, axis=0) for x in (self.k, self.v))
        expected, _ = cases.reference(numpy, self.q, *wide, self.bias, causal)
        numpy.testing.assert_allclose(o, expected, rtol=1e-4, atol=2e-5)

    def test_static_extents(self):
        variant = trace.Variant(
            dim=8,
            heads=4,
            kv_heads=2,
            batch=2,
            queries=96,
            keys=96,
            lse=True,
            name="all",
        )
        program = trace.trace(self.bias, causal)
        kernel = attn.compile(program.to_mlir(variant))
        self.assertEqual(
            str(kernel)[:60],
            "<attn.Kernel @all(q: 2x4x96x8xf32, k: 2x2x96x8xf32, v: 2x2x96x8xf32"[:60],
        )
        o, _ = kernel(self.q, self.k, self.v, *program.arguments())
        expected, _ = cases.reference(numpy, self.q, self.k, self.v, self.bias, causal)
        numpy.testing.assert_allclose(o, expected, rtol=1e-4, atol=2e-5)

    def test_any_heads(self):
        program = trace.trace(self.bias, causal)
        kernel = attn.compile(program.to_mlir(trace.Variant(dim=8)))
        for heads in 4, 2:
            q, k, v = self.q[:, :heads], self.k, self.v
            expected, _ = cases.reference(numpy, q, k, v, self.bias, causal)
            o = kernel(q, k, v, *program.arguments())
            numpy.testing.assert_allclose(o, expected, rtol=1e-4, atol=2e-5)


class WithoutNumPy(unittest.TestCase):
    """What needs the standard library only."""

    def test_memoryviews(self):
        q, k, v = (support.tensor((1, 2, 5, 8), seed=n) for n in range(3))
        limits = support.tensor((2,), "i64", [2, 4])
        o = attn.attention(q, k, v, None, lambda b, h, q, kv: kv < limits[h])
        lists = [x.tolist() for x in (q, k, v)]
        for h in range(2):
            head = [[x[0][h : h + 1]] for x in lists]
            expected = support.attention(*head, lambda i, j: j < (2, 4)[h])
            error = support.max_error(o.tolist()[0][h], expected)
            self.assertLess(error, 1e-5)

    def test_import(self):
        code = "import sys, attn; print([m in sys.modules for m in ('attn.trace', 'numpy')])"
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True
        )
        self.assertEqual(out.stdout, "[False, False]\n")
        code = "import sys, attn; attn.attention; print('numpy' in sys.modules, 'attention' in attn.__all__)"
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True
        )
        self.assertEqual(out.stdout, "False True\n")
        with self.assertRaisesRegex(AttributeError, "no attribute 'atention'"):
            attn.atention

    def test_log(self):
        code = """from attn import trace
def mask(b, h, q_idx, kv_idx):
    return q_idx - kv_idx < window
for window in 5, 6:
    trace.trace(lambda s, b, h, q, kv: s * 0.5, mask)
"""
        expected = """attn.trace: score(score, b, h, q, kv)
attn.trace:   # FILE:5: trace.trace(lambda s, b, h, q, kv: s * 0.5, mask)
attn.trace:   v0 = 0.5
attn.trace:   v1 = mul(score, v0)
attn.trace:   return v1
attn.trace: mask(b, h, q, kv)
attn.trace:   # FILE:3: return q_idx - kv_idx < window
attn.trace:   v0 = sub(q, kv)
attn.trace:   v1 = x0
attn.trace:   v2 = lt(v0, v1)
attn.trace:   return v2
attn.trace:   x0: 5
"""
        with tempfile.TemporaryDirectory() as directory:
            file = os.path.join(directory, "user.py")
            with open(file, "w") as out:
                out.write(code)
            environment = dict(os.environ, ATTN_LOG="cache,trace")
            run = subprocess.run(
                [sys.executable, file], capture_output=True, text=True, env=environment
            )
        self.assertEqual(run.stderr, expected.replace("FILE", file))


if __name__ == "__main__":
    unittest.main()
