// Where a thread would compare many positions with bounds, those that are kept
// are bits of words.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower))' | FileCheck %s

// CHECK: llvm.func @intervals(
// Of one end: how many positions are not beyond it, two of each eight.
// CHECK:      %[[AT:.*]] = arith.maxsi %{{.*}}, %c-1_i32{{.*}}
// CHECK:      %[[WITHIN:.*]] = arith.minsi %[[AT]], %c135_i32{{.*}}
// CHECK:      %[[PAIRS:.*]] = arith.shrsi %[[WITHIN]], %c3_i32{{.*}}
// CHECK:      %[[REST:.*]] = arith.andi %[[WITHIN]], %c7_i32{{.*}}
// CHECK:      %[[ODD:.*]] = arith.minui %[[REST]], %c1_i32{{.*}}
// CHECK:      arith.shli %[[PAIRS]], %c1_i32{{.*}}
// CHECK:      %[[WORD:.*]] = llvm.inline_asm {{.*}}"bmsk.clamp.b32 $0, $1, $2;"
// CHECK:      %[[BIT:.*]] = llvm.inline_asm {{.*}}and.b32 t, $1, 1; setp.ne.b32 $0, t, 0;{{.*}} %[[WORD]] : (i32) -> i1
// CHECK-NEXT: arith.select %[[BIT]]
// CHECK:      %[[BIT:.*]] = llvm.inline_asm {{.*}}and.b32 t, $1, 2; setp.ne.b32 $0, t, 0;{{.*}} %[[WORD]] : (i32) -> i1
// CHECK-NEXT: arith.select %[[BIT]]
// What is no condition on positions must hold besides.
// CHECK:      bmsk.clamp.b32
// CHECK:      %[[BIT:.*]] = llvm.inline_asm {{.*}}setp.ne.b32
// CHECK:      %[[BOTH:.*]] = arith.andi %[[BIT]], %{{.*}} : i1
// CHECK-NEXT: arith.select %[[BOTH]]
gpu.module @m {
  gpu.func @intervals(%n: i32 {hopper.operand = 2 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 128, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %position = hopper.position %n
      %key_base = vector.broadcast %position : index to vector<128x1xindex>
      %iota = hopper.iota : vector<128x1xindex>
      %key1 = arith.addi %key_base, %iota : vector<128x1xindex>
      %key = vector.broadcast %key1 : vector<128x1xindex> to vector<128x64xindex>
      %query_iota = hopper.iota : vector<1x64xindex>
      %query = vector.broadcast %query_iota : vector<1x64xindex> to vector<128x64xindex>
      %causal = arith.cmpi sle, %key, %query : vector<128x64xindex>
      %zero = arith.constant dense<0.0> : vector<128x64xf32>
      %one = arith.constant dense<1.0> : vector<128x64xf32>
      %x = arith.select %causal, %one, %zero : vector<128x64xi1>, vector<128x64xf32>
      %square = arith.muli %key, %key : vector<128x64xindex>
      %c0 = arith.constant dense<0> : vector<128x64xindex>
      %is_zero = arith.cmpi eq, %square, %c0 : vector<128x64xindex>
      %both = arith.andi %is_zero, %causal : vector<128x64xi1>
      %y = arith.select %both, %x, %zero : vector<128x64xi1>, vector<128x64xf32>
      %sum = hopper.reduce add %y : vector<128x64xf32> -> vector<4x64xf32>
      hopper.yield
    }
    gpu.return
  }
}

// Bounds of which one must hold, on the same side, are one bound, and so are
// constants beyond the positions of a tile.

