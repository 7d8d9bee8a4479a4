// RUN: attn-opt %s --attn-online-softmax --attn-classify-blocks --attn-pack-gqa --canonicalize --cse --split-input-file | FileCheck %s

// Rows of one head are those of several, and regions compute the query and the
// head of a row; bounds are those of the queries that rows are of.

// CHECK-LABEL: func @alibi
// CHECK-SAME: %[[Q:[^ ]*]]: tensor<?x?x?x64xbf16>, %[[K:[^ ]*]]: tensor<?x?x?x64xbf16>
// CHECK: %[[P:.*]] = attn.packed_count %[[Q]] heads 1 of %[[K]] heads 1 most 64
// CHECK: %[[HEADS:.*]] = arith.divui %{{.*}}, %[[P]] : index
// CHECK: %[[ROWS:.*]] = arith.muli %{{.*}}, %[[P]] : index
// CHECK: tensor.empty(%{{.*}}, %[[HEADS]], %[[ROWS]]) : tensor<?x?x?x64xf32>
// CHECK: %[[PACKED:.*]] = attn.pack_gqa %[[Q]] by %[[P]] heads 1 rows 2
// CHECK: attn.online_attention {{.*}}schedule #hopper.schedule<tile_m = 64, {{.*}}pack_gqa>
// CHECK-NEXT: ins(%[[PACKED]], %[[K]],
// CHECK-NEXT: captures(%{{.*}}, %[[P]] : tensor<?xf32>, index)
// CHECK: score(%{{.*}}, %{{.*}}, %[[U:.*]], %[[R:.*]], %[[J:.*]], %[[SLOPES:.*]], %[[N:.*]]) {
// CHECK-DAG: %[[I:.*]] = arith.divui %[[R]], %[[N]] : index
// CHECK-DAG: %[[INGROUP:.*]] = arith.remui %[[R]], %[[N]] : index
// CHECK-DAG: %[[FIRST:.*]] = arith.muli %[[U]], %[[N]] : index
// CHECK: %[[H:.*]] = arith.addi %[[FIRST]], %[[INGROUP]] : index
// CHECK: tensor.extract %[[SLOPES]][%[[H]]]
// CHECK: arith.subi %[[J]], %[[I]] : index
// CHECK: mask(%{{.*}}, %{{.*}}, %[[R:.*]], %[[J:.*]], %{{.*}}, %[[N:.*]]) {
// CHECK-NEXT: %[[I:.*]] = arith.divui %[[R]], %[[N]] : index
// CHECK-NEXT: arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK: blocks(%{{.*}}, %{{.*}}, %[[R0:.*]], %[[R1:.*]], %[[SKV:.*]], %{{.*}}, %[[N:.*]]) {
// CHECK-DAG: %[[I0:.*]] = arith.divui %[[R0]], %[[N]] : index
// CHECK-DAG: %[[LAST:.*]] = arith.subi %[[R1]], %c1{{.*}} : index
// CHECK: %[[I1:.*]] = arith.divui %[[LAST]], %[[N]] : index
// CHECK: %[[END:.*]] = arith.addi %[[I1]], %c1{{.*}} : index
// CHECK: %[[FULL:.*]] = arith.addi %[[I0]], %c1{{.*}} : index
// CHECK: arith.minsi %[[END]], %[[SKV]] : index
// CHECK: arith.minsi %[[FULL]], %[[SKV]] : index
// CHECK: %[[O:.*]] = attn.pack_gqa %{{.*}} by %[[P]] heads 1 rows 2 : tensor<?x?x?x64xbf16>
// CHECK: %[[L:.*]] = attn.pack_gqa %{{.*}} by %[[P]] heads 1 rows 2 : tensor<?x?x?xf32>
// CHECK: %[[R:.*]], %[[LSE:.*]] = attn.finalize {{.*}} outs(%[[O]], %[[L]] :
// CHECK: attn.unpack_heads %[[R]] by %[[P]] heads 1 rows 2 : tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>
// CHECK: attn.unpack_heads %[[LSE]] by %[[P]] heads 1 rows 2 : tensor<?x?x?xf32> -> tensor<?x?x?xf32>
func.func @alibi(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %slopes: tensor<?xf32>, %oi: tensor<?x?x?x64xbf16>, %li: tensor<?x?x?xf32>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %o, %l = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 64, registers = 120, min_ctas_per_sm = 3, pack_gqa>
      ins(%q, %k, %k : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>)
      captures(%slopes : tensor<?xf32>)
      outs(%oi, %li : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
      score(%s, %b, %h, %i, %j, %c) {
        %slope = tensor.extract %c[%h] : tensor<?xf32>
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %x = arith.mulf %slope, %df : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %c) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o, %l : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}

// -----

// Dimensions are those of each tensor's layout. Nothing is computed that no
// region asks for.

// CHECK-LABEL: func @bshd
// CHECK: attn.packed_count %{{.*}} heads 2 of %{{.*}} heads 2 most 64
// CHECK: attn.pack_gqa %{{.*}} heads 2 rows 1 : tensor<2x?x8x64xbf16> -> tensor<2x?x?x64xbf16>
// CHECK: attn.online_attention
// CHECK-NOT: captures
// CHECK: score(%[[S:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[S]], %[[S]] : f32
// CHECK-NEXT: attn.yield %[[Y]] : f32
// CHECK: attn.pack_gqa %{{.*}} heads 2 rows 1 : tensor<2x?x8x64xbf16> -> tensor<2x?x?x64xbf16>
// CHECK: attn.unpack_heads %{{.*}} heads 2 rows 1 : tensor<2x?x?x64xbf16> -> tensor<2x?x8x64xbf16>
func.func @bshd(%q: tensor<2x?x8x64xbf16>, %k: tensor<2x?x2x64xbf16>, %oi: tensor<2x?x8x64xbf16>) -> tensor<2x?x8x64xbf16> {
  %o = attn.attention layout(bshd) schedule #hopper.schedule<tile_m = 64, tile_n = 64, registers = 120, pack_gqa>
      ins(%q, %k, %k : tensor<2x?x8x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x2x64xbf16>)
      outs(%oi : tensor<2x?x8x64xbf16>)
      score(%s, %b, %h, %i, %j) {
        %y = arith.addf %s, %s : f32
        attn.yield %y : f32
      }
  return %o : tensor<2x?x8x64xbf16>
}

// -----

// Other schedules leave attentions as they are.

// CHECK-LABEL: func @plain
// CHECK-NOT: pack
func.func @plain(%q: tensor<2x8x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %oi: tensor<2x8x?x64xbf16>) -> tensor<2x8x?x64xbf16> {
  %o = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 64, registers = 120>
      ins(%q, %k, %k : tensor<2x8x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      outs(%oi : tensor<2x8x?x64xbf16>)
  return %o : tensor<2x8x?x64xbf16>
}
