// RUN: attn-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-number-channels)))' | FileCheck %s

!channel = !hopper.channel<2x64x64xbf16>

// What is used once for each work tile counts with it. What is used for each
// block is carried, as one value for what is got and what is given back.

// CHECK-LABEL: gpu.func @counts
// CHECK: partition @load
// CHECK: hopper.work_loop (%{{.*}}, %{{.*}}, %{{.*}}, %[[N:.*]]) in (%{{.*}}) iter_args(%[[K:.*]] = %{{.*}}) : i32 {
// CHECK: hopper.put %[[Q:.*]][%[[N]]]
// CHECK: scf.for %[[T:.*]] = %[[LO:.*]] to
// CHECK: %[[BACK:.*]] = arith.subi %[[T]], %[[LO]]
// CHECK: %[[USE:.*]] = arith.addi %[[K]], %[[BACK]]
// CHECK: hopper.put %{{.*}}[%[[USE]]]
// CHECK: hopper.end %{{.*}} : i32
// CHECK: partition @compute
// CHECK: hopper.work_loop (%{{.*}}, %{{.*}}, %{{.*}}, %[[N:.*]]) in (%{{.*}}) iter_args(%[[K:.*]] = %{{.*}}) : i32 {
// CHECK: scf.if
// CHECK: hopper.get %[[CH:.*]][%[[K]]]
// CHECK: hopper.release %[[CH]][%[[K]]]
// CHECK: scf.for
// CHECK: %[[FIRST:.*]] = arith.addi %[[K]], %{{.*}}
// CHECK: %[[USE:.*]] = arith.addi %[[FIRST]], %{{.*}}
// CHECK: hopper.get %[[CH]][%[[USE]]]
// CHECK-NOT: hopper.next_use
gpu.module @m {
  gpu.func @counts(%map: !hopper.map<64x64xbf16>, %n: index, %lo: i32, %hi: i32, %one: i32, %c: i1) kernel {
    %q = hopper.create_channel : !channel
    %k = hopper.create_channel : !channel
    hopper.warp_specialize
    partition @load threads(1) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
        %u = hopper.next_use %q : !channel
        hopper.put %q[%u], %map[%b, %h, %t] : !channel, !hopper.map<64x64xbf16>
        scf.for %i = %lo to %hi step %one : i32 {
          %v = hopper.next_use %k : !channel
          hopper.put %k[%v], %map[%b, %h, %t] : !channel, !hopper.map<64x64xbf16>
        }
      }
    } partition @compute replicas(1) registers(240) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
        %u = hopper.next_use %q : !channel
        %tile = hopper.get %q[%u] : !channel -> !hopper.tile<64x64xbf16>
        %r = hopper.next_use %q : !channel
        hopper.release %q[%r] : !channel
        scf.if %c {
          %v = hopper.next_use %k : !channel
          %x = hopper.get %k[%v] : !channel -> !hopper.tile<64x64xbf16>
          %w = hopper.next_use %k : !channel
          hopper.release %k[%w] : !channel
          scf.for %i = %lo to %hi step %one : i32 {
            %v1 = hopper.next_use %k : !channel
            %x1 = hopper.get %k[%v1] : !channel -> !hopper.tile<64x64xbf16>
            %w1 = hopper.next_use %k : !channel
            hopper.release %k[%w1] : !channel
          }
        }
      }
    }
    gpu.return
  }
}

// -----

// A tile that is named again in a later stage: its reader counts by itself.

!channel = !hopper.channel<2x64x64xbf16>

