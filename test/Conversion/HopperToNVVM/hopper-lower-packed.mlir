// Rows of several heads: coordinates of a box have the head before the row, and
// a thread finds the head and the query of each row that it writes.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower),cse)' | FileCheck %s

// CHECK: llvm.func @packed(%[[Q:[^ ]*]]: !llvm.ptr {{{[^}]*}}}, %[[O:[^ ]*]]: !llvm.ptr {{{[^}]*}}}, %[[LSE:[^ ]*]]: !llvm.ptr<1>, %{{.*}}: i32, %[[STRIDE0:[^ ]*]]: i64, %{{.*}}: i32, %[[STRIDE1:[^ ]*]]: i64, %{{.*}}: i32, %[[P:[^ ]*]]: i32, %[[B:[^ ]*]]: i32, %[[H:[^ ]*]]: i32, %[[R:[^ ]*]]: i32)
// CHECK-SAME: {columns = 64 : i64, dims = array<i64: 0, 1, 2, 3>, kind = "map", operand = 0 : i64, packed, rows = 64 : i64}
// CHECK-SAME: {columns = 64 : i64, dims = array<i64: 0, 2, 1, 3>, kind = "map", operand = 1 : i64, packed, rows = 64 : i64}
// CHECK-SAME: {kind = "packed_count"}
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[Q]], %{{.*}}, box[%c0_i32, %[[H]], %[[R]], %[[B]]]
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[O]], %{{.*}}, box[%c0_i32, %[[H]], %[[R]], %[[B]]]
// CHECK: %[[AT:.*]] = arith.addi %{{.*}} : i64
// CHECK: arith.cmpi slt, %[[AT]], %{{.*}} : i64
// CHECK: %[[ROW:.*]] = arith.trunci %[[AT]] : i64 to i32
// CHECK: %[[FIRST:.*]] = arith.muli %[[H]], %[[P]] : i32
// CHECK: %[[INGROUP:.*]] = arith.remui %[[ROW]], %[[P]] : i32
// CHECK: %[[HEAD:.*]] = arith.addi %[[FIRST]], %[[INGROUP]] : i32
// CHECK: %[[QUERY:.*]] = arith.divui %[[ROW]], %[[P]] : i32
// CHECK: %[[HEAD64:.*]] = arith.extsi %[[HEAD]]
// CHECK: arith.muli %[[HEAD64]], %[[STRIDE1]] : i64
// CHECK: arith.extsi %[[QUERY]]
// CHECK: llvm.store %{{.*}} : f32
gpu.module @m {
  gpu.func @packed(%q: !hopper.map<64x64xbf16, packed> {hopper.operand = 0 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                   %o: !hopper.map<64x64xbf16, packed> {hopper.operand = 1 : i64, hopper.dims = array<i64: 0, 2, 1, 3>},
                   %lse: memref<?x?x?xf32, strided<[?, ?, 1]>> {hopper.operand = 2 : i64},
                   %p: index {hopper.packed_count},
                   %b: index {hopper.operand = 3 : i64, hopper.dim = 0 : i64},
                   %h: index {hopper.operand = 3 : i64, hopper.dim = 1 : i64},
                   %r: index {hopper.operand = 3 : i64, hopper.dim = 2 : i64})
      kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 256, pack_gqa>} {
    %n = arith.constant 0 : i32
    %ch = hopper.create_channel : !hopper.channel<1x64x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n], %q[%b, %h, %r] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16, packed>
    } partition @compute registers(256) {
      %v = arith.constant dense<1.0> : vector<64x64xbf16>
      %l = arith.constant dense<2.0> : vector<1x64xf32>
      %t = hopper.get %ch[%n] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.release %ch[%n] : !hopper.channel<1x64x64xbf16>
      hopper.store %v, %t, %o[%b, %h, %r] : vector<64x64xbf16>, !hopper.tile<64x64xbf16>, !hopper.map<64x64xbf16, packed>
      hopper.store_rows %l, %lse[%b, %h, %r] dim 2 end %r packed %p heads 1 : vector<1x64xf32>, memref<?x?x?xf32, strided<[?, ?, 1]>>
    }
    gpu.return
  }
}
