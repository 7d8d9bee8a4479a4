// RUN: attn-opt %s --split-input-file --attn-differentiate --verify-diagnostics

func.func @score(%x: tensor<1x2x4x8xf32>, %w: tensor<4xf32>) -> tensor<1x2x4x8xf32> {
  %o = attn.attention ins(%x, %x, %x : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
    outs(%x : tensor<1x2x4x8xf32>)
    score(%s, %b, %h, %i, %j) {
      // Bits are no number to differentiate by.
      %n = arith.bitcast %s : f32 to i32
      %f = arith.bitcast %n : i32 to f32
      %c = arith.constant 0.0 : f32
      %t = arith.addf %s, %f : f32
      // expected-error @below {{'arith.scaling_truncf' has no derivative}}
      %u = arith.scaling_truncf %t, %c : f32, f32 to f16
      %y = arith.extf %u : f16 to f32
      attn.yield %y : f32
    }
  return %o : tensor<1x2x4x8xf32>
}

// -----

func.func @around(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'linalg.exp' has no derivative}}
  %y = linalg.exp ins(%x : tensor<8xf32>) outs(%x : tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @below {{expects a function of one block, but got 2}}
func.func @blocks(%x: f32) -> f32 {
  cf.br ^next
^next:
  return %x : f32
}
