"""Large scores, long sequences, rows without keys, and the same bits each time."""

import math

import attn
import numpy
import pytest

import cases
import programs
import running
from backends import namespace

_RERUNS = 1000


def _run(backend, case):
    kernel = running.compile_kernel(case.kernel, backend.target)
    inputs = running.Inputs(backend, case)
    return kernel, inputs, inputs.run(kernel)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("name", ["full", "causal", "alibi", "softcap", "bias-ij"])
def test_large_inputs(backend, seed, name, dtype):
    """Scores of up to some 1000s: most probabilities are 0 or 1."""
    case = cases.make_case(
        name, dtype, sizes=(1, 4, 2, 191, 257), seed=seed, amplitude=16.0
    )
    _, inputs, results = _run(backend, case)
    reference = inputs.reference()
    lse = reference.exact.lse
    if not name.startswith("softcap"):
        assert float(lse.max() - lse.min()) > 200
    assert inputs.explain(results, reference) is None


@pytest.mark.parametrize("name", ["full", "causal"])
def test_growing_scores(backend, seed, name):
    """Each key scores higher than those before it, so that every tile has a new
    maximum; and lower, so that only the first one has."""
    case = cases.make_case(name, sizes=(1, 2, 2, 130, 700), seed=seed)
    kernel = running.compile_kernel(case.kernel, backend.target)
    for sign in (1, -1):
        inputs = running.Inputs(backend, case)
        q, k, v = (numpy.zeros(t.shape) for t, _ in inputs.tensors)
        draw = numpy.random.default_rng(seed)
        q[...] = 1
        k[...] = sign * numpy.linspace(-6, 6, 700)[:, None]
        v[...] = draw.standard_normal(v.shape)
        inputs.tensors = [(backend.tensor(x, "bf16"), "bf16") for x in (q, k, v)]
        values = [backend.double(t, "bf16") for t, _ in inputs.tensors]
        inputs.values = values, inputs.values[1]
        assert inputs.explain(inputs.run(kernel), inputs.reference()) is None


def test_equal_scores(backend):
    """All probabilities are the same, and each sum is exact in float32."""
    case = cases.make_case("full", "f16", sizes=(1, 1, 1, 65, 512))
    kernel = running.compile_kernel(case.kernel, backend.target)
    inputs = running.Inputs(backend, case)
    ones = [numpy.ones(t.shape) for t, _ in inputs.tensors]
    inputs.tensors = [(backend.tensor(x, "f16"), "f16") for x in ones]
    (o, _), (lse, _) = inputs.run(kernel)
    assert bool((backend.double(o, "f16") == 1).all())
    expected = math.sqrt(64) + math.log(512)
    assert float(abs(backend.double(lse, "f32") - expected).max()) < 1e-5


@pytest.mark.parametrize("name", ["nothing", "masked-rows", "even-batches-causal"])
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_rows_without_keys(backend, seed, name, dtype):
    case = cases.make_case(name, dtype, sizes=(2, 2, 2, 150, 70), seed=seed)
    _, inputs, results = _run(backend, case)
    reference = inputs.reference()
    empty = reference.exact.lse == -math.inf
    assert bool(empty.any())
    (o, _), (lse, _) = results
    assert bool((backend.double(o, dtype)[empty] == 0).all())
    assert bool((backend.double(lse, "f32")[empty] == -math.inf).all())
    assert inputs.explain(results, reference) is None


@pytest.mark.parametrize("sizes", [(2, 2, 2, 65, 0), (1, 4, 1, 1, 0)])
def test_no_keys(backend, seed, sizes):
    for name in ("full", "causal"):
        _, _, results = _run(backend, cases.make_case(name, sizes=sizes, seed=seed))
        (o, _), (lse, _) = results
        assert bool((backend.double(o, "bf16") == 0).all())
        assert bool((backend.double(lse, "f32") == -math.inf).all())


@pytest.mark.parametrize(
    "sizes", [(0, 2, 2, 65, 64), (2, 2, 2, 0, 64), (0, 2, 1, 0, 0)]
)
def test_nothing_to_compute(backend, seed, sizes):
    _, _, results = _run(backend, cases.make_case("causal", sizes=sizes, seed=seed))
    assert math.prod(results[0][0].shape) == 0


