// RUN: attn-opt %s --attn-hopper-assign-schedule --attn-tile-gradients=one-pass --split-input-file --verify-diagnostics

!t = tensor<1x2x?x64xbf16>
func.func @capture(%x: !t, %l: tensor<1x2x?xf32>, %w: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{expects gradients of q, k and v for one pass, but got that of capture 0, a sum for each (h)}}
  %d = attn.attention_grad wrt(0)
      ins(%x, %x, %x, %x, %l, %x : !t, !t, !t, !t, tensor<1x2x?xf32>, !t)
      captures(%w : tensor<2xf32>)
      outs(%w : tensor<2xf32>)
      score(%s, %b, %h, %i, %j, %c) {
        %e = tensor.extract %c[%h] : tensor<2xf32>
        %y = arith.addf %s, %e : f32
        attn.yield %y : f32
      }
      adjoint(%s, %ds, %b, %h, %i, %j, %c) {
        attn.contribute %ds to %c[%h] : f32, tensor<2xf32>
        attn.yield %ds : f32
      }
  return %d : tensor<2xf32>
}

// -----

!t = tensor<1x2x?x64xbf16>
func.func @zigzag(%x: !t, %l: tensor<1x2x?xf32>) -> !t {
  // expected-error @below {{expects a schedule that starts work tiles in the order of their keys, so that sums are the same each time, but got #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1, zigzag>; leave zigzag out, or add nondeterministic}}
  %d = attn.attention_grad schedule #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1, zigzag> wrt(q)
      ins(%x, %x, %x, %x, %l, %x : !t, !t, !t, !t, tensor<1x2x?xf32>, !t)
      outs(%x : !t)
  return %d : !t
}
