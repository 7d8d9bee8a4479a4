// Why tiles have the queries of one head though several share their keys.

// RUN: env ATTN_LIBCUDA=%fake_cuda ATTN_PTXAS=off attn-run %s --target=cuda --format=json | FileCheck %s
// CHECK-NOT:  pack_gqa
// CHECK:      remark: pack-gqa: tiles have the queries of one head: the mask depends on the head, and keys of a tile are bounded for one head"

func.func @by_head(%q: tensor<1x8x2x64xbf16>, %k: tensor<1x2x500x64xbf16>, %n: tensor<8xindex>)
    -> (tensor<1x8x2x64xbf16> {attn.name = "o"}) {
  %init = tensor.empty() : tensor<1x8x2x64xbf16>
  %o = attn.attention ins(%q, %k, %k : tensor<1x8x2x64xbf16>, tensor<1x2x500x64xbf16>, tensor<1x2x500x64xbf16>)
      captures(%n : tensor<8xindex>)
      outs(%init : tensor<1x8x2x64xbf16>)
      mask(%b, %h, %i, %j, %c) {
        %x = tensor.extract %c[%h] : tensor<8xindex>
        %p = arith.cmpi slt, %j, %x : index
        attn.yield %p : i1
      }
  return %o : tensor<1x8x2x64xbf16>
}
