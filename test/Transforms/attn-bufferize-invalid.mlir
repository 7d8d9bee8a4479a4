// RUN: attn-opt %s --attn-bufferize --split-input-file --verify-diagnostics

// expected-error @below {{expects results that are tensors to be destination arguments, but result 0 is not: run attn-destination-arguments before attn-bufferize}}
func.func @result(%x: tensor<4xf32> {bufferization.writable = false}) -> tensor<4xf32> {
  %init = tensor.empty() : tensor<4xf32>
  %y = linalg.exp ins(%x : tensor<4xf32>) outs(%init : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @level(%q: tensor<1x1x4x8xf32>, %out: tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32> {
  // expected-error @below {{op was not bufferized}}
  %o = attn.attention ins(%q, %q, %q : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>)
      outs(%out : tensor<1x1x4x8xf32>)
  return %o : tensor<1x1x4x8xf32>
}

// -----

// As many bytes as a number of 64 bits does not say.
func.func @size(%x: tensor<4xf32>, %i: index, %out: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expects intermediate results of less than 2^63 bytes, but got one of 'tensor<4294967296x4294967296xf32>'}}
  %init = tensor.empty() : tensor<4294967296x4294967296xf32>
  %c = arith.constant 1.0 : f32
  %y = linalg.fill ins(%c : f32) outs(%init : tensor<4294967296x4294967296xf32>) -> tensor<4294967296x4294967296xf32>
  %e = tensor.extract %y[%i, %i] : tensor<4294967296x4294967296xf32>
  %z = linalg.fill ins(%e : f32) outs(%out : tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}
