// RUN: attn-opt %s --attn-canonicalize-score --split-input-file | FileCheck %s

// The example of the pass's documentation: a causal mask and a factor, both
// written in the score.

// CHECK-LABEL: func @example
// CHECK:      attn.attention scale 1.000000e+00
// CHECK-NEXT:   ins(
// CHECK-NEXT:   outs(
// CHECK-NEXT:   mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]]) {
// CHECK-NEXT:     %[[P:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-NEXT:     attn.yield %[[P]] : i1
// CHECK-NEXT:   }
// CHECK-NEXT: return
func.func @example(%q: tensor<2x4x16x8xf32>, %k: tensor<2x4x16x8xf32>, %v: tensor<2x4x16x8xf32>,
                   %o: tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32> {
  %r = attn.attention scale 5.000000e-01
      ins(%q, %k, %v : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
      outs(%o : tensor<2x4x16x8xf32>)
      score(%s, %b, %h, %i, %j) {
        %two = arith.constant 2.000000e+00 : f32
        %inf = arith.constant 0xFF800000 : f32
        %p = index.cmp sle(%j, %i)
        %y = scf.if %p -> f32 {
          %x = arith.mulf %two, %s : f32
          scf.yield %x : f32
        } else {
          scf.yield %inf : f32
        }
        attn.yield %y : f32
      }
  return %r : tensor<2x4x16x8xf32>
}

// -----

// A condition that masks where it holds is negated, and joins a mask that is
// there. Captures are the same in both regions.

// CHECK-LABEL: func @inverse_condition_with_mask
// CHECK:      score(%[[S:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-NEXT:   %[[T:.*]] = math.tanh %[[S]] : f32
// CHECK-NEXT:   attn.yield %[[T]] : f32
// CHECK:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]], %[[W:.*]]) {
// CHECK-NEXT:   %[[NEW:.*]] = arith.cmpi sge, %[[I]], %[[W]] : index
// CHECK-NEXT:   %[[OLD:.*]] = arith.cmpi slt, %[[J]], %[[W]] : index
// CHECK-NEXT:   %[[P:.*]] = arith.andi %[[NEW]], %[[OLD]] : i1
// CHECK-NEXT:   attn.yield %[[P]] : i1
func.func @inverse_condition_with_mask(%q: tensor<2x4x16x8xf32>, %n: index, %o: tensor<2x4x16x8xf32>)
    -> tensor<2x4x16x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
      captures(%n : index)
      outs(%o : tensor<2x4x16x8xf32>)
      score(%s, %b, %h, %i, %j, %w) {
        %inf = arith.constant 0xFF800000 : f32
        %t = math.tanh %s : f32
        %p = arith.cmpi slt, %i, %w : index
        %y = arith.select %p, %inf, %t : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %w) {
        %p = arith.cmpi slt, %j, %w : index
        attn.yield %p : i1
      }
  return %r : tensor<2x4x16x8xf32>
}

// -----

// Of a conjunction, what depends on the score stays. The part that reads a
// capture moves, since there was no mask that it could rely on.

// CHECK-LABEL: func @condition_on_score
// CHECK:      score(%[[S:[^,]*]],
// CHECK:        %[[LARGE:.*]] = arith.cmpf ogt, %[[S]], %{{.*}} : f32
// CHECK-NEXT:   %[[Y:.*]] = arith.select %[[LARGE]], %[[S]], %{{.*}} : f32
// CHECK-NEXT:   attn.yield %[[Y]] : f32
// CHECK:      mask(%[[B:.*]], %{{.*}}, %[[I:.*]], %[[J:.*]], %[[W:.*]]) {
// CHECK-DAG:    %[[LEN:.*]] = tensor.extract %[[W]][%[[B]]] : tensor<2xindex>
// CHECK-DAG:    %[[X:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-DAG:    %[[Z:.*]] = arith.cmpi slt, %[[J]], %[[LEN]] : index
// CHECK:        %[[P:.*]] = arith.andi %[[X]], %[[Z]] : i1
// CHECK-NEXT:   attn.yield %[[P]] : i1
func.func @condition_on_score(%q: tensor<2x4x16x8xf32>, %len: tensor<2xindex>, %o: tensor<2x4x16x8xf32>)
    -> tensor<2x4x16x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
      captures(%len : tensor<2xindex>)
      outs(%o : tensor<2x4x16x8xf32>)
      score(%s, %b, %h, %i, %j, %w) {
        %inf = arith.constant 0xFF800000 : f32
        %zero = arith.constant 0.000000e+00 : f32
        %n = tensor.extract %w[%b] : tensor<2xindex>
        %large = arith.cmpf ogt, %s, %zero : f32
        %past = arith.cmpi sle, %j, %i : index
        %inside = arith.cmpi slt, %j, %n : index
        %a = arith.andi %large, %past : i1
        %p = arith.andi %a, %inside : i1
        %y = arith.select %p, %s, %inf : f32
        attn.yield %y : f32
      }
  return %r : tensor<2x4x16x8xf32>
}

