// What control flow carries, element by element.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower),cse)' | FileCheck %s

// A tile is the start of its memory and a number of 16 bytes from there. Of a
// start that is not known, the descriptor is computed where it is needed.
// CHECK-LABEL: llvm.func @tiles(
// CHECK: nvvm.setmaxregister {{ *}}increase
// CHECK: %[[SHARED:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr<3> to i32
// CHECK: %[[STAGE:.*]] = arith.muli %{{.*}}, %c128_i32
// CHECK: %[[CHOSEN:.*]]:2 = scf.if %arg1 -> (i32, i32) {
// CHECK:   scf.yield %c1024_i32, %c0_i32 : i32, i32
// CHECK: } else {
// CHECK:   scf.yield %c3072_i32, %[[STAGE]] : i32, i32
// CHECK: }
// CHECK: %[[LOOP:.*]]:2 = scf.for %{{.*}} iter_args(%{{.*}} = %[[CHOSEN]]#0, %{{.*}} = %[[CHOSEN]]#1) -> (i32, i32)
// CHECK: %[[ADDRESS:.*]] = arith.addi %[[SHARED]], %[[LOOP]]#0
// CHECK: %[[MASKED:.*]] = arith.andi %[[ADDRESS]], %c262143_i32
// CHECK: %[[FIELD:.*]] = arith.shrui %[[MASKED]], %c4_i32
// CHECK: %[[WIDE:.*]] = arith.extui %[[FIELD]] : i32 to i64
// CHECK: %[[FIRST:.*]] = arith.ori %[[WIDE]], %c4611686293305360384_i64
// CHECK: %[[NUMBER:.*]] = arith.muli %[[LOOP]]#1, %c1_i32
// CHECK: %[[SEGMENTS:.*]] = arith.extui %[[NUMBER]]
// CHECK: %[[DESCRIPTOR:.*]] = arith.addi %[[FIRST]], %[[SEGMENTS]]
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16{{.*}} %[[DESCRIPTOR]],

// CHECK: wgmma.wait_group
// CHECK: %[[START:.*]] = arith.select %arg1, %c1024_i32, %c3072_i32 : i32
// CHECK: %[[NUMBER:.*]] = arith.select %arg1, %c0_i32, %[[STAGE]] : i32
// CHECK: arith.addi %[[SHARED]], %[[START]]

// Fragments of all layouts, and indices, through a loop that counts positions,
// and one that goes on while a condition holds.
// CHECK-LABEL: llvm.func @fragments(
// CHECK-SAME: %[[END:[^ ]*]]: i32, %[[MORE:[^ ]*]]: i1,
// CHECK: scf.for %{{.*}} = %c0_i32{{.*}} to %[[END]] step %c1_i32
// CHECK-SAME: -> (f32, f32, f32, f32, f32, f32, f32, f32, i32, i32, i32, i32, f32, f32, f32, f32, i64, i64) : i32
// CHECK: scf.while
// CHECK-SAME: (f32, f32, f32, f32, f32, f32, f32, f32, i64) -> (f32, f32, f32, f32, f32, f32, f32, f32, i64)
// CHECK-NEXT: scf.condition(%[[MORE]])
gpu.module @m {
  gpu.func @tiles(%n: i32 {hopper.operand = 0 : i64}, %p: i1 {hopper.operand = 1 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    %as = hopper.create_channel : !hopper.channel<1x16x16xbf16>
    %bs = hopper.create_channel : !hopper.channel<2x16x16xbf16>
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %a = hopper.get %as[%n] : !hopper.channel<1x16x16xbf16> -> !hopper.tile<16x16xbf16>
      %b = hopper.get %bs[%n] : !hopper.channel<2x16x16xbf16> -> !hopper.tile<16x16xbf16>
      %q = arith.constant dense<1.0> : vector<16x64xbf16>
      %known = hopper.mma %q, %b : vector<16x64xbf16>, !hopper.tile<16x16xbf16> -> !hopper.pending<vector<16x64xf32>>
      %chosen = scf.if %p -> (!hopper.tile<16x16xbf16>) {
        scf.yield %a : !hopper.tile<16x16xbf16>
      } else {
        scf.yield %b : !hopper.tile<16x16xbf16>
      }
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%t = %chosen) -> (!hopper.tile<16x16xbf16>) : i32 {
        scf.yield %t : !hopper.tile<16x16xbf16>
      }
      %s = hopper.mma %q, %last : vector<16x64xbf16>, !hopper.tile<16x16xbf16> -> !hopper.pending<vector<16x64xf32>>
      %x, %y = hopper.wait %known, %s in_flight 0 : !hopper.pending<vector<16x64xf32>>, !hopper.pending<vector<16x64xf32>>
      %either = arith.select %p, %a, %b : !hopper.tile<16x16xbf16>
      %u = hopper.mma %q, %either : vector<16x64xbf16>, !hopper.tile<16x16xbf16> -> !hopper.pending<vector<16x64xf32>>
      %z = hopper.wait %u in_flight 0 : !hopper.pending<vector<16x64xf32>>
    }
    gpu.return
  }

  gpu.func @fragments(%end: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64}, %more: i1 {hopper.operand = 1 : i64},
      %n: i32 {hopper.operand = 2 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    %bs = hopper.create_channel : !hopper.channel<1x16x16xbf16>
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %x = arith.constant dense<1.0> : vector<16x64xf32>
      %h = arith.constant dense<1.0> : vector<16x64xbf16>
      %row = arith.constant dense<1.0> : vector<1x64xf32>
      %part = arith.constant dense<1.0> : vector<4x64xf32>
      %at = hopper.iota : vector<1x64xindex>
      %0:5 = scf.for %i = %c0 to %end step %c1 iter_args(%a = %x, %b = %h, %c = %row, %d = %part, %e = %at)
          -> (vector<16x64xf32>, vector<16x64xbf16>, vector<1x64xf32>, vector<4x64xf32>, vector<1x64xindex>) {
        %wide = vector.broadcast %c : vector<1x64xf32> to vector<16x64xf32>
        %sum = arith.addf %a, %wide : vector<16x64xf32>
        %next = vector.broadcast %i : index to vector<1x64xindex>
        %then = arith.addi %e, %next : vector<1x64xindex>
        scf.yield %sum, %b, %c, %d, %then : vector<16x64xf32>, vector<16x64xbf16>, vector<1x64xf32>, vector<4x64xf32>, vector<1x64xindex>
      }
      %1:2 = scf.while (%a = %0#0, %i = %c0) : (vector<16x64xf32>, index) -> (vector<16x64xf32>, index) {
        scf.condition(%more) %a, %i : vector<16x64xf32>, index
      } do {
      ^bb0(%a: vector<16x64xf32>, %i: index):
        %double = arith.addf %a, %a : vector<16x64xf32>
        %next = arith.addi %i, %c1 : index
        scf.yield %double, %next : vector<16x64xf32>, index
      }
      %b = hopper.get %bs[%n] : !hopper.channel<1x16x16xbf16> -> !hopper.tile<16x16xbf16>
      %s = hopper.mma %0#1, %b acc %1#0 : vector<16x64xbf16>, !hopper.tile<16x16xbf16>, vector<16x64xf32> -> !hopper.pending<vector<16x64xf32>>
      %y = hopper.wait %s in_flight 0 : !hopper.pending<vector<16x64xf32>>
    }
    gpu.return
  }
}
