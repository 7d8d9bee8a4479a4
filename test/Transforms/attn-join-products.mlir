// RUN: attn-opt %s --attn-join-products --cse --split-input-file | FileCheck %s

!q = tensor<1x2x64x16xf32>
!a = tensor<2x64x8xf32>
!c = tensor<64x8xf32>

// Rows times the factor of the sum over the scale, behind the elements of q.

// CHECK-LABEL: func.func @loop
// CHECK-SAME: %[[Q:[^ ]*]]: tensor<1x2x64x16xf32>, %[[K:[^ ]*]]: tensor<1x2x64x16xf32>, %[[A:[^ ]*]]: tensor<2x64x8xf32>, %[[C:[^ ]*]]: tensor<64x8xf32>
// CHECK: %[[ROWS:.*]] = linalg.generic
// CHECK-SAME: ins(%{{.*}} : tensor<2x64x8xf32>) outs(%{{.*}} : tensor<1x2x64x8xf32>)
// CHECK: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT: arith.mulf %{{.*}}, %[[TWO]] : f32
// CHECK: %[[Q1:.*]] = tensor.insert_slice %[[Q]] into %{{.*}}[0, 0, 0, 0] [1, 2, 64, 16]
// CHECK-NEXT: %[[Q2:.*]] = tensor.insert_slice %[[ROWS]] into %[[Q1]][0, 0, 0, 16] [1, 2, 64, 8] [1, 1, 1, 1] : tensor<1x2x64x8xf32> into tensor<1x2x64x24xf32>
// CHECK: %[[COLUMNS:.*]] = linalg.generic
// CHECK-SAME: ins(%{{.*}} : tensor<64x8xf32>)
// CHECK-NOT: arith.mulf
// CHECK: %[[K1:.*]] = tensor.insert_slice %[[K]] into
// CHECK-NEXT: %[[K2:.*]] = tensor.insert_slice %[[COLUMNS]] into %[[K1]][0, 0, 0, 16]
// CHECK: attn.attention scale 2.500000e-01
// CHECK-NEXT: ins(%[[Q2]], %[[K2]], %[[K]] : tensor<1x2x64x24xf32>, tensor<1x2x64x24xf32>, tensor<1x2x64x16xf32>)
// CHECK: score
// CHECK-NOT: scf.for
// CHECK: %[[X:.*]] = arith.mulf %s, %{{.*}} : f32
// CHECK-NEXT: math.tanh %[[X]]
// CHECK: return
func.func @loop(%q: !q, %k: !q, %a: !a, %c: !c) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%a, %c : !a, !c) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %x, %y) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %eight = arith.constant 8 : index
        %double = arith.constant 2.0 : f32
        %none = arith.constant 0.0 : f32
        %t = scf.for %r = %zero to %eight step %one iter_args(%acc = %none) -> (f32) {
          %xr = tensor.extract %x[%h, %i, %r] : !a
          %yr = tensor.extract %y[%j, %r] : !c
          %p = arith.mulf %yr, %xr : f32
          %n = arith.addf %acc, %p : f32
          scf.yield %n : f32
        }
        %u = arith.mulf %s, %double : f32
        %z = arith.addf %t, %u : f32
        %w = math.tanh %z : f32
        attn.yield %w : f32
      }
  return %o : !q
}

// -----

// What stays: sums that are not added to the score alone, of fewer than four
// elements, of more than there is room for, of rows of queries on both sides, of
// f16 with a factor, and where a gradient is of more digits than q.

!q = tensor<1x2x64x16xf32>
!h = tensor<1x2x64x16xf16>
!c = tensor<64x300xf32>
!d = tensor<64x8xf16>

// CHECK-LABEL: func.func @twice
// CHECK: scf.for
func.func @twice(%q: !q, %c: !c) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) captures(%c : !c) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %y) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %n = arith.constant 8 : index
        %t = scf.for %r = %zero to %n step %one iter_args(%acc = %s) -> (f32) {
          %x0 = tensor.extract %y[%i, %r] : !c
          %y0 = tensor.extract %y[%j, %r] : !c
          %p = arith.mulf %x0, %y0 : f32
          %m = arith.addf %acc, %p : f32
          scf.yield %m : f32
        }
        %z = arith.mulf %t, %s : f32
        attn.yield %z : f32
      }
  return %o : !q
}

