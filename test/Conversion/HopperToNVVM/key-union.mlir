// RUN: attn-run %s --target=cuda --sparsity=gathered --until-after=hopper-lower-work-loop | FileCheck %s --check-prefix=KERNEL
// RUN: attn-run %s --target=cuda --sparsity=gathered --until-after=attn-hopper-lower | FileCheck %s --check-prefix=LAUNCH
// RUN: attn-run %s --target=cuda --sparsity=gathered --emit=ptx | FileCheck %s

// A kernel before finds the keys of each Q block, a CTA for
// each. A warpgroup copies the rows that the pages of a tile name.

// KERNEL: gpu.func @f_prologue0
// KERNEL-SAME: hopper.blocks, hopper.elements = 6 : i64, hopper.rows, hopper.threads = 256 : i64
// KERNEL: attn.key_union %{{.*}}, %{{.*}} queries %{{.*}} keys %{{.*}} tile[64, 64] into(
// KERNEL: gpu.func @f(
// KERNEL: hopper.warp_specialize ctas_per_sm(3) partition @load {
// KERNEL: hopper.put %[[Q:[0-9]+]][%{{.*}}], %{{.*}} : <1x64x64xbf16>, <64x64xbf16>
// KERNEL: hopper.put %[[K:[0-9]+]][%{{.*}}], %{{.*}} rows %[[LIST:.*]][%[[PAGE:.*]]] : <4x64x64xbf16>, <64x64xbf16, strided, aligned>, memref<?x64xi32
// KERNEL: scf.for
// KERNEL: hopper.put %[[K]][%{{.*}}], %{{.*}} rows %[[LIST]][%{{.*}}]
// KERNEL: hopper.put %[[V:[0-9]+]][%{{.*}}], %{{.*}} rows %[[LIST]][%{{.*}}]
// KERNEL: } partition @compute registers(112) {
// KERNEL-NOT: vector<64x64xbf16>, i1
// KERNEL: attn.gather %{{.*}} : memref<?x2x64xi32, {{.*}} -> vector<64x64xi32>

// Rows must be aligned for the kernel, and there is a page for each tile besides
// those that the entries fill.
// LAUNCH: hopper.blocks
// LAUNCH-SAME: nvvm.maxntid = array<i32: 256>, nvvm.minctasm = 4 : i32
// LAUNCH: {alignment = 16 : i64, kind = "pointer", operand = 1 : i64}, {alignment = 16 : i64, dim = 0 : i64, kind = "stride", operand = 1 : i64}
// LAUNCH-SAME: hopper.tables = {first = 6 : i64, tables = [
// LAUNCH-SAME: {bytes = 4 : i64, extents = [{extent = 1 : i64}, {dim = 0 : i64, divisor = 1 : i64, operand = 3 : i64}, {dim = 2 : i64, divisor = 64 : i64, operand = 0 : i64}, {extent = 2 : i64}], prepared}
// LAUNCH-SAME: {bytes = 4 : i64, extents = [{dim = 0 : i64, divisor = 64 : i64, operand = 4 : i64, plus_rows = 6 : i64}, {extent = 64 : i64}], prepared}
// LAUNCH-SAME: {bytes = 4 : i64, extents = [{dim = 0 : i64, divisor = 64 : i64, operand = 4 : i64, plus_rows = 6 : i64}, {extent = 2 : i64}, {extent = 64 : i64}], prepared}

// Lists are read twice. Whether a bit is set is looked up while others set more.
// CHECK: .visible .entry f_prologue0(
// CHECK: ld.relaxed.cta.shared.b32
// CHECK: atom.shared.or.b32
// CHECK: popc.b32
// CHECK: shfl.sync.up.b32
// CHECK: st.global.b32
// CHECK: atom.shared.or.b32
// CHECK: .visible .entry f(
// What threads have written is there for products once it is fenced.
// CHECK: setmaxnreg.inc
// CHECK: mbarrier.try_wait.parity
// CHECK: fence.proxy.async.shared::cta
// CHECK: wgmma.mma_async
// CHECK: setmaxnreg.dec
// CHECK: ld.global.b32
// CHECK: mbarrier.try_wait.parity
// CHECK-COUNT-4: cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16, %r{{[0-9]+}};
// CHECK-NEXT: cp.async.mbarrier.arrive.noinc.shared.b64
// CHECK: cp.async.wait_group 0
!q = tensor<?x?x?x64xbf16>
!rows = tensor<?x?xi32>
!columns = tensor<?xi32>
func.func @f(%q: !q, %k: !q, %v: !q, %rows: !rows, %columns: !columns) -> !q {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %h = tensor.dim %q, %c1 : !q
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%b, %h, %s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : !rows, !columns)
      outs(%init : !q)
  return %o : !q
}
