"""Executes the producers of kernels, and compares the tiles that they copy with
those that the mask of all pairs needs.

Usage: producers.py KIND SHARD/SHARDS
"""

import sys
import types
import typing

import numpy

import launch as launches
import layouts
import producer
import shards
import visits
from programs import Case, program

# Each warpgroup has so many rows, and a range of KV blocks for them.
WARPGROUP_ROWS = 64

_BLOCK = (
    "#hopper.schedule<tile_m = 128, tile_n = {}, stages = 2, registers = 240, "
    "head_swizzle = 8, longest_first>"
)
_SPLIT = (
    "#hopper.schedule<tile_m = 64, tile_n = {}, stages = 2, registers = 208, "
    "head_swizzle = 8, longest_first, split_kv>"
)
_PERSISTENT = (
    "#hopper.schedule<tile_m = 128, tile_n = {}, stages = 2, registers = 240, "
    "head_swizzle = 8, longest_first, persistent, q_in_registers>"
)


class Test(typing.NamedTuple):
    """A mask, by its name or as lists, with a schedule, on sizes: batches,
    heads, heads of keys, queries, keys."""

    mask: typing.Union[str, layouts.Lists]
    sizes: list
    # Whether the compiler is to find exactly the tiles that are needed, and
    # exactly those that need no predicate.
    exact: bool = False
    dim: int = 128
    # None is the one that the compiler chooses.
    schedule: typing.Optional[str] = None
    # Keys and values of the first batch are those of all.
    shared: bool = False
    # How many the keys of a tile are shared out to.
    parts: int = 1
    # What the mask says of a row alone is looked at after its last tile.
    rows_apart: bool = False


_ORDER = "order = [load_k, qk, load_v(1), pv(1), softmax]"


def _in_order(schedule):
    """As the passes of the hopper dialect make kernels."""
    return f"{schedule[:-1]}, {_ORDER}>"


# A producer looks at 32 KV blocks at a time: there are 71 of 128 keys here.
_LONG = (1, 2, 1, 300, 9000)
# A few Q blocks, so that blocks compute several.
_WIDE = (2, 4, 2, 700, 1100)
# Exactly 32 KV blocks, all of them full.
_EVEN = (1, 1, 1, 256, 4096)
_SMALL = [(1, 2, 1, 0, 100), (2, 2, 2, 100, 0), (1, 1, 1, 1, 1), (1, 2, 2, 129, 1)]

