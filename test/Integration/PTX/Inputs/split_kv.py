"""Executes kernels that combine the results of parts of the keys, all of their
warps, and compares the results with the maths.

Usage: split_kv.py SHARD/SHARDS
"""

import math
import sys
import typing

import numpy

import launch as launches
import operations
import shards
from ptx import PtxError

_PROGRAM = """
!k = tensor<?x?x?x8x{dtype}>
!t = tensor<{t}x{dtype}>
!v = tensor<?x?x?x{dim}x{dtype}>
!l = tensor<?x?x?xf32>
func.func @attention(%q: !k, %k: !k, %v: !v) -> (!t{results}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !k
  %h = tensor.dim %q, %c1 : !k
  %s = tensor.dim %q, %c2 : !k
  %oi = tensor.empty({sizes}) : !t
  {init}
  {names} = attn.attention
      ins(%q, %k, %v : !k, !k, !v)
      outs(%oi{more} : !t{results})
  return {names} : !t{results}
}}
"""
_SCHEDULE = "#hopper.schedule<tile_m = 64, tile_n = 16, registers = 208, split_kv>"


class Test(typing.NamedTuple):
    """Batches, heads and queries; the columns of a row; how many parts, of which
    each has keys for a row with the probability."""

    sizes: tuple
    dim: int
    parts: int
    density: float = 1.0
    dtype: str = "bf16"
    has_lse: bool = True


TESTS = [
    Test((1, 1, 1), 64, 1),
    Test((2, 3, 5), 64, 7),
    Test((1, 2, 3), 8, 2, dtype="f16"),
    Test((1, 1, 2), 40, 33, 0.5),
    Test((1, 2, 2), 72, 16),
    Test((2, 1, 2), 128, 132, 0.3),
    Test((1, 1, 3), 256, 17, 0.1, "f16"),
    Test((1, 1, 2), 96, 64, has_lse=False),
    Test((1, 1, 3), 64, 9, 0.0),
]
_ENCODE = {"bf16": operations.to_bf16, "f16": lambda x: x.astype(numpy.float16)}
_DECODE = {
    "bf16": operations.from_bf16,
    "f16": lambda x: x.astype(numpy.float64),
}
_BOUNDS = {"bf16": 8e-3, "f16": 1e-3}


def _program(test):
    more = ", !l" if test.has_lse else ""
    return _PROGRAM.format(
        t=f"?x?x?x{test.dim}",
        dim=test.dim,
        dtype=test.dtype,
        sizes="%b, %h, %s",
        results=more,
        init="%li = tensor.empty(%b, %h, %s) : !l" if more else "",
        names="%o, %l" if more else "%o",
        more=", %li" if more else "",
    )


def _check(test):
    draw = numpy.random.default_rng(0)
    launch = launches.Launch(launches.Program(_program(test), _SCHEDULE), test.parts)
    for dim in 8, 8, test.dim:
        launch.add_shape((*test.sizes[:2], 16, dim))
    shape = (*test.sizes, test.dim)
    o = _ENCODE[test.dtype](numpy.zeros(shape))
    results = [("o", o)]
    if test.has_lse:
        results.append(("lse", numpy.zeros(test.sizes, numpy.float32)))
    for name, array in results:
        launch.add_tensor(name, array)
        launch.operands[-1].region.writable[:] = True
    launch.add_tables()
    rows = draw.standard_normal((*test.sizes, test.parts, test.dim))
    lses = 4 * draw.standard_normal((*test.sizes, test.parts))
    rows, lses = rows.astype(numpy.float32), lses.astype(numpy.float32)
    empty = draw.random(lses.shape) >= test.density
    lses[empty] = -math.inf
    # Nobody has written the rows of parts without keys.
    written = numpy.broadcast_to(~empty[..., None], rows.shape)
    tables = launch.operands[-2:]
    tables[0].region.fill(rows, written)
    tables[1].region.fill(lses)
    launch.run_combine()

    weights = numpy.exp2(lses.astype(numpy.float64))[..., None]
    total = weights.sum(-2)
    expected = (weights * numpy.where(written, rows, 0)).sum(-2)
    expected /= numpy.where(total == 0, 1, total)
    operands = launch.operands[3:]
    got = _DECODE[test.dtype](operands[0].region.values(o.dtype, shape))
    bound = _BOUNDS[test.dtype]
    numpy.testing.assert_allclose(got, expected, rtol=bound, atol=bound)
    if test.has_lse:
        with numpy.errstate(divide="ignore"):
            lse = numpy.log(total[..., 0])
        got = operands[1].region.values(numpy.dtype("float32"), test.sizes)
        numpy.testing.assert_allclose(got, lse, rtol=1e-5, atol=1e-5)


if __name__ == "__main__":
    failures = (AssertionError, PtxError)
    sys.exit(shards.run("split_kv", shards.sample(TESTS), sys.argv[1], _check, failures))
