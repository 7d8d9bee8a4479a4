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
