// Roles, channels and messages.

// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @f() {
  // expected-error@+2 {{expects 1 to 1024 replicas, but got 0}}
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(0) registers(240) {
  }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{expects registers to leave at least 24 to each thread of the other warpgroups, but they leave -720}}
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(5) registers(240) {
  }
  return
}

// -----

func.func @f() {
  // expected-error@+2 {{expects registers to be a multiple of 8 from 24 to 256, but got 16}}
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(16) {
  }
  return
}

// -----

func.func @f() {
  // expected-error@+2 {{expects registers to be a multiple of 8 from 24 to 256, but got 100}}
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(100) {
  }
  return
}

// -----

func.func @f() {
  // expected-error@+2 {{expects registers to be a multiple of 8 from 24 to 256, but got 264}}
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(264) {
  }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{expects registers to leave at least 24 to each thread of the other warpgroups, but they leave 8}}
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(248) {
  }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{expects registers to leave at least 24 to each thread of the other warpgroups, but they leave 16}}
  hopper.warp_specialize ctas_per_sm(2) partition @load threads(1) {
  } partition @compute replicas(2) registers(112) {
  }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{expects ctas_per_sm to be from 1 to 4, but got 5}}
  hopper.warp_specialize ctas_per_sm(5) partition @load threads(1) {
  } partition @compute registers(64) {
  }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{'hopper.yield' op expects parent op 'hopper.warp_specialize'}}
  hopper.yield
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{'hopper.warpgroup_id' op expects to be in a partition of hopper.warp_specialize}}
  %0 = hopper.warpgroup_id
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x64xbf16>, %n: i32, %m: !hopper.map<128x64xbf16>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{'hopper.put' op expects a partition of one replica, but got 2}}
    hopper.put %c[%n], %m[%x, %x, %x] : !hopper.channel<2x128x64xbf16>, !hopper.map<128x64xbf16>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x64xbf16>, %n: i32) {
    // expected-error@+1 {{'hopper.get' op expects to be in a partition of hopper.warp_specialize}}
    %0 = hopper.get %c[%n] : !hopper.channel<2x128x64xbf16> -> !hopper.tile<128x64xbf16>
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x64xbf16>, %n: i32) {
    // expected-error@+1 {{'hopper.release' op expects to be in a partition of hopper.warp_specialize}}
    hopper.release %c[%n] : !hopper.channel<2x128x64xbf16>
  return
}

// -----

func.func @f(%t: !hopper.ping_pong) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{'hopper.ping_pong_wait' op expects a partition whose replicas have 128 threads, but got 1}}
    hopper.ping_pong_wait %t : !hopper.ping_pong
  } partition @compute replicas(2) registers(240) {
  }
  return
}

// -----

func.func @f(%t: !hopper.ping_pong) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{'hopper.ping_pong_arrive' op expects a partition whose replicas have 128 threads, but got 1}}
    hopper.ping_pong_arrive %t : !hopper.ping_pong
  } partition @compute replicas(2) registers(240) {
  }
  return
}

// -----

func.func @f(%v: vector<64x64xbf16>, %t: !hopper.tile<64x64xbf16, of 128>, %m: !hopper.map<64x64xbf16>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{'hopper.store' op expects a partition whose replicas have 128 threads, but got 1}}
    hopper.store %v, %t, %m[%x, %x, %x] : vector<64x64xbf16>, !hopper.tile<64x64xbf16, of 128>, !hopper.map<64x64xbf16>
  } partition @compute replicas(2) registers(240) {
  }
  return
}

// -----

