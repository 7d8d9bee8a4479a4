// What rounding leaves of a gradient goes on through the operations behind it: a
// product with a number, a layer with a matrix. Rules that had no floor there
// failed where the terms of a gradient cancel out.

// RUN: attn-run %s --entry=scaled --grad --check --seed=0 | FileCheck %s
// RUN: attn-run %s --entry=scaled --grad --check --seed=2 | FileCheck %s
// RUN: attn-run %s --entry=scaled --grad --check --seed=5 | FileCheck %s
// RUN: attn-run %s --entry=layer --grad --check | FileCheck %s
// CHECK: PASS

!t = tensor<1x2x33x16xf32>
!m = tensor<33x16xf32>
#id = affine_map<(b, h, i, d) -> (b, h, i, d)>

func.func @scaled(%q: !t, %k: !t, %v: !t) -> (!t {attn.name = "o"}) {
  %init = tensor.empty() : !t
  %two = arith.constant 2.0 : f32
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%q : !t) outs(%init : !t) {
  ^bb0(%a: f32, %old: f32):
    %0 = arith.mulf %a, %two : f32
    linalg.yield %0 : f32
  } -> !t
  %o = attn.attention ins(%x, %k, %v : !t, !t, !t) outs(%init : !t)
  return %o : !t
}

func.func @layer(%x: !m, %wq: tensor<16x16xf32>, %wk: tensor<16x16xf32>, %wv: tensor<16x16xf32>) -> (tensor<1x1x33x16xf32> {attn.name = "o"}) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : !m
  %none = linalg.fill ins(%zero : f32) outs(%empty : !m) -> !m
  %q2 = linalg.matmul ins(%x, %wq : !m, tensor<16x16xf32>) outs(%none : !m) -> !m
  %k2 = linalg.matmul ins(%x, %wk : !m, tensor<16x16xf32>) outs(%none : !m) -> !m
  %v2 = linalg.matmul ins(%x, %wv : !m, tensor<16x16xf32>) outs(%none : !m) -> !m
  %q = tensor.expand_shape %q2 [[0, 1, 2], [3]] output_shape [1, 1, 33, 16] : !m into tensor<1x1x33x16xf32>
  %k = tensor.expand_shape %k2 [[0, 1, 2], [3]] output_shape [1, 1, 33, 16] : !m into tensor<1x1x33x16xf32>
  %v = tensor.expand_shape %v2 [[0, 1, 2], [3]] output_shape [1, 1, 33, 16] : !m into tensor<1x1x33x16xf32>
  %init = tensor.empty() : tensor<1x1x33x16xf32>
  %o = attn.attention ins(%q, %k, %v : tensor<1x1x33x16xf32>, tensor<1x1x33x16xf32>, tensor<1x1x33x16xf32>)
      outs(%init : tensor<1x1x33x16xf32>)
  return %o : tensor<1x1x33x16xf32>
}
