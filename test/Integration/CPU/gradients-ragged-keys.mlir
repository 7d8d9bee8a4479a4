// A key behind the last one has a product of 0 with each query. Where all scores
// are far below that, its probability would be infinite: it adds nothing to the
// gradient of a query, in a tile of queries that are all there.

// RUN: attn-run %s --target=cpu --grad --check --arg=q='uniform(5,6):1x2x192x64' --arg=k='uniform(-6,-5):1x2x37x64' --arg=v=randn:1x2x37x64 | FileCheck %s
// RUN: attn-run %s --target=cpu --grad=q --check --arg=q='uniform(5,6):1x2x192x64' --arg=k='uniform(-6,-5):1x2x37x64' --arg=v=randn:1x2x37x64 | FileCheck %s
// CHECK: PASS

!t = tensor<1x2x?x64xf32>
func.func @f(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}, %v: !t {attn.name = "v"}) -> !t {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%n) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
  return %o : !t
}
