// RUN: attn-opt %s --attn-canonicalize-score --attn-online-softmax --attn-classify-blocks --attn-tile --canonicalize --cse --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-canonicalize-score --attn-online-softmax --attn-classify-blocks --attn-tile=bounds-check --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=BOUNDS

// What regions show is said at the tile level: boxes of captures, limits of
// keys, and biases that are affine in the key.

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
!t = tensor<2x4x?x64xbf16>

// A box may be shifted by scalars, and be of any rank. One dimension for both is
// a diagonal, and a product is no shift. Rows are keys, and columns queries.

// CHECK-LABEL: func @boxes
// CHECK-SAME: %[[A:[^ ]*]]: tensor<?x?x?xf32>, %[[R:[^ ]*]]: tensor<?xf32>, %[[P:[^ ]*]]: tensor<?x?xf32>, %[[C:[^ ]*]]: index, %[[D:[^ ]*]]: index
// CHECK: scf.forall (%{{.*}}, %[[H:.*]], %[[T:.*]]) in
// CHECK: %[[I:.*]] = affine.apply #{{.*}}()[%[[T]]]
// CHECK: attn.tile_loop %[[J:.*]] = %c0
// CHECK: attn.step @softmax
// CHECK: %[[I0:.*]] = arith.addi %[[C]], %[[I]] : index
// CHECK: %[[J0:.*]] = arith.subi %[[J]], %[[D]] : index
// CHECK: attn.gather %[[A]][%[[H]], %[[I0]], %[[J0]]] rows along 2 columns along 1 mask %{{.*}} : tensor<?x?x?xf32>, (index, index, index), vector<64x128xi1> -> vector<64x128xf32>
// CHECK: attn.gather %[[R]][%[[J0]]] rows along 0 mask %true : tensor<?xf32>, (index), i1 -> vector<64xf32>
// CHECK: attn.gather %[[P]][%[[J]], %[[I]]] rows along 0 columns along 1 mask %{{.*}} : tensor<?x?xf32>, (index, index), vector<64x128xi1> -> vector<64x128xf32>
// CHECK: attn.gather %[[R]][%[[I]]] columns along 0 mask %{{.*}} : tensor<?xf32>, (index), vector<128xi1> -> vector<128xf32>
// CHECK: attn.gather %[[P]][%{{.*}}, %{{.*}}] mask %true : tensor<?x?xf32>, (vector<64xindex>, vector<64xindex>), i1 -> vector<64xf32>
// CHECK: attn.gather %[[P]][%{{.*}}, %{{.*}}] mask %{{.*}} : tensor<?x?xf32>, (vector<64x128xindex>, vector<64x128xindex>), vector<64x128xi1> -> vector<64x128xf32>
// Reads that are checked are of the pairs that the predicate allows.
// BOUNDS-LABEL: func @boxes
// BOUNDS: attn.gather {{.*}} rows along 2 columns along 1 mask %{{.*}} site 0
// BOUNDS: attn.gather %{{.*}}[%{{.*}}] mask %{{.*}} site 3 : tensor<?xf32>, (vector<64x128xindex>)
func.func @boxes(%q: !t, %o: !t, %a: tensor<?x?x?xf32>, %r: tensor<?xf32>, %p: tensor<?x?xf32>, %c: index, %d: index) -> !t {
  %x = attn.attention schedule #schedule ins(%q, %q, %q : !t, !t, !t)
      captures(%a, %r, %p, %c, %d : tensor<?x?x?xf32>, tensor<?xf32>, tensor<?x?xf32>, index, index) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %ca, %cr, %cp, %cc, %cd) {
        %row = arith.addi %cc, %i : index
        %column = arith.subi %j, %cd : index
        %box = tensor.extract %ca[%h, %row, %column] : tensor<?x?x?xf32>
        %keys = tensor.extract %cr[%column] : tensor<?xf32>
        %turned = tensor.extract %cp[%j, %i] : tensor<?x?xf32>
        %query = tensor.extract %cr[%i] : tensor<?xf32>
        %diagonal = tensor.extract %cp[%j, %column] : tensor<?x?xf32>
        %twice = arith.addi %i, %i : index
        %even = tensor.extract %cp[%twice, %j] : tensor<?x?xf32>
        %y0 = arith.addf %s, %box : f32
        %y1 = arith.addf %y0, %keys : f32
        %y2 = arith.addf %y1, %turned : f32
        %y3 = arith.addf %y2, %diagonal : f32
        %y4 = arith.addf %y3, %even : f32
        %y5 = arith.addf %y4, %query : f32
        attn.yield %y5 : f32
      }
  return %x : !t
}

