// RUN: attn-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-pipeline,hopper-overlap-tiles)))'

!channel = !hopper.channel<2x64x64xbf16>
!tile = !hopper.tile<64x64xbf16>
!scores = vector<64x64xf32>
!operand = vector<64x64xbf16>
#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240, persistent, overlap_tiles>

// Steps of one stage leave nothing for the next work tile.

gpu.module @m {
  gpu.func @kernel(%out: memref<?x?x?xf32>, %n: index, %lo: index) kernel attributes {hopper.schedule = #schedule} {
    %unused = hopper.create_channel : !channel
    %v = hopper.create_channel : !channel
    %k = hopper.create_channel : !channel
    %q = hopper.create_channel : !channel
    %barrier = hopper.create_ping_pong : !hopper.ping_pong
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : !scores
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute replicas(2) registers(240) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
        %rows = hopper.step "load_q.get" in "compute" -> !tile {
          %u = hopper.next_use %q : !channel
          %x = hopper.get %q[%u] : !channel -> !tile
          hopper.end %x : !tile
        }
        // expected-error @+1 {{expects a loop over a range of blocks with steps of stages 0 and 1 for a schedule with overlap_tiles; leave it out}}
        %r = hopper.pipelined_for %j = %lo to %n step 64 within %c0 to %n iter_args(%acc = %zero)
            schedule [#hopper.place<"qk", 0>, #hopper.place<"round", 0>, #hopper.place<"pv", 0>] exclusive ["qk", "pv"] : !scores {
          %s = hopper.step "qk" in "compute" -> !scores {
            %u = hopper.next_use %k : !channel
            %keys = hopper.get %k[%u] : !channel -> !tile
            %x = hopper.dot %rows, %keys : !tile, !tile -> !scores
            %w = hopper.next_use %k : !channel
            hopper.release %k[%w] : !channel
            hopper.end %x : !scores
          }
          %p = hopper.step "round" in "compute" -> !operand {
            %x = arith.truncf %s : !scores to !operand
            hopper.end %x : !operand
          }
          %o = hopper.step "pv" in "compute" -> !scores {
            %u = hopper.next_use %v : !channel
            %values = hopper.get %v[%u] : !channel -> !tile
            %x = hopper.dot %p, %values acc %acc rhs_transposed : !operand, !tile, !scores -> !scores
            %w = hopper.next_use %v : !channel
            hopper.release %v[%w] : !channel
            hopper.end %x : !scores
          }
          hopper.end %o : !scores
        }
        hopper.step "load_q.release" in "compute" {
          %u = hopper.next_use %q : !channel
          hopper.release %q[%u] : !channel
          hopper.end
        }
        hopper.step "store" in "compute" {
          %m = hopper.reduce max %r : !scores -> vector<1x64xf32>
          hopper.store_rows %m, %out[%b, %h, %t] dim 2 end %n : vector<1x64xf32>, memref<?x?x?xf32>
          hopper.end
        }
      }
    }
    gpu.return
  }
}

// -----

!channel = !hopper.channel<2x64x64xbf16>
!tile = !hopper.tile<64x64xbf16>
!scores = vector<64x64xf32>
!operand = vector<64x64xbf16>
#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240, persistent, overlap_tiles>

// A tile of the work tile before is given back by then.

gpu.module @m {
  gpu.func @kernel(%out: memref<?x?x?xf32>, %n: index, %lo: index) kernel attributes {hopper.schedule = #schedule} {
    %unused = hopper.create_channel : !channel
    %v = hopper.create_channel : !channel
    %k = hopper.create_channel : !channel
    %q = hopper.create_channel : !channel
    %barrier = hopper.create_ping_pong : !hopper.ping_pong
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : !scores
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute replicas(2) registers(240) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
        %rows = hopper.step "load_q.get" in "compute" -> !tile {
          %u = hopper.next_use %q : !channel
          // expected-error @+1 {{expects no use behind the blocks of its work tile in a schedule with overlap_tiles; leave that out}}
          %x = hopper.get %q[%u] : !channel -> !tile
          hopper.end %x : !tile
        }
        %r = hopper.pipelined_for %j = %lo to %n step 64 within %c0 to %n iter_args(%acc = %zero)
            schedule [#hopper.place<"qk", 0>, #hopper.place<"pv", 1>, #hopper.place<"round", 0>] exclusive ["qk", "pv"] : !scores {
          %s = hopper.step "qk" in "compute" -> !scores {
            %u = hopper.next_use %k : !channel
            %keys = hopper.get %k[%u] : !channel -> !tile
            %x = hopper.dot %rows, %keys : !tile, !tile -> !scores
            %w = hopper.next_use %k : !channel
            hopper.release %k[%w] : !channel
            hopper.end %x : !scores
          }
          %p = hopper.step "round" in "compute" -> !operand {
            %x = arith.truncf %s : !scores to !operand
            hopper.end %x : !operand
          }
          %o = hopper.step "pv" in "compute" -> !scores {
            %u = hopper.next_use %v : !channel
            %values = hopper.get %v[%u] : !channel -> !tile
            %x = hopper.dot %p, %values acc %acc rhs_transposed : !operand, !tile, !scores -> !scores
            %w = hopper.next_use %v : !channel
            hopper.release %v[%w] : !channel
            hopper.end %x : !scores
          }
          hopper.end %o : !scores
        }
        hopper.step "load_q.release" in "compute" {
          %u = hopper.next_use %q : !channel
          hopper.release %q[%u] : !channel
          hopper.end
        }
        hopper.step "store" in "compute" {
          %f = hopper.load_fragment %rows : !tile -> !operand
          %g = arith.extf %f : !operand to !scores
          %m = hopper.reduce max %g : !scores -> vector<1x64xf32>
          hopper.store_rows %m, %out[%b, %h, %t] dim 2 end %n : vector<1x64xf32>, memref<?x?x?xf32>
          hopper.end
        }
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @outside(%n: i32) kernel {
    // expected-error @+1 {{expects to be the only one in a work loop that carries nothing}}
    hopper.visit_blocks from %n to %n start {
      hopper.end
    } rest {
      hopper.end
    } finish {
      hopper.end
    } none() {
      hopper.end
    }
    gpu.return
  }
}
