// RUN: attn-opt %s --attn-lift-mask --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-lift-mask --split-input-file --remarks-filter=attn --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// The example of the pass's documentation: the first keys, and a window.

// REMARK: remark: [Passed] lifted | Category:attn | Function=example |
// REMARK-SAME: Remark="the mask tells the class of each tile"

// CHECK-LABEL: func @example
// CHECK:      tiles(%{{.*}}, %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[J0:.*]], %[[J1:.*]]) {
// CHECK-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[C128:.*]] = arith.constant 128 : index
// CHECK-NEXT:   %[[C4:.*]] = arith.constant 4 : index
// CHECK-NEXT:   %[[C1:.*]] = arith.constant 1 : index
// CHECK-NEXT:   %[[V0:.*]] = arith.subi %[[I1]], %[[C1]] : index
// CHECK-NEXT:   %[[V1:.*]] = arith.subi %[[J1]], %[[C1]] : index
// CHECK-NEXT:   %[[V2:.*]] = arith.subi %[[I0]], %[[V1]] : index
// CHECK-NEXT:   %[[V3:.*]] = arith.subi %[[V0]], %[[J0]] : index
// CHECK-NEXT:   %[[V4:.*]] = arith.maxsi %[[V2]], %[[C0]] : index
// CHECK-NEXT:   %[[V5:.*]] = arith.minsi %[[V3]], %[[C0]] : index
// CHECK-NEXT:   %[[V7:.*]] = arith.subi %[[V4]], %[[V5]] : index
// CHECK-NEXT:   %[[V6:.*]] = arith.subi %[[C0]], %[[V2]] : index
// CHECK-NEXT:   %[[V8:.*]] = arith.maxsi %[[V6]], %[[V3]] : index
// CHECK-NEXT:   %[[V9:.*]] = arith.cmpi slt, %[[V7]], %[[C128]] : index
// CHECK-NEXT:   %[[V10:.*]] = arith.cmpi slt, %[[V8]], %[[C128]] : index
// CHECK-NEXT:   %[[V11:.*]] = arith.cmpi slt, %[[J0]], %[[C4]] : index
// CHECK-NEXT:   %[[V12:.*]] = arith.cmpi slt, %[[V1]], %[[C4]] : index
// CHECK-NEXT:   %[[MAY:.*]] = arith.ori %[[V9]], %[[V11]] : i1
// CHECK-NEXT:   %[[MUST:.*]] = arith.ori %[[V10]], %[[V12]] : i1
// CHECK-NEXT:   attn.yield %[[MAY]], %[[MUST]] : i1, i1
func.func @example(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %c4 = arith.constant 4 : index
        %c128 = arith.constant 128 : index
        %d = arith.subi %i, %j : index
        %a = math.absi %d : index
        %near = arith.cmpi slt, %a, %c128 : index
        %first = arith.cmpi slt, %j, %c4 : index
        %p = arith.ori %near, %first : i1
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// Documents: the numbers that the rows have and that the keys have. Two are the
// same for certain where there is one number on both sides.

// CHECK-LABEL: func @documents
// CHECK:      tiles(%[[B:.*]], %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[J0:.*]], %[[J1:.*]], %[[W:.*]]) {
// CHECK-NEXT:   %[[C1:.*]] = arith.constant 1 : index
// CHECK-NEXT:   %[[B1:.*]] = arith.addi %[[B]], %[[C1]] : index
// CHECK-NEXT:   %[[MIN:.*]], %[[MAX:.*]] = attn.range %[[W]][%[[B]], %[[I0]]] to [%[[B1]], %[[I1]]] : tensor<2x?xi32>
// CHECK-NEXT:   %[[IMIN:.*]] = arith.index_cast %[[MIN]] : i32 to index
// CHECK-NEXT:   %[[IMAX:.*]] = arith.index_cast %[[MAX]] : i32 to index
// CHECK-NEXT:   %[[LEAST:.*]], %[[MOST:.*]] = attn.range %[[W]][%[[B]], %[[J0]]] to [%[[B1]], %[[J1]]] : tensor<2x?xi32>
// CHECK-NEXT:   %[[JMIN:.*]] = arith.index_cast %[[LEAST]] : i32 to index
// CHECK-NEXT:   %[[JMAX:.*]] = arith.index_cast %[[MOST]] : i32 to index
// CHECK-NEXT:   %[[V0:.*]] = arith.cmpi sge, %[[JMAX]], %[[IMIN]] : index
// CHECK-NEXT:   %[[V1:.*]] = arith.cmpi sge, %[[IMAX]], %[[JMIN]] : index
// CHECK-NEXT:   %[[MAY:.*]] = arith.andi %[[V0]], %[[V1]] : i1
// CHECK-NEXT:   %[[V2:.*]] = arith.cmpi eq, %[[IMIN]], %[[JMIN]] : index
// CHECK-NEXT:   %[[V3:.*]] = arith.cmpi eq, %[[IMIN]], %[[IMAX]] : index
// CHECK-NEXT:   %[[V4:.*]] = arith.cmpi eq, %[[JMIN]], %[[JMAX]] : index
// CHECK-NEXT:   %[[V5:.*]] = arith.andi %[[V3]], %[[V4]] : i1
// CHECK-NEXT:   %[[MUST:.*]] = arith.andi %[[V2]], %[[V5]] : i1
// CHECK-NEXT:   attn.yield %[[MAY]], %[[MUST]] : i1, i1
func.func @documents(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %doc: tensor<2x?xi32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%doc : tensor<2x?xi32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %w) {
        %x = tensor.extract %w[%b, %i] : tensor<2x?xi32>
        %y = tensor.extract %w[%b, %j] : tensor<2x?xi32>
        %p = arith.cmpi eq, %x, %y : i32
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// Flags of keys, all but those of a negation: whether any is true, and all are.

// CHECK-LABEL: func @flags
// CHECK:      tiles(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[J0:.*]], %[[J1:.*]], %[[W:.*]]) {
// CHECK-NEXT:   %[[TRUE:.*]] = arith.constant true
// CHECK-NEXT:   %[[ALL:.*]], %[[ANY:.*]] = attn.range %[[W]][%[[J0]]] to [%[[J1]]] : tensor<?xi1>
// CHECK-NEXT:   %[[MAY:.*]] = arith.xori %[[ALL]], %[[TRUE]] : i1
// CHECK-NEXT:   %[[MUST:.*]] = arith.xori %[[ANY]], %[[TRUE]] : i1
// CHECK-NEXT:   attn.yield %[[MAY]], %[[MUST]] : i1, i1
func.func @flags(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %flags: tensor<?xi1>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%flags : tensor<?xi1>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %w) {
        %true = arith.constant true
        %x = tensor.extract %w[%j] : tensor<?xi1>
        %p = arith.xori %x, %true : i1
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// A layout of blocks: the part of it that the tile lies on.

// CHECK-LABEL: func @layout
// CHECK:      tiles(%{{.*}}, %[[H:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[W:.*]]) {
// CHECK:        %[[ALL:.*]], %[[ANY:.*]] = attn.range %[[W]][%[[H]], %{{.*}}, %{{.*}}] to [%{{.*}}, %{{.*}}, %{{.*}}] : tensor<4x?x?xi1>
// CHECK-NEXT:   attn.yield %[[ANY]], %[[ALL]] : i1, i1
func.func @layout(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %layout: tensor<4x?x?xi1>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%layout : tensor<4x?x?xi1>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %w) {
        %c64 = arith.constant 64 : index
        %x = arith.divui %i, %c64 : index
        %y = arith.divui %j, %c64 : index
        %p = tensor.extract %w[%h, %x, %y] : tensor<4x?x?xi1>
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// A sum that may leave 64 bits saturates.

// CHECK-LABEL: func @saturates
// CHECK:      tiles(
// CHECK:        %[[SUM:.*]] = arith.addi
// CHECK:        %[[WRAPPED:.*]] = arith.xori
// CHECK:        arith.select %[[WRAPPED]], %{{.*}}, %[[SUM]] : index
func.func @saturates(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %d: index) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%d : index)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %w) {
        %x = arith.addi %i, %w : index
        %p = arith.cmpi ne, %x, %j : index
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// The bounds of one interval say all.

// CHECK-LABEL: func @prefix
// CHECK-NOT: tiles
func.func @prefix(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %n: index) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%n : index)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %w) {
        %x = arith.cmpi sle, %j, %i : index
        %y = arith.cmpi slt, %j, %w : index
        %p = arith.ori %x, %y : i1
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// What is read at positions that a capture holds is computed for each query of
// the tile; of the rest, intervals are known.

// CHECK-LABEL: func @chained
// CHECK:      tiles(%{{.*}}, %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[J0:.*]], %[[J1:.*]], %[[LO:.*]], %[[ID:.*]]) {
// CHECK:        %[[MIN:.*]], %[[MAX:.*]] = attn.range_over (%[[I:.*]] = %[[I0]] to %[[I1]]) : index {
// CHECK-NEXT:     %[[D:.*]] = tensor.extract %[[ID]][%[[I]]] : tensor<?xindex>
// CHECK-NEXT:     %[[X:.*]] = tensor.extract %[[LO]][%[[D]]] : tensor<?xindex>
// CHECK-NEXT:     attn.yield %[[X]] : index
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[MAY:.*]] = arith.cmpi sge, %[[LAST:.*]], %[[MIN]] : index
// CHECK-NEXT:   %[[MUST:.*]] = arith.cmpi sge, %[[J0]], %[[MAX]] : index
// CHECK-NEXT:   attn.yield %[[MAY]], %[[MUST]] : i1, i1
func.func @chained(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %lo: tensor<?xindex>, %id: tensor<?xindex>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%lo, %id : tensor<?xindex>, tensor<?xindex>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %lo, %id) {
        %d = tensor.extract %id[%i] : tensor<?xindex>
        %x = tensor.extract %lo[%d] : tensor<?xindex>
        %p = arith.cmpi sle, %x, %j : index
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// Values that have no interval and meet are computed once, where they have met,
// and not each on its own: the bits that are set in i, times i, with i.

// CHECK-LABEL: func @joined
// CHECK:      tiles(%{{.*}}, %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[J0:.*]], %[[J1:.*]]) {
// CHECK:        %[[MIN:.*]], %[[MAX:.*]] = attn.range_over (%[[I:.*]] = %[[I0]] to %[[I1]]) : index {
// CHECK-NEXT:     %[[BITS:.*]] = math.ctpop %[[I]] : index
// CHECK-NEXT:     %[[X:.*]] = arith.muli %[[BITS]], %[[I]] : index
// CHECK-NEXT:     %[[Y:.*]] = arith.xori %[[X]], %[[I]] : index
// CHECK-NEXT:     attn.yield %[[Y]] : index
// CHECK-NEXT:   }
// CHECK-NOT:    attn.range_over
// CHECK:        %[[MAY:.*]] = arith.cmpi sge, %[[LAST:.*]], %[[MIN]] : index
// CHECK-NEXT:   %[[MUST:.*]] = arith.cmpi sge, %[[J0]], %[[MAX]] : index
// CHECK-NEXT:   attn.yield %[[MAY]], %[[MUST]] : i1, i1
func.func @joined(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %bits = math.ctpop %i : index
        %x = arith.muli %bits, %i : index
        %y = arith.xori %x, %i : index
        %p = arith.cmpi sle, %y, %j : index
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// What has no form on tiles and depends on both positions makes the mask be
// evaluated: on a dense mask, on floats of both; on one pair where it is known of
// all, here that keys behind the query are not allowed: of a tile that has others
// beside these, less may be known.

// CHECK-LABEL: func @pairs
// CHECK:      tiles(%{{.*}}, %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[J0:.*]], %[[J1:.*]], %[[T:.*]]) {
// CHECK-NEXT:   %[[MIN:.*]], %[[MAX:.*]] = attn.range_over (%[[I:.*]] = %[[I0]] to %[[I1]], %[[J:.*]] = %[[J0]] to %[[J1]]) : i1 {
// CHECK-NEXT:     %[[X:.*]] = tensor.extract %[[T]][%[[I]], %[[J]]] : tensor<?x?xi1>
// CHECK-NEXT:     attn.yield %[[X]] : i1
// CHECK-NEXT:   }
// CHECK-NEXT:   attn.yield %[[MAX]], %[[MIN]] : i1, i1
// CHECK:      tiles(%{{.*}}, %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[J0:.*]], %[[J1:.*]], %[[U:.*]]) {
// CHECK:        %[[NEVER:.*]] = arith.cmpi slt, %{{.*}}, %[[J0]] : index
// CHECK:        %[[MAYBE:.*]] = arith.cmpi sge, %{{.*}}, %[[J0]] : index
// CHECK-NEXT:   %[[ONE_I:.*]] = arith.addi %[[I0]], %{{.*}} : index
// CHECK-NEXT:   %[[END_I:.*]] = arith.select %[[NEVER]], %[[ONE_I]], %[[I1]] : index
// CHECK-NEXT:   %[[ONE_J:.*]] = arith.addi %[[J0]], %{{.*}} : index
// CHECK-NEXT:   %[[END_J:.*]] = arith.select %[[NEVER]], %[[ONE_J]], %[[J1]] : index
// CHECK-NEXT:   %[[MIN:.*]], %[[MAX:.*]] = attn.range_over (%[[I:.*]] = %[[I0]] to %[[END_I]], %[[J:.*]] = %[[J0]] to %[[END_J]]) : i1 {
// CHECK:          arith.cmpf
// CHECK:        %[[MAY:.*]] = arith.andi %[[MAYBE]], %[[MAX]] : i1
// CHECK-NEXT:   %[[MUST:.*]] = arith.andi %[[MAYBE]], %[[MIN]] : i1
// CHECK-NEXT:   attn.yield %[[MAY]], %[[MUST]] : i1, i1
func.func @pairs(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %t: tensor<?x?xi1>, %u: tensor<?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%t : tensor<?x?xi1>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %w) {
        %p = tensor.extract %w[%i, %j] : tensor<?x?xi1>
        attn.yield %p : i1
      }
  %s:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%u : tensor<?xf32>)
      outs(%r#0, %r#1, %r#2 : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %w) {
        %x = tensor.extract %w[%i] : tensor<?xf32>
        %y = tensor.extract %w[%j] : tensor<?xf32>
        %e = arith.cmpf oeq, %x, %y : f32
        %c = arith.cmpi sle, %j, %i : index
        %p = arith.andi %e, %c : i1
        attn.yield %p : i1
      }
  return %s#0 : tensor<2x4x?x8xf32>
}

// -----

// The order of a float of the query and one of the key is that of integers: of
// all queries, and of all keys. A NaN is in no order, so it is the largest where
// it would have to be small, and the least where it would have to be large. What
// is not less or equal is greater or not in an order.

// CHECK-LABEL: func @order_of_floats
// CHECK:      tiles(%{{.*}}, %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[J0:.*]], %[[J1:.*]], %[[U:.*]], %[[W:.*]]) {
// CHECK-DAG:    %[[MOST:.*]] = arith.constant 2147483647 : i32
// CHECK-DAG:    %[[LEAST:.*]] = arith.constant -2147483648 : i32
// CHECK:        %[[XMIN:.*]], %[[XMAX:.*]] = attn.range_over (%[[I:.*]] = %[[I0]] to %[[I1]]) : i32 {
// CHECK:          %[[X:.*]] = tensor.extract %[[U]][%[[I]]] : tensor<?xbf16>
// CHECK:          %[[WIDE:.*]] = arith.extf %[[X]] : bf16 to f32
// CHECK:          %[[ZERO:.*]] = arith.addf %[[WIDE]], %{{.*}} : f32
// CHECK:          %[[BITS:.*]] = arith.bitcast %[[ZERO]] : f32 to i32
// CHECK:          %[[SIGN:.*]] = arith.shrsi %[[BITS]], %{{.*}} : i32
// CHECK:          %[[REST:.*]] = arith.andi %[[SIGN]], %[[MOST]] : i32
// CHECK:          %[[ORDER:.*]] = arith.xori %[[BITS]], %[[REST]] : i32
// CHECK:          %[[NAN:.*]] = arith.cmpf uno, %[[WIDE]], %[[WIDE]] : f32
// CHECK:          %[[R:.*]] = arith.select %[[NAN]], %[[MOST]], %[[ORDER]] : i32
// CHECK:          attn.yield %[[R]] : i32
// CHECK-DAG:    %[[XLO:.*]] = arith.index_cast %[[XMIN]]
// CHECK-DAG:    %[[XHI:.*]] = arith.index_cast %[[XMAX]]
// CHECK:        %[[YMIN:.*]], %[[YMAX:.*]] = attn.range_over (%{{.*}} = %[[J0]] to %[[J1]]) : i32 {
// CHECK:          arith.select %{{.*}}, %[[LEAST]], %{{.*}} : i32
// CHECK-DAG:    %[[YLO:.*]] = arith.index_cast %[[YMIN]]
// CHECK-DAG:    %[[YHI:.*]] = arith.index_cast %[[YMAX]]
// CHECK-DAG:    %[[MAY:.*]] = arith.cmpi sge, %[[YHI]], %[[XLO]] : index
// CHECK-DAG:    %[[MUST:.*]] = arith.cmpi sge, %[[YLO]], %[[XHI]] : index
// CHECK:        attn.yield %[[MAY]], %[[MUST]] : i1, i1
func.func @order_of_floats(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %u: tensor<?xbf16>, %w: tensor<?xbf16>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%u, %w : tensor<?xbf16>, tensor<?xbf16>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %uu, %ww) {
        %x = tensor.extract %uu[%i] : tensor<?xbf16>
        %y = tensor.extract %ww[%j] : tensor<?xbf16>
        %p = arith.cmpf ole, %x, %y : bf16
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// An integer of both positions has an order as a float, and so has its sum with
// a float of the key: that of the sums of the ends. An infinite end is none, as
// infinite terms within the tile may cancel to a NaN.

// CHECK-LABEL: func @order_of_sums
// CHECK:      tiles(%{{.*}}, %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[J0:.*]], %[[J1:.*]], %{{.*}}) {
// CHECK-DAG:    %[[MOST:.*]] = arith.constant 2147483647 : i32
// CHECK-DAG:    %[[LEAST:.*]] = arith.constant -2147483648 : i32
// CHECK-DAG:    %[[PLUS:.*]] = arith.constant 0x7F800000 : f32
// CHECK-DAG:    %[[MINUS:.*]] = arith.constant 0xFF800000 : f32
// CHECK-DAG:    %[[ILAST:.*]] = arith.subi %[[I1]], %{{.*}} : index
// CHECK-DAG:    %[[JLAST:.*]] = arith.subi %[[J1]], %{{.*}} : index
// CHECK-DAG:    %[[DLO:.*]] = arith.subi %[[I0]], %[[JLAST]] : index
// CHECK-DAG:    %[[DHI:.*]] = arith.subi %[[ILAST]], %[[J0]] : index
// CHECK:        attn.range_over (%{{.*}} = %[[J0]] to %[[J1]]) : i32 {
// CHECK-DAG:    %[[NLO:.*]] = arith.index_cast %[[DLO]] : index to i32
// CHECK-DAG:    %[[NHI:.*]] = arith.index_cast %[[DHI]] : index to i32
// CHECK-DAG:    arith.sitofp %[[NLO]] : i32 to f32
// CHECK-DAG:    arith.sitofp %[[NHI]] : i32 to f32
// CHECK:        arith.negf
// CHECK:        arith.negf
// CHECK:        %[[LO:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// CHECK:        %[[HI:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// CHECK:        %[[NOLO:.*]] = arith.cmpf ueq, %[[LO]], %[[MINUS]] : f32
// CHECK:        arith.select %[[NOLO]], %[[LEAST]], %{{.*}} : i32
// CHECK:        %[[NOHI:.*]] = arith.cmpf ueq, %[[HI]], %[[PLUS]] : f32
// CHECK:        arith.select %[[NOHI]], %[[MOST]], %{{.*}} : i32
func.func @order_of_sums(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %u: tensor<?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%u : tensor<?xf32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %w) {
        %zero = arith.constant 0.0 : f32
        %d = arith.subi %i, %j : index
        %n = arith.index_cast %d : index to i32
        %x = arith.sitofp %n : i32 to f32
        %span = tensor.extract %w[%j] : tensor<?xf32>
        %rest = arith.subf %span, %x : f32
        %p = arith.cmpf ogt, %rest, %zero : f32
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// A sum with a product may be rounded once for a pair, and twice for the ends.

// CHECK-LABEL: func @no_order_of_products
// CHECK-NOT:  tiles
// CHECK:      return
func.func @no_order_of_products(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %s: tensor<?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%s : tensor<?xf32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %w) {
        %zero = arith.constant 0.0 : f32
        %d = arith.subi %i, %j : index
        %n = arith.index_cast %d : index to i32
        %x = arith.sitofp %n : i32 to f32
        %slope = tensor.extract %w[%h] : tensor<?xf32>
        %key = tensor.extract %w[%j] : tensor<?xf32>
        %term = arith.mulf %slope, %key : f32
        %rest = arith.addf %term, %x : f32
        %p = arith.cmpf ogt, %rest, %zero : f32
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// Where each head has its own mask, to evaluate it costs what the predicate
// does; and with offsets a tile is not where the region says.

// CHECK-LABEL: func @unknown
// CHECK-NOT: tiles
func.func @unknown(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %t: tensor<4x?x?xi1>, %off: index) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%t : tensor<4x?x?xi1>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %w) {
        %p = tensor.extract %w[%h, %i, %j] : tensor<4x?x?xi1>
        attn.yield %p : i1
      }
  %t2:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      offsets(%off, %off, %off, %off)
      outs(%r#0, %r#1, %r#2 : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi ne, %j, %i : index
        attn.yield %p : i1
      }
  return %t2#0 : tensor<2x4x?x8xf32>
}

// -----

// A mask that holds for no pair of any tile is that one, and one that holds for
// all is none: no tile has to be asked.

// CHECK-LABEL: func @nowhere
// CHECK:      mask(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-NEXT:   %[[FALSE:.*]] = arith.constant false
// CHECK-NEXT:   attn.yield %[[FALSE]] : i1
// CHECK:      blocks(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:   attn.yield %[[C0]], %[[C0]], %[[C0]], %[[C0]] : index, index, index, index
// CHECK-NOT:  tiles
func.func @nowhere(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %c0 = arith.constant 0 : index
        %c2 = arith.constant 2 : index
        %c7 = arith.constant 7 : index
        %d = arith.muli %j, %c7 : index
        %near = arith.cmpi ne, %d, %i : index
        %late = arith.cmpi sge, %b, %c2 : index
        %p = arith.andi %near, %late : i1
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// CHECK-LABEL: func @everywhere
// CHECK-NOT: mask
// CHECK-NOT: blocks
// CHECK-NOT: tiles
func.func @everywhere(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %c0 = arith.constant 0 : index
        %d = arith.subi %i, %j : index
        %distance = math.absi %d : index
        %far = arith.cmpi sge, %distance, %c0 : index
        attn.yield %far : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// A number of any size, divided and rounded up, may have either sign.

// CHECK-LABEL: func @ceil_of_any
// CHECK:      mask(
// CHECK:        arith.ceildivsi
// CHECK:      tiles(
// CHECK:        attn.range_over
func.func @ceil_of_any(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %w: index) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%w : index)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %n) {
        %c2 = arith.constant 2 : index
        %d = arith.subi %j, %i : index
        %x = arith.xori %n, %d : index
        %c = arith.ceildivsi %x, %c2 : index
        %p = arith.cmpi sle, %c, %j : index
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// Gradients: documents have classes, and so has a limit that falls and rises again from query to query, whose queries are not an interval.

// CHECK-LABEL: func @gradient
// CHECK:      mask(
// CHECK:      tiles(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-COUNT-2: attn.range
// CHECK:        attn.yield %{{.*}}, %{{.*}} : i1, i1
!g = tensor<2x4x?x8xf32>
func.func @gradient(%q: !g, %l: tensor<2x4x?xf32>, %doc: tensor<2x?xi32>) -> !g {
  %r = attn.attention_grad wrt(q)
      ins(%q, %q, %q, %q, %l, %q : !g, !g, !g, !g, tensor<2x4x?xf32>, !g)
      captures(%doc : tensor<2x?xi32>)
      outs(%q : !g)
      mask(%b, %h, %i, %j, %w) {
        %x = tensor.extract %w[%b, %i] : tensor<2x?xi32>
        %y = tensor.extract %w[%b, %j] : tensor<2x?xi32>
        %p = arith.cmpi eq, %x, %y : i32
        attn.yield %p : i1
      }
  return %r : !g
}
// CHECK-LABEL: func @gradient_limits
// CHECK:      tiles(
// CHECK:        attn.yield %{{.*}}, %{{.*}} : i1, i1
func.func @gradient_limits(%q: !g, %l: tensor<2x4x?xf32>, %limits: tensor<?xi32>) -> !g {
  %r = attn.attention_grad wrt(q)
      ins(%q, %q, %q, %q, %l, %q : !g, !g, !g, !g, tensor<2x4x?xf32>, !g)
      captures(%limits : tensor<?xi32>)
      outs(%q : !g)
      mask(%b, %h, %i, %j, %w) {
        %n = tensor.extract %w[%i] : tensor<?xi32>
        %end = arith.index_cast %n : i32 to index
        %p = arith.cmpi slt, %j, %end : index
        attn.yield %p : i1
      }
  return %r : !g
}
// Bounds say all of a causal mask.
// CHECK-LABEL: func @gradient_causal
// CHECK-NOT: tiles(
// CHECK:     return
func.func @gradient_causal(%q: !g, %l: tensor<2x4x?xf32>) -> !g {
  %r = attn.attention_grad wrt(q)
      ins(%q, %q, %q, %q, %l, %q : !g, !g, !g, !g, tensor<2x4x?xf32>, !g)
      outs(%q : !g)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : !g
}
// A mask that is the same for all tiles goes.
// CHECK-LABEL: func @gradient_always
// CHECK-NOT: mask(
// CHECK-NOT: tiles(
// CHECK:     return
func.func @gradient_always(%q: !g, %l: tensor<2x4x?xf32>) -> !g {
  %r = attn.attention_grad wrt(q)
      ins(%q, %q, %q, %q, %l, %q : !g, !g, !g, !g, tensor<2x4x?xf32>, !g)
      outs(%q : !g)
      mask(%b, %h, %i, %j) {
        %c0 = arith.constant 0 : index
        %x = arith.muli %j, %i : index
        %p = arith.cmpi sge, %x, %c0 : index
        attn.yield %p : i1
      }
  return %r : !g
}
