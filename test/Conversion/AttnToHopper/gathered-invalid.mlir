// RUN: not attn-run %s --entry=large --target=cuda --sparsity=gathered --emit=ptx 2>&1 | FileCheck %s --check-prefix=DIM
// RUN: not attn-run %s --entry=small --target=cuda --sparsity=gathered --emit=ptx --schedule='#hopper.schedule<tile_m = 64, tile_n = 64, registers = 208, persistent>' 2>&1 | FileCheck %s --check-prefix=PERSISTENT
// RUN: not attn-run %s --entry=small --target=cpu --sparsity=gathered 2>&1 | FileCheck %s --check-prefix=CPU

// DIM: error: expects head dimensions that are multiples of 8 for tiles on a GPU, of values up to 256 and of queries up to 576, of gradients and lists of keys up to 256, but got 264 and 264; leave the choice of a schedule and of a form to the compiler
// PERSISTENT: error: expects a schedule that is not persistent for gathered keys, which a warpgroup copies, but got #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 208, head_swizzle = 1, persistent>; leave it out
// CPU: error: expects dense or lists for lists of single keys on a CPU, but got gathered, which is for the tensor cores of a GPU; leave the choice to the compiler with auto
!w = tensor<?x?x?x264xbf16>
!q = tensor<?x?x?x64xbf16>
!lists = tensor<?xi32>
func.func @large(%q: !w, %rows: !lists, %columns: !lists) -> !w {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !w
  %h = tensor.dim %q, %c1 : !w
  %s = tensor.dim %q, %c2 : !w
  %init = tensor.empty(%b, %h, %s) : !w
  %o = attn.attention ins(%q, %q, %q : !w, !w, !w)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : !lists, !lists)
      outs(%init : !w)
  return %o : !w
}

func.func @small(%q: !q, %rows: !lists, %columns: !lists) -> !q {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %h = tensor.dim %q, %c1 : !q
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%b, %h, %s) : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : !lists, !lists)
      outs(%init : !q)
  return %o : !q
}
