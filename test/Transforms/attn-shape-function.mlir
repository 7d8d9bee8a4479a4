// RUN: attn-opt %s --attn-shape-function --canonicalize --cse --split-input-file | FileCheck %s

// Extents come from those of the arguments; what must agree is a constraint,
// in order, with a place in the program.

// CHECK-LABEL: func.func @dynamic(
// CHECK: attn.attention
// CHECK-LABEL: func.func @dynamic.shapes(
// CHECK-SAME: %[[Q:.*]]: tensor<?x?x?x8xf32>, %[[K:.*]]: tensor<?x?x?x8xf32>, %[[V:.*]]: tensor<?x?x?x8xf32>)
// CHECK-SAME: attn.constraints = [
// CHECK-SAME: "{{.*}}attn-shape-function.mlir:[[#@LINE+32]]:14: error: 'attn.attention' op expects k and v to have the same length, but got %0 and %1",
// CHECK-SAME: expects k and v to have the same number of heads, but got %0 and %1"
// CHECK-SAME: expects k and v to have the same batch, but got %0 and %1"
// CHECK-SAME: expects k and v to have the batch of q or 1, but got %0 for %1"
// CHECK-SAME: expects the heads of q to be a multiple of the heads of k and v, but got %0 and %1"
// CHECK-SAME: expects o and q to have the same length, but got %0 and %1"
// CHECK-SAME: ]
// CHECK-DAG: %[[QB:.*]] = tensor.dim %[[Q]], %c0 :
// CHECK-DAG: %[[QH:.*]] = tensor.dim %[[Q]], %c1 :
// CHECK-DAG: %[[QS:.*]] = tensor.dim %[[Q]], %c2 :
// CHECK-DAG: %[[KS:.*]] = tensor.dim %[[K]], %c2 :
// CHECK-DAG: %[[VS:.*]] = tensor.dim %[[V]], %c2 :
// CHECK-DAG: %[[MET:.*]] = arith.cmpi eq, %[[KS]], %[[VS]] : index
// A count of heads that is 0 does not divide.
// CHECK: %[[DIVISOR:.*]] = arith.select %{{.*}}, %c1, %{{.*}} : index
// CHECK: arith.remui %[[QH]], %[[DIVISOR]] : index
// CHECK: %[[LENGTH:.*]] = arith.cmpi eq, %[[KS]], %[[QS]] : index
// For each constraint whether it is met, and two extents; then the extents of
// o, and those of lse.
// CHECK: return %[[MET]], %[[KS]], %[[VS]],
// CHECK-SAME: %[[LENGTH]], %[[KS]], %[[QS]],
// CHECK-SAME: %[[QB]], %[[QH]], %[[KS]], %c8, %[[QB]], %[[QH]], %[[KS]] :
func.func @dynamic(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>)
    -> (tensor<?x?x?x8xf32>, tensor<?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x?x?x8xf32>
  %h = tensor.dim %q, %c1 : tensor<?x?x?x8xf32>
  %s = tensor.dim %k, %c2 : tensor<?x?x?x8xf32>
  %init = tensor.empty(%b, %h, %s) : tensor<?x?x?x8xf32>
  %linit = tensor.empty(%b, %h, %s) : tensor<?x?x?xf32>
  %o, %lse = attn.attention
      ins(%q, %k, %v : tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>)
      outs(%init, %linit : tensor<?x?x?x8xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x8xf32>, tensor<?x?x?xf32>
}

// -----

// Nothing is left to check where all is known.

// CHECK-LABEL: func.func @static.shapes(
// CHECK-SAME: attn.constraints = []
// CHECK: return %c2, %c4, %c6, %c8 : index, index, index, index
func.func @static(%q: tensor<2x4x6x8xf32>) -> tensor<2x4x6x8xf32> {
  %init = tensor.empty() : tensor<2x4x6x8xf32>
  %o = attn.attention ins(%q, %q, %q : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>)
      outs(%init : tensor<2x4x6x8xf32>)
  return %o : tensor<2x4x6x8xf32>
}

// -----

// Layouts decide which dimension is which.

// CHECK-LABEL: func.func @layouts.shapes(
// CHECK-SAME: %{{.*}}, %[[K:.*]]: tensor<2x?x4x8xf32>, %[[V:.*]]: tensor<2x4x?x8xf32>)
// CHECK-SAME: attn.constraints = ["{{.*}}expects k and v to have the same length, but got %0 and %1"]
// CHECK-DAG: %[[KS:.*]] = tensor.dim %[[K]], %c1
// CHECK-DAG: %[[VS:.*]] = tensor.dim %[[V]], %c2
// CHECK: arith.cmpi eq, %[[KS]], %[[VS]]
func.func @layouts(%q: tensor<2x6x4x8xf32>, %k: tensor<2x?x4x8xf32>, %v: tensor<2x4x?x8xf32>) -> tensor<2x4x6x8xf32> {
  %init = tensor.empty() : tensor<2x4x6x8xf32>
  %o = attn.attention layouts(bshd, bshd, bhsd, bhsd)
      ins(%q, %k, %v : tensor<2x6x4x8xf32>, tensor<2x?x4x8xf32>, tensor<2x4x?x8xf32>)
      outs(%init : tensor<2x4x6x8xf32>)
  return %o : tensor<2x4x6x8xf32>
}

// -----

// Other operations: loops of linalg, casts, sizes that are computed.

// CHECK-LABEL: func.func @others.shapes(
// CHECK-SAME: attn.constraints = [
// CHECK-SAME: 'linalg.add' op expects operands 0 and 1 to have the same extent along loop 0, but got %0 and %1"
// CHECK-SAME: 'tensor.cast' op expects dimension 0 to have extent %1, but got %0"
// CHECK-SAME: 'tensor.empty' op expects no negative extent, but got %0"
// CHECK-SAME: 'arith.divui' op expects a divisor other than 0, but got %0"
// CHECK-SAME: ]
func.func @others(%x: tensor<?xf32>, %y: tensor<?xf32>) -> (tensor<4xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %m = tensor.dim %y, %c0 : tensor<?xf32>
  %init = tensor.empty(%n) : tensor<?xf32>
  %sum = linalg.add ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%init : tensor<?xf32>) -> tensor<?xf32>
  %cast = tensor.cast %sum : tensor<?xf32> to tensor<4xf32>
  %quotient = arith.divui %c7, %m : index
  %size = arith.subi %quotient, %n : index
  %other = tensor.empty(%size) : tensor<?xf32>
  return %cast, %other : tensor<4xf32>, tensor<?xf32>
}

