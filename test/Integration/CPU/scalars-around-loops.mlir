// A number of the call that a body of linalg takes from around it has a
// gradient, as one that is an operand has.

// RUN: attn-run %s --arg=alpha=0.75 --grad --check | FileCheck %s
// CHECK: dq
// CHECK: dalpha {{ *}}max
// CHECK: PASS

!t = tensor<1x2x33x16xf32>
#id = affine_map<(b, h, i, d) -> (b, h, i, d)>

func.func @f(%q: !t, %k: !t, %v: !t, %alpha: f32) -> (!t {attn.name = "o"}) {
  %init = tensor.empty() : !t
  %two = arith.constant 2.0 : f32
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%q : !t) outs(%init : !t) {
  ^bb0(%a: f32, %old: f32):
    %0 = arith.mulf %a, %alpha : f32
    %1 = arith.mulf %0, %two : f32
    %2 = arith.addf %1, %alpha : f32
    linalg.yield %2 : f32
  } -> !t
  %o = attn.attention ins(%x, %k, %v : !t, !t, !t) outs(%init : !t)
  return %o : !t
}
