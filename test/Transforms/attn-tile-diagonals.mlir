// RUN: attn-opt %s --attn-online-softmax --attn-place-scale --attn-tile --canonicalize --split-input-file | FileCheck %s

// What a score has of the distance alone is computed for each diagonal of a
// tile: here for 64 queries and 64 keys, from the query behind the last one on.

// CHECK-LABEL: func.func @logarithm(
// CHECK:         attn.tile_loop
// CHECK:           %[[ROW:.+]] = vector.broadcast %{{.+}} : index to vector<128xindex>
// CHECK:           arith.subi %{{.+}} : vector<128xindex>
// CHECK:           math.log %{{.+}} : vector<128xf32>
// CHECK:           %[[OF:.+]] = arith.mulf %{{.+}} : vector<128xf32>
// CHECK:           %[[TILE:.+]] = attn.spread_diagonals %[[OF]] : vector<128xf32> -> vector<64x64xf32>
// CHECK-NOT:       math.log
// CHECK:           arith.addf %{{.+}}, %[[TILE]] : vector<64x64xf32>
func.func @logarithm(%q: tensor<1x4x?x64xbf16>, %slopes: tensor<4xf32>, %init: tensor<1x4x?x64xbf16>) -> tensor<1x4x?x64xbf16> {
  %o = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 208>
      ins(%q, %q, %q : tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>)
      captures(%slopes : tensor<4xf32>)
      outs(%init : tensor<1x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %w) {
        %d = arith.subi %i, %j : index
        %a = math.absi %d : index
        %n = arith.index_cast %a : index to i32
        %f = arith.sitofp %n : i32 to f32
        %l = math.log %f : f32
        %slope = tensor.extract %w[%h] : tensor<4xf32>
        %x = arith.mulf %slope, %l : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %o : tensor<1x4x?x64xbf16>
}

// -----

// An element of a table by distance, with a shift; and one of positions that
// are no distance, which each pair reads.

// CHECK-LABEL: func.func @tables(
// CHECK:         attn.tile_loop
// CHECK:           %[[OF:.+]] = attn.gather {{.*}} -> vector<128xf32>
// CHECK:           attn.spread_diagonals %[[OF]] : vector<128xf32> -> vector<64x64xf32>
// CHECK:           attn.gather {{.*}} -> vector<64x64xf32>
// CHECK-NOT:       attn.spread_diagonals
func.func @tables(%q: tensor<1x4x?x64xbf16>, %table: tensor<4x?xf32>, %init: tensor<1x4x?x64xbf16>) -> tensor<1x4x?x64xbf16> {
  %o = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 208>
      ins(%q, %q, %q : tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>)
      captures(%table : tensor<4x?xf32>)
      outs(%init : tensor<1x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %t) {
        %c100 = arith.constant 100 : index
        %shifted = arith.addi %i, %c100 : index
        %d = arith.subi %shifted, %j : index
        %x = tensor.extract %t[%h, %d] : tensor<4x?xf32>
        %y = arith.addf %s, %x : f32
        %sum = arith.addi %i, %j : index
        %z = tensor.extract %t[%h, %sum] : tensor<4x?xf32>
        %r = arith.addf %y, %z : f32
        attn.yield %r : f32
      }
  return %o : tensor<1x4x?x64xbf16>
}

// -----

// Few operations, and tiles of a CPU.

// CHECK-LABEL: func.func @square(
// CHECK-NOT: attn.spread_diagonals
// CHECK-LABEL: func.func @cpu(
// CHECK-NOT: attn.spread_diagonals
func.func @square(%q: tensor<1x4x?x64xbf16>, %init: tensor<1x4x?x64xbf16>) -> tensor<1x4x?x64xbf16> {
  %o = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 208>
      ins(%q, %q, %q : tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>)
      outs(%init : tensor<1x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j) {
        %d = arith.subi %i, %j : index
        %n = arith.index_cast %d : index to i32
        %f = arith.sitofp %n : i32 to f32
        %x = arith.mulf %f, %f : f32
        %y = arith.subf %s, %x : f32
        attn.yield %y : f32
      }
  return %o : tensor<1x4x?x64xbf16>
}
func.func @cpu(%q: tensor<1x4x64x8xf32>, %init: tensor<1x4x64x8xf32>) -> tensor<1x4x64x8xf32> {
  %o = attn.attention schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x4x64x8xf32>, tensor<1x4x64x8xf32>, tensor<1x4x64x8xf32>)
      outs(%init : tensor<1x4x64x8xf32>)
      score(%s, %b, %h, %i, %j) {
        %d = arith.subi %i, %j : index
        %n = arith.index_cast %d : index to i32
        %f = arith.sitofp %n : i32 to f32
        %x = math.exp %f : f32
        %z = math.exp %x : f32
        %y = arith.addf %s, %z : f32
        attn.yield %y : f32
      }
  return %o : tensor<1x4x64x8xf32>
}
