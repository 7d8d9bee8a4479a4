// RUN: attn-opt %s --split-input-file '--attn-differentiate=wrt=x' --verify-diagnostics

// expected-error @below {{expects gradients with respect to its arguments, but got 'x', which is none}}
func.func @missing(%y: f32 {attn.name = "y"}) -> f32 {
  return %y : f32
}

// -----

// expected-error @below {{expects gradients with respect to arguments of f64, f32, f16 or bf16, but got 'x' of 'tensor<4xi32>'}}
func.func @integers(%x: tensor<4xi32> {attn.name = "x"}) -> tensor<4xi32> {
  return %x : tensor<4xi32>
}
