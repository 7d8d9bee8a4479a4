// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s

// Heads that follow each other as one head with more rows.

// CHECK-LABEL: func.func @views
// CHECK: %[[P:.*]] = attn.packed_count %{{.*}} heads 1 of %{{.*}} heads 2 most 64 : tensor<2x32x?x128xbf16>, tensor<2x?x4x128xbf16>
// CHECK: %[[PACKED:.*]] = attn.pack_gqa %{{.*}} by %[[P]] heads 1 rows 2 : tensor<2x32x?x128xbf16> -> tensor<2x?x?x128xbf16>
// CHECK: attn.unpack_heads %[[PACKED]] by %[[P]] heads 1 rows 2 : tensor<2x?x?x128xbf16> -> tensor<2x32x?x128xbf16>
// CHECK: attn.pack_gqa %{{.*}} by %[[P]] heads 2 rows 1 : tensor<2x?x32xf32> -> tensor<2x?x?xf32>
func.func @views(%q: tensor<2x32x?x128xbf16>, %k: tensor<2x?x4x128xbf16>, %l: tensor<2x?x32xf32>)
    -> (tensor<2x32x?x128xbf16>, tensor<2x?x?xf32>) {
  %p = attn.packed_count %q heads 1 of %k heads 2 most 64 : tensor<2x32x?x128xbf16>, tensor<2x?x4x128xbf16>
  %packed = attn.pack_gqa %q by %p heads 1 rows 2 : tensor<2x32x?x128xbf16> -> tensor<2x?x?x128xbf16>
  %plain = attn.unpack_heads %packed by %p heads 1 rows 2 : tensor<2x?x?x128xbf16> -> tensor<2x32x?x128xbf16>
  %rows = attn.pack_gqa %l by %p heads 2 rows 1 : tensor<2x?x32xf32> -> tensor<2x?x?xf32>
  return %plain, %rows : tensor<2x32x?x128xbf16>, tensor<2x?x?xf32>
}