// -----

// Under a mask, a condition that reads a capture stays: the mask may keep its
// index in range. The others of the same conjunction and of selects inside
// move.

// CHECK-LABEL: func @capture_under_mask
// CHECK:      score(
// CHECK:        tensor.extract
// CHECK:        arith.select
// CHECK-NOT:    arith.select
// CHECK:        attn.yield
// CHECK:      mask(%{{.*}}, %[[H:.*]], %[[I:.*]], %[[J:.*]], %{{.*}}) {
// CHECK-NOT:    tensor.extract
// CHECK-DAG:    arith.cmpi slt, %[[J]], %{{.*}} : index
// CHECK-DAG:    arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-NOT:    tensor.extract
// CHECK:        attn.yield
func.func @capture_under_mask(%q: tensor<2x4x16x8xf32>, %t: tensor<8xi1>, %o: tensor<2x4x16x8xf32>)
    -> tensor<2x4x16x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
      captures(%t : tensor<8xi1>)
      outs(%o : tensor<2x4x16x8xf32>)
      score(%s, %b, %h, %i, %j, %w) {
        %inf = arith.constant 0xFF800000 : f32
        %flag = tensor.extract %w[%j] : tensor<8xi1>
        %past = arith.cmpi sle, %j, %i : index
        %p = arith.andi %flag, %past : i1
        %y = arith.select %p, %s, %inf : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %w) {
        %c8 = arith.constant 8 : index
        %p = arith.cmpi slt, %j, %c8 : index
        attn.yield %p : i1
      }
  return %r : tensor<2x4x16x8xf32>
}

// -----

// Reads of captures and divisions by other than constants stay in their
// branch; what else is in one does not keep it.

// CHECK-LABEL: func @branches
// CHECK:      score(
// CHECK:        %[[A:.*]] = scf.if
// CHECK:          tensor.extract
// CHECK:        %[[B:.*]] = scf.if
// CHECK:          arith.divsi
// CHECK:        %[[D:.*]] = arith.floordivsi
// CHECK:        %[[C:.*]] = arith.select %{{.*}}, %[[D]], %{{.*}} : index
func.func @branches(%q: tensor<2x4x16x8xf32>, %t: tensor<8xf32>, %n: index, %o: tensor<2x4x16x8xf32>)
    -> tensor<2x4x16x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
      captures(%t, %n : tensor<8xf32>, index)
      outs(%o : tensor<2x4x16x8xf32>)
      score(%s, %b, %h, %i, %j, %w, %m) {
        %c8 = arith.constant 8 : index
        %c0 = arith.constant 0 : index
        %in = arith.cmpi slt, %j, %c8 : index
        %a = scf.if %in -> f32 {
          %x = tensor.extract %w[%j] : tensor<8xf32>
          scf.yield %x : f32
        } else {
          scf.yield %s : f32
        }
        %nonzero = arith.cmpi ne, %m, %c0 : index
        %d = scf.if %nonzero -> index {
          %x = arith.divsi %j, %m : index
          scf.yield %x : index
        } else {
          scf.yield %i : index
        }
        %e = scf.if %in -> index {
          %x = arith.floordivsi %d, %c8 : index
          scf.yield %x : index
        } else {
          scf.yield %h : index
        }
        %f = arith.index_cast %e : index to i32
        %g = arith.sitofp %f : i32 to f32
        %y = arith.addf %a, %g : f32
        attn.yield %y : f32
      }
  return %r : tensor<2x4x16x8xf32>
}

// -----

// Operations of the index dialect become those of arith.

