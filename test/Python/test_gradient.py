# RUN: %python %s
"""Programs and kernels that compute gradients."""

import mmap
import pathlib
import tempfile
import unittest

try:
    import numpy
except ImportError:
    numpy = None

import attn
import support

# Python 3.12 has a name for it.
MAP_NORESERVE = 0x4000

CAUSAL = support.EXAMPLES / "causal.mlir"
ALIBI = support.EXAMPLES / "alibi.mlir"
BIAS = """
!t = tensor<1x2x?x16xf32>
!l = tensor<1x2x?xf32>
func.func @bias(%q: !t, %k: !t, %v: !t, %w: tensor<?x?xf32>) -> (!t, !l) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%n) : !t
  %linit = tensor.empty(%n) : !l
  %o:2 = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%w : tensor<?x?xf32>) outs(%init, %linit : !t, !l)
      score(%s, %b, %h, %i, %j, %t) {
        %x = tensor.extract %t[%i, %j] : tensor<?x?xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %o#0, %o#1 : !t, !l
}
"""
WINDOW = support.EXAMPLES / "sliding-window.mlir"
NUMBER = """
!t = tensor<?x?x?x64xbf16>
func.func @f(%q: !t {attn.name = "q"}, %c: f32 {attn.name = "c"}, %o: !t) -> !t {
  %r = attn.attention ins(%q, %q, %q : !t, !t, !t) captures(%c : f32) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %u) {
        %m = arith.mulf %s, %u : f32
        attn.yield %m : f32
      }
  return %r : !t
}
"""


def compile(program, **options):
    """As attn.compile does, but sooner: no test here is about speed."""
    return attn.compile(program, opt_level=0, **options)


class Programs(unittest.TestCase):
    def test_all_inputs(self):
        kernel = compile(attn.differentiate(ALIBI))
        self.assertEqual(kernel.entry, "alibi_grad")
        self.assertEqual(
            [info.name for info in kernel.inputs],
            ["q", "k", "v", "slopes", "o", "do"],
        )
        self.assertEqual(
            [str(info) for info in kernel.results],
            ["dq: ?x8x?x64xf32", "dk: ?x8x?x64xf32", "dv: ?x8x?x64xf32"]
            + ["dslopes: 8xf32"],
        )

    def test_some_inputs(self):
        for wrt, expected in [
            ("k", ["dk"]),
            (["slopes", "q"], ["dq", "dslopes"]),
            (iter(["v"]), ["dv"]),
        ]:
            kernel = compile(attn.differentiate(ALIBI.read_text(), wrt=wrt))
            self.assertEqual([info.name for info in kernel.results], expected)

    def test_joint(self):
        kernel = compile(attn.differentiate(ALIBI, wrt="q", joint=True))
        self.assertEqual(
            [info.name for info in kernel.inputs], ["q", "k", "v", "slopes", "do"]
        )
        self.assertEqual([info.name for info in kernel.results], ["o", "dq"])

    def test_entry(self):
        text = CAUSAL.read_text()
        two = text + text.replace("@causal", "@other")
        gradient = attn.differentiate(two, entry="other")
        self.assertEqual(compile(gradient).entry, "other_grad")
        with self.assertRaisesRegex(attn.CompileError, "one public function"):
            attn.differentiate(two)

    def test_errors(self):
        for wrt, message in [
            ("nothing", "arguments, but got 'nothing', which is none"),
            ("window", "of f64, f32, f16 or bf16, but got 'window' of 'index'"),
        ]:
            with self.assertRaisesRegex(attn.CompileError, message):
                attn.differentiate(WINDOW, wrt=wrt)
        for wrt, message in [
            (7, "wrt to be names of inputs, but got int"),
            ([], "wrt to name an input, but got no name"),
            ([1], "a name in wrt to be a string, but got int"),
            ([None], "wrt to name inputs, but got None"),
            ("", "wrt to name inputs, but got ''"),
            ("a\0b", "a name in wrt to be a string without a NUL"),
        ]:
            with self.assertRaisesRegex(attn.InvalidArgument, message):
                attn.differentiate(WINDOW, wrt=wrt)
        with self.assertRaisesRegex(attn.InvalidArgument, "joint .*int"):
            attn.differentiate(WINDOW, joint=1)
        with self.assertRaisesRegex(attn.InvalidArgument, "entry .*int"):
            attn.differentiate(WINDOW, entry=1)

    def test_what_only_a_mask_reads(self):
        program = support.mask_program("f32")
        with self.assertRaisesRegex(
            attn.CompileError, r"<input>:\d+:8: error: .* 'limit', which only masks depend"
        ):
            attn.differentiate(program, wrt="limit")
        kernel = compile(attn.differentiate(program))
        self.assertEqual([info.name for info in kernel.results], ["dq", "dk", "dv"])

    def test_numbers(self):
        for target, expected in [("cpu", ["dq", "dc"]), ("cuda", ["dq"])]:
            gradient = compile(NUMBER, target=target).gradient()
            self.assertEqual([info.name for info in gradient.results], expected)
        with self.assertRaisesRegex(attn.Unsupported, "without those of numbers"):
            compile(NUMBER, target="cuda").gradient("c")

    def test_messages_have_the_place(self):
        text = WINDOW.read_text()
        with self.assertRaisesRegex(attn.CompileError, r"^<input>:\d+:\d+: error: "):
            attn.differentiate(text, wrt="nothing")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "mine.mlir"
            path.write_text(text)
            with self.assertRaisesRegex(attn.CompileError, r"mine\.mlir:\d+:\d+: "):
                attn.differentiate(path, wrt="nothing")


