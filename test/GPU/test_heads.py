"""Tiles with the queries of several heads that share keys: with a schedule that has
no other tiles, and as a launch chooses them."""

import attn
import pytest
from programs import program

import cases
import running

# Two for a group of 4, of which tiles have all heads, and so on; three heads of a
# group have no power of two in common but one, and twelve have four.
_GROUPS = [(4, 2), (6, 2), (8, 2), (16, 2), (12, 1), (32, 1), (128, 1)]
_QUERIES = [1, 2, 3, 5, 16, 33, 64, 129]
_NAMES = [
    "full",
    "causal",
    "causal-bottom-right",
    "window-bottom-right",
    "ragged-keys-causal",
    "alibi",
    "alibi-rows",
    "head-bias",
    "head-scale",
    "head-dependent-score",
    "softcap-causal",
    "causal-bshd",
    "full-no-lse",
]
_SCHEDULES = {
    64: "tile_m = 64, tile_n = 64, stages = 2, registers = 120, min_ctas_per_sm = 3",
    96: "tile_m = 64, tile_n = 64, stages = 2, registers = 184, min_ctas_per_sm = 2",
    128: "tile_m = 64, tile_n = 64, stages = 2, registers = 184, min_ctas_per_sm = 2",
    256: "tile_m = 64, tile_n = 64, stages = 2, registers = 240",
}


def _cases(name, dtype, dim, seed):
    """Each number of queries with two groups, each group with two numbers."""
    for number, queries in enumerate(_QUERIES):
        for step in (0, 3):
            heads, kv_heads = _GROUPS[(number + step) % len(_GROUPS)]
            batch, keys = (2, 191) if number % 2 else (1, 330)
            sizes = (batch, heads, kv_heads, queries, keys)
            yield cases.make(
                cases.VARIANTS[name], dtype, dim, dim, sizes, seed=seed
            )


def _check(backend, kernel, case):
    inputs = running.Inputs(backend, case)
    results = inputs.run(kernel)
    problem = inputs.explain(results, inputs.reference())
    if problem:
        return f"{case}: {problem}"
    again = inputs.run(kernel)
    for (tensor, _), (other, _) in zip(results, again):
        if not backend.same_bits(tensor, other):
            return f"{case}: another result the second time"
    embedded, untouched = running._run_embedded(inputs, kernel)
    for (tensor, _), (other, _) in zip(results, embedded):
        if not backend.same_bits(tensor, other):
            return f"{case}: depends on what is around the tensors"
    return None if untouched else f"{case}: memory around the results was written"


@pytest.mark.parametrize(
    "name, dim",
    [(name, dim) for name in _NAMES for dim in (64, 128)]
    + [(name, dim) for name in ("causal-bottom-right", "alibi") for dim in (96, 256)],
)
def test_packed(backend, seed, name, dim):
    if backend.target != "cuda":
        pytest.skip("a schedule for GPUs")
    dtype = "f16" if dim in (64, 256) else "bf16"
    bias = ", bias_in_product" if name.startswith("alibi") else ""
    schedule = f"#hopper.schedule<{_SCHEDULES[dim]}{bias}, pack_gqa>"
    text = program(cases.VARIANTS[name], dtype, dim, dim)
    kernel = attn.compile(text, target="cuda", schedule=schedule)
    problems = [
        _check(backend, kernel, case) for case in _cases(name, dtype, dim, seed)
    ]
    assert [problem for problem in problems if problem] == []


@pytest.mark.parametrize("name", ["causal-bottom-right", "alibi"])
@pytest.mark.parametrize("dim", [64, 128])
def test_chosen(backend, seed, name, dim):
    """Whichever variant a launch takes."""
    text = program(cases.VARIANTS[name], "bf16", dim, dim)
    kernel = attn.compile(text, target=backend.target)
    problems = []
    for case in _cases(name, "bf16", dim, seed):
        inputs = running.Inputs(backend, case)
        problems.append(inputs.explain(inputs.run(kernel), inputs.reference()))
    assert [problem for problem in problems if problem] == []


def test_wide_tiles(backend, seed):
    """More than one warpgroup, each with all heads of its queries."""
    if backend.target != "cuda":
        pytest.skip("a schedule for GPUs")
    schedule = (
        "#hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 232, "
        "persistent, ping_pong, pack_gqa>"
    )
    for name in ["full", "causal-bottom-right", "alibi"]:
        text = program(cases.VARIANTS[name], "bf16", 128, 128)
        kernel = attn.compile(text, target="cuda", schedule=schedule)
        for case in _cases(name, "bf16", 128, seed):
            assert _check(backend, kernel, case) is None
