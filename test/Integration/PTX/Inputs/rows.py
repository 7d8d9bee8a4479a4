"""Executes kernels of queries with lists of single keys or of blocks, all of
their warps, and compares the results with the maths.

Usage: rows.py SHARD/SHARDS
"""

import itertools
import sys
import typing

import numpy

import grid
import launch as launches
import operations
import shards
from ptx import PtxError

_PROGRAM = """
!q = tensor<{q}x{dtype}>
!k = tensor<{k}x{dtype}>
!v = tensor<{v}x{dtype}>
!o = tensor<{o}x{dtype}>
!l = tensor<{l}xf32>
!rows = tensor<{leading}?x{index}>
!columns = tensor<?x{index}>
func.func @attention(%q: !q, %k: !k, %v: !v{parameters}) -> (!o, !l) {{
  %cb = arith.constant {batch} : index
  %cs = arith.constant {sequence} : index
  %b = tensor.dim %q, %cb : !q
  %s = tensor.dim %q, %cs : !q
  %oi = tensor.empty({sizes}) : !o
  %li = tensor.empty({sizes}) : !l
  %o, %l = attn.attention layout({layout})
      ins(%q, %k, %v : !q, !k, !v)
      {captures}
      {sparsity}
      outs(%oi, %li : !o, !l)
      {regions}
  return %o, %l : !o, !l
}}
"""
_SPARSITY = (
    "sparsity(#attn.sparsity<lists, block = {block}> %rows, %columns"
    " : !rows, !columns)"
)
_CAUSAL = """mask(%mb, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }"""
# Something of each key in the score, and of each query in the mask.
_BIAS = """score(%x, %sb, %h, %i, %j, %w, %u) {
        %a = tensor.extract %w[%j] : tensor<?xf32>
        %y = arith.addf %x, %a : f32
        %t = math.tanh %y : f32
        attn.yield %t : f32
      }
      mask(%mb, %h, %i, %j, %w, %u) {
        %g = tensor.extract %u[%i] : tensor<?xi32>
        %n = arith.index_cast %g : i32 to index
        %p = arith.cmpi ne, %n, %j : index
        attn.yield %p : i1
      }"""
# Captures that are numbers.
_NUMBERS = """score(%x, %sb, %h, %i, %j, %f, %n) {
        %y = arith.mulf %x, %f : f32
        attn.yield %y : f32
      }
      mask(%mb, %h, %i, %j, %f, %n) {
        %p = arith.cmpi slt, %j, %n : index
        attn.yield %p : i1
      }"""
_FACTOR, _NUMBER = numpy.float32(-1.5), 3
_NEVER = """mask(%mb, %h, %i, %j) {
        %p = arith.constant false
        attn.yield %p : i1
      }"""
# Scores that no key has a part in.
_EQUAL = """score(%x, %sb, %h, %i, %j) {
        %y = arith.constant 2.5 : f32
        attn.yield %y : f32
      }"""
# The regions of an attention, and the types of what they capture.
_REGIONS = {
    "": ("", ()),
    "causal": (_CAUSAL, ()),
    "bias": (_BIAS, (("w", "tensor<?xf32>"), ("u", "tensor<?xi32>"))),
    "numbers": (_NUMBERS, (("f", "f32"), ("n", "index"))),
    "never": (_NEVER, ()),
    "equal": (_EQUAL, ()),
}


class Test(typing.NamedTuple):
    """Batches, heads, heads of keys, queries and keys; the dimension of queries
    and keys and that of values."""

    sizes: tuple
    dims: tuple = (64, 64)
    dtype: str = "bf16"
    index: str = "i32"
    # The dimensions of lists before that of rows: batches, heads or 1 of each.
    leading: tuple = ()
    layout: str = "bhsd"
    region: str = ""
    # How likely a pair is.
    density: float = 0.6
    # Elements between the start of a tensor and an aligned address, and after
    # each row of it.
    shift: int = 0
    padding: int = 0
    shared: bool = False
    # Whether queries have lists of keys; otherwise they have all.
    listed: bool = True
    # The queries and the keys of which a list has one entry.
    block: tuple = (1, 1)
    options: tuple = ()