def far(x):
    """The same numbers in rows so far apart that the last one is more than 2**31
    elements behind the first, in memory that is there where it is written to."""
    stride = 2**31 // (x.shape[-2] - 1) + 32
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
    numbers = numpy.frombuffer(mmap.mmap(-1, x.shape[-2] * stride * 4, flags), "f4")
    strides = [4 * x.shape[-1]] * (x.ndim - 2) + [4 * stride, 4]
    view = numpy.lib.stride_tricks.as_strided(numbers, x.shape, strides)
    view[...] = x
    return view


@unittest.skipIf(numpy is None, "needs NumPy")
class Kernels(unittest.TestCase):
    def test_elements_that_are_far_apart(self):
        draw = numpy.random.default_rng(0).standard_normal
        inputs = [draw((1, 2, 9, 16)).astype("f4") for _ in range(3)]
        inputs.append(draw((9, 9)).astype("f4"))
        kernel = compile(BIAS)
        o, lse = kernel(*inputs)
        losses = draw(o.shape).astype("f4"), draw(lse.shape).astype("f4")
        expected = kernel.gradient()(*inputs, o, lse, *losses)
        try:
            given = [far(x) for x in inputs]
            out = tuple(far(numpy.full_like(x, numpy.nan)) for x in expected)
            of_far = far(numpy.full_like(o, numpy.nan)), numpy.full_like(lse, numpy.nan)
            loss = far(losses[0])
        except OSError as error:
            self.skipTest(f"no room for addresses: {error}")
        kernel(*given, out=of_far)
        numpy.testing.assert_array_equal(of_far[0], o)
        numpy.testing.assert_array_equal(of_far[1], lse)
        kernel.gradient()(*given, *of_far, loss, losses[1], out=out)
        for x, y in zip(out, expected):
            numpy.testing.assert_array_equal(x, y)

    def test_a_gradient_is_that_of_the_loss(self):
        random = numpy.random.default_rng(0)
        q, k, v, do = random.standard_normal((4, 2, 8, 21, 64))
        slopes = random.standard_normal(8)
        kernel = compile(ALIBI.read_text().replace("f32", "f64"))
        inputs = (q, k, v, slopes)
        o = kernel(*inputs)
        gradients = kernel.gradient()(*inputs, o, do)
        # The loss is sum(o * do); its slope in a random direction.
        for number, (x, dx) in enumerate(zip(inputs, gradients)):
            way = random.standard_normal(x.shape)
            losses = []
            for step in (1e-5, -1e-5):
                moved = list(inputs)
                moved[number] = x + step * way
                losses.append((kernel(*moved) * do).sum())
            slope = (losses[0] - losses[1]) / 2e-5
            self.assertAlmostEqual((dx * way).sum() / slope, 1, places=6)

    def test_what_is_asked_for(self):
        kernel = compile(WINDOW)
        gradient = kernel.gradient("v")
        self.assertIs(kernel.gradient(["v"]), gradient)
        self.assertIsNot(kernel.gradient(), gradient)
        self.assertEqual([info.name for info in gradient.results], ["dv"])
        self.assertEqual(gradient.target, kernel.target)
        with self.assertRaisesRegex(attn.CompileError, "'window' of 'index'"):
            kernel.gradient("window")
        with self.assertRaisesRegex(attn.InvalidArgument, "no name"):
            kernel.gradient(())

    def test_tensors_that_do_not_fit(self):
        x = numpy.ones((1, 8, 5, 64), "f4")
        slopes = numpy.ones(8, "f4")
        gradient = compile(ALIBI).gradient()
        for name, wrong, text in [
            ("o", x[:, :, :4], "expects o and q to have the same length, but got 4 and 5"),
            ("do", x[:, :, :3], "expects do and q .* length, but got 3 and 5"),
            ("o", x[0], "input 'o' to have rank 4, but got rank 3"),
            ("do", x.astype("f8"), "'do' to have element type f32, but got f64"),
        ]:
            names = [info.name for info in gradient.inputs]
            inputs = [x, x, x, slopes, x, x]
            inputs[names.index(name)] = wrong
            out = tuple(numpy.full(y.shape, numpy.nan, "f4") for y in (x, x, x, slopes))
            with self.assertRaisesRegex(attn.InvalidArgument, text):
                gradient(*inputs, out=out)
            self.assertTrue(all(numpy.isnan(y).all() for y in out))

    def test_memory_that_runs_out(self):
        # Batches at one place need no memory of their own, but a number for each query.
        x = numpy.ones((1, 8, 1, 64), "f4")
        many = numpy.broadcast_to(x, (1 << 50, 8, 1, 64))
        gradient = compile(ALIBI).gradient(["k", "v"])
        out = numpy.full((2, *x.shape), numpy.nan, "f4")
        text = "kernel 'alibi_grad' expects more memory for intermediate results than"
        for kind in attn.OutOfMemory, MemoryError:
            with self.assertRaisesRegex(kind, text):
                gradient(
                    many, x, x, numpy.ones(8, "f4"), many, many, out=(out[0], out[1])
                )
        self.assertTrue(numpy.isnan(out).all())

    def test_options_are_those_of_the_kernel(self):
        schedule = "tile_m = 8, tile_n = 8, lanes = 4, unroll_m = 2, unroll_n = 1"
        kernel = compile(
            CAUSAL,
            processor="baseline",
            schedule=f"#attn.schedule<{schedule}>",
            bounds_check=True,
        )
        gradient = kernel.gradient()
        self.assertNotIn("avx", gradient.report["target"])
        gpu = compile(WINDOW, target="cuda")
        self.assertEqual(gpu.gradient("q").target, "cuda")

    def test_the_gradient_of_a_gradient(self):
        gradient = compile(CAUSAL).gradient()
        with self.assertRaisesRegex(attn.CompileError, "has no derivative"):
            gradient.gradient()


if __name__ == "__main__":
    unittest.main()
