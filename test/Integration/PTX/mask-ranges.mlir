// Kernels in front find what tiles need: for each query of a tile the first key
// that its document sees, and for each pair whether their documents see each
// other. Powers of a position, each a chain of products and choices, are computed
// for each position once.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// RUN: %python -c "import numpy as n; n.save(r'%t.id.npy', n.repeat(n.arange(5), [128, 256, 1, 199, 56]).astype('i4')); n.save(r'%t.first.npy', n.array([0, 128, 100, 384, 0]).astype('i4')); n.save(r'%t.see.npy', n.eye(5, dtype=bool) | n.eye(5, k=-2, dtype=bool))"
// RUN: split-file %s %t
// RUN: %python %S/Inputs/run_kernel.py %t/chained.mlir --blocks 2 --arg=q=randn:1x2x640x64 --arg=id=%t.id.npy --arg=first=%t.first.npy
// RUN: %python %S/Inputs/run_kernel.py %t/chained.mlir --arg=q=randn:2x1x150x64 --arg=id="randint(0,5)" --arg=first="randint(0,150):5"
// RUN: %python %S/Inputs/run_kernel.py %t/pairs.mlir --blocks 2 --arg=q=randn:1x2x640x64 --arg=id=%t.id.npy --arg=see=%t.see.npy
// RUN: %python %S/Inputs/run_kernel.py %t/pairs.mlir --arg=q=randn:2x1x1x64 --arg=id="randint(0,5)" --arg=see=%t.see.npy
// RUN: %python %S/Inputs/run_kernel.py %t/powers.mlir --arg=q=randn:1x1x70x64

//--- chained.mlir
!t = tensor<?x?x?x64xbf16>

func.func @chained(%q: !t, %k: !t, %v: !t, %id: tensor<?xi32>, %first: tensor<?xi32>) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%id, %first : tensor<?xi32>, tensor<?xi32>) outs(%init : !t)
      mask(%b0, %h0, %i, %j, %w, %f) {
        %x = tensor.extract %w[%i] : tensor<?xi32>
        %d = arith.index_cast %x : i32 to index
        %y = tensor.extract %f[%d] : tensor<?xi32>
        %lo = arith.index_cast %y : i32 to index
        %behind = arith.cmpi sle, %j, %i : index
        %in = arith.cmpi sle, %lo, %j : index
        %p = arith.andi %behind, %in : i1
        attn.yield %p : i1
      }
  return %o : !t
}

//--- pairs.mlir
!t = tensor<?x?x?x64xbf16>

func.func @pairs(%q: !t, %k: !t, %v: !t, %id: tensor<?xi32>, %see: tensor<5x5xi1>) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%id, %see : tensor<?xi32>, tensor<5x5xi1>) outs(%init : !t)
      mask(%b0, %h0, %i, %j, %w, %m) {
        %x = tensor.extract %w[%i] : tensor<?xi32>
        %mine = arith.index_cast %x : i32 to index
        %y = tensor.extract %w[%j] : tensor<?xi32>
        %other = arith.index_cast %y : i32 to index
        %p = tensor.extract %m[%mine, %other] : tensor<5x5xi1>
        attn.yield %p : i1
      }
  return %o : !t
}

//--- powers.mlir
!t = tensor<?x?x?x64xbf16>

func.func @powers(%q: !t, %k: !t, %v: !t) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b0, %h0, %i, %j) {
        %x = math.ipowi %i, %i : index
        %y = math.ipowi %j, %j : index
        %c = arith.constant 48 : index
        %z = arith.shrsi %x, %c : index
        %p = arith.cmpi sle, %z, %y : index
        attn.yield %p : i1
      }
  return %o : !t
}
