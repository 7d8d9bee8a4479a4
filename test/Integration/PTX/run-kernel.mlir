// The command that executes a program on the CPU as a GPU would, for those who
// change kernels: what it prints of a right one, and of one that is wrong.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// RUN: %python %S/Inputs/run_kernel.py %s --arg=q=randn:1x2x70x64 --seeds 2 --save-ptx %t.ptx | FileCheck %s --check-prefix=RIGHT
// RUN: sed 's/wgmma.wait_group.sync.aligned 0;//' %t.ptx > %t.wrong.ptx
// RUN: not %python %S/Inputs/run_kernel.py %s --arg=q=randn:1x2x70x64 --ptx %t.wrong.ptx | FileCheck %s --check-prefix=WRONG
// RUN: not %python %S/Inputs/run_kernel.py %s --arg=q=randn:1x2x70x64 --tolerance 0 | FileCheck %s --check-prefix=ABOVE
// RUN: not %python %S/Inputs/run_kernel.py %s --schedule nonsense | FileCheck %s --check-prefix=REJECTED
// RUN: not %python %S/Inputs/run_kernel.py %s --arg=q=randn:1x2x70x64 --schedule '#hopper.schedule<tile_m = 128, tile_n = 256, stages = 4, registers = 240>' | FileCheck %s --check-prefix=LARGE

// RIGHT: #hopper.schedule<
// RIGHT-NEXT: o: max error
// RIGHT-NEXT: seed 0: {{[0-9]+}} steps,
// RIGHT-NEXT: o: max error
// RIGHT-NEXT: seed 1: {{[0-9]+}} steps,
// WRONG: error: CTA {{[01]}}, warp {{[0-9]+}}: %r{{[0-9]+}} is a result of a product under way: {{[a-z]}}
// ABOVE: wrong: o: max error 0
// LARGE: error: expects at most 232448 bytes of shared memory for a CTA, but got {{[0-9]+}}
// REJECTED: error: attn-run {{.*}}--schedule=nonsense

!t = tensor<?x?x?x64xbf16>

func.func @causal(%q: !t, %k: !t, %v: !t) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%mb, %mh, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : !t
}