// -----

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
!t = tensor<2x4x?x64xbf16>

// A disjunction of limits is the greater one, a conjunction the lesser one.
// Where a limit may be any number, one more is that of a lesser one.

// CHECK-LABEL: func @limits
// CHECK-SAME: %[[N:[^ ]*]]: index
// CHECK: %[[STEP:.*]] = vector.step : vector<128xindex>
// CHECK: %[[ROWS:.*]] = arith.addi %{{.*}}, %[[STEP]]
// CHECK: attn.mask_tile %{{.*}} : vector<64x128xf32> {
// CHECK:   %[[ENDS:.*]] = vector.broadcast %{{.*}} : index to vector<128xindex>
// CHECK:   %[[LAST:.*]] = arith.minsi %[[ROWS]], %[[ENDS]] : vector<128xindex>
// CHECK:   %[[CAUSAL:.*]] = arith.addi %[[LAST]], %{{.*}} : vector<128xindex>
// CHECK:   %[[PREFIX:.*]] = vector.broadcast %[[N]] : index to vector<128xindex>
// CHECK:   %[[EITHER:.*]] = arith.maxsi %[[CAUSAL]], %[[PREFIX]] : vector<128xindex>
// CHECK:   %[[LIMIT:.*]] = arith.minsi %[[ENDS]], %[[EITHER]] : vector<128xindex>
// CHECK-NOT: arith.cmpi
// CHECK:   %[[LIMITS:.*]] = vector.broadcast %[[LIMIT]]
// CHECK:   %[[ALLOWED:.*]] = arith.cmpi slt, %{{.*}}, %[[LIMITS]] : vector<64x128xindex>
// CHECK-NEXT: attn.yield %[[ALLOWED]]
// BOUNDS-LABEL: func @limits
func.func @limits(%q: !t, %o: !t, %n: index) -> !t {
  %x = attn.attention schedule #schedule ins(%q, %q, %q : !t, !t, !t)
      captures(%n : index) outs(%o : !t)
      mask(%b, %h, %i, %j, %cn) {
        %causal = arith.cmpi sge, %i, %j : index
        %prefix = arith.cmpi slt, %j, %cn : index
        %p = arith.ori %causal, %prefix : i1
        attn.yield %p : i1
      }
  return %x : !t
}

// -----

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
!t = tensor<2x4x?x64xbf16>

// Two limits are the lesser one, without a number more.

// CHECK-LABEL: func @both
// CHECK: attn.mask_tile %{{.*}} : vector<64x128xf32> {
// CHECK:   %[[LAST:.*]] = arith.subi %{{.*}}, %c1 : index
// CHECK-NOT: arith.cmpi
// CHECK:   arith.cmpi sle, %{{.*}} : vector<64x128xindex>
// CHECK-NEXT: attn.yield
// BOUNDS-LABEL: func @both
func.func @both(%q: !t, %o: !t, %n: index) -> !t {
  %x = attn.attention schedule #schedule ins(%q, %q, %q : !t, !t, !t)
      captures(%n : index) outs(%o : !t)
      mask(%b, %h, %i, %j, %cn) {
        %causal = arith.cmpi sge, %i, %j : index
        %prefix = arith.cmpi sle, %j, %cn : index
        %p = arith.andi %causal, %prefix : i1
        attn.yield %p : i1
      }
  return %x : !t
}

// -----

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
!t = tensor<2x4x?x64xbf16>

// A limit from below is another condition, and so is the number of keys then,
// one for each key.

