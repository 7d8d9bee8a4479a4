// RUN: attn-opt %s --attn-destination-arguments --canonicalize --cse --attn-canonicalize-score --attn-online-softmax --attn-classify-blocks --attn-lift-mask --attn-tile --canonicalize --cse --attn-hopper-schedule --canonicalize --cse | FileCheck %s

// The producer finds the tiles that a mask needs, 32 at a time, and tells the
// consumers: the queries come with the code of the first tile, keys with that
// of the next one. Where the mask asks for documents, kernels fill tables of
// their ranges before.

func.func @documents(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %v: tensor<2x2x?x64xbf16>, %o: tensor<2x4x?x64xbf16>, %doc: tensor<2x?xi32>) -> tensor<2x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240, persistent, ping_pong>
      ins(%q, %k, %v : tensor<2x4x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      captures(%doc : tensor<2x?xi32>)
      outs(%o : tensor<2x4x?x64xbf16>)
      mask(%b, %h, %i, %j, %d) {
        %x = tensor.extract %d[%b, %i] : tensor<2x?xi32>
        %y = tensor.extract %d[%b, %j] : tensor<2x?xi32>
        %p = arith.cmpi eq, %x, %y : i32
        attn.yield %p : i1
      }
  return %r : tensor<2x4x?x64xbf16>
}

// Tiles of queries, and of keys.
// CHECK: gpu.func @documents_summary0(
// CHECK-SAME: memref<2x?xi32, strided<[?, 1]>> {hopper.operand = 4 : i64}
// CHECK-SAME: memref<2x1x?xi32, strided<[?, ?, 1]>> {hopper.operand = 6 : i64}
// CHECK-SAME: memref<2x1x?xi32, strided<[?, ?, 1]>> {hopper.operand = 7 : i64}
// CHECK-SAME: attributes {hopper.elements = 6 : i64, hopper.threads = 128 : i64}
// CHECK:   %[[LANE:.*]] = gpu.lane_id
// A warp for each element, whose threads share out the loop.
// CHECK:   %[[WARP:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
// CHECK:   %[[IN:.*]] = arith.cmpi slt, %[[WARP]],
// CHECK:   scf.if %[[IN]] {
// CHECK:     %[[FROM:.*]] = arith.addi %{{.*}}, %[[LANE]] : index
// CHECK:     %[[OWN:.*]]:2 = scf.for %{{.*}} = %[[FROM]] to %{{.*}} step %c32
// CHECK:       attn.gather
// CHECK:       arith.minsi
// CHECK:       arith.maxsi
// CHECK:     gpu.subgroup_reduce minsi %[[OWN]]#0 uniform : (i32) -> i32
// CHECK:     gpu.subgroup_reduce maxsi %[[OWN]]#1 uniform : (i32) -> i32
// CHECK:     scf.if %{{.*}} {
// CHECK-NEXT:  memref.store
// CHECK-NEXT:  memref.store
// CHECK: gpu.func @documents_summary1(
// CHECK-SAME: hopper.elements = 8 : i64

// The first and the last tile of keys that a tile of queries needs.
// CHECK: gpu.func @documents_summary2(
// CHECK-SAME: hopper.elements = 10 : i64
// CHECK:     %[[TILES:.*]] = arith.ceildivui
// CHECK:     %[[MANY:.*]] = arith.index_cast %[[TILES]] : index to i32
// CHECK-NEXT: %{{.*}}:2 = scf.for %[[T:.*]] = %{{.*}} to %{{.*}} step %c32 iter_args(%[[FIRST:.*]] = %[[MANY]], %[[LAST:.*]] = %c-1_i32)
// CHECK-COUNT-4: attn.gather
// CHECK:       %[[NEEDED:.*]] = arith.andi
// CHECK:       %[[TILE:.*]] = arith.index_cast %[[T]] : index to i32
// CHECK:       %[[X:.*]] = arith.select %[[NEEDED]], %[[TILE]], %[[MANY]]
// CHECK:       arith.minsi %[[FIRST]], %[[X]]
// CHECK:       %[[Y:.*]] = arith.select %[[NEEDED]], %[[TILE]], %c-1_i32
// CHECK:       arith.maxsi %[[LAST]], %[[Y]]

