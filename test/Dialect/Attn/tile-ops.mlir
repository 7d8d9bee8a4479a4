// The assembly of loops over tiles, their steps, masks, and accumulation.

// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s

// CHECK-LABEL: @whole
// CHECK: %[[R:.+]]:2 = attn.tile_loop %[[J:.+]] = %[[LO:.+]] to %[[HI:.+]] step 64 iter_args(%[[A:.+]] = %{{.+}}, %[[B:.+]] = %{{.+}}) : vector<4xf32>, index {
// CHECK:   %[[X:.+]] = attn.step @load_k -> (vector<4xf32>) {
// CHECK:     attn.yield %{{.+}} : vector<4xf32>
// CHECK:   }
// CHECK:   %[[N:.+]] = arith.addi %[[B]], %[[J]] : index
// CHECK:   attn.yield %[[X]], %[[N]] : vector<4xf32>, index
// CHECK: }
func.func @whole(%lo: index, %hi: index, %a: vector<4xf32>, %n: index) -> vector<4xf32> {
  %r:2 = attn.tile_loop %j = %lo to %hi step 64 iter_args(%acc = %a, %count = %n) : vector<4xf32>, index {
    %x = attn.step @load_k -> (vector<4xf32>) {
      %y = arith.addf %acc, %acc : vector<4xf32>
      attn.yield %y : vector<4xf32>
    }
    %next = arith.addi %count, %j : index
    attn.yield %x, %next : vector<4xf32>, index
  }
  return %r#0 : vector<4xf32>
}

// CHECK-LABEL: @classes
// CHECK:      attn.tile_loop %{{.+}} = %{{.+}} to %{{.+}} step 80 iter_args(%{{.+}} = %{{.+}})
// CHECK-NEXT:   needed(%[[J:.+]]) {
// CHECK:          %[[P:.+]] = arith.cmpi slt, %[[J]], %{{.+}} : index
// CHECK:          attn.yield %[[P]] : i1
// CHECK:        }
// CHECK-NEXT:   full(%{{.+}}) within %[[LO:.+]] to %{{.+}} {
// CHECK:        } only_last_partial : vector<4xf32> attributes {tag} {
func.func @classes(%lo: index, %hi: index, %a: vector<4xf32>) -> vector<4xf32> {
  %r = attn.tile_loop %j = %lo to %hi step 80 iter_args(%acc = %a)
      needed(%first) {
        %p = arith.cmpi slt, %first, %hi : index
        attn.yield %p : i1
      }
      full(%first) within %lo to %hi {
        %p = arith.cmpi sle, %first, %hi : index
        attn.yield %p : i1
      } only_last_partial : vector<4xf32> attributes {tag} {
    attn.yield %acc : vector<4xf32>
  }
  return %r : vector<4xf32>
}

// The state of an online softmax comes first.

// CHECK-LABEL: @online
// CHECK: %[[R:.+]]:4 = attn.tile_loop %[[J:.+]] = %{{.+}} to %{{.+}} step 8 online(%[[ACC:.+]] = %{{.+}}, %[[MAX:.+]] = %{{.+}}, %[[SUM:.+]] = %{{.+}}) iter_args(%[[N:.+]] = %{{.+}}) : vector<2x4xf32>, vector<4xf32>, vector<4xf32>, index {
// CHECK:   attn.online_step %{{.+}}, %[[ACC]], %[[MAX]], %[[SUM]] :
// CHECK: attn.tile_loop %{{.+}} step 8 online(%{{.+}} = %[[R]]#0, %{{.+}} = %[[R]]#1, %{{.+}} = %[[R]]#2) : vector<2x4xf32>, vector<4xf32>, vector<4xf32> attributes {tag} {
func.func @online(%lo: index, %hi: index, %s: vector<8x4xf32>) -> vector<4xf32> {
  %acc, %m, %l = attn.online_start : vector<2x4xf32>, vector<4xf32>
  %r:4 = attn.tile_loop %j = %lo to %hi step 8 online(%a = %acc, %b = %m, %c = %l) iter_args(%n = %lo) : vector<2x4xf32>, vector<4xf32>, vector<4xf32>, index {
    %x:3 = attn.step @softmax -> (vector<2x4xf32>, vector<4xf32>, vector<4xf32>) {
      %p, %a1, %b1, %c1 = attn.online_step %s, %a, %b, %c : vector<8x4xf32>, vector<2x4xf32>, vector<4xf32>
      attn.yield %a1, %b1, %c1 : vector<2x4xf32>, vector<4xf32>, vector<4xf32>
    }
    attn.yield %x#0, %x#1, %x#2, %j : vector<2x4xf32>, vector<4xf32>, vector<4xf32>, index
  }
  %t:3 = attn.tile_loop %j = %lo to %hi step 8 online(%a = %r#0, %b = %r#1, %c = %r#2) : vector<2x4xf32>, vector<4xf32>, vector<4xf32> attributes {tag} {
    %p, %a1, %b1, %c1 = attn.online_step %s, %a, %b, %c : vector<8x4xf32>, vector<2x4xf32>, vector<4xf32>
    attn.yield %a1, %b1, %c1 : vector<2x4xf32>, vector<4xf32>, vector<4xf32>
  }
  return %t#2 : vector<4xf32>
}

