// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(attn-hopper-verify-protocol))' --split-input-file | FileCheck %s

// The same loop in both roles.

// CHECK-LABEL: gpu.func @loop(
// CHECK: hopper.warp_specialize
gpu.module @loop {
  gpu.func @loop(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
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
        hopper.release %ch[%i] : !hopper.channel<2x64x64xbf16>
      }
    }
    gpu.return
  }
}

// -----

// One use is before the loop, and a tile is released one iteration later, after the
// product that reads it. A branch around it says that there is a first one.

// CHECK-LABEL: gpu.func @late_release(
// CHECK: hopper.warp_specialize
gpu.module @late_release {
  gpu.func @late_release(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      %some = arith.cmpi sgt, %n, %n0 : i32
      scf.if %some {
        hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        scf.for %i = %n1 to %n step %n1 : i32 {
          hopper.put %ch[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        }
      }
    } partition @compute registers(160) {
      %some = arith.cmpi sgt, %n, %n0 : i32
      scf.if %some {
        %t0 = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        %p0 = hopper.mma %t0, %t0 : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
        %last = scf.for %i = %n1 to %n step %n1 iter_args(%p = %p0) -> (!hopper.pending<vector<64x64xf32>>) : i32 {
          %t = hopper.get %ch[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          %next = hopper.mma %t, %t : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
          %v = hopper.wait %p in_flight 1 : !hopper.pending<vector<64x64xf32>>
          %j = arith.subi %i, %n1 : i32
          hopper.release %ch[%j] : !hopper.channel<2x64x64xbf16>
          scf.yield %next : !hopper.pending<vector<64x64xf32>>
        }
        %v = hopper.wait %last in_flight 0 : !hopper.pending<vector<64x64xf32>>
        %m = arith.subi %n, %n1 : i32
        hopper.release %ch[%m] : !hopper.channel<2x64x64xbf16>
      }
    }
    gpu.return
  }
}

// -----

// Numbers go on from loop to loop in arguments. They are counted in the inner one,
// whose bounds differ from one iteration of the outer one to the next.

// CHECK-LABEL: gpu.func @carried(
// CHECK: hopper.warp_specialize
gpu.module @carried {
  gpu.func @carried(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      scf.for %i = %n0 to %n step %n1 iter_args(%k = %n0) -> (i32) : i32 {
        %next = scf.for %j = %n0 to %i step %n1 iter_args(%use = %k) -> (i32) : i32 {
          hopper.put %ch[%use], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
          %more = arith.addi %use, %n1 : i32
          scf.yield %more : i32
        }
        scf.yield %next : i32
      }
    } partition @compute registers(160) {
      scf.for %i = %n0 to %n step %n1 iter_args(%k = %n0) -> (i32) : i32 {
        %next = scf.for %j = %n0 to %i step %n1 iter_args(%use = %k) -> (i32) : i32 {
          %t = hopper.get %ch[%use] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          %q = hopper.load_fragment %t : !hopper.tile<64x64xbf16> -> vector<64x64xbf16>
          hopper.release %ch[%use] : !hopper.channel<2x64x64xbf16>
          %more = arith.addi %n1, %use : i32
          scf.yield %more : i32
        }
        scf.yield %next : i32
      }
    }
    gpu.return
  }
}

// -----

// The producer is ahead by a tile of each channel. Consumers take turns, and wait
// within them.

