// Columns of dq that warpgroups share out where a block has 64 queries: 48 each of 96.

// RUN: attn-opt %s --attn-tile-gradients=one-pass --canonicalize --cse | FileCheck %s
// RUN: attn-opt %s --attn-tile-gradients=one-pass --canonicalize --cse --attn-hopper-outline | FileCheck %s --check-prefix=KERNEL

!t = tensor<1x2x?x80xbf16>
!l = tensor<1x2x?xf32>
#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240, write_dq, order = [load_q, qk, exp, load_do, dp, dv, ds, dq, dk, red]>

// Of 80 columns the second warpgroup has 32, and zeros behind them.
// CHECK-LABEL: func @full
// CHECK: memref.alloc(%{{.*}}) : memref<1x2x?x64x96xf32, #hopper.fragment_order<m = 3, n = 4>>
// CHECK: attn.step @dq
// CHECK: vector.contract {{.*}} : vector<80x128xf32>, vector<64x128xf32> into vector<80x64xf32>

// KERNEL: gpu.func @full(
// KERNEL-SAME: memref<1x2x?x2x3072xf32>
// KERNEL: %[[K:.*]] = hopper.step "load_q" in "load" -> !hopper.tile<128x80xbf16, chunks of 48> {
// KERNEL: hopper.own_rows %[[K]] : <128x80xbf16, chunks of 48> -> <64x80xbf16, of 128, chunks of 48>
// KERNEL: %[[DS:.*]]:2 = hopper.step "ds" in "compute" -> vector<64x64xbf16>, !hopper.tile<128x64xbf16> {
// KERNEL: %[[DQ:.*]] = hopper.step "dq" in "compute" -> vector<48x64xf32> {
// KERNEL-NEXT: %[[OWN:.*]] = hopper.own_columns %[[K]] : <128x80xbf16, chunks of 48> -> <128x48xbf16, chunks of 48>
// KERNEL-NEXT: hopper.dot %[[DS]]#1, %[[OWN]] lhs_transposed rhs_transposed :

// Each adds its own part, and the last work tile writes its own columns.
// KERNEL: hopper.step "red" in "compute" {
// KERNEL: %c80{{.*}} = arith.constant 80 : index
// KERNEL-NEXT: %[[WG:.*]] = hopper.warpgroup_id
// KERNEL-NEXT: arith.constant 48 : index
// KERNEL-NEXT: %[[FIRST:.*]] = arith.muli %[[WG]], %c48
// KERNEL: %[[COLUMN:.*]] = arith.addi %{{.*}}, %[[FIRST]]
// KERNEL: hopper.reduce_add %[[DQ]], {{.*}}, %[[COLUMN]]] m 2 n 3 {{.*}} end_n %c80 {{.*}} : vector<48x64xf32>, memref<1x2x?x2x3072xf32>
func.func @full(%q: !t {attn.name = "q"}, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %dlse: !l, %dq: !t, %dk: !t, %dv: !t) -> (!t, !t, !t) {
  %d:3 = attn.attention_grad schedule #schedule wrt(q, k, v) ins(%q, %k, %v, %o, %lse, %do, %dlse : !t, !t, !t, !t, !l, !t, !l)
      outs(%dq, %dk, %dv : !t, !t, !t)
  return %d#0, %d#1, %d#2 : !t, !t, !t
}
