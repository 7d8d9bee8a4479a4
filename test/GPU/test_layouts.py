"""Tensors as callers have them in memory: the same bits whatever the strides."""

import pytest

import cases
import running

_SIZES = (2, 4, 2, 127, 193)
_DIM = 64


def _as(kind, inputs, number, tensor, dtype):
    """A copy of a (batch, heads, length, dim) tensor with other strides."""
    backend = inputs.backend
    batch, heads, length, dim = tensor.shape

    def new(*shape):
        return backend.full(shape, float("nan"), dtype)

    if kind == "dense":
        view = new(batch, heads, length, dim)
    elif kind == "bshd":
        view = new(batch, length, heads, dim).swapaxes(1, 2)
    elif kind == "sbhd":
        view = new(length, heads, batch, dim).swapaxes(0, 2)
    elif kind == "heads-first":
        view = new(heads, batch, length, dim).swapaxes(0, 1)
    elif kind == "packed":
        # Queries, keys and values of a token next to each other.
        view = new(batch, length, heads, 3, dim)[:, :, :, number % 3].swapaxes(1, 2)
    elif kind == "padded-rows":
        view = new(batch, heads, length, dim + 24)[..., :dim]
    elif kind == "every-other-head":
        view = new(batch, 2 * heads, length, dim)[:, ::2]
    elif kind == "every-other-row":
        view = new(batch, heads, 2 * length, dim)[:, :, 1::2]
    elif kind == "offset":
        # 16 bytes into a larger tensor.
        flat = new(batch * heads * length * dim + 8)
        view = flat[8:].reshape(batch, heads, length, dim)
    elif kind == "odd-offset":
        flat = new(batch * heads * length * dim + 1)
        view = flat[1:].reshape(batch, heads, length, dim)
    elif kind == "odd-rows":
        view = new(batch, heads, length, dim + 3)[..., :dim]
    view[...] = tensor
    return view


_KINDS = [
    "bshd",
    "sbhd",
    "heads-first",
    "packed",
    "padded-rows",
    "every-other-head",
    "every-other-row",
    "offset",
]


@pytest.mark.parametrize("name", ["full", "causal", "alibi"])
@pytest.mark.parametrize("kind", _KINDS)
def test_strides(backend, seed, name, kind):
    case = cases.make_case(name, dim=_DIM, sizes=_SIZES, seed=seed)
    kernel = running.compile_kernel(case.kernel, backend.target)
    inputs = running.Inputs(backend, case)
    plain = inputs.run(kernel)
    assert inputs.explain(plain, inputs.reference()) is None
    tensors = [
        (_as(kind, inputs, number, *both), both[1]) if number < 3 else both
        for number, both in enumerate(inputs.tensors)
    ]
    results = inputs.poisoned_results()
    results[0] = (_as(kind, inputs, 0, *results[0]), results[0][1])
    for (a, _), (b, _) in zip(plain, inputs.run(kernel, tensors, results)):
        assert backend.same_bits(a, b)


@pytest.mark.parametrize("which", ["q", "k", "v", "o", "bias", "all"])
@pytest.mark.parametrize("kind", ["odd-offset", "odd-rows"])
def test_odd_strides(backend, seed, kind, which):
    """Those that the hardware does not copy tiles of: another kernel, so that the
    bits may differ, but the rule holds."""
    case = cases.make_case("bias-bhij", dim=_DIM, sizes=(2, 4, 4, 127, 192), seed=seed)
    kernel = running.compile_kernel(case.kernel, backend.target)
    inputs = running.Inputs(backend, case)
    tensors = [
        (_as(kind, inputs, number, *both), both[1])
        if which in (name, "all")
        else both
        for number, (name, both) in enumerate(zip(("q", "k", "v", "bias"), inputs.tensors))
    ]
    results = inputs.poisoned_results()
    if which in ("o", "all"):
        results[0] = (_as(kind, inputs, 0, *results[0]), results[0][1])
    inputs.run(kernel, tensors, results)
    assert inputs.explain(results, inputs.reference()) is None


@pytest.mark.parametrize("name", ["full", "causal"])
def test_shared_keys(backend, seed, name):
    """Keys and values that all heads and all of a batch share have strides of 0."""
    case = cases.make_case(name, dim=_DIM, sizes=_SIZES, seed=seed)
    kernel = running.compile_kernel(case.kernel, backend.target)
    inputs = running.Inputs(backend, case)
    expanded, dense = [inputs.tensors[0]], [inputs.tensors[0]]
    for tensor, dtype in inputs.tensors[1:]:
        one = tensor[:1, :1]
        if backend.x.__name__ == "numpy":
            shared = backend.x.broadcast_to(one, tensor.shape)
        else:
            shared = one.expand_as(tensor)
        expanded.append((shared, dtype))
        dense.append((_as("dense", inputs, 0, shared, dtype), dtype))
    for (a, _), (b, _) in zip(
        inputs.run(kernel, dense), inputs.run(kernel, expanded)
    ):
        assert backend.same_bits(a, b)


@pytest.mark.parametrize("kv_heads", [8, 4, 2, 1])
def test_layout_of_types(backend, seed, kv_heads):
    """layout(bshd) on dense tensors is the same kernel as strides of one."""
    sizes = (2, 8, kv_heads, 129, 65)
    case = cases.make_case("causal", sizes=sizes, seed=seed)
    kernel = running.compile_kernel(case.kernel, backend.target)
    inputs = running.Inputs(backend, case)
    o, lse = inputs.run(kernel)
    other = cases.make_case("causal-bshd", sizes=sizes, seed=seed)
    kernel = running.compile_kernel(other.kernel, backend.target)
    tensors = []
    for tensor, dtype in inputs.tensors:
        dense = backend.full(tensor.swapaxes(1, 2).shape, 0.0, dtype)
        dense[...] = tensor.swapaxes(1, 2)
        tensors.append((dense, dtype))
    found = running.Inputs(backend, other)
    results = found.run(kernel, tensors)
    for (a, _), (b, _) in zip((o, lse), results):
        assert backend.same_bits(a, b.swapaxes(1, 2))


def test_results_are_new_tensors(backend, seed):
    """Without out=."""
    case = cases.make_case("causal", dtype="f16", sizes=_SIZES, seed=seed)
    kernel = running.compile_kernel(case.kernel, backend.target)
    inputs = running.Inputs(backend, case)
    expected = inputs.run(kernel)
    got = kernel(*inputs.arguments(inputs.tensors))
    backend.synchronize()
    for (a, _), b in zip(expected, got):
        assert backend.same_bits(a, b)
