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
