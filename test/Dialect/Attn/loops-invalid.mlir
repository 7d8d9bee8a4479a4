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

// -----

!q = tensor<1x2x8x16xf32>
func.func @length(%q: !q, %init: !q) -> !q {
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%init : !q)
      score(%s, %b, %h, %i, %j) {
        %first = arith.constant -120 : i8
        %end = arith.constant 120 : i8
        %step = arith.constant 3 : i8
        // expected-error@+1 {{expects the bounds of scf.for in a region of an attention, and their distance, to be signed numbers of its type, but got -120 to 120 of 'i8'}}
        %y = scf.for %r = %first to %end step %step iter_args(%acc = %s) -> (f32)  : i8 {
          scf.yield %acc : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}

// -----

!q = tensor<1x2x8x16xf32>
func.func @unsigned(%q: !q, %init: !q) -> !q {
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%init : !q)
      score(%s, %b, %h, %i, %j) {
        %first = arith.constant 0 : i8
        %end = arith.constant -56 : i8
        %step = arith.constant 3 : i8
        // expected-error@+1 {{expects the bounds of scf.for in a region of an attention, and their distance, to be signed numbers of its type, but got 0 to -56 of 'i8'}}
        %y = scf.for unsigned %r = %first to %end step %step iter_args(%acc = %s) -> (f32)  : i8 {
          scf.yield %acc : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}

// -----

!q = tensor<1x2x8x16xf32>
func.func @longest(%q: !q, %init: !q) -> !q {
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%init : !q)
      score(%s, %b, %h, %i, %j) {
        %first = arith.constant -9223372036854775808 : index
        %end = arith.constant 9223372036854775807 : index
        %step = arith.constant 3 : index
        // expected-error@+1 {{expects the bounds of scf.for in a region of an attention, and their distance, to be signed numbers of its type, but got -9223372036854775808 to 9223372036854775807 of 'index'}}
        %y = scf.for %r = %first to %end step %step iter_args(%acc = %s) -> (f32)  {
          scf.yield %acc : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}

// -----

// Only adjoints have loops that begin where another one stands.
!q = tensor<1x2x8x16xf32>
func.func @inner(%q: !q, %init: !q) -> !q {
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%init : !q)
      score(%s, %b, %h, %i, %j) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %n = arith.constant 10 : index
        %y = scf.for %r = %zero to %n step %one iter_args(%acc = %s) -> (f32) {
          // expected-error@+1 {{expects scf.for in a region of an attention to have constant bounds}}
          %z = scf.for %e = %r to %n step %one iter_args(%in = %acc) -> (f32) {
            scf.yield %in : f32
          }
          scf.yield %z : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}
