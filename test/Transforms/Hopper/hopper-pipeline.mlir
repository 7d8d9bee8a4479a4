// RUN: attn-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-pipeline)))' | FileCheck %s

!channel = !hopper.channel<2x64x64xbf16>
!tile = !hopper.tile<64x64xbf16>
!scores = vector<64x64xf32>
!operand = vector<64x64xbf16>

// The step of stage 1 runs for the block before, beside that of stage 0. The
// first block has a prologue, without a turn, and the last one an epilogue. A
// turn begins when the tile is there. Queries, which the epilogue does not read,
// are given back before it.

// CHECK-LABEL: gpu.func @overlapped
// CHECK: hopper.create_channel
// CHECK: %[[V:.*]] = hopper.create_channel
// CHECK: %[[K:.*]] = hopper.create_channel
// CHECK: %[[Q:.*]] = hopper.create_channel
// CHECK: %[[TURNS:.*]] = hopper.create_ping_pong
// CHECK: %[[TILE:.*]] = hopper.get %[[Q]]
// CHECK: %[[ACC:.*]] = scf.if
// CHECK: hopper.next_use
// CHECK-NEXT: hopper.get %[[K]]
// CHECK-NOT: hopper.ping_pong_wait
// CHECK: hopper.dot %[[TILE]]
// CHECK: hopper.release %[[K]]
// CHECK: %[[LOOP:.*]]:2 = scf.for
// CHECK: hopper.get %[[K]]
// CHECK-NEXT: hopper.ping_pong_wait %[[TURNS]]
// CHECK-NEXT: hopper.dot %[[TILE]]
// CHECK: hopper.release %[[K]]
// CHECK: hopper.get %[[V]]
// CHECK: hopper.dot
// CHECK: hopper.release %[[V]]
// CHECK-NEXT: hopper.ping_pong_arrive %[[TURNS]]
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: hopper.next_use %[[Q]]
// CHECK-NEXT: hopper.release %[[Q]]
// CHECK: hopper.get %[[V]]
// CHECK-NEXT: hopper.ping_pong_wait %[[TURNS]]
// CHECK-NEXT: hopper.dot %[[LOOP]]#1
// CHECK: hopper.ping_pong_arrive %[[TURNS]]
// CHECK: scf.yield
// CHECK-NEXT: } else {
// CHECK-NEXT: hopper.next_use %[[Q]]
// CHECK-NEXT: hopper.release %[[Q]]
// CHECK-NEXT: scf.yield
// CHECK-NOT: hopper.release
// CHECK: hopper.store_rows
gpu.module @m {
  gpu.func @overlapped(%out: memref<?x?x?xf32>, %n: index) kernel {
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
        %r = hopper.pipelined_for %j = %c0 to %n step 64 iter_args(%acc = %zero)
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

// -----

!channel = !hopper.channel<2x64x64xbf16>
!tile = !hopper.tile<64x64xbf16>
!scores = vector<64x64xf32>

// In one stage, steps run in the order of the schedule, which need not be that
// in which they are written. What is read in the last step stays until then.

// CHECK-LABEL: gpu.func @in_order
// CHECK: %[[K:.*]] = hopper.create_channel
// CHECK: %[[Q:.*]] = hopper.create_channel
// CHECK: scf.for
// CHECK: hopper.get %[[K]]
// CHECK: hopper.dot
// CHECK: hopper.release %[[K]]
// CHECK: arith.addf
// CHECK: arith.mulf
// CHECK: scf.yield
gpu.module @m {
  gpu.func @in_order(%out: memref<?x?x?xf32>, %n: index) kernel {
    %k = hopper.create_channel : !channel
    %q = hopper.create_channel : !channel
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
        %r:2 = hopper.pipelined_for %j = %c0 to %n step 64 iter_args(%a = %zero, %c = %zero)
            schedule [#hopper.place<"qk", 0>, #hopper.place<"add", 0>, #hopper.place<"mul", 0>] : !scores, !scores {
          %s = hopper.step "qk" in "compute" -> !scores {
            %u = hopper.next_use %k : !channel
            %keys = hopper.get %k[%u] : !channel -> !tile
            %x = hopper.dot %rows, %keys : !tile, !tile -> !scores
            %w = hopper.next_use %k : !channel
            hopper.release %k[%w] : !channel
            hopper.end %x : !scores
          }
          %y = hopper.step "mul" in "compute" -> !scores {
            %x = arith.mulf %s, %c : !scores
            hopper.end %x : !scores
          }
          %z = hopper.step "add" in "compute" -> !scores {
            %x = arith.addf %s, %a : !scores
            hopper.end %x : !scores
          }
          hopper.end %z, %y : !scores, !scores
        }
        hopper.step "load_q.release" in "compute" {
          %u = hopper.next_use %q : !channel
          hopper.release %q[%u] : !channel
          hopper.end
        }
        hopper.step "store" in "compute" {
          %x = arith.addf %r#0, %r#1 : !scores
          %m = hopper.reduce max %x : !scores -> vector<1x64xf32>
          hopper.store_rows %m, %out[%b, %h, %t] dim 2 end %n : vector<1x64xf32>, memref<?x?x?xf32>
          hopper.end
        }
      }
    }
    gpu.return
  }
}

