// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-insert-channels,hopper-specialize)))' | FileCheck %s --check-prefix=SPECIALIZE
// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-insert-channels,hopper-specialize,hopper-pipeline,canonicalize,cse)))' | FileCheck %s --check-prefix=PIPELINE
// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-insert-channels,hopper-specialize,hopper-pipeline,canonicalize,cse,hopper-insert-waits,hopper-number-channels)))' | FileCheck %s --check-prefix=NUMBER

// Blocks of a loop with classes are found for the rows of a work tile. Where the
// range depends on the rows, a warpgroup computes with the blocks that its own
// rows need, and gives the others back unread.

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1>
!map = !hopper.map<64x64xbf16>
!qmap = !hopper.map<128x64xbf16>
!tile = !hopper.tile<64x64xbf16>
!queries = !hopper.tile<128x64xbf16>

// The producer has the range of all rows, and a replica that of its own, which is
// empty without rows.
// SPECIALIZE-LABEL: gpu.func @of_rows
// SPECIALIZE: partition @load
// SPECIALIZE-NOT: own
// SPECIALIZE: hopper.pipelined_for while iter_args(
// SPECIALIZE: partition @compute replicas(2)
// SPECIALIZE: %[[ROW:.*]], %[[END:.*]] = hopper.work_rows %{{.*}} size 128 own
// SPECIALIZE: %[[LO:.*]] = attn.gather %{{.*}}[%[[ROW]]]
// SPECIALIZE: %[[LOWER:.*]] = arith.index_cast %[[LO]]
// SPECIALIZE: %[[HAS:.*]] = arith.cmpi slt, %[[ROW]], %[[END]] : index
// SPECIALIZE: %[[UPPER:.*]] = arith.select %[[HAS]], %{{.*}}, %[[LOWER]] : index
// SPECIALIZE: hopper.pipelined_for while from %[[LOWER]] to %[[UPPER]] step 64 iter_args(

// Blocks from the upper end on, and what comes for a predicate with those that are
// partial; then those that start above `lower - step`; then the rest.
// PIPELINE-LABEL: gpu.func @of_rows
// PIPELINE: partition @compute
// PIPELINE: %{{.*}}, %[[FIRST:.*]] = hopper.get %[[Q:.*]][
// PIPELINE: %[[ABOVE:.*]] = arith.subi %{{.*}}, %c63_i32
// PIPELINE-NEXT: %[[MAX:.*]] = arith.maxsi %[[ABOVE]], %c0_i32
// PIPELINE: %[[LEAST:.*]] = arith.andi %{{.*}}, %c-16_i32
// PIPELINE: %[[MOST:.*]] = arith.andi %{{.*}}, %c-16_i32
// PIPELINE: %[[CODE:.*]] = scf.while (%[[X:.*]] = %[[FIRST]]) : (i32) -> i32 {
// PIPELINE-NEXT: %[[GO:.*]] = arith.cmpi sge, %[[X]], %[[MOST]]
// PIPELINE-NEXT: scf.condition(%[[GO]]) %[[X]]
// PIPELINE: ^bb0(%[[X:.*]]: i32):
// PIPELINE: %{{.*}}, %[[NEXT:.*]] = hopper.get %[[K:.*]][
// PIPELINE: hopper.release %[[K]]
// PIPELINE: %[[FLAG:.*]] = arith.andi %[[X]], %c1_i32
// PIPELINE: %[[PARTIAL:.*]] = arith.cmpi ne, %[[FLAG]], %c0_i32
// PIPELINE: scf.if %[[PARTIAL]] {
// PIPELINE: hopper.get %[[IDS:.*]][
// PIPELINE: hopper.release %[[IDS]]
// PIPELINE: }
// PIPELINE: hopper.get %[[V:.*]][
// PIPELINE: hopper.release %[[V]]
// PIPELINE: scf.yield %[[NEXT]] : i32
// PIPELINE: %[[SOME:.*]] = arith.cmpi sge, %[[CODE]], %[[LEAST]]
// PIPELINE: %[[LEFT:.*]]:2 = scf.if %[[SOME]]
// PIPELINE: scf.while (%[[Y:[^ ]*]] = %
// PIPELINE: arith.cmpi sge, %[[Y]], %[[LEAST]]
// PIPELINE: } else {
// PIPELINE: scf.yield %[[CODE]],
// PIPELINE: scf.while (%[[Z:.*]] = %[[LEFT]]#0) : (i32) -> i32 {
// PIPELINE-NEXT: %[[GO:.*]] = arith.cmpi sge, %[[Z]], %c0_i32
// PIPELINE: hopper.release %[[V]]

