// RUN: attn-opt %s --attn-hopper-assign-schedule --attn-tile-gradients=one-pass --split-input-file --verify-diagnostics

!t = tensor<1x2x?x64xbf16>
func.func @zigzag(%x: !t, %l: tensor<1x2x?xf32>) -> (!t, !t) {
  // expected-error @below {{expects a schedule that starts work tiles in the order of their keys, so that sums are the same each time, but got #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1, zigzag>; leave zigzag out, or add nondeterministic}}
  %d:2 = attn.attention_grad schedule #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1, zigzag> wrt(q, k)
      ins(%x, %x, %x, %x, %l, %x : !t, !t, !t, !t, tensor<1x2x?xf32>, !t)
      outs(%x, %x : !t, !t)
  return %d#0, %d#1 : !t, !t
}
