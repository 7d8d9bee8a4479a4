// Matrix products, their operands from shared memory, and waits for them.

// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @f(%t: !hopper.tile<64xi64>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects the result to be 'vector<64x1xi64>', but got 'vector<1x64xi64>'}}
    %0 = hopper.load_fragment %t : !hopper.tile<64xi64> -> vector<1x64xi64>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<64x64xbf16, of 128>) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{'hopper.load_fragment' op expects a partition whose replicas have 128 threads, but got 1}}
    %0 = hopper.load_fragment %t : !hopper.tile<64x64xbf16, of 128> -> vector<64x64xbf16>
  } partition @compute replicas(2) registers(240) {
  }
  return
}

// -----

func.func @f(%q: !hopper.tile<64x64xbf16, of 128>, %k: !hopper.tile<128x64xbf16>) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{'hopper.mma' op expects a partition whose replicas have 128 threads, but got 1}}
    %0 = hopper.mma %q, %k : !hopper.tile<64x64xbf16, of 128>, !hopper.tile<128x64xbf16> -> !hopper.pending<vector<128x64xf32>>
  } partition @compute replicas(2) registers(240) {
  }
  return
}

// -----

func.func @f(%p: !hopper.pending<vector<128x64xf32>>) {
  hopper.warp_specialize partition @load threads(1) {
    // expected-error@+1 {{'hopper.wait' op expects a partition whose replicas have 128 threads, but got 1}}
    %0 = hopper.wait %p in_flight 0 : !hopper.pending<vector<128x64xf32>>
  } partition @compute replicas(2) registers(240) {
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<128x64xbf16>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a multiple of 8 rows of '!hopper.tile<128x64xbf16>', but got '!hopper.tile<4x64xbf16, of 128>'}}
    %0 = hopper.rows %t[%x] : !hopper.tile<128x64xbf16> -> !hopper.tile<4x64xbf16, of 128>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<128x64xbf16>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a multiple of 8 rows of '!hopper.tile<128x64xbf16>', but got '!hopper.tile<64x128xbf16, of 128>'}}
    %0 = hopper.rows %t[%x] : !hopper.tile<128x64xbf16> -> !hopper.tile<64x128xbf16, of 128>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<128x64xbf16>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a multiple of 8 rows of '!hopper.tile<128x64xbf16>', but got '!hopper.tile<64x64xf16, of 128>'}}
    %0 = hopper.rows %t[%x] : !hopper.tile<128x64xbf16> -> !hopper.tile<64x64xf16, of 128>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<128x64xbf16>, %x: index) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a multiple of 8 rows of '!hopper.tile<128x64xbf16>', but got '!hopper.tile<64x64xbf16, of 192>'}}
    %0 = hopper.rows %t[%x] : !hopper.tile<128x64xbf16> -> !hopper.tile<64x64xbf16, of 192>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<128x64xbf16>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a tile of 64 rows, but got '!hopper.tile<128x64xbf16>'}}
    %0 = hopper.load_fragment %t : !hopper.tile<128x64xbf16> -> vector<64x64xbf16>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<64x64xbf16, of 128>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects the result to be 'vector<64x64xbf16>', but got 'vector<128x64xbf16>'}}
    %0 = hopper.load_fragment %t : !hopper.tile<64x64xbf16, of 128> -> vector<128x64xbf16>
  }
  return
}

// -----

func.func @f(%t: !hopper.tile<64x64xbf16, of 128>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects the result to be 'vector<64x64xbf16>', but got 'vector<64x64xf16>'}}
    %0 = hopper.load_fragment %t : !hopper.tile<64x64xbf16, of 128> -> vector<64x64xf16>
  }
  return
}

// -----

func.func @f(%l: !hopper.tile<128x64xbf16>, %r: !hopper.tile<128x64xbf16>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects 64 rows of the result, but got 128}}
    %0 = hopper.mma %l, %r : !hopper.tile<128x64xbf16>, !hopper.tile<128x64xbf16> -> !hopper.pending<vector<128x64xf32>>
  }
  return
}

// -----

func.func @f(%l: vector<64x32xbf16>, %r: !hopper.tile<128x64xbf16>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects 64 rows of the result, but got 32}}
    %0 = hopper.mma %l, %r : vector<64x32xbf16>, !hopper.tile<128x64xbf16> -> !hopper.pending<vector<128x64xf32>>
  }
  return
}

// -----

func.func @f(%l: vector<64x64xf16>, %r: !hopper.tile<128x64xbf16>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects operands of one element type, but got 'f16' and 'bf16'}}
    %0 = hopper.mma %l, %r : vector<64x64xf16>, !hopper.tile<128x64xbf16> -> !hopper.pending<vector<128x64xf32>>
  }
  return
}

// -----

func.func @f(%l: vector<128x64xbf16>, %r: !hopper.tile<128x64xbf16>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects operands to agree on the reduced extent, but got 128 and 64}}
    %0 = hopper.mma %l, %r : vector<128x64xbf16>, !hopper.tile<128x64xbf16> -> !hopper.pending<vector<128x64xf32>>
  }
  return
}

// -----

func.func @f(%l: vector<64x64xbf16>, %r: !hopper.tile<128x64xbf16>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects operands to agree on the reduced extent, but got 64 and 128}}
    %0 = hopper.mma %l, %r rhs_transposed : vector<64x64xbf16>, !hopper.tile<128x64xbf16> -> !hopper.pending<vector<64x64xf32>>
  }
  return
}

// -----

