"""Programs whose sizes are known when they are compiled, down to less than a tile."""

import attn
import pytest

import cases
import running

_PROGRAM = """
!q = tensor<{batch}x{heads}x{queries}x{dim}xbf16>
!k = tensor<{batch}x{kv_heads}x{keys}x{dim}xbf16>
!l = tensor<{batch}x{heads}x{queries}xf32>
func.func @attention(%q: !q, %k: !k, %v: !k)
    -> (!q {{attn.name = "o"}}, !l {{attn.name = "lse"}}) {{
  %oi = tensor.empty() : !q
  %li = tensor.empty() : !l
  %o, %l = attn.attention
      ins(%q, %k, %v : !q, !k, !k)
      outs(%oi, %li : !q, !l)
{mask}  return %o, %l : !q, !l
}}
"""
_CAUSAL = """      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
"""
# Batch, heads, heads of keys, queries and keys.
_SIZES = [
    (1, 2, 2, 100, 1000),
    (2, 4, 2, 100, 100),
    (1, 1, 1, 65, 64),
    (1, 2, 1, 1, 1),
    (1, 2, 2, 5, 0),
    (1, 2, 2, 0, 128),
    (2, 2, 2, 128, 256),
    (1, 3, 3, 300, 50),
    (1, 2, 2, 1000, 1000),
]


@pytest.mark.parametrize("dim", [64, 128, 256])
@pytest.mark.parametrize("name", ["full", "causal"])
@pytest.mark.parametrize("sizes", _SIZES, ids=str)
def test_sizes(backend, seed, name, dim, sizes):
    case = cases.make_case(name, dim=dim, sizes=sizes, seed=seed)
    mask = _CAUSAL if name == "causal" else ""
    text = _PROGRAM.format(**vars(case), mask=mask)
    kernel = attn.compile(text, target=backend.target)
    inputs = running.Inputs(backend, case)
    assert inputs.explain(inputs.run(kernel), inputs.reference()) is None
