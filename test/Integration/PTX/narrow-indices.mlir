// Positions that are cut to a few bits and are positions again: as numbers of 8 and
// of 32 bits say, which are negative from the half on.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// RUN: attn-run %s --target=cpu --check | FileCheck %s --check-prefix=CPU
// RUN: %python %S/Inputs/run_kernel.py %s | FileCheck %s
// CPU: {{^}}PASS{{$}}
// CHECK: o: max error
// CHECK-NEXT: seed 0: {{[0-9]+}} steps,

!head = tensor<1x1x20x16xf16>
!keys = tensor<1x1x300x16xf16>
func.func @f(%q: !head, %k: !keys, %v: !keys) -> (!head {attn.name = "o"}) {
  %init = tensor.empty() : !head
  %o = attn.attention ins(%q, %k, %v : !head, !keys, !keys) outs(%init : !head)
      mask(%b, %h, %i, %j) {
        %c100 = arith.constant 100 : index
        %large = arith.constant 1073741824 : index
        // Below 100, or from 128 to 255.
        %i8 = arith.index_cast %j : index to i8
        %byte = arith.index_cast %i8 : i8 to index
        %p8 = arith.cmpi slt, %byte, %c100 : index
        // The first two of four.
        %product = arith.muli %j, %large : index
        %i32 = index.casts %product : index to i32
        %word = index.casts %i32 : i32 to index
        %zero = arith.constant 0 : index
        %p32 = arith.cmpi sge, %word, %zero : index
        %p = arith.andi %p8, %p32 : i1
        attn.yield %p : i1
      }
  return %o : !head
}
