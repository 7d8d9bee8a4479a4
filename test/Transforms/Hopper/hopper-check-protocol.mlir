// RUN: attn-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-check-protocol)))'

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1>
!channel = !hopper.channel<1x64x64xbf16>

// One stage is enough where a tile is given back before the next one is
// needed.

gpu.module @m {
  gpu.func @one_stage(%map: !hopper.map<64x64xbf16>, %n: index) kernel attributes {hopper.schedule = #schedule} {
    %ch = hopper.create_channel : !channel
    hopper.pipelined_for %j = %n to %n step 64 schedule [#hopper.place<"load_k", 0>, #hopper.place<"use", 0>] {
      hopper.step "load_k" in "load" {
        %u = hopper.next_use %ch : !channel
        hopper.put %ch[%u], %map[%n, %n, %j] : !channel, !hopper.map<64x64xbf16>
        hopper.end
      }
      hopper.step "use" in "compute" {
        %u = hopper.next_use %ch : !channel
        %t = hopper.get %ch[%u] : !channel -> !hopper.tile<64x64xbf16>
        %r = hopper.next_use %ch : !channel
        hopper.release %ch[%r] : !channel
        hopper.end
      }
    }
    gpu.return
  }
}

// -----

// The tile of a block is given back a stage later, after the next one is
// waited for: it needs two stages.

#schedule = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1>
!channel = !hopper.channel<1x64x64xbf16>
gpu.module @m {
  gpu.func @late_release(%map: !hopper.map<64x64xbf16>, %n: index) kernel attributes {hopper.schedule = #schedule} {
    %ch = hopper.create_channel : !channel
    // expected-error @+1 {{expects a schedule and stages with which no partition waits for ever; take more stages, or an order and stages in which steps that use a tile follow sooner the one that gives it, or leave the choice of a schedule to the compiler; these wait for each other:}}
    hopper.pipelined_for %j = %n to %n step 64
        schedule [#hopper.place<"load_k", 0>, #hopper.place<"use", 0>, #hopper.place<"last", 1>] {
      hopper.step "load_k" in "load" {
        %u = hopper.next_use %ch : !channel
        // expected-note @+1 {{'load_k' in 'load' waits for a free place to copy a tile to}}
        hopper.put %ch[%u], %map[%n, %n, %j] : !channel, !hopper.map<64x64xbf16>
        hopper.end
      }
      %tile = hopper.step "use" in "compute" -> !hopper.tile<64x64xbf16> {
        %u = hopper.next_use %ch : !channel
        // expected-note @+1 {{'use' in 'compute' waits for a tile}}
        %t = hopper.get %ch[%u] : !channel -> !hopper.tile<64x64xbf16>
        hopper.end %t : !hopper.tile<64x64xbf16>
      }
      hopper.step "last" in "compute" {
        %r = hopper.next_use %ch : !channel
        // expected-note @+1 {{'last' in 'compute' gives back a tile}}
        hopper.release %ch[%r] : !channel
        hopper.end
      }
    }
    gpu.return
  }
}

// -----

// The same with two stages.

#schedule = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1>
!channel = !hopper.channel<2x64x64xbf16>
gpu.module @m {
  gpu.func @two_stages(%map: !hopper.map<64x64xbf16>, %n: index) kernel attributes {hopper.schedule = #schedule} {
    %ch = hopper.create_channel : !channel
    hopper.pipelined_for %j = %n to %n step 64
        schedule [#hopper.place<"load_k", 0>, #hopper.place<"use", 0>, #hopper.place<"last", 1>] {
      hopper.step "load_k" in "load" {
        %u = hopper.next_use %ch : !channel
        hopper.put %ch[%u], %map[%n, %n, %j] : !channel, !hopper.map<64x64xbf16>
        hopper.end
      }
      %tile = hopper.step "use" in "compute" -> !hopper.tile<64x64xbf16> {
        %u = hopper.next_use %ch : !channel
        %t = hopper.get %ch[%u] : !channel -> !hopper.tile<64x64xbf16>
        hopper.end %t : !hopper.tile<64x64xbf16>
      }
      hopper.step "last" in "compute" {
        %r = hopper.next_use %ch : !channel
        hopper.release %ch[%r] : !channel
        hopper.end
      }
    }
    gpu.return
  }
}

