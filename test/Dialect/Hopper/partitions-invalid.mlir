// Partitions, and what they exchange besides copies of tensors.

// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @f() {
  // expected-error@+1 {{expects a partition}}
  hopper.warp_specialize
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{expects partitions of different names, but got two of 'a'}}
  hopper.warp_specialize partition @a threads(1) {
  } partition @a {
  }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{expects at most 1024 threads, but got 1152}}
  hopper.warp_specialize partition @a threads(1) {
  } partition @b replicas(8) {
  }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{expects partitions that share a warpgroup to have its registers, 24, but got 40 of 'a'}}
  hopper.warp_specialize partition @a threads(1) registers(40) {
  } partition @b warps(2) registers(24) {
  }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{expects no more registers than a CTA has, but got 40 more for a thread of each warpgroup together}}
  hopper.warp_specialize partition @a registers(48) {
  } partition @b replicas(2) registers(248) {
  }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{expects registers to leave at least 24 to each thread of the other warpgroups, but they leave 16}}
  hopper.warp_specialize partition @a {
  } partition @b {
  } partition @c replicas(2) registers(240) {
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x64x64xbf16>, %n: i32, %m: !hopper.map<64x64xbf16>, %x: index) {
  hopper.warp_specialize partition @a threads(1) {
    // expected-note@+1 {{used here}}
    hopper.put %c[%n], %m[%x, %x, %x] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
  } partition @b threads(1) {
    // expected-error@+1 {{expects to be in the partition that the channel is filled by}}
    hopper.put %c[%n], %m[%x, %x, %x] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x64x64xbf16>, %n: i32, %m: !hopper.map<64x64xbf16>, %x: index) {
  %v = arith.constant dense<0.0> : vector<64x64xbf16>
  hopper.warp_specialize partition @a {
    // expected-note@+1 {{filled here}}
    hopper.put %c[%n], %m[%x, %x, %x] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
    // expected-error@+1 {{expects to fill the channel in the way that it is filled elsewhere}}
    hopper.put_fragment %c[%n], %v : !hopper.channel<2x64x64xbf16>, vector<64x64xbf16>
  }
  return
}

// -----

func.func @f(%t: !hopper.ping_pong) {
  hopper.warp_specialize partition @a replicas(2) registers(104) {
    // expected-note@+1 {{used here}}
    hopper.ping_pong_wait %t : !hopper.ping_pong
  } partition @b replicas(2) registers(104) {
    // expected-error@+1 {{expects to be in the partition that takes the ping-pong barrier}}
    hopper.ping_pong_arrive %t : !hopper.ping_pong
  }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{'hopper.sync' op expects to be in a partition of hopper.warp_specialize}}
  hopper.sync
  return
}

// -----

