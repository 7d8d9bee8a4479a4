// Work tiles that overlap, one to six of a CTA: with all of their blocks, with
// blocks that one warpgroup alone needs, and with none. The assembler finds
// registers for them beside those of the work tile before, and leaves products
// asynchronous.

// REQUIRES: ptxas, numpy
// UNSUPPORTED: sanitizer
// RUN: %python %S/Inputs/run_kernel.py %s --entry causal --arg=q=randn:1x2x300x128 --arg=k=randn:1x1x300x128 --arg=v=randn:1x1x300x128 --blocks 1 --schedule '#hopper.schedule<tile_m = 128, tile_n = 128, registers = 232, longest_first, persistent, ping_pong, q_in_registers, overlap_tiles>' --save-ptx %t.ptx | FileCheck %s
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | %python %S/Inputs/spills.py
// RUN: %python %S/Inputs/run_kernel.py %s --entry full --arg=q=randn:1x2x129x128 --arg=k=randn:1x1x300x128 --arg=v=randn:1x1x300x128 --blocks 1 --schedule '#hopper.schedule<tile_m = 128, tile_n = 128, registers = 232, persistent, ping_pong, q_in_registers, overlap_tiles>' --save-ptx %t.ptx | FileCheck %s
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | %python %S/Inputs/spills.py
// RUN: %python %S/Inputs/run_kernel.py %s --entry late --arg=q=randn:1x2x300x128 --arg=k=randn:1x1x128x128 --arg=v=randn:1x1x128x128 --blocks 2 --schedule '#hopper.schedule<tile_m = 128, tile_n = 64, registers = 240, persistent, overlap_tiles>' | FileCheck %s

// CHECK: o: max error
// CHECK-NEXT: lse: max error
// CHECK-NEXT: seed 0: {{[0-9]+}} steps,

!q = tensor<1x2x?x128xbf16>
!k = tensor<1x1x?x128xbf16>
!l = tensor<1x2x?xf32>

func.func @causal(%q: !q, %k: !k, %v: !k) -> (!q {attn.name = "o"}, !l {attn.name = "lse"}) {
  %c2 = arith.constant 2 : index
  %s = tensor.dim %q, %c2 : !q
  %oi = tensor.empty(%s) : !q
  %li = tensor.empty(%s) : !l
  %o, %l = attn.attention ins(%q, %k, %v : !q, !k, !k) outs(%oi, %li : !q, !l)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o, %l : !q, !l
}

func.func @full(%q: !q, %k: !k, %v: !k) -> (!q {attn.name = "o"}, !l {attn.name = "lse"}) {
  %c2 = arith.constant 2 : index
  %s = tensor.dim %q, %c2 : !q
  %oi = tensor.empty(%s) : !q
  %li = tensor.empty(%s) : !l
  %o, %l = attn.attention ins(%q, %k, %v : !q, !k, !k) outs(%oi, %li : !q, !l)
  return %o, %l : !q, !l
}

// The first queries have no key.
func.func @late(%q: !q, %k: !k, %v: !k) -> (!q {attn.name = "o"}, !l {attn.name = "lse"}) {
  %c2 = arith.constant 2 : index
  %s = tensor.dim %q, %c2 : !q
  %oi = tensor.empty(%s) : !q
  %li = tensor.empty(%s) : !l
  %o, %l = attn.attention ins(%q, %k, %v : !q, !k, !k) outs(%oi, %li : !q, !l)
      mask(%b, %h, %i, %j) {
        %later = arith.constant 150 : index
        %e = arith.addi %j, %later : index
        %p = arith.cmpi sle, %e, %i : index
        attn.yield %p : i1
      }
  return %o, %l : !q, !l
}