_SMALL = (1, 2, 1, 5, 40)
TESTS = [
    Test((1, 2, 1, 6, 40), density=0.9),
    Test((1, 2, 1, 5, 70), leading=(2,), region="causal"),
    Test((2, 2, 1, 5, 40), (64, 64), "f16", "i64", (2, 2), "bshd", "bias"),
    Test(_SMALL, (64, 64), "f32", "i64", (1, 2), region="bias"),
    Test(_SMALL, (128, 64)),
    Test(_SMALL, (40, 72), region="bias"),
    Test((1, 1, 1, 5, 80), (8, 8), region="bias"),
    Test(_SMALL, (16, 24), "f32", region="bias"),
    Test(_SMALL, (256, 256), "f16"),
    Test(_SMALL, density=0.9, shift=1),
    Test(_SMALL, density=0.9, region="bias", padding=3),
    Test(_SMALL, density=0.9, region="bias", padding=8),
    Test(_SMALL, (64, 64), "f32", shift=1, padding=2),
    Test(_SMALL, (24, 16), "f16", layout="bhds", region="bias"),
    Test((1, 2, 1, 3, 0)),
    Test((1, 2, 1, 0, 9)),
    Test((2, 2, 1, 3, 9), leading=(1, 1), shared=True),
    Test((1, 1, 1, 3, 200), leading=(1,), density=0.0),
    Test((1, 2, 1, 5, 40), (64, 64), "f32", listed=False),
    Test((2, 2, 1, 4, 70), (20, 36), "f32", region="causal", listed=False),
    Test((1, 2, 1, 3, 33), (579, 5), "f16", region="bias", listed=False),
    Test((1, 1, 1, 2, 40), (584, 300), "bf16", region="bias", listed=False),
    Test((1, 1, 1, 3, 40), (12, 20), "f32", layout="bhds", listed=False),
    Test((1, 1, 1, 3, 0), (64, 64), "f32", listed=False),
    Test(_SMALL, region="numbers"),
    Test(_SMALL, region="never"),
    Test(_SMALL, (64, 40), "f16", region="equal"),
    # Kernels in front fill tables of bits, of blocks or of single keys.
    Test((1, 2, 1, 37, 70), (64, 64), "f32", block=(16, 16)),
    Test(
        (2, 2, 1, 17, 40), (7, 5), "f32", "i64", (2, 2), "bshd", "bias", block=(16, 32)
    ),
    Test((1, 2, 1, 35, 70), (577, 264), leading=(2,), block=(16, 64)),
    Test((1, 2, 1, 3, 0), (64, 64), "f32", block=(16, 64)),
    Test(
        (1, 2, 1, 5, 70),
        (64, 64),
        "f32",
        leading=(2,),
        region="causal",
        options=("--sparsity=dense",),
    ),
    Test(
        (2, 2, 1, 5, 40), (7, 259), "f16", "i64", (2, 1), options=("--sparsity=dense",)
    ),
]

_ENCODE = {
    "bf16": operations.to_bf16,
    "f16": lambda x: x.astype(numpy.float16),
    "f32": lambda x: x.astype(numpy.float32),
}
_DECODE = {
    "bf16": operations.from_bf16,
    "f16": lambda x: x.astype(numpy.float64),
    "f32": lambda x: x.astype(numpy.float64),
}
_BOUNDS = {"bf16": 1.6e-2, "f16": 2e-3, "f32": 1e-4}


def _arrange(values, layout):
    return values.transpose(["bhsd".index(x) for x in layout])


def _program(test):
    _, heads, kv_heads, _, _ = test.sizes

    def shape(heads, dim, layout):
        sizes = {"b": "?", "h": heads, "s": "?", "d": dim}
        return "x".join(str(sizes[x]) for x in layout)

    regions, captures = _REGIONS[test.region]
    names = ", ".join(f"%{name}" for name, _ in captures)
    types = ", ".join(type_ for _, type_ in captures)
    return _PROGRAM.format(
        q=shape(heads, test.dims[0], test.layout),
        k=shape(kv_heads, test.dims[0], test.layout),
        v=shape(kv_heads, test.dims[1], test.layout),
        o=shape(heads, test.dims[1], test.layout),
        l=shape(heads, 0, test.layout.replace("d", "")),
        dtype=test.dtype,
        index=test.index,
        leading="".join(f"{extent}x" for extent in test.leading),
        layout=test.layout,
        batch=test.layout.index("b"),
        sequence=test.layout.index("s"),
        sizes=", ".join(f"%{x}" for x in test.layout if x in "bs"),
        sparsity=(
            _SPARSITY.format(block="x".join(map(str, test.block)))
            if test.listed
            else ""
        ),
        parameters=(", %rows: !rows, %columns: !columns" if test.listed else "")
        + "".join(f", %{name}: {type_}" for name, type_ in captures),
        captures=f"captures({names} : {types})" if captures else "",
        regions=regions,
    )


