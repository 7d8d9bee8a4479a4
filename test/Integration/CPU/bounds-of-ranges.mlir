// With checks, a tile has no class where a capture is read for each key, also
// where what is read lies in a known range.

// RUN: attn-run %s --target=cpu --bounds-check --check --arg=c=full(0):64 | FileCheck %s
// RUN: attn-run %s --target=cpu --bounds-check --check "--arg=c=randint(0,40):64" | FileCheck %s
// RUN: attn-run %s --target=cpu --check "--arg=c=randint(0,40):64" | FileCheck %s
// CHECK: PASS

!q = tensor<1x1x1x1xf32>
!k = tensor<1x1x64x1xf32>

func.func @clamped(%q: !q, %k: !k, %v: !k, %c: tensor<64xi32>) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %k, %v : !q, !k, !k) captures(%c : tensor<64xi32>) outs(%init : !q)
      mask(%b, %h, %i, %j, %x) {
        %one = arith.constant 1 : index
        %y = tensor.extract %x[%j] : tensor<64xi32>
        %last = arith.index_cast %y : i32 to index
        %least = arith.minui %last, %one : index
        %p = arith.cmpi sle, %j, %least : index
        attn.yield %p : i1
      }
  return %o : !q
}
