// Vectors and results.

// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @f() {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects positions of a multiple of 8 keys, of 64 queries, or of a multiple of 128 numbers for threads, but got 'vector<12x1xindex>'}}
    %0 = hopper.iota : vector<12x1xindex>
  }
  return
}

// -----

func.func @store_column(%v: vector<64x64xbf16>, %m: !hopper.map<64x64xbf16, strided>, %x: index) {
  %t = hopper.create_tile : !hopper.tile<64x64xbf16>
  hopper.warp_specialize partition @compute {
    // expected-error @+1 {{expects no column of a strided map}}
    hopper.store %v, %t, %m[%x, %x, %x] column %x : vector<64x64xbf16>, !hopper.tile<64x64xbf16>, !hopper.map<64x64xbf16, strided>
  }
  return
}

// -----

func.func @f() {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects positions of a multiple of 8 keys, of 64 queries, or of a multiple of 128 numbers for threads, but got 'vector<1x32xindex>'}}
    %0 = hopper.iota : vector<1x32xindex>
  }
  return
}

// -----

func.func @f() {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects positions of a multiple of 8 keys, of 64 queries, or of a multiple of 128 numbers for threads, but got 'vector<8x64xindex>'}}
    %0 = hopper.iota : vector<8x64xindex>
  }
  return
}

// -----

func.func @f() {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects positions of a multiple of 8 keys, of 64 queries, or of a multiple of 128 numbers for threads, but got 'vector<1x1xindex>'}}
    %0 = hopper.iota : vector<1x1xindex>
  }
  return
}

// -----

func.func @f(%s: vector<128x64xf32>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects max or add, but got mul}}
    %0 = hopper.reduce mul %s : vector<128x64xf32> -> vector<1x64xf32>
  }
  return
}

// -----

func.func @f(%s: vector<128x32xf32>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a multiple of 8 rows of 64 queries, or the parts of a sum, but got 'vector<128x32xf32>'}}
    %0 = hopper.reduce max %s : vector<128x32xf32> -> vector<1x32xf32>
  }
  return
}

// -----

func.func @f(%s: vector<12x64xf32>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a multiple of 8 rows of 64 queries, or the parts of a sum, but got 'vector<12x64xf32>'}}
    %0 = hopper.reduce max %s : vector<12x64xf32> -> vector<1x64xf32>
  }
  return
}

// -----

func.func @f(%s: vector<4x64xf32>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a multiple of 8 rows of 64 queries, or the parts of a sum, but got 'vector<4x64xf32>'}}
    %0 = hopper.reduce max %s : vector<4x64xf32> -> vector<1x64xf32>
  }
  return
}

// -----

func.func @f(%s: vector<1x64xf32>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a multiple of 8 rows of 64 queries, or the parts of a sum, but got 'vector<1x64xf32>'}}
    %0 = hopper.reduce add %s : vector<1x64xf32> -> vector<1x64xf32>
  }
  return
}

// -----

func.func @f(%s: vector<128x64xf32>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a result with one row, or four for add, but got 'vector<4x64xf32>'}}
    %0 = hopper.reduce max %s : vector<128x64xf32> -> vector<4x64xf32>
  }
  return
}

// -----

func.func @f(%s: vector<128x64xf32>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a result with one row, or four for add, but got 'vector<2x64xf32>'}}
    %0 = hopper.reduce add %s : vector<128x64xf32> -> vector<2x64xf32>
  }
  return
}

// -----

func.func @f(%s: vector<128x64xf32>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a result with one row, or four for add, but got 'vector<1x32xf32>'}}
    %0 = hopper.reduce add %s : vector<128x64xf32> -> vector<1x32xf32>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xbf16>, %t: !hopper.tile<128x64xbf16>, %m: !hopper.map<64x64xbf16>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects vector, tile and map to agree, but got 'vector<64x64xbf16>', '!hopper.tile<128x64xbf16>' and '!hopper.map<64x64xbf16>'}}
    hopper.store %v, %t, %m[%x, %x, %x] : vector<64x64xbf16>, !hopper.tile<128x64xbf16>, !hopper.map<64x64xbf16>
  }
  return
}

