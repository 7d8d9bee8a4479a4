# RUN: %python %s
"""Calls of kernels on what the standard library has: memoryviews."""

import array
import threading
import unittest

import attn
import support
from support import attention, max_error, tensor

CAUSAL = support.EXAMPLES / "causal.mlir"


def causal(i, j):
    return j <= i


def inputs(length=5, **options):
    return [tensor((1, 2, length, 8), seed=seed, **options) for seed in range(3)]


class Results(unittest.TestCase):
    def setUp(self):
        self.kernel = attn.compile(CAUSAL)
        self.inputs = inputs()
        lists = [view.tolist() for view in self.inputs]
        self.expected = attention(*lists, causal)

    def test_one_result_is_the_tensor(self):
        o = self.kernel(*self.inputs)
        self.assertEqual((o.shape, o.format), ((1, 2, 5, 8), "f"))
        self.assertLess(max_error(o.tolist(), self.expected), 1e-5)

    def test_several_results_are_a_tuple(self):
        kernel = attn.compile(support.TABLE)
        q = tensor((1, 1, 4, 8))
        results = kernel(q, q, q, tensor((4,)))
        self.assertIsInstance(results, tuple)
        self.assertEqual([view.shape for view in results], [(1, 1, 4, 8), (1, 1, 4)])

    def test_array_for_one_dimension(self):
        kernel = attn.compile(support.TABLE)
        q = tensor((1, 1, 4, 8))
        one = kernel(q, q, q, array.array("f", [1, 2, 3, 4]))
        other = kernel(q, q, q, tensor((4,), values=[1, 2, 3, 4]))
        self.assertEqual(one[1].tolist(), other[1].tolist())

    def test_float64(self):
        kernel = attn.compile(CAUSAL.read_text().replace("f32", "f64"))
        q, k, v = inputs(dtype="f64")
        o = kernel(q, k, v)
        expected = attention(q.tolist(), k.tolist(), v.tolist(), causal)
        self.assertEqual(o.format, "d")
        self.assertLess(max_error(o.tolist(), expected), 1e-12)

    def test_16_bit_types_are_bitcasts(self):
        # Ones, so that all results are ones.
        for dtype, one in [("f16", 0x3C00), ("bf16", 0x3F80)]:
            kernel = attn.compile(CAUSAL.read_text().replace("f32", dtype))
            ones = memoryview(array.array("H", [one] * 80))
            ones = attn.bitcast(ones.cast("B").cast("H", (1, 2, 5, 8)), dtype)
            o = kernel(ones, ones, ones)
            self.assertEqual((o.dtype, o.shape), (dtype, (1, 2, 5, 8)))
            self.assertEqual(set(support.flatten(o.array.tolist())), {one})

    def test_read_only_inputs(self):
        q, k, v = (view.toreadonly() for view in self.inputs)
        self.assertEqual(
            self.kernel(q, k, v).tolist(), self.kernel(*self.inputs).tolist()
        )

    def test_result_shapes(self):
        self.assertEqual(self.kernel.result_shapes(*self.inputs), ((1, 2, 5, 8),))
        kernel = attn.compile(support.TABLE)
        q = tensor((1, 1, 3, 8))
        shapes = kernel.result_shapes(q, q, q, tensor((4,)))
        self.assertEqual(shapes, ((1, 1, 3, 8), (1, 1, 3)))
        with self.assertRaisesRegex(
            attn.InvalidArgument, "3 inputs .q, k, v., but got 1"
        ):
            self.kernel.result_shapes(q)

    def test_threads_option(self):
        expected = self.kernel(*self.inputs).tolist()
        self.assertEqual(self.kernel(*self.inputs, threads=1).tolist(), expected)

    def test_bind(self):
        call = self.kernel.bind(*self.inputs)
        first = call()
        self.assertIs(first, call.out)
        self.assertEqual(first.tolist(), self.kernel(*self.inputs).tolist())
        self.inputs[2][0, 0, 0, 0] = 7.0
        self.assertIs(call(), first)
        self.assertEqual(first.tolist(), self.kernel(*self.inputs).tolist())

    def test_calls_from_threads(self):
        outs = [None] * 8

        def work(number):
            q, k, v = self.inputs
            for _ in range(50):
                outs[number] = self.kernel(q, k, v)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected = self.kernel(*self.inputs).tolist()
        self.assertTrue(all(out.tolist() == expected for out in outs))


