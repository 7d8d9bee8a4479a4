// RUN: attn-opt %s --attn-classify-blocks --remarks-filter=attn --remark-format=emitRemark 2>&1 | FileCheck %s

// CHECK: [[# @LINE + 4]]:10: remark: [Passed] classified | Category:attn | Function=causal |
// CHECK-SAME: Remark="the mask bounds the keys of each tile"
func.func @causal(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %off: index) -> tensor<2x4x?x8xf32> {
  // Points where the operation starts.
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// CHECK: [[# @LINE + 10]]:{{.*}} remark: [Missed] partial-everywhere | Category:attn | Function=table |
// CHECK-SAME: Reason="'tensor.extract': it is no comparison of positions"
// CHECK: [[# @LINE + 11]]:{{.*}} remark: [Missed] partial-everywhere | Category:attn | Function=table |
// CHECK-SAME: Reason="the attention has offsets"
func.func @table(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %t: tensor<?x?xi1>, %off: index) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%t : tensor<?x?xi1>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %c0) {
        %p = tensor.extract %c0[%i, %j] : tensor<?x?xi1>
        attn.yield %p : i1
      }
  %s:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      offsets(%off, %off, %off, %off)
      outs(%r#0, %r#1, %r#2 : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %s#0 : tensor<2x4x?x8xf32>
}

// CHECK-LABEL: func @table
// CHECK-NOT: blocks
