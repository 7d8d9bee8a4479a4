// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(attn-hopper-verify-protocol))' --split-input-file --verify-diagnostics

// Producer and consumers together.

// A tile is got that is not put.

gpu.module @get_without_put {
  gpu.func @get_without_put(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @compute registers(160) {
      %t = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.release %ch[%n0] : !hopper.channel<2x64x64xbf16>
      // expected-error @below {{waits for use of a channel that the producer does not fill before the loop, branch or end where the roles meet next}}
      %u = hopper.get %ch[%n1] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.release %ch[%n1] : !hopper.channel<2x64x64xbf16>
    }
    gpu.return
  }
}

// -----

// A tile is put that is not got.

gpu.module @put_without_get {
  gpu.func @put_without_get(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    // expected-note @below {{created here}}
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    // expected-error @below {{ends with 1 uses that no consumer has got}}
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      hopper.put %ch[%n1], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @compute registers(160) {
      %t = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.release %ch[%n0] : !hopper.channel<2x64x64xbf16>
    }
    gpu.return
  }
}

// -----

// Each iteration puts two tiles, of which one is got.

gpu.module @two_for_one {
  gpu.func @two_for_one(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %n2 = arith.constant 2 : i32
    // expected-note @below {{created here}}
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      // expected-error @below {{puts 1 more in an iteration than the consumers get}}
      scf.for %i = %n0 to %n step %n1 : i32 {
        %j = arith.muli %i, %n2 : i32
        %k = arith.addi %j, %n1 : i32
        hopper.put %ch[%j], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        hopper.put %ch[%k], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute registers(160) {
      // expected-note @below {{the consumers' loop is here}}
      scf.for %i = %n0 to %n step %n1 : i32 {
        %t = hopper.get %ch[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %ch[%i] : !hopper.channel<2x64x64xbf16>
      }
    }
    gpu.return
  }
}

// -----

// The loops have other bounds.

gpu.module @other_bounds {
  gpu.func @other_bounds(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      // expected-note @below {{the producer's loop is here}}
      scf.for %i = %n0 to %n step %n1 : i32 {
        hopper.put %ch[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute registers(160) {
      // expected-error @below {{cannot prove that the loop has as many iterations as that of the producer}}
      scf.for %i = %n1 to %n step %n1 : i32 {
        %t = hopper.get %ch[%i] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %ch[%i] : !hopper.channel<2x64x64xbf16>
      }
    }
    gpu.return
  }
}

// -----

// Only the producer has a loop.

gpu.module @only_one_loop {
  gpu.func @only_one_loop(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %end = arith.maxsi %n, %n0 : i32
    // expected-note @below {{created here}}
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    // expected-error @below {{cannot prove that consumers use a channel as often as the producer}}
    hopper.warp_specialize partition @load threads(1) {
      scf.for %i = %n0 to %end step %n1 : i32 {
        hopper.put %ch[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute registers(160) {
      %q = arith.constant 0 : i32
    }
    gpu.return
  }
}

// -----

// The roles have branches where they should have the same loop.

gpu.module @loop_and_branch {
  gpu.func @loop_and_branch(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %end = arith.maxsi %n, %n0 : i32
    // expected-note @below {{created here}}
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    // expected-error @below {{cannot prove that consumers use a channel as often as the producer}}
    hopper.warp_specialize partition @load threads(1) {
      scf.for %i = %n0 to %end step %n1 : i32 {
        hopper.put %ch[%i], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute registers(160) {
      %some = arith.cmpi sgt, %n, %n0 : i32
      scf.if %some {
        %t = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %ch[%n0] : !hopper.channel<2x64x64xbf16>
      }
    }
    gpu.return
  }
}

// -----

// The branches have other conditions.

gpu.module @other_condition {
  gpu.func @other_condition(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      %some = arith.cmpi sgt, %n, %n0 : i32
      // expected-note @below {{the producer's branch is here}}
      scf.if %some {
        hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute registers(160) {
      %some = arith.cmpi sge, %n, %n0 : i32
      // expected-error @below {{cannot prove that the condition is the same as that of the producer}}
      scf.if %some {
        %t = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %ch[%n0] : !hopper.channel<2x64x64xbf16>
      }
    }
    gpu.return
  }
}

// -----

// A tile is put in one branch and got after both.

gpu.module @unbalanced_branch {
  gpu.func @unbalanced_branch(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    // expected-note @below {{channel created here}}
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %d = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      %some = arith.cmpi sgt, %n, %n0 : i32
      // expected-error @below {{expects as many tiles in a channel after one branch as after the other}}
      scf.if %some {
        hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        hopper.put %d[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute registers(160) {
      %some = arith.cmpi sgt, %n, %n0 : i32
      scf.if %some {
        %u = hopper.get %d[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %d[%n0] : !hopper.channel<2x64x64xbf16>
      }
      %t = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.release %ch[%n0] : !hopper.channel<2x64x64xbf16>
    }
    gpu.return
  }
}

// -----

// Three tiles of one channel have to be put before the other one's that the first
// release waits for.

gpu.module @order {
  gpu.func @order(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %other = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      %n2 = arith.constant 2 : i32
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      hopper.put %ch[%n1], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      // expected-error @below {{never ends: the producer waits for room here}}
      hopper.put %ch[%n2], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      hopper.put %other[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @compute registers(160) {
      %n2 = arith.constant 2 : i32
      %t = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      // expected-note @below {{while a consumer waits here}}
      %u = hopper.get %other[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.release %ch[%n0] : !hopper.channel<2x64x64xbf16>
      hopper.release %other[%n0] : !hopper.channel<2x64x64xbf16>
      %v = hopper.get %ch[%n1] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.release %ch[%n1] : !hopper.channel<2x64x64xbf16>
      %w = hopper.get %ch[%n2] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.release %ch[%n2] : !hopper.channel<2x64x64xbf16>
    }
    gpu.return
  }
}

// -----

// A consumer waits within its turn for what the producer puts after the next
// consumer has released a tile.

gpu.module @order_of_turns {
  gpu.func @order_of_turns(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<1x64x64xbf16>
    %turns = hopper.create_turns : !hopper.turns
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16>
      // expected-error @below {{never ends: the producer waits for room here}}
      hopper.put %ch[%n1], %map[%c0, %c0, %c0] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @compute replicas(2) registers(160) {
      hopper.take_turn %turns : !hopper.turns
      %t = hopper.get %ch[%n0] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.release %ch[%n0] : !hopper.channel<1x64x64xbf16>
      // expected-note @below {{while a consumer waits here}}
      %u = hopper.get %ch[%n1] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.release %ch[%n1] : !hopper.channel<1x64x64xbf16>
      hopper.pass_turn %turns : !hopper.turns
    }
    gpu.return
  }
}

// -----

// A message is received that is not posted.

gpu.module @message_not_posted {
  gpu.func @message_not_posted(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %box = hopper.create_mailbox : !hopper.mailbox<1>
    hopper.warp_specialize partition @load threads(1) {
      hopper.post %box[%n0], %n : !hopper.mailbox<1>
    } partition @compute registers(160) {
      %a = hopper.receive %box[%n0] : !hopper.mailbox<1> -> i32
      // expected-error @below {{waits for use of a mailbox that the producer does not fill before the loop, branch or end where the roles meet next}}
      %b = hopper.receive %box[%n1] : !hopper.mailbox<1> -> i32
    }
    gpu.return
  }
}

// -----

// A message is posted that is not received.

gpu.module @message_not_received {
  gpu.func @message_not_received(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    // expected-note @below {{created here}}
    %box = hopper.create_mailbox : !hopper.mailbox<1>
    // expected-error @below {{ends with 1 uses that no consumer has got}}
    hopper.warp_specialize partition @load threads(1) {
      hopper.post %box[%n0], %n : !hopper.mailbox<1>
      hopper.post %box[%n1], %n : !hopper.mailbox<1>
    } partition @compute registers(160) {
      %a = hopper.receive %box[%n0] : !hopper.mailbox<1> -> i32
    }
    gpu.return
  }
}

// -----

// The end of the messages is a number that may be one of them.

gpu.module @ambiguous_end {
  gpu.func @ambiguous_end(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %box = hopper.create_mailbox : !hopper.mailbox<1>
    hopper.warp_specialize partition @load threads(1) {
      // expected-note @below {{the producer's loop is here}}
      scf.while (%i = %n0) : (i32) -> (i32) {
        %is_work = arith.cmpi slt, %i, %n : i32
        %end = arith.constant -1 : i32
        %message = arith.select %is_work, %i, %end : i32
        hopper.post %box[%i], %message : !hopper.mailbox<1>
        scf.condition(%is_work) %i : i32
      } do {
      ^bb0(%i: i32):
        %next = arith.addi %i, %n1 : i32
        scf.yield %next : i32
      }
    } partition @compute registers(160) {
      // expected-error @below {{cannot prove that the loop has as many iterations as that of the producer}}
      scf.while (%i = %n0) : (i32) -> (i32) {
        %message = hopper.receive %box[%i] : !hopper.mailbox<1> -> i32
        %is_work = arith.cmpi sge, %message, %n0 : i32
        scf.condition(%is_work) %i : i32
      } do {
      ^bb0(%i: i32):
        %next = arith.addi %i, %n1 : i32
        scf.yield %next : i32
      }
    }
    gpu.return
  }
}

// -----

// A use has another number than the one after the use before.

gpu.module @number {
  gpu.func @number(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    // expected-note @below {{cannot prove it of this value}}
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      // expected-error @below {{expects the number after that of the use before}}
      hopper.put %ch[%n1], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @compute registers(160) {
      %t = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.release %ch[%n0] : !hopper.channel<2x64x64xbf16>
    }
    gpu.return
  }
}

// -----

// Numbers start again in each iteration of an outer loop.

gpu.module @number_of_inner_loop {
  gpu.func @number_of_inner_loop(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    // expected-note @below {{cannot prove it of this value}}
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      scf.for %i = %n0 to %n step %n1 : i32 {
        // expected-error @below {{expects the number after that of the use before}}
        hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute registers(160) {
      scf.for %i = %n0 to %n step %n1 : i32 {
        %t = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %ch[%n0] : !hopper.channel<2x64x64xbf16>
      }
    }
    gpu.return
  }
}

// -----

// Steps are in control flow that cannot be followed.

gpu.module @other_control_flow_of_producer {
  gpu.func @other_control_flow_of_producer(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      // expected-error @below {{expects no step of a role in other control flow than scf.for, scf.while and scf.if}}
      scf.execute_region {
        hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        scf.yield
      }
    } partition @compute registers(160) {
      %t = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.release %ch[%n0] : !hopper.channel<2x64x64xbf16>
    }
    gpu.return
  }
}

// -----

// What is known of a number in a branch does not hold after it.

gpu.module @branch_facts {
  gpu.func @branch_facts(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %n100 = arith.constant 100 : i32
    %some = arith.cmpi sgt, %n, %n0 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %other = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      scf.if %some {
        %x = arith.minsi %n, %n100 : i32
        %last = arith.subi %x, %n1 : i32
        scf.for %i = %n1 to %x step %n1 : i32 {
          %j = arith.subi %i, %n1 : i32
          hopper.put %ch[%j], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        }
        hopper.put %ch[%last], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
      %x = arith.minsi %n, %n100 : i32
      // expected-note @below {{cannot prove it of this value}}
      %last = arith.subi %x, %n1 : i32
      scf.for %i = %n1 to %x step %n1 : i32 {
        %j = arith.subi %i, %n1 : i32
        hopper.put %other[%j], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
      // expected-error @below {{expects the number after that of the use before}}
      hopper.put %other[%last], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @compute registers(160) {
      scf.if %some {
        %x = arith.minsi %n, %n100 : i32
        %last = arith.subi %x, %n1 : i32
        scf.for %i = %n1 to %x step %n1 : i32 {
          %j = arith.subi %i, %n1 : i32
          %t = hopper.get %ch[%j] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
          hopper.release %ch[%j] : !hopper.channel<2x64x64xbf16>
        }
        %t = hopper.get %ch[%last] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %ch[%last] : !hopper.channel<2x64x64xbf16>
      }
      %x = arith.minsi %n, %n100 : i32
      %last = arith.subi %x, %n1 : i32
      scf.for %i = %n1 to %x step %n1 : i32 {
        %j = arith.subi %i, %n1 : i32
        %t = hopper.get %other[%j] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %other[%j] : !hopper.channel<2x64x64xbf16>
      }
      %t = hopper.get %other[%last] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.release %other[%last] : !hopper.channel<2x64x64xbf16>
    }
    gpu.return
  }
}

// -----

// A note that the consumers get in a loop which the producer has after it.

gpu.module @late_note {
  gpu.func @late_note(%map: !hopper.map<64x64xbf16>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16, notes>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n0], %map[%c0, %c0, %c0] note %n : !hopper.channel<2x64x64xbf16, notes>, !hopper.map<64x64xbf16>
      scf.for %i = %n1 to %n step %n1 : i32 {
        hopper.put %ch[%i], %map[%c0, %c0, %c0] note %n : !hopper.channel<2x64x64xbf16, notes>, !hopper.map<64x64xbf16>
      }
    } partition @compute registers(160) {
      // expected-error@+1 {{expects messages and notes to be received before a loop or branch}}
      scf.for %i = %n1 to %n step %n1 : i32 {
        %j = arith.subi %i, %n1 : i32
        %t, %x = hopper.get %ch[%j] : !hopper.channel<2x64x64xbf16, notes> -> !hopper.tile<64x64xbf16>, i32
        hopper.release %ch[%j] : !hopper.channel<2x64x64xbf16, notes>
      }
      %last = arith.subi %n, %n1 : i32
      %t, %x = hopper.get %ch[%last] : !hopper.channel<2x64x64xbf16, notes> -> !hopper.tile<64x64xbf16>, i32
      hopper.release %ch[%last] : !hopper.channel<2x64x64xbf16, notes>
    }
    gpu.return
  }
}

// -----

// Consumers that go on by another number than the producer has sent.

gpu.module @other_note {
  gpu.func @other_note(%map: !hopper.map<64x64xbf16>, %n: i32, %m: i32) kernel {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %first = hopper.create_channel : !hopper.channel<1x64x64xbf16, notes>
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %first[%n0], %map[%c0, %c0, %c0] note %m : !hopper.channel<1x64x64xbf16, notes>, !hopper.map<64x64xbf16>
      %p = arith.cmpi sge, %n, %n0 : i32
      // expected-note@+1 {{the producer's branch is here}}
      scf.if %p {
        hopper.put %ch[%n0], %map[%c0, %c0, %c0] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute registers(160) {
      %q, %x = hopper.get %first[%n0] : !hopper.channel<1x64x64xbf16, notes> -> !hopper.tile<64x64xbf16>, i32
      hopper.release %first[%n0] : !hopper.channel<1x64x64xbf16, notes>
      %p = arith.cmpi sge, %x, %n0 : i32
      // expected-error@+1 {{cannot prove that the condition is the same as that of the producer}}
      scf.if %p {
        %t = hopper.get %ch[%n0] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        hopper.release %ch[%n0] : !hopper.channel<2x64x64xbf16>
      }
    }
    gpu.return
  }
}

// -----

// Other partitions.

gpu.module @three {
  gpu.func @three() kernel {
    // expected-error @below {{expects a producer and consumers, or 'hopper.protocol_checked', but got 3 partitions}}
    hopper.warp_specialize partition @load threads(1) {
    } partition @one registers(104) {
    } partition @other registers(104) {
    }
    gpu.return
  }
}

// -----

gpu.module @other_way {
  gpu.func @other_way(%n: i32) kernel {
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      // expected-error @below {{expects the first partition to fill channels and the second one to read them, or 'hopper.protocol_checked' of hopper.warp_specialize}}
      %t = hopper.get %ch[%n] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
    } partition @compute registers(160) {
    }
    gpu.return
  }
}

// -----

gpu.module @stored {
  gpu.func @stored(%n: i32, %v: vector<64x64xbf16>) kernel {
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @store {
      // expected-error @below {{expects the first partition to fill channels}}
      hopper.put_fragment %ch[%n], %v : !hopper.channel<2x64x64xbf16>, vector<64x64xbf16>
    } partition @compute registers(160) {
    }
    gpu.return
  }
}

// -----

gpu.module @condition {
  gpu.func @condition(%n: i32, %c: i1) kernel {
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(160) {
      // expected-error @below {{expects the first partition to fill channels}}
      %t = hopper.get %ch[%n] if %c : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
    }
    gpu.return
  }
}

// -----

// What is known to hold is not looked at.

gpu.module @checked {
  gpu.func @checked(%n: i32) kernel {
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      %t = hopper.get %ch[%n] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
    } partition @compute registers(160) {
    } {hopper.protocol_checked}
    gpu.return
  }
}
