// A bias that is the same for all keys changes nothing, so its gradient is a sum
// that cancels out: what is left is the rounding of o as it was saved.

// RUN: attn-run %s --grad --check --arg=c=0.5 --arg=k=randn:1x1x2x1 --arg=v=randn:1x1x2x1 --seed=1 | FileCheck %s
// RUN: attn-run %s --grad --check --arg=c=0.5 --arg=k=randn:1x1x1x1 --arg=v=randn:1x1x1x1 --seed=2 | FileCheck %s
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
