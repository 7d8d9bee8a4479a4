// RUN: attn-opt %s --attn-online-softmax --attn-classify-blocks --attn-tile --attn-expand-tile-loops --canonicalize --cse --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-online-softmax --attn-tile="bounds-check=true" --attn-expand-tile-loops --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=BOUNDS

// Without a mask there are two loops over keys: whole tiles without a
// predicate, and the ragged last one.

// CHECK-LABEL: func @plain
// CHECK-SAME: %[[Q:[^ ]*]]: tensor<2x4x?x8xf32>, %[[K:[^ ]*]]: tensor<2x2x?x8xf32>, %[[V:[^ ]*]]: tensor<2x2x?x16xf32>, %[[O:[^ ]*]]: tensor<2x4x?x16xf32>
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %[[T:.*]]) in (2, 4, %{{.*}}) shared_outs(%[[OUT:.*]] = %[[O]])
// CHECK: %acc, %max, %sum = attn.online_start : vector<16x16xf32>, vector<16xf32>
// CHECK: %[[G:.*]] = arith.divui %[[H]], %c2
// CHECK: vector.transfer_read %[[Q]][%[[B]], %[[H]], %{{.*}}, %c0], %{{.*}} {in_bounds = [true, false], permutation_map = #{{.*}}} : tensor<2x4x?x8xf32>, vector<8x16xf32>
// CHECK: %[[S:.*]]:3 = scf.for %[[J:.*]] = %c0 to %{{.*}} step %c8 iter_args(%[[ACC:.*]] = %acc, %[[MAX:.*]] = %max, %[[SUM:.*]] = %sum) -> (vector<16x16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: vector.transfer_read %[[K]][%[[B]], %[[G]], %[[J]], %c0], %{{.*}} {in_bounds = [true, true]} : tensor<2x2x?x8xf32>, vector<8x8xf32>
// CHECK: vector.contract {{.*}} : vector<8x8xf32>, vector<8x16xf32> into vector<8x16xf32>
// The scale and the change to base 2 are one factor: 1/sqrt(8) * log2(e).
// CHECK-NOT: arith.mulf
// CHECK-NOT: arith.select
// CHECK: %[[P:.*]], %[[ACC1:.*]], %[[MAX1:.*]], %[[SUM1:.*]] = attn.online_step %{{.*}}, %[[ACC]], %[[MAX]], %[[SUM]] factor 0.51{{.*}} : vector<8x16xf32>, vector<16x16xf32>, vector<16xf32>
// CHECK: %[[V1:.*]] = vector.transfer_read %[[V]][%[[B]], %[[G]], %[[J]], %c0]
// CHECK: %[[ACC2:.*]] = vector.contract {{.*}} %[[V1]], %[[P]], %[[ACC1]] : vector<8x16xf32>, vector<8x16xf32> into vector<16x16xf32>
// CHECK: scf.yield %[[ACC2]], %[[MAX1]], %[[SUM1]]
// CHECK: %[[END:.*]]:3 = scf.for {{.*}} iter_args(%{{.*}} = %[[S]]#0, %{{.*}} = %[[S]]#1, %{{.*}} = %[[S]]#2)
// CHECK: {in_bounds = [false, true]}
// CHECK: arith.select %{{.*}} : vector<8x16xi1>, vector<8x16xf32>
// CHECK: attn.online_step
// CHECK: attn.normalize %[[END]]#0, %[[END]]#1, %[[END]]#2 : vector<16x16xf32>, vector<16xf32> -> vector<16x16xf32>
// CHECK: tensor.extract_slice %[[OUT]]
// CHECK: vector.transfer_write
// CHECK: tensor.parallel_insert_slice
// CHECK: attn.schedule = #attn.schedule<tile_m = 16
// BOUNDS-LABEL: func @plain
func.func @plain(%q: tensor<2x4x?x8xf32>, %k: tensor<2x2x?x8xf32>, %v: tensor<2x2x?x16xf32>, %o: tensor<2x4x?x16xf32>) -> tensor<2x4x?x16xf32> {
  %r = attn.attention schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %k, %v : tensor<2x4x?x8xf32>, tensor<2x2x?x8xf32>, tensor<2x2x?x16xf32>)
      outs(%o : tensor<2x4x?x16xf32>)
  return %r : tensor<2x4x?x16xf32>
}

