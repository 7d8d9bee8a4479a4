// Every operation, in its own form and in the generic one.

// RUN: attn-opt %s --verify-roundtrip | FileCheck %s
// RUN: attn-opt %s -o %t.custom.mlir
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt -o %t.back.mlir
// RUN: diff %t.custom.mlir %t.back.mlir

// Types in the own form are written without the names that the operations
// imply, and the end of a role is not written.

// CHECK-LABEL: func.func @specialize
// CHECK-SAME: %[[MAP:[^ ]*]]: !hopper.map<128x64xbf16>, %[[B:[^ ]*]]: index, %[[N:[^ ]*]]: i32
// CHECK-NEXT: %[[CH:.*]] = hopper.create_channel : <2x128x64xbf16>
// CHECK-NEXT: %[[TURNS:.*]] = hopper.create_ping_pong : !hopper.ping_pong
// CHECK-NEXT: hopper.warp_specialize partition @load threads(1) {
// CHECK-NEXT:   hopper.put %[[CH]][%[[N]]], %[[MAP]][%[[B]], %[[B]], %[[B]]] : <2x128x64xbf16>, <128x64xbf16>
// CHECK-NEXT: } partition @compute replicas(2) registers(240) {
// CHECK-NEXT:   hopper.ping_pong_wait %[[TURNS]] : !hopper.ping_pong
// CHECK-NEXT:   hopper.get %[[CH]][%[[N]]] : <2x128x64xbf16> -> <128x64xbf16>
// CHECK-NEXT:   hopper.ping_pong_arrive %[[TURNS]] : !hopper.ping_pong
// CHECK-NEXT:   hopper.release %[[CH]][%[[N]]] : <2x128x64xbf16>
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @specialize(%map: !hopper.map<128x64xbf16>, %b: index, %n: i32) {
  %ch = hopper.create_channel : !hopper.channel<2x128x64xbf16>
  %barrier = hopper.create_ping_pong : !hopper.ping_pong
  hopper.warp_specialize partition @load threads(1) {
    hopper.put %ch[%n], %map[%b, %b, %b] : !hopper.channel<2x128x64xbf16>, !hopper.map<128x64xbf16>
  } partition @compute replicas(2) registers(240) {
    hopper.ping_pong_wait %barrier : !hopper.ping_pong
    %t = hopper.get %ch[%n] : !hopper.channel<2x128x64xbf16> -> !hopper.tile<128x64xbf16>
    hopper.ping_pong_arrive %barrier : !hopper.ping_pong
    hopper.release %ch[%n] : !hopper.channel<2x128x64xbf16>
  }
  return
}

// Boxes start at a column, or are copied by all threads of the producer.

// CHECK-LABEL: func.func @copies
// CHECK-SAME: %[[MAP:[^ ]*]]: !hopper.map<128x64xbf16>, %[[ANY:[^ ]*]]: !hopper.map<128x64xbf16, strided>, %[[B:[^ ]*]]: index, %[[N:[^ ]*]]: i32
// CHECK: hopper.put %{{.*}}[%[[N]]], %[[MAP]][%[[B]], %[[B]], %[[B]]] column %[[B]] : <2x128x64xbf16>, <128x64xbf16>
// CHECK: hopper.drain
// CHECK: hopper.warp_specialize partition @load {
// CHECK-NEXT: hopper.put %{{.*}}[%[[N]]], %[[ANY]][%[[B]], %[[B]], %[[B]]] : <2x128x64xbf16>, <128x64xbf16, strided>
func.func @copies(%map: !hopper.map<128x64xbf16>, %any: !hopper.map<128x64xbf16, strided>, %b: index, %n: i32) {
  %ch = hopper.create_channel : !hopper.channel<2x128x64xbf16>
  hopper.warp_specialize partition @load threads(1) {
    hopper.put %ch[%n], %map[%b, %b, %b] column %b : !hopper.channel<2x128x64xbf16>, !hopper.map<128x64xbf16>
  } partition @compute replicas(2) registers(240) {
    hopper.drain
  }
  hopper.warp_specialize partition @load {
    hopper.put %ch[%n], %any[%b, %b, %b] : !hopper.channel<2x128x64xbf16>, !hopper.map<128x64xbf16, strided>
  } partition @compute replicas(2) registers(208) {
  }
  return
}

// Rows that a list names are copied 16 bytes at a time where they are aligned.

