"""Tests the interpreter on kernels that are written by hand."""

import unittest

import numpy

import memory as memories
import ptx
import warp

_LANE = numpy.arange(32, dtype=numpy.int64)
_KERNEL = """
.visible .entry kernel(
  .param .u64 .ptr .global .align 1 kernel_param_0,
  .param .u64 .ptr .global .align 1 kernel_param_1
)
.maxntid 128
{
  .reg .pred %p<9>;
  .reg .b16 %rs<9>;
  .reg .b32 %r<19>;
  .reg .b64 %rd<19>;
  mov.u32 %r0, %tid.x;
"""
_ADDRESSES = """
  ld.param.b64 %rd0, [kernel_param_0];
  ld.param.b64 %rd1, [kernel_param_1];
  mul.wide.u32 %rd2, %r0, 4;
  add.s64 %rd3, %rd0, %rd2;   // What a thread reads,
  add.s64 %rd4, %rd1, %rd2;   // and what it writes.
"""
# The result is %r1 of each thread.
_STORE = "st.global.b32 [%rd4], %r1; ret; }"


def run(body, inputs=None, outputs=32, shift=0, maker=warp.Warp):
    """Runs a warp whose threads write %r1, and gives the results."""
    memory = memories.Memory()
    inputs = numpy.arange(32) if inputs is None else inputs
    source = memory.add("inputs", "global", 4 * inputs.size, shift)
    source.fill(inputs.astype(numpy.int32))
    results = memory.add("results", "global", 4 * outputs)
    results.writable[:] = True
    entry = ptx.parse(_KERNEL + _ADDRESSES + body + _STORE, "kernel")
    one = maker(entry, memory, [source.base, results.base])
    one.run()
    return results.values(numpy.int32, outputs)


