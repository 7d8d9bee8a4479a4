// RUN: attn-opt %s --attn-destination-arguments --canonicalize --cse --attn-canonicalize-score --attn-online-softmax --attn-classify-blocks --attn-tile --canonicalize --cse --attn-hopper-schedule --canonicalize --cse --split-input-file | FileCheck %s

// A kernel of one tile for each thread block, whose consumers take turns.

// CHECK: gpu.module @plain.cuda {
// CHECK-LABEL: gpu.func @plain(
// CHECK-SAME: %[[Q:[^ ]*]]: !hopper.map<128x64xbf16> {hopper.dims = array<i64: 0, 1, 2, 3>, hopper.operand = 0 : i64}
// CHECK-SAME: %[[K:[^ ]*]]: !hopper.map<64x64xbf16> {hopper.dims = array<i64: 0, 1, 2, 3>, hopper.operand = 1 : i64}
// CHECK-SAME: %[[V:[^ ]*]]: !hopper.map<64x64xbf16> {hopper.dims = array<i64: 0, 1, 2, 3>, hopper.operand = 2 : i64}
// CHECK-SAME: index {hopper.dim = 2 : i64, hopper.operand = 3 : i64}
// CHECK-SAME: %[[LENGTH:[^ ]*]]: index {hopper.dim = 2 : i64, hopper.operand = 1 : i64}
// CHECK-SAME: %[[OUT:[^ ]*]]: !hopper.map<64x64xbf16> {hopper.dims = array<i64: 0, 1, 2, 3>, hopper.operand = 3 : i64}
// CHECK-SAME: kernel attributes {{{.*}}hopper.schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_group = 1, ping_pong>}
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<0xFF800000> : vector<64x64xf32>
// CHECK-DAG: %[[SCALE:.*]] = arith.constant dense<0.180336878> : vector<64x64xf32>
// CHECK-DAG: %[[BACK:.*]] = arith.constant dense<-0.180336878> : vector<1x64xf32>
// CHECK: %[[QS:.*]] = hopper.create_channel : <1x128x64xbf16>
// CHECK-NEXT: %[[KS:.*]] = hopper.create_channel : <2x64x64xbf16>
// CHECK-NEXT: %[[VS:.*]] = hopper.create_channel : <2x64x64xbf16>
// CHECK-NEXT: %[[TURNS:.*]] = hopper.create_turns
// CHECK-NEXT: hopper.warp_specialize partition @load threads(1) {

// The tiles, from the last on; keys go before the values of the tile before.
// CHECK: gpu.block_id  x
// CHECK: hopper.put %[[QS]][%c0_i32], %[[Q]][%{{.*}}] :
// CHECK: scf.if
// CHECK:   hopper.put %[[KS]][%c0_i32], %[[K]][%[[KB:.*]], %[[KH:.*]], %{{.*}}] :
// CHECK:   scf.for %[[T:.*]] = %c1_i32 to %{{.*}} step %c1_i32
// CHECK:     hopper.put %[[KS]][%[[T]]], %[[K]][%[[KB]], %[[KH]], %{{.*}}] :
// CHECK:     %[[BEFORE:.*]] = arith.subi %[[T]], %c1_i32
// CHECK:     hopper.put %[[VS]][%[[BEFORE]]], %[[V]][%[[KB]], %[[KH]], %{{.*}}] :
// CHECK:   }
// CHECK:   %[[FIRST:.*]] = hopper.position %c0_i32
// CHECK:   hopper.put %[[VS]][%{{.*}}], %[[V]][%[[KB]], %[[KH]], %[[FIRST]]] :
// CHECK-NOT: hopper.put
// CHECK: } partition @compute

