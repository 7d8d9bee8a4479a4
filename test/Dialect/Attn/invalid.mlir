// Each error of the parsers and verifiers of attn.attention and attn.yield.
// See online-invalid.mlir for the other operations.

// RUN: attn-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

func.func @layout_letters(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects a layout to be a permutation of 'bhsd', but got 'bhss'}}
  %0 = attn.attention layout(bhss)
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @layout_length(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects a layout to be a permutation of 'bhsd', but got 'bhsdx'}}
  %0 = attn.attention layouts(bhsd, bhsdx, bhsd, bhsd)
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @layouts_count(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects four layouts, for q, k, v and o, but got 3}}
  %0 = attn.attention layouts(bhsd, bhsd, bhsd)
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @ins_count(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention
      // expected-error@+1 {{expects ins to hold q, k and v, but got 2 operands}}
      ins(%q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @ins_types(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention
      // expected-error@+1 {{number of operands and types do not match: got 3 operands and 1 types}}
      ins(%q, %q, %q : tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @no_ins(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expected 'ins'}}
  %0 = attn.attention outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @no_outs(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
  // expected-error@+1 {{expected 'outs'}}
  return
}

// -----

func.func @not_a_tensor(%q: memref<1x1x2x4xf32>) {
  %0 = attn.attention
      // expected-error@+1 {{expects q to be a ranked tensor, but got 'memref<1x1x2x4xf32>'}}
      ins(%q, %q, %q : memref<1x1x2x4xf32>, memref<1x1x2x4xf32>, memref<1x1x2x4xf32>)
      outs(%q : memref<1x1x2x4xf32>)
  return
}

// -----

func.func @score_arguments(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      // expected-error@+1 {{expects the score region to have the arguments (s, b, h, i, j) and one for each of 0 captures, but got 4}}
      score(%b, %h, %i, %j) {
      }
  return
}

// -----

func.func @mask_arguments(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      captures(%q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      // expected-error@+1 {{expects the mask region to have the arguments (b, h, i, j) and one for each of 2 captures, but got 5}}
      mask(%b, %h, %i, %j, %w) {
      }
  return
}

// -----

func.func @no_body(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects a non-empty block}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
      }
  return
}

// -----

func.func @mask_before_score(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
      // expected-error@+1 {{custom op 'score' is unknown}}
      score(%s, %b, %h, %i, %j) {
        attn.yield %s : f32
      }
  return
}

// -----

func.func @isolated(%q: tensor<1x1x2x4xf32>, %n: index) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        // expected-error@+1 {{use of undeclared SSA value name}}
        %p = arith.cmpi sle, %j, %n : index
        attn.yield %p : i1
      }
  return
}

// -----

func.func @twice(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{attribute 'scale' occurs more than once in the attribute list}}
  %0 = attn.attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>) attributes {scale = 1.0}
  return
}

// -----

func.func @segments(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{attribute 'operandSegmentSizes' occurs more than once in the attribute list}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>) attributes {operandSegmentSizes = array<i32: 9, 9, 9, 9, 0, 9, 9>}
  return
}

//===----------------------------------------------------------------------===//
// Generic form
//===----------------------------------------------------------------------===//

// -----

func.func @segments_negative(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{'operandSegmentSizes' attribute cannot have negative elements}}
  %0 = "attn.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, -1, 0, 1, 1>}> ({}, {})
      : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return
}

// -----

func.func @segments_sum(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{operand count (4) does not match with the total size (5) specified in attribute 'operandSegmentSizes'}}
  %0 = "attn.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 2>}> ({}, {})
      : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return
}

// -----

func.func @segments_absent(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{operand count (4) does not match with the total size (0) specified in attribute 'operandSegmentSizes'}}
  %0 = "attn.attention"(%q, %q, %q, %q) ({}, {})
      : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return
}

// -----

func.func @regions_count(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expected 2 regions}}
  %0 = "attn.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1>}> ({})
      : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return
}

// -----

func.func @scale_type(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{attribute 'scale' failed to satisfy constraint: 64-bit float attribute}}
  %0 = "attn.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1>, scale = 1.0 : f32}> ({}, {})
      : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return
}

// -----

func.func @layouts_count_generic(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects four layouts, for q, k, v and o, but got 1}}
  %0 = "attn.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1>,
      layouts = [affine_map<(b, h, s, d) -> (b, h, s, d)>]}> ({}, {})
      : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return
}

