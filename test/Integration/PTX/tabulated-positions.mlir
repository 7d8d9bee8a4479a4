// What takes long to compute of a query or a key alone is read of tables, which
// threads fill in front: quotients and remainders by a number of the head, of 32
// and 64 bits, conditions, and functions, with lengths that no warp covers whole.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// RUN: %python -c "import numpy as n; n.save(r'%t.sizes.npy', n.array([64, 100, 7]).astype('i8'))"
// RUN: split-file %s %t
// RUN: %python %S/Inputs/run_kernel.py %t/segments.mlir --arg=q=randn:1x3x330x64 --arg=sizes=%t.sizes.npy
// RUN: %python %S/Inputs/run_kernel.py %t/segments.mlir --arg=q=randn:2x1x70x64 --arg=k=randn:2x1x201x64 --arg=v=randn:2x1x201x64 --arg=sizes=%t.sizes.npy
// RUN: %python %S/Inputs/run_kernel.py %t/windows.mlir --arg=q=randn:1x1x320x64 --arg=columns=20 --arg=shift=3 --arg=size=5 --arg=edge=16
// RUN: %python %S/Inputs/run_kernel.py %t/windows.mlir --arg=q=randn:1x1x320x64 --arg=columns=20 --arg=shift=5000000000 --arg=size=5 --arg=edge=16
// RUN: %python %S/Inputs/run_kernel.py %t/functions.mlir --arg=q=randn:1x2x150x64
// RUN: %python %S/Inputs/run_kernel.py %t/segments.mlir --arg=q=randn:1x3x130x64 --arg=sizes=%t.sizes.npy --arg=k=randn:1x1x130x64 --arg=v=randn:1x1x130x64
// RUN: attn-run %t/segments.mlir --target=cpu --check --arg=q=randn:1x3x330x64 --arg=sizes=%t.sizes.npy | FileCheck %s
// RUN: attn-run %t/windows.mlir --target=cpu --check --arg=q=randn:1x1x320x64 --arg=columns=20 --arg=shift=3 --arg=size=5 --arg=edge=16 | FileCheck %s
// CHECK: PASS

//--- segments.mlir
!t = tensor<?x?x?x64xbf16>

// Every third key of a segment, and of what is behind them a few by parity.
func.func @segments(%q: !t, %k: !t, %v: !t, %sizes: tensor<?xi64>) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%sizes : tensor<?xi64>) outs(%init : !t)
      mask(%b0, %h0, %i, %j, %w) {
        %c2_0 = arith.constant 2 : index
        %c3 = arith.constant 3 : index
        %n = tensor.extract %w[%h0] : tensor<?xi64>
        %size = arith.index_cast %n : i64 to index
        %x = arith.floordivsi %i, %size : index
        %y = arith.floordivsi %j, %size : index
        %same = arith.cmpi eq, %x, %y : index
        %r = arith.remsi %j, %size : index
        %m = arith.remui %r, %c3 : index
        %zero = arith.constant 0 : index
        %third = arith.cmpi eq, %m, %zero : index
        %near = arith.andi %same, %third : i1
        %d = arith.subi %x, %y : index
        %far = arith.cmpi sge, %d, %c2_0 : index
        %p = arith.ori %near, %far : i1
        attn.yield %p : i1
      }
  return %o : !t
}

//--- windows.mlir
!t = tensor<?x?x?x64xbf16>

// Windows of a picture that is shifted in a circle, which the edge cuts.
func.func @windows(%q: !t, %k: !t, %v: !t, %columns: index, %shift: index, %size: index, %edge: index) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%columns, %shift, %size, %edge : index, index, index, index) outs(%init : !t)
      mask(%b0, %h0, %i, %j, %n, %by, %w, %e) {
        %qx = arith.remui %i, %n : index
        %qs = arith.addi %qx, %by : index
        %qc = arith.remsi %qs, %n : index
        %qw = arith.divui %qc, %w : index
        %kx = arith.remui %j, %n : index
        %ks = arith.addi %kx, %by : index
        %kc = arith.remsi %ks, %n : index
        %kw = arith.divui %kc, %w : index
        %same = arith.cmpi eq, %qw, %kw : index
        %qb = arith.cmpi sge, %qc, %e : index
        %qn = arith.index_castui %qb : i1 to index
        %kb = arith.cmpi sge, %kc, %e : index
        %kn = arith.index_castui %kb : i1 to index
        %side = arith.cmpi eq, %qn, %kn : index
        %p = arith.andi %same, %side : i1
        attn.yield %p : i1
      }
  return %o : !t
}

//--- functions.mlir
!t = tensor<?x?x?x64xbf16>

func.func @functions(%q: !t, %k: !t, %v: !t) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b0, %h0, %i, %j) {
        %six = arith.constant 6.0 : f32
        %ji = arith.index_cast %j : index to i32
        %jf = arith.sitofp %ji : i32 to f32
        %root = math.sqrt %jf : f32
        %key = arith.mulf %root, %six : f32
        %ii = arith.index_cast %i : index to i32
        %if = arith.sitofp %ii : i32 to f32
        %p = arith.cmpf oge, %if, %key : f32
        attn.yield %p : i1
      }
  return %o : !t
}
