# RUN: %python %s
"""What a traced function may not do: each error, with the line that did it."""

import functools
import inspect
import math
import random
import re
import types
import unittest

try:
    import numpy
except ImportError:
    numpy = None

import attn
from attn import trace


def load_tests(loader, tests, pattern):
    if numpy is None:
        return unittest.TestSuite()
    return tests


class Case(unittest.TestCase):
    def check(self, text, score=None, mask=None):
        """That tracing raises a TraceError with `text`, at the line with the
        comment `here`, or else at the first one of the function."""
        function = score or mask
        with self.assertRaises(attn.TraceError) as caught:
            trace.trace(score, mask)
        error = caught.exception
        self.assertIsInstance(error, TypeError)
        self.assertIsInstance(error, attn.Error)
        self.assertIn(text, str(error))
        lines, first = inspect.getsourcelines(function)
        marked = [n for n, line in enumerate(lines) if line.rstrip().endswith("# here")]
        line = first + (marked[0] if marked else 0)
        self.assertEqual((error.filename, error.lineno), (__file__, line))
        self.assertTrue(str(error).startswith(f"{__file__}:{line}: "))


class Branches(Case):
    def test_if(self):
        def mask(b, h, q, kv):
            if q > kv:  # here
                return q > 0
            return kv > 0

        self.check("a branch depends on a traced value", mask=mask)
        self.check("attn.trace.where(condition, a, b)", mask=mask)

    def test_and(self):
        self.check(
            "use & and | instead of and and or",
            mask=lambda b, h, q, kv: q >= kv and q < 9,  # here
        )

    def test_not(self):
        self.check("use ~ instead of not", mask=lambda b, h, q, kv: not q < kv)

    def test_chain(self):
        self.check(
            "write a < b < c as (a < b) & (b < c)", mask=lambda b, h, q, kv: 3 < q < 9
        )

    def test_min(self):
        self.check(
            "use attn.trace.minimum or maximum", lambda s, b, h, q, kv: s + min(q, kv)
        )

    def test_in(self):
        table = numpy.arange(9)
        self.check("(table == x).any()", mask=lambda b, h, q, kv: q in table)
        self.check("(table == x).any()", mask=lambda b, h, q, kv: q in (1, 2))

    def test_what_is_caught(self):
        def score(s, b, h, q, kv):
            try:
                if q > kv:  # here
                    return -s
            except TypeError:
                pass
            return s

        self.check("a branch depends on a traced value", score)

    def test_while(self):
        def score(s, b, h, q, kv):
            while s > 1:  # here
                s = s / 2
            return s

        self.check("a branch depends on a traced value", score)

    def test_numbers(self):
        self.check("is no int:", lambda s, b, h, q, kv: s + int(q))
        self.check("is no float:", lambda s, b, h, q, kv: s + float(q))
        self.check(
            "functions of `math` take numbers", lambda s, b, h, q, kv: math.exp(s)
        )
        self.check("is no number of Python", lambda s, b, h, q, kv: s + q.item())
        self.check(
            "a loop needs bounds that are the same for all pairs",
            lambda s, b, h, q, kv: sum(range(q)),
        )
        self.check("is no index:", lambda s, b, h, q, kv: s * [1, 2, 3][h])
        table = [numpy.ones(3)]
        for function in (
            lambda s, b, h, q, kv: numpy.array(s),
            lambda s, b, h, q, kv: numpy.float32(s),
            lambda s, b, h, q, kv: numpy.prod([s, s]),
            lambda s, b, h, q, kv: numpy.prod([table[0][h], s]),
        ):
            self.check("is no array of NumPy:", function)
            self.check("use functions of NumPy or attn.trace on it", function)
        self.check("has no hash", lambda s, b, h, q, kv: {0: 1.0}[h] * s)
        self.check("has no length", lambda s, b, h, q, kv: len(s))
        self.check("has no elements", lambda s, b, h, q, kv: s + sum(s))


