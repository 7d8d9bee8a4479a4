// RUN: attn-opt %s --attn-expand-dropout --canonicalize | FileCheck %s

// Ten rounds of two products for the head, seven of one for the pair, a word of two,
// of which the half of the pair becomes the upper one, and a comparison.
// CHECK-LABEL: func @number
// CHECK-NOT: attn.dropout
// CHECK-COUNT-27: arith.muli %{{.*}} : i64
// CHECK-NOT: arith.muli
// CHECK: %[[WORD:.*]] = arith.select %{{.*}} : i32
// CHECK: %[[HALF:.*]] = arith.andi %{{.*}}, %c8_i32 : i32
// CHECK: %[[UPPER:.*]] = arith.shli %[[HALF]], %c1_i32 : i32
// CHECK: %[[SHIFT:.*]] = arith.xori %[[UPPER]], %c16_i32 : i32
// CHECK: %{{.*}} = arith.shli %[[WORD]], %[[SHIFT]] : i32
// CHECK: %[[KEPT:.*]] = arith.cmpi uge, %{{.*}}, %c1073741824_i32 : i32
// CHECK: %[[W:.*]] = arith.select %[[KEPT]], %{{.*}}, %{{.*}} : f32
// CHECK: return %[[W]]
func.func @number(%seed: i64, %offset: i64, %b: index, %h: index, %i: index, %j: index) -> f32 {
  %w = attn.dropout 0.25 seed %seed offset %offset at %b, %h, %i, %j : f32
  return %w : f32
}

// The keys are numbers, though the pairs are many.
// CHECK-LABEL: func @vectors
// CHECK-COUNT-20: arith.muli %{{.*}} : i64
// CHECK-COUNT-7: arith.muli %{{.*}} : vector<4x8xi64>
// CHECK-NOT: arith.muli
// CHECK: arith.select %{{.*}} : vector<4x8xi1>, vector<4x8xf64>
func.func @vectors(%seed: i64, %offset: i64, %b: index, %i: vector<4x8xindex>, %j: vector<4x8xindex>) -> vector<4x8xf64> {
  %w = attn.dropout 0.25 seed %seed offset %offset at %b, %b, %i, %j aligned
      : (i64, i64, index, index, vector<4x8xindex>, vector<4x8xindex>) -> vector<4x8xf64>
  return %w : vector<4x8xf64>
}