// The first tile is masked in any case.
// CHECK: %[[WG:.*]] = hopper.warpgroup_id
// CHECK: %[[STATE:.*]]:2 = scf.if
// CHECK:   %[[QT:.*]] = hopper.get %[[QS]][%c0_i32]
// CHECK:   %[[QR:.*]] = hopper.rows %[[QT]][%[[WG]]] : <128x64xbf16> -> <64x64xbf16, of 128>
// CHECK:   %[[K0:.*]] = hopper.get %[[KS]][%c0_i32]
// CHECK:   %[[S0P:.*]] = hopper.mma %[[QR]], %[[K0]] :
// CHECK:   %[[S0:.*]] = hopper.wait %[[S0P]] in_flight 0
// CHECK:   hopper.release %[[KS]][%c0_i32]
// CHECK:   arith.cmpi slt, %{{.*}} : vector<64x1xindex>
// CHECK:   %[[S0M:.*]] = arith.select %{{.*}}, %[[S0]], %[[NONE]]
// CHECK:   %[[M0:.*]] = hopper.reduce max %[[S0M]] : vector<64x64xf32> -> vector<1x64xf32>
// CHECK:   %[[BACK0:.*]] = arith.mulf %[[M0]], %[[BACK]] : vector<1x64xf32>
// CHECK:   %[[SHIFT0:.*]] = arith.minnumf %[[BACK0]], %{{.*}} : vector<1x64xf32>
// CHECK:   math.fma %[[S0M]], %[[SCALE]], %{{.*}} : vector<64x64xf32>
// CHECK:   %[[P0:.*]] = math.exp2 %{{.*}} : vector<64x64xf32>
// CHECK:   hopper.reduce add %[[P0]] : vector<64x64xf32> -> vector<4x64xf32>
// CHECK:   %[[R0:.*]] = arith.truncf %[[P0]] : vector<64x64xf32> to vector<64x64xbf16>

// Both products are started before the scores are waited for.
// CHECK:   scf.for %[[T:.*]] = %c1_i32 to %{{.*}} step %c1_i32 iter_args(%[[ACC:.*]] = %{{.*}}, %[[SHIFT:.*]] = %[[SHIFT0]], %[[SUM:.*]] = %{{.*}}, %[[P:.*]] = %[[R0]])
// CHECK:     %[[BEFORE:.*]] = arith.subi %[[T]], %c1_i32
// CHECK-NEXT: %[[KT:.*]] = hopper.get %[[KS]][%[[T]]]
// CHECK-NEXT: hopper.take_turn %[[TURNS]]
// CHECK-NEXT: %[[SP:.*]] = hopper.mma %[[QR]], %[[KT]] :
// CHECK-NEXT: %[[VT:.*]] = hopper.get %[[VS]][%[[BEFORE]]]
// CHECK-NEXT: %[[OP:.*]] = hopper.mma %[[P]], %[[VT]] acc %[[ACC]] rhs_transposed :
// CHECK-NEXT: hopper.pass_turn %[[TURNS]]
// CHECK-NEXT: %[[S:.*]] = hopper.wait %[[SP]] in_flight 1
// CHECK-NEXT: hopper.release %[[KS]][%[[T]]]

