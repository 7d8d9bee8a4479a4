// Steps of other warpgroups: what these multiply goes there as a tile.

// RUN: sed -e 's/registers = 240/registers = 112/' -e 's/order = .*\]>/order = [load_k, qk, act, load_v, pv], partitions = {pv = second}>/' %S/../../Integration/PTX/Inputs/chain.mlir > %t.mlir
// RUN: attn-opt %t.mlir --attn-destination-arguments --attn-hopper-outline | FileCheck %s
// RUN: sed -e 's/partitions = {pv = second}/partitions = {load_v = second}/' %t.mlir | not attn-opt --attn-destination-arguments --attn-hopper-outline 2>&1 | FileCheck %s --check-prefix=LOAD
// RUN: sed -e 's/partitions = {pv = second}/partitions = {dq = second}/' %t.mlir | not attn-opt --attn-destination-arguments --attn-hopper-outline 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: sed -e 's/partitions = {pv = second}/partitions = {pv = load}/' %t.mlir | not attn-opt --attn-destination-arguments --attn-hopper-outline 2>&1 | FileCheck %s --check-prefix=RESERVED

// LOAD: error: expects partitions of steps that compute, but got one of 'load_v'; these steps are qk, act, pv
// NONE: error: expects partitions of steps that compute, but got one of 'dq'; these steps are qk, act, pv
// RESERVED: error: expects 'load' to have no step that computes, but got 'pv'; take another name

// CHECK-LABEL: gpu.func @chain
// CHECK: %[[STAGING:.*]] = hopper.create_tile : <128x64xbf16>
// CHECK: hopper.step "qk" in "compute"
// CHECK: %[[ACT:.*]]:2 = hopper.step "act" in "compute" -> vector<64x64xbf16>, !hopper.tile<128x64xbf16> {
// CHECK: %[[P:.*]] = arith.truncf
// CHECK: %[[T:.*]] = hopper.publish %[[P]] stages 2
// CHECK: hopper.end %[[P]], %[[T]]
// CHECK: %[[V:.*]] = hopper.step "load_v" in "load"
// CHECK: hopper.step "pv" in "second"
// CHECK: %[[ROWS:.*]] = hopper.own_rows %[[ACT]]#1
// CHECK: hopper.dot %[[ROWS]], %[[V]] acc
// CHECK: hopper.step "store" in "second"
// CHECK: hopper.own_rows %[[STAGING]]