class Effects(Case):
    def test_writes(self):
        table = numpy.zeros(9)

        def score(s, b, h, q, kv):
            table[q] = 1  # here
            return s

        self.check("may not write to tensors", score)
        self.check(
            "leave out= of numpy.add away",
            lambda s, b, h, q, kv: numpy.add(s, 1, out=table),
        )
        self.check("as 'add_' does", lambda s, b, h, q, kv: s.add_(1))

    def test_attributes(self):
        class Mod:
            def __init__(self):
                self.table = numpy.zeros(9)

            def score(self, s, b, h, q, kv):
                self.last = q  # here
                return s + self.table[q]

        with self.assertRaisesRegex(attn.TraceError, "may not set 'last'"):
            trace.trace(Mod().score)

    def test_random(self):
        def score(s, b, h, q, kv):
            return s + numpy.random.rand()

        def draw():
            return random.random()

        def imports(s, b, h, q, kv):
            from random import random as other

            return s + other()

        text = "draws random numbers, of which there would be one for all pairs"
        self.check("'score' " + text, score)
        self.check("'imports' " + text, imports)
        generator, numbers = random.Random(0), numpy.random.default_rng(0)
        one, module = random.random, numpy.random
        self.check(text, lambda s, b, h, q, kv: s + generator.gauss(0, 1))
        self.check(text, lambda s, b, h, q, kv: s + numbers.normal())
        self.check(text, lambda s, b, h, q, kv: s + one())
        self.check(text, lambda s, b, h, q, kv: s + module.rand())
        with self.assertRaisesRegex(attn.TraceError, text):
            trace.trace(functools.partial(lambda x, *values: x.gauss(0, 1), generator))
        # The function that draws is named.
        with self.assertRaisesRegex(attn.TraceError, ": 'draw' " + text) as caught:
            trace.trace(lambda s, b, h, q, kv: s + draw())
        self.assertEqual(caught.exception.lineno, draw.__code__.co_firstlineno)

        class Drawn:
            """What was drawn before."""

            def __init__(self):
                self.numbers = numbers
                self.table = numbers.normal(size=9)

            def score(self, s, b, h, q, kv):
                return s + self.table[q]

        trace.trace(Drawn().score)

    def test_leaks(self):
        kept = []

        def score(s, b, h, q, kv):
            kept.append(q)
            return s

        self.check(
            "was used after its function had returned",
            None,
            lambda b, h, q, kv: (trace.trace(score), kept[-1] >= kv)[1],
        )


class Results(Case):
    def test_types(self):
        self.check(
            "expects mask_mod to return a bool, but got int",
            None,
            lambda b, h, q, kv: q,
        )
        self.check(
            "expects score_mod to return a score, but got a bool",
            lambda s, b, h, q, kv: q >= kv,
        )
        self.check(
            "expects score_mod to return one value for a pair, but got None",
            lambda s, b, h, q, kv: None,
        )
        self.check("but got tuple", lambda s, b, h, q, kv: (s, s))

    def test_shapes(self):
        table = numpy.zeros((3, 4))
        self.check(
            "but got an array of shape (4,)", lambda s, b, h, q, kv: table[q] + s
        )

    def test_arguments(self):
        self.check("expects score_mod(score, b, h, q_idx, kv_idx)", lambda s, b, h: s)
        self.check(
            "expects mask_mod(b, h, q_idx, kv_idx)", None, lambda s, b, h, q, kv: s
        )


