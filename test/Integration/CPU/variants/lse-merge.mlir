// The keys in a window and the rest of the causal ones, merged by their log-
// sum-exp, next to all causal keys at once.

// RUN: attn-run %s --check --arg=q=randn:2x2x67x16 --arg=k=randn:2x2x67x16 \
// RUN:   --arg=v=randn:2x2x67x16 | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x1x35x16 --arg=k=randn:1x1x41x16 \
// RUN:   --arg=v=randn:1x1x41x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>
!l = tensor<?x?x?xf32>
#row = affine_map<(b, h, i, d) -> (b, h, i)>
#all = affine_map<(b, h, i, d) -> (b, h, i, d)>

func.func @lse_merge(%q: !t, %k: !t, %v: !t) -> (!t, !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %linit = tensor.empty(%B, %H, %M) : !l
  %o0, %l0 = attn.attention ins(%q, %k, %v : !t, !t, !t)
      outs(%init, %linit : !t, !l)
      mask(%b, %h, %i, %j) {
        %c16 = arith.constant 16 : index
        %d = arith.subi %i, %j : index
        %causal = arith.cmpi sle, %j, %i : index
        %near = arith.cmpi slt, %d, %c16 : index
        %p = arith.andi %causal, %near : i1
        attn.yield %p : i1
      }
  %o1, %l1 = attn.attention ins(%q, %k, %v : !t, !t, !t)
      outs(%init, %linit : !t, !l)
      mask(%b, %h, %i, %j) {
        %c16 = arith.constant 16 : index
        %d = arith.subi %i, %j : index
        %p = arith.cmpi sge, %d, %c16 : index
        attn.yield %p : i1
      }
  %merged = linalg.generic {
      indexing_maps = [#all, #row, #all, #row, #all],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%o0, %l0, %o1, %l1 : !t, !l, !t, !l) outs(%init : !t) {
    ^bb0(%x0: !e, %y0: f32, %x1: !e, %y1: f32, %out: !e):
      %max = arith.maximumf %y0, %y1 : f32
      %d0 = arith.subf %y0, %max : f32
      %d1 = arith.subf %y1, %max : f32
      %w0 = math.exp %d0 : f32
      %w1 = math.exp %d1 : f32
      %sum = arith.addf %w0, %w1 : f32
      %a = arith.mulf %x0, %w0 : f32
      %b = arith.mulf %x1, %w1 : f32
      %ab = arith.addf %a, %b : f32
      %r = arith.divf %ab, %sum : f32
      linalg.yield %r : f32
  } -> !t
  %o2 = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %merged, %o2 : !t, !t
}
