"""Tests barriers, of all kinds, on kernels that are written by hand."""

import unittest

import numpy

from by_hand import WAIT, BlockTest, Case, init, wait

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
            + WAIT.replace("%d], %d", "8200], %%r4") % ()
            + """
          mad.lo.s32 %r5, %r2, 100, %r0;
          st.shared.b32 [%r93+4096], %r5;
          mbarrier.arrive.shared::cta.b64 _, [attn_shared+8192];
          bra.uni $same;
          $reader:
        """
            + WAIT.replace("%d], %d", "8192], %%r3") % ()
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

    def test_atomics(self):
        # Both warps count in one place, and look before they do.
        clear = "@%p0 st.shared.b32 [attn_shared+4096], 0; {} "
        look = "ld.relaxed.cta.shared.b32 %r5, [attn_shared+4096];"
        count = "atom.shared.add.u32 %r1, [attn_shared+4096], 1;"
        show = "{} ld.shared.b32 %r1, [attn_shared+4096]; st.global.b32 [%rd3], %r1;"
        sync = "bar.sync 0;"
        body = clear + look + count + show
        self.expect(body.format(sync, sync), 64)
        self.expect_error(
            "race: reads .* atomics of warp|race: writes .* may still read",
            body.format(sync, ""),
        )
        self.expect_error("race: reads|nobody wrote", body.format("", sync))
        body = body.replace(look, look.replace(".relaxed.cta", ""))
        self.expect_error("race: ", body.format(sync, sync))

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


if __name__ == "__main__":
    unittest.main()
