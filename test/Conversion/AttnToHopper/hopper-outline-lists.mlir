// RUN: attn-run %s --entry=f --target=cuda --sparsity=gathered --until-after=attn-hopper-outline --schedule='#hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 208, order = [load_k, qk, load_v(1), pv(1), softmax]>' | FileCheck %s
// RUN: attn-run %s --entry=limit --target=cuda --sparsity=gathered --until-after=attn-hopper-outline --schedule='#hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 208, order = [load_k, qk, load_v(1), pv(1), softmax]>' | FileCheck %s --check-prefix=LIMIT
// RUN: not attn-run %s --entry=f --target=cuda --sparsity=gathered --emit=ptx --schedule='#hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 208, persistent, order = [load_k, qk, load_v(1), pv(1), softmax]>' 2>&1 | FileCheck %s --check-prefix=PERSISTENT

// Rows are those that a page of a table names. What says where keys are is no
// step of its own.

// CHECK: hopper.pipelined_for %[[J:.*]] = %{{.*}} to %{{.*}} step 64
// CHECK: hopper.step "load_k" in "load" ->
// CHECK: %[[BEFORE:.*]] = arith.divui %[[J]]
// CHECK: %[[PAGE:.*]] = arith.addi %{{.*}}, %[[BEFORE]]
// CHECK: hopper.load %{{.*}} rows %[[LIST:.*]][%[[PAGE]]] stages 2 : <64x64xbf16, strided, aligned>, memref<?x64xi32
// CHECK: hopper.step "softmax" in "compute"
// CHECK: attn.gather %[[LIST]][%{{.*}}] mask %{{.*}} -> vector<64x1xi32>
// CHECK: hopper.step "load_v" in "load" ->
// CHECK: hopper.load %{{.*}} rows %[[LIST]][%{{.*}}]

// PERSISTENT: error: expects a schedule that is not persistent for gathered keys, which a warpgroup copies, but got #hopper.schedule<tile_m = 64, tile_n = 64, {{.*}}persistent{{.*}}>; leave it out
!q = tensor<?x?x?x64xbf16>
!lists = tensor<?xi32>
func.func @f(%q: !q, %k: !q, %v: !q, %rows: !lists, %columns: !lists) -> !q {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %h = tensor.dim %q, %c1 : !q
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%b, %h, %s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : !lists, !lists)
      outs(%init : !q)
      mask(%b0, %h0, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : !q
}

// Keys that a tile gathers may be anywhere, so that a limit of positions holds
// in every block, not in the last one alone.

// LIMIT: hopper.mask
// LIMIT: arith.andi %{{.*}} : vector<64x64xi1>
// LIMIT-NOT: hopper.mask
func.func @limit(%q: !q, %k: !q, %v: !q, %rows: !lists, %columns: !lists, %n: index) -> !q {
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
