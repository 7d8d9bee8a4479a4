# RUN: %python %s
"""What attn.jax says of wrong calls, its dot_product_attention, and the handler that
XLA calls."""

import pathlib
import shutil
import subprocess
import types
import unittest

from jax_case import Case, causal, jax, numpy, qkv, squares

if jax is not None:
    import jax.numpy as jnp

    import attn
    import attn.jax as ours
    from attn.jax import dot_product_attention, flex_attention

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Each constant and each member of lib/CAPI/XlaFfi.h, as XLA has it.
LAYOUT = """
#include "XlaFfi.h"
#include "xla/ffi/api/c_api.h"
#include <cstddef>
#define SAME(ours, member, theirs, other) \\
  static_assert(offsetof(attn::xla::ours, member) == offsetof(theirs, other) && \\
                sizeof(attn::xla::ours::member) == sizeof(theirs::other), "");
#define HEAD(ours, theirs) SAME(ours, structSize, theirs, struct_size) \\
  SAME(ours, extensions, theirs, extension_start)
#define EQUAL(ours, theirs) \\
  static_assert(int(attn::xla::ours) == int(XLA_FFI_##theirs), "");
static_assert(XLA_FFI_API_MAJOR == attn::xla::kMajor, "");
EQUAL(kMetadataExtension, Extension_Metadata)
SAME(Extension, type, XLA_FFI_Extension_Base, type)
SAME(Extension, next, XLA_FFI_Extension_Base, next)
HEAD(ApiVersion, XLA_FFI_Api_Version)
SAME(ApiVersion, majorVersion, XLA_FFI_Api_Version, major_version)
SAME(ApiVersion, minorVersion, XLA_FFI_Api_Version, minor_version)
SAME(Metadata, version, XLA_FFI_Metadata, api_version)
SAME(Metadata, traits, XLA_FFI_Metadata, traits)
SAME(MetadataExtension, metadata, XLA_FFI_Metadata_Extension, metadata)
EQUAL(kUnknown, Error_Code_UNKNOWN)
EQUAL(kInvalidArgument, Error_Code_INVALID_ARGUMENT)
EQUAL(kResourceExhausted, Error_Code_RESOURCE_EXHAUSTED)
EQUAL(kOutOfRange, Error_Code_OUT_OF_RANGE)
EQUAL(kUnimplemented, Error_Code_UNIMPLEMENTED)
HEAD(ErrorCreateArgs, XLA_FFI_Error_Create_Args)
SAME(ErrorCreateArgs, message, XLA_FFI_Error_Create_Args, message)
SAME(ErrorCreateArgs, code, XLA_FFI_Error_Create_Args, errc)
HEAD(StreamGetArgs, XLA_FFI_Stream_Get_Args)
SAME(StreamGetArgs, context, XLA_FFI_Stream_Get_Args, ctx)
SAME(StreamGetArgs, stream, XLA_FFI_Stream_Get_Args, stream)
HEAD(Api, XLA_FFI_Api)
SAME(Api, version, XLA_FFI_Api, api_version)
SAME(Api, createError, XLA_FFI_Api, XLA_FFI_Error_Create)
SAME(Api, getStream, XLA_FFI_Api, XLA_FFI_Stream_Get)
EQUAL(kPred, DataType_PRED) EQUAL(kS8, DataType_S8) EQUAL(kS16, DataType_S16)
EQUAL(kS32, DataType_S32) EQUAL(kS64, DataType_S64) EQUAL(kF16, DataType_F16)
EQUAL(kF32, DataType_F32) EQUAL(kF64, DataType_F64) EQUAL(kBF16, DataType_BF16)
HEAD(Buffer, XLA_FFI_Buffer)
SAME(Buffer, dtype, XLA_FFI_Buffer, dtype)
SAME(Buffer, data, XLA_FFI_Buffer, data)
SAME(Buffer, rank, XLA_FFI_Buffer, rank)
SAME(Buffer, dims, XLA_FFI_Buffer, dims)
EQUAL(kBufferType, ArgType_BUFFER) EQUAL(kBufferType, RetType_BUFFER)
HEAD(Buffers, XLA_FFI_Args) HEAD(Buffers, XLA_FFI_Rets)
SAME(Buffers, size, XLA_FFI_Args, size) SAME(Buffers, size, XLA_FFI_Rets, size)
SAME(Buffers, types, XLA_FFI_Args, types) SAME(Buffers, types, XLA_FFI_Rets, types)
SAME(Buffers, items, XLA_FFI_Args, args) SAME(Buffers, items, XLA_FFI_Rets, rets)
SAME(Bytes, data, XLA_FFI_ByteSpan, ptr) SAME(Bytes, size, XLA_FFI_ByteSpan, len)
HEAD(Attributes, XLA_FFI_Attrs)
SAME(Attributes, size, XLA_FFI_Attrs, size)
SAME(Attributes, types, XLA_FFI_Attrs, types)
SAME(Attributes, names, XLA_FFI_Attrs, names)
SAME(Attributes, values, XLA_FFI_Attrs, attrs)
EQUAL(kStringType, AttrType_STRING)
HEAD(CallFrame, XLA_FFI_CallFrame)
SAME(CallFrame, api, XLA_FFI_CallFrame, api)
SAME(CallFrame, context, XLA_FFI_CallFrame, ctx)
SAME(CallFrame, stage, XLA_FFI_CallFrame, stage)
SAME(CallFrame, operands, XLA_FFI_CallFrame, args)
SAME(CallFrame, results, XLA_FFI_CallFrame, rets)
SAME(CallFrame, attributes, XLA_FFI_CallFrame, attrs)
"""


