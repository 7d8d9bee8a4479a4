// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --attn-canonicalize-score | FileCheck %s --check-prefix=SHORT

!q = tensor<1x2x8x16xf32>

// A loop stays one, however long.
// CHECK-LABEL: func @long
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%{{.*}} = %{{.*}}) -> (f32)
// SHORT-LABEL: func @long
// SHORT-COUNT-1: scf.for
// SHORT-NOT: scf.for
func.func @long(%q: !q, %w: tensor<?x?xf32>) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) captures(%w : tensor<?x?xf32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %n = arith.constant 1000 : index
        %y = scf.for %r = %zero to %n step %one iter_args(%acc = %s) -> (f32) {
          %x = tensor.extract %t[%i, %r] : tensor<?x?xf32>
          %a = arith.addf %acc, %x : f32
          scf.yield %a : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}

// A short one becomes what it runs; the one around it stays.
// SHORT-LABEL: func @nested
// SHORT: scf.for
// SHORT-COUNT-2: math.sin
// SHORT-NOT: math.sin
// SHORT: scf.yield
func.func @nested(%q: !q) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%init : !q)
      score(%s, %b, %h, %i, %j) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %two = arith.constant 2 : index
        %n = arith.constant 1000 : index
        %y = scf.for %r = %zero to %n step %one iter_args(%acc = %s) -> (f32) {
          %z = scf.for %e = %zero to %two step %one iter_args(%in = %acc) -> (f32) {
            %a = math.sin %in : f32
            scf.yield %a : f32
          }
          scf.yield %z : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}

// None at all.
// SHORT-LABEL: func @none
// SHORT-NOT: score
// SHORT: return
func.func @none(%q: !q) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%init : !q)
      score(%s, %b, %h, %i, %j) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %y = scf.for %r = %one to %zero step %one iter_args(%acc = %s) -> (f32) {
          %a = math.sin %acc : f32
          scf.yield %a : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}
