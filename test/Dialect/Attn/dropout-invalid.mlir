// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @one(%seed: i64, %i: index) -> f32 {
  // expected-error@+1 {{expects a probability that is at least 0 and less than 1, but got 1.000000e+00 : f64}}
  %w = attn.dropout 1.0 seed %seed offset %seed at %i, %i, %i, %i : f32
  return %w : f32
}

// -----

func.func @negative(%seed: i64, %i: index) -> f32 {
  // expected-error@+1 {{expects a probability that is at least 0 and less than 1, but got -1.000000e-01 : f64}}
  %w = attn.dropout -0.1 seed %seed offset %seed at %i, %i, %i, %i : f32
  return %w : f32
}

// -----

func.func @shapes(%seed: i64, %i: vector<4xindex>, %j: vector<8xindex>) -> vector<4xf32> {
  // expected-error@+1 {{op all non-scalar operands/results must have the same shape and base type}}
  %w = attn.dropout 0.1 seed %seed offset %seed at %i, %i, %i, %j
      : (i64, i64, vector<4xindex>, vector<4xindex>, vector<4xindex>, vector<8xindex>) -> vector<4xf32>
  return %w : vector<4xf32>
}

// -----

!q = tensor<1x2x8x16xf32>
!l = tensor<1x2x8xf32>
func.func @depends(%q: !q, %l: !l, %init: !q) -> !q {
  // expected-error@+1 {{expects the weight that the score region yields not to depend on the score, as it has no gradient}}
  %d = attn.attention_grad wrt(v) ins(%q, %q, %q, %q, %l, %q : !q, !q, !q, !q, !l, !q) outs(%init : !q)
      score(%s, %b, %h, %i, %j) {
        // expected-note@+1 {{computed here}}
        %w = math.exp %s : f32
        attn.yield %s, %w : f32, f32
      }
      adjoint(%s, %ds, %b, %h, %i, %j) {
        attn.yield %ds : f32
      }
  return %d : !q
}

// -----

!q = tensor<1x2x8x16xf32>
func.func @type(%q: !q, %init: !q) -> !q {
  // expected-error@+1 {{expects the score region to yield 'f32', 'f32', but got 'f32', 'index'}}
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%init : !q)
      score(%s, %b, %h, %i, %j) {
        // expected-note@+1 {{yielded here}}
        attn.yield %s, %i : f32, index
      }
  return %o : !q
}

// -----

!q = tensor<1x2x8x16xf32>
func.func @mask(%q: !q, %seed: i64, %init: !q) -> !q {
  // expected-note@+1 {{in this attention}}
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) captures(%seed : i64) outs(%init : !q)
      mask(%b, %h, %i, %j, %n) {
        // expected-error@+1 {{'attn.dropout' is not allowed in the mask region of an attention}}
        %w = attn.dropout 0.1 seed %n offset %n at %b, %h, %i, %j : f32
        %z = arith.constant 0.0 : f32
        %p = arith.cmpf ogt, %w, %z : f32
        attn.yield %p : i1
      }
  return %o : !q
}
