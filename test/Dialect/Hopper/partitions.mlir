// Partitions, and what they exchange besides copies of tensors.

// RUN: attn-opt %s --verify-roundtrip | FileCheck %s
// RUN: attn-opt %s -o %t.custom.mlir
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt -o %t.back.mlir
// RUN: diff %t.custom.mlir %t.back.mlir

// CHECK-LABEL: func.func @partitions
// CHECK: hopper.warp_specialize ctas_per_sm(2) partition @load threads(1) registers(24) {
// CHECK-NEXT: } partition @help replicas(2) warps(1) {
// CHECK-NEXT:   hopper.warpgroup_id
// CHECK-NEXT: } partition @scores registers(104) {
// CHECK-NEXT: } partition @"more sums" {
// CHECK-NEXT: }
func.func @partitions() {
  hopper.warp_specialize ctas_per_sm(2) partition @load threads(1) registers(24) {
  } partition @help replicas(2) warps(1) {
    %n = hopper.warpgroup_id
  } partition @scores warps(4) registers(104) {
  } partition @"more sums" replicas(1) {
  }
  return
}

// One partition alone.

// CHECK-LABEL: func.func @one
// CHECK: hopper.warp_specialize partition @all replicas(3) {
// CHECK-NEXT: }
func.func @one() {
  hopper.warp_specialize partition @all replicas(3) {
  }
  return
}

// CHECK-LABEL: func.func @vectors
// CHECK-SAME: %[[CH:[^ ]*]]: !hopper.channel<2x80xf32>, %[[LSE:[^ ]*]]: memref<?x?xf32>
func.func @vectors(%ch: !hopper.channel<2x80xf32>, %lse: memref<?x?xf32>, %n: i32, %x: index,
                   %ids: !hopper.channel<4x128xi32>, %doc: memref<?xi32>) {
  // CHECK: %[[SUMS:.*]] = hopper.create_channel : <1x128xf32>
  %sums = hopper.create_channel : !hopper.channel<1x128xf32>
  hopper.warp_specialize partition @load threads(1) {
    // CHECK: hopper.put_vector %[[CH]][%{{.*}}], %[[LSE]][%{{.*}}, %{{.*}}] : <2x80xf32>, memref<?x?xf32>
    hopper.put_vector %ch[%n], %lse[%x, %x] : !hopper.channel<2x80xf32>, memref<?x?xf32>
    // CHECK: hopper.put_vector %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}] zero_fill : <4x128xi32>, memref<?xi32>
    hopper.put_vector %ids[%n], %doc[%x] zero_fill : !hopper.channel<4x128xi32>, memref<?xi32>
  } partition @compute replicas(2) registers(240) {
    %wg = hopper.warpgroup_id
    // CHECK: %[[T:.*]] = hopper.get %[[CH]][%{{.*}}] : <2x80xf32> -> <80xf32>
    %t = hopper.get %ch[%n] : !hopper.channel<2x80xf32> -> !hopper.tile<80xf32>
    // CHECK: hopper.load_fragment %[[T]] : <80xf32> -> vector<80x1xf32>
    %l = hopper.load_fragment %t : !hopper.tile<80xf32> -> vector<80x1xf32>
    hopper.release %ch[%n] : !hopper.channel<2x80xf32>
    %x1 = arith.constant dense<0.0> : vector<1x64xf32>
    // CHECK: hopper.put_fragment %[[SUMS]][%{{.*}}], %{{.*}} at %{{.*}} : <1x128xf32>, vector<1x64xf32>
    hopper.put_fragment %sums[%n], %x1 at %wg : !hopper.channel<1x128xf32>, vector<1x64xf32>
    // CHECK: %[[S:.*]] = hopper.get %[[SUMS]]
    // CHECK: %[[MINE:.*]] = hopper.rows %[[S]][%{{.*}}] : <128xf32> -> <64xf32, of 128>
    // CHECK: hopper.load_fragment %[[MINE]] : <64xf32, of 128> -> vector<1x64xf32>
    %s = hopper.get %sums[%n] : !hopper.channel<1x128xf32> -> !hopper.tile<128xf32>
    %mine = hopper.rows %s[%wg] : !hopper.tile<128xf32> -> !hopper.tile<64xf32, of 128>
    %m = hopper.load_fragment %mine : !hopper.tile<64xf32, of 128> -> vector<1x64xf32>
    hopper.release %sums[%n] : !hopper.channel<1x128xf32>
  }
  return
}

// Two unlike partitions write tiles for each other.

