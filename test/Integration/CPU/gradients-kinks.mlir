// Where scores have no derivative: each of two equal numbers of a maximum has half of the gradient, the derivative
// of |x| at 0 is 0, and what a select does not choose contributes nothing, also where its derivative is no number.

// All scores are 0, or some of them.
// RUN: attn-run %s --target=cpu --entry=ties --grad --check --arg=q='full(0)' --arg=w=randn:5 | FileCheck %s
// RUN: attn-run %s --target=cpu --entry=twice --grad --check --arg=q=randn | FileCheck %s
// RUN: attn-run %s --target=cpu --entry=abs --grad --check --arg=q='full(0)' --arg=w=0.5 | FileCheck %s --check-prefix=ABS
// RUN: attn-run %s --target=cpu --entry=dead --grad --check --arg=q='full(0)' --arg=w=0.5 | FileCheck %s --check-prefix=DEAD
// RUN: attn-run %s --target=cpu --entry=dead --grad --check --arg=q='randint(-1,2)' --arg=k='randint(0,2)' --arg=w=0.5 | FileCheck %s
// CHECK: PASS

// ABS: dq  1x1x6x8xf32 {{ *}}min 0 {{ *}}max 0
// ABS: dk  1x1x5x8xf32 {{ *}}min 0 {{ *}}max 0
// ABS: PASS
// DEAD: dq {{.*}} nan 0
// DEAD: dw  f32 {{ *}}min 0 {{ *}}max 0
// DEAD: PASS

!q = tensor<1x1x6x8xf32>
!k = tensor<1x1x5x8xf32>

func.func @ties(%q: !q {attn.name = "q"}, %k: !k {attn.name = "k"}, %v: !k {attn.name = "v"}, %w: tensor<5xf32> {attn.name = "w"}) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %k, %v : !q, !k, !k) captures(%w : tensor<5xf32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %zero = arith.constant 0.0 : f32
        %x = tensor.extract %t[%j] : tensor<5xf32>
        %y = arith.mulf %x, %s : f32
        %m = arith.maximumf %y, %s : f32
        %n = arith.minimumf %zero, %s : f32
        %u = arith.addf %m, %n : f32
        %z = arith.addf %u, %x : f32
        attn.yield %z : f32
      }
  return %o : !q
}

// A maximum of a number and itself is that number.
func.func @twice(%q: !q {attn.name = "q"}, %k: !k {attn.name = "k"}, %v: !k {attn.name = "v"}) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %k, %v : !q, !k, !k) outs(%init : !q)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %two = arith.constant 2.0 : f32
        %a = arith.mulf %s, %one : f32
        %m = arith.maximumf %a, %s : f32
        %y = arith.mulf %m, %two : f32
        attn.yield %y : f32
      }
  return %o : !q
}

func.func @abs(%q: !q {attn.name = "q"}, %k: !k {attn.name = "k"}, %v: !k {attn.name = "v"}, %w: f32 {attn.name = "w"}) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %k, %v : !q, !k, !k) captures(%w : f32) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %x) {
        %a = math.absf %s : f32
        %y = arith.mulf %a, %x : f32
        attn.yield %y : f32
      }
  return %o : !q
}

func.func @dead(%q: !q {attn.name = "q"}, %k: !k {attn.name = "k"}, %v: !k {attn.name = "v"}, %w: f32 {attn.name = "w"}) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %k, %v : !q, !k, !k) captures(%w : f32) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %x) {
        %zero = arith.constant 0.0 : f32
        %l = math.log %s : f32
        %near = arith.mulf %l, %x : f32
        %isMore = arith.cmpf ogt, %s, %zero : f32
        %z = arith.select %isMore, %near, %s : f32
        attn.yield %z : f32
      }
  return %o : !q
}
