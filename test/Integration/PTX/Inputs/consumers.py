"""Executes whole kernels of the attention, all of their warps, and compares the
results with the maths by the rule of docs/numerics.md.

Usage: consumers.py SHARD/SHARDS
"""

import sys
import time
import typing

import cases_of_kernels
import layouts
import shards
from programs import Case

_SCHEDULE = "#hopper.schedule<tile_m = {}, tile_n = {}, stages = {}, registers = {}{}>"


def _schedule(rows, columns, stages, registers, *rest):
    more = "".join(f", {x}" for x in rest)
    return _SCHEDULE.format(rows, columns, stages, registers, more)


class Test(typing.NamedTuple):
    """A variant of the tests for GPUs, or lists of blocks, with the head dimensions
    of keys and of values, the schedule, and the batches, heads, heads of keys,
    queries and keys."""

    variant: typing.Union[str, layouts.Lists]
    dtype: str
    dims: tuple
    schedule: str
    sizes: tuple
    # Of a persistent kernel; of one with split_kv.
    blocks: int = 2
    parts: int = 1
    # The seed of the order, and how likely copies come late.
    seed: int = 0
    late: float = 1.0
    # Of attn-run.
    options: tuple = ()


_D64, _D128, _D256 = (64, 64), (128, 128), (256, 256)
_PERSISTENT = ("longest_first", "persistent", "ping_pong")
# Orders of steps that the passes of the hopper dialect make kernels of.
_OVERLAP = "order = [load_k, qk, load_v(1), pv(1), softmax]"
_IN_TURN = f"{_OVERLAP}, exclusive = [qk, pv]"
_THREE_STAGES = "order = [load_k, qk, load_v(2), pv(2), softmax(1)]"
_ONE_BY_ONE = "order = [load_k, qk, softmax, load_v, pv]"
_LATE_SCORES = "order = [load_k, qk, load_v, load_arg3(1), softmax(1), pv(1)]"
TESTS = [
    # Each shape of tiles.
    Test("full", "bf16", _D64, _schedule(64, 128, 2, 208), (1, 1, 1, 64, 128)),
    Test(
        "full",
        "bf16",
        _D64,
        _schedule(192, 128, 4, 160, *_PERSISTENT),
        (1, 3, 3, 200, 300),
    ),
    Test(
        "causal",
        "f16",
        _D64,
        _schedule(256, 64, 4, 112, *_PERSISTENT),
        (1, 2, 1, 300, 300),
    ),
    Test(
        "causal",
        "bf16",
        _D128,
        _schedule(128, 128, 2, 232, *_PERSISTENT, "q_in_registers"),
        (1, 4, 2, 200, 200),
    ),
    Test(
        "causal",
        "bf16",
        _D128,
        _schedule(192, 80, 2, 160, "longest_first", "persistent"),
        (2, 2, 1, 150, 150),
        blocks=1,
    ),
    Test(
        "window-both-sides",
        "f16",
        _D256,
        _schedule(128, 64, 2, 232, "longest_first", "persistent"),
        (1, 2, 2, 150, 170),
    ),
    Test("causal", "bf16", _D256, _schedule(128, 64, 2, 240), (1, 1, 1, 130, 200)),
    Test("full", "f16", (192, 128), _schedule(128, 64, 2, 232), (1, 2, 1, 100, 150)),
    Test("full", "bf16", (40, 96), _schedule(64, 64, 2, 208), (1, 1, 1, 70, 100)),
    Test(
        "inverse-causal",
        "bf16",
        (72, 72),
        _schedule(128, 32, 4, 240),
        (1, 1, 1, 129, 200),
    ),
    # Parts of the keys, tiles of several heads, and threads that copy.
    Test(
        "causal-bottom-right",
        "bf16",
        _D64,
        _schedule(64, 64, 2, 208, "longest_first", "split_kv"),
        (1, 2, 1, 5, 400),
        parts=3,
    ),
    Test(
        "full",
        "f16",
        _D128,
        _schedule(64, 32, 2, 208, "min_ctas_per_sm = 2", "split_kv"),
        (1, 1, 1, 9, 130),
        parts=2,
    ),
    Test(
        "full",
        "bf16",
        _D128,
        _schedule(64, 80, 2, 184, "min_ctas_per_sm = 2", "pack_gqa"),
        (1, 8, 2, 20, 200),
    ),
    Test(
        "causal",
        "bf16",
        _D64,
        _schedule(64, 64, 2, 120, "min_ctas_per_sm = 3", "longest_first", "pack_gqa"),
        (1, 6, 3, 90, 90),
    ),
    Test(
        "causal",
        "bf16",
        _D64,
        _schedule(128, 64, 2, 208, "longest_first", "ping_pong", "strided"),
        (1, 2, 1, 90, 90),
    ),
    Test(
        "full", "f16", _D128, _schedule(128, 32, 2, 208, "strided"), (1, 1, 1, 70, 130)
    ),
    # Scores with captures, copied or read.
    Test(
        "bias-bhij",
        "bf16",
        _D64,
        _schedule(128, 64, 2, 232, "capture_stages = 2", "ping_pong"),
        (1, 2, 2, 136, 200),
    ),
    Test(
        "random-pairs-i1",
        "bf16",
        _D64,
        _schedule(128, 64, 2, 232, "capture_stages = 2", "ping_pong"),
        (1, 2, 1, 100, 144),
    ),
    Test("bias-bhij", "f16", _D128, _schedule(128, 64, 2, 232), (1, 2, 1, 70, 90)),
    Test(
        "row-and-key-bias",
        "bf16",
        _D64,
        _schedule(128, 64, 2, 240),
        (1, 2, 1, 100, 150),
    ),
    Test(
        "softcap-causal",
        "bf16",
        _D64,
        _schedule(192, 64, 2, 160, *_PERSISTENT),
        (1, 2, 1, 200, 200),
    ),
    Test(
        "alibi-both-sides",
        "bf16",
        _D64,
        _schedule(128, 64, 2, 240, "bias_in_product"),
        (1, 2, 2, 150, 180),
    ),
    Test(
        "alibi-documents",
        "f16",
        _D128,
        _schedule(128, 64, 2, 232, *_PERSISTENT, "bias_in_product"),
        (2, 2, 1, 150, 150),
    ),
    # Masks.
    Test(
        "ragged",
        "bf16",
        _D64,
        _schedule(128, 64, 2, 240, *_PERSISTENT),
        (3, 2, 1, 150, 190),
    ),
    Test(
        "prefix-lm",
        "f16",
        _D64,
        _schedule(128, 64, 2, 240, *_PERSISTENT),
        (2, 1, 1, 150, 150),
    ),
    Test(
        "documents",
        "bf16",
        _D128,
        _schedule(128, 64, 2, 232, "zigzag", "persistent"),
        (2, 2, 2, 140, 190),
    ),
    Test(
        "blocks-64",
        "bf16",
        _D64,
        _schedule(64, 64, 2, 208, "persistent"),
        (1, 3, 1, 200, 200),
    ),
    Test("random-pairs", "f16", _D64, _schedule(128, 64, 2, 240), (1, 2, 1, 100, 200)),
    Test("masked-rows", "bf16", _D64, _schedule(64, 64, 2, 208), (1, 1, 1, 150, 70)),
    Test(
        "causal-bshd",
        "bf16",
        _D64,
        _schedule(128, 64, 2, 240, *_PERSISTENT),
        (2, 2, 1, 130, 130),
    ),
    # Lists, as bits for tiles and for keys, and whose keys are gathered.
    Test(
        layouts.Lists(64, 0.4),
        "bf16",
        _D64,
        _schedule(128, 64, 2, 240, *_PERSISTENT),
        (1, 2, 1, 150, 150),
    ),
    Test(
        layouts.Lists(1, 0.3),
        "bf16",
        _D128,
        _schedule(128, 64, 2, 232),
        (1, 2, 1, 70, 150),
        options=("--sparsity=dense",),
    ),
    Test(
        layouts.Lists(1, 0.1),
        "bf16",
        _D64,
        _schedule(64, 64, 4, 112, "min_ctas_per_sm = 3"),
        (1, 2, 1, 70, 200),
        options=("--sparsity=gathered",),
    ),
    # Next to nothing, in other orders.
    Test(
        "causal",
        "bf16",
        _D64,
        _schedule(128, 64, 2, 240, *_PERSISTENT),
        (1, 1, 1, 1, 1),
    ),
    Test(
        "full", "bf16", _D64, _schedule(128, 64, 2, 240, *_PERSISTENT), (1, 2, 1, 65, 0)
    ),
    Test(
        "causal",
        "bf16",
        _D64,
        _schedule(128, 64, 2, 240, *_PERSISTENT),
        (1, 3, 1, 130, 150),
        1,
        seed=1,
        late=0.0,
    ),
    Test(
        "causal",
        "bf16",
        _D64,
        _schedule(128, 64, 4, 240, *_PERSISTENT),
        (1, 3, 1, 130, 150),
        3,
        seed=2,
        late=0.5,
    ),
    # Tiles that end with the last row, the first of which has one warpgroup's rows.
    Test(
        "causal",
        "bf16",
        _D128,
        _schedule(192, 80, 2, 160, "longest_first", "short_first", "persistent"),
        (1, 2, 1, 250, 250),
        blocks=1,
    ),
    Test(
        "causal",
        "f16",
        _D64,
        _schedule(128, 64, 2, 208, "longest_first", "short_first", "ping_pong", "strided"),
        (1, 2, 1, 180, 180),
    ),
    Test(
        "causal",
        "bf16",
        _D64,
        _schedule(128, 64, 2, 208, "short_first", "split_kv"),
        (1, 2, 1, 150, 300),
    ),
    Test(
        "causal",
        "bf16",
        _D64,
        _schedule(128, 64, 2, 240, "short_first", "pack_gqa"),
        (1, 8, 2, 40, 100),
    ),
    Test(
        "softcap-causal",
        "bf16",
        _D64,
        _schedule(192, 64, 2, 160, "longest_first", "short_first", "persistent"),
        (1, 1, 1, 100, 230),
    ),
    # Kernels of named steps, with schedules that differ in the order alone, with
    # turns, and with three warpgroups.
    Test(
        "causal",
        "bf16",
        _D64,
        _schedule(128, 64, 2, 240, "head_swizzle = 2", "longest_first", "persistent", _OVERLAP),
        (1, 3, 1, 200, 200),
    ),
    Test(
        "causal",
        "bf16",
        _D64,
        _schedule(128, 64, 2, 240, "head_swizzle = 2", "longest_first", "persistent", _IN_TURN),
        (1, 3, 1, 200, 200),
        seed=1,
    ),
    Test(
        "causal",
        "bf16",
        _D64,
        _schedule(128, 64, 2, 240, "longest_first", "persistent", _ONE_BY_ONE),
        (1, 3, 1, 200, 200),
        seed=2,
    ),
    Test(
        "window",
        "f16",
        _D128,
        _schedule(192, 80, 2, 160, "longest_first", "persistent", _OVERLAP),
        (1, 2, 1, 250, 250),
    ),
    Test(
        "full",
        "bf16",
        _D128,
        _schedule(128, 128, 2, 232, "q_in_registers", _IN_TURN),
        (2, 2, 2, 130, 150),
    ),
    Test("softcap-causal", "bf16", _D64, _schedule(64, 64, 4, 240, _OVERLAP), (1, 2, 1, 100, 130)),
    Test("alibi", "bf16", _D64, _schedule(128, 64, 2, 240, _IN_TURN), (1, 2, 1, 150, 100)),
    Test("bias-bhij", "f16", _D64, _schedule(128, 32, 2, 240, _OVERLAP), (1, 2, 2, 129, 70)),
    Test(
        "bias-bhij",
        "bf16",
        _D64,
        _schedule(128, 64, 2, 232, "capture_stages = 2", _IN_TURN),
        (1, 2, 2, 136, 200),
    ),
    Test(
        "random-pairs-i1",
        "bf16",
        _D64,
        _schedule(128, 64, 2, 232, "capture_stages = 1", _OVERLAP),
        (1, 2, 1, 100, 144),
    ),
    Test(
        "bias-bhij",
        "bf16",
        _D128,
        _schedule(64, 64, 2, 240, "capture_stages = 1", "persistent", _LATE_SCORES),
        (1, 2, 1, 136, 200),
        late=0.5,
    ),
    Test(
        "alibi-both-sides",
        "bf16",
        _D64,
        _schedule(128, 64, 2, 240, "bias_in_product", _IN_TURN),
        (1, 2, 2, 150, 180),
    ),
    Test(
        "alibi",
        "f16",
        _D128,
        _schedule(128, 64, 2, 232, "persistent", "bias_in_product", _OVERLAP),
        (2, 2, 1, 150, 150),
    ),
    Test(
        "alibi-some-slopes",
        "bf16",
        _D64,
        _schedule(128, 80, 2, 232, "bias_in_product", _IN_TURN),
        (1, 4, 2, 150, 260),
    ),
    Test(
        "bias-bhij-f32-causal",
        "bf16",
        _D64,
        _schedule(256, 64, 2, 112, "capture_stages = 2", "persistent", _IN_TURN),
        (1, 2, 2, 300, 300),
        late=0.5,
    ),
    Test("random-pairs", "f16", _D64, _schedule(128, 64, 2, 240, _OVERLAP), (1, 2, 1, 100, 200)),
    Test("row-and-key-bias", "bf16", _D64, _schedule(128, 64, 2, 240, _OVERLAP), (1, 2, 1, 100, 150)),
    Test("causal-bshd", "bf16", _D64, _schedule(128, 64, 1, 240, _ONE_BY_ONE), (2, 2, 1, 130, 130)),
    Test("masked-rows", "bf16", _D64, _schedule(192, 64, 2, 160, _OVERLAP), (1, 1, 1, 150, 70)),
    Test("causal", "bf16", _D256, _schedule(128, 64, 2, 240, _OVERLAP), (1, 1, 1, 130, 200)),
    Test("full", "bf16", _D64, _schedule(128, 64, 2, 240, "persistent", _OVERLAP), (1, 2, 1, 65, 0)),
    # Tiles of several heads, and threads that copy.
    Test(
        "full",
        "bf16",
        _D128,
        _schedule(64, 80, 2, 184, "min_ctas_per_sm = 2", "pack_gqa", _OVERLAP),
        (1, 8, 2, 20, 200),
    ),
    Test(
        "head-bias",
        "f16",
        _D64,
        _schedule(64, 64, 2, 120, "min_ctas_per_sm = 3", "pack_gqa", _OVERLAP),
        (2, 6, 3, 41, 90),
    ),
    Test(
        "causal-bshd",
        "bf16",
        _D64,
        _schedule(128, 64, 2, 240, "longest_first", "persistent", "pack_gqa", _ONE_BY_ONE),
        (1, 6, 3, 90, 90),
    ),
    Test(
        "causal",
        "bf16",
        _D64,
        _schedule(128, 64, 2, 208, "longest_first", "strided", _IN_TURN),
        (1, 2, 1, 90, 90),
    ),
    Test(
        "full",
        "f16",
        _D128,
        _schedule(128, 32, 2, 208, "strided", _OVERLAP),
        (1, 1, 1, 70, 130),
    ),
    # Half a step of a product, of registers.
    Test(
        "full",
        "bf16",
        (40, 40),
        _schedule(64, 64, 2, 232, "q_in_registers", _OVERLAP),
        (1, 1, 1, 70, 100),
    ),
    # Results that are staged in place of the queries of a persistent kernel.
    Test(
        "full",
        "bf16",
        _D256,
        _schedule(128, 80, 2, 240, "persistent", _OVERLAP),
        (2, 2, 2, 130, 150),
    ),
    Test(
        "full",
        "bf16",
        (40, 96),
        _schedule(64, 64, 2, 208, _OVERLAP),
        (1, 1, 1, 70, 100),
    ),
    Test("causal", "bf16", _D64, _schedule(128, 64, 2, 240, _OVERLAP), (1, 1, 1, 1, 1)),
    # Blocks that are found at run time, of some work tiles none, and rows that
    # lists name.
    Test("documents-sorted", "bf16", _D64, _schedule(128, 64, 2, 240, "persistent", _IN_TURN), (1, 2, 1, 300, 300)),
    Test("documents-sorted", "bf16", _D64, _schedule(128, 64, 2, 208, "longest_first", "strided", _IN_TURN), (1, 2, 1, 150, 200)),
    Test("documents-causal", "bf16", _D128, _schedule(128, 80, 2, 232, "persistent", "q_in_registers", _OVERLAP), (1, 2, 1, 200, 250)),
    Test("documents-sorted", "bf16", _D64, _schedule(192, 64, 2, 160, "persistent", _ONE_BY_ONE), (1, 2, 1, 200, 200), late=0.5),
    Test("dilated-blocks", "f16", _D64, _schedule(128, 32, 4, 240, _IN_TURN), (1, 2, 1, 200, 1300)),
    # Warpgroups that need some of the blocks each, in turns and without, and some
    # that have no rows.
    Test("documents-sorted", "bf16", _D64, _schedule(256, 32, 4, 112, "persistent", _OVERLAP), (1, 2, 1, 270, 300), late=0.3),
    Test("documents-sorted", "bf16", _D64, _schedule(192, 16, 2, 160, "persistent", _IN_TURN), (1, 1, 1, 200, 200), seed=2),
    Test("documents-sorted-causal", "bf16", _D64, _schedule(192, 32, 4, 152, "persistent", _OVERLAP), (1, 1, 1, 250, 250), seed=3, late=0.3),
    Test("documents-sorted", "f16", _D64, _schedule(128, 32, 2, 208, "split_kv", _ONE_BY_ONE), (1, 1, 1, 128, 300), parts=3),
    Test("global-tokens", "bf16", _D64, _schedule(128, 64, 2, 240, "persistent", _ONE_BY_ONE), (1, 2, 1, 300, 300), seed=1),
    Test("ragged", "bf16", _D64, _schedule(128, 64, 2, 240, "persistent", _IN_TURN), (3, 1, 1, 200, 300), 1),
    Test("random-rows", "bf16", _D64, _schedule(64, 64, 2, 208, "split_kv", _OVERLAP), (1, 2, 1, 70, 600), parts=3),
    Test(layouts.Lists(64, 0.3), "bf16", _D64, _schedule(128, 64, 2, 240, "persistent", _OVERLAP), (1, 2, 2, 300, 300)),
    Test(layouts.Lists(64, 0.0), "bf16", _D64, _schedule(128, 64, 2, 240, "persistent", _IN_TURN), (1, 2, 2, 300, 300)),
    Test(layouts.Lists(64, 0.2), "bf16", _D64, _schedule(128, 64, 2, 240, "persistent", _ONE_BY_ONE), (1, 2, 2, 150, 0)),
    Test(layouts.Lists(1, 0.3), "bf16", _D128, _schedule(128, 64, 2, 232, _IN_TURN), (1, 2, 1, 70, 150), options=("--sparsity=dense",)),
    Test(layouts.Lists(1, 0.1), "bf16", _D64, _schedule(64, 64, 4, 112, "min_ctas_per_sm = 3", _OVERLAP), (1, 2, 1, 70, 200), options=("--sparsity=gathered",)),
    Test(layouts.Lists(1, 0.2), "bf16", _D128, _schedule(128, 64, 2, 232, _ONE_BY_ONE), (1, 2, 1, 150, 200), options=("--sparsity=gathered",)),
    # Parts of the keys: of ranges that differ between warpgroups, more parts than
    # there are keys for, one part, and no keys.
    Test(
        "causal-bottom-right",
        "bf16",
        _D64,
        _schedule(64, 64, 2, 208, "longest_first", "split_kv", _OVERLAP),
        (1, 2, 1, 5, 400),
        parts=3,
    ),
    Test(
        "window-both-sides",
        "f16",
        _D64,
        _schedule(128, 32, 2, 208, "split_kv", _IN_TURN),
        (1, 1, 1, 150, 400),
        parts=2,
        seed=1,
    ),
    Test(
        "causal",
        "bf16",
        _D64,
        _schedule(192, 16, 2, 160, "split_kv", _OVERLAP),
        (1, 1, 1, 200, 200),
        parts=4,
    ),
    Test("full", "f16", _D128, _schedule(64, 32, 2, 208, "min_ctas_per_sm = 2", "split_kv", _ONE_BY_ONE), (1, 1, 1, 9, 130)),
    Test("causal-bshd", "bf16", _D64, _schedule(64, 64, 2, 240, "split_kv", _OVERLAP), (2, 2, 1, 3, 300), parts=2),
    Test("masked-rows", "bf16", _D64, _schedule(64, 32, 2, 240, "split_kv", _OVERLAP), (1, 1, 1, 70, 270), parts=3),
    Test("full", "bf16", _D64, _schedule(64, 64, 2, 240, "split_kv", _OVERLAP), (1, 2, 1, 65, 0), parts=2),
    # Parts of the keys of tiles of several heads.
    Test(
        "full",
        "bf16",
        _D64,
        _schedule(64, 64, 2, 208, "min_ctas_per_sm = 2", "split_kv", "pack_gqa", _OVERLAP),
        (2, 8, 2, 3, 600),
        parts=3,
    ),
    Test(
        "causal-bottom-right",
        "f16",
        _D128,
        _schedule(64, 32, 2, 208, "split_kv", "pack_gqa", _OVERLAP),
        (1, 4, 1, 20, 300),
        parts=2,
        seed=1,
    ),
    Test(
        "causal-bshd",
        "bf16",
        _D64,
        _schedule(128, 32, 2, 208, "split_kv", "pack_gqa", _ONE_BY_ONE),
        (1, 6, 3, 90, 150),
        parts=4,
    ),
    # Results in the memory of their queries, beside the queries of the next tile.
    Test("window", "bf16", _D64, _schedule(192, 64, 4, 152, "longest_first", "persistent", "reuse_q", _OVERLAP), (1, 3, 1, 450, 450)),
    Test("causal-bottom-right", "bf16", _D64, _schedule(128, 32, 2, 240, "persistent", "reuse_q", _IN_TURN), (2, 3, 1, 200, 100)),
    # Three stages.
    Test(
        "causal",
        "bf16",
        _D64,
        _schedule(128, 32, 2, 240, "longest_first", "persistent", _THREE_STAGES),
        (1, 3, 1, 200, 200),
    ),
    Test("window", "f16", _D64, _schedule(64, 32, 2, 240, _THREE_STAGES), (1, 2, 1, 100, 130)),
    Test("full", "bf16", _D64, _schedule(128, 64, 2, 240, _THREE_STAGES), (1, 2, 1, 130, 60)),
]


def _check(test):
    lists = test.variant if isinstance(test.variant, layouts.Lists) else None
    if lists:
        case = cases_of_kernels.case_of_lists(lists, test.dims[0], test.sizes)
    else:
        variant = layouts.VARIANTS[test.variant]
        case = Case(variant, test.dtype, *test.dims, *test.sizes)
    setting = cases_of_kernels.Setting(case, lists)
    start = time.process_time()
    compiled = cases_of_kernels.compile_case(case, test.schedule, lists, test.options)
    kernel = setting.run(compiled, test.seed, test.parts, test.blocks, test.late)
    seconds = time.process_time() - start
    print(f"{case} {test.schedule[17:-1]}: {kernel.steps} steps, {seconds:.1f} s")


if __name__ == "__main__":
    failures = cases_of_kernels.FAILURES
    sys.exit(shards.run("consumers", shards.sample(TESTS), sys.argv[1], _check, failures))
