// RUN: attn-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expects 2 positive extents, but got 0x64}}
func.func private @f(!hopper.map<0x64xbf16>)

// -----

// expected-error@+1 {{expects 2 positive extents, but got 64x64x64}}
func.func private @f(!hopper.tile<64x64x64xbf16>)

// -----

// expected-error@+1 {{expects 3 positive extents, but got 64}}
func.func private @f(!hopper.channel<64xf32>)

// -----

// expected-error@+1 {{expects a vector of f16, bf16, f32, f64 or integers of 1, 8, 16, 32 or 64 bits, but got 'i4'}}
func.func private @f(!hopper.channel<2x64xi4>)

// -----

// expected-error@+1 {{expects a vector of f16, bf16, f32, f64 or integers of 1, 8, 16, 32 or 64 bits, but got 'tf32'}}
func.func private @f(!hopper.tile<64xtf32>)

// -----

// expected-error@+1 {{expects bf16, f16, f32, i8 or i1, but got 'index'}}
func.func private @f(!hopper.tile<64xindex>)

// -----

// expected-error@+1 {{expects no payload with vectors}}
func.func private @f(!hopper.channel<2x64xf32, payload>)

// -----

// expected-error@+1 {{expects a name of a partition}}
func.func private @f() attributes {hopper.p = #hopper.partition<name = "", replicas = 1, threads = 1, registers = 0>}

// -----

// expected-error@+1 {{expects 1 to 1024 replicas, but got 36028797018963968}}
func.func private @f() attributes {hopper.p = #hopper.partition<name = "a", replicas = 36028797018963968, threads = 1, registers = 0>}

// -----

// expected-error@+1 {{expects 1 to 1024 replicas, but got 0}}
func.func private @f() attributes {hopper.p = #hopper.partition<name = "a", replicas = 0, threads = 1, registers = 0>}

// -----

// expected-error@+1 {{expects one thread or 1 to 4 warps of a replica, but got 48 threads}}
func.func private @f() attributes {hopper.p = #hopper.partition<name = "a", replicas = 1, threads = 48, registers = 0>}

// -----

// expected-error@+1 {{expects one thread or 1 to 4 warps of a replica, but got 160 threads}}
func.func private @f() attributes {hopper.p = #hopper.partition<name = "a", replicas = 1, threads = 160, registers = 0>}

// -----

// expected-error@+1 {{expects registers to be a multiple of 8 from 24 to 256, but got 20}}
func.func private @f() attributes {hopper.p = #hopper.partition<name = "a", replicas = 1, threads = 128, registers = 20>}

// -----

// expected-error@+1 {{expected static shape}}
func.func private @f(!hopper.map<?x64xbf16>)

// -----

// expected-error@+1 {{expects bf16, f16, f32, i8 or i1, but got 'f64'}}
func.func private @f(!hopper.map<64x64xf64>)

// -----

// expected-error@+1 {{expects bf16, f16, f32, i8 or i1, but got 'i16'}}
func.func private @f(!hopper.channel<2x64x64xi16>)

// -----

// expected-error@+1 {{expects 64 rows of a multiple of 64, but got 32}}
func.func private @f(!hopper.tile<64x64xbf16, of 32>)

// -----

// expected-error@+1 {{expects 64 rows of a multiple of 64, but got -64}}
func.func private @f(!hopper.tile<64x64xbf16, of -64>)

// -----

// expected-error@+1 {{expected 'of'}}
func.func private @f(!hopper.tile<64x64xbf16, 128>)

// -----

// expected-error@+1 {{expects 1, 2 or 4 stages, but got 3}}
func.func private @f(!hopper.channel<3x64x64xbf16>)

// -----

// expected-error@+1 {{expects a multiple of 8 rows, but got 60}}
func.func private @f(!hopper.channel<2x60x64xbf16>)

// -----

// expected-error@+1 {{expects a vector of rank 2 and f32, but got 'vector<64xf32>'}}
func.func private @f(!hopper.pending<vector<64xf32>>)

// -----

// expected-error@+1 {{expects a vector of rank 2 and f32, but got 'vector<8x64xbf16>'}}
func.func private @f(!hopper.pending<vector<8x64xbf16>>)

// -----

// expected-error@+2 {{invalid kind of type specified}}
// expected-error@+1 {{failed to parse Hopper_PendingType parameter 'fragment' which is to be a `::mlir::ShapedType`}}
func.func private @f(!hopper.pending<f32>)

// -----

// expected-error@+1 {{unknown  type `ring` in dialect `hopper`}}
func.func private @f(!hopper.ring<2>)

// -----

// expected-error@+1 {{expects a positive length, but got 0}}
func.func private @f(!hopper.work_queue<0>)

// -----

// expected-error@+1 {{expects m and n to be dimensions that follow each other, but got 1 and 3}}
func.func private @f(memref<?x64x64x64xf32, #hopper.fragment_order<m = 1, n = 3>>)

// -----

// expected-error@+1 {{expects the last dimensions, 1 and 0, to be multiples of 64 and 8, but got 80x80}}
func.func private @f(memref<80x80xf32, #hopper.fragment_order<m = 1, n = 0>>)

// -----

// expected-error@+1 {{expects the last dimensions, 0 and 1, to be multiples of 64 and 8, but got ?x8x8}}
func.func private @f(memref<?x8x8xf32, #hopper.fragment_order<m = 0, n = 1>>)

// -----

// expected-error@+1 {{expects chunks of a multiple of 16 columns of 16 bits, up to 64, but got 40 of 'bf16'}}
func.func private @f(!hopper.tile<64x96xbf16, chunks of 40>)

// -----

// expected-error@+1 {{expects chunks of a multiple of 16 columns of 16 bits, up to 64, but got 16 of 'f32'}}
func.func private @f(!hopper.tile<64x96xf32, chunks of 16>)

// -----

// expected-error@+1 {{expects chunks of a multiple of 16 columns of 16 bits, up to 64, but got 80 of 'f16'}}
func.func private @f(!hopper.channel<1x64x96xf16, chunks of 80>)
