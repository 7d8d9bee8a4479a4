// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts)))' --split-input-file --verify-diagnostics

// A tile of 4 columns in registers is no sum in four parts.
gpu.module @m {
  gpu.func @four_columns() kernel {
    %t = hopper.create_tile : !hopper.tile<64x4xf32>
    hopper.warp_specialize partition @compute {
      // expected-error@+1 {{expects a shape that layout 'accumulator' has, but got 4x64}}
      %v = hopper.load_fragment %t : !hopper.tile<64x4xf32> -> vector<4x64xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @two_layouts(%t: !hopper.tile<64x4xf32>, %u: !hopper.tile<64x16xf32>) kernel {
    hopper.warp_specialize partition @compute {
      %v = hopper.load_fragment %t : !hopper.tile<64x4xf32> -> vector<4x64xf32>
      %w = hopper.load_fragment %u : !hopper.tile<64x16xf32> -> vector<16x64xf32>
      // expected-error@+1 {{expects a fragment with layout 'partial', but others use it with layout 'accumulator'}}
      %parts = hopper.reduce add %w : vector<16x64xf32> -> vector<4x64xf32>
      %sum = arith.addf %v, %parts : vector<4x64xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @other_op(%x: f32) kernel {
    %v = vector.broadcast %x : f32 to vector<8x64xf32>
    // expected-error@+1 {{expects nothing that a warpgroup holds together, but got 'vector<8x64xf32>'}}
    %t = vector.transpose %v, [1, 0] : vector<8x64xf32> to vector<64x8xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @other_shape() kernel {
    // expected-error@+1 {{expects a shape that a layout has, but got 'vector<3x5xf32>'}}
    %v = arith.constant dense<0.0> : vector<3x5xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @one_element() kernel {
    // expected-error@+1 {{expects a shape that layout 'columns' has, but got 1x1}}
    %0 = arith.constant dense<0.0> : vector<1x1xf32>
    %1 = vector.broadcast %0 : vector<1x1xf32> to vector<8x64xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @vector_of_thread(%v: vector<64xf32>) kernel {
    // expected-error@+1 {{expects a scalar, rows, or as many columns, but got 'vector<64xf32>'}}
    %0 = vector.broadcast %v : vector<64xf32> to vector<8x64xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{expects no fragments as arguments of a kernel, but got 'vector<8x64xf32>'}}
  gpu.func @argument(%v: vector<8x64xf32>) kernel {
    %0 = arith.addf %v, %v : vector<8x64xf32>
    gpu.return
  }
}
