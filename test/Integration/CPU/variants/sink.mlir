// A learned weight in the denominator, from the log-sum-exp.

// RUN: attn-run %s --check --arg=q=randn:2x2x37x16 --arg=k=randn:2x2x41x16 \
// RUN:   --arg=v=randn:2x2x41x16 --arg=sinks=randn:2 | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x4x40x16 --arg=k=randn:1x4x33x16 \
// RUN:   --arg=v=randn:1x4x33x16 --arg=sinks=randn:4 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>
!l = tensor<?x?x?xf32>

func.func @sink(%q: !t, %k: !t, %v: !t, %sinks: tensor<?xf32>) -> (!t, !l) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %linit = tensor.empty(%B, %H, %M) : !l
  %o, %lse = attn.attention ins(%q, %k, %v : !t, !t, !t)
      outs(%init, %linit : !t, !l)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi slt, %j, %i : index
        attn.yield %p : i1
      }
  %r = linalg.generic {
      indexing_maps = [affine_map<(b, h, i, d) -> (b, h, i, d)>,
                       affine_map<(b, h, i, d) -> (b, h, i)>,
                       affine_map<(b, h, i, d) -> (h)>,
                       affine_map<(b, h, i, d) -> (b, h, i, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%o, %lse, %sinks : !t, !l, tensor<?xf32>) outs(%init : !t) {
    ^bb0(%x: !e, %l: f32, %w: f32, %out: !e):
      %one = arith.constant 1.0 : f32
      %d = arith.subf %w, %l : f32
      %e = math.exp %d : f32
      %n = arith.addf %one, %e : f32
      %y = arith.divf %x, %n : f32
      linalg.yield %y : f32
  } -> !t
  return %r, %lse : !t, !l
}
