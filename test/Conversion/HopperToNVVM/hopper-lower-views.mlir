// A tile that has arrived before is named without a wait; columns of a result go
// where they belong.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower),cse)' | FileCheck %s

// CHECK-LABEL: llvm.func @views
// CHECK: %[[NUMBER:.*]] = arith.andi %[[N:.*]], %c1_i32
// CHECK-NOT: try_wait
// CHECK: ldmatrix
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %{{.*}}, %{{.*}}, box[%[[X:[a-z0-9_]+]], %[[X]], %[[X]], %[[X]]]
gpu.module @m {
  gpu.func @views(%map: !hopper.map<64x64xbf16> {hopper.operand = 0 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                  %n: i32 {hopper.operand = 1 : i64}, %x: index {hopper.operand = 0 : i64, hopper.dim = 2 : i64}) kernel {
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16>
    %staging = hopper.create_tile : !hopper.tile<64x64xbf16>
    hopper.warp_specialize partition @compute registers(240) {
      %t = hopper.view %ch[%n] : !hopper.channel<2x64x64xbf16> -> !hopper.tile<64x64xbf16>
      %v = hopper.load_fragment %t : !hopper.tile<64x64xbf16> -> vector<64x64xbf16>
      hopper.store %v, %staging, %map[%x, %x, %x] column %x : vector<64x64xbf16>, !hopper.tile<64x64xbf16>, !hopper.map<64x64xbf16>
    }
    gpu.return
  }
}
