// Tiles that no attention can say.

// RUN: attn-opt %s --transform-interpreter --split-input-file --verify-diagnostics

func.func @heads(%q: tensor<1x12x5x64xf16>, %k: tensor<1x3x7x64xf16>) -> tensor<1x12x5x64xf16> {
  // expected-error@+3 {{expects a tile of the heads of q to be all, one, or a multiple of the 4 that share a head of k and v, but got 6}}
  // expected-error@+2 {{to tile operation}}
  // expected-error@+1 {{failed to generate tiling loops}}
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x12x5x64xf16>, tensor<1x3x7x64xf16>, tensor<1x3x7x64xf16>)
      outs(%q : tensor<1x12x5x64xf16>)
  return %r : tensor<1x12x5x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %m : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [0, 6]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// The last tile would have 4 of 12 heads, the others 8.
func.func @heads_remainder(%q: tensor<1x12x5x64xf16>, %k: tensor<1x3x7x64xf16>) -> tensor<1x12x5x64xf16> {
  // expected-error@+3 {{expects a tile of the heads of q to be all, one, or a multiple of the 4 that share a head of k and v, but got a size that is not known}}
  // expected-error@+2 {{to tile operation}}
  // expected-error@+1 {{failed to generate tiling loops}}
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x12x5x64xf16>, tensor<1x3x7x64xf16>, tensor<1x3x7x64xf16>)
      outs(%q : tensor<1x12x5x64xf16>)
  return %r : tensor<1x12x5x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %m : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [0, 8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @heads_dynamic(%q: tensor<1x?x5x64xf32>, %k: tensor<1x?x7x64xf32>, %r: tensor<1x?x5xf32>) -> tensor<1x?x5x64xf32> {
  // expected-error@+3 {{expects a tile of the heads of q to be all or one, as their number is not known}}
  // expected-error@+2 {{to tile operation}}
  // expected-error@+1 {{failed to generate tiling loops}}
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %k, %k : tensor<1x?x5x64xf32>, tensor<1x?x7x64xf32>, tensor<1x?x7x64xf32>)
      outs(%q, %r, %r : tensor<1x?x5x64xf32>, tensor<1x?x5xf32>, tensor<1x?x5xf32>)
  return %0#0 : tensor<1x?x5x64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.online_attention"]} in %m : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [0, 4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Keys are no loop of an attention: its softmax needs all of them.
func.func @keys(%q: tensor<1x2x5x64xf32>) -> tensor<1x2x5x64xf32> {
  // expected-note@+1 {{target op}}
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x2x5x64xf32>, tensor<1x2x5x64xf32>, tensor<1x2x5x64xf32>)
      outs(%q : tensor<1x2x5x64xf32>)
  return %r : tensor<1x2x5x64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %m : (!transform.any_op) -> !transform.any_op
    // expected-error@+1 {{too many tiles provided, expected at most 3 found 4}}
    transform.structured.tile_using_for %op tile_sizes [0, 0, 0, 2]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Tiles of d would each write the whole of lse.
func.func @lse(%a: tensor<2x3x8x16xf32>, %m: tensor<2x3x8xf32>) -> tensor<2x3x8x16xf32> {
  // expected-note@+1 {{target op}}
  %0:2 = attn.finalize ins(%a, %m, %m : tensor<2x3x8x16xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>)
      outs(%a, %m : tensor<2x3x8x16xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8x16xf32>, tensor<2x3x8xf32>
  return %0#0 : tensor<2x3x8x16xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.finalize"]} in %m : (!transform.any_op) -> !transform.any_op
    // expected-error@+1 {{too many tiles provided, expected at most 3 found 4}}
    transform.structured.tile_using_for %op tile_sizes [0, 0, 0, 8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Parts of the keys have states of their own only for an online attention.
func.func @parts(%q: tensor<1x2x5x64xf32>) -> tensor<1x2x5x64xf32> {
  // expected-error@+1 {{Operation should implement PartialReductionOpInterface}}
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x2x5x64xf32>, tensor<1x2x5x64xf32>, tensor<1x2x5x64xf32>)
      outs(%q : tensor<1x2x5x64xf32>)
  return %r : tensor<1x2x5x64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %m : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_reduction_using_for %op by tile_sizes = [0, 0, 2]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
