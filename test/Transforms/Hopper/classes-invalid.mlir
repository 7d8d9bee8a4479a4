// RUN: attn-opt %s --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-insert-channels)))'

!map = !hopper.map<64x64xbf16>
!tile = !hopper.tile<64x64xbf16>

// Nothing comes in front of the loop that could tell its first block.

gpu.module @m {
  gpu.func @nothing_before(%map: !map, %n: index) kernel {
    hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
      // expected-error @+1 {{expects tiles that 'compute' gets in front of the loop and in stage 0 of it, as they tell which blocks there are}}
      hopper.pipelined_for %j, %full = %n to %n step 64 schedule [#hopper.place<"load_k", 0>, #hopper.place<"use", 0>]
          classes(%c) {
        %x = arith.cmpi eq, %c, %n : index
        hopper.end %x, %x : i1, i1
      } {
        %k = hopper.step "load_k" in "load" -> !tile {
          %x = hopper.load %map[%b, %h, %j] stages 2 : !map -> !tile
          hopper.end %x : !tile
        }
        hopper.step "use" in "compute" {
          %x = hopper.load_fragment %k : !tile -> vector<64x64xbf16>
          hopper.end
        }
      }
    }
    gpu.return
  }
}
