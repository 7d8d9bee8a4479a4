// RUN: attn-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expects a shape that layout 'accumulator' has, but got 12x64}}
func.func private @f(tensor<12x64xf32, #hopper.layout<accumulator>>)

// -----

// expected-error@+1 {{expects a shape that layout 'accumulator' has, but got 0x64}}
func.func private @f(tensor<0x64xf32, #hopper.layout<accumulator>>)

// -----

// expected-error@+1 {{expects a shape that layout 'columns' has}}
func.func private @f(tensor<?x1xf32, #hopper.layout<columns>>)

// -----

// expected-error@+1 {{expects a shape that layout 'rows' has, but got 8x64}}
func.func private @f(tensor<8x64xf32, #hopper.layout<rows>>)

// -----

// expected-error@+1 {{expects a shape that layout 'columns' has, but got 8x64}}
func.func private @f(tensor<8x64xf32, #hopper.layout<columns>>)

// -----

// expected-error@+1 {{expects a shape that layout 'partial' has, but got 8x64}}
func.func private @f(tensor<8x64xf32, #hopper.layout<partial>>)

// -----

// expected-error@+1 {{expects a shape that layout 'rows' has, but got 64}}
func.func private @f(tensor<64xf32, #hopper.layout<rows>>)

// -----

// expected-error@+1 {{expects a vector of rank 2 and f32, but got 'tensor<8x64xf32>'}}
func.func private @f(!hopper.pending<tensor<8x64xf32>>)

// -----

func.func @reduced(%x: tensor<16x64xf32, #hopper.layout<accumulator>>) {
  // expected-error@+1 {{expects all fragments to have layouts or none, but got 'vector<1x64xf32>'}}
  %0 = hopper.reduce max %x : tensor<16x64xf32, #hopper.layout<accumulator>> -> vector<1x64xf32>
  return
}

// -----

func.func @any(%x: tensor<8x64xi1, #hopper.layout<accumulator>>) {
  // expected-error@+1 {{expects a fragment with layout 'rows', but got 'tensor<8x64xi1, #hopper.layout<accumulator>>'}}
  %0 = hopper.any %x : tensor<8x64xi1, #hopper.layout<accumulator>>
  return
}

// -----

// The sum of four parts is no sum in four parts.
func.func @parts(%x: tensor<4x64xf32, #hopper.layout<partial>>) {
  // expected-error@+1 {{expects a multiple of 8 rows of 64 queries, or the parts of a sum}}
  %0 = hopper.reduce max %x : tensor<4x64xf32, #hopper.layout<partial>> -> tensor<4x64xf32, #hopper.layout<partial>>
  return
}

// -----

func.func @plain_tensor(%x: tensor<16x64xf32>) {
  // expected-error@+1 {{must be}}
  %0 = hopper.reduce max %x : tensor<16x64xf32> -> tensor<1x64xf32>
  return
}

// -----

func.func @arithmetic(%x: tensor<64x64xf32, #hopper.layout<accumulator>>, %y: tensor<1x64xf32, #hopper.layout<rows>>) {
  // expected-error@+1 {{expects a scalar, rows, or as many columns, but got 'tensor<64x64xf32, #hopper.layout<accumulator>>' for 'tensor<1x64xf32, #hopper.layout<rows>>'}}
  %0 = hopper.broadcast %x : tensor<64x64xf32, #hopper.layout<accumulator>> -> tensor<1x64xf32, #hopper.layout<rows>>
  return
}

// -----

func.func @columns(%x: tensor<64x1xf32, #hopper.layout<columns>>) {
  // expected-error@+1 {{expects a scalar, rows, or as many columns}}
  %0 = hopper.broadcast %x : tensor<64x1xf32, #hopper.layout<columns>> -> tensor<80x64xf32, #hopper.layout<accumulator>>
  return
}

// -----

func.func @elements(%x: f32) {
  // expected-error@+1 {{expects elements of 'bf16', but got 'f32'}}
  %0 = hopper.broadcast %x : f32 -> tensor<80x64xbf16, #hopper.layout<accumulator>>
  return
}

// -----

func.func @gather(%m: memref<?xf32>, %i: tensor<64x1xindex, #hopper.layout<columns>>, %p: i1) {
  // expected-error@+1 {{expects indices and mask to have the shape of the result}}
  %0 = attn.gather %m[%i] mask %p : memref<?xf32>, (tensor<64x1xindex, #hopper.layout<columns>>), i1 -> tensor<8x64xf32, #hopper.layout<accumulator>>
  return
}

// -----

func.func @gather_vector(%m: memref<?xf32>, %i: tensor<64x1xindex, #hopper.layout<columns>>, %p: i1) {
  // expected-error@+1 {{expects indices and mask to have the shape of the result}}
  %0 = attn.gather %m[%i] mask %p : memref<?xf32>, (tensor<64x1xindex, #hopper.layout<columns>>), i1 -> vector<64x1xf32>
  return
}
