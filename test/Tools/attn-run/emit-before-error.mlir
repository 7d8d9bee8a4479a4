// Code that there is before an error is printed, with the error. No kernel is of f64.

// RUN: attn-run %s --target=cuda --emit=ptx 2> %t.err | FileCheck %s
// RUN: FileCheck %s --input-file=%t.err --check-prefix=NOTE
// RUN: not attn-run %s --target=cuda --emit=package 2>&1 | FileCheck %s --check-prefix=PACKAGE
// CHECK: .visible .entry f(
// NOTE: attn-run: note: this is code from before an error: {{.*}}error: expects keys and values of bf16, f16 or f32
// PACKAGE: emit-before-error.mlir:16:8: error: expects keys and values of bf16, f16 or f32 on a GPU, but got 'f64'; convert them; the target cpu can run it

!t = tensor<1x1x64x64xf32>
!d = tensor<1x1x64x64xf64>
func.func @f(%q: !t, %k: !t, %v: !t, %x: !d) -> (!t, !d) {
  %init = tensor.empty() : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
  %other = tensor.empty() : !d
  %p = attn.attention ins(%x, %x, %x : !d, !d, !d) outs(%other : !d)
  return %o, %p : !t, !d
}