class Out(unittest.TestCase):
    def setUp(self):
        self.kernel = attn.compile(CAUSAL)
        self.inputs = inputs()
        self.expected = self.kernel(*self.inputs).tolist()

    def test_tensor(self):
        out = tensor((1, 2, 5, 8))
        self.assertIs(self.kernel(*self.inputs, out=out), out)
        self.assertEqual(out.tolist(), self.expected)

    def test_tuple_and_list(self):
        for kind in (tuple, list):
            out = kind([tensor((1, 2, 5, 8))])
            self.assertIs(self.kernel(*self.inputs, out=out), out)
            self.assertEqual(out[0].tolist(), self.expected)

    def test_errors(self):
        for out, message in [
            ((), "1 result .o., but got 0"),
            ((tensor((1,)), tensor((1,))), "1 result .o., but got 2"),
            (tensor((1, 2, 4, 8)), "result 'o' to have shape 1x2x5x8"),
            (tensor((1, 2, 40)), "result 'o' to have rank 4"),
            (tensor((1, 2, 5, 8), "f64"), "result 'o' to have element type f32"),
            (tensor((1, 2, 5, 8)).toreadonly(), "result 'o' to be writable"),
            (self.inputs[0], "result 'o' not to overlap with input 'q'"),
            (1.0, "result 'o' to be a tensor"),
            ("text", "result 'o' to be a tensor"),
        ]:
            with self.assertRaisesRegex(attn.InvalidArgument, message):
                self.kernel(*self.inputs, out=out)


class Scalars(unittest.TestCase):
    def check(self, scalar, value, limit):
        kernel = attn.compile(support.mask_program(scalar))
        q, k, v = inputs()
        got = kernel(q, k, v, value).tolist()
        lists = [view.tolist() for view in (q, k, v)]
        expected = attention(*lists, lambda i, j: j < limit)
        self.assertLess(max_error(got, expected), 1e-5, (scalar, value))

    def test_integers(self):
        for scalar in ("index", "i64", "i32", "i16", "i8"):
            self.check(scalar, 3, 3)
            self.check(scalar, -1, 0)
            self.check(scalar, True, 1)

    def test_bool(self):
        self.check("i1", True, 5)
        self.check("i1", False, 1)
        self.check("i1", 1, 5)

    def test_floats(self):
        for scalar in ("f64", "f32", "f16", "bf16"):
            self.check(scalar, 2.5, 3)
            self.check(scalar, 2, 2)
            self.check(scalar, float("inf"), 5)
            self.check(scalar, float("-inf"), 0)
            self.check(scalar, float("nan"), 0)

    def test_bfloat16_is_rounded(self):
        # To even, and up: 4 has the neighbours 3.984375 and 4.03125.
        self.check("bf16", 3.9922, 4)
        self.check("bf16", 4.015625, 4)
        self.check("bf16", 4.0157, 5)

    def test_buffers_without_dimensions(self):
        self.check("i64", tensor((), "i64", values=[2]), 2)
        self.check("f32", tensor((), "f32", values=[2.5]), 3)

    def test_errors(self):
        q = tensor((1, 1, 2, 8))
        for scalar, value, message in [
            ("i32", 2**31, "input 'limit' to fit i32, but got 2147483648"),
            ("i8", -129, "input 'limit' to fit i8"),
            ("index", 2**63, "input 'limit' to fit i64"),
            ("i32", 1.0, "input 'limit' to be an integer .i32., but got 1.0"),
            ("i1", 2, "input 'limit' to be a bool, but got 2"),
            ("f16", 1e6, "input 'limit' to fit f16"),
            ("f32", 1e40, "input 'limit' to fit f32"),
            ("bf16", 1e40, "input 'limit' to fit bf16"),
            ("f64", 10**400, "input 'limit' to fit f64"),
            ("i32", None, "input 'limit' to be a tensor .*NoneType"),
            ("i32", "3", "input 'limit' to be a tensor .*str"),
            ("i32", [3], "input 'limit' to be a tensor .*list"),
            ("f32", 1j, "input 'limit' to be a tensor .*complex"),
            ("i32", tensor((), "i64", values=[1]), "'limit' to have element type i32"),
            ("i32", tensor((1,), "i32", values=[1]), "'limit' to have rank 0"),
        ]:
            kernel = attn.compile(support.mask_program(scalar))
            with self.assertRaisesRegex(attn.InvalidArgument, message):
                kernel(q, q, q, value)


