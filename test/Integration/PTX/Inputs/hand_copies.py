"""Tests copies in the background on kernels that are written by hand."""

import unittest

import numpy

import ptx
from by_hand import BlockTest, Case, init, wait


class CopyTest(BlockTest):
    MAP = dict(itemsize=4, extents=(8, 20), strides=(4, 32), box=(8, 16), width=0)
    COPY = """
      @!%p0 bra $copied;
      mbarrier.arrive.expect_tx.shared.b64 _, [attn_shared+8192], {bytes};
      mov.b32 %r1, {column}; mov.b32 %r2, {row};
      cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [attn_shared+1024], [%rd0, {{%r1, %r2}}], [attn_shared+8192];
      $copied:
    """
    LOAD = "ld.shared.b32 %r3, [%r93+1024]; st.global.b32 [%rd3], %r3;"

    def copy(self, column=0, row=0, bytes_=512):
        return init(1) + self.COPY.format(column=column, row=row, bytes=bytes_)

    def test_boxes(self):
        source = numpy.arange(1024, dtype="u4")[:160].reshape(20, 8)
        for column, row in [(0, 0), (0, 12), (-3, -2), (5, 1), (0, 30), (0, -16)]:
            expected = numpy.zeros((16, 8), "u4")
            for n in range(16):
                for m in range(8):
                    if 0 <= n + row < 20 and 0 <= m + column < 8:
                        expected[n, m] = source[n + row, m + column]
            self.expect(
                self.copy(column, row) + wait() + self.LOAD,
                expected.reshape(-1),
                threads=128,
                map_=self.MAP,
            )

    def test_swizzles(self):
        for width in 128, 64, 32:
            columns = width // 4
            rows = 1024 // width
            map_ = dict(
                itemsize=4,
                extents=(columns, rows),
                strides=(4, width),
                box=(columns, rows),
                width=width,
            )
            place = numpy.arange(256) * 4
            rows_of_128 = place // 128
            xor = rows_of_128 % (width // 16) << 4
            expected = numpy.zeros(256, "u4")
            expected[(place ^ xor) // 4] = numpy.arange(256)
            self.expect(
                self.copy(bytes_=1024) + wait() + self.LOAD,
                expected,
                threads=256,
                map_=map_,
            )

    def test_errors(self):
        full = self.copy() + wait() + self.LOAD
        options = dict(threads=128, map_=self.MAP)

        def expect(message, body):
            self.expect_error(message, body, **options)

        expect("nobody wrote|race", self.copy() + self.LOAD)
        expect("lacks 0 of 1 arrivals and 16 bytes", full.replace("512", "528"))
        expect("gets 12 bytes more", full.replace("512", "500"))
        expect(
            "has not been fenced",
            full.replace("fence.mbarrier_init.release.cluster;", ""),
        )
        expect(
            "not in shared memory",
            full.replace("attn_shared+1024]", "attn_shared+65536]"),
        )
        expect(
            "at a multiple of 128",
            full.replace("attn_shared+1024]", "attn_shared+1040]"),
        )
        expect("address of a tensor map", full.replace("%rd0,", "%rd1,"))
        expect("while a copy .* is under way|expects 512 bytes", self.copy())
        # It may come before what is written before it, or while it is read.
        write = "st.shared.b32 [%r93+1024], %r0;"
        rest = self.copy().replace(init(1), "") + wait()
        expect("race: writes", init(1) + write + rest)
        expect("race: .*fenced from", init(1) + write + "bar.sync 0;" + rest)
        with self.assertRaisesRegex(ptx.PtxError, "strides of 16 bytes, not 20"):
            Case("", map_={**self.MAP, "strides": (4, 20)})

    STORE = """
      st.shared.b32 [%r93+1024], %r0; {fence} bar.sync 0;
      @!%p0 bra $stored; mov.b32 %r1, 0; mov.b32 %r2, {row};
      cp.{kind}.bulk.tensor.2d.global.shared::cta{add}.tile.bulk_group [%rd0, {{%r1, %r2}}], [attn_shared+1024];
      cp.async.bulk.commit_group; {wait}
      $stored:
    """

    def store(
        self,
        row=0,
        fence="fence.proxy.async.shared::cta;",
        kind="async",
        add="",
        wait="cp.async.bulk.wait_group 0;",
    ):
        return self.STORE.format(row=row, fence=fence, kind=kind, add=add, wait=wait)

    def test_stores(self):
        options = dict(threads=128, outputs=640)
        map_ = {**self.MAP, "of": "results"}
        expected = numpy.zeros(160, "u4")
        expected[:128] = numpy.arange(128)
        self.expect(self.store(), expected, map_=map_, **options)
        expected[:] = 0
        expected[96:] = numpy.arange(64)
        self.expect(self.store(12), expected, map_=map_, **options)

        def expect(message, body):
            self.expect_error(message, body, map_=map_, **options)

        expect("race: .*fenced from", self.store(fence=""))
        expect("ends before its bulk stores", self.store(wait=""))
        write = "st.shared.b32 [%r93+1024], %r0;"
        expect(
            "race: writes .* a bulk store of warp 0",
            self.store(wait="") + "bar.sync 0;" + write,
        )
        self.expect_error("writes to inputs", self.store(), threads=128, map_=self.MAP)

    def test_sums(self):
        body = self.store(kind="reduce.async", add=".add").replace("%r0;", "%r10;")
        body = "mov.b32 %r10, 0f40000000;" + body
        self.expect(
            body.replace("$stored", "$a")
            + "bar.sync 0;"
            + body.replace("$stored", "$b"),
            numpy.repeat([4.0, 0.0], [128, 32]),
            "f4",
            threads=128,
            outputs=640,
            map_={**self.MAP, "of": "results"},
        )

    def test_bulk(self):
        load = """@!%p0 bra $copied;
          mbarrier.arrive.expect_tx.shared.b64 _, [attn_shared+8192], 256;
          cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [attn_shared+1024], [%rd2+64], 256, [attn_shared+8192];
          $copied:"""
        self.expect(init(1) + load + wait() + self.LOAD, numpy.arange(16, 80))
        store = """st.shared.b32 [%r93+1024], %r10;
          fence.proxy.async; bar.sync 0; @!%p0 bra $stored;
          cp.{}.bulk.global.shared::cta.bulk_group{} [%rd1], [attn_shared+1024], 256;
          cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; $stored:"""
        number = "mov.b32 %r10, %r0;"
        self.expect(number + store.format("async", ""), numpy.arange(64), outputs=256)
        number = "cvt.rn.f32.u32 %r10, %r0;"
        self.expect(
            number + store.format("reduce.async", ".add.f32"),
            numpy.arange(64.0),
            "f4",
            outputs=256,
        )
        self.expect_error(
            "multiple of 16", (init(1) + load + wait()).replace("256", "260")
        )

    def test_threads(self):
        copy = """mov.b32 %r5, 4; cp.async.ca.shared.global [%r93+1024], [%rd4], 4, %r5;
          cp.async.commit_group; """
        wait_ = "cp.async.wait_group 0; bar.sync 0;"
        self.expect(copy + wait_ + self.LOAD, numpy.arange(64))
        self.expect(
            copy.replace("%r5, 4", "%r5, 0") + wait_ + self.LOAD, numpy.zeros(64)
        )
        self.expect_error("race: .*a cp.async of", copy + "bar.sync 0;" + self.LOAD)
        self.expect_error("ends before its copies", copy)
        arrive = "cp.async.mbarrier.arrive.noinc.shared.b64 [attn_shared+8192];"
        self.expect(init(64) + copy + arrive + wait() + self.LOAD, numpy.arange(64))


if __name__ == "__main__":
    unittest.main()
