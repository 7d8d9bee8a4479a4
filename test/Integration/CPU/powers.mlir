// A power with a variable exponent is a long chain in which each number is read
// twice: what it reads is looked through once. 8^21 is the least integer, which
// no key can be taken from.

// RUN: attn-run %s --target=cpu --check --arg=q=randn:1x4x40x8 | FileCheck %s

// CHECK: PASS

!t = tensor<?x?x?x8xf32>

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
        %x = math.ipowi %i, %j : index
        %p = arith.cmpi sge, %x, %j : index
        attn.yield %p : i1
      }
  return %o : !t
}
