// RUN: attn-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-specialize)))' | FileCheck %s

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1>
!map = !hopper.map<64x64xbf16>
!channel = !hopper.channel<2x64x64xbf16>

// Each partition has its steps and what these need. Of two replicas each has
// rows of its own, and a range of blocks for them, of those for all rows.

// CHECK-LABEL: gpu.func @rows
// CHECK: hopper.create_ping_pong
// CHECK: hopper.warp_specialize partition @load threads(1) {
// CHECK: %{{.*}}, %[[END:.*]] = hopper.work_rows %{{.*}} of %{{.*}} size 128{{$}}
// CHECK: %[[HI:.*]] = arith.minsi %[[END]]
// CHECK: hopper.pipelined_for %{{.*}} = %{{.*}} to %[[HI]] step 64
// CHECK-NEXT: schedule [#hopper.place<"load_k", 0>] {
// CHECK: hopper.step "load_k"
// CHECK-NOT: hopper.step
// CHECK: } partition @compute replicas(2) registers(240) {
// CHECK: %[[WG:.*]] = hopper.warpgroup_id
// CHECK: %{{.*}}, %[[END:.*]] = hopper.work_rows %{{.*}} of %{{.*}} size 128{{$}}
// CHECK: %[[FIRST:.*]], %[[OWNEND:.*]] = hopper.work_rows %{{.*}} of %{{.*}} size 128 own
// CHECK: %[[OWNHI:.*]] = arith.minsi %[[OWNEND]]
// CHECK: %[[HI:.*]] = arith.minsi %[[END]]
// CHECK: %[[HASROWS:.*]] = arith.cmpi slt, %[[FIRST]], %[[OWNEND]]
// CHECK: %[[UPPER:.*]] = arith.select %[[HASROWS]], %[[OWNHI]], %[[LO:.*]] :
// CHECK: hopper.pipelined_for %{{.*}} = %[[LO]] to %[[UPPER]] step 64 within %[[LO]] to %[[HI]] iter_args
// CHECK-NEXT: schedule [#hopper.place<"qk", 0>, #hopper.place<"add", 0>] exclusive ["qk"]
// CHECK: hopper.rows %{{.*}}[%[[WG]]]
gpu.module @m {
  gpu.func @rows(%map: !map, %out: memref<?x?x?xf32>, %n: index) kernel attributes {hopper.schedule = #schedule} {
    %ch = hopper.create_channel : !channel
    %c0 = arith.constant 0 : index
    %q = hopper.create_tile : !hopper.tile<128x64xbf16>
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
      %first, %end = hopper.work_rows %t of %n size 128
      %hi = arith.minsi %end, %n : index
      %r = hopper.pipelined_for %j = %c0 to %hi step 64 iter_args(%acc = %zero)
          schedule [#hopper.place<"load_k", 0>, #hopper.place<"qk", 0>, #hopper.place<"add", 0>] exclusive ["qk"] : vector<64x64xf32> {
        hopper.step "load_k" in "load" {
          %u = hopper.next_use %ch : !channel
          hopper.put %ch[%u], %map[%b, %h, %j] : !channel, !map
          hopper.end
        }
        %s = hopper.step "qk" in "compute" -> vector<64x64xf32> {
          %u = hopper.next_use %ch : !channel
          %k = hopper.get %ch[%u] : !channel -> !hopper.tile<64x64xbf16>
          %rows = hopper.own_rows %q : !hopper.tile<128x64xbf16> -> !hopper.tile<64x64xbf16, of 128>
          %x = hopper.dot %rows, %k : !hopper.tile<64x64xbf16, of 128>, !hopper.tile<64x64xbf16> -> vector<64x64xf32>
          %v = hopper.next_use %ch : !channel
          hopper.release %ch[%v] : !channel
          hopper.end %x : vector<64x64xf32>
        }
        %a = hopper.step "add" in "compute" -> vector<64x64xf32> {
          %x = arith.addf %s, %acc : vector<64x64xf32>
          hopper.end %x : vector<64x64xf32>
        }
        hopper.end %a : vector<64x64xf32>
      }
      hopper.step "store" in "compute" {
        %m = hopper.reduce max %r : vector<64x64xf32> -> vector<1x64xf32>
        hopper.store_rows %m, %out[%b, %h, %first] dim 2 end %end : vector<1x64xf32>, memref<?x?x?xf32>
        hopper.end
      }
    }
    gpu.return
  }
}

// -----

// What the hardware does not copy, a warpgroup copies.