// CHECK-LABEL: func.func @fragments
func.func @fragments(%ds: !hopper.channel<2x80x128xbf16>, %p: !hopper.channel<1x64x80xbf16>, %n: i32, %c: i1) {
  %v = arith.constant dense<0.0> : vector<80x64xbf16>
  hopper.warp_specialize partition @one replicas(2) registers(160) {
    %wg = hopper.warpgroup_id
    // CHECK: hopper.put_fragment %{{.*}}[%{{.*}}], %{{.*}} at %{{.*}} transposed if %{{.*}} : <2x80x128xbf16>, vector<80x64xbf16>
    hopper.put_fragment %ds[%n], %v at %wg transposed if %c : !hopper.channel<2x80x128xbf16>, vector<80x64xbf16>
    // CHECK: hopper.get %{{.*}}[%{{.*}}] if %{{.*}} : <1x64x80xbf16> -> <64x80xbf16>
    // CHECK: hopper.release %{{.*}}[%{{.*}}] if %{{.*}} : <1x64x80xbf16>
    %t = hopper.get %p[%n] if %c : !hopper.channel<1x64x80xbf16> -> !hopper.tile<64x80xbf16>
    hopper.release %p[%n] if %c : !hopper.channel<1x64x80xbf16>
  } partition @other registers(104) {
    // CHECK: hopper.put_fragment %{{.*}}[%{{.*}}], %{{.*}} : <1x64x80xbf16>, vector<80x64xbf16>
    hopper.put_fragment %p[%n], %v : !hopper.channel<1x64x80xbf16>, vector<80x64xbf16>
    %t = hopper.get %ds[%n] : !hopper.channel<2x80x128xbf16> -> !hopper.tile<80x128xbf16>
    hopper.release %ds[%n] : !hopper.channel<2x80x128xbf16>
  }
  return
}

// The last 32 columns are what fills 128 bytes.
// CHECK-LABEL: func.func @fewer_columns
func.func @fewer_columns(%k: !hopper.tile<64x96xbf16>, %wg: index) {
  // CHECK: hopper.own_columns %{{.*}} : <64x96xbf16> -> <64x64xbf16>
  %own = hopper.own_columns %k : !hopper.tile<64x96xbf16> -> !hopper.tile<64x64xbf16>
  // CHECK: hopper.columns %{{.*}}[%{{.*}}] : <64x96xbf16> -> <64x64xbf16>
  %half = hopper.columns %k[%wg] : !hopper.tile<64x96xbf16> -> !hopper.tile<64x64xbf16>
  return
}

// CHECK-LABEL: func.func @products
func.func @products(%ds: !hopper.tile<64x64xbf16>, %k: !hopper.tile<64x256xbf16>, %wg: index) {
  hopper.warp_specialize partition @compute registers(240) {
    // CHECK: %[[HALF:.*]] = hopper.columns %{{.*}}[%{{.*}}] : <64x256xbf16> -> <64x128xbf16>
    %half = hopper.columns %k[%wg] : !hopper.tile<64x256xbf16> -> !hopper.tile<64x128xbf16>
    // CHECK: %[[A:.*]] = hopper.mma %{{.*}}, %[[HALF]] lhs_transposed rhs_transposed : !hopper.tile<64x64xbf16>, <64x128xbf16> -> <vector<128x64xf32>>
    %a = hopper.mma %ds, %half lhs_transposed rhs_transposed : !hopper.tile<64x64xbf16>, !hopper.tile<64x128xbf16> -> !hopper.pending<vector<128x64xf32>>
    // CHECK: %[[B:.*]] = hopper.mma %{{.*}}, %{{.*}} acc %[[A]] lhs_transposed rhs_transposed :
    %b = hopper.mma %ds, %half acc %a lhs_transposed rhs_transposed : !hopper.tile<64x64xbf16>, !hopper.tile<64x128xbf16>, !hopper.pending<vector<128x64xf32>> -> !hopper.pending<vector<128x64xf32>>
    %rows = hopper.rows %k[%wg] : !hopper.tile<64x256xbf16> -> !hopper.tile<16x256xbf16, of 64>
    // CHECK: %[[C:.*]] = hopper.mma
    %c = hopper.mma %ds, %ds : !hopper.tile<64x64xbf16>, !hopper.tile<64x64xbf16> -> !hopper.pending<vector<64x64xf32>>
    // CHECK: hopper.wait %[[B]], %[[C]] in_flight 0 : !hopper.pending<vector<128x64xf32>>, !hopper.pending<vector<64x64xf32>>
    %x, %y = hopper.wait %b, %c in_flight 0 : !hopper.pending<vector<128x64xf32>>, !hopper.pending<vector<64x64xf32>>
  }
  return
}

// Elements that go each to one of a buffer: to exact sums, and to floats.
// CHECK-LABEL: func.func @scatter
func.func @scatter(%words: memref<10x8x?xi64>, %floats: memref<?x?xf32>, %h: index, %i: vector<64x1xindex>, %j: vector<1x64xindex>, %p: vector<64x64xi1>, %sums: vector<4x64xf32>, %all: vector<4x64xi1>) {
  %v = arith.constant dense<0.0> : vector<64x64xf32>
  hopper.warp_specialize partition @compute registers(240) {
    // CHECK: hopper.scatter_add %{{.*}} into %{{.*}}[%{{.*}}, %{{.*}}] if %{{.*}} : vector<64x64xf32>, memref<10x8x?xi64>, (index, vector<64x1xindex>), vector<64x64xi1>
    // CHECK: hopper.scatter_add %{{.*}} into %{{.*}}[%{{.*}}, %{{.*}}] if %{{.*}} : vector<64x64xf32>, memref<?x?xf32>, (vector<64x1xindex>, vector<1x64xindex>), vector<64x64xi1>
    hopper.scatter_add %v into %words[%h, %i] if %p : vector<64x64xf32>, memref<10x8x?xi64>, (index, vector<64x1xindex>), vector<64x64xi1>
    hopper.scatter_add %v into %floats[%i, %j] if %p : vector<64x64xf32>, memref<?x?xf32>, (vector<64x1xindex>, vector<1x64xindex>), vector<64x64xi1>
    // CHECK: hopper.scatter_add {{.*}} : vector<4x64xf32>, memref<10x8x?xi64>, (index, vector<1x64xindex>), vector<4x64xi1>
    hopper.scatter_add %sums into %words[%h, %j] if %all : vector<4x64xf32>, memref<10x8x?xi64>, (index, vector<1x64xindex>), vector<4x64xi1>
  }
  return
}