// -----

// A channel that is read before it is written, by partitions that wait for
// each other.

#schedule = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1>
!channel = !hopper.channel<2x64x64xbf16>
gpu.module @m {
  gpu.func @read_before_written(%map: !hopper.map<64x64xbf16>, %n: index) kernel attributes {hopper.schedule = #schedule} {
    %a = hopper.create_channel : !channel
    %b = hopper.create_channel : !channel
    // expected-error @+1 {{expects a schedule and stages with which no partition waits for ever}}
    hopper.pipelined_for %j = %n to %n step 64
        schedule [#hopper.place<"one", 0>, #hopper.place<"two", 0>] {
      hopper.step "one" in "left" {
        %u = hopper.next_use %a : !channel
        // expected-note @+1 {{'one' in 'left' waits for a tile}}
        %t = hopper.get %a[%u] : !channel -> !hopper.tile<64x64xbf16>
        %v = hopper.next_use %b : !channel
        // expected-note @+1 {{'one' in 'left' waits for a free place to copy a tile to}}
        hopper.put %b[%v], %map[%n, %n, %j] : !channel, !hopper.map<64x64xbf16>
        hopper.end
      }
      hopper.step "two" in "right" {
        %u = hopper.next_use %b : !channel
        // expected-note @+1 {{'two' in 'right' waits for a tile}}
        %t = hopper.get %b[%u] : !channel -> !hopper.tile<64x64xbf16>
        %v = hopper.next_use %a : !channel
        // expected-note @+1 {{'two' in 'right' waits for a free place to copy a tile to}}
        hopper.put %a[%v], %map[%n, %n, %j] : !channel, !hopper.map<64x64xbf16>
        hopper.end
      }
    }
    gpu.return
  }
}

// -----

// A replica that does not need a block gives back what comes for it, one block
// after the other: values of a later stage come only if keys of blocks behind have
// come, for which there is no place.

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 1, registers = 240, head_swizzle = 1>
!channel = !hopper.channel<1x64x64xbf16>
!map = !hopper.map<64x64xbf16>
gpu.module @m {
  gpu.func @passed_over(%map: !map, %n: index) kernel attributes {hopper.schedule = #schedule} {
    %ks = hopper.create_channel : !channel
    %vs = hopper.create_channel : !channel
    // expected-error @+1 {{expects a schedule and stages with which no partition waits for ever; take more stages, or an order and stages in which steps that use a tile follow sooner the one that gives it, or leave the choice of a schedule to the compiler; these wait for each other:}}
    hopper.pipelined_for %j = %n to %n step 64
        schedule [#hopper.place<"load_k", 0>, #hopper.place<"load_v", 2>, #hopper.place<"qk", 0>, #hopper.place<"pv", 2>] {
      hopper.step "load_k" in "load" {
        %u = hopper.next_use %ks : !channel
        // expected-note @+1 {{'load_k' in 'load' waits for a free place to copy a tile to}}
        hopper.put %ks[%u], %map[%n, %n, %j] : !channel, !map
        hopper.end
      }
      hopper.step "load_v" in "load" {
        %u = hopper.next_use %vs : !channel
        // expected-note @+1 {{'load_v' in 'load' waits for a free place to copy a tile to}}
        hopper.put %vs[%u], %map[%n, %n, %j] : !channel, !map
        hopper.end
      }
      hopper.step "qk" in "compute" {
        %u = hopper.next_use %ks : !channel
        // expected-note @+2 {{'qk' in 'compute' waits for a tile}}
        // expected-note @+1 {{'qk' in 'compute' gives back a tile}}
        %t = hopper.get %ks[%u] : !channel -> !hopper.tile<64x64xbf16>
        %r = hopper.next_use %ks : !channel
        hopper.release %ks[%r] : !channel
        hopper.end
      }
      hopper.step "pv" in "compute" {
        %u = hopper.next_use %vs : !channel
        // expected-note @+2 {{'pv' in 'compute' waits for a tile}}
        // expected-note @+1 {{'pv' in 'compute' gives back a tile}}
        %t = hopper.get %vs[%u] : !channel -> !hopper.tile<64x64xbf16>
        %r = hopper.next_use %vs : !channel
        hopper.release %vs[%r] : !channel
        hopper.end
      }
    }
    gpu.return
  }
}

