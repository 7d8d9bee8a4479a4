"""Keys of a Q block that several CTAs share out: schedules with
split_kv, given and as a launch chooses them."""

import attn
import pytest

import cases
import programs
import running

_RERUNS = 100
# Tiles of few keys, so that there are many parts, some of them without keys.
_SMALL = "tile_m = 64, tile_n = 32, stages = 2, registers = 208, split_kv"
_WIDE = "tile_m = 128, tile_n = 32, stages = 2, registers = 208, split_kv"
_SIZES = [
    # (batch, heads, key heads, queries, keys)
    (1, 1, 1, 1, 1),
    (2, 3, 3, 3, 127),
    (1, 4, 2, 64, 5000),
    (2, 2, 1, 200, 1031),
    (1, 2, 2, 65, 0),
    (1, 1, 1, 0, 64),
    (1, 1, 1, 129, 5000),
]
_LONG = [(1, 1, 1, 1, 100003), (1, 2, 1, 3, 100003), (1, 1, 1, 200, 100003)]
_NAMES = [
    "full",
    "full-no-lse",
    "causal",
    "causal-bottom-right",
    "window",
    "window-bottom-right",
    "documents",
    "global-tokens",
    "random-rows",
    "masked-rows",
    "nothing",
    "blocks-64",
    "blocks-192x96-causal",
    "no-blocks",
    "causal-bshd",
    "bias-ij",
    "alibi",
    "softcap-causal",
]


def _compile(backend, case, schedule):
    if backend.target == "cpu":
        pytest.skip("schedules are for a GPU")
    return attn.compile(
        programs.program(*case.kernel),
        target=backend.target,
        schedule=f"#hopper.schedule<{schedule}>",
    )


def _check(backend, case, schedule):
    kernel = _compile(backend, case, schedule)
    inputs = running.Inputs(backend, case)
    assert inputs.explain(inputs.run(kernel), inputs.reference()) is None


@pytest.mark.parametrize("sizes", _SIZES, ids=str)
@pytest.mark.parametrize("name", _NAMES)
def test_parts(backend, seed, name, sizes):
    case = cases.make_case(name, sizes=sizes, seed=seed)
    _check(backend, case, _SMALL)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("dim", [8, 40, 72, 96, 128, 192, 256])
@pytest.mark.parametrize("name", ["full", "causal"])
def test_dims(backend, seed, name, dim, dtype):
    case = cases.make_case(name, dtype, dim=dim, sizes=(1, 2, 1, 70, 1500), seed=seed)
    _check(backend, case, _SMALL)


@pytest.mark.parametrize("name", ["full", "causal", "window", "documents"])
def test_warpgroups(backend, seed, name):
    """Two warpgroups, each with its own last key."""
    case = cases.make_case(name, sizes=(1, 2, 2, 300, 2000), seed=seed)
    _check(backend, case, _WIDE)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("name", ["full", "causal-bottom-right"])
def test_large_inputs(backend, seed, name, dtype):
    """The weights of most parts are 0."""
    case = cases.make_case(
        name, dtype, sizes=(1, 2, 1, 3, 5000), seed=seed, amplitude=16.0
    )
    _check(backend, case, _SMALL)


@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize("sizes", _LONG, ids=str)
@pytest.mark.parametrize(
    "name", ["full", "causal", "causal-bottom-right", "window-bottom-right"]
)
def test_long(backend, seed, name, sizes, dim):
    """As a launch chooses it, which gives the same as the schedule that it
    chooses where masks are intervals that grow with all keys."""
    if backend.target == "cpu":
        sizes = (*sizes[:4], 5000)
    case = cases.make_case(name, dim=dim, sizes=sizes, seed=seed)
    kernel = running.compile_kernel(case.kernel, backend.target)
    inputs = running.Inputs(backend, case)
    results = inputs.run(kernel)
    assert inputs.explain(results, inputs.reference()) is None
    if backend.target == "cpu" or name == "window-bottom-right":
        return
    (split,) = [
        each["schedule"]
        for each in kernel.report["kernels"]
        if "split_kv" in each["schedule"]
    ]
    forced = attn.compile(
        programs.program(*case.kernel), target=backend.target, schedule=split
    )
    for (a, _), (b, _) in zip(results, inputs.run(forced)):
        assert backend.same_bits(a, b)


@pytest.mark.parametrize("name", ["documents", "global-tokens", "blocks-128"])
def test_long_classes(backend, seed, name):
    """Masks whose tiles may need all keys, of more tiles than multiprocessors."""
    queries = 9000 if backend.target == "cuda" else 400
    case = cases.make_case(name, sizes=(1, 1, 1, queries, queries), seed=seed)
    kernel = running.compile_kernel(case.kernel, backend.target)
    inputs = running.Inputs(backend, case)
    assert inputs.explain(inputs.run(kernel), inputs.reference()) is None


@pytest.mark.parametrize("name", ["full", "causal", "documents"])
def test_same_bits_each_time(backend, seed, name):
    case = cases.make_case(name, sizes=(1, 2, 1, 70, 5000), seed=seed)
    kernel = _compile(backend, case, _SMALL)
    inputs = running.Inputs(backend, case)
    expected = inputs.run(kernel)
    for number in range(_RERUNS):
        for (a, _), (b, _) in zip(expected, inputs.run(kernel)):
            assert backend.same_bits(a, b), f"run {number}"


@pytest.mark.cuda_only
def test_graph(backend, seed):
    """A graph has both kernels and the memory between them."""
    torch = backend.x
    case = cases.make_case("causal-bottom-right", sizes=(1, 2, 1, 3, 5000), seed=seed)
    kernel = _compile(backend, case, _SMALL)
    inputs = running.Inputs(backend, case)
    expected = inputs.run(kernel)
    results = inputs.poisoned_results()
    arguments = inputs.arguments(inputs.tensors)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(*arguments, out=tuple(inputs.arguments(results)))
    for _ in range(3):
        for tensor, dtype in results:
            tensor[...] = backend.full((), float("nan"), dtype)
        graph.replay()
        backend.synchronize()
        for (a, _), (b, _) in zip(expected, results):
            assert backend.same_bits(a, b)
