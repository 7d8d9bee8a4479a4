// The gradient of what is read twice is a sum of tensors, which is for a CPU.

// RUN: attn-run %s --grad --check --target=cpu --arg=q=randn:2x3x5x8 | FileCheck %s
// RUN: not attn-run %s --grad --target=cuda --emit=ptx 2>&1 | FileCheck %s --check-prefix=GPU
// CHECK: PASS
// GPU: gradient-sums.mlir:12:8: error: expects nothing but attention in a function for a GPU, but got 'arith.{{.*}}'; the target cpu can run it

func.func @twice(%q: tensor<2x3x?x8xbf16>) -> tensor<2x3x?x8xbf16> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<2x3x?x8xbf16>
  %init = tensor.empty(%n) : tensor<2x3x?x8xbf16>
  %o = attn.attention ins(%q, %q, %q : tensor<2x3x?x8xbf16>, tensor<2x3x?x8xbf16>, tensor<2x3x?x8xbf16>)
      outs(%init : tensor<2x3x?x8xbf16>)
  return %o : tensor<2x3x?x8xbf16>
}
