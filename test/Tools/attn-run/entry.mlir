// Which function is run.

// RUN: split-file %s %t

// RUN: attn-run %t/one.mlir | FileCheck %s --check-prefix=ONE
// RUN: attn-run %t/one.mlir --entry=f | FileCheck %s --check-prefix=ONE
// RUN: attn-run %t/one.mlir --entry=@f | FileCheck %s --check-prefix=ONE
// ONE: one.mlir: @f on

// RUN: attn-run %t/two.mlir --entry=second | FileCheck %s --check-prefix=SECOND
// SECOND: two.mlir: @second on

// RUN: not attn-run %t/two.mlir 2>&1 | FileCheck %s --check-prefix=SEVERAL
// SEVERAL: {{^}}attn-run: error: expects --entry=NAME, because '{{.*}}two.mlir' has several public functions: 'first' and 'second'{{$}}

// RUN: not attn-run %t/two.mlir --entry=secnd 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: {{^}}attn-run: error: unknown function 'secnd' in '{{.*}}two.mlir', which has 'first' and 'second'; did you mean 'second'?{{$}}

// RUN: not attn-run %t/two.mlir --entry=other 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: {{^}}attn-run: error: unknown function 'other' in '{{.*}}two.mlir', which has 'first' and 'second'{{$}}

// A declaration is no function to run.
// RUN: not attn-run %t/one.mlir --entry=declared 2>&1 | FileCheck %s --check-prefix=DECLARED
// DECLARED: {{^}}attn-run: error: unknown function 'declared' in '{{.*}}one.mlir', which has 'helper' and 'f'{{$}}

// RUN: not attn-run %t/private.mlir 2>&1 | FileCheck %s --check-prefix=PRIVATE
// PRIVATE: {{^}}attn-run: error: expects --entry=NAME, because '{{.*}}private.mlir' has no public function: 'hidden'{{$}}

// RUN: not attn-run %t/none.mlir 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: {{^}}attn-run: error: expects a function with a body in '{{.*}}none.mlir', but there is none{{$}}

//--- one.mlir
func.func private @declared(tensor<4xf32>)
func.func private @helper(%q: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  return %q : tensor<1x1x2x4xf32>
}
func.func @f(%q: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %init = tensor.empty() : tensor<1x1x2x4xf32>
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%init : tensor<1x1x2x4xf32>)
  return %o : tensor<1x1x2x4xf32>
}

//--- two.mlir
func.func @first(%q: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %init = tensor.empty() : tensor<1x1x2x4xf32>
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%init : tensor<1x1x2x4xf32>)
  return %o : tensor<1x1x2x4xf32>
}
func.func @second(%q: tensor<1x1x3x4xf32>) -> tensor<1x1x3x4xf32> {
  %init = tensor.empty() : tensor<1x1x3x4xf32>
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>)
      outs(%init : tensor<1x1x3x4xf32>)
  return %o : tensor<1x1x3x4xf32>
}

//--- private.mlir
func.func private @hidden(%q: tensor<4xf32>) -> tensor<4xf32> {
  return %q : tensor<4xf32>
}

//--- none.mlir
func.func private @declared(tensor<4xf32>)