// CHECK-LABEL: gpu.func @ahead(
// CHECK: hopper.warp_specialize
gpu.module @ahead {
  gpu.func @ahead(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %other = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %turns = hopper.create_turns : !hopper.turns
    %end = arith.maxsi %n, %n0 : i32
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      hopper.put %other[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      scf.for %i = %n0 to %end step %n1 : i32 {
        %next = arith.addi %i, %n1 : i32
        hopper.put %ch[%next], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        hopper.put %other[%next], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute replicas(2) registers(160) {
      scf.for %i = %n0 to %end step %n1 : i32 {
        hopper.take_turn %turns : !hopper.turns
        %t = hopper.get %ch[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        %p = hopper.mma %t, %t : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
        %u = hopper.get %other[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        %r = hopper.mma %u, %u : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
        hopper.pass_turn %turns : !hopper.turns
        %v = hopper.wait %p in_flight 1 : !hopper.pending<vector<64x64xf32>>
        hopper.release %ch[%i] : !hopper.channel<2x64x64xbf16>
        %w = hopper.wait %r in_flight 0 : !hopper.pending<vector<64x64xf32>>
        hopper.release %other[%i] : !hopper.channel<2x64x64xbf16>
      }
      %t = hopper.get %ch[%end] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.release %ch[%end] : !hopper.channel<2x64x64xbf16>
      %u = hopper.get %other[%end] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.release %other[%end] : !hopper.channel<2x64x64xbf16>
    }
    gpu.return
  }
}

// -----

// A branch on an argument that both roles have.

// CHECK-LABEL: gpu.func @branch(
// CHECK: hopper.warp_specialize
gpu.module @branch {
  gpu.func @branch(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      %some = arith.cmpi sgt, %n, %n0 : i32
      scf.if %some {
        hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      } else {
        hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute registers(160) {
      %some = arith.cmpi sgt, %n, %n0 : i32
      scf.if %some {
        %t = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        %q = hopper.load_fragment %t : !hopper.tile<64x64xbf16> -> vector<64x64xbf16>
        hopper.release %ch[%n0] : !hopper.channel<2x64x64xbf16>
      } else {
        %t = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %ch[%n0] : !hopper.channel<2x64x64xbf16>
      }
    }
    gpu.return
  }
}

// -----

// Messages until one is negative.

// CHECK-LABEL: gpu.func @messages(
// CHECK: hopper.warp_specialize
gpu.module @messages {
  gpu.func @messages(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %box = hopper.create_mailbox : !hopper.mailbox<1>
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      scf.while (%i = %n0) : (i32) -> (i32) {
        %is_work = arith.cmpi slt, %i, %n : i32
        %most = arith.constant 255 : i32
        %end = arith.constant -1 : i32
        %work = arith.andi %i, %most : i32
        %message = arith.select %is_work, %work, %end : i32
        hopper.post %box[%i], %message : !hopper.mailbox<1>
        scf.condition(%is_work) %i : i32
      } do {
      ^bb0(%i: i32):
        hopper.put %ch[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        %next = arith.addi %i, %n1 : i32
        scf.yield %next : i32
      }
    } partition @compute replicas(3) registers(160) {
      scf.while (%i = %n0) : (i32) -> (i32) {
        %message = hopper.receive %box[%i] : !hopper.mailbox<1> -> i32
        %is_work = arith.cmpi sge, %message, %n0 : i32
        scf.condition(%is_work) %i : i32
      } do {
      ^bb0(%i: i32):
        %t = hopper.get %ch[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %ch[%i] : !hopper.channel<2x64x64xbf16>
        %next = arith.addi %i, %n1 : i32
        scf.yield %next : i32
      }
    }
    gpu.return
  }
}

// -----

// Each consumer computes with a range of its own, and passes over the others.

// CHECK-LABEL: gpu.func @ranges(
// CHECK: hopper.warp_specialize
gpu.module @ranges {
  gpu.func @ranges(%map: !hopper.map<64x64xbf16>, %length: i32, %own: i32) kernel {
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

// A tile is written to when its product is done, and released when that has been
// read.

// CHECK-LABEL: gpu.func @reuse_while_held(
// CHECK: hopper.warp_specialize
gpu.module @reuse_while_held {
  gpu.func @reuse_while_held(%map: !hopper.map<64x64xbf16>, %v: vector<64x64xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %ch = hopper.create_channel : !hopper.channel<1x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @compute registers(160) {
      %t = hopper.get %ch[%n0] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      %p = hopper.mma %t, %t : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
      %s = hopper.wait %p in_flight 0 : !hopper.pending<vector<64x64xf32>>
      %r = hopper.reuse %ch : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.store %v, %r, %map[%c0, %c0, %c0] : vector<64x64xbf16>, !hopper.tile<64x64xbf16>, !hopper.map<64x64xbf16>
      hopper.drain
      hopper.release %ch[%n0] : !hopper.channel<1x64x64xbf16>
    }
    gpu.return
  }
}

// -----

// There is a first one in any case, so that nothing has to fit in the branch for
// none, where consumers use as many as there are.

// CHECK-LABEL: gpu.func @never_none(
// CHECK: hopper.warp_specialize
gpu.module @never_none {
  gpu.func @never_none(%map: !hopper.map<64x64xbf16>, %keys: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      %n = arith.maxsi %keys, %n1 : i32
      %some = arith.cmpi sgt, %n, %n0 : i32
      scf.if %some {
        hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        scf.for %i = %n1 to %n step %n1 : i32 {
          hopper.put %ch[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        }
      }
    } partition @compute registers(160) {
      %n = arith.maxsi %keys, %n1 : i32
      %some = arith.cmpi sgt, %n, %n0 : i32
      scf.if %some {
        %t0 = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        %q0 = hopper.load_fragment %t0 : !hopper.tile<64x64xbf16> -> vector<64x64xbf16>
        hopper.release %ch[%n0] : !hopper.channel<2x64x64xbf16>
        scf.for %i = %n1 to %n step %n1 : i32 {
          %t = hopper.get %ch[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          %q = hopper.load_fragment %t : !hopper.tile<64x64xbf16> -> vector<64x64xbf16>
          hopper.release %ch[%i] : !hopper.channel<2x64x64xbf16>
        }
      } else {
        scf.for %i = %n0 to %n step %n1 : i32 {
          %t = hopper.get %ch[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %ch[%i] : !hopper.channel<2x64x64xbf16>
        }
      }
    }
    gpu.return
  }
}

// -----

// An absolute value is the same for all threads, and never negative.

// CHECK-LABEL: gpu.func @absolute(
// CHECK: hopper.warp_specialize
gpu.module @absolute {
  gpu.func @absolute(%map: !hopper.map<64x64xbf16>, %keys: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      %least = arith.minsi %keys, %c9 : index
      %most = arith.maxsi %least, %c1 : index
      %distance = math.absi %most : index
      %n = arith.index_cast %distance : index to i32
      scf.for %i = %n0 to %n step %n1 : i32 {
        hopper.put %ch[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute registers(160) {
      %least = arith.minsi %keys, %c9 : index
      %most = arith.maxsi %least, %c1 : index
      %distance = math.absi %most : index
      %n = arith.index_cast %distance : index to i32
      scf.for %i = %n0 to %n step %n1 : i32 {
        %t = hopper.get %ch[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %ch[%i] : !hopper.channel<2x64x64xbf16>
      }
    }
    gpu.return
  }
}
