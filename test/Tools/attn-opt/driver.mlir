// What the driver offers around passes: bytecode out and in, IR after each pass, timing.

// RUN: attn-opt %s --emit-bytecode -o %t.mlirbc && attn-opt %t.mlirbc --canonicalize | FileCheck %s
// RUN: attn-opt %s --canonicalize --mlir-print-ir-after-all 2>&1 | FileCheck %s --check-prefix=AFTER
// RUN: attn-opt %s --canonicalize --cse --mlir-timing 2>&1 | FileCheck %s --check-prefix=TIMING
// RUN: attn-opt %s --pass-pipeline="builtin.module(func.func(canonicalize,cse))" --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=PIPELINE

// CHECK:    attn.attention
// AFTER:    IR Dump After Canonicalizer (canonicalize)
// AFTER:    attn.attention
// TIMING:   Execution time report
// TIMING:   Canonicalizer
// TIMING:   CSE
// PIPELINE:      builtin.module(
// PIPELINE-NEXT:   func.func(
// PIPELINE-NEXT:     canonicalize{{.*}},
// PIPELINE-NEXT:     cse
func.func @f(%q: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return %0 : tensor<1x1x2x4xf32>
}
