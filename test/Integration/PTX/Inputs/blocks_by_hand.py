"""Tests the execution of thread blocks on kernels that are written by hand."""

import unittest

import numpy

import block
import matrices
import memory as memories
import operations
import ptx
import shared
import steps
import tensors

_SHARED = 65536
_KERNEL = """
.visible .entry kernel(
  .param .align 64 .b8 kernel_param_0[128],
  .param .u64 .ptr .global .align 1 kernel_param_1,
  .param .u64 .ptr .global .align 1 kernel_param_2
)
.maxntid %d
{
  .reg .pred %%p<9>;
  .reg .b16 %%rs<9>;
  .reg .b32 %%r<99>;
  .reg .f32 %%f<99>;
  .reg .b64 %%rd<19>;
  mov.u32 %%r0, %%tid.x;
  and.b32 %%r90, %%r0, 31;
  shr.u32 %%r91, %%r0, 5;
  setp.eq.s32 %%p0, %%r0, 0;
  setp.eq.s32 %%p1, %%r90, 0;
  setp.eq.s32 %%p2, %%r91, 0;
  setp.eq.s32 %%p3, %%r91, 1;
  mov.b64 %%rd0, kernel_param_0;
  ld.param.b64 %%rd1, [kernel_param_1];   // The results, and
  ld.param.b64 %%rd2, [kernel_param_2];   // what there is to read.
  mul.wide.u32 %%rd3, %%r0, 4;
  add.s64 %%rd3, %%rd3, %%rd1;
  mul.wide.u32 %%rd4, %%r0, 4;
  add.s64 %%rd4, %%rd4, %%rd2;
  shl.b32 %%r92, %%r0, 2;
  mov.b32 %%r93, attn_shared;
  add.s32 %%r93, %%r93, %%r92;            // Four bytes of a thread.
  %s
  ret;
}
"""
# A wait for phase 0.
_WAIT = """{ .reg .pred done; AGAIN:
  mbarrier.try_wait.parity.shared.b64 done, [attn_shared+%d], %d, 9999;
  @done bra.uni DONE; bra.uni AGAIN; DONE: }
"""
_INIT = """@!%p0 bra $ready;
  mbarrier.init.shared.b64 [attn_shared+8192], {};
  fence.mbarrier_init.release.cluster;
  $ready: bar.sync 0;
"""


def wait(parity=0, barrier=8192):
    return _WAIT % (barrier, parity)


def init(count):
    return _INIT.format(count)


class Case:
    """A run of a thread block, with what it has written."""

    def __init__(
        self, body, threads=64, inputs=None, map_=None, outputs=None, seed=0, late=1.0
    ):
        entry = ptx.parse(_KERNEL % (threads, body), "kernel")
        memory = memories.Memory()
        inputs = numpy.arange(1024, dtype="u4") if inputs is None else inputs
        source = memory.add("inputs", "global", inputs.nbytes)
        source.fill(inputs)
        results = memory.add("results", "global", outputs or 4 * threads)
        results.writable[:] = True
        results.defined[:] = outputs is not None
        symbols = {"attn_shared": shared.BASE}
        for (name, size), value in zip(
            entry.parameters, (None, results.base, source.base)
        ):
            region = memory.add(name, "param", size)
            symbols[name] = region.base
            if value is not None:
                region.fill(numpy.array([value], numpy.uint64))
        maps = {}
        if map_:
            map_ = dict(map_)
            region = {"inputs": source, "results": results}[map_.pop("of", "inputs")]
            maps[symbols["kernel_param_0"]] = tensors.TensorMap(region, **map_)
        draw = numpy.random.default_rng(seed)
        code = steps.Code(entry, symbols)
        one = block.ThreadBlock(
            code, memory, maps, _SHARED, (0, 1), draw=draw, late=late, pool=[]
        )
        with numpy.errstate(all="ignore"):
            while one.run():
                pass
        self.results = results


