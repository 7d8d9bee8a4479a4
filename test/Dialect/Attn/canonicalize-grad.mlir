// RUN: attn-opt %s --canonicalize | FileCheck %s

!q = tensor<2x3x?x8xf32>
!l = tensor<2x3x?xf32>
!c = tensor<0xf32>

// A capture without elements has no gradient to compute.
// CHECK-LABEL: func.func @one_of_two(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<2x3x?x8xf32>, %{{.*}}: tensor<2x3x?xf32>, %[[C:[^:]*]]: tensor<0xf32>, %[[DC:[^:]*]]: tensor<0xf32>
// CHECK: %[[DQ:.*]] = attn.attention_grad wrt(q)
// CHECK: outs(%[[Q]] : tensor<2x3x?x8xf32>)
// CHECK: adjoint
// CHECK: return %[[DQ]], %[[DC]]
func.func @one_of_two(%q: !q, %l: !l, %c: !c, %dc: !c) -> (!q, !c) {
  %d:2 = attn.attention_grad wrt(q, 0)
      ins(%q, %q, %q, %q, %l, %q : !q, !q, !q, !q, !l, !q) captures(%c : !c)
      outs(%q, %dc : !q, !c)
      score(%s, %b, %h, %i, %j, %a) {
        %x = tensor.extract %a[%i] : !c
        %t = arith.addf %s, %x : f32
        attn.yield %t : f32
      }
      adjoint(%s, %ds, %b, %h, %i, %j, %a) {
        attn.contribute %ds to %a[%i] : f32, !c
        attn.yield %ds : f32
      }
  return %d#0, %d#1 : !q, !c
}

!e = tensor<0x3x?x8xf32>
!el = tensor<0x3x?xf32>

// CHECK-LABEL: func.func @none(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<0x3x?x8xf32>
// CHECK-NOT: attn.attention_grad
// CHECK: return %[[Q]]
func.func @none(%q: !e, %l: !el) -> !e {
  %d = attn.attention_grad wrt(k)
      ins(%q, %q, %q, %q, %l, %q : !e, !e, !e, !e, !el, !e) outs(%q : !e)
  return %d : !e
}