// CHECK-LABEL: func.func @gathered_rows
// CHECK-SAME: %[[MAP:[^ ]*]]: !hopper.map<128x64xbf16, strided, aligned>, %[[LIST:[^ ]*]]: memref<?x128xi32>
// CHECK: hopper.put %{{.*}}[%{{.*}}], %[[MAP]][%[[B:.*]], %[[B]], %[[B]]] rows %[[LIST]][%[[B]]] : <2x128x64xbf16>, <128x64xbf16, strided, aligned>, memref<?x128xi32>
// CHECK: hopper.put %{{.*}} rows %{{.*}}[] payload %{{.*}} : <2x128x64xbf16, payload>, <128x64xbf16, strided>, memref<?xi32>
func.func @gathered_rows(%map: !hopper.map<128x64xbf16, strided, aligned>, %list: memref<?x128xi32>,
                         %any: !hopper.map<128x64xbf16, strided>, %other: memref<?xi32>, %b: index, %n: i32) {
  %ch = hopper.create_channel : !hopper.channel<2x128x64xbf16>
  %with_notes = hopper.create_channel : !hopper.channel<2x128x64xbf16, payload>
  hopper.warp_specialize partition @load {
    hopper.put %ch[%n], %map[%b, %b, %b] rows %list[%b] : !hopper.channel<2x128x64xbf16>, !hopper.map<128x64xbf16, strided, aligned>, memref<?x128xi32>
    hopper.put %with_notes[%n], %any[%b, %b, %b] rows %other[] payload %n : !hopper.channel<2x128x64xbf16, payload>, !hopper.map<128x64xbf16, strided>, memref<?xi32>
  } partition @compute replicas(2) registers(208) {
  }
  return
}

// The end of a role may be written.

// CHECK-LABEL: func.func @payload
// CHECK-SAME: %[[CH:.*]]: !hopper.channel<2x128x64xbf16, payload>, %[[MAP:.*]]: !hopper.map<128x64xbf16>, %[[N:.*]]: i32, %[[B:.*]]: index, %[[P:.*]]: i1
func.func @payload(%ch: !hopper.channel<2x128x64xbf16, payload>, %map: !hopper.map<128x64xbf16>, %n: i32, %b: index, %p: i1) {
  // CHECK: hopper.warp_specialize partition @load warps(1) {
  hopper.warp_specialize partition @load warps(1) {
    // CHECK-NEXT: %[[BITS:.*]] = hopper.ballot %[[P]]
    %bits = hopper.ballot %p
    // CHECK-NEXT: hopper.put %[[CH]][%[[N]]], %[[MAP]][%[[B]], %[[B]], %[[B]]] payload %[[BITS]] : <2x128x64xbf16, payload>, <128x64xbf16>
    hopper.put %ch[%n], %map[%b, %b, %b] payload %bits : !hopper.channel<2x128x64xbf16, payload>, !hopper.map<128x64xbf16>
  } partition @compute replicas(2) registers(240) {
    // CHECK: %{{.*}}, %{{.*}} = hopper.get %[[CH]][%[[N]]] : <2x128x64xbf16, payload> -> <128x64xbf16>, i32
    %t, %x = hopper.get %ch[%n] : !hopper.channel<2x128x64xbf16, payload> -> !hopper.tile<128x64xbf16>, i32
    %bits = hopper.ballot %p
  }
  return
}

// CHECK-LABEL: func.func @written_end
// CHECK: hopper.warp_specialize partition @load threads(1) {
// CHECK-NEXT: } partition @compute registers(256) {
// CHECK-NEXT: } {note = 1 : i64}
func.func @written_end() {
  hopper.warp_specialize partition @load threads(1) {
    hopper.yield
  } partition @compute registers(256) {
    hopper.yield
  } {note = 1 : i64}
  return
}

// CTAs take work, of which the producer tells the consumers.

// CHECK-LABEL: func.func @work
// CHECK-SAME: %[[COUNTER:[^ ]*]]: memref<2xi32>, %[[N:[^ ]*]]: i32
// CHECK-NEXT: %[[BOX:.*]] = hopper.create_work_queue : <2>
// CHECK-NEXT: hopper.warp_specialize
// CHECK-NEXT:   %[[NEXT:.*]] = hopper.fetch_next %[[COUNTER]] : memref<2xi32>
// CHECK-NEXT:   hopper.post %[[BOX]][%[[N]]], %[[NEXT]], %[[N]] : <2>
// CHECK-NEXT:   hopper.reset_counter %[[COUNTER]] : memref<2xi32>
// CHECK-NEXT: } partition @compute replicas(2) registers(240) {
// CHECK-NEXT:   %{{.*}}:2 = hopper.receive %[[BOX]][%[[N]]] : <2> -> i32, i32
// CHECK-NEXT: }
func.func @work(%counter: memref<2xi32>, %n: i32) {
  %box = hopper.create_work_queue : !hopper.work_queue<2>
  hopper.warp_specialize partition @load threads(1) {
    %next = hopper.fetch_next %counter : memref<2xi32>
    hopper.post %box[%n], %next, %n : !hopper.work_queue<2>
    hopper.reset_counter %counter : memref<2xi32>
  } partition @compute replicas(2) registers(240) {
    %a, %b = hopper.receive %box[%n] : !hopper.work_queue<2> -> i32, i32
  }
  return
}

