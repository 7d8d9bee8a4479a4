// Tiles of queries that overlap: the first scores of the next one are started
// with the last values of this one, in both roles.

// RUN: attn-opt %s --attn-destination-arguments --canonicalize --cse --attn-canonicalize-score --attn-online-softmax --attn-classify-blocks --attn-tile --canonicalize --cse --attn-hopper-schedule --canonicalize --cse --split-input-file | FileCheck %s

// CHECK-LABEL: gpu.func @causal(
// CHECK-DAG: %[[QS:.*]] = hopper.create_channel : <1x128x64xbf16>
// CHECK: %[[KS:.*]] = hopper.create_channel : <2x128x64xbf16>
// CHECK: %[[VS:.*]] = hopper.create_channel : <2x128x64xbf16>
// CHECK: %[[STAGING:.*]] = hopper.create_tile
// CHECK: %[[BOX:.*]] = hopper.create_mailbox
// CHECK: %[[TURNS:.*]] = hopper.create_turns

// Before the first tile comes one that is none, with the number after the last
// one, and no keys but one tile, which reads as 0.
// CHECK: hopper.warp_specialize partition @load threads(1) {
// CHECK-NOT: hopper.put
// CHECK:   scf.while (%[[N:.*]] = %c0_i32, %[[KN:.*]] = %c-1_i32, %{{.*}} = %c0_i32, %{{.*}} = %c0_i32, %[[TILE:.*]] = %[[NONE:[^ ,)]*]])
// CHECK:     %[[FIRST:.*]] = arith.cmpi eq, %[[N]], %c0_i32
// CHECK:     scf.if %[[FIRST]] -> (i32) {
// CHECK:       gpu.block_id
// CHECK:     } else {
// CHECK-NEXT:  hopper.claim
// CHECK:     %[[ISNONE:.*]] = arith.cmpi eq, %[[TILE]], %[[NONE]]
// CHECK:     %[[LENGTH:.*]] = arith.select %[[ISNONE]], %c0_i32, %{{.*}}
// CHECK:     %[[EMPTY:.*]] = arith.cmpi eq, %[[LENGTH]], %c0_i32
// CHECK:     arith.select %[[EMPTY]], %c1073741824_i32,
// CHECK:     arith.maxsi %[[LENGTH]], %c1_i32
// CHECK:     %[[VN:.*]] = arith.addi %[[KN]], %c1_i32
// CHECK:     scf.for %[[T:.*]] = %c1_i32 to %[[COUNT:.*]] step
// CHECK:       hopper.put %[[KS]]
// CHECK:       hopper.put %[[VS]]
// CHECK:     hopper.post %[[BOX]][%[[N]]], %[[ID:[^,]*]],
// CHECK:     %[[EXISTS:.*]] = arith.cmpi sge, %[[ID]], %c0_i32
// CHECK:     arith.select %[[EXISTS]], %{{.*}}, %[[NONE]]
// CHECK:     %[[KN1:.*]] = arith.addi %[[KN]], %[[COUNT]]
// CHECK:     hopper.put %[[QS]][%[[N]]]
// CHECK:     hopper.put %[[KS]][%[[KN1]]]
// CHECK:     hopper.put %[[VS]]
// CHECK:     %[[N1:.*]] = arith.addi %[[N]], %c1_i32
// CHECK:     scf.condition(%[[EXISTS]]) %[[N1]], %[[KN1]],

// CHECK: } partition @compute
// CHECK:   scf.while (%[[N:.*]] = %c0_i32, %[[KN:.*]] = %c-1_i32, %{{.*}}, %[[P:[^ ]*]] = %{{[^ ]*}}, %[[SHIFT:[^ ]*]] = %{{[^ ]*}}, %[[SUM:[^ ]*]] = %{{[^ ]*}}, %[[Q:[^ ]*]] = %{{[^ ]*}})
// CHECK:     %[[LAST:.*]]:4 = scf.for %{{.*}} = %c1_i32 to %{{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %[[SHIFT]], %{{.*}} = %[[SUM]], %{{.*}} = %[[P]])
// CHECK:       hopper.mma %[[Q]],

// All warpgroups have all tiles of keys, of which only the first can be partial.
// CHECK-NOT: scf.if {{.*}} -> (vector<128x64xf32>)
// CHECK:     %[[MESSAGE:.*]]:3 = hopper.receive %[[BOX]][%[[N]]]
// CHECK:     %[[EXISTS:.*]] = arith.cmpi sge, %[[MESSAGE]]#0, %c0_i32
// CHECK:     %[[ID0:.*]] = arith.select %[[EXISTS]], %[[MESSAGE]]#0, %c0_i32
// CHECK:     %[[KN1:.*]] = arith.addi %[[KN]],
// CHECK:     %[[NEXT:.*]] = hopper.load_fragment
// CHECK-NEXT: hopper.release %[[QS]][%[[N]]]
// CHECK-NEXT: %[[K:.*]] = hopper.get %[[KS]][%[[KN1]]]
// CHECK-NEXT: hopper.take_turn %[[TURNS]]
// CHECK-NEXT: %[[SP:.*]] = hopper.mma %[[NEXT]], %[[K]]
// CHECK-NEXT: %[[V:.*]] = hopper.get %[[VS]]
// CHECK-NEXT: %[[OP:.*]] = hopper.mma %[[LAST]]#3, %[[V]] acc %[[LAST]]#0
// CHECK-NEXT: hopper.pass_turn %[[TURNS]]
// CHECK-NEXT: %[[S:.*]] = hopper.wait %[[SP]] in_flight 1
// CHECK-NEXT: hopper.release %[[KS]][%[[KN1]]]
// CHECK:     arith.select %{{.*}}, %[[S]],
// CHECK:     %[[O:.*]] = hopper.wait %[[OP]] in_flight 0

// Results have the sum of this tile, not of the next one.
// CHECK:     hopper.reduce add %[[LAST]]#2
// CHECK:     hopper.store
// CHECK:     %[[N1:.*]] = arith.addi %[[N]], %c1_i32
// CHECK:     scf.condition(%[[EXISTS]]) %[[N1]], %[[KN1]], %[[ID0]], %{{.*}}, %[[NEXT]]
func.func @causal(%q: tensor<?x4x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>) -> tensor<?x4x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x4x?x64xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x4x?x64xbf16>
  %o = tensor.empty(%b, %s) : tensor<?x4x?x64xbf16>
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 128, registers = 232, head_group = 8, reverse, persistent, ping_pong, q_in_registers, overlap_tiles>
      ins(%q, %k, %v : tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>)
      outs(%o : tensor<?x4x?x64xbf16>)
      mask(%mb, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x64xbf16>
}

// -----

// With fewer keys in a tile than queries, each asks for its class.

// CHECK-LABEL: gpu.func @branch(
// CHECK: } partition @compute
// CHECK: scf.while
// CHECK: scf.for
// CHECK: %[[S:.*]] = hopper.wait %{{.*}} in_flight 1
// CHECK: scf.if %{{.*}} -> (vector<64x64xf32>) {
func.func @branch(%q: tensor<?x4x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>) -> tensor<?x4x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x4x?x64xbf16>
  %s = tensor.dim %q, %c2 : tensor<?x4x?x64xbf16>
  %o = tensor.empty(%b, %s) : tensor<?x4x?x64xbf16>
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, head_group = 8, reverse, persistent, ping_pong, q_in_registers, overlap_tiles>
      ins(%q, %k, %v : tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>)
      outs(%o : tensor<?x4x?x64xbf16>)
      mask(%mb, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x64xbf16>
}
