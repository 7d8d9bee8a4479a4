// The assembly of `sparsity`, at both levels, and where it goes with tiles.

// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s
// RUN: attn-opt %s --emit-bytecode | attn-opt | FileCheck %s
// RUN: attn-opt %s --verify-roundtrip | FileCheck %s
// RUN: attn-opt %s --attn-online-softmax | FileCheck %s --check-prefix=ONLINE

// CHECK-LABEL: func.func @bits
// CHECK:         attn.attention
// CHECK-NEXT:      ins(
// CHECK-NEXT:      sparsity(#attn.sparsity<bits, block = 64x128> %{{.*}} : tensor<3x4x2xi1>)
// CHECK-NEXT:      outs(
// ONLINE-LABEL: func.func @bits
// ONLINE:         attn.online_attention
// ONLINE-NEXT:      ins(
// ONLINE-NEXT:      sparsity(#attn.sparsity<bits, block = 64x128> %{{.*}} : tensor<3x4x2xi1>)
func.func @bits(%q: tensor<2x3x200x8xf32>, %bits: tensor<3x4x2xi1>) -> tensor<2x3x200x8xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<2x3x200x8xf32>, tensor<2x3x200x8xf32>, tensor<2x3x200x8xf32>)
      sparsity(#attn.sparsity<bits, block = 64x128> %bits : tensor<3x4x2xi1>)
      outs(%q : tensor<2x3x200x8xf32>)
  return %o : tensor<2x3x200x8xf32>
}

// With everything around it.
// CHECK-LABEL: func.func @lists
// CHECK:           captures(%{{.*}} : index)
// CHECK-NEXT:      sparsity(#attn.sparsity<lists, block = 16x256> %{{.*}}, %{{.*}} : tensor<?x1x?xi64>, tensor<?xi32>)
// CHECK-NEXT:      offsets(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK-NEXT:      outs(%{{.*}} : tensor<?x?x?x8xf32>) attributes {note}
// CHECK-NEXT:    mask(
func.func @lists(%q: tensor<?x?x?x8xf32>, %rows: tensor<?x1x?xi64>, %columns: tensor<?xi32>, %n: index)
    -> tensor<?x?x?x8xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>)
      captures(%n : index)
      sparsity(#attn.sparsity<lists, block = 16x256> %rows, %columns : tensor<?x1x?xi64>, tensor<?xi32>)
      offsets(%n, %n, %n, %n)
      outs(%q : tensor<?x?x?x8xf32>)
      attributes {note}
      mask(%b, %h, %i, %j, %n) {
        %p = arith.cmpi slt, %j, %n : index
        attn.yield %p : i1
      }
  return %o : tensor<?x?x?x8xf32>
}

// A sparse matrix, and no mask.
// CHECK-LABEL: func.func @csr
// CHECK:           sparsity(#attn.sparsity<lists, block = 1x1> %{{.*}}, %{{.*}} : tensor<17xi32>, tensor<40xi32>)
func.func @csr(%q: tensor<1x1x16x8xf32>, %rows: tensor<17xi32>, %columns: tensor<40xi32>) -> tensor<1x1x16x8xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<17xi32>, tensor<40xi32>)
      outs(%q : tensor<1x1x16x8xf32>)
  return %o : tensor<1x1x16x8xf32>
}

// CHECK-LABEL: func.func @online
// CHECK:         attn.online_attention
// CHECK-NEXT:      ins(
// CHECK-NEXT:      sparsity(#attn.sparsity<bits, block = 16x16> %{{.*}} : tensor<1x1x?x?xi1>)
func.func @online(%q: tensor<1x1x?x8xf32>, %r: tensor<1x1x?xf32>, %bits: tensor<1x1x?x?xi1>) -> tensor<1x1x?x8xf32> {
  %acc, %max, %sum = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>)
      sparsity(#attn.sparsity<bits, block = 16x16> %bits : tensor<1x1x?x?xi1>)
      outs(%q, %r, %r : tensor<1x1x?x8xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>)
  return %acc : tensor<1x1x?x8xf32>
}
