"""Queries with lists of keys: each list against the maths on its keys alone."""

import attn
import numpy
import pytest

from backends import embed

_PROGRAM = """
!q = tensor<?x{heads}x?x{dim}x{dtype}>
!k = tensor<?x{kv_heads}x?x{dim}x{dtype}>
!v = tensor<?x{kv_heads}x?x{value_dim}x{dtype}>
!o = tensor<?x{heads}x?x{value_dim}x{dtype}>
!l = tensor<?x{heads}x?xf32>
!rows = tensor<{leading}?x{index}>
!columns = tensor<?x{index}>
func.func @attention(%q: !q, %k: !k, %v: !v, %rows: !rows, %columns: !columns, %w: tensor<?xf32>)
    -> (!o {{attn.name = "o"}}, !l {{attn.name = "lse"}}) {{
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %s = tensor.dim %q, %c2 : !q
  %oi = tensor.empty(%b, %s) : !o
  %li = tensor.empty(%b, %s) : !l
  %o, %l = attn.attention
      ins(%q, %k, %v : !q, !k, !v)
      captures(%w : tensor<?xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : !rows, !columns)
      outs(%oi, %li : !o, !l)
      score(%x, %b0, %h, %i, %j, %u) {{
        %y = tensor.extract %u[%j] : tensor<?xf32>
        %z = arith.addf %x, %y : f32
        attn.yield %z : f32
      }}
      mask(%b0, %h, %i, %j, %u) {{
        %p = arith.cmpi ne, %i, %j : index
        attn.yield %p : i1
      }}
  return %o, %l : !o, !l
}}
"""
# Batches, heads, heads of keys, queries, keys.
_SIZES = [(2, 4, 2, 67, 300), (1, 2, 1, 130, 33), (3, 2, 2, 1, 1000), (1, 2, 2, 9, 0)]
_DIMS = [(64, 64), (128, 128), (256, 256), (8, 8), (40, 72), (128, 64)]


def _make_lists(draw, leading, queries, keys, density):
    """Rows and columns of a random matrix for each index of `leading`."""
    bits = draw.random((*leading, queries, keys)) < density
    # Some queries have no key, one has all.
    bits[..., 1::5, :] = False
    bits[..., :1, :] = True
    flat = bits.reshape(int(numpy.prod(leading)), queries, keys)
    columns = numpy.nonzero(flat)[2]
    counts = flat.sum(-1)
    ends = numpy.cumsum(counts.reshape(-1)).reshape(counts.shape)
    begins = numpy.concatenate([[0], ends[:-1, -1]])[:, None] if queries else ends
    rows = numpy.concatenate([begins, ends], 1).reshape(*leading, queries + 1)
    return bits, rows, columns


def _expected(q, k, v, w, bits):
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat(group, 1), v.repeat(group, 1)
    scores = numpy.einsum("bhid,bhjd->bhij", q, k) / numpy.sqrt(q.shape[-1]) + w
    own = numpy.arange(q.shape[2])[:, None] != numpy.arange(k.shape[2])
    scores = numpy.where(bits & own, scores, -numpy.inf)
    top = scores.max(-1, keepdims=True, initial=-numpy.inf)
    powers = numpy.exp(scores - numpy.where(numpy.isinf(top), 0, top))
    total = powers.sum(-1, keepdims=True)
    with numpy.errstate(divide="ignore"):
        lse = (numpy.where(numpy.isinf(top), 0, top) + numpy.log(total))[..., 0]
    o = numpy.einsum("bhij,bhje->bhie", powers / numpy.where(total == 0, 1, total), v)
    return o, lse


def _check(
    backend, dtype, dims, sizes, leading, index, density, embedded=False, form="auto"
):
    batch, heads, kv_heads, queries, keys = sizes
    draw = numpy.random.default_rng(7)
    shapes = [
        (batch, heads, queries, dims[0]),
        (batch, kv_heads, keys, dims[0]),
        (batch, kv_heads, keys, dims[1]),
    ]
    leading = tuple({"h": heads, "b": batch, "1": 1}[c] for c in leading)
    bits, rows, columns = _make_lists(draw, leading, queries, keys, density)
    tensors = [(draw.standard_normal(shape), dtype) for shape in shapes]
    tensors += [(rows, index), (columns, index)]
    tensors.append((draw.standard_normal(keys), "f32"))
    tensors = [(backend.tensor(value, kind), kind) for value, kind in tensors]
    q, k, v, _, _, w = [numpy.asarray(_to_numpy(backend, *t)) for t in tensors]
    results = [
        (backend.full((batch, heads, queries, dims[1]), float("nan"), dtype), dtype),
        (backend.full((batch, heads, queries), float("nan"), "f32"), "f32"),
    ]
    if embedded:
        tensors = [
            (embed(backend, *t)[1], t[1]) if t[0].ndim == 4 else t for t in tensors
        ]
    text = _PROGRAM.format(
        heads=heads,
        kv_heads=kv_heads,
        dim=dims[0],
        value_dim=dims[1],
        dtype=dtype,
        index=index,
        leading="".join(f"{extent}x" for extent in leading),
    )
    kernel = attn.compile(text, target=backend.target, sparsity=form)
    out = tuple(backend.argument(*result) for result in results)
    kernel(*(backend.argument(*tensor) for tensor in tensors), out=out)
    backend.synchronize()
    o, lse = _expected(q, k, v, w, bits)
    bound = {"f32": 1e-5, "f16": 2e-3, "bf16": 1.6e-2}[dtype]
    numpy.testing.assert_allclose(
        _to_numpy(backend, *results[0]), o, rtol=bound, atol=bound
    )
    numpy.testing.assert_allclose(
        _to_numpy(backend, *results[1]), lse, rtol=1e-5, atol=1e-5
    )