// CHECK: llvm.func @either(
// CHECK-DAG:  %[[FAR:.*]] = arith.constant 14720 : i32
// CHECK:      %[[LOOSER:.*]] = arith.minsi %{{.*}}, %{{.*}} : i32
// CHECK:      bmsk.clamp.b32
// CHECK-NOT:  arith.ori
// CHECK:      llvm.return
gpu.module @n {
  gpu.func @either(%a: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64}, %n: i32 {hopper.operand = 1 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 128, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %position = hopper.position %n
      %key_base = vector.broadcast %position : index to vector<128x1xindex>
      %iota = hopper.iota : vector<128x1xindex>
      %key = arith.addi %key_base, %iota : vector<128x1xindex>
      %c14720 = arith.constant dense<14720> : vector<128x1xindex>
      %late = arith.cmpi sge, %key, %c14720 : vector<128x1xindex>
      %c900 = arith.constant 900 : index
      %first = arith.subi %a, %c900 : index
      %firsts = vector.broadcast %first : index to vector<128x1xindex>
      %near = arith.cmpi sge, %key, %firsts : vector<128x1xindex>
      %either1 = arith.ori %late, %near : vector<128x1xi1>
      %either = vector.broadcast %either1 : vector<128x1xi1> to vector<128x64xi1>
      %zero = arith.constant dense<0.0> : vector<128x64xf32>
      %one = arith.constant dense<1.0> : vector<128x64xf32>
      %x = arith.select %either, %one, %zero : vector<128x64xi1>, vector<128x64xf32>
      %sum = hopper.reduce add %x : vector<128x64xf32> -> vector<4x64xf32>
      hopper.yield
    }
    gpu.return
  }
}

// Joins of conditions are those of words: an interval of each row, a condition of
// the row alone, and one of the keys, whose bits both rows share.

// CHECK: llvm.func @joined(
// CHECK:      %[[NEAR:.*]] = llvm.inline_asm {{.*}}"bmsk.clamp.b32
// CHECK:      %[[ROW:.*]] = arith.select %{{.*}}, %c-1_i32{{.*}}, %c0_i32{{.*}} : i32
// CHECK-NEXT: %[[OWN:.*]] = arith.andi %[[NEAR]], %[[ROW]] : i32
// CHECK:      arith.select %{{.*}}, %c1_i32{{.*}}, %c0_i32{{.*}} : i32
// CHECK:      arith.select %{{.*}}, %c-2147483648_i32{{.*}}, %c0_i32{{.*}} : i32
// CHECK-NEXT: %[[KEYS:.*]] = arith.ori %{{.*}}, %{{.*}} : i32
// CHECK-NEXT: %[[WORD:.*]] = arith.ori %[[OWN]], %[[KEYS]] : i32
// CHECK:      llvm.inline_asm {{.*}}setp.ne.b32{{.*}} %[[WORD]] : (i32) -> i1
// The other row.
// CHECK:      llvm.inline_asm {{.*}}"bmsk.clamp.b32
// CHECK-NOT:  %c-2147483648_i32{{.*}}, %c0_i32
// CHECK:      arith.ori %{{.*}}, %[[KEYS]] : i32
// CHECK:      llvm.return
gpu.module @o {
  gpu.func @joined(%n: i32 {hopper.operand = 2 : i64}, %c: f32 {hopper.operand = 3 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 128, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %position = hopper.position %n
      %key_base = vector.broadcast %position : index to vector<128x1xindex>
      %iota = hopper.iota : vector<128x1xindex>
      %key1 = arith.addi %key_base, %iota : vector<128x1xindex>
      %key = vector.broadcast %key1 : vector<128x1xindex> to vector<128x64xindex>
      %query1 = hopper.iota : vector<1x64xindex>
      %query = vector.broadcast %query1 : vector<1x64xindex> to vector<128x64xindex>
      %is_before = arith.cmpi sle, %key, %query : vector<128x64xindex>
      %c7 = arith.constant dense<7> : vector<1x64xindex>
      %rest = arith.remui %query1, %c7 : vector<1x64xindex>
      %is_late1 = arith.cmpi ugt, %rest, %c7 : vector<1x64xindex>
      %is_late = vector.broadcast %is_late1 : vector<1x64xi1> to vector<128x64xi1>
      %own = arith.andi %is_before, %is_late : vector<128x64xi1>
      %c11 = arith.constant dense<11> : vector<128x1xindex>
      %key_rest = arith.remui %key1, %c11 : vector<128x1xindex>
      %flag1 = arith.cmpi ugt, %key_rest, %c11 : vector<128x1xindex>
      %flag = vector.broadcast %flag1 : vector<128x1xi1> to vector<128x64xi1>
      %either = arith.ori %own, %flag : vector<128x64xi1>
      %zero = arith.constant dense<0.0> : vector<128x64xf32>
      %one = arith.constant dense<1.0> : vector<128x64xf32>
      %x = arith.select %either, %one, %zero : vector<128x64xi1>, vector<128x64xf32>
      %sum = hopper.reduce add %x : vector<128x64xf32> -> vector<4x64xf32>
      hopper.yield
    }
    gpu.return
  }
}

