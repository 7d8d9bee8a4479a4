// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-pipeline,canonicalize,cse)))' | FileCheck %s --check-prefix=PARTS
// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-pipeline,canonicalize,cse,hopper-overlap-tiles,hopper-insert-waits)))' | FileCheck %s

!channel = !hopper.channel<2x64x64xbf16>
!tile = !hopper.tile<64x64xbf16>
!scores = vector<64x64xf32>
!operand = vector<64x64xbf16>
#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240, persistent, overlap_tiles>

// The loop over blocks is in parts. The turn is that of the product of stage 1.
// Queries are given back by the part that reads them last.

// PARTS: hopper.create_channel
// PARTS: %[[V:.*]] = hopper.create_channel
// PARTS: %[[K:.*]] = hopper.create_channel
// PARTS: %[[Q:.*]] = hopper.create_channel
// PARTS: %[[O:.*]] = hopper.visit_blocks from %{{.*}} to %{{.*}} of %{{.*}} pass {
// PARTS: hopper.get %[[K]]
// PARTS: hopper.get %[[V]]
// PARTS: } start {
// PARTS: hopper.get %[[K]]
// PARTS: hopper.dot
// PARTS: hopper.end %{{.*}} : vector<64x64xbf16>
// PARTS: } rest {
// PARTS: scf.for
// PARTS: hopper.release %[[Q]]
// PARTS: } finish {
// PARTS: hopper.get %[[V]]
// PARTS: hopper.ping_pong_wait
// PARTS: hopper.dot
// PARTS: hopper.ping_pong_arrive
// PARTS: } none(%{{.*}}) {
// PARTS: hopper.release %[[Q]]
// PARTS: hopper.reduce max %[[O]]

// The product of the queries is started in front of the last one of the work
// tile before, in its turn, and is waited for first. Rounding waits for the
// other one, whose registers it writes; the stores of the work tile before are
// behind it.

// CHECK: hopper.create_channel
// CHECK: %[[V:.*]] = hopper.create_channel
// CHECK: %[[K:.*]] = hopper.create_channel
// CHECK: %[[Q:.*]] = hopper.create_channel
// CHECK: %[[LAST:.*]]:6 = hopper.work_loop ({{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) in ({{.*}}) iter_args(%[[EXISTS:.*]] = %false, %[[B:.*]] = %{{.*}}, %[[H:.*]] = %{{.*}}, %[[T:.*]] = %{{.*}}, %[[P:.*]] = %{{.*}}, %[[ACC:.*]] = %{{.*}}) : i1, i32, i32, i32, vector<64x64xbf16>, vector<64x64xf32> {
// CHECK: %[[QUERIES:.*]] = hopper.get %[[Q]]
// CHECK: %[[START:.*]] = scf.if
// CHECK: %[[KEYS:.*]] = hopper.get %[[K]]
// CHECK-NEXT: hopper.ping_pong_wait
// CHECK-NEXT: %[[S:.*]] = hopper.mma %[[QUERIES]], %[[KEYS]]
// CHECK: %[[VALUES:.*]] = hopper.get %[[V]]
// CHECK: %[[O:.*]] = hopper.mma %[[P]], %[[VALUES]] acc %[[ACC]]
// CHECK: hopper.ping_pong_arrive
// CHECK: %[[SCORES:.*]] = hopper.wait %[[S]] in_flight 1
// CHECK: hopper.release %[[K]]
// CHECK: %[[RESULT:.*]] = hopper.wait %[[O]] in_flight 0
// CHECK: hopper.release %[[V]]
// CHECK: %[[NEXT:.*]] = arith.truncf %[[SCORES]]
// CHECK: hopper.reduce max %[[RESULT]]
// CHECK: hopper.store_rows
// CHECK: scf.yield %[[NEXT]]

// Where a work tile has no blocks, or some are passed over, one is finished
// first.

// CHECK: } else {
// CHECK: scf.if %[[EXISTS]] {
// CHECK: hopper.get %[[V]]
// CHECK: hopper.ping_pong_wait
// CHECK: hopper.mma %[[P]]
// CHECK: hopper.wait {{.*}} in_flight 0
// CHECK: scf.for
// CHECK: hopper.get %[[K]]
// CHECK: hopper.store_rows
// CHECK: scf.for
// CHECK: scf.if
// CHECK: hopper.get %[[K]]
// CHECK: hopper.mma %[[QUERIES]]
// CHECK: arith.truncf
// CHECK: scf.if
// CHECK: scf.for {{.*}}%[[START]]
// CHECK: hopper.release %[[Q]]
// CHECK: } else {
// CHECK: hopper.release %[[Q]]
// CHECK: hopper.end %true, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : i1, i32, i32, i32, vector<64x64xbf16>, vector<64x64xf32>

// The last work tile has none behind it.

// CHECK: scf.if %[[LAST]]#0 {
// CHECK: hopper.get %[[V]]
// CHECK: hopper.mma %[[LAST]]#4, %{{.*}} acc %[[LAST]]#5
// CHECK: hopper.store_rows
gpu.module @m {
  gpu.func @kernel(%out: memref<?x?x?xf32>, %n: index, %lo: index) kernel attributes {hopper.schedule = #schedule} {
    %unused = hopper.create_channel : !channel
    %v = hopper.create_channel : !channel
    %k = hopper.create_channel : !channel
    %q = hopper.create_channel : !channel
    %barrier = hopper.create_ping_pong : !hopper.ping_pong
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : !scores
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute replicas(2) registers(240) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
        %rows = hopper.step "load_q.get" in "compute" -> !tile {
          %u = hopper.next_use %q : !channel
          %x = hopper.get %q[%u] : !channel -> !tile
          hopper.end %x : !tile
        }
        %r = hopper.pipelined_for %j = %lo to %n step 64 within %c0 to %n iter_args(%acc = %zero)
            schedule [#hopper.place<"qk", 0>, #hopper.place<"pv", 1>, #hopper.place<"round", 0>] exclusive ["qk", "pv"] : !scores {
          %s = hopper.step "qk" in "compute" -> !scores {
            %u = hopper.next_use %k : !channel
            %keys = hopper.get %k[%u] : !channel -> !tile
            %x = hopper.dot %rows, %keys : !tile, !tile -> !scores
            %w = hopper.next_use %k : !channel
            hopper.release %k[%w] : !channel
            hopper.end %x : !scores
          }
          %p = hopper.step "round" in "compute" -> !operand {
            %x = arith.truncf %s : !scores to !operand
            hopper.end %x : !operand
          }
          %o = hopper.step "pv" in "compute" -> !scores {
            %u = hopper.next_use %v : !channel
            %values = hopper.get %v[%u] : !channel -> !tile
            %x = hopper.dot %p, %values acc %acc rhs_transposed : !operand, !tile, !scores -> !scores
            %w = hopper.next_use %v : !channel
            hopper.release %v[%w] : !channel
            hopper.end %x : !scores
          }
          hopper.end %o : !scores
        }
        hopper.step "load_q.release" in "compute" {
          %u = hopper.next_use %q : !channel
          hopper.release %q[%u] : !channel
          hopper.end
        }
        hopper.step "store" in "compute" {
          %m = hopper.reduce max %r : !scores -> vector<1x64xf32>
          hopper.store_rows %m, %out[%b, %h, %t] dim 2 end %n : vector<1x64xf32>, memref<?x?x?xf32>
          hopper.end
        }
      }
    }
    gpu.return
  }
}
