// How a CPU sums the gradients of captures.

// RUN: attn-opt %s --attn-assign-schedule --attn-tile-gradients --remarks-filter=attn --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s

!q = tensor<2x4x?x16xf32>
!l = tensor<2x4x?xf32>
!a = tensor<4xf32>
!r = tensor<4x?xf32>
!d = tensor<2x4x?x?xf32>
!t = tensor<?xf32>

// CHECK-DAG: gradient of capture 0: a sum in order, in parts of their own for heads; workers share out batches, and have copies
// CHECK-DAG: gradient of capture 1: a sum in order, in parts of their own for heads, tiles of queries; workers share out batches, and have copies
// CHECK-DAG: gradient of capture 2: a sum in order, in parts of their own for batches, heads, tiles of queries"
// CHECK-DAG: gradient of capture 3: a sum in order; workers share out batches and heads, and have copies
// CHECK-DAG: gradient of capture 4: a sum in order; workers share out batches and heads, and have copies
func.func @captures(%q: !q, %lse: !l, %a: !a, %r: !r, %d: !d, %t: !t, %s: f32, %ds: tensor<f32>) -> (!a, !r, !d, !t, tensor<f32>) {
  %g:5 = attn.attention_grad wrt(0, 1, 2, 3, 4)
      ins(%q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, !l, !q)
      captures(%a, %r, %d, %t, %s : !a, !r, !d, !t, f32)
      outs(%a, %r, %d, %t, %ds : !a, !r, !d, !t, tensor<f32>)
      score(%x, %b, %h, %i, %j, %w0, %w1, %w2, %w3, %w4) {
        %y = arith.mulf %x, %w4 : f32
        attn.yield %y : f32
      }
      adjoint(%x, %dy, %b, %h, %i, %j, %w0, %w1, %w2, %w3, %w4) {
        %dist = arith.subi %i, %j : index
        attn.contribute %dy to %w0[%h] : f32, !a
        attn.contribute %dy to %w1[%h, %i] : f32, !r
        attn.contribute %dy to %w2[%b, %h, %i, %j] : f32, !d
        attn.contribute %dy to %w3[%dist] : f32, !t
        attn.contribute %dy to %w4 : f32, f32
        attn.yield %dy : f32
      }
  return %g#0, %g#1, %g#2, %g#3, %g#4 : !a, !r, !d, !t, tensor<f32>
}
