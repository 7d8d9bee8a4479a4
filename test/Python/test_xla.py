# RUN: env ATTN_LIBCUDA=%fake_cuda ATTN_PTXAS=off %python %s
"""The handler for XLA on a GPU (attn-c/Xla.h), called as XLA calls it, on a driver
whose kernels do nothing. Needs no JAX."""

import ctypes
import math
import os
import struct
import unittest
from ctypes import POINTER, Structure, c_char_p, c_int, c_int64, c_size_t, c_void_p

from attn import _native, trace

cuda = ctypes.CDLL(os.environ["ATTN_LIBCUDA"])
cuda.fakeCudaGetLog.restype = c_char_p
HEAD = [("struct_size", c_size_t), ("extensions", c_void_p)]
F16, EXECUTE = 10, 3


def structure(*fields, head=HEAD):
    return type("Struct", (Structure,), {"_fields_": [*head, *fields]})


# As lib/CAPI/XlaFfi.h has them.
Version = structure(("major", c_int), ("minor", c_int))
ErrorArgs = structure(("message", c_char_p), ("code", c_int))
StreamArgs = structure(("context", c_void_p), ("stream", c_void_p))
CreateError = ctypes.CFUNCTYPE(c_void_p, POINTER(ErrorArgs))
GetStream = ctypes.CFUNCTYPE(c_void_p, POINTER(StreamArgs))
Api = structure(
    ("version", Version),
    ("others", c_void_p),
    ("create_error", CreateError),
    ("more", c_void_p * 3),
    ("get_stream", GetStream),
)
Buffer = structure(
    *(("dtype", c_int), ("data", c_void_p), ("rank", c_int64)),
    ("dims", POINTER(c_int64)),
)
Buffers = structure(
    ("size", c_int64), ("types", POINTER(c_int)), ("items", POINTER(c_void_p))
)
Bytes = structure(("data", c_char_p), ("size", c_size_t), head=[])
Attributes = structure(
    *(("size", c_int64), ("types", POINTER(c_int))),
    *(("names", POINTER(POINTER(Bytes))), ("values", POINTER(c_void_p))),
)
Frame = structure(
    *(("api", POINTER(Api)), ("context", c_void_p), ("stage", c_int)),
    *(("operands", Buffers), ("results", Buffers), ("attributes", Attributes)),
)


class Handler(unittest.TestCase):
    def setUp(self):
        context, self.stream = c_void_p(), c_void_p()
        cuda.cuInit(0)
        cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        cuda.cuCtxSetCurrent(context)
        cuda.cuStreamCreate(ctypes.byref(self.stream), 1)
        cuda.fakeCudaClear()
        self.kept, self.errors, self.contexts = [], [], []

        def create_error(given):
            self.errors.append(given[0].message.decode())
            return 1

        def get_stream(given):
            self.contexts.append(given[0].context)
            given[0].stream = self.stream.value
            return None

        self.api = Api(ctypes.sizeof(Api), None)
        self.api.create_error = CreateError(create_error)
        self.api.get_stream = GetStream(get_stream)

    def keep(self, *values):
        self.kept += values
        return values[-1]

    def buffers(self, shapes):
        items = []
        for shape in shapes:
            address = ctypes.c_uint64()
            size = c_size_t(2 * math.prod(shape))
            self.assertEqual(cuda.cuMemAlloc_v2(ctypes.byref(address), size), 0)
            dims = self.keep((c_int64 * len(shape))(*shape))
            size = ctypes.sizeof(Buffer)
            made = Buffer(size, None, F16, address.value, len(shape), dims)
            items.append(ctypes.addressof(self.keep(made)))
        count = len(items)
        types = self.keep((c_int * count)(*[1] * count))
        places = self.keep((c_void_p * count)(*items))
        return Buffers(ctypes.sizeof(Buffers), None, count, types, places)

    def call(self, operands, results, **attributes):
        given = {"numbers": b"", "options": b"", "wrt": b"", **attributes}
        texts = [[Bytes(x, len(x)) for x in (k.encode(), v)] for k, v in given.items()]
        count = len(texts)
        names = (POINTER(Bytes) * count)(*[ctypes.pointer(name) for name, _ in texts])
        values = (c_void_p * count)(*[ctypes.addressof(value) for _, value in texts])
        types = (c_int * count)(*[4] * count)
        self.keep(texts, names, values, types)
        frame = Frame(ctypes.sizeof(Frame), None, ctypes.pointer(self.api), 77, EXECUTE)
        frame.operands, frame.results = self.buffers(operands), self.buffers(results)
        size = ctypes.sizeof(Attributes)
        frame.attributes = Attributes(size, None, count, types, names, values)
        function = _native.library().attnXlaCuda
        function.restype = c_void_p
        return function(ctypes.byref(frame))

    def test_calls(self):
        window, shape = 9, (1, 2, 128, 64)
        program = trace.trace(
            lambda s, b, h, i, j: s * 0.5, lambda b, h, i, j: i - j < window
        )
        text = program.to_mlir(trace.Variant(dtype="f16", dim=64)).encode()
        number = struct.pack(">q", window).hex().encode()
        found = self.call([shape] * 3, [shape], program=text, numbers=number)
        self.assertEqual((self.errors, found), ([], None))
        self.assertEqual(self.contexts, [77])
        self.assertRegex(cuda.fakeCudaGetLog().decode(), "launch attention .* stream\n$")
        self.assertEqual(self.call([shape] * 3, [shape], program=text), 1)
        self.assertIn("16 hexadecimal digits", self.errors.pop())
        # What no GPU runs.
        text = program.to_mlir(trace.Variant(dtype="f64", dim=64)).encode()
        found = self.call([shape] * 3, [shape], program=text, numbers=number)
        self.assertEqual(found, 1)
        self.assertIn("bf16, f16 or f32 on a GPU", self.errors.pop())


if __name__ == "__main__":
    unittest.main()
