// The scale moves to where it takes the fewest multiplications: what is yielded
// has a constant factor, which is a part of the exponent, and numbers of a head
// are divided by it in place of scores. Sums, which fuse it, stay.

// RUN: attn-opt %s --attn-place-scale --split-input-file | FileCheck %s

!a = tensor<2x4x?x8xf32>
!r = tensor<2x4x?xf32>

// CHECK-LABEL: @square
// CHECK: attn.online_attention scale 1.000000e+00
// CHECK: score(%[[S:[a-z0-9]+]],
// CHECK: %[[X:.+]] = arith.mulf %[[S]], %[[S]]
// CHECK: %[[C:.+]] = arith.constant 2.500000e-01
// CHECK: %[[Y:.+]] = arith.mulf %[[X]], %[[C]]
// CHECK: attn.yield %[[Y]]
func.func @square(%q: !a, %k: !a, %v: !a, %acc: !a, %max: !r, %sum: !r) -> (!a, !r, !r) {
  %r:3 = attn.online_attention scale 0.5 ins(%q, %k, %v : !a, !a, !a) outs(%acc, %max, %sum : !a, !r, !r)
      score(%s, %b, %h, %i, %j) {
        %x = arith.mulf %s, %s : f32
        attn.yield %x : f32
      }
  return %r#0, %r#1, %r#2 : !a, !r, !r
}

// Of degree 1, through a maximum with zero, an absolute value and a factor of
// the key. What is free is a zero, and a constant that is divided by the scale.
// CHECK-LABEL: @pieces
// CHECK: attn.online_attention scale 1.000000e+00
// CHECK: score(%[[S:[a-z0-9]+]],
// CHECK: %[[ONE:.+]] = arith.constant 1.000000e+00
// CHECK: %[[BOUND:.+]] = arith.constant 2.000000e+00
// CHECK: %[[N:.+]] = arith.negf %[[S]]
// CHECK: %[[A:.+]] = math.absf %[[N]]
// CHECK: %[[M:.+]] = arith.maximumf %[[A]], %[[BOUND]]
// CHECK: %[[Y:.+]] = arith.mulf %[[M]], %{{.+}} : f32
// CHECK: %[[C:.+]] = arith.constant 5.000000e-01
// CHECK: %[[Z:.+]] = arith.mulf %[[Y]], %[[C]]
// CHECK: attn.yield %[[Z]]
func.func @pieces(%q: !a, %k: !a, %v: !a, %w: tensor<?xf32>, %acc: !a, %max: !r, %sum: !r) -> (!a, !r, !r) {
  %r:3 = attn.online_attention scale 0.5 ins(%q, %k, %v : !a, !a, !a) captures(%w : tensor<?xf32>) outs(%acc, %max, %sum : !a, !r, !r)
      score(%s, %b, %h, %i, %j, %t) {
        %one = arith.constant 1.0 : f32
        %n = arith.negf %s : f32
        %a = math.absf %n : f32
        %m = arith.maximumf %a, %one : f32
        %f = tensor.extract %t[%j] : tensor<?xf32>
        %y = arith.mulf %m, %f : f32
        attn.yield %y : f32
      }
  return %r#0, %r#1, %r#2 : !a, !r, !r
}

// A score that is compared with a number of its head: the number is divided.
// CHECK-LABEL: @bound
// CHECK: attn.online_attention scale 1.000000e+00
// CHECK: score(%[[S:[a-z0-9]+]], %{{[a-z0-9]+}}, %[[H:[a-z0-9]+]],
// CHECK: %[[T:.+]] = tensor.extract %{{.+}}[%[[H]]]
// CHECK: %[[TWO:.+]] = arith.constant 2.000000e+00
// CHECK: %[[B:.+]] = arith.mulf %[[T]], %[[TWO]]
// CHECK: %[[P:.+]] = arith.cmpf ole, %[[S]], %[[B]]
// CHECK: %[[X:.+]] = arith.select %[[P]], %[[S]], %{{.+}}
// CHECK: arith.mulf %[[X]]
func.func @bound(%q: !a, %k: !a, %v: !a, %w: tensor<?xf32>, %acc: !a, %max: !r, %sum: !r) -> (!a, !r, !r) {
  %r:3 = attn.online_attention scale 0.5 ins(%q, %k, %v : !a, !a, !a) captures(%w : tensor<?xf32>) outs(%acc, %max, %sum : !a, !r, !r)
      score(%s, %b, %h, %i, %j, %t) {
        %e = tensor.extract %t[%h] : tensor<?xf32>
        %p = arith.cmpf ole, %s, %e : f32
        %inf = arith.constant 0xFF800000 : f32
        %x = arith.select %p, %s, %inf : f32
        attn.yield %x : f32
      }
  return %r#0, %r#1, %r#2 : !a, !r, !r
}

