// RUN: attn-opt %s --attn-hopper-assign-schedule --attn-tile-gradients=one-pass --canonicalize --cse | FileCheck %s
// RUN: attn-opt %s --attn-hopper-assign-schedule --attn-tile-gradients=one-pass --canonicalize --cse --attn-hopper-outline | FileCheck %s --check-prefix=KERNEL

!q = tensor<2x4x?x64xbf16>
!k = tensor<2x2x?x64xbf16>
!l = tensor<2x4x?xf32>

// Buffers that work tiles share, of which the sums start as zeros, and a loop over all rows of Q blocks.
// CHECK-LABEL: func @causal
// CHECK: %[[LSE:.*]] = memref.alloc(%{{.*}}) : memref<2x4x?x128xf32>
// CHECK: %[[DELTA:.*]] = memref.alloc(%{{.*}}) : memref<2x4x?x128xf32>
// CHECK: %[[SUMS:.*]] = memref.alloc(%{{.*}}) : memref<2x4x?x128x64xf32>
// CHECK: linalg.fill ins(%{{.*}}) outs(%[[SUMS]] : memref<2x4x?x128x64xf32>)
// CHECK: %[[COUNTERS:.*]] = memref.alloc(%{{.*}}) : memref<2x4x?x1x2xi32>
// CHECK: linalg.fill ins(%{{.*}}) outs(%[[COUNTERS]] : memref<2x4x?x1x2xi32>)
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) in (2, 4, %{{.*}}, 128) {
// CHECK: vector.reduction <add>
// CHECK: memref.store %{{.*}}, %[[LSE]]
// CHECK: memref.store %{{.*}}, %[[DELTA]]

// Which work tile adds before another one, for each block of queries: the nearest one behind it that has queries of the block.
// CHECK: %[[BEFORE:.*]] = scf.forall (%{{.*}}, %{{.*}}, %[[BLOCK:.*]], %[[TILE:.*]]) in (1, 1, %{{.*}}, %{{.*}}) {{.*}} -> (tensor<1x1x?x?xi32>) {
// CHECK: %[[NEXT:.*]] = arith.addi %[[TILE]], %c1
// CHECK: scf.for %{{.*}} = %[[NEXT]] to
// CHECK: arith.minsi %{{.*}} : i32

// Two heads of queries share a head of keys: blocks of both are one loop.
// CHECK: scf.forall {{.*}} -> (tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>) {
// CHECK: attn.tile_loop
// CHECK: full(
// CHECK: arith.divui %{{.*}} : i32
// CHECK: attn.step @load_q
// CHECK: vector.transfer_read %[[LSE]]
// CHECK: attn.step @qk
// CHECK: attn.step @exp
// CHECK: attn.mask_tile
// CHECK: math.exp2
// CHECK: arith.truncf
// CHECK: attn.step @load_do
// CHECK: vector.transfer_read %[[DELTA]]
// CHECK: attn.step @dp
// CHECK: attn.step @dv
// CHECK: attn.step @ds
// CHECK: attn.step @dq
// CHECK: attn.step @red
// CHECK: %[[AFTER:.*]] = tensor.extract %[[BEFORE]]
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[AFTER]]
// CHECK: attn.accumulate ordered %{{.*}} into %[[SUMS]]{{.*}} after %[[INDEX]] as %{{.*}} in %[[COUNTERS]]
// CHECK: attn.step @dk
// CHECK: mapping = [#attn.worker<0>

// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (2, 4, %{{.*}}) {{.*}} -> (tensor<2x4x?x64xbf16>) {
// CHECK: vector.transfer_read %[[SUMS]]
// CHECK: arith.truncf {{.*}} : vector<64xf32> to vector<64xbf16>

// A kernel for each loop. A thread has two of the 64 elements of a row.
// KERNEL: gpu.func @causal_prologue0
// KERNEL: gpu.func @causal_before0
// KERNEL-SAME: hopper.vector_loop = {extents = [{extent = 2 : i64}, {extent = 4 : i64}, {dim = 2 : i64, divisor = 128 : i64, operand = 0 : i64}, {extent = 128 : i64}]}
// KERNEL: vector.transfer_read {{.*}} vector<2xbf16>
// KERNEL: vector.reduction <add>
// KERNEL: gpu.subgroup_reduce  add
// KERNEL: memref.store
// KERNEL: gpu.func @causal_behind0
// KERNEL-SAME: hopper.vector_loop = {behind,
// KERNEL: vector.transfer_write {{.*}} vector<2xbf16>
// KERNEL: gpu.func @causal(
// KERNEL-SAME: hopper.tables = {first = 9 : i64
// KERNEL-SAME: zero}
// KERNEL: hopper.reduce_add {{.*}} after %{{.*}} as %{{.*}} in
func.func @causal(%q: !q, %k: !k, %v: !k, %o: !q, %l: !l, %do: !q, %dq: !q, %dk: !k, %dv: !k) -> (!q, !k, !k) {
  %d:3 = attn.attention_grad wrt(q, k, v)
    ins(%q, %k, %v, %o, %l, %do : !q, !k, !k, !q, !l, !q)
    outs(%dq, %dk, %dv : !q, !k, !k)
    mask(%b, %h, %i, %j) {
      %p = arith.cmpi sle, %j, %i : index
      attn.yield %p : i1
    }
  return %d#0, %d#1, %d#2 : !q, !k, !k
}

// Work tiles of all keys meet all queries: none needs a table of those before. In any order they need no counters, either.
// CHECK-LABEL: func @full
// CHECK: memref.alloc(%{{.*}}) : memref<2x4x?x1x2xi32>
// CHECK-NOT: tensor<1x1x?x?xi32>
// CHECK: attn.accumulate ordered
// CHECK-LABEL: func @any_order
// CHECK-NOT: i32>
// CHECK: attn.accumulate add
// KERNEL: gpu.func @any_order(
// KERNEL-NOT: longest_first
func.func @full(%q: !q, %k: !k, %v: !k, %o: !q, %l: !l, %do: !q, %dq: !q, %dk: !k, %dv: !k) -> (!q, !k, !k) {
  %d:3 = attn.attention_grad wrt(q, k, v)
    ins(%q, %k, %v, %o, %l, %do : !q, !k, !k, !q, !l, !q)
    outs(%dq, %dk, %dv : !q, !k, !k)
  return %d#0, %d#1, %d#2 : !q, !k, !k
}
func.func @any_order(%q: !q, %k: !k, %v: !k, %o: !q, %l: !l, %do: !q, %dq: !q, %dk: !k, %dv: !k) -> (!q, !k, !k) {
  %d:3 = attn.attention_grad wrt(q, k, v)
    ins(%q, %k, %v, %o, %l, %do : !q, !k, !k, !q, !l, !q)
    outs(%dq, %dk, %dv : !q, !k, !k) attributes {nondeterministic}
  return %d#0, %d#1, %d#2 : !q, !k, !k
}