def _draw_lists(test, draw):
    """Rows and columns, and by leading index the columns of each query."""
    _, _, _, queries, keys = test.sizes
    block_rows, block_columns = (
        -(-size // block) for size, block in zip((queries, keys), test.block)
    )
    count = int(numpy.prod(test.leading))
    ends, columns, lists = [], [], []
    for _ in range(count):
        ends.append([len(columns)])
        lists.append([])
        for row in range(block_rows):
            own = numpy.nonzero(draw.random(block_columns) < test.density)[0]
            # Some queries have no keys.
            own = draw.permutation(own[: 0 if row % 4 == 2 else None])
            columns += own.tolist()
            of_keys = own[:, None] * test.block[1] + numpy.arange(test.block[1])
            of_keys = of_keys[of_keys < keys]
            lists[-1] += [of_keys] * min(
                test.block[0], queries - row * test.block[0]
            )
            ends[-1].append(len(columns))
    type_ = {"i32": numpy.int32, "i64": numpy.int64}[test.index]
    rows = numpy.array(ends, type_).reshape(*test.leading, block_rows + 1)
    return rows, numpy.array(columns, type_), lists


def _add(launch, name, values, test, is_result=False):
    """A tensor in memory that is larger: what is around it may not be touched."""
    shape = values.shape[:-1] + (values.shape[-1] + test.padding,)
    whole = numpy.zeros(shape, values.dtype)
    inside = numpy.zeros(shape, bool)
    inside[..., : values.shape[-1]] = True
    whole[inside] = values.reshape(-1)
    shift = test.shift * values.itemsize
    region = launch.memory.add(name, "global", whole.nbytes, shift)
    if is_result:
        region.writable[:] = numpy.repeat(inside.reshape(-1), whole.itemsize)
    else:
        region.fill(whole, inside)
    strides = launches.strides_of(shape)
    launch.operands.append(launches.Operand(values.shape, strides, region))

    def read():
        if not region.defined[region.writable].all():
            raise PtxError(f"does not write all of {name}")
        return region.bytes.view(values.dtype).reshape(shape)[..., : values.shape[-1]]

    return read


def _expected(test, q, k, v, lists, w, u):
    """The results in float64, query by query."""
    batch, heads, kv_heads, queries, _ = test.sizes
    o = numpy.zeros((batch, heads, queries, test.dims[1]))
    lse = numpy.full((batch, heads, queries), -numpy.inf)
    leading = (1,) * (2 - len(test.leading)) + tuple(test.leading)
    for b, h, i in itertools.product(range(batch), range(heads), range(queries)):
        own = lists[b % leading[0] * leading[1] + h % leading[1]][i]
        kb, kh = 0 if test.shared else b, h * kv_heads // heads
        if test.region == "causal":
            own = own[own <= i]
        elif test.region == "bias":
            own = own[own != u[i]]
        elif test.region == "numbers":
            own = own[own < _NUMBER]
        elif test.region == "never":
            own = own[:0]
        if not own.size:
            continue
        scores = k[kb, kh, own] @ q[b, h, i] / numpy.sqrt(test.dims[0])
        if test.region == "bias":
            scores = numpy.tanh(scores + w[own])
        elif test.region == "numbers":
            scores = scores * _FACTOR
        elif test.region == "equal":
            scores = numpy.full(own.size, 2.5)
        lse[b, h, i] = numpy.log(numpy.exp(scores).sum())
        o[b, h, i] = numpy.exp(scores - lse[b, h, i]) @ v[kb, kh, own]
    return o, lse


def _check(test):
    batch, heads, kv_heads, queries, keys = test.sizes
    draw = numpy.random.default_rng(0)
    launch = launches.Launch(
        launches.Program(_program(test), options=test.options)
    )
    tensors = []
    own = 1 if test.shared else batch
    for name, shape in [
        ("queries", (batch, heads, queries, test.dims[0])),
        ("keys", (own, kv_heads, keys, test.dims[0])),
        ("values", (own, kv_heads, keys, test.dims[1])),
    ]:
        encoded = _ENCODE[test.dtype](draw.standard_normal(shape))
        tensors.append(_DECODE[test.dtype](encoded).astype(numpy.float64))
        _add(launch, name, _arrange(encoded, test.layout), test)
    rows, columns, lists = _draw_lists(test, draw)
    if test.listed:
        launch.add_tensor("rows", rows)
        launch.add_tensor("columns", columns)
    else:
        lists = [[numpy.arange(keys)] * queries] * len(lists)
    w = draw.standard_normal(keys).astype(numpy.float32)
    u = draw.integers(0, max(keys, 1), queries).astype(numpy.int32)
    if test.region == "bias":
        launch.add_tensor("w", w)
        launch.add_tensor("u", u)
    elif test.region == "numbers":
        launch.add_scalar(int(_FACTOR.view(numpy.uint32)))
        launch.add_scalar(_NUMBER)
    o = numpy.zeros((batch, heads, queries, test.dims[1]))
    read_o = _add(
        launch, "o", _arrange(_ENCODE[test.dtype](o), test.layout), test, True
    )
    short = test.layout.replace("d", "")
    lse = numpy.zeros((batch, heads, queries), numpy.float32)
    lse = lse.transpose(["bhs".index(x) for x in short])
    # The log-sum-exp has rows of its own.
    plain = test._replace(shift=0, padding=0)
    read_lse = _add(launch, "lse", numpy.ascontiguousarray(lse), plain, True)
    launch.add_tables()
    if launch.program.prologues:
        grid.run(launch)
    else:
        launch.run_rows()
    expected = _expected(test, *tensors, lists, w, u)
    got = _DECODE[test.dtype](numpy.ascontiguousarray(read_o()))
    got = got.transpose([test.layout.index(x) for x in "bhsd"])
    bound = _BOUNDS[test.dtype]
    numpy.testing.assert_allclose(got, expected[0], rtol=bound, atol=bound)
    got = read_lse().transpose([short.index(x) for x in "bhs"])
    numpy.testing.assert_allclose(got, expected[1], rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    failures = (AssertionError, PtxError)
    sys.exit(shards.run("rows", shards.sample(TESTS), sys.argv[1], _check, failures))
