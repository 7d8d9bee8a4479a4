// RUN: attn-opt %s --attn-canonicalize-score --split-input-file | FileCheck %s

// The normal form of masks. That all spellings of a mask have the same is tested
// in Integration/Spellings.

// Comparisons are solved for the key, here to be two bounds.

// CHECK-LABEL: func @window(
// CHECK:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]]) {
// CHECK-NEXT:   %[[CM63:.*]] = arith.constant -63 : index
// CHECK-NEXT:   %[[X0:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-NEXT:   %[[X1:.*]] = arith.addi %[[I]], %[[CM63]] : index
// CHECK-NEXT:   %[[X2:.*]] = arith.cmpi sge, %[[J]], %[[X1]] : index
// CHECK-NEXT:   %[[X3:.*]] = arith.andi %[[X0]], %[[X2]] : i1
// CHECK-NEXT:   attn.yield %[[X3]] : i1
func.func @window(%q: tensor<?x4x?x8xf32>, %n: index, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : index)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %c64 = arith.constant 64 : index
        %c0 = arith.constant 0 : index
        %d = arith.subi %i, %j : index
        %past = arith.cmpi sle, %c0, %d : index
        %near = arith.cmpi slt, %d, %c64 : index
        %p = arith.andi %near, %past : i1
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// -----

// A negative difference is a large one.

// CHECK-LABEL: func @unsigned_window(
// CHECK:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]]) {
// CHECK-NEXT:   %[[CM63:.*]] = arith.constant -63 : index
// CHECK-NEXT:   %[[X0:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-NEXT:   %[[X1:.*]] = arith.addi %[[I]], %[[CM63]] : index
// CHECK-NEXT:   %[[X2:.*]] = arith.cmpi sge, %[[J]], %[[X1]] : index
// CHECK-NEXT:   %[[X3:.*]] = arith.andi %[[X0]], %[[X2]] : i1
// CHECK-NEXT:   attn.yield %[[X3]] : i1
func.func @unsigned_window(%q: tensor<?x4x?x8xf32>, %n: index, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : index)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %c64 = arith.constant 64 : index
        %d = arith.subi %i, %j : index
        %p = arith.cmpi ult, %d, %c64 : index
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// -----

// i - w overflows where w is far from all positions, where any number that is as
// far decides the same.

// CHECK-LABEL: func @window_of_size(
// CHECK:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]], %[[W:.*]]) {
// CHECK-NEXT:   %[[C2147483648:.*]] = arith.constant 2147483648 : index
// CHECK-NEXT:   %[[CM2147483648:.*]] = arith.constant -2147483648 : index
// CHECK-NEXT:   %[[X0:.*]] = arith.maxsi %[[W]], %[[CM2147483648]] : index
// CHECK-NEXT:   %[[X1:.*]] = arith.minsi %[[X0]], %[[C2147483648]] : index
// CHECK-NEXT:   %[[X2:.*]] = arith.subi %[[I]], %[[X1]] : index
// CHECK-NEXT:   %[[X3:.*]] = arith.cmpi sgt, %[[J]], %[[X2]] : index
// CHECK-NEXT:   attn.yield %[[X3]] : i1
func.func @window_of_size(%q: tensor<?x4x?x8xf32>, %n: index, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : index)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %d = arith.subi %i, %j : index
        %p = arith.cmpi slt, %d, %w : index
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// -----

// What needs no arithmetic is compared as it is.

// CHECK-LABEL: func @plain_limit(
// CHECK:      mask(%{{.*}}, %{{.*}}, %{{.*}}, %[[J:.*]], %[[W:.*]]) {
// CHECK-NEXT:   %[[X0:.*]] = arith.cmpi slt, %[[J]], %[[W]] : index
// CHECK-NEXT:   attn.yield %[[X0]] : i1
func.func @plain_limit(%q: tensor<?x4x?x8xf32>, %n: index, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : index)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %n = arith.cmpi sle, %w, %j : index
        %t = arith.constant true
        %p = arith.xori %n, %t : i1
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// -----

// In bits that suffice, and an absolute value has two ends.

