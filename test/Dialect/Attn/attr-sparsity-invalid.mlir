// RUN: attn-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expects a block whose extents are multiples of 16 from 16 to 256, but got 1x1}}
#s = #attn.sparsity<bits, block = 1x1>

// -----

// expected-error@+1 {{expects a block whose extents are multiples of 16 from 16 to 256, or 1x1, but got 1x16}}
#s = #attn.sparsity<lists, block = 1x16>

// -----

// expected-error@+1 {{expects a block whose extents are multiples of 16 from 16 to 256, but got 16x24}}
#s = #attn.sparsity<bits, block = 16x24>

// -----

// expected-error@+1 {{expects a block whose extents are multiples of 16 from 16 to 256, but got 512x16}}
#s = #attn.sparsity<bits, block = 512x16>

// -----

// expected-error@+1 {{expects a block of two extents, but got 1}}
#s = #attn.sparsity<bits, block = 16>

// -----

// expected-error@+2 {{to be one of: bits, lists}}
// expected-error@+1 {{failed to parse}}
#s = #attn.sparsity<csr, block = 1x1>