// -----

func.func @f(%v: vector<128x64xbf16>, %t: !hopper.tile<64x64xbf16, of 128>, %m: !hopper.map<64x64xbf16>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects vector, tile and map to agree, but got 'vector<128x64xbf16>', '!hopper.tile<64x64xbf16, of 128>' and '!hopper.map<64x64xbf16>'}}
    hopper.store %v, %t, %m[%x, %x, %x] : vector<128x64xbf16>, !hopper.tile<64x64xbf16, of 128>, !hopper.map<64x64xbf16>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xf16>, %t: !hopper.tile<64x64xbf16, of 128>, %m: !hopper.map<64x64xbf16>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects vector, tile and map to agree, but got 'vector<64x64xf16>', '!hopper.tile<64x64xbf16, of 128>' and '!hopper.map<64x64xbf16>'}}
    hopper.store %v, %t, %m[%x, %x, %x] : vector<64x64xf16>, !hopper.tile<64x64xbf16, of 128>, !hopper.map<64x64xbf16>
  }
  return
}

// -----

func.func @f(%v: vector<64x64xbf16>, %t: !hopper.tile<64x64xbf16, of 128>, %m: !hopper.map<128x64xbf16>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects vector, tile and map to agree, but got 'vector<64x64xbf16>', '!hopper.tile<64x64xbf16, of 128>' and '!hopper.map<128x64xbf16>'}}
    hopper.store %v, %t, %m[%x, %x, %x] : vector<64x64xbf16>, !hopper.tile<64x64xbf16, of 128>, !hopper.map<128x64xbf16>
  }
  return
}

// -----

func.func @f(%v: vector<64x32xbf16>, %t: !hopper.tile<64x64xbf16, of 128>, %m: !hopper.map<64x64xbf16>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects vector, tile and map to agree, but got 'vector<64x32xbf16>', '!hopper.tile<64x64xbf16, of 128>' and '!hopper.map<64x64xbf16>'}}
    hopper.store %v, %t, %m[%x, %x, %x] : vector<64x32xbf16>, !hopper.tile<64x64xbf16, of 128>, !hopper.map<64x64xbf16>
  }
  return
}

// -----

// Parts are multiples of 64 columns.
func.func @f(%v: vector<128x64xbf16>, %t: !hopper.tile<64x72xbf16, of 128>, %m: !hopper.map<64x128xbf16>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects vector, tile and map to agree, but got 'vector<128x64xbf16>', '!hopper.tile<64x72xbf16, of 128>' and '!hopper.map<64x128xbf16>'}}
    hopper.store %v, %t, %m[%x, %x, %x] : vector<128x64xbf16>, !hopper.tile<64x72xbf16, of 128>, !hopper.map<64x128xbf16>
  }
  return
}

// -----

func.func @f(%v: vector<128x64xbf16>, %t: !hopper.tile<64x64xbf16, of 128>, %m: !hopper.map<64x128xbf16, strided>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects vector, tile and map to agree, but got 'vector<128x64xbf16>', '!hopper.tile<64x64xbf16, of 128>' and '!hopper.map<64x128xbf16, strided>'}}
    hopper.store %v, %t, %m[%x, %x, %x] : vector<128x64xbf16>, !hopper.tile<64x64xbf16, of 128>, !hopper.map<64x128xbf16, strided>
  }
  return
}

// -----

func.func @f(%v: vector<1x64xf32>, %l: memref<?x?xf32>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a dimension of heads of the memref beside that of rows, but got 1}}
    hopper.store_rows %v, %l[%x, %x] dim 1 end %x packed %x heads 1 : vector<1x64xf32>, memref<?x?xf32>
  }
  return
}

// -----

func.func @f(%v: vector<1x64xf32>, %l: memref<?x?xf32>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a dimension of heads of the memref beside that of rows, but got 2}}
    hopper.store_rows %v, %l[%x, %x] dim 1 end %x packed %x heads 2 : vector<1x64xf32>, memref<?x?xf32>
  }
  return
}

// -----

