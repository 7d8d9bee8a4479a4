// RUN: attn-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-lower-work-loop)))' | FileCheck %s

#persistent = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_swizzle = 4, longest_first, persistent>
#short = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, longest_first_rows = 1024, longest_first_least_tiles = 64>
#single = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1>

gpu.module @m {
  // Who copies tells the others which work tile it is, and fetches the next one
  // when it has started its copies.

  // CHECK-LABEL: gpu.func @persistent
  // CHECK: %[[MAIL:.*]] = hopper.create_work_queue
  // CHECK: partition @load
  // CHECK: scf.while
  // CHECK: hopper.post %[[MAIL]]
  // CHECK: hopper.position %{{.*}} of 128
  // CHECK: hopper.put
  // CHECK: hopper.fetch_next
  // CHECK: hopper.reset_counter
  // CHECK: partition @compute
  // CHECK-NOT: hopper.fetch_next
  // CHECK: hopper.receive %[[MAIL]]
  // CHECK-NOT: hopper.work_
  gpu.func @persistent(%counter: memref<2xi32>, %out: memref<?x?x?xf32>, %map: !hopper.map<64x64xbf16>, %n: index, %v: vector<1x64xf32>)
      kernel attributes {hopper.schedule = #persistent} {
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize
    partition @load threads(1) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) counter %counter : memref<2xi32> {
        %first, %end = hopper.work_rows %t of %n size 128
        hopper.put %ch[%number], %map[%b, %h, %first] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute replicas(2) registers(240) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) counter %counter : memref<2xi32> {
        %first, %end = hopper.work_rows %t of %n size 128 own
        %tile = hopper.get %ch[%number] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %ch[%number] : !hopper.channel<2x64x64xbf16>
        hopper.store_rows %v, %out[%b, %h, %first] dim 2 end %end : vector<1x64xf32>, memref<?x?x?xf32>
      }
    }
    gpu.return
  }

  // Work tiles that wait for those before them: the first one is fetched, too,
  // and who holds turns is told.

  // CHECK-LABEL: gpu.func @turns
  // CHECK: partition @load
  // CHECK-NOT: gpu.block_id
  // CHECK: %[[N:.*]] = hopper.fetch_next
  // CHECK: %[[DIM:.*]] = gpu.grid_dim x
  // CHECK: %[[GRID:.*]] = arith.index_cast %[[DIM]] : index to i32
  // CHECK: %[[FIRST:.*]] = arith.subi %[[N]], %[[GRID]]
  // CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %[[FIRST]])
  // CHECK: hopper.post
  // CHECK: hopper.put
  // CHECK: hopper.fetch_next
  // CHECK: gpu.grid_dim x
  // CHECK: partition @turns
  // CHECK: hopper.receive
  // CHECK: hopper.hold_turn
  // CHECK: partition @compute
  // CHECK: hopper.receive
  gpu.func @turns(%counter: memref<2xi32>, %sums: memref<?x4096xf32>, %counters: memref<?xi32>, %map: !hopper.map<64x64xbf16>, %n: index, %v: vector<64x64xf32>)
      kernel attributes {hopper.schedule = #persistent} {
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %turns = hopper.create_turns : !hopper.turns
    hopper.warp_specialize
    partition @load threads(1) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) counter %counter : memref<2xi32> {
        hopper.put %ch[%number], %map[%b, %h, %t] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @turns threads(1) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) counter %counter : memref<2xi32> {
        hopper.hold_turn %turns[%number] after %t in %counters[%h] : memref<?xi32>
        hopper.pass_turn %turns[%number] as %t in %counters[%h] : memref<?xi32>
      }
    } partition @compute replicas(1) registers(240) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) counter %counter : memref<2xi32> {
        %tile = hopper.get %ch[%number] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %ch[%number] : !hopper.channel<2x64x64xbf16>
        %first1, %last1 = hopper.take_turn %turns[%number]
        hopper.reduce_add %v, %sums[%h] first %first1 : vector<64x64xf32>, memref<?x4096xf32>
        hopper.give_turn %turns
      }
    }
    gpu.return
  }

  // Otherwise a CTA has one work tile. A replica has 64 of its rows, or those
  // behind the last one.

  // CHECK-LABEL: gpu.func @single
  // CHECK-NOT: hopper.create_work_queue
  // CHECK: partition @load
  // CHECK: gpu.block_id x
  // CHECK-NOT: scf.while
  // CHECK: partition @compute
  // CHECK: %[[WG:.*]] = hopper.warpgroup_id
  // CHECK: %[[BEFORE:.*]] = arith.muli %[[WG]], %c64
  // CHECK: %[[HAS:.*]] = arith.cmpi slt, %[[BEFORE]], %{{.*}}
  // CHECK: %[[OWN:.*]] = arith.addi %{{.*}}, %[[BEFORE]]
  // CHECK: %[[FIRST:.*]] = arith.select %[[HAS]], %[[OWN]], %{{.*}}
  // CHECK: hopper.store_rows %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %[[FIRST]]]
  gpu.func @single(%out: memref<?x?x?xf32>, %map: !hopper.map<64x64xbf16>, %n: index, %v: vector<1x64xf32>)
      kernel attributes {hopper.schedule = #single} {
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize
    partition @load threads(1) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
        %first, %end = hopper.work_rows %t of %n size 128
        hopper.put %ch[%number], %map[%b, %h, %first] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute replicas(2) registers(240) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
        %first, %end = hopper.work_rows %t of %n size 128 own
        %tile = hopper.get %ch[%number] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %ch[%number] : !hopper.channel<2x64x64xbf16>
        hopper.store_rows %v, %out[%b, %h, %first] dim 2 end %end : vector<1x64xf32>, memref<?x?x?xf32>
      }
    }
    gpu.return
  }

  // Up to 8 tiles, those of 1024 rows, come from the last one on, if there are 64 of all heads.

  // CHECK-LABEL: gpu.func @short
  // CHECK: partition @load
  // CHECK: %[[TILES:.*]] = arith.index_cast %{{.*}} : index to i32
  // CHECK: %[[TILE:.*]] = arith.remui
  // CHECK: %[[IS_SHORT:.*]] = arith.cmpi ule, %{{.*}}, %c8_i32
  // CHECK: %[[ARE_MANY:.*]] = arith.cmpi uge, %{{.*}}, %c64_i32
  // CHECK: %[[IS_FROM_END:.*]] = arith.andi %[[IS_SHORT]], %[[ARE_MANY]]
  // CHECK: %[[FROM_END:.*]] = arith.subi %{{.*}}, %[[TILE]]
  // CHECK: %[[OWN:.*]] = arith.select %[[IS_FROM_END]], %[[FROM_END]], %[[TILE]]
  // CHECK: hopper.position %[[OWN]]
  gpu.func @short(%map: !hopper.map<64x64xbf16>, %n: index)
      kernel attributes {hopper.schedule = #short} {
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize
    partition @load threads(1) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
        hopper.put %ch[%number], %map[%b, %h, %t] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute replicas(1) registers(240) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
        %tile = hopper.get %ch[%number] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %ch[%number] : !hopper.channel<2x64x64xbf16>
      }
    }
    gpu.return
  }

  // Where work tiles wait for each other, those of 5/8 of a head come first, from the last of them on, and then the rest.

  // CHECK-LABEL: gpu.func @in_turns
  // CHECK: partition @load
  // CHECK: %[[TILE:.*]] = arith.remui
  // CHECK: %[[IS_FROM_END:.*]] = arith.andi
  // CHECK: %[[FIVE:.*]] = arith.muli %{{.*}}, %c5_i32
  // CHECK: %[[UP:.*]] = arith.addi %[[FIVE]], %c7_i32
  // CHECK: %[[EARLY:.*]] = arith.divui %[[UP]], %c8_i32
  // CHECK: %[[LATEST:.*]] = arith.subi %[[EARLY]], %c1_i32
  // CHECK: %[[BACK:.*]] = arith.subi %[[LATEST]], %[[TILE]]
  // CHECK: %[[IS:.*]] = arith.cmpi ult, %[[TILE]], %[[EARLY]]
  // CHECK: %[[AROUND:.*]] = arith.addi %[[BACK]], %{{.*}}
  // CHECK: %[[TURNED:.*]] = arith.select %[[IS]], %[[BACK]], %[[AROUND]]
  // CHECK: %[[OWN:.*]] = arith.select %[[IS_FROM_END]], %[[TURNED]], %[[TILE]]
  // CHECK: hopper.position %[[OWN]]
  gpu.func @in_turns(%map: !hopper.map<64x64xbf16>, %n: index)
      kernel attributes {hopper.schedule = #short} {
    %turns = hopper.create_turns : !hopper.turns
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize
    partition @load threads(1) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
        hopper.put %ch[%number], %map[%b, %h, %t] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute replicas(1) registers(240) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
        %tile = hopper.get %ch[%number] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %ch[%number] : !hopper.channel<2x64x64xbf16>
      }
    }
    gpu.return
  }

  // The parts of a work tile are neighbours in the order. All have as many
  // blocks, at least 4, but for the last ones.

  // CHECK-LABEL: gpu.func @parts
  // CHECK-SAME: %[[N:[^ ]*]]: index, %[[PARTS:[^ ]*]]: index
  // CHECK: partition @load
  // CHECK: partition @compute
  // CHECK: %[[NUM:.*]] = arith.index_cast %[[PARTS]] : index to i32
  // CHECK: %[[BLOCK:.*]] = arith.index_cast %{{.*}} : index to i32
  // CHECK: %[[PART:.*]] = arith.remui %[[BLOCK]], %[[NUM]]
  // CHECK: %[[REST:.*]] = arith.divui %[[BLOCK]], %[[NUM]]
  // CHECK: arith.remui %[[REST]]
  // CHECK: %[[INDEX:.*]] = hopper.position %[[PART]]
  // CHECK: %[[LENGTH:.*]] = arith.maxsi
  // CHECK: %[[BLOCKS:.*]] = arith.divui %{{.*}}, %c64_i32
  // CHECK: %[[SHARE:.*]] = arith.divui %{{.*}}, %{{.*}}
  // CHECK: %[[MOST:.*]] = arith.maxui %[[SHARE]], %c4_i32
  // CHECK: %[[SIZE:.*]] = arith.muli %[[MOST]], %c64_i32
  // CHECK: %[[OFFSET:.*]] = arith.muli %{{.*}}, %[[SIZE]]
  // CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %[[OFFSET]]
  // CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %[[SIZE]]
  // CHECK: arith.minsi %[[END]]
  // CHECK-NOT: hopper.split_of_range
  gpu.func @parts(%n: index, %parts: index, %out: memref<?x?x?x?xf32>, %map: !hopper.map<64x64xbf16>, %v: vector<1x64xf32>)
      kernel attributes {hopper.schedule = #single} {
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize
    partition @load threads(1) {
      hopper.work_loop (%b, %h, %t, %p, %number) in (%n, %n, %n, %parts) {
        hopper.put %ch[%number], %map[%b, %h, %t] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute replicas(2) registers(240) {
      hopper.work_loop (%b, %h, %t, %p, %number) in (%n, %n, %n, %parts) {
        %tile = hopper.get %ch[%number] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %ch[%number] : !hopper.channel<2x64x64xbf16>
        %first, %end = hopper.split_of_range %p of %parts from %t to %n step 64 least 4
        hopper.store_rows %v, %out[%b, %h, %first, %p] dim 2 end %end : vector<1x64xf32>, memref<?x?x?x?xf32>
      }
    }
    gpu.return
  }

  // The rows of tiles that end with the last row, of 200: 192 * 2 - 256 = 128
  // less than those of tiles that start with the first one.

  // CHECK-LABEL: gpu.func @short_first
  // CHECK-SAME: %[[OUT:.*]]: memref<?x?x?xf32>, %[[N:[^ ]*]]: index
  // CHECK: partition @compute
  // CHECK: %[[START:.*]] = arith.muli %{{.*}}, %c192
  // CHECK: %[[STOP:.*]] = arith.addi %[[START]], %c192
  // CHECK: %[[MORE:.*]] = arith.addi %[[N]], %{{.*}}
  // CHECK: %[[TILES:.*]] = arith.divui %[[MORE]], %c192
  // CHECK: %[[ROWS:.*]] = arith.muli %[[TILES]], %c192
  // CHECK: arith.divui %{{.*}}, %c64
  // CHECK: %[[USED:.*]] = arith.muli %{{.*}}, %c64
  // CHECK: %[[SHIFT:.*]] = arith.subi %[[ROWS]], %[[USED]]
  // CHECK: %[[END:.*]] = arith.subi %[[STOP]], %[[SHIFT]]
  // CHECK: %[[BEGIN:.*]] = arith.subi %[[END]], %c192
  // CHECK: arith.maxsi %[[BEGIN]], %c0
  // CHECK: arith.minsi %[[END]], %[[N]]
  gpu.func @short_first(%out: memref<?x?x?xf32>, %n: index, %map: !hopper.map<64x64xbf16>, %v: vector<1x64xf32>)
      kernel attributes {hopper.schedule = #single} {
    hopper.warp_specialize
    partition @load threads(1) {
    } partition @compute replicas(3) registers(160) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
        %first, %end = hopper.work_rows %t of %n size 192 short_first own
        hopper.store_rows %v, %out[%b, %h, %first] dim 2 end %end : vector<1x64xf32>, memref<?x?x?xf32>
      }
    }
    gpu.return
  }

  // A persistent kernel sends the part, too.

  // CHECK-LABEL: gpu.func @persistent_parts
  // CHECK: hopper.create_work_queue : <4>
  // CHECK: %[[HEADS:.*]] = arith.muli
  // CHECK: %[[TILES:.*]] = arith.muli %[[HEADS]]
  // CHECK: %[[ALL:.*]] = arith.muli %[[TILES]]
  // CHECK: arith.cmpi slt, %{{.*}}, %[[ALL]]
  // CHECK: hopper.post %{{.*}}[%{{.*}}], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} :
  gpu.func @persistent_parts(%counter: memref<2xi32>, %n: index, %map: !hopper.map<64x64xbf16>)
      kernel attributes {hopper.schedule = #persistent} {
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize
    partition @load threads(1) {
      hopper.work_loop (%b, %h, %t, %p, %number) in (%n, %n, %n, %n) counter %counter : memref<2xi32> {
        hopper.put %ch[%number], %map[%b, %h, %p] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute replicas(2) registers(240) {
      hopper.work_loop (%b, %h, %t, %p, %number) in (%n, %n, %n, %n) counter %counter : memref<2xi32> {
        %tile = hopper.get %ch[%number] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %ch[%number] : !hopper.channel<2x64x64xbf16>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @no_partition(%n: index) kernel {
    // expected-error @+1 {{expects to be in a partition of a kernel with a schedule: run hopper-specialize before}}
    hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
    }
    gpu.return
  }
}
