// Gradients of captures in one pass over all pairs, which work tiles add to memory that they share.

// RUN: attn-opt %s --attn-hopper-assign-schedule --attn-tile-gradients=one-pass --canonicalize --cse --remarks-filter=attn --remark-format=emitRemark 2>&1 | FileCheck %s
// RUN: attn-opt %s --attn-hopper-assign-schedule --attn-tile-gradients=one-pass --canonicalize --cse --attn-hopper-outline | FileCheck %s --check-prefix=KERNEL

!q = tensor<?x4x?x64xbf16>
!l = tensor<?x4x?xf32>

// CHECK-DAG: gradient of capture 0: one addition for each pair, to an element of its own
// CHECK-DAG: gradient of capture 1: an exact sum of one number for each tile, query and warp
// CHECK-DAG: gradient of capture 2: an exact sum of one number for each work tile and key
// CHECK-DAG: gradient of capture 3: an exact sum of one number for each work tile and warp
// CHECK-DAG: gradient of capture 4: an exact sum of one number for each tile and diagonal
// CHECK-DAG: gradient of capture 5: an exact sum of all pairs

// Sums start as zeros, and the words of an exact one are its first dimension.
// CHECK-LABEL: func @captures
// CHECK: %[[DENSE:.*]] = memref.alloc({{.*}}) : memref<?x4x?x?xf32>
// CHECK: linalg.fill {{.*}} outs(%[[DENSE]]
// CHECK: %[[ROWS:.*]] = memref.alloc({{.*}}) : memref<10x4x?xi64>
// CHECK: linalg.fill {{.*}} outs(%[[ROWS]]
// CHECK: %[[COLUMNS:.*]] = memref.alloc({{.*}}) : memref<10x?xi64>
// CHECK: %[[SCALAR:.*]] = memref.alloc() : memref<10xi64>
// CHECK: %[[TABLE:.*]] = memref.alloc({{.*}}) : memref<10x?xi64>
// CHECK: linalg.fill {{.*}} outs(%[[TABLE]]
// CHECK: %[[PAIRS:.*]] = memref.alloc({{.*}}) : memref<10x?xi64>

// Scores are not multiplied with anything: nothing but captures is wanted.
// CHECK: %[[LOOP:.*]]:2 = attn.tile_loop {{.*}} iter_args(%[[OF_KEYS:.*]] = %{{.*}}, %[[OF_ALL:.*]] = %
// CHECK: attn.step @ds -> (vector<4x64xf32>, vector<4x64xf32>)
// CHECK: attn.scatter disjoint %{{.*}} into %[[DENSE]][%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] {{.*}} (index, index, vector<64x1xindex>, vector<1x64xindex>)
// CHECK: attn.scatter exact %{{.*}} into %[[ROWS]][%{{.*}}, %{{.*}}] {{.*}} (index, vector<64x1xindex>)
// What goes to the same elements at all queries is carried by the loop.
// CHECK: %[[NEXT:.*]] = attn.add_rows %{{.*}} to %[[OF_KEYS]] mask
// CHECK: %[[NEXT_ALL:.*]] = attn.add_rows %{{.*}} to %[[OF_ALL]] mask
// A table by distance is read at one place by all pairs of a diagonal: the first of a tile are 64 queries before the first key.
// CHECK: %[[START:.*]] = arith.subi %{{.*}}, %c64
// CHECK: %[[STEP:.*]] = vector.step : vector<128xindex>
// CHECK: %[[FIRST:.*]] = vector.broadcast %[[START]]
// CHECK: %[[QUERIES:.*]] = arith.addi %[[FIRST]], %[[STEP]]
// CHECK: %[[DISTANCES:.*]] = arith.subi %[[QUERIES]], %{{.*}} : vector<128xindex>
// CHECK: %[[SUMS:.*]] = attn.sum_diagonals %{{.*}} : vector<64x64xf32> -> vector<128xf32>
// CHECK: attn.scatter exact %[[SUMS]] into %[[TABLE]][%[[DISTANCES]]] {{.*}} (vector<128xindex>)
// CHECK: attn.scatter exact %{{.*}} into %[[PAIRS]][%{{.*}}] {{.*}} (vector<64x64xindex>)
// CHECK: attn.yield %[[NEXT]], %[[NEXT_ALL]]
// CHECK-NOT: attn.step
// CHECK: attn.scatter exact %[[LOOP]]#0 into %[[COLUMNS]][%{{.*}}] {{.*}} vector<4x64xf32>, {{.*}} (vector<1x64xindex>)
// CHECK: attn.scatter exact %[[LOOP]]#1 into %[[SCALAR]][]
// CHECK: scf.forall
// CHECK: memref.load %[[DENSE]]
// CHECK: scf.forall
// CHECK: attn.exact_sum %[[ROWS]]
// CHECK: arith.truncf {{.*}} : f32 to bf16
// CHECK: scf.forall
// CHECK: attn.exact_sum %[[COLUMNS]]
// A loop, though it has one iteration.
// CHECK: scf.forall {{.*}} in (1)
// CHECK: attn.exact_sum %[[SCALAR]]
// CHECK: scf.forall
// CHECK: attn.exact_sum %[[TABLE]]
// CHECK: scf.forall
// CHECK: attn.exact_sum %[[PAIRS]]

