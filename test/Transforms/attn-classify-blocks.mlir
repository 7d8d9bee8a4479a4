// RUN: attn-opt %s --attn-classify-blocks --split-input-file | FileCheck %s

// The example of the pass's documentation: a sliding window.

// CHECK-LABEL: func @example
// CHECK:      blocks(%{{.*}}, %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[SKV:.*]]) {
// CHECK-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[C1:.*]] = arith.constant 1 : index
// CHECK-NEXT:   %[[M128:.*]] = arith.constant -128 : index
// CHECK-NEXT:   %[[M127:.*]] = arith.constant -127 : index
// CHECK-NEXT:   %[[V0:.*]] = arith.addi %[[I0]], %[[M127]] : index
// CHECK-NEXT:   %[[V1:.*]] = arith.addi %[[I1]], %[[M128]] : index
// CHECK-NEXT:   %[[V2:.*]] = arith.addi %[[I0]], %[[C1]] : index
// CHECK-NEXT:   %[[V3:.*]] = arith.minsi %[[I1]], %[[SKV]] : index
// CHECK-NEXT:   %[[V4:.*]] = arith.maxsi %[[V0]], %[[C0]] : index
// CHECK-NEXT:   %[[V5:.*]] = arith.minsi %[[V4]], %[[V3]] : index
// CHECK-NEXT:   %[[V6:.*]] = arith.maxsi %[[V1]], %[[C0]] : index
// CHECK-NEXT:   %[[V7:.*]] = arith.minsi %[[V6]], %[[V3]] : index
// CHECK-NEXT:   %[[V8:.*]] = arith.minsi %[[V2]], %[[SKV]] : index
// CHECK-NEXT:   %[[V9:.*]] = arith.maxsi %[[V7]], %[[V8]] : index
// CHECK-NEXT:   attn.yield %[[V5]], %[[V7]], %[[V9]], %[[V3]] : index, index, index, index
func.func @example(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %c128 = arith.constant 128 : index
        %d = arith.subi %i, %j : index
        %near = arith.cmpi slt, %d, %c128 : index
        %past = arith.cmpi sle, %j, %i : index
        %p = arith.andi %near, %past : i1
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// Causal, aligned at the top left.

// CHECK-LABEL: func @causal
// CHECK:      blocks(%{{.*}}, %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[SKV:.*]]) {
// CHECK-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[C1:.*]] = arith.constant 1 : index
// CHECK-NEXT:   %[[V0:.*]] = arith.addi %[[I0]], %[[C1]] : index
// CHECK-NEXT:   %[[V1:.*]] = arith.minsi %[[I1]], %[[SKV]] : index
// CHECK-NEXT:   %[[V2:.*]] = arith.minsi %[[V0]], %[[SKV]] : index
// CHECK-NEXT:   attn.yield %[[C0]], %[[C0]], %[[V2]], %[[V1]] : index, index, index, index
func.func @causal(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// Causal, aligned at the bottom right by a captured Skv - Sq. A sum that has to be
// right for any captured integer limits it first.

// CHECK-LABEL: func @bottom_right
// CHECK:      blocks(%{{.*}}, %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[SKV:.*]], %[[W0:.*]]) {
// CHECK-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[C1:.*]] = arith.constant 1 : index
// CHECK-NEXT:   %[[LIMIT:.*]] = arith.constant 4611686018427387904 : index
// CHECK-NEXT:   %[[V0:.*]] = arith.minsi %[[W0]], %[[LIMIT]] : index
// CHECK-NEXT:   %[[V1:.*]] = arith.addi %[[I1]], %[[V0]] : index
// CHECK-NEXT:   %[[V2:.*]] = arith.addi %[[I0]], %[[C1]] : index
// CHECK-NEXT:   %[[V3:.*]] = arith.addi %[[V2]], %[[V0]] : index
// CHECK-NEXT:   %[[V4:.*]] = arith.maxsi %[[V1]], %[[C0]] : index
// CHECK-NEXT:   %[[V5:.*]] = arith.minsi %[[V4]], %[[SKV]] : index
// CHECK-NEXT:   %[[V6:.*]] = arith.maxsi %[[V3]], %[[C0]] : index
// CHECK-NEXT:   %[[V7:.*]] = arith.minsi %[[V6]], %[[SKV]] : index
// CHECK-NEXT:   attn.yield %[[C0]], %[[C0]], %[[V7]], %[[V5]] : index, index, index, index
func.func @bottom_right(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %d: index) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%d : index)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %c0) {
        %e = arith.addi %i, %c0 : index
        %p = arith.cmpi sle, %j, %e : index
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// One of 32 bits needs no limit.

// CHECK-LABEL: func @bottom_right_i32
// CHECK:      blocks(%{{.*}}, %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[SKV:.*]], %[[W0:.*]]) {
// CHECK-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[C1:.*]] = arith.constant 1 : index
// CHECK-NEXT:   %[[V0:.*]] = arith.index_cast %[[W0]] : i32 to index
// CHECK-NEXT:   %[[V1:.*]] = arith.addi %[[I1]], %[[V0]] : index
// CHECK-NEXT:   %[[V2:.*]] = arith.addi %[[I0]], %[[V0]] : index
// CHECK-NEXT:   %[[V3:.*]] = arith.addi %[[V2]], %[[C1]] : index
// CHECK-NEXT:   %[[V4:.*]] = arith.maxsi %[[V1]], %[[C0]] : index
// CHECK-NEXT:   %[[V5:.*]] = arith.minsi %[[V4]], %[[SKV]] : index
// CHECK-NEXT:   %[[V6:.*]] = arith.maxsi %[[V3]], %[[C0]] : index
// CHECK-NEXT:   %[[V7:.*]] = arith.minsi %[[V6]], %[[SKV]] : index
// CHECK-NEXT:   attn.yield %[[C0]], %[[C0]], %[[V7]], %[[V5]] : index, index, index, index
func.func @bottom_right_i32(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %d: i32) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%d : i32)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %c0) {
        %w = arith.index_cast %c0 : i32 to index
        %e = arith.addi %i, %w : index
        %p = arith.cmpi sle, %j, %e : index
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// A window on both sides.

// CHECK-LABEL: func @two_sided_window
// CHECK:      blocks(%{{.*}}, %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[SKV:.*]]) {
// CHECK-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[C65:.*]] = arith.constant 65 : index
// CHECK-NEXT:   %[[C64:.*]] = arith.constant 64 : index
// CHECK-NEXT:   %[[M65:.*]] = arith.constant -65 : index
// CHECK-NEXT:   %[[M64:.*]] = arith.constant -64 : index
// CHECK-NEXT:   %[[V0:.*]] = arith.addi %[[I0]], %[[M64]] : index
// CHECK-NEXT:   %[[V1:.*]] = arith.addi %[[I1]], %[[M65]] : index
// CHECK-NEXT:   %[[V2:.*]] = arith.addi %[[I1]], %[[C64]] : index
// CHECK-NEXT:   %[[V3:.*]] = arith.addi %[[I0]], %[[C65]] : index
// CHECK-NEXT:   %[[V4:.*]] = arith.minsi %[[V2]], %[[SKV]] : index
// CHECK-NEXT:   %[[V5:.*]] = arith.maxsi %[[V0]], %[[C0]] : index
// CHECK-NEXT:   %[[V6:.*]] = arith.minsi %[[V5]], %[[V4]] : index
// CHECK-NEXT:   %[[V7:.*]] = arith.maxsi %[[V1]], %[[C0]] : index
// CHECK-NEXT:   %[[V8:.*]] = arith.minsi %[[V7]], %[[V4]] : index
// CHECK-NEXT:   %[[V9:.*]] = arith.minsi %[[V3]], %[[SKV]] : index
// CHECK-NEXT:   %[[V10:.*]] = arith.maxsi %[[V8]], %[[V9]] : index
// CHECK-NEXT:   attn.yield %[[V6]], %[[V8]], %[[V10]], %[[V4]] : index, index, index, index
func.func @two_sided_window(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %c64 = arith.constant 64 : index
        %d = arith.subi %i, %j : index
        %e = math.absi %d : index
        %p = arith.cmpi sle, %e, %c64 : index
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// A prefix of each batch that all see, and causal after it.

// CHECK-LABEL: func @prefix
// CHECK:      blocks(%[[B:.*]], %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[SKV:.*]], %[[W0:.*]]) {
// CHECK-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[C1:.*]] = arith.constant 1 : index
// CHECK-NEXT:   %[[V0:.*]] = arith.addi %[[I0]], %[[C1]] : index
// CHECK-NEXT:   %[[EXTRACTED:.*]] = tensor.extract %[[W0]][%[[B]]] : tensor<2xi32>
// CHECK-NEXT:   %[[V1:.*]] = arith.index_cast %[[EXTRACTED]] : i32 to index
// CHECK-NEXT:   %[[V2:.*]] = arith.maxsi %[[I1]], %[[V1]] : index
// CHECK-NEXT:   %[[V3:.*]] = arith.maxsi %[[V0]], %[[V1]] : index
// CHECK-NEXT:   %[[V4:.*]] = arith.minsi %[[V2]], %[[SKV]] : index
// CHECK-NEXT:   %[[V5:.*]] = arith.minsi %[[V3]], %[[SKV]] : index
// CHECK-NEXT:   attn.yield %[[C0]], %[[C0]], %[[V5]], %[[V4]] : index, index, index, index
func.func @prefix(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %n: tensor<2xi32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%n : tensor<2xi32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %c0) {
        %n = tensor.extract %c0[%b] : tensor<2xi32>
        %w = arith.index_cast %n : i32 to index
        %past = arith.cmpi sle, %j, %i : index
        %pre = arith.cmpi slt, %j, %w : index
        %p = arith.ori %past, %pre : i1
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// Padding of queries and keys: no key where all rows are padding, and none for
// all rows where some are.

// CHECK-LABEL: func @padding
// CHECK:      blocks(%[[B:.*]], %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[SKV:.*]], %[[W0:.*]]) {
// CHECK-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[EXTRACTED:.*]] = tensor.extract %[[W0]][%[[B]]] : tensor<2xindex>
// CHECK-NEXT:   %[[V0:.*]] = arith.cmpi sgt, %[[EXTRACTED]], %[[I0]] : index
// CHECK-NEXT:   %[[V1:.*]] = arith.cmpi sge, %[[EXTRACTED]], %[[I1]] : index
// CHECK-NEXT:   %[[V2:.*]] = arith.select %[[V0]], %[[EXTRACTED]], %[[C0]] : index
// CHECK-NEXT:   %[[V3:.*]] = arith.maxsi %[[V2]], %[[C0]] : index
// CHECK-NEXT:   %[[V4:.*]] = arith.minsi %[[V3]], %[[SKV]] : index
// CHECK-NEXT:   %[[V5:.*]] = arith.select %[[V1]], %[[EXTRACTED]], %[[C0]] : index
// CHECK-NEXT:   %[[V6:.*]] = arith.maxsi %[[V5]], %[[C0]] : index
// CHECK-NEXT:   %[[V7:.*]] = arith.minsi %[[V6]], %[[SKV]] : index
// CHECK-NEXT:   attn.yield %[[C0]], %[[C0]], %[[V7]], %[[V4]] : index, index, index, index
func.func @padding(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %len: tensor<2xindex>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%len : tensor<2xindex>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %c0) {
        %w = tensor.extract %c0[%b] : tensor<2xindex>
        %x = arith.cmpi slt, %i, %w : index
        %y = arith.cmpi slt, %j, %w : index
        %p = arith.andi %x, %y : i1
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// Causal in every other batch.

// CHECK-LABEL: func @batch_flip
// CHECK:      blocks(%[[B:.*]], %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[SKV:.*]]) {
// CHECK-NEXT:   %[[C1:.*]] = arith.constant 1 : index
// CHECK-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[V0:.*]] = arith.andi %[[B]], %[[C1]] : index
// CHECK-NEXT:   %[[V1:.*]] = arith.cmpi eq, %[[V0]], %[[C0]] : index
// CHECK-NEXT:   %[[V2:.*]] = arith.addi %[[I0]], %[[C1]] : index
// CHECK-NEXT:   %[[V3:.*]] = arith.select %[[V1]], %[[I1]], %[[C0]] : index
// CHECK-NEXT:   %[[V4:.*]] = arith.minsi %[[V3]], %[[SKV]] : index
// CHECK-NEXT:   %[[V5:.*]] = arith.select %[[V1]], %[[V2]], %[[C0]] : index
// CHECK-NEXT:   %[[V6:.*]] = arith.minsi %[[V5]], %[[SKV]] : index
// CHECK-NEXT:   attn.yield %[[C0]], %[[C0]], %[[V6]], %[[V4]] : index, index, index, index
func.func @batch_flip(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %c1 = arith.constant 1 : index
        %z = arith.constant 0 : index
        %odd = arith.andi %b, %c1 : index
        %even = arith.cmpi eq, %odd, %z : index
        %past = arith.cmpi sle, %j, %i : index
        %p = arith.andi %even, %past : i1
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// Another mask for the first head: the bounds are chosen likewise.

// CHECK-LABEL: func @by_head
// CHECK:      blocks(%{{.*}}, %[[H:.*]], %[[I0:.*]], %[[I1:.*]], %[[SKV:.*]]) {
// CHECK-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[M1:.*]] = arith.constant -1 : index
// CHECK-NEXT:   %[[C1:.*]] = arith.constant 1 : index
// CHECK-NEXT:   %[[V0:.*]] = arith.addi %[[I0]], %[[C1]] : index
// CHECK-NEXT:   %[[V1:.*]] = arith.addi %[[I1]], %[[M1]] : index
// CHECK-NEXT:   %[[V2:.*]] = arith.cmpi eq, %[[H]], %[[C0]] : index
// CHECK-NEXT:   %[[V3:.*]] = arith.select %[[V2]], %[[C0]], %[[I0]] : index
// CHECK-NEXT:   %[[V4:.*]] = arith.select %[[V2]], %[[I1]], %[[SKV]] : index
// CHECK-NEXT:   %[[V5:.*]] = arith.select %[[V2]], %[[C0]], %[[V1]] : index
// CHECK-NEXT:   %[[V6:.*]] = arith.select %[[V2]], %[[V0]], %[[SKV]] : index
// CHECK-NEXT:   %[[V7:.*]] = arith.minsi %[[V4]], %[[SKV]] : index
// CHECK-NEXT:   %[[V8:.*]] = arith.minsi %[[V3]], %[[V7]] : index
// CHECK-NEXT:   %[[V9:.*]] = arith.minsi %[[V5]], %[[V7]] : index
// CHECK-NEXT:   %[[V10:.*]] = arith.minsi %[[V6]], %[[SKV]] : index
// CHECK-NEXT:   %[[V11:.*]] = arith.maxsi %[[V9]], %[[V10]] : index
// CHECK-NEXT:   attn.yield %[[V8]], %[[V9]], %[[V11]], %[[V7]] : index, index, index, index
func.func @by_head(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %z = arith.constant 0 : index
        %first = arith.cmpi eq, %h, %z : index
        %past = arith.cmpi sle, %j, %i : index
        %next = arith.cmpi sge, %j, %i : index
        %p = arith.select %first, %past, %next : i1
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// Chunks of 64 positions that see each other.

// CHECK-LABEL: func @chunks
// CHECK:      blocks(%{{.*}}, %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[SKV:.*]]) {
// CHECK-NEXT:   %[[C1:.*]] = arith.constant 1 : index
// CHECK-NEXT:   %[[C64:.*]] = arith.constant 64 : index
// CHECK-NEXT:   %[[V0:.*]] = arith.divui %[[I0]], %[[C64]] : index
// CHECK-NEXT:   %[[V1:.*]] = arith.muli %[[V0]], %[[C64]] : index
// CHECK-NEXT:   %[[V2:.*]] = arith.subi %[[I1]], %[[C1]] : index
// CHECK-NEXT:   %[[V3:.*]] = arith.divui %[[V2]], %[[C64]] : index
// CHECK-NEXT:   %[[V4:.*]] = arith.muli %[[V3]], %[[C64]] : index
// CHECK-NEXT:   %[[V5:.*]] = arith.addi %[[V4]], %[[C64]] : index
// CHECK-NEXT:   %[[V6:.*]] = arith.addi %[[V1]], %[[C64]] : index
// CHECK-NEXT:   %[[V7:.*]] = arith.minsi %[[V5]], %[[SKV]] : index
// CHECK-NEXT:   %[[V8:.*]] = arith.minsi %[[V1]], %[[V7]] : index
// CHECK-NEXT:   %[[V9:.*]] = arith.minsi %[[V4]], %[[V7]] : index
// CHECK-NEXT:   %[[V10:.*]] = arith.minsi %[[V6]], %[[SKV]] : index
// CHECK-NEXT:   %[[V11:.*]] = arith.maxsi %[[V9]], %[[V10]] : index
// CHECK-NEXT:   attn.yield %[[V8]], %[[V9]], %[[V11]], %[[V7]] : index, index, index, index
func.func @chunks(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %c64 = arith.constant 64 : index
        %x = arith.divui %i, %c64 : index
        %y = arith.divui %j, %c64 : index
        %p = arith.cmpi eq, %x, %y : index
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// A window and the first keys: of two intervals that all rows see, the longer
// one counts unless they touch.

// CHECK-LABEL: func @sink
// CHECK:      blocks(%{{.*}}, %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[SKV:.*]]) {
// CHECK-DAG:    %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:    %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:    %[[C4:.*]] = arith.constant 4 : index
// CHECK-DAG:    %[[M100:.*]] = arith.constant -100 : index
// CHECK:        %[[V0:.*]] = arith.addi %[[I1]], %[[M100]] : index
// CHECK-NEXT:   %[[V1:.*]] = arith.maxsi %[[V0]], %[[C0]] : index
// CHECK-NEXT:   %[[NEAR:.*]] = arith.minsi %[[V1]], %[[SKV]] : index
// CHECK-NEXT:   %[[FIRST:.*]] = arith.minsi %[[SKV]], %[[C4]] : index
// CHECK-NEXT:   %[[TOUCH:.*]] = arith.cmpi sle, %[[NEAR]], %[[FIRST]] : index
// CHECK-NEXT:   %[[LENGTH:.*]] = arith.subi %[[SKV]], %[[NEAR]] : index
// CHECK-NEXT:   %[[LONGER:.*]] = arith.cmpi sge, %[[LENGTH]], %[[FIRST]] : index
// CHECK-NEXT:   %[[LO:.*]] = arith.select %[[LONGER]], %[[NEAR]], %[[C0]] : index
// CHECK-NEXT:   %[[FULL_LO:.*]] = arith.select %[[TOUCH]], %[[C0]], %[[LO]] : index
// CHECK-NEXT:   %[[HI:.*]] = arith.select %[[LONGER]], %[[SKV]], %[[FIRST]] : index
// CHECK-NEXT:   %[[FULL_HI:.*]] = arith.select %[[TOUCH]], %[[SKV]], %[[HI]] : index
// CHECK-NEXT:   %[[PAST:.*]] = arith.addi %[[I0]], %[[C1]] : index
// CHECK-NEXT:   %[[V2:.*]] = arith.minsi %[[FULL_HI]], %[[PAST]] : index
// CHECK-NEXT:   %[[V3:.*]] = arith.minsi %[[I1]], %[[SKV]] : index
// CHECK-NEXT:   %[[V4:.*]] = arith.minsi %[[FULL_LO]], %[[V3]] : index
// CHECK-NEXT:   %[[V5:.*]] = arith.minsi %[[V2]], %[[SKV]] : index
// CHECK-NEXT:   %[[V6:.*]] = arith.maxsi %[[V4]], %[[V5]] : index
// CHECK-NEXT:   attn.yield %[[C0]], %[[V4]], %[[V6]], %[[V3]] : index, index, index, index
func.func @sink(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %c4 = arith.constant 4 : index
        %c100 = arith.constant 100 : index
        %d = arith.subi %i, %j : index
        %near = arith.cmpi slt, %d, %c100 : index
        %first = arith.cmpi slt, %j, %c4 : index
        %either = arith.ori %near, %first : i1
        %past = arith.cmpi sle, %j, %i : index
        %p = arith.andi %either, %past : i1
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// A key for every third query: bounds are rounded.

// CHECK-LABEL: func @stride
// CHECK:      blocks(%{{.*}}, %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[SKV:.*]]) {
// CHECK-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[C1:.*]] = arith.constant 1 : index
// CHECK-NEXT:   %[[C3:.*]] = arith.constant 3 : index
// CHECK-NEXT:   %[[M1:.*]] = arith.constant -1 : index
// CHECK-NEXT:   %[[V0:.*]] = arith.addi %[[I1]], %[[M1]] : index
// CHECK-NEXT:   %[[V1:.*]] = arith.divui %[[V0]], %[[C3]] : index
// CHECK-NEXT:   %[[V2:.*]] = arith.addi %[[V1]], %[[C1]] : index
// CHECK-NEXT:   %[[V3:.*]] = arith.divui %[[I0]], %[[C3]] : index
// CHECK-NEXT:   %[[V4:.*]] = arith.addi %[[V3]], %[[C1]] : index
// CHECK-NEXT:   %[[V5:.*]] = arith.minsi %[[V2]], %[[SKV]] : index
// CHECK-NEXT:   %[[V6:.*]] = arith.minsi %[[V4]], %[[SKV]] : index
// CHECK-NEXT:   attn.yield %[[C0]], %[[C0]], %[[V6]], %[[V5]] : index, index, index, index
func.func @stride(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %c3 = arith.constant 3 : index
        %x = arith.muli %j, %c3 : index
        %p = arith.cmpi sle, %x, %i : index
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// Document numbers are not affine, but the rest still bounds the keys; none is
// allowed for certain.

// CHECK-LABEL: func @documents
// CHECK:      blocks(%{{.*}}, %{{.*}}, %{{.*}}, %[[I1:.*]], %[[SKV:.*]], %{{.*}}) {
// CHECK-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[V0:.*]] = arith.minsi %[[I1]], %[[SKV]] : index
// CHECK-NEXT:   attn.yield %[[C0]], %[[C0]], %[[C0]], %[[V0]] : index, index, index, index
func.func @documents(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %doc: tensor<?xi32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%doc : tensor<?xi32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %c0) {
        %x = tensor.extract %c0[%i] : tensor<?xi32>
        %y = tensor.extract %c0[%j] : tensor<?xi32>
        %same = arith.cmpi eq, %x, %y : i32
        %past = arith.cmpi sle, %j, %i : index
        %p = arith.andi %same, %past : i1
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// What is unknown may allow any key, but does not take away from those that are
// allowed.

// CHECK-LABEL: func @documents_or
// CHECK:      blocks(%{{.*}}, %{{.*}}, %[[I0:.*]], %{{.*}}, %[[SKV:.*]], %{{.*}}) {
// CHECK-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[C1:.*]] = arith.constant 1 : index
// CHECK-NEXT:   %[[V0:.*]] = arith.addi %[[I0]], %[[C1]] : index
// CHECK-NEXT:   %[[V1:.*]] = arith.minsi %[[V0]], %[[SKV]] : index
// CHECK-NEXT:   attn.yield %[[C0]], %[[C0]], %[[V1]], %[[SKV]] : index, index, index, index
func.func @documents_or(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %doc: tensor<?xi32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%doc : tensor<?xi32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %c0) {
        %x = tensor.extract %c0[%i] : tensor<?xi32>
        %y = tensor.extract %c0[%j] : tensor<?xi32>
        %same = arith.cmpi eq, %x, %y : i32
        %past = arith.cmpi sle, %j, %i : index
        %p = arith.ori %same, %past : i1
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// A mask without any key.

// CHECK-LABEL: func @nothing
// CHECK:      blocks(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:   attn.yield %[[C0]], %[[C0]], %[[C0]], %[[C0]] : index, index, index, index
func.func @nothing(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.constant false
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// Values that a branch computes are there without it, save for reads of
// captures; a branch that does not depend on the position stays whole.

// CHECK-LABEL: func @branches
// CHECK:      blocks(%[[B:.*]], %[[H:.*]], %{{.*}}, %{{.*}}, %[[SKV:.*]], %[[W0:.*]]) {
// CHECK:        %[[IF:.*]] = scf.if %{{.*}} -> (index) {
// CHECK:          tensor.extract %[[W0]][%[[H]]] : tensor<2xindex>
// CHECK:        %[[SUM:.*]] = arith.addi %{{.*}}, %[[B]] : index
// CHECK-NOT:    tensor.extract
// CHECK:        attn.yield
func.func @branches(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>, %t: tensor<2xindex>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%t : tensor<2xindex>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j, %c0) {
        %two = arith.constant 2 : index
        %known = arith.cmpi slt, %h, %two : index
        %n = scf.if %known -> index {
          %x = tensor.extract %c0[%h] : tensor<2xindex>
          scf.yield %x : index
        } else {
          scf.yield %two : index
        }
        %near = arith.cmpi slt, %j, %n : index
        %no = arith.constant false
        %p = scf.if %near -> i1 {
          %e = arith.addi %i, %b : index
          %past = arith.cmpi sle, %j, %e : index
          scf.yield %past : i1
        } else {
          %k = arith.cmpi slt, %i, %two : index
          %x = scf.if %k -> i1 {
            %z = tensor.extract %c0[%i] : tensor<2xindex>
            %same = arith.cmpi eq, %z, %j : index
            scf.yield %same : i1
          } else {
            scf.yield %no : i1
          }
          scf.yield %x : i1
        }
        attn.yield %p : i1
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// Bounds that are there stay as they are.

// CHECK-LABEL: func @given
// CHECK:      blocks(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[SKV:.*]]) {
// CHECK-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:   attn.yield %[[C0]], %[[C0]], %[[C0]], %[[SKV]] : index, index, index, index
func.func @given(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
      blocks(%b, %h, %i0, %i1, %skv) {
        %c0 = arith.constant 0 : index
        attn.yield %c0, %c0, %c0, %skv : index, index, index, index
      }
  return %r#0 : tensor<2x4x?x8xf32>
}

// -----

// Without a mask there is nothing to bound.

// CHECK-LABEL: func @no_mask
// CHECK-NOT:  blocks
// CHECK:      return
func.func @no_mask(%q: tensor<2x4x?x8xf32>, %m: tensor<2x4x?xf32>) -> tensor<2x4x?x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      outs(%q, %m, %m : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
  return %r#0 : tensor<2x4x?x8xf32>
}
