# RUN: %python %s
"""Tensors that only DLPack tells of, with any strides."""

import ctypes
import gc
import random
import unittest

import attn
import support
from support import Exporter, attention, floats, max_error

CAUSAL = support.EXAMPLES / "causal.mlir"


def causal(i, j):
    return j <= i


class Values(unittest.TestCase):
    def setUp(self):
        self.kernel = attn.compile(CAUSAL)
        source = random.Random(1)
        self.numbers = [source.gauss(0, 1) for _ in range(80)]

    def lists(self, strides, offset=0):
        b, h, s, d = strides
        at = self.numbers
        return [
            [
                [
                    [at[offset + y * h + x * s + z * d] for z in range(8)]
                    for x in range(5)
                ]
                for y in range(2)
            ]
        ]

    def check(self, strides=None, **options):
        q = Exporter(floats(self.numbers), (1, 2, 5, 8), strides, **options)
        storage = floats([0] * 80)
        out = Exporter(storage, (1, 2, 5, 8), None)
        self.assertIs(self.kernel(q, q, q, out=out), out)
        lists = self.lists(strides or (80, 40, 8, 1))
        expected = attention(lists, lists, lists, causal)
        self.assertLess(max_error(list(storage), expected), 1e-5)

    def test_dense(self):
        self.check()
        self.check((80, 40, 8, 1))

    def test_transposed(self):
        # [batch, length, heads, dim] as [batch, heads, length, dim].
        self.check((80, 8, 16, 1))

    def test_stride_of_one_extent_is_free(self):
        self.check((-3, 40, 8, 1))

    def test_broadcast(self):
        self.check((0, 0, 8, 1))

    def test_transposed_result(self):
        q = Exporter(floats(self.numbers), (1, 2, 5, 8))
        storage = floats([0] * 80)
        self.kernel(q, q, q, out=Exporter(storage, (1, 2, 5, 8), (80, 8, 16, 1)))
        lists = self.lists((80, 40, 8, 1))
        expected = attention(lists, lists, lists, causal)
        at = lambda h, s, d: storage[8 * h + 16 * s + d]
        got = [at(h, s, d) for h in range(2) for s in range(5) for d in range(8)]
        self.assertLess(max_error(got, expected), 1e-5)

    def test_offset(self):
        shape = (1, 2, 4, 8)
        whole = Exporter(floats(self.numbers), shape, (80, 32, 8, 1), offset=32)
        part = Exporter(floats(self.numbers[8:]), shape, (80, 32, 8, 1))
        outs = [Exporter(floats([0] * 64), shape) for _ in range(2)]
        self.kernel(whole, whole, whole, out=outs[0])
        self.kernel(part, part, part, out=outs[1])
        self.assertEqual(list(outs[0].storage), list(outs[1].storage))

    def test_versioned(self):
        self.check(version=(1, 0))
        self.check(version=(1, 9), flags=1)  # inputs may be read-only
        with self.assertRaisesRegex(attn.InvalidArgument, "DLPack 1, but got 2"):
            self.check(version=(2, 0))

    def test_pinned_memory_is_the_cpu_s(self):
        self.check(device=(3, 1))

    def test_bfloat16(self):
        kernel = attn.compile(CAUSAL.read_text().replace("f32", "bf16"))
        ones = (ctypes.c_uint16 * 80)(*[0x3F80] * 80)
        q = Exporter(ones, (1, 2, 5, 8), type=(4, 16, 1))
        storage = (ctypes.c_uint16 * 80)()
        kernel(q, q, q, out=Exporter(storage, (1, 2, 5, 8), type=(4, 16, 1)))
        self.assertEqual(set(storage), {0x3F80})
        bits = attn.bitcast(Exporter(ones, (1, 2, 5, 8), type=(1, 16, 1)), "bf16")
        storage = (ctypes.c_uint16 * 80)()
        kernel(bits, q, q, out=Exporter(storage, (1, 2, 5, 8), type=(4, 16, 1)))
        self.assertEqual(set(storage), {0x3F80})

    def test_a_new_result(self):
        q = Exporter(floats(self.numbers), (1, 2, 5, 8))
        o = self.kernel(q, q, q)
        self.assertEqual(tuple(o.shape), (1, 2, 5, 8))

    def test_memory_is_given_back(self):
        q = Exporter(floats(self.numbers), (1, 2, 5, 8), counts=True)
        o = self.kernel(q, q, q)
        gc.collect()
        self.assertEqual((q.destroyed, len(q.streams)), (3, 3))
        self.assertEqual(q.streams, [None] * 3)
        self.assertEqual(tuple(o.shape), (1, 2, 5, 8))
        call = self.kernel.bind(q, q, q)
        self.assertEqual(q.destroyed, 3)
        call()
        del call
        gc.collect()
        self.assertEqual(q.destroyed, 6)


class Errors(unittest.TestCase):
    def call(self, message, error=attn.InvalidArgument, out=None, **options):
        q = Exporter(floats([0] * 80), (1, 2, 5, 8))
        k = Exporter(floats([0] * 160), (1, 2, 5, 8), **options)
        with self.assertRaisesRegex(error, message):
            if out:
                attn.compile(CAUSAL)(q, q, q, out=k)
            else:
                attn.compile(CAUSAL)(q, k, q)

    def test_types(self):
        self.call("input 'k' to have element type f32, but got f64", type=(2, 64, 1))
        self.call("input 'k' .*complex64", type=(5, 64, 1))
        self.call("input 'k' .*float32x2", type=(2, 32, 2))
        self.call("input 'k' .*type99_32", type=(99, 32, 1))
        self.call("input 'k' .*uint16; attn.bitcast", type=(1, 16, 1))

    def test_strides(self):
        self.call("input 'k' to have an innermost stride of 1", strides=(80, 40, 1, 5))
        self.call("aligned to 4 bytes", offset=2)

    def test_devices(self):
        self.call("input 'k' on cpu, .*got one on cuda:1", device=(2, 1))
        self.call("input 'k' on a CPU or a GPU, .*99", device=(99, 0))

    def test_results(self):
        self.call("'o' to be writable", out=True, version=(1, 0), flags=1)
        self.call("'o' to be writable", out=True, version=(1, 0), flags=2)
        self.call(
            "elements of result 'o' not to overlap", out=True, strides=(0, 0, 8, 1)
        )

    def test_a_gpu_that_is_not_served(self):
        # Nothing may read these as if they were in host memory.
        q = Exporter(floats([0] * 80), (1, 2, 5, 8), device=(2, 0))
        out = Exporter(floats([0] * 80), (1, 2, 5, 8), device=(2, 0))
        with self.assertRaisesRegex(attn.Unsupported, "input 'q' .*cuda:0"):
            attn.compile(CAUSAL, target="cpu")(q, q, q, out=out, stream=5)
        self.assertEqual(q.streams, [5, 5, 5])

    def test_exporters_that_fail(self):
        class Broken:
            def __init__(self, result):
                self.result = result

            def __dlpack_device__(self):
                return (1, 0)

            def __dlpack__(self, **arguments):
                if isinstance(self.result, Exception):
                    raise self.result
                return self.result

        kernel = attn.compile(CAUSAL)
        q = Exporter(floats([0] * 80), (1, 2, 5, 8))
        for result, message in [
            (
                BufferError("not today"),
                "input 'k' .*Broken says: BufferError: not today",
            ),
            (7, "input 'k' to export a DLPack capsule, but got int"),
        ]:
            with self.assertRaisesRegex(attn.InvalidArgument, message):
                kernel(q, Broken(result), q)


if __name__ == "__main__":
    unittest.main()