class InterpreterTest(unittest.TestCase):
    def expect(self, body, expected, **options):
        got = run(body, **options)
        numpy.testing.assert_array_equal(got, numpy.broadcast_to(expected, got.shape))

    def expect_error(self, message, body, **options):
        with self.assertRaisesRegex(ptx.PtxError, message):
            run(body, **options)

    # Threads that part and meet.

    def test_branches(self):
        self.expect(
            """setp.lt.u32 %p0, %r0, 10;
               @%p0 bra $small;
               mov.b32 %r1, 7;
               bra.uni $end;
               $small: mov.b32 %r1, 3;
               $end:""",
            numpy.where(_LANE < 10, 3, 7),
        )

    def test_loop_of_each_length(self):
        self.expect(
            """mov.b32 %r1, 0;
               mov.b32 %r2, 0;
               $next: setp.ge.s32 %p0, %r2, %r0;
               @%p0 bra $end;
               add.s32 %r1, %r1, %r2;
               add.s32 %r2, %r2, 1;
               bra.uni $next;
               $end:""",
            _LANE * (_LANE - 1) // 2,
        )

    def test_predicates(self):
        self.expect(
            """setp.eq.s32 %p0, %r0, 4;
               mov.b32 %r1, 0;
               @%p0 mov.b32 %r1, 1;
               @!%p0 add.s32 %r1, %r1, 5;""",
            numpy.where(_LANE == 4, 1, 5),
        )

    def test_return_of_some(self):
        memory_left = "byte 128 of results has not been written"
        self.expect_error(memory_left, "mov.b32 %r1, 1;", outputs=33)
        self.expect_error(
            "byte 12 of results has not been written",
            """mov.b32 %r1, 1;
               setp.eq.s32 %p0, %r0, 3;
               @%p0 ret;""",
        )

    def test_endless_loop(self):
        limit = warp.LIMIT
        warp.LIMIT = 1000
        try:
            self.expect_error("does not end", "$next: bra.uni $next;")
        finally:
            warp.LIMIT = limit

    # Threads together.

    def test_ballot_waits_for_all(self):
        self.expect(
            """setp.lt.u32 %p0, %r0, 20;
               mov.b32 %r2, 3;
               @%p0 bra $vote;
               mov.b32 %r2, 4;
               $vote: setp.eq.s32 %p1, %r2, 4;
               vote.sync.ballot.b32 %r1, %p1, -1;""",
            numpy.int32(-(1 << 20)),
        )

    def test_ballot_ahead_of_others(self):
        # Threads that are at the ballot first are those of the earlier text.
        self.expect(
            """setp.lt.u32 %p0, %r0, 20;
               @!%p0 bra $late;
               $vote: vote.sync.ballot.b32 %r1, %p0, -1;
               bra.uni $end;
               $late: mov.b32 %r2, 1;
               bra.uni $vote;
               $end:""",
            (1 << 20) - 1,
        )

    def test_ballot_without_some(self):
        self.expect_error(
            "wait for others that do not come: vote",
            """setp.lt.u32 %p0, %r0, 20;
               @%p0 ret;
               vote.sync.ballot.b32 %r1, %p0, -1;""",
        )

    def test_members(self):
        self.expect_error("expects all threads", "redux.sync.max.s32 %r1, %r0, 65535;")

    def test_reductions(self):
        for operation, expected in [
            ("min.s32", -5),
            ("max.u32", 2**32 - 5),
            ("add.s32", sum(range(32)) - 10),
            ("or.b32", -1),
        ]:
            self.expect(
                f"""mov.b32 %r2, %r0;
                    setp.eq.s32 %p0, %r0, 5;
                    @%p0 mov.b32 %r2, -5;
                    redux.sync.{operation} %r1, %r2, -1;""",
                numpy.uint32(expected % 2**32).astype(numpy.int32),
            )

    def test_shuffles(self):
        for operands, expected in [
            ("bfly.b32 %r1, %r0, 8, 31", _LANE ^ 8),
            ("idx.b32 %r1, %r0, 13, 31", 13),
            ("idx.b32 %r1, %r0, 3, 0x181f", _LANE // 8 * 8 + 3),
            ("up.b32 %r1, %r0, 2, 0", numpy.where(_LANE < 2, _LANE, _LANE - 2)),
            ("down.b32 %r1, %r0, 2, 31", numpy.where(_LANE > 29, _LANE, _LANE + 2)),
        ]:
            self.expect(f"shfl.sync.{operands}, -1;", expected)

    # Numbers.

    def test_fields_of_64_bits(self):
        for field, expected in [
            ("8, 2", (_LANE * 1000 >> 8) & 3),
            ("40, 30", _LANE * 7),
            ("0, 64", _LANE * 1000),
            ("64, 5", 0),
        ]:
            self.expect(
                f"""mul.wide.u32 %rd5, %r0, 7;
                    shl.b64 %rd5, %rd5, 40;
                    mul.wide.u32 %rd6, %r0, 1000;
                    or.b64 %rd5, %rd5, %rd6;
                    bfe.u64 %rd6, %rd5, {field};
                    cvt.u32.u64 %r1, %rd6;""",
                expected,
            )

    def test_integers(self):
        a, b = _LANE * 1234567 - 9999999, 13 - _LANE
        for operation, expected in [
            ("sub.s32 %r1, %r2, %r3", a - b),
            ("mul.lo.s32 %r1, %r2, %r3", a * b),
            ("mul.hi.s32 %r1, %r2, %r3", a * b >> 32),
            ("max.s32 %r1, %r2, %r3", numpy.maximum(a, b)),
            ("shr.s32 %r1, %r2, 3", a >> 3),
            ("shr.u32 %r1, %r2, 28", (a & 0xFFFFFFFF) >> 28),
            ("shl.b32 %r1, %r2, 40", 0),
            ("bfe.u32 %r1, %r2, 4, 7", a >> 4 & 127),
            ("bmsk.clamp.b32 %r1, 3, 4", 0x78),
            ("bmsk.clamp.b32 %r1, 30, 40", 0xC0000000),
            ("bmsk.clamp.b32 %r1, 32, 5", 0),
            ("bmsk.clamp.b32 %r1, 0, 32", -1),
            ("div.s32 %r1, %r2, 1000", numpy.trunc(a / 1000)),
            ("div.s32 %r1, %r2, -7", numpy.trunc(a / -7)),
            ("rem.s32 %r1, %r2, -7", numpy.fmod(a, 7)),
            ("div.u32 %r1, %r2, %r4", -1),
            ("popc.b32 %r1, %r0", [bin(n).count("1") for n in range(32)]),
            ("brev.b32 %r1, %r0", [int(f"{n:032b}"[::-1], 2) for n in range(32)]),
            ("clz.b32 %r1, %r0", [32 - n.bit_length() for n in range(32)]),
            ("mad.lo.s32 %r1, %r2, 3, %r3", a * 3 + b),
            ("min.relu.s32 %r1, %r2, %r3", numpy.maximum(numpy.minimum(a, b), 0)),
        ]:
            expected = numpy.array(expected).astype(numpy.int64) & 0xFFFFFFFF
            self.expect(
                f"""mad.lo.s32 %r2, %r0, 1234567, -9999999;
                    sub.s32 %r3, 13, %r0;
                    mov.b32 %r4, 0;
                    {operation};""",
                expected.astype(numpy.uint32).view(numpy.int32),
            )

    def test_widths(self):
        self.expect(
            """cvt.s64.s32 %rd5, %r0;
               neg.s64 %rd5, %rd5;
               shr.s64 %rd6, %rd5, 1;
               cvt.u32.u64 %r1, %rd6;""",
            -_LANE >> 1,
        )
        self.expect(
            """mov.b32 %r2, -1;
               mov.b32 {_, %rs1}, %r2;
               cvt.u32.u16 %r1, %rs1;""",
            65535,
        )
        self.expect(
            """cvt.u16.u32 %rs1, %r0;
               mov.b16 %rs2, 2;
               mov.b32 %r1, {%rs1, %rs2};""",
            _LANE + 131072,
        )

    def test_floats(self):
        for body, expected in [
            ("add.f32 %r1, 0f3F800000, 0f40000000", 3.0),
            ("fma.rn.f32 %r1, 0f40000000, 0f40000000, 0f3F800000", 5.0),
            ("max.f32 %r1, 0f7FC00000, 0f3F800000", 1.0),
            ("ex2.approx.ftz.f32 %r1, 0fFF800000", 0.0),
            ("rcp.approx.ftz.f32 %r1, 0f40000000", 0.5),
        ]:
            self.expect(body + ";", numpy.float32(expected).view(numpy.int32))
        # 1 + 2^-8 is halfway between two bf16: the even one is 1.
        self.expect("cvt.rn.bf16x2.f32 %r1, 0f3F818000, 0f3F808000;", 0x3F823F80)
        comparisons = (
            "setp.{}.f32 %p0, 0f7FC00000, 0f3F800000; selp.b32 %r1, 1, 0, %p0;"
        )
        for name, expected in [("eq", 0), ("ne", 0), ("neu", 1), ("lt", 0), ("gtu", 1)]:
            self.expect(comparisons.format(name), expected)

    # Memory.

    def test_inline_assembly(self):
        # Its registers and labels are its own.
        self.expect(
            """setp.lt.u32 %p0, %r0, 9;
               { mov.b32 %r1, 0; @%p0 ld.global.nc.b32 %r1, [%rd3]; }
               { .reg .pred p; AGAIN: setp.eq.s32 p, 1, 1; @p bra.uni DONE;
                 bra.uni AGAIN; DONE: }
               { .reg .pred p; AGAIN: setp.eq.s32 p, 1, 1; @p bra DONE;
                 bra.uni AGAIN; DONE: }""",
            numpy.where(_LANE < 9, _LANE * 3, 0),
            inputs=numpy.arange(9) * 3,
        )

    def test_vectors(self):
        self.expect(
            """mad.wide.u32 %rd5, %r0, 16, %rd0;
               ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd5];
               add.s32 %r1, %r2, %r5;""",
            _LANE * 8 + 3,
            inputs=numpy.arange(128),
        )
        self.expect_error(
            "no multiple of 16",
            "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd3];",
            inputs=numpy.arange(128),
        )

    def test_access(self):
        load = "ld.global.b32 %r1, [%rd3{}];"
        self.expect(load.format(""), _LANE, inputs=_LANE)
        self.expect_error(
            r"4 bytes at .*, 124 from inputs are in no region: ld.global.b32",
            load.format(""),
            inputs=numpy.arange(31),
        )
        self.expect_error("-4 from inputs", load.format("+-4"))
        self.expect_error("no multiple of 4", load.format("+2"))
        self.expect_error("no multiple of 4", load.format(""), shift=2)
        self.expect_error("writes to inputs", "st.global.b32 [%rd3], %r0;")
        self.expect_error("wrote to results", "ld.global.b32 %r1, [%rd4];")
        self.expect_error("0 from results", "mov.b32 %r1, 1;", outputs=0)
        self.expect_error("inputs is not shared memory", "ld.shared.b32 %r1, [%rd3];")

    def test_atomic_addition(self):
        self.expect_error(
            "wrote to results", "atom.global.add.u32 %r1, [%rd1], 1;", outputs=33
        )
        self.expect(
            """st.global.b32 [%rd4], 0;
               atom.global.add.u32 %r1, [%rd1], 1;""",
            _LANE,
        )

    # What is not known.

    def test_unknown(self):
        self.expect_error(
            "does not know the instruction: add.cc.s32 %r1, %r0, 1",
            "add.cc.s32 %r1, %r0, 1;",
        )
        # It may be there where nobody comes.
        self.expect("mov.b32 %r1, 1; bra.uni $end; wgmma.fence.sync.aligned; $end:", 1)
        self.expect_error("ld.volatile", "ld.volatile.global.b32 %r1, [%rd3];")
        self.expect_error("nobody wrote %r1", "")
        self.expect_error("does not know the operand", "mov.b32 %r1, 3+;")
        self.expect_error("does not know the label", "bra.uni $nowhere;")
        self.expect_error("does not know the directive", ".local .b8 depot[8];")
        with self.assertRaisesRegex(ptx.PtxError, "expects an entry other"):
            ptx.parse(_KERNEL + _STORE, "other")


if __name__ == "__main__":
    unittest.main()
