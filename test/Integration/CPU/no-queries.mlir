// Gradients where types say that there is no query: those of keys and values
// are zeros.

// RUN: attn-run %s --grad --check | FileCheck %s
// CHECK: PASS

!q = tensor<1x1x0x16xf32>
!k = tensor<1x1x3x16xf32>

func.func @none(%q: !q, %k: !k, %v: !k) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %k, %v : !q, !k, !k) outs(%init : !q)
  return %o : !q
}
