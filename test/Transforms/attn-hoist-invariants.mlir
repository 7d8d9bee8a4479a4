// RUN: attn-opt %s --attn-hoist-invariants | FileCheck %s

// Out of loops over keys, but not out of loops over tiles.

// CHECK-LABEL: func.func @hoist
// CHECK-NEXT: %{{.*}} = scf.forall
// CHECK-NEXT: vector.broadcast %{{.*}} : f32 to vector<8xf32>
// CHECK-NEXT: vector.transfer_read
// CHECK-NEXT: arith.addf
// CHECK-NEXT: vector.extract
// CHECK-NEXT: scf.for
// CHECK-NEXT: scf.for
// CHECK-NEXT: arith.mulf
func.func @hoist(%s: f32, %x: tensor<8xf32>, %out: tensor<8xf32>, %c0: index, %n: index, %c1: index) -> tensor<8xf32> {
  %r = scf.forall (%i) in (%n) shared_outs(%o = %out) -> tensor<8xf32> {
    %v = scf.for %j = %c0 to %n step %c1 iter_args(%a = %s) -> f32 {
      %w = scf.for %k = %c0 to %n step %c1 iter_args(%b = %a) -> f32 {
        %b0 = vector.broadcast %s : f32 to vector<8xf32>
        %x0 = vector.transfer_read %x[%i], %s : tensor<8xf32>, vector<8xf32>
        %y = arith.addf %b0, %x0 : vector<8xf32>
        %z = vector.extract %y[0] : f32 from vector<8xf32>
        %m = arith.mulf %b, %z : f32
        scf.yield %m : f32
      }
      scf.yield %w : f32
    }
    %t = tensor.empty() : tensor<1xf32>
    %u = tensor.insert %v into %t[%c0] : tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %u into %o[%i] [1] [1] : tensor<1xf32> into tensor<8xf32>
    }
  }
  return %r : tensor<8xf32>
}