func.func @f(%v: vector<1x64xf32>, %l: memref<?xf32>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{'hopper.store_rows' op expects a partition whose replicas have 128 threads, but got 1}}
    hopper.store_rows %v, %l[%x] dim 0 end %x : vector<1x64xf32>, memref<?xf32>
  } partition @compute replicas(2) registers(240) {
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x64xbf16>, %n: i32, %m: !hopper.map<64x64xbf16>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{expects boxes of the map to be tiles of the channel, but got '!hopper.map<64x64xbf16>' and '!hopper.channel<2x128x64xbf16>'}}
    hopper.put %c[%n], %m[%x, %x, %x] : !hopper.channel<2x128x64xbf16>, !hopper.map<64x64xbf16>
  } partition @compute replicas(2) registers(240) {
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x64xbf16>, %n: i32, %m: !hopper.map<128x128xbf16>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{expects boxes of the map to be tiles of the channel, but got '!hopper.map<128x128xbf16>' and '!hopper.channel<2x128x64xbf16>'}}
    hopper.put %c[%n], %m[%x, %x, %x] : !hopper.channel<2x128x64xbf16>, !hopper.map<128x128xbf16>
  } partition @compute replicas(2) registers(240) {
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x64xbf16>, %n: i32, %m: !hopper.map<128x64xf16>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{expects boxes of the map to be tiles of the channel, but got '!hopper.map<128x64xf16>' and '!hopper.channel<2x128x64xbf16>'}}
    hopper.put %c[%n], %m[%x, %x, %x] : !hopper.channel<2x128x64xbf16>, !hopper.map<128x64xf16>
  } partition @compute replicas(2) registers(240) {
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x64xbf16>, %n: i32) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects the result to be a tile of the channel, '!hopper.tile<128x64xbf16>', but got '!hopper.tile<64x64xbf16>'}}
    %0 = hopper.get %c[%n] : !hopper.channel<2x128x64xbf16> -> !hopper.tile<64x64xbf16>
  }
  return
}

// -----

func.func @f(%c: memref<2xi32>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{'hopper.fetch_next' op expects a partition of one replica, but got 2}}
    %0 = hopper.fetch_next %c : memref<2xi32>
  }
  return
}

// -----

func.func @f(%c: memref<2xi32>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{'hopper.reset_counter' op expects a partition of one replica, but got 2}}
    hopper.reset_counter %c : memref<2xi32>
  }
  return
}

// -----

func.func @f(%m: !hopper.work_queue<1>, %n: i32) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{'hopper.post' op expects a partition of one replica, but got 2}}
    hopper.post %m[%n], %n : !hopper.work_queue<1>
  }
  return
}

// -----

func.func @f(%m: !hopper.work_queue<1>, %n: i32) {
    // expected-error@+1 {{'hopper.receive' op expects to be in a partition of hopper.warp_specialize}}
    %0 = hopper.receive %m[%n] : !hopper.work_queue<1> -> i32
  return
}

// -----

func.func @f(%m: !hopper.work_queue<2>, %n: i32) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{expects a message of 2 numbers, but got 1}}
    hopper.post %m[%n], %n : !hopper.work_queue<2>
  } partition @compute replicas(2) registers(240) {
  }
  return
}

// -----

