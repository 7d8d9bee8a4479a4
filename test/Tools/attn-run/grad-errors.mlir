// What has no gradient is an error with the line of the program, and nothing is written.

// RUN: rm -rf %t && mkdir %t
// RUN: not attn-run %s --target=cpu --grad --out=dq=%t/dq.npy 2>&1 | FileCheck %s --check-prefix=OPERATION
// RUN: not attn-run %s --target=cpu --grad=n --out=dq=%t/dq.npy 2>&1 | FileCheck %s --check-prefix=INTEGER
// RUN: not attn-run %s --target=cpu --grad=q,limits --out=dq=%t/dq.npy 2>&1 | FileCheck %s --check-prefix=MASK
// RUN: not attn-run %s --target=cpu --grad=none --out=dq=%t/dq.npy 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not ls %t/dq.npy
// INTEGER: attn-run: error: cannot differentiate '{{.*}}grad-errors.mlir'
// INTEGER-NEXT: {{.*}}grad-errors.mlir:[[#@LINE+11]]:1: error: expects gradients with respect to arguments of f64, f32, f16 or bf16, but got 'n' of 'tensor<4xi32>'
// MASK: attn-run: error: cannot differentiate '{{.*}}grad-errors.mlir'
// MASK-NEXT: {{.*}}grad-errors.mlir:[[#@LINE+11]]:8: error: expects no gradient with respect to 'limits', which only masks depend on
// NONE: attn-run: error: cannot differentiate '{{.*}}grad-errors.mlir'
// NONE-NEXT: {{.*}}grad-errors.mlir:[[#@LINE+7]]:1: error: expects gradients with respect to its arguments, but got 'none', which is none
// OPERATION: attn-run: error: cannot differentiate '{{.*}}grad-errors.mlir'
// OPERATION-NEXT: {{.*}}grad-errors.mlir:[[#@LINE+10]]:14: error: 'arith.scaling_truncf' has no derivative

!q = tensor<1x1x4x8xf32>
!t = tensor<4xi32>

func.func @f(%q: !q {attn.name = "q"}, %n: !t {attn.name = "n"}, %limits: tensor<4xf32> {attn.name = "limits"}) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) captures(%limits, %n : tensor<4xf32>, !t) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %l, %m) {
        %one = arith.constant 1.0 : f32
        %u = arith.scaling_truncf %s, %one : f32, f32 to f16
        %y = arith.extf %u : f16 to f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %l, %m) {
        %x = tensor.extract %l[%j] : tensor<4xf32>
        %c = tensor.extract %m[%i] : !t
        %f = arith.sitofp %c : i32 to f32
        %p = arith.cmpf ole, %x, %f : f32
        attn.yield %p : i1
      }
  return %o : !q
}
