// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @f(%t: !hopper.turns, %m: memref<?xi64>, %x: index, %n: i32) {
  hopper.warp_specialize partition @turns threads(1) {
    // expected-error@+1 {{'hopper.hold_turn' op expects counters of i32, but got 'memref<?xi64>'}}
    hopper.hold_turn %t[%n] after %x in %m[%x] : memref<?xi64>
  }
  return
}

// -----

func.func @f(%t: !hopper.turns, %m: memref<?x2xi32>, %x: index, %n: i32) {
  hopper.warp_specialize partition @turns threads(1) {
    // expected-error@+1 {{'hopper.pass_turn' op expects 2 indices of the counters, but got 1}}
    hopper.pass_turn %t[%n] as %x in %m[%x] : memref<?x2xi32>
  }
  return
}

// -----

func.func @f(%t: !hopper.turns, %m: memref<?xi32>, %x: index, %n: i32) {
  hopper.warp_specialize partition @turns warps(1) {
    // expected-error@+1 {{'hopper.hold_turn' op expects a partition of one thread, but got 32}}
    hopper.hold_turn %t[%n] after %x in %m[%x] : memref<?xi32>
  }
  return
}

// -----

func.func @f(%t: !hopper.turns, %m: memref<?xi32>, %x: index, %n: i32) {
  // expected-error@+1 {{'hopper.hold_turn' op expects to be in a partition of hopper.warp_specialize}}
  hopper.hold_turn %t[%n] after %x in %m[%x] : memref<?xi32>
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %p: i1, %c: memref<?xi32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{'hopper.reduce_add' op expects counters, or whether it is the first, or none of them}}
    hopper.reduce_add %v, %m[%x, %x] after %x as %x in %c[%x] first %p : vector<64x64xf32>, memref<?x?x128xf32>, memref<?xi32>
  }
  return
}

// -----

func.func @f(%t: !hopper.turns, %n: i32) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{'hopper.take_turn' op expects a partition that holds its turns}}
    %first, %last = hopper.take_turn %t[%n]
  }
  return
}

// -----

func.func @f(%t: !hopper.turns, %c: memref<?xi32>, %x: index, %n: i32) {
  hopper.warp_specialize partition @turns threads(1) {
    // expected-note@+1 {{held here}}
    hopper.hold_turn %t[%n] after %x in %c[%x] : memref<?xi32>
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{'hopper.take_turn' op expects turns that as many replicas hold, 2, but got 1}}
    %first, %last = hopper.take_turn %t[%n]
  }
  return
}

// -----

func.func @f(%t: !hopper.turns, %c: memref<?xi32>, %x: index, %n: i32) {
  hopper.warp_specialize partition @turns threads(1) {
    // expected-note@+1 {{used here}}
    hopper.hold_turn %t[%n] after %x in %c[%x] : memref<?xi32>
  } partition @others threads(1) {
    // expected-error@+1 {{'hopper.pass_turn' op expects to be in the partition that holds the turns}}
    hopper.pass_turn %t[%n] as %x in %c[%x] : memref<?xi32>
  }
  return
}

// -----

func.func @f(%t: !hopper.turns, %n: i32) {
  hopper.warp_specialize partition @one registers(120) {
    // expected-note@+1 {{used here}}
    %first, %last = hopper.take_turn %t[%n]
  } partition @two registers(120) {
    // expected-error@+1 {{'hopper.give_turn' op expects to be in the partition that takes the turns}}
    hopper.give_turn %t
  }
  return
}

// -----

func.func @f(%t: !hopper.turns, %n: i32) {
  hopper.warp_specialize partition @copy threads(1) {
    // expected-error@+1 {{'hopper.take_turn' op expects a partition whose replicas have 128 threads, but got 1}}
    %first, %last = hopper.take_turn %t[%n]
  }
  return
}

// -----

func.func @f(%t: !hopper.turns) {
  hopper.warp_specialize partition @copy threads(1) {
    // expected-error@+1 {{'hopper.give_turn' op expects a partition whose replicas have 128 threads, but got 1}}
    hopper.give_turn %t
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x4096xf32>, %o: memref<?x?xbf16>, %p: i1, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{'hopper.reduce_add' op expects counters, or whether it is the first, where there is a last one}}
    hopper.reduce_add %v, %m[%x] last %p to %o[%x, %x] m 0 n 1 : vector<64x64xf32>, memref<?x4096xf32> to memref<?x?xbf16>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x4096xf32>, %o: memref<?x?xbf16>, %p: i1, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{'hopper.reduce_add' op expects 2 indices of the result, but got 1}}
    hopper.reduce_add %v, %m[%x] first %p last %p to %o[%x] m 0 n 1 : vector<64x64xf32>, memref<?x4096xf32> to memref<?x?xbf16>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x4096xf32>, %o: memref<?x?xbf16>, %p: i1, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{'hopper.reduce_add' op expects two dimensions of the result, but got 1 and 1}}
    hopper.reduce_add %v, %m[%x] first %p last %p to %o[%x, %x] m 1 n 1 : vector<64x64xf32>, memref<?x4096xf32> to memref<?x?xbf16>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x4096xf32>, %o: memref<?x?xbf16, strided<[?, ?]>>, %p: i1, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{'hopper.reduce_add' op expects one of the dimensions of the result to be a contiguous last one, but got 'memref<?x?xbf16, strided<[?, ?]>>'}}
    hopper.reduce_add %v, %m[%x] first %p last %p to %o[%x, %x] m 0 n 1 : vector<64x64xf32>, memref<?x4096xf32> to memref<?x?xbf16, strided<[?, ?]>>
  }
  return
}
