// A score of minus infinity is a mask, for the choice of schedules too: this one
// depends on the head, so that tiles have the queries of one head.

// RUN: env ATTN_LIBCUDA=%fake_cuda ATTN_PTXAS=off attn-run %s --target=cuda --format=json | FileCheck %s
// CHECK-NOT:  pack_gqa
// CHECK:      remark: pack-gqa: tiles have the queries of one head: the mask depends on the head, and keys of a tile are bounded for one head"

func.func @by_head(%q: tensor<1x8x2x64xbf16>, %k: tensor<1x2x500x64xbf16>)
    -> (tensor<1x8x2x64xbf16> {attn.name = "o"}) {
  %init = tensor.empty() : tensor<1x8x2x64xbf16>
  %o = attn.attention ins(%q, %k, %k : tensor<1x8x2x64xbf16>, tensor<1x2x500x64xbf16>, tensor<1x2x500x64xbf16>)
      outs(%init : tensor<1x8x2x64xbf16>)
      score(%s, %b, %h, %i, %j) {
        %none = arith.constant 0xFF800000 : f32
        %c40 = arith.constant 40 : index
        %n = arith.muli %h, %c40 : index
        %p = arith.cmpi slt, %j, %n : index
        %y = arith.select %p, %s, %none : f32
        attn.yield %y : f32
      }
  return %o : tensor<1x8x2x64xbf16>
}
