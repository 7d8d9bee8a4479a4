// The reference rounds what masks and scores compute of positions alone, as programs
// do: 90 times 0.7 is in the next bucket, and has a key at a limit, only so.

// RUN: split-file %s %t
// RUN: attn-run %t/buckets.mlir --target=cpu --check --arg=q=randn:1x1x130x64 --arg=t=randn:300 | FileCheck %s
// RUN: attn-run %t/limits.mlir --target=cpu --check --arg=q=randn:1x1x130x64 --arg=r=0.7 | FileCheck %s
// CHECK: o max 0.00
// CHECK: PASS

//--- buckets.mlir
!t = tensor<1x1x?x64xbf16>
func.func @buckets(%q: !t, %k: !t, %v: !t, %t: tensor<?xf32>) -> (!t {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%n) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%t : tensor<?xf32>) outs(%init : !t)
      score(%s, %b, %h, %i, %j, %table) {
        %ji = arith.index_cast %j : index to i32
        %jf = arith.sitofp %ji : i32 to f32
        %rate = arith.constant 0.7 : f32
        %scaled = arith.mulf %jf, %rate : f32
        %floor = math.floor %scaled : f32
        %bucket = arith.fptosi %floor : f32 to i32
        %at = arith.index_cast %bucket : i32 to index
        %bias = tensor.extract %table[%at] : tensor<?xf32>
        %y = arith.addf %s, %bias : f32
        attn.yield %y : f32
      }
  return %o : !t
}

//--- limits.mlir
!t = tensor<1x1x?x64xbf16>
func.func @limits(%q: !t, %k: !t, %v: !t, %r: f32) -> (!t {attn.name = "o"}, tensor<1x1x?xf32> {attn.name = "lse"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%n) : !t
  %linit = tensor.empty(%n) : tensor<1x1x?xf32>
  %o:2 = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%r : f32) outs(%init, %linit : !t, tensor<1x1x?xf32>)
      mask(%b, %h, %i, %j, %rate) {
        %ji = arith.index_cast %j : index to i32
        %jf = arith.sitofp %ji : i32 to f32
        %ii = arith.index_cast %i : index to i32
        %if = arith.sitofp %ii : i32 to f32
        %limit = arith.mulf %if, %rate : f32
        %p = arith.cmpf ole, %jf, %limit : f32
        attn.yield %p : i1
      }
  return %o#0, %o#1 : !t, tensor<1x1x?xf32>
}
