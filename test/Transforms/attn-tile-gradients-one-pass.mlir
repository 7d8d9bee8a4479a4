// RUN: attn-opt %s --attn-hopper-assign-schedule --attn-tile-gradients=one-pass --canonicalize --cse | FileCheck %s
// RUN: attn-opt %s --attn-hopper-assign-schedule --attn-tile-gradients=one-pass --canonicalize --cse --attn-hopper-outline | FileCheck %s --check-prefix=KERNEL
// RUN: attn-opt %s --attn-hopper-assign-schedule --attn-tile-gradients=one-pass --canonicalize --cse --attn-hopper-outline | attn-opt --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-insert-channels)))' | FileCheck %s --check-prefix=STEPS

!q = tensor<2x4x?x64xbf16>
!k = tensor<2x2x?x64xbf16>
!l = tensor<2x4x?xf32>

// Buffers that work tiles share, of which the sums start as zeros, and a loop over all rows of Q blocks.
// CHECK-LABEL: func @causal
// CHECK: %[[LSE:.*]] = memref.alloc(%{{.*}}) : memref<2x4x?x128xf32>
// CHECK: %[[DELTA:.*]] = memref.alloc(%{{.*}}) : memref<2x4x?x128xf32>
// CHECK: %[[SUMS:.*]] = memref.alloc(%{{.*}}) : memref<2x4x?x128x64xf32, #hopper.fragment_order<m = 3, n = 4>>
// Of sums in one order the first is stored.
// CHECK-NEXT: %[[COUNTERS:.*]] = memref.alloc(%{{.*}}) : memref<2x4x?x2xi32>
// CHECK: linalg.fill ins(%{{.*}}) outs(%[[COUNTERS]] : memref<2x4x?x2xi32>)

// Which work tile adds before another one, for each block of queries: the nearest one in front of it that has queries of the block. And whether it
// is the last one of these, and whether there is any.
// CHECK: %[[BEFORE:.*]] = scf.forall (%{{.*}}, %{{.*}}, %[[BLOCK:.*]], %[[TILE:.*]]) in (1, 1, %{{.*}}, %{{.*}}) {{.*}} -> (tensor<1x1x?x?xi32>) {
// Where there are many work tiles, those of 5/8 of a head come before the rest, both from the last one on.
// CHECK: %[[COUNT:.*]] = arith.ceildivui %{{.*}}, %c128
// CHECK: %[[ALL:.*]] = arith.muli %[[COUNT]], %c4
// CHECK: %[[MANY:.*]] = arith.cmpi uge, %[[ALL]], %c512 : index
// CHECK: %[[FIVE:.*]] = arith.muli %[[COUNT]], %c5
// CHECK: %[[UP:.*]] = arith.addi %[[FIVE]], %c7
// CHECK: %[[EARLY:.*]] = arith.divui %[[UP]], %c8
// CHECK: %[[LATEST:.*]] = arith.subi %[[EARLY]], %c1
// CHECK: %[[BACK:.*]] = arith.subi %[[LATEST]], %[[TILE]]
// CHECK: %[[IS:.*]] = arith.cmpi ult, %[[TILE]], %[[EARLY]]
// CHECK: %[[AROUND:.*]] = arith.addi %[[BACK]], %[[COUNT]]
// CHECK: %[[TURNED:.*]] = arith.select %[[IS]], %[[BACK]], %[[AROUND]]
// CHECK: %[[PLACE:.*]] = arith.select %[[MANY]], %[[TURNED]], %[[TILE]]
// CHECK: %[[OWN:.*]] = arith.index_cast %[[PLACE]]
// CHECK: %[[FOUND:.*]]:2 = scf.for %[[OTHER:.*]] = %c0 to %[[COUNT]] step %c1 iter_args(%[[NEAREST:.*]] = %c0_i32, %[[LAST:.*]] = %c0_i32)
// CHECK: %[[MEETS:.*]] = arith.andi
// CHECK: %[[BACK:.*]] = arith.subi %[[LATEST]], %[[OTHER]]
// CHECK: %[[OTHERPLACE:.*]] = arith.select %[[MANY]], %{{.*}}, %[[OTHER]]
// CHECK: %[[AT:.*]] = arith.index_cast %[[OTHERPLACE]]
// CHECK: %[[NUMBER:.*]] = arith.addi %[[AT]], %c1_i32
// CHECK: %[[IS:.*]] = arith.cmpi slt, %[[AT]], %[[OWN]]
// CHECK: %[[ISNEAREST:.*]] = arith.andi %[[MEETS]], %[[IS]]
// CHECK: %[[IF:.*]] = arith.select %[[ISNEAREST]], %[[NUMBER]], %c0_i32
// CHECK: arith.maxsi %[[NEAREST]], %[[IF]]
// CHECK: %[[IF:.*]] = arith.select %[[MEETS]], %[[NUMBER]], %c0_i32
// CHECK: arith.maxsi %[[LAST]], %[[IF]]
// CHECK: arith.shli %[[FOUND]]#0, %c2_i32
// CHECK: %[[NUMBER:.*]] = arith.addi %[[OWN]], %c1_i32
// CHECK: %[[ISLAST:.*]] = arith.cmpi eq, %[[FOUND]]#1, %[[NUMBER]]
// CHECK: arith.extui %[[ISLAST]]
// CHECK: %[[ISANY:.*]] = arith.cmpi ne, %[[FOUND]]#1, %c0_i32
// CHECK: arith.select %[[ISANY]], %c2_i32, %c0_i32

// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) in (2, 4, %{{.*}}, 128) {
// CHECK: vector.reduction <add>
// CHECK: memref.store %{{.*}}, %[[LSE]]
// CHECK: memref.store %{{.*}}, %[[DELTA]]

// Two heads of queries share a head of keys: blocks of both are one loop, the
// same block of either before the next one.
// Whether a block is full is asked of the rows of the whole work tile, as a partition, which has but some, could not have as many.
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %[[OWN:.*]]) in {{.*}} -> (tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>) {
// CHECK: %[[FIRST:.*]] = arith.muli %[[OWN]], %c128
// CHECK: %[[NEXT:.*]] = arith.addi %[[FIRST]], %c128
// CHECK: %[[END:.*]] = arith.minsi %[[NEXT]], %{{.*}}
// CHECK: %[[ROWS:.*]] = arith.subi %[[END]], %[[FIRST]]
// CHECK: %[[WHOLE:.*]] = arith.cmpi sge, %[[ROWS]], %c128
// CHECK: attn.tile_loop
// CHECK: full(
// CHECK: %[[PLACE:.*]]:2 = affine.delinearize_index %{{.*}} into (256) : index, index
// CHECK: %[[BLOCK:.*]] = arith.addi %{{.*}}, %[[PLACE]]#0
// CHECK: arith.muli %[[BLOCK]], %c128
// CHECK: arith.andi %[[WHOLE]], %
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
// CHECK: %[[ENTRY:.*]] = tensor.extract %[[BEFORE]]
// CHECK: %[[AFTER:.*]] = arith.shrui %[[ENTRY]], %c2_i32
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[AFTER]]
// CHECK: %[[PLACE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[OWN]]
// CHECK: %[[NUMBER:.*]] = arith.addi %[[PLACE]], %c1
// CHECK: attn.accumulate ordered %{{.*}} into %[[SUMS]]{{.*}} after %[[INDEX]] as %[[NUMBER]] in %[[COUNTERS]]
// CHECK: attn.step @dk
// CHECK: mapping = [#attn.worker<0>

// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) in (2, 4, %{{.*}}, 8) {{.*}} -> (tensor<2x4x?x64xbf16>) {
// CHECK: %[[LAST:.*]] = memref.load %[[COUNTERS]]
// CHECK: %[[ADDED:.*]] = arith.cmpi ne, %[[LAST]], %c0_i32
// CHECK: %[[WHERE:.*]] = vector.broadcast %[[ADDED]] : i1 to vector<16x64xi1>
// CHECK: vector.transfer_read %[[SUMS]]{{.*}}, %[[WHERE]] {{.*}} vector<16x64xf32>
// CHECK: arith.truncf {{.*}} : vector<16x64xf32> to vector<16x64xbf16>
// CHECK: vector.transfer_write {{.*}} {in_bounds = [false, true]

// A kernel for each loop. A thread has 16 of the 64 elements of a row, and a warp eight rows; and 8 of each of two rows of sums, twice.
// KERNEL: gpu.func @causal_prologue0
// KERNEL: gpu.func @causal_before0
// KERNEL-SAME: hopper.vector_loop = {extents = [{extent = 2 : i64}, {extent = 4 : i64}, {dim = 2 : i64, divisor = 128 : i64, operand = 0 : i64}, {extent = 16 : i64}]}
// KERNEL: vector.transfer_read {{.*}} vector<16xbf16>
// KERNEL: vector.reduction <add>
// KERNEL: gpu.subgroup_reduce  add {{.*}} cluster(size = 4)
// KERNEL: memref.store
// KERNEL: gpu.func @causal_behind0
// KERNEL-SAME: hopper.vector_loop = {behind,
// KERNEL-SAME: {extent = 8 : i64}]}
// KERNEL: vector.transfer_read {{.*}} memref<2x4x?x8192xf32>, vector<16xf32>
// KERNEL: vector.shuffle {{.*}} [0, 1, 4, 5, 8, 9, 12, 13] : vector<16xf32>
// KERNEL: vector.shuffle {{.*}} [2, 3, 6, 7, 10, 11, 14, 15] : vector<16xf32>
// KERNEL: arith.truncf {{.*}} vector<8xf32> to vector<8xbf16>
// KERNEL: vector.transfer_write {{.*}} vector<8xbf16>
// KERNEL: vector.transfer_write {{.*}} vector<8xbf16>
// KERNEL: vector.transfer_read {{.*}} memref<2x4x?x8192xf32>
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
// CHECK: memref.alloc(%{{.*}}) : memref<2x4x?x2xi32>
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

// Columns of 128 are shared out to warpgroups, of 80 queries each. A thread has 16 columns of two queries that follow each other.
// CHECK-LABEL: func @columns
// CHECK: memref.alloc(%{{.*}}) : memref<2x4x?x128x80xf32, #hopper.fragment_order<m = 3, n = 4>>
// CHECK: in (2, 4, %{{.*}}, 5)
// KERNEL: gpu.func @columns_behind0
// KERNEL-COUNT-8: vector.transfer_read {{.*}} memref<2x4x?x10240xf32>, vector<4xf32>
// KERNEL: vector.shuffle {{.*}} [0, 4, 8, 12, 16, 20, 24, 28, 2, 6, 10, 14, 18, 22, 26, 30] : vector<16xf32>
// KERNEL: vector.transfer_write {{.*}} vector<16xbf16>
// KERNEL: gpu.func @columns(
// KERNEL: hopper.reduce_add {{.*}} {{.*}} memref<2x4x?x2x5120xf32>
!wide = tensor<2x4x?x128xbf16>
func.func @columns(%q: !wide, %k: !wide, %v: !wide, %o: !wide, %l: !l, %do: !wide, %dq: !wide, %dk: !wide) -> (!wide, !wide) {
  %d:2 = attn.attention_grad wrt(q, k)
    ins(%q, %k, %v, %o, %l, %do : !wide, !wide, !wide, !wide, !l, !wide)
    outs(%dq, %dk : !wide, !wide) attributes {nondeterministic}
  return %d#0, %d#1 : !wide, !wide
}

