// Tiles that threads copy, and boxes that start at a column.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower),cse)' | FileCheck %s

// A strided map is an address, the strides of batch, head and row, and the
// number of rows.

// CHECK: llvm.func @copies(
// CHECK-SAME: %[[BASE:[^ ]*]]: !llvm.ptr<1>, %[[SB:[^ ]*]]: i64, %[[SH:[^ ]*]]: i64, %[[SR:[^ ]*]]: i64, %[[ROWS:[^ ]*]]: i32,
// CHECK-SAME: hopper.params = [{kind = "pointer", operand = 0 : i64}, {dim = 0 : i64, kind = "stride", operand = 0 : i64}, {dim = 2 : i64, kind = "stride", operand = 0 : i64}, {dim = 1 : i64, kind = "stride", operand = 0 : i64}, {dim = 1 : i64, kind = "extent", operand = 0 : i64}

// All threads of the producer arrive.
// CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK: nvvm.mbarrier.init %{{.*}}, %c128_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c4_i32

// Each copies 8 columns of every 16th row, from wherever they are, and zeros
// for what is outside.
// CHECK: nvvm.setmaxregister  decrease
// CHECK-NOT: cp.async.bulk.tensor
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: arith.muli %{{.*}}, %[[SB]] : i64
// CHECK: arith.muli %{{.*}}, %[[SH]] : i64
// CHECK: %[[HEAD:.*]] = llvm.getelementptr %[[BASE]]
// CHECK: scf.for %[[R:.*]] = %c0_i32 to %c64_i32 step %c16_i32
// CHECK:   %[[T:.*]] = arith.shrui %[[TID]], %c3_i32
// CHECK:   %[[ROW:.*]] = arith.addi %[[R]], %[[T]]
// CHECK:   arith.cmpi ult, %{{.*}}, %[[ROWS]] : i32
// CHECK:   arith.muli %{{.*}}, %[[SR]] : i64
// CHECK:   %[[SWIZZLE:.*]] = arith.andi %[[ROW]], %c7_i32
// CHECK:   arith.xori %{{.*}}, %[[SWIZZLE]]
// The first 64 columns are there in each row, of the rest 8.
// CHECK:   %[[FIRST:.*]] = scf.if %{{.*}} -> (vector<8xi16>) {
// CHECK-COUNT-8: llvm.load %{{.*}} : !llvm.ptr<1> -> i16
// CHECK:   } else {
// CHECK-NEXT: scf.yield %cst
// CHECK:   llvm.store %[[FIRST]], %{{.*}} {alignment = 16 : i64} : vector<8xi16>, !llvm.ptr<3>
// CHECK:   %[[IN:.*]] = arith.cmpi slt, %{{.*}}, %c72_i32
// CHECK:   %[[BOTH:.*]] = arith.andi %{{.*}}, %[[IN]]
// CHECK:   scf.if %[[BOTH]] -> (vector<8xi16>) {
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>
// CHECK-NEXT: llvm.inline_asm {{.*}}"mbarrier.arrive.shared::cta.b64 _, [$0];"