// -----

!channel = !hopper.channel<2x64x64xbf16>
!tile = !hopper.tile<64x64xbf16>
!scores = vector<64x64xf32>

// A tile is read in the stage in which it arrives.

gpu.module @m {
  gpu.func @tile_of_another_stage(%n: index) kernel {
    %k = hopper.create_channel : !channel
    %c0 = arith.constant 0 : index
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute replicas(2) registers(240) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
        hopper.pipelined_for %j = %c0 to %n step 64 schedule [#hopper.place<"get", 0>, #hopper.place<"qk", 1>] {
          // expected-note @+1 {{'get', where it arrives, is in stage 0}}
          %keys = hopper.step "get" in "compute" -> !tile {
            %u = hopper.next_use %k : !channel
            %x = hopper.get %k[%u] : !channel -> !tile
            hopper.end %x : !tile
          }
          %s = hopper.step "qk" in "compute" -> !scores {
            // expected-error @+1 {{expects a tile that arrives in its own stage; give both steps one stage}}
            %x = hopper.dot %keys, %keys : !tile, !tile -> !scores
            hopper.end %x : !scores
          }
          hopper.end
        }
      }
    }
    gpu.return
  }
}

// -----

!scores = vector<64x64xf32>

// With three stages there may be fewer blocks than stages. The first block of
// the first stage and that of the last one are there; steps for others are under
// branches, which give what there was before if there is no such block.

// CHECK-LABEL: gpu.func @three_stages
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
// CHECK: scf.if
// CHECK: math.exp
// CHECK: %[[SECOND:.*]] = scf.if %{{.*}} -> (vector<64x64xf32>) {
// CHECK: math.exp
// CHECK: } else {
// CHECK: scf.yield
// CHECK: arith.negf
// CHECK: %[[LOOP:.*]]:3 = scf.for
// CHECK: math.exp
// CHECK: arith.negf
// CHECK: arith.addf
// CHECK: scf.yield
// CHECK: %[[LATE:.*]] = scf.if %{{.*}} -> (vector<64x64xf32>) {
// CHECK: arith.negf
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %[[LOOP]]#0
// CHECK-NOT: arith.select
// CHECK: %[[LAST:.*]] = scf.if %{{.*}} -> (vector<64x64xf32>) {
// CHECK: %[[X:.*]] = arith.addf %[[LATE]], %[[SUM]]
// CHECK: scf.yield %[[X]]
// CHECK: } else {
// CHECK: scf.yield %[[SUM]]
// CHECK: scf.yield %[[LAST]]
gpu.module @m {
  gpu.func @three_stages(%n: index, %s: !scores, %out: memref<?x?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : !scores
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute replicas(2) registers(240) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
        %r = hopper.pipelined_for %j = %c0 to %n step 64 iter_args(%a = %zero)
            schedule [#hopper.place<"exp", 0>, #hopper.place<"neg", 1>, #hopper.place<"add", 2>] : !scores {
          %x = hopper.step "exp" in "compute" -> !scores {
            %v = math.exp %s : !scores
            hopper.end %v : !scores
          }
          %y = hopper.step "neg" in "compute" -> !scores {
            %v = arith.negf %x : !scores
            hopper.end %v : !scores
          }
          %z = hopper.step "add" in "compute" -> !scores {
            %v = arith.addf %y, %a : !scores
            hopper.end %v : !scores
          }
          hopper.end %z : !scores
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

// -----

!channel = !hopper.channel<2x64x64xbf16>
!tile = !hopper.tile<64x64xbf16>

gpu.module @m {
  gpu.func @tile_of_three_stages(%n: index) kernel {
    %k = hopper.create_channel : !channel
    %c0 = arith.constant 0 : index
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute replicas(2) registers(240) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
        hopper.pipelined_for %j = %c0 to %n step 64 schedule [#hopper.place<"get", 2>, #hopper.place<"use", 2>] {
          // expected-error @+1 {{expects a tile that one step alone uses, in a loop of more than two stages}}
          %keys = hopper.step "get" in "compute" -> !tile {
            %u = hopper.next_use %k : !channel
            %x = hopper.get %k[%u] : !channel -> !tile
            hopper.end %x : !tile
          }
          hopper.step "use" in "compute" {
            %x = hopper.load_fragment %keys : !tile -> vector<64x64xbf16>
            hopper.end
          }
          hopper.end
        }
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @told_in_three_stages(%n: index, %code: i32) kernel {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute replicas(2) registers(240) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
        // expected-error @+1 {{expects stages 0 and 1 in the schedule of a loop that is told its blocks, but got 2}}
        %last = hopper.pipelined_for while iter_args(%x = %code) schedule [#hopper.place<"next", 0>, #hopper.place<"use", 2>] : i32 {
          %next = hopper.step "next" in "compute" -> i32 {
            hopper.end %x : i32
          }
          hopper.step "use" in "compute" {
            hopper.end
          }
          hopper.end %next : i32
        }
      }
    }
    gpu.return
  }
}
