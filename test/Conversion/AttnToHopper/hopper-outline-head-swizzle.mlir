// RUN: attn-opt %s --attn-tile-gradients=one-pass --canonicalize --attn-hopper-outline | FileCheck %s

// How many heads take turns: 16, or fewer if they had more than 131072 queries
// together, or more if these have no more than 16384.

// CHECK-LABEL: gpu.func @f(
// CHECK: %[[GROUP:.*]] = arith.constant 16 : index
// CHECK: %[[MOST:.*]] = arith.constant 131072 : index
// CHECK: %[[FEW:.*]] = arith.divui %[[MOST]], %[[COUNT:.*]] : index
// CHECK: %[[ONE:.*]] = arith.maxui %[[FEW]], %{{.*}}
// CHECK: %[[FEWER:.*]] = arith.minui %[[GROUP]], %[[ONE]]
// CHECK: %[[LEAST:.*]] = arith.constant 16384 : index
// CHECK: %[[MANY:.*]] = arith.divui %[[LEAST]], %[[COUNT]]
// CHECK: %[[HEADS:.*]] = arith.maxui %[[FEWER]], %[[MANY]]
// CHECK: hopper.work_loop {{.*}} group %[[HEADS]]
#schedule = #hopper.schedule<tile_m = 128, tile_n = 80, stages = 2, registers = 240, head_swizzle = 16, head_swizzle_keys = 131072, head_swizzle_least_keys = 16384, in_flight = 2, order = [load_q, qk, exp, load_do, dp, dv, ds, dq(1), dk, red(1)], exclusive = [exp, dp]>
!t = tensor<2x4x?x128xbf16>
!l = tensor<2x4x?xf32>
func.func @f(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %dq0: !t, %dk0: !t, %dv0: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.attention_grad schedule #schedule wrt(q, k, v)
      ins(%q, %k, %v, %o, %lse, %do : !t, !t, !t, !t, !l, !t) outs(%dq0, %dk0, %dv0 : !t, !t, !t)
  return %dq, %dk, %dv : !t, !t, !t
}
