// RUN: attn-opt %s --attn-choose-sparsity='form=blocks' --verify-diagnostics
// RUN: not attn-opt %s --attn-choose-sparsity='form=sparse' 2>&1 | FileCheck %s

// CHECK: error: expects a form of a sparsity to be auto, dense, blocks, lists or gathered, but got 'sparse'
func.func @lists(%q: tensor<1x1x4x8xf32>, %rows: tensor<5xi32>, %columns: tensor<?xi32>) -> tensor<1x1x4x8xf32> {
  // expected-error@+1 {{expects dense, lists or gathered for lists of single keys, but got blocks; leave the choice to the compiler with auto}}
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<5xi32>, tensor<?xi32>)
      outs(%q : tensor<1x1x4x8xf32>)
  return %r : tensor<1x1x4x8xf32>
}