// CHECK-LABEL: func @index_operations
// CHECK:      score(%[[S:.*]], %[[B:.*]], %[[H:.*]], %[[I:.*]], %[[J:.*]], %{{.*}}) {
// CHECK-NOT:    index.
// CHECK-DAG:    arith.addi %[[I]], %[[J]] : index
// CHECK-DAG:    arith.subi %[[I]], %[[J]] : index
// CHECK-DAG:    arith.muli %[[I]], %[[J]] : index
// CHECK-DAG:    arith.divsi %[[I]], %[[J]] : index
// CHECK-DAG:    arith.divui %[[I]], %[[J]] : index
// CHECK-DAG:    arith.ceildivsi %[[I]], %[[J]] : index
// CHECK-DAG:    arith.ceildivui %[[I]], %[[J]] : index
// CHECK-DAG:    arith.floordivsi %[[I]], %[[J]] : index
// CHECK-DAG:    arith.remsi %[[I]], %[[J]] : index
// CHECK-DAG:    arith.remui %[[I]], %[[J]] : index
// CHECK-DAG:    arith.maxsi %[[I]], %[[J]] : index
// CHECK-DAG:    arith.maxui %[[I]], %[[J]] : index
// CHECK-DAG:    arith.minsi %[[I]], %[[J]] : index
// CHECK-DAG:    arith.minui %[[I]], %[[J]] : index
// CHECK-DAG:    arith.shli %[[I]], %[[J]] : index
// CHECK-DAG:    arith.shrsi %[[I]], %[[J]] : index
// CHECK-DAG:    arith.shrui %[[I]], %[[J]] : index
// CHECK-DAG:    arith.andi %[[I]], %[[J]] : index
// CHECK-DAG:    arith.ori %[[I]], %[[J]] : index
// CHECK-DAG:    arith.xori %[[I]], %[[J]] : index
// CHECK-DAG:    arith.index_cast %[[I]] : index to i32
// CHECK-DAG:    arith.index_castui %{{.*}} : i32 to index
// CHECK-DAG:    arith.constant 64 : index
// CHECK-DAG:    arith.constant 7 : index
// CHECK:        attn.yield
func.func @index_operations(%q: tensor<2x4x16x8xf32>, %t: tensor<?xf32>, %o: tensor<2x4x16x8xf32>)
    -> tensor<2x4x16x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
      captures(%t : tensor<?xf32>)
      outs(%o : tensor<2x4x16x8xf32>)
      score(%s, %b, %h, %i, %j, %w) {
        %0 = index.add %i, %j
        %1 = index.sub %i, %j
        %2 = index.mul %i, %j
        %3 = index.divs %i, %j
        %4 = index.divu %i, %j
        %5 = index.ceildivs %i, %j
        %6 = index.ceildivu %i, %j
        %7 = index.floordivs %i, %j
        %8 = index.rems %i, %j
        %9 = index.remu %i, %j
        %10 = index.maxs %i, %j
        %11 = index.maxu %i, %j
        %12 = index.mins %i, %j
        %13 = index.minu %i, %j
        %14 = index.shl %i, %j
        %15 = index.shrs %i, %j
        %16 = index.shru %i, %j
        %17 = index.and %i, %j
        %18 = index.or %i, %j
        %19 = index.xor %i, %j
        %20 = index.casts %i : index to i32
        %21 = index.castu %20 : i32 to index
        %22 = index.sizeof
        %23 = index.constant 7
        %24 = index.bool.constant true
        %x0 = tensor.extract %w[%0] : tensor<?xf32>
        %x1 = tensor.extract %w[%1] : tensor<?xf32>
        %x2 = tensor.extract %w[%2] : tensor<?xf32>
        %x3 = tensor.extract %w[%3] : tensor<?xf32>
        %x4 = tensor.extract %w[%4] : tensor<?xf32>
        %x5 = tensor.extract %w[%5] : tensor<?xf32>
        %x6 = tensor.extract %w[%6] : tensor<?xf32>
        %x7 = tensor.extract %w[%7] : tensor<?xf32>
        %x8 = tensor.extract %w[%8] : tensor<?xf32>
        %x9 = tensor.extract %w[%9] : tensor<?xf32>
        %x10 = tensor.extract %w[%10] : tensor<?xf32>
        %x11 = tensor.extract %w[%11] : tensor<?xf32>
        %x12 = tensor.extract %w[%12] : tensor<?xf32>
        %x13 = tensor.extract %w[%13] : tensor<?xf32>
        %x14 = tensor.extract %w[%14] : tensor<?xf32>
        %x15 = tensor.extract %w[%15] : tensor<?xf32>
        %x16 = tensor.extract %w[%16] : tensor<?xf32>
        %x17 = tensor.extract %w[%17] : tensor<?xf32>
        %x18 = tensor.extract %w[%18] : tensor<?xf32>
        %x19 = tensor.extract %w[%19] : tensor<?xf32>
        %x21 = tensor.extract %w[%21] : tensor<?xf32>
        %x22 = tensor.extract %w[%22] : tensor<?xf32>
        %x23 = tensor.extract %w[%23] : tensor<?xf32>
        %x24 = arith.select %24, %x23, %x22 : f32
        %y0 = arith.addf %x0, %x1 : f32
        %y2 = arith.addf %y0, %x2 : f32
        %y3 = arith.addf %y2, %x3 : f32
        %y4 = arith.addf %y3, %x4 : f32
        %y5 = arith.addf %y4, %x5 : f32
        %y6 = arith.addf %y5, %x6 : f32
        %y7 = arith.addf %y6, %x7 : f32
        %y8 = arith.addf %y7, %x8 : f32
        %y9 = arith.addf %y8, %x9 : f32
        %y10 = arith.addf %y9, %x10 : f32
        %y11 = arith.addf %y10, %x11 : f32
        %y12 = arith.addf %y11, %x12 : f32
        %y13 = arith.addf %y12, %x13 : f32
        %y14 = arith.addf %y13, %x14 : f32
        %y15 = arith.addf %y14, %x15 : f32
        %y16 = arith.addf %y15, %x16 : f32
        %y17 = arith.addf %y16, %x17 : f32
        %y18 = arith.addf %y17, %x18 : f32
        %y19 = arith.addf %y18, %x19 : f32
        %y21 = arith.addf %y19, %x21 : f32
        %y22 = arith.addf %y21, %x22 : f32
        %y24 = arith.addf %y22, %x24 : f32
        attn.yield %y24 : f32
      }
  return %r : tensor<2x4x16x8xf32>
}