// -----

#id = affine_map<(b, h, s, d) -> (b, h, s, d)>
func.func @layouts_projection(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects each layout to be a permutation of (b, h, s, d), but got affine_map<(d0, d1, d2, d3) -> (d0, d0, d2, d3)>}}
  %0 = "attn.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1>,
      layouts = [#id, #id, #id, affine_map<(b, h, s, d) -> (b, b, s, d)>]}> ({}, {})
      : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return
}

// -----

#id = affine_map<(b, h, s, d) -> (b, h, s, d)>
func.func @layouts_rank(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects each layout to be a permutation of (b, h, s, d), but got affine_map<(d0, d1, d2) -> (d0, d1, d2)>}}
  %0 = "attn.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1>,
      layouts = [#id, affine_map<(b, h, s) -> (b, h, s)>, #id, #id]}> ({}, {})
      : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return
}

// -----

#id = affine_map<(b, h, s, d) -> (b, h, s, d)>
func.func @layouts_symbol(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects each layout to be a permutation of (b, h, s, d), but got affine_map<(d0, d1, d2, d3)[s0] -> (d0, d1, d2, d3)>}}
  %0 = "attn.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1>,
      layouts = [#id, affine_map<(b, h, s, d)[x] -> (b, h, s, d)>, #id, #id]}> ({}, {})
      : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return
}

// -----

func.func @not_a_tensor_generic(%q: tensor<1x1x2x4xf32>, %k: tensor<*xf32>) {
  // expected-error@+1 {{operand #1 must be ranked tensor of any type values, but got 'tensor<*xf32>'}}
  %0 = "attn.attention"(%q, %k, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1>}> ({}, {})
      : (tensor<1x1x2x4xf32>, tensor<*xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return
}

// -----

func.func @results(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects results to have the types of outs, ('tensor<1x1x2x4xf32>'), but got ('tensor<1x1x2x5xf32>')}}
  %0 = "attn.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1>}> ({}, {})
      : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x2x5xf32>
  return
}

// -----

func.func @results_count(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects results to have the types of outs, ('tensor<1x1x2x4xf32>'), but got ()}}
  "attn.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1>}> ({}, {})
      : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> ()
  return
}

// -----

func.func @region_arguments_count(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects the mask region to have 4 arguments, but got 3}}
  %0 = "attn.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1>}> ({}, {
  ^bb0(%b: index, %h: index, %i: index):
    %p = "arith.constant"() {value = true} : () -> i1
    "attn.yield"(%p) : (i1) -> ()
  }) : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return
}

// -----

func.func @region_argument_type(%q: tensor<1x1x2x4xf16>) {
  // expected-error@+1 {{expects argument 0 of the score region to have type 'f32', but got 'f16'}}
  %0 = "attn.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1>}> ({
  ^bb0(%s: f16, %b: index, %h: index, %i: index, %j: index):
    "attn.yield"(%s) : (f16) -> ()
  }, {}) : (tensor<1x1x2x4xf16>, tensor<1x1x2x4xf16>, tensor<1x1x2x4xf16>, tensor<1x1x2x4xf16>) -> tensor<1x1x2x4xf16>
  return
}

// -----

func.func @region_capture_type(%q: tensor<1x1x2x4xf16>, %n: i32) {
  // expected-error@+1 {{expects argument 4 of the mask region to have type 'i32', but got 'index'}}
  %0 = "attn.attention"(%q, %q, %q, %n, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 1>}> ({}, {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %c: index):
    %p = arith.cmpi sle, %j, %c : index
    "attn.yield"(%p) : (i1) -> ()
  }) : (tensor<1x1x2x4xf16>, tensor<1x1x2x4xf16>, tensor<1x1x2x4xf16>, i32, tensor<1x1x2x4xf16>) -> tensor<1x1x2x4xf16>
  return
}

// -----

func.func @two_blocks(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects region #1 to have 0 or 1 blocks}}
  %0 = "attn.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1>}> ({}, {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %p = "arith.constant"() {value = true} : () -> i1
    "attn.yield"(%p) : (i1) -> ()
  ^bb1:
    %r = "arith.constant"() {value = true} : () -> i1
    "attn.yield"(%r) : (i1) -> ()
  }) : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return
}

