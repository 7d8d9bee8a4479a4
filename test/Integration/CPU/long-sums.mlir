// The error of f32 does not grow with the number of keys faster than that of
// eager code, whose matrix products add in blocks.

// RUN: attn-run %s --arg=q=randn:1x1x2048x64 --arg=k=randn:1x1x2048x64 --arg=v=randn:1x1x2048x64 --check | FileCheck %s
// CHECK: PASS

!t = tensor<1x1x?x64xf32>
func.func @attention(%q: !t, %k: !t, %v: !t) -> !t {
  %c2 = arith.constant 2 : index
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
  return %o : !t
}