// CHECK-LABEL: gpu.func @strided
// CHECK: hopper.warp_specialize partition @load {
// CHECK: hopper.put
// CHECK-NOT: hopper.warpgroup_id
// CHECK: } partition @compute registers(208) {
#schedule = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 208, head_swizzle = 1, strided>
!channel = !hopper.channel<1x64x64xbf16>
gpu.module @m {
  gpu.func @strided(%map: !hopper.map<64x64xbf16, strided>, %n: index) kernel attributes {hopper.schedule = #schedule} {
    %ch = hopper.create_channel : !channel
    hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
      hopper.step "load" in "load" {
        %u = hopper.next_use %ch : !channel
        hopper.put %ch[%u], %map[%b, %h, %t] : !channel, !hopper.map<64x64xbf16, strided>
        hopper.end
      }
      hopper.step "use" in "compute" {
        %u = hopper.next_use %ch : !channel
        %k = hopper.get %ch[%u] : !channel -> !hopper.tile<64x64xbf16>
        %v = hopper.next_use %ch : !channel
        hopper.release %ch[%v] : !channel
        hopper.end
      }
    }
    gpu.return
  }
}

// -----

// A part is one of the blocks that the rows of all replicas need: a replica has
// as much of it as its own rows need, here up to their end.

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1>
!map = !hopper.map<64x64xbf16>
!channel = !hopper.channel<2x64x64xbf16>

// CHECK-LABEL: gpu.func @parts
// CHECK: partition @load
// CHECK: %{{.*}}, %[[END:.*]] = hopper.work_rows %{{.*}} size 128{{$}}
// CHECK: %[[LO:.*]], %[[HI:.*]] = hopper.split_of_range %{{.*}} of %{{.*}} from %c0{{.*}} to %[[END]]
// CHECK: hopper.pipelined_for %{{.*}} = %[[LO]] to %[[HI]] step 64
// CHECK: } partition @compute
// CHECK: %{{.*}}, %[[END:.*]] = hopper.work_rows %{{.*}} size 128{{$}}
// CHECK: %{{.*}}, %[[OWNEND:.*]] = hopper.work_rows %{{.*}} size 128 own
// CHECK: %[[LO:.*]], %[[HI:.*]] = hopper.split_of_range %{{.*}} of %{{.*}} from %[[ZERO:.*]] to %[[END]]
// CHECK: %[[FIRST:.*]] = arith.maxsi %[[ZERO]], %[[LO]]
// CHECK: %[[LAST:.*]] = arith.minsi %[[OWNEND]], %[[HI]]
// CHECK: %[[HASKEYS:.*]] = arith.cmpi slt, %[[FIRST]], %[[LAST]]
// CHECK: %[[UPPER:.*]] = arith.select %{{.*}}, %[[LAST]], %[[FIRST]]
// CHECK: hopper.pipelined_for %{{.*}} = %[[FIRST]] to %[[UPPER]] step 64 within %[[LO]] to %[[HI]]
// CHECK: scf.if %[[HASKEYS]]
gpu.module @m {
  gpu.func @parts(%map: !map, %out: memref<?x?x?x?xf32>, %n: index, %parts: index, %v: vector<1x64xf32>) kernel attributes {hopper.schedule = #schedule} {
    %ch = hopper.create_channel : !channel
    %c0 = arith.constant 0 : index
    hopper.work_loop (%b, %h, %t, %p, %number) in (%n, %n, %n, %parts) {
      %first, %end = hopper.work_rows %t of %n size 128
      %lo, %hi = hopper.split_of_range %p of %parts from %c0 to %end step 64 least 4
      %has_keys = arith.cmpi slt, %lo, %hi : index
      hopper.pipelined_for %j = %lo to %hi step 64
          schedule [#hopper.place<"load_k", 0>, #hopper.place<"use", 0>] {
        hopper.step "load_k" in "load" {
          %u = hopper.next_use %ch : !channel
          hopper.put %ch[%u], %map[%b, %h, %j] : !channel, !map
          hopper.end
        }
        hopper.step "use" in "compute" {
          %u = hopper.next_use %ch : !channel
          %k = hopper.get %ch[%u] : !channel -> !hopper.tile<64x64xbf16>
          %w = hopper.next_use %ch : !channel
          hopper.release %ch[%w] : !channel
          hopper.end
        }
      }
      hopper.step "store" in "compute" {
        scf.if %has_keys {
          hopper.store_rows %v, %out[%b, %h, %first, %p] dim 2 end %end : vector<1x64xf32>, memref<?x?x?x?xf32>
        }
        hopper.end
      }
    }
    gpu.return
  }
}

// -----

// Where the rows do not matter, a replica without any still has no block.

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1>
!map = !hopper.map<64x64xbf16>
!channel = !hopper.channel<2x64x64xbf16>

