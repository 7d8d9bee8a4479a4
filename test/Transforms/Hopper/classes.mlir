// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-insert-channels)))' | FileCheck %s --check-prefix=CHANNELS
// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-insert-channels,hopper-check-protocol,hopper-specialize)))' | FileCheck %s --check-prefix=SPECIALIZE
// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-insert-channels,hopper-specialize,hopper-pipeline,canonicalize,cse)))' | FileCheck %s --check-prefix=PIPELINE
// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-insert-channels,hopper-specialize,hopper-pipeline,canonicalize,cse,hopper-insert-waits,hopper-number-channels)))' | FileCheck %s --check-prefix=NUMBER

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1>
!map = !hopper.map<64x64xbf16>
!qmap = !hopper.map<128x64xbf16>
!tile = !hopper.tile<64x64xbf16>
!queries = !hopper.tile<128x64xbf16>

// Two channels have a payload: the one of what comes in front of the loop, and that
// of what comes first in an iteration.

// CHANNELS-DAG: %[[V:.*]] = hopper.create_channel : <2x64x64xbf16>{{$}}
// CHANNELS-DAG: %[[K:.*]] = hopper.create_channel : <2x64x64xbf16, payload>
// CHANNELS-DAG: %[[Q:.*]] = hopper.create_channel : <1x128x64xbf16, payload>
// CHANNELS: hopper.step "load_q" in "load" {
// CHANNELS: %[[X:.*]] = hopper.next_block
// CHANNELS-NEXT: hopper.put %[[Q]]{{.*}} payload %[[X]]
// CHANNELS: hopper.step "load_q.get" in "compute"
// CHANNELS: %{{.*}}, %{{.*}} = hopper.get %[[Q]]
// CHANNELS: hopper.pipelined_for
// CHANNELS: %[[X:.*]] = hopper.next_block
// CHANNELS-NEXT: hopper.put %[[K]]{{.*}} payload %[[X]]
// CHANNELS: %{{.*}}, %{{.*}} = hopper.get %[[K]]
// CHANNELS: hopper.put %[[V]]
// CHANNELS-NOT: payload
// CHANNELS: %{{[^,]*}} = hopper.get %[[V]]

// A warp finds the blocks, 32 at a time, from the last one: first for what comes
// with the queries, and then a step of the loop. The others have them from the
// payload, with no range of their own, and read nothing that classes need.

// SPECIALIZE: hopper.warp_specialize partition @load warps(1) {
// SPECIALIZE: hopper.work_loop
// SPECIALIZE: %[[LANE:[0-9]+]] = gpu.lane_id
// SPECIALIZE: %[[THREAD:[0-9]+]] = arith.index_cast %[[LANE]]
// SPECIALIZE: %[[COUNT:.*]] = arith.divui
// SPECIALIZE: %[[LAST:.*]] = arith.subi %[[COUNT]]
// SPECIALIZE: %[[FOUND:.*]]:3 = scf.while (%[[BASE:.*]] = %c-32_i32, %[[BITS:.*]] = %c0_i32{{.*}}, %{{.*}} = %c0_i32
// SPECIALIZE: arith.cmpi eq, %[[BITS]]
// SPECIALIZE: scf.condition
// SPECIALIZE: %[[WHICH:.*]] = arith.addi %{{.*}}, %[[THREAD]]
// SPECIALIZE: %[[IS:.*]] = arith.cmpi slt, %[[WHICH]], %[[COUNT]]
// SPECIALIZE: arith.minsi %[[WHICH]], %[[LAST]]
// SPECIALIZE: %[[POSITION:.*]] = hopper.position
// SPECIALIZE: attn.gather %{{.*}}[%[[POSITION]]]
// SPECIALIZE: %[[NEEDED:.*]] = arith.andi %[[IS]]
// SPECIALIZE: hopper.ballot %[[NEEDED]]
// SPECIALIZE: hopper.ballot
// SPECIALIZE: math.cttz %[[FOUND]]#1
// SPECIALIZE: %[[FIRST:.*]] = arith.select %{{.*}}, %{{.*}}, %c-1_i32
// SPECIALIZE: hopper.step "load_q" in "load"
// SPECIALIZE: hopper.put {{.*}} payload %[[FIRST]]
// SPECIALIZE: hopper.pipelined_for while iter_args(%[[CODE:.*]] = %[[FIRST]], {{.*}})
// SPECIALIZE-NEXT: schedule [#hopper.place<"blocks.search", 0>, #hopper.place<"load_k", 0>, #hopper.place<"load_v", 1>] : i32, i32, i32, i32 {
// SPECIALIZE: %[[AT:.*]] = arith.andi %[[CODE]], %c-16_i32
// SPECIALIZE: %[[J:.*]] = hopper.position %[[AT]]
// SPECIALIZE: %[[NEXT:.*]]:4 = hopper.step "blocks.search" in "load" -> i32, i32, i32, i32 {
// SPECIALIZE: hopper.put {{.*}}[%{{.*}}, %{{.*}}, %[[J]]] payload %[[NEXT]]#0
// SPECIALIZE: hopper.end %[[NEXT]]#0, %[[NEXT]]#1, %[[NEXT]]#2, %[[NEXT]]#3
// SPECIALIZE: partition @compute replicas(2)
// SPECIALIZE-NOT: attn.gather
// SPECIALIZE: %[[Q:.*]]:2 = hopper.step "load_q.get" in "compute" -> !hopper.tile<128x64xbf16>, i32 {
// SPECIALIZE: %{{.*}}:2 = hopper.pipelined_for while iter_args(%[[CODE:.*]] = %[[Q]]#1, %{{.*}} = %{{.*}})
// SPECIALIZE-NEXT: schedule [#hopper.place<"qk", 0>, #hopper.place<"pv", 1>, #hopper.place<"softmax", 0>] : i32, vector<64x64xf32> {
// SPECIALIZE: %[[FLAG:.*]] = arith.andi %[[CODE]], %c1_i32
// SPECIALIZE: %[[FULL:.*]] = arith.cmpi eq, %[[FLAG]]
// SPECIALIZE: %[[S:.*]]:2 = hopper.step "qk" in "compute" -> vector<64x64xf32>, i32 {
// SPECIALIZE: hopper.mask %[[S]]#0 unless %[[FULL]] by_block
// SPECIALIZE: hopper.end %[[S]]#1, %{{.*}} : i32, vector<64x64xf32>

