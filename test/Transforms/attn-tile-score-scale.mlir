// RUN: attn-opt %s --attn-online-softmax --attn-place-scale --attn-tile --canonicalize --split-input-file | FileCheck %s

// Where the score is multiplied by what does not depend on it, as by a number of
// the head, the factor of the softmax has the scale: 0.125 * 3 * log2(e).

// CHECK-LABEL: func.func @multiple(
// CHECK:         attn.tile_loop
// CHECK:           vector.contract
// CHECK-NOT:       arith.mulf
// CHECK:           %[[F:.+]] = attn.gather
// CHECK:           %[[ALL:.+]] = vector.broadcast %[[F]] : f32 to vector<8x16xf32>
// CHECK-NEXT:      %[[S:.+]] = arith.mulf %{{.+}}, %[[ALL]] : vector<8x16xf32>
// CHECK-NOT:       arith.mulf
// CHECK:           attn.online_step %{{.+}} factor 0.541{{[0-9]+}}
func.func @multiple(%q: tensor<1x4x64x8xf32>, %f: tensor<4xf32>, %init: tensor<1x4x64x8xf32>) -> tensor<1x4x64x8xf32> {
  %o = attn.attention scale 0.125 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x4x64x8xf32>, tensor<1x4x64x8xf32>, tensor<1x4x64x8xf32>)
      captures(%f : tensor<4xf32>)
      outs(%init : tensor<1x4x64x8xf32>)
      score(%s, %b, %h, %i, %j, %ff) {
        %c3 = arith.constant 3.0 : f32
        %x = tensor.extract %ff[%h] : tensor<4xf32>
        %y = arith.mulf %s, %x : f32
        %z = arith.mulf %y, %c3 : f32
        attn.yield %z : f32
      }
  return %o : tensor<1x4x64x8xf32>
}

// -----

// A square has the scale twice, and a sum has parts that it is not of.

// CHECK-LABEL: func.func @other(
// CHECK: attn.online_step %{{.+}} factor 0.0225
// CHECK: attn.online_step %{{.+}} factor 1.442
func.func @other(%q: tensor<1x4x64x8xf32>, %init: tensor<1x4x64x8xf32>) -> tensor<1x4x64x8xf32> {
  %o = attn.attention scale 0.125 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x4x64x8xf32>, tensor<1x4x64x8xf32>, tensor<1x4x64x8xf32>)
      outs(%init : tensor<1x4x64x8xf32>)
      score(%s, %b, %h, %i, %j) {
        %y = arith.mulf %s, %s : f32
        attn.yield %y : f32
      }
  %p = attn.attention scale 0.125 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%o, %q, %q : tensor<1x4x64x8xf32>, tensor<1x4x64x8xf32>, tensor<1x4x64x8xf32>)
      outs(%init : tensor<1x4x64x8xf32>)
      score(%s, %b, %h, %i, %j) {
        %x = arith.index_cast %h : index to i32
        %f = arith.sitofp %x : i32 to f32
        %y = arith.addf %s, %f : f32
        %z = arith.mulf %y, %f : f32
        attn.yield %z : f32
      }
  return %p : tensor<1x4x64x8xf32>
}
