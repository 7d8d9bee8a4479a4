"""Executes kernels that check lists, all of their warps in any order, and compares
what they report with what is wrong with the lists.

Usage: list_checks.py SHARD/SHARDS
"""

import os
import subprocess
import sys
import tempfile
import typing

import numpy

import attributes
import launch as launches
import ptx
import shards
import warp

_PROGRAM = """
!q = tensor<?x{heads}x?x64xbf16>
!k = tensor<?x?x?x64xbf16>
!rows = tensor<{leading}?x{index}>
!columns = tensor<?x{index}>
func.func @attention(%q: !q, %k: !k, %rows: !rows, %columns: !columns) -> !q {{
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%b, %s) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !k, !k)
      sparsity(#attn.sparsity<lists, block = {block}> %rows, %columns : !rows, !columns)
      outs(%init : !q)
  return %o : !q
}}
"""
_NO_PLACE = 2**64 - 1


class Test(typing.NamedTuple):
    """Batches, heads, queries and keys; the errors that are made, and how often."""

    sizes: tuple
    block: tuple = (1, 1)
    leading: tuple = ()
    index: str = "i32"
    errors: tuple = ()
    density: float = 0.4


_SIZES = (2, 3, 9, 70)
_BLOCKS = (1, 2, 300, 650)
_KINDS = ("outside", "decreasing", "range", "order", "twice")
TESTS = [
    Test(_SIZES),
    Test(_SIZES, leading=(3,), index="i64"),
    Test(_BLOCKS, (64, 32), leading=(1, 2)),
    Test((1, 1, 5, 0)),
    Test((1, 1, 0, 5)),
    *(Test(_SIZES, leading=(2, 3), errors=(kind,)) for kind in _KINDS),
    *(Test(_SIZES, leading=(1,), index="i64", errors=(x,)) for x in _KINDS),
    *(Test(_BLOCKS, (64, 32), leading=(2,), errors=(kind,)) for kind in _KINDS),
    Test(_SIZES, leading=(3,), errors=_KINDS * 2),
    # Several warps of columns for one list.
    Test((1, 1, 3, 500), errors=("order", "order", "range"), density=0.9),
]


def _draw_lists(test, draw):
    _, _, queries, keys = test.sizes
    numbers = [-(-size // block) for size, block in zip((queries, keys), test.block)]
    count = int(numpy.prod(test.leading))
    bits = draw.random((count, *numbers)) < test.density
    columns = numpy.nonzero(bits)[2]
    ends = numpy.cumsum(bits.sum(-1).reshape(-1)).reshape(count, numbers[0])
    begins = numpy.concatenate([[0], ends[:-1, -1]]) if numbers[0] else [0] * count
    rows = numpy.concatenate([numpy.reshape(begins, (count, 1)), ends], 1)
    type_ = {"i32": numpy.int32, "i64": numpy.int64}[test.index]
    rows, columns = rows.astype(type_), columns.astype(type_)
    for kind in test.errors:
        _spoil(kind, draw, rows, columns, numbers[1])
    return rows, columns, numbers[1]


def _spoil(kind, draw, rows, columns, keys):
    row = draw.integers(rows.shape[0]), draw.integers(1, rows.shape[1])
    place = draw.integers(1, columns.size)
    if kind == "outside":
        rows[row] = draw.choice([-1, columns.size + 1, 2**31 - 1, -(2**31)])
    elif kind == "decreasing":
        rows[row] = draw.integers(max(rows[row], 1))
    elif kind == "range":
        columns[place] = draw.choice([-1, keys, keys + 9, 2**31 - 1, -(2**31)])
    elif kind == "order":
        columns[place - 1], columns[place] = columns[place], columns[place - 1]
    else:
        columns[place] = columns[place - 1]


def _expected(rows, columns, keys):
    """Of each site, the place of the first error and its numbers."""
    found = {}

    def report(site, place, *numbers):
        if place < found.get(site, (_NO_PLACE,))[0]:
            found[site] = (place, *numbers)

    lists = [(r[i], r[i + 1]) for r in rows.tolist() for i in range(len(r) - 1)]
    for number, (begin, end) in enumerate(lists):
        wrong = [x for x in (end, begin) if not 0 <= x <= columns.size]
        if wrong:
            report(0, number, wrong[0], columns.size)
        if end < begin:
            report(1, number, end, end)
        low, high = max(begin, 0), min(end, columns.size)
        for place in range(low, high):
            column = int(columns[place])
            if not 0 <= column < keys:
                report(2, place, column, keys)
            elif place > low and column <= columns[place - 1]:
                report(3, place, column, column)
    return len(lists), found


def _run(command, path):
    done = subprocess.run([*command, path], capture_output=True, text=True)
    if done.returncode:
        raise ptx.PtxError(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def _compile(text):
    """The kernel that checks, and its attributes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.mlir")
        with open(path, "w") as file:
            file.write(text)
        run = ["attn-run", "--target=cuda", "--emit=ptx", "--variant=checks"]
        code = _run(["env", "ATTN_PTXAS=off", *run], path)
        lowered = _run(["attn-opt", "--attn-checks-to-nvvm"], path)
    ((name, kernel),) = attributes.kernels_of(lowered).items()
    return ptx.parse(code, name), kernel


def _check(test):
    batch, heads, queries, keys = test.sizes
    draw = numpy.random.default_rng(TESTS.index(test))
    text = _PROGRAM.format(
        heads=heads,
        index=test.index,
        leading="".join(f"{extent}x" for extent in test.leading),
        block="x".join(map(str, test.block)),
    )
    entry, kernel = _compile(text)
    rows, columns, blocks_of_keys = _draw_lists(test, draw)
    launch = launches.Launch(None)
    launch.add_shape((batch, heads, queries, 64))
    launch.add_shape((batch, 1, keys, 64))
    launch.add_tensor("rows", rows.reshape(*test.leading, -1))
    launch.add_tensor("columns", columns)
    launch.add_shape((batch, heads, queries, 64))
    checks = kernel["checks"]
    assert checks["words"] == len(launch.operands) and checks["sites"] == 4
    words = numpy.full(3 * checks["sites"], _NO_PLACE, numpy.uint64)
    launch.add_tensor("words", words)
    region = launch.operands[-1].region
    region.writable[:] = True

    lists = int(numpy.prod([launch._extent(x) for x in checks["extents"]]))
    count, found = _expected(rows, columns, blocks_of_keys)
    assert lists == count, f"expects {count} lists, but got {lists}"
    assert bool(found) == bool(test.errors) or "decreasing" in test.errors
    # The second run, with what the first has left, settles the numbers.
    for _ in range(2):
        one = warp.Warp(entry, launch.memory, launch.arguments(kernel))
        per_block = kernel["threads"] // warp.LANES
        # Some warps have no list.
        blocks = -(-lists // per_block) + 1
        for number in draw.permutation(blocks * per_block):
            one.run(int(number) // per_block, int(number) % per_block, blocks)
    got = region.values(numpy.dtype(numpy.int64), (checks["sites"], 3))
    for site in range(checks["sites"]):
        if site in found:
            assert tuple(got[site]) == found[site], f"{site}: {got[site]} {found[site]}"
        else:
            assert (got[site] == -1).all(), f"{site}: {got[site]}"


if __name__ == "__main__":
    failures = (AssertionError, ptx.PtxError)
    sys.exit(shards.run("checks", shards.sample(TESTS), sys.argv[1], _check, failures))
