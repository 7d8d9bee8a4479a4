// Integers of few bits that masks compare are what is left of an index, whether
// it is a position, a difference or a number of the call, and however it comes
// to be an index again.

// RUN: attn-run %s --entry=positions --check
// RUN: attn-run %s --entry=number --arg=n=4294967300 --check
// RUN: attn-run %s --entry=number --arg=n=-4294967196 --check
// RUN: attn-run %s --entry=number --arg=n=2147483653 --check
// RUN: attn-run %s --entry=halves --arg=n=65530 --check

!t = tensor<1x2x300x8xf64>

func.func @positions(%q: !t, %k: !t, %v: !t) -> (!t {attn.name = "o"}) {
  %init = tensor.empty() : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %head = arith.index_cast %h : index to i8
        %key = arith.index_cast %j : index to i8
        %p = arith.cmpi sle, %head, %key : i8
        attn.yield %p : i1
      }
  return %o : !t
}

func.func @number(%q: !t, %k: !t, %v: !t, %n: index) -> (!t {attn.name = "o"}) {
  %init = tensor.empty() : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%n : index) outs(%init : !t)
      mask(%b, %h, %i, %j, %m) {
        %end = arith.index_cast %m : index to i32
        %key = arith.index_cast %j : index to i32
        %p = arith.cmpi slt, %key, %end : i32
        attn.yield %p : i1
      }
  return %o : !t
}

func.func @halves(%q: !t, %k: !t, %v: !t, %n: index) -> (!t {attn.name = "o"}) {
  %init = tensor.empty() : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%n : index) outs(%init : !t)
      mask(%b, %h, %i, %j, %m) {
        %sum = arith.addi %j, %m : index
        %narrow = arith.index_cast %sum : index to i16
        %row = arith.index_castui %i : index to i16
        %p = arith.cmpi slt, %narrow, %row : i16
        attn.yield %p : i1
      }
  return %o : !t
}
