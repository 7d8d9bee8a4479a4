"""Executes kernels of programs whose sizes are known when they are compiled, down
to none, and compares the results with those of the CPU target.

Usage: sizes.py SHARD/SHARDS
"""

import os
import sys
import tempfile
import typing

import grid
import launch as launches
import ptx
import run_kernel
import shards

_PROGRAM = """
!q = tensor<{batch}x{heads}x{queries}x{dim}xbf16>
!k = tensor<{kv_batch}x{kv_heads}x{keys}x{dim}xbf16>
!v = tensor<{kv_batch}x{kv_heads}x{keys}x{value_dim}xbf16>
!o = tensor<{batch}x{heads}x{queries}x{value_dim}xbf16>
!l = tensor<{batch}x{heads}x{queries}xf32>
func.func @attention(%q: !q, %k: !k, %v: !v, %oi: !o, %li: !l)
    -> ({results}) {{
  %o, %l = attn.attention ins(%q, %k, %v : !q, !k, !v) outs(%oi, %li : !o, !l)
      mask(%b, %h, %i, %j) {{
        {mask}
        attn.yield %p : i1
      }}
  return {returned}
}}
"""
_ALL, _NONE = (f"%p = arith.constant {x}" for x in ("true", "false"))
_CAUSAL = "%p = arith.cmpi sle, %j, %i : index"
_BOTH = ("!o, !l", "%o, %l : !o, !l")
_LSE = ("!l", "%l : !l")


class Test(typing.NamedTuple):
    """Batches, heads, queries and keys; the batches and heads of keys."""

    sizes: tuple
    mask: str
    kv: tuple = (1, 2)
    dims: tuple = (64, 64)
    results: tuple = _BOTH


_SCHEDULES = [
    "tile_m = 64, tile_n = 64, stages = 2, registers = 240, persistent, "
    "order = [load_k, qk, load_v(1), pv(1), softmax]",
    "tile_m = 128, tile_n = 64, stages = 2, registers = 240, zigzag, head_swizzle = 2, "
    "order = [load_k, qk, load_v(1), pv(1), softmax], exclusive = [qk, pv]",
    "tile_m = 128, tile_n = 64, stages = 1, registers = 240, persistent",
]
TESTS = [
    # No work tile, and no key.
    Test((1, 2, 0, 100), _CAUSAL),
    Test((0, 2, 130, 100), _ALL, kv=(0, 2)),
    Test((1, 0, 130, 100), _ALL, kv=(1, 0)),
    Test((1, 2, 130, 0), _CAUSAL),
    # One of each.
    Test((1, 2, 1, 100), _ALL),
    Test((1, 2, 130, 1), _CAUSAL),
    Test((1, 1, 1, 1), _CAUSAL, kv=(1, 1)),
    # One work tile, and one block or two, full or not.
    Test((1, 2, 100, 100), _CAUSAL),
    Test((1, 2, 64, 64), _ALL),
    Test((1, 2, 256, 128), _ALL),
    # No pair is allowed.
    Test((1, 2, 130, 100), _NONE),
    # Keys that all batches and heads share, other columns, and less results.
    Test((2, 2, 130, 70), _CAUSAL, kv=(1, 1)),
    Test((1, 2, 100, 70), _CAUSAL, dims=(8, 72)),
    Test((1, 2, 100, 70), _CAUSAL, results=_LSE),
]


def _check(test):
    batch, heads, queries, keys = test.sizes
    text = _PROGRAM.format(
        batch=batch,
        heads=heads,
        queries=queries,
        keys=keys,
        kv_batch=test.kv[0],
        kv_heads=test.kv[1],
        dim=test.dims[0],
        value_dim=test.dims[1],
        mask=test.mask,
        results=test.results[0],
        returned=test.results[1],
    )
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.mlir")
        with open(path, "w") as file:
            file.write(text)
        inputs = run_kernel.Inputs(path, [], seed=0)
    for seed, schedule in enumerate(_SCHEDULES):
        program = launches.Program(text, f"#hopper.schedule<{schedule}>")
        launch, regions = inputs.launch(program, parts=1)
        grid.run(launch, seed, blocks=2, late=1.0)
        for region, result, expected in zip(regions, inputs.results, inputs.expected):
            name, dtype, shape = result
            found = region.values(run_kernel.numpy_type(dtype), tuple(shape))
            line, is_right = run_kernel.compare(
                name, run_kernel.decode(found, dtype), expected, tolerance=0.03
            )
            if not is_right:
                raise ptx.PtxError(f"{schedule}: {line}")


if __name__ == "__main__":
    sys.exit(shards.run("sizes", shards.sample(TESTS), sys.argv[1], _check, ptx.PtxError))