// Without a mask, only the first tile is partial.
// CHECK-NEXT: %[[M:.*]] = hopper.reduce max %[[S]] :
// CHECK-NEXT: %[[GROWTH:.*]] = math.fma %[[M]], %{{.*}}, %[[SHIFT]] : vector<1x64xf32>
// CHECK-NEXT: arith.cmpf ogt, %[[GROWTH]],
// CHECK-NEXT: %[[GROWS:.*]] = hopper.any
// CHECK-NEXT: %[[NEW:.*]]:3 = scf.if %[[GROWS]] -> (!hopper.pending<vector<64x64xf32>>, vector<1x64xf32>, vector<4x64xf32>) {
// CHECK-NEXT:  arith.mulf %[[M]], %[[BACK]]
// CHECK-NEXT:  %[[LESS:.*]] = arith.minnumf %{{.*}}, %[[SHIFT]] : vector<1x64xf32>
// CHECK-NEXT:  arith.subf %[[LESS]], %[[SHIFT]]
// CHECK-NEXT:  math.exp2 %{{.*}} : vector<1x64xf32>
// CHECK-NEXT:  hopper.wait %[[OP]] in_flight 0
// CHECK:       %[[SCALED:.*]] = arith.mulf %{{.*}} : vector<64x64xf32>
// CHECK:       %[[LESSSUM:.*]] = arith.mulf %[[SUM]], %{{.*}} : vector<4x64xf32>
// CHECK-NEXT:  %[[OR:.*]] = hopper.in_flight %[[SCALED]]
// CHECK-NEXT:  scf.yield %[[OR]], %[[LESS]], %[[LESSSUM]]
// CHECK-NEXT: } else {
// CHECK-NEXT:  scf.yield %[[OP]], %[[SHIFT]], %[[SUM]]
// CHECK:     vector.broadcast %[[NEW]]#1
// CHECK:     math.exp2 %{{.*}} : vector<64x64xf32>
// CHECK:     arith.addf %[[NEW]]#2, %{{.*}} : vector<4x64xf32>
// CHECK:     hopper.wait %[[NEW]]#0 in_flight 0
// CHECK-NEXT: hopper.release %[[VS]][%[[BEFORE]]]
// CHECK:     scf.yield
// CHECK:   }
// CHECK:   %[[VL:.*]] = hopper.get %[[VS]][%[[LAST:.*]]] :
// CHECK-NEXT: hopper.take_turn %[[TURNS]]
// CHECK-NEXT: %[[OL:.*]] = hopper.mma %{{.*}}, %[[VL]] acc %{{.*}} rhs_transposed
// CHECK-NEXT: hopper.pass_turn %[[TURNS]]
// CHECK-NEXT: hopper.wait %[[OL]] in_flight 0
// CHECK-NEXT: hopper.release %[[VS]][%[[LAST]]]

// A warpgroup without queries takes part in the protocol only.
// CHECK: } else {
// CHECK-NEXT: hopper.get %[[QS]][%c0_i32]
// CHECK-NEXT: scf.for %[[T:.*]] = %c0_i32 to %{{.*}} step %c1_i32
// CHECK-NEXT:   hopper.take_turn %[[TURNS]]
// CHECK-NEXT:   hopper.pass_turn %[[TURNS]]
// CHECK-NEXT:   hopper.get %[[KS]][%[[T]]]
// CHECK-NEXT:   hopper.release %[[KS]][%[[T]]]
// CHECK-NEXT:   hopper.get %[[VS]][%[[T]]]
// CHECK-NEXT:   hopper.release %[[VS]][%[[T]]]
// CHECK-NEXT: }

// The queries' memory is that of the results.
// CHECK: hopper.reduce add %[[STATE]]#1 : vector<4x64xf32> -> vector<1x64xf32>
// CHECK: %[[TILE:.*]] = hopper.reuse %[[QS]]
// CHECK: %[[ROWS:.*]] = hopper.rows %[[TILE]][%[[WG]]]
// CHECK: hopper.store %{{.*}}, %[[ROWS]], %[[OUT]][%{{.*}}] :
// CHECK-NEXT: hopper.drain
// CHECK-NEXT: hopper.release %[[QS]][%c0_i32]
// CHECK-NEXT: }
// CHECK-NEXT: gpu.return
// CHECK-NOT: func.func
func.func @plain(%q: tensor<?x4x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>) -> tensor<?x4x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x4x?x64xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x4x?x64xbf16>
  %o = tensor.empty(%b, %s) : tensor<?x4x?x64xbf16>
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240, ping_pong>
      ins(%q, %k, %v : tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>)
      outs(%o : tensor<?x4x?x64xbf16>)
  return %r : tensor<?x4x?x64xbf16>
}

// -----

// A thread block computes one tile after another. The producer takes each from
// a counter and tells the consumers, of 8 heads in turn. Numbers of uses go on,
// and queries are held in registers. Each warpgroup passes over the tiles that
// are beyond its last query. Its first tile has all keys that are masked for
// some of its queries, as tiles are multiples of 64 keys.

