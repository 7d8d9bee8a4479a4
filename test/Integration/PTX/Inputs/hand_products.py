"""Tests products of matrices, and what else works on registers of several
threads, on kernels that are written by hand."""

import unittest

import numpy

import matrices
import operations
import ptx
import tensors
from by_hand import BlockTest


class ProductTest(BlockTest):
    """Products of a warpgroup, of operands that threads have stored."""

    STORE = """mov.b32 %r3, 0;
      $fill: shl.b32 %r4, %r3, 9; cvt.u64.u32 %rd5, %r4; add.s64 %rd6, %rd4, %rd5;
      ld.global.b32 %r5, [%rd6]; add.s32 %r6, %r93, %r4; st.shared.b32 [%r6], %r5;
      add.s32 %r3, %r3, 1; setp.lt.s32 %p4, %r3, 16; @%p4 bra $fill;
      fence.proxy.async; bar.sync 0;
    """
    RESULTS = "".join(f"%r{n}, " for n in range(20, 36))[:-2]
    PUT = """mul.wide.u32 %rd7, %r0, 64; add.s64 %rd7, %rd7, %rd1;""" + "".join(
        f"st.global.b32 [%rd7+{4 * n}], %r{20 + n};" for n in range(16)
    )

    def product(
        self,
        left="%rd8",
        scale="p",
        transposes="0, 0",
        signs="1, 1",
        fence="wgmma.fence.sync.aligned;",
        end=None,
        b=4096,
        bits=None,
    ):
        layout = 1 << 62 | 64 << 32 | 1 << 16
        bits = layout if bits is None else bits
        if end is None:
            end = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        zero = "".join(f"mov.b32 %r{n}, 0f3F800000;" for n in range(20, 36))
        return f"""{zero} mov.b64 %rd8, {bits}; mov.b64 %rd9, {layout | b >> 4};
          {{ .reg .pred p; setp.eq.s32 p, 0, {int(scale == "p")}; {fence}
          wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {{{self.RESULTS}}},
            {left}, %rd9, p, {signs}, {transposes}; }} {end}"""

    @staticmethod
    def operands(a_rows=64):
        """8 KiB of bf16: rows of 64 elements, swizzled."""
        draw = numpy.random.default_rng(1)
        return draw.integers(-3, 4, (64, 64)).astype(numpy.float32)

    @classmethod
    def shared_bytes(cls):
        values = operations.to_bf16(cls.operands()).reshape(-1)
        place = numpy.arange(4096) * 2
        out = numpy.zeros(4096, numpy.uint16)
        out[tensors.swizzle(place, 128) // 2] = values
        return out.view(numpy.uint32)

    @staticmethod
    def fragments(results):
        """Of 64 rows of 32 columns, what each thread has."""
        row, thread = numpy.arange(128), numpy.arange(128) % 32
        out = numpy.zeros((128, 16), numpy.float32)
        for n in range(16):
            rows = row // 32 * 16 + thread // 4 + 8 * (n // 2 % 2)
            columns = n // 4 * 8 + thread % 4 * 2 + n % 2
            out[:, n] = results[rows, columns]
        return out.reshape(-1)

    def check(self, body, results):
        self.expect(
            self.STORE + body + self.PUT,
            self.fragments(results),
            "f4",
            threads=128,
            inputs=self.shared_bytes(),
            outputs=8192,
        )

    def test_layouts(self):
        x = self.operands()
        a, b = x[:, :16], x[32:, :16]
        self.check(self.product(), a @ b.T)
        self.check(self.product(scale="one"), a @ b.T + 1)
        self.check(self.product(signs="-1, 1"), -(a @ b.T))
        # Of a factor that is transposed, rows are the sum's dimension.
        self.check(self.product(transposes="0, 1"), a @ x[32:48, :32])
        self.check(self.product(transposes="1, 0"), x[:16].T @ b.T)
        self.check(self.product(transposes="1, 1"), x[:16].T @ x[32:48, :32])
        # 16 further on in the sum.
        bits = (1 << 62 | 64 << 32 | 1 << 16) + 2
        self.check(self.product(bits=bits), x[:, 16:32] @ b.T)

    def test_registers(self):
        # Rows of a warp are the lanes' numbers divided by 4.
        fragment = """and.b32 %r40, %r90, 3; setp.eq.s32 %p5, %r40, 0;
          selp.b32 %r41, 0x3F80, 0, %p5; mov.b32 %r42, 0; mov.b32 %r43, %r41;
          mov.b32 %r44, 0;"""
        x = self.operands()
        expected = numpy.zeros((64, 32), numpy.float32)
        a = numpy.zeros((64, 16), numpy.float32)
        a[:, 0] = 1 * (numpy.arange(64) % 16 < 8)
        a[:, 8] = 1 * (numpy.arange(64) % 16 < 8)
        expected = a @ x[32:, :16].T
        product = self.product("{%r41, %r42, %r43, %r44}", transposes="0")
        self.check(fragment + product, expected)
        self.expect_error(
            "%r41 is a factor of a product under way: mov.b32 %r41, 0",
            self.STORE
            + fragment
            + product.replace("wgmma.wait", "mov.b32 %r41, 0; wgmma.wait"),
            threads=128,
            inputs=self.shared_bytes(),
        )

    def test_errors(self):
        def expect(message, body):
            self.expect_error(
                message, body, threads=128, inputs=self.shared_bytes(), outputs=8192
            )

        body = self.STORE + self.product()
        wait_ = "wgmma.wait_group.sync.aligned 0;"
        expect(
            "%r20 is a result of a product under way",
            body.replace(wait_, "") + self.PUT,
        )
        expect(
            "%r20 is a result",
            body.replace(wait_, wait_.replace("0;", "1;")) + self.PUT,
        )
        expect("ends before its products", body.replace(wait_, ""))
        expect("used without a wgmma.fence", self.STORE + self.product(fence=""))
        expect("race: .*fenced from", body.replace("fence.proxy.async;", ""))
        expect("nobody wrote|race: reads", body.replace("bar.sync 0;", ""))
        expect("that nobody wrote", self.STORE + self.product(b=16384))
        store = "st.shared.b32 [%r93], %r0;"
        expect(
            "race: writes .* a product of warp",
            body.replace(wait_, "bar.sync 0;" + store + wait_),
        )
        expect(
            "make different products",
            body.replace("mov.b64 %rd9", "@!%p2 add.s64 %rd8, %rd8, 2; mov.b64 %rd9"),
        )
        expect(
            "deadlock|wait for others",
            body.replace("{ .reg", "@%p2 bra $out; { .reg") + "ret; $out: bar.sync 0;",
        )


class MatrixTest(BlockTest):
    def test_moves(self):
        # Each thread has the row of its number, of 16 bytes.
        x = numpy.arange(256, dtype="u2").reshape(4, 8, 8)
        rows = "mad.lo.s32 %r2, %r90, 16, attn_shared;"
        rows = "mov.b32 %r2, attn_shared; mad.lo.s32 %r2, %r90, 16, %r2;"
        fill = """shl.b32 %r3, %r90, 3; mov.b32 %r4, 0x10000;
          mad.lo.s32 %r5, %r3, 0x10001, %r4; add.s32 %r6, %r5, 0x20002;
          add.s32 %r7, %r6, 0x20002; add.s32 %r8, %r7, 0x20002;
          st.shared.v4.b32 [%r2], {%r5, %r6, %r7, %r8}; bar.warp.sync -1;"""
        load = "ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 {{%r10, %r11, %r12, %r13}}, [%r2];"
        put = """mul.wide.u32 %rd7, %r0, 16; add.s64 %rd7, %rd7, %rd1;
          st.global.v4.b32 [%rd7], {%r10, %r11, %r12, %r13};"""
        for trans, values in [("", x), (".trans", x.transpose(0, 2, 1))]:
            expected = numpy.ascontiguousarray(values).view("u4").reshape(4, 32).T
            self.expect(
                rows + fill + load.format(trans) + put,
                expected.reshape(-1),
                threads=32,
                outputs=512,
            )
        store = "stmatrix.sync.aligned.m8n8.x4{}.shared.b16 [%r2], {{%r10, %r11, %r12, %r13}};"
        back = "ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r2];"
        both = rows + fill + load.format("") + "bar.warp.sync -1;"
        for trans, values in [("", x), (".trans", x.transpose(0, 2, 1))]:
            self.expect(
                both + store.format(trans) + back + put,
                numpy.ascontiguousarray(values).view("u4").reshape(-1),
                threads=32,
                outputs=512,
            )
        move = "".join(
            f"movmatrix.sync.aligned.m8n8.trans.b16 %r{n}, %r{n};"
            for n in range(10, 14)
        )
        self.expect(
            rows + fill + load.format("") + move + put,
            numpy.ascontiguousarray(x.transpose(0, 2, 1))
            .view("u4")
            .reshape(4, 32)
            .T.reshape(-1),
            threads=32,
            outputs=512,
        )

    def test_sums(self):
        self.expect(
            """and.b32 %r1, %r0, 1; mul.wide.u32 %rd5, %r1, 16; add.s64 %rd5, %rd5, %rd1;
               mov.b32 %r2, 0f3F800000; mov.b32 %r3, 0f40000000;
               red.global.add.v4.f32 [%rd5], {%r2, %r3, %r2, %r3};
               red.global.add.f32 [%rd1+32], %r2;""",
            numpy.array([32, 64] * 4 + [64], "f4"),
            "f4",
            outputs=36,
        )

    def test_elect(self):
        self.expect(
            """elect.sync %r1|%p4, -1; mov.b32 %r2, 0; @%p4 mov.b32 %r2, 5;
               st.global.b32 [%rd3], %r2;""",
            numpy.where(numpy.arange(64) % 32 == 0, 5, 0),
        )

    def test_descriptors(self):
        # Without a swizzle: matrices of 8 rows of 16 bytes.
        one = matrices.Descriptor(128 >> 4 << 16 | 256 >> 4 << 32)
        rows = numpy.arange(16)
        place = one.places(rows, False)
        self.assertEqual(place[9, 3], 256 + 16 + 6)
        self.assertEqual(place[1, 9], 128 + 16 + 2)
        with self.assertRaisesRegex(ptx.PtxError, "base offset"):
            matrices.Descriptor(1 << 49)


if __name__ == "__main__":
    unittest.main()