// Remainders of positions that are those of the row: how far the first key with
// that remainder is, of which each bit is compared with those of all columns.

// CHECK: llvm.func @residues(
// CHECK-COUNT-7: nvvm.vote.sync ballot
// CHECK:      %[[SIGN:.*]] = arith.shrsi %[[APART:.*]], %c31_i32
// CHECK:      %[[ROUND:.*]] = arith.andi %[[SIGN]], %{{.*}} : i32
// CHECK-NEXT: %[[DISTANCE:.*]] = arith.addi %[[APART]], %[[ROUND]] : i32
// CHECK:      arith.shli %[[DISTANCE]], %c31_i32
// CHECK:      arith.xori
// CHECK:      %[[IS:.*]] = arith.cmpi ult, %[[DISTANCE]], %c128_i32
// CHECK-NEXT: arith.constant 0
// CHECK-NEXT: %[[WORD:.*]] = arith.select %[[IS]], %{{.*}}, %{{.*}} : i32
// CHECK:      llvm.inline_asm {{.*}}setp.ne.b32{{.*}} %[[WORD]] : (i32) -> i1
// By a constant they are known: of 7, three bits, and no distance is more.
// CHECK-NOT:  arith.cmpi ult
// CHECK:      arith.constant {{[0-9-]+}} : i32
// CHECK:      llvm.return
gpu.module @r {
  gpu.func @residues(%by: index {hopper.operand = 1 : i64}, %n: i32 {hopper.operand = 2 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 128, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %c1 = arith.constant 1 : index
      %absolute = math.absi %by : index
      %safe = arith.maxui %absolute, %c1 : index
      %position = hopper.position %n
      %key_base = vector.broadcast %position : index to vector<128x1xindex>
      %iota = hopper.iota : vector<128x1xindex>
      %key = arith.addi %key_base, %iota : vector<128x1xindex>
      %query = hopper.iota : vector<1x64xindex>
      %zero = arith.constant dense<0.0> : vector<128x64xf32>
      %one = arith.constant dense<1.0> : vector<128x64xf32>

      %key_by = vector.broadcast %safe : index to vector<128x1xindex>
      %query_by = vector.broadcast %safe : index to vector<1x64xindex>
      %key_rest1 = arith.remui %key, %key_by : vector<128x1xindex>
      %query_rest1 = arith.remui %query, %query_by : vector<1x64xindex>
      %key_rest = vector.broadcast %key_rest1 : vector<128x1xindex> to vector<128x64xindex>
      %query_rest = vector.broadcast %query_rest1 : vector<1x64xindex> to vector<128x64xindex>
      %are_equal = arith.cmpi eq, %key_rest, %query_rest : vector<128x64xindex>
      %x = arith.select %are_equal, %one, %zero : vector<128x64xi1>, vector<128x64xf32>

      %key_7 = arith.constant dense<7> : vector<128x1xindex>
      %query_7 = arith.constant dense<7> : vector<1x64xindex>
      %key_rest7 = arith.remui %key, %key_7 : vector<128x1xindex>
      %query_rest7 = arith.remui %query, %query_7 : vector<1x64xindex>
      %key_all7 = vector.broadcast %key_rest7 : vector<128x1xindex> to vector<128x64xindex>
      %query_all7 = vector.broadcast %query_rest7 : vector<1x64xindex> to vector<128x64xindex>
      %are_equal7 = arith.cmpi eq, %query_all7, %key_all7 : vector<128x64xindex>
      %y = arith.select %are_equal7, %x, %zero : vector<128x64xi1>, vector<128x64xf32>
      %sum = hopper.reduce add %y : vector<128x64xf32> -> vector<4x64xf32>
      hopper.yield
    }
    gpu.return
  }
}

