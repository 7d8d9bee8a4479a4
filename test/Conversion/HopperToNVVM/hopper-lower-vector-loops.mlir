// RUN: attn-opt %s --split-input-file --attn-hopper-lower --verify-diagnostics | FileCheck %s

// A thread of a kernel of plain warps reads and writes vectors of its own: at once where their elements follow each other.
gpu.module @m {
// CHECK-LABEL: llvm.func @rows
// CHECK-SAME: alignment = 8 : i64, kind = "pointer"
// CHECK: %[[X:.*]] = llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<4xbf16>
// CHECK: arith.extf %[[X]] : vector<4xbf16> to vector<4xf32>
// CHECK: llvm.extractelement
// CHECK-COUNT-3: arith.addf
// CHECK-COUNT-5: nvvm.shfl.sync
// Of eight threads, three times.
// CHECK-COUNT-3: nvvm.shfl.sync
// CHECK-NOT: nvvm.shfl.sync
// CHECK: llvm.insertelement
// CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// CHECK-COUNT-4: llvm.store %{{.*}} : f32, !llvm.ptr<1>
  gpu.func @rows(%x: memref<?x128xbf16> {hopper.operand = 0 : i64, hopper.alignment = 8 : i64},
                 %y: memref<128x128xf32> {hopper.operand = 1 : i64}) kernel
      attributes {hopper.threads = 128 : i64, hopper.vector_loop = {extents = [{extent = 128 : i64}]}} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0.0 : bf16
    %a = vector.transfer_read %x[%c0, %c4], %zero {in_bounds = [true]} : memref<?x128xbf16>, vector<4xbf16>
    %b = arith.extf %a : vector<4xbf16> to vector<4xf32>
    %c = vector.reduction <add>, %b : vector<4xf32> into f32
    %all = gpu.subgroup_reduce add %c uniform : (f32) -> f32
    %d = gpu.subgroup_reduce add %all cluster(size = 8) : (f32) -> f32
    %e = vector.broadcast %d : f32 to vector<4xf32>
    vector.transfer_write %e, %y[%c4, %c0] {in_bounds = [true]} : vector<4xf32>, memref<128x128xf32>
    vector.transfer_write %e, %y[%c4, %c0] {in_bounds = [true], permutation_map = affine_map<(a, b) -> (a)>} : vector<4xf32>, memref<128x128xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @beyond(%x: memref<?x128xf32> {hopper.operand = 0 : i64}) kernel
      attributes {hopper.threads = 128 : i64, hopper.vector_loop = {extents = [{extent = 128 : i64}]}} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    // expected-error @below {{expects a vector of rank 1 all of which is in a buffer}}
    %a = vector.transfer_read %x[%c0, %c0], %zero : memref<?x128xf32>, vector<4xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @product(%x: memref<?x128xf32> {hopper.operand = 0 : i64}) kernel
      attributes {hopper.threads = 128 : i64, hopper.vector_loop = {extents = [{extent = 128 : i64}]}} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %a = vector.transfer_read %x[%c0, %c0], %zero {in_bounds = [true]} : memref<?x128xf32>, vector<4xf32>
    // expected-error @below {{expects the sum of a vector of f32}}
    %s = vector.reduction <mul>, %a : vector<4xf32> into f32
    gpu.return
  }
}

// -----

// Elements of vectors of a thread in another order.
gpu.module @m {
// CHECK-LABEL: llvm.func @shuffle
// CHECK: llvm.shufflevector %{{.*}}, %{{.*}} [0, 4, 1, 5] : vector<4xf32>
  gpu.func @shuffle(%x: memref<?x128xf32> {hopper.operand = 0 : i64}) kernel
      attributes {hopper.threads = 128 : i64, hopper.vector_loop = {extents = [{extent = 128 : i64}]}} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0.0 : f32
    %a = vector.transfer_read %x[%c0, %c0], %zero {in_bounds = [true]} : memref<?x128xf32>, vector<4xf32>
    %b = vector.transfer_read %x[%c0, %c4], %zero {in_bounds = [true]} : memref<?x128xf32>, vector<4xf32>
    %c = vector.shuffle %a, %b [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
    vector.transfer_write %c, %x[%c0, %c0] {in_bounds = [true]} : vector<4xf32>, memref<?x128xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @unlike(%x: memref<?x128xf32> {hopper.operand = 0 : i64}) kernel
      attributes {hopper.threads = 128 : i64, hopper.vector_loop = {extents = [{extent = 128 : i64}]}} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %a = vector.transfer_read %x[%c0, %c0], %zero {in_bounds = [true]} : memref<?x128xf32>, vector<4xf32>
    %b = vector.transfer_read %x[%c0, %c0], %zero {in_bounds = [true]} : memref<?x128xf32>, vector<2xf32>
    // expected-error @below {{expects vectors of a thread of one type, but got 'vector<4xf32>' and 'vector<2xf32>'}}
    %c = vector.shuffle %a, %b [0, 4, 1, 5] : vector<4xf32>, vector<2xf32>
    gpu.return
  }
}
