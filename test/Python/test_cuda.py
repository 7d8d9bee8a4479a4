# RUN: env ATTN_LIBCUDA=%fake_cuda ATTN_PTXAS=off %python %s
"""Tensors and streams of a GPU, on a driver whose kernels do nothing."""

import ctypes
import math
import os
import unittest

import attn
import support
from support import Exporter, floats

WINDOW = support.EXAMPLES / "sliding-window.mlir"
CAUSAL = support.EXAMPLES / "causal.mlir"

cuda = ctypes.CDLL(os.environ["ATTN_LIBCUDA"])
cuda.fakeCudaGetLog.restype = ctypes.c_char_p
SHAPE = (1, 300, 8, 64)


def setUpModule():
    context = ctypes.c_void_p()
    cuda.cuInit(0)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    cuda.cuCtxSetCurrent(context)


def gpu_tensor(shape=SHAPE, bits=16, device=(2, 0)):
    """A float tensor in the memory of the fake GPU, which is the host's."""
    size = math.prod(shape) * bits // 8
    address = ctypes.c_uint64()
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) == 0
    storage = (ctypes.c_char * size).from_address(address.value)
    return Exporter(storage, shape, type=(2, bits, 1), device=device)


class Calls(unittest.TestCase):
    def setUp(self):
        cuda.fakeCudaClear()
        self.q, self.k, self.v = (gpu_tensor() for _ in range(3))
        self.out = gpu_tensor(), gpu_tensor((1, 300, 8), 32)

    def log(self):
        return cuda.fakeCudaGetLog().decode()

    def run_with(self, kernel, **options):
        inputs = (self.q, self.k, self.v, 16)
        return kernel(*inputs, out=self.out, **options)

    def test_target_cuda(self):
        kernel = attn.compile(WINDOW, target="cuda")
        self.assertIs(self.run_with(kernel), self.out)
        self.assertRegex(self.log(), "launch window on 0 .*\n$")

    def test_auto_is_where_the_tensors_are(self):
        kernel = attn.compile(WINDOW)
        self.run_with(kernel)
        self.assertIn("launch window", self.log())
        # A CPU runs what is on it.
        host = Exporter(floats([0] * (300 * 8 * 32)), SHAPE, type=(2, 16, 1))
        lse = Exporter(floats([0] * 2400), (1, 300, 8))
        out = Exporter(floats([0] * (300 * 8 * 32)), SHAPE, type=(2, 16, 1))
        cuda.fakeCudaClear()
        kernel(host, host, host, 16, out=(out, lse))
        self.assertEqual(self.log(), "")

    def test_streams(self):
        kernel = attn.compile(WINDOW, target="cuda")
        stream = ctypes.c_void_p()
        self.assertEqual(cuda.cuStreamCreate(ctypes.byref(stream), 1), 0)
        self.run_with(kernel, stream=stream.value)
        self.assertRegex(self.log(), "launch window .* stream\n$")
        self.assertEqual(self.q.streams, [stream.value])

    def test_bound_calls(self):
        call = attn.compile(WINDOW).bind(self.q, self.k, self.v, 16, out=self.out)
        for _ in range(3):
            self.assertIs(call(), self.out)
        self.assertEqual(self.log().count("launch window"), 3)

    def test_other_devices(self):
        kernel = attn.compile(WINDOW, target="cuda")
        host = Exporter(floats([0] * (300 * 8 * 32)), SHAPE, type=(2, 16, 1))
        with self.assertRaisesRegex(
            attn.Unsupported, "input 'q' .*memory of a GPU.*target='cpu'"
        ):
            kernel(host, host, host, 16)
        with self.assertRaisesRegex(attn.Unsupported, "input 'q' .*target='cuda'"):
            self.run_with(attn.compile(WINDOW, target="cpu"))

    def test_programs_that_no_gpu_runs(self):
        q = gpu_tensor((1, 2, 5, 8), 64)
        program = CAUSAL.read_text().replace("f32", "f64")
        with self.assertRaisesRegex(attn.Unsupported, "bf16, f16 or f32 on a GPU"):
            attn.compile(program)(q, q, q, out=gpu_tensor((1, 2, 5, 8), 64))


if __name__ == "__main__":
    unittest.main()
