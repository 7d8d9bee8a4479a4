// RUN: attn-run %s --target=cuda --sparsity=gathered --until-after=attn-hopper-outline | FileCheck %s

// Keys that a tile gathers may be anywhere, so that a limit of positions holds
// in every tile, not in the last one alone.

// CHECK: hopper.pipelined_for
// CHECK: hopper.mask %{{.*}} unless %false by_block {
// CHECK: attn.gather %{{.*}} : memref<?x64xi32, {{.*}} -> vector<64x1xi32>
// CHECK: %[[KEYS:.*]] = arith.cmpi slt, %{{.*}} : vector<64x1xindex>
// CHECK: %[[LIMIT:.*]] = vector.broadcast %[[KEYS]] : vector<64x1xi1> to vector<64x64xi1>
// CHECK: %[[BITS:.*]] = arith.cmpi ne, %{{.*}} : vector<64x64xi32>
// CHECK: %[[ALLOWED:.*]] = arith.andi %[[LIMIT]], %[[BITS]] : vector<64x64xi1>
// CHECK: hopper.end %[[ALLOWED]]
// CHECK-NOT: hopper.mask
// CHECK: gpu.return
!q = tensor<?x?x?x64xbf16>
!lists = tensor<?xi32>
func.func @f(%q: !q, %k: !q, %v: !q, %rows: !lists, %columns: !lists, %n: index) -> !q {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %h = tensor.dim %q, %c1 : !q
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%b, %h, %s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q)
      captures(%n : index)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : !lists, !lists)
      outs(%init : !q)
      mask(%b0, %h0, %i, %j, %end) {
        %p = arith.cmpi slt, %j, %end : index
        attn.yield %p : i1
      }
  return %o : !q
}