// The divisor of a function's argument has the scale.
// CHECK-LABEL: @soft_cap
// CHECK: attn.online_attention scale 1.000000e+00
// CHECK: %[[T:.+]] = tensor.extract %{{.+}}[]
// CHECK: %[[TWO:.+]] = arith.constant 2.000000e+00
// CHECK: %[[D:.+]] = arith.mulf %[[T]], %[[TWO]]
// CHECK: %[[X:.+]] = arith.divf %{{.+}}, %[[D]]
// CHECK: %[[Y:.+]] = math.tanh %[[X]]
// CHECK: %[[Z:.+]] = arith.mulf %[[Y]], %[[T]]
// CHECK: attn.yield %[[Z]]
func.func @soft_cap(%q: !a, %k: !a, %v: !a, %w: tensor<f32>, %acc: !a, %max: !r, %sum: !r) -> (!a, !r, !r) {
  %r:3 = attn.online_attention scale 0.5 ins(%q, %k, %v : !a, !a, !a) captures(%w : tensor<f32>) outs(%acc, %max, %sum : !a, !r, !r)
      score(%s, %b, %h, %i, %j, %t) {
        %e = tensor.extract %t[] : tensor<f32>
        %x = arith.divf %s, %e : f32
        %y = math.tanh %x : f32
        %z = arith.mulf %y, %e : f32
        attn.yield %z : f32
      }
  return %r#0, %r#1, %r#2 : !a, !r, !r
}

// -----

!a = tensor<2x4x?x8xf32>
!r = tensor<2x4x?xf32>

// These stay: a sum, a function of the score, a degree of 3, a branch that reads
// it, and a weight that reads its square.
// CHECK-COUNT-5: attn.online_attention scale 5.000000e-01
// CHECK-NOT: attn.online_attention
func.func @stay(%q: !a, %k: !a, %v: !a, %w: tensor<?xf32>, %acc: !a, %max: !r, %sum: !r) -> (!a, !a, !a, !a, !a) {
  %r0:3 = attn.online_attention scale 0.5 ins(%q, %k, %v : !a, !a, !a) captures(%w : tensor<?xf32>) outs(%acc, %max, %sum : !a, !r, !r)
      score(%s, %b, %h, %i, %j, %t) {
        %e = tensor.extract %t[%j] : tensor<?xf32>
        %x = arith.addf %s, %e : f32
        attn.yield %x : f32
      }
  %r1:3 = attn.online_attention scale 0.5 ins(%q, %k, %v : !a, !a, !a) outs(%acc, %max, %sum : !a, !r, !r)
      score(%s, %b, %h, %i, %j) {
        %x = math.tanh %s : f32
        %y = arith.mulf %x, %s : f32
        attn.yield %y : f32
      }
  %r2:3 = attn.online_attention scale 0.5 ins(%q, %k, %v : !a, !a, !a) outs(%acc, %max, %sum : !a, !r, !r)
      score(%s, %b, %h, %i, %j) {
        %x = arith.mulf %s, %s : f32
        %y = arith.mulf %x, %s : f32
        attn.yield %y : f32
      }
  %r3:3 = attn.online_attention scale 0.5 ins(%q, %k, %v : !a, !a, !a) outs(%acc, %max, %sum : !a, !r, !r)
      score(%s, %b, %h, %i, %j) {
        %p = arith.cmpi slt, %i, %j : index
        %x = scf.if %p -> (f32) {
          %e = math.exp %s : f32
          scf.yield %e : f32
        } else {
          scf.yield %s : f32
        }
        attn.yield %x : f32
      }
  %r4:3 = attn.online_attention scale 0.5 ins(%q, %k, %v : !a, !a, !a) outs(%acc, %max, %sum : !a, !r, !r)
      score(%s, %b, %h, %i, %j) {
        %x = arith.mulf %s, %s : f32
        attn.yield %x, %x : f32, f32
      }
  return %r0#0, %r1#0, %r2#0, %r3#0, %r4#0 : !a, !a, !a, !a, !a
}

// -----

!a = tensor<2x4x?x8xf32>
!r = tensor<2x4x?xf32>

// Scales that are not positive, 1, or too small for their square.
// CHECK: attn.online_attention scale -5.000000e-01
// CHECK: attn.online_attention scale 1.000000e+00
// CHECK: arith.mulf
// CHECK-NOT: arith.mulf
// CHECK: attn.online_attention scale 1.000000e-30
// CHECK: arith.mulf
// CHECK-NOT: arith.mulf
func.func @scales(%q: !a, %k: !a, %v: !a, %acc: !a, %max: !r, %sum: !r) -> (!a, !a, !a) {
  %r0:3 = attn.online_attention scale -0.5 ins(%q, %k, %v : !a, !a, !a) outs(%acc, %max, %sum : !a, !r, !r)
      score(%s, %b, %h, %i, %j) {
        %x = math.absf %s : f32
        attn.yield %x : f32
      }
  %r1:3 = attn.online_attention scale 1.0 ins(%q, %k, %v : !a, !a, !a) outs(%acc, %max, %sum : !a, !r, !r)
      score(%s, %b, %h, %i, %j) {
        %x = arith.mulf %s, %s : f32
        attn.yield %x : f32
      }
  %r2:3 = attn.online_attention scale 1.0e-30 ins(%q, %k, %v : !a, !a, !a) outs(%acc, %max, %sum : !a, !r, !r)
      score(%s, %b, %h, %i, %j) {
        %x = arith.mulf %s, %s : f32
        attn.yield %x : f32
      }
  return %r0#0, %r1#0, %r2#0 : !a, !a, !a
}
