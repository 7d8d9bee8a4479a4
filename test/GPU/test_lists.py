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


def _expected(q, k, v, w, bits, own_too=False):
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat(group, 1), v.repeat(group, 1)
    scores = numpy.einsum("bhid,bhjd->bhij", q, k) / numpy.sqrt(q.shape[-1]) + w
    own = numpy.arange(q.shape[2])[:, None] != numpy.arange(k.shape[2])
    scores = numpy.where(bits & (own | own_too), scores, -numpy.inf)
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


_FORMS = ["lists", "dense"]


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


_BLOCK_PROGRAM = """
!q = tensor<?x{heads}x?x64xbf16>
!rows = tensor<{heads}x?x{index}>
!columns = tensor<?x{index}>
func.func @attention(%q: !q, %k: !q, %rows: !rows, %columns: !columns)
    -> (!q {{attn.name = "o"}}) {{
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %s = tensor.dim %q, %c2 : !q
  %oi = tensor.empty(%b, %s) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q)
      sparsity(#attn.sparsity<lists, block = {block}> %rows, %columns : !rows, !columns)
      outs(%oi : !q)
  return %o : !q
}}
"""
# The block, and how a kernel of it runs.
_LAYOUTS = [
    ("1x1", "auto"),
    ("1x1", "lists"),
    ("1x1", "dense"),
    ("64x64", "auto"),
    ("128x64", "dense"),
]


class _Checked:
    """A kernel whose lists a test spoils: all heads have 5 rows of keys or blocks
    0, 2, 4, ... 18."""

    heads = 2
    length = 20

    def __init__(self, backend, layout, index="i32"):
        block, form = layout
        text = _BLOCK_PROGRAM.format(heads=self.heads, block=block, index=index)
        self.backend, self.index = backend, index
        self.kernel = attn.compile(text, target=backend.target, sparsity=form)
        rows, columns = map(int, block.split("x"))
        self.shapes = [(2, self.heads, n, 64) for n in (5 * rows, self.length * columns)]
        self.columns = numpy.tile(numpy.arange(0, self.length, 2), self.heads * 5)
        ends = 10 * numpy.arange(5 * self.heads).reshape(self.heads, 5) + 10
        self.rows = numpy.concatenate([ends[:, :1] - 10, ends], 1)

    def run(self, **options):
        """The results, which are full of NaN before."""
        backend = self.backend
        draw = numpy.random.default_rng(5)
        tensors = [(draw.standard_normal(shape), "bf16") for shape in self.shapes]
        tensors += [(self.rows, self.index), (self.columns, self.index)]
        tensors = [(backend.tensor(*t), t[1]) for t in tensors]
        self.out = backend.full(self.shapes[0], float("nan"), "bf16")
        self.kernel(
            *(backend.argument(*t) for t in tensors),
            out=backend.argument(self.out, "bf16"),
            **options,
        )
        backend.synchronize()
        return _to_numpy(backend, self.out, "bf16")

    def expect(self, *texts):
        """That a call with these lists tells all that is wrong with them."""
        with pytest.raises(attn.OutOfRange) as info:
            self.run(check_lists=True)
        lines = str(info.value).splitlines()
        assert len(lines) == len(texts), lines
        for line, text in zip(lines, texts):
            assert line.endswith(f"error: 'attn.attention' op expects {text}"), line
        if self.backend.target != "cpu":
            # Nothing else has run.
            self.backend.synchronize()
            assert numpy.isnan(_to_numpy(self.backend, self.out, "bf16")).all()


@pytest.fixture(params=_LAYOUTS, ids="-".join)
def checked(backend, request):
    return _Checked(backend, request.param)


def test_checked_lists(checked):
    """Lists that are right pass, and the results are those without a check."""
    results = checked.run(check_lists=True)
    assert not numpy.isnan(results).any()
    assert (results == checked.run()).all()


@pytest.mark.parametrize("offset", [101, -3, 2**31 - 1])
def test_rows_outside(checked, offset):
    checked.rows[1, 5] = offset
    text = f"rows of the sparsity to lie in the 100 columns, but got {offset}"
    more = "rows of the sparsity not to decrease, but got -3 after a larger one"
    checked.expect(text, *([more] if offset < 0 else []))


def test_rows_that_decrease(checked):
    checked.rows[0, 3] = 7
    # The next list then has what belongs to others.
    checked.expect(
        "rows of the sparsity not to decrease, but got 7 after a larger one",
        "the columns of a row of the sparsity to ascend, but got 0 after one that is"
        " not less",
    )


@pytest.mark.parametrize("column", [20, -1, 2**31 - 1])
def test_columns_out_of_range(checked, column):
    checked.columns[99] = column
    checked.expect(
        f"columns of the sparsity to be from 0 to below 20, but got {column}"
    )


@pytest.mark.parametrize("column", [2, 4])
def test_columns_without_order(checked, column):
    checked.columns[53] = column
    checked.expect(
        "the columns of a row of the sparsity to ascend, but got"
        f" {column} after one that is not less"
    )


def test_first_error(backend, checked):
    """Of several errors of a kind the first is told, whoever finds it."""
    if backend.target == "cpu":
        pytest.skip("a CPU tells any of them")
    checked.columns[30:90] = -numpy.arange(30, 90)
    checked.columns[95:] = 0
    for _ in range(20):
        checked.expect(
            "columns of the sparsity to be from 0 to below 20, but got -30",
            "the columns of a row of the sparsity to ascend, but got 0 after one that"
            " is not less",
        )


def test_errors_of_long_numbers(backend):
    """Numbers of 64 bits are told as they are."""
    for layout in _LAYOUTS:
        checked = _Checked(backend, layout, "i64")
        checked.columns[19] = 2**40
        checked.expect(
            f"columns of the sparsity to be from 0 to below 20, but got {2**40}"
        )
        checked = _Checked(backend, layout, "i64")
        checked.rows[0, 0] = -(2**40)
        checked.expect(
            f"rows of the sparsity to lie in the 100 columns, but got {-(2**40)}"
        )


def test_unchecked_lists(backend, checked):
    """Without a check a GPU reports nothing."""
    if backend.target == "cpu":
        pytest.skip("a CPU always checks")
    checked.columns[53] = 500
    assert not numpy.isnan(checked.run()).any()


def test_capture_of_a_check(backend):
    """Nobody can wait for a stream that is being captured."""
    if backend.target != "cuda":
        pytest.skip("needs a GPU")
    import torch

    checked = _Checked(backend, _LAYOUTS[0])
    checked.run(check_lists=True)
    tensors = [
        backend.tensor(numpy.zeros(shape), "bf16") for shape in checked.shapes
    ] + [backend.tensor(x, "i32") for x in (checked.rows, checked.columns)]
    call = checked.kernel.bind(*tensors, out=checked.out, check_lists=True)
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.graph(graph, stream=stream):
        call = checked.kernel.bind(*tensors, out=checked.out, check_lists=True)
        with pytest.raises(attn.InvalidArgument, match="not being captured"):
            call()
        # A call without a check can be captured.
        checked.kernel(*tensors, out=checked.out)
    graph.replay()
    backend.synchronize()
