"""Writes a program of one attention in bf16 with a given head dimension.

Usage: program.py plain|causal DIM
"""

import sys

PROGRAM = """
func.func @attention(%q: {t}, %k: {t}, %v: {t}) -> ({t}, tensor<?x?x?xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : {t}
  %h = tensor.dim %q, %c1 : {t}
  %s = tensor.dim %q, %c2 : {t}
  %o = tensor.empty(%b, %h, %s) : {t}
  %l = tensor.empty(%b, %h, %s) : tensor<?x?x?xf32>
  %r:2 = attn.attention ins(%q, %k, %v : {t}, {t}, {t})
      outs(%o, %l : {t}, tensor<?x?x?xf32>)
{mask}  return %r#0, %r#1 : {t}, tensor<?x?x?xf32>
}}
"""
CAUSAL = """      mask(%mb, %mh, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
"""
print(
    PROGRAM.format(
        t=f"tensor<?x?x?x{sys.argv[2]}xbf16>",
        mask=CAUSAL if sys.argv[1] == "causal" else "",
    )
)
