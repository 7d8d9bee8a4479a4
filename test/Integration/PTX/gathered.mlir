// REQUIRES: ptxas
// Kernels that gather keys spill nothing at any head dimension, with what they
// need for a bias and a mask by position; nor do those that find the keys.

// RUN: env ATTN_PTXAS=off attn-run %s --entry=d8 --sparsity=gathered --target=cuda --emit=ptx > %t.ptx
// RUN: ptxas -arch=sm_90a -v %t.ptx -o %t.cubin > %t.log 2>&1
// RUN: %python %S/Inputs/spills.py < %t.log
// RUN: FileCheck %s --input-file=%t.log
// RUN: env ATTN_PTXAS=off attn-run %s --entry=d128 --sparsity=gathered --target=cuda --emit=ptx > %t.ptx
// RUN: ptxas -arch=sm_90a -v %t.ptx -o %t.cubin > %t.log 2>&1
// RUN: %python %S/Inputs/spills.py < %t.log
// RUN: FileCheck %s --input-file=%t.log
// RUN: env ATTN_PTXAS=off attn-run %s --entry=d256 --sparsity=gathered --target=cuda --emit=ptx > %t.ptx
// RUN: ptxas -arch=sm_90a -v %t.ptx -o %t.cubin > %t.log 2>&1
// RUN: %python %S/Inputs/spills.py < %t.log
// RUN: FileCheck %s --input-file=%t.log

// CHECK-COUNT-2: bytes stack frame
// CHECK-NOT: bytes stack frame

!lists = tensor<?xi32>
!q8 = tensor<?x?x?x8xbf16>
!q128 = tensor<?x?x?x128xbf16>
!q256 = tensor<?x?x?x256xbf16>

func.func @d8(%q: !q8, %rows: !lists, %columns: !lists) -> !q8 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q8
  %h = tensor.dim %q, %c1 : !q8
  %s = tensor.dim %q, %c2 : !q8
  %init = tensor.empty(%b, %h, %s) : !q8
  %o = attn.attention ins(%q, %q, %q : !q8, !q8, !q8)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : !lists, !lists)
      outs(%init : !q8)
  return %o : !q8
}

func.func @d128(%q: !q128, %rows: !lists, %columns: !lists, %w: tensor<?xf32>) -> !q128 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q128
  %h = tensor.dim %q, %c1 : !q128
  %s = tensor.dim %q, %c2 : !q128
  %init = tensor.empty(%b, %h, %s) : !q128
  %o = attn.attention ins(%q, %q, %q : !q128, !q128, !q128)
      captures(%w : tensor<?xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : !lists, !lists)
      outs(%init : !q128)
      score(%x, %b0, %h0, %i, %j, %u) {
        %y = tensor.extract %u[%j] : tensor<?xf32>
        %z = arith.addf %x, %y : f32
        attn.yield %z : f32
      }
      mask(%b0, %h0, %i, %j, %u) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : !q128
}

func.func @d256(%q: !q256, %rows: !lists, %columns: !lists) -> !q256 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q256
  %h = tensor.dim %q, %c1 : !q256
  %s = tensor.dim %q, %c2 : !q256
  %init = tensor.empty(%b, %h, %s) : !q256
  %o = attn.attention ins(%q, %q, %q : !q256, !q256, !q256)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : !lists, !lists)
      outs(%init : !q256)
  return %o : !q256
}
