// Remarks of passes, on the terminal and in a file.

// RUN: attn-opt %s --attn-canonicalize-score --remarks-filter=attn --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=EMIT
// RUN: attn-opt %s --attn-canonicalize-score --remarks-filter=attn --remark-format=yaml --remarks-output-file=%t.yaml -o %t.mlir
// RUN: FileCheck %s --check-prefix=YAML --input-file=%t.yaml
// RUN: attn-opt %s --attn-canonicalize-score --remarks-filter=other --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: attn-opt %s --attn-canonicalize-score 2>&1 | FileCheck %s --check-prefix=NONE

// EMIT:      remarks.mlir:[[#]]:{{[0-9]+}}: remark: [Passed] scale-folded | Category:attn | Function=f |
// YAML:      --- !Passed
// YAML-NEXT: Pass: {{ *}}attn
// YAML-NEXT: Name: {{ *}}scale-folded
// YAML-NEXT: DebugLoc: {{.*}}remarks.mlir
// YAML:      Function: {{ *}}f
// NONE-NOT:  remark:
func.func @f(%q: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %0 = attn.attention scale 0.5
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      score(%s, %b, %h, %i, %j) {
        %two = arith.constant 2.0 : f32
        %x = arith.mulf %s, %two : f32
        attn.yield %x : f32
      }
  return %0 : tensor<1x1x2x4xf32>
}