// Results go the same way back.
// CHECK: nvvm.setmaxregister  increase
// CHECK: stmatrix
// CHECK: nvvm.barrier id
// CHECK: scf.for %{{.*}} = %c0_i32 to %c64_i32 step %c16_i32
// CHECK:   scf.if
// CHECK:     llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xi16>
// CHECK-COUNT-8: llvm.store %{{.*}} : i16, !llvm.ptr<1>
// CHECK-NOT: cp.async.bulk
// CHECK: llvm.return
gpu.module @kernels {
  gpu.func @copies(%from: !hopper.map<64x72xbf16, strided> {hopper.operand = 0 : i64, hopper.dims = array<i64: 0, 2, 1, 3>},
                   %to: !hopper.map<64x72xbf16, strided> {hopper.operand = 1 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                   %n: i32 {hopper.operand = 2 : i64}, %x: index {hopper.operand = 3 : i64, hopper.dim = 0 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 64, registers = 208, strided>} {
    %ch = hopper.create_channel : !hopper.channel<1x64x72xbf16>
    hopper.warp_specialize partition @load {
      hopper.put %ch[%n], %from[%x, %x, %x] : !hopper.channel<1x64x72xbf16>, !hopper.map<64x72xbf16, strided>
    } partition @compute registers(208) {
      %wg = hopper.warpgroup_id
      %t = hopper.get %ch[%n] : !hopper.channel<1x64x72xbf16> -> !hopper.tile<64x72xbf16>
      hopper.release %ch[%n] : !hopper.channel<1x64x72xbf16>
      %r = hopper.rows %t[%wg] : !hopper.tile<64x72xbf16> -> !hopper.tile<64x72xbf16>
      %v = arith.constant dense<1.0> : vector<72x64xbf16>
      hopper.store %v, %r, %to[%x, %x, %x] : vector<72x64xbf16>, !hopper.tile<64x72xbf16>, !hopper.map<64x72xbf16, strided>
    }
    gpu.return
  }

  // A second chunk may start with column 48.

  // CHECK: llvm.func @chunks(
  // CHECK: scf.for
  // CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %c48_i32 : i32
  // CHECK: arith.cmpi slt, %[[AT]], %c72_i32 : i32
  gpu.func @chunks(%from: !hopper.map<64x72xbf16, strided> {hopper.operand = 0 : i64, hopper.dims = array<i64: 0, 2, 1, 3>},
                   %n: i32 {hopper.operand = 1 : i64}, %x: index {hopper.operand = 2 : i64, hopper.dim = 0 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 64, registers = 208, strided>} {
    %ch = hopper.create_channel : !hopper.channel<1x64x72xbf16, chunks of 48>
    hopper.warp_specialize partition @load {
      hopper.put %ch[%n], %from[%x, %x, %x] : !hopper.channel<1x64x72xbf16, chunks of 48>, !hopper.map<64x72xbf16, strided>
    } partition @compute registers(208) {
      %t = hopper.get %ch[%n] : !hopper.channel<1x64x72xbf16, chunks of 48> -> !hopper.tile<64x72xbf16, chunks of 48>
      hopper.release %ch[%n] : !hopper.channel<1x64x72xbf16, chunks of 48>
    }
    gpu.return
  }

  // CHECK: llvm.func @boxes(
  // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%c0_i32,
  // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%c48_i32,
  gpu.func @boxes(%map: !hopper.map<64x96xbf16> {hopper.operand = 0 : i64, hopper.dims = array<i64: 0, -1, 1, 2>},
                  %n: i32 {hopper.operand = 1 : i64}, %x: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 128, registers = 240>} {
    %ch = hopper.create_channel : !hopper.channel<1x64x96xbf16, chunks of 48>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n], %map[%x, %x, %x] : !hopper.channel<1x64x96xbf16, chunks of 48>, !hopper.map<64x96xbf16>
    } partition @compute registers(240) {
      %t = hopper.get %ch[%n] : !hopper.channel<1x64x96xbf16, chunks of 48> -> !hopper.tile<64x96xbf16, chunks of 48>
      %wg = hopper.warpgroup_id
      // CHECK: arith.muli %{{.*}}, %c8192_i32
      %own = hopper.columns %t[%wg] : !hopper.tile<64x96xbf16, chunks of 48> -> !hopper.tile<64x48xbf16, chunks of 48>
      %v = hopper.load_fragment %t : !hopper.tile<64x96xbf16, chunks of 48> -> vector<96x64xbf16>
      %o = hopper.load_fragment %own : !hopper.tile<64x48xbf16, chunks of 48> -> vector<48x64xbf16>
      hopper.release %ch[%n] : !hopper.channel<1x64x96xbf16, chunks of 48>
    }
    gpu.return
  }

  // Boxes of the hardware are 64 columns each, from the first one on; stores
  // are waited for where the program says so.

  // CHECK: llvm.func @column(
  // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%
  // CHECK: arith.addi %{{.*}}, %c64_i32 : i32
  // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%
  // CHECK: nvvm.cp.async.bulk.wait_group  0 {read}
  gpu.func @column(%map: !hopper.map<64x128xbf16> {hopper.operand = 0 : i64, hopper.dims = array<i64: 0, -1, 1, 2>},
                   %n: i32 {hopper.operand = 1 : i64}, %x: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 128, registers = 240>} {
    %ch = hopper.create_channel : !hopper.channel<1x64x128xbf16>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n], %map[%x, %x, %x] column %x : !hopper.channel<1x64x128xbf16>, !hopper.map<64x128xbf16>
    } partition @compute registers(240) {
      %t = hopper.get %ch[%n] : !hopper.channel<1x64x128xbf16> -> !hopper.tile<64x128xbf16>
      hopper.drain
      hopper.release %ch[%n] : !hopper.channel<1x64x128xbf16>
    }
    gpu.return
  }
}

