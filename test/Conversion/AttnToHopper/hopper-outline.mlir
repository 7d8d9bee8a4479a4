// RUN: attn-opt %s --attn-destination-arguments --attn-online-softmax=rescale=lazy --attn-classify-blocks --attn-tile --canonicalize --cse --attn-hopper-outline | FileCheck %s --check-prefixes=CHECK,LAZY
// RUN: attn-opt %s --attn-destination-arguments --attn-online-softmax --attn-classify-blocks --attn-tile --canonicalize --cse --attn-hopper-outline | FileCheck %s --check-prefixes=CHECK,EXACT

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_swizzle = 4, persistent,
                             order = [load_k, qk, load_v(1), pv(1), softmax], exclusive = [qk, pv]>
#held = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 4, registers = 240, head_swizzle = 1, q_in_registers,
                         order = [load_k, qk, softmax, load_v, pv]>
#split = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1, split_kv,
                          order = [load_k, qk, load_v(1), pv(1), softmax]>
!t = tensor<2x8x?x64xbf16>
!l = tensor<2x8x?xf32>

// The steps of the worker's program, for the 64 rows of a warpgroup. What is
// computed of rows is so of those of whoever runs it.

// CHECK-LABEL: gpu.func @causal
// CHECK-SAME: hopper.grid = {dims = array<i64: 0, 1, 2>, key_dim = 2 : i64, key_operand = 1 : i64, operand = 4 : i64}
// CHECK: %[[STAGING:.*]] = hopper.create_tile : <128x64xbf16>
// CHECK: hopper.work_loop (%[[B:.*]], %[[H:.*]], %[[T:.*]], %{{.*}}) in ({{.*}}) counter %{{.*}} : memref<2xi32> group
// CHECK: %[[FIRST:.*]], %[[END:.*]] = hopper.work_rows %[[T]] of %{{.*}} size 128
// CHECK: %[[Q:.*]] = hopper.step "load_q" in "load"
// CHECK: hopper.load %{{.*}}[%[[B]], %[[H]], %[[FIRST]]] stages
// CHECK: %[[HI:.*]] = arith.minsi %[[END]]
// CHECK: %[[R:.*]]:3 = hopper.pipelined_for %[[J:.*]] = %{{.*}} to %[[HI]] step 64 {{(only_last_partial )?}}iter_args(%[[A:.*]] = %{{.*}}, %[[M:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}})
// CHECK-NEXT: schedule [#hopper.place<"load_k", 0>, #hopper.place<"qk", 0>, #hopper.place<"load_v", 1>, #hopper.place<"pv", 1>, #hopper.place<"softmax", 0>] exclusive ["qk", "pv"]
// CHECK: %[[K:.*]] = hopper.step "load_k" in "load"
// CHECK: %[[S:.*]] = hopper.step "qk" in "compute"
// CHECK: hopper.own_rows %[[Q]]
// CHECK: hopper.dot %{{.*}}, %[[K]] :
// CHECK: %[[P:.*]]:4 = hopper.step "softmax" in "compute"
// CHECK: %[[FULL:.*]] = arith.cmpi sle
// CHECK: %[[X:.*]] = hopper.mask %[[S]] unless %[[FULL]] by_block {
// The length and the diagonal are one limit for a row.
// CHECK: %[[LAST:.*]] = arith.subi %{{.*}}, %c1{{.*}} : index
// CHECK: %[[LASTS:.*]] = vector.broadcast %[[LAST]] : index to vector<1x64xindex>
// CHECK: %[[LIMIT:.*]] = arith.minsi %[[LASTS]], %{{.*}} : vector<1x64xindex>
// CHECK-NEXT: %[[LIMITS:.*]] = vector.broadcast %[[LIMIT]] :
// CHECK-NEXT: %[[ALLOWED:.*]] = arith.cmpi sle, %{{.*}}, %[[LIMITS]] : vector<64x64xindex>
// CHECK-NEXT: hopper.end %[[ALLOWED]]
// LAZY: hopper.softmax_step %[[X]], %[[A]], %[[M]], %[[L]] factor 0.18{{.*}} lazy
// EXACT: hopper.softmax_step %[[X]], %[[A]], %[[M]], %[[L]] factor 0.18{{.*}} exact
// CHECK: arith.truncf %{{.*}} : vector<64x64xf32> to vector<64x64xbf16>
// CHECK: %[[V:.*]] = hopper.step "load_v" in "load"
// CHECK: hopper.step "pv" in "compute"
// CHECK: hopper.dot %[[P]]#0, %[[V]] acc %[[P]]#1 rhs_transposed
// CHECK: hopper.step "store" in "compute"
// CHECK: hopper.reduce add %[[R]]#2 : vector<4x64xf32> -> vector<1x64xf32>
// CHECK: %[[OWN:.*]] = hopper.own_rows %[[STAGING]]
// CHECK: hopper.store %{{.*}}, %[[OWN]], %{{.*}}[%[[B]], %[[H]], %[[FIRST]]]
func.func @causal(%q: !t, %k: !t, %v: !t, %o: !t) -> !t {
  %r = attn.attention schedule #schedule ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : !t
}

// Queries that are held in registers, and results that are staged in their
// place.

