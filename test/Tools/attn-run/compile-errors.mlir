// What is valid MLIR but does not compile.

// RUN: not attn-run %s 2>&1 | FileCheck %s
// RUN: not attn-run %s --until-after=attn-tile 2>&1 | FileCheck %s
// CHECK:      {{^}}attn-run: error: cannot compile '{{.*}}compile-errors.mlir'{{$}}
// CHECK-NEXT: {{^}}{{.*}}compile-errors.mlir:[[# @LINE + 1]]:{{[0-9]+}}: error: {{.+}}
func.func @print(%q: tensor<*xf32>) -> tensor<*xf32> {
  return %q : tensor<*xf32>
}