func.func @f(%v: vector<1x64xf32>, %l: memref<?x?xf32>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects packed heads and their dimension together}}
    "hopper.store_rows"(%v, %l, %x, %x, %x) <{dim = 1 : i64, heads = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 2, 1, 0>}> : (vector<1x64xf32>, memref<?x?xf32>, index, index, index) -> ()
  }
  return
}

// -----

func.func @f(%v: vector<1x64xf32>, %l: memref<?xf16>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a buffer of f32, but got 'memref<?xf16>'}}
    hopper.store_rows %v, %l[%x] dim 0 end %x : vector<1x64xf32>, memref<?xf16>
  }
  return
}

// -----

func.func @f(%v: vector<64x1xf32>, %l: memref<?xf32>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects the vector to be 'vector<1x64xf32>', but got 'vector<64x1xf32>'}}
    hopper.store_rows %v, %l[%x] dim 0 end %x : vector<64x1xf32>, memref<?xf32>
  }
  return
}

// -----

func.func @f(%v: vector<1x64xf32>, %l: memref<?x?xf32>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects 2 indices, but got 1}}
    hopper.store_rows %v, %l[%x] dim 0 end %x : vector<1x64xf32>, memref<?x?xf32>
  }
  return
}

// -----

func.func @f(%v: vector<1x64xf32>, %l: memref<?x?xf32>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a dimension of the memref, but got 2}}
    hopper.store_rows %v, %l[%x, %x] dim 2 end %x : vector<1x64xf32>, memref<?x?xf32>
  }
  return
}

// -----

func.func @f(%v: vector<1x64xf32>, %l: memref<?x?xf32>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a dimension of the memref, but got -1}}
    hopper.store_rows %v, %l[%x, %x] dim -1 end %x : vector<1x64xf32>, memref<?x?xf32>
  }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{expects a tile of 8 columns and up to 256 rows, but got '!hopper.tile<264x8xbf16>'}}
  %0 = hopper.create_iota_tile : !hopper.tile<264x8xbf16>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{expects a tile of 8 columns and up to 256 rows, but got '!hopper.tile<64x16xbf16>'}}
  %0 = hopper.create_iota_tile : !hopper.tile<64x16xbf16>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{expects a tile of 8 columns and up to 256 rows, but got '!hopper.tile<64x8xbf16, of 128>'}}
  %0 = hopper.create_iota_tile : !hopper.tile<64x8xbf16, of 128>
  return
}

// -----

func.func @f(%x: vector<1x64xf32>) {
  // expected-error@+1 {{expects 1x64 numbers as 8x64, but got 'vector<1x64xf32>' as 'vector<16x64xbf16>'}}
  %0 = hopper.split_bf16x3 %x : vector<1x64xf32> -> vector<16x64xbf16>
  return
}

// -----

func.func @f(%x: vector<4x64xf32>) {
  // expected-error@+1 {{expects 1x64 numbers as 8x64, but got 'vector<4x64xf32>' as 'vector<8x64xbf16>'}}
  %0 = hopper.split_bf16x3 %x : vector<4x64xf32> -> vector<8x64xbf16>
  return
}

// -----

func.func @f(%n: i32) {
  // expected-error@+1 {{expects tiles of at least one position, but got 0}}
  %0 = hopper.position %n of 0
  return
}

// -----

func.func @f(%v: vector<64x64xf32>, %l: memref<?x?x72xf32>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects the vector to be 'vector<72x64xf32>', but got 'vector<64x64xf32>'}}
    hopper.store_rows %v, %l[%x, %x] dim 0 end %x : vector<64x64xf32>, memref<?x?x72xf32>
  }
  return
}

// -----

func.func @f(%v: vector<72x64xf32>, %l: memref<?x?x72xf32>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects 2 indices, but got 3}}
    hopper.store_rows %v, %l[%x, %x, %x] dim 0 end %x : vector<72x64xf32>, memref<?x?x72xf32>
  }
  return
}

// -----

