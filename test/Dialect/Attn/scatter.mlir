// Sums into gradients of captures: read and printed, on tensors and on buffers.

// RUN: attn-opt %s --verify-roundtrip | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s
// RUN: attn-opt %s --attn-bufferize | FileCheck %s --check-prefix=BUFFER
// RUN: attn-opt %s --canonicalize --cse | FileCheck %s --check-prefix=KEPT

// CHECK-LABEL: func.func private @scatter
// CHECK: %[[S:.+]] = attn.scatter %{{.+}} into %{{.+}}[%{{.+}}, %{{.+}}] mask %{{.+}} : vector<8x4xf32>, tensor<8x?xf32>, (index, vector<8x4xindex>), vector<8x4xi1> -> tensor<8x?xf32>
// CHECK: attn.scatter %{{.+}} into %{{.+}}[] mask %{{.+}} : vector<8x4xf32>, tensor<f32>, vector<8x4xi1> -> tensor<f32>
// BUFFER-LABEL: func.func private @scatter
// BUFFER: attn.scatter %{{.+}} into %{{.+}}[%{{.+}}, %{{.+}}] mask %{{.+}} : vector<8x4xf32>, memref<8x?xf32, {{.+}}>, (index, vector<8x4xindex>), vector<8x4xi1>{{$}}
func.func private @scatter(%x: vector<8x4xf32>, %i: vector<8x4xindex>, %p: vector<8x4xi1>, %h: index, %t: tensor<8x?xf32>, %s: tensor<f32>)
    -> (tensor<8x?xf32>, tensor<f32>) {
  %r = attn.scatter %x into %t[%h, %i] mask %p : vector<8x4xf32>, tensor<8x?xf32>, (index, vector<8x4xindex>), vector<8x4xi1> -> tensor<8x?xf32>
  %u = attn.scatter %x into %s[] mask %p : vector<8x4xf32>, tensor<f32>, vector<8x4xi1> -> tensor<f32>
  return %r, %u : tensor<8x?xf32>, tensor<f32>
}

// A buffer is written, so what has no result stays.
// KEPT-LABEL: func.func @on_buffer
// KEPT: attn.scatter %{{.+}} into %{{.+}}[%{{.+}}] mask %{{.+}} : vector<8x4xf32>, memref<?xf32>, (index), vector<8x4xi1>
func.func @on_buffer(%x: vector<8x4xf32>, %p: vector<8x4xi1>, %h: index, %m: memref<?xf32>) {
  attn.scatter %x into %m[%h] mask %p : vector<8x4xf32>, memref<?xf32>, (index), vector<8x4xi1>
  return
}

// Exact sums, whose indices may be the same along a dimension, and elements that no two share.
// CHECK-LABEL: func.func @shared
// CHECK: attn.scatter exact %{{.+}} into %{{.+}}[%{{.+}}, %{{.+}}] mask %{{.+}} : vector<8x4xf32>, memref<10x8x?xi64>, (index, vector<8x1xindex>), vector<8x4xi1>
// CHECK: attn.scatter disjoint %{{.+}} into %{{.+}}[%{{.+}}, %{{.+}}] mask %{{.+}} : vector<8x4xf32>, memref<8x?xf32>, (vector<1x4xindex>, vector<8x1xindex>), vector<8x4xi1>
// CHECK: attn.exact_sum %{{.+}}[%{{.+}}, %{{.+}}] : memref<10x8x?xi64>
// KEPT-LABEL: func.func @shared
// KEPT: attn.scatter exact
// KEPT: attn.scatter disjoint
func.func @shared(%x: vector<8x4xf32>, %p: vector<8x4xi1>, %h: index, %i: vector<8x1xindex>, %j: vector<1x4xindex>, %w: memref<10x8x?xi64>, %m: memref<8x?xf32>) -> f32 {
  attn.scatter exact %x into %w[%h, %i] mask %p : vector<8x4xf32>, memref<10x8x?xi64>, (index, vector<8x1xindex>), vector<8x4xi1>
  attn.scatter disjoint %x into %m[%j, %i] mask %p : vector<8x4xf32>, memref<8x?xf32>, (vector<1x4xindex>, vector<8x1xindex>), vector<8x4xi1>
  %s = attn.exact_sum %w[%h, %h] : memref<10x8x?xi64>
  return %s : f32
}

// One number for each diagonal, and one index.
// CHECK-LABEL: func.func @diagonals
// CHECK: %[[S:.+]] = attn.sum_diagonals %{{.+}} : vector<8x4xf32> -> vector<12xf32>
// CHECK: attn.scatter exact %[[S]] into %{{.+}}[%{{.+}}] mask %{{.+}} : vector<12xf32>, memref<10x?xi64>, (vector<12xindex>), vector<12xi1>
func.func @diagonals(%x: vector<8x4xf32>, %p: vector<12xi1>, %i: vector<12xindex>, %w: memref<10x?xi64>) {
  %s = attn.sum_diagonals %x : vector<8x4xf32> -> vector<12xf32>
  attn.scatter exact %s into %w[%i] mask %p : vector<12xf32>, memref<10x?xi64>, (vector<12xindex>), vector<12xi1>
  return
}

// Parts of the sums of columns.
// CHECK-LABEL: func.func @rows
// CHECK: attn.add_rows %{{.+}} to %{{.+}} mask %{{.+}} : vector<8x2xf32>, vector<4x2xf32>, vector<8x2xi1>
func.func @rows(%x: vector<8x2xf32>, %s: vector<4x2xf32>, %p: vector<8x2xi1>) -> vector<4x2xf32> {
  %n = attn.add_rows %x to %s mask %p : vector<8x2xf32>, vector<4x2xf32>, vector<8x2xi1>
  return %n : vector<4x2xf32>
}