// CHECK-LABEL: gpu.func @causal(
// CHECK-SAME: %[[COUNTER:[^ ]*]]: memref<2xi32> {hopper.counter}
// CHECK: %[[QS:.*]] = hopper.create_channel : <1x192x64xbf16>
// CHECK: %[[KS:.*]] = hopper.create_channel : <2x128x64xbf16>
// CHECK: %[[VS:.*]] = hopper.create_channel : <2x128x64xbf16>
// CHECK: %[[STAGING:.*]] = hopper.create_tile : <192x64xbf16>
// CHECK: %[[BOX:.*]] = hopper.create_mailbox : <3>
// CHECK-NOT: create_turns
// CHECK: hopper.warp_specialize partition @load threads(1) {
// CHECK:   %[[BLOCK:.*]] = arith.index_cast %block_id_x
// CHECK:   scf.while (%[[N:.*]] = %c0_i32, %[[KN:.*]] = %c0_i32, %[[WORK:.*]] = %[[BLOCK]])
// CHECK:     %[[TOTAL:.*]] = arith.muli
// CHECK:     %[[TOTAL:.*]] = arith.muli
// CHECK:     %[[ISWORK:.*]] = arith.cmpi slt, %[[WORK]], %[[TOTAL]]
// CHECK:     %[[GROUP:.*]] = arith.divui %[[WORK]], %{{.*}}
// CHECK:     arith.muli %[[GROUP]], %c8_i32
// CHECK:     arith.minui %{{.*}}, %c8_i32
// The end is a message, too.
// CHECK:     hopper.post %[[BOX]][%[[N]]], %{{.*}}, %{{.*}}, %{{.*}} : <3>
// CHECK:     scf.condition(%[[ISWORK]])
// CHECK:   } do {
// CHECK:     %[[NEXT:.*]] = hopper.claim %[[COUNTER]]
// CHECK:     hopper.put %[[QS]]
// CHECK:     scf.if
// CHECK:       hopper.put %[[KS]]
// CHECK:       scf.for
// CHECK:         hopper.put %[[KS]]
// CHECK:         hopper.put %[[VS]]
// CHECK:       hopper.put %[[VS]]
// CHECK:     scf.yield %{{.*}}, %{{.*}}, %[[NEXT]] : i32, i32, i32
// CHECK:   hopper.retire %[[COUNTER]]
// CHECK: } partition @compute
// CHECK:   scf.while (%[[N:.*]] = %c0_i32, %{{.*}} = %c0_i32)
// CHECK:     %[[MESSAGE:.*]]:3 = hopper.receive %[[BOX]][%[[N]]] : <3> -> i32, i32, i32
// CHECK:     %[[ISWORK:.*]] = arith.cmpi sge, %[[MESSAGE]]#0, %c0_i32
// CHECK:     scf.condition(%[[ISWORK]])
// CHECK:   ^bb0(%[[N:[^ ]*]]: i32, %[[KN:[^ ]*]]: i32,
// CHECK:     %[[QT:.*]] = hopper.get %[[QS]][%[[N]]]
// CHECK:     %[[ROWS:.*]] = hopper.rows %[[QT]]
// CHECK:     %[[Q:.*]] = hopper.load_fragment %[[ROWS]] : <64x64xbf16, of 192> -> vector<64x64xbf16>
// CHECK-NEXT: hopper.release %[[QS]][%[[N]]]
// CHECK:     scf.for %[[T:.*]] = %c0_i32 to %[[FIRST:.*]] step
// CHECK:       %[[USE:.*]] = arith.addi %[[KN]], %[[T]]
// CHECK:       hopper.get %[[KS]][%[[USE]]]
// CHECK-NEXT:  hopper.release %[[KS]][%[[USE]]]
// CHECK-NEXT:  hopper.get %[[VS]][%[[USE]]]
// CHECK-NEXT:  hopper.release %[[VS]][%[[USE]]]
// CHECK-NEXT: }
// CHECK:     %[[USE:.*]] = arith.addi %[[KN]], %[[FIRST]]
// CHECK:     hopper.get %[[KS]][%[[USE]]]
// CHECK:     hopper.mma %[[Q]], %{{.*}} : vector<64x64xbf16>, <128x64xbf16>
// The mask and the length are one limit of each query.
// CHECK-NOT: arith.cmpi sle
// CHECK:     %[[ALLOWED:.*]] = arith.cmpi slt, %{{.*}} : vector<128x64xindex>
// CHECK:     arith.select %[[ALLOWED]], %{{.*}},
// CHECK:     %[[SECOND:.*]] = arith.addi %[[FIRST]], %c1_i32
// CHECK:     scf.for %[[T:.*]] = %[[SECOND]] to
// CHECK:       %[[USE:.*]] = arith.addi %[[KN]], %[[T]]
// CHECK-NOT: take_turn
// CHECK:       hopper.get %[[KS]][%[[USE]]]
// CHECK:       hopper.mma %[[Q]],
// CHECK:       %[[S:.*]] = hopper.wait %{{.*}} in_flight 1
// CHECK-NEXT:  hopper.release %[[KS]][%[[USE]]]
// CHECK-NEXT:  hopper.reduce max %[[S]]
// CHECK-NOT: hopper.release %[[QS]]
// CHECK:     } else {
// CHECK:       hopper.release %[[QS]]
// CHECK:     hopper.rows %[[STAGING]]
// CHECK:     hopper.store
// CHECK:     %[[KN1:.*]] = arith.addi %[[KN]], %{{.*}}
// CHECK:     %[[N1:.*]] = arith.addi %[[N]], %c1_i32
// CHECK:     scf.yield %[[N1]], %[[KN1]]
func.func @causal(%q: tensor<?x4x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>) -> tensor<?x4x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x4x?x64xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x4x?x64xbf16>
  %o = tensor.empty(%b, %s) : tensor<?x4x?x64xbf16>
  %r = attn.attention schedule #hopper.schedule<tile_m = 192, tile_n = 128, registers = 160, head_group = 8, reverse, persistent, q_in_registers>
      ins(%q, %k, %v : tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>)
      outs(%o : tensor<?x4x?x64xbf16>)
      mask(%mb, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x64xbf16>
}