// The columns are no dimension of rows.
func.func @f(%v: vector<72x64xf32>, %l: memref<?x?x72xf32>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a dimension of the memref, but got 2}}
    hopper.store_rows %v, %l[%x, %x] dim 2 end %x : vector<72x64xf32>, memref<?x?x72xf32>
  }
  return
}

// -----

func.func @f(%parts: memref<?x?x?x?x64xf32>, %lses: memref<?x?x?x?xf32>, %o: memref<?x?x?x64xf16>, %x: index) {
  // expected-error@+1 {{expects 3 indices, but got 2}}
  hopper.combine %parts, %lses[%x, %x] into %o[%x, %x, %x, %x] dim 3
      : memref<?x?x?x?x64xf32>, memref<?x?x?x?xf32>, memref<?x?x?x64xf16>
  return
}

// -----

func.func @f(%parts: memref<?x?x?x?x64xf32>, %lses: memref<?x?x?x?xf32>, %o: memref<?x?x?x64xf16>, %x: index) {
  // expected-error@+1 {{expects 4 indices, but got 3}}
  hopper.combine %parts, %lses[%x, %x, %x] into %o[%x, %x, %x] dim 3
      : memref<?x?x?x?x64xf32>, memref<?x?x?x?xf32>, memref<?x?x?x64xf16>
  return
}

// -----

func.func @f(%parts: memref<?x?x?x?x64xf32>, %lses: memref<?x?x?x?xf32>, %o: memref<?x?x?x64xf16>, %l: memref<?x?x?xf32>, %x: index) {
  // expected-error@+1 {{expects 3 indices, but got 4}}
  hopper.combine %parts, %lses[%x, %x, %x] into %o[%x, %x, %x, %x] dim 3 lse %l[%x, %x, %x, %x]
      : memref<?x?x?x?x64xf32>, memref<?x?x?x?xf32>, memref<?x?x?x64xf16>, memref<?x?x?xf32>
  return
}

// -----

func.func @f(%parts: memref<?x?x?x?x64xf32>, %lses: memref<?x?x?x?xf32>, %o: memref<?x?x?x64xf16>, %x: index) {
  // expected-error@+1 {{expects a dimension of the memref, but got 4}}
  hopper.combine %parts, %lses[%x, %x, %x] into %o[%x, %x, %x, %x] dim 4
      : memref<?x?x?x?x64xf32>, memref<?x?x?x?xf32>, memref<?x?x?x64xf16>
  return
}

// -----

func.func @f(%parts: memref<?x?x?x?x60xf32>, %lses: memref<?x?x?x?xf32>, %o: memref<?x?x?x60xf16>, %x: index) {
  // expected-error@+1 {{expects rows of a multiple of 8 columns in parts and result, but got 'memref<?x?x?x?x60xf32>' and 'memref<?x?x?x60xf16>'}}
  hopper.combine %parts, %lses[%x, %x, %x] into %o[%x, %x, %x, %x] dim 3
      : memref<?x?x?x?x60xf32>, memref<?x?x?x?xf32>, memref<?x?x?x60xf16>
  return
}

// -----

func.func @f(%parts: memref<?x?x?x?x64xf32>, %lses: memref<?x?x?x?xf32>, %o: memref<?x?x?x72xf16>, %x: index) {
  // expected-error@+1 {{expects rows of a multiple of 8 columns in parts and result, but got 'memref<?x?x?x?x64xf32>' and 'memref<?x?x?x72xf16>'}}
  hopper.combine %parts, %lses[%x, %x, %x] into %o[%x, %x, %x, %x] dim 3
      : memref<?x?x?x?x64xf32>, memref<?x?x?x?xf32>, memref<?x?x?x72xf16>
  return
}

// -----

func.func @f(%parts: memref<?x?x?x?x64xf16>, %lses: memref<?x?x?x?xf32>, %o: memref<?x?x?x64xf16>, %x: index) {
  // expected-error@+1 {{operand #0 must be 5D memref of 32-bit float values}}
  hopper.combine %parts, %lses[%x, %x, %x] into %o[%x, %x, %x, %x] dim 3
      : memref<?x?x?x?x64xf16>, memref<?x?x?x?xf32>, memref<?x?x?x64xf16>
  return
}
