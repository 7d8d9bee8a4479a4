"""Writes a program of one attention in bf16 with given head dimensions.

Usage: program.py KIND DIM [VALUE_DIM]
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
BIAS = """      score(%x, %mb, %mh, %i, %j{arguments}) {{
        %e = tensor.extract %w[%mh, %i, %j] : tensor<?x?x?xbf16>
        %f = arith.extf %e : bf16 to f32
        %y = arith.addf %x, %f : f32
        attn.yield %y : f32
      }}
"""
ALIBI = """      score(%x, %mb, %mh, %i, %j{arguments}) {{
        %slope = tensor.extract %slopes[%mh] : tensor<?xf32>
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %f = arith.mulf %slope, %df : f32
        %y = arith.addf %x, %f : f32
        attn.yield %y : f32
      }}
"""
CAUSAL = """      mask(%mb, %mh, %i, %j{arguments}) {{
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }}
"""
DOCUMENTS = """      mask(%mb, %mh, %i, %j{arguments}) {{
        %mine = tensor.extract %ids[%mb, %i] : tensor<?x?xi32>
        %other = tensor.extract %ids[%mb, %j] : tensor<?x?xi32>
        %same = arith.cmpi eq, %mine, %other : i32
        %causal = arith.cmpi sle, %j, %i : index
        %p = arith.andi %same, %causal : i1
        attn.yield %p : i1
      }}
"""
# As users write it.
WINDOW = """      mask(%mb, %mh, %i, %j{arguments}) {{
        %size = arith.constant 1024 : index
        %d = arith.subi %i, %j : index
        %near = arith.cmpi slt, %d, %size : index
        %past = arith.cmpi sle, %j, %i : index
        %p = arith.andi %past, %near : i1
        attn.yield %p : i1
      }}
"""
WINDOW_OF_SIZE = """      mask(%mb, %mh, %i, %j{arguments}) {{
        %d = arith.subi %i, %j : index
        %zero = arith.constant 0 : index
        %past = arith.cmpi sle, %zero, %d : index
        %near = arith.cmpi slt, %d, %size : index
        %p = arith.andi %past, %near : i1
        attn.yield %p : i1
      }}
"""
SLOPES = ("%slopes", "tensor<?xf32>")
# Captures, and regions.
KINDS = {
    "plain": ([], ""),
    "causal": ([], CAUSAL),
    "window": ([], WINDOW),
    "window-of-size": ([("%size", "index")], WINDOW_OF_SIZE),
    "bias": ([("%w", "tensor<?x?x?xbf16>")], BIAS),
    "alibi": ([SLOPES], ALIBI),
    "alibi-causal": ([SLOPES], ALIBI + CAUSAL),
    "alibi-documents": ([SLOPES, ("%ids", "tensor<?x?xi32>")], ALIBI + DOCUMENTS),
}


def get_program(kind, query_dim, value_dim, name="attention"):
    captures, regions = KINDS[kind]
    names = ", ".join(name for name, _ in captures)
    types = ", ".join(type_ for _, type_ in captures)
    return PROGRAM.format(
        name=name,
        q=f"tensor<?x?x?x{query_dim}xbf16>",
        v=f"tensor<?x?x?x{value_dim}xbf16>",
        argument="".join(f", {name}: {type_}" for name, type_ in captures),
        captures=f"      captures({names} : {types})\n" if captures else "",
        region=regions.format(arguments=names and f", {names}"),
    )


if __name__ == "__main__":
    print(get_program(sys.argv[1], sys.argv[2], sys.argv[-1]))
