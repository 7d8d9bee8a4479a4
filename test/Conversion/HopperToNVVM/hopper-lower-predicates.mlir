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
      %four = arith.constant dense<4> : vector<128x64xindex>
      %mod = arith.remui %key, %four : vector<128x64xindex>
      %c0 = arith.constant dense<0> : vector<128x64xindex>
      %fourth = arith.cmpi eq, %mod, %c0 : vector<128x64xindex>
      %both = arith.andi %fourth, %causal : vector<128x64xi1>
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
