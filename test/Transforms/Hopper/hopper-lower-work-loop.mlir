// RUN: attn-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-lower-work-loop)))' | FileCheck %s

#persistent = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_group = 4, reverse, persistent>
#single = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_group = 1>

gpu.module @m {
  // Who copies claims work tiles and tells the others.

  // CHECK-LABEL: gpu.func @persistent
  // CHECK: %[[MAIL:.*]] = hopper.create_mailbox
  // CHECK: partition @load
  // CHECK: scf.while
  // CHECK: hopper.post %[[MAIL]]
  // CHECK: hopper.claim
  // CHECK: hopper.position %{{.*}} of 128
  // CHECK: hopper.retire
  // CHECK: partition @compute
  // CHECK-NOT: hopper.claim
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

  // Otherwise a CTA has one work tile. A replica has 64 of its rows.

  // CHECK-LABEL: gpu.func @single
  // CHECK-NOT: hopper.create_mailbox
  // CHECK: partition @load
  // CHECK: gpu.block_id x
  // CHECK-NOT: scf.while
  // CHECK: partition @compute
  // CHECK: %[[WG:.*]] = hopper.warpgroup_id
  // CHECK: %[[BEFORE:.*]] = arith.muli %[[WG]], %c64
  // CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %[[BEFORE]]
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