// CHECK-LABEL: func @both_sides(
// CHECK:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]], %[[W:.*]]) {
// CHECK-NEXT:   %[[X0:.*]] = arith.index_cast %[[W]] : i32 to index
// CHECK-NEXT:   %[[X1:.*]] = arith.addi %[[I]], %[[X0]] : index
// CHECK-NEXT:   %[[X2:.*]] = arith.cmpi slt, %[[J]], %[[X1]] : index
// CHECK-NEXT:   %[[X3:.*]] = arith.subi %[[I]], %[[X0]] : index
// CHECK-NEXT:   %[[X4:.*]] = arith.cmpi sgt, %[[J]], %[[X3]] : index
// CHECK-NEXT:   %[[X5:.*]] = arith.andi %[[X2]], %[[X4]] : i1
// CHECK-NEXT:   attn.yield %[[X5]] : i1
func.func @both_sides(%q: tensor<?x4x?x8xf32>, %n: i32, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : i32)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %i4 = arith.index_cast %i : index to i32
        %j4 = arith.index_cast %j : index to i32
        %d = arith.subi %i4, %j4 : i32
        %a = math.absi %d : i32
        %p = arith.cmpi sgt, %w, %a : i32
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// -----

// A sum that may wrap is a term of its own, in its own bits.

// CHECK-LABEL: func @wraps(
// CHECK:      mask(%{{.*}}, %{{.*}}, %{{.*}}, %[[J:.*]], %[[W:.*]]) {
// CHECK-NEXT:   %[[C1_I32:.*]] = arith.constant 1 : i32
// CHECK-NEXT:   %[[X0:.*]] = arith.index_cast %[[J]] : index to i32
// CHECK-NEXT:   %[[X1:.*]] = arith.addi %[[W]], %[[X0]] : i32
// CHECK-NEXT:   %[[X2:.*]] = arith.cmpi sge, %[[X1]], %[[C1_I32]] : i32
// CHECK-NEXT:   attn.yield %[[X2]] : i1
func.func @wraps(%q: tensor<?x4x?x8xf32>, %n: i32, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : i32)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %j4 = arith.index_cast %j : index to i32
        %d = arith.addi %w, %j4 : i32
        %c0 = arith.constant 0 : i32
        %p = arith.cmpi sgt, %d, %c0 : i32
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// -----

// 2 j < 2 i + 1 where j <= i; 3 j >= i where j >= ceil(i / 3).

// CHECK-LABEL: func @multiples(
// CHECK:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]]) {
// CHECK-NEXT:   %[[C3:.*]] = arith.constant 3 : index
// CHECK-NEXT:   %[[C2:.*]] = arith.constant 2 : index
// CHECK-NEXT:   %[[X0:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-NEXT:   %[[X1:.*]] = arith.addi %[[I]], %[[C2]] : index
// CHECK-NEXT:   %[[X2:.*]] = arith.divui %[[X1]], %[[C3]] : index
// CHECK-NEXT:   %[[X3:.*]] = arith.cmpi sge, %[[J]], %[[X2]] : index
// CHECK-NEXT:   %[[X4:.*]] = arith.andi %[[X0]], %[[X3]] : i1
// CHECK-NEXT:   attn.yield %[[X4]] : i1
func.func @multiples(%q: tensor<?x4x?x8xf32>, %n: index, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : index)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %c3 = arith.constant 3 : index
        %a = arith.muli %j, %c2 : index
        %e = arith.muli %i, %c2 : index
        %f = arith.addi %e, %c1 : index
        %x = arith.cmpi slt, %a, %f : index
        %g = arith.muli %j, %c3 : index
        %y = arith.cmpi sge, %g, %i : index
        %p = arith.andi %x, %y : i1
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// -----

// A minimum and a choice that is one are two bounds, a maximum is either.

