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

func.func @f(%c: !hopper.channel<2x80xi1>, %n: i32, %x: index, %m: memref<?xi1>) {
  hopper.warp_specialize partition @load warps(1) {
    // expected-error@+1 {{expects zero_fill with elements of 'i1'}}
    hopper.put_vector %c[%n], %m[%x] : !hopper.channel<2x80xi1>, memref<?xi1>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x80xi1>, %n: i32, %x: index, %m: memref<?xi1>) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{expects a partition of warps, but got 1 threads}}
    hopper.put_vector %c[%n], %m[%x] zero_fill : !hopper.channel<2x80xi1>, memref<?xi1>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<128xi1>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{'hopper.rows' op expects rows of 32-bit elements, but got '!hopper.tile<128xi1>'}}
    %r = hopper.rows %t[%x] : !hopper.tile<128xi1> -> !hopper.tile<64xi1, of 128>
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

func.func @f(%c: !hopper.channel<4x48x8xbf16>, %n: i32, %v: vector<48x1xf32>) {
  hopper.warp_specialize partition @load threads(32) {
    // expected-error@+1 {{expects a channel with payload, but got '!hopper.channel<4x48x8xbf16>'}}
    hopper.put_bf16x3 %c[%n], %v times 1.0 up_to 1.0 : !hopper.channel<4x48x8xbf16>, vector<48x1xf32>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<4x48x8xbf16, payload>, %n: i32, %v: vector<48x1xf32>) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{expects a partition of warps, but got 1 threads}}
    hopper.put_bf16x3 %c[%n], %v times 1.0 up_to 1.0 : !hopper.channel<4x48x8xbf16, payload>, vector<48x1xf32>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<4x48x8xbf16, payload>, %n: i32, %v: vector<48x1xf32>) {
  hopper.warp_specialize partition @compute replicas(2) registers(24) {
    // expected-error@+1 {{expects a partition of one replica, but got 2}}
    hopper.put_bf16x3 %c[%n], %v times 1.0 up_to 1.0 : !hopper.channel<4x48x8xbf16, payload>, vector<48x1xf32>
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