func.func @f(%m: !hopper.work_queue<2>, %n: i32) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a message of 2 numbers, but got 3}}
    %0:3 = hopper.receive %m[%n] : !hopper.work_queue<2> -> i32, i32, i32
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x64xbf16>, %n: i32, %m: !hopper.map<128x64xbf16>, %a: !hopper.map<128x64xbf16, strided>, %x: index) {
  hopper.warp_specialize partition @load {
    // expected-note@+1 {{filled here}}
    hopper.put %c[%n], %m[%x, %x, %x] : !hopper.channel<2x128x64xbf16>, !hopper.map<128x64xbf16>
    // expected-error@+1 {{expects to fill the channel in the way that it is filled elsewhere}}
    hopper.put %c[%n], %a[%x, %x, %x] : !hopper.channel<2x128x64xbf16>, !hopper.map<128x64xbf16, strided>
  } partition @compute replicas(2) registers(208) {
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x64xbf16>, %n: i32, %m: !hopper.map<128x64xbf16>, %x: index, %l: memref<?xi32>) {
  hopper.warp_specialize partition @load {
    // expected-error@+1 {{expects a strided map for rows of a list, but got '!hopper.map<128x64xbf16>'}}
    hopper.put %c[%n], %m[%x, %x, %x] rows %l[] : !hopper.channel<2x128x64xbf16>, !hopper.map<128x64xbf16>, memref<?xi32>
  } partition @compute replicas(2) registers(208) {
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x64xbf16>, %n: i32, %m: !hopper.map<128x64xbf16, strided>, %x: index, %l: memref<?xi64>) {
  hopper.warp_specialize partition @load {
    // expected-error@+1 {{expects a list of i32 with a rank of at least 1, but got 'memref<?xi64>'}}
    hopper.put %c[%n], %m[%x, %x, %x] rows %l[] : !hopper.channel<2x128x64xbf16>, !hopper.map<128x64xbf16, strided>, memref<?xi64>
  } partition @compute replicas(2) registers(208) {
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x64xbf16>, %n: i32, %m: !hopper.map<128x64xbf16, strided>, %x: index, %l: memref<?x?xi32>) {
  hopper.warp_specialize partition @load {
    // expected-error@+1 {{expects one position for each dimension of the list but the last, 1, but got 0}}
    hopper.put %c[%n], %m[%x, %x, %x] rows %l[] : !hopper.channel<2x128x64xbf16>, !hopper.map<128x64xbf16, strided>, memref<?x?xi32>
  } partition @compute replicas(2) registers(208) {
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x64xbf16>, %n: i32, %m: !hopper.map<128x64xbf16, strided>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{expects a partition of 128 threads for '!hopper.map<128x64xbf16, strided>', but got 1}}
    hopper.put %c[%n], %m[%x, %x, %x] : !hopper.channel<2x128x64xbf16>, !hopper.map<128x64xbf16, strided>
  } partition @compute replicas(2) registers(208) {
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x64xbf16>, %n: i32, %m: !hopper.map<128x64xbf16, strided>, %x: index) {
  hopper.warp_specialize partition @load {
    // expected-error@+1 {{expects no column of a strided map}}
    hopper.put %c[%n], %m[%x, %x, %x] column %x : !hopper.channel<2x128x64xbf16>, !hopper.map<128x64xbf16, strided>
  } partition @compute replicas(2) registers(208) {
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x64xbf16>, %n: i32, %m: !hopper.map<128x64xbf16>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{'hopper.put' op expects no payload with '!hopper.channel<2x128x64xbf16>'}}
    hopper.put %c[%n], %m[%x, %x, %x] payload %n : !hopper.channel<2x128x64xbf16>, !hopper.map<128x64xbf16>
  } partition @compute replicas(2) registers(208) {
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x64xbf16, payload>, %n: i32, %m: !hopper.map<128x64xbf16>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{'hopper.put' op expects a payload with '!hopper.channel<2x128x64xbf16, payload>'}}
    hopper.put %c[%n], %m[%x, %x, %x] : !hopper.channel<2x128x64xbf16, payload>, !hopper.map<128x64xbf16>
  } partition @compute replicas(2) registers(208) {
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x64xbf16, payload>, %n: i32) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(208) {
    // expected-error@+1 {{'hopper.get' op expects a payload with '!hopper.channel<2x128x64xbf16, payload>'}}
    %t = hopper.get %c[%n] : !hopper.channel<2x128x64xbf16, payload> -> !hopper.tile<128x64xbf16>
  }
  return
}

// -----

func.func @f(%c: !hopper.channel<2x128x64xbf16>, %n: i32) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(208) {
    // expected-error@+1 {{'hopper.get' op expects no payload with '!hopper.channel<2x128x64xbf16>'}}
    %t, %x = hopper.get %c[%n] : !hopper.channel<2x128x64xbf16> -> !hopper.tile<128x64xbf16>, i32
  }
  return
}

// -----

// expected-error@+1 {{expected 'payload'}}
func.func private @f(!hopper.channel<2x128x64xbf16, letters>)

// -----

func.func @f(%p: i1) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{'hopper.ballot' op expects a partition of warps, but got one thread}}
    %bits = hopper.ballot %p
  } partition @compute replicas(2) registers(208) {
  }
  return
}

// -----

func.func @f(%c: memref<2xi32>) {
  hopper.warp_specialize partition @load {
    // expected-error@+1 {{'hopper.fetch_next' op expects a partition of one thread or one warp, but got 128 threads}}
    %0 = hopper.fetch_next %c : memref<2xi32>
  } partition @compute replicas(2) registers(208) {
  }
  return
}

// -----

func.func @f(%c: memref<2xi32>) {
  hopper.warp_specialize partition @load {
    // expected-error@+1 {{'hopper.reset_counter' op expects a partition of one thread or one warp, but got 128 threads}}
    hopper.reset_counter %c : memref<2xi32>
  } partition @compute replicas(2) registers(208) {
  }
  return
}

// -----

func.func @f() {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{'hopper.drain' op expects a partition whose replicas have 128 threads, but got 1}}
    hopper.drain
  } partition @compute replicas(2) registers(240) {
  }
  return
}
