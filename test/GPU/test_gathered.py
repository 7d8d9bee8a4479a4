"""Lists of keys whose Q blocks gather what some of their lists hold."""

import attn
import numpy
import pytest

from backends import embed
from test_lists import _DIMS, _PROGRAM, _SIZES, _check, _expected, _make_lists, _to_numpy

_BOUND = 1.6e-2


@pytest.fixture(autouse=True)
def only_on_gpus(backend):
    """On a CPU the form is an error of the compilation."""
    if backend.target != "cpu":
        return
    text = _PROGRAM.format(
        heads=1, kv_heads=1, dim=64, value_dim=64, dtype="bf16", index="i32", leading=""
    )
    with pytest.raises(attn.Error, match="on a CPU, but got gathered"):
        attn.compile(text, target="cpu", sparsity="gathered")
    pytest.skip("for GPUs")


@pytest.mark.parametrize("sizes", _SIZES, ids=str)
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_sizes(backend, dtype, sizes):
    _check(backend, dtype, (64, 64), sizes, "h", "i32", 0.4, form="gathered")


@pytest.mark.parametrize("dims", [*_DIMS, (192, 128)], ids=str)
def test_dims(backend, dims):
    _check(backend, "f16", dims, _SIZES[0], "bh", "i64", 0.3, form="gathered")


@pytest.mark.parametrize("leading", ["", "1", "h", "11", "1h", "b1", "bh"])
def test_shared_lists(backend, leading):
    _check(backend, "bf16", (64, 64), _SIZES[0], leading, "i32", 0.2, form="gathered")


@pytest.mark.parametrize("density", [0, 0.01, 1])
def test_density(backend, density):
    _check(backend, "bf16", (128, 128), _SIZES[0], "h", "i32", density, form="gathered")


@pytest.mark.parametrize("dim", [40, 64, 256])
def test_strides(backend, dim):
    sizes = _SIZES[0]
    _check(backend, "bf16", (dim, dim), sizes, "h", "i32", 0.2, True, "gathered")


def test_many_keys(backend):
    """More keys than a CTA has bits for at a time."""
    sizes = (1, 1, 1, 5, 70001)
    _check(backend, "bf16", (64, 64), sizes, "", "i32", 0.3, form="gathered")


