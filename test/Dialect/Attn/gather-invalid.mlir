// Each error of the verifiers of attn.gather, and of what a gather reports.

// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @gather_indices(%t: tensor<8x?xf32>, %i: index, %p: i1) {
  // expected-error@+1 {{expects one index for each of 2 dimensions, but got 1}}
  %0 = attn.gather %t[%i] mask %p : tensor<8x?xf32>, (index), i1 -> f32
  return
}

// -----

func.func @gather_element_type(%t: tensor<8xf32>, %i: index, %p: i1) {
  // expected-error@+1 {{expects a result of element type 'f32', but got 'f16'}}
  %0 = attn.gather %t[%i] mask %p : tensor<8xf32>, (index), i1 -> f16
  return
}

// -----

func.func @gather_result(%t: tensor<8xf32>, %i: index, %p: i1) {
  // expected-error@+1 {{expects the result to be a scalar or a vector, but got 'tensor<f32>'}}
  %0 = attn.gather %t[%i] mask %p : tensor<8xf32>, (index), i1 -> tensor<f32>
  return
}

// -----

func.func @gather_index_shape(%t: tensor<8xf32>, %i: vector<4xindex>, %p: i1) {
  // expected-error@+1 {{expects indices and mask to have the shape of the result, 'vector<8xf32>', but got 'vector<4xindex>'}}
  %0 = attn.gather %t[%i] mask %p : tensor<8xf32>, (vector<4xindex>), i1 -> vector<8xf32>
  return
}

// -----

func.func @gather_mask_shape(%t: tensor<8xf32>, %i: index, %p: vector<4xi1>) {
  // expected-error@+1 {{expects indices and mask to have the shape of the result, 'f32', but got 'vector<4xi1>'}}
  %0 = attn.gather %t[%i] mask %p : tensor<8xf32>, (index), vector<4xi1> -> f32
  return
}

// -----

func.func @gather_source(%t: vector<8xf32>, %i: index, %p: i1) {
  // expected-error@+1 {{operand #0 must be ranked tensor of any type values or memref of any type values, but got 'vector<8xf32>'}}
  %0 = attn.gather %t[%i] mask %p : vector<8xf32>, (index), i1 -> f32
  return
}

// -----

func.func @gather_index_type(%t: tensor<8xf32>, %i: i32, %p: i1) {
  // expected-error@+1 {{operand #1 must be variadic of index or vector of index values or tensor with an encoding of index values, but got 'i32'}}
  %0 = attn.gather %t[%i] mask %p : tensor<8xf32>, (i32), i1 -> f32
  return
}

// -----

func.func @box_index(%t: tensor<8xf32>, %i: vector<4xindex>, %p: i1) {
  // expected-error@+1 {{expects the indices of a box to be of type index}}
  %0 = attn.gather %t[%i] rows along 0 mask %p : tensor<8xf32>, (vector<4xindex>), i1 -> vector<4xf32>
  return
}

// -----

func.func @box_scalar(%t: tensor<8xf32>, %i: index, %p: i1) {
  // expected-error@+1 {{expects a box to be a vector of rank 1, but got 'f32'}}
  %0 = attn.gather %t[%i] columns along 0 mask %p : tensor<8xf32>, (index), i1 -> f32
  return
}

// -----

func.func @box_rank(%t: tensor<8x8xf32>, %i: index, %p: i1) {
  // expected-error@+1 {{expects a box to be a vector of rank 2, but got 'vector<4xf32>'}}
  %0 = attn.gather %t[%i, %i] rows along 1 columns along 0 mask %p : tensor<8x8xf32>, (index, index), i1 -> vector<4xf32>
  return
}

// -----

func.func @box_diagonal(%t: tensor<8x8xf32>, %i: index, %p: i1) {
  // expected-error@+1 {{expects rows and columns along two dimensions, but got 1 for both}}
  %0 = attn.gather %t[%i, %i] rows along 1 columns along 1 mask %p : tensor<8x8xf32>, (index, index), i1 -> vector<4x4xf32>
  return
}

// -----

func.func @box_dimension(%t: tensor<8x8xf32>, %i: index, %p: i1) {
  // expected-error@+1 {{expects a box along dimensions of 'tensor<8x8xf32>', but got 2}}
  %0 = attn.gather %t[%i, %i] rows along 0 columns along 2 mask %p : tensor<8x8xf32>, (index, index), i1 -> vector<4x4xf32>
  return
}

// -----

func.func @box_of_tile(%t: tensor<8xf32>, %i: index, %p: i1) {
  attn.tile_loop %j = %i to %i step 8 {
    // expected-error@+1 {{expects a row for each of the 8 positions of a tile, but got 'vector<4xf32>'}}
    %0 = attn.gather %t[%j] rows along 0 mask %p : tensor<8xf32>, (index), i1 -> vector<4xf32>
    attn.yield
  }
  return
}

// -----

func.func @report_site(%x: index, %p: i1) {
  // expected-error@+1 {{attribute 'site' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  attn.report site -1 (%x, %x) if %p
  return
}