// -----

// The same for one warpgroup, which needs all blocks.

#schedule = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 1, registers = 240, head_swizzle = 1>
!channel = !hopper.channel<1x64x64xbf16>
!map = !hopper.map<64x64xbf16>
gpu.module @m {
  gpu.func @none_passed_over(%map: !map, %n: index) kernel attributes {hopper.schedule = #schedule} {
    %ks = hopper.create_channel : !channel
    %vs = hopper.create_channel : !channel
    hopper.pipelined_for %j = %n to %n step 64
        schedule [#hopper.place<"load_k", 0>, #hopper.place<"load_v", 2>, #hopper.place<"qk", 0>, #hopper.place<"pv", 2>] {
      hopper.step "load_k" in "load" {
        %u = hopper.next_use %ks : !channel
        hopper.put %ks[%u], %map[%n, %n, %j] : !channel, !map
        hopper.end
      }
      hopper.step "load_v" in "load" {
        %u = hopper.next_use %vs : !channel
        hopper.put %vs[%u], %map[%n, %n, %j] : !channel, !map
        hopper.end
      }
      hopper.step "qk" in "compute" {
        %u = hopper.next_use %ks : !channel
        %t = hopper.get %ks[%u] : !channel -> !hopper.tile<64x64xbf16>
        %r = hopper.next_use %ks : !channel
        hopper.release %ks[%r] : !channel
        hopper.end
      }
      hopper.step "pv" in "compute" {
        %u = hopper.next_use %vs : !channel
        %t = hopper.get %vs[%u] : !channel -> !hopper.tile<64x64xbf16>
        %r = hopper.next_use %vs : !channel
        hopper.release %vs[%r] : !channel
        hopper.end
      }
    }
    gpu.return
  }
}

// -----

// A turn that is passed on before it is held, and so before it can be taken.

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1>
gpu.module @m {
  gpu.func @turns(%v: vector<64x64xf32>, %sums: memref<?x4096xf32>, %c: memref<?xi32>, %n: index) kernel attributes {hopper.schedule = #schedule} {
    %t = hopper.create_turns : !hopper.turns
    // expected-error @+1 {{expects a schedule and stages with which no partition waits for ever; take more stages, or an order and stages in which steps that use a tile follow sooner the one that gives it, or leave the choice of a schedule to the compiler; these wait for each other:}}
    hopper.pipelined_for %j = %n to %n step 64 schedule [#hopper.place<"pass", 0>, #hopper.place<"hold", 0>, #hopper.place<"red", 0>] {
      hopper.step "pass" in "compute_turns" {
        %u = hopper.next_use %t : !hopper.turns
        // expected-note @+1 {{'pass' in 'compute_turns' waits for a turn to be given back}}
        hopper.pass_turn %t[%u] as %n in %c[%j] : memref<?xi32>
        hopper.end
      }
      hopper.step "hold" in "compute_turns" {
        %u = hopper.next_use %t : !hopper.turns
        // expected-note @+1 {{'hold' in 'compute_turns' holds a turn}}
        hopper.hold_turn %t[%u] after %n in %c[%j] : memref<?xi32>
        hopper.end
      }
      hopper.step "red" in "compute" {
        %u = hopper.next_use %t : !hopper.turns
        // expected-note @+1 {{'red' in 'compute' waits for a turn to add}}
        %first, %last = hopper.take_turn %t[%u]
        hopper.reduce_add %v, %sums[%j] first %first : vector<64x64xf32>, memref<?x4096xf32>
        // expected-note @+1 {{'red' in 'compute' gives back a turn}}
        hopper.give_turn %t
        hopper.end
      }
    }
    gpu.return
  }
}