// -----

// What slices take of a tensor is there, and what is inserted has their sizes.

// CHECK-LABEL: func.func @slices.shapes(
// CHECK-SAME: attn.constraints = [
// CHECK-SAME: 'tensor.extract_slice' op expects no negative size of dimension 0, but got %0"
// CHECK-SAME: 'tensor.extract_slice' op expects an offset of dimension 0 within extent %1, but got %0"
// CHECK-SAME: 'tensor.extract_slice' op expects a size of dimension 0 within extent %1, but got %0"
// CHECK-SAME: 'tensor.extract_slice' op expects a slice of dimension 0 within extent %1, but got one whose last element is %0"
// CHECK-SAME: 'tensor.insert_slice' op expects no negative offset of dimension 1, but got %0"
// CHECK-SAME: 'tensor.insert_slice' op expects a slice of dimension 1 within extent %1, but got one whose last element is %0"
// CHECK-SAME: 'tensor.insert_slice' op expects the source to have the size of dimension 1, but got %0 and %1"
// CHECK-SAME: 'tensor.expand_shape' op expects the extents of a group to be those of dimension 0, but got %0 and %1"
func.func @slices(%x: tensor<?xf32>, %y: tensor<2x?xf32>, %z: tensor<?xf32>) -> (tensor<?xf32>, tensor<2x?xf32>, tensor<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %rest = arith.subi %n, %c4 : index
  %0 = tensor.extract_slice %x[4] [%rest] [2] : tensor<?xf32> to tensor<?xf32>
  %m = tensor.dim %z, %c0 : tensor<?xf32>
  %1 = tensor.insert_slice %0 into %y[1, %rest] [1, %m] [1, 1] : tensor<?xf32> into tensor<2x?xf32>
  %rows = arith.ceildivui %m, %c4 : index
  %2 = tensor.expand_shape %z [[0, 1]] output_shape [%rows, 4] : tensor<?xf32> into tensor<?x4xf32>
  return %0, %1, %2 : tensor<?xf32>, tensor<2x?xf32>, tensor<?x4xf32>
}

// -----

// Loops carry, and branches give, tensors of the same extents.