// CHECK-LABEL: func @window
// CHECK: attn.mask_tile %{{.*}} : vector<64x128xf32> {
// CHECK:   arith.cmpi slt, %{{.*}} : vector<64xindex>
// CHECK:   arith.cmpi sle, %{{.*}} : vector<64x128xindex>
// CHECK:   arith.cmpi sge, %{{.*}} : vector<64x128xindex>
// CHECK:   attn.yield
// BOUNDS-LABEL: func @window
func.func @window(%q: !t, %o: !t, %w: index) -> !t {
  %x = attn.attention schedule #schedule ins(%q, %q, %q : !t, !t, !t)
      captures(%w : index) outs(%o : !t)
      mask(%b, %h, %i, %j, %cw) {
        %causal = arith.cmpi sge, %i, %j : index
        %distance = arith.subi %i, %j : index
        %near = arith.cmpi sle, %distance, %cw : index
        %p = arith.andi %near, %causal : i1
        attn.yield %p : i1
      }
  return %x : !t
}

// -----

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
!t = tensor<2x4x?x64xbf16>

// Beside conditions of other kinds, limits are one again.

// CHECK-LABEL: func @documents
// CHECK: attn.mask_tile %{{.*}} : vector<64x128xf32> {
// CHECK:   %[[BELOW:.*]] = arith.cmpi sle, %{{.*}} : vector<64x128xindex>
// CHECK-NEXT: %[[ALLOWED:.*]] = arith.andi %[[BELOW]], %{{.*}}
// CHECK-NEXT: attn.yield %[[ALLOWED]]
// BOUNDS-LABEL: func @documents
func.func @documents(%q: !t, %o: !t, %doc: tensor<?xi32>) -> !t {
  %x = attn.attention schedule #schedule ins(%q, %q, %q : !t, !t, !t)
      captures(%doc : tensor<?xi32>) outs(%o : !t)
      mask(%b, %h, %i, %j, %c) {
        %di = tensor.extract %c[%i] : tensor<?xi32>
        %dj = tensor.extract %c[%j] : tensor<?xi32>
        %same = arith.cmpi eq, %di, %dj : i32
        %causal = arith.cmpi sge, %i, %j : index
        %p = arith.andi %same, %causal : i1
        attn.yield %p : i1
      }
  return %x : !t
}

// -----

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
!t = tensor<2x4x?x64xbf16>

// Beside conditions that are on no positions, the number of keys is for the last
// tile.

// CHECK-LABEL: func @length
// CHECK: %[[N:.*]] = tensor.dim
// CHECK: attn.tile_loop %[[J:.*]] = %c0 to %[[N:.*]] step 64
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %{{.*}} : vector<64x128xi32>
// CHECK: attn.mask_tile %{{.*}} keys %[[J]] to %[[N]] : vector<64x128xf32> {
// CHECK-NEXT: attn.yield %[[SAME]]
// Reads that are checked are those of keys that there are, too.
// BOUNDS-LABEL: func @length
// BOUNDS: arith.cmpi slt, %{{.*}} : vector<64xindex>
// BOUNDS: attn.gather {{.*}} site
// BOUNDS: attn.mask_tile %{{.*}} keys %{{.*}} to %{{.*}} : vector<64x128xf32> {
// BOUNDS-NEXT: attn.yield
func.func @length(%q: !t, %o: !t, %doc: tensor<?xi32>) -> !t {
  %x = attn.attention schedule #schedule ins(%q, %q, %q : !t, !t, !t)
      captures(%doc : tensor<?xi32>) outs(%o : !t)
      mask(%b, %h, %i, %j, %c) {
        %di = tensor.extract %c[%i] : tensor<?xi32>
        %dj = tensor.extract %c[%j] : tensor<?xi32>
        %p = arith.cmpi eq, %di, %dj : i32
        attn.yield %p : i1
      }
  return %x : !t
}

// -----

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
!t = tensor<2x4x?x64xbf16>

// So do conditions on the query alone.