class Errors(unittest.TestCase):
    def setUp(self):
        self.kernel = attn.compile(CAUSAL)
        self.q = tensor((1, 2, 5, 8))

    def test_number_of_inputs(self):
        for count in (0, 2, 4):
            with self.assertRaisesRegex(
                attn.InvalidArgument,
                rf"@causal .*3 inputs \(q, k, v\), but got {count}",
            ):
                self.kernel(*[self.q] * count)

    def test_inputs(self):
        unaligned = memoryview(bytearray(4 * 80 + 1))[1:].cast("f", (1, 2, 5, 8))
        for value, message in [
            (None, "input 'k' to be a tensor .*NoneType"),
            ([[1.0]], "input 'k' to be a tensor .*list"),
            (1.0, "input 'k' to be a tensor of rank 4, but got the number 1.0"),
            (True, "input 'k' to be a tensor of rank 4"),
            (tensor((1, 2, 5, 8), "f64"), "input 'k' to have element type f32"),
            (tensor((2, 5, 8)), "input 'k' to have rank 4, but got rank 3"),
            (tensor((1, 3, 5, 8)), r"input 'k' to have shape 1x2x\?x8"),
            (memoryview(b"abcd").cast("I"), "element types .*uint32"),
            (memoryview(b"abcd"), "input 'k' .*uint8"),
            (memoryview(b"ab").cast("H"), "uint16; attn.bitcast"),
            (memoryview(b"abcdefgh").cast("P"), "buffer of numbers, .*'P'"),
            (memoryview(b"a").cast("c"), "input 'k' .*uint8"),
            (unaligned, "data of input 'k' to be aligned to 4 bytes"),
        ]:
            with self.assertRaisesRegex(attn.InvalidArgument, message):
                self.kernel(self.q, value, self.q)

    def test_innermost_stride(self):
        kernel = attn.compile(support.TABLE)
        q = tensor((1, 1, 4, 8))
        with self.assertRaisesRegex(attn.InvalidArgument, "innermost stride of 1, .*2"):
            kernel(q, q, q, tensor((8,))[::2])

    def test_shapes_that_do_not_fit(self):
        short = tensor((1, 2, 4, 8))
        with self.assertRaisesRegex(attn.InvalidArgument, "expects"):
            self.kernel(self.q, self.q, short)

    def test_bounds(self):
        kernel = attn.compile(support.TABLE, bounds_check=True)
        q = tensor((1, 1, 6, 8))
        with self.assertRaisesRegex(attn.InvalidArgument, "have extent 6 .*got 4"):
            kernel(q, q, q, tensor((4,)))
        # Of a product of indices only a read tells.
        read = "%e = tensor.extract %t[%i]"
        far = "%square = arith.muli %i, %i : index\n%e = tensor.extract %t[%square]"
        self.assertIn(read, support.TABLE)
        kernel = attn.compile(support.TABLE.replace(read, far), bounds_check=True)
        q = tensor((1, 1, 4, 8))
        with self.assertRaisesRegex(attn.OutOfRange, "'table', but got [49]"):
            kernel(q, q, q, tensor((4,)))

    def test_threads_and_stream(self):
        for threads in (-1, 2**31, 1.5, True, None):
            with self.assertRaisesRegex(attn.InvalidArgument, "threads"):
                self.kernel(self.q, self.q, self.q, threads=threads)
        with self.assertRaisesRegex(attn.InvalidArgument, "from 0 to 2147483647"):
            self.kernel(self.q, self.q, self.q, threads=2**40)
        with self.assertRaisesRegex(attn.InvalidArgument, "stream .*str"):
            self.kernel(self.q, self.q, self.q, stream="fast")
        with self.assertRaisesRegex(attn.Unsupported, "no stream"):
            self.kernel(self.q, self.q, self.q, stream=7)

    def test_bitcast(self):
        bits = memoryview(array.array("H", [0x3F80, 0x4000]))
        cast = attn.bitcast(bits, "bfloat16")
        self.assertEqual((cast.dtype, cast.shape), ("bf16", (2,)))
        self.assertIs(cast.array, bits)
        self.assertEqual(attn.bitcast(cast, "f16").array, bits)
        self.assertRegex(repr(cast), r"^attn.bitcast\(.*'bf16'\)$")
        for array_, dtype, message in [
            (bits, "f32", "elements of 4 bytes"),
            (bits, "fp8", "element type of f64, .*'fp8'"),
            (bits, None, "None"),
            (3, "bf16", "a bitcast to be a tensor"),
        ]:
            with self.assertRaisesRegex(attn.InvalidArgument, message):
                attn.bitcast(array_, dtype)


if __name__ == "__main__":
    unittest.main()