class Operations(Case):
    def test_unknown(self):
        self.check(
            "sigmiod has no lowering; there are sigmoid",
            lambda s, b, h, q, kv: s.sigmiod(),
        )
        self.check("numpy.i0 has no lowering", lambda s, b, h, q, kv: numpy.i0(s))
        self.check(
            "compute it outside of the function", lambda s, b, h, q, kv: s.cumsum(0)
        )
        self.assertFalse(hasattr(trace.Scalar, "sigmiod"))

    def test_kinds(self):
        self.check(
            "'and' takes bools or integers, but got a float",
            lambda s, b, h, q, kv: s & 1,
        )
        self.check("'shl' takes integers", lambda s, b, h, q, kv: s << 1)
        self.check(
            "'select' takes a bool as its condition",
            lambda s, b, h, q, kv: numpy.where(q, s, 0),
        )
        self.check(
            "expects where(condition, a, b)", lambda s, b, h, q, kv: numpy.where(q > kv)
        )
        self.check(
            "'tanh' takes no dtype", lambda s, b, h, q, kv: numpy.tanh(s, dtype="f4")
        )
        self.check(
            "expects a cast to bool", lambda s, b, h, q, kv: s.astype("complex64")
        )
        for dtype in numpy.uint8, numpy.complex64, "u1", "S1", "nothing":
            self.check(
                "expects a cast to bool", lambda s, b, h, q, kv: s.astype(dtype)
            )
        self.check("but got str", lambda s, b, h, q, kv: s + "1")
        self.check("no integers", lambda s, b, h, q, kv: q**-2)
        self.check("expects an integer of 64 bits", lambda s, b, h, q, kv: q + 2**70)
        self.check("to 0 decimals", lambda s, b, h, q, kv: numpy.round(s, 2))
        self.check("rounding_mode", lambda s, b, h, q, kv: s.div(2, rounding_mode="up"))
        self.check(
            "as many choices as conditions, but got 2 and 1",
            lambda s, b, h, q, kv: numpy.select([q > 1], [1, 2], s),
        )
        self.check("approximate", lambda s, b, h, q, kv: s.gelu(approximate="no"))
        self.check(
            "leaky_relu takes negative_slope",
            lambda s, b, h, q, kv: s.leaky_relu(slope=1),
        )
        self.check("clamp: ", lambda s, b, h, q, kv: s.clamp(0, 1, 2, 3, 4))


class Captures(Case):
    def test_types(self):
        for dtype in ("uint16", "complex64", "U3"):
            table = numpy.zeros(9, dtype)
            self.check(
                "expects a captured tensor of float64, float32",
                lambda s, b, h, q, kv: s + table[q],
            )

    def test_indices(self):
        table = numpy.zeros((3, 4, 5))
        self.check(
            "expects an index to be an integer, but got a traced float",
            lambda s, b, h, q, kv: s + table[0, 1, s],
        )
        self.check("got a traced bool", lambda s, b, h, q, kv: s + table[0, 1, q > 1])
        self.check("at most 3 indices", lambda s, b, h, q, kv: s + table[q, q, q, q])
        self.check("at most 1 indices", lambda s, b, h, q, kv: s + table[q, q][0, 0])
        self.check("index out of range", lambda s, b, h, q, kv: s + table[q, 9, q])
        self.check(
            "a slice needs bounds that are the same for all pairs",
            lambda s, b, h, q, kv: s + table[0, 0, q : q + 2].sum(),
        )
        self.check(
            "expects ints, slices, None and ... next to traced indices, but got list",
            lambda s, b, h, q, kv: s + table[q, [0, 1], 0].sum(),
        )
        self.check("but got float", lambda s, b, h, q, kv: s + table[q, 1.5, 0])

    def test_hidden(self):
        # An array that the trace does not find asks for an index.
        hidden = types.ModuleType("hidden")
        hidden.table = numpy.zeros(9)
        self.check(
            "attn.trace.capture(table)", lambda s, b, h, q, kv: s + hidden.table[q]
        )
        trace.trace(lambda s, b, h, q, kv: s + trace.capture(hidden.table)[q])

    def test_reductions(self):
        table = numpy.zeros((9, 300))
        self.check(
            "a reduction over at most 256 traced values in a list, but got 300",
            lambda s, b, h, q, kv: s + numpy.stack([q] * 300).sum(),
        )
        self.check(
            "the product of two rows of one length",
            lambda s, b, h, q, kv: s + table[q, :3] @ table[kv, :4],
        )
        self.check(
            "shapes that fit together",
            lambda s, b, h, q, kv: s + (table[q, :3] + table[kv, :4]).sum(),
        )
        self.check(
            "at least one element", lambda s, b, h, q, kv: s + table[q, :0].max()
        )


