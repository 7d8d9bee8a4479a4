// RUN: attn-opt %s --attn-canonicalize-score --split-input-file | FileCheck %s

// Constant factors join the scale, which is 1/sqrt(16) where it is absent.

// CHECK-LABEL: func @factors
// CHECK:      attn.attention scale -2.500000e-01
// CHECK-NOT:  score
// CHECK:      return
func.func @factors(%q: tensor<1x1x4x16xf32>, %o: tensor<1x1x4x16xf32>) -> tensor<1x1x4x16xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>)
      outs(%o : tensor<1x1x4x16xf32>)
      score(%s, %b, %h, %i, %j) {
        %two = arith.constant 2.000000e+00 : f32
        %x = arith.mulf %two, %s : f32
        %y = arith.negf %x : f32
        %z = arith.divf %y, %two : f32
        attn.yield %z : f32
      }
  return %r : tensor<1x1x4x16xf32>
}

// -----

// CHECK-LABEL: func @online
// CHECK:      attn.online_attention scale 1.500000e+00
// CHECK-NOT:  score
// CHECK:      mask
func.func @online(%q: tensor<1x1x4x8xf64>, %m: tensor<1x1x4xf64>) -> tensor<1x1x4x8xf64> {
  %r:3 = attn.online_attention scale 0.5
      ins(%q, %q, %q : tensor<1x1x4x8xf64>, tensor<1x1x4x8xf64>, tensor<1x1x4x8xf64>)
      outs(%q, %m, %m : tensor<1x1x4x8xf64>, tensor<1x1x4xf64>, tensor<1x1x4xf64>)
      score(%s, %b, %h, %i, %j) {
        %c = arith.constant 3.000000e+00 : f64
        %inf = arith.constant 0xFFF0000000000000 : f64
        %x = arith.mulf %s, %c : f64
        %p = arith.cmpi sle, %j, %i : index
        %y = arith.select %p, %x, %inf : f64
        attn.yield %y : f64
      }
  return %r#0 : tensor<1x1x4x8xf64>
}

// -----

// So do those that come before anything else: a soft-cap divides by the cap.

// CHECK-LABEL: func @first_factors
// CHECK:      attn.attention scale 5.000000e-02
// CHECK:      score(%[[S:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK:        %[[CAP:.*]] = arith.constant 2.000000e+01
// CHECK-NEXT:   %[[T:.*]] = math.tanh %[[S]]
// CHECK-NEXT:   arith.mulf %[[T]], %[[CAP]]
func.func @first_factors(%q: tensor<1x1x4x16xf32>, %o: tensor<1x1x4x16xf32>) -> tensor<1x1x4x16xf32> {
  %r = attn.attention scale 1.0 ins(%q, %q, %q : tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>)
      outs(%o : tensor<1x1x4x16xf32>)
      score(%s, %b, %h, %i, %j) {
        %c = arith.constant 20.0 : f32
        %x = arith.divf %s, %c : f32
        %t = math.tanh %x : f32
        %y = arith.mulf %t, %c : f32
        attn.yield %y : f32
      }
  return %r : tensor<1x1x4x16xf32>
}

// -----

// Not where something else sees the score without them, or what is divided by
// is the score.

// CHECK-LABEL: func @seen
// CHECK:      attn.attention scale 1.000000e+00
// CHECK:        arith.mulf
func.func @seen(%q: tensor<1x1x4x16xf32>, %o: tensor<1x1x4x16xf32>) -> tensor<1x1x4x16xf32> {
  %r = attn.attention scale 1.0 ins(%q, %q, %q : tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>)
      outs(%o : tensor<1x1x4x16xf32>)
      score(%s, %b, %h, %i, %j) {
        %c = arith.constant 3.000000e+00 : f32
        %x = arith.mulf %s, %c : f32
        %y = math.tanh %x : f32
        %z = arith.addf %y, %s : f32
        attn.yield %z : f32
      }
  return %r : tensor<1x1x4x16xf32>
}

// CHECK-LABEL: func @divisor
// CHECK:      attn.attention scale 1.000000e+00
// CHECK:        arith.divf
func.func @divisor(%q: tensor<1x1x4x16xf32>, %o: tensor<1x1x4x16xf32>) -> tensor<1x1x4x16xf32> {
  %r = attn.attention scale 1.0 ins(%q, %q, %q : tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>)
      outs(%o : tensor<1x1x4x16xf32>)
      score(%s, %b, %h, %i, %j) {
        %c = arith.constant 3.000000e+00 : f32
        %x = arith.divf %c, %s : f32
        attn.yield %x : f32
      }
  return %r : tensor<1x1x4x16xf32>
}

// -----

// The product has to be a normal f32: neither 0, nor infinite, nor so small
// that it has fewer digits.

// CHECK-LABEL: func @zero
// CHECK:      attn.attention scale 1.000000e+00
// CHECK:        arith.mulf
// CHECK-LABEL: func @overflow
// CHECK:      attn.attention scale 1.000000e+30
// CHECK:        arith.mulf
// CHECK-LABEL: func @subnormal
// CHECK:      attn.attention scale 1.000000e-30
// CHECK:        arith.mulf
func.func @zero(%q: tensor<1x1x4x16xf32>, %o: tensor<1x1x4x16xf32>) -> tensor<1x1x4x16xf32> {
  %r = attn.attention scale 1.0 ins(%q, %q, %q : tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>)
      outs(%o : tensor<1x1x4x16xf32>)
      score(%s, %b, %h, %i, %j) {
        %c = arith.constant 0.000000e+00 : f32
        %x = arith.mulf %s, %c : f32
        attn.yield %x : f32
      }
  return %r : tensor<1x1x4x16xf32>
}
func.func @overflow(%q: tensor<1x1x4x16xf32>, %o: tensor<1x1x4x16xf32>) -> tensor<1x1x4x16xf32> {
  %r = attn.attention scale 1.0e30 ins(%q, %q, %q : tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>)
      outs(%o : tensor<1x1x4x16xf32>)
      score(%s, %b, %h, %i, %j) {
        %c = arith.constant 1.0e10 : f32
        %x = arith.mulf %s, %c : f32
        attn.yield %x : f32
      }
  return %r : tensor<1x1x4x16xf32>
}
func.func @subnormal(%q: tensor<1x1x4x16xf32>, %o: tensor<1x1x4x16xf32>) -> tensor<1x1x4x16xf32> {
  %r = attn.attention scale 1.0e-30 ins(%q, %q, %q : tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>)
      outs(%o : tensor<1x1x4x16xf32>)
      score(%s, %b, %h, %i, %j) {
        %c = arith.constant 1.0e-10 : f32
        %x = arith.mulf %s, %c : f32
        attn.yield %x : f32
      }
  return %r : tensor<1x1x4x16xf32>
}