def _shared_bits(draw, heads, queries, keys, part, noise):
    """Blocks of 64 queries that share a part of the keys, and others."""
    tiles = -(-queries // 64)
    common = draw.random((heads, tiles, keys)) < part
    bits = numpy.repeat(common, 64, 1)[:, :queries]
    bits &= draw.random(bits.shape) < 0.7
    return bits | (draw.random(bits.shape) < noise)


def _run(backend, bits, rows, columns, index="i32", schedule="", program=_PROGRAM,
         leading=None, dim=64):
    heads, queries, keys = bits.shape
    draw = numpy.random.default_rng(5)
    tensors = [(draw.standard_normal((1, heads, queries, dim)), "bf16")]
    tensors += [
        (draw.standard_normal((1, heads, keys, dim)), "bf16") for _ in range(2)
    ]
    tensors += [(rows, index), (columns, index)]
    tensors.append((draw.standard_normal(keys), "f32"))
    tensors = [(backend.tensor(value, kind), kind) for value, kind in tensors]
    q, k, v, _, _, w = [numpy.asarray(_to_numpy(backend, *t)) for t in tensors]
    results = [
        (backend.full((1, heads, queries, dim), float("nan"), "bf16"), "bf16"),
        (backend.full((1, heads, queries), float("nan"), "f32"), "f32"),
    ]
    text = program.format(
        heads=heads, kv_heads=heads, dim=dim, value_dim=dim, dtype="bf16", index=index,
        leading=f"{heads}x" if leading is None else leading,
    )
    kernel = attn.compile(
        text, target=backend.target, sparsity="gathered", schedule=schedule
    )
    out = tuple(backend.argument(*result) for result in results)
    kernel(*(backend.argument(*tensor) for tensor in tensors), out=out)
    backend.synchronize()
    o, lse = (_to_numpy(backend, *result) for result in results)
    return (o, lse), _expected(q, k, v, w, bits)


def _assert_close(found, expected):
    numpy.testing.assert_allclose(found[0], expected[0], rtol=_BOUND, atol=_BOUND)
    numpy.testing.assert_allclose(found[1], expected[1], rtol=1e-5, atol=1e-5)


def _to_lists(bits):
    heads, queries, _ = bits.shape
    columns = numpy.nonzero(bits)[2]
    ends = numpy.cumsum(bits.sum(-1).reshape(-1)).reshape(heads, queries)
    begins = numpy.concatenate([[0], ends[:-1, -1]])[:, None]
    return numpy.concatenate([begins, ends], 1), columns


@pytest.mark.parametrize("part,noise", [(0.05, 0), (0.3, 0.001), (0.5, 0.02)])
@pytest.mark.parametrize("dim", [64, 128, 256])
def test_shared_keys(backend, dim, part, noise):
    bits = _shared_bits(numpy.random.default_rng(1), 3, 333, 2000, part, noise)
    _assert_close(*_run(backend, bits, *_to_lists(bits), dim=dim))


def test_same_bits_each_time(backend):
    bits = _shared_bits(numpy.random.default_rng(1), 3, 700, 2000, 0.2, 0.01)
    lists = _to_lists(bits)
    first, again = _run(backend, bits, *lists)[0], _run(backend, bits, *lists)[0]
    for one, other in zip(first, again):
        numpy.testing.assert_array_equal(one, other)


def test_tiles_of_more_queries(backend):
    bits = _shared_bits(numpy.random.default_rng(1), 2, 333, 1000, 0.2, 0.01)
    schedule = "#hopper.schedule<tile_m = 128, tile_n = 96, stages = 2, registers = 208, head_swizzle = 1>"
    _assert_close(*_run(backend, bits, *_to_lists(bits), schedule=schedule))


def test_positions_in_score_and_mask(backend):
    """Regions see where keys are, not where they have been gathered to."""
    program = _PROGRAM.replace(
        "        %z = arith.addf %x, %y : f32\n",
        """        %d = arith.subi %i, %j : index
        %e = arith.index_cast %d : index to i32
        %g = arith.sitofp %e : i32 to f32
        %c = arith.constant 1.000000e-02 : f32
        %t = arith.mulf %g, %c : f32
        %y1 = arith.addf %y, %t : f32
        %z = arith.addf %x, %y1 : f32
""",
    ).replace("arith.cmpi ne, %i, %j", "arith.cmpi sgt, %i, %j")
    bits = _shared_bits(numpy.random.default_rng(2), 2, 300, 300, 0.3, 0.01)
    heads, queries, keys = bits.shape
    found, _ = _run(backend, bits, *_to_lists(bits), program=program)
    draw = numpy.random.default_rng(5)
    tensors = [draw.standard_normal((1, heads, queries, 64))]
    tensors += [draw.standard_normal((1, heads, keys, 64)) for _ in range(2)]
    w = _to_numpy(backend, backend.tensor(draw.standard_normal(keys), "f32"), "f32")
    q, k, v = (
        _to_numpy(backend, backend.tensor(t, "bf16"), "bf16") for t in tensors
    )
    i, j = numpy.arange(queries)[:, None], numpy.arange(keys)
    allowed = bits & (i > j)
    _assert_close(found, _expected(q, k, v, w + 0.01 * (i - j), allowed))


def test_mask_by_position_alone(backend):
    """A limit of positions is none of places."""
    program = _PROGRAM.replace(
        "        %p = arith.cmpi ne, %i, %j : index\n",
        """        %zero = arith.constant 0 : index
        %three = arith.constant 3 : index
        %all = tensor.dim %u, %zero : tensor<?xf32>
        %end = arith.divui %all, %three : index
        %p = arith.cmpi slt, %j, %end : index
""",
    )
    bits = _shared_bits(numpy.random.default_rng(8), 2, 64, 3000, 0.1, 0)
    found, _ = _run(backend, bits, *_to_lists(bits), program=program)
    bits[..., 1000:] = False
    draw = numpy.random.default_rng(5)
    tensors = [draw.standard_normal((1, 2, 64, 64))]
    tensors += [draw.standard_normal((1, 2, 3000, 64)) for _ in range(2)]
    w = _to_numpy(backend, backend.tensor(draw.standard_normal(3000), "f32"), "f32")
    q, k, v = (
        _to_numpy(backend, backend.tensor(t, "bf16"), "bf16") for t in tensors
    )
    _assert_close(found, _expected(q, k, v, w, bits, own_too=True))


def test_columns_in_any_order(backend):
    """A list is the set of its columns that are in range."""
    draw = numpy.random.default_rng(4)
    bits = _shared_bits(draw, 2, 150, 500, 0.2, 0.01)
    heads, queries, keys = bits.shape
    lists, ends = [], [0]
    for row in bits.reshape(-1, keys):
        own = numpy.nonzero(row)[0]
        own = numpy.concatenate([own, own[: len(own) // 3], [keys, -1, 2**31 - 1]])
        lists.append(draw.permutation(own))
        ends.append(ends[-1] + len(own))
    ends = numpy.array(ends)
    rows = numpy.stack(
        [ends[h * queries : (h + 1) * queries + 1] for h in range(heads)]
    )
    _assert_close(*_run(backend, bits, rows, numpy.concatenate(lists)))


def test_lists_at_the_same_columns(backend):
    """Heads may name the same columns, and parts in any order."""
    bits = _shared_bits(numpy.random.default_rng(6), 2, 200, 400, 0.2, 0.01)
    rows, columns = _to_lists(bits)
    order = [1, 0, 1]
    _assert_close(*_run(backend, bits[order], rows[order], columns))


def test_lists_in_conflict(backend):
    """What overlaps in part is not computed: the result is NaN."""
    bits = _shared_bits(numpy.random.default_rng(6), 2, 200, 400, 0.2, 0.01)
    rows, columns = _to_lists(bits)
    (o, lse), _ = _run(backend, bits, rows - numpy.array([[0], [7]]), columns)
    assert numpy.isnan(o).all() and numpy.isnan(lse).all()


@pytest.mark.parametrize("heads", [1, 2])
def test_invalid_lists(backend, heads):
    """What a GPU gives for them is not said, but nothing outside is read: memory
    around the operands is full of NaN."""
    queries, keys = 200, 100
    text = _PROGRAM.format(
        heads=heads, kv_heads=heads, dim=64, value_dim=64, dtype="bf16", index="i32",
        leading=f"{heads}x",
    )
    kernel = attn.compile(text, target=backend.target, sparsity="gathered")
    draw = numpy.random.default_rng(3)
    shape = (1, heads, queries, 64)
    numbers = draw.integers(-(2**31), 2**31, (heads, queries + 1))
    columns = draw.integers(-200, 200, 500)
    tensors = [(draw.standard_normal(shape), "bf16")]
    tensors += [(draw.standard_normal((1, heads, keys, 64)), "bf16")] * 2
    tensors = [(backend.tensor(*t), t[1]) for t in tensors]
    tensors = [(embed(backend, *t)[1], t[1]) for t in tensors]
    tensors += [(backend.tensor(x, "i32"), "i32") for x in (numbers, columns)]
    tensors.append((backend.tensor(draw.standard_normal(keys), "f32"), "f32"))
    results = [
        (backend.full(shape, float("nan"), "bf16"), "bf16"),
        (backend.full(shape[:3], float("nan"), "f32"), "f32"),
    ]
    out = tuple(backend.argument(*result) for result in results)
    kernel(*(backend.argument(*tensor) for tensor in tensors), out=out)
    backend.synchronize()
    # Lists of two heads may be in conflict.
    if heads == 1:
        assert not numpy.isnan(_to_numpy(backend, *results[0])).any()