// CHECK-LABEL: @nothing_carried
// CHECK: attn.tile_loop %{{.+}} = %{{.+}} to %{{.+}} step 1 {
// CHECK:   attn.step @store {
// CHECK:     attn.yield
// CHECK:   }
// CHECK:   attn.yield
// CHECK: }
func.func @nothing_carried(%lo: index, %hi: index, %m: memref<?xindex>) {
  attn.tile_loop %j = %lo to %hi step 1 {
    attn.step @store {
      memref.store %j, %m[%j] : memref<?xindex>
      attn.yield
    }
    attn.yield
  }
  return
}

// CHECK-LABEL: @mask
// CHECK: attn.mask_tile %{{.+}} : vector<8x4xf32> {
// CHECK:   %[[P:.+]] = arith.cmpi
// CHECK:   attn.yield %[[P]] : vector<8x4xi1>
// CHECK: }
func.func @mask(%s: vector<8x4xf32>, %keys: vector<8x4xindex>, %limit: vector<8x4xindex>) -> vector<8x4xf32> {
  %m = attn.mask_tile %s : vector<8x4xf32> {
    %p = arith.cmpi slt, %keys, %limit : vector<8x4xindex>
    attn.yield %p : vector<8x4xi1>
  }
  return %m : vector<8x4xf32>
}

// CHECK-LABEL: @mask_keys
// CHECK: attn.mask_tile %{{.+}} keys %[[J:.+]] to %[[N:.+]] : vector<8x4xf32> {
func.func @mask_keys(%s: vector<8x4xf32>, %p: vector<8x4xi1>, %j: index, %n: index) -> vector<8x4xf32> {
  %m = attn.mask_tile %s keys %j to %n : vector<8x4xf32> {
    attn.yield %p : vector<8x4xi1>
  }
  return %m : vector<8x4xf32>
}

// CHECK-LABEL: @affine
// CHECK: attn.affine_scores %[[S:.+]] factor 1.250000e-01 slope %{{.+}} offset %{{.+}} : vector<8x4xf32>, vector<4xf32> {
// CHECK:   %[[Y:.+]] = arith.mulf %[[S]]
// CHECK:   attn.yield %[[Y]] : vector<8x4xf32>
// CHECK: }
func.func @affine(%s: vector<8x4xf32>, %x: vector<8x4xf32>, %r: vector<4xf32>) -> vector<8x4xf32> {
  %m = attn.affine_scores %s factor 0.125 slope %r offset %r : vector<8x4xf32>, vector<4xf32> {
    %y = arith.mulf %s, %x : vector<8x4xf32>
    attn.yield %y : vector<8x4xf32>
  }
  return %m : vector<8x4xf32>
}

// CHECK-LABEL: @affine_pieces
// CHECK: attn.affine_scores %{{.+}} factor 1.250000e-01 slope %{{.+}} offset %{{.+}} where %{{.+}} : vector<8x4xf32>, vector<4xf32> {
func.func @affine_pieces(%s: vector<8x4xf32>, %r: vector<4xf32>, %p: vector<4xi1>) -> vector<8x4xf32> {
  %m = attn.affine_scores %s factor 0.125 slope %r offset %r where %p : vector<8x4xf32>, vector<4xf32> {
    attn.yield %s : vector<8x4xf32>
  }
  return %m : vector<8x4xf32>
}

