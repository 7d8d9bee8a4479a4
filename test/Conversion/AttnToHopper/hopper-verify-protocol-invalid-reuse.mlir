// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(attn-hopper-verify-protocol))' --split-input-file --verify-diagnostics

// A channel's memory for results.

// A channel's memory is reused while a product may read it.

gpu.module @early_reuse {
  gpu.func @early_reuse(%map: !hopper.map<64x64xbf16>, %v: vector<64x64xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %ch = hopper.create_channel : !hopper.channel<1x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @compute registers(160) {
      %t = hopper.get %ch[%n0] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      // expected-note @below {{no hopper.wait has waited for this one}}
      %p = hopper.mma %t, %t : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
      // expected-error @below {{reuses the memory of a tile that a product may still read}}
      %r = hopper.reuse %ch : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      %s = hopper.wait %p in_flight 0 : !hopper.pending<vector<64x64xf32>>
      hopper.store %v, %r, %map[%c0, %c0, %c0] : vector<64x64xbf16>, !hopper.tile<64x64xbf16>, !hopper.map<64x64xbf16>
      hopper.drain
      hopper.release %ch[%n0] : !hopper.channel<1x64x64xbf16>
    }
    gpu.return
  }
}

// -----

// A tile is read after its memory is reused.

gpu.module @read_after_reuse {
  gpu.func @read_after_reuse(%map: !hopper.map<64x64xbf16>, %v: vector<64x64xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %ch = hopper.create_channel : !hopper.channel<1x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @compute registers(160) {
      %t = hopper.get %ch[%n0] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      // expected-note @below {{reused here}}
      %r = hopper.reuse %ch : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.store %v, %r, %map[%c0, %c0, %c0] : vector<64x64xbf16>, !hopper.tile<64x64xbf16>, !hopper.map<64x64xbf16>
      hopper.drain
      // expected-error @below {{reads a tile whose memory is reused}}
      %q = hopper.load_fragment %t : !hopper.tile<64x64xbf16> -> vector<64x64xbf16>
      hopper.release %ch[%n0] : !hopper.channel<1x64x64xbf16>
    }
    gpu.return
  }
}

// -----

// A product reads a tile after its memory is reused.

gpu.module @product_after_reuse {
  gpu.func @product_after_reuse(%map: !hopper.map<64x64xbf16>, %v: vector<64x64xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %ch = hopper.create_channel : !hopper.channel<1x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @compute registers(160) {
      %t = hopper.get %ch[%n0] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      // expected-note @below {{reused here}}
      %r = hopper.reuse %ch : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.store %v, %r, %map[%c0, %c0, %c0] : vector<64x64xbf16>, !hopper.tile<64x64xbf16>, !hopper.map<64x64xbf16>
      hopper.drain
      // expected-error @below {{reads a tile whose memory is reused}}
      %p = hopper.mma %t, %t : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
      %s = hopper.wait %p in_flight 0 : !hopper.pending<vector<64x64xf32>>
      hopper.release %ch[%n0] : !hopper.channel<1x64x64xbf16>
    }
    gpu.return
  }
}

// -----

// Memory is released that a store may still read.

gpu.module @release_before_drain {
  gpu.func @release_before_drain(%map: !hopper.map<64x64xbf16>, %v: vector<64x64xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %ch = hopper.create_channel : !hopper.channel<1x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @compute registers(160) {
      %t = hopper.get %ch[%n0] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      %r = hopper.reuse %ch : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      // expected-note @below {{no hopper.drain has waited for this one}}
      hopper.store %v, %r, %map[%c0, %c0, %c0] : vector<64x64xbf16>, !hopper.tile<64x64xbf16>, !hopper.map<64x64xbf16>
      // expected-error @below {{releases memory that a store may still read}}
      hopper.release %ch[%n0] : !hopper.channel<1x64x64xbf16>
      hopper.drain
    }
    gpu.return
  }
}

// -----

// Results are written to memory that the next tile may have.

gpu.module @store_after_release {
  gpu.func @store_after_release(%map: !hopper.map<64x64xbf16>, %v: vector<64x64xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %ch = hopper.create_channel : !hopper.channel<1x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @compute registers(160) {
      %t = hopper.get %ch[%n0] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      %r = hopper.reuse %ch : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      // expected-note @below {{released here}}
      hopper.release %ch[%n0] : !hopper.channel<1x64x64xbf16>
      // expected-error @below {{writes to memory after its release}}
      hopper.store %v, %r, %map[%c0, %c0, %c0] : vector<64x64xbf16>, !hopper.tile<64x64xbf16>, !hopper.map<64x64xbf16>
      hopper.drain
    }
    gpu.return
  }
}

// -----

// A consumer overwrites what others may not have read.

gpu.module @rows_of_all {
  gpu.func @rows_of_all(%map: !hopper.map<64x64xbf16>, %v: vector<64x64xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %ch = hopper.create_channel : !hopper.channel<1x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @compute replicas(2) registers(160) {
      %t = hopper.get %ch[%n0] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      // expected-note @below {{reused here}}
      %r = hopper.reuse %ch : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      // expected-error @below {{uses rows that may be those of another consumer, of memory that is reused}}
      hopper.store %v, %r, %map[%c0, %c0, %c0] : vector<64x64xbf16>, !hopper.tile<64x64xbf16>, !hopper.map<64x64xbf16>
      hopper.drain
      hopper.release %ch[%n0] : !hopper.channel<1x64x64xbf16>
    }
    gpu.return
  }
}
