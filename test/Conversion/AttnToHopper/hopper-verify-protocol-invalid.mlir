// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(attn-hopper-verify-protocol))' --split-input-file --verify-diagnostics

// One consumer.

// A release is missing.

gpu.module @missing_release {
  gpu.func @missing_release(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      scf.for %i = %n0 to %n step %n1 : i32 {
        hopper.put %ch[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute registers(160) {
      // expected-error @below {{holds 1 more of a channel's tiles after an iteration than before it}}
      scf.for %i = %n0 to %n step %n1 : i32 {
        // expected-note @below {{got and not released in the same iteration}}
        %t = hopper.get %ch[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        %q = hopper.load_fragment %t : !hopper.tile<64x64xbf16> -> vector<64x64xbf16>
      }
    }
    gpu.return
  }
}

// -----

// So is one after a loop.

gpu.module @missing_last_release {
  gpu.func @missing_last_release(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @compute registers(160) {
      // expected-error @below {{gets a tile that is not released}}
      %t = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      %q = hopper.load_fragment %t : !hopper.tile<64x64xbf16> -> vector<64x64xbf16>
    }
    gpu.return
  }
}

// -----

// A release is before the wait for a product that reads the tile.

gpu.module @release_before_wait {
  gpu.func @release_before_wait(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      scf.for %i = %n0 to %n step %n1 : i32 {
        hopper.put %ch[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute registers(160) {
      scf.for %i = %n0 to %n step %n1 : i32 {
        %t = hopper.get %ch[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        // expected-note @below {{no hopper.wait has waited for this one}}
        %p = hopper.mma %t, %t : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
        // expected-error @below {{releases a tile that a product may still read}}
        hopper.release %ch[%i] : !hopper.channel<2x64x64xbf16>
        %v = hopper.wait %p in_flight 0 : !hopper.pending<vector<64x64xf32>>
      }
    }
    gpu.return
  }
}

// -----

// A wait is for too few products, so that one that reads the tile may be running.

gpu.module @release_after_short_wait {
  gpu.func @release_after_short_wait(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      scf.for %i = %n0 to %n step %n1 : i32 {
        hopper.put %ch[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute registers(160) {
      scf.for %i = %n0 to %n step %n1 : i32 {
        %t = hopper.get %ch[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        %p = hopper.mma %t, %t : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
        // expected-note @below {{no hopper.wait has waited for this one}}
        %r = hopper.mma %t, %t : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
        %v = hopper.wait %p in_flight 1 : !hopper.pending<vector<64x64xf32>>
        // expected-error @below {{releases a tile that a product may still read}}
        hopper.release %ch[%i] : !hopper.channel<2x64x64xbf16>
        %w = hopper.wait %r in_flight 0 : !hopper.pending<vector<64x64xf32>>
      }
    }
    gpu.return
  }
}

// -----

// On one of two paths to the release nothing has waited.

gpu.module @release_after_wait_on_one_path {
  gpu.func @release_after_wait_on_one_path(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @compute registers(160) {
      %some = arith.cmpi sgt, %n, %n0 : i32
      %t = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      // expected-note @below {{no hopper.wait has waited for this one}}
      %p = hopper.mma %t, %t : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
      scf.if %some {
        %v = hopper.wait %p in_flight 0 : !hopper.pending<vector<64x64xf32>>
      }
      // expected-error @below {{releases a tile that a product may still read}}
      hopper.release %ch[%n0] : !hopper.channel<2x64x64xbf16>
      %w = hopper.wait %p in_flight 0 : !hopper.pending<vector<64x64xf32>>
    }
    gpu.return
  }
}

// -----

// A tile is released twice.

gpu.module @double_release {
  gpu.func @double_release(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      scf.for %i = %n0 to %n step %n1 : i32 {
        hopper.put %ch[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute registers(160) {
      scf.for %i = %n0 to %n step %n1 : i32 {
        %t = hopper.get %ch[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        %q = hopper.load_fragment %t : !hopper.tile<64x64xbf16> -> vector<64x64xbf16>
        // expected-note @below {{the last one is released here}}
        hopper.release %ch[%i] : !hopper.channel<2x64x64xbf16>
        // expected-error @below {{releases a tile of a channel of which none is held}}
        hopper.release %ch[%i] : !hopper.channel<2x64x64xbf16>
      }
    }
    gpu.return
  }
}

// -----

// A tile is read after its release.

gpu.module @read_after_release {
  gpu.func @read_after_release(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      scf.for %i = %n0 to %n step %n1 : i32 {
        hopper.put %ch[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute registers(160) {
      scf.for %i = %n0 to %n step %n1 : i32 {
        %t = hopper.get %ch[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        // expected-note @below {{released here}}
        hopper.release %ch[%i] : !hopper.channel<2x64x64xbf16>
        // expected-error @below {{reads a tile after its release}}
        %q = hopper.load_fragment %t : !hopper.tile<64x64xbf16> -> vector<64x64xbf16>
      }
    }
    gpu.return
  }
}

// -----

// A tile of the iteration before is read.

gpu.module @read_of_last_iteration {
  gpu.func @read_of_last_iteration(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      scf.for %i = %n1 to %n step %n1 : i32 {
        hopper.put %ch[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute registers(160) {
      %t0 = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      // expected-note @below {{released here}}
      hopper.release %ch[%n0] : !hopper.channel<2x64x64xbf16>
      scf.for %i = %n1 to %n step %n1 iter_args(%last = %t0) -> (!hopper.tile<64x64xbf16>) : i32 {
        %t = hopper.get %ch[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        // expected-error @below {{reads a tile after its release}}
        %q = hopper.load_fragment %last : !hopper.tile<64x64xbf16> -> vector<64x64xbf16>
        hopper.release %ch[%i] : !hopper.channel<2x64x64xbf16>
        scf.yield %t : !hopper.tile<64x64xbf16>
      }
    }
    gpu.return
  }
}

// -----

// A tile is another one on another path.

gpu.module @tile_of_one_path {
  gpu.func @tile_of_one_path(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      hopper.put %ch[%n1], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @compute registers(160) {
      %some = arith.cmpi sgt, %n, %n0 : i32
      %t = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      %u = hopper.get %ch[%n1] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      %x = scf.if %some -> (!hopper.tile<64x64xbf16>) {
        scf.yield %t : !hopper.tile<64x64xbf16>
      } else {
        scf.yield %u : !hopper.tile<64x64xbf16>
      }
      // expected-error @below {{reads a tile that differs between paths to here}}
      %q = hopper.load_fragment %x : !hopper.tile<64x64xbf16> -> vector<64x64xbf16>
      hopper.release %ch[%n0] : !hopper.channel<2x64x64xbf16>
      hopper.release %ch[%n1] : !hopper.channel<2x64x64xbf16>
    }
    gpu.return
  }
}

// -----

// More tiles are held than there are.

gpu.module @too_many_held {
  gpu.func @too_many_held(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      hopper.put %ch[%n1], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      hopper.put %ch[%n], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @compute registers(160) {
      %t = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      // expected-note @below {{the last of them is got here}}
      %u = hopper.get %ch[%n1] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      // expected-error @below {{gets a tile while this consumer holds all 2 of the channel}}
      %v = hopper.get %ch[%n] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.release %ch[%n0] : !hopper.channel<2x64x64xbf16>
      hopper.release %ch[%n1] : !hopper.channel<2x64x64xbf16>
      hopper.release %ch[%n] : !hopper.channel<2x64x64xbf16>
    }
    gpu.return
  }
}

// -----

// A turn is not passed.

gpu.module @turn_not_passed {
  gpu.func @turn_not_passed(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %turns = hopper.create_turns : !hopper.turns
    hopper.warp_specialize partition @load threads(1) {
      %x = arith.constant 0 : i32
    } partition @compute registers(160) {
      // expected-error @below {{takes a turn that is not passed}}
      hopper.take_turn %turns : !hopper.turns
    }
    gpu.return
  }
}

// -----

// A turn is passed on one path only.

gpu.module @turn_on_one_path {
  gpu.func @turn_on_one_path(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %turns = hopper.create_turns : !hopper.turns
    hopper.warp_specialize partition @load threads(1) {
      %x = arith.constant 0 : i32
    } partition @compute registers(160) {
      %some = arith.cmpi sgt, %n, %n0 : i32
      // expected-note @below {{taken here}}
      hopper.take_turn %turns : !hopper.turns
      // expected-error @below {{passes a turn on one path and not on another}}
      scf.if %some {
        hopper.pass_turn %turns : !hopper.turns
      }
    }
    gpu.return
  }
}

// -----

// A turn is passed without being taken.

gpu.module @turn_not_taken {
  gpu.func @turn_not_taken(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %turns = hopper.create_turns : !hopper.turns
    hopper.warp_specialize partition @load threads(1) {
      %x = arith.constant 0 : i32
    } partition @compute registers(160) {
      // expected-error @below {{passes a turn that this consumer has not taken}}
      hopper.pass_turn %turns : !hopper.turns
    }
    gpu.return
  }
}

// -----

// A turn is taken twice.

gpu.module @turn_twice {
  gpu.func @turn_twice(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %turns = hopper.create_turns : !hopper.turns
    hopper.warp_specialize partition @load threads(1) {
      %x = arith.constant 0 : i32
    } partition @compute registers(160) {
      // expected-note @below {{taken here}}
      hopper.take_turn %turns : !hopper.turns
      // expected-error @below {{takes a turn that this consumer has not passed}}
      hopper.take_turn %turns : !hopper.turns
      hopper.pass_turn %turns : !hopper.turns
    }
    gpu.return
  }
}

// -----

// A wait leaves its own product running.

gpu.module @short_wait {
  gpu.func @short_wait(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      scf.for %i = %n0 to %n step %n1 : i32 {
        hopper.put %ch[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute registers(160) {
      scf.for %i = %n0 to %n step %n1 : i32 {
        %t = hopper.get %ch[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        // expected-note @below {{started here}}
        %p = hopper.mma %t, %t : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
        // expected-error @below {{does not wait for the product of its operand, which may be one of the last 1}}
        %v = hopper.wait %p in_flight 1 : !hopper.pending<vector<64x64xf32>>
        hopper.release %ch[%i] : !hopper.channel<2x64x64xbf16>
      }
    }
    gpu.return
  }
}

// -----

// Nothing waits for a product.

gpu.module @no_wait {
  gpu.func @no_wait(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %tile = hopper.create_tile : !hopper.tile<64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      %x = arith.constant 0 : i32
    } partition @compute registers(160) {
      // expected-error @below {{starts a product that nothing waits for}}
      %p = hopper.mma %tile, %tile : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
    }
    gpu.return
  }
}

// -----

// A channel whose memory is reused is used again.

gpu.module @use_after_reuse {
  gpu.func @use_after_reuse(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<1x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      scf.for %i = %n0 to %n step %n1 : i32 {
        hopper.put %ch[%i], %map[%c0, %c0, %c0] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute registers(160) {
      scf.for %i = %n0 to %n step %n1 : i32 {
        // expected-error @below {{gets a tile of a channel whose memory is reused}}
        %t = hopper.get %ch[%i] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %ch[%i] : !hopper.channel<1x64x64xbf16>
        // expected-note @below {{reused here}}
        %r = hopper.reuse %ch : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      }
    }
    gpu.return
  }
}

// -----

// Results are staged in a tile of a channel.

gpu.module @store_to_channel {
  gpu.func @store_to_channel(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @compute registers(160) {
      %v = arith.constant dense<0.0> : vector<64x64xbf16>
      %t = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      // expected-error @below {{writes to a tile of a channel}}
      hopper.store %v, %t, %map[%c0, %c0, %c0] : vector<64x64xbf16>, !hopper.tile<64x64xbf16>, !hopper.map<64x64xbf16>
      hopper.release %ch[%n0] : !hopper.channel<2x64x64xbf16>
    }
    gpu.return
  }
}

// -----

// Steps are in control flow that cannot be followed.

gpu.module @other_control_flow {
  gpu.func @other_control_flow(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @compute registers(160) {
      // expected-error @below {{expects no step of a consumer in other control flow than scf.for, scf.while and scf.if}}
      scf.execute_region {
        %t = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %ch[%n0] : !hopper.channel<2x64x64xbf16>
        scf.yield
      }
    }
    gpu.return
  }
}