// CHECK-LABEL: func @extremes(
// CHECK:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]], %[[W:.*]]) {
// CHECK-NEXT:   %[[C10:.*]] = arith.constant 10 : index
// CHECK-NEXT:   %[[X0:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-NEXT:   %[[X1:.*]] = arith.cmpi slt, %[[J]], %[[W]] : index
// CHECK-NEXT:   %[[X2:.*]] = arith.andi %[[X0]], %[[X1]] : i1
// CHECK-NEXT:   %[[X3:.*]] = arith.cmpi slt, %[[J]], %[[C10]] : index
// CHECK-NEXT:   %[[X4:.*]] = arith.ori %[[X3]], %[[X0]] : i1
// CHECK-NEXT:   %[[X5:.*]] = arith.andi %[[X2]], %[[X4]] : i1
// CHECK-NEXT:   attn.yield %[[X5]] : i1
func.func @extremes(%q: tensor<?x4x?x8xf32>, %n: index, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : index)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %c9 = arith.constant 9 : index
        %c1 = arith.constant 1 : index
        %e = arith.addi %i, %c1 : index
        %g = arith.cmpi slt, %e, %w : index
        %m = arith.select %g, %e, %w : index
        %x = arith.cmpi slt, %j, %m : index
        %l = arith.maxsi %c9, %i : index
        %y = arith.cmpi sle, %j, %l : index
        %p = arith.andi %x, %y : i1
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// -----

// Bounds of both sides are one equality, or what leaves one number out.

// CHECK-LABEL: func @equalities(
// CHECK:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]], %[[W:.*]]) {
// CHECK-NEXT:   %[[X0:.*]] = arith.cmpi ne, %[[I]], %[[W]] : index
// CHECK-NEXT:   %[[X1:.*]] = arith.cmpi eq, %[[J]], %[[W]] : index
// CHECK-NEXT:   %[[X2:.*]] = arith.ori %[[X0]], %[[X1]] : i1
// CHECK-NEXT:   attn.yield %[[X2]] : i1
func.func @equalities(%q: tensor<?x4x?x8xf32>, %n: index, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : index)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %x = arith.cmpi sle, %j, %w : index
        %y = arith.cmpi sle, %w, %j : index
        %z = arith.andi %x, %y : i1
        %u = arith.cmpi slt, %i, %w : index
        %v = arith.cmpi slt, %w, %i : index
        %t = arith.ori %u, %v : i1
        %p = arith.ori %t, %z : i1
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// -----

// What cannot be is false.

// CHECK-LABEL: func @contradiction(
// CHECK:      mask(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK-NEXT:   %[[FALSE:.*]] = arith.constant false
// CHECK-NEXT:   attn.yield %[[FALSE]] : i1
func.func @contradiction(%q: tensor<?x4x?x8xf32>, %n: index, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : index)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %x = arith.cmpi slt, %j, %i : index
        %y = arith.cmpi slt, %i, %j : index
        %p = arith.andi %x, %y : i1
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// -----

// Conditions occur once, the tighter one of two.

// CHECK-LABEL: func @twice(
// CHECK:      mask(%{{.*}}, %{{.*}}, %{{.*}}, %[[J:.*]]) {
// CHECK-NEXT:   %[[C4:.*]] = arith.constant 4 : index
// CHECK-NEXT:   %[[X0:.*]] = arith.cmpi slt, %[[J]], %[[C4]] : index
// CHECK-NEXT:   attn.yield %[[X0]] : i1
func.func @twice(%q: tensor<?x4x?x8xf32>, %n: index, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : index)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %c3 = arith.constant 3 : index
        %c4 = arith.constant 4 : index
        %x = arith.cmpi slt, %j, %c4 : index
        %y = arith.cmpi sle, %j, %c4 : index
        %z = arith.cmpi sge, %c3, %j : index
        %a = arith.andi %y, %x : i1
        %p = arith.andi %a, %z : i1
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// -----

// A block is an interval of keys.

