"""Masks that pass over KV blocks, on sequences of many tiles."""

import attn
import numpy
import pytest

import cases
import running
from attn import layouts

_NAMES = [
    "documents",
    "documents-causal",
    "ragged",
    "dilated",
    "block-diagonal",
    "global-tokens",
    "negation",
    "random-rows",
    "blocks-64",
    "blocks-128",
    "blocks-192x96-causal",
]
# A kernel looks at 32 KV blocks at a time: there are some 70 and 35 here.
_SIZES = [(1, 2, 1, 300, 9000), (2, 1, 1, 1100, 4500)]


@pytest.mark.parametrize("sizes", _SIZES, ids=str)
@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize("name", _NAMES)
def test_many_tiles(backend, seed, name, dim, sizes):
    case = cases.make_case(name, dim=dim, sizes=sizes, seed=seed)
    kernel = running.compile_kernel(case.kernel, backend.target)
    inputs = running.Inputs(backend, case)
    assert inputs.explain(inputs.run(kernel), inputs.reference()) is None


_BLOCKS = """
!q = tensor<?x4x?x{dim}xbf16>
!k = tensor<?x2x?x{dim}xbf16>
func.func @attention(%q: !q, %k: !k, %v: !k, {parameters}) -> !q {{
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %s = tensor.dim %q, %c2 : !q
  %oi = tensor.empty(%b, %s) : !q
  %o = attn.attention
      ins(%q, %k, %v : !q, !k, !k)
      sparsity(#attn.sparsity<{sparsity})
      outs(%oi : !q)
      mask(%mb, %h, %i, %j) {{
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }}
  return %o : !q
}}
"""


def _run(backend, text, tensors, shape):
    kernel = attn.compile(text, target=backend.target)
    o = backend.full(shape, float("nan"), "bf16")
    arguments = [backend.argument(*tensor) for tensor in tensors]
    kernel(*arguments, out=backend.argument(o, "bf16"))
    backend.synchronize()
    return o


@pytest.mark.parametrize("block", [64, 128])
@pytest.mark.parametrize("dim", [64, 128])
@pytest.mark.parametrize("density", [0.0, 0.1, 1.0])
def test_lists_are_bits(backend, seed, density, dim, block):
    """The same tiles in the same order, so the same bits of the results."""
    draw = numpy.random.default_rng(seed)
    queries, keys = 5 * block + 7, 37 * block - 1
    shape = (4, -(-queries // block), -(-keys // block))
    layout = draw.random(shape) < density
    rows, columns = layouts.to_lists(layout)
    shapes = [(2, 4, queries, dim), (2, 2, keys, dim), (2, 2, keys, dim)]
    tensors = [
        (backend.tensor(draw.standard_normal(shape), "bf16"), "bf16")
        for shape in shapes
    ]
    size = f"block = {block}x{block}"
    results = []
    for sparsity, parameters, captures in [
        (
            f"bits, {size}> %bits : tensor<4x?x?xi1>",
            "%bits: tensor<4x?x?xi1>",
            [(layout, "i1")],
        ),
        (
            f"lists, {size}> %rows, %columns : tensor<4x?xi32>, tensor<?xi32>",
            "%rows: tensor<4x?xi32>, %columns: tensor<?xi32>",
            [(rows, "i32"), (columns, "i32")],
        ),
    ]:
        text = _BLOCKS.format(dim=dim, parameters=parameters, sparsity=sparsity)
        own = [(backend.tensor(value, dtype), dtype) for value, dtype in captures]
        results.append(_run(backend, text, tensors + own, shapes[0]))
    assert backend.same_bits(*results)
    if density == 0.0:
        assert bool((backend.double(results[0], "bf16") == 0).all())
