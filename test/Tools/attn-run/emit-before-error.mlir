// Code that there is before an error is printed, with the error. Gradients of f32 are for a CPU.

// RUN: attn-run %s --grad --target=cuda --emit=ptx 2> %t.err | FileCheck %s
// RUN: FileCheck %s --input-file=%t.err --check-prefix=NOTE
// RUN: not attn-run %s --grad --target=cuda --emit=package 2>&1 | FileCheck %s --check-prefix=PACKAGE
// CHECK: .visible .entry f_grad(
// NOTE: attn-run: note: this is code from before an error: {{.*}}error: expects elements of 16 bits and head dimensions
// PACKAGE: emit-before-error.mlir:13:8: error: expects elements of 16 bits and head dimensions up to 256 for gradients on a GPU; the target cpu can run it

!t = tensor<1x1x64x64xf32>
func.func @f(%q: !t, %k: !t, %v: !t) -> !t {
  %init = tensor.empty() : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
  return %o : !t
}