func.func @f() {
  hopper.warp_specialize partition @a threads(1) {
    // expected-error@+1 {{'hopper.sync' op expects a partition of warps, but got one thread}}
    hopper.sync
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x80xf32>, %n: i32, %x: index, %m: memref<?xf32>) {
  hopper.warp_specialize partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{'hopper.put_vector' op expects a partition of one replica, but got 2}}
    hopper.put_vector %c[%n], %m[%x] : !hopper.channel<2x80xf32>, memref<?xf32>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x64x64xf32>, %n: i32, %x: index, %m: memref<?xf32>) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{expects a channel of vectors, but got '!hopper.channel<2x64x64xf32>'}}
    hopper.put_vector %c[%n], %m[%x] : !hopper.channel<2x64x64xf32>, memref<?xf32>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x80xf32>, %n: i32, %x: index, %m: memref<?xf16>) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{expects a buffer of 'f32' with a contiguous last dimension, but got 'memref<?xf16>'}}
    hopper.put_vector %c[%n], %m[%x] : !hopper.channel<2x80xf32>, memref<?xf16>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x80xf32>, %n: i32, %x: index, %m: memref<?xf32, strided<[?]>>) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{expects a buffer of 'f32' with a contiguous last dimension, but got 'memref<?xf32, strided<[?]>>'}}
    hopper.put_vector %c[%n], %m[%x] : !hopper.channel<2x80xf32>, memref<?xf32, strided<[?]>>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x80xf32>, %n: i32, %x: index, %m: memref<?x?xf32>) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{expects 2 indices, but got 1}}
    hopper.put_vector %c[%n], %m[%x] : !hopper.channel<2x80xf32>, memref<?x?xf32>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x80xbf16>, %n: i32, %v: vector<80x64xbf16>) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{'hopper.put_fragment' op expects a partition whose replicas have 128 threads, but got 1}}
    hopper.put_fragment %c[%n], %v : !hopper.channel<2x128x80xbf16>, vector<80x64xbf16>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x80xbf16>, %n: i32, %v: vector<64x64xbf16>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects blocks of the channel's tiles, but got 'vector<64x64xbf16>' for '!hopper.channel<2x128x80xbf16>'}}
    hopper.put_fragment %c[%n], %v : !hopper.channel<2x128x80xbf16>, vector<64x64xbf16>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x80xbf16>, %n: i32, %v: vector<80x64xf16>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects blocks of the channel's tiles, but got 'vector<80x64xf16>' for '!hopper.channel<2x128x80xbf16>'}}
    hopper.put_fragment %c[%n], %v : !hopper.channel<2x128x80xbf16>, vector<80x64xf16>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x80xbf16>, %n: i32, %v: vector<80x64xbf16>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects blocks of the channel's tiles, but got 'vector<80x64xbf16>' for '!hopper.channel<2x128x80xbf16>'}}
    hopper.put_fragment %c[%n], %v transposed : !hopper.channel<2x128x80xbf16>, vector<80x64xbf16>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x80xbf16>, %n: i32, %v: vector<80x32xbf16>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects blocks of the channel's tiles, but got 'vector<80x32xbf16>' for '!hopper.channel<2x128x80xbf16>'}}
    hopper.put_fragment %c[%n], %v : !hopper.channel<2x128x80xbf16>, vector<80x32xbf16>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x80x80xbf16>, %n: i32, %v: vector<80x64xbf16>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects blocks of the channel's tiles, but got 'vector<80x64xbf16>' for '!hopper.channel<2x80x80xbf16>'}}
    hopper.put_fragment %c[%n], %v : !hopper.channel<2x80x80xbf16>, vector<80x64xbf16>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x64x64xf32>, %n: i32, %v: vector<64x64xf32>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects blocks of the channel's tiles, but got 'vector<64x64xf32>' for '!hopper.channel<2x64x64xf32>'}}
    hopper.put_fragment %c[%n], %v : !hopper.channel<2x64x64xf32>, vector<64x64xf32>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x64x12xbf16>, %n: i32, %v: vector<12x64xbf16>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects blocks of the channel's tiles, but got 'vector<12x64xbf16>' for '!hopper.channel<2x64x12xbf16>'}}
    hopper.put_fragment %c[%n], %v : !hopper.channel<2x64x12xbf16>, vector<12x64xbf16>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x64xf32>, %n: i32, %v: vector<64x64xf32>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects blocks of the channel's tiles, but got 'vector<64x64xf32>' for '!hopper.channel<2x64xf32>'}}
    hopper.put_fragment %c[%n], %v : !hopper.channel<2x64xf32>, vector<64x64xf32>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x64xf32>, %n: i32, %v: vector<1x64xf32>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects blocks of the channel's tiles, but got 'vector<1x64xf32>' for '!hopper.channel<2x64xf32>'}}
    hopper.put_fragment %c[%n], %v transposed : !hopper.channel<2x64xf32>, vector<1x64xf32>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x80xbf16, payload>, %n: i32, %v: vector<80x64xbf16>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a channel without payload, but got '!hopper.channel<2x128x80xbf16, payload>'}}
    hopper.put_fragment %c[%n], %v : !hopper.channel<2x128x80xbf16, payload>, vector<80x64xbf16>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x80xbf16, payload>, %n: i32, %p: i1) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects no condition with a payload}}
    %t, %x = hopper.get %c[%n] if %p : !hopper.channel<2x128x80xbf16, payload> -> !hopper.tile<128x80xbf16>, i32
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<64x64xbf16, of 128>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a multiple of 8 rows of '!hopper.tile<64x64xbf16, of 128>', but got '!hopper.tile<32x64xbf16, of 64>'}}
    %r = hopper.rows %t[%x] : !hopper.tile<64x64xbf16, of 128> -> !hopper.tile<32x64xbf16, of 64>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<128xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a multiple of 8 rows of '!hopper.tile<128xf32>', but got '!hopper.tile<64x64xf32, of 128>'}}
    %r = hopper.rows %t[%x] : !hopper.tile<128xf32> -> !hopper.tile<64x64xf32, of 128>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<64x256xbf16>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a multiple of 64 columns of '!hopper.tile<64x256xbf16>', but got '!hopper.tile<64x32xbf16>'}}
    %r = hopper.columns %t[%x] : !hopper.tile<64x256xbf16> -> !hopper.tile<64x32xbf16>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<64x256xbf16>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a multiple of 64 columns of '!hopper.tile<64x256xbf16>', but got '!hopper.tile<64x192xbf16>'}}
    %r = hopper.columns %t[%x] : !hopper.tile<64x256xbf16> -> !hopper.tile<64x192xbf16>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<64x256xbf16>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a multiple of 64 columns of '!hopper.tile<64x256xbf16>', but got '!hopper.tile<32x64xbf16>'}}
    %r = hopper.columns %t[%x] : !hopper.tile<64x256xbf16> -> !hopper.tile<32x64xbf16>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<64x256xbf16>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a multiple of 64 columns of '!hopper.tile<64x256xbf16>', but got '!hopper.tile<64x64xf16>'}}
    %r = hopper.columns %t[%x] : !hopper.tile<64x256xbf16> -> !hopper.tile<64x64xf16>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<64x256xbf16>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a multiple of 64 columns of '!hopper.tile<64x256xbf16>', but got '!hopper.tile<64x64xbf16, of 128>'}}
    %r = hopper.columns %t[%x] : !hopper.tile<64x256xbf16> -> !hopper.tile<64x64xbf16, of 128>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<64xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a multiple of 32 columns of '!hopper.tile<64xf32>', but got '!hopper.tile<64xf32>'}}
    %r = hopper.columns %t[%x] : !hopper.tile<64xf32> -> !hopper.tile<64xf32>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<80xf32>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a tile of 64 rows, but got '!hopper.tile<80xf32>'}}
    %r = hopper.load_fragment %t : !hopper.tile<80xf32> -> vector<1x80xf32>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<64xf32>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects the result to be 'vector<1x64xf32>', but got 'vector<64x64xf32>'}}
    %r = hopper.load_fragment %t : !hopper.tile<64xf32> -> vector<64x64xf32>
  }
  return
}

