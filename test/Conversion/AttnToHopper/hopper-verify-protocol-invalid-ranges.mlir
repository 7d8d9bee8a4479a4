// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(attn-hopper-verify-protocol))' --split-input-file --verify-diagnostics

// Consumers with ranges of their own: what they do with each tile.

// The tiles after the range are not passed over.

gpu.module @no_skip {
  gpu.func @no_skip(%map: !hopper.map<64x64xbf16>, %length: i32, %own: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %n16 = arith.constant 16 : i32
    %n = arith.divui %length, %n16 : i32
    // expected-note @below {{created here}}
    %k = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %c = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %v = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %turns = hopper.create_turns : !hopper.turns
    // expected-error @below {{cannot prove that consumers use a channel as often as the producer}}
    hopper.warp_specialize partition @load threads(1) {
      %has = arith.cmpi sgt, %n, %n0 : i32
      scf.if %has {
        hopper.put %k[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        hopper.put %c[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        scf.for %i = %n1 to %n step %n1 : i32 {
          hopper.put %k[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
          hopper.put %c[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
          %j = arith.subi %i, %n1 : i32
          hopper.put %v[%j], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        }
        %last = arith.subi %n, %n1 : i32
        hopper.put %v[%last], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute replicas(2) registers(160) {
      %wg = hopper.warpgroup_id
      %w = arith.index_cast %wg : index to i32
      %sum = arith.addi %w, %own : i32
      %x = arith.divui %sum, %n16 : i32
      %rest = arith.subi %own, %w : i32
      %y = arith.divui %rest, %n16 : i32
      %m = arith.minsi %x, %n : i32
      %first = arith.subi %n, %m : i32
      %m2 = arith.minsi %y, %n : i32
      %end = arith.subi %n, %m2 : i32
      %some = arith.cmpi slt, %first, %end : i32
      scf.if %some {
        scf.for %i = %n0 to %first step %n1 : i32 {
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          %d = hopper.get %v[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<2x64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          hopper.pass_turn %turns : !hopper.turns
        }
        %a0 = hopper.get %k[%first] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %k[%first] : !hopper.channel<2x64x64xbf16>
        %b0 = hopper.get %c[%first] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %c[%first] : !hopper.channel<2x64x64xbf16>
        hopper.take_turn %turns : !hopper.turns
        hopper.pass_turn %turns : !hopper.turns
        %second = arith.addi %first, %n1 : i32
        scf.for %i = %second to %end step %n1 : i32 {
          %j = arith.subi %i, %n1 : i32
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          %d = hopper.get %v[%j] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.pass_turn %turns : !hopper.turns
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          hopper.release %v[%j] : !hopper.channel<2x64x64xbf16>
        }
        %before = arith.subi %end, %n1 : i32
        %d0 = hopper.get %v[%before] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %v[%before] : !hopper.channel<2x64x64xbf16>
      } else {
        scf.for %i = %n0 to %n step %n1 : i32 {
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          %d = hopper.get %v[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<2x64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          hopper.pass_turn %turns : !hopper.turns
        }
      }
    }
    gpu.return
  }
}

// -----

// A tile that is passed over is not released.

gpu.module @skip_without_release {
  gpu.func @skip_without_release(%map: !hopper.map<64x64xbf16>, %length: i32, %own: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %n16 = arith.constant 16 : i32
    %n = arith.divui %length, %n16 : i32
    %k = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %c = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %v = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %turns = hopper.create_turns : !hopper.turns
    hopper.warp_specialize partition @load threads(1) {
      %has = arith.cmpi sgt, %n, %n0 : i32
      scf.if %has {
        hopper.put %k[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        hopper.put %c[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        scf.for %i = %n1 to %n step %n1 : i32 {
          hopper.put %k[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
          hopper.put %c[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
          %j = arith.subi %i, %n1 : i32
          hopper.put %v[%j], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        }
        %last = arith.subi %n, %n1 : i32
        hopper.put %v[%last], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute replicas(2) registers(160) {
      %wg = hopper.warpgroup_id
      %w = arith.index_cast %wg : index to i32
      %sum = arith.addi %w, %own : i32
      %x = arith.divui %sum, %n16 : i32
      %rest = arith.subi %own, %w : i32
      %y = arith.divui %rest, %n16 : i32
      %m = arith.minsi %x, %n : i32
      %first = arith.subi %n, %m : i32
      %m2 = arith.minsi %y, %n : i32
      %end = arith.subi %n, %m2 : i32
      %some = arith.cmpi slt, %first, %end : i32
      scf.if %some {
        // expected-error @below {{holds 1 more of a channel's tiles after an iteration than before it}}
        scf.for %i = %n0 to %first step %n1 : i32 {
          // expected-note @below {{got and not released in the same iteration}}
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          %d = hopper.get %v[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<2x64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          hopper.pass_turn %turns : !hopper.turns
        }
        %a0 = hopper.get %k[%first] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %k[%first] : !hopper.channel<2x64x64xbf16>
        %b0 = hopper.get %c[%first] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %c[%first] : !hopper.channel<2x64x64xbf16>
        hopper.take_turn %turns : !hopper.turns
        hopper.pass_turn %turns : !hopper.turns
        %second = arith.addi %first, %n1 : i32
        scf.for %i = %second to %end step %n1 : i32 {
          %j = arith.subi %i, %n1 : i32
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          %d = hopper.get %v[%j] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.pass_turn %turns : !hopper.turns
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          hopper.release %v[%j] : !hopper.channel<2x64x64xbf16>
        }
        %before = arith.subi %end, %n1 : i32
        %d0 = hopper.get %v[%before] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %v[%before] : !hopper.channel<2x64x64xbf16>
        scf.for %i = %end to %n step %n1 : i32 {
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          %d = hopper.get %v[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<2x64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          hopper.pass_turn %turns : !hopper.turns
        }
      } else {
        scf.for %i = %n0 to %n step %n1 : i32 {
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          %d = hopper.get %v[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<2x64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          hopper.pass_turn %turns : !hopper.turns
        }
      }
    }
    gpu.return
  }
}

// -----

// A channel is forgotten for tiles that are passed over.

gpu.module @skip_without_capture {
  gpu.func @skip_without_capture(%map: !hopper.map<64x64xbf16>, %length: i32, %own: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %n16 = arith.constant 16 : i32
    %n = arith.divui %length, %n16 : i32
    %k = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    // expected-note @below {{created here}}
    %c = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %v = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %turns = hopper.create_turns : !hopper.turns
    hopper.warp_specialize partition @load threads(1) {
      %has = arith.cmpi sgt, %n, %n0 : i32
      scf.if %has {
        hopper.put %k[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        hopper.put %c[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        // expected-note @below {{and this loop with 1}}
        scf.for %i = %n1 to %n step %n1 : i32 {
          hopper.put %k[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
          hopper.put %c[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
          %j = arith.subi %i, %n1 : i32
          hopper.put %v[%j], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        }
        %last = arith.subi %n, %n1 : i32
        hopper.put %v[%last], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute replicas(2) registers(160) {
      %wg = hopper.warpgroup_id
      %w = arith.index_cast %wg : index to i32
      %sum = arith.addi %w, %own : i32
      %x = arith.divui %sum, %n16 : i32
      %rest = arith.subi %own, %w : i32
      %y = arith.divui %rest, %n16 : i32
      %m = arith.minsi %x, %n : i32
      %first = arith.subi %n, %m : i32
      %m2 = arith.minsi %y, %n : i32
      %end = arith.subi %n, %m2 : i32
      %some = arith.cmpi slt, %first, %end : i32
      scf.if %some {
        // expected-error @below {{begins with 0 uses of a ring in an iteration}}
        scf.for %i = %n0 to %first step %n1 : i32 {
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          %d = hopper.get %v[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<2x64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          hopper.pass_turn %turns : !hopper.turns
        }
        %a0 = hopper.get %k[%first] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %k[%first] : !hopper.channel<2x64x64xbf16>
        %b0 = hopper.get %c[%first] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %c[%first] : !hopper.channel<2x64x64xbf16>
        hopper.take_turn %turns : !hopper.turns
        hopper.pass_turn %turns : !hopper.turns
        %second = arith.addi %first, %n1 : i32
        scf.for %i = %second to %end step %n1 : i32 {
          %j = arith.subi %i, %n1 : i32
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          %d = hopper.get %v[%j] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.pass_turn %turns : !hopper.turns
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          hopper.release %v[%j] : !hopper.channel<2x64x64xbf16>
        }
        %before = arith.subi %end, %n1 : i32
        %d0 = hopper.get %v[%before] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %v[%before] : !hopper.channel<2x64x64xbf16>
        scf.for %i = %end to %n step %n1 : i32 {
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          %d = hopper.get %v[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<2x64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          hopper.pass_turn %turns : !hopper.turns
        }
      } else {
        scf.for %i = %n0 to %n step %n1 : i32 {
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          %d = hopper.get %v[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<2x64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          hopper.pass_turn %turns : !hopper.turns
        }
      }
    }
    gpu.return
  }
}

// -----

// The turn is forgotten for tiles that are passed over.

gpu.module @skip_without_turn {
  gpu.func @skip_without_turn(%map: !hopper.map<64x64xbf16>, %length: i32, %own: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %n16 = arith.constant 16 : i32
    %n = arith.divui %length, %n16 : i32
    %k = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %c = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %v = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    // expected-note @below {{created here}}
    %turns = hopper.create_turns : !hopper.turns
    hopper.warp_specialize partition @load threads(1) {
      %has = arith.cmpi sgt, %n, %n0 : i32
      scf.if %has {
        hopper.put %k[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        hopper.put %c[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        scf.for %i = %n1 to %n step %n1 : i32 {
          hopper.put %k[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
          hopper.put %c[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
          %j = arith.subi %i, %n1 : i32
          hopper.put %v[%j], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        }
        %last = arith.subi %n, %n1 : i32
        hopper.put %v[%last], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute replicas(2) registers(160) {
      %wg = hopper.warpgroup_id
      %w = arith.index_cast %wg : index to i32
      %sum = arith.addi %w, %own : i32
      %x = arith.divui %sum, %n16 : i32
      %rest = arith.subi %own, %w : i32
      %y = arith.divui %rest, %n16 : i32
      %m = arith.minsi %x, %n : i32
      %first = arith.subi %n, %m : i32
      %m2 = arith.minsi %y, %n : i32
      %end = arith.subi %n, %m2 : i32
      %some = arith.cmpi slt, %first, %end : i32
      scf.if %some {
        // expected-note @below {{and this loop with 1}}
        scf.for %i = %n0 to %first step %n1 : i32 {
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          %d = hopper.get %v[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<2x64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          hopper.pass_turn %turns : !hopper.turns
        }
        %a0 = hopper.get %k[%first] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %k[%first] : !hopper.channel<2x64x64xbf16>
        %b0 = hopper.get %c[%first] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %c[%first] : !hopper.channel<2x64x64xbf16>
        hopper.take_turn %turns : !hopper.turns
        hopper.pass_turn %turns : !hopper.turns
        %second = arith.addi %first, %n1 : i32
        scf.for %i = %second to %end step %n1 : i32 {
          %j = arith.subi %i, %n1 : i32
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          %d = hopper.get %v[%j] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.pass_turn %turns : !hopper.turns
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          hopper.release %v[%j] : !hopper.channel<2x64x64xbf16>
        }
        %before = arith.subi %end, %n1 : i32
        %d0 = hopper.get %v[%before] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %v[%before] : !hopper.channel<2x64x64xbf16>
        // expected-error @below {{begins with 0 uses of a ring in an iteration}}
        scf.for %i = %end to %n step %n1 : i32 {
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          %d = hopper.get %v[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<2x64x64xbf16>
        }
      } else {
        scf.for %i = %n0 to %n step %n1 : i32 {
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          %d = hopper.get %v[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<2x64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          hopper.pass_turn %turns : !hopper.turns
        }
      }
    }
    gpu.return
  }
}

// -----

// Some warps compute, others pass over the tiles.

gpu.module @not_for_all_threads {
  gpu.func @not_for_all_threads(%map: !hopper.map<64x64xbf16>, %length: i32, %own: i32, %own_flag: i1) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %n16 = arith.constant 16 : i32
    %n = arith.divui %length, %n16 : i32
    %k = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %c = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %v = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %turns = hopper.create_turns : !hopper.turns
    hopper.warp_specialize partition @load threads(1) {
      %has = arith.cmpi sgt, %n, %n0 : i32
      scf.if %has {
        hopper.put %k[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        hopper.put %c[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        scf.for %i = %n1 to %n step %n1 : i32 {
          hopper.put %k[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
          hopper.put %c[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
          %j = arith.subi %i, %n1 : i32
          hopper.put %v[%j], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        }
        %last = arith.subi %n, %n1 : i32
        hopper.put %v[%last], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute replicas(2) registers(160) {
      %wg = hopper.warpgroup_id
      %w = arith.index_cast %wg : index to i32
      %sum = arith.addi %w, %own : i32
      %x = arith.divui %sum, %n16 : i32
      %rest = arith.subi %own, %w : i32
      %y = arith.divui %rest, %n16 : i32
      %m = arith.minsi %x, %n : i32
      %first = arith.subi %n, %m : i32
      %m2 = arith.minsi %y, %n : i32
      %end = arith.subi %n, %m2 : i32
      %flags = vector.broadcast %own_flag : i1 to vector<1x64xi1>
      %any = hopper.any %flags : vector<1x64xi1>
      %less = arith.cmpi slt, %first, %end : i32
      %some = arith.andi %less, %any : i1
      // expected-error @below {{cannot prove that all threads of a role take the same branch}}
      scf.if %some {
        scf.for %i = %n0 to %first step %n1 : i32 {
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          %d = hopper.get %v[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<2x64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          hopper.pass_turn %turns : !hopper.turns
        }
        %a0 = hopper.get %k[%first] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %k[%first] : !hopper.channel<2x64x64xbf16>
        %b0 = hopper.get %c[%first] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %c[%first] : !hopper.channel<2x64x64xbf16>
        hopper.take_turn %turns : !hopper.turns
        hopper.pass_turn %turns : !hopper.turns
        %second = arith.addi %first, %n1 : i32
        scf.for %i = %second to %end step %n1 : i32 {
          %j = arith.subi %i, %n1 : i32
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          %d = hopper.get %v[%j] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.pass_turn %turns : !hopper.turns
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          hopper.release %v[%j] : !hopper.channel<2x64x64xbf16>
        }
        %before = arith.subi %end, %n1 : i32
        %d0 = hopper.get %v[%before] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %v[%before] : !hopper.channel<2x64x64xbf16>
        scf.for %i = %end to %n step %n1 : i32 {
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          %d = hopper.get %v[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<2x64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          hopper.pass_turn %turns : !hopper.turns
        }
      } else {
        scf.for %i = %n0 to %n step %n1 : i32 {
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          %d = hopper.get %v[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<2x64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          hopper.pass_turn %turns : !hopper.turns
        }
      }
    }
    gpu.return
  }
}

// -----

// With one stage, a consumer waits for the last values before its turn, and the
// next one for that turn before it releases the values before those.

gpu.module @turn_after_values {
  gpu.func @turn_after_values(%map: !hopper.map<64x64xbf16>, %length: i32, %own: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %n16 = arith.constant 16 : i32
    %n = arith.divui %length, %n16 : i32
    %k = hopper.create_channel : !hopper.channel<1x64x64xbf16>
    %c = hopper.create_channel : !hopper.channel<1x64x64xbf16>
    %v = hopper.create_channel : !hopper.channel<1x64x64xbf16>
    %turns = hopper.create_turns : !hopper.turns
    hopper.warp_specialize partition @load threads(1) {
      %has = arith.cmpi sgt, %n, %n0 : i32
      scf.if %has {
        hopper.put %k[%n0], %map[%c0, %c0, %c0] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16>
        hopper.put %c[%n0], %map[%c0, %c0, %c0] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16>
        scf.for %i = %n1 to %n step %n1 : i32 {
          hopper.put %k[%i], %map[%c0, %c0, %c0] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16>
          hopper.put %c[%i], %map[%c0, %c0, %c0] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16>
          %j = arith.subi %i, %n1 : i32
          hopper.put %v[%j], %map[%c0, %c0, %c0] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16>
        }
        %last = arith.subi %n, %n1 : i32
        // expected-error @below {{never ends: the producer waits for room here}}
        hopper.put %v[%last], %map[%c0, %c0, %c0] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute replicas(2) registers(160) {
      %wg = hopper.warpgroup_id
      %w = arith.index_cast %wg : index to i32
      %sum = arith.addi %w, %own : i32
      %x = arith.divui %sum, %n16 : i32
      %rest = arith.subi %own, %w : i32
      %y = arith.divui %rest, %n16 : i32
      %m = arith.minsi %x, %n : i32
      %first = arith.subi %n, %m : i32
      %m2 = arith.minsi %y, %n : i32
      %end = arith.subi %n, %m2 : i32
      %some = arith.cmpi slt, %first, %end : i32
      scf.if %some {
        scf.for %i = %n0 to %first step %n1 : i32 {
          %a = hopper.get %k[%i] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<1x64x64xbf16>
          %b = hopper.get %c[%i] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<1x64x64xbf16>
          %d = hopper.get %v[%i] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<1x64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          hopper.pass_turn %turns : !hopper.turns
        }
        %a0 = hopper.get %k[%first] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %k[%first] : !hopper.channel<1x64x64xbf16>
        %b0 = hopper.get %c[%first] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %c[%first] : !hopper.channel<1x64x64xbf16>
        hopper.take_turn %turns : !hopper.turns
        hopper.pass_turn %turns : !hopper.turns
        %second = arith.addi %first, %n1 : i32
        scf.for %i = %second to %end step %n1 : i32 {
          %j = arith.subi %i, %n1 : i32
          %a = hopper.get %k[%i] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          %d = hopper.get %v[%j] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.pass_turn %turns : !hopper.turns
          %b = hopper.get %c[%i] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<1x64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<1x64x64xbf16>
          hopper.release %v[%j] : !hopper.channel<1x64x64xbf16>
        }
        %before = arith.subi %end, %n1 : i32
        %d0 = hopper.get %v[%before] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %v[%before] : !hopper.channel<1x64x64xbf16>
        scf.for %i = %end to %n step %n1 : i32 {
          %a = hopper.get %k[%i] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<1x64x64xbf16>
          %b = hopper.get %c[%i] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<1x64x64xbf16>
          // expected-note @below {{while a consumer waits here}}
          %d = hopper.get %v[%i] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<1x64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          hopper.pass_turn %turns : !hopper.turns
        }
      } else {
        scf.for %i = %n0 to %n step %n1 : i32 {
          %a = hopper.get %k[%i] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<1x64x64xbf16>
          %b = hopper.get %c[%i] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<1x64x64xbf16>
          %d = hopper.get %v[%i] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<1x64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          hopper.pass_turn %turns : !hopper.turns
        }
      }
    }
    gpu.return
  }
}

// -----

// A consumer with a range takes one turn less than one without.

gpu.module @turns_of_empty_range {
  gpu.func @turns_of_empty_range(%map: !hopper.map<64x64xbf16>, %length: i32, %own: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %n16 = arith.constant 16 : i32
    %n = arith.divui %length, %n16 : i32
    %k = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %c = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %v = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    // expected-note @below {{created here}}
    %turns = hopper.create_turns : !hopper.turns
    // expected-error @below {{cannot prove that all consumers take as many turns}}
    hopper.warp_specialize partition @load threads(1) {
      %has = arith.cmpi sgt, %n, %n0 : i32
      scf.if %has {
        hopper.put %k[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        hopper.put %c[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        scf.for %i = %n1 to %n step %n1 : i32 {
          hopper.put %k[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
          hopper.put %c[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
          %j = arith.subi %i, %n1 : i32
          hopper.put %v[%j], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        }
        %last = arith.subi %n, %n1 : i32
        hopper.put %v[%last], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute replicas(2) registers(160) {
      %wg = hopper.warpgroup_id
      %w = arith.index_cast %wg : index to i32
      %sum = arith.addi %w, %own : i32
      %x = arith.divui %sum, %n16 : i32
      %rest = arith.subi %own, %w : i32
      %y = arith.divui %rest, %n16 : i32
      %m = arith.minsi %x, %n : i32
      %first = arith.subi %n, %m : i32
      %m2 = arith.minsi %y, %n : i32
      %end = arith.subi %n, %m2 : i32
      %some = arith.cmpi slt, %first, %end : i32
      scf.if %some {
        scf.for %i = %n0 to %first step %n1 : i32 {
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          %d = hopper.get %v[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<2x64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          hopper.pass_turn %turns : !hopper.turns
        }
        %a0 = hopper.get %k[%first] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %k[%first] : !hopper.channel<2x64x64xbf16>
        %b0 = hopper.get %c[%first] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %c[%first] : !hopper.channel<2x64x64xbf16>
        %second = arith.addi %first, %n1 : i32
        scf.for %i = %second to %end step %n1 : i32 {
          %j = arith.subi %i, %n1 : i32
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          %d = hopper.get %v[%j] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.pass_turn %turns : !hopper.turns
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          hopper.release %v[%j] : !hopper.channel<2x64x64xbf16>
        }
        %before = arith.subi %end, %n1 : i32
        %d0 = hopper.get %v[%before] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %v[%before] : !hopper.channel<2x64x64xbf16>
        scf.for %i = %end to %n step %n1 : i32 {
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          %d = hopper.get %v[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<2x64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          hopper.pass_turn %turns : !hopper.turns
        }
      } else {
        scf.for %i = %n0 to %n step %n1 : i32 {
          %a = hopper.get %k[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %k[%i] : !hopper.channel<2x64x64xbf16>
          %b = hopper.get %c[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %c[%i] : !hopper.channel<2x64x64xbf16>
          %d = hopper.get %v[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %v[%i] : !hopper.channel<2x64x64xbf16>
          hopper.take_turn %turns : !hopper.turns
          hopper.pass_turn %turns : !hopper.turns
        }
      }
    }
    gpu.return
  }
}
