// Masks to draw, on 1 or more heads of any length.
!t = tensor<?x?x?x16xf32>

// Even heads are causal, odd ones see all.
func.func @parity(%q: !t, %k: !t, %v: !t) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : !t
  %heads = tensor.dim %q, %c1 : !t
  %length = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%batch, %heads, %length) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %two = arith.constant 2 : index
        %odd = arith.remsi %h, %two : index
        %most = arith.muli %odd, %j : index
        %before = arith.subi %j, %most : index
        %p = arith.cmpi sle, %before, %i : index
        attn.yield %p : i1
      }
  return %o : !t
}

// A query sees the keys that have its number, in two attentions of which only
// the second has a mask.
func.func @same(%q: !t, %k: !t, %v: !t, %ids: tensor<?xi32>) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : !t
  %heads = tensor.dim %q, %c1 : !t
  %length = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%batch, %heads, %length) : !t
  %x = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
  %o = attn.attention ins(%x, %k, %v : !t, !t, !t)
      captures(%ids : tensor<?xi32>) outs(%init : !t)
      mask(%b, %h, %i, %j, %n) {
        %mine = tensor.extract %n[%i] : tensor<?xi32>
        %other = tensor.extract %n[%j] : tensor<?xi32>
        %p = arith.cmpi eq, %mine, %other : i32
        attn.yield %p : i1
      }
  return %o : !t
}

// Every head another number of keys.
func.func @lengths(%q: !t, %k: !t, %v: !t) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : !t
  %heads = tensor.dim %q, %c1 : !t
  %length = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%batch, %heads, %length) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi slt, %j, %h : index
        attn.yield %p : i1
      }
  return %o : !t
}

// The score reads a table, which the mask keeps it inside of.
func.func @table(%q: !t, %k: !t, %v: !t, %bias: tensor<8xf32>) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : !t
  %heads = tensor.dim %q, %c1 : !t
  %length = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%batch, %heads, %length) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%bias : tensor<8xf32>) outs(%init : !t)
      score(%s, %b, %h, %i, %j, %t) {
        %e = tensor.extract %t[%j] : tensor<8xf32>
        %y = arith.addf %s, %e : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %t) {
        %c8 = arith.constant 8 : index
        %p = arith.cmpi slt, %j, %c8 : index
        attn.yield %p : i1
      }
  return %o : !t
}

// A function with a mask that is called twice, with other sizes.
func.func private @callee(%q: !t, %k: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : !t
  %heads = tensor.dim %q, %c1 : !t
  %length = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%batch, %heads, %length) : !t
  %o = attn.attention ins(%q, %k, %k : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi slt, %i, %j : index
        attn.yield %p : i1
      }
  return %o : !t
}
func.func @calls(%q: !t, %k: !t) -> (!t {attn.name = "o"}) {
  %x = call @callee(%q, %k) : (!t, !t) -> !t
  %o = call @callee(%k, %x) : (!t, !t) -> !t
  return %o : !t
}

// A mask that masks nothing, which the compiler takes away.
func.func @true(%q: !t, %k: !t) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : !t
  %heads = tensor.dim %q, %c1 : !t
  %length = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%batch, %heads, %length) : !t
  %o = attn.attention ins(%q, %k, %k : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %p = arith.constant true
        attn.yield %p : i1
      }
  return %o : !t
}

// Head h has the first h pairs of 32 queries and 32 keys.
func.func @distinct(%q: !t, %k: !t) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : !t
  %heads = tensor.dim %q, %c1 : !t
  %length = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%batch, %heads, %length) : !t
  %o = attn.attention ins(%q, %k, %k : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %c32 = arith.constant 32 : index
        %row = arith.muli %i, %c32 : index
        %pair = arith.addi %row, %j : index
        %p = arith.cmpi slt, %pair, %h : index
        attn.yield %p : i1
      }
  return %o : !t
}

// No attention at all.
func.func @none(%q: !t) -> !t {
  return %q : !t
}