// CHECK-LABEL: func @blocks(
// CHECK:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]]) {
// CHECK-NEXT:   %[[C63:.*]] = arith.constant 63 : index
// CHECK-NEXT:   %[[C64:.*]] = arith.constant 64 : index
// CHECK-NEXT:   %[[X0:.*]] = arith.divui %[[I]], %[[C64]] : index
// CHECK-NEXT:   %[[X1:.*]] = arith.muli %[[X0]], %[[C64]] : index
// CHECK-NEXT:   %[[X2:.*]] = arith.addi %[[X1]], %[[C63]] : index
// CHECK-NEXT:   %[[X3:.*]] = arith.cmpi sle, %[[J]], %[[X2]] : index
// CHECK-NEXT:   %[[X4:.*]] = arith.cmpi sge, %[[J]], %[[X1]] : index
// CHECK-NEXT:   %[[X5:.*]] = arith.andi %[[X3]], %[[X4]] : i1
// CHECK-NEXT:   attn.yield %[[X5]] : i1
func.func @blocks(%q: tensor<?x4x?x8xf32>, %n: index, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : index)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %c6 = arith.constant 6 : index
        %c64 = arith.constant 64 : index
        %x = arith.shrui %j, %c6 : index
        %y = arith.divsi %i, %c64 : index
        %p = arith.cmpi eq, %x, %y : index
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// -----

// A remainder of the key is that of the query, whichever way the difference is
// taken.

// CHECK-LABEL: func @dilated(
// CHECK:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]]) {
// CHECK-NEXT:   %[[C3:.*]] = arith.constant 3 : index
// CHECK-NEXT:   %[[X0:.*]] = arith.remui %[[J]], %[[C3]] : index
// CHECK-NEXT:   %[[X1:.*]] = arith.remui %[[I]], %[[C3]] : index
// CHECK-NEXT:   %[[X2:.*]] = arith.cmpi eq, %[[X0]], %[[X1]] : index
// CHECK-NEXT:   attn.yield %[[X2]] : i1
func.func @dilated(%q: tensor<?x4x?x8xf32>, %n: index, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : index)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %c0 = arith.constant 0 : index
        %c3 = arith.constant 3 : index
        %d = arith.subi %i, %j : index
        %x = arith.remsi %d, %c3 : index
        %p = arith.cmpi eq, %x, %c0 : index
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// -----

// Of what may be negative, the remainder from 0 on.

// CHECK-LABEL: func @from_capture(
// CHECK:      mask(%{{.*}}, %{{.*}}, %{{.*}}, %[[J:.*]], %[[W:.*]]) {
// CHECK-NEXT:   %[[C2:.*]] = arith.constant 2 : index
// CHECK-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[C3:.*]] = arith.constant 3 : index
// CHECK-NEXT:   %[[X0:.*]] = arith.remsi %[[W]], %[[C3]] : index
// CHECK-NEXT:   %[[X1:.*]] = arith.cmpi slt, %[[X0]], %[[C0]] : index
// CHECK-NEXT:   %[[X2:.*]] = arith.addi %[[X0]], %[[C3]] : index
// CHECK-NEXT:   %[[X3:.*]] = arith.select %[[X1]], %[[X2]], %[[X0]] : index
// CHECK-NEXT:   %[[X4:.*]] = arith.muli %[[X3]], %[[C2]] : index
// CHECK-NEXT:   %[[X5:.*]] = arith.remui %[[X4]], %[[C3]] : index
// CHECK-NEXT:   %[[X6:.*]] = arith.remui %[[J]], %[[C3]] : index
// CHECK-NEXT:   %[[X7:.*]] = arith.cmpi ne, %[[X6]], %[[X5]] : index
// CHECK-NEXT:   attn.yield %[[X7]] : i1
func.func @from_capture(%q: tensor<?x4x?x8xf32>, %n: index, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : index)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %c0 = arith.constant 0 : index
        %c3 = arith.constant 3 : index
        %d = arith.addi %j, %w : index
        %x = arith.remsi %d, %c3 : index
        %p = arith.cmpi ne, %x, %c0 : index
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// -----

// What is read is compared in its own type, the key first.

// CHECK-LABEL: func @documents(
// CHECK:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]], %[[W:.*]]) {
// CHECK-NEXT:   %[[X0:.*]] = tensor.extract %[[W]][%[[I]]] : tensor<?xi32>
// CHECK-NEXT:   %[[X1:.*]] = tensor.extract %[[W]][%[[J]]] : tensor<?xi32>
// CHECK-NEXT:   %[[X2:.*]] = arith.cmpi eq, %[[X1]], %[[X0]] : i32
// CHECK-NEXT:   attn.yield %[[X2]] : i1
func.func @documents(%q: tensor<?x4x?x8xf32>, %n: tensor<?xi32>, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : tensor<?xi32>)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %mine = tensor.extract %w[%i] : tensor<?xi32>
        %other = tensor.extract %w[%j] : tensor<?xi32>
        %d = arith.subi %mine, %other : i32
        %c0 = arith.constant 0 : i32
        %p = arith.cmpi eq, %d, %c0 : i32
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// -----

