// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts)))' | FileCheck %s
// Once is enough.
// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts,hopper-assign-layouts)))' | FileCheck %s

!tile = !hopper.tile<64x64xbf16>
!pending = !hopper.pending<vector<64x64xf32>>

// CHECK-DAG: #[[ACC:.*]] = #hopper.layout<accumulator>
// CHECK-DAG: #[[ROWS:.*]] = #hopper.layout<rows>
// CHECK-DAG: #[[COLUMNS:.*]] = #hopper.layout<columns>
// CHECK-DAG: #[[PARTIAL:.*]] = #hopper.layout<partial>
// CHECK-DAG: #[[LANES:.*]] = #hopper.layout<lanes>

gpu.module @m {
  // CHECK-LABEL: gpu.func @step
  gpu.func @step(%ids: memref<?xi32>, %o: memref<?x64xf32>, %x: f32, %p: i1, %i: index) kernel {
    %t = hopper.create_tile : !tile
    %v = hopper.create_tile : !hopper.tile<64xf32>
    hopper.warp_specialize partition @compute {
      // Constants have the layouts of their users.
      // CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<4x64xf32, #[[PARTIAL]]>
      %zero = arith.constant dense<0.0> : vector<4x64xf32>
      // CHECK: hopper.load_fragment %{{.*}} -> tensor<64x64xbf16, #[[ACC]]>
      %q = hopper.load_fragment %t : !tile -> vector<64x64xbf16>
      // CHECK: hopper.load_fragment %{{.*}} -> tensor<1x64xf32, #[[ROWS]]>
      %row = hopper.load_fragment %v : !hopper.tile<64xf32> -> vector<1x64xf32>
      // CHECK: %[[COLUMN:.*]] = hopper.load_fragment %{{.*}} -> tensor<64x1xf32, #[[COLUMNS]]>
      %column = hopper.load_fragment %v : !hopper.tile<64xf32> -> vector<64x1xf32>
      // CHECK: hopper.mma %{{.*}} : tensor<64x64xbf16, #[[ACC]]>, <64x64xbf16> -> <tensor<64x64xf32, #[[ACC]]>>
      %0 = hopper.mma %q, %t : vector<64x64xbf16>, !tile -> !pending
      // CHECK: %[[S:.*]] = hopper.wait {{.*}} : !hopper.pending<tensor<64x64xf32, #[[ACC]]>>
      %s = hopper.wait %0 in_flight 0 : !pending
      // CHECK: hopper.reduce add %[[S]] : tensor<64x64xf32, #[[ACC]]> -> tensor<4x64xf32, #[[PARTIAL]]>
      %parts = hopper.reduce add %s : vector<64x64xf32> -> vector<4x64xf32>
      %sums = arith.addf %zero, %parts : vector<4x64xf32>
      // CHECK: hopper.reduce add %{{.*}} : tensor<4x64xf32, #[[PARTIAL]]> -> tensor<1x64xf32, #[[ROWS]]>
      %sum = hopper.reduce add %sums : vector<4x64xf32> -> vector<1x64xf32>
      // CHECK: hopper.broadcast %{{.*}} : tensor<1x64xf32, #[[ROWS]]> -> tensor<64x64xf32, #[[ACC]]>
      %a = vector.broadcast %sum : vector<1x64xf32> to vector<64x64xf32>
      // CHECK: hopper.broadcast %{{.*}} : tensor<1x64xf32, #[[ROWS]]> -> tensor<4x64xf32, #[[PARTIAL]]>
      %b = vector.broadcast %row : vector<1x64xf32> to vector<4x64xf32>
      %scaled = arith.mulf %sums, %b : vector<4x64xf32>
      // CHECK: hopper.broadcast %[[COLUMN]] : tensor<64x1xf32, #[[COLUMNS]]> -> tensor<64x64xf32, #[[ACC]]>
      %c = vector.broadcast %column : vector<64x1xf32> to vector<64x64xf32>
      // CHECK: hopper.broadcast %{{.*}} : f32 -> tensor<64x64xf32, #[[ACC]]>
      %d = vector.broadcast %x : f32 to vector<64x64xf32>
      // CHECK: arith.addf %{{.*}} : tensor<64x64xf32, #[[ACC]]>
      %e = arith.addf %a, %c : vector<64x64xf32>
      // CHECK: %[[MORE:.*]] = arith.cmpf ogt, %{{.*}} : tensor<64x64xf32, #[[ACC]]>
      %more = arith.cmpf ogt, %e, %d : vector<64x64xf32>
      // CHECK: arith.select %[[MORE]], %{{.*}} : tensor<64x64xi1, #[[ACC]]>, tensor<64x64xf32, #[[ACC]]>
      %f = arith.select %more, %e, %s : vector<64x64xi1>, vector<64x64xf32>
      // CHECK: arith.select %{{.*}} : tensor<64x64xf32, #[[ACC]]>
      %g = arith.select %p, %f, %s : vector<64x64xf32>
      // CHECK: arith.truncf %{{.*}} : tensor<64x64xf32, #[[ACC]]> to tensor<64x64xbf16, #[[ACC]]>
      %h = arith.truncf %g : vector<64x64xf32> to vector<64x64xbf16>
      // CHECK: hopper.mma %{{.*}} : tensor<64x64xbf16, #[[ACC]]>
      %1 = hopper.mma %h, %t : vector<64x64xbf16>, !tile -> !pending
      %r = hopper.wait %1 in_flight 0 : !pending
      // CHECK: hopper.store_rows {{.*}} : tensor<64x64xf32, #[[ACC]]>, memref<?x64xf32>
      hopper.store_rows %r, %o[%i] dim 0 end %i : vector<64x64xf32>, memref<?x64xf32>
      // CHECK: hopper.any %{{.*}} : tensor<1x64xi1, #[[ROWS]]>
      %grows = arith.cmpf ogt, %sum, %row : vector<1x64xf32>
      %any = hopper.any %grows : vector<1x64xi1>
      // CHECK: hopper.split_bf16x3 %{{.*}} : tensor<1x64xf32, #[[ROWS]]> -> tensor<8x64xbf16, #[[ACC]]>
      %split = hopper.split_bf16x3 %row : vector<1x64xf32> -> vector<8x64xbf16>
      // Indices, mask and result of a gather have one layout.
      // CHECK: %[[ALL:.*]] = arith.constant dense<true> : tensor<64x1xi1, #[[COLUMNS]]>
      %all = arith.constant dense<true> : vector<64x1xi1>
      // CHECK: hopper.iota : tensor<64x1xindex, #[[COLUMNS]]>
      %n = hopper.iota : vector<64x1xindex>
      // CHECK: attn.gather %{{.*}} mask %[[ALL]] : memref<?xi32>, (tensor<64x1xindex, #[[COLUMNS]]>), tensor<64x1xi1, #[[COLUMNS]]> -> tensor<64x1xi32, #[[COLUMNS]]>
      %id = attn.gather %ids[%n] mask %all : memref<?xi32>, (vector<64x1xindex>), vector<64x1xi1> -> vector<64x1xi32>
      // Nobody needs these: their shapes fit.
      // CHECK: arith.constant dense<1> : tensor<16x64xi32, #[[ACC]]>
      %dead = arith.constant dense<1> : vector<16x64xi32>
      // CHECK: arith.constant dense<1> : tensor<1x64xi32, #[[ROWS]]>
      %dead2 = arith.constant dense<1> : vector<1x64xi32>
    }
    gpu.return
  }

  // What control flow carries has the layout that it has inside.
  // CHECK-LABEL: gpu.func @carried
  gpu.func @carried(%p: i1, %n: index) kernel {
    %t = hopper.create_tile : !tile
    hopper.warp_specialize partition @compute {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      // CHECK: arith.constant dense<0.000000e+00> : tensor<64x64xf32, #[[ACC]]>
      %zero = arith.constant dense<0.0> : vector<64x64xf32>
      // CHECK: arith.constant dense<0.000000e+00> : tensor<4x64xf32, #[[PARTIAL]]>
      %none = arith.constant dense<0.0> : vector<4x64xf32>
      // CHECK: scf.for {{.*}} -> (tensor<64x64xf32, #[[ACC]]>, tensor<4x64xf32, #[[PARTIAL]]>)
      %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %sum = %none) -> (vector<64x64xf32>, vector<4x64xf32>) {
        %0 = hopper.mma %t, %t acc %acc : !tile, !tile, vector<64x64xf32> -> !pending
        // CHECK: scf.if %{{.*}} -> (!hopper.pending<tensor<64x64xf32, #[[ACC]]>>)
        %1 = scf.if %p -> !pending {
          // CHECK: hopper.wait {{.*}} : !hopper.pending<tensor<64x64xf32, #[[ACC]]>>
          %s = hopper.wait %0 in_flight 0 : !pending
          // CHECK: hopper.in_flight {{.*}} : <tensor<64x64xf32, #[[ACC]]>>
          %again = hopper.in_flight %s : !pending
          scf.yield %again : !pending
        } else {
          scf.yield %0 : !pending
        }
        %2 = hopper.wait %1 in_flight 0 : !pending
        %parts = hopper.reduce add %2 : vector<64x64xf32> -> vector<4x64xf32>
        scf.yield %2, %parts : vector<64x64xf32>, vector<4x64xf32>
      }
      // CHECK: scf.while (%{{.*}} = %{{.*}}) : (tensor<4x64xf32, #[[PARTIAL]]>) -> tensor<4x64xf32, #[[PARTIAL]]>
      %w = scf.while (%sum = %r#1) : (vector<4x64xf32>) -> vector<4x64xf32> {
        scf.condition(%p) %sum : vector<4x64xf32>
      } do {
      // CHECK: ^bb0(%{{.*}}: tensor<4x64xf32, #[[PARTIAL]]>)
      ^bb0(%sum: vector<4x64xf32>):
        %twice = arith.addf %sum, %sum : vector<4x64xf32>
        // CHECK: scf.yield %{{.*}} : tensor<4x64xf32, #[[PARTIAL]]>
        scf.yield %twice : vector<4x64xf32>
      }
      %total = hopper.reduce add %w : vector<4x64xf32> -> vector<1x64xf32>
    }
    gpu.return
  }

  // Vectors of a thread stay.
  // CHECK-LABEL: gpu.func @plain
  gpu.func @plain(%x: f32) kernel {
    // CHECK: vector.broadcast %{{.*}} : f32 to vector<4xf32>
    %v = vector.broadcast %x : f32 to vector<4xf32>
    gpu.return
  }
}

