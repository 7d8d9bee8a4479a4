// RUN: attn-opt %s --attn-online-softmax --attn-classify-blocks --attn-tile --canonicalize --cse --split-input-file | FileCheck %s

// A schedule that wants it gets one loop over keys. Whether a tile is allowed
// entirely is asked of each one.

// CHECK-LABEL: func @causal
// CHECK: scf.forall
// CHECK: %[[HI:.*]] = arith.minsi %{{.*}}, %[[LENGTH:.*]] : index
// CHECK: %[[FULL:.*]] = arith.minsi %{{.*}}, %[[LENGTH]] : index
// CHECK: scf.for %[[J:.*]] = %c0 to %[[HI]] step %c64 iter_args(%{{.*}}) -> (vector<64x128xf32>, vector<128xf32>, vector<128xf32>) {
// CHECK:   vector.transfer_read {{.*}} {in_bounds = [false, true]}
// CHECK:   %[[S:.*]] = vector.contract
// CHECK:   %[[END:.*]] = arith.addi %[[J]], %c64
// CHECK:   %[[CLASS:.*]] = arith.cmpi sle, %[[END]], %[[FULL]]
// CHECK:   %[[SCORES:.*]] = scf.if %[[CLASS]] -> (vector<64x128xf32>) {
// CHECK-NOT: arith.cmpi
// CHECK:     arith.mulf %[[S]]
// CHECK-NEXT: scf.yield
// CHECK:   } else {
// The predicate is that of the mask and the length.
// CHECK:     arith.cmpi slt, %{{.*}} : vector<64xindex>
// CHECK:     arith.cmpi sle, %{{.*}} : vector<64x128xindex>
// CHECK:     arith.select
// CHECK:     scf.yield
// CHECK:   }
// CHECK:   attn.online_step %[[SCORES]],
// CHECK:   scf.yield
// CHECK-NOT: scf.for %
// CHECK: attn.schedule = #hopper.schedule<tile_m = 128, tile_n = 64
func.func @causal(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %o: tensor<2x4x?x64xbf16>) -> tensor<2x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
      ins(%q, %k, %k : tensor<2x4x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      outs(%o : tensor<2x4x?x64xbf16>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<2x4x?x64xbf16>
}

// -----

// A window has a lower bound, too, from which the loop starts, on the grid of
// tiles, and a class of two comparisons.

// CHECK-LABEL: func @window
// CHECK: %[[DIV:.*]] = arith.divui %{{.*}}, %c64
// CHECK: %[[ALIGNED:.*]] = arith.muli %[[DIV]], %c64
// CHECK: %[[LO:.*]] = arith.select %{{.*}}, %[[HI:.*]], %[[ALIGNED]] : index
// CHECK: scf.for %[[J:.*]] = %[[LO]] to %[[HI]] step %c64
// CHECK:   %[[END:.*]] = arith.addi %[[J]], %c64
// CHECK-DAG: %[[BELOW:.*]] = arith.cmpi sle, %[[END]], %{{.*}} : index
// CHECK-DAG: %[[ABOVE:.*]] = arith.cmpi sge, %[[J]], %{{.*}} : index
// CHECK:   %[[CLASS:.*]] = arith.andi %[[ABOVE]], %[[BELOW]] : i1
// CHECK:   scf.if %[[CLASS]]
// CHECK:   attn.online_step
// CHECK-NOT: scf.for %
// CHECK: attn.schedule
func.func @window(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %o: tensor<2x4x?x64xbf16>) -> tensor<2x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
      ins(%q, %k, %k : tensor<2x4x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      outs(%o : tensor<2x4x?x64xbf16>)
      mask(%b, %h, %i, %j) {
        %c100 = arith.constant 100 : index
        %p = arith.cmpi sle, %j, %i : index
        %first = arith.subi %i, %c100 : index
        %n = arith.cmpi sge, %j, %first : index
        %both = arith.andi %p, %n : i1
        attn.yield %both : i1
      }
  return %r : tensor<2x4x?x64xbf16>
}

// -----

// Without a mask, only the last tile may be partial.

// CHECK-LABEL: func @plain
// CHECK: scf.for %[[J:.*]] = %c0 to %[[LENGTH:.*]] step %c64
// CHECK:   %[[END:.*]] = arith.addi %[[J]], %c64
// CHECK:   %[[CLASS:.*]] = arith.cmpi sle, %[[END]], %[[LENGTH]] : index
// CHECK:   scf.if %[[CLASS]]
// CHECK-NOT: arith.select
// CHECK:   else
// CHECK:     arith.cmpi slt, %{{.*}} : vector<64xindex>
// CHECK:     arith.select
// CHECK:   attn.online_step
// CHECK-NOT: scf.for %
// CHECK: attn.schedule
func.func @plain(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %o: tensor<2x4x?x64xbf16>) -> tensor<2x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
      ins(%q, %k, %k : tensor<2x4x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      outs(%o : tensor<2x4x?x64xbf16>)
  return %r : tensor<2x4x?x64xbf16>
}

// -----

// A mask of which nothing is known is applied to every tile, without a branch.

// CHECK-LABEL: func @every_other
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c64
// CHECK-NOT: scf.if
// CHECK:   arith.remui
// CHECK:   arith.select
// CHECK-NOT: scf.if
// CHECK:   attn.online_step
// CHECK-NOT: scf.for %
// CHECK: attn.schedule
func.func @every_other(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %o: tensor<2x4x?x64xbf16>) -> tensor<2x4x?x64xbf16> {
  %r = attn.attention schedule #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
      ins(%q, %k, %k : tensor<2x4x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      outs(%o : tensor<2x4x?x64xbf16>)
      mask(%b, %h, %i, %j) {
        %c2 = arith.constant 2 : index
        %c0 = arith.constant 0 : index
        %m = arith.remui %j, %c2 : index
        %p = arith.cmpi eq, %m, %c0 : index
        attn.yield %p : i1
      }
  return %r : tensor<2x4x?x64xbf16>
}