//===----------------------------------------------------------------------===//
// Shapes and element types
//===----------------------------------------------------------------------===//

// -----

func.func @element_type(%q: tensor<1x1x2x4xi32>) {
  // expected-error@+1 {{expects q to have element type f64, f32, f16 or bf16, but got 'i32'}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xi32>, tensor<1x1x2x4xi32>, tensor<1x1x2x4xi32>)
      outs(%q : tensor<1x1x2x4xi32>)
  return
}

// -----

func.func @element_type_key(%q: tensor<1x1x2x4xf32>, %k: tensor<1x1x2x4xf16>) {
  // expected-error@+1 {{expects k to have element type 'f32', but got 'f16'}}
  %0 = attn.attention
      ins(%q, %k, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf16>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @element_type_value(%q: tensor<1x1x2x4xf32>, %v: tensor<1x1x2x4xf64>) {
  // expected-error@+1 {{expects v to have element type 'f32', but got 'f64'}}
  %0 = attn.attention
      ins(%q, %q, %v : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf64>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @rank_query(%q: tensor<1x2x4xf32>) {
  // expected-error@+1 {{expects q to have rank 4, but got rank 3}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
      outs(%q : tensor<1x2x4xf32>)
  return
}

// -----

func.func @rank_key(%q: tensor<1x1x2x4xf32>, %k: tensor<1x1x1x2x4xf32>) {
  // expected-error@+1 {{expects k to have rank 4, but got rank 5}}
  %0 = attn.attention
      ins(%q, %k, %q : tensor<1x1x2x4xf32>, tensor<1x1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @rank_value(%q: tensor<1x1x2x4xf32>, %v: tensor<f32>) {
  // expected-error@+1 {{expects v to have rank 4, but got rank 0}}
  %0 = attn.attention
      ins(%q, %q, %v : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<f32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @head_dimension(%q: tensor<1x1x2x4xf32>, %k: tensor<1x1x2x8xf32>) {
  // expected-error@+1 {{expects q and k to have the same head dimension, but got 4 and 8}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<1x1x2x4xf32>, tensor<1x1x2x8xf32>, tensor<1x1x2x8xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

// The same shapes may fit in one layout and not in another.
func.func @head_dimension_layout(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x8x8xf32>) {
  // expected-error@+1 {{expects q and k to have the same head dimension, but got 4 and 8}}
  %0 = attn.attention layout(bhds)
      ins(%q, %k, %k : tensor<1x2x4x8xf32>, tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>)
      outs(%q : tensor<1x2x4x8xf32>)
  return
}

// -----

func.func @head_dimension_dynamic(%q: tensor<1x1x2x?xf32>) {
  // expected-error@+1 {{expects q to have a static head dimension of at least 1, but got ?}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x?xf32>, tensor<1x1x2x?xf32>, tensor<1x1x2x?xf32>)
      outs(%q : tensor<1x1x2x?xf32>)
  return
}

// -----

func.func @head_dimension_key_dynamic(%q: tensor<1x1x2x4xf32>, %k: tensor<1x1x2x?xf32>) {
  // expected-error@+1 {{expects k to have a static head dimension of at least 1, but got ?}}
  %0 = attn.attention
      ins(%q, %k, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x?xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @head_dimension_zero(%q: tensor<1x1x2x4xf32>, %v: tensor<1x1x2x0xf32>) {
  // expected-error@+1 {{expects v to have a static head dimension of at least 1, but got 0}}
  %0 = attn.attention
      ins(%q, %q, %v : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x0xf32>)
      outs(%v : tensor<1x1x2x0xf32>)
  return
}

// -----

func.func @length(%q: tensor<1x1x2x4xf32>, %k: tensor<1x1x3x4xf32>) {
  // expected-error@+1 {{expects k and v to have the same length, but got 3 and 2}}
  %0 = attn.attention
      ins(%q, %k, %q : tensor<1x1x2x4xf32>, tensor<1x1x3x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @heads(%q: tensor<1x4x2x4xf32>, %k: tensor<1x2x2x4xf32>) {
  // expected-error@+1 {{expects k and v to have the same number of heads, but got 2 and 4}}
  %0 = attn.attention
      ins(%q, %k, %q : tensor<1x4x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x4x2x4xf32>)
      outs(%q : tensor<1x4x2x4xf32>)
  return
}

// -----

func.func @batch(%q: tensor<2x1x2x4xf32>, %k: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects k and v to have the same batch, but got 1 and 2}}
  %0 = attn.attention
      ins(%q, %k, %q : tensor<2x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<2x1x2x4xf32>)
      outs(%q : tensor<2x1x2x4xf32>)
  return
}

// -----

func.func @batch_query(%q: tensor<4x1x2x4xf32>, %k: tensor<2x1x2x4xf32>) {
  // expected-error@+1 {{expects k and v to have the batch of q or 1, but got 2 for 4}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<4x1x2x4xf32>, tensor<2x1x2x4xf32>, tensor<2x1x2x4xf32>)
      outs(%q : tensor<4x1x2x4xf32>)
  return
}

// -----

func.func @groups(%q: tensor<1x5x2x4xf32>, %k: tensor<1x2x2x4xf32>) {
  // expected-error@+1 {{expects the heads of q to be a multiple of the heads of k and v, but got 5 and 2}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<1x5x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>)
      outs(%q : tensor<1x5x2x4xf32>)
  return
}

// -----

func.func @groups_of_zero(%q: tensor<1x5x2x4xf32>, %k: tensor<1x0x2x4xf32>) {
  // expected-error@+1 {{expects the heads of q to be a multiple of the heads of k and v, but got 5 and 0}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<1x5x2x4xf32>, tensor<1x0x2x4xf32>, tensor<1x0x2x4xf32>)
      outs(%q : tensor<1x5x2x4xf32>)
  return
}

// -----

func.func @scale_infinite(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects the scale to be finite in 'f32', but got INF}}
  %0 = attn.attention scale 0x7FF0000000000000
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @scale_overflow(%q: tensor<1x1x2x4xbf16>) {
  // expected-error@+1 {{expects the scale to be finite in 'f32', but got 1.000000e+300}}
  %0 = attn.attention scale 1.0e300
      ins(%q, %q, %q : tensor<1x1x2x4xbf16>, tensor<1x1x2x4xbf16>, tensor<1x1x2x4xbf16>)
      outs(%q : tensor<1x1x2x4xbf16>)
  return
}

// -----

func.func @capture_vector(
    %q: tensor<1x1x2x4xf32>,
    // expected-note@+1 {{capture 1}}
    %c: vector<4xf32>) {
  // expected-error@+1 {{expects captures to be ranked tensors or scalars of index, integer or float, but got 'vector<4xf32>'}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      captures(%q, %c : tensor<1x1x2x4xf32>, vector<4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @capture_unranked(
    %q: tensor<1x1x2x4xf32>,
    // expected-note@+1 {{capture 0}}
    %c: tensor<*xf32>) {
  // expected-error@+1 {{expects captures to be ranked tensors or scalars of index, integer or float, but got 'tensor<*xf32>'}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      captures(%c : tensor<*xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @capture_complex(
    %q: tensor<1x1x2x4xf32>,
    // expected-note@+1 {{capture 0}}
    %c: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{expects captures to be ranked tensors or scalars of index, integer or float, but got 'tensor<4xcomplex<f32>>'}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      captures(%c : tensor<4xcomplex<f32>>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @offsets(%q: tensor<1x1x2x4xf32>, %n: index) {
  // expected-error@+1 {{expects no offsets or four, of b, h, i and j, but got 2}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      offsets(%n, %n)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

// expected-note@+1 {{prior use here}}
func.func @offsets_type(%q: tensor<1x1x2x4xf32>, %n: i32) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      // expected-error@+1 {{expects different type than prior uses: 'index' vs 'i32'}}
      offsets(%n, %n, %n, %n)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @outs_none(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects outs to hold o and at most lse, but got 0 operands}}
  "attn.attention"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}> ({}, {})
      : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> ()
  return
}

// -----

func.func @outs_three(%q: tensor<1x1x2x4xf32>, %l: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expects outs to hold o and at most lse, but got 3 operands}}
  %0:3 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %l, %l : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  return
}

// -----

func.func @output_rank(%q: tensor<1x1x2x4xf32>, %o: tensor<1x2x4xf32>) {
  // expected-error@+1 {{expects o to have rank 4, but got rank 3}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%o : tensor<1x2x4xf32>)
  return
}

// -----

func.func @output_element_type(%q: tensor<1x1x2x4xbf16>, %o: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects o to have element type 'bf16', but got 'f32'}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xbf16>, tensor<1x1x2x4xbf16>, tensor<1x1x2x4xbf16>)
      outs(%o : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @output_shape(%q: tensor<1x1x2x4xf32>, %v: tensor<1x1x2x8xf32>) {
  // expected-error@+1 {{expects o to have the shape 'tensor<1x1x2x8xf32>', but got 'tensor<1x1x2x4xf32>'}}
  %0 = attn.attention
      ins(%q, %q, %v : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x8xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @output_layout(%q: tensor<1x3x2x4xf32>, %o: tensor<1x3x2x4xf32>) {
  // expected-error@+1 {{expects o to have the shape 'tensor<1x2x3x4xf32>', but got 'tensor<1x3x2x4xf32>'}}
  %0 = attn.attention layouts(bhsd, bhsd, bhsd, bshd)
      ins(%q, %q, %q : tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>)
      outs(%o : tensor<1x3x2x4xf32>)
  return
}

// -----

func.func @lse_rank(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects lse to have rank 3, but got rank 4}}
  %0:2 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @lse_element_type(%q: tensor<1x1x2x4xbf16>, %l: tensor<1x1x2xbf16>) {
  // expected-error@+1 {{expects lse to have element type 'f32', but got 'bf16'}}
  %0:2 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xbf16>, tensor<1x1x2x4xbf16>, tensor<1x1x2x4xbf16>)
      outs(%q, %l : tensor<1x1x2x4xbf16>, tensor<1x1x2xbf16>)
  return
}

// -----

func.func @lse_shape(%q: tensor<1x3x2x4xf32>, %l: tensor<1x3x2xf32>) {
  // expected-error@+1 {{expects lse to have the batch, heads and length of q, which are 'tensor<1x2x3xf32>', but got 'tensor<1x3x2xf32>'}}
  %0:2 = attn.attention layouts(bhsd, bhsd, bhsd, bshd)
      ins(%q, %q, %q : tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>)
      outs(%o, %l : tensor<1x2x3x4xf32>, tensor<1x3x2xf32>)
  %o = tensor.empty() : tensor<1x2x3x4xf32>
  return
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

// -----

func.func @score_yields(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects the score region to yield 'f32', but got 'i1'}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      score(%s, %b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        // expected-note@+1 {{yielded here}}
        attn.yield %p : i1
      }
  return
}

// -----

func.func @mask_yields(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects the mask region to yield 'i1', but got 'index', 'index'}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        // expected-note@+1 {{yielded here}}
        attn.yield %i, %j : index, index
      }
  return
}

// -----

func.func @mask_yields_nothing(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects the mask region to yield 'i1', but got nothing}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        // expected-note@+1 {{yielded here}}
        attn.yield
      }
  return
}

// -----

func.func @no_yield(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        // expected-error@+1 {{block with no terminator}}
        %p = arith.cmpi sle, %j, %i : index
      }
  return
}

// -----

func.func @other_terminator(%q: tensor<1x1x2x4xf32>) {
  // expected-note@+1 {{in this attention}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        // expected-error@+1 {{'llvm.unreachable' is not allowed in the mask region of an attention: expects operations of arith, math and index, tensor.extract, tensor.dim, scf.if, or scf.for}}
        llvm.unreachable
      }
  return
}

// -----

func.func @region_terminator(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        // expected-error@+1 {{'scf.yield' op expects parent op to be one of}}
        scf.yield %p : i1
      }
  return
}

// -----

func.func private @callee(index) -> i1
func.func @not_allowed(%q: tensor<1x1x2x4xf32>) {
  // expected-note@+1 {{in this attention}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        // expected-error@+1 {{'func.call' is not allowed in the mask region of an attention: expects operations of arith, math and index, tensor.extract, tensor.dim, scf.if, or scf.for}}
        %p = func.call @callee(%i) : (index) -> i1
        attn.yield %p : i1
      }
  return
}