// -----

func.func @f(%a: vector<64x64xbf16>, %b: !hopper.tile<64x64xbf16>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects lhs_transposed of a tile, but got 'vector<64x64xbf16>'}}
    %r = hopper.mma %a, %b lhs_transposed : vector<64x64xbf16>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
  }
  return
}

// -----

func.func @f(%a: !hopper.tile<64x128xbf16>, %b: !hopper.tile<64x64xbf16>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects 64 rows of the result, but got 128}}
    %r = hopper.mma %a, %b lhs_transposed : !hopper.tile<64x128xbf16>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
  }
  return
}

// -----

func.func @f(%a: !hopper.tile<24x64xbf16>, %b: !hopper.tile<64x24xbf16>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects the reduced extent to be a multiple of 16, but got 24}}
    %r = hopper.mma %a, %b lhs_transposed : !hopper.tile<24x64xbf16>, !hopper.tile<64x24xbf16> -> !hopper.pending<vector<64x64xf32>>
  }
  return
}

// -----

func.func @f(%a: !hopper.tile<64xf32>, %b: !hopper.tile<64x64xbf16>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects tiles with columns, but got '!hopper.tile<64xf32>'}}
    %r = hopper.mma %a, %b : !hopper.tile<64xf32>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
  }
  return
}

// -----

func.func @f(%a: !hopper.tile<64x64xbf16>, %b: !hopper.tile<64xf32>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects tiles with columns, but got '!hopper.tile<64xf32>'}}
    %r = hopper.mma %a, %b : !hopper.tile<64x64xbf16>, !hopper.tile<64xf32> -> !hopper.pending<vector<64x64xf32>>
  }
  return
}

// -----

