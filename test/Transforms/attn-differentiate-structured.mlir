// Operations of linalg in reverse: one for each input, with sums over the loops that
// the input does not have.

// RUN: attn-opt %s --attn-differentiate --canonicalize --cse | FileCheck %s
// RUN: attn-opt %s --attn-differentiate=tensors-only | FileCheck %s --check-prefix=TENSORS
// RUN: attn-run %s --entry=elements --grad --check --target=cpu --arg=x=randn:5x7 --arg=w=randn:7 | FileCheck %s --check-prefix=PASS
// RUN: attn-run %s --entry=sums --grad --check --target=cpu --arg=x=randn:5x7 --arg=start=randn:5 | FileCheck %s --check-prefix=PASS
// RUN: attn-run %s --entry=products --grad --check --target=cpu --arg=a=randn:5x7 --arg=b=randn:7x3 | FileCheck %s --check-prefix=PASS
// RUN: attn-run %s --entry=named --grad --check --target=cpu --arg=x=randn:5x7 | FileCheck %s --check-prefix=PASS
// PASS: PASS
// TENSORS: func.func @elements_grad({{.*}}) -> (tensor<?x7xbf16> {attn.name = "dx"}, tensor<7xbf16> {attn.name = "dw"}) {

// CHECK-DAG: #[[IJ:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[J:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[I:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[NONE:.*]] = affine_map<(d0, d1) -> ()>

// Sums of bf16 are of f32. A number has a sum of all.
// CHECK-LABEL: func.func @elements_grad(
// CHECK-SAME: %[[X:.*]]: tensor<?x7xbf16> {{{.*}}}, %[[W:.*]]: tensor<7xbf16> {{{.*}}}, %[[S:.*]]: f32 {{{.*}}}, %{{.*}}: tensor<?x7xbf16> {attn.name = "r"}, %[[DR:.*]]: tensor<?x7xbf16> {attn.name = "dr"})
// CHECK: %[[DX:.*]] = linalg.generic {indexing_maps = [#[[IJ]], #[[J]], #[[NONE]], #[[IJ]], #[[IJ]]], iterator_types = ["parallel", "parallel"]}
// CHECK-SAME: ins(%[[X]], %[[W]], %[[S]], %[[DR]] : {{.*}}) outs(%{{.*}} : tensor<?x7xbf16>) {
// CHECK: %[[ZERO:.*]] = linalg.fill ins(%cst : f32) outs(%{{.*}} : tensor<7xf32>)
// CHECK: %[[DW:.*]] = linalg.generic {indexing_maps = [#[[IJ]], #[[J]], #[[NONE]], #[[IJ]], #[[J]]], iterator_types = ["reduction", "parallel"]}
// CHECK-SAME: outs(%[[ZERO]] : tensor<7xf32>) {
// CHECK: %[[NARROW:.*]] = arith.truncf %[[DW]] : tensor<7xf32> to tensor<7xbf16>
// CHECK: %[[ALL:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "reduction"]}
// CHECK-SAME: outs(%{{.*}} : tensor<f32>) {
// CHECK: %[[DS:.*]] = tensor.extract %[[ALL]][] : tensor<f32>
// CHECK: return %[[DX]], %[[NARROW]], %[[DS]]
func.func @elements(%x: tensor<?x7xbf16> {attn.name = "x"}, %w: tensor<7xbf16> {attn.name = "w"}, %s: f32 {attn.name = "s"}) -> (tensor<?x7xbf16> {attn.name = "r"}) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x7xbf16>
  %e = tensor.empty(%n) : tensor<?x7xbf16>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %w, %s : tensor<?x7xbf16>, tensor<7xbf16>, f32) outs(%e : tensor<?x7xbf16>) {
    ^bb0(%a: bf16, %b: bf16, %c: f32, %out: bf16):
      %af = arith.extf %a : bf16 to f32
      %bf = arith.extf %b : bf16 to f32
      %t = math.tanh %af : f32
      %m = arith.mulf %t, %bf : f32
      %y = arith.mulf %m, %c : f32
      %z = arith.truncf %y : f32 to bf16
      linalg.yield %z : bf16
  } -> tensor<?x7xbf16>
  return %r : tensor<?x7xbf16>
}

// What a sum starts from has the gradient of the sum.
// CHECK-LABEL: func.func @sums_grad(
// CHECK-SAME: %[[X:.*]]: tensor<?x7xf32> {{{.*}}}, %{{.*}}: tensor<?xf32> {attn.name = "start"}, %{{.*}}: tensor<?xf32> {attn.name = "r"}, %[[DR:.*]]: tensor<?xf32> {attn.name = "dr"})
// CHECK: %[[DX:.*]] = linalg.generic {indexing_maps = [#[[IJ]], #[[I]], #[[IJ]]], iterator_types = ["parallel", "parallel"]}
// CHECK-SAME: ins(%[[X]], %[[DR]] :
// CHECK: return %[[DX]], %[[DR]]
func.func @sums(%x: tensor<?x7xf32> {attn.name = "x"}, %start: tensor<?xf32> {attn.name = "start"}) -> (tensor<?xf32> {attn.name = "r"}) {
  %r = linalg.reduce ins(%x : tensor<?x7xf32>) outs(%start : tensor<?xf32>) dimensions = [1]
    (%a: f32, %b: f32) {
      %e = math.exp %a : f32
      %s = arith.addf %e, %b : f32
      linalg.yield %s : f32
    }
  return %r : tensor<?xf32>
}

// CHECK-LABEL: func.func @products_grad(
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]}
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel", "parallel"]}
func.func @products(%a: tensor<5x7xf32> {attn.name = "a"}, %b: tensor<7x3xf32> {attn.name = "b"}) -> tensor<5x3xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x3xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<5x3xf32>) -> tensor<5x3xf32>
  %r = linalg.matmul ins(%a, %b : tensor<5x7xf32>, tensor<7x3xf32>) outs(%start : tensor<5x3xf32>) -> tensor<5x3xf32>
  return %r : tensor<5x3xf32>
}

// Elements that are written over, and elements in another order.
// CHECK-LABEL: func.func @named_grad(
func.func @named(%x: tensor<5x7xf32> {attn.name = "x"}) -> tensor<7x5xf32> {
  %e = linalg.exp ins(%x : tensor<5x7xf32>) outs(%x : tensor<5x7xf32>) -> tensor<5x7xf32>
  %m = linalg.mul ins(%e, %x : tensor<5x7xf32>, tensor<5x7xf32>) outs(%x : tensor<5x7xf32>) -> tensor<5x7xf32>
  %n = tensor.empty() : tensor<7x5xf32>
  %t = linalg.transpose ins(%m : tensor<5x7xf32>) outs(%n : tensor<7x5xf32>) permutation = [1, 0]
  return %t : tensor<7x5xf32>
}