class Errors(Case):
    def setUp(self):
        super().setUp()
        self.q, self.k, self.v = qkv(1, 2, 9, 8)

    def fails(self, kind, text, *functions, **options):
        with self.assertRaisesRegex(kind, text):
            jax.block_until_ready(
                flex_attention(self.q, self.k, self.v, *functions, **options)
            )

    def test_arguments(self):
        def fails(text, *tensors, **options):
            with self.assertRaisesRegex(attn.InvalidArgument, text):
                flex_attention(*tensors, **options)
            with self.assertRaisesRegex(ValueError, text):
                jax.jit(lambda *x: flex_attention(*x, **options))(*tensors)

        q, k, v = self.q, self.k, self.v
        fails(r"query of float64, .*, but got int32", q.astype("int32"), k, v)
        fails("of one dtype, but got float32, float16 and float32", q, k.astype("float16"), v)
        fails(r"query of \[batch, heads, .*shape \(2, 9, 8\)", q[0], k, v)
        fails("as many heads of key", q, k[:, :1], v[:, :1])
        fails("a multiple of the heads", q[:, :1], k, v, enable_gqa=True)
        fails("that fit together", q[..., :4], k, v)
        fails("that fit together", q, k, v[:, :, :4])
        fails("a batch of key of 1 or 1, but got 2", q, *[jnp.repeat(x, 2, 0) for x in (k, v)])
        fails("options among bounds_check, .*'speed'", q, k, v, options={"speed": 9})
        fails("opt_level to be of int, but got 'x'", q, k, v, options={"opt_level": "x"})
        fails("options to be a dictionary, but got int", q, k, v, options=3)
        fails("scale to be a finite number", q, k, v, scale=float("inf"))
        fails("scale to be a finite number in f32", q, k, v, scale=1e300)
        fails("head dimensions of 1 or more", q[..., :0], k[..., :0], v)
        with self.assertRaisesRegex(attn.InvalidArgument, "multiply query"):
            jax.jit(lambda q, x: flex_attention(q, k, v, scale=x))(q, 0.5)

    def test_functions(self):
        flags, words = jnp.arange(9) > 4, jnp.arange(9, dtype="uint32")
        keys = jax.random.split(jax.random.key(0), 9)

        def branches(b, h, q_idx, kv_idx):
            if flags[q_idx]:
                return kv_idx < 3
            return kv_idx > 3

        self.fails(attn.TraceError, r"test_jax_calls.py:\d+: a branch depends", None, branches)
        # It says so in a function that JAX traces, too.
        with self.assertRaisesRegex(attn.TraceError, "a branch depends"):
            jax.jit(lambda q: flex_attention(q, q, q, mask_mod=branches))(self.q)
        hidden = types.ModuleType("hidden")
        hidden.table = jnp.ones(9)

        def inside(s, *_):
            import jax.numpy as within

            return within.tanh(s)

        text = r"test_jax_calls.py:\d+: JAX takes no traced value here"
        self.fails(attn.TraceError, text, inside)
        if jax.__version_info__ >= (0, 10):  # others do not say what is wrong
            self.fails(attn.TraceError, text, lambda s, b, h, i, j: s + hidden.table[i])
        self.fails(attn.TraceError, "got uint32", lambda s, b, h, i, j: s + words[i])
        self.fails(attn.TraceError, "dtype key", lambda s, b, h, i, j: s + keys[i])
        self.fails(attn.TraceError, "jax.numpy.cumsum has no", lambda s, *_: jnp.cumsum(s))
        self.fails(attn.TraceError, "jax.lax.erf_inv has no", lambda s, *_: jax.lax.erf_inv(s))
        self.fails(
            attn.TraceError,
            "jax.nn.sparse_sigmoid has no lowering; there are hard_sigmoid, ",
            lambda s, *_: jax.nn.sparse_sigmoid(s),
        )
        self.fails(
            attn.TraceError,
            "jax.lax.stop_gradient has no lowering: call it in front",
            lambda s, *_: s + jax.lax.stop_gradient(s),
        )
        self.fails(
            attn.TraceError,
            "jax.random.uniform has no lowering: a program has no random",
            lambda s, b, h, i, j: jax.random.uniform(i),
        )
        self.fails(attn.TraceError, "no bool|return a bool", None, lambda b, h, i, j: i)

    def test_calls(self):
        short = jnp.ones(1)
        self.fails(
            jax.errors.JaxRuntimeError,
            "INVALID_ARGUMENT: attn: .*to have extent 2 or more, as this is read, but got 1",
            lambda s, b, h, i, j: s + short[h],
        )
        self.fails(
            jax.errors.JaxRuntimeError,
            "OUT_OF_RANGE: attn: ",
            lambda s, b, h, i, j: s + short[i - j],
            options={"bounds_check": True, "deterministic": False, "opt_level": 0},
        )
        self.fails(
            jax.errors.JaxRuntimeError,
            "INVALID_ARGUMENT: attn: .*processor|INVALID_ARGUMENT: attn: .*target",
            options={"processor": "abacus"},
        )

    def test_handler(self):
        """What XLA can be made to call it with."""
        flex_attention(self.q, self.k, self.v)
        result = jax.ShapeDtypeStruct(self.q.shape, self.q.dtype)
        text = attn.trace.trace(None, causal).to_mlir(attn.trace.Variant(dim=8))
        good = {"program": text, "numbers": "", "options": "opt_level=0", "wrt": ""}
        q = self.q

        def call(*operands, **attributes):
            function = jax.ffi.ffi_call("attn", result, vmap_method="sequential")
            return jax.block_until_ready(function(*operands, **good | attributes))

        self.same(call(q, q, q), flex_attention(q, q, q, mask_mod=causal))
        for operands, attributes, expected in (
            ((q, q), {}, "expects more operands than 2"),
            ((q, q, q, q), {}, "expects 3 operands, but got 4"),
            ((q, q, q), {"numbers": "0" * 16}, "expects 3 operands"),
            ((q, q, q), {"wrt": "zebra,"}, "zebra"),
            ((q, q, q), {"program": "func.func @f() {"}, "error: "),
            ((q, q, q), {"options": "speed=9"}, "but got 'speed=9'"),
            ((q, q, q), {"other": "x"}, "but got 'other'"),
            ((q, q, q), {"numbers": numpy.int32(3)}, "'numbers' to be a string"),
            ((q, q, q.astype("uint8")), {}, "XLA's type 6"),
            ((q, q, q.astype("float64")), {}, "f64"),
        ):
            with self.subTest(expected):
                with self.assertRaisesRegex(jax.errors.JaxRuntimeError, expected):
                    call(*operands, **attributes)

    def test_numbers(self):
        """Of each type, from the memory of the host."""
        for value, factor in ((3, 0.5), (-(2**40), -1.25e-30), (2**62, 7.0)):
            for flag in True, False:
                found = flex_attention(
                    *(self.q, self.k, self.v),
                    lambda s, b, h, i, j: jnp.where(flag, s * factor, s),
                    lambda b, h, i, j: j < value,
                )
                few = min(max(value, 0), 9)
                expected = flex_attention(
                    self.q * jnp.float32(factor if flag else 1),
                    self.k[:, :, :few],
                    self.v[:, :, :few],
                )
                self.close(found, expected, 1e-5)

    @unittest.skipIf(shutil.which("g++") is None, "needs g++")
    def test_layout(self):
        """The part of XLA's ABI that is written down here."""
        command = ["g++", "-std=c++17", "-fsyntax-only", "-Wno-invalid-offsetof"]
        command += [f"-I{ROOT}/lib/CAPI", f"-I{jax.ffi.include_dir()}", "-x", "c++", "-"]
        done = subprocess.run(command, input=LAYOUT, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


class Calls(Case):
    def test_kernels_are_forgotten(self):
        q, k, v = qkv(1, 2, 9, 8)
        call = jax.jit(lambda q: flex_attention(q, k, v))
        expected = call(q)
        attn.clear_cache()
        self.same(call(q), expected)

    def test_for_a_gpu(self):
        """One call is for all platforms."""
        q, k, v = qkv(1, 2, 9, 8)
        call = jax.jit(jax.grad(squares(lambda q: flex_attention(q, k, v))))
        for platform in "cpu", "cuda":
            text = call.trace(q).lower(lowering_platforms=(platform,)).as_text()
            self.assertEqual(text.count("stablehlo.custom_call @attn("), 2)

    def test_export(self):
        q, k, v = qkv(1, 2, 9, 8)
        call = jax.jit(lambda q: flex_attention(q, k, v, mask_mod=causal))
        check = jax.export.DisabledSafetyCheck.custom_call("attn")
        exported = jax.export.export(call, disabled_checks=[check])(q)
        self.same(exported.call(q), call(q))

    def test_dot_product_attention(self):
        q, k, v = (x.swapaxes(1, 2) for x in qkv(2, 4, 17, 8, kv_heads=2, keys=12))
        keys = iter(jax.random.split(jax.random.key(3), 4))
        bias = jax.random.normal(next(keys), (1, 4, 17, 12), "float32")
        mask = jax.random.bernoulli(next(keys), 0.5, (2, 1, 1, 12)).at[..., 0].set(True)
        lengths = {
            "query_seq_lengths": jnp.array([17, 5], "int32"),
            "key_value_seq_lengths": jnp.array([3, 12], "int32"),
        }
        for options in (
            {},
            {"bias": bias, "is_causal": True, "return_residual": True},
            {"bias": bias[:, :1, :, :1], "mask": mask, "scale": 0.3},
            {**lengths},
            # Rows without a key are another thing.
            {"local_window_size": (8, 2), "is_causal": True},
            # Before 0.10, JAX needs another mask for a window to count.
            {"local_window_size": (9, 9), "mask": jnp.ones((1, 1, 1, 1), bool)},
        ):
            with self.subTest(options.keys()):
                found = jax.jit(lambda *x: dot_product_attention(*x, **options))(q, k, v)
                expected = jax.nn.dot_product_attention(q, k, v, **options)
                self.close(found, expected, 2e-5)
                self.assertEqual(
                    [x.dtype for x in jax.tree.leaves(found)],
                    [x.dtype for x in jax.tree.leaves(expected)],
                )
        found, expected = (
            jax.jit(
                jax.grad(
                    squares(lambda *x: f(*x, is_causal=True)), (0, 1, 2, 3)
                )
            )(q, k, v, bias)
            for f in (dot_product_attention, jax.nn.dot_product_attention)
        )
        self.close(found, expected, 1e-4)
        self.same(
            dot_product_attention(q, k, v, local_window_size=9),
            dot_product_attention(q, k, v, local_window_size=(9, 9)),
        )
        self.same(
            dot_product_attention(q[0], k[0], v[0]), dot_product_attention(q, k, v)[0]
        )
        for text, options in (
            ("bias to broadcast to", {"bias": bias[:, :3]}),
            ("mask of bool", {"mask": bias}),
            ("lengths of int32", {"query_seq_lengths": jnp.ones(2)}),
            ("jax.nn.dot_product_attention has others", {"implementation": "xla"}),
        ):
            with self.assertRaisesRegex(attn.InvalidArgument, text):
                dot_product_attention(q, k, v, **options)
        with self.assertRaisesRegex(attn.InvalidArgument, "as many batches"):
            dot_product_attention(q, k[:1], v[:1])
        with self.assertRaisesRegex(attn.InvalidArgument, "without the batch"):
            dot_product_attention(q, k[0], v[0])

    def test_names(self):
        self.assertEqual(set(ours.__all__) - set(dir(ours)), set())
        both = ours.and_masks(causal, lambda b, h, i, j: i - j < 3)
        q, k, v = qkv(1, 2, 9, 8)
        window = lambda b, h, i, j: (i >= j) & (i - j < 3)
        self.same(
            flex_attention(q, k, v, mask_mod=both),
            flex_attention(q, k, v, mask_mod=window),
        )


if __name__ == "__main__":
    unittest.main()
