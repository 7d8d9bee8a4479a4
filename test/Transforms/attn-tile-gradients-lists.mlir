// RUN: attn-opt %s --attn-lift-mask --attn-hopper-assign-schedule --attn-tile-gradients=one-pass --canonicalize --cse | FileCheck %s
// RUN: attn-opt %s --attn-lift-mask --attn-hopper-assign-schedule --attn-tile-gradients=one-pass --canonicalize --cse --attn-hopper-outline | FileCheck %s --check-prefix=KERNEL

!q = tensor<2x4x?x64xbf16>
!k = tensor<2x2x?x64xbf16>
!l = tensor<2x4x?xf32>

// Which documents there are among the queries of a block, and among the keys of a work tile.
// CHECK-LABEL: func @documents
// CHECK: %[[ROWS:.*]]:2 = scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (2, 1, %[[BLOCKS:.*]]) {{.*}} -> (tensor<2x1x?xi32>, tensor<2x1x?xi32>) {
// CHECK: } {attn.preparation
// CHECK: %[[KEYS:.*]]:2 = scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (2, 1, %[[TILES:.*]]) {{.*}} -> (tensor<2x1x?xi32>, tensor<2x1x?xi32>) {

// The class of each tile, how many are needed before it, and which is the n-th that is: for all heads, as no head has a mask of its own.
// CHECK: %[[CLASSES:.*]] = scf.forall (%[[B:.*]], %{{.*}}, %[[TILE:.*]], %[[BLOCK:.*]]) in (2, 1, %[[TILES]], %[[BLOCKS]]) {{.*}} -> (tensor<2x1x?x?xi32>) {
// CHECK-DAG: tensor.extract %[[ROWS]]#0
// CHECK-DAG: tensor.extract %[[KEYS]]#0
// CHECK: %[[CLASS:.*]] = arith.select %{{.*}}, %c2_i32, %c1_i32 : i32
// CHECK: arith.select %{{.*}}, %[[CLASS]], %c0_i32 : i32
// CHECK: } {attn.preparation
// CHECK: %[[LIMITS:.*]]:2 = scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (2, 1, %[[TILES]]) {{.*}} -> (tensor<2x1x?xi32>, tensor<2x1x?xi32>) {
// CHECK: tensor.extract %[[CLASSES]]
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: } {attn.preparation
// CHECK: %[[BEFORE:.*]] = scf.forall (%{{.*}}, %{{.*}}, %{{.*}}, %[[BLOCK:.*]]) in (2, 1, %[[TILES]], %[[BLOCKS]])
// CHECK: tensor.extract %[[LIMITS]]#0
// CHECK: %[[END:.*]] = arith.minsi %[[BLOCK]], %
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]] step %c1 iter_args(%{{.*}} = %c0_i32)
// CHECK: tensor.extract %[[CLASSES]]
// CHECK: } {attn.preparation
// CHECK: %[[LISTS:.*]] = scf.forall (%{{.*}}, %{{.*}}, %{{.*}}, %[[BLOCK:.*]]) in (2, 1, %[[TILES]], %[[BLOCKS]])
// CHECK: %[[FIRST:.*]] = arith.maxsi %[[BLOCK]], %
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %{{.*}} step %c1 iter_args(%{{.*}} = %c-1_i32)
// CHECK-DAG: tensor.extract %[[CLASSES]]
// CHECK-DAG: tensor.extract %[[BEFORE]]
// CHECK: arith.maxsi
// CHECK: } {attn.preparation

// Turns are those of work tiles that need the block.
// CHECK: %[[OTHERS:.*]]:2 = scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (2, 1, %[[BLOCKS]]) {{.*}} -> (tensor<2x1x?xi32>, tensor<2x1x?xi32>) {
// CHECK: } {attn.preparation
// CHECK: %[[AFTER:.*]] = scf.forall (%[[B:.*]], %{{.*}}, %[[BLOCK:.*]], %[[TILE:.*]]) in (2, 1, %[[BLOCKS]], %[[TILES]])
// CHECK: tensor.extract %[[OTHERS]]#0
// CHECK: tensor.extract %[[OTHERS]]#1
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: %[[OWN:.*]] = arith.index_cast %[[TILE]]
// CHECK: scf.for %[[OTHER:.*]] = %{{.*}} to %[[END]]
// CHECK: tensor.extract %[[CLASSES]][%[[B]], %c0, %[[OTHER]], %[[BLOCK]]]
// CHECK: arith.cmpi slt, %{{.*}}, %[[OWN]]
// CHECK: } {attn.preparation