// -----

// As many heads take turns as have no more than some keys together.

// CHECK-LABEL: gpu.func @group(
// CHECK: %[[KEYS:.*]] = arith.maxsi %{{.*}}, %c1_i32
// CHECK: %[[FIT:.*]] = arith.divui %c65536_i32, %[[KEYS]]
// CHECK: %[[UPTO:.*]] = arith.minui %[[FIT]], %c32_i32
// CHECK: %[[MORE:.*]] = arith.maxui %[[UPTO]], %c16_i32
// CHECK: %[[HEADS:.*]] = arith.minui %[[MORE]], %{{.*}}
// CHECK: %[[SIZE:.*]] = arith.muli %{{.*}}, %[[HEADS]]
// CHECK: arith.divui %{{.*}}, %[[SIZE]]
// CHECK: } partition @compute
// CHECK-NOT: arith.divui %c65536_i32
// CHECK: gpu.return
func.func @group(%q: tensor<?x4x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>) -> tensor<?x4x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x4x?x64xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x4x?x64xbf16>
  %o = tensor.empty(%b, %s) : tensor<?x4x?x64xbf16>
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240, head_group = 16, head_group_keys = 65536, persistent>
      ins(%q, %k, %v : tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>)
      outs(%o : tensor<?x4x?x64xbf16>)
  return %r : tensor<?x4x?x64xbf16>
}

// -----

// A prefix that all queries see is in the limit of each query, too.

