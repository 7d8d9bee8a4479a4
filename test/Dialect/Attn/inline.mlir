// RUN: attn-opt %s --inline | FileCheck %s

// A function that holds attention, with regions of every allowed dialect, is
// inlined, and attention as well as what tiles are made of may be its target.

// CHECK-LABEL: func.func @caller
// CHECK-NOT:     call
// CHECK:         %[[O:.*]] = attn.attention
// CHECK:         score
// CHECK:           scf.if
// CHECK:         mask
// CHECK:           index.remu
// CHECK:         attn.online_attention
// CHECK:         blocks
// CHECK:         attn.finalize
// CHECK:         attn.online_step
// CHECK:         return
func.func @caller(%q: tensor<1x1x2x4xf32>, %w: tensor<2xf32>, %r: tensor<1x1x2xf32>,
    %s: vector<4x4xf32>, %m: vector<4xf32>) -> (tensor<1x1x2x4xf32>, vector<4x4xf32>) {
  %0, %1 = call @callee(%q, %w, %r, %s, %m) : (tensor<1x1x2x4xf32>, tensor<2xf32>, tensor<1x1x2xf32>, vector<4x4xf32>, vector<4xf32>)
      -> (tensor<1x1x2x4xf32>, vector<4x4xf32>)
  return %0, %1 : tensor<1x1x2x4xf32>, vector<4x4xf32>
}

func.func private @callee(%q: tensor<1x1x2x4xf32>, %w: tensor<2xf32>, %r: tensor<1x1x2xf32>,
    %s: vector<4x4xf32>, %m: vector<4xf32>) -> (tensor<1x1x2x4xf32>, vector<4x4xf32>) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      captures(%w : tensor<2xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      score(%s, %b, %h, %i, %j, %w) {
        %zero = arith.constant 0.0 : f32
        %p = arith.cmpf ogt, %s, %zero : f32
        %r = scf.if %p -> (f32) {
          %t = math.tanh %s : f32
          scf.yield %t : f32
        } else {
          %x = tensor.extract %w[%i] : tensor<2xf32>
          scf.yield %x : f32
        }
        attn.yield %r : f32
      }
      mask(%b, %h, %i, %j, %w) {
        %c0 = arith.constant 0 : index
        %n = tensor.dim %w, %c0 : tensor<2xf32>
        %x = index.remu %j, %n
        %p = arith.cmpi sle, %x, %i : index
        attn.yield %p : i1
      }
  %1:3 = attn.online_attention scale 1.0
      ins(%0, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      blocks(%b, %h, %i0, %i1, %skv) {
        attn.yield %i0, %i0, %i1, %i1 : index, index, index, index
      }
  %2 = attn.finalize ins(%1#0, %1#1, %1#2 : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      outs(%q : tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %3:4 = attn.online_step %s, %s, %m, %m : vector<4x4xf32>, vector<4x4xf32>, vector<4xf32>
  return %2, %3#0 : tensor<1x1x2x4xf32>, vector<4x4xf32>
}
