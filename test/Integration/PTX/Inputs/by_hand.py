"""Runs CTAs of kernels that are written by hand, for tests."""

import unittest

import numpy

import block
import memory as memories
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
WAIT = """{ .reg .pred done; AGAIN:
  mbarrier.try_wait.parity.shared.b64 done, [attn_shared+%d], %d, 9999;
  @done bra.uni DONE; bra.uni AGAIN; DONE: }
"""
_INIT = """@!%p0 bra $ready;
  mbarrier.init.shared.b64 [attn_shared+8192], {};
  fence.mbarrier_init.release.cluster;
  $ready: bar.sync 0;
"""


def wait(parity=0, barrier=8192):
    return WAIT % (barrier, parity)


def init(count):
    return _INIT.format(count)


class Case:
    """A run of a CTA, with what it has written."""

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
        one = block.CTA(
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
