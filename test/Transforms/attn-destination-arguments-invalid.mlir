// RUN: attn-opt %s --attn-destination-arguments --split-input-file --verify-diagnostics

// expected-error @below {{expects results to be ranked tensors or scalars, but got 'memref<4xf32>' for result 1}}
func.func @memref(%x: f32, %y: memref<4xf32>) -> (f32, memref<4xf32>) {
  return %x, %y : f32, memref<4xf32>
}

// -----

// expected-error @below {{expects results to be ranked tensors or scalars, but got 'tensor<*xf32>' for result 0}}
func.func @unranked(%x: tensor<*xf32>) -> tensor<*xf32> {
  return %x : tensor<*xf32>
}

// -----

// expected-error @below {{expects one return, but got 2}}
func.func @returns(%p: i1, %x: f32, %y: f32) -> f32 {
  cf.cond_br %p, ^bb1, ^bb2
^bb1:
  return %x : f32
^bb2:
  return %y : f32
}

// -----

// expected-error @below {{expects a public function with results not to be used in the module: inline it, or make it private}}
func.func @callee(%x: f32) -> f32 {
  return %x : f32
}
func.func private @caller(%x: f32) -> f32 {
  %y = call @callee(%x) : (f32) -> f32
  return %y : f32
}