// -----

// A causal mask: full tiles without the predicate, then partial ones; what lies
// above the diagonal is not visited.

// CHECK-LABEL: func @causal
// CHECK: scf.forall
// CHECK: scf.for
// CHECK-NOT: arith.select
// CHECK: attn.online_step
// CHECK: scf.for
// CHECK: arith.cmpi sle, %{{.*}} : vector<8x16xindex>
// CHECK-NEXT: arith.select
// CHECK: attn.online_step
// CHECK-NOT: scf.for %
// CHECK: %[[O:.*]], %[[LSE:.*]] = attn.normalize
// CHECK: vector.transfer_write %[[O]]
// CHECK: vector.transfer_write %[[LSE]]
// BOUNDS-LABEL: func @causal
func.func @causal(%q: tensor<1x1x?x8xf32>, %o: tensor<1x1x?x8xf32>, %l: tensor<1x1x?xf32>) -> (tensor<1x1x?x8xf32>, tensor<1x1x?xf32>) {
  %r, %lse = attn.attention schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>)
      outs(%o, %l : tensor<1x1x?x8xf32>, tensor<1x1x?xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r, %lse : tensor<1x1x?x8xf32>, tensor<1x1x?xf32>
}

// -----

// A mask that is not affine keeps its predicate in one loop. Values keep the
// smallest shape: what depends on the query alone is read once for each query,
// and the batch of k and v is that of q or 1.

// CHECK-LABEL: func @partial
// CHECK: arith.cmpi eq, %{{.*}}, %c1
// CHECK: scf.for
// CHECK: attn.gather %{{.*}}[%{{.*}}] mask %{{.*}} : tensor<?xf32>, (vector<16xindex>), {{.*}} -> vector<16xf32>
// CHECK-NOT: scf.for %
// BOUNDS-LABEL: module attributes {attn.sites = ["{{.*}}: error: expects an index below %1 in dimension 0 of capture 0, but got %0"]}
// BOUNDS: attn.gather {{.*}} site 0 :
func.func @partial(%q: tensor<?x1x?x8xf32>, %k: tensor<?x1x?x8xf32>, %t: tensor<?xf32>, %o: tensor<?x1x?x8xf32>) -> tensor<?x1x?x8xf32> {
  %r = attn.attention schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %k, %k : tensor<?x1x?x8xf32>, tensor<?x1x?x8xf32>, tensor<?x1x?x8xf32>)
      captures(%t : tensor<?xf32>)
      outs(%o : tensor<?x1x?x8xf32>)
      score(%s, %b, %h, %i, %j, %c) {
        %x = tensor.extract %c[%i] : tensor<?xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %c) {
        %c2 = arith.constant 2 : index
        %m = arith.remui %j, %c2 : index
        %c0 = arith.constant 0 : index
        %p = arith.cmpi eq, %m, %c0 : index
        attn.yield %p : i1
      }
  return %r : tensor<?x1x?x8xf32>
}

// -----

// Both branches of an scf.if are computed; reads and divisions in them stay
// harmless where the branch is not taken.

// CHECK-LABEL: func @branches
// CHECK: %[[SAFE:.*]] = arith.select %{{.*}} : vector<8xi1>, vector<8xindex>
// CHECK: arith.divui %{{.*}}, %[[SAFE]] : vector<8xindex>
// CHECK: arith.select
func.func @branches(%q: tensor<1x1x16x8xf32>, %o: tensor<1x1x16x8xf32>) -> tensor<1x1x16x8xf32> {
  %r = attn.attention schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>)
      outs(%o : tensor<1x1x16x8xf32>)
      score(%s, %b, %h, %i, %j) {
        %c0 = arith.constant 0 : index
        %c100 = arith.constant 100 : index
        %p = arith.cmpi ne, %j, %c0 : index
        %x = scf.if %p -> index {
          %d = arith.divui %c100, %j : index
          scf.yield %d : index
        } else {
          scf.yield %c0 : index
        }
        %y = arith.index_cast %x : index to i32
        %z = arith.sitofp %y : i32 to f32
        %w = arith.addf %s, %z : f32
        attn.yield %w : f32
      }
  return %r : tensor<1x1x16x8xf32>
}