// KERNEL: gpu.func @captures_behind0
// KERNEL: gpu.func @captures_behind5
// KERNEL: gpu.func @captures(
// KERNEL: %[[MEMORY:.*]] = hopper.create_tile : <4608xf32>
// KERNEL-COUNT-2: hopper.scatter_add
// KERNEL: hopper.reduce {{.*}} : vector<64x64xf32> -> vector<4x64xf32>
// KERNEL: %[[OWN:.*]] = hopper.rows %[[MEMORY]][%{{.*}}]
// KERNEL: %[[SUMS:.*]] = hopper.diagonal_sums %{{.*}} via %[[OWN]] : vector<64x64xf32>, <4608xf32> -> vector<1x128xf32>
// KERNEL: hopper.scatter_add %[[SUMS]] into %{{.*}}[%{{.*}}] if %{{.*}} : vector<1x128xf32>, memref<10x?xi64>, (vector<1x128xindex>), vector<1x128xi1>
// KERNEL: hopper.scatter_add {{.*}} : vector<64x64xf32>, memref<10x?xi64>, (vector<64x64xindex>)
// KERNEL: hopper.step "add" in "compute"
// KERNEL-COUNT-2: hopper.scatter_add {{.*}} : vector<4x64xf32>

func.func @captures(%q: !q, %l: !l, %dense: tensor<?x4x?x?xf32>, %rows: tensor<4x?xbf16>, %columns: tensor<?xf32>, %scalar: f32, %table: tensor<?xf32>, %pairs: tensor<?xf32>,
                    %d0: tensor<?x4x?x?xf32>, %d1: tensor<4x?xbf16>, %d2: tensor<?xf32>, %d3: tensor<f32>, %d4: tensor<?xf32>, %d5: tensor<?xf32>)
    -> (tensor<?x4x?x?xf32>, tensor<4x?xbf16>, tensor<?xf32>, tensor<f32>, tensor<?xf32>, tensor<?xf32>) {
  %d:6 = attn.attention_grad wrt(0, 1, 2, 3, 4, 5)
      ins(%q, %q, %q, %q, %l, %q : !q, !q, !q, !q, !l, !q)
      captures(%dense, %rows, %columns, %scalar, %table, %pairs : tensor<?x4x?x?xf32>, tensor<4x?xbf16>, tensor<?xf32>, f32, tensor<?xf32>, tensor<?xf32>)
      outs(%d0, %d1, %d2, %d3, %d4, %d5 : tensor<?x4x?x?xf32>, tensor<4x?xbf16>, tensor<?xf32>, tensor<f32>, tensor<?xf32>, tensor<?xf32>)
      score(%s, %b, %h, %i, %j, %w0, %w1, %w2, %w3, %w4, %w5) {
        %e = tensor.extract %w0[%b, %h, %i, %j] : tensor<?x4x?x?xf32>
        %y = arith.addf %s, %e : f32
        attn.yield %y : f32
      }
      adjoint(%s, %ds, %b, %h, %i, %j, %w0, %w1, %w2, %w3, %w4, %w5) {
        attn.contribute %ds to %w0[%b, %h, %i, %j] : f32, tensor<?x4x?x?xf32>
        attn.contribute %ds to %w1[%h, %i] : f32, tensor<4x?xbf16>
        attn.contribute %ds to %w2[%j] : f32, tensor<?xf32>
        attn.contribute %ds to %w3 : f32, f32
        %n = arith.subi %i, %j : index
        attn.contribute %ds to %w4[%n] : f32, tensor<?xf32>
        %m = arith.muli %i, %j : index
        attn.contribute %ds to %w5[%m] : f32, tensor<?xf32>
        attn.yield %ds : f32
      }
  return %d#0, %d#1, %d#2, %d#3, %d#4, %d#5 : tensor<?x4x?x?xf32>, tensor<4x?xbf16>, tensor<?xf32>, tensor<f32>, tensor<?xf32>, tensor<?xf32>
}

// Where dx is ds, pairs of probability 0 are left out at once, unless a
// contribution is ds, which leaves them out itself.
// CHECK-LABEL: func @slope
// CHECK: attn.step @ds
// CHECK: %[[COUNTED:.*]] = arith.select
// CHECK: %[[GIVEN:.*]] = arith.mulf %[[COUNTED]]
// CHECK: %[[SUMS:.*]] = attn.add_rows %[[GIVEN]]
// CHECK: attn.yield %[[COUNTED]], %[[SUMS]]
func.func @slope(%q: !q, %l: !l, %slopes: tensor<4xf32>, %d0: !q, %d1: tensor<4xf32>) -> (!q, tensor<4xf32>) {
  %d:2 = attn.attention_grad wrt(q, 0)
      ins(%q, %q, %q, %q, %l, %q : !q, !q, !q, !q, !l, !q)
      captures(%slopes : tensor<4xf32>)
      outs(%d0, %d1 : !q, tensor<4xf32>)
      score(%s, %b, %h, %i, %j, %w0) {
        %w = tensor.extract %w0[%h] : tensor<4xf32>
        %n = arith.index_cast %j : index to i32
        %x = arith.sitofp %n : i32 to f32
        %a = arith.mulf %w, %x : f32
        %y = arith.addf %s, %a : f32
        attn.yield %y : f32
      }
      adjoint(%s, %ds, %b, %h, %i, %j, %w0) {
        %n = arith.index_cast %j : index to i32
        %x = arith.sitofp %n : i32 to f32
        %g = arith.mulf %ds, %x : f32
        attn.contribute %g to %w0[%h] : f32, tensor<4xf32>
        attn.yield %ds : f32
      }
  return %d#0, %d#1 : !q, tensor<4xf32>
}