// Of 112, the second warpgroup has 48, and 16 columns of zeros, which are added to a buffer of 128 and not read.
// CHECK-LABEL: func @fewer_columns
// CHECK: memref.alloc(%{{.*}}) : memref<2x4x?x128x80xf32, #hopper.fragment_order<m = 3, n = 4>>
// CHECK: attn.accumulate add {{.*}} : vector<80x112xf32>, memref<2x4x?x128x80xf32,
// KERNEL: gpu.func @fewer_columns_behind0
// KERNEL-COUNT-8: vector.transfer_read {{.*}} memref<2x4x?x10240xf32>, vector<4xf32>
// KERNEL: gpu.func @fewer_columns(
// KERNEL: hopper.own_columns %{{.*}} : <128x112xbf16> -> <128x64xbf16>
// KERNEL: hopper.reduce_add {{.*}} {{.*}} memref<2x4x?x2x5120xf32>
!odd = tensor<2x4x?x112xbf16>
func.func @fewer_columns(%q: !odd, %k: !odd, %v: !odd, %o: !odd, %l: !l, %do: !odd, %dq: !odd, %dk: !odd) -> (!odd, !odd) {
  %d:2 = attn.attention_grad wrt(q, k)
    ins(%q, %k, %v, %o, %l, %do : !odd, !odd, !odd, !odd, !l, !odd)
    outs(%dq, %dk : !odd, !odd) attributes {nondeterministic}
  return %d#0, %d#1 : !odd, !odd
}

// The last work tile to add writes what a block gets of dq, and no kernel behind does.
// CHECK-LABEL: func @last_writes
// In front, rows of dq that no work tile adds to are zeros; the last one that does writes others.
// CHECK: %[[ZEROS:.*]] = scf.forall (%[[B:.*]], %[[H:.*]], %[[T:.*]], %{{.*}}) in (2, 4, %{{.*}}, 128) {{.*}} -> (tensor<2x4x?x64xbf16>) {
// CHECK: %[[ISQUERY:.*]] = arith.cmpi slt
// CHECK: vector.reduction <add>
// CHECK: memref.store %{{.*}}, %{{.*}}
// CHECK: memref.store %{{.*}}, %{{.*}}
// CHECK: %[[ENTRY:.*]] = tensor.extract %[[ORDER:.*]][%c0, %c0, %[[T]], %c0]
// CHECK: %[[BIT:.*]] = arith.andi %[[ENTRY]], %c2_i32
// CHECK: %[[ANY:.*]] = arith.cmpi ne, %[[BIT]], %c0_i32
// CHECK: %[[NONE:.*]] = arith.cmpi eq, %[[ANY]], %false
// CHECK: %[[WRITES:.*]] = arith.andi %[[ISQUERY]], %[[NONE]]
// CHECK: %[[MASK:.*]] = vector.broadcast %[[WRITES]] : i1 to vector<64xi1>
// CHECK: vector.transfer_write %{{.*}}, %{{.*}}, %[[MASK]] {in_bounds = [true]} : vector<64xbf16>
// CHECK: %[[DQ:.*]] = bufferization.to_buffer %[[ZEROS]]
// CHECK: attn.step @red
// CHECK: %[[ENTRY:.*]] = tensor.extract %[[ORDER]]
// CHECK: %[[AFTER:.*]] = arith.shrui %[[ENTRY]], %c2_i32
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[AFTER]]
// CHECK: %[[BIT:.*]] = arith.andi %[[ENTRY]], %c1_i32
// CHECK: %[[LAST:.*]] = arith.cmpi ne, %[[BIT]], %c0_i32
// CHECK: attn.accumulate ordered {{.*}} after %[[INDEX]] as {{.*}} last %[[LAST]] to %[[DQ]]{{.*}} scale 1.250000e-01
// CHECK: %[[RESULT:.*]] = bufferization.to_tensor %[[DQ]] restrict writable
// CHECK: return %[[RESULT]]
// KERNEL: gpu.func @last_writes_before0
// KERNEL: scf.if
// KERNEL: vector.transfer_write {{.*}} vector<16xbf16>
// KERNEL-NOT: @last_writes_behind
// KERNEL: gpu.func @last_writes(
// KERNEL: hopper.reduce_add {{.*}} after %{{.*}} as %{{.*}} in {{.*}} last %{{.*}} to %{{.*}}[{{.*}}] m 2 n 3 end_m %{{.*}} scale 1.250000e-01
// Where queries are columns, the second warpgroup has 32 of 96.
// KERNEL: gpu.func @last_columns(
// KERNEL: hopper.reduce_add {{.*}} after %{{.*}} as %{{.*}} in {{.*}} last %{{.*}} to %{{.*}}[{{.*}}] m 3 n 2 end_m %{{.*}} end_n %{{.*}} scale
func.func @last_writes(%q: !q, %k: !k, %v: !k, %o: !q, %l: !l, %do: !q, %dq: !q, %dk: !k, %dv: !k) -> (!q, !k, !k) {
  %d:3 = attn.attention_grad schedule #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, write_dq, order = [load_q, qk, exp, load_do, dp, dv, ds, dq(1), dk, red(1)]> wrt(q, k, v)
    ins(%q, %k, %v, %o, %l, %do : !q, !k, !k, !q, !l, !q)
    outs(%dq, %dk, %dv : !q, !k, !k)
    mask(%b, %h, %i, %j) {
      %p = arith.cmpi sle, %j, %i : index
      attn.yield %p : i1
    }
  return %d#0, %d#1, %d#2 : !q, !k, !k
}
func.func @last_columns(%q: !odd, %k: !odd, %v: !odd, %o: !odd, %l: !l, %do: !odd, %dq: !odd, %dk: !odd) -> (!odd, !odd) {
  %d:2 = attn.attention_grad schedule #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, write_dq, order = [load_q, qk, exp, load_do, dp, ds, dq(1), dk, red(1)]> wrt(q, k)
    ins(%q, %k, %v, %o, %l, %do : !odd, !odd, !odd, !odd, !l, !odd)
    outs(%dq, %dk : !odd, !odd)
  return %d#0, %d#1 : !odd, !odd
}

