// Each error of the verifiers of tables of keys.

// RUN: attn-opt %s --split-input-file --verify-diagnostics

//===----------------------------------------------------------------------===//
// attn.key_bitmask
//===----------------------------------------------------------------------===//

func.func @words_columns(%c: tensor<?xf32>, %i: index, %w: tensor<4x?xi32>) {
  // expected-error@+1 {{'attn.key_bitmask' op expects columns to be a vector of i32 or i64, but got 'tensor<?xf32>'}}
  %0 = attn.key_bitmask %c[%i, %i] into %w[%i] : tensor<?xf32>, tensor<4x?xi32> -> tensor<4x?xi32>
  return
}

// -----

func.func @words_type(%c: tensor<?xi32>, %i: index, %w: tensor<4x?xi64>) {
  // expected-error@+1 {{'attn.key_bitmask' op expects words of i32 with a rank of at least 1, but got 'tensor<4x?xi64>'}}
  %0 = attn.key_bitmask %c[%i, %i] into %w[%i] : tensor<?xi32>, tensor<4x?xi64> -> tensor<4x?xi64>
  return
}

// -----

func.func @words_indices(%c: tensor<?xi32>, %i: index, %w: tensor<4x?xi32>) {
  // expected-error@+1 {{'attn.key_bitmask' op expects one index for each dimension of the words but the last, 1, but got 2}}
  %0 = attn.key_bitmask %c[%i, %i] into %w[%i, %i] : tensor<?xi32>, tensor<4x?xi32> -> tensor<4x?xi32>
  return
}

// -----

func.func @words_of_buffer(%c: memref<?xi32>, %i: index, %w: memref<4x?xi32>) {
  // expected-error@+1 {{'attn.key_bitmask' op expects no result, as the words are a buffer}}
  %0 = attn.key_bitmask %c[%i, %i] into %w[%i] : memref<?xi32>, memref<4x?xi32> -> tensor<4x?xi32>
  return
}

// -----

func.func @words_result(%c: tensor<?xi32>, %i: index, %w: tensor<4x?xi32>) {
  // expected-error@+1 {{'attn.key_bitmask' op expects a result of the type of the words, 'tensor<4x?xi32>'}}
  attn.key_bitmask %c[%i, %i] into %w[%i] : tensor<?xi32>, tensor<4x?xi32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// attn.key_union
//===----------------------------------------------------------------------===//

func.func @unions_rows(%r: tensor<?xf32>, %c: tensor<?xi32>, %n: index) {
  // expected-error@+1 {{'attn.key_union' op expects rows of i32 or i64 with 1 to 3 dimensions, but got 'tensor<?xf32>'}}
  %0:3 = attn.key_union %r, %c queries %n keys %n tile [64, 64] : tensor<?xf32>, tensor<?xi32> -> tensor<1x1x?x2xi32>, tensor<?x64xi32>, tensor<?x2x64xi32>
  return
}

// -----

func.func @unions_columns(%r: tensor<?xi32>, %c: tensor<?x?xi32>, %n: index) {
  // expected-error@+1 {{'attn.key_union' op expects columns to be a vector of i32 or i64, but got 'tensor<?x?xi32>'}}
  %0:3 = attn.key_union %r, %c queries %n keys %n tile [64, 64] : tensor<?xi32>, tensor<?x?xi32> -> tensor<1x1x?x2xi32>, tensor<?x64xi32>, tensor<?x2x64xi32>
  return
}

// -----

func.func @unions_tile(%r: tensor<?xi32>, %c: tensor<?xi32>, %n: index) {
  // expected-error@+1 {{'attn.key_union' op expects a tile of a multiple of 8 queries and a multiple of 32 keys, but got 64 and 48}}
  %0:3 = attn.key_union %r, %c queries %n keys %n tile [64, 48] : tensor<?xi32>, tensor<?xi32> -> tensor<1x1x?x2xi32>, tensor<?x48xi32>, tensor<?x1x64xi32>
  return
}

// -----

func.func @unions_tables(%r: memref<?xi32>, %c: memref<?xi32>, %n: index) {
  // expected-error@+1 {{'attn.key_union' op expects three tables as buffers, and no results}}
  %0:3 = attn.key_union %r, %c queries %n keys %n tile [64, 64] : memref<?xi32>, memref<?xi32> -> tensor<1x1x?x2xi32>, tensor<?x64xi32>, tensor<?x2x64xi32>
  return
}

// -----

func.func @unions_table(%r: tensor<4x?xi32>, %c: tensor<?xi32>, %n: index) {
  // expected-error@+1 {{'attn.key_union' op expects a table like 'tensor<1x4x?x2xi32>', but got 'tensor<1x3x?x2xi32>'}}
  %0:3 = attn.key_union %r, %c queries %n keys %n tile [64, 64] : tensor<4x?xi32>, tensor<?xi32> -> tensor<1x3x?x2xi32>, tensor<?x64xi32>, tensor<?x2x64xi32>
  return
}
