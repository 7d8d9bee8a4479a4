// Loops in a score and a mask stay loops in a kernel, and compute what those of a
// CPU do.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// DEFINE: %{sizes} = --arg=q=randn:1x1x70x64 --arg=k=randn:1x1x90x64 --arg=v=randn:1x1x90x64
// DEFINE: %{schedule} = --schedule '#hopper.schedule<tile_m = 64, tile_n = 32, stages = 2, registers = 240>'
// RUN: %python %S/Inputs/run_kernel.py %s %{sizes} --arg=a=randn:70x48 --arg=c=randn:90x48 %{schedule} --save-ptx %t.ptx | FileCheck %s
// RUN: FileCheck %s --check-prefix=PTX --input-file %t.ptx
// CHECK: o: max error
// CHECK-NEXT: seed 0: {{[0-9]+}} steps,
// No more reads than for a few ranks.
// PTX-COUNT-20: ld.global
// PTX-NOT: ld.global

!q = tensor<1x1x?x64xbf16>
!f = tensor<?x48xf32>
func.func @rank(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %v: !q {attn.name = "v"}, %a: !f {attn.name = "a"}, %c: !f {attn.name = "c"}) -> (!q {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q) captures(%a, %c : !f, !f) outs(%init : !q)
      score(%x, %b, %h, %i, %j, %u, %w) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %rank = arith.constant 48 : index
        %y = scf.for %r = %zero to %rank step %one iter_args(%acc = %x) -> (f32) {
          %p = tensor.extract %u[%i, %r] : !f
          %t = tensor.extract %w[%j, %r] : !f
          %m = arith.mulf %p, %t : f32
          %n = arith.addf %acc, %m : f32
          scf.yield %n : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}