// CHECK-LABEL: func.func @products
// CHECK-SAME: %[[N:[^ ]*]]: i32
func.func @products(%n: i32, %flag: i1) {
  %qs = hopper.create_channel : !hopper.channel<1x128x64xf16>
  %ks = hopper.create_channel : !hopper.channel<4x32x64xf16>
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(24) {
    // CHECK: %[[WG:.*]] = hopper.warpgroup_id
    // CHECK: %[[QT:.*]] = hopper.get %{{.*}}[%[[N]]] : <1x128x64xf16> -> <128x64xf16>
    // CHECK: %[[KT:.*]] = hopper.get %{{.*}}[%[[N]]] : <4x32x64xf16> -> <32x64xf16>
    %wg = hopper.warpgroup_id
    %qt = hopper.get %qs[%n] : !hopper.channel<1x128x64xf16> -> !hopper.tile<128x64xf16>
    %kt = hopper.get %ks[%n] : !hopper.channel<4x32x64xf16> -> !hopper.tile<32x64xf16>
    // CHECK: %[[ROWS:.*]] = hopper.rows %[[QT]][%[[WG]]] : <128x64xf16> -> <64x64xf16, of 128>
    // CHECK: %[[Q:.*]] = hopper.load_fragment %[[ROWS]] : <64x64xf16, of 128> -> vector<64x64xf16>
    %rows = hopper.rows %qt[%wg] : !hopper.tile<128x64xf16> -> !hopper.tile<64x64xf16, of 128>
    %q = hopper.load_fragment %rows : !hopper.tile<64x64xf16, of 128> -> vector<64x64xf16>
    // CHECK: hopper.negate_rows %[[ROWS]] where %{{.*}} : <64x64xf16, of 128>, vector<1x64xi1>
    %where = arith.constant dense<true> : vector<1x64xi1>
    hopper.negate_rows %rows where %where : !hopper.tile<64x64xf16, of 128>, vector<1x64xi1>
    // CHECK: %[[S0:.*]] = hopper.mma %[[ROWS]], %[[KT]] : !hopper.tile<64x64xf16, of 128>, <32x64xf16> -> <vector<32x64xf32>>
    // CHECK: %[[S1:.*]] = hopper.mma %[[Q]], %[[KT]] acc %[[S0]] : vector<64x64xf16>, <32x64xf16>, !hopper.pending<vector<32x64xf32>> -> <vector<32x64xf32>>
    // CHECK: %[[S:.*]] = hopper.wait %[[S1]] in_flight 0 : !hopper.pending<vector<32x64xf32>>
    %s0 = hopper.mma %rows, %kt : !hopper.tile<64x64xf16, of 128>, !hopper.tile<32x64xf16> -> !hopper.pending<vector<32x64xf32>>
    %s1 = hopper.mma %q, %kt acc %s0 : vector<64x64xf16>, !hopper.tile<32x64xf16>, !hopper.pending<vector<32x64xf32>> -> !hopper.pending<vector<32x64xf32>>
    %s = hopper.wait %s1 in_flight 0 : !hopper.pending<vector<32x64xf32>>
    %p = arith.truncf %s : vector<32x64xf32> to vector<32x64xf16>
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    // CHECK: hopper.mma %{{.*}}, %[[KT]] acc %{{.*}} rhs_transposed : vector<32x64xf16>, <32x64xf16>, vector<64x64xf32> -> <vector<64x64xf32>>
    // CHECK: hopper.in_flight %{{.*}} : <vector<64x64xf32>>
    // CHECK: hopper.wait %{{.*}} in_flight 7 {note = 1 : i64} : !hopper.pending<vector<64x64xf32>>
    %o = hopper.mma %p, %kt acc %zero rhs_transposed : vector<32x64xf16>, !hopper.tile<32x64xf16>, vector<64x64xf32> -> !hopper.pending<vector<64x64xf32>>
    %path = scf.if %flag -> !hopper.pending<vector<64x64xf32>> {
      %again = hopper.in_flight %zero : !hopper.pending<vector<64x64xf32>>
      scf.yield %again : !hopper.pending<vector<64x64xf32>>
    } else {
      scf.yield %o : !hopper.pending<vector<64x64xf32>>
    }
    %w = hopper.wait %path in_flight 7 {note = 1 : i64} : !hopper.pending<vector<64x64xf32>>
  }
  return
}

