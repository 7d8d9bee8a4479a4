// One file may hold several modules, of which some are expected to be wrong.

// RUN: attn-opt %s --split-input-file --verify-diagnostics | FileCheck %s
// RUN: not attn-opt %s --split-input-file 2>&1 | FileCheck %s --check-prefix=UNEXPECTED

// UNEXPECTED: split-input.mlir:[[#@LINE + 14]]:{{.*}}: error: {{.*}}expects a layout to be a permutation of 'bhsd'

// CHECK-LABEL: func.func @first
// CHECK:         attn.attention
func.func @first(%q: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return %0 : tensor<1x1x2x4xf32>
}

// -----
func.func @second(%q: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  // expected-error@+1 {{expects a layout to be a permutation of 'bhsd', but got 'bbbb'}}
  %0 = attn.attention layout(bbbb)
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return %0 : tensor<1x1x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @third
func.func @third() {
  return
}
