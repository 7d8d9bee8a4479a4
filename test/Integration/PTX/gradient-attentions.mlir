// Gradients without tiles, of f32 or of a head dimension above 256, are
// attentions and sums over pairs: all launches, in the interpreter.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer

// DEFINE: %{run} = %python %S/Inputs/run_kernel.py %s --grad
// RUN: %{run} --entry=plain --tolerance=1e-4 --arg=q=randn:1x2x37x20 --arg=k=randn:1x2x41x20 --arg=v=randn:1x2x41x20 | FileCheck %s
// RUN: %{run} --entry=plain --tolerance=1e-4 --arg=q=randn:1x2x0x20 --arg=k=randn:1x2x5x20 --arg=v=randn:1x2x5x20 | FileCheck %s

// CHECK: #attn.row_schedule<
// CHECK: elements
// CHECK: dq: max error
// CHECK-NEXT: dk: max error
// CHECK-NEXT: dv: max error
!t = tensor<1x2x?x20xf32>
func.func @plain(%q: !t, %k: !t, %v: !t) -> !t {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%n) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
  return %o : !t
}

// Wide heads that share keys, in another order of dimensions, with other values:
// a soft-cap, whose weights depend on the score, and rows without a key.
// RUN: %{run} --entry=wide --arg=q=randn:2x5x4x264 --arg=k=randn:1x7x2x264 --arg=v=randn:1x7x2x40 | FileCheck %s
!wq = tensor<?x?x4x264xbf16>
!wk = tensor<?x?x2x264xbf16>
!wv = tensor<?x?x2x40xbf16>
!wo = tensor<?x?x4x40xbf16>
func.func @wide(%q: !wq, %k: !wk, %v: !wv) -> !wo {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %nb = tensor.dim %q, %c0 : !wq
  %n = tensor.dim %q, %c1 : !wq
  %init = tensor.empty(%nb, %n) : !wo
  %o = attn.attention layout(bshd) ins(%q, %k, %v : !wq, !wk, !wv) outs(%init : !wo)
      score(%s, %b, %h, %i, %j) {
        %cap = arith.constant 2.0 : f32
        %x = arith.divf %s, %cap : f32
        %t = math.tanh %x : f32
        %y = arith.mulf %t, %cap : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j) {
        %c3 = arith.constant 3 : index
        %end = arith.subi %i, %c3 : index
        %m = arith.cmpi sle, %j, %end : index
        attn.yield %m : i1
      }
  return %o : !wo
}

// Dropout, and captures at positions, at a distance, at the element of another
// one, and twice. The loss depends on the log-sum-exp, too.
// RUN: %{run}=k,v,heads,pairs,near --entry=captures --tolerance=1e-3 --arg=q=randn:2x2x9x8 --arg=k=randn:2x2x11x8 --arg=v=randn:2x2x11x8 --arg=heads=randn:2 --arg=rows=randn:2x12 --arg=pairs=randn:9x11 --arg=near=randn:8 --arg=by=randint(0,4):11 --arg=t=1.5 --arg=seed=3 | FileCheck %s --check-prefix=CAPTURES
// CAPTURES: dk: max error
// CAPTURES-NEXT: dv: max error
// CAPTURES-NEXT: dheads: max error
// CAPTURES-NEXT: dpairs: max error
// CAPTURES-NEXT: dnear: max error
!c = tensor<2x2x?x8xf32>
func.func @captures(%q: !c, %k: !c, %v: !c, %heads: tensor<2xf32>, %rows: tensor<2x?xf32>, %pairs: tensor<?x?xbf16>, %near: tensor<8xf32>, %by: tensor<?xi32>, %t: f32, %seed: i64) -> (!c, tensor<2x2x?xf32>) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !c
  %init = tensor.empty(%n) : !c
  %initLse = tensor.empty(%n) : tensor<2x2x?xf32>
  %o, %lse = attn.attention ins(%q, %k, %v : !c, !c, !c)
      captures(%heads, %rows, %pairs, %near, %by, %t, %seed : tensor<2xf32>, tensor<2x?xf32>, tensor<?x?xbf16>, tensor<8xf32>, tensor<?xi32>, f32, i64)
      outs(%init, %initLse : !c, tensor<2x2x?xf32>)
      score(%s, %b, %h, %i, %j, %ofHead, %ofRow, %ofPair, %ofNear, %table, %scale, %key) {
        %a = tensor.extract %ofHead[%h] : tensor<2xf32>
        %c = tensor.extract %ofRow[%b, %i] : tensor<2x?xf32>
        %d = tensor.extract %ofPair[%i, %j] : tensor<?x?xbf16>
        %e = arith.extf %d : bf16 to f32
        %which = tensor.extract %table[%j] : tensor<?xi32>
        %at = arith.index_cast %which : i32 to index
        %f = tensor.extract %ofNear[%at] : tensor<8xf32>
        %seven = arith.constant 7 : index
        %sum = arith.addi %i, %j : index
        %place = arith.minsi %sum, %seven : index
        %g = tensor.extract %ofNear[%place] : tensor<8xf32>
        %m0 = arith.mulf %s, %a : f32
        %m1 = arith.mulf %f, %g : f32
        %m2 = arith.mulf %m1, %scale : f32
        %m3 = arith.addf %m0, %c : f32
        %m4 = arith.addf %m3, %e : f32
        %y = arith.addf %m4, %m2 : f32
        %zero = arith.constant 0 : i64
        %w = attn.dropout 0.25 seed %key offset %zero at %b, %h, %i, %j : f32
        attn.yield %y, %w : f32, f32
      }
  return %o, %lse : !c, tensor<2x2x?xf32>
}