// CHECK: gpu.func @documents(
// CHECK-SAME: hopper.tables = {first = 6 : i64, tables = [
// CHECK-SAME:   {bytes = 4 : i64, extents = [{extent = 2 : i64}, {extent = 1 : i64}, {dim = 2 : i64, divisor = 128 : i64, operand = 0 : i64}]},
// CHECK-SAME:   {bytes = 4 : i64, extents = [{extent = 2 : i64}, {extent = 1 : i64}, {dim = 2 : i64, divisor = 128 : i64, operand = 0 : i64}]},
// CHECK-SAME:   {bytes = 4 : i64, extents = [{extent = 2 : i64}, {extent = 1 : i64}, {dim = 2 : i64, divisor = 64 : i64, operand = 1 : i64}]},
// CHECK-SAME:   {bytes = 4 : i64, extents = [{extent = 2 : i64}, {extent = 1 : i64}, {dim = 2 : i64, divisor = 64 : i64, operand = 1 : i64}]},
// CHECK-SAME:   {bytes = 4 : i64, extents = [{extent = 2 : i64}, {extent = 1 : i64}, {dim = 2 : i64, divisor = 128 : i64, operand = 0 : i64}]},
// CHECK-SAME:   {bytes = 4 : i64, extents = [{extent = 2 : i64}, {extent = 1 : i64}, {dim = 2 : i64, divisor = 128 : i64, operand = 0 : i64}]}]}
// CHECK: %[[QS:.*]] = hopper.create_channel : <2x128x64xbf16, notes>
// CHECK: %[[KS:.*]] = hopper.create_channel : <2x64x64xbf16, notes>
// CHECK: %[[VS:.*]] = hopper.create_channel : <2x64x64xbf16>
// CHECK: hopper.warp_specialize partition @load warps(1) {
// CHECK:   scf.while
// CHECK:   ^bb0(%{{[^:]*}}: i32, %[[KN:[^:]*]]: i32,
// Where its tiles are; and the range of the queries, once.
// CHECK-COUNT-4: attn.gather
// Until a tile is found, or there is none.
// CHECK:     %[[FOUND:.*]]:3 = scf.while (%[[BASE:.*]] = %c-32_i32, %[[BITS:.*]] = %c0_i32, %[[FULL:.*]] = %c0_i32)
// CHECK:       %[[NONE:.*]] = arith.cmpi eq, %[[BITS]], %c0_i32
// CHECK:       %[[NEXT:.*]] = arith.addi %[[BASE]], %c32_i32
// CHECK:       %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]],
// CHECK:       %[[GO:.*]] = arith.andi %[[NONE]], %[[MORE]]
// CHECK:       scf.condition(%[[GO]])
// CHECK:       attn.gather
// CHECK:       hopper.ballot
// CHECK:       hopper.ballot
// CHECK:     math.cttz %[[FOUND]]#1
// CHECK:     %[[FIRST:.*]] = arith.select %{{.*}}, %{{.*}}, %c-1_i32
// CHECK:     hopper.put %[[QS]][%{{.*}}], %{{.*}} note %[[FIRST]]
// CHECK:     %[[SOME:.*]] = arith.cmpi sge, %[[FIRST]], %c0_i32
// CHECK:     %[[KN1:.*]] = scf.if %[[SOME]] -> (i32) {
// CHECK:       %[[SECOND:.*]] = arith.select %{{.*}}, %{{.*}}, %c-1_i32
// CHECK:       %[[AT:.*]] = arith.andi %[[FIRST]], %c-16_i32
// CHECK:       %[[KEY:.*]] = hopper.position %[[AT]]
// CHECK:       hopper.put %[[KS]][%[[KN]]], %{{.*}}[%{{.*}}, %{{.*}}, %[[KEY]]] note %[[SECOND]]
// CHECK:       %[[LOOP:.*]]:6 = scf.while (%[[USE:.*]] = %{{.*}}, %[[TILE:.*]] = %[[SECOND]], %{{.*}} = %[[FIRST]],
// CHECK:         %[[IS:.*]] = arith.cmpi sge, %[[TILE]], %c0_i32
// CHECK:         scf.condition(%[[IS]])
// CHECK:         hopper.put %[[KS]]
// CHECK:         hopper.put %[[VS]]
// CHECK:       hopper.put %[[VS]]
// CHECK:       scf.yield %[[LOOP]]#0
// CHECK:     } else {
// CHECK:       scf.yield %[[KN]]

