// RUN: attn-opt %s --split-input-file --verify-diagnostics

!q = tensor<1x2x8x16xf32>
func.func @bounds(%q: !q, %init: !q) -> !q {
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%init : !q)
      score(%s, %b, %h, %i, %j) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        // expected-error@+1 {{expects scf.for in a region of an attention to have constant bounds}}
        %y = scf.for %r = %zero to %i step %one iter_args(%acc = %s) -> (f32) {
          scf.yield %acc : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}

// -----

!q = tensor<1x2x8x16xf32>
func.func @step(%q: !q, %init: !q) -> !q {
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%init : !q)
      score(%s, %b, %h, %i, %j) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        // expected-error@+1 {{expects scf.for in a region of an attention to have a step of 1 or more, but got 0}}
        %y = scf.for %r = %zero to %one step %zero iter_args(%acc = %s) -> (f32) {
          scf.yield %acc : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}