func.func @f(%l: vector<12x64xbf16>, %r: !hopper.tile<16x12xbf16>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects the reduced extent to be a multiple of 8, but got 12}}
    %0 = hopper.mma %l, %r : vector<12x64xbf16>, !hopper.tile<16x12xbf16> -> !hopper.pending<vector<16x64xf32>>
  }
  return
}

// -----

func.func @f(%l: vector<24x64xbf16>, %r: !hopper.tile<24x64xbf16>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects the reduced extent to be a multiple of 16, but got 24}}
    %0 = hopper.mma %l, %r rhs_transposed : vector<24x64xbf16>, !hopper.tile<24x64xbf16> -> !hopper.pending<vector<64x64xf32>>
  }
  return
}

// -----

func.func @f(%l: vector<64x64xbf16>, %r: !hopper.tile<12x64xbf16>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects columns of the result to be a multiple of 8 up to 256, but got 12}}
    %0 = hopper.mma %l, %r : vector<64x64xbf16>, !hopper.tile<12x64xbf16> -> !hopper.pending<vector<12x64xf32>>
  }
  return
}

// -----

func.func @f(%l: vector<64x64xbf16>, %r: !hopper.tile<264x64xbf16>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects columns of the result to be a multiple of 8 up to 256, but got 264}}
    %0 = hopper.mma %l, %r : vector<64x64xbf16>, !hopper.tile<264x64xbf16> -> !hopper.pending<vector<264x64xf32>>
  }
  return
}

// -----

func.func @f(%l: !hopper.tile<64x64xbf16, of 128>, %r: !hopper.tile<128x64xbf16>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a result of 128x64xf32, but got 'vector<64x64xf32>'}}
    %0 = hopper.mma %l, %r : !hopper.tile<64x64xbf16, of 128>, !hopper.tile<128x64xbf16> -> !hopper.pending<vector<64x64xf32>>
  }
  return
}

// -----

func.func @f(%l: vector<128x64xbf16>, %r: !hopper.tile<128x64xbf16>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects a result of 64x64xf32, but got 'vector<128x64xf32>'}}
    %0 = hopper.mma %l, %r rhs_transposed : vector<128x64xbf16>, !hopper.tile<128x64xbf16> -> !hopper.pending<vector<128x64xf32>>
  }
  return
}

// -----

func.func @f(%l: !hopper.tile<64x64xbf16, of 128>, %r: !hopper.tile<128x64xbf16>, %a: vector<64x64xf32>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects the accumulator to be 'vector<128x64xf32>', but got 'vector<64x64xf32>'}}
    %0 = hopper.mma %l, %r acc %a : !hopper.tile<64x64xbf16, of 128>, !hopper.tile<128x64xbf16>, vector<64x64xf32> -> !hopper.pending<vector<128x64xf32>>
  }
  return
}

// -----

func.func @f(%l: !hopper.tile<64x64xbf16, of 128>, %r: !hopper.tile<128x64xbf16>, %a: !hopper.pending<vector<64x64xf32>>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects the accumulator to be 'vector<128x64xf32>', but got 'vector<64x64xf32>'}}
    %0 = hopper.mma %l, %r acc %a : !hopper.tile<64x64xbf16, of 128>, !hopper.tile<128x64xbf16>, !hopper.pending<vector<64x64xf32>> -> !hopper.pending<vector<128x64xf32>>
  }
  return
}

// -----

func.func @f(%l: vector<64x64xf32>, %r: !hopper.tile<128x64xbf16>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{operand #0 must be a tile in shared memory or vector of bfloat16 type or 16-bit float values of ranks 2 or tensor with a layout of bfloat16 type or 16-bit float values, but got 'vector<64x64xf32>'}}
    %0 = hopper.mma %l, %r : vector<64x64xf32>, !hopper.tile<128x64xbf16> -> !hopper.pending<vector<128x64xf32>>
  }
  return
}

// -----

func.func @f(%p: !hopper.pending<vector<64x64xf32>>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects 0 to 7 products in flight, but got -1}}
    %0 = hopper.wait %p in_flight -1 : !hopper.pending<vector<64x64xf32>>
  }
  return
}

// -----

func.func @f(%p: !hopper.pending<vector<64x64xf32>>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    // expected-error@+1 {{expects 0 to 7 products in flight, but got 8}}
    %0 = hopper.wait %p in_flight 8 : !hopper.pending<vector<64x64xf32>>
  }
  return
}

// -----

func.func @f(%q: !hopper.tile<64x64xf32>, %k: !hopper.tile<16x64xf32>) {
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute registers(240) {
    // expected-error@+1 {{expects operands of bf16 or f16, but got 'f32'}}
    %0 = hopper.mma %q, %k : !hopper.tile<64x64xf32>, !hopper.tile<16x64xf32> -> !hopper.pending<vector<16x64xf32>>
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

func.func @negate_rows_of_a_part(%t: !hopper.tile<128x64xf16>, %p: vector<1x64xi1>) {
  // expected-error@+1 {{expects a tile of 64 rows of elements of 16 bits, but got '!hopper.tile<128x64xf16>'}}
  hopper.negate_rows %t where %p : !hopper.tile<128x64xf16>, vector<1x64xi1>
  return
}

// -----

func.func @negate_rows_where(%t: !hopper.tile<64x64xf16>, %p: vector<2x64xi1>) {
  // expected-error@+1 {{expects 'vector<1x64xi1>', but got 'vector<2x64xi1>'}}
  hopper.negate_rows %t where %p : !hopper.tile<64x64xf16>, vector<2x64xi1>
  return
}