// CHECK-LABEL: func.func @sums
func.func @sums(%blocks: memref<?x4096xf32>, %x: index, %c: i1) {
  %v = arith.constant dense<0.0> : vector<64x64xf32>
  hopper.warp_specialize partition @compute registers(240) {
    // CHECK: hopper.reduce_add %{{.*}}, %{{.*}}[%{{.*}}] if %{{.*}} : vector<64x64xf32>, memref<?x4096xf32>
    hopper.reduce_add %v, %blocks[%x] if %c : vector<64x64xf32>, memref<?x4096xf32>
  }
  return
}

// Turns: two replicas of a thread hold them for two warpgroups.
// CHECK-LABEL: func.func @turns
func.func @turns(%v: vector<64x64xf32>, %blocks: memref<?x4096xf32>, %counters: memref<?x2xi32>, %out: memref<?x?xbf16>, %x: index, %n: i32, %c: i1) {
  // CHECK: %[[T:.*]] = hopper.create_turns : !hopper.turns
  %t = hopper.create_turns : !hopper.turns
  hopper.warp_specialize partition @turns replicas(2) threads(1) {
    // CHECK: hopper.hold_turn %[[T]][%{{.*}}] after %{{.*}} in %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x2xi32>
    hopper.hold_turn %t[%n] after %x in %counters[%x, %x] : memref<?x2xi32>
    // CHECK: hopper.hold_turn %[[T]][%{{.*}}] after %{{.*}} last %{{.*}} in %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x2xi32>
    hopper.hold_turn %t[%n] after %x last %c in %counters[%x, %x] : memref<?x2xi32>
    // CHECK: hopper.pass_turn %[[T]][%{{.*}}] as %{{.*}} in %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x2xi32>
    hopper.pass_turn %t[%n] as %x in %counters[%x, %x] : memref<?x2xi32>
  } partition @compute replicas(2) registers(240) {
    // CHECK: hopper.next_use %[[T]] skipped 1 : !hopper.turns
    %u = hopper.next_use %t skipped 1 : !hopper.turns
    // CHECK: hopper.take_turn %[[T]][%{{.*}}] if %{{.*}}
    %g, %h = hopper.take_turn %t[%u] if %c
    // CHECK: %[[F:.*]], %[[L:.*]] = hopper.take_turn %[[T]][%{{[^]]*}}]{{$}}
    %f, %l = hopper.take_turn %t[%u]
    // CHECK: hopper.reduce_add %{{.*}}, %{{.*}}[%{{.*}}] if %{{.*}} first %[[F]] : vector<64x64xf32>, memref<?x4096xf32>
    hopper.reduce_add %v, %blocks[%x] if %c first %f : vector<64x64xf32>, memref<?x4096xf32>
    // CHECK: hopper.reduce_add %{{.*}}, %{{.*}}[%{{.*}}] first %[[F]] last %[[L]] to %{{.*}}[%{{.*}}, %{{.*}}] m 0 n 1 : vector<64x64xf32>, memref<?x4096xf32> to memref<?x?xbf16>
    hopper.reduce_add %v, %blocks[%x] first %f last %l to %out[%x, %x] m 0 n 1 : vector<64x64xf32>, memref<?x4096xf32> to memref<?x?xbf16>
    // CHECK: hopper.reduce_add %{{.*}} after %{{.*}} as %{{.*}} in %{{.*}}[%{{.*}}, %{{.*}}] last %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}] m 1 n 0 end_m %{{.*}} end_n %{{.*}} scale 2.500000e-01 : vector<64x64xf32>, memref<?x4096xf32>, memref<?x2xi32> to memref<?x?xbf16>
    hopper.reduce_add %v, %blocks[%x] after %x as %x in %counters[%x, %x] last %c to %out[%x, %x] m 1 n 0 end_m %x end_n %x scale 2.500000e-01
        : vector<64x64xf32>, memref<?x4096xf32>, memref<?x2xi32> to memref<?x?xbf16>
    // CHECK: hopper.give_turn %[[T]] if %{{.*}}
    hopper.give_turn %t if %c
    // CHECK: hopper.give_turn %[[T]]{{$}}
    hopper.give_turn %t
  }
  return
}
