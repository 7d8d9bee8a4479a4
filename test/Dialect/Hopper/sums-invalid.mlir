// Sums in memory that several CTAs add to.

// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x4096xf32>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{'hopper.reduce_add' op expects a partition whose replicas have 128 threads, but got 1}}
    hopper.reduce_add %v, %m[%x, %x] : vector<64x64xf32>, memref<?x?x4096xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x32xf32>, %m: memref<?x?x128xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a multiple of 8 rows of 64 elements, but got 'vector<64x32xf32>'}}
    hopper.reduce_add %v, %m[%x, %x] : vector<64x32xf32>, memref<?x?x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<1x64xf32>, %m: memref<?x?x128xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a multiple of 8 rows of 64 elements, but got 'vector<1x64xf32>'}}
    hopper.reduce_add %v, %m[%x, %x] : vector<1x64xf32>, memref<?x?x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf16>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a buffer of f32, but got 'memref<?x?x128xf16>'}}
    hopper.reduce_add %v, %m[%x, %x] : vector<64x64xf32>, memref<?x?x128xf16>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects 2 indices, but got 3}}
    hopper.reduce_add %v, %m[%x, %x, %x] : vector<64x64xf32>, memref<?x?x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects a last dimension of 4096 contiguous elements, but got 'memref<?x?x128xf32>'}}
    hopper.reduce_add %v, %m[%x, %x] : vector<64x64xf32>, memref<?x?x128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %t: memref<?xi64>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects counters of i32, but got 'memref<?xi64>'}}
    hopper.reduce_add %v, %m[%x, %x] after %x as %x in %t[%x] : vector<64x64xf32>, memref<?x?x128xf32>, memref<?xi64>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %m: memref<?x?x128xf32>, %t: memref<?x?xi32>, %x: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{expects 2 indices of the counters, but got 1}}
    hopper.reduce_add %v, %m[%x, %x] after %x as %x in %t[%x] : vector<64x64xf32>, memref<?x?x128xf32>, memref<?x?xi32>
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

// -----

func.func @f(%v: vector<1x64xf32>, %t: !hopper.tile<64xf32>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{'hopper.put_diagonals' op expects one row of a multiple of 128 diagonals, but got 'vector<1x64xf32>'}}
    hopper.put_diagonals %v in %t : vector<1x64xf32>, !hopper.tile<64xf32>
  }
  return
}

// -----

func.func @f(%v: vector<1x256xf32>, %t: !hopper.tile<128xf32>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{'hopper.put_diagonals' op expects a tile of 256 f32, but got '!hopper.tile<128xf32>'}}
    hopper.put_diagonals %v in %t : vector<1x256xf32>, !hopper.tile<128xf32>
  }
  return
}

// -----

func.func @f(%v: vector<1x128xf32>, %t: !hopper.tile<128xf32>) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{'hopper.put_diagonals' op expects a partition whose replicas have 128 threads, but got 1}}
    hopper.put_diagonals %v in %t : vector<1x128xf32>, !hopper.tile<128xf32>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<128xf32>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{'hopper.spread_diagonals' op expects a vector of a multiple of 8 by 64, but got 'vector<12x64xf32>'}}
    %s = hopper.spread_diagonals %t : !hopper.tile<128xf32> -> vector<12x64xf32>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<128xf32>) {
  hopper.warp_specialize partition @compute registers(240) {
    // expected-error@+1 {{'hopper.spread_diagonals' op expects a tile of at least 144 f32, but got '!hopper.tile<128xf32>'}}
    %s = hopper.spread_diagonals %t : !hopper.tile<128xf32> -> vector<80x64xf32>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<128xf32>) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{'hopper.spread_diagonals' op expects a partition whose replicas have 128 threads, but got 1}}
    %s = hopper.spread_diagonals %t : !hopper.tile<128xf32> -> vector<64x64xf32>
  }
  return
}