// -----

func.func @not_allowed_nested(%q: tensor<1x1x2x4xf32>) {
  // expected-note@+1 {{in this attention}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      score(%s, %b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        %r = scf.if %p -> (f32) {
          // expected-error@+1 {{'scf.while' is not allowed in the score region of an attention}}
          %w = scf.while (%x = %s) : (f32) -> f32 {
            scf.condition(%p) %x : f32
          } do {
          ^bb0(%x: f32):
            scf.yield %x : f32
          }
          scf.yield %w : f32
        } else {
          scf.yield %s : f32
        }
        attn.yield %r : f32
      }
  return
}

// -----

func.func @unregistered(%q: tensor<1x1x2x4xf32>) {
  // expected-note@+1 {{in this attention}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        // expected-error@+1 {{'foo.bar' is not allowed in the mask region of an attention}}
        %p = "foo.bar"() : () -> i1
        attn.yield %p : i1
      }
  return
}

// -----

func.func @eight_bits(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      score(%s, %b, %h, %i, %j) {
        // expected-error@+1 {{expects floats in a region of an attention to be f16, bf16, f32 or f64, which targets compute with, but got 'f8E4M3FN'; convert them before}}
        %x = arith.truncf %s : f32 to f8E4M3FN
        %y = arith.extf %x : f8E4M3FN to f32
        attn.yield %y : f32
      }
  return
}

