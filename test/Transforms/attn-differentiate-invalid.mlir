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
  // expected-error @below {{'tensor.generate' has no derivative}}
  %y = tensor.generate {
  ^bb0(%i: index):
    %e = tensor.extract %x[%i] : tensor<8xf32>
    tensor.yield %e : f32
  } : tensor<8xf32>
  %z = arith.addf %x, %y : tensor<8xf32>
  return %z : tensor<8xf32>
}

// -----

func.func @maximum(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'linalg.reduce' has no derivative}}
  %y = linalg.reduce ins(%x : tensor<8x4xf32>) outs(%o : tensor<8xf32>) dimensions = [1]
    (%a: f32, %b: f32) {
      %m = arith.maximumf %a, %b : f32
      linalg.yield %m : f32
    }
  return %y : tensor<8xf32>
}

// -----

// A sum whose terms depend on what was added before.
func.func @decay(%x: tensor<8x4xf32>, %o: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'linalg.reduce' has no derivative}}
  %y = linalg.reduce ins(%x : tensor<8x4xf32>) outs(%o : tensor<8xf32>) dimensions = [1]
    (%a: f32, %b: f32) {
      %m = arith.mulf %a, %b : f32
      %s = arith.addf %m, %b : f32
      linalg.yield %s : f32
    }
  return %y : tensor<8xf32>
}

// -----

#id = affine_map<(i) -> (i)>

// Not an input, but a tensor that is read.
func.func @outside(%x: tensor<8xf32>, %t: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  // expected-error @below {{'linalg.generic' has no derivative where its body reads a tensor from outside that a gradient is wanted of; make that an input}}
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %out: f32):
      %i = linalg.index 0 : index
      %s = tensor.extract %t[%i] : tensor<8xf32>
      %m = arith.mulf %a, %s : f32
      linalg.yield %m : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

#twice = affine_map<(i) -> (2 * i)>
#one = affine_map<(i) -> (i)>

// Which loops add to an element is not said by its indices.
func.func @map(%x: tensor<15xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  // expected-error @below {{'linalg.generic' has no derivative}}
  %y = linalg.generic {indexing_maps = [#twice, #one], iterator_types = ["parallel"]}
      ins(%x : tensor<15xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %out: f32):
      linalg.yield %a : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

#id = affine_map<(i) -> (i)>

func.func @body(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %out: f32):
      // expected-error @below {{'arith.scaling_truncf' has no derivative}}
      %m = arith.scaling_truncf %a, %a : f32, f32 to f16
      %w = arith.extf %m : f16 to f32
      linalg.yield %w : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @below {{expects a function of one block, but got 2}}
func.func @blocks(%x: f32) -> f32 {
  cf.br ^next
^next:
  return %x : f32
}
