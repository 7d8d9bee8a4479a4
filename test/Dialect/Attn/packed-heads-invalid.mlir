// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @query_heads(%q: tensor<2x8x?x64xf16>) -> index {
  // expected-error@+1 {{expects heads of the query to be a dimension of 'tensor<2x8x?x64xf16>', but got 4}}
  %p = attn.packed_count %q heads 4 of %q heads 1 most 64 : tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>
  return %p : index
}

// -----

func.func @key_heads(%q: tensor<2x8x?x64xf16>) -> index {
  // expected-error@+1 {{expects heads of the key to be a dimension of 'tensor<2x8x?x64xf16>', but got -1}}
  %p = attn.packed_count %q heads 1 of %q heads -1 most 64 : tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>
  return %p : index
}

// -----

func.func @most(%q: tensor<2x8x?x64xf16>) -> index {
  // expected-error@+1 {{expects most to be a power of two, but got 48}}
  %p = attn.packed_count %q heads 1 of %q heads 1 most 48 : tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>
  return %p : index
}

// -----

func.func @dimension(%q: tensor<2x8x?x64xf16>, %p: index) {
  // expected-error@+1 {{expects heads and rows to be dimensions of 'tensor<2x8x?x64xf16>', but got 4}}
  %r = attn.pack_gqa %q by %p heads 1 rows 4 : tensor<2x8x?x64xf16> -> tensor<2x?x?x64xf16>
  return
}

// -----

func.func @same(%q: tensor<2x8x?x64xf16>, %p: index) {
  // expected-error@+1 {{expects heads and rows to be two dimensions, but got 1 for both}}
  %r = attn.pack_gqa %q by %p heads 1 rows 1 : tensor<2x8x?x64xf16> -> tensor<2x?x?x64xf16>
  return
}

// -----

func.func @static(%q: tensor<2x8x?x64xf16>, %p: index) {
  // expected-error@+1 {{expects the result to be 'tensor<2x?x?x64xf16>', but got 'tensor<2x4x?x64xf16>'}}
  %r = attn.pack_gqa %q by %p heads 1 rows 2 : tensor<2x8x?x64xf16> -> tensor<2x4x?x64xf16>
  return
}

// -----

func.func @element(%q: tensor<2x8x?x64xf16>, %p: index) {
  // expected-error@+1 {{expects the result to be 'tensor<2x?x?x64xf16>', but got 'tensor<2x?x?x64xf32>'}}
  %r = attn.pack_gqa %q by %p heads 1 rows 2 : tensor<2x8x?x64xf16> -> tensor<2x?x?x64xf32>
  return
}

// -----

func.func @unpacked(%o: tensor<2x?x?x64xf16>, %p: index) {
  // expected-error@+1 {{expects the source to be 'tensor<4x?x?x64xf16>', but got 'tensor<2x?x?x64xf16>'}}
  %r = attn.unpack_heads %o by %p heads 1 rows 2 : tensor<2x?x?x64xf16> -> tensor<4x8x?x64xf16>
  return
}
