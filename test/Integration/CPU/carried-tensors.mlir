// Tensors of any extents that loops carry and branches give: layers over a
// sequence, either of two attentions. What a loop carries keeps its extents,
// which a call may have to be asked for.

// DEFINE: %{tensors} = --arg=q=randn:2x2x9x16 --arg=k=randn:2x2x9x16 --arg=v=randn:2x2x9x16
// RUN: attn-run %s --entry=layers --arg=n=0 %{tensors} --check | FileCheck %s
// RUN: attn-run %s --entry=layers --arg=n=3 %{tensors} --check | FileCheck %s
// RUN: attn-run %s --entry=either --arg=c=0 %{tensors} --check | FileCheck %s
// RUN: attn-run %s --entry=either --arg=c=1 %{tensors} --check | FileCheck %s
// RUN: attn-run %s --entry=until --arg=n=2 %{tensors} | FileCheck %s --check-prefix=SHAPE
// RUN: attn-run %s --entry=other --arg=a=randn:3x4 --arg=b=randn:3x4 --arg=n=2 --check | FileCheck %s
// RUN: not attn-run %s --entry=other --arg=a=randn:3x4 --arg=b=randn:5x4 --arg=n=2 2>&1 | FileCheck %s --check-prefix=OTHER
// CHECK: PASS
// SHAPE: o  2x2x9x16xf32
// OTHER: 'scf.for' op expects tensors of the same extents, but got 3 and 5

!t = tensor<?x2x?x16xf32>
!r = tensor<?x4xf32>

func.func @layers(%q: !t, %k: !t, %v: !t, %n: index) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %S = tensor.dim %q, %c2 : !t
  %r = scf.for %it = %c0 to %n step %c1 iter_args(%x = %q) -> (!t) {
    %init = tensor.empty(%B, %S) : !t
    %o = attn.attention ins(%x, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
    scf.yield %o : !t
  }
  return %r : !t
}

func.func @either(%q: !t, %k: !t, %v: !t, %c: i1) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %S = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %S) : !t
  %r = scf.if %c -> (!t) {
    %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
    scf.yield %o : !t
  } else {
    %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
    scf.yield %o : !t
  }
  return %r : !t
}

func.func @until(%q: !t, %k: !t, %v: !t, %n: index) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %S = tensor.dim %q, %c2 : !t
  %r:2 = scf.while (%x = %q, %it = %c0) : (!t, index) -> (!t, index) {
    %p = arith.cmpi slt, %it, %n : index
    scf.condition(%p) %x, %it : !t, index
  } do {
  ^bb0(%x: !t, %it: index):
    %init = tensor.empty(%B, %S) : !t
    %o = attn.attention ins(%x, %k, %v : !t, !t, !t) outs(%init : !t)
    %n1 = arith.addi %it, %c1 : index
    scf.yield %o, %n1 : !t, index
  }
  return %r#0 : !t
}

func.func @other(%a: !r, %b: !r, %n: index) -> (!r {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %it = %c0 to %n step %c1 iter_args(%x = %a) -> (!r) {
    scf.yield %b : !r
  }
  return %r : !r
}