TESTS = {
    "classes": [
        Test("dilated-blocks", [_LONG, (1, 1, 1, 2500, 2500), *_SMALL], exact=True),
        Test("dilated", [(1, 2, 1, 300, 700)]),
        Test("documents-sorted", [_WIDE, (1, 1, 1, 700, 4500), *_SMALL], exact=True),
        Test("documents-sorted", [_WIDE], True, schedule=_BLOCK.format(64)),
        Test("documents-shuffled", [_WIDE], schedule=_PERSISTENT.format(128)),
        Test("documents-sorted", [_WIDE], True, schedule=_PERSISTENT.format(80)),
        Test("documents-sorted", [(1, 2, 1, 300, 900)], True, dim=256),
        Test("block-diagonal", [(1, 2, 1, 300, 500)], True, dim=80),
        Test("one-document", [_WIDE, _EVEN], True),
        Test("documents-sorted-causal", [(2, 2, 1, 900, 900)], True),
        Test("documents-causal", [(2, 2, 1, 400, 1100)], dim=64),
        Test("bits-64", [(1, 4, 2, 700, 4500), *_SMALL], dim=64),
        Test("bits-64", [(1, 3, 1, 700, 1100)], schedule=_BLOCK.format(64)),
        Test("bits-128-causal", [(2, 4, 1, 1100, 1300)], True),
        Test("bits-128-causal", [(2, 4, 1, 700, 700)], True, shared=True),
        Test("blocks-192x96-causal", [(2, 2, 2, 700, 900)]),
        Test(layouts.Lists(128, 0.3), [(1, 4, 2, 1000, 1100), *_SMALL[2:]], True),
        Test(layouts.Lists(128, 0.0), [(1, 2, 2, 500, 5000)], True),
        Test(layouts.Lists(64, 1.0), [(1, 2, 2, 500, 600)]),
        Test(
            layouts.Lists(64, 0.2), [(2, 2, 1, 333, 2222)], schedule=_BLOCK.format(64)
        ),
        Test("global-tokens", [_LONG, (1, 1, 1, 900, 500)], True),
        Test("global-tokens", [(2, 2, 1, 300, 900)], True, schedule=_BLOCK.format(128)),
        # Parts of tiles that are searched: of some there is nothing to find.
        Test("dilated-blocks", [_LONG, *_SMALL], schedule=_SPLIT.format(64), parts=5),
        Test("documents-sorted", [_WIDE], schedule=_SPLIT.format(32), parts=3),
        Test("global-tokens", [_LONG], schedule=_SPLIT.format(64), parts=16),
        Test("neighbourhood-2d", [(1, 2, 1, 700, 900)]),
        Test("distances", [(1, 4, 1, 300, 500)]),
        Test("random-rows", [(2, 2, 1, 500, 900), *_SMALL], True, rows_apart=True),
        Test("negation", [_LONG, (1, 1, 1, 500, 500)], True),
        Test("block-diagonal", [(1, 2, 1, 500, 700)], True),
        Test("head-dependent", [(1, 2, 1, 500, 500)]),
        Test("even-batches-causal", [(3, 1, 1, 300, 500)]),
        Test("ragged", [(3, 2, 1, 500, 900)]),
    ]
    + [
        test._replace(schedule=_in_order(test.schedule))
        for test in [
            Test("dilated-blocks", [_LONG, (1, 1, 1, 2500, 2500), *_SMALL], True, schedule=_BLOCK.format(128)),
            Test("dilated", [(1, 2, 1, 300, 700)], schedule=_PERSISTENT.format(128)),
            Test("documents-sorted", [_WIDE, *_SMALL], True, schedule=_BLOCK.format(64)),
            Test("documents-shuffled", [_WIDE], schedule=_PERSISTENT.format(128)),
            Test("documents-sorted", [(1, 2, 1, 300, 900)], True, 256, _BLOCK.format(64)),
            Test("one-document", [_WIDE, _EVEN], True, schedule=_PERSISTENT.format(64)),
            Test("documents-causal", [(2, 2, 1, 400, 1100)], dim=64, schedule=_BLOCK.format(128)),
            Test("bits-64", [(1, 4, 2, 700, 1300), *_SMALL], dim=64, schedule=_PERSISTENT.format(64)),
            Test("bits-128-causal", [(2, 4, 1, 700, 700)], True, schedule=_BLOCK.format(128), shared=True),
            Test(layouts.Lists(128, 0.3), [(1, 4, 2, 1000, 1100)], True, schedule=_PERSISTENT.format(128)),
            Test(layouts.Lists(128, 0.0), [(1, 2, 2, 500, 5000)], True, schedule=_BLOCK.format(128)),
            Test("global-tokens", [_LONG, (1, 1, 1, 900, 500)], True, schedule=_PERSISTENT.format(128)),
            Test("dilated-blocks", [_LONG, *_SMALL], schedule=_SPLIT.format(64), parts=5),
            Test("documents-sorted", [_WIDE], schedule=_SPLIT.format(32), parts=3),
            Test("global-tokens", [_LONG], schedule=_SPLIT.format(64), parts=16),
            Test("random-rows", [(2, 2, 1, 500, 900), *_SMALL], True, schedule=_BLOCK.format(128), rows_apart=True),
            Test("negation", [_LONG], True, schedule=_BLOCK.format(64)),
        ]
    ],
    "intervals": [
        Test("full", [_WIDE, *_SMALL], True),
        Test("causal", [_WIDE, (1, 1, 1, 2500, 1200), *_SMALL], True),
        Test("causal", [_WIDE, *_SMALL], True, schedule=_BLOCK.format(64)),
        Test("causal", [_WIDE, *_SMALL], True, schedule=_SPLIT.format(32), parts=4),
        Test("window-both-sides", [_WIDE], True, schedule=_SPLIT.format(16), parts=3),
        Test("causal", [_WIDE], True, shared=True, schedule=_PERSISTENT.format(128)),
        Test("causal", [(1, 2, 1, 300, 500)], True, dim=256),
        Test("causal", [(1, 2, 1, 300, 500)], True, dim=40),
        Test("causal-bottom-right", [(1, 2, 1, 300, 900)], True),
        Test("inverse-causal", [(1, 2, 1, 600, 500)], True),
        Test("window", [(1, 2, 1, 900, 900), (1, 2, 1, 300, 100)], True),
        Test("window-both-sides", [(2, 2, 1, 700, 900)], True, dim=64),
        Test("window-bottom-right", [(1, 1, 1, 100, 1500)], True),
        Test("prefix-lm", [(3, 2, 1, 500, 900), *_SMALL], True),
        Test("masked-rows", [(1, 2, 1, 700, 300)], True),
        Test("ragged-keys-causal", [(3, 2, 1, 500, 900)], True),
    ],
}

_TYPES = {"i1": "i1", "i8": "i1", "i32": "i4", "i64": "i8", "index": "i8"}


class Setting(typing.NamedTuple):
    """What a kernel runs on, and what is expected of it."""

    launch: launches.Launch
    mask_of: typing.Callable
    # What the tables of kernels that run before are to hold, in any order.
    tables: list
    # Whether two more tell between which KV blocks those needed are.
    has_limits: bool = False


def _operands(launch, case, captures, shared):
    keys = (1 if shared else case.batch, case.kv_heads, case.keys, case.dim)
    launch.add_shape((case.batch, case.heads, case.queries, case.dim))
    launch.add_shape(keys)
    launch.add_shape(keys)
    for name, type_, value in captures:
        if numpy.ndim(value):
            launch.add_tensor(name, numpy.asarray(value).astype(_TYPES[type_]))
        else:
            launch.add_scalar(int(value))
    launch.add_shape((case.batch, case.heads, case.queries, case.dim))
    launch.add_shape((case.batch, case.heads, case.queries))