// CHECK-LABEL: gpu.func @all_blocks
// CHECK: } partition @compute
// CHECK: %[[FIRST:.*]], %[[END:.*]] = hopper.work_rows %{{.*}} own
// CHECK: %[[HASROWS:.*]] = arith.cmpi slt, %[[FIRST]], %[[END]]
// CHECK: %[[UPPER:.*]] = arith.select %[[HASROWS]], %[[N:.*]], %[[LO:.*]] :
// CHECK: hopper.pipelined_for %{{.*}} = %[[LO]] to %[[UPPER]] step 64 within %[[LO]] to %[[N]]
gpu.module @m {
  gpu.func @all_blocks(%map: !map, %n: index, %out: memref<?x?x?xf32>, %v: vector<1x64xf32>) kernel attributes {hopper.schedule = #schedule} {
    %ch = hopper.create_channel : !channel
    %c0 = arith.constant 0 : index
    hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
      %first, %end = hopper.work_rows %t of %n size 128
      hopper.pipelined_for %j = %c0 to %n step 64
          schedule [#hopper.place<"load_k", 0>, #hopper.place<"use", 0>] {
        hopper.step "load_k" in "load" {
          %u = hopper.next_use %ch : !channel
          hopper.put %ch[%u], %map[%b, %h, %j] : !channel, !map
          hopper.end
        }
        hopper.step "use" in "compute" {
          %u = hopper.next_use %ch : !channel
          %k = hopper.get %ch[%u] : !channel -> !hopper.tile<64x64xbf16>
          %w = hopper.next_use %ch : !channel
          hopper.release %ch[%w] : !channel
          hopper.end
        }
        hopper.end
      }
      hopper.step "store" in "compute" {
        hopper.store_rows %v, %out[%b, %h, %first] dim 2 end %end : vector<1x64xf32>, memref<?x?x?xf32>
        hopper.end
      }
    }
    gpu.return
  }
}

// -----

// Where the rows do not matter, a part is the same for all replicas.

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1>
!map = !hopper.map<64x64xbf16>
!channel = !hopper.channel<2x64x64xbf16>

// CHECK-LABEL: gpu.func @parts_for_all
// CHECK: } partition @compute
// CHECK: %[[LO:.*]], %[[HI:.*]] = hopper.split_of_range
// CHECK-NEXT: hopper.pipelined_for %{{.*}} = %[[LO]] to %[[HI]] step 64{{$}}
gpu.module @m {
  gpu.func @parts_for_all(%map: !map, %n: index, %parts: index) kernel attributes {hopper.schedule = #schedule} {
    %ch = hopper.create_channel : !channel
    %c0 = arith.constant 0 : index
    hopper.work_loop (%b, %h, %t, %p, %number) in (%n, %n, %n, %parts) {
      %lo, %hi = hopper.split_of_range %p of %parts from %c0 to %n step 64 least 4
      hopper.pipelined_for %j = %lo to %hi step 64
          schedule [#hopper.place<"load_k", 0>, #hopper.place<"use", 0>] {
        hopper.step "load_k" in "load" {
          %u = hopper.next_use %ch : !channel
          hopper.put %ch[%u], %map[%b, %h, %j] : !channel, !map
          hopper.end
        }
        hopper.step "use" in "compute" {
          %u = hopper.next_use %ch : !channel
          %k = hopper.get %ch[%u] : !channel -> !hopper.tile<64x64xbf16>
          %w = hopper.next_use %ch : !channel
          hopper.release %ch[%w] : !channel
          hopper.end
        }
      }
    }
    gpu.return
  }
}

// -----

// Nothing but tiles goes from partition to partition.

#schedule = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1>
!channel = !hopper.channel<2x64x64xbf16>
gpu.module @m {
  gpu.func @scalar(%map: !hopper.map<64x64xbf16>, %out: memref<?x?x?xf32>, %n: index, %v: vector<1x64xf32>) kernel attributes {hopper.schedule = #schedule} {
    %ch = hopper.create_channel : !channel
    hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
      // expected-error @+1 {{expects nothing but tiles to go from 'load' to 'compute', but got a value of 'index'}}
      %x = hopper.step "load" in "load" -> index {
        %u = hopper.next_use %ch : !channel
        hopper.put %ch[%u], %map[%b, %h, %t] : !channel, !hopper.map<64x64xbf16>
        hopper.end %b : index
      }
      hopper.step "store" in "compute" {
        hopper.store_rows %v, %out[%b, %h, %x] dim 2 end %n : vector<1x64xf32>, memref<?x?x?xf32>
        hopper.end
      }
    }
    gpu.return
  }
}

// -----

#schedule = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1>
gpu.module @m {
  // expected-error @+1 {{expects a step that copies tiles}}
  gpu.func @no_copies(%out: memref<?x?x?xf32>, %n: index, %v: vector<1x64xf32>) kernel attributes {hopper.schedule = #schedule} {
    hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
      hopper.step "store" in "compute" {
        hopper.store_rows %v, %out[%b, %h, %t] dim 2 end %n : vector<1x64xf32>, memref<?x?x?xf32>
        hopper.end
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @+1 {{expects a kernel with a schedule}}
  gpu.func @no_schedule(%n: index) kernel {
    hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
    }
    gpu.return
  }
}
