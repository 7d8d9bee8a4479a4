// RUN: attn-run %s --target=cuda --sparsity=dense --emit=ptx | FileCheck %s
// RUN: attn-run %s --target=cuda --sparsity=dense --emit=ptx | grep -c 'ld.global.nc' | FileCheck %s --check-prefix=READS

// A warp for each query sets bits in shared memory and writes its words.

// CHECK: .visible .entry f_prologue0(
// CHECK: st.shared.b32
// CHECK: bar.warp.sync
// CHECK: ld.global.b32
// CHECK: atom.shared.or.b32
// CHECK: bar.warp.sync
// CHECK: ld.shared.b32
// CHECK: st.global.b32

// A thread has 64 scores of a tile of 128 keys, for two queries, whose bits are
// in 4 words each. A word is moved by the thread's place among the four that
// share a query, and each test is one of a constant bit.

// CHECK: .visible .entry f(
// CHECK: { .reg .b32 t; and.b32 t, %r{{[0-9]+}}, 1; setp.ne.b32 %p{{[0-9]+}}, t, 0; }
// CHECK: and.b32 t, %r{{[0-9]+}}, 2;
// CHECK: and.b32 t, %r{{[0-9]+}}, 256;
// CHECK: and.b32 t, %r{{[0-9]+}}, 512;

// Two reads of the list's ends, and 8 words for the first tile and for others.
// READS: {{^}}18{{$}}
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
