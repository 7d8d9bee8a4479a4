// Attention and gradients with head dimensions that are no multiples of 8 are
// those of tensors with columns of zeros behind their own, in the interpreter.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer

// DEFINE: %{forward} = %python %S/Inputs/run_kernel.py %s --launches
// RUN: %{forward} --entry=odd --arg=q=randn:1x2x37x20 --arg=k=randn:1x2x41x20 --arg=v=randn:1x2x41x20 | FileCheck %s --check-prefix=FORWARD
// RUN: %{forward} --entry=odd --arg=q=randn:1x2x0x20 --arg=k=randn:1x2x5x20 --arg=v=randn:1x2x5x20 | FileCheck %s --check-prefix=FORWARD
// RUN: %{forward} --entry=shared --arg=q=randn:1x30x4x33 --arg=k=randn:1x70x2x33 --arg=v=randn:1x70x2x1 --arg=w=randn:70 | FileCheck %s --check-prefix=FORWARD
// RUN: not %{forward} --entry=odd --tolerance=0 --arg=q=randn:1x2x37x20 --arg=k=randn:1x2x41x20 --arg=v=randn:1x2x41x20 | FileCheck %s --check-prefix=FORWARD
// FORWARD: elements
// FORWARD: #hopper.schedule<
// FORWARD: o: max error

// DEFINE: %{run} = %python %S/Inputs/run_kernel.py %s --launches --grad
// RUN: %{run} --entry=odd --arg=q=randn:1x2x37x20 --arg=k=randn:1x2x41x20 --arg=v=randn:1x2x41x20 | FileCheck %s
// RUN: %{run} --entry=odd --arg=q=randn:1x2x0x20 --arg=k=randn:1x2x5x20 --arg=v=randn:1x2x5x20 | FileCheck %s
// RUN: %{run} --entry=shared --arg=q=randn:1x30x4x33 --arg=k=randn:1x70x2x33 --arg=v=randn:1x70x2x1 --arg=w=randn:70 | FileCheck %s --check-prefix=SHARED

// CHECK: #hopper.schedule<
// CHECK: elements
// CHECK: dq: max error
// CHECK-NEXT: dk: max error
// CHECK-NEXT: dv: max error
!t = tensor<1x2x?x20xbf16>
func.func @odd(%q: !t, %k: !t, %v: !t) -> (!t {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%n) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %m = arith.cmpi sle, %j, %i : index
        attn.yield %m : i1
      }
  return %o : !t
}

// Heads that share keys, other head dimensions of values, and of captures what
// has a gradient.
// SHARED: elements
// SHARED: dq: max error
// SHARED-NEXT: dk: max error
// SHARED-NEXT: dv: max error
// SHARED-NEXT: dw: max error
func.func @shared(%q: tensor<1x?x4x33xf16>, %k: tensor<1x?x2x33xf16>, %v: tensor<1x?x2x1xf16>, %w: tensor<?xf32>) -> (tensor<1x?x4x1xf16> {attn.name = "o"}) {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %q, %c1 : tensor<1x?x4x33xf16>
  %init = tensor.empty(%n) : tensor<1x?x4x1xf16>
  %o = attn.attention layout(bshd) ins(%q, %k, %v : tensor<1x?x4x33xf16>, tensor<1x?x2x33xf16>, tensor<1x?x2x1xf16>)
      captures(%w : tensor<?xf32>) outs(%init : tensor<1x?x4x1xf16>)
      score(%s, %b, %h, %i, %j, %a) {
        %x = tensor.extract %a[%j] : tensor<?xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %o : tensor<1x?x4x1xf16>
}