class Others(unittest.TestCase):
    def test_errors_of_functions(self):
        # What the function itself raises is left alone.
        with self.assertRaisesRegex(KeyError, "nothing"):
            trace.trace(lambda s, b, h, q, kv: {}["nothing"])
        nothing = None
        with self.assertRaisesRegex(TypeError, "NoneType") as caught:
            trace.trace(lambda s, b, h, q, kv: nothing())
        self.assertNotIsInstance(caught.exception, attn.TraceError)

    def test_variants(self):
        for keyword, value in ("dtype", "f8"), ("layout", "dhsb"):
            with self.assertRaisesRegex(
                attn.InvalidArgument, f"expects a {keyword} of"
            ):
                trace.Variant(**{keyword: value})

    def test_shapes(self):
        q = numpy.zeros((1, 4, 6, 8), "f4")
        with self.assertRaisesRegex(attn.InvalidArgument, "multiple .* got 4 and 3"):
            attn.attention(q, q[:, :3], q[:, :3])
        with self.assertRaisesRegex(attn.InvalidArgument, "dimensions of 1 or more"):
            attn.attention(q[..., :0], q[..., :0], q)

    def test_names(self):
        """Tracebacks show what users can catch."""
        for kind in attn.Error, attn.InvalidArgument, attn.TraceError:
            self.assertEqual(kind.__module__, "attn")
            self.assertIs(getattr(attn, kind.__name__), kind)

    def test_scales(self):
        q = numpy.zeros((1, 2, 3, 4), "f4")
        for scale in float("nan"), -float("inf"), "a", "0.5", "runtime", 1j, [1.0]:
            with self.assertRaisesRegex(
                attn.InvalidArgument, "scale to be a finite number, .* but got"
            ):
                attn.attention(q, q, q, scale=scale)
        with self.assertRaisesRegex(attn.InvalidArgument, "finite number in f32"):
            attn.attention(q, q, q, scale=1e300)
        for scale in float("inf"), "a":
            with self.assertRaisesRegex(attn.InvalidArgument, "scale to be a finite"):
                trace.Variant(scale=scale)

    def test_attention(self):
        q = numpy.zeros((2, 3, 4))
        with self.assertRaisesRegex(attn.InvalidArgument, "q to have 4 dimensions"):
            attn.attention(q, q, q)
        q = numpy.zeros((1, 2, 3, 4), "i4")
        with self.assertRaisesRegex(attn.InvalidArgument, "expects a dtype of f64"):
            attn.attention(q, q, q)
        with self.assertRaisesRegex(attn.InvalidArgument, "options .*, but got foo"):
            attn.attention(q, q, q, foo=1)

    def test_places_of_diagnostics(self):
        # A diagnostic of the compiler is at the line of the function.
        table = numpy.zeros(3, "f4")

        def score(s, b, h, q, kv):
            return s + table[q]

        program = trace.trace(score)
        text = program.to_mlir(trace.Variant(dim=8))
        line = score.__code__.co_firstlineno + 1
        self.assertRegex(
            text, rf'tensor.extract .* loc\("{re.escape(__file__)}":{line}:\d+\)'
        )
        with self.assertRaisesRegex(
            attn.CompileError, rf"{re.escape(__file__)}:{line}:\d+: error"
        ):
            attn.compile(text.replace("tensor.extract %t0[", "tensor.extract %t0[%i, "))


if __name__ == "__main__":
    unittest.main()