// -----

func.func @not_scalar(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        // expected-error@+1 {{expects operations in a region of an attention to yield index, integer or float, but got 'tensor<2xi1>'}}
        %c = arith.constant dense<true> : tensor<2xi1>
        %p = tensor.extract %c[%i] : tensor<2xi1>
        attn.yield %p : i1
      }
  return
}

// -----

func.func @yield_in_if(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        scf.if %p {
          // expected-error@+1 {{'attn.yield' op expects parent op to be one of 'attn.attention, attn.attention_grad, attn.online_attention, attn.tile_loop, attn.step, attn.mask_tile, attn.affine_scores, attn.range_over'}}
          attn.yield
        }
        attn.yield %p : i1
      }
  return
}

// -----

func.func @yield_outside() {
  // expected-error@+1 {{'attn.yield' op expects parent op to be one of 'attn.attention, attn.attention_grad, attn.online_attention, attn.tile_loop, attn.step, attn.mask_tile, attn.affine_scores, attn.range_over'}}
  attn.yield
}

//===----------------------------------------------------------------------===//
// Attributes of the dialect on other operations
//===----------------------------------------------------------------------===//

// -----

// expected-error@+1 {{unknown attribute 'attn.speed' of the attn dialect}}
func.func @attribute() attributes {attn.speed = 1} {
  return
}

