// RUN: attn-opt %s --attn-shape-function --split-input-file --verify-diagnostics

func.func @data(%n: tensor<i64>, %x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-note @below {{depends on this}}
  %v = tensor.extract %n[] : tensor<i64>
  %size = arith.index_cast %v : i64 to index
  %r = tensor.empty(%size) : tensor<?xf32>
  // expected-error @below {{expects extent 0 of result 0 to follow from the extents of arguments}}
  return %r : tensor<?xf32>
}

// -----

// expected-note @below {{depends on this}}
func.func @scalar(%size: index) -> tensor<3x?xf32> {
  %r = tensor.empty(%size) : tensor<3x?xf32>
  // expected-error @below {{expects extent 1 of result 0 to follow from the extents of arguments}}
  return %r : tensor<3x?xf32>
}

// -----

func.func @choice(%n: index, %x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  // expected-note @below {{depends on this}}
  %r = scf.index_switch %n -> tensor<?xf32>
  case 0 {
    scf.yield %x : tensor<?xf32>
  }
  default {
    scf.yield %y : tensor<?xf32>
  }
  // expected-error @below {{expects extent 0 of result 0 to follow from the extents of arguments}}
  return %r : tensor<?xf32>
}

// -----

func.func @growing(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @below {{depends on this}}
  %r = scf.for %i = %c0 to %c1 step %c1 iter_args(%a = %x) -> tensor<?xf32> {
    %y = tensor.empty(%i) : tensor<?xf32>
    scf.yield %y : tensor<?xf32>
  }
  // expected-error @below {{expects extent 0 of result 0 to follow from the extents of arguments}}
  return %r : tensor<?xf32>
}

// -----

// Also where the body asks for the extents of what is carried before that.

func.func @growing_beside(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @below {{depends on this}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<?xf32> {
    %sum = linalg.add ins(%a, %x : tensor<?xf32>, tensor<?xf32>) outs(%a : tensor<?xf32>) -> tensor<?xf32>
    %y = tensor.empty(%i) : tensor<?xf32>
    scf.yield %y : tensor<?xf32>
  }
  // expected-error @below {{expects extent 0 of result 0 to follow from the extents of arguments}}
  return %r : tensor<?xf32>
}

// -----

func.func @attention(%n: index, %q: tensor<1x1x?x8xf32>) -> tensor<1x1x4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = tensor.empty() : tensor<1x1x4x8xf32>
  // expected-note @below {{depends on this}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init) -> tensor<1x1x4x8xf32> {
    %k = tensor.extract_slice %q[0, 0, 0, 0] [1, 1, %i, 8] [1, 1, 1, 1] : tensor<1x1x?x8xf32> to tensor<1x1x?x8xf32>
    // expected-error @below {{'attn.attention' op expects extents of operands to follow from the extents of arguments}}
    %o = attn.attention ins(%a, %k, %k : tensor<1x1x4x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>)
        outs(%a : tensor<1x1x4x8xf32>)
    scf.yield %o : tensor<1x1x4x8xf32>
  }
  return %r : tensor<1x1x4x8xf32>
}

// -----

func.func @taken() {
  return
}
// expected-error @below {{expects no symbol of the name taken.shapes, which is for the shape function of a function}}
func.func private @taken.shapes()