class BlockTest(unittest.TestCase):
    def expect(self, body, expected, dtype="u4", **options):
        """Of every order in which warps run."""
        for seed in range(4):
            case = Case(body, seed=seed, late=(1.0, 0.5)[seed % 2], **options)
            got = case.results.values(numpy.dtype(dtype), -1)
            numpy.testing.assert_array_equal(got, expected)

    def errors(self, body, orders=8, **options):
        """Of each order in which there is one."""
        for seed in range(orders):
            try:
                Case(body, seed=seed, late=(1.0, 0.0)[seed % 2], **options)
            except ptx.PtxError as error:
                yield str(error)

    def expect_error(self, message, body, **options):
        """The first one."""
        self.assertRegex(next(self.errors(body, **options), "no error"), message)


# Each thread writes a number, which one of the other warp reads.
_WRITE = "@%p2 st.shared.b32 [%r93+4096], %r0;"
_READ = """xor.b32 %r94, %r92, 128;
  mov.b32 %r95, attn_shared;
  add.s32 %r95, %r95, %r94;
  @%p3 ld.shared.b32 %r1, [%r95+4096];
  @%p2 mov.b32 %r1, 7;
  st.global.b32 [%rd3], %r1;
"""
_READ_RESULT = numpy.concatenate([numpy.full(32, 7), numpy.arange(32)])