func.func @f() {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects products to wait for}}
    "hopper.wait"() <{in_flight = 0 : i64}> : () -> ()
  }
  return
}

// -----

func.func @f(%v: vector<64x64xbf16>, %t: !hopper.tile<64xf32>, %m: !hopper.map<64x64xbf16>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a tile with columns, but got '!hopper.tile<64xf32>'}}
    hopper.store %v, %t, %m[%x, %x, %x] : vector<64x64xbf16>, !hopper.tile<64xf32>, !hopper.map<64x64xbf16>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{'hopper.reduce_add' op expects a partition whose replicas have 128 threads, but got 1}}
    hopper.reduce_add %v, %m[%x, %x, %x] m 1 n 2 : vector<64x64xf32>, memref<?x?x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x32xf32>, %m: memref<?x?x128xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a multiple of 8 rows of 64 elements, but got 'vector<64x32xf32>'}}
    hopper.reduce_add %v, %m[%x, %x, %x] m 1 n 2 : vector<64x32xf32>, memref<?x?x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<1x64xf32>, %m: memref<?x?x128xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a multiple of 8 rows of 64 elements, but got 'vector<1x64xf32>'}}
    hopper.reduce_add %v, %m[%x, %x, %x] m 1 n 2 : vector<1x64xf32>, memref<?x?x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf16>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a buffer of f32, but got 'memref<?x?x128xf16>'}}
    hopper.reduce_add %v, %m[%x, %x, %x] m 1 n 2 : vector<64x64xf32>, memref<?x?x128xf16>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects 3 indices, but got 2}}
    hopper.reduce_add %v, %m[%x, %x] m 1 n 2 : vector<64x64xf32>, memref<?x?x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects 2 indices, but got 3}}
    hopper.reduce_add %v, %m[%x, %x, %x] fragment : vector<64x64xf32>, memref<?x?x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects 1, 2 or 4 floats at a time, but got 3}}
    hopper.reduce_add %v, %m[%x, %x, %x] m 1 n 2 vector 3 : vector<64x64xf32>, memref<?x?x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects no dimensions, ends or width with fragment}}
    hopper.reduce_add %v, %m[%x, %x] fragment end_m %x : vector<64x64xf32>, memref<?x?x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects no dimensions, ends or width with fragment}}
    hopper.reduce_add %v, %m[%x, %x] fragment vector 4 : vector<64x64xf32>, memref<?x?x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a last dimension of 4096 contiguous elements, but got 'memref<?x?x128xf32>'}}
    hopper.reduce_add %v, %m[%x, %x] fragment : vector<64x64xf32>, memref<?x?x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a dimension of the memref, but got 3}}
    hopper.reduce_add %v, %m[%x, %x, %x] m 1 n 3 : vector<64x64xf32>, memref<?x?x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a dimension of the memref, but got -1}}
    hopper.reduce_add %v, %m[%x, %x, %x] m -1 n 2 : vector<64x64xf32>, memref<?x?x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects two dimensions, but got 2}}
    hopper.reduce_add %v, %m[%x, %x, %x] m 2 n 2 : vector<64x64xf32>, memref<?x?x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects floats that are added at a time to be along a contiguous last dimension, but got dimension 1 of 'memref<?x?x128xf32>'}}
    hopper.reduce_add %v, %m[%x, %x, %x] m 2 n 1 vector 2 : vector<64x64xf32>, memref<?x?x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?xf32, strided<[?, ?]>>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects floats that are added at a time to be along a contiguous last dimension, but got dimension 1 of 'memref<?x?xf32, strided<[?, ?]>>'}}
    hopper.reduce_add %v, %m[%x, %x] m 0 n 1 vector 4 : vector<64x64xf32>, memref<?x?xf32, strided<[?, ?]>>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects no end_n where several floats are added at a time}}
    hopper.reduce_add %v, %m[%x, %x, %x] m 1 n 2 end_n %x vector 2 : vector<64x64xf32>, memref<?x?x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects both dimensions, m and n}}
    "hopper.reduce_add"(%v, %m, %x, %x, %x) <{m = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0>}> : (vector<64x64xf32>, memref<?x?x128xf32>, index, index, index) -> ()
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %t: memref<?xi64>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects counters of i32, but got 'memref<?xi64>'}}
    hopper.reduce_add %v, %m[%x, %x, %x] m 1 n 2 after %x as %x in %t[%x] : vector<64x64xf32>, memref<?x?x128xf32>, memref<?xi64>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %t: memref<?x?xi32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects 2 indices of the counters, but got 1}}
    hopper.reduce_add %v, %m[%x, %x, %x] m 1 n 2 after %x as %x in %t[%x] : vector<64x64xf32>, memref<?x?x128xf32>, memref<?x?xi32>
  }
  return
}

