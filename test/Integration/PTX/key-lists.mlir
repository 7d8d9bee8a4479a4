// REQUIRES: ptxas
// Kernels of queries with lists of keys: rows are read 16 bytes at a time, the
// code spills nothing, and several warps of a multiprocessor have room.

// RUN: env ATTN_PTXAS=off attn-run %s --entry=half --emit=ptx > %t.ptx
// RUN: FileCheck %s --input-file=%t.ptx
// RUN: ptxas -arch=sm_90a -v %t.ptx -o %t.cubin > %t.log 2>&1
// RUN: %python %S/Inputs/spills.py < %t.log
// RUN: FileCheck %s --check-prefix=SMALL --input-file=%t.log
// RUN: env ATTN_PTXAS=off attn-run %s --entry=wide --emit=ptx > %t.ptx
// RUN: ptxas -arch=sm_90a -v %t.ptx -o %t.cubin 2>&1 | %python %S/Inputs/spills.py

// One read of the query, eight of keys and eight of values.
// CHECK: .maxntid 128
// CHECK-COUNT-17: ld.global.nc.v4.b32
// CHECK-NOT: ld.global.nc.v4.b32
// CHECK: st.global.v4.b32
// SMALL: Used {{[5-9][0-9]}} registers

!lists = tensor<?xi32>
!q = tensor<?x4x?x64xbf16>
!w = tensor<?x4x?x256xf32>

func.func @half(%q: !q, %k: !q, %v: !q, %rows: !lists, %columns: !lists) -> !q {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%b, %s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : !lists, !lists)
      outs(%init : !q)
  return %o : !q
}

func.func @wide(%q: !w, %k: !w, %v: !w, %rows: !lists, %columns: !lists, %bias: tensor<4x?x?xf32>) -> !w {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !w
  %s = tensor.dim %q, %c2 : !w
  %init = tensor.empty(%b, %s) : !w
  %o = attn.attention ins(%q, %k, %v : !w, !w, !w)
      captures(%bias : tensor<4x?x?xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : !lists, !lists)
      outs(%init : !w)
      score(%x, %b0, %h, %i, %j, %w) {
        %y = tensor.extract %w[%h, %i, %j] : tensor<4x?x?xf32>
        %z = arith.addf %x, %y : f32
        attn.yield %z : f32
      }
  return %o : !w
}
