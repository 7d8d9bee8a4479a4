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
# Of DLPack.
BFLOAT = 4


def setUpModule():
    context = ctypes.c_void_p()
    cuda.cuInit(0)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    cuda.cuCtxSetCurrent(context)


def gpu_tensor(shape=SHAPE, bits=16, device=(2, 0), type=2):
    """A float tensor, or one of integers (type 0), in the memory of the fake GPU, which is the host's."""
    size = math.prod(shape) * bits // 8
    address = ctypes.c_uint64()
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) == 0
    storage = (ctypes.c_char * size).from_address(address.value)
    return Exporter(storage, shape, type=(type, bits, 1), device=device)


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


class PreparedCalls(unittest.TestCase):
    def setUp(self):
        cuda.fakeCudaClear()
        self.kernel = attn.compile(support.EXAMPLES / "document-mask.mlir")
        self.tensors = self.make(300)

    def make(self, length):
        """q, k, v, ids and o."""
        query, key = (1, 8, length, 64), (1, 2, length, 64)
        ids = gpu_tensor((1, length), 32, type=0)
        q, k, v, o = (gpu_tensor(x, type=BFLOAT) for x in (query, key, key, query))
        return q, k, v, ids, o

    def launches(self):
        log = cuda.fakeCudaGetLog().decode()
        return [line.split()[1] for line in log.splitlines() if "launch" in line]

    def call(self, tensors=None, kernel=None, **options):
        *inputs, out = tensors or self.tensors
        cuda.fakeCudaClear()
        (kernel or self.kernel)(*inputs, out=out, **options)
        return self.launches()

    def test_tables_are_filled_once(self):
        self.assertIn("documents_prologue0", self.call())
        cuda.fakeCudaClear()
        prepared = self.kernel.prepare(*self.tensors[:4])
        self.assertGreater(prepared.nbytes, 0)
        self.assertIn("@documents", repr(prepared))
        names = self.launches()
        self.assertTrue(all("_prologue" in name for name in names), names)
        self.assertEqual(self.call(prepared=prepared), ["documents"])
        # Another layer.
        q, k, v, _, out = self.make(300)
        other = q, k, v, self.tensors[3], out
        self.assertEqual(self.call(other, prepared=prepared), ["documents"])
        bound = self.kernel.bind(*other[:4], out=other[4], prepared=prepared)
        cuda.fakeCudaClear()
        bound()
        self.assertEqual(self.launches(), ["documents"])

    def test_what_does_not_fit(self):
        prepared = self.kernel.prepare(*self.tensors[:4])
        with self.assertRaisesRegex(
            attn.InvalidArgument,
            "expects input 'q' to have shape 1x8x300x64, which it was prepared for,"
            " but got 1x8x500x64",
        ):
            self.call(self.make(500), prepared=prepared)
        other = attn.compile(support.EXAMPLES / "document-mask.mlir", tune="off")
        with self.assertRaisesRegex(
            attn.InvalidArgument, "expects what 'documents' itself has prepared"
        ):
            self.call(kernel=other, prepared=prepared)
        with self.assertRaisesRegex(
            attn.InvalidArgument, "expects prepared to be what Kernel.prepare makes"
        ):
            self.call(prepared=3)
        with self.assertRaisesRegex(attn.InvalidArgument, "inputs"):
            self.kernel.prepare(*self.tensors[:3])

    def test_contents_that_change(self):
        ids = self.tensors[3].storage
        prepared = self.kernel.prepare(*self.tensors[:4])
        ids[4] = b"\1"
        # The caller's error, which nobody looks for.
        self.call(prepared=prepared)
        os.environ["ATTN_CHECK_PREPARED"] = "1"
        try:
            prepared = self.kernel.prepare(*self.tensors[:4])
        finally:
            del os.environ["ATTN_CHECK_PREPARED"]
        self.tensors[0].storage[0] = b"\1"
        self.assertEqual(self.call(prepared=prepared), ["documents"])
        ids[4] = b"\2"
        with self.assertRaisesRegex(
            attn.InvalidArgument,
            "expects input 'ids' to hold what it held when 'documents' was prepared:"
            " prepare again after a change",
        ):
            self.call(prepared=prepared)

    def test_gradients(self):
        # Two launches with memory that one fills for the other.
        text = (support.EXAMPLES / "document-mask.mlir").read_text()
        program = attn.differentiate(text, wrt=["q", "k", "v"], joint=True)
        kernel = attn.compile(program, target="cuda")
        q, k, v, ids, o = self.tensors
        inputs = q, k, v, ids, gpu_tensor((1, 8, 300, 64), type=BFLOAT)
        out = o, *(gpu_tensor(x._shape, type=BFLOAT) for x in (q, k, v))
        prepared = kernel.prepare(*inputs)
        self.assertGreater(prepared.nbytes, 0)
        cuda.fakeCudaClear()
        kernel(*inputs, out=out, prepared=prepared)
        # What the sums of the gradient need depends on q, k and v.
        self.assertEqual(
            self.launches(),
            ["documents_grad", "documents_grad_before0", "documents_grad"],
        )

    def test_numbers_are_compared(self):
        # Where the window ends is a number that no table depends on.
        kernel = attn.compile(WINDOW)
        q, k, v = (gpu_tensor() for _ in range(3))
        out = gpu_tensor(), gpu_tensor((1, 300, 8), 32)
        prepared = kernel.prepare(q, k, v, 16)
        self.assertEqual(prepared.nbytes, 0)
        kernel(q, k, v, 17, out=out, prepared=prepared)
        # Here one does.
        program = (support.EXAMPLES / "document-mask.mlir").read_text()
        program = program.replace(
            "%ids: tensor<?x?xi32>)", "%ids: tensor<?x?xi32>, %shift: i32)"
        )
        program = program.replace(
            "captures(%ids : tensor<?x?xi32>)",
            "captures(%ids, %shift : tensor<?x?xi32>, i32)",
        )
        program = program.replace("%j, %ids)", "%j, %ids, %shift)")
        program = program.replace(
            "%same = arith.cmpi eq, %mine, %other",
            "%next = arith.addi %other, %shift : i32\n"
            "%same = arith.cmpi eq, %mine, %next",
        )
        kernel = attn.compile(program, target="cuda")
        *inputs, out = self.tensors
        prepared = kernel.prepare(*inputs, 1)
        kernel(*inputs, 1, out=out, prepared=prepared)
        if kernel.prepare(*inputs, 1).nbytes == 0:
            self.fail("expects tables")
        with self.assertRaisesRegex(
            attn.InvalidArgument, "expects input 'shift' to hold what it held"
        ):
            kernel(*inputs, 2, out=out, prepared=prepared)


if __name__ == "__main__":
    unittest.main()
