// RUN: attn-opt %s --attn-hopper-assign-schedule --verify-diagnostics

// A schedule of tiles does not help.
func.func @scheduled(%q: tensor<1x1x?x4xbf16>) -> tensor<1x1x?x4xbf16> {
  // expected-error@+1 {{expects head dimensions that are multiples of 8 up to 256 for tiles on a GPU, but got 4 and 4; leave the choice of a schedule and of a form to the compiler}}
  %r = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>
      ins(%q, %q, %q : tensor<1x1x?x4xbf16>, tensor<1x1x?x4xbf16>, tensor<1x1x?x4xbf16>)
      outs(%q : tensor<1x1x?x4xbf16>)
  return %r : tensor<1x1x?x4xbf16>
}
