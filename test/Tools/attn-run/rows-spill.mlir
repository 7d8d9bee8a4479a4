// ptxas may spill registers of a kernel for lists where that lets more warps
// run at a time, as 13.0 does here. There is no other schedule, and it is fine.

// REQUIRES: ptxas

// RUN: attn-run %s --emit=cubin | head -c 4 | od -An -c | FileCheck %s
// CHECK: 177 E L F


!q = tensor<?x4x?x64xbf16>
!k = tensor<?x2x?x64xbf16>
!v = tensor<?x2x?x64xbf16>
!o = tensor<?x4x?x64xbf16>
!l = tensor<?x4x?xf32>
!rows = tensor<2x4x?xi64>
!columns = tensor<?xi64>
func.func @attention(%q: !q, %k: !k, %v: !v, %rows: !rows, %columns: !columns, %w: tensor<?xf32>)
    -> (!o {attn.name = "o"}, !l {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %s = tensor.dim %q, %c2 : !q
  %oi = tensor.empty(%b, %s) : !o
  %li = tensor.empty(%b, %s) : !l
  %o, %l = attn.attention
      ins(%q, %k, %v : !q, !k, !v)
      captures(%w : tensor<?xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : !rows, !columns)
      outs(%oi, %li : !o, !l)
      score(%x, %b0, %h, %i, %j, %u) {
        %y = tensor.extract %u[%j] : tensor<?xf32>
        %z = arith.addf %x, %y : f32
        attn.yield %z : f32
      }
      mask(%b0, %h, %i, %j, %u) {
        %p = arith.cmpi ne, %i, %j : index
        attn.yield %p : i1
      }
  return %o, %l : !o, !l
}