// -----

func.func @f(%v: vector<64x32xf32>, %p: vector<64x32xi1>, %m: memref<10xi64>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{'hopper.scatter_add' op expects a multiple of 8 rows of 64 elements, the parts of a sum, or one row of 128, but got 'vector<64x32xf32>'}}
    hopper.scatter_add %v into %m[] if %p : vector<64x32xf32>, memref<10xi64>, vector<64x32xi1>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %p: vector<64x64xi1>, %m: memref<9xi64>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a buffer of f32, or of i64 with a first dimension of 10, but got 'memref<9xi64>'}}
    hopper.scatter_add %v into %m[] if %p : vector<64x64xf32>, memref<9xi64>, vector<64x64xi1>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %p: vector<64x64xi1>, %m: memref<10x?xi64>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects 1 indices, but got 2}}
    hopper.scatter_add %v into %m[%x, %x] if %p : vector<64x64xf32>, memref<10x?xi64>, (index, index), vector<64x64xi1>
  }
  return
}

// -----

func.func @f(%v: vector<4x64xf32>, %p: vector<4x64xi1>, %m: memref<10x?xi64>, %x: vector<4x1xindex>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects indices with the extents of the vector or 1, but got 'vector<4x1xindex>' for 'vector<4x64xf32>'}}
    hopper.scatter_add %v into %m[%x] if %p : vector<4x64xf32>, memref<10x?xi64>, (vector<4x1xindex>), vector<4x64xi1>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %p: vector<64x64xi1>, %m: memref<10x?xi64>, %x: vector<32x1xindex>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects indices with the extents of the vector or 1, but got 'vector<32x1xindex>' for 'vector<64x64xf32>'}}
    hopper.scatter_add %v into %m[%x] if %p : vector<64x64xf32>, memref<10x?xi64>, (vector<32x1xindex>), vector<64x64xi1>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %p: vector<32x64xi1>, %m: memref<10xi64>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a mask of the shape of the vector, but got 'vector<32x64xi1>' for 'vector<64x64xf32>'}}
    hopper.scatter_add %v into %m[] if %p : vector<64x64xf32>, memref<10xi64>, vector<32x64xi1>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %p: vector<64x64xi1>, %m: memref<10xi64>) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{'hopper.scatter_add' op expects a partition whose replicas have 128 threads, but got 1}}
    hopper.scatter_add %v into %m[] if %p : vector<64x64xf32>, memref<10xi64>, vector<64x64xi1>
  }
  return
}

// -----

func.func @f(%v: vector<32x64xf32>, %t: !hopper.tile<4608xf32>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{'hopper.diagonal_sums' op expects a vector of 64x64, but got 'vector<32x64xf32>'}}
    %s = hopper.diagonal_sums %v via %t : vector<32x64xf32>, !hopper.tile<4608xf32> -> vector<1x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %t: !hopper.tile<4096xf32>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a tile of 4608 f32, but got '!hopper.tile<4096xf32>'}}
    %s = hopper.diagonal_sums %v via %t : vector<64x64xf32>, !hopper.tile<4096xf32> -> vector<1x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %t: !hopper.tile<4608xf32>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects sums of 1x128, but got 'vector<1x64xf32>'}}
    %s = hopper.diagonal_sums %v via %t : vector<64x64xf32>, !hopper.tile<4608xf32> -> vector<1x64xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %t: !hopper.tile<4608xf32>) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{'hopper.diagonal_sums' op expects a partition whose replicas have 128 threads, but got 1}}
    %s = hopper.diagonal_sums %v via %t : vector<64x64xf32>, !hopper.tile<4608xf32> -> vector<1x128xf32>
  }
  return
}
