// RUN: attn-opt %s --attn-online-softmax=rescale=lazy --attn-classify-blocks --attn-tile --canonicalize --cse --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-online-softmax --attn-classify-blocks --attn-tile=bounds-check --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=BOUNDS

// The loop over KV blocks: steps by name, the predicate as the region of a
// mask, and the class of a tile. Of a causal mask, all tiles of the 64 rows of a
// warpgroup are full but the last one.

// CHECK-LABEL: func @causal
// CHECK: scf.forall
// CHECK: %[[HI:.*]] = arith.minsi %{{.*}}, %[[LENGTH:.*]] : index
// CHECK: %[[FULL:.*]] = arith.minsi %{{.*}}, %[[LENGTH]] : index
// CHECK: %[[LOOP:.*]]:3 = attn.tile_loop %[[J:.*]] = %c0 to %[[HI]] step 64 online(%[[ACC:.*]] = %{{.*}}, %[[MAX:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}})
// CHECK-NEXT: full(%[[FIRST:.*]]) within %c0 to %[[FULL]] {
// CHECK-NEXT:   %[[END:.*]] = arith.addi %[[FIRST]], %c64 : index
// CHECK-NEXT:   %[[CLASS:.*]] = arith.cmpi sle, %[[END]], %[[FULL]] : index
// CHECK-NEXT:   attn.yield %[[CLASS]] : i1
// CHECK-NEXT: } only_last_partial : vector<64x128xf32>, vector<128xf32>, vector<128xf32> {
// CHECK:   %[[K:.*]] = attn.step @load_k -> (vector<64x64xf32>) {
// CHECK:     vector.transfer_read %{{.*}}[%{{.*}}, %{{.*}}, %[[J]], %c0], %{{.*}} {in_bounds = [false, true]}
// CHECK:   %[[S:.*]] = attn.step @qk -> (vector<64x128xf32>) {
// CHECK:     vector.contract {{.*}} %[[K]],
// CHECK:   %[[R:.*]]:4 = attn.step @softmax -> (vector<64x128xf32>, vector<64x128xf32>, vector<128xf32>, vector<128xf32>) {
// CHECK:     %[[MASKED:.*]] = attn.mask_tile %[[S]] : vector<64x128xf32> {
// The predicate is that of the mask and the length, which are one limit.
// CHECK:       %[[LAST:.*]] = arith.subi %[[LENGTH]], %c1 : index
// CHECK:       %[[LASTS:.*]] = vector.broadcast %[[LAST]] : index to vector<128xindex>
// CHECK:       %[[LIMIT:.*]] = arith.minsi %[[LASTS]], %{{.*}} : vector<128xindex>
// CHECK-NOT:   arith.cmpi
// CHECK:       %[[LIMITS:.*]] = vector.broadcast %[[LIMIT]]
// CHECK:       %[[ALLOWED:.*]] = arith.cmpi sle, %{{.*}}, %[[LIMITS]] : vector<64x128xindex>
// CHECK-NEXT:  attn.yield %[[ALLOWED]] : vector<64x128xi1>
// CHECK:     }
// CHECK:     attn.online_step %[[MASKED]], %[[ACC]], %[[MAX]], %[[SUM]] rescale(lazy) factor
// CHECK:   %[[V:.*]] = attn.step @load_v
// CHECK:   %[[NEXT:.*]] = attn.step @pv
// CHECK:     vector.contract {{.*}} %[[V]], %[[R]]#0, %[[R]]#1
// CHECK:   attn.yield %[[NEXT]], %[[R]]#2, %[[R]]#3
// CHECK: attn.schedule = #hopper.schedule<tile_m = 128, tile_n = 64
func.func @causal(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %o: tensor<2x4x?x64xbf16>) -> tensor<2x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
      ins(%q, %k, %k : tensor<2x4x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      outs(%o : tensor<2x4x?x64xbf16>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<2x4x?x64xbf16>
}

// -----

// Tiles of 80 keys are no multiple of 64 rows, so that two may be partial.

// CHECK-LABEL: func @two_partial
// CHECK: attn.tile_loop
// CHECK-NOT: only_last_partial
// CHECK: attn.step
func.func @two_partial(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %o: tensor<2x4x?x64xbf16>) -> tensor<2x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 80, registers = 240>
      ins(%q, %k, %k : tensor<2x4x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      outs(%o : tensor<2x4x?x64xbf16>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<2x4x?x64xbf16>
}

// -----

// Of the rows of one tile, whose number is known, no warpgroup has its own.

// CHECK-LABEL: func @one_tile
// CHECK: attn.tile_loop
// CHECK-NOT: only_last_partial
// CHECK: attn.step
func.func @one_tile(%q: tensor<2x4x100x64xbf16>, %k: tensor<2x2x100x64xbf16>, %o: tensor<2x4x100x64xbf16>) -> tensor<2x4x100x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
      ins(%q, %k, %k : tensor<2x4x100x64xbf16>, tensor<2x2x100x64xbf16>, tensor<2x2x100x64xbf16>)
      outs(%o : tensor<2x4x100x64xbf16>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<2x4x100x64xbf16>
}

// -----

// A window has a lower bound, too, from which the loop starts, on the grid of
// tiles, and a class of two comparisons.

// CHECK-LABEL: func @window
// CHECK: %[[DIV:.*]] = arith.divui %{{.*}}, %c64
// CHECK: %[[ALIGNED:.*]] = arith.muli %[[DIV]], %c64
// CHECK: %[[LO:.*]] = arith.select %{{.*}}, %[[HI:.*]], %[[ALIGNED]] : index
// CHECK: attn.tile_loop %{{.*}} = %[[LO]] to %[[HI]] step 64
// CHECK-NEXT: full(%[[FIRST:.*]]) within %[[A:.*]] to %[[B:.*]] {
// CHECK:   %[[END:.*]] = arith.addi %[[FIRST]], %c64
// CHECK-DAG: %[[BELOW:.*]] = arith.cmpi sle, %[[END]], %[[B]] : index
// CHECK-DAG: %[[ABOVE:.*]] = arith.cmpi sge, %[[FIRST]], %[[A]] : index
// CHECK:   %[[CLASS:.*]] = arith.andi %[[ABOVE]], %[[BELOW]] : i1
// CHECK:   attn.yield %[[CLASS]]
// CHECK-NOT: only_last_partial
// CHECK: attn.online_step
func.func @window(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %o: tensor<2x4x?x64xbf16>) -> tensor<2x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
      ins(%q, %k, %k : tensor<2x4x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      outs(%o : tensor<2x4x?x64xbf16>)
      mask(%b, %h, %i, %j) {
        %c100 = arith.constant 100 : index
        %p = arith.cmpi sle, %j, %i : index
        %first = arith.subi %i, %c100 : index
        %n = arith.cmpi sge, %j, %first : index
        %both = arith.andi %p, %n : i1
        attn.yield %both : i1
      }
  return %r : tensor<2x4x?x64xbf16>
}

// -----

// Without a mask, only the last tile may be partial, whatever the target.

// CHECK-LABEL: func @plain
// CHECK: attn.tile_loop %{{.*}} = %c0 to %[[LENGTH:.*]] step 64
// CHECK-NEXT: full(%[[FIRST:.*]]) within %c0 to %[[LENGTH]] {
// CHECK:   %[[END:.*]] = arith.addi %[[FIRST]], %c64
// CHECK:   arith.cmpi sle, %[[END]], %[[LENGTH]]
// CHECK: } only_last_partial
func.func @plain(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %o: tensor<2x4x?x64xbf16>) -> tensor<2x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
      ins(%q, %k, %k : tensor<2x4x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      outs(%o : tensor<2x4x?x64xbf16>)
  return %r : tensor<2x4x?x64xbf16>
}

// -----

// CHECK-LABEL: func @plain_cpu
// CHECK: attn.tile_loop %{{.*}} = %c0 to %[[LENGTH:.*]] step 64
// CHECK: full(%{{.*}}) within %c0 to %[[LENGTH]] {
// CHECK: } only_last_partial
func.func @plain_cpu(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %o: tensor<2x4x?x64xbf16>) -> tensor<2x4x?x64xbf16> {
  %r = attn.attention schedule<tile_m = 48, tile_n = 64, lanes = 8, unroll_m = 3, unroll_n = 4>
      ins(%q, %k, %k : tensor<2x4x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      outs(%o : tensor<2x4x?x64xbf16>)
  return %r : tensor<2x4x?x64xbf16>
}

// -----

// A mask of which nothing is known: no tile is full, and the predicate is asked
// before captures are read.

// CHECK-LABEL: func @unknown
// CHECK: attn.tile_loop
// CHECK-NOT: full(
// CHECK: attn.step @softmax
// CHECK: %[[ALLOWED:.*]] = arith.andi %{{.*}} : vector<64x128xi1>
// CHECK: attn.gather %{{.*}} mask %[[ALLOWED:.*]] : {{.*}} -> vector<64x128xf32>
// CHECK: attn.mask_tile
// CHECK-NEXT: attn.yield
func.func @unknown(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %o: tensor<2x4x?x64xbf16>, %t: tensor<?x?xf32>) -> tensor<2x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
      ins(%q, %k, %k : tensor<2x4x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      captures(%t : tensor<?x?xf32>)
      outs(%o : tensor<2x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %c) {
        %x = tensor.extract %c[%i, %j] : tensor<?x?xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %c) {
        %c3 = arith.constant 3 : index
        %m = arith.remui %j, %c3 : index
        %p = arith.cmpi ne, %m, %b : index
        attn.yield %p : i1
      }
  return %r : tensor<2x4x?x64xbf16>
}

// -----

// With checks, a capture is read where the predicate holds; without, it is read
// everywhere, as what is outside of it reads as 0, so that full tiles do not ask
// for the predicate.

// CHECK-LABEL: func @reads
// CHECK: attn.step @softmax
// CHECK: attn.gather {{.*}} -> vector<64x48xf32>
// CHECK: attn.mask_tile
// CHECK: arith.cmpi sle
// BOUNDS-LABEL: func @reads
// BOUNDS: attn.step @softmax
// BOUNDS: arith.cmpi sle
// BOUNDS: attn.gather {{.*}} site 0 : {{.*}} -> vector<64x48xf32>
// BOUNDS: attn.mask_tile
// BOUNDS-NEXT: attn.yield
func.func @reads(%q: tensor<2x4x?x64xf32>, %o: tensor<2x4x?x64xf32>, %t: tensor<?x?xf32>) -> tensor<2x4x?x64xf32> {
  %r = attn.attention schedule<tile_m = 48, tile_n = 64, lanes = 8, unroll_m = 3, unroll_n = 4>
      ins(%q, %q, %q : tensor<2x4x?x64xf32>, tensor<2x4x?x64xf32>, tensor<2x4x?x64xf32>)
      captures(%t : tensor<?x?xf32>)
      outs(%o : tensor<2x4x?x64xf32>)
      score(%s, %b, %h, %i, %j, %c) {
        %x = tensor.extract %c[%i, %j] : tensor<?x?xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %c) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<2x4x?x64xf32>
}
