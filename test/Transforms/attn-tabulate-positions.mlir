// RUN: attn-opt %s --split-input-file --attn-tabulate-positions | FileCheck %s

// A quotient by a number of the head is computed for each key once, with an
// element for each head; the condition is left. What is computed of the query
// takes fewer instructions than its table would.

// CHECK-LABEL: func @quotient
// CHECK-SAME:   (%[[Q:.*]]: tensor<2x4x?x8xf32>, %{{.*}}, %[[SIZES:.*]]: tensor<4xi32>)
// CHECK:      %[[KEYS:.*]] = tensor.dim %[[Q]], %{{.*}}
// CHECK:      %[[EMPTY:.*]] = tensor.empty(%[[KEYS]]) : tensor<4x?xi32>
// CHECK:      %[[TABLE:.*]] = scf.forall (%[[H:.*]], %[[J:.*]]) in (4, %[[KEYS]]) shared_outs(%{{.*}} = %[[EMPTY]]) -> (tensor<4x?xi32>) {
// CHECK:        %[[N:.*]] = tensor.extract %[[SIZES]][%[[H]]]
// CHECK:        %[[SIZE:.*]] = arith.index_cast %[[N]] : i32 to index
// CHECK:        %[[Y:.*]] = arith.divui %[[J]], %[[SIZE]] : index
// CHECK:        %[[ELEMENT:.*]] = arith.index_cast %[[Y]] : index to i32
// CHECK:        tensor.insert %[[ELEMENT]]
// CHECK:      } {attn.preparation
// CHECK:      captures(%[[SIZES]], %[[TABLE]] : tensor<4xi32>, tensor<4x?xi32>)
// CHECK:      mask(%{{.*}}, %[[H:.*]], %[[I:.*]], %[[J:.*]], %{{.*}}, %[[T:.*]]) {
// CHECK:        %[[X:.*]] = arith.divui %[[I]]
// CHECK:        %[[READ:.*]] = tensor.extract %[[T]][%[[H]], %[[J]]] : tensor<4x?xi32>
// CHECK:        %[[OWN:.*]] = arith.index_cast %[[READ]] : i32 to index
// CHECK:        arith.cmpi eq, %[[X]], %[[OWN]] : index
func.func @quotient(%q: tensor<2x4x?x8xf32>, %o: tensor<2x4x?x8xf32>, %sizes: tensor<4xi32>) -> tensor<2x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%sizes : tensor<4xi32>) outs(%o : tensor<2x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %n = tensor.extract %w[%h] : tensor<4xi32>
        %size = arith.index_cast %n : i32 to index
        %x = arith.divui %i, %size : index
        %y = arith.divui %j, %size : index
        %p = arith.cmpi eq, %x, %y : index
        attn.yield %p : i1
      }
  return %r : tensor<2x4x?x8xf32>
}

// -----

// Whatever it is divided by, a quotient of a position fits 32 bits.

// CHECK-LABEL: func @signed
// CHECK:      scf.forall {{.*}} -> (tensor<4x?xi32>) {
func.func @signed(%q: tensor<2x4x?x8xf32>, %o: tensor<2x4x?x8xf32>, %sizes: tensor<4xi64>) -> tensor<2x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%sizes : tensor<4xi64>) outs(%o : tensor<2x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %n = tensor.extract %w[%h] : tensor<4xi64>
        %size = arith.index_cast %n : i64 to index
        %y = arith.floordivsi %j, %size : index
        %p = arith.cmpi sle, %y, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<2x4x?x8xf32>
}

// -----

// Divisions of 64 bits take so long that queries have tables, too. All values of
// keys come of one loop, and all of queries.

// CHECK-LABEL: func @wide
// CHECK:      scf.forall (%{{.*}}) in (%{{.*}}) shared_outs(%{{.*}}) -> (tensor<?xi64>) {
// CHECK:      scf.forall (%{{.*}}) in (%{{.*}}) shared_outs(%{{.*}}, %{{.*}}) -> (tensor<?xi64>, tensor<?xi1>) {
// CHECK:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]], %{{.*}}, %{{.*}}, %[[QUERY:.*]], %[[KEY:.*]], %[[BIT:.*]]) {
// CHECK-NOT:    remsi
// CHECK-DAG:    tensor.extract %[[KEY]][%[[J]]] : tensor<?xi64>
// CHECK-DAG:    tensor.extract %[[BIT]][%[[J]]] : tensor<?xi1>
// CHECK-DAG:    tensor.extract %[[QUERY]][%[[I]]] : tensor<?xi64>
func.func @wide(%q: tensor<2x4x?x8xf32>, %o: tensor<2x4x?x8xf32>, %n: index, %s: index) -> tensor<2x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%n, %s : index, index) outs(%o : tensor<2x4x?x8xf32>)
      mask(%b, %h, %i, %j, %size, %shift) {
        %c0 = arith.constant 0 : index
        %is = arith.addi %i, %shift : index
        %x = arith.remsi %is, %size : index
        %js = arith.addi %j, %shift : index
        %y = arith.remsi %js, %size : index
        %less = arith.cmpi sle, %x, %y : index
        %bit = arith.cmpi ne, %y, %c0 : index
        %p = arith.andi %less, %bit : i1
        attn.yield %p : i1
      }
  return %r : tensor<2x4x?x8xf32>
}

// -----

// What becomes a bound or bits of words stays, and so does what one read is, and
// the mask of few queries.

// CHECK-LABEL: func @cheap
// CHECK-NOT:  scf.forall
// CHECK:      return
func.func @cheap(%q: tensor<2x4x?x8xf32>, %o: tensor<2x4x?x8xf32>, %n: index, %doc: tensor<?xi32>, %one: tensor<2x4x1x8xf32>, %sizes: tensor<4xindex>) -> (tensor<2x4x?x8xf32>, tensor<2x4x1x8xf32>) {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%n, %doc : index, tensor<?xi32>) outs(%o : tensor<2x4x?x8xf32>)
      mask(%b, %h, %i, %j, %size, %d) {
        %x = arith.divui %i, %size : index
        %y = arith.divui %j, %size : index
        %near = arith.cmpi eq, %x, %y : index
        %u = tensor.extract %d[%i] : tensor<?xi32>
        %v = tensor.extract %d[%j] : tensor<?xi32>
        %same = arith.cmpi eq, %u, %v : i32
        %p = arith.andi %near, %same : i1
        attn.yield %p : i1
      }
  %s = attn.attention ins(%one, %q, %q : tensor<2x4x1x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      captures(%sizes : tensor<4xindex>) outs(%one : tensor<2x4x1x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %size = tensor.extract %w[%h] : tensor<4xindex>
        %x = arith.divui %i, %size : index
        %y = arith.divui %j, %size : index
        %p = arith.cmpi eq, %x, %y : index
        attn.yield %p : i1
      }
  return %r, %s : tensor<2x4x?x8xf32>, tensor<2x4x1x8xf32>
}