// CHECK-LABEL: func.func @slopes
func.func @slopes(%x: vector<1x64xf32>, %acc: vector<32x64xf32>) {
  // CHECK: %[[RAMP:.*]] = hopper.create_iota_tile : <32x8xf16>
  %iota = hopper.create_iota_tile : !hopper.tile<32x8xf16>
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(24) {
    // CHECK: %[[PARTS:.*]] = hopper.split_bf16x3 %{{.*}} : vector<1x64xf32> -> vector<8x64xf16>
    %parts = hopper.split_bf16x3 %x : vector<1x64xf32> -> vector<8x64xf16>
    // CHECK: hopper.split_bf16x3 %{{.*}} behind_ones : vector<1x64xf32> -> vector<8x64xbf16>
    // CHECK: hopper.mma %[[PARTS]], %[[RAMP]] acc %{{.*}} : vector<8x64xf16>, <32x8xf16>, vector<32x64xf32> -> <vector<32x64xf32>>
    %more = hopper.split_bf16x3 %x behind_ones : vector<1x64xf32> -> vector<8x64xbf16>
    %s = hopper.mma %parts, %iota acc %acc : vector<8x64xf16>, !hopper.tile<32x8xf16>, vector<32x64xf32> -> !hopper.pending<vector<32x64xf32>>
  }
  return
}

// CHECK-LABEL: func.func @key_terms
func.func @key_terms(%x: vector<48x1xf32>, %n: i32) {
  %ch = hopper.create_channel : !hopper.channel<4x48x8xbf16, payload>
  hopper.warp_specialize partition @load threads(32) {
    // CHECK: hopper.put_bf16x3 %{{.*}}[%{{.*}}], %{{.*}} times 4.000000e+00 up_to 1.000000e+09 : <4x48x8xbf16, payload>, vector<48x1xf32>
    hopper.put_bf16x3 %ch[%n], %x times 4.0 up_to 1.0e9 : !hopper.channel<4x48x8xbf16, payload>, vector<48x1xf32>
  } partition @compute replicas(2) registers(24) {
  }
  return
}

// CHECK-LABEL: func.func @vectors
func.func @vectors(%n: i32, %s: vector<128x64xf32>, %c: vector<1x64xi1>) {
  // CHECK: hopper.iota : vector<128x1xindex>
  // CHECK: hopper.iota : vector<1x64xindex>
  // CHECK: hopper.position %{{[0-9a-z]*}}{{$}}
  // CHECK: hopper.position %{{[0-9a-z]*}} of 128{{$}}
  // CHECK: hopper.reduce max %{{.*}} : vector<128x64xf32> -> vector<1x64xf32>
  // CHECK: hopper.reduce add %{{.*}} : vector<128x64xf32> -> vector<1x64xf32>
  // CHECK: %[[PARTS:.*]] = hopper.reduce add %{{.*}} : vector<128x64xf32> -> vector<4x64xf32>
  // CHECK: hopper.reduce add %[[PARTS]] : vector<4x64xf32> -> vector<1x64xf32>
  // CHECK: hopper.any %{{.*}} : vector<1x64xi1>
  %keys = hopper.iota : vector<128x1xindex>
  %queries = hopper.iota : vector<1x64xindex>
  %i = hopper.position %n
  %tile = hopper.position %n of 128
  %max = hopper.reduce max %s : vector<128x64xf32> -> vector<1x64xf32>
  %sum = hopper.reduce add %s : vector<128x64xf32> -> vector<1x64xf32>
  %parts = hopper.reduce add %s : vector<128x64xf32> -> vector<4x64xf32>
  %all = hopper.reduce add %parts : vector<4x64xf32> -> vector<1x64xf32>
  %p = hopper.any %c : vector<1x64xi1>
  return
}

// Boxes have rows of several heads.