// Where there are keys, as extents tell, each block is added to, and the loop in front writes no zeros.
// CHECK-LABEL: func @known_extents
// CHECK: arith.constant dense<false> : vector<64xi1>
// KERNEL: gpu.func @known_extents_before0
// KERNEL-NOT: vector.transfer_write
// KERNEL: gpu.func @known_extents(
!known = tensor<2x4x512x64xbf16>
func.func @known_extents(%q: !known, %l: tensor<2x4x512xf32>, %dq: !known, %dk: !known, %dv: !known) -> (!known, !known, !known) {
  %d:3 = attn.attention_grad schedule #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, write_dq, order = [load_q, qk, exp, load_do, dp, dv, ds, dq(1), dk, red(1)]> wrt(q, k, v)
    ins(%q, %q, %q, %q, %l, %q : !known, !known, !known, !known, tensor<2x4x512xf32>, !known)
    outs(%dq, %dk, %dv : !known, !known, !known)
  return %d#0, %d#1, %d#2 : !known, !known, !known
}

// Where columns are not the last dimension, a loop behind does.
// CHECK-LABEL: func @columns_first
// CHECK: attn.accumulate ordered
// CHECK-NOT: last
// CHECK: memref.load
!first = tensor<2x4x64x?xbf16>
func.func @columns_first(%q: !first, %k: !first, %v: !first, %o: !first, %l: !l, %do: !first, %dq: !first, %dk: !first, %dv: !first) -> (!first, !first, !first) {
  %d:3 = attn.attention_grad layouts(bhds, bhds, bhds, bhds) schedule #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, write_dq, order = [load_q, qk, exp, load_do, dp, dv, ds, dq(1), dk, red(1)]> wrt(q, k, v)
    ins(%q, %k, %v, %o, %l, %do : !first, !first, !first, !first, !l, !first)
    outs(%dq, %dk, %dv : !first, !first, !first)
  return %d#0, %d#1, %d#2 : !first, !first, !first
}