// Numbers for keys are lanes for what splits them, and columns for what adds them
// to a tile; a constant that both have is one for each.

// CHECK-LABEL: gpu.func @keys
gpu.module @keys {
  gpu.func @keys(%ids: memref<?xf32>, %i: index, %n: i32) kernel {
    %ch = hopper.create_channel : !hopper.channel<4x64x8xbf16, payload>
    %two = arith.constant dense<2.0> : vector<64x1xf32>
    hopper.warp_specialize partition @load threads(32) {
      // CHECK: %[[N:.*]] = hopper.iota : tensor<64x1xindex, #[[LANES]]>
      // CHECK: attn.gather %{{.*}}[%[[N]]]{{.*}} -> tensor<64x1xf32, #[[LANES]]>
      // CHECK: hopper.put_bf16x3 {{.*}}, tensor<64x1xf32, #[[LANES]]>
      %true = arith.constant true
      %j = hopper.iota : vector<64x1xindex>
      %x = attn.gather %ids[%j] mask %true : memref<?xf32>, (vector<64x1xindex>), i1 -> vector<64x1xf32>
      %y = arith.addf %x, %two : vector<64x1xf32>
      hopper.put_bf16x3 %ch[%n], %y times 1.0 up_to 1.0 : !hopper.channel<4x64x8xbf16, payload>, vector<64x1xf32>
    } partition @compute registers(240) {
      // CHECK: %[[M:.*]] = hopper.iota : tensor<64x1xindex, #[[COLUMNS]]>
      // CHECK: attn.gather %{{.*}}[%[[M]]]{{.*}} -> tensor<64x1xf32, #[[COLUMNS]]>
      // CHECK: hopper.broadcast {{.*}} : tensor<64x1xf32, #[[COLUMNS]]> -> tensor<64x64xf32, #[[ACC]]>
      %true = arith.constant true
      %j = hopper.iota : vector<64x1xindex>
      %x = attn.gather %ids[%j] mask %true : memref<?xf32>, (vector<64x1xindex>), i1 -> vector<64x1xf32>
      %y = arith.addf %x, %two : vector<64x1xf32>
      %all = vector.broadcast %y : vector<64x1xf32> to vector<64x64xf32>
      %parts = hopper.reduce add %all : vector<64x64xf32> -> vector<4x64xf32>
    }
    gpu.return
  }
}
