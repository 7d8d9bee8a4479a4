// Masks that ask for a term of the key to be one of the query, and read both in
// other conditions as well.

// DEFINE: %{args} = --arg=q=randn:1x2x90x16 --arg=k=randn:1x2x130x16 '--arg=t=randint(0,5):130' '--arg=u=randint(-9,60):5' --check
// RUN: attn-run %s --entry=documents --seed=1 %{args} | FileCheck %s
// RUN: attn-run %s --entry=terms --seed=1 %{args} | FileCheck %s
// RUN: attn-run %s --entry=loop --seed=1 %{args} | FileCheck %s
// RUN: attn-run %s --entry=documents --seed=2 %{args} | FileCheck %s
// RUN: attn-run %s --entry=terms --seed=2 %{args} | FileCheck %s
// RUN: attn-run %s --entry=loop --seed=2 %{args} | FileCheck %s

// CHECK: a second run gave the same bits
// CHECK: PASS

!q = tensor<?x?x?x16xf32>
!t = tensor<?xi32>

// Positions in documents, by where each begins.
func.func @documents(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %t: !t {attn.name = "t"}, %u: !t {attn.name = "u"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%t, %u : !t, !t) outs(%init : !q)
      mask(%b, %h, %i, %j, %document, %begin) {
        %dj = tensor.extract %document[%j] : !t
        %nj = arith.index_cast %dj : i32 to index
        %bj = tensor.extract %begin[%nj] : !t
        %oj = arith.index_cast %bj : i32 to index
        %pj = arith.subi %j, %oj : index
        %di = tensor.extract %document[%i] : !t
        %ni = arith.index_cast %di : i32 to index
        %bi = tensor.extract %begin[%ni] : !t
        %oi = arith.index_cast %bi : i32 to index
        %pi = arith.subi %i, %oi : index
        %same = arith.cmpi eq, %di, %dj : i32
        %before = arith.cmpi sle, %pj, %pi : index
        %p = arith.andi %same, %before : i1
        attn.yield %p : i1
      }
  return %o : !q
}

// Two terms, one of the other, and conditions of the key alone.
func.func @terms(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %t: !t {attn.name = "t"}, %u: !t {attn.name = "u"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%t, %u : !t, !t) outs(%init : !q)
      mask(%b, %h, %i, %j, %document, %begin) {
        %c3 = arith.constant 3 : i32
        %c7 = arith.constant 7 : index
        %dj = tensor.extract %document[%j] : !t
        %di = tensor.extract %document[%i] : !t
        %few = arith.cmpi slt, %dj, %c3 : i32
        %same = arith.cmpi eq, %dj, %di : i32
        %rj = arith.remui %j, %c7 : index
        %ri = arith.remui %i, %c7 : index
        %same_rest = arith.cmpi eq, %ri, %rj : index
        %nj = arith.index_cast %dj : i32 to index
        %sum = arith.addi %nj, %rj : index
        %is_small = arith.cmpi sle, %sum, %c7 : index
        %p0 = arith.andi %few, %same : i1
        %p1 = arith.andi %same_rest, %is_small : i1
        %p2 = arith.ori %p1, %few : i1
        %p = arith.andi %p0, %p2 : i1
        attn.yield %p : i1
      }
  return %o : !q
}

// In a loop, and in a branch.
func.func @loop(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %t: !t {attn.name = "t"}, %u: !t {attn.name = "u"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%t, %u : !t, !t) outs(%init : !q)
      mask(%b, %h, %i, %j, %document, %begin) {
        %z = arith.constant 0 : index
        %one = arith.constant 1 : index
        %c40 = arith.constant 40 : index
        %dj = tensor.extract %document[%j] : !t
        %di = tensor.extract %document[%i] : !t
        %same = arith.cmpi eq, %dj, %di : i32
        %nj = arith.index_cast %dj : i32 to index
        %sum = scf.for %n = %z to %c40 step %one iter_args(%s = %z) -> index {
          %x = arith.muli %nj, %n : index
          %y = arith.xori %x, %s : index
          scf.yield %y : index
        }
        %is_near = arith.cmpi slt, %sum, %c40 : index
        %end = scf.if %is_near -> index {
          scf.yield %nj : index
        } else {
          scf.yield %j : index
        }
        %is_below = arith.cmpi sle, %end, %i : index
        %p = arith.andi %same, %is_below : i1
        attn.yield %p : i1
      }
  return %o : !q
}