// A bit is not 0 where it is at least 1.

// CHECK-LABEL: func @bit(
// CHECK:      mask(%{{.*}}, %{{.*}}, %{{.*}}, %[[J:.*]], %[[W:.*]]) {
// CHECK-NEXT:   %[[C0_I32:.*]] = arith.constant 0 : i32
// CHECK-NEXT:   %[[C1_I32:.*]] = arith.constant 1 : i32
// CHECK-NEXT:   %[[X0:.*]] = tensor.extract %[[W]][%[[J]]] : tensor<?xi32>
// CHECK-NEXT:   %[[X1:.*]] = arith.andi %[[X0]], %[[C1_I32]] : i32
// CHECK-NEXT:   %[[X2:.*]] = arith.cmpi ne, %[[X1]], %[[C0_I32]] : i32
// CHECK-NEXT:   attn.yield %[[X2]] : i1
func.func @bit(%q: tensor<?x4x?x8xf32>, %n: tensor<?xi32>, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : tensor<?xi32>)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %c1 = arith.constant 1 : i32
        %word = tensor.extract %w[%j] : tensor<?xi32>
        %x = arith.andi %word, %c1 : i32
        %p = arith.cmpi uge, %x, %c1 : i32
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// -----

// Of a choice, the condition comes as it does elsewhere, here negated.

// CHECK-LABEL: func @choice(
// CHECK:      mask(%{{.*}}, %[[H:.*]], %{{.*}}, %[[J:.*]], %[[W:.*]]) {
// CHECK-NEXT:   %[[C8:.*]] = arith.constant 8 : index
// CHECK-NEXT:   %[[C2:.*]] = arith.constant 2 : index
// CHECK-NEXT:   %[[X0:.*]] = arith.cmpi slt, %[[H]], %[[C2]] : index
// CHECK-NEXT:   %[[X1:.*]] = arith.select %[[X0]], %[[W]], %[[C8]] : index
// CHECK-NEXT:   %[[X2:.*]] = arith.cmpi slt, %[[J]], %[[X1]] : index
// CHECK-NEXT:   attn.yield %[[X2]] : i1
func.func @choice(%q: tensor<?x4x?x8xf32>, %n: index, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : index)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %c2 = arith.constant 2 : index
        %c8 = arith.constant 8 : index
        %g = arith.cmpi sge, %h, %c2 : index
        %s = arith.select %g, %c8, %w : index
        %p = arith.cmpi slt, %j, %s : index
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// -----

// Neither operand comes first as it is written.

// CHECK-LABEL: func @exclusive(
// CHECK:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]], %[[W:.*]]) {
// CHECK-NEXT:   %[[X0:.*]] = arith.cmpi sge, %[[I]], %[[W]] : index
// CHECK-NEXT:   %[[X1:.*]] = arith.cmpi sge, %[[J]], %[[W]] : index
// CHECK-NEXT:   %[[X2:.*]] = arith.xori %[[X0]], %[[X1]] : i1
// CHECK-NEXT:   attn.yield %[[X2]] : i1
func.func @exclusive(%q: tensor<?x4x?x8xf32>, %n: index, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : index)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %x = arith.cmpi sle, %w, %j : index
        %y = arith.cmpi sge, %i, %w : index
        %p = arith.xori %x, %y : i1
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// -----

// What rounds a remainder down does not change whether it is 0. By another number it does.

