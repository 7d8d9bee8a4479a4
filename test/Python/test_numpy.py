# RUN: %python %s
"""Calls of kernels on arrays of NumPy."""

import unittest

try:
    import numpy
except ImportError:
    numpy = None
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

import attn
import support

CAUSAL = support.EXAMPLES / "causal.mlir"
WINDOW = support.EXAMPLES / "sliding-window.mlir"


def reference(q, k, v):
    """Causal attention in float64 on [batch, heads, length, dim]."""
    q, k, v = (x.astype(numpy.float64) for x in (q, k, v))
    s = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    i, j = numpy.indices(s.shape[-2:])
    s = numpy.where(j <= i, s, -numpy.inf)
    p = numpy.exp(s - s.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True) @ v


@unittest.skipIf(numpy is None, "needs NumPy")
class NumPy(unittest.TestCase):
    def setUp(self):
        self.random = numpy.random.default_rng(0)
        self.kernel = attn.compile(CAUSAL)

    def tensor(self, *shape, dtype="float32"):
        return self.random.standard_normal(shape).astype(dtype)

    def inputs(self, length=5, dtype="float32"):
        return [self.tensor(1, 2, length, 8, dtype=dtype) for _ in range(3)]

    def test_types(self):
        text = CAUSAL.read_text()
        for name, dtype, bound in [
            ("f64", "float64", 1e-14),
            ("f32", "float32", 1e-5),
            ("f16", "float16", 1e-2),
        ]:
            inputs = self.inputs(20, dtype)
            o = attn.compile(text.replace("f32", name))(*inputs)
            self.assertIsInstance(o, numpy.ndarray)
            self.assertEqual((o.dtype, o.shape), (dtype, (1, 2, 20, 8)))
            self.assertLess(numpy.abs(o - reference(*inputs)).max(), bound)

    def bf16_inputs(self):
        """Each as bits and as float32."""
        for value in self.inputs():
            bits = (value.view(numpy.uint32) >> 16).astype(numpy.uint16)
            yield bits, (bits.astype(numpy.uint32) << 16).view(numpy.float32)

    def test_bfloat16_as_bits(self):
        kernel = attn.compile(CAUSAL.read_text().replace("f32", "bf16"))
        bits, floats = zip(*self.bf16_inputs())
        o = kernel(*(attn.bitcast(x, "bf16") for x in bits))
        self.assertIsInstance(o, attn.Bitcast)
        self.assertEqual((o.dtype, o.array.dtype), ("bf16", "uint16"))
        got = (o.array.astype(numpy.uint32) << 16).view(numpy.float32)
        self.assertLess(numpy.abs(got - reference(*floats)).max(), 0.05)
        with self.assertRaisesRegex(attn.InvalidArgument, "uint16; attn.bitcast"):
            kernel(*bits)
        out = numpy.zeros_like(bits[0])
        kernel(*(attn.bitcast(x, "bf16") for x in bits), out=attn.bitcast(out, "bf16"))
        self.assertTrue((out == o.array).all())

    @unittest.skipIf(ml_dtypes is None, "needs ml_dtypes")
    def test_bfloat16_of_ml_dtypes(self):
        kernel = attn.compile(CAUSAL.read_text().replace("f32", "bf16"))
        bits, floats = zip(*self.bf16_inputs())
        o = kernel(*(x.view(ml_dtypes.bfloat16) for x in bits))
        self.assertEqual(o.dtype, ml_dtypes.bfloat16)
        error = numpy.abs(o.astype(numpy.float32) - reference(*floats))
        self.assertLess(error.max(), 0.05)
        kernel = attn.compile(support.mask_program("bf16"))
        q = self.tensor(1, 1, 4, 8)
        o = kernel(q, q, q, ml_dtypes.bfloat16(1))
        numpy.testing.assert_allclose(o, q[:, :, :1].repeat(4, 2), 1e-6)

    def test_views(self):
        whole = self.tensor(1, 5, 3, 2, 8)  # length, which of q, k and v, head
        q, k, v = (whole[:, :, n].swapaxes(1, 2) for n in range(3))
        o = self.kernel(q, k, v)
        self.assertLess(numpy.abs(o - reference(q, k, v)).max(), 1e-5)
        q, k, v = (x[:, ::-1, ::2] for x in (q, k, v))
        o = self.kernel(q, k, v)
        self.assertLess(numpy.abs(o - reference(q, k, v)).max(), 1e-5)
        q = numpy.broadcast_to(self.tensor(1, 1, 1, 8), k.shape)
        o = self.kernel(q, k, v)
        self.assertLess(numpy.abs(o - reference(q, k, v)).max(), 1e-5)

    def test_out(self):
        inputs = self.inputs()
        expected = self.kernel(*inputs)
        out = numpy.full((1, 5, 2, 8), numpy.nan, "float32").swapaxes(1, 2)
        self.assertIs(self.kernel(*inputs, out=out), out)
        self.assertTrue((out == expected).all())
        frozen = numpy.zeros_like(expected)
        frozen.flags.writeable = False
        for bad, message in [
            (frozen, "'o' to be writable"),
            (numpy.float32(1), "'o' to be writable"),
            (expected[..., ::2], "'o' to have shape"),
            (numpy.zeros_like(expected, "float64"), "'o' to have element type f32"),
            (inputs[0], "'o' not to overlap with input 'q'"),
        ]:
            with self.assertRaisesRegex(attn.InvalidArgument, message):
                self.kernel(*inputs, out=bad)

    def test_no_elements(self):
        inputs = self.inputs(0)
        self.assertEqual(self.kernel(*inputs).shape, (1, 2, 0, 8))

    def test_scalars(self):
        kernel = attn.compile(WINDOW)
        q = self.tensor(1, 30, 8, 64, dtype="float16")
        expected = kernel(q, q, q, 4)[1]
        for window in [
            numpy.int64(4),
            numpy.int8(4),
            numpy.array(4),
            numpy.array(4, "int32"),
        ]:
            self.assertTrue((kernel(q, q, q, window)[1] == expected).all())
        for window, message in [
            (numpy.float64(4), "'window' to be an integer"),
            (numpy.array(4.0), "'window' to be an integer"),
            (numpy.array([4]), "'window' to have rank 0"),
            (numpy.uint64(4), "'window' .*uint64"),
            (numpy.array("4"), "'window' "),
        ]:
            with self.assertRaisesRegex(attn.InvalidArgument, message):
                kernel(q, q, q, window)

    def test_scalar_types(self):
        q = self.tensor(1, 1, 4, 8)
        for scalar, value in [
            ("f64", numpy.float32(1)),
            ("f32", numpy.float64(1)),
            ("f16", numpy.float16(1)),
            ("bf16", numpy.float32(1)),
            ("i8", numpy.int64(1)),
            ("i1", numpy.bool_(False)),
        ]:
            kernel = attn.compile(support.mask_program(scalar))
            self.assertTrue((kernel(q, q, q, value) == q[:, :, :1]).all(), scalar)

    def test_integer_captures(self):
        kernel = attn.compile(support.EXAMPLES / "varlen.mlir")
        q = self.tensor(2, 4, 6, 64)
        o, lse = kernel(q, q, q, numpy.array([0, 3]))
        self.assertTrue((o[0] == 0).all() and (lse[0] == -numpy.inf).all())
        self.assertTrue((o[1, :, 0] != 0).any())
        with self.assertRaisesRegex(
            attn.InvalidArgument, "'lens' to have element type i64, but got i32"
        ):
            kernel(q, q, q, numpy.array([0, 3], "int32"))

    def test_errors(self):
        q = self.inputs()[0]
        unaligned = numpy.zeros(80 * 4 + 1, "uint8")[1:].view("float32")
        fields = numpy.zeros((1, 2, 5, 8), [("x", "f4"), ("y", "i1")])
        for bad, message in [
            (q.astype(">f4"), "'k' to be in the byte order"),
            (q.astype("complex64"), "'k' .*complex64"),
            (q.astype("object"), "'k' to hold numbers, but got object"),
            (q.astype("float64"), "'k' to have element type f32, but got f64"),
            (fields, "'k' .*void40"),
            (fields["x"], "'k' to have strides that are multiples .* got 5"),
            (unaligned.reshape(q.shape), "'k' to be aligned"),
            (q[..., ::-1], "'k' to have an innermost stride of 1"),
            (q[0], "'k' to have rank 4"),
            (numpy.ma.masked_array(q), "'k' to be no masked array"),
            (numpy.float32(1), "'k' to have rank 4, but got rank 0"),
        ]:
            with self.assertRaisesRegex(attn.InvalidArgument, message):
                self.kernel(q, bad, q)

    def test_arrays_through_dlpack(self):
        class Wrapper:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **arguments):
                return self.array.__dlpack__(**arguments)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        inputs = self.inputs()
        o = self.kernel(*map(Wrapper, inputs))
        self.assertIsInstance(o, numpy.ndarray)
        self.assertTrue((o == self.kernel(*inputs)).all())


if __name__ == "__main__":
    unittest.main()