// The loop is over the entries of a list, twice as two heads share one. What the mask reads is for partial tiles alone.
// CHECK: scf.forall (%[[B:.*]], %[[G:.*]], %[[OWN:.*]]) in {{.*}} -> (tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>) {
// CHECK: %[[WHOLE:.*]] = arith.cmpi sge
// CHECK: attn.tile_loop %[[J:.*]] = %c0 to %{{.*}} step 128
// CHECK: full(%[[J]]) {
// CHECK:   %[[ENTRY:.*]]:2 = affine.delinearize_index %[[J]] into (256) : index, index
// CHECK:   %[[CODE:.*]] = tensor.extract %[[LISTS]][%[[B]], %c0, %[[OWN]], %[[ENTRY]]#0]
// CHECK:   %[[BIT:.*]] = arith.andi %[[CODE]], %c1_i32
// CHECK:   %[[FULL:.*]] = arith.cmpi ne, %[[BIT]], %c0_i32
// CHECK:   arith.andi %[[WHOLE]], %[[FULL]]
// CHECK: }
// CHECK: %[[CODE:.*]] = tensor.extract %[[LISTS]]
// CHECK: arith.shrui %[[CODE]], %c1_i32
// CHECK: attn.step @exp
// CHECK-NOT: attn.gather
// CHECK: attn.mask_tile
// CHECK: attn.gather
// CHECK: attn.step @red
// CHECK: tensor.extract %[[AFTER]]

// KERNEL: gpu.func @documents_prologue0
// KERNEL: gpu.func @documents_prologue4
// KERNEL: scf.for
// KERNEL: arith.addi
// KERNEL: gpu.subgroup_reduce add %{{.*}} uniform : (i32) -> i32
// KERNEL: gpu.func @documents_prologue7
// What the tables name are positions, as no table of a user's is.
// KERNEL: gpu.func @documents(
// KERNEL-COUNT-12: prepared
// KERNEL: hopper.pipelined_for
// KERNEL-NOT: -1073741824
// KERNEL: hopper.mask
func.func @documents(%q: !q, %k: !k, %v: !k, %o: !q, %l: !l, %do: !q, %doc: tensor<2x?xi32>, %dq: !q, %dk: !k, %dv: !k) -> (!q, !k, !k) {
  %d:3 = attn.attention_grad wrt(q, k, v)
    ins(%q, %k, %v, %o, %l, %do : !q, !k, !k, !q, !l, !q)
    captures(%doc : tensor<2x?xi32>)
    outs(%dq, %dk, %dv : !q, !k, !k)
    mask(%b, %h, %i, %j, %w) {
      %x = tensor.extract %w[%b, %i] : tensor<2x?xi32>
      %y = tensor.extract %w[%b, %j] : tensor<2x?xi32>
      %p = arith.cmpi eq, %x, %y : i32
      attn.yield %p : i1
    }
  return %d#0, %d#1, %d#2 : !q, !k, !k
}

