// Tiles of 80 queries that spill a few bytes are faster than those of 64 that
// spill none: they are not rejected, and a remark says what they spill.

// REQUIRES: ptxas
// RUN: env ATTN_LIBCUDA=%fake_cuda attn-run %s --grad=q,k,v,a --target=cuda --arg=q=randn:1x16x64x128 --arg=k=randn:1x16x64x128 --arg=v=randn:1x16x64x128 --format=json | FileCheck %s
// CHECK: "remarks": [
// CHECK-NOT: schedule-rejected
// CHECK: remark: schedule-spills: #hopper.schedule<tile_m = 128, tile_n = 80,{{.*}} ptxas spills registers: {{[1-9][0-9]?}} bytes of stores and {{[1-9][0-9]?}} bytes of loads
// CHECK-NOT: schedule-rejected

func.func @f(%q: tensor<1x16x?x128xbf16>, %k: tensor<1x16x?x128xbf16>, %v: tensor<1x16x?x128xbf16>, %a: tensor<16xf32>) -> tensor<1x16x?x128xbf16> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<1x16x?x128xbf16>
  %init = tensor.empty(%n) : tensor<1x16x?x128xbf16>
  %o = attn.attention ins(%q, %k, %v : tensor<1x16x?x128xbf16>, tensor<1x16x?x128xbf16>, tensor<1x16x?x128xbf16>)
      captures(%a : tensor<16xf32>) outs(%init : tensor<1x16x?x128xbf16>)
      score(%s, %b, %h, %i, %j, %w) {
        %x = tensor.extract %w[%h] : tensor<16xf32>
        %y = arith.mulf %s, %x : f32
        attn.yield %y : f32
      }
  return %o : tensor<1x16x?x128xbf16>
}
