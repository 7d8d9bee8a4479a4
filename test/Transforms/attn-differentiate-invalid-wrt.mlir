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

// -----

// A mask has no derivative, whatever is computed for it.
func.func @mask(%x: tensor<4xf32> {attn.name = "x"}, %q: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %limits = math.exp %x : tensor<4xf32>
  // expected-error @below {{expects no gradient with respect to 'x', which only masks depend on}}
  %o = attn.attention ins(%q, %q, %q : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
      captures(%limits : tensor<4xf32>) outs(%q : tensor<1x2x4x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %zero = arith.constant 0.0 : f32
        %t = tensor.extract %w[%j] : tensor<4xf32>
        %p = arith.cmpf ogt, %t, %zero : f32
        attn.yield %p : i1
      }
  return %o : tensor<1x2x4x8xf32>
}

// -----

// The attention whose mask it is may be behind another one.
func.func @through(%x: tensor<1x2x4x8xf32> {attn.name = "x"}, %q: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %w = attn.attention ins(%x, %x, %x : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
      outs(%x : tensor<1x2x4x8xf32>)
  // expected-error @below {{expects no gradient with respect to 'x', which only masks depend on}}
  %o = attn.attention ins(%q, %q, %q : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
      captures(%w : tensor<1x2x4x8xf32>) outs(%q : tensor<1x2x4x8xf32>)
      mask(%b, %h, %i, %j, %t) {
        %zero = arith.constant 0.0 : f32
        %y = tensor.extract %t[%b, %h, %i, %j] : tensor<1x2x4x8xf32>
        %p = arith.cmpf ogt, %y, %zero : f32
        attn.yield %p : i1
      }
  return %o : tensor<1x2x4x8xf32>
}

// -----

// One that a score reads, too, has a gradient; so does one that is read by the
// score of another attention.
func.func @both(%x: tensor<4xf32> {attn.name = "x"}, %q: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %o = attn.attention ins(%q, %q, %q : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
      captures(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%q : tensor<1x2x4x8xf32>)
      score(%s, %b, %h, %i, %j, %v, %w) {
        %t = tensor.extract %v[%j] : tensor<4xf32>
        %y = arith.addf %s, %t : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %v, %w) {
        %zero = arith.constant 0.0 : f32
        %t = tensor.extract %w[%j] : tensor<4xf32>
        %p = arith.cmpf ogt, %t, %zero : f32
        attn.yield %p : i1
      }
  return %o : tensor<1x2x4x8xf32>
}