@pytest.mark.parametrize("keys_at", [0, 50_000, 100_002])
def test_long_sequences(backend, seed, keys_at):
    """A window on more than 100000 positions, compared on rows around some."""
    length, size = 100_003, 37
    if backend.target == "cpu":
        length = 5_003
        keys_at = min(keys_at, length - 1)
    case = cases.make_case("window", sizes=(1, 2, 1, length, length), seed=seed)
    _, inputs, results = _run(backend, case)
    # The rows see what is in `size` keys before them.
    first = max(0, keys_at - 100)
    last = min(length, keys_at + 100)
    start = max(0, first - size)
    part = cases.make_case(
        "window", sizes=(1, 2, 1, last - start, last - start), seed=seed
    )
    sampled = running.Inputs(backend, part)
    values, captures = inputs.values
    sampled.values = [x[:, :, start:last] for x in values], captures
    reference = sampled.reference()
    # Rows from `first` on have all of their keys in the part.
    skip = first - start
    problems = sampled.explain(
        [
            (_with_rows(backend, reference, name, tensor[:, :, start:last], skip), dtype)
            for name, (tensor, dtype) in zip(("o", "lse"), results)
        ],
        reference,
    )
    assert problems is None


def _with_rows(backend, reference, name, got, skip):
    """What was got, but for the first rows, which are as expected."""
    got = backend.copy(got)
    if skip:
        dtype = "bf16" if name == "o" else "f32"
        exact = getattr(reference.eager, name)[:, :, :skip]
        if backend.x is numpy:
            got[:, :, :skip] = backend.tensor(exact, dtype)
        else:
            got[:, :, :skip] = exact.to(got.dtype)
    return got


_BIASES = ["alibi-full", "alibi-after", "alibi-some-slopes", "alibi-rows"]


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("dim", [64, 96, 128, 256])
@pytest.mark.parametrize("name", _BIASES)
def test_far_keys(backend, seed, name, dim, dtype):
    """Biases that grow with the position, on many keys: of all, of those before
    the queries, and of those at the start."""
    keys = 16384 if name in ("alibi-full", "alibi-after") else 1031
    if backend.target == "cpu":
        keys = min(keys, 2048)
    sizes = (1, 8, 2, 261 if keys > 2048 else 1029, keys)
    case = cases.make_case(name, dtype, dim=dim, sizes=sizes, seed=seed)
    _, inputs, results = _run(backend, case)
    assert inputs.explain(results, inputs.reference()) is None


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_slopes_that_are_no_number(backend, seed, dtype):
    """They make NaN of their head, where the distance is 0, and change no other."""
    case = cases.make_case("alibi", dtype, sizes=(1, 5, 5, 300, 300), seed=seed)
    kernel, inputs, expected = _run(backend, case)
    slopes = backend.double(*inputs.tensors[3])
    for head, value in [(1, math.inf), (2, math.nan), (4, -math.inf)]:
        slopes[head] = value
    inputs.tensors[3] = (backend.tensor(numpy.array(slopes.tolist()), "f32"), "f32")
    for (a, type_), (b, _) in zip(inputs.run(kernel), expected):
        values = backend.double(a, type_)
        for head in range(case.heads):
            if head in (0, 3):
                assert backend.same_bits(a[:, head], b[:, head])
            else:
                assert bool((values[:, head] != values[:, head]).all())


@pytest.mark.parametrize("slope", [0.0, 2.0**-24, -(2.0**-5), 1.0, -5.5, 64.0])
def test_bias_in_product(backend, seed, slope):
    """A bias is as exact in the product as it is computed for each score."""
    if backend.target == "cpu":
        pytest.skip("schedules are for a GPU")
    case = cases.make_case("alibi-full", sizes=(1, 4, 4, 300, 3001), seed=seed)
    inputs = running.Inputs(backend, case)
    slopes = numpy.full(case.heads, slope)
    inputs.tensors[3] = (backend.tensor(slopes, "f32"), "f32")
    captures = {"slopes": backend.double(*inputs.tensors[3])}
    inputs.values = inputs.values[0], namespace(captures)
    reference = inputs.reference()
    common = "tile_m = 192, tile_n = 128, registers = 160, persistent"
    for schedule in (common, f"{common}, bias_in_product"):
        kernel = attn.compile(
            programs.program(*case.kernel),
            target=backend.target,
            schedule=f"#hopper.schedule<{schedule}>",
        )
        assert inputs.explain(inputs.run(kernel), reference) is None, schedule


@pytest.mark.parametrize("name", ["full", "causal"])
def test_same_bits_each_time(backend, seed, name):
    """With more tiles than a GPU has multiprocessors, so that blocks take them
    in another order each time."""
    sizes = (4, 16, 4, 1000, 1000)
    count = _RERUNS
    if backend.target == "cpu":
        sizes, count = (1, 4, 2, 200, 200), 20
    case = cases.make_case(name, dim=128, sizes=sizes, seed=seed)
    kernel, inputs, expected = _run(backend, case)
    results = inputs.poisoned_results()
    call = kernel.bind(
        *inputs.arguments(inputs.tensors), out=tuple(inputs.arguments(results))
    )
    for number in range(count):
        for tensor, dtype in results:
            tensor[...] = backend.full((), float("nan"), dtype)
        call()
        backend.synchronize()
        for (a, _), (b, _) in zip(expected, results):
            assert backend.same_bits(a, b), f"run {number}"
