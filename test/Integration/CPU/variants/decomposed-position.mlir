// A bias that is computed from the queries and read for groups of 8 keys,
// through a view that is not contiguous.

// RUN: attn-run %s --check --arg=q=randn:1x2x37x16 --arg=k=randn:1x2x41x16 \
// RUN:   --arg=v=randn:1x2x41x16 --arg=table=randn:7x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = f16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:2x1x18x16 --arg=k=randn:2x1x66x16 \
// RUN:   --arg=v=randn:2x1x66x16 --arg=table=randn:10x16 | FileCheck %s
// CHECK: PASS

!e = bf16
!t = tensor<?x?x?x16x!e>
!r = tensor<?x?x?x?xf32>

func.func @decomposed_position(%q: !t, %k: !t, %v: !t,
                               %table: tensor<?x16x!e>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %W = tensor.dim %table, %c0 : tensor<?x16x!e>
  %zero = arith.constant 0.0 : f32
  %rempty = tensor.empty(%B, %H, %M, %W) : !r
  %rzero = linalg.fill ins(%zero : f32) outs(%rempty : !r) -> !r
  %r = linalg.generic {
      indexing_maps = [affine_map<(b, h, i, w, d) -> (b, h, i, d)>,
                       affine_map<(b, h, i, w, d) -> (w, d)>,
                       affine_map<(b, h, i, w, d) -> (b, h, i, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel",
                        "reduction"]}
      ins(%q, %table : !t, tensor<?x16x!e>) outs(%rzero : !r) {
    ^bb0(%x: !e, %y: !e, %sum: f32):
      %xf = arith.extf %x : !e to f32
      %yf = arith.extf %y : !e to f32
      %xy = arith.mulf %xf, %yf : f32
      %next = arith.addf %sum, %xy : f32
      linalg.yield %next : f32
  } -> !r
  %W1 = arith.subi %W, %c1 : index
  %view = tensor.extract_slice %r[0, 0, 0, 1] [%B, %H, %M, %W1] [1, 1, 1, 1]
      : !r to !r
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%view : !r)
      outs(%init : !t)
      score(%s, %b, %h, %i, %j, %w) {
        %c8 = arith.constant 8 : index
        %g = arith.divui %j, %c8 : index
        %y = tensor.extract %w[%b, %h, %i, %g] : !r
        %z = arith.addf %s, %y : f32
        attn.yield %z : f32
      }
  return %o : !t
}