// CHECK-LABEL: func @remainder(
// CHECK:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]], %[[W:.*]]) {
// CHECK:        %[[D:.*]] = arith.subi %[[I]], %[[J]] : index
// CHECK-NEXT:   %[[R:.*]] = arith.remsi %[[D]], %[[W]] : index
// CHECK-NEXT:   %[[X:.*]] = arith.cmpi eq, %[[R]], %{{.*}} : index
// CHECK-NEXT:   attn.yield %[[X]] : i1
// CHECK:      mask(
// CHECK:        %[[R:.*]] = arith.remsi
// CHECK-NEXT:   arith.cmpi slt, %[[R]], %c-2 : index
func.func @remainder(%q: tensor<?x4x?x8xf32>, %n: index, %o: tensor<?x4x?x8xf32>) -> (tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>) {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : index)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %c0 = arith.constant 0 : index
        %d = arith.subi %i, %j : index
        %m = arith.remsi %d, %w : index
        %below = arith.cmpi slt, %m, %c0 : index
        %sum = arith.addi %m, %w : index
        %s = arith.select %below, %sum, %m : index
        %p = arith.cmpi eq, %s, %c0 : index
        attn.yield %p : i1
      }
  %t = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%n : index)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %w) {
        %c0 = arith.constant 0 : index
        %c3 = arith.constant 3 : index
        %d = arith.subi %i, %j : index
        %m = arith.remsi %d, %w : index
        %below = arith.cmpi slt, %m, %c0 : index
        %sum = arith.addi %m, %c3 : index
        %s = arith.select %below, %sum, %m : index
        %p = arith.cmpi eq, %s, %c0 : index
        attn.yield %p : i1
      }
  return %r, %t : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>
}

// -----

// A key is compared with an integer of any size that depends on it, not with
// their difference, which may overflow.

// CHECK-LABEL: func @wide(
// CHECK:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]]) {
// CHECK-NEXT:   %[[X:.*]] = arith.muli %[[I]], %[[J]] : index
// CHECK-NEXT:   %[[Y:.*]] = arith.muli %[[X]], %[[X]] : index
// CHECK-NEXT:   %[[P:.*]] = arith.cmpi sle, %[[J]], %[[Y]] : index
// CHECK-NEXT:   attn.yield %[[P]] : i1
func.func @wide(%q: tensor<2x4x?x8xf32>) -> tensor<2x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      outs(%q : tensor<2x4x?x8xf32>)
      mask(%b, %h, %i, %j) {
        %x = arith.muli %i, %j : index
        %y = arith.muli %x, %x : index
        %p = arith.cmpi sge, %y, %j : index
        attn.yield %p : i1
      }
  return %r : tensor<2x4x?x8xf32>
}

// -----

// Where a term of the key must be that of the query, other conditions read that
// of the query: the offset of the document is the same on both sides.

