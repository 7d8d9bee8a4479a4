// RUN: attn-opt %s --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-specialize)))'

// Channels that were put in place by hand: a payload, or the number of blocks,
// comes too late.

#schedule = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1>
!map = !hopper.map<64x64xbf16>
!tile = !hopper.tile<64x64xbf16>
!channel = !hopper.channel<2x64x64xbf16>
gpu.module @m {
  gpu.func @no_notes(%map: !map, %n: index) kernel attributes {hopper.schedule = #schedule} {
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16, payload>
    %q = hopper.create_channel : !hopper.channel<2x64x64xbf16, payload>
    hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
      hopper.step "load_q" in "load" {
        %u = hopper.next_use %q : !hopper.channel<2x64x64xbf16, payload>
        %x = hopper.next_block
        hopper.put %q[%u], %map[%b, %h, %t] payload %x : !hopper.channel<2x64x64xbf16, payload>, !map
        hopper.end
      }
      hopper.step "get_q" in "compute" {
        %u = hopper.next_use %q : !hopper.channel<2x64x64xbf16, payload>
        %x, %y = hopper.get %q[%u] : !hopper.channel<2x64x64xbf16, payload> -> !tile, i32
        hopper.end
      }
      // expected-error @+1 {{expects payloads that tell 'compute' which blocks there are}}
      hopper.pipelined_for %j, %full = %n to %n step 64 schedule [#hopper.place<"load_k", 0>, #hopper.place<"use", 0>, #hopper.place<"late", 1>]
          classes(%c) {
        %x = arith.cmpi eq, %c, %n : index
        hopper.end %x, %x : i1, i1
      } {
        hopper.step "load_k" in "load" {
          %u = hopper.next_use %ch : !hopper.channel<2x64x64xbf16, payload>
          %x = hopper.next_block
          hopper.put %ch[%u], %map[%b, %h, %j] payload %x : !hopper.channel<2x64x64xbf16, payload>, !map
          hopper.end
        }
        hopper.step "use" in "compute" {
          hopper.end
        }
        hopper.step "late" in "compute" {
          %u = hopper.next_use %ch : !hopper.channel<2x64x64xbf16, payload>
          %x, %y = hopper.get %ch[%u] : !hopper.channel<2x64x64xbf16, payload> -> !tile, i32
          hopper.end
        }
      }
    }
    gpu.return
  }

  gpu.func @late_number(%map: !map, %n: index) kernel attributes {hopper.schedule = #schedule} {
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16, payload>
    %q = hopper.create_channel : !hopper.channel<2x64x64xbf16, payload>
    hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
      // expected-error @+1 {{tells which blocks the loop behind it has, but a tile says so no later than this step}}
      %m = hopper.step "load_q" in "load" -> index {
        %u = hopper.next_use %q : !hopper.channel<2x64x64xbf16, payload>
        %x = hopper.next_block
        hopper.put %q[%u], %map[%b, %h, %t] payload %x : !hopper.channel<2x64x64xbf16, payload>, !map
        hopper.end %t : index
      }
      hopper.pipelined_for %j, %full = %n to %m step 64 schedule [#hopper.place<"load_k", 0>]
          classes(%c) {
        %x = arith.cmpi eq, %c, %n : index
        hopper.end %x, %x : i1, i1
      } {
        hopper.step "load_k" in "load" {
          %u = hopper.next_use %ch : !hopper.channel<2x64x64xbf16, payload>
          %x = hopper.next_block
          hopper.put %ch[%u], %map[%b, %h, %j] payload %x : !hopper.channel<2x64x64xbf16, payload>, !map
          hopper.end
        }
      }
    }
    gpu.return
  }
}