// CHECK-LABEL: @affine_keys
// CHECK: attn.affine_scores %{{.+}} factor 1.250000e-01 slope %{{.+}} offset %{{.+}} keys %{{.+}} : vector<8x4xf32>, vector<4xf32>, vector<8xf32> {
// CHECK: attn.affine_scores %{{.+}} factor 1.250000e-01 slope %{{.+}} offset %{{.+}} keys %{{.+}} where %{{.+}} : vector<8x4xf32>, vector<4xf32>, vector<8xf32> {
func.func @affine_keys(%s: vector<8x4xf32>, %t: vector<8x4xf32>, %r: vector<4xf32>, %k: vector<8xf32>, %p: vector<4xi1>) -> (vector<8x4xf32>, vector<8x4xf32>) {
  %m = attn.affine_scores %s factor 0.125 slope %r offset %r keys %k : vector<8x4xf32>, vector<4xf32>, vector<8xf32> {
    attn.yield %s : vector<8x4xf32>
  }
  %n = attn.affine_scores %t factor 0.125 slope %r offset %r keys %k where %p : vector<8x4xf32>, vector<4xf32>, vector<8xf32> {
    attn.yield %t : vector<8x4xf32>
  }
  return %m, %n : vector<8x4xf32>, vector<8x4xf32>
}

// CHECK-LABEL: @box
// CHECK: attn.gather %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] rows along 2 columns along 1 mask %{{.+}} site 3 : tensor<2x?x?xf32>, (index, index, index), vector<8x4xi1> -> vector<8x4xf32>
// CHECK: attn.gather %{{.+}}[%{{.+}}] columns along 0 mask %{{.+}} : memref<?xi1>, (index), i1 -> vector<4xi1>
// CHECK: attn.gather %{{.+}}[%{{.+}}] rows along 0 mask %{{.+}} : memref<?xi1>, (index), i1 -> vector<8xi1>
func.func @box(%t: tensor<2x?x?xf32>, %m: memref<?xi1>, %i: index, %p: vector<8x4xi1>, %q: i1) -> (vector<8x4xf32>, vector<4xi1>, vector<8xi1>) {
  %x = attn.gather %t[%i, %i, %i] rows along 2 columns along 1 mask %p site 3 : tensor<2x?x?xf32>, (index, index, index), vector<8x4xi1> -> vector<8x4xf32>
  %y = attn.gather %m[%i] columns along 0 mask %q : memref<?xi1>, (index), i1 -> vector<4xi1>
  %z = attn.gather %m[%i] rows along 0 mask %q : memref<?xi1>, (index), i1 -> vector<8xi1>
  return %x, %y, %z : vector<8x4xf32>, vector<4xi1>, vector<8xi1>
}

// CHECK-LABEL: @ends_of_softmax
// CHECK: %[[ACC:.+]], %[[MAX:.+]], %[[SUM:.+]] = attn.online_start : vector<2x4xf32>, vector<4xf32>
// CHECK: attn.online_start from 2.500000e+01 : vector<2x4xf64>, vector<4xf64>
// CHECK: attn.normalize %[[ACC]], %[[MAX]], %[[SUM]] : vector<2x4xf32>, vector<4xf32> -> vector<2x4xbf16>
func.func @ends_of_softmax() -> (vector<2x4xbf16>, vector<4xf32>, vector<4xf64>) {
  %acc, %m, %l = attn.online_start : vector<2x4xf32>, vector<4xf32>
  %acc1, %m1, %l1 = attn.online_start from 25.0 : vector<2x4xf64>, vector<4xf64>
  %o, %lse = attn.normalize %acc, %m, %l : vector<2x4xf32>, vector<4xf32> -> vector<2x4xbf16>
  return %o, %lse, %m1 : vector<2x4xbf16>, vector<4xf32>, vector<4xf64>
}

// CHECK-LABEL: @step_of_softmax
// CHECK: attn.online_step %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} rescale(lazy) : vector<8x4xf32>
// CHECK: attn.online_step %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : vector<8x4xf32>
// CHECK: attn.online_step %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} rescale(lazy) factor 1.250000e-01 : vector<8x4xf32>
func.func @step_of_softmax(%s: vector<8x4xf32>, %acc: vector<2x4xf32>, %m: vector<4xf32>) -> vector<4xf32> {
  %p, %acc1, %m1, %l1 = attn.online_step %s, %acc, %m, %m rescale(lazy) : vector<8x4xf32>, vector<2x4xf32>, vector<4xf32>
  %q, %acc2, %m2, %l2 = attn.online_step %s, %acc1, %m1, %l1 rescale(exact) : vector<8x4xf32>, vector<2x4xf32>, vector<4xf32>
  %r, %acc3, %m3, %l3 = attn.online_step %s, %acc2, %m2, %l2 rescale(lazy) factor 0.125 : vector<8x4xf32>, vector<2x4xf32>, vector<4xf32>
  return %l3 : vector<4xf32>
}

