// How extents of results come from those of inputs, as a package keeps it.

// RUN: attn-run %s --emit=shape-function --entry=arithmetic --target=cpu | FileCheck %s
// RUN: attn-run %s --emit=shape-function --entry=dialects --target=cpu | FileCheck %s --check-prefix=DIALECTS
// RUN: attn-run %s --emit=shape-function --entry=nothing --target=cpu | count 0
// RUN: not attn-run %s --emit=shape-function --entry=unknown --target=cpu 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// Operations on narrow integers are on 64 bits, from which those go that they
// do not have. Booleans are 0 and 1. Nothing is left that is not needed.

// CHECK:      %[[C3:[0-9]+]] = constant 3
// CHECK-NEXT: %[[C7:[0-9]+]] = constant 7
// CHECK-NEXT: %[[C0:[0-9]+]] = constant 0
// CHECK-NEXT: %[[N:[0-9]+]] = extent 0 of x
// CHECK-NEXT: %[[NARROW:[0-9]+]] = sign_extend %[[N]], 32
// CHECK-NEXT: %[[PRODUCT:[0-9]+]] = mul %[[NARROW]], %[[C7]]
// CHECK-NEXT: %[[WRAPPED:[0-9]+]] = sign_extend %[[PRODUCT]], 32
// CHECK-NEXT: %[[UNSIGNED:[0-9]+]] = zero_extend %[[WRAPPED]], 32
// CHECK-NEXT: %[[DIVISOR:[0-9]+]] = zero_extend %[[C3]], 32
// CHECK-NEXT: %[[QUOTIENT:[0-9]+]] = divu %[[UNSIGNED]], %[[DIVISOR]]
// CHECK-NEXT: %[[SIZE:[0-9]+]] = sign_extend %[[QUOTIENT]], 32
// CHECK-NEXT: %[[NATURAL:[0-9]+]] = les %[[C0]], %[[SIZE]]
// CHECK-NEXT: %[[M:[0-9]+]] = extent 0 of y
// CHECK-NEXT: %[[LESS:[0-9]+]] = ltu %[[M]], %[[N]]
// CHECK-NEXT: %[[OTHER:[0-9]+]] = select %[[LESS]], %[[M]], %[[SIZE]]
// CHECK-NEXT: les %[[C0]], %[[OTHER]]
// CHECK-NEXT: require %[[NATURAL]] else "{{.*}}emit-shape-function.mlir:[[#@LINE+17]]:8: error: 'tensor.empty' op expects no negative extent, but got %0" (%[[SIZE]], %[[SIZE]])
// CHECK-NEXT: require
// CHECK-NEXT: result out0: %[[SIZE]]
// CHECK-NEXT: result out1: %[[OTHER]]
// CHECK-NOT:  {{.}}
func.func @arithmetic(%x: tensor<?xf32>, %y: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %m = tensor.dim %y, %c0 : tensor<?xf32>
  %c7 = arith.constant 7 : i32
  %c3 = arith.constant 3 : i32
  %narrow = arith.index_cast %n : index to i32
  %product = arith.muli %narrow, %c7 : i32
  %quotient = arith.divui %product, %c3 : i32
  %size = arith.index_cast %quotient : i32 to index
  %less = arith.cmpi ugt, %n, %m : index
  %other = arith.select %less, %m, %size : index
  %r = tensor.empty(%size) : tensor<?xf32>
  %s = tensor.empty(%other) : tensor<?xf32>
  %f = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%f : f32) outs(%r : tensor<?xf32>) -> tensor<?xf32>
  %1 = linalg.fill ins(%f : f32) outs(%s : tensor<?xf32>) -> tensor<?xf32>
  return %0, %1 : tensor<?xf32>, tensor<?xf32>
}

// Maps become arithmetic.

// DIALECTS: floordivs
// DIALECTS: ceildivs
// DIALECTS: result out0: %
func.func @dialects(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c5 = index.constant 5
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %a = index.floordivs %n, %c5
  %b = index.ceildivs %n, %c5
  %less = index.cmp ult(%a, %b)
  %c = arith.select %less, %b, %a : index
  %d = affine.min affine_map<(d0) -> (d0 mod 3 + 1, 8)>(%c)
  %r = tensor.empty(%d) : tensor<?xf32>
  %f = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%f : f32) outs(%r : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

func.func @nothing(%x: f32) {
  return
}

// UNKNOWN: emit-shape-function.mlir:[[#@LINE+4]]:8: error: 'math.ctlz' op expects to decide no extent, for which there are operations of arith and index on up to 64 bits
func.func @unknown(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %m = math.ctlz %n : index
  %r = tensor.empty(%m) : tensor<?xf32>
  %f = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%f : f32) outs(%r : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