// -----

// An online attention on its own keeps its state in tensors, and a finalize on
// its own reads it from there.

// CHECK-LABEL: func @apart
// CHECK-SAME: %[[ACC:[^ ]*]]: tensor<1x1x16x8xf32>, %[[MAX:[^ ]*]]: tensor<1x1x16xf32>, %[[SUM:[^ ]*]]: tensor<1x1x16xf32>
// CHECK: %[[S:.*]]:3 = scf.forall {{.*}} shared_outs(%[[ACC0:.*]] = %[[ACC]], %[[MAX0:.*]] = %[[MAX]], %[[SUM0:.*]] = %[[SUM]])
// CHECK: vector.transfer_read %[[ACC0]]
// CHECK: vector.transfer_read %[[MAX0]]
// CHECK: vector.transfer_read %[[SUM0]]
// CHECK: scf.for %
// CHECK: scf.forall
// CHECK: vector.transfer_read %[[S]]#0
// CHECK: attn.normalize
// CHECK: return %{{.*}}, %[[S]]#0, %[[S]]#1
func.func @apart(%q: tensor<1x1x16x8xf32>, %acc: tensor<1x1x16x8xf32>, %max: tensor<1x1x16xf32>, %sum: tensor<1x1x16xf32>, %o: tensor<1x1x16x8xf32>)
    -> (tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16xf32>) {
  %s:3 = attn.online_attention scale 1.0 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>)
      outs(%acc, %max, %sum : tensor<1x1x16x8xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>)
  %r = attn.finalize ins(%s#0, %s#1, %s#2 : tensor<1x1x16x8xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>)
      outs(%o : tensor<1x1x16x8xf32>) -> tensor<1x1x16x8xf32>
  return %r, %s#0, %s#1 : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16xf32>
}

// -----

// Offsets shift the positions that the regions see.

// CHECK-LABEL: func @offsets
// CHECK-SAME: %[[OFF:[^ ]*]]: index
// CHECK: arith.addi %{{.*}}, %[[OFF]] : index
func.func @offsets(%off: index, %q: tensor<1x1x16x8xf32>, %o: tensor<1x1x16x8xf32>) -> tensor<1x1x16x8xf32> {
  %c0 = arith.constant 0 : index
  %r = attn.attention schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>)
      offsets(%c0, %c0, %c0, %off)
      outs(%o : tensor<1x1x16x8xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<1x1x16x8xf32>
}

// -----

// Tiles that the mask tells apart: what belongs to the rows once, and one loop
// that asks about each KV block. A predicate that no tile can do without has
// no other side. A tile has at least one query and one key.

