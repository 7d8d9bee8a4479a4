// Batches and heads beyond 65536 draw numbers of their own: the product of two
// weights has the mean 1 if they are independent, and 2 if they are the same.

// RUN: attn-run %s --arg=q=full(0):2x2x64x16 --arg=k=full(0):2x2x512x16 --arg=v=full(1):2x2x512x16 --arg=far=65536 --check | FileCheck %s
// CHECK: o {{.*}} mean {{0.9|1.0}}
// CHECK: PASS
// RUN: attn-run %s --arg=q=full(0):2x2x64x16 --arg=k=full(0):2x2x512x16 --arg=v=full(1):2x2x512x16 --arg=far=0 --check | FileCheck %s --check-prefix=SAME
// SAME: o {{.*}} mean {{1.9|2.0|2 }}

!q = tensor<?x2x?x16xf32>
func.func @heads(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %v: !q {attn.name = "v"}, %far: index {attn.name = "far"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%b, %s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q) captures(%far : index) outs(%init : !q)
      score(%x, %b0, %h, %i, %j, %n) {
        %seed = arith.constant 5 : i64
        %offset = arith.constant 0 : i64
        %one = arith.constant 1 : index
        %zero = arith.constant 0 : index
        %isFar = arith.cmpi ne, %n, %zero : index
        %hn = arith.addi %h, %n : index
        %b1 = arith.addi %b0, %one : index
        %b2 = arith.select %isFar, %b1, %b0 : index
        %w = attn.dropout 0.5 seed %seed offset %offset at %b2, %h, %i, %j : f32
        %u = attn.dropout 0.5 seed %seed offset %offset at %b0, %hn, %i, %j : f32
        %p = arith.mulf %w, %u : f32
        attn.yield %x, %p : f32, f32
      }
  return %o : !q
}
