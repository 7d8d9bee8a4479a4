// RUN: attn-opt %s --attn-check-slices | FileCheck %s

// CHECK: module attributes {attn.sites = [
// CHECK-SAME: error: 'tensor.insert_slice' op expects an offset of dimension 1 such that the slice is within extent %1, but got %0"
// CHECK-SAME: error: 'tensor.extract_slice' op expects an offset of dimension 1 such that the slice is within extent %1, but got %0"
// CHECK-SAME: error: 'tensor.extract' op expects an index of dimension 0 within extent %1, but got %0"
// CHECK-SAME: error: 'tensor.insert' op expects an index of dimension 0 within extent %1, but got %0"

// CHECK-LABEL: func @slices
// CHECK-SAME: %[[NEW:.*]]: tensor<2x1xf32>, %[[OLD:.*]]: tensor<2x?xf32>, %[[AT:.*]]: index
// CHECK: %[[LENGTH:.*]] = tensor.dim %[[OLD]], %c1
// CHECK: %[[MOST:.*]] = arith.subi %[[LENGTH]]
// CHECK: %[[LOW:.*]] = arith.maxsi %[[AT]], %c0
// CHECK: %[[IN:.*]] = arith.minsi %[[LOW]], %[[MOST]]
// CHECK: %[[OUT:.*]] = arith.cmpi ne, %[[IN]], %[[AT]]
// CHECK: attn.report site 0(%[[AT]], %[[LENGTH]]) if %[[OUT]]
// CHECK: tensor.insert_slice %[[NEW]] into %[[OLD]][0, %[[IN]]]
// CHECK: attn.report site 1
// CHECK: tensor.extract_slice
func.func @slices(%new: tensor<2x1xf32>, %old: tensor<2x?xf32>, %at: index) -> tensor<2x3xf32> {
  %0 = tensor.insert_slice %new into %old[0, %at] [2, 1] [1, 1] : tensor<2x1xf32> into tensor<2x?xf32>
  %1 = tensor.extract_slice %0[0, %at] [2, 3] [1, 2] : tensor<2x?xf32> to tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// An element that is there for certain is not asked for.
// CHECK-LABEL: func @elements
// CHECK: tensor.extract %{{.*}}[%c3]
// CHECK: %[[IS:.*]] = arith.cmpi ult, %[[N:.*]], %c4
// CHECK: attn.report site 2(%[[N]], %c4
// CHECK: scf.if %[[IS]] -> (f32) {
// CHECK-NEXT: tensor.extract
// CHECK: } else {
// CHECK: scf.yield %cst
// CHECK: attn.report site 3
// CHECK: scf.if %{{.*}} -> (tensor<4xf32>) {
// CHECK-NEXT: tensor.insert
func.func @elements(%a: tensor<4xf32>, %n: index) -> (f32, f32, tensor<4xf32>) {
  %c3 = arith.constant 3 : index
  %0 = tensor.extract %a[%c3] : tensor<4xf32>
  %1 = tensor.extract %a[%n] : tensor<4xf32>
  %2 = tensor.insert %0 into %a[%n] : tensor<4xf32>
  return %0, %1, %2 : f32, f32, tensor<4xf32>
}