// The first block has a prologue and its predicate in any case; the loop goes on
// while there is a next one; values come for the block before.

// PIPELINE: partition @load
// PIPELINE: hopper.put %[[Q:[0-9]+]][%{{.*}}] payload
// PIPELINE: %[[SOME:.*]] = arith.cmpi sge
// PIPELINE: scf.if %[[SOME]] {
// PIPELINE: hopper.put %[[K:[0-9]+]][%{{.*}}] payload %[[SECOND:[^ ]*]]
// PIPELINE: %[[END:.*]]:{{.*}} = scf.while (%[[NEXT:.*]] = %[[SECOND]],
// PIPELINE: %[[GO:.*]] = arith.cmpi sge, %[[NEXT]], %c0_i32
// PIPELINE-NEXT: scf.condition(%[[GO]])
// PIPELINE: hopper.put %[[K]]
// PIPELINE: hopper.put %[[V:[0-9]+]][%{{[^]]*}}], %{{[^ ]*}}[
// PIPELINE: }
// PIPELINE: hopper.put %[[V]]
// PIPELINE: partition @compute
// PIPELINE: %{{.*}}, %[[FIRST:.*]] = hopper.get %[[Q]]
// PIPELINE: %[[SOME:.*]] = arith.cmpi sge, %[[FIRST]], %c0_i32
// PIPELINE: scf.if %[[SOME]]
// PIPELINE: %{{.*}}, %[[SECOND:.*]] = hopper.get %[[K]]
// PIPELINE: hopper.mask %{{.*}} always
// PIPELINE: scf.while (%[[NEXT:[^ ]*]] = %[[SECOND]],
// PIPELINE: %[[GO:.*]] = arith.cmpi sge, %[[NEXT]], %c0_i32
// PIPELINE-NEXT: scf.condition(%[[GO]])
// PIPELINE: hopper.get %[[K]]
// PIPELINE: hopper.get %[[V]]
// PIPELINE: hopper.mask %{{.*}} by_block
// PIPELINE: hopper.get %[[V]]
// PIPELINE: } else {

// Uses are carried by a loop of unknown length, as one value where they grow
// alike. What the next probabilities are written to is read no more.