class BarrierTest(BlockTest):
    def test_all_threads(self):
        self.expect(f"{_WRITE} bar.sync 0; {_READ}", _READ_RESULT)
        self.expect_error("race: reads .* warp 0|nobody wrote", _WRITE + _READ)

    def test_named(self):
        arrive = "@%p3 bra $other; {} bar.arrive 3, 64; bra.uni $all;"
        rest = "$other: bar.sync 3, 64; $all:" + _READ
        self.expect(arrive.format(_WRITE) + rest, _READ_RESULT)
        # What is written after an arrival is not ordered.
        self.expect_error(
            "race: |nobody wrote",
            arrive.format("").replace("64;", "64; " + _WRITE) + rest,
        )
        self.expect_error(
            r"used with 64 threads and with 96",
            arrive.format(_WRITE).replace("64", "96") + rest,
        )
        self.expect_error(
            r"deadlock: warp 1 is at bar.sync 3, 64; barrier 3 has only warps \[1\]",
            "@%p2 bra $all;" + rest,
        )
        self.expect_error("arrives twice", "bar.arrive 1, 96; bar.arrive 1, 96;")
        self.expect_error("there is no barrier 16", "bar.sync 16, 64;")
        self.expect_error("threads of a warp differ", "bar.sync %r90, 64;")

    def test_phases(self):
        # Messages through one place: the reader says when it has read.
        body = (
            init(32)
            + """
          @!%p0 bra $second; mbarrier.init.shared.b64 [attn_shared+8200], 32;
          $second: bar.sync 0;
          mov.b32 %r2, 0; mov.b32 %r1, 0;
          $next: and.b32 %r3, %r2, 1; xor.b32 %r4, %r3, 1;
          @%p3 bra $reader;
        """
            + _WAIT.replace("%d], %d", "8200], %%r4") % ()
            + """
          mad.lo.s32 %r5, %r2, 100, %r0;
          st.shared.b32 [%r93+4096], %r5;
          mbarrier.arrive.shared::cta.b64 _, [attn_shared+8192];
          bra.uni $same;
          $reader:
        """
            + _WAIT.replace("%d], %d", "8192], %%r3") % ()
            + """
          ld.shared.b32 %r5, [%r93+3968];
          add.s32 %r1, %r1, %r5;
          mbarrier.arrive.shared::cta.b64 _, [attn_shared+8200];
          $same: add.s32 %r2, %r2, 1; setp.lt.s32 %p4, %r2, 5;
          @%p4 bra $next;
          st.global.b32 [%rd3], %r1;"""
        )
        expected = numpy.concatenate([numpy.zeros(32), 1000 + 5 * numpy.arange(32)])
        self.expect(body, expected)
        for barrier, error in [
            ("8192", "deadlock: .*8192 is in phase 0, and lacks 32 of 32 arrivals"),
            ("8200", "deadlock: .*8200 is in phase 0, and lacks 32 of 32 arrivals"),
        ]:
            arrive = f"mbarrier.arrive.shared::cta.b64 _, [attn_shared+{barrier}];"
            self.expect_error(error, body.replace(arrive, ""))
        # Without the wait for the reader the place is overwritten.
        self.expect_error(
            "race: writes .* warp 1 may still read|overrun|more than 32 arrivals",
            body.replace("8200], %r4", "8200], 1"),
        )

    def test_arrivals(self):
        arrive = "mbarrier.arrive.shared::cta.b64 _, [attn_shared+8192];"
        self.expect(f"{init(64)}{_WRITE}{arrive}{wait()}{_READ}", _READ_RESULT)
        self.expect_error("race: |nobody wrote", f"{init(64)}{_WRITE}{arrive}{_READ}")
        expect = "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [attn_shared+8192], 16;"
        self.expect_error(
            "gets more than 1 arrivals", init(1) + expect + expect + wait()
        )
        self.expect_error(
            "deadlock: .*lacks 0 of 1 arrivals and 16 bytes", init(1) + expect + wait()
        )
        self.expect_error("expects 16 bytes", init(1) + expect)
        self.expect_error(
            "initializes the barrier", init(1) + init(1).replace("$ready", "$b")
        )
        self.expect_error("no barrier at", arrive)
        self.expect_error(
            "not known to be initialized|no barrier at",
            init(64).replace("bar.sync 0;", "") + arrive,
        )
        self.expect_error(
            r"writes over the barrier at \+8196",
            init(64) + "st.shared.b32 [attn_shared+8196], %r0;",
        )
        self.expect_error("a parity of 0 or 1", init(64) + wait(2))

    def test_overrun(self):
        # Warp 0 completes two phases that warp 1 may not have seen.
        body = init(1) + "@%p3 bra $other;"
        arrive = "@%p0 mbarrier.arrive.shared::cta.b64 _, [attn_shared+8192];"
        body += arrive + arrive + "ret; $other:" + wait()
        errors = list(self.errors(body, 20))
        # It depends on who is first what is seen.
        self.assertEqual(len(errors), 20)
        self.assertRegex(
            "; ".join(errors),
            "overrun: .* completes phase 1 before warp 1 has seen the end of 0",
        )

    def test_threads_of_a_warp(self):
        # One thread tells that all have read, which it does not know.
        release = "@%p1 mbarrier.arrive.shared::cta.b64 _, [attn_shared+8192];"
        body = (
            init(1)
            + """
          @%p2 bra $writer; st.shared.b32 [%r93+4096], %r0;
          ld.shared.b32 %r1, [%r93+4096]; {} """
            + release
            + """
          ret; $writer: """
            + wait()
            + "st.shared.b32 [%r93+4224], %r0;"
        )
        Case(body.replace("{}", "bar.warp.sync -1;"), outputs=4)
        self.expect_error("race: writes", body.replace("{}", ""), outputs=4)

    def test_registers(self):
        more = "setmaxnreg.inc.sync.aligned.u32 {};"
        body = "@%p2 bra $first;" + more.format(256) + "ret; $first:"
        less = "setmaxnreg.dec.sync.aligned.u32 64;"
        # Of 1024 threads each has 64 registers at first.
        many = "setp.ge.u32 %p4, %r91, 16; @%p4 bra $more;" + (
            "setmaxnreg.dec.sync.aligned.u32 24; ret; $more:"
        )
        Case(many + more.format(104), threads=1024, outputs=4)
        self.expect_error("deadlock", many + more.format(112), threads=1024, outputs=4)
        self.expect_error("expects 24 to 256", more.format(20))
        Case(body + less, outputs=4)


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