// CHECK-LABEL: func @tiles
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %[[TILE:.*]]) in
// CHECK: %[[ROW:.*]] = affine.apply {{.*}}[%[[TILE]]]
// CHECK: %[[LEAST:.*]] = arith.addi %[[ROW]], %c1 : index
// CHECK: %[[ROWS:.*]] = arith.maxsi %{{.*}}, %[[LEAST]] : index
// CHECK: %[[LAST:.*]] = arith.subi %[[ROWS]], %c1 : index
// CHECK: scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %c8
// CHECK:   %[[MAY:.*]] = arith.cmpi sle, %[[J]], %[[LAST]]
// CHECK:   %[[END:.*]] = arith.addi %[[J]], %c8 : index
// CHECK:   %[[KEYS:.*]] = arith.minsi %[[END]], %[[SKV:.*]] : index
// CHECK:   %[[NEXT:.*]] = arith.addi %[[J]], %c1 : index
// CHECK:   arith.maxsi %[[KEYS]], %[[NEXT]] : index
// CHECK:   %[[WHOLE:.*]] = arith.cmpi sle, %[[END]], %[[SKV]]
// CHECK:   %[[FULL:.*]] = arith.andi %{{.*}}, %[[WHOLE]]
// CHECK:   scf.if %[[MAY]] -> (vector<16x16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK:     scf.if %[[FULL]] -> (vector<16x16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK:       vector.transfer_read {{.*}} {in_bounds = [true, true]}
// CHECK-NOT:   arith.select
// CHECK:       scf.yield
// CHECK:     } else {
// CHECK:       vector.transfer_read {{.*}} {in_bounds = [false, true]}
// CHECK:       arith.select
// CHECK:       scf.yield
// CHECK:     }
// CHECK:   } else {
// CHECK-NEXT: scf.yield
// CHECK:   }
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: attn.schedule
func.func @tiles(%q: tensor<2x4x?x8xf32>, %v: tensor<2x4x?x16xf32>, %o: tensor<2x4x?x16xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x16xf32> {
  %r:3 = attn.online_attention scale 1.0 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %v : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x16xf32>)
      outs(%o, %m, %m : tensor<2x4x?x16xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
      tiles(%b, %h, %i0, %i1, %j0, %j1) {
        %c1 = arith.constant 1 : index
        %last = arith.subi %i1, %c1 : index
        %may = arith.cmpi sle, %j0, %last : index
        %must = arith.cmpi sle, %j1, %i0 : index
        attn.yield %may, %must : i1, i1
      }
  %s:3 = attn.online_attention scale 1.0 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %v : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x16xf32>)
      outs(%r#0, %r#1, %r#2 : tensor<2x4x?x16xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
      tiles(%b, %h, %i0, %i1, %j0, %j1) {
        %never = arith.constant false
        %always = arith.constant true
        attn.yield %always, %never : i1, i1
      }
  return %s#0 : tensor<2x4x?x16xf32>
}

// -----

// Ranges of captures. Those of keys are found before, for all tiles, and those
// of rows once for a tile of rows.

// CHECK-LABEL: func @ranges
// CHECK-SAME: %[[DOC:[^ ]*]]: tensor<2x?xi32>
// CHECK: %[[TABLES:.*]]:2 = scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (2, 1, %{{.*}}) shared_outs({{.*}}) -> (tensor<2x1x?xi32>, tensor<2x1x?xi32>) {
// A loop over the keys, and none over the batch.
// CHECK:   scf.if %{{.*}} -> (i32, i32) {
// CHECK-NEXT: scf.for %[[KEY:[^ ]*]] =
// CHECK-NEXT:   tensor.extract %[[DOC]][%{{.*}}, %[[KEY]]]
// CHECK:       arith.minsi
// CHECK:       arith.maxsi
// A range that is partly outside may be anything.
// CHECK:   } else {
// CHECK-NEXT: scf.yield %c-2147483648_i32, %c2147483647_i32 : i32, i32
// CHECK:   tensor.parallel_insert_slice
// CHECK:   tensor.parallel_insert_slice
// CHECK: scf.forall (%[[B:.*]], %{{.*}}, %{{.*}}) in (2, 4, %{{.*}})
// CHECK:   scf.for
// CHECK-NEXT: tensor.extract %[[DOC]]
// CHECK:   scf.for %[[J:.*]] = %c0 to
// CHECK:     %[[TILE:.*]] = arith.divui %[[J]], %c8 : index
// CHECK-DAG: tensor.extract %[[TABLES]]#0[%[[B]], %c0, %[[TILE]]]
// CHECK-DAG: tensor.extract %[[TABLES]]#1[%[[B]], %c0, %[[TILE]]]
// CHECK-NOT: tensor.extract %[[DOC]]
// CHECK:     scf.if
func.func @ranges(%doc: tensor<2x?xi32>, %q: tensor<2x4x?x8xf32>, %o: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%doc : tensor<2x?xi32>)
      outs(%o, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %w) {
        %x = tensor.extract %w[%b, %i] : tensor<2x?xi32>
        %y = tensor.extract %w[%b, %j] : tensor<2x?xi32>
        %p = arith.cmpi sle, %x, %y : i32
        attn.yield %p : i1
      }
      tiles(%b, %h, %i0, %i1, %j0, %j1, %w) {
        %c1 = arith.constant 1 : index
        %b1 = arith.addi %b, %c1 : index
        %imin, %imax = attn.range %w[%b, %i0] to [%b1, %i1] : tensor<2x?xi32>
        %jmin, %jmax = attn.range %w[%b, %j0] to [%b1, %j1] : tensor<2x?xi32>
        %may = arith.cmpi sle, %imin, %jmax : i32
        %must = arith.cmpi sle, %imax, %jmin : i32
        attn.yield %may, %must : i1, i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// A layout of blocks, of 16 queries and 16 keys, on tiles of 16 and 8: a tile lies in one block, so that its class is one
// bit, and so is what the predicate reads.

// CHECK-LABEL: func @blocks
// CHECK-SAME: %[[BITS:[^ ]*]]: tensor<4x?x?xi1>
// CHECK: scf.forall (%{{.*}}, %[[H:.*]], %{{.*}}) in
// CHECK:   %[[ROW:.*]] = arith.divui %{{.*}}, %c16 : index
// CHECK:   scf.for
// CHECK:     %[[COLUMN:.*]] = arith.divui %{{.*}}, %c16 : index
// CHECK:     %[[CLASS:.*]] = scf.if %{{.*}} -> (i1
// CHECK-NEXT:  tensor.extract %[[BITS]][%[[H]], %[[ROW]], %[[COLUMN]]]
// CHECK:     attn.gather %[[BITS]][%[[H]], %[[ROW]], %[[COLUMN]]] mask %true : tensor<4x?x?xi1>, (index, index, index), i1 -> i1
func.func @blocks(%bits: tensor<4x?x?xi1>, %q: tensor<2x4x?x8xf32>, %o: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%bits : tensor<4x?x?xi1>)
      outs(%o, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %w) {
        %c16 = arith.constant 16 : index
        %x = arith.divui %i, %c16 : index
        %y = arith.divui %j, %c16 : index
        %p = tensor.extract %w[%h, %x, %y] : tensor<4x?x?xi1>
        attn.yield %p : i1
      }
      tiles(%b, %h, %i0, %i1, %j0, %j1, %w) {
        %c1 = arith.constant 1 : index
        %c16 = arith.constant 16 : index
        %i2 = arith.subi %i1, %c1 : index
        %j2 = arith.subi %j1, %c1 : index
        %x0 = arith.divui %i0, %c16 : index
        %x1 = arith.divui %i2, %c16 : index
        %y0 = arith.divui %j0, %c16 : index
        %y1 = arith.divui %j2, %c16 : index
        %h1 = arith.addi %h, %c1 : index
        %x2 = arith.addi %x1, %c1 : index
        %y2 = arith.addi %y1, %c1 : index
        %all, %any = attn.range %w[%h, %x0, %y0] to [%h1, %x2, %y2] : tensor<4x?x?xi1>
        attn.yield %any, %all : i1, i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// Quotients that are the same for a tile, by shifts and in a score too, and others that are not: by 24, of a sum, and where
// positions count from elsewhere.

// CHECK-LABEL: func @quotients
// CHECK: scf.for %[[J:.*]] = %c0
// CHECK: %[[SHIFTED:.*]] = arith.shrui %[[J]], %c4 : index
// CHECK: attn.gather %{{.*}}[%[[SHIFTED]]] mask %true : tensor<?xf32>, (index), i1 -> f32
// CHECK: arith.divui %{{.*}} : vector<8xindex>
// CHECK: attn.gather {{.*}} -> vector<8xf32>
// CHECK: arith.shrui %{{.*}} : vector<8xindex>
// CHECK: attn.gather {{.*}} -> vector<8xf32>
func.func @quotients(%t: tensor<?xf32>, %q: tensor<2x4x?x8xf32>, %o: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%t : tensor<?xf32>)
      outs(%o, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      score(%s, %b, %h, %i, %j, %w) {
        %c1 = arith.constant 1 : index
        %c4 = arith.constant 4 : index
        %c12 = arith.constant 12 : index
        %x = arith.shrui %j, %c4 : index
        %p = tensor.extract %w[%x] : tensor<?xf32>
        %y = arith.divui %j, %c12 : index
        %u = tensor.extract %w[%y] : tensor<?xf32>
        %j1 = arith.addi %j, %c1 : index
        %z = arith.shrui %j1, %c4 : index
        %v = tensor.extract %w[%z] : tensor<?xf32>
        %s0 = arith.addf %s, %p : f32
        %s1 = arith.addf %s0, %u : f32
        %s2 = arith.addf %s1, %v : f32
        attn.yield %s2 : f32
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// CHECK-LABEL: func @elsewhere
// CHECK: arith.divui %{{.*}} : vector<8xindex>
// CHECK: attn.gather {{.*}} -> vector<8xi1>
func.func @elsewhere(%t: tensor<?xi1>, %at: index, %q: tensor<2x4x?x8xf32>, %o: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%t : tensor<?xi1>)
      offsets(%at, %at, %at, %at)
      outs(%o, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %w) {
        %c16 = arith.constant 16 : index
        %x = arith.divui %j, %c16 : index
        %p = tensor.extract %w[%x] : tensor<?xi1>
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// A quotient of the key by a number of a call is compared without a division of keys: the query's quotient times that number
// bounds the key. What divides is looked at once. Remainders of differences are compared by parts.

// CHECK-LABEL: func @captured_divisors
// CHECK-SAME: (%[[N:[^ ]*]]: index,
// CHECK: scf.for
// CHECK: %[[IS_ZERO:.*]] = arith.cmpi eq, %[[N]], %c0 : index
// CHECK: %[[SAFE:.*]] = arith.select %[[IS_ZERO]], %c1, %[[N]] : index
// CHECK: %[[ALL:.*]] = vector.broadcast %[[SAFE]] : index to vector<16xindex>
// CHECK: arith.divui %{{.*}}, %[[ALL]] : vector<16xindex>
// CHECK-NOT: vector<8xindex>
// CHECK: %[[LESS:.*]] = arith.subi %[[N]], %c1 : index
// CHECK: %[[LEAST:.*]] = arith.minui %[[LESS]], %c2147483647 : index
// CHECK: %[[BY:.*]] = arith.addi %[[LEAST]], %c1 : index
// CHECK: %[[HIGH:.*]] = arith.maxsi
// CHECK: %[[OWN:.*]] = arith.minsi %[[HIGH]]
// CHECK: %[[BYS:.*]] = vector.broadcast %[[BY]] : index to vector<16xindex>
// CHECK: arith.muli %[[OWN]], %[[BYS]] : vector<16xindex>
// CHECK: arith.cmpi sge, %{{.*}} : vector<8x16xindex>
// CHECK: arith.muli %{{.*}}, %[[BYS]] : vector<16xindex>
// CHECK: arith.cmpi slt, %{{.*}} : vector<8x16xindex>
// CHECK: %[[SIZE:.*]] = math.absi %[[N]] : index
// CHECK: arith.maxui %[[SIZE]], %c1 : index
// CHECK: arith.remui %{{.*}} : vector<8xindex>
// CHECK: arith.remui %{{.*}} : vector<16xindex>
// CHECK: arith.cmpi ne, %{{.*}} : vector<8x16xindex>
func.func @captured_divisors(%n: index, %q: tensor<2x4x?x8xf32>, %o: tensor<2x4x?x8xf32>) -> tensor<2x4x?x8xf32> {
  %r = attn.attention schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%n : index)
      outs(%o : tensor<2x4x?x8xf32>)
      mask(%b, %h, %i, %j, %by) {
        %c0 = arith.constant 0 : index
        %x = arith.divui %i, %by : index
        %y = arith.divui %j, %by : index
        %same = arith.cmpi eq, %y, %x : index
        %d = arith.subi %i, %j : index
        %m = arith.remsi %d, %by : index
        %apart = arith.cmpi ne, %m, %c0 : index
        %p = arith.andi %same, %apart : i1
        attn.yield %p : i1
      }
  return %r : tensor<2x4x?x8xf32>
}

// -----

// Where positions count from elsewhere, they may be negative.

// CHECK-LABEL: func @captured_divisors_elsewhere
// CHECK: arith.divui %{{.*}} : vector<8xindex>
// CHECK: arith.cmpi eq, %{{.*}} : vector<8x16xindex>
// CHECK: arith.remsi %{{.*}} : vector<8x16xindex>
func.func @captured_divisors_elsewhere(%n: index, %at: index, %q: tensor<2x4x?x8xf32>, %o: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%n : index)
      offsets(%at, %at, %at, %at)
      outs(%o, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %by) {
        %c0 = arith.constant 0 : index
        %x = arith.divui %i, %by : index
        %y = arith.divui %j, %by : index
        %same = arith.cmpi eq, %y, %x : index
        %d = arith.subi %i, %j : index
        %rest = arith.remsi %d, %by : index
        %apart = arith.cmpi ne, %rest, %c0 : index
        %p = arith.andi %same, %apart : i1
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}