// CHECK-LABEL: gpu.func @held
// CHECK-NOT: hopper.create_tile
// CHECK: hopper.work_loop (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) in ({{[^)]*}}) {
// CHECK: %[[Q:.*]] = hopper.step "load_q" in "load"
// CHECK: %[[HELD:.*]] = hopper.step "hold_q" in "compute" -> vector<64x64xbf16>
// CHECK: hopper.load_fragment
// CHECK: schedule [#hopper.place<"load_k", 0>, #hopper.place<"qk", 0>, #hopper.place<"softmax", 0>, #hopper.place<"load_v", 0>, #hopper.place<"pv", 0>] :
// CHECK: hopper.dot %[[HELD]]
// CHECK: hopper.step "store" in "compute"
// CHECK: %[[OWN:.*]] = hopper.own_rows %[[Q]]
// CHECK: hopper.store %{{.*}}, %[[OWN]], %{{.*}}
func.func @held(%q: !t, %k: !t, %v: !t, %o: !t) -> !t {
  %r = attn.attention schedule #held ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
  return %r : !t
}

// Parts of the keys: each writes a normalised row and its log-sum-exp, in base 2,
// and a kernel combines them.

// CHECK-LABEL: gpu.func @split_combine(
// CHECK: hopper.combine %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] into %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] dim 3 lse %{{.*}} : memref<?x?x?x?x64xf32
// CHECK-LABEL: gpu.func @split(
// CHECK-SAME: %[[LSES:[^ ]*]]: memref<?x?x?x?xf32, strided<[?, ?, ?, 1]>> {hopper.operand = 8 : i64}
// CHECK-SAME: %[[PARTS:[^ ]*]]: memref<?x?x?x?x64xf32, strided<[?, ?, ?, ?, 1]>> {hopper.operand = 7 : i64}
// CHECK-SAME: %[[NUM:[^ ]*]]: index {hopper.dim = 3 : i64, hopper.operand = 8 : i64}
// CHECK-SAME: hopper.tables = {first = 7 : i64, tables = [{bytes = 4 : i64, extents = [{{.*}}, {num_splits}, {extent = 64 : i64}]}, {bytes = 4 : i64, extents = [{{.*}}, {num_splits}]}]}
// CHECK-NOT: hopper.create_tile
// CHECK: hopper.work_loop (%[[B:.*]], %[[H:.*]], %[[T:.*]], %[[P:.*]], %{{.*}}) in (%{{.*}}, %{{.*}}, %{{.*}}, %[[NUM]]) {
// CHECK: %[[FIRST:.*]], %[[END:.*]] = hopper.work_rows %[[T]]
// CHECK: %[[LO:.*]], %[[HI:.*]] = hopper.split_of_range %[[P]] of %[[NUM]] from %{{.*}} to %{{.*}} step 64 least 4
// CHECK: %[[HASKEYS:.*]] = arith.cmpi slt, %[[LO]], %[[HI]]
// CHECK: hopper.pipelined_for %{{.*}} = %[[LO]] to %[[HI]] step 64
// CHECK: hopper.step "store" in "compute"
// CHECK: %[[SUM:.*]] = hopper.reduce add
// CHECK: %[[EMPTY:.*]] = arith.cmpf oeq, %[[SUM]]
// CHECK: math.log2
// CHECK: %[[LSE:.*]] = arith.select %[[EMPTY]]
// CHECK: hopper.store_rows %[[LSE]], %[[LSES]][%[[B]], %[[H]], %[[FIRST]], %[[P]]] dim 2 end %[[END]]
// CHECK: scf.if %[[HASKEYS]] {
// CHECK: hopper.store_rows %{{.*}}, %[[PARTS]][%[[B]], %[[H]], %[[FIRST]], %[[P]]] dim 2 end %[[END]] : vector<64x64xf32>
// CHECK-NOT: hopper.store{{ }}
func.func @split(%q: !t, %k: !t, %v: !t, %o: !t, %l: !l) -> (!t, !l) {
  %r:2 = attn.attention schedule #split ins(%q, %k, %v : !t, !t, !t) outs(%o, %l : !t, !l)
  return %r#0, %r#1 : !t, !l
}

// The shift of scores in one range starts as minus the least one, in base 2.

// CHECK-LABEL: gpu.func @soft_cap
// LAZY: %[[SHIFT:.*]] = arith.constant dense<2.885{{.*}}> : vector<1x64xf32>
// LAZY: hopper.pipelined_for {{.*}} iter_args({{.*}} = %{{.*}}, %[[M:.*]] = %[[SHIFT]], {{.*}})
// LAZY: hopper.softmax_step %{{.*}}, %{{.*}}, %[[M]], %{{.*}} factor 28.85{{.*}} never
// EXACT: hopper.softmax_step {{.*}} exact
func.func @soft_cap(%q: !t, %k: !t, %v: !t, %o: !t) -> !t {
  %r = attn.attention schedule #held ins(%q, %k, %v : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j) {
        %cap = arith.constant 20.0 : f32
        %x = arith.divf %s, %cap : f32
        %t = math.tanh %x : f32
        %y = arith.mulf %t, %cap : f32
        attn.yield %y : f32
      }
  return %r : !t
}