def _set_variant(test, variant, compiled, case):
    draw = numpy.random.default_rng(case.seed)
    values = types.SimpleNamespace()
    captures = []
    for capture in variant.captures:
        value = capture.make(draw, case)
        setattr(values, capture.name, value)
        captures.append((capture.name, capture.element_type("bf16"), value))
    launch = launches.Launch(compiled, test.parts)
    _operands(launch, case, captures, test.shared)
    i, j = numpy.arange(case.queries)[:, None], numpy.arange(case.keys)[None]

    def mask_of(b, h):
        shape = (case.queries, case.keys)
        if variant.mask_of is None:
            return numpy.ones(shape, bool)
        return numpy.broadcast_to(variant.mask_of(numpy, b, h, i, j, values), shape)

    tables = []
    if variant.name.startswith(("documents", "one-document")):
        columns = compiled.schedule("tile_n")
        for value, step in (values.mine, WARPGROUP_ROWS), (values.theirs, columns):
            for reduce in numpy.minimum, numpy.maximum:
                starts = numpy.arange(0, value.shape[1], step)
                tables.append(
                    reduce.reduceat(value, starts, 1) if starts.size else value
                )
    return Setting(launch, mask_of, tables, bool(tables))


def _set_lists(test, compiled, case):
    draw = numpy.random.default_rng(case.seed)
    bits, rows, columns = test.mask.draw(draw, case)
    launch = launches.Launch(compiled, test.parts)
    captures = [("rows", "i32", rows), ("columns", "i32", columns)]
    _operands(launch, case, captures, test.shared)
    # It has no other result.
    launch.operands.pop()
    i, j = numpy.arange(case.queries)[:, None], numpy.arange(case.keys)[None]
    block = test.mask.block

    def mask_of(b, h):
        return bits[h, i // block, j // block] & (j <= i)

    return Setting(launch, mask_of, [bits])


def _check_tables(got, expected):
    """Those of a mask may come in any order."""

    def key(table):
        return table.size, table.astype(numpy.int64).tobytes()

    if sorted(map(key, got)) != sorted(map(key, expected)):
        raise visits.Problem(f"expects tables {expected}, but got {got}")


def _check_limits(firsts, lasts, setting, exact):
    """Tables of the first and the last KV block that the rows of each warpgroup
    need: one after all tiles and -1 where they need none."""
    launch = setting.launch
    rows, columns = WARPGROUP_ROWS, launch.program.schedule("tile_n")
    (batch, heads, *_), keys = (launch.operands[x].shape for x in (0, 1))
    none = -(-keys[2] // columns), -1
    for b in range(batch):
        for h in range(heads):
            needed = visits.needed(setting.mask_of(b, h), rows, columns)
            for row, tiles in needed.items():
                at = tuple(
                    x % size for x, size in zip((b, h, row // rows), firsts.shape)
                )
                got = int(firsts[at]), int(lasts[at])
                numbers = [tile.first // columns for tile in tiles]
                least = (numbers[0], numbers[-1]) if numbers else none
                covers = got[0] <= least[0] and got[1] >= least[1]
                if not covers or (exact and got != least):
                    raise visits.Problem(
                        f"expects tiles {least} at {b, h, row}, but got {got}"
                    )


def _check(test):
    """Gives a line for each size."""
    is_lists = isinstance(test.mask, layouts.Lists)
    variant = None if is_lists else layouts.VARIANTS[test.mask]
    compiled = {}
    for sizes in test.sizes:
        case = Case(variant, "bf16", test.dim, test.dim, *sizes)
        # The type tells the heads where there are lists.
        heads = case.heads, case.kv_heads
        if is_lists:
            text = test.mask.program(*heads, test.dim)
        else:
            text = program(variant, "bf16", test.dim, test.dim)
        if text not in compiled:
            compiled[text] = launches.Program(text, test.schedule)
        setting = (
            _set_lists(test, compiled[text], case)
            if is_lists
            else _set_variant(test, variant, compiled[text], case)
        )
        launch = setting.launch
        launch.add_tables()
        tables = launch.run_prologues()
        if setting.has_limits:
            # They are made of the others.
            _check_limits(*tables[-2:], setting, test.exact)
            tables = tables[:-2]
        if setting.tables:
            _check_tables(tables, setting.tables)
        tiles = launch.tiles()[1]
        # Blocks that are persistent have several tiles, and some have none.
        is_persistent = launch.program.schedule("persistent")
        blocks = [3, tiles + 1] if is_persistent and tiles < 20 else [5]
        for number in blocks if is_persistent else [tiles * test.parts]:
            copied = producer.run(launch, number)
            counts = visits.check(copied, setting.mask_of, launch, test.rows_apart)
        name = test.mask.name if is_lists else test.mask
        print(f"{name} {sizes}: {counts}")
        if test.exact and (counts.extra or counts.loose):
            raise visits.Problem("expects exactly the tiles that are needed")


if __name__ == "__main__":
    kind, shard = sys.argv[1:3]
    failures = (visits.Problem, producer.PtxError)
    sys.exit(shards.run(kind, shards.sample(TESTS[kind]), shard, _check, failures))
