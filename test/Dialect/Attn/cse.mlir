// RUN: attn-opt %s --cse | FileCheck %s

// Attentions with equal operands, attributes and regions are one; a region
// that differs makes another.
// CHECK-LABEL: func.func @equal
// CHECK:         %[[A:.*]] = attn.attention
// CHECK:           arith.cmpi sle
// CHECK:         %[[B:.*]] = attn.attention
// CHECK:           arith.cmpi slt
// CHECK-NOT:     attn.attention
// CHECK:         return %[[A]], %[[A]], %[[B]]
func.func @equal(%q: tensor<1x1x2x4xf32>) -> (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  %1 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  %2 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi slt, %j, %i : index
        attn.yield %p : i1
      }
  return %0, %1, %2 : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>
}

// Regions are isolated: equal constants outside do not replace theirs.
// CHECK-LABEL: func.func @isolated
// CHECK:         %[[C:.*]] = arith.constant 1 : index
// CHECK:         mask(%b, %h, %i, %j) {
// CHECK-NEXT:      %[[D:.*]] = arith.constant 1 : index
// CHECK-NEXT:      %[[X:.*]] = arith.addi %i, %[[D]] : index
// CHECK-NEXT:      arith.cmpi sle, %[[X]], %[[X]] : index
func.func @isolated(%q: tensor<1x1x2x4xf32>) -> (tensor<1x1x2x4xf32>, index) {
  %c = arith.constant 1 : index
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        %d = arith.constant 1 : index
        %x = arith.addi %i, %d : index
        %y = arith.addi %i, %d : index
        %p = arith.cmpi sle, %x, %y : index
        attn.yield %p : i1
      }
  return %0, %c : tensor<1x1x2x4xf32>, index
}