// CHECK-LABEL: func @ragged
// CHECK-SAME: %[[M:[^ ]*]]: index, %[[N:[^ ]*]]: index
// CHECK: attn.mask_tile %{{.*}} : vector<64x128xf32> {
// CHECK:   %[[END:.*]] = arith.minsi %{{.*}}, %[[N]] : index
// CHECK:   %[[KEYS:.*]] = arith.cmpi slt, %{{.*}} : vector<64xindex>
// CHECK-NOT: arith.cmpi
// CHECK:   attn.yield
// BOUNDS-LABEL: func @ragged
func.func @ragged(%q: !t, %o: !t, %m: index, %n: index) -> !t {
  %x = attn.attention schedule #schedule ins(%q, %q, %q : !t, !t, !t)
      captures(%m, %n : index, index) outs(%o : !t)
      mask(%b, %h, %i, %j, %cm, %cn) {
        %query = arith.cmpi slt, %i, %cm : index
        %key = arith.cmpi slt, %j, %cn : index
        %p = arith.andi %query, %key : i1
        attn.yield %p : i1
      }
  return %x : !t
}

// -----

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
!t = tensor<2x4x?x64xbf16>

// The slope is that of the head, by the scale, and the offset what the first key
// gets.

// CHECK-LABEL: func @affine
// CHECK-SAME: %[[SLOPES:[^ ]*]]: tensor<?xf32>
// CHECK: %[[ROWS:.*]] = arith.addi {{.*}} : vector<128xindex>
// CHECK: %[[OF:.*]] = attn.gather %[[SLOPES]]
// CHECK: %[[GROWS:.*]] = arith.mulf %[[OF]], %{{.*}} : f32
// CHECK: %[[EACH:.*]] = vector.broadcast %[[GROWS]] : f32 to vector<128xf32>
// CHECK: %[[SLOPE:.*]] = arith.mulf %[[EACH]], %{{.*}} : vector<128xf32>
// CHECK: attn.tile_loop %[[J:.*]] = %c0
// CHECK: %[[S:.*]] = attn.step @qk
// CHECK: attn.step @softmax
// CHECK: %[[FIRST:.*]] = vector.broadcast %[[J]] : index to vector<128xindex>
// CHECK: %[[DISTANCE:.*]] = arith.subi %[[ROWS]], %[[FIRST]]
// CHECK: %[[BIAS:.*]] = arith.mulf %{{.*}}, %{{.*}} : vector<128xf32>
// CHECK: %[[OFFSET:.*]] = arith.mulf %[[BIAS]], %{{.*}} : vector<128xf32>
// CHECK: %[[X:.*]] = attn.affine_scores %[[S]] factor 1.250000e-01 slope %[[SLOPE]] offset %[[OFFSET]] : vector<64x128xf32>, vector<128xf32> {
// CHECK:   arith.mulf %[[S]]
// CHECK:   %[[Y:.*]] = arith.subf
// CHECK:   attn.yield %[[Y]]
// CHECK: attn.mask_tile %[[X]]
// CHECK: attn.online_step {{.*}} factor 1.44
// BOUNDS-LABEL: func @affine
// BOUNDS-NOT: attn.affine_scores
func.func @affine(%q: !t, %o: !t, %slopes: tensor<?xf32>) -> !t {
  %x = attn.attention scale 0.125 schedule #schedule ins(%q, %q, %q : !t, !t, !t)
      captures(%slopes : tensor<?xf32>) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %c) {
        %slope = tensor.extract %c[%h] : tensor<?xf32>
        %distance = arith.subi %i, %j : index
        %integer = arith.index_cast %distance : index to i32
        %float = arith.sitofp %integer : i32 to f32
        %bias = arith.mulf %slope, %float : f32
        %y = arith.subf %s, %bias : f32
        attn.yield %y : f32
      }
  return %x : !t
}

// -----

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
!t = tensor<2x4x?x64xbf16>

// A multiple of the distance is affine in tiles on one side of the query.