// An adjoint adds to captures in a loop and in a branch.
// RUN: %{run}=q,w,t --entry=loops --tolerance=1e-3 --arg=q=randn:1x2x7x8 --arg=k=randn:1x2x9x8 --arg=v=randn:1x2x9x8 --arg=w=randn:3x2 --arg=t=randn:4 | FileCheck %s --check-prefix=LOOPS
// LOOPS: dq: max error
// LOOPS-NEXT: dw: max error
// LOOPS-NEXT: dt: max error
!r = tensor<1x2x?x8xf32>
func.func @loops(%q: !r, %k: !r, %v: !r, %w: tensor<3x2xf32>, %t: tensor<4xf32>) -> !r {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !r
  %init = tensor.empty(%n) : !r
  %o = attn.attention ins(%q, %k, %v : !r, !r, !r) captures(%w, %t : tensor<3x2xf32>, tensor<4xf32>) outs(%init : !r)
      score(%s, %b, %h, %i, %j, %ofLoop, %ofBranch) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c3 = arith.constant 3 : index
        %c4 = arith.constant 4 : index
        %x = scf.for %r = %c0 to %c3 step %c1 iter_args(%a = %s) -> f32 {
          %f = tensor.extract %ofLoop[%r, %h] : tensor<3x2xf32>
          %m = arith.mulf %a, %f : f32
          %u = math.tanh %m : f32
          %y = arith.addf %a, %u : f32
          scf.yield %y : f32
        }
        %isFirst = arith.cmpi ult, %j, %c4 : index
        %z = scf.if %isFirst -> f32 {
          %f = tensor.extract %ofBranch[%j] : tensor<4xf32>
          %m = arith.mulf %x, %f : f32
          scf.yield %m : f32
        } else {
          scf.yield %x : f32
        }
        attn.yield %z : f32
      }
  return %o : !r
}

// Lists of blocks, and of single keys, of which the queries of a key have none.
// RUN: %{run} --entry=blocks --tolerance=1e-4 --arg=q=randn:1x2x37x16 --arg=k=randn:1x2x41x16 --arg=v=randn:1x2x41x16 --arg=rows=arange:2x4 --arg=columns=randint(0,3):9 | FileCheck %s --check-prefix=LISTS
// RUN: %{run} --entry=keys --tolerance=1e-4 --arg=q=randn:1x2x9x16 --arg=k=randn:1x2x11x16 --arg=v=randn:1x2x11x16 --arg=rows=arange:2x10 --arg=columns=randint(0,11):20 | FileCheck %s --check-prefix=LISTS
// LISTS: dq: max error
// LISTS-NEXT: dk: max error
// LISTS-NEXT: dv: max error
!l = tensor<1x2x?x16xf32>
func.func @blocks(%q: !l, %k: !l, %v: !l, %rows: tensor<2x?xi32>, %columns: tensor<?xi32>) -> !l {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !l
  %init = tensor.empty(%n) : !l
  %o = attn.attention ins(%q, %k, %v : !l, !l, !l)
      sparsity(#attn.sparsity<lists, block = 16x16> %rows, %columns : tensor<2x?xi32>, tensor<?xi32>) outs(%init : !l)
  return %o : !l
}
func.func @keys(%q: !l, %k: !l, %v: !l, %rows: tensor<2x?xi32>, %columns: tensor<?xi32>) -> !l {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !l
  %init = tensor.empty(%n) : !l
  %o = attn.attention ins(%q, %k, %v : !l, !l, !l)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<2x?xi32>, tensor<?xi32>) outs(%init : !l)
  return %o : !l
}

// A value that a loop carries, of which every iteration needs what it was: adjoints
// compute it again, in loops that begin where the one around them stands, which
// scores have not.
// RUN: %{run}=q,k,v,w --entry=series --tolerance=1e-4 --arg=q=randn:1x2x5x8 --arg=k=randn:1x2x7x8 --arg=v=randn:1x2x7x8 --arg=w=randn:2 | FileCheck %s --check-prefix=SERIES
// SERIES: dq: max error
// SERIES-NEXT: dk: max error
// SERIES-NEXT: dv: max error
// SERIES-NEXT: dw: max error
!h = tensor<1x2x?x8xf32>
func.func @series(%q: !h, %k: !h, %v: !h, %w: tensor<2xf32>) -> !h {
  %n2 = arith.constant 2 : index
  %n = tensor.dim %q, %n2 : !h
  %init = tensor.empty(%n) : !h
  %o = attn.attention ins(%q, %k, %v : !h, !h, !h) captures(%w : tensor<2xf32>) outs(%init : !h)
      score(%s, %b, %h, %i, %j, %g) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c50 = arith.constant 50 : index
        %a = arith.constant 0.6 : f32
        %x = arith.mulf %s, %a : f32
        %y = scf.for %m = %c0 to %c50 step %c1 iter_args(%acc = %a) -> (f32) {
          %e = tensor.extract %g[%h] : tensor<2xf32>
          %r = arith.mulf %acc, %x : f32
          %t = math.tanh %r : f32
          %u = arith.addf %t, %e : f32
          scf.yield %u : f32
        }
        attn.yield %y : f32
      }
  return %o : !h
}
