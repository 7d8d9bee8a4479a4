// RUN: attn-opt %s --attn-destination-arguments --canonicalize --cse --attn-canonicalize-score --attn-online-softmax --attn-classify-blocks --attn-pack-gqa --attn-tile --canonicalize --cse --attn-hopper-outline --canonicalize --cse | FileCheck %s

// Tiles have the queries of several heads, as many as the launch says. Work
// tiles are counted among packed heads; boxes start at a head and a query.

// CHECK-LABEL: gpu.func @packed(
// CHECK-SAME: %[[P:[^ ]*]]: index {hopper.packed_count}
// CHECK-SAME: %[[LENGTH:[^ ]*]]: index {hopper.dim = 1 : i64, hopper.operand = 3 : i64}
// CHECK-SAME: %[[Q:[^ ]*]]: !hopper.map<64x64xbf16, packed> {hopper.dims = array<i64: 0, 2, 1, 3>, hopper.operand = 0 : i64}
// CHECK-SAME: %[[O:[^ ]*]]: !hopper.map<64x64xbf16, packed> {hopper.dims = array<i64: 0, 2, 1, 3>, hopper.operand = 3 : i64}
// CHECK-SAME: %[[LSE:[^ ]*]]: memref<?x?x?xf32, strided<[?, ?, 1]>> {hopper.operand = 4 : i64}
// CHECK-SAME: hopper.grid = {dims = array<i64: 0, 2, 1>, key_dim = 1 : i64, key_head_dim = 2 : i64, key_operand = 1 : i64, operand = 3 : i64}
// CHECK-DAG: %[[P32:.*]] = arith.index_cast %[[P]] : index to i32
// CHECK-DAG: %[[HEADS32:.*]] = arith.divui %{{.*}}, %[[P32]] : i32
// CHECK-DAG: %[[HEADS:.*]] = hopper.position %[[HEADS32]]
// CHECK-DAG: %[[ROWS32:.*]] = arith.muli %{{.*}}, %[[P32]] : i32
// CHECK-DAG: %[[ROWS:.*]] = hopper.position %[[ROWS32]]
// CHECK: hopper.work_loop (%[[B:.*]], %[[U:.*]], %[[T:.*]], %{{.*}}) in (%{{.*}}, %[[HEADS]], %{{.*}})
// CHECK: %[[FIRST:.*]], %[[END:.*]] = hopper.work_rows %[[T]] of %[[ROWS]] size 64
// CHECK: hopper.step "load_q"
// CHECK: %[[FIRSTHEAD:.*]] = arith.muli %{{.*}}, %[[P32]] : i32
// CHECK: %[[HEAD:.*]] = hopper.position %[[FIRSTHEAD]]
// CHECK: %[[FIRSTQUERY:.*]] = arith.divui %{{.*}}, %[[P32]] : i32
// CHECK: %[[QUERY:.*]] = hopper.position %[[FIRSTQUERY]]
// CHECK: hopper.load %[[Q]][%[[B]], %[[HEAD]], %[[QUERY]]]
// The causal limit of a column is its query.
// CHECK: arith.divui %{{.*}} : vector<1x64xindex>
// CHECK: hopper.store %{{.*}}, %{{.*}}, %[[O]][%[[B]], %{{.*}}, %{{.*}}] fresh : vector<64x64xbf16>, <64x64xbf16>, <64x64xbf16, packed>
// CHECK: hopper.store_rows %{{.*}}, %[[LSE]][%[[B]], %[[FIRST]], %[[U]]] dim 1 end %[[END]] packed %[[P]] heads 2
!t = tensor<?x?x?x64xbf16>
!l = tensor<?x?x?xf32>
func.func @packed(%q: !t, %k: !t, %v: !t) -> (!t, !l) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %s = tensor.dim %q, %c1 : !t
  %h = tensor.dim %q, %c2 : !t
  %oi = tensor.empty(%b, %s, %h) : !t
  %li = tensor.empty(%b, %s, %h) : !l
  %o, %l = attn.attention layout(bshd)
      schedule #hopper.schedule<tile_m = 64, tile_n = 64, registers = 120, pack_gqa,
                                order = [load_k, qk, softmax, load_v, pv]>
      ins(%q, %k, %v : !t, !t, !t) outs(%oi, %li : !t, !l)
      mask(%bb, %hh, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o, %l : !t, !l
}
