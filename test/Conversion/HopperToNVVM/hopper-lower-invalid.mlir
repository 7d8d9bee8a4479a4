// RUN: attn-opt %s --attn-hopper-lower --split-input-file --verify-diagnostics

gpu.module @m {
  // expected-error@+1 {{expects argument 0 of a kernel to have 'hopper.operand'}}
  gpu.func @f(%n: i32) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{expects a map to have four 'hopper.dims'}}
  gpu.func @f(%m: !hopper.map<64x64xbf16> {hopper.operand = 0 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{expects a map to have four 'hopper.dims'}}
  gpu.func @f(%m: !hopper.map<64x64xbf16> {hopper.operand = 0 : i64, hopper.dims = array<i64: 0, 1>}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{expects arguments of a kernel to be maps, buffers or scalars, but got 'vector<4xf32>'}}
  gpu.func @f(%v: vector<4xf32> {hopper.operand = 0 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{expects buffers with strides, but got 'memref<4xf32, affine_map<(d0) -> (d0 floordiv 2)>>'}}
  gpu.func @f(%v: memref<4xf32, affine_map<(i) -> (i floordiv 2)>> {hopper.operand = 0 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{expects a kernel with one hopper.warp_specialize}}
  gpu.func @f() kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @f() kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      // expected-error@+1 {{expects a constant vector to be a splat}}
      %0 = arith.constant dense<[[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0]]> : tensor<8x1xf32, #hopper.layout<columns>>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @f(%n: i32 {hopper.operand = 0 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      // expected-error@+1 {{'arith.addui_extended' has no form in a GPU kernel; the target cpu can run it}}
      %0:2 = arith.addui_extended %n, %n : i32, i1
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @f(%n: i32 {hopper.operand = 0 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %i = hopper.position %n
      // expected-error@+1 {{'arith.addui_extended' has no form in a GPU kernel}}
      %0:2 = arith.addui_extended %i, %i : index, i1
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @f(%n: i32 {hopper.operand = 0 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      // expected-error@+1 {{'gpu.printf' has no form in a GPU kernel; the target cpu can run it}}
      gpu.printf "%d", %n : i32
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @f() kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %0 = arith.constant dense<0.0> : vector<1xf32>
      // expected-error@+1 {{expects a vector of one number}}
      %1 = vector.broadcast %0 : vector<1xf32> to vector<4xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @f(%x: f64 {hopper.operand = 0 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      // expected-error@+1 {{'math.sin' on 'f64' has no form in a GPU kernel; the target cpu can run it}}
      %0 = math.sin %x : f64
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @f(%x: f64 {hopper.operand = 0 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      // expected-error@+1 {{'math.exp' on 'f64' has no form in a GPU kernel; the target cpu can run it}}
      %0 = math.exp %x : f64
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @f(%n: i32 {hopper.operand = 0 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      // expected-error@+1 {{'math.ipowi' on 'i32' has no form in a GPU kernel; the target cpu can run it}}
      %0 = math.ipowi %n, %n : i32
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{expects a kernel without partitions to have 'hopper.threads'}}
  gpu.func @prologue() kernel attributes {hopper.elements = 1 : i64} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{expects a kernel without partitions to have 'hopper.threads'}}
  gpu.func @combine() kernel attributes {hopper.combine = 1 : i64} {
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @prologue(%x: i64 {hopper.operand = 0 : i64}) kernel attributes {hopper.elements = 1 : i64, hopper.threads = 128 : i64} {
    // expected-error@+1 {{expects a minimum, a maximum, 'and' or 'or' of integers, or a sum of i32 or f32, over a warp, or, of f32, over threads of it that follow each other}}
    %sum = gpu.subgroup_reduce add %x uniform : (i64) -> i64
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @clusters(%x: f32 {hopper.operand = 0 : i64}) kernel attributes {hopper.elements = 1 : i64, hopper.threads = 128 : i64} {
    // expected-error@+1 {{expects a minimum, a maximum, 'and' or 'or' of integers, or a sum of i32 or f32, over a warp, or, of f32, over threads of it that follow each other}}
    %sum = gpu.subgroup_reduce add %x cluster(size = 4, stride = 2) : (f32) -> f32
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @check(%x: i64 {hopper.operand = 0 : i64}, %words: memref<3xi64, strided<[1]>> {hopper.operand = 1 : i64}) kernel
      attributes {hopper.checks = {}, hopper.threads = 128 : i64} {
    %c0 = arith.constant 0 : index
    // expected-error@+1 {{expects a minimum of unsigned numbers of 64 bits}}
    %before = memref.atomic_rmw addi %x, %words[%c0] : (i64, memref<3xi64, strided<[1]>>) -> i64
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @f() kernel {
    %t = hopper.create_ping_pong : !hopper.ping_pong
    %u = hopper.create_ping_pong : !hopper.ping_pong
    // expected-error@+1 {{expects ping-pong to need fewer than 7 barriers}}
    hopper.warp_specialize partition @a replicas(4) {
      hopper.ping_pong_wait %t : !hopper.ping_pong
    } partition @b replicas(3) {
      hopper.ping_pong_wait %u : !hopper.ping_pong
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @f(%n: i32 {hopper.operand = 0 : i64}, %p: i1 {hopper.operand = 1 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    %a = hopper.create_channel : !hopper.channel<1x16x16xbf16>
    %b = hopper.create_channel : !hopper.channel<1x16x16xbf16>
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %c = arith.select %p, %a, %b : !hopper.channel<1x16x16xbf16>
      // expected-error@+1 {{expects a channel, a work queue, turns or a ping-pong barrier that the kernel creates, but got a value of '!hopper.channel<1x16x16xbf16>' that control flow carries}}
      %t = hopper.get %c[%n] : !hopper.channel<1x16x16xbf16> -> !hopper.tile<16x16xbf16>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @f(%n: i32 {hopper.operand = 0 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    %a = hopper.create_channel : !hopper.channel<1x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %t = hopper.get %a[%n] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      // expected-error@+1 {{expects fragments with layouts, but got 'vector<64x64xf32>'}}
      %x = hopper.dot %t, %t : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> vector<64x64xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @f(%n: index {hopper.operand = 0 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      // expected-error@+1 {{failed to legalize operation 'affine.apply'}}
      %0 = affine.apply affine_map<()[s0] -> (s0 ceildiv 192)>()[%n]
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{expects at most 232448 bytes of shared memory for a CTA, but got 525312; a schedule with fewer stages or smaller tiles takes less}}
  gpu.func @f() kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    %tile = hopper.create_tile : !hopper.tile<1024x256xbf16>
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
    }
    gpu.return
  }
}