// CHECK-LABEL: gpu.func @readers
// CHECK: partition @compute
// CHECK: hopper.get %[[CH:.*]][%c0_i32]
// CHECK: scf.for %[[T:.*]] =
// CHECK: %[[USE:.*]] = arith.addi %{{.*}}, %c1_i32{{.*}}
// CHECK: hopper.get %[[CH]][%[[USE]]]
// CHECK: hopper.view %[[CH]][%[[VIEWED:.*]]] :
// CHECK: hopper.release %[[CH]][%[[VIEWED]]]
// CHECK: }
// CHECK: hopper.view %[[CH]][%[[LAST:.*]]] :
// CHECK: hopper.release %[[CH]][%[[LAST]]]
gpu.module @m {
  gpu.func @readers(%lo: i32, %hi: i32, %one: i32) kernel {
    %ch = hopper.create_channel : !channel
    hopper.warp_specialize
    partition @load threads(1) {
    } partition @compute replicas(1) registers(240) {
      %a = hopper.next_use %ch : !channel
      %x = hopper.get %ch[%a] : !channel -> !hopper.tile<64x64xbf16>
      scf.for %i = %lo to %hi step %one : i32 {
        %b = hopper.next_use %ch : !channel
        %y = hopper.get %ch[%b] : !channel -> !hopper.tile<64x64xbf16>
        %c = hopper.next_use %ch reader 1 : !channel
        %z = hopper.view %ch[%c] : !channel -> !hopper.tile<64x64xbf16>
        %p = hopper.load_fragment %z : !hopper.tile<64x64xbf16> -> vector<64x64xbf16>
        %d = hopper.next_use %ch : !channel
        hopper.release %ch[%d] : !channel
      }
      %e = hopper.next_use %ch reader 1 : !channel
      %z = hopper.view %ch[%e] : !channel -> !hopper.tile<64x64xbf16>
      %p = hopper.load_fragment %z : !hopper.tile<64x64xbf16> -> vector<64x64xbf16>
      %f = hopper.next_use %ch : !channel
      hopper.release %ch[%f] : !channel
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @unequal(%map: !hopper.map<64x64xbf16>, %n: index, %lo: i32, %hi: i32, %one: i32, %c: i1) kernel {
    %k = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize
    partition @load threads(1) {
      // expected-error @+1 {{expects as many uses of a channel in each iteration, and a variable of type i32}}
      scf.for %i = %lo to %hi step %one : i32 {
        scf.if %c {
          %v = hopper.next_use %k : !hopper.channel<2x64x64xbf16>
          hopper.put %k[%v], %map[%n, %n, %n] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        }
      }
    } partition @compute replicas(1) registers(240) {
      %u = hopper.next_use %k : !hopper.channel<2x64x64xbf16>
      %t = hopper.get %k[%u] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @before(%map: !hopper.map<64x64xbf16>, %n: index) kernel {
    %k = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize
    partition @load threads(1) {
      %u = hopper.next_use %k : !hopper.channel<2x64x64xbf16>
      hopper.put %k[%u], %map[%n, %n, %n] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      // expected-error @+1 {{expects no use of its channels before it}}
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
        %v = hopper.next_use %k : !hopper.channel<2x64x64xbf16>
        hopper.put %k[%v], %map[%n, %n, %n] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute replicas(1) registers(240) {
      %u = hopper.next_use %k : !hopper.channel<2x64x64xbf16>
      %t = hopper.get %k[%u] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
    }
    gpu.return
  }
}

// -----

// What is used in some iterations has a count that a branch hands on, and the
// loop carries.

gpu.module @m {
  // CHECK-LABEL: gpu.func @sometimes
  // CHECK: scf.while (%{{.*}} = %{{.*}}, %[[N:.*]] = %c0_i32) : (i32, i32) -> (i32, i32) {
  // CHECK: scf.condition(%{{.*}}) %{{.*}}, %[[N]] : i32, i32
  // CHECK: ^bb0(%{{.*}}: i32, %[[OWN:.*]]: i32):
  // CHECK: %[[NEXT:.*]] = scf.if %{{.*}} -> (i32) {
  // CHECK: hopper.put %{{.*}}[%[[OWN]]]
  // CHECK: %[[MORE:.*]] = arith.addi %[[OWN]], %c1_i32
  // CHECK: scf.yield %[[MORE]]
  // CHECK: } else {
  // CHECK: scf.yield %[[OWN]]
  // CHECK: scf.yield %{{.*}}, %[[NEXT]]
  gpu.func @sometimes(%map: !hopper.map<64x64xbf16>, %n: index, %first: i32, %c: i1) kernel {
    %k = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize
    partition @load threads(1) {
      %r = scf.while (%x = %first) : (i32) -> i32 {
        scf.condition(%c) %x : i32
      } do {
      ^bb0(%x: i32):
        scf.if %c {
          %v = hopper.next_use %k : !hopper.channel<2x64x64xbf16>
          hopper.put %k[%v], %map[%n, %n, %n] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
        }
        scf.yield %x : i32
      }
    } partition @compute replicas(1) registers(240) {
      %u = hopper.next_use %k : !hopper.channel<2x64x64xbf16>
      %t = hopper.get %k[%u] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
    }
    gpu.return
  }
}

// -----

// How many uses there were is known behind the loop if it carries them.

gpu.module @m {
  // CHECK-LABEL: gpu.func @behind
  // CHECK: partition @compute
  // CHECK: %[[R:.*]] = hopper.work_loop (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) in (%{{.*}}) iter_args(%[[N:.*]] = %{{.*}}) : i32 {
  // CHECK: hopper.get %[[CH:.*]][%[[N]]]
  // CHECK: %[[NEXT:.*]] = arith.addi %[[N]], %c1_i32
  // CHECK: hopper.end %[[NEXT]] : i32
  // CHECK: hopper.get %[[CH]][%[[R]]]
  gpu.func @behind(%map: !hopper.map<64x64xbf16>, %n: index) kernel {
    %k = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    hopper.warp_specialize
    partition @load threads(1) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
        %v = hopper.next_use %k : !hopper.channel<2x64x64xbf16>
        hopper.put %k[%v], %map[%n, %n, %n] : !hopper.channel<2x64x64xbf16>, !hopper.map<64x64xbf16>
      }
    } partition @compute replicas(1) registers(240) {
      hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
        %u = hopper.next_use %k : !hopper.channel<2x64x64xbf16>
        %x = hopper.get %k[%u] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
        %w = hopper.next_use %k : !hopper.channel<2x64x64xbf16>
        hopper.release %k[%w] : !hopper.channel<2x64x64xbf16>
      }
      %u = hopper.next_use %k : !hopper.channel<2x64x64xbf16>
      %x = hopper.get %k[%u] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
    }
    gpu.return
  }
}

// -----

// A loop that skips the first use of a turn, which a condition leaves out, and the use behind it: of three iterations, 0 and 1, and 2.

// CHECK-LABEL: gpu.func @skipped
// CHECK: partition @compute
// CHECK: scf.for %[[T:.*]] = %c0_i32
// CHECK: %[[PASSED:.*]] = arith.subi %[[T]], %c0_i32
// CHECK: %[[BEFORE:.*]] = arith.constant -1 : i32
// CHECK: %[[USE:.*]] = arith.addi %[[PASSED]], %[[BEFORE]]
// CHECK: hopper.take_turn %{{.*}}[%[[USE]]]
// CHECK: }
// CHECK: %[[BEFORE:.*]] = arith.constant -1 : i32
// CHECK: %[[USE:.*]] = arith.addi %{{.*}}, %[[BEFORE]]
// CHECK: hopper.take_turn %{{.*}}[%[[USE]]]
gpu.module @m {
  gpu.func @skipped(%v: vector<64x64xf32>, %m: memref<?x4096xf32>, %counters: memref<?xi32>, %x: index) kernel {
    %t = hopper.create_turns : !hopper.turns
    hopper.warp_specialize
    partition @turns threads(1) {
      %u = hopper.next_use %t : !hopper.turns
      hopper.hold_turn %t[%u] after %x in %counters[%x] : memref<?xi32>
    } partition @compute replicas(1) registers(240) {
      %c0_i32 = arith.constant 0 : i32
      %c1_i32 = arith.constant 1 : i32
      %c3_i32 = arith.constant 3 : i32
      scf.for %i = %c0_i32 to %c3_i32 step %c1_i32 : i32 {
        %exists = arith.cmpi sgt, %i, %c0_i32 : i32
        %u = hopper.next_use %t skipped 1 : !hopper.turns
        %first1, %last1 = hopper.take_turn %t[%u] if %exists
        hopper.reduce_add %v, %m[%x] if %exists first %first1 : vector<64x64xf32>, memref<?x4096xf32>
        hopper.give_turn %t if %exists
      }
      %u = hopper.next_use %t skipped 1 : !hopper.turns
      %first2, %last2 = hopper.take_turn %t[%u]
      hopper.reduce_add %v, %m[%x] first %first2 : vector<64x64xf32>, memref<?x4096xf32>
      hopper.give_turn %t
    }
    gpu.return
  }
}

// -----

// The same for each work tile: the next one goes on with number 3, not 4.

// CHECK-LABEL: gpu.func @skipped_by_tile
// CHECK: hopper.work_loop (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) in (%{{.*}}) iter_args(%[[USED:.*]] = %{{.*}}) : i32 {
// CHECK: scf.for
// CHECK: %[[LENGTH:.*]] = arith.maxsi
// CHECK: %[[END:.*]] = arith.addi %[[USED]], %[[LENGTH]]
// CHECK: scf.for
// CHECK: hopper.take_turn
// CHECK: }
// CHECK: hopper.take_turn
// CHECK: hopper.end %[[END]] : i32
gpu.module @m {
  gpu.func @skipped_by_tile(%v: vector<64x64xf32>, %m: memref<?x4096xf32>, %counters: memref<?xi32>, %x: index, %lo: i32, %hi: i32) kernel {
    %t = hopper.create_turns : !hopper.turns
    hopper.warp_specialize
    partition @turns threads(1) {
      hopper.work_loop (%b, %h, %k, %number) in (%x, %x, %x) {
        %c1_i32 = arith.constant 1 : i32
        scf.for %i = %lo to %hi step %c1_i32 : i32 {
          %u = hopper.next_use %t : !hopper.turns
          hopper.hold_turn %t[%u] after %x in %counters[%x] : memref<?xi32>
        }
      }
    } partition @compute replicas(1) registers(240) {
      hopper.work_loop (%b, %h, %k, %number) in (%x, %x, %x) {
        %c1_i32 = arith.constant 1 : i32
        scf.for %i = %lo to %hi step %c1_i32 : i32 {
          %exists = arith.cmpi sgt, %i, %lo : i32
          %u = hopper.next_use %t skipped 1 : !hopper.turns
          %first3, %last3 = hopper.take_turn %t[%u] if %exists
          hopper.reduce_add %v, %m[%x] if %exists first %first3 : vector<64x64xf32>, memref<?x4096xf32>
          hopper.give_turn %t if %exists
        }
        %u = hopper.next_use %t skipped 1 : !hopper.turns
        %first4, %last4 = hopper.take_turn %t[%u]
        hopper.reduce_add %v, %m[%x] first %first4 : vector<64x64xf32>, memref<?x4096xf32>
        hopper.give_turn %t
      }
    }
    gpu.return
  }
}
