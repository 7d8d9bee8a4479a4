// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @element(%x: vector<4xf32>, %p: vector<4xi1>, %i: index, %m: memref<?xf16>) {
  // expected-error @below {{'attn.scatter' op expects a tile of element type 'f16', but got 'vector<4xf32>'}}
  attn.scatter %x into %m[%i] mask %p : vector<4xf32>, memref<?xf16>, (index), vector<4xi1>
  return
}

// -----

func.func @indices(%x: vector<4xf32>, %p: vector<4xi1>, %i: index, %m: memref<?xf32>) {
  // expected-error @below {{expects one index for each of 1 dimensions, but got 2}}
  attn.scatter %x into %m[%i, %i] mask %p : vector<4xf32>, memref<?xf32>, (index, index), vector<4xi1>
  return
}

// -----

func.func @shape(%x: vector<4xf32>, %p: vector<4xi1>, %i: vector<8xindex>, %m: memref<?xf32>) {
  // expected-error @below {{expects indices and mask to have the shape of the tile, 'vector<4xf32>', but got 'vector<8xindex>'}}
  attn.scatter %x into %m[%i] mask %p : vector<4xf32>, memref<?xf32>, (vector<8xindex>), vector<4xi1>
  return
}

// -----

func.func @result(%x: vector<4xf32>, %p: vector<4xi1>, %i: index, %m: memref<?xf32>) {
  // expected-error @below {{expects no result for a buffer}}
  %r = attn.scatter %x into %m[%i] mask %p : vector<4xf32>, memref<?xf32>, (index), vector<4xi1> -> tensor<?xf32>
  return
}

// -----

func.func @no_result(%x: vector<4xf32>, %p: vector<4xi1>, %i: index, %t: tensor<?xf32>) {
  // expected-error @below {{expects a result of type 'tensor<?xf32>'}}
  attn.scatter %x into %t[%i] mask %p : vector<4xf32>, tensor<?xf32>, (index), vector<4xi1>
  return
}

// -----

func.func @in_order(%x: vector<8x4xf32>, %p: vector<8x4xi1>, %i: vector<8x1xindex>, %m: memref<?xf32>) {
  // expected-error @below {{expects indices and mask to have the shape of the tile, 'vector<8x4xf32>', but got 'vector<8x1xindex>'}}
  attn.scatter %x into %m[%i] mask %p : vector<8x4xf32>, memref<?xf32>, (vector<8x1xindex>), vector<8x4xi1>
  return
}

// -----

func.func @mask(%x: vector<8x4xf32>, %p: vector<8x1xi1>, %i: index, %m: memref<10x?xi64>) {
  // expected-error @below {{expects indices and mask to have the shape of the tile, 'vector<8x4xf32>', but got 'vector<8x1xi1>'}}
  attn.scatter exact %x into %m[%i] mask %p : vector<8x4xf32>, memref<10x?xi64>, (index), vector<8x1xi1>
  return
}

// -----

func.func @of_f64(%x: vector<4xf64>, %p: vector<4xi1>, %m: memref<10xi64>) {
  // expected-error @below {{expects a tile of f32 for exact sums, but got 'vector<4xf64>'}}
  attn.scatter exact %x into %m[] mask %p : vector<4xf64>, memref<10xi64>, vector<4xi1>
  return
}

// -----

func.func @words(%x: vector<4xf32>, %p: vector<4xi1>, %i: index, %m: memref<8x?xi64>) {
  // expected-error @below {{expects a buffer of i64 with a first dimension of 10 for exact sums, but got 'memref<8x?xi64>'}}
  attn.scatter exact %x into %m[%i] mask %p : vector<4xf32>, memref<8x?xi64>, (index), vector<4xi1>
  return
}

// -----

func.func @tensor(%x: vector<4xf32>, %p: vector<4xi1>, %t: tensor<10xi64>) {
  // expected-error @below {{expects a buffer of i64 with a first dimension of 10 for exact sums, but got 'tensor<10xi64>'}}
  %r = attn.scatter exact %x into %t[] mask %p : vector<4xf32>, tensor<10xi64>, vector<4xi1> -> tensor<10xi64>
  return
}

// -----

func.func @word_indices(%x: vector<4xf32>, %p: vector<4xi1>, %i: index, %m: memref<10x?xi64>) {
  // expected-error @below {{expects one index for each of 1 dimensions behind the words, but got 2}}
  attn.scatter exact %x into %m[%i, %i] mask %p : vector<4xf32>, memref<10x?xi64>, (index, index), vector<4xi1>
  return
}

// -----

func.func @sum(%m: memref<10x?xf32>, %i: index) -> f32 {
  // expected-error @below {{'attn.exact_sum' op expects a buffer of i64 with a first dimension of 10 for exact sums, but got 'memref<10x?xf32>'}}
  %s = attn.exact_sum %m[%i] : memref<10x?xf32>
  return %s : f32
}

// -----

func.func @diagonals(%x: vector<8x4xf32>) {
  // expected-error @below {{'attn.sum_diagonals' op expects 12 sums of 'vector<8x4xf32>', but got 'vector<11xf32>'}}
  %s = attn.sum_diagonals %x : vector<8x4xf32> -> vector<11xf32>
  return
}

// -----

func.func @rows(%x: vector<8x4xf32>, %s: vector<2x4xf32>, %p: vector<8x4xi1>) {
  // expected-error @below {{'attn.add_rows' op expects sums of 4x4, but got 'vector<2x4xf32>'}}
  %n = attn.add_rows %x to %s mask %p : vector<8x4xf32>, vector<2x4xf32>, vector<8x4xi1>
  return
}

// -----

func.func @rows(%x: vector<8x4xf32>, %s: vector<4x4xf32>, %p: vector<4x4xi1>) {
  // expected-error @below {{'attn.add_rows' op expects a mask of the shape of the tile, 'vector<8x4xf32>', but got 'vector<4x4xi1>'}}
  %n = attn.add_rows %x to %s mask %p : vector<8x4xf32>, vector<4x4xf32>, vector<4x4xi1>
  return
}
