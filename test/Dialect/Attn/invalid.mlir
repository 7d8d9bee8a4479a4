// Shapes and element types of attn.attention. See assembly-invalid.mlir for what the parser says, and
// regions-invalid.mlir for scores and masks.

// RUN: attn-opt %s --split-input-file --verify-diagnostics

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

func.func @extent_too_large(%q: tensor<1x1x2x4xf32>, %k: tensor<1x1x2147483648x4xf32>) {
  // expected-error@+1 {{expects k to have extents below 2^31, but got 2147483648}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<1x1x2x4xf32>, tensor<1x1x2147483648x4xf32>, tensor<1x1x2147483648x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
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
