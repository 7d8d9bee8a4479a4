// Elements that go each to one of a buffer: what no index depends on is summed first.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower),cse)' | FileCheck %s

gpu.module @m {
  // Of 8 x 64 elements a thread has four. Words of an exact sum are 8 bytes: the lower and the upper half of a mantissa, and flags of what is not finite.
  // What all threads of a warp that add would add to one address is summed first, which they find out by comparing with the first of them.
  // CHECK-LABEL: llvm.func @pairs
  // CHECK: %[[ADDING:.*]] = nvvm.vote.sync ballot
  // CHECK: %[[FIRST:.*]] = llvm.call_intrinsic "llvm.cttz.i32"(%[[ADDING]]
  // CHECK-COUNT-2: nvvm.shfl.sync idx %{{.*}}, %{{.*}}, %[[FIRST]]
  // CHECK: %[[ALIKE:.*]] = nvvm.vote.sync all
  // CHECK: scf.if %[[ALIKE]] -> (f32, i1)
  // CHECK-COUNT-5: nvvm.shfl.sync bfly
  // CHECK: red.global.or.b64
  // CHECK-COUNT-3: nvvm.vote.sync all
  // CHECK: red.global.or.b64
  // CHECK-NOT: red.global
  gpu.func @pairs(%words: memref<10x?x?xi64> {hopper.operand = 0 : i64}, %h: index {hopper.operand = 1 : i64}) kernel {
    hopper.warp_specialize partition @compute registers(240) {
      %v = arith.constant dense<1.0> : vector<8x64xf32>
      %p = arith.constant dense<true> : vector<8x64xi1>
      %i = hopper.iota : vector<8x1xindex>
      %j = hopper.iota : vector<1x64xindex>
      hopper.scatter_add %v into %words[%i, %j] if %p : vector<8x64xf32>, memref<10x?x?xi64>, (vector<8x1xindex>, vector<1x64xindex>), vector<8x64xi1>
    }
    gpu.return
  }

  // Two rows, over the four threads of a quad, of which each takes one half of what the other has: two add.
  // CHECK-LABEL: llvm.func @rows
  // CHECK-COUNT-2: nvvm.shfl
  // CHECK-NOT: nvvm.shfl
  // CHECK: red.global.or.b64
  // CHECK-NOT: red.global
  gpu.func @rows(%words: memref<10x?xi64> {hopper.operand = 0 : i64}) kernel {
    hopper.warp_specialize partition @compute registers(240) {
      %v = arith.constant dense<1.0> : vector<8x64xf32>
      %p = arith.constant dense<true> : vector<8x64xi1>
      %j = hopper.iota : vector<1x64xindex>
      hopper.scatter_add %v into %words[%j] if %p : vector<8x64xf32>, memref<10x?xi64>, (vector<1x64xindex>), vector<8x64xi1>
    }
    gpu.return
  }

  // Two columns, over the eight threads of a warp with the same ones.
  // CHECK-LABEL: llvm.func @columns
  // CHECK-COUNT-3: nvvm.shfl
  // CHECK-NOT: nvvm.shfl
  // CHECK: red.global.or.b64
  // CHECK-NOT: red.global
  gpu.func @columns(%words: memref<10x?xi64> {hopper.operand = 0 : i64}) kernel {
    hopper.warp_specialize partition @compute registers(240) {
      %v = arith.constant dense<1.0> : vector<8x64xf32>
      %p = arith.constant dense<true> : vector<8x64xi1>
      %i = hopper.iota : vector<8x1xindex>
      hopper.scatter_add %v into %words[%i] if %p : vector<8x64xf32>, memref<10x?xi64>, (vector<8x1xindex>), vector<8x64xi1>
    }
    gpu.return
  }

  // One number for a warp, and floats that are added to as they are.
  // CHECK-LABEL: llvm.func @one
  // CHECK-COUNT-5: nvvm.shfl
  // CHECK-NOT: nvvm.shfl
  // CHECK: red.global.add.f32
  // CHECK-NOT: red.global
  gpu.func @one(%floats: memref<?xf32> {hopper.operand = 0 : i64}, %h: index {hopper.operand = 1 : i64}) kernel {
    hopper.warp_specialize partition @compute registers(240) {
      %v = arith.constant dense<1.0> : vector<8x64xf32>
      %p = arith.constant dense<true> : vector<8x64xi1>
      hopper.scatter_add %v into %floats[%h] if %p : vector<8x64xf32>, memref<?xf32>, (index), vector<8x64xi1>
    }
    gpu.return
  }

  // A thread has four pairs of neighbours for each of two rows, and writes each at once; then it adds up a diagonal, 16 elements in an iteration.
  // CHECK-LABEL: llvm.func @diagonals
  // CHECK: nvvm.barrier
  // CHECK-COUNT-16: llvm.store {{.*}} {alignment = 8 : i64} : vector<2xf32>
  // CHECK-NOT: llvm.store
  // CHECK: nvvm.barrier
  // CHECK: scf.for {{.*}} -> (f32, f32, f32, f32)
  // CHECK-COUNT-16: llvm.load {{.*}} -> f32
  // CHECK-NOT: llvm.load
  // CHECK: nvvm.vote.sync all
  // CHECK: red.global.add.u64
  gpu.func @diagonals(%words: memref<10x?xi64> {hopper.operand = 0 : i64}) kernel {
    %t = hopper.create_tile : !hopper.tile<4608xf32>
    hopper.warp_specialize partition @compute registers(240) {
      %v = arith.constant dense<1.0> : vector<64x64xf32>
      %s = hopper.diagonal_sums %v via %t : vector<64x64xf32>, !hopper.tile<4608xf32> -> vector<1x128xf32>
      %p = arith.constant dense<true> : vector<1x128xi1>
      %i = hopper.iota : vector<1x128xindex>
      hopper.scatter_add %s into %words[%i] if %p : vector<1x128xf32>, memref<10x?xi64>, (vector<1x128xindex>), vector<1x128xi1>
    }
    gpu.return
  }

  // Each thread writes two diagonals, and reads those of its elements: of 64 columns, 18 for 32 of them.
  // CHECK-LABEL: llvm.func @spread
  // CHECK: nvvm.barrier
  // CHECK-COUNT-2: llvm.store {{.*}} : f32
  // CHECK-NOT: llvm.store
  // CHECK: nvvm.barrier
  // CHECK-COUNT-18: llvm.load {{.*}} -> f32
  // CHECK-NOT: llvm.load
  // CHECK: red.global.add
  gpu.func @spread(%floats: memref<?xf32> {hopper.operand = 0 : i64}) kernel {
    %t = hopper.create_tile : !hopper.tile<256xf32>
    %zero = arith.constant 0 : index
    hopper.warp_specialize partition @compute registers(240) {
      %v = arith.constant dense<1.0> : vector<1x256xf32>
      hopper.put_diagonals %v in %t : vector<1x256xf32>, !hopper.tile<256xf32>
      %s = hopper.spread_diagonals %t : !hopper.tile<256xf32> -> vector<64x64xf32>
      %p = arith.constant dense<true> : vector<64x64xi1>
      hopper.scatter_add %s into %floats[%zero] if %p : vector<64x64xf32>, memref<?xf32>, (index), vector<64x64xi1>
    }
    gpu.return
  }
}