// -----

// expected-error@+1 {{unknown argument attribute 'attn.nam' of the attn dialect}}
func.func private @argument_attribute(tensor<f32> {attn.nam = "x"})

// -----

// expected-error@+1 {{expects 'attn.name' of argument 1 to be a non-empty string, but got 3 : i64}}
func.func private @argument_name_type(tensor<f32>, tensor<f32> {attn.name = 3})

// -----

// expected-error@+1 {{expects 'attn.name' of argument 0 to be a non-empty string, but got ""}}
func.func private @argument_name_empty(tensor<f32> {attn.name = ""})

// -----

// expected-error@+1 {{expects names of arguments to be unique, but got 'x' for arguments 0 and 2}}
func.func private @argument_name_twice(tensor<f32> {attn.name = "x"}, tensor<f32>, tensor<f32> {attn.name = "x"})

// -----

// expected-error@+1 {{unknown result attribute 'attn.nam' of the attn dialect}}
func.func private @result_attribute() -> (tensor<f32> {attn.nam = "x"})

// -----

// expected-error@+1 {{expects 'attn.name' of result 0 to be a non-empty string, but got unit}}
func.func private @result_name_type() -> (tensor<f32> {attn.name})

// -----

// expected-error@+1 {{expects names of results to be unique, but got 'x' for results 0 and 1}}
func.func private @result_name_twice() -> (tensor<f32> {attn.name = "x"}, tensor<f32> {attn.name = "x"})

// -----

func.func @preparation_has_no_value(%n: index) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expects 'attn.preparation' to have no value, but got 1 : i32}}
  scf.for %i = %c0 to %n step %n {
  } {attn.preparation = 1 : i32}
  return
}

// -----

func.func @preparation_is_a_loop(%n: index) {
  // expected-error @below {{expects 'attn.preparation' to be of a loop that fills tables}}
  %x = arith.addi %n, %n {attn.preparation} : index
  return
}
