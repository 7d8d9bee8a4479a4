// RUN: attn-opt %s --split-input-file --attn-differentiate=wrt=q --verify-diagnostics | FileCheck %s

// A weight stays with the score, of which it is no part.
// CHECK-LABEL: func @dropout_grad
// CHECK: attn.attention_grad
// CHECK: score(%[[S:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK: %[[W:.*]] = attn.dropout
// CHECK: attn.yield %[[S]], %[[W]] : f32, f32
// CHECK: adjoint(%{{.*}}, %[[DS:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-NEXT: attn.yield %[[DS]] : f32
!q = tensor<1x2x8x16xf32>
func.func @dropout(%q: !q {attn.name = "q"}, %k: !q, %seed: i64) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%seed : i64) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %n) {
        %w = attn.dropout 0.1 seed %n offset %n at %b, %h, %i, %j : f32
        attn.yield %s, %w : f32, f32
      }
  return %o : !q
}

// -----

!q = tensor<1x2x8x16xf32>
func.func @learned(%k: !q, %q: tensor<8xf32> {attn.name = "q"}) -> !q {
  %init = tensor.empty() : !q
  // expected-note@+1 {{in this attention}}
  %o = attn.attention ins(%k, %k, %k : !q, !q, !q) captures(%q : tensor<8xf32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        // expected-error@+1 {{the weight of a probability has no gradient}}
        %w = tensor.extract %t[%j] : tensor<8xf32>
        attn.yield %s, %w : f32, f32
      }
  return %o : !q
}