// CHECK-LABEL: func.func @short
// CHECK: scf.for
func.func @short(%q: !q, %c: !c) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) captures(%c : !c) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %y) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %n = arith.constant 3 : index
        %t = scf.for %r = %zero to %n step %one iter_args(%acc = %s) -> (f32) {
          %x0 = tensor.extract %y[%i, %r] : !c
          %y0 = tensor.extract %y[%j, %r] : !c
          %p = arith.mulf %x0, %y0 : f32
          %m = arith.addf %acc, %p : f32
          scf.yield %m : f32
        }
        attn.yield %t : f32
      }
  return %o : !q
}

// CHECK-LABEL: func.func @long
// CHECK: scf.for
func.func @long(%q: !q, %c: !c) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) captures(%c : !c) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %y) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %n = arith.constant 241 : index
        %t = scf.for %r = %zero to %n step %one iter_args(%acc = %s) -> (f32) {
          %x0 = tensor.extract %y[%i, %r] : !c
          %y0 = tensor.extract %y[%j, %r] : !c
          %p = arith.mulf %x0, %y0 : f32
          %m = arith.addf %acc, %p : f32
          scf.yield %m : f32
        }
        attn.yield %t : f32
      }
  return %o : !q
}

// CHECK-LABEL: func.func @queries
// CHECK: scf.for
func.func @queries(%q: !q, %c: !c) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) captures(%c : !c) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %y) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %n = arith.constant 8 : index
        %t = scf.for %r = %zero to %n step %one iter_args(%acc = %s) -> (f32) {
          %x0 = tensor.extract %y[%i, %r] : !c
          %p = arith.mulf %x0, %x0 : f32
          %m = arith.addf %acc, %p : f32
          scf.yield %m : f32
        }
        attn.yield %t : f32
      }
  return %o : !q
}

// The scale is 1/4.
// CHECK-LABEL: func.func @factor
// CHECK: scf.for
func.func @factor(%q: !h, %c: !d) -> !h {
  %init = tensor.empty() : !h
  %o = attn.attention ins(%q, %q, %q : !h, !h, !h) captures(%c : !d) outs(%init : !h)
      score(%s, %b, %h, %i, %j, %y) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %n = arith.constant 8 : index
        %t = scf.for %r = %zero to %n step %one iter_args(%acc = %s) -> (f32) {
          %x0 = tensor.extract %y[%i, %r] : !d
          %y0 = tensor.extract %y[%j, %r] : !d
          %x1 = arith.extf %x0 : f16 to f32
          %y1 = arith.extf %y0 : f16 to f32
          %p = arith.mulf %x1, %y1 : f32
          %m = arith.addf %acc, %p : f32
          scf.yield %m : f32
        }
        attn.yield %t : f32
      }
  return %o : !h
}

// Without a factor f16 joins as it is.
// CHECK-LABEL: func.func @plain
// CHECK: attn.attention
// CHECK-NEXT: ins(%{{.*}} : tensor<1x2x64x24xf16>,
// CHECK-NOT: scf.for
// CHECK: return
func.func @plain(%q: !h, %c: !d) -> !h {
  %init = tensor.empty() : !h
  %o = attn.attention scale 1.0 ins(%q, %q, %q : !h, !h, !h) captures(%c : !d) outs(%init : !h)
      score(%s, %b, %h, %i, %j, %y) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %n = arith.constant 8 : index
        %t = scf.for %r = %zero to %n step %one iter_args(%acc = %s) -> (f32) {
          %x0 = tensor.extract %y[%i, %r] : !d
          %y0 = tensor.extract %y[%j, %r] : !d
          %x1 = arith.extf %x0 : f16 to f32
          %y1 = arith.extf %y0 : f16 to f32
          %p = arith.mulf %x1, %y1 : f32
          %m = arith.addf %acc, %p : f32
          scf.yield %m : f32
        }
        attn.yield %t : f32
      }
  return %o : !h
}
