// Each error of the `sparsity` of an attention.

// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @bits_count(%q: tensor<2x3x70x8xf32>, %k: tensor<2x3x100x8xf32>, %a: tensor<5x4xi1>, %b: tensor<5x4xi1>) {
  // expected-error@+1 {{expects a sparsity of bits to have one operand, but got 2}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<2x3x70x8xf32>, tensor<2x3x100x8xf32>, tensor<2x3x100x8xf32>)
      sparsity(#attn.sparsity<bits, block = 16x32> %a, %b : tensor<5x4xi1>, tensor<5x4xi1>)
      outs(%q : tensor<2x3x70x8xf32>)
  return
}

// -----

func.func @lists_count(%q: tensor<2x3x70x8xf32>, %k: tensor<2x3x100x8xf32>, %a: tensor<6xi32>) {
  // expected-error@+1 {{expects a sparsity of lists to have two operands, rows and columns, but got 1}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<2x3x70x8xf32>, tensor<2x3x100x8xf32>, tensor<2x3x100x8xf32>)
      sparsity(#attn.sparsity<lists, block = 16x32> %a : tensor<6xi32>)
      outs(%q : tensor<2x3x70x8xf32>)
  return
}

// -----

func.func @bits_type(%q: tensor<2x3x70x8xf32>, %k: tensor<2x3x100x8xf32>, %a: tensor<5x4xi8>) {
  // expected-error@+1 {{expects bits of the sparsity to have element type i1, but got 'i8'}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<2x3x70x8xf32>, tensor<2x3x100x8xf32>, tensor<2x3x100x8xf32>)
      sparsity(#attn.sparsity<bits, block = 16x32> %a : tensor<5x4xi8>)
      outs(%q : tensor<2x3x70x8xf32>)
  return
}

// -----

func.func @rows_type(%q: tensor<2x3x70x8xf32>, %k: tensor<2x3x100x8xf32>, %a: tensor<6xi16>, %b: tensor<?xi32>) {
  // expected-error@+1 {{expects rows of the sparsity to have element type i32 or i64, but got 'i16'}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<2x3x70x8xf32>, tensor<2x3x100x8xf32>, tensor<2x3x100x8xf32>)
      sparsity(#attn.sparsity<lists, block = 16x32> %a, %b : tensor<6xi16>, tensor<?xi32>)
      outs(%q : tensor<2x3x70x8xf32>)
  return
}

// -----

func.func @columns_type(%q: tensor<2x3x70x8xf32>, %k: tensor<2x3x100x8xf32>, %a: tensor<6xi32>, %b: tensor<?xindex>) {
  // expected-error@+1 {{expects columns of the sparsity to have element type i32 or i64, but got 'index'}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<2x3x70x8xf32>, tensor<2x3x100x8xf32>, tensor<2x3x100x8xf32>)
      sparsity(#attn.sparsity<lists, block = 16x32> %a, %b : tensor<6xi32>, tensor<?xindex>)
      outs(%q : tensor<2x3x70x8xf32>)
  return
}

// -----

func.func @bits_rank(%q: tensor<2x3x70x8xf32>, %k: tensor<2x3x100x8xf32>, %a: tensor<4xi1>) {
  // expected-error@+1 {{expects bits of the sparsity to have rank 2, 3 or 4, but got rank 1}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<2x3x70x8xf32>, tensor<2x3x100x8xf32>, tensor<2x3x100x8xf32>)
      sparsity(#attn.sparsity<bits, block = 16x32> %a : tensor<4xi1>)
      outs(%q : tensor<2x3x70x8xf32>)
  return
}

// -----

func.func @bits_rank5(%q: tensor<2x3x70x8xf32>, %k: tensor<2x3x100x8xf32>, %a: tensor<1x1x1x5x4xi1>) {
  // expected-error@+1 {{expects bits of the sparsity to have rank 2, 3 or 4, but got rank 5}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<2x3x70x8xf32>, tensor<2x3x100x8xf32>, tensor<2x3x100x8xf32>)
      sparsity(#attn.sparsity<bits, block = 16x32> %a : tensor<1x1x1x5x4xi1>)
      outs(%q : tensor<2x3x70x8xf32>)
  return
}

// -----

func.func @rows_rank(%q: tensor<2x3x70x8xf32>, %k: tensor<2x3x100x8xf32>, %a: tensor<1x1x1x6xi32>, %b: tensor<?xi32>) {
  // expected-error@+1 {{expects rows of the sparsity to have rank 1, 2 or 3, but got rank 4}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<2x3x70x8xf32>, tensor<2x3x100x8xf32>, tensor<2x3x100x8xf32>)
      sparsity(#attn.sparsity<lists, block = 16x32> %a, %b : tensor<1x1x1x6xi32>, tensor<?xi32>)
      outs(%q : tensor<2x3x70x8xf32>)
  return
}

// -----

func.func @columns_rank(%q: tensor<2x3x70x8xf32>, %k: tensor<2x3x100x8xf32>, %a: tensor<6xi32>, %b: tensor<3x4xi32>) {
  // expected-error@+1 {{expects columns of the sparsity to have rank 1, but got rank 2}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<2x3x70x8xf32>, tensor<2x3x100x8xf32>, tensor<2x3x100x8xf32>)
      sparsity(#attn.sparsity<lists, block = 16x32> %a, %b : tensor<6xi32>, tensor<3x4xi32>)
      outs(%q : tensor<2x3x70x8xf32>)
  return
}

// -----

func.func @bits_heads(%q: tensor<2x3x70x8xf32>, %k: tensor<2x3x100x8xf32>, %a: tensor<2x5x4xi1>) {
  // expected-error@+1 {{expects bits of the sparsity to have the 3 heads of q or 1, but got 2}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<2x3x70x8xf32>, tensor<2x3x100x8xf32>, tensor<2x3x100x8xf32>)
      sparsity(#attn.sparsity<bits, block = 16x32> %a : tensor<2x5x4xi1>)
      outs(%q : tensor<2x3x70x8xf32>)
  return
}

// -----

func.func @bits_batch(%q: tensor<2x3x70x8xf32>, %k: tensor<2x3x100x8xf32>, %a: tensor<3x1x5x4xi1>) {
  // expected-error@+1 {{expects bits of the sparsity to have the 2 batches of q or 1, but got 3}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<2x3x70x8xf32>, tensor<2x3x100x8xf32>, tensor<2x3x100x8xf32>)
      sparsity(#attn.sparsity<bits, block = 16x32> %a : tensor<3x1x5x4xi1>)
      outs(%q : tensor<2x3x70x8xf32>)
  return
}

// -----

func.func @rows_heads(%q: tensor<2x3x70x8xf32>, %k: tensor<2x3x100x8xf32>, %a: tensor<2x2x6xi32>, %b: tensor<?xi32>) {
  // expected-error@+1 {{expects rows of the sparsity to have the 3 heads of q or 1, but got 2}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<2x3x70x8xf32>, tensor<2x3x100x8xf32>, tensor<2x3x100x8xf32>)
      sparsity(#attn.sparsity<lists, block = 16x32> %a, %b : tensor<2x2x6xi32>, tensor<?xi32>)
      outs(%q : tensor<2x3x70x8xf32>)
  return
}

// -----

func.func @bits_rows(%q: tensor<2x3x70x8xf32>, %k: tensor<2x3x100x8xf32>, %a: tensor<4x4xi1>) {
  // expected-error@+1 {{expects dimension 0 of bits of the sparsity to have extent 5, as 70 queries have blocks of 16, but got 4}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<2x3x70x8xf32>, tensor<2x3x100x8xf32>, tensor<2x3x100x8xf32>)
      sparsity(#attn.sparsity<bits, block = 16x32> %a : tensor<4x4xi1>)
      outs(%q : tensor<2x3x70x8xf32>)
  return
}

// -----

func.func @bits_columns(%q: tensor<2x3x70x8xf32>, %k: tensor<2x3x100x8xf32>, %a: tensor<1x5x5xi1>) {
  // expected-error@+1 {{expects dimension 2 of bits of the sparsity to have extent 4, as 100 keys have blocks of 32, but got 5}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<2x3x70x8xf32>, tensor<2x3x100x8xf32>, tensor<2x3x100x8xf32>)
      sparsity(#attn.sparsity<bits, block = 16x32> %a : tensor<1x5x5xi1>)
      outs(%q : tensor<2x3x70x8xf32>)
  return
}

// -----

func.func @rows_extent(%q: tensor<2x3x70x8xf32>, %k: tensor<2x3x100x8xf32>, %a: tensor<1x5xi32>, %b: tensor<?xi32>) {
  // expected-error@+1 {{expects dimension 1 of rows of the sparsity to have extent 6, as 70 queries have blocks of 16, but got 5}}
  %0 = attn.attention
      ins(%q, %k, %k : tensor<2x3x70x8xf32>, tensor<2x3x100x8xf32>, tensor<2x3x100x8xf32>)
      sparsity(#attn.sparsity<lists, block = 16x32> %a, %b : tensor<1x5xi32>, tensor<?xi32>)
      outs(%q : tensor<2x3x70x8xf32>)
  return
}

// -----

func.func @other_attribute(%q: tensor<1x1x2x4xf32>, %a: tensor<1x1xi1>) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      // expected-error@+1 {{invalid kind of attribute specified}}
      sparsity(#attn.worker<0> %a : tensor<1x1xi1>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @no_attribute(%q: tensor<1x1x2x4xf32>, %a: tensor<1x1xi1>) {
  // expected-error@+1 {{expects operands of a sparsity to come with the attribute 'sparsity'}}
  %0 = "attn.attention"(%q, %q, %q, %a, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 1>}> ({}, {})
      : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1xi1>, tensor<1x1x2x4xf32>)
      -> tensor<1x1x2x4xf32>
  return
}

// -----

func.func @online(%q: tensor<1x1x?x8xf32>, %r: tensor<1x1x?xf32>, %bits: tensor<?xi1>) {
  // expected-error@+1 {{expects bits of the sparsity to have rank 2, 3 or 4, but got rank 1}}
  %acc, %max, %sum = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>)
      sparsity(#attn.sparsity<bits, block = 16x16> %bits : tensor<?xi1>)
      outs(%q, %r, %r : tensor<1x1x?x8xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>)
  return
}
