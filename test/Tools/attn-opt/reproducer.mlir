// A pass that fails leaves a file that holds the module before it and the
// pipeline, and that runs on its own.

// RUN: rm -f %t.mlir
// RUN: not attn-opt %s --cse --attn-choose-sparsity=form=none --mlir-pass-pipeline-crash-reproducer=%t.mlir 2>&1 | FileCheck %s --check-prefix=FAIL
// FAIL: error: expects a form of a sparsity to be auto, dense, blocks, lists or gathered, but got 'none'
// FAIL: note: Pipeline failed while executing [{{.*}}]: reproducer generated at `{{.*}}.mlir`

// RUN: FileCheck %s --input-file=%t.mlir
// CHECK: attn.attention
// CHECK: mlir_reproducer: {
// CHECK: pipeline: "builtin.module(cse, attn-choose-sparsity{{.*}})"

// RUN: not attn-opt %t.mlir --run-reproducer 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: error: expects a form of a sparsity to be auto, dense, blocks, lists or gathered, but got 'none'

func.func @f(%q: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return %0 : tensor<1x1x2x4xf32>
}
