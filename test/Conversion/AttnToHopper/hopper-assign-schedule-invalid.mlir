// RUN: attn-opt %s --attn-hopper-assign-schedule --split-input-file --verify-diagnostics

func.func @keys(%q: tensor<1x1x?x60xbf16>, %v: tensor<1x1x?x64xbf16>) -> tensor<1x1x?x64xbf16> {
  // expected-error@+1 {{expects head dimensions that are multiples of 8 up to 256 on a GPU, but got 60; run with --target=cpu}}
  %r = attn.attention ins(%q, %q, %v : tensor<1x1x?x60xbf16>, tensor<1x1x?x60xbf16>, tensor<1x1x?x64xbf16>)
      outs(%v : tensor<1x1x?x64xbf16>)
  return %r : tensor<1x1x?x64xbf16>
}

// -----

func.func @values(%q: tensor<1x1x?x64xbf16>, %v: tensor<1x1x?x264xbf16>) -> tensor<1x1x?x264xbf16> {
  // expected-error@+1 {{expects head dimensions that are multiples of 8 up to 256 on a GPU, but got 264; run with --target=cpu}}
  %r = attn.attention ins(%q, %q, %v : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x264xbf16>)
      outs(%v : tensor<1x1x?x264xbf16>)
  return %r : tensor<1x1x?x264xbf16>
}

// -----

// A schedule does not help.
func.func @scheduled(%q: tensor<1x1x?x4xbf16>) -> tensor<1x1x?x4xbf16> {
  // expected-error@+1 {{expects head dimensions that are multiples of 8 up to 256 on a GPU, but got 4; run with --target=cpu}}
  %r = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>
      ins(%q, %q, %q : tensor<1x1x?x4xbf16>, tensor<1x1x?x4xbf16>, tensor<1x1x?x4xbf16>)
      outs(%q : tensor<1x1x?x4xbf16>)
  return %r : tensor<1x1x?x4xbf16>
}
