// RUN: attn-opt %s --attn-online-softmax=rescale=lazy --attn-classify-blocks --attn-tile --canonicalize --cse --attn-hopper-schedule --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,LAZY
// RUN: attn-opt %s --attn-online-softmax --attn-classify-blocks --attn-tile --canonicalize --cse --attn-hopper-schedule --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,EXACT

// A maximum that grows rescales the results: any, or one that grows by more than
// 2^8.

// CHECK-LABEL: gpu.func @f
// LAZY-DAG: %[[MOST:.*]] = arith.constant dense<8.000000e+00> : vector<1x64xf32>
// EXACT-DAG: %[[MOST:.*]] = arith.constant dense<0.000000e+00> : vector<1x64xf32>
// CHECK: %[[GROWS:.*]] = arith.cmpf ogt, %{{.*}}, %[[MOST]] : vector<1x64xf32>
// CHECK: hopper.any %[[GROWS]]
func.func @f(%q: tensor<1x4x?x64xbf16>, %k: tensor<1x4x?x64xbf16>, %o: tensor<1x4x?x64xbf16>) -> tensor<1x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
      ins(%q, %k, %k : tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>)
      outs(%o : tensor<1x4x?x64xbf16>)
  return %r : tensor<1x4x?x64xbf16>
}