// CHECK-LABEL: gpu.func @prefix(
// CHECK: } partition @compute
// CHECK: %[[LATER:.*]] = arith.maxsi %{{.*}} : vector<1x64xindex>
// CHECK: %[[LIMIT:.*]] = arith.minsi %{{.*}} : vector<1x64xindex>
// CHECK-NOT: arith.ori
// CHECK: %[[LIMITS:.*]] = vector.broadcast %[[LIMIT]] : vector<1x64xindex> to vector<64x64xindex>
// CHECK: arith.cmpi slt, %{{.*}}, %[[LIMITS]] : vector<64x64xindex>
func.func @prefix(%q: tensor<?x4x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>,
                  %n: tensor<?xi32>) -> tensor<?x4x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x4x?x64xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x4x?x64xbf16>
  %o = tensor.empty(%b, %s) : tensor<?x4x?x64xbf16>
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
      ins(%q, %k, %v : tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>)
      captures(%n : tensor<?xi32>)
      outs(%o : tensor<?x4x?x64xbf16>)
      mask(%mb, %h, %i, %j, %lengths) {
        %length = tensor.extract %lengths[%mb] : tensor<?xi32>
        %end = arith.index_cast %length : i32 to index
        %past = arith.cmpi sle, %j, %i : index
        %seen = arith.cmpi slt, %j, %end : index
        %p = arith.ori %past, %seen : i1
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x64xbf16>
}

// -----

// With tiles of other extents, whether a tile is masked for a query of the
// warpgroup is asked of each one but the first.

// CHECK-LABEL: gpu.func @ranges(
// CHECK: } partition @compute
// CHECK: %[[WG:.*]] = hopper.warpgroup_id
// CHECK: %[[BEFORE:.*]] = arith.muli %[[WG]], %c64
// CHECK: scf.if
// CHECK: scf.for
// CHECK: hopper.mma
// CHECK: scf.for
// CHECK: %[[S:.*]] = hopper.wait %{{.*}} in_flight 1
// CHECK: %[[FULL:.*]] = arith.cmpi sle, %{{.*}} : index
// CHECK: %[[MASKED:.*]] = scf.if %[[FULL]] -> (vector<80x64xf32>) {
// CHECK-NEXT: scf.yield %[[S]]
// CHECK: } else {
// CHECK: arith.cmpi slt, %{{.*}} : vector<80x64xindex>
// CHECK: hopper.reduce max %[[MASKED]]
func.func @ranges(%q: tensor<?x4x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>) -> tensor<?x4x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x4x?x64xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x4x?x64xbf16>
  %o = tensor.empty(%b, %s) : tensor<?x4x?x64xbf16>
  %r = attn.attention schedule #hopper.schedule<tile_m = 192, tile_n = 80, registers = 160>
      ins(%q, %k, %v : tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>)
      outs(%o : tensor<?x4x?x64xbf16>)
      mask(%mb, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x64xbf16>
}

// -----

// Values of other extent than the keys, captures, and the logarithms of sums.
// What is the same for all tiles of keys is read before them.

