// Keys that weigh as much as a query asks for, which only floats tell, and are
// not switched off: one condition of pairs, one of keys.

// RUN: attn-run %s --check --arg=q=randn:2x2x300x16 --arg=k=randn:2x2x260x16 --arg=v=randn:2x2x260x16 \
// RUN:   --arg=need=randn:2x300 --arg=weight=randn:2x260 | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x1x1x16 --arg=k=randn:1x1x3x16 --arg=v=randn:1x1x3x16 \
// RUN:   --arg=need=randn:1x1 --arg=weight=randn:1x3 | FileCheck %s
// CHECK: PASS

!t = tensor<?x?x?x16xf32>

func.func @thresholds(%q: !t, %k: !t, %v: !t, %need: tensor<?x?xf32>, %weight: tensor<?x?xf32>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%need, %weight : tensor<?x?xf32>, tensor<?x?xf32>) outs(%init : !t)
      mask(%b, %h, %i, %j, %n, %w) {
        %low = arith.constant -1.5 : f32
        %x = tensor.extract %n[%b, %i] : tensor<?x?xf32>
        %y = tensor.extract %w[%b, %j] : tensor<?x?xf32>
        %enough = arith.cmpf oge, %y, %x : f32
        %on = arith.cmpf ogt, %y, %low : f32
        %p = arith.andi %enough, %on : i1
        attn.yield %p : i1
      }
  return %o : !t
}
