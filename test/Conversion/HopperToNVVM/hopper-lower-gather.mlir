// Reads of captures: what is masked or out of range is not read and counts as 0.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower),cse)' | FileCheck %s

// CHECK: llvm.func @gathers(%[[A:[^ ]*]]: !llvm.ptr<1>, %[[STRIDE:[^ ]*]]: i64, %[[N:[^ ]*]]: i32, %[[B:[^ ]*]]: !llvm.ptr<1>, %[[NB:[^ ]*]]: i32, %[[C:[^ ]*]]: !llvm.ptr<1>, %[[NC:[^ ]*]]: i32, %[[X:[^ ]*]]: i32, %[[P:[^ ]*]]: i1, %[[ANY:[^ ]*]]: i64, %[[D:[^ ]*]]: !llvm.ptr<1>)
// CHECK: %[[ROW:.*]] = arith.addi

// The first extent is known.
// CHECK: %[[R0:.*]] = arith.cmpi ult, %[[X]], %c4_i32
// CHECK: %[[P0:.*]] = arith.andi %[[P]], %[[R0]]
// CHECK: %[[R1:.*]] = arith.cmpi ult, %[[X]], %[[N]]
// CHECK: %[[P1:.*]] = arith.andi %[[P0]], %[[R1]]
// CHECK: %[[X64:.*]] = arith.extsi %[[X]]
// CHECK: %[[T:.*]] = arith.muli %[[X64]], %[[STRIDE]]
// CHECK: %[[SUM:.*]] = arith.addi %[[T]], %[[X64]]
// CHECK: %[[BYTES:.*]] = arith.muli %[[SUM]], %c4_i64
// CHECK: llvm.getelementptr %[[A]][%[[BYTES]]]
// CHECK: %[[BITS:.*]] = llvm.inline_asm {{.*}} "{ mov.b32 $0, 0; @$2 ld.global.nc.b32 $0, [$1]; }", "{{=&?r}},l,b" %{{.*}}, %[[P1]]

// Of an index of which nothing is known, in 64 bits. A boolean is a byte.
// CHECK: %[[NB64:.*]] = arith.extsi %[[NB]]
// CHECK: arith.cmpi ult, %[[ANY]], %[[NB64]]
// CHECK: %[[BOOL:.*]] = llvm.inline_asm {{.*}} "{ mov.b32 $0, 0; @$2 ld.global.nc.u8 $0, [$1]; }", "{{=&?r}},l,b"

// CHECK: arith.cmpi ult, %[[X]], %[[NC]]
// CHECK: llvm.inline_asm {{.*}} "{ mov.b64 $0, 0; @$2 ld.global.nc.b64 $0, [$1]; }", "{{=&?l}},l,b"

// Without an index there is nothing to check.
// CHECK: %[[BITS:.*]] = llvm.inline_asm {{.*}} "{ mov.b16 $0, 0; @$2 ld.global.nc.b16 $0, [$1]; }", "{{=&?h}},l,b" %{{.*}}, %[[P]]

// One read for each query of the thread.
// CHECK: arith.cmpi ult, %[[ROW]], %[[N]]
// CHECK: ld.global.nc.b32
// CHECK: %[[ROW8:.*]] = arith.addi %[[ROW]], %c8_i32
// CHECK: arith.cmpi ult, %[[ROW8]], %[[N]]
// CHECK: ld.global.nc.b32
// CHECK-NOT: ld.global
gpu.module @m {
  gpu.func @gathers(%a: memref<4x?xf32, strided<[?, 1]>> {hopper.operand = 3 : i64},
      %b: memref<?xi1, strided<[1]>> {hopper.operand = 4 : i64},
      %c: memref<?xindex, strided<[1]>> {hopper.operand = 5 : i64},

      %x: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64},
      %p: i1 {hopper.operand = 7 : i64},
      %any: index {hopper.operand = 8 : i64},
      %d: memref<f16> {hopper.operand = 6 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %0 = attn.gather %a[%x, %x] mask %p : memref<4x?xf32, strided<[?, 1]>>, (index, index), i1 -> f32
      %1 = attn.gather %b[%any] mask %p : memref<?xi1, strided<[1]>>, (index), i1 -> i1
      %2 = attn.gather %c[%x] mask %p : memref<?xindex, strided<[1]>>, (index), i1 -> index
      %3 = attn.gather %d[] mask %p : memref<f16>, i1 -> f16
      %i = hopper.iota : vector<1x64xindex>
      %4 = attn.gather %a[%x, %i] mask %p : memref<4x?xf32, strided<[?, 1]>>, (index, vector<1x64xindex>), i1 -> vector<1x64xf32>
    }
    gpu.return
  }
}

// Booleans that were read are together what their bytes are; with a condition
// they are booleans.
// CHECK-LABEL: llvm.func @booleans(
// CHECK: %[[A:.*]] = llvm.inline_asm {{.*}}ld.global.nc.u8
// CHECK: %[[B:.*]] = llvm.inline_asm {{.*}}ld.global.nc.u8
// CHECK: %[[AND:.*]] = arith.andi %[[A]], %[[B]] : i32
// CHECK: %[[C:.*]] = llvm.inline_asm {{.*}}ld.global.nc.u8
// CHECK: %[[OR:.*]] = arith.ori %[[AND]], %[[C]] : i32
// CHECK: %[[BIT:.*]] = arith.trunci %[[OR]] : i32 to i1
// CHECK: arith.andi %[[BIT]], %{{.*}} : i1
gpu.module @bytes {
  gpu.func @booleans(%b: memref<?xi1, strided<[1]>> {hopper.operand = 4 : i64},
      %x: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64},
      %p: i1 {hopper.operand = 7 : i64},
      %y: index {hopper.operand = 1 : i64, hopper.dim = 0 : i64},
      %z: index {hopper.operand = 2 : i64, hopper.dim = 0 : i64},
      %d: memref<?xi1, strided<[1]>> {hopper.operand = 6 : i64}) kernel
      attributes {hopper.elements = 6 : i64, hopper.threads = 128 : i64} {
    %c0 = arith.constant 0 : index
    %0 = attn.gather %b[%x] mask %p : memref<?xi1, strided<[1]>>, (index), i1 -> i1
    %1 = attn.gather %b[%y] mask %p : memref<?xi1, strided<[1]>>, (index), i1 -> i1
    %2 = arith.andi %0, %1 : i1
    %3 = attn.gather %b[%z] mask %p : memref<?xi1, strided<[1]>>, (index), i1 -> i1
    %4 = arith.ori %2, %3 : i1
    %5 = arith.andi %4, %p : i1
    memref.store %5, %d[%c0] : memref<?xi1, strided<[1]>>
    gpu.return
  }
}