// NUMBER: partition @compute
// NUMBER: hopper.work_loop ({{.*}}) in ({{.*}}) iter_args(%[[USES:.*]] = %{{.*}}) : i32 {
// NUMBER: hopper.get %[[K:.*]][%[[USES]]]
// NUMBER: %[[END:.*]]:4 = scf.while ({{.*}}, %{{[^ ]*}} = %[[USES]])
// NUMBER: ^bb0(%{{.*}}: i32, %{{.*}}: vector<64x64xf32>, %[[P:.*]]: vector<64x64xbf16>, %[[N:.*]]: i32):
// NUMBER: %[[OWN:.*]] = arith.addi %[[N]], %c1_i32
// NUMBER: hopper.get %[[K]][%[[OWN]]]
// NUMBER: hopper.get %[[V:.*]][%[[N]]]
// NUMBER: %[[O:.*]] = hopper.mma %[[P]]
// NUMBER: hopper.wait %[[O]] in_flight 0
// NUMBER-NEXT: hopper.release %[[V]]
// NUMBER: arith.truncf
// NUMBER: scf.yield
// NUMBER: hopper.get %[[V]][%[[END]]#3]
gpu.module @m {
  gpu.func @searched(%qmap: !qmap, %map: !map, %out: memref<?x?x?xf32>, %table: memref<?xi32>, %n: index) kernel attributes {hopper.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
      %first, %end = hopper.work_rows %t of %n size 128
      %q = hopper.step "load_q" in "load" -> !queries {
        %x = hopper.load %qmap[%b, %h, %first] stages 1 : !qmap -> !queries
        hopper.end %x : !queries
      }
      %r = hopper.pipelined_for %j, %full = %c0 to %n step 64 iter_args(%acc = %zero)
          schedule [#hopper.place<"load_k", 0>, #hopper.place<"qk", 0>, #hopper.place<"load_v", 1>, #hopper.place<"pv", 1>, #hopper.place<"softmax", 0>] : vector<64x64xf32>
          classes(%c) {
        %true = arith.constant true
        %x = attn.gather %table[%c] mask %true : memref<?xi32>, (index), i1 -> i32
        %y = arith.index_cast %x : i32 to index
        %needed = arith.cmpi slt, %y, %first : index
        %is_full = arith.cmpi eq, %y, %first : index
        hopper.end %needed, %is_full : i1, i1
      } {
        %k = hopper.step "load_k" in "load" -> !tile {
          %x = hopper.load %map[%b, %h, %j] stages 2 : !map -> !tile
          hopper.end %x : !tile
        }
        %s = hopper.step "qk" in "compute" -> vector<64x64xf32> {
          %rows = hopper.own_rows %q : !queries -> !hopper.tile<64x64xbf16, of 128>
          %x = hopper.dot %rows, %k : !hopper.tile<64x64xbf16, of 128>, !tile -> vector<64x64xf32>
          hopper.end %x : vector<64x64xf32>
        }
        %p = hopper.step "softmax" in "compute" -> vector<64x64xbf16> {
          %x = hopper.mask %s unless %full by_block {
            %allowed = arith.constant dense<true> : vector<64x64xi1>
            hopper.end %allowed : vector<64x64xi1>
          } : vector<64x64xf32>
          %y = arith.truncf %x : vector<64x64xf32> to vector<64x64xbf16>
          hopper.end %y : vector<64x64xbf16>
        }
        %v = hopper.step "load_v" in "load" -> !tile {
          %x = hopper.load %map[%b, %h, %j] stages 2 : !map -> !tile
          hopper.end %x : !tile
        }
        %o = hopper.step "pv" in "compute" -> vector<64x64xf32> {
          %x = hopper.dot %p, %v acc %acc rhs_transposed : vector<64x64xbf16>, !tile, vector<64x64xf32> -> vector<64x64xf32>
          hopper.end %x : vector<64x64xf32>
        }
        hopper.end %o : vector<64x64xf32>
      }
      hopper.step "store" in "compute" {
        %x = hopper.reduce max %r : vector<64x64xf32> -> vector<1x64xf32>
        hopper.store_rows %x, %out[%b, %h, %first] dim 2 end %end : vector<1x64xf32>, memref<?x?x?xf32>
        hopper.end
      }
    }
    gpu.return
  }

  // What a class depends on is computed in front of the search, wherever it was.

  // SPECIALIZE: gpu.func @late_inputs
  // SPECIALIZE: hopper.work_loop
  // SPECIALIZE: %[[LIMIT:.*]] = attn.gather
  // SPECIALIZE: gpu.lane_id
  // SPECIALIZE: arith.cmpi slt, %{{.*}}, %[[LIMIT]]
  // SPECIALIZE: hopper.ballot
  // SPECIALIZE: hopper.step "load_q" in "load"
  gpu.func @late_inputs(%map: !map, %table: memref<?xindex>, %n: index) kernel attributes {hopper.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
      %q = hopper.step "load_q" in "load" -> !tile {
        %x = hopper.load %map[%b, %h, %t] stages 1 : !map -> !tile
        hopper.end %x : !tile
      }
      %true = arith.constant true
      %limit = attn.gather %table[%t] mask %true : memref<?xindex>, (index), i1 -> index
      hopper.pipelined_for %j, %full = %c0 to %n step 64 schedule [#hopper.place<"load_k", 0>, #hopper.place<"use", 0>]
          classes(%c) {
        %needed = arith.cmpi slt, %c, %limit : index
        hopper.end %needed, %true : i1, i1
      } {
        %k = hopper.step "load_k" in "load" -> !tile {
          %x = hopper.load %map[%b, %h, %j] stages 2 : !map -> !tile
          hopper.end %x : !tile
        }
        hopper.step "use" in "compute" {
          %x = hopper.dot %q, %k : !tile, !tile -> vector<64x64xf32>
          hopper.end
        }
      }
    }
    gpu.return
  }
}