// CHECK-LABEL: gpu.func @captures(
// CHECK-SAME: !hopper.map<16x32xf16> {hopper.dims = array<i64: 0, 1, 2, 3>, hopper.operand = 2 : i64}
// CHECK-SAME: %[[HEADS:[^ ]*]]: memref<4xf32, strided<[1]>> {hopper.operand = 3 : i64}
// CHECK-SAME: %[[ROWS:[^ ]*]]: memref<?xf32, strided<[1]>> {hopper.operand = 4 : i64}
// CHECK-SAME: %[[COLUMNS:[^ ]*]]: memref<?xf32, strided<[1]>> {hopper.operand = 5 : i64}
// CHECK-SAME: %[[BIAS:[^ ]*]]: memref<?x?xf16, strided<[?, 1]>> {hopper.operand = 6 : i64}
// CHECK-SAME: %[[X:[^ ]*]]: f32 {hopper.operand = 7 : i64}
// CHECK-SAME: %[[OUT:[^ ]*]]: !hopper.map<64x32xf16> {hopper.dims = array<i64: 0, 1, 2, 3>, hopper.operand = 8 : i64}
// CHECK-SAME: %[[LSE:[^ ]*]]: memref<1x4x?xf32, strided<[?, ?, 1]>> {hopper.operand = 9 : i64}
// CHECK: hopper.create_channel : <1x64x64xf16>
// CHECK: hopper.create_channel : <4x16x64xf16>
// CHECK: hopper.create_channel : <4x16x32xf16>
// The queries' memory has no room for results of another extent.
// CHECK: %[[STAGING:.*]] = hopper.create_tile : <64x32xf16>
// CHECK: } partition @compute registers
// CHECK: attn.gather %[[HEADS]][%{{.*}}] {{.*}} -> f32
// CHECK: attn.gather %[[ROWS]][%{{.*}}] {{.*}} -> vector<1x64xf32>
// CHECK: vector.broadcast %[[X]] : f32 to vector<16x64xf32>
// CHECK: %[[STATE:.*]]:3 = scf.if
// CHECK-NOT: attn.gather %[[HEADS]]
// CHECK-NOT: attn.gather %[[ROWS]]
// CHECK:   attn.gather %[[COLUMNS]][%{{.*}}] {{.*}} -> vector<16x1xf32>
// CHECK:   attn.gather %[[BIAS]][%{{.*}}, %{{.*}}] {{.*}} -> vector<16x64xf16>
// CHECK:   scf.for
// CHECK-NOT: attn.gather %[[HEADS]]
// CHECK-NOT: attn.gather %[[ROWS]]
// CHECK:     attn.gather %[[COLUMNS]][%{{.*}}] {{.*}} -> vector<16x1xf32>
// CHECK:     attn.gather %[[BIAS]][%{{.*}}, %{{.*}}] {{.*}} -> vector<16x64xf16>
// CHECK:     scf.yield
// CHECK: %[[SUM:.*]] = hopper.reduce add %[[STATE]]#2
// CHECK: %[[TILE:.*]] = hopper.rows %[[STAGING]]
// CHECK: hopper.store %{{.*}}, %[[TILE]], %[[OUT]][%c0, %[[H:.*]], %[[ROW:.*]]] : vector<32x64xf16>
// CHECK: math.log2
// CHECK: hopper.store_rows %{{.*}}, %[[LSE]][%c0, %[[H]], %[[ROW]]] dim 2 end %{{.*}} : vector<1x64xf32>
func.func @captures(%q: tensor<1x4x?x64xf16>, %k: tensor<1x4x?x64xf16>, %v: tensor<1x4x?x32xf16>,
                    %heads: tensor<4xf32>, %rows: tensor<?xf32>, %columns: tensor<?xf32>, %bias: tensor<?x?xf16>, %x: f32)
    -> (tensor<1x4x?x32xf16>, tensor<1x4x?xf32>) {
  %c2 = arith.constant 2 : index
  %s = tensor.dim %q, %c2 : tensor<1x4x?x64xf16>
  %o = tensor.empty(%s) : tensor<1x4x?x32xf16>
  %l = tensor.empty(%s) : tensor<1x4x?xf32>
  %r:2 = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, stages = 4, registers = 240>
      ins(%q, %k, %v : tensor<1x4x?x64xf16>, tensor<1x4x?x64xf16>, tensor<1x4x?x32xf16>)
      captures(%heads, %rows, %columns, %bias, %x : tensor<4xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?x?xf16>, f32)
      outs(%o, %l : tensor<1x4x?x32xf16>, tensor<1x4x?xf32>)
      score(%score, %b, %h, %i, %j, %ch, %cr, %cc, %cb, %cx) {
        %0 = tensor.extract %ch[%h] : tensor<4xf32>
        %1 = tensor.extract %cr[%i] : tensor<?xf32>
        %2 = tensor.extract %cc[%j] : tensor<?xf32>
        %3 = tensor.extract %cb[%i, %j] : tensor<?x?xf16>
        %4 = arith.extf %3 : f16 to f32
        %5 = arith.mulf %score, %0 : f32
        %6 = arith.addf %5, %1 : f32
        %7 = arith.addf %6, %2 : f32
        %8 = arith.addf %7, %4 : f32
        %9 = arith.addf %8, %cx : f32
        attn.yield %9 : f32
      }
  return %r#0, %r#1 : tensor<1x4x?x32xf16>, tensor<1x4x?xf32>
}

// -----

// Maps say which dimension is which; positions are always batch, head, row.