// CHECK-LABEL: func @pieces
// CHECK: attn.tile_loop %[[J:.*]] = %c0
// CHECK: attn.step @softmax
// CHECK: %[[LAST:.*]] = arith.addi %[[J]], %c63
// CHECK-DAG: %[[FIRST_SIDE:.*]] = arith.cmpi slt, %{{.*}} : vector<128xi32>
// CHECK-DAG: %[[LAST_SIDE:.*]] = arith.cmpi slt, %{{.*}} : vector<128xi32>
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[FIRST_SIDE]], %[[LAST_SIDE]]
// CHECK: arith.select %[[FIRST_SIDE]]
// CHECK: attn.affine_scores %{{.*}} factor 1.250000e-01 slope %{{.*}} offset %{{.*}} where %[[SAME]] :
// CHECK:   math.absi
func.func @pieces(%q: !t, %o: !t, %slopes: tensor<?xf32>) -> !t {
  %x = attn.attention scale 0.125 schedule #schedule ins(%q, %q, %q : !t, !t, !t)
      captures(%slopes : tensor<?xf32>) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %c) {
        %slope = tensor.extract %c[%h] : tensor<?xf32>
        %distance = arith.subi %i, %j : index
        %integer = arith.index_cast %distance : index to i32
        %abs = math.absi %integer : i32
        %float = arith.sitofp %abs : i32 to f32
        %bias = arith.mulf %slope, %float : f32
        %y = arith.subf %s, %bias : f32
        attn.yield %y : f32
      }
  return %x : !t
}

// -----

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
!t = tensor<2x4x?x64xbf16>

// An element of a table, whose index is the same for far keys. It is read for the
// first key of the tile, and for pairs where the last one has another index. One
// of a distance is read for each diagonal.

// CHECK-LABEL: func @table
// CHECK: attn.step @softmax
// CHECK: %[[FIRST:.*]] = attn.gather %{{.*}} : tensor<?xf32>, (vector<128xindex>), {{.*}} -> vector<128xf32>
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %{{.*}} : vector<128xindex>
// CHECK: attn.affine_scores %{{.*}} slope %[[NONE:.*]] offset %{{.*}} where %[[SAME]] :
// CHECK:   attn.gather
// CHECK-NOT: attn.affine_scores
// CHECK: attn.spread_diagonals
// CHECK-NOT: attn.affine_scores
// CHECK: return
func.func @table(%q: !t, %o: !t, %table: tensor<?xf32>) -> !t {
  %x = attn.attention scale 0.125 schedule #schedule ins(%q, %q, %q : !t, !t, !t)
      captures(%table : tensor<?xf32>) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %c) {
        %most = arith.constant 100 : index
        %twice = arith.addi %i, %i : index
        %distance = arith.subi %twice, %j : index
        %clipped = arith.minsi %distance, %most : index
        %bias = tensor.extract %c[%clipped] : tensor<?xf32>
        %y = arith.addf %s, %bias : f32
        attn.yield %y : f32
      }
  %z = attn.attention scale 0.125 schedule #schedule ins(%x, %q, %q : !t, !t, !t)
      captures(%table : tensor<?xf32>) outs(%o : !t)
      score(%s, %b, %h, %i, %j, %c) {
        %most = arith.constant 100 : index
        %distance = arith.subi %i, %j : index
        %place = arith.addi %distance, %most : index
        %bias = tensor.extract %c[%place] : tensor<?xf32>
        %y = arith.addf %s, %bias : f32
        attn.yield %y : f32
      }
  return %z : !t
}

// -----

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240>
!t = tensor<2x4x?x64xbf16>

// No factor of what is negated.

// CHECK-LABEL: func @negative
// CHECK-NOT: attn.affine_scores
// CHECK: attn.online_step
// BOUNDS-LABEL: func @negative
func.func @negative(%q: !t, %o: !t) -> !t {
  %x = attn.attention scale -0.125 schedule #schedule ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
      score(%s, %b, %h, %i, %j) {
        %integer = arith.index_cast %j : index to i32
        %float = arith.sitofp %integer : i32 to f32
        %y = arith.subf %s, %float : f32
        attn.yield %y : f32
      }
  return %x : !t
}
