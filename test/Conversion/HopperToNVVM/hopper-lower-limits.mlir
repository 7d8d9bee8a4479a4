// Conditions on positions become comparisons of constants with bounds that many
// elements share, two of them for an element.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower))' | FileCheck %s

// CHECK: llvm.func @limits(%[[KEYS:[^ ]*]]: i32, %[[SIZE:[^ ]*]]: i64, %[[N:[^ ]*]]: i32)
// key < keys: the last one, from this thread's first one.
// CHECK:      %[[END:.*]] = arith.subi %[[KEYS]], %[[FIRST:.*]] : i32
// CHECK:      arith.cmpi slt, %c9_i32{{.*}}, %[[END]] : i32
// CHECK:      %[[LAST:.*]] = arith.addi %[[END]], %c-1_i32

// key <= query.
// CHECK:      %[[DIAGONAL:.*]] = arith.subi %[[QUERY:.*]], %[[FIRST]] : i32

// query - key < size: whatever is asked for, in 32 bits, and as a lower bound.
// CHECK:      %[[MOST:.*]] = arith.minsi %{{.*}}, %c2305843009213693952_i64
// CHECK:      %[[WIDE:.*]] = arith.subi %[[MOST]], %{{.*}} : i64
// CHECK:      arith.maxsi %[[WIDE]], %c-2146435071_i64
// CHECK:      %[[CLAMPED:.*]] = arith.minsi %{{.*}}, %c2146435071_i64
// CHECK:      %[[REACH:.*]] = arith.trunci %[[CLAMPED]] : i64 to i32
// CHECK:      arith.cmpi slt, %c-9_i32{{.*}}, %[[REACH]] : i32
// CHECK:      %[[LESS:.*]] = arith.addi %[[REACH]], %c-1_i32
// CHECK:      %[[LOWER:.*]] = arith.subi %c0_i32{{.*}}, %[[LESS]] : i32

// All of them: a lower and an upper bound for each of the two queries.
// CHECK:      %[[UPPER:.*]] = arith.minsi %[[LAST]], %[[DIAGONAL]] : i32
// CHECK:      %[[LOWER8:.*]] = arith.addi %[[LOWER]], %c8_i32
// CHECK:      %[[DIAGONAL8:.*]] = arith.addi %[[DIAGONAL]], %c8_i32
// CHECK:      %[[UPPER8:.*]] = arith.minsi %[[LAST]], %[[DIAGONAL8]] : i32
// CHECK-NOT:  arith.{{min|max}}
// CHECK:      %[[ABOVE:.*]] = arith.cmpi sge, %[[C0:c0_i32.*]], %[[LOWER]] : i32
// CHECK-NEXT: %[[BELOW:.*]] = arith.cmpi sle, %[[C0]], %[[UPPER]] : i32
// CHECK-NEXT: arith.andi %[[ABOVE]], %[[BELOW]] : i1
// CHECK:      arith.cmpi sge, %c9_i32{{.*}}, %[[LOWER8]] : i32
// CHECK-NEXT: arith.cmpi sle, %c9_i32{{.*}}, %[[UPPER8]] : i32
// CHECK-NOT:  arith.cmpi

gpu.module @m {
  gpu.func @limits(%keys: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64},
      %size: index {hopper.operand = 1 : i64}, %n: i32 {hopper.operand = 2 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %position = hopper.position %n
      %key_base = vector.broadcast %position : index to vector<16x1xindex>
      %iota = hopper.iota : vector<16x1xindex>
      %key1 = arith.addi %key_base, %iota : vector<16x1xindex>
      %key = vector.broadcast %key1 : vector<16x1xindex> to vector<16x64xindex>
      %query_iota = hopper.iota : vector<1x64xindex>
      %query = vector.broadcast %query_iota : vector<1x64xindex> to vector<16x64xindex>
      %end = vector.broadcast %keys : index to vector<16x1xindex>
      %inside1 = arith.cmpi slt, %key1, %end : vector<16x1xindex>
      %inside = vector.broadcast %inside1 : vector<16x1xi1> to vector<16x64xi1>
      %causal = arith.cmpi sle, %key, %query : vector<16x64xindex>
      %distance = arith.subi %query, %key : vector<16x64xindex>
      %reach = vector.broadcast %size : index to vector<16x64xindex>
      %near = arith.cmpi slt, %distance, %reach : vector<16x64xindex>
      %band = arith.andi %causal, %near : vector<16x64xi1>
      %both = arith.andi %inside, %band : vector<16x64xi1>
      %zero = arith.constant dense<0.0> : vector<16x64xf32>
      %one = arith.constant dense<1.0> : vector<16x64xf32>
      %x = arith.select %both, %one, %zero : vector<16x64xi1>, vector<16x64xf32>
      %sum = hopper.reduce add %x : vector<16x64xf32> -> vector<4x64xf32>
      hopper.yield
    }
    gpu.return
  }
}

// Not by llvm.abs, of whose negation ptxas takes comparisons as decided.
// CHECK-LABEL: llvm.func @distances(
// CHECK: %[[X:.*]] = arith.addi {{.*}}, %c9_i32{{.*}} : i32
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-NEXT: %[[N:.*]] = arith.subi %[[ZERO]], %[[X]] : i32
// CHECK-NEXT: arith.maxsi %[[X]], %[[N]] : i32
// CHECK: llvm.inline_asm {{.*}}neg.s64 n, $1; max.s64 $0, $1, n;{{.*}} : (i64) -> i64
gpu.module @n {
  gpu.func @distances(%a: index {hopper.operand = 0 : i64}, %n: i32 {hopper.operand = 1 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %i = hopper.position %n
      %c9 = arith.constant 9 : index
      // That it fits 32 bits is known of a distance of positions.
      %d = arith.subi %c9, %i : index
      %near = math.absi %d : index
      %far = math.absi %a : index
    }
    gpu.return
  }
}

// Numbers of 32 bits, as those that are read: brought near all positions, so that
// 32 bits hold the difference, and the same for all positions as before.

// CHECK-LABEL: llvm.func @numbers(
// CHECK: %[[MOST:.*]] = arith.maxsi %{{.*}}, %c-4096_i32{{.*}} : i32
// CHECK: %[[NEAR:.*]] = arith.minsi %[[MOST]], %c10737{{[0-9]+}}_i32{{.*}} : i32
// CHECK: %[[END:.*]] = arith.subi %[[NEAR]], %{{.*}} : i32
// CHECK: arith.cmpi slt, %c9_i32{{.*}}, %[[END]] : i32
gpu.module @o {
  gpu.func @numbers(%end: i32 {hopper.operand = 0 : i64}, %n: i32 {hopper.operand = 1 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %first = hopper.position %n
      %all = vector.broadcast %first : index to vector<16x1xindex>
      %iota = hopper.iota : vector<16x1xindex>
      %key1 = arith.addi %all, %iota : vector<16x1xindex>
      %key = vector.broadcast %key1 : vector<16x1xindex> to vector<16x64xindex>
      %index = arith.index_cast %end : i32 to index
      %ends = vector.broadcast %index : index to vector<16x64xindex>
      %before = arith.cmpi slt, %key, %ends : vector<16x64xindex>
    }
    gpu.return
  }
}