// CHECK-LABEL: gpu.func @bshd(
// CHECK-SAME: %[[Q:[^ ]*]]: !hopper.map<128x64xbf16> {hopper.dims = array<i64: 0, 2, 1, 3>, hopper.operand = 0 : i64}
// CHECK-SAME: %[[K:[^ ]*]]: !hopper.map<64x64xbf16> {hopper.dims = array<i64: 0, 2, 1, 3>, hopper.operand = 1 : i64}
// CHECK-SAME: index {hopper.dim = 1 : i64, hopper.operand = 3 : i64}
// CHECK-SAME: index {hopper.dim = 1 : i64, hopper.operand = 1 : i64}
// CHECK-SAME: %[[LSE:[^ ]*]]: memref<2x?x4xf32, strided<[?, ?, 1]>> {hopper.operand = 4 : i64}
// CHECK: hopper.put %{{.*}}, %[[Q]][%[[B:.*]], %[[H:.*]], %{{.*}}] :
// CHECK: hopper.put %{{.*}}, %[[K]][%[[B]], %{{.*}}, %{{.*}}] :
// CHECK: hopper.store %{{.*}}[%[[B:.*]], %[[H:.*]], %[[ROW:.*]]] :
// CHECK: hopper.store_rows %{{.*}}, %[[LSE]][%[[B]], %[[ROW]], %[[H]]] dim 1 end
func.func @bshd(%q: tensor<2x?x4x64xbf16>, %k: tensor<2x?x2x64xbf16>, %v: tensor<2x?x2x64xbf16>) -> (tensor<2x?x4x64xbf16>, tensor<2x?x4xf32>) {
  %c1 = arith.constant 1 : index
  %s = tensor.dim %q, %c1 : tensor<2x?x4x64xbf16>
  %o = tensor.empty(%s) : tensor<2x?x4x64xbf16>
  %l = tensor.empty(%s) : tensor<2x?x4xf32>
  %r:2 = attn.attention layout(bshd) schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
      ins(%q, %k, %v : tensor<2x?x4x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x2x64xbf16>)
      outs(%o, %l : tensor<2x?x4x64xbf16>, tensor<2x?x4xf32>)
  return %r#0, %r#1 : tensor<2x?x4x64xbf16>, tensor<2x?x4xf32>
}

// -----

// Rows that are known to be one tile: its first row is a constant, which may be
// that of a key, too, and no warpgroup has limits of its own.

// CHECK-LABEL: gpu.func @one_tile(
// CHECK: } partition @compute
// CHECK: scf.while
// CHECK: %[[COUNT:.*]] = arith.divui %{{.*}}, %c64_i32
// CHECK-NOT: arith.divui
// CHECK: scf.for %{{.*}} = %c1_i32 to %[[COUNT]] step
func.func @one_tile(%q: tensor<1x4x100x64xbf16>, %k: tensor<1x4x?x64xbf16>, %o: tensor<1x4x100x64xbf16>) -> tensor<1x4x100x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, persistent>
      ins(%q, %k, %k : tensor<1x4x100x64xbf16>, tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>)
      outs(%o : tensor<1x4x100x64xbf16>)
  return %r : tensor<1x4x100x64xbf16>
}

// -----

// Without queries no block is launched, and the kernel does nothing.

// CHECK-LABEL: gpu.func @no_queries()
// CHECK-NEXT: hopper.warp_specialize partition @load threads(1) {
// CHECK-NEXT: } partition @compute replicas(2) registers(240) {
// CHECK-NEXT: }
// CHECK-NEXT: gpu.return

func.func @no_queries(%q: tensor<1x2x0x64xbf16>, %k: tensor<1x2x128x64xbf16>, %o: tensor<1x2x0x64xbf16>) -> tensor<1x2x0x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_group = 1, ping_pong>
      ins(%q, %k, %k : tensor<1x2x0x64xbf16>, tensor<1x2x128x64xbf16>, tensor<1x2x128x64xbf16>)
      outs(%o : tensor<1x2x0x64xbf16>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<1x2x0x64xbf16>
}
