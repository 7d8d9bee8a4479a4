"""Writes a program of one attention in bf16 with given head dimensions.

Usage: program.py plain|causal|bias DIM [VALUE_DIM]
"""

import sys

PROGRAM = """
func.func @{name}(%q: {q}, %k: {q}, %v: {v}{argument}) -> ({v}, tensor<?x?x?xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : {q}
  %h = tensor.dim %q, %c1 : {q}
  %s = tensor.dim %q, %c2 : {q}
  %o = tensor.empty(%b, %h, %s) : {v}
  %l = tensor.empty(%b, %h, %s) : tensor<?x?x?xf32>
  %r:2 = attn.attention ins(%q, %k, %v : {q}, {q}, {v})
{captures}      outs(%o, %l : {v}, tensor<?x?x?xf32>)
{region}  return %r#0, %r#1 : {v}, tensor<?x?x?xf32>
}}
"""
BIAS = """      score(%x, %mb, %mh, %i, %j, %w) {
        %e = tensor.extract %w[%mh, %i, %j] : tensor<?x?x?xbf16>
        %f = arith.extf %e : bf16 to f32
        %y = arith.addf %x, %f : f32
        attn.yield %y : f32
      }
"""
CAUSAL = """      mask(%mb, %mh, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
"""


def get_program(kind, query_dim, value_dim, name="attention"):
    return PROGRAM.format(
        name=name,
        q=f"tensor<?x?x?x{query_dim}xbf16>",
        v=f"tensor<?x?x?x{value_dim}xbf16>",
        argument=", %w: tensor<?x?x?xbf16>" if kind == "bias" else "",
        captures="      captures(%w : tensor<?x?x?xbf16>)\n" if kind == "bias" else "",
        region={"causal": CAUSAL, "bias": BIAS}.get(kind, ""),
    )


if __name__ == "__main__":
    print(get_program(sys.argv[1], sys.argv[2], sys.argv[-1]))
