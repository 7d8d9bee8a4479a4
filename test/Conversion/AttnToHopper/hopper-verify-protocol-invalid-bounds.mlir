// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(attn-hopper-verify-protocol))' --split-input-file --verify-diagnostics

// Consumers with ranges of their own: where they start and end.

// The first tile is not passed over.

gpu.module @skip_from_second {
  gpu.func @skip_from_second(%map: !hopper.map<64x64xbf16>, %length: i32, %own: i32) kernel {
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
        // expected-error @below {{cannot prove that the loop has steps of 1, and an end that is not before its start}}
        scf.for %i = %n1 to %first step %n1 : i32 {
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

// The tile after the range is not passed over.

gpu.module @skip_misses_one {
  gpu.func @skip_misses_one(%map: !hopper.map<64x64xbf16>, %length: i32, %own: i32) kernel {
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
        %after = arith.addi %end, %n1 : i32
        // expected-error @below {{cannot prove that the loop has steps of 1, and an end that is not before its start}}
        scf.for %i = %after to %n step %n1 : i32 {
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

// The last tile is not passed over.

gpu.module @skip_ends_early {
  gpu.func @skip_ends_early(%map: !hopper.map<64x64xbf16>, %length: i32, %own: i32) kernel {
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
        %less = arith.subi %n, %n1 : i32
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
        // expected-error @below {{cannot prove that the loop has steps of 1, and an end that is not before its start}}
        scf.for %i = %end to %less step %n1 : i32 {
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

// The range may end after the last tile.

gpu.module @range_not_clamped {
  gpu.func @range_not_clamped(%map: !hopper.map<64x64xbf16>, %length: i32, %own: i32) kernel {
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
      %end = arith.addi %y, %n1 : i32
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
        // expected-error @below {{cannot prove that the loop has steps of 1, and an end that is not before its start}}
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

// The range may start before the first tile.

gpu.module @negative_range {
  gpu.func @negative_range(%map: !hopper.map<64x64xbf16>, %length: i32, %own: i32) kernel {
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
      %first = arith.subi %n, %x : i32
      %m2 = arith.minsi %y, %n : i32
      %end = arith.subi %n, %m2 : i32
      %some = arith.cmpi slt, %first, %end : i32
      scf.if %some {
        // expected-error @below {{cannot prove that the loop has steps of 1, and an end that is not before its start}}
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

// Nothing says that the range is not empty.

gpu.module @range_in_no_order {
  gpu.func @range_in_no_order(%map: !hopper.map<64x64xbf16>, %length: i32, %own: i32) kernel {
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
      %some = arith.cmpi sle, %first, %end : i32
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
        // expected-error @below {{cannot prove that the loop has steps of 1, and an end that is not before its start}}
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
