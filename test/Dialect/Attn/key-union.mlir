// RUN: attn-opt %s | attn-opt | FileCheck %s

// Lists of each head, as tensors, and those that all share, as buffers.

// CHECK-LABEL: func.func @tensors
// CHECK: %{{.*}}:3 = attn.key_union %{{.*}}, %{{.*}} queries %{{.*}} keys %{{.*}} tile[64, 128] : tensor<2x4x?xi64>, tensor<?xi32> -> tensor<2x4x?x2xi32>, tensor<?x128xi32>, tensor<?x4x64xi32>
func.func @tensors(%rows: tensor<2x4x?xi64>, %columns: tensor<?xi32>, %n: index) -> tensor<?x128xi32> {
  %t:3 = attn.key_union %rows, %columns queries %n keys %n tile [64, 128]
      : tensor<2x4x?xi64>, tensor<?xi32> -> tensor<2x4x?x2xi32>, tensor<?x128xi32>, tensor<?x4x64xi32>
  return %t#1 : tensor<?x128xi32>
}

// CHECK-LABEL: func.func @buffers
// CHECK: attn.key_union %{{.*}}, %{{.*}} queries %{{.*}} keys %{{.*}} tile[64, 32] into(%{{.*}}, %{{.*}}, %{{.*}} : memref<1x1x?x2xi32>, memref<?x32xi32>, memref<?x1x64xi32>) : memref<?xi32>, memref<?xi32>
func.func @buffers(%rows: memref<?xi32>, %columns: memref<?xi32>, %n: index,
                   %places: memref<1x1x?x2xi32>, %numbers: memref<?x32xi32>, %words: memref<?x1x64xi32>) {
  attn.key_union %rows, %columns queries %n keys %n tile [64, 32]
      into (%places, %numbers, %words : memref<1x1x?x2xi32>, memref<?x32xi32>, memref<?x1x64xi32>)
      : memref<?xi32>, memref<?xi32>
  return
}