// -----

// Arithmetic that keeps -inf does not hide a mask: here a bias that is finite
// as it comes from an integer, and constant factors.

// CHECK-LABEL: func @arithmetic_on_infinity
// CHECK:      score(
// CHECK-NOT:    arith.select
// CHECK:        arith.addf
// CHECK:        arith.subf
// CHECK:        arith.mulf
// CHECK:        arith.divf
// CHECK:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]]) {
// CHECK-NEXT:   %[[P:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-NEXT:   attn.yield %[[P]] : i1
func.func @arithmetic_on_infinity(%q: tensor<2x4x16x8xf32>, %o: tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
      outs(%o : tensor<2x4x16x8xf32>)
      score(%s, %b, %h, %i, %j) {
        %inf = arith.constant 0xFF800000 : f32
        %c = arith.constant 3.000000e+00 : f32
        %d = arith.constant 7.000000e+00 : f32
        %p = arith.cmpi slt, %i, %j : index
        %x = arith.select %p, %inf, %s : f32
        %e = arith.subi %i, %j : index
        %f = arith.index_cast %e : index to i64
        %g = arith.sitofp %f : i64 to f32
        %y = arith.addf %g, %x : f32
        %z = arith.subf %y, %c : f32
        %u = arith.mulf %z, %c : f32
        %v = arith.divf %u, %d : f32
        attn.yield %v : f32
      }
  return %r : tensor<2x4x16x8xf32>
}

// -----

// Arithmetic that may make something else of -inf does.

// CHECK-LABEL: func @infinity_lost
// CHECK:      score(
// CHECK:        arith.select
// CHECK-NOT:  mask
// CHECK-LABEL: func @infinity_may_meet_infinity
// CHECK:      score(
// CHECK:        arith.select
// CHECK-NOT:  mask
func.func @infinity_lost(%q: tensor<2x4x16x8xf32>, %o: tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
      outs(%o : tensor<2x4x16x8xf32>)
      score(%s, %b, %h, %i, %j) {
        %inf = arith.constant 0xFF800000 : f32
        %c = arith.constant -3.000000e+00 : f32
        %p = arith.cmpi slt, %i, %j : index
        %x = arith.select %p, %inf, %s : f32
        %y = arith.mulf %x, %c : f32
        attn.yield %y : f32
      }
  return %r : tensor<2x4x16x8xf32>
}
func.func @infinity_may_meet_infinity(%q: tensor<2x4x16x8xf32>, %bias: tensor<4xf32>, %o: tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
      captures(%bias : tensor<4xf32>)
      outs(%o : tensor<2x4x16x8xf32>)
      score(%s, %b, %h, %i, %j, %w) {
        %inf = arith.constant 0xFF800000 : f32
        %p = arith.cmpi slt, %i, %j : index
        %x = arith.select %p, %inf, %s : f32
        %wh = tensor.extract %w[%h] : tensor<4xf32>
        %y = arith.addf %x, %wh : f32
        attn.yield %y : f32
      }
  return %r : tensor<2x4x16x8xf32>
}

// -----

// An attention without use is erased.

// CHECK-LABEL: func @unused
// CHECK-NOT:  attn.attention
// CHECK:      return
func.func @unused(%q: tensor<2x4x16x8xf32>, %o: tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
      outs(%o : tensor<2x4x16x8xf32>)
  return %q : tensor<2x4x16x8xf32>
}