// Where heads that share keys have windows of their own, an entry of a list says of which head it is. Tables have a row for each head, and
// the list of those that share goes through all of them.
// CHECK-LABEL: func @windows
// CHECK: %[[CLASSES:.*]] = scf.forall (%{{.*}}, %[[H:.*]], %{{.*}}, %[[BLOCK:.*]]) in (1, 4,
// CHECK: %[[BEFORE:.*]] = scf.forall (%{{.*}}, %[[H:.*]], %{{.*}}, %[[BLOCK:.*]]) in (1, 4,
// CHECK: %[[GROUP:.*]] = arith.divui %[[H]], %c2
// CHECK: %[[FIRST:.*]] = arith.muli %[[GROUP]], %c2
// CHECK: %[[NUMBER:.*]] = arith.muli %[[BLOCK]], %c2
// CHECK: %[[REST:.*]] = arith.subi %[[H]], %[[FIRST]]
// CHECK: %[[END:.*]] = arith.addi %[[NUMBER]], %[[REST]]
// CHECK: scf.for %[[N:.*]] = %c0 to %[[END]]
// CHECK: %[[PLACE:.*]]:2 = affine.delinearize_index %[[N]] into (2)
// CHECK: %[[HEAD:.*]] = arith.addi %[[FIRST]], %[[PLACE]]#1
// CHECK: tensor.extract %[[CLASSES]][%c0, %[[HEAD]], %{{.*}}, %[[PLACE]]#0]
// CHECK: attn.tile_loop
func.func @windows(%q: !q, %k: !k, %v: !k, %o: !q, %l: !l, %do: !q, %widths: tensor<4xi32>, %dq: !q, %dk: !k, %dv: !k) -> (!q, !k, !k) {
  %d:3 = attn.attention_grad wrt(q, k, v)
    ins(%q, %k, %v, %o, %l, %do : !q, !k, !k, !q, !l, !q)
    captures(%widths : tensor<4xi32>)
    outs(%dq, %dk, %dv : !q, !k, !k)
    mask(%b, %h, %i, %j, %w) {
      %n = tensor.extract %w[%h] : tensor<4xi32>
      %width = arith.index_cast %n : i32 to index
      %past = arith.cmpi sle, %j, %i : index
      %distance = arith.subi %i, %j : index
      %near = arith.cmpi slt, %distance, %width : index
      %p = arith.andi %past, %near : i1
      attn.yield %p : i1
    }
  return %d#0, %d#1, %d#2 : !q, !k, !k
}

!q128 = tensor<2x4x?x128xbf16>
!k128 = tensor<2x2x?x128xbf16>

// Work tiles need not come in the order of their keys, so that each has a place.
// CHECK-LABEL: func @causal_documents
// CHECK: %[[CLASSES:.*]] = scf.forall (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) in (2, 1, %[[TILES:.*]], %[[BLOCKS:.*]]) {{.*}} -> (tensor<2x1x?x?xi32>) {
// CHECK: %[[OTHERS:.*]]:2 = scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (2, 1, %[[BLOCKS]]) {{.*}} -> (tensor<2x1x?xi32>, tensor<2x1x?xi32>) {
// CHECK: } {attn.preparation
// CHECK: scf.forall (%[[B:.*]], %{{.*}}, %[[BLOCK:.*]], %[[TILE:.*]]) in (2, 1, %[[BLOCKS]], %[[TILES]])
// CHECK: tensor.extract %[[OTHERS]]#0
// CHECK: tensor.extract %[[OTHERS]]#1
// CHECK: %[[BEGIN:.*]] = arith.maxsi
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: %[[PLACE:.*]] = arith.select %[[SHORT:.*]], %{{.*}}, %[[TILE]]
// CHECK: %[[OWN:.*]] = arith.index_cast %[[PLACE]]
// CHECK: scf.for %[[OTHER:.*]] = %[[BEGIN]] to %[[END]]
// CHECK: tensor.extract %[[CLASSES]][%[[B]], %c0, %[[OTHER]], %[[BLOCK]]]
// CHECK: %[[AT:.*]] = arith.select %[[SHORT]], %{{.*}}, %[[OTHER]]
// CHECK: arith.index_cast %[[AT]]
// CHECK: } {attn.preparation
func.func @causal_documents(%q: !q128, %k: !k128, %v: !k128, %o: !q128, %l: !l, %do: !q128, %doc: tensor<2x?xi32>, %dq: !q128, %dk: !k128, %dv: !k128) -> (!q128, !k128, !k128) {
  %d:3 = attn.attention_grad wrt(q, k, v)
    ins(%q, %k, %v, %o, %l, %do : !q128, !k128, !k128, !q128, !l, !q128)
    captures(%doc : tensor<2x?xi32>)
    outs(%dq, %dk, %dv : !q128, !k128, !k128)
    mask(%b, %h, %i, %j, %w) {
      %x = tensor.extract %w[%b, %i] : tensor<2x?xi32>
      %y = tensor.extract %w[%b, %j] : tensor<2x?xi32>
      %same = arith.cmpi eq, %x, %y : i32
      %past = arith.cmpi sle, %j, %i : index
      %p = arith.andi %same, %past : i1
      attn.yield %p : i1
    }
  return %d#0, %d#1, %d#2 : !q128, !k128, !k128
}