// Elements of a vector are copied by all threads of the warp, some of which may
// have none, and are 0 outside of the buffer. Each thread arrives when its
// copies are done, and does not end before.

// CHECK: llvm.func @vector(%[[SOURCE:[^ ]*]]: !llvm.ptr<1>, %[[EXTENT:[^ ]*]]: i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c32_i32
// CHECK: %[[IN:.*]] = arith.cmpi ult, %{{.*}}, %{{.*}} : i64
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: %[[BYTES:.*]] = arith.select %[[IN]], %c4_i32, %c0_i32
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 4, cache = ca, %[[BYTES]]
// CHECK: scf.if
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.mbarrier.arrive %{{.*}} {noinc = true}
// CHECK: nvvm.cp.async.commit.group
// CHECK-NEXT: nvvm.cp.async.wait.group 0
gpu.module @v {
  gpu.func @vector(%ids: memref<?xi32> {hopper.operand = 0 : i64}, %n: i32 {hopper.operand = 1 : i64},
                   %x: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64}) kernel {
    %ch = hopper.create_channel : !hopper.channel<2x48xi32>
    hopper.warp_specialize partition @load warps(1) {
      hopper.put_vector %ch[%n], %ids[%x] zero_fill : !hopper.channel<2x48xi32>, memref<?xi32>
    } partition @compute registers(240) {
      %t = hopper.get %ch[%n] : !hopper.channel<2x48xi32> -> !hopper.tile<48xi32>
      %v = hopper.load_fragment %t : !hopper.tile<48xi32> -> vector<48x1xi32>
      hopper.release %ch[%n] : !hopper.channel<2x48xi32>
    }
    gpu.return
  }
}

// Booleans are bytes of the buffer and bits of the vector. A warp loads them
// without a wait in between, and votes; one thread waits for room, writes the
// words and arrives. A thread that reads them shifts by its first column, and
// tests constant bits.