// CHECK: } partition @compute
// CHECK:   %[[QT:.*]], %[[QN:.*]] = hopper.get %[[QS]]
// CHECK:   %[[SOME:.*]] = arith.cmpi sge, %[[QN]], %c0_i32
// CHECK:   scf.if %[[SOME]]
// The first tile has its predicate, whose keys are read beside the product.
// CHECK:     %[[KT:.*]], %[[K1:.*]] = hopper.get %[[KS]]
// CHECK:     %[[S:.*]] = hopper.mma {{.*}}, %[[KT]]
// CHECK:     attn.gather {{.*}} -> vector<64x1xi32>
// CHECK:     hopper.wait %[[S]]
// CHECK-NOT: attn.gather
// CHECK:     arith.select %{{.*}} : vector<64x64xi1>, vector<64x64xf32>
// CHECK:     scf.while (%[[USE:.*]] = %{{.*}}, %[[TILE:.*]] = %[[K1]],
// CHECK:       %[[IS:.*]] = arith.cmpi sge, %[[TILE]], %c0_i32
// CHECK:       scf.condition(%[[IS]])
// CHECK:     ^bb0(%[[USE:[^:]*]]: i32, %[[TILE:[^:]*]]: i32,
// CHECK:       %[[KT:.*]], %[[KNOTE:.*]] = hopper.get %[[KS]][%[[USE]]]
// CHECK:       %[[PREVIOUS:.*]] = arith.subi %[[USE]], %c1_i32
// CHECK:       %[[FLAG:.*]] = arith.andi %[[TILE]], %c1_i32
// CHECK:       %[[FULL:.*]] = arith.cmpi eq, %[[FLAG]], %c0_i32
// CHECK:       hopper.get %[[VS]][%[[PREVIOUS]]]
// CHECK:       hopper.release %[[KS]][%[[USE]]]
// CHECK:       scf.if %[[FULL]]
// CHECK:         attn.gather {{.*}} -> vector<64x1xi32>
// CHECK:       hopper.release %[[VS]][%[[PREVIOUS]]]
// CHECK:       %[[USE1:.*]] = arith.addi %[[USE]], %c1_i32
// CHECK:       scf.yield %[[USE1]], %[[KNOTE]],

// What the predicate reads for the queries is read once, before all tiles, and
// so is where, though the scores of the first tile have needed it before.

func.func @distances(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %v: tensor<2x2x?x64xbf16>, %o: tensor<2x4x?x64xbf16>, %doc: tensor<2x?xi32>) -> tensor<2x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240, persistent, ping_pong>
      ins(%q, %k, %v : tensor<2x4x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      captures(%doc : tensor<2x?xi32>)
      outs(%o : tensor<2x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %c) {
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %y = arith.addf %s, %df : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %c) {
        %mine = tensor.extract %c[%b, %i] : tensor<2x?xi32>
        %its = tensor.extract %c[%b, %j] : tensor<2x?xi32>
        %p = arith.cmpi eq, %mine, %its : i32
        attn.yield %p : i1
      }
  return %r : tensor<2x4x?x64xbf16>
}

// CHECK-LABEL: gpu.func @distances(
// CHECK: } partition @compute
// CHECK:   attn.gather {{.*}} -> vector<1x64xi32>
// CHECK:   scf.if
// CHECK-NOT: attn.gather {{.*}} -> vector<1x64xi32>
// CHECK:   gpu.return
