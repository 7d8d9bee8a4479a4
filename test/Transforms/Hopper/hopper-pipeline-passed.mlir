// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-pipeline)))' | FileCheck %s

!channel = !hopper.channel<1x64x64xbf16>
!tile = !hopper.tile<64x64xbf16>

// Blocks of other replicas are given back in the order in which they come: what
// a later stage reads of a block comes after all that an earlier stage reads of
// it, wherever it is in the order.

// CHECK-LABEL: gpu.func @passed
// CHECK: scf.for
// CHECK: hopper.get %[[K:arg[0-9]*]]
// CHECK: hopper.release %[[K]]
// CHECK: hopper.get %[[C:arg[0-9]*]]
// CHECK: hopper.release %[[C]]
// CHECK: hopper.get %[[V:arg[0-9]*]]
// CHECK: hopper.release %[[V]]
// CHECK: }
gpu.module @m {
  gpu.func @passed(%k: !channel, %v: !channel, %c: !channel, %lo: index, %hi: index, %end: index) kernel {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute {
      hopper.pipelined_for %j = %lo to %hi step 64 within %lo to %end
          schedule [#hopper.place<"qk", 0>, #hopper.place<"pv", 1>, #hopper.place<"softmax", 0>] {
        hopper.step "qk" in "compute" {
          %n = hopper.next_use %k : !channel
          %x = hopper.get %k[%n] : !channel -> !tile
          hopper.release %k[%n] : !channel
          hopper.end
        }
        hopper.step "softmax" in "compute" {
          %n = hopper.next_use %c : !channel
          %x = hopper.get %c[%n] : !channel -> !tile
          hopper.release %c[%n] : !channel
          hopper.end
        }
        hopper.step "pv" in "compute" {
          %n = hopper.next_use %v : !channel
          %x = hopper.get %v[%n] : !channel -> !tile
          hopper.release %v[%n] : !channel
          hopper.end
        }
      }
    }
    gpu.return
  }
}