// A use that is passed over counts.
// NUMBER-LABEL: gpu.func @of_rows
// NUMBER: partition @compute
// NUMBER: scf.while (%{{.*}} = %{{.*}}, %[[N:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) : (i32, i32, i32) -> (i32, i32, i32)

// The same range for all rows is that of the producer.
// SPECIALIZE-LABEL: gpu.func @of_all
// SPECIALIZE: partition @compute replicas(2)
// SPECIALIZE: hopper.pipelined_for while iter_args(
gpu.module @m {
  gpu.func @of_rows(%qmap: !qmap, %map: !map, %out: memref<?x?x?xf32>, %table: memref<?xi32>, %ids: memref<?x?xi32>, %n: index) kernel attributes {hopper.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
      %first, %end = hopper.work_rows %t of %n size 128
      %true = arith.constant true
      %lo = attn.gather %table[%first] mask %true : memref<?xi32>, (index), i1 -> i32
      %lower = arith.index_cast %lo : i32 to index
      %q = hopper.step "load_q" in "load" -> !queries {
        %x = hopper.load %qmap[%b, %h, %first] stages 1 : !qmap -> !queries
        hopper.end %x : !queries
      }
      %r = hopper.pipelined_for %j, %full = %lower to %end step 64 iter_args(%acc = %zero)
          schedule [#hopper.place<"load_k", 0>, #hopper.place<"qk", 0>, #hopper.place<"load_ids", 0>, #hopper.place<"load_v", 1>, #hopper.place<"pv", 1>, #hopper.place<"softmax", 0>] : vector<64x64xf32>
          classes(%c) {
        %needed = arith.cmpi slt, %c, %first : index
        %is_full = arith.cmpi eq, %c, %c0 : index
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
        %yes = arith.constant true
        %partial = arith.xori %full, %yes : i1
        %keys = hopper.step "load_ids" in "load" -> !hopper.tile<64xi32> {
          %x = hopper.load_vector %ids[%b, %j] zero_fill if %partial stages 2 : memref<?x?xi32> -> !hopper.tile<64xi32>
          hopper.end %x : !hopper.tile<64xi32>
        }
        %p = hopper.step "softmax" in "compute" -> vector<64x64xbf16> {
          %x = hopper.mask %s unless %full by_block {
            %own = hopper.load_fragment %keys : !hopper.tile<64xi32> -> vector<64x1xi32>
            %all = vector.broadcast %own : vector<64x1xi32> to vector<64x64xi32>
            %none = arith.constant dense<0> : vector<64x64xi32>
            %allowed = arith.cmpi ne, %all, %none : vector<64x64xi32>
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

  gpu.func @of_all(%qmap: !qmap, %map: !map, %out: memref<?x?x?xf32>, %n: index) kernel attributes {hopper.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
      %first, %end = hopper.work_rows %t of %n size 128
      %q = hopper.step "load_q" in "load" -> !queries {
        %x = hopper.load %qmap[%b, %h, %first] stages 1 : !qmap -> !queries
        hopper.end %x : !queries
      }
      %r = hopper.pipelined_for %j, %full = %c0 to %n step 64 iter_args(%acc = %zero)
          schedule [#hopper.place<"load_k", 0>, #hopper.place<"qk", 0>] : vector<64x64xf32>
          classes(%c) {
        %needed = arith.cmpi slt, %c, %first : index
        hopper.end %needed, %needed : i1, i1
      } {
        %k = hopper.step "load_k" in "load" -> !tile {
          %x = hopper.load %map[%b, %h, %j] stages 2 : !map -> !tile
          hopper.end %x : !tile
        }
        %s = hopper.step "qk" in "compute" -> vector<64x64xf32> {
          %rows = hopper.own_rows %q : !queries -> !hopper.tile<64x64xbf16, of 128>
          %x = hopper.dot %rows, %k acc %acc : !hopper.tile<64x64xbf16, of 128>, !tile, vector<64x64xf32> -> vector<64x64xf32>
          hopper.end %x : vector<64x64xf32>
        }
        hopper.end %s : vector<64x64xf32>
      }
      hopper.step "store" in "compute" {
        %x = hopper.reduce max %r : vector<64x64xf32> -> vector<1x64xf32>
        hopper.store_rows %x, %out[%b, %h, %first] dim 2 end %end : vector<1x64xf32>, memref<?x?x?xf32>
        hopper.end
      }
    }
    gpu.return
  }
}