def _to_numpy(backend, tensor, dtype):
    values = backend.double(tensor, dtype)
    return values if isinstance(values, numpy.ndarray) else values.cpu().numpy()


@pytest.mark.parametrize("sizes", _SIZES, ids=str)
@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32"])
def test_sizes(backend, dtype, sizes):
    _check(backend, dtype, (64, 64), sizes, "h", "i32", 0.1)


@pytest.mark.parametrize("dims", _DIMS, ids=str)
def test_dims(backend, dims):
    _check(backend, "bf16", dims, _SIZES[0], "bh", "i64", 0.3)


@pytest.mark.parametrize("leading", ["", "1", "h", "11", "1h", "b1", "bh"])
def test_shared_lists(backend, leading):
    _check(backend, "bf16", (64, 64), _SIZES[0], leading, "i32", 0.2)


@pytest.mark.parametrize("density", [0, 0.01, 1])
def test_density(backend, density):
    _check(backend, "f16", (64, 64), _SIZES[0], "h", "i32", density)


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
def test_strides(backend, dtype):
    _check(backend, dtype, (40, 40), _SIZES[0], "h", "i32", 0.2, embedded=True)


_FORMS = ["lists", "dense", "xformers"]


@pytest.mark.parametrize("sizes", _SIZES, ids=str)
@pytest.mark.parametrize("form", _FORMS)
def test_forms(backend, form, sizes):
    _check(backend, "bf16", (64, 64), sizes, "h", "i32", 0.4, form=form)


@pytest.mark.parametrize("dims", _DIMS, ids=str)
def test_dense_dims(backend, dims):
    _check(backend, "f16", dims, _SIZES[0], "bh", "i64", 0.3, form="dense")


@pytest.mark.parametrize("leading", ["", "1", "h", "11", "1h", "b1", "bh"])
def test_dense_shared_lists(backend, leading):
    _check(backend, "bf16", (64, 64), _SIZES[0], leading, "i32", 0.2, form="dense")


@pytest.mark.parametrize("density", [0, 0.01, 1])
def test_dense_density(backend, density):
    _check(backend, "bf16", (128, 128), _SIZES[0], "h", "i32", density, form="dense")


def test_dense_strides(backend):
    sizes = _SIZES[0]
    _check(backend, "bf16", (40, 40), sizes, "h", "i32", 0.2, True, "dense")


def test_dense_many_keys(backend):
    """More words than a warp has in shared memory at a time."""
    _check(backend, "bf16", (64, 64), (1, 1, 1, 5, 70001), "", "i32", 0.3, form="dense")


@pytest.mark.parametrize("form", ["auto", *_FORMS])
def test_invalid_lists(backend, form):
    """What a GPU gives for them is not said, but nothing outside is read: memory
    around the operands is full of NaN. A CPU reports them."""
    heads, queries, keys = 2, 40, 100
    text = _PROGRAM.format(
        heads=heads, kv_heads=heads, dim=64, value_dim=64, dtype="bf16", index="i32",
        leading=f"{heads}x",
    )
    kernel = attn.compile(text, target=backend.target, sparsity=form)
    draw = numpy.random.default_rng(3)
    shape = (1, heads, queries, 64)
    numbers = draw.integers(-(2**31), 2**31, (heads, queries + 1))
    columns = draw.integers(-(2**31), 2**31, 500)
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
    arguments = [backend.argument(*tensor) for tensor in tensors]
    out = tuple(backend.argument(*result) for result in results)
    try:
        kernel(*arguments, out=out)
    except attn.Error as error:
        assert backend.target == "cpu" and "expects" in str(error)
        return
    backend.synchronize()
    assert backend.target != "cpu"
    assert not numpy.isnan(_to_numpy(backend, *results[0])).any()
