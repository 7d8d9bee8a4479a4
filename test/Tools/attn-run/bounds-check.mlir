// Reads outside of captures: 0 by default, an error that names the place with
// --bounds-check.

// RUN: attn-run %s --arg=w=1:6
// RUN: not attn-run %s --arg=w=1:6 --bounds-check --out=o=%t.npy 2>&1 | FileCheck %s
// RUN: not ls %t.npy
// CHECK: {{^}}attn-run: error: {{.*}}bounds-check.mlir:[[# @LINE + 18]]:

// Reads inside are none.
// RUN: attn-run %s --arg=w=1:7 --bounds-check --check | FileCheck %s --check-prefix=PASS
// PASS: {{^}}PASS{{$}}

func.func @bounds(%q: tensor<1x1x4x8xf32>, %w: tensor<?xf32>)
    -> (tensor<1x1x4x8xf32> {attn.name = "o"}) {
  %init = tensor.empty() : tensor<1x1x4x8xf32>
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>,
                       tensor<1x1x4x8xf32>)
      captures(%w : tensor<?xf32>)
      outs(%init : tensor<1x1x4x8xf32>)
      score(%s, %b, %h, %i, %j, %w) {
        // That each key has an element is no constraint of this index.
        %two = arith.constant 2 : index
        %twice = arith.muli %j, %two : index
        %a = tensor.extract %w[%twice] : tensor<?xf32>
        %c = arith.addf %s, %a : f32
        attn.yield %c : f32
      }
  return %o : tensor<1x1x4x8xf32>
}