// CHECK-LABEL: func @positions_in_documents(
// CHECK:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]], %[[DOCUMENT:.*]]) {
// CHECK-NEXT:   %[[X0:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-NEXT:   %[[X1:.*]] = tensor.extract %[[DOCUMENT]][%[[I]]]
// CHECK-NEXT:   %[[X2:.*]] = tensor.extract %[[DOCUMENT]][%[[J]]]
// CHECK-NEXT:   %[[X3:.*]] = arith.cmpi eq, %[[X2]], %[[X1]] : i32
// CHECK-NEXT:   %[[X4:.*]] = arith.andi %[[X0]], %[[X3]] : i1
// CHECK-NEXT:   attn.yield %[[X4]] : i1
func.func @positions_in_documents(%q: tensor<?x4x?x8xf32>, %document: tensor<?xi32>, %begin: tensor<?xi32>, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%document, %begin : tensor<?xi32>, tensor<?xi32>)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %t, %u) {
        %dj = tensor.extract %t[%j] : tensor<?xi32>
        %nj = arith.index_cast %dj : i32 to index
        %bj = tensor.extract %u[%nj] : tensor<?xi32>
        %oj = arith.index_cast %bj : i32 to index
        %pj = arith.subi %j, %oj : index
        %di = tensor.extract %t[%i] : tensor<?xi32>
        %ni = arith.index_cast %di : i32 to index
        %bi = tensor.extract %u[%ni] : tensor<?xi32>
        %oi = arith.index_cast %bi : i32 to index
        %pi = arith.subi %i, %oi : index
        %same = arith.cmpi eq, %di, %dj : i32
        %before = arith.cmpi sle, %pj, %pi : index
        %p = arith.andi %same, %before : i1
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// -----

// Not where that would be another read, whose index may be out of bounds, nor
// where the term of the key need not be that of the query.

// CHECK-LABEL: func @another_read(
// CHECK:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]], %[[DOCUMENT:.*]], %[[FLAG:.*]]) {
// CHECK:        %[[X0:.*]] = tensor.extract %[[DOCUMENT]][%[[J]]]
// CHECK:        %[[X1:.*]] = arith.index_cast %[[X0]]
// CHECK:        tensor.extract %[[FLAG]][%[[X1]]]
func.func @another_read(%q: tensor<?x4x?x8xf32>, %document: tensor<?xi32>, %flag: tensor<?xi1>, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%document, %flag : tensor<?xi32>, tensor<?xi1>)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %t, %u) {
        %dj = tensor.extract %t[%j] : tensor<?xi32>
        %nj = arith.index_cast %dj : i32 to index
        %di = tensor.extract %t[%i] : tensor<?xi32>
        %same = arith.cmpi eq, %di, %dj : i32
        %seen = tensor.extract %u[%nj] : tensor<?xi1>
        %p = arith.andi %same, %seen : i1
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// CHECK-LABEL: func @either(
// CHECK:      mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]], %[[DOCUMENT:.*]]) {
// CHECK:        %[[X0:.*]] = tensor.extract %[[DOCUMENT]][%[[J]]]
// CHECK:        arith.cmpi {{.*}}%[[X0]], %c3
// CHECK:        arith.ori
func.func @either(%q: tensor<?x4x?x8xf32>, %document: tensor<?xi32>, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%document : tensor<?xi32>)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %t) {
        %c3 = arith.constant 3 : i32
        %dj = tensor.extract %t[%j] : tensor<?xi32>
        %di = tensor.extract %t[%i] : tensor<?xi32>
        %same = arith.cmpi eq, %di, %dj : i32
        %few = arith.cmpi slt, %dj, %c3 : i32
        %p = arith.ori %same, %few : i1
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

// A number of the key that is made of conditions is told apart by these where
// they bound the key; otherwise its one comparison is the shortest way to say it.

// CHECK-LABEL: func @number_of_bounds(
// CHECK:      mask(%{{.*}}, %{{.*}}, %{{.*}}, %[[J:.*]]) {
// CHECK:        arith.cmpi sge, %[[J]], %c64
// CHECK:        arith.cmpi slt, %[[J]], %c64
// CHECK-LABEL: func @number_of_key(
// CHECK:      mask(
// CHECK:        %[[A:.*]] = arith.index_castui %{{.*}} : i1 to index
// CHECK:        %[[B:.*]] = arith.index_castui %{{.*}} : i1 to index
// CHECK:        arith.cmpi eq, %{{.*}}, %{{.*}} : index
// CHECK-NOT:    arith.ori
// CHECK:        attn.yield
func.func @number_of_bounds(%q: tensor<?x4x?x8xf32>, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j) {
        %c64 = arith.constant 64 : index
        %x = arith.cmpi sge, %i, %c64 : index
        %y = arith.cmpi sge, %j, %c64 : index
        %m = arith.index_castui %x : i1 to index
        %n = arith.index_castui %y : i1 to index
        %p = arith.cmpi eq, %m, %n : index
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}

func.func @number_of_key(%q: tensor<?x4x?x8xf32>, %w: index, %o: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>)
      captures(%w : index)
      outs(%o : tensor<?x4x?x8xf32>)
      mask(%b, %h, %i, %j, %t) {
        %c64 = arith.constant 64 : index
        %u = arith.remui %i, %t : index
        %v = arith.remui %j, %t : index
        %x = arith.cmpi sge, %u, %c64 : index
        %y = arith.cmpi sge, %v, %c64 : index
        %m = arith.index_castui %x : i1 to index
        %n = arith.index_castui %y : i1 to index
        %p = arith.cmpi eq, %m, %n : index
        attn.yield %p : i1
      }
  return %r : tensor<?x4x?x8xf32>
}