// CHECK-LABEL: func.func @packed
// CHECK-SAME: %[[MAP:[^ ]*]]: !hopper.map<64x64xbf16, packed>
func.func @packed(%map: !hopper.map<64x64xbf16, packed>, %lse: memref<?x?x?xf32>, %p: index, %x: index, %n: i32) {
  %ch = hopper.create_channel : !hopper.channel<1x64x64xbf16>
  %tile = hopper.create_tile : !hopper.tile<64x64xbf16>
  hopper.warp_specialize partition @load threads(1) {
    // CHECK: hopper.put %{{.*}}, %[[MAP]][%{{.*}}, %{{.*}}, %{{.*}}] : <1x64x64xbf16>, <64x64xbf16, packed>
    hopper.put %ch[%n], %map[%x, %x, %x] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16, packed>
  } partition @compute registers(240) {
    %v = arith.constant dense<0.0> : vector<64x64xbf16>
    %m = arith.constant dense<0.0> : vector<1x64xf32>
    // CHECK: hopper.store %{{.*}} : vector<64x64xbf16>, <64x64xbf16>, <64x64xbf16, packed>
    // CHECK: hopper.store %{{.*}}] column %{{.*}} : vector<64x64xbf16>, <64x64xbf16>, <64x64xbf16, packed>
    // CHECK: hopper.store_rows %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] dim 2 end %{{.*}} packed %{{.*}} heads 1 : vector<1x64xf32>, memref<?x?x?xf32>
    hopper.store %v, %tile, %map[%x, %x, %x] : vector<64x64xbf16>, !hopper.tile<64x64xbf16>, !hopper.map<64x64xbf16, packed>
    hopper.store %v, %tile, %map[%x, %x, %x] column %x : vector<64x64xbf16>, !hopper.tile<64x64xbf16>, !hopper.map<64x64xbf16, packed>
    hopper.store_rows %m, %lse[%x, %x, %x] dim 2 end %x packed %p heads 1 : vector<1x64xf32>, memref<?x?x?xf32>
  }
  return
}

// CHECK-LABEL: func.func @results
func.func @results(%map: !hopper.map<64x64xbf16>, %lse: memref<?x?xf32, strided<[?, 1]>>,
                   %parts: memref<?x?x64xf32>, %x: index, %n: i32) {
  // CHECK: %[[TILE:.*]] = hopper.create_tile : <128x64xbf16>
  %tile = hopper.create_tile : !hopper.tile<128x64xbf16>
  hopper.warp_specialize partition @load threads(1) {
  } partition @compute replicas(2) registers(240) {
    %wg = hopper.warpgroup_id
    %v = arith.constant dense<0.0> : vector<64x64xbf16>
    %f = arith.constant dense<0.0> : vector<64x64xf32>
    %m = arith.constant dense<0.0> : vector<1x64xf32>
    // CHECK: hopper.store %{{.*}}, %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : vector<64x64xbf16>, <64x64xbf16, of 128>, <64x64xbf16>
    // CHECK: hopper.store_rows %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] dim 1 end %{{.*}} : vector<1x64xf32>, memref<?x?xf32, strided<[?, 1]>>
    %rows = hopper.rows %tile[%wg] : !hopper.tile<128x64xbf16> -> !hopper.tile<64x64xbf16, of 128>
    hopper.store %v, %rows, %map[%x, %x, %x] : vector<64x64xbf16>, !hopper.tile<64x64xbf16, of 128>, !hopper.map<64x64xbf16>
    hopper.store_rows %m, %lse[%x, %x] dim 1 end %x : vector<1x64xf32>, memref<?x?xf32, strided<[?, 1]>>
    // CHECK: hopper.store_rows %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] dim 0 end %{{.*}} : vector<64x64xf32>, memref<?x?x64xf32>
    hopper.store_rows %f, %parts[%x, %x] dim 0 end %x : vector<64x64xf32>, memref<?x?x64xf32>
  }
  return
}

// CHECK-LABEL: func.func @combines
func.func @combines(%parts: memref<?x?x?x?x40xf32>, %lses: memref<?x?x?x?xf32>, %o: memref<?x?x?x40xf16>, %lse: memref<?x?x?xf32>,
                  %x: index) {
  // CHECK: hopper.combine %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] into %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] dim 3 : memref<?x?x?x?x40xf32>, memref<?x?x?x?xf32>, memref<?x?x?x40xf16>
  // CHECK: hopper.combine %{{.*}} into %{{.*}} dim 3 lse %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : memref<?x?x?x?x40xf32>, memref<?x?x?x?xf32>, memref<?x?x?x40xf16>, memref<?x?x?xf32>
  hopper.combine %parts, %lses[%x, %x, %x] into %o[%x, %x, %x, %x] dim 3
      : memref<?x?x?x?x40xf32>, memref<?x?x?x?xf32>, memref<?x?x?x40xf16>
  hopper.combine %parts, %lses[%x, %x, %x] into %o[%x, %x, %x, %x] dim 3 lse %lse[%x, %x, %x]
      : memref<?x?x?x?x40xf32>, memref<?x?x?x?xf32>, memref<?x?x?x40xf16>, memref<?x?x?xf32>
  return
}