// Remainders less than a number of the row: how far the first one is from which
// on they are not, compared bit by bit, and where the period ends.

// CHECK: llvm.func @below(
// CHECK-COUNT-7: nvvm.vote.sync ballot
// CHECK:      %[[BOUND:.*]] = arith.minsi %{{.*}}, %[[BY:.*]] : i32
// CHECK:      %[[END:.*]] = arith.subi %[[BY]], %[[FIRST:.*]] : i32
// CHECK:      %[[NEAR:.*]] = arith.cmpi ult, %[[END]], %c128_i32
// CHECK:      %[[WRAP:.*]] = arith.select %[[NEAR]]
// CHECK:      %[[DISTANCE:.*]] = arith.subi %[[BOUND]], %[[FIRST]] : i32
// CHECK:      %[[IS_BELOW:.*]] = arith.shrsi %{{.*}}, %c31_i32
// CHECK-NEXT: %[[ROUND:.*]] = arith.andi %[[IS_BELOW]], %[[BY]] : i32
// CHECK-NEXT: %[[FROM:.*]] = arith.addi %[[DISTANCE]], %[[ROUND]] : i32
// CHECK:      %[[IS_NEAR:.*]] = arith.cmpi ult, %[[FROM]], %c128_i32
// CHECK:      %[[REST:.*]] = arith.select %[[IS_NEAR]]
// CHECK:      %[[BOTH:.*]] = arith.xori %[[WRAP]], %[[REST]] : i32
// CHECK:      %[[ABOVE:.*]] = arith.xori %[[IS_BELOW]], %{{.*}} : i32
// CHECK-NEXT: %[[WORD:.*]] = arith.xori %[[BOTH]], %[[ABOVE]] : i32
// CHECK:      llvm.inline_asm {{.*}}setp.ne.b32{{.*}} %[[WORD]] : (i32) -> i1
// No element is a period from the first one: bits are those up to a number of
// elements.
// CHECK:      arith.minui %{{.*}}, %c2_i32
// CHECK:      bmsk.clamp.b32
// CHECK-NOT:  arith.cmpi ult
// CHECK:      llvm.return
gpu.module @b {
  gpu.func @below(%by: index {hopper.operand = 1 : i64}, %n: i32 {hopper.operand = 2 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 128, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %c1 = arith.constant 1 : index
      %absolute = math.absi %by : index
      %safe = arith.maxui %absolute, %c1 : index
      %position = hopper.position %n
      %key_base = vector.broadcast %position : index to vector<128x1xindex>
      %iota = hopper.iota : vector<128x1xindex>
      %key = arith.addi %key_base, %iota : vector<128x1xindex>
      %query = hopper.iota : vector<1x64xindex>
      %zero = arith.constant dense<0.0> : vector<128x64xf32>
      %one = arith.constant dense<1.0> : vector<128x64xf32>
      %bound = vector.broadcast %query : vector<1x64xindex> to vector<128x64xindex>

      %key_by = vector.broadcast %safe : index to vector<128x1xindex>
      %rest1 = arith.remui %key, %key_by : vector<128x1xindex>
      %rest = vector.broadcast %rest1 : vector<128x1xindex> to vector<128x64xindex>
      %is_below = arith.cmpi slt, %rest, %bound : vector<128x64xindex>
      %x = arith.select %is_below, %one, %zero : vector<128x64xi1>, vector<128x64xf32>

      %key_150 = arith.constant dense<150> : vector<128x1xindex>
      %rest150 = arith.remui %key, %key_150 : vector<128x1xindex>
      %rest2 = vector.broadcast %rest150 : vector<128x1xindex> to vector<128x64xindex>
      %is_below2 = arith.cmpi sge, %bound, %rest2 : vector<128x64xindex>
      %y = arith.select %is_below2, %x, %zero : vector<128x64xi1>, vector<128x64xf32>
      %sum = hopper.reduce add %y : vector<128x64xf32> -> vector<4x64xf32>
      hopper.yield
    }
    gpu.return
  }
}
