"""Tests what is made of a kernel's run: what a producer puts, which tiles that is,
and whether those are the right ones. And the attributes that launches need."""

import unittest

import numpy

import attributes
import memory as memories
import producer
import ptx
import visits
from visits import Visit

_PUT = """
.visible .entry kernel(
  .param .u64 .ptr .global .align 1 kernel_param_0,
  .param .align 64 .b8 kernel_param_1[128]
)
.maxntid 128
{
  .reg .pred %p<9>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<9>;
  mov.u32 %r0, %tid.x;
  mov.b32 %r1, 1;
  setp.ne.b32 %p0, %r0, 0;
  @%p0 bra $end;
  mbarrier.init.shared.b64 [attn_shared], %r1;
  mbarrier.init.shared.b64 [attn_shared+8], %r1;
  { .reg .pred P; AGAIN:
    mbarrier.try_wait.parity.shared.b64 P, [attn_shared+8], {parity}, 1000;
    @P bra.uni DONE; bra.uni AGAIN; DONE: }
  st.shared.b32 [attn_shared+16], 129;
  mbarrier.arrive.expect_tx.shared.b64 %rd5, [attn_shared], {bytes};
  mov.b64 %rd6, kernel_param_1;
  cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
    [attn_shared+{to}], [%rd6, {0, 128, 2, 1}], [attn_shared];
  $end: ret; }
"""


class ProducerTest(unittest.TestCase):
    """A producer that puts one tile, whose second parameter is a tensor map."""

    def run_put(self, parity=1, size=1024, to=128):
        body = _PUT
        for name, value in [("parity", parity), ("bytes", size), ("to", to)]:
            body = body.replace("{" + name + "}", str(value))
        one = producer.Producer(
            ptx.parse(body, "kernel"),
            memories.Memory(),
            [0, None],
            128 + 1024,
            {1: (1, 8)},
        )
        one.run()
        one.check()
        return one.puts

    def test_put(self):
        [put] = self.run_put()
        self.assertEqual((put.numbers, put.bytes), ([129], 1024))
        [copy] = put.copies
        self.assertEqual((copy.operand, copy.coordinates), (1, (0, 128, 2, 1)))

    def test_errors(self):
        for message, options in [
            ("waits out of turn", {"parity": 0}),
            ("expects 512 bytes, but 1024 are copied", {"size": 512}),
            ("copies a tile to 256", {"to": 256}),
            ("copies a tile to 64", {"to": 64}),
            ("is used twice", {"to": 0}),
        ]:
            with self.assertRaisesRegex(ptx.PtxError, message):
                self.run_put(**options)


class VisitsTest(unittest.TestCase):
    """What the comparison with the mask of all pairs finds."""

    EXPECTED = [Visit(0, True), Visit(128, False), Visit(384, True)]

    def test_needed(self):
        i, j = numpy.arange(130)[:, None], numpy.arange(300)[None]
        self.assertEqual(
            visits.needed(j <= i, 64, 64),
            {
                0: [Visit(0, True)],
                64: [Visit(0, False), Visit(64, True)],
                # The last tile has two queries.
                128: [Visit(0, False), Visit(64, False), Visit(128, True)],
            },
        )
        full = visits.needed(numpy.ones((1, 100), bool), 64, 64)
        self.assertEqual(full, {0: [Visit(0, False), Visit(64, True)]})

    def test_compare(self):
        right = self.EXPECTED[::-1]
        self.assertEqual(
            visits.compare(right, self.EXPECTED, ()), visits.Counts(3, 0, 0)
        )
        more = [Visit(384, True), Visit(256, True), Visit(128, True), Visit(0, True)]
        self.assertEqual(
            visits.compare(more, self.EXPECTED, ()), visits.Counts(4, 1, 1)
        )
        for message, wrong in [
            ("misses", right[:2]),
            ("twice", right + right[-1:]),
            ("not from the last", self.EXPECTED),
            ("full", [Visit(x.first, False) for x in right]),
            ("out of order", [Visit(x, None) for x in (128, 384, 0)]),
        ]:
            with self.assertRaisesRegex(visits.Problem, message):
                visits.compare(wrong, self.EXPECTED, ())


class AttributesTest(unittest.TestCase):
    def test_kernels(self):
        text = """
    llvm.func @other(%arg0: i32) {
    llvm.func @one(%arg0: !llvm.ptr {llvm.align = 64 : i64}) attributes {hopper.params = [{dims = array<i64: 0, 1>, kind = "map"}, {kind = "counter"}], hopper.schedule = #hopper.schedule<tile_m = 128, longest_first>, hopper.threads = 384 : i64, nvvm.kernel, nvvm.maxntid = array<i32: 384>} {
"""
        self.assertEqual(
            attributes.kernels_of(text),
            {
                "one": {
                    "params": [{"dims": [0, 1], "kind": "map"}, {"kind": "counter"}],
                    "schedule": "#hopper.schedule<tile_m = 128, longest_first>",
                    "threads": 384,
                }
            },
        )


if __name__ == "__main__":
    unittest.main()