// Two partitions have dk and dv, and give each other p and ds.
// KERNEL: gpu.func @partitions(
// KERNEL: hopper.publish {{.*}} stages 1
// KERNEL: hopper.publish {{.*}} stages 1
// STEPS-LABEL: gpu.func @partitions(
// STEPS: hopper.step "exp" in "compute"
// STEPS: hopper.put_fragment
// STEPS: hopper.step "dv" in "second"
// STEPS: hopper.get
// STEPS: hopper.step "ds" in "second"
// STEPS: hopper.put_fragment
// STEPS: hopper.step "dk" in "compute"
// STEPS: hopper.get
!widest = tensor<2x4x?x256xbf16>
func.func @partitions(%q: !widest, %k: !widest, %v: !widest, %o: !widest, %l: !l, %do: !widest, %dk: !widest, %dv: !widest) -> (!widest, !widest) {
  %d:2 = attn.attention_grad wrt(k, v)
    ins(%q, %k, %v, %o, %l, %do : !widest, !widest, !widest, !widest, !l, !widest)
    outs(%dk, %dv : !widest, !widest)
  return %d#0, %d#1 : !widest, !widest
}

// That of values needs neither v nor the gradients of scores.
// CHECK-LABEL: func @values
// CHECK: attn.step @load_do -> (vector<80x128xf32>) {
// CHECK-NOT: attn.step @dp
// CHECK-NOT: attn.step @ds
// CHECK: attn.step @dv
func.func @values(%q: !wide, %k: !wide, %v: !wide, %o: !wide, %l: !l, %do: !wide, %dv: !wide) -> !wide {
  %d = attn.attention_grad wrt(v)
    ins(%q, %k, %v, %o, %l, %do : !wide, !wide, !wide, !wide, !l, !wide)
    outs(%dv : !wide)
  return %d : !wide
}

// Work tiles of queries have dq alone, and their numbers in registers; of the keys, those that the mask needs.
// CHECK-LABEL: func @queries
// CHECK-DAG: %[[LSE:.*]] = memref.alloc(%{{.*}}) : memref<2x4x?x128xf32>
// CHECK-DAG: %[[DELTA:.*]] = memref.alloc(%{{.*}}) : memref<2x4x?x128xf32>
// CHECK-NOT: memref.alloc
// CHECK: scf.forall (%[[B:[^ ,]*]], %[[H:[^ ,]*]], %[[TILE:[^ ,]*]]) in (2, 4,
// CHECK-DAG: attn.gather %[[LSE]][%[[B]], %[[H]], %[[TILE]], %{{.*}}] mask
// CHECK-DAG: attn.gather %[[DELTA]][%[[B]], %[[H]], %[[TILE]], %{{.*}}] mask
// CHECK: attn.tile_loop %{{.*}} = %{{.*}} to %{{.*}} step 80
// CHECK: attn.step @load_k
// CHECK: attn.step @qk
// CHECK: attn.step @exp
// CHECK: attn.mask_tile
// CHECK: attn.step @load_v
// CHECK: attn.step @dp
// CHECK: attn.step @ds
// CHECK: attn.step @dq -> (vector<128x128xf32>)
// CHECK-NOT: attn.accumulate
// KERNEL: gpu.func @queries(
// KERNEL-NOT: hopper.publish
// KERNEL: hopper.step "store"
func.func @queries(%q: !wide, %k: !wide, %v: !wide, %o: !wide, %l: !l, %do: !wide, %dq: !wide) -> !wide {
  %d = attn.attention_grad wrt(q)
    ins(%q, %k, %v, %o, %l, %do : !wide, !wide, !wide, !wide, !l, !wide)
    outs(%dq : !wide)
    mask(%b, %h, %i, %j) {
      %p = arith.cmpi sle, %j, %i : index
      attn.yield %p : i1
    }
  return %d : !wide
}
