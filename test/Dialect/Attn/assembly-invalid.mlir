// Each error of the parser of attn.attention, and of the verifier for what only the generic form can say.

// RUN: attn-opt %s --split-input-file --verify-diagnostics

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

// -----

//===----------------------------------------------------------------------===//
// Generic form
//===----------------------------------------------------------------------===//

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

// -----

// Another kind of attribute is not taken for one that is left out.
func.func @scale_kind(%q: tensor<1x2x6x8xf32>, %o: tensor<1x2x6x8xf32>) -> tensor<1x2x6x8xf32> {
  // expected-error@+2 {{attribute 'scale' failed to satisfy constraint: 64-bit float attribute}}
  %r = attn.attention ins(%q, %q, %q : tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>)
      outs(%o : tensor<1x2x6x8xf32>) attributes {scale = 100 : i32}
  return %r : tensor<1x2x6x8xf32>
}