// CHECK-LABEL: func.func @carried.shapes(
// CHECK-SAME: attn.constraints = ["{{.*}}'scf.for' op expects tensors of the same extents, but got %0 and %1",
// CHECK-SAME: "{{.*}}'scf.if' op expects tensors of the same extents, but got %0 and %1"]
// CHECK: tensor.dim
// CHECK-NOT: scf
// CHECK: return
func.func @carried(%x: tensor<?xf32>, %y: tensor<?xf32>, %z: tensor<?xf32>, %n: index, %c: i1) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x) -> (tensor<?xf32>, tensor<?xf32>) {
    %length = tensor.dim %a, %c0 : tensor<?xf32>
    %new = tensor.empty(%length) : tensor<?xf32>
    scf.yield %y, %new : tensor<?xf32>, tensor<?xf32>
  }
  %1 = scf.if %c -> (tensor<?xf32>) {
    scf.yield %x : tensor<?xf32>
  } else {
    scf.yield %z : tensor<?xf32>
  }
  return %0#0, %0#1, %1 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}

// -----

// A number of the call may say where a slice begins: that is no constraint.

// CHECK-LABEL: func.func @place.shapes(
// CHECK-SAME: attn.constraints = []
func.func @place(%x: tensor<8x4xf32>, %at: index) -> tensor<1x4xf32> {
  %0 = tensor.extract_slice %x[%at, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

// -----

// A loop that computes into its argument keeps its extents.

// CHECK-LABEL: func.func @loop.shapes(
// CHECK-SAME: %[[X:.*]]: tensor<?xf32>) -> index
// CHECK: %[[N:.*]] = tensor.dim %[[X]], %c0
// CHECK: return %[[N]] : index
func.func @loop(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> tensor<?xf32> {
    %y = linalg.exp ins(%a : tensor<?xf32>) outs(%a : tensor<?xf32>) -> tensor<?xf32>
    scf.yield %y : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// -----

// Private functions, declarations and shape functions have none; scalars have no
// extents.

// CHECK-NOT: @helper.shapes
// CHECK-NOT: @external.shapes
// CHECK: func.func @scalar.shapes(%{{.*}}: f32) attributes {attn.constraints = []}
// CHECK-NEXT: return
// CHECK-NOT: .shapes.shapes
func.func private @helper(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
func.func private @external(tensor<?xf32>)
func.func @scalar(%x: f32) -> f32 {
  return %x : f32
}

// -----

// The operands of a sparsity have the blocks that q and k have, or 1 batch or head.

// CHECK-LABEL: func.func @bits.shapes(
// CHECK-SAME: attn.constraints = [
// CHECK-SAME: 'attn.attention' op expects dimension 0 of bits of the sparsity to have extent %1 or 1, but got %0",
// CHECK-SAME: 'attn.attention' op expects dimension 1 of bits of the sparsity to have extent %1 or 1, but got %0",
// CHECK-SAME: 'attn.attention' op expects dimension 2 of bits of the sparsity to have extent %1, but got %0",
// CHECK-SAME: 'attn.attention' op expects dimension 3 of bits of the sparsity to have extent %1, but got %0"]
// CHECK-DAG: arith.ceildivui %{{.*}}, %c64 : index
// CHECK-DAG: arith.ceildivui %{{.*}}, %c32 : index
func.func @bits(%q: tensor<?x?x?x8xf32>, %bits: tensor<?x?x?x?xi1>, %o: tensor<?x?x?x8xf32>) {
  %r = attn.attention
      ins(%q, %q, %q : tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>)
      sparsity(#attn.sparsity<bits, block = 64x32> %bits : tensor<?x?x?x?xi1>)
      outs(%q : tensor<?x?x?x8xf32>)
  return
}

// -----

// CHECK-LABEL: func.func @rows.shapes(
// CHECK-SAME: attn.constraints = ["{{.*}}: error: 'attn.attention' op expects dimension 0 of rows of the sparsity to have extent %1, but got %0"]
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui %{{.*}}, %c64 : index
// CHECK: arith.addi %[[BLOCKS]], %c1 : index
func.func @rows(%q: tensor<1x1x?x8xf32>, %rows: tensor<?xi32>, %columns: tensor<?xi64>) {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>)
      sparsity(#attn.sparsity<lists, block = 64x32> %rows, %columns : tensor<?xi32>, tensor<?xi64>)
      outs(%q : tensor<1x1x?x8xf32>)
  return
}

// -----

// What regions read for each batch, head, query or key is there, unless there are
// no pairs; once for each extent. Of indices in branches, or of other values, nothing
// is known, and a score reads what the mask allows: here, it leaves out no head and no
// query.

// CHECK-LABEL: func.func @reads.shapes(
// CHECK-SAME: %[[Q:.*]]: tensor<2x?x?x8xf32>, %[[K:.*]]: tensor<2x?x96x8xf32>, %[[T:.*]]: tensor<?x?xf32>, %{{.*}}: tensor<?xf32>)
// CHECK-SAME: attn.constraints = [
// CHECK-SAME: and v, but got %0 and %1",
// CHECK-SAME: "{{.*}}attn-shape-function.mlir:[[#@LINE+26]]:14: error: 'tensor.extract' op expects dimension 0 of the tensor to have extent %1 or more, as this is read, but got %0",
// CHECK-SAME: "{{.*}}attn-shape-function.mlir:[[#@LINE+25]]:14: error: 'tensor.extract' op expects dimension 1 of the tensor to have extent %1 or more, as this is read, but got %0",
// CHECK-SAME: "{{.*}}attn-shape-function.mlir:[[#@LINE+26]]:14: error: 'tensor.extract' op expects dimension 1 of the tensor to have extent %1 or more, as this is read, but got %0",
// CHECK-SAME: "{{.*}}attn-shape-function.mlir:[[#@LINE+46]]:14: error: 'tensor.extract' op expects dimension 0 of the tensor to have extent %1 or more, as this is read, but got %0"]
// CHECK-DAG: %[[H:.*]] = tensor.dim %[[Q]], %c1 :
// CHECK-DAG: %[[S:.*]] = tensor.dim %[[Q]], %c2 :
// CHECK-DAG: %[[T0:.*]] = tensor.dim %[[T]], %c0 :
// CHECK: %[[HEADS:.*]] = arith.cmpi uge, %[[T0]], %[[H]] : index
// CHECK: %[[EMPTY:.*]] = arith.cmpi eq, %{{.*}}, %c0 : index
// CHECK: arith.ori %[[HEADS]], %[[EMPTY]] : i1
// CHECK: %[[MORE:.*]] = arith.addi %[[S]], %c3 : index
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui %[[MORE]], %c16 : index
// CHECK: %[[T1:.*]] = tensor.dim %[[T]], %c1 :
// CHECK: arith.cmpi uge, %[[T1]], %[[BLOCKS]] : index
// CHECK: arith.cmpi uge, %[[T1]], %c1 : index
// CHECK: arith.cmpi uge, %[[T0]], %c96 : index
!q = tensor<2x?x?x8xf32>
!k = tensor<2x?x96x8xf32>
func.func @reads(%q: !q, %k: !k, %t: tensor<?x?xf32>, %u: tensor<?xf32>) {
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k)
      captures(%t, %u : tensor<?x?xf32>, tensor<?xf32>) outs(%q : !q)
      score(%s, %b, %h, %i, %j, %x, %y) {
        %c3 = arith.constant 3 : index
        %c16 = arith.constant 16 : index
        %more = arith.addi %i, %c3 : index
        %block = arith.divui %more, %c16 : index
        %0 = tensor.extract %x[%h, %block] : tensor<?x?xf32>
        %c0 = arith.constant 0 : index
        %1 = tensor.extract %x[%h, %c0] : tensor<?x?xf32>
        %far = arith.subi %i, %j : index
        %2 = tensor.extract %y[%far] : tensor<?xf32>
        %3 = arith.addf %0, %1 : f32
        %4 = tensor.extract %y[%j] : tensor<?xf32>
        %5 = arith.addf %3, %2 : f32
        %6 = arith.addf %4, %5 : f32
        %7 = arith.addf %s, %6 : f32
        attn.yield %7 : f32
      }
      mask(%b, %h, %i, %j, %x, %y) {
        %c0 = arith.constant 0 : index
        %c9 = arith.constant 9 : index
        %near = arith.cmpi sle, %j, %c9 : index
        %0 = scf.if %near -> f32 {
          %2 = tensor.extract %y[%j] : tensor<?xf32>
          scf.yield %2 : f32
        } else {
          %3 = tensor.extract %y[%c0] : tensor<?xf32>
          scf.yield %3 : f32
        }
        %1 = tensor.extract %x[%j, %c0] : tensor<?x?xf32>
        %p = arith.cmpf ogt, %0, %1 : f32
        attn.yield %p : i1
      }
  return
}
