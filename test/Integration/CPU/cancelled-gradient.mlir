// A bias that is the same for all keys changes nothing, so its gradient is a sum
// that cancels out: what is left is the rounding of o as it was saved.

// RUN: attn-run %s --entry=cancelled --grad --check --arg=c=0.5 --arg=k=randn:1x1x2x1 --arg=v=randn:1x1x2x1 --seed=1 | FileCheck %s
// RUN: attn-run %s --entry=cancelled --grad --check --arg=c=0.5 --arg=k=randn:1x1x1x1 --arg=v=randn:1x1x1x1 --seed=2 | FileCheck %s
// RUN: attn-run %s --entry=opposite --grad --check --arg=q=randn:1x1x2x1 --arg=a=full(0.5):1x2 --seed=402965 | FileCheck %s
// RUN: attn-run %s --entry=peaked --grad=q,k --check --arg=q=full(1):1x2x300x72 --arg=k=randn:1x1x2x72 --arg=v=randn:1x1x2x40 --seed=750143 | FileCheck %s
// CHECK: PASS

!q = tensor<1x1x1x1xbf16>
!k = tensor<1x1x?x1xbf16>

func.func @cancelled(%q: !q {attn.name = "q"}, %k: !k {attn.name = "k"}, %v: !k {attn.name = "v"}, %c: f32 {attn.name = "c"}) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %k, %v : !q, !k, !k) captures(%c : f32) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %bias) {
        attn.yield %bias : f32
      }
  return %o : !q
}

// Where derivatives are opposite, what is left is the rounding of both.
!s = tensor<1x1x?x1xf32>
func.func @opposite(%q: !s, %a: tensor<?x2xf32>) -> !s {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !s
  %init = tensor.empty(%n) : !s
  %o = attn.attention ins(%q, %q, %q : !s, !s, !s) captures(%a : tensor<?x2xf32>) outs(%init : !s)
      score(%s, %b, %h, %i, %j, %bias) {
        %x = tensor.extract %bias[%b, %j] : tensor<?x2xf32>
        %y = tensor.extract %bias[%b, %j] : tensor<?x2xf32>
        %z = arith.subf %x, %y : f32
        attn.yield %z : f32
      }
  return %o : !s
}

// Of two keys, one has nearly all of the weight: its probability times what
// rounding o leaves of delta is more than all else in dq.
func.func @peaked(%q: tensor<?x?x?x72xbf16> {attn.name = "q"}, %k: tensor<?x?x?x72xbf16> {attn.name = "k"}, %v: tensor<?x?x?x40xbf16> {attn.name = "v"}, %init: tensor<?x?x?x40xbf16>) -> tensor<?x?x?x40xbf16> {
  %o = attn.attention scale -2.500000e-01
      ins(%q, %k, %v : tensor<?x?x?x72xbf16>, tensor<?x?x?x72xbf16>, tensor<?x?x?x40xbf16>)
      outs(%init : tensor<?x?x?x40xbf16>)
  return %o : tensor<?x?x?x40xbf16>
}