// CHECK-LABEL: @accumulate
// CHECK: attn.accumulate add %{{.+}} into %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] map #{{.+}} : vector<8x4xf32>, memref<2x?x8xf32>
// CHECK: attn.accumulate ordered %{{.+}} into %{{.+}}[%{{.+}}] after %{{.+}} as %{{.+}} in %{{.+}}[%{{.+}}] : vector<4xf32>, tensor<?xf32> -> tensor<?xf32>, memref<8x2xi32>
// CHECK: attn.accumulate ordered %{{.+}} into %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] after %{{.+}} as %{{.+}} in %{{.+}}[%{{.+}}] last %{{.+}} to %{{.+}}[%{{.+}}, %{{.+}}] map #{{.+}} scale 2.500000e-01 : vector<8x4xf32>, memref<2x?x8xf32>, memref<8x2xi32> to memref<?x8xbf16>
func.func @accumulate(%v: vector<8x4xf32>, %m: memref<2x?x8xf32>, %i: index, %w: vector<4xf32>, %t: tensor<?xf32>, %counters: memref<8x2xi32>, %last: i1, %out: memref<?x8xbf16>) -> tensor<?xf32> {
  attn.accumulate add %v into %m[%i, %i, %i] map affine_map<(b, i, d) -> (d, i)> : vector<8x4xf32>, memref<2x?x8xf32>
  %r = attn.accumulate ordered %w into %t[%i] after %i as %i in %counters[%i] : vector<4xf32>, tensor<?xf32> -> tensor<?xf32>, memref<8x2xi32>
  attn.accumulate ordered %v into %m[%i, %i, %i] after %i as %i in %counters[%i] last %last to %out[%i, %i] map affine_map<(i, d) -> (d, i)> scale 0.25
      : vector<8x4xf32>, memref<2x?x8xf32>, memref<8x2xi32> to memref<?x8xbf16>
  return %r : tensor<?xf32>
}

// CHECK-LABEL: @rows
// CHECK: attn.gather_rows %{{.+}}[%{{.+}}, %{{.+}}] rows %{{.+}} along 2 columns along 3 mask %{{.+}} : tensor<2x8x?x64xbf16>, vector<32xindex> -> vector<32x64xbf16>
// CHECK: attn.gather_rows %{{.+}}[] rows %{{.+}} along 1 columns along 0 mask %{{.+}} {note = 1 : i64} : memref<4x?xi8>, vector<32xindex> -> vector<32x4xi8>
func.func @rows(%t: tensor<2x8x?x64xbf16>, %m: memref<4x?xi8>, %i: index, %rows: vector<32xindex>, %mask: vector<32xi1>) -> (vector<32x64xbf16>, vector<32x4xi8>) {
  %x = attn.gather_rows %t[%i, %i] rows %rows along 2 columns along 3 mask %mask : tensor<2x8x?x64xbf16>, vector<32xindex> -> vector<32x64xbf16>
  %y = attn.gather_rows %m[] rows %rows along 1 columns along 0 mask %mask {note = 1 : i64} : memref<4x?xi8>, vector<32xindex> -> vector<32x4xi8>
  return %x, %y : vector<32x64xbf16>, vector<32x4xi8>
}

// CHECK-LABEL: @queries
// CHECK: attn.tile_queries %{{.+}}{{$}}
func.func @queries(%count: index) {
  attn.tile_queries %count
  return
}

// CHECK-LABEL: @diagonals
// CHECK: attn.spread_diagonals %{{.+}} : vector<12xf32> -> vector<8x4xf32>
func.func @diagonals(%x: vector<12xf32>) -> vector<8x4xf32> {
  %y = attn.spread_diagonals %x : vector<12xf32> -> vector<8x4xf32>
  return %y : vector<8x4xf32>
}
