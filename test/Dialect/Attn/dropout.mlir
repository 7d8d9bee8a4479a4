// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s
// RUN: attn-opt %s --canonicalize | FileCheck %s --check-prefix=CANON

!q = tensor<1x2x8x16xf32>

// CHECK-LABEL: func @scalars
// CHECK: attn.dropout 1.000000e-01 seed %{{.*}} offset %{{.*}} at %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : f64
func.func @scalars(%seed: i64, %i: index) -> f64 {
  %w = attn.dropout 0.1 seed %seed offset %seed at %i, %i, %i, %i : f64
  return %w : f64
}

// CHECK-LABEL: func @tiles
// CHECK: attn.dropout 5.000000e-01 seed %{{.*}} offset %{{.*}} at %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} aligned : (i64, vector<4x8xi64>, index, vector<4x8xindex>, vector<4x8xindex>, vector<4x8xindex>) -> vector<4x8xf32>
func.func @tiles(%seed: i64, %offset: vector<4x8xi64>, %b: index, %i: vector<4x8xindex>) -> vector<4x8xf32> {
  %w = attn.dropout 0.5 seed %seed offset %offset at %b, %i, %i, %i aligned
      : (i64, vector<4x8xi64>, index, vector<4x8xindex>, vector<4x8xindex>, vector<4x8xindex>) -> vector<4x8xf32>
  return %w : vector<4x8xf32>
}

// Nothing is dropped: the weight is 1, and the score is the product.
// CHECK-LABEL: func @nothing
// CHECK: attn.yield %{{.*}}, %{{.*}} : f32, f32
// CANON-LABEL: func @nothing
// CANON-NOT: score
// CANON: return
func.func @nothing(%q: !q, %seed: i64) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) captures(%seed : i64) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %n) {
        %w = attn.dropout 0.0 seed %n offset %n at %b, %h, %i, %j : f32
        attn.yield %s, %w : f32, f32
      }
  return %o : !q
}

// Any weight that does not depend on the score.
// CANON-LABEL: func @weight
// CANON: attn.yield %{{.*}}, %{{.*}} : f32, f32
func.func @weight(%q: !q, %w: tensor<?xf32>) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) captures(%w : tensor<?xf32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %x = tensor.extract %t[%j] : tensor<?xf32>
        attn.yield %s, %x : f32, f32
      }
  return %o : !q
}