// CHECK-LABEL: llvm.func @bits
// CHECK: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK: %[[LAST:.*]] = arith.cmpi ult, %{{.*}}, %c16_i32
// CHECK: ld.global.nc.u8
// CHECK: %[[READ:.*]] = arith.andi %{{.*}}, %[[LAST]] : i1
// CHECK: ld.global.nc.u8{{.*}}, %[[READ]] :
// CHECK-NOT: nvvm.cp.async
// CHECK-COUNT-2: nvvm.vote.sync ballot
// CHECK: scf.if
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK-COUNT-2: llvm.store
// CHECK: mbarrier.arrive
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: %[[FIRST:.*]] = arith.shli %{{.*}}, %c1_i32
// CHECK: %[[WORD:.*]] = llvm.load {{.*}} -> i32
// CHECK: %[[BITS:.*]] = arith.shrui %[[WORD]], %[[FIRST]]
// CHECK: and.b32 t, $1, 1;{{.*}} %[[BITS]]
// CHECK-COUNT-7: %[[BITS]]
// CHECK: %[[WORD:.*]] = llvm.load {{.*}} -> i32
// CHECK: %[[LAST:.*]] = arith.shrui %[[WORD]], %[[FIRST]]
// CHECK-COUNT-4: %[[LAST]]
// CHECK-NOT: %[[LAST]]
// CHECK: nvvm.bar.warp.sync
// CHECK: llvm.return
gpu.module @w {
  gpu.func @bits(%flags: memref<?xi1> {hopper.operand = 0 : i64}, %n: i32 {hopper.operand = 1 : i64},
                 %x: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64}) kernel {
    %ch = hopper.create_channel : !hopper.channel<2x48xi1>
    hopper.warp_specialize partition @load warps(1) {
      hopper.put_vector %ch[%n], %flags[%x] zero_fill : !hopper.channel<2x48xi1>, memref<?xi1>
    } partition @compute registers(240) {
      %t = hopper.get %ch[%n] : !hopper.channel<2x48xi1> -> !hopper.tile<48xi1>
      %v = hopper.load_fragment %t : !hopper.tile<48xi1> -> vector<48x1xi1>
      hopper.release %ch[%n] : !hopper.channel<2x48xi1>
    }
    gpu.return
  }
}

// Elements of 8 bytes are copied as those of 4 are. Smaller ones are loaded
// before the wait, by each thread, stored behind it, and then each arrives.

// CHECK-LABEL: llvm.func @sizes
// CHECK: ld.global.nc.b16
// CHECK: ld.global.nc.b16
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: llvm.store %{{.*}} : i16
// CHECK: scf.if
// CHECK: llvm.store %{{.*}} : i16
// CHECK: nvvm.bar.warp.sync
// CHECK: mbarrier.arrive.shared
// CHECK: ld.global.nc.u8
// CHECK: arith.trunci %{{.*}} : i32 to i8
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: llvm.store %{{.*}} : i8
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 8, cache = ca
// CHECK: nvvm.cp.async.mbarrier.arrive
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> vector<2xbf16>
// CHECK: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<3> -> vector<2xi8>
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<2xi64>
gpu.module @u {
  gpu.func @sizes(%halves: memref<?xbf16> {hopper.operand = 0 : i64}, %bytes: memref<?xi8> {hopper.operand = 1 : i64},
                  %ids: memref<?xi64> {hopper.operand = 2 : i64}, %n: i32 {hopper.operand = 3 : i64},
                  %x: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64}) kernel {
    %a = hopper.create_channel : !hopper.channel<2x48xbf16>
    %b = hopper.create_channel : !hopper.channel<2x32xi8>
    %c = hopper.create_channel : !hopper.channel<2x32xi64>
    hopper.warp_specialize partition @load warps(1) {
      hopper.put_vector %a[%n], %halves[%x] zero_fill : !hopper.channel<2x48xbf16>, memref<?xbf16>
      hopper.put_vector %b[%n], %bytes[%x] zero_fill : !hopper.channel<2x32xi8>, memref<?xi8>
      hopper.put_vector %c[%n], %ids[%x] zero_fill : !hopper.channel<2x32xi64>, memref<?xi64>
    } partition @compute registers(240) {
      %0 = hopper.get %a[%n] : !hopper.channel<2x48xbf16> -> !hopper.tile<48xbf16>
      %u = hopper.load_fragment %0 : !hopper.tile<48xbf16> -> vector<48x1xbf16>
      %1 = hopper.get %b[%n] : !hopper.channel<2x32xi8> -> !hopper.tile<32xi8>
      %v = hopper.load_fragment %1 : !hopper.tile<32xi8> -> vector<32x1xi8>
      %2 = hopper.get %c[%n] : !hopper.channel<2x32xi64> -> !hopper.tile<32xi64>
      %w = hopper.load_fragment %2 : !hopper.tile<32xi64> -> vector<32x1xi64>
    }
    gpu.return
  }
}
