// Fewer heads of keys take turns the more queries their work tiles meet: those of
// all heads that share the keys.

// RUN: rm -rf %t
// RUN: env ATTN_PTXAS=off attn-run %s --grad --target=cuda --emit=ptx --dump-ir=%t > %t.ptx
// RUN: cat %t/launch-1-schedule-0/004-attn-hopper-outline.mlir | FileCheck %s

// CHECK: gpu.func @shared_grad
// CHECK: %[[SIZE:.*]] = arith.maxui %[[QUERIES:.*]], %{{.*}} : index
// CHECK: %[[MET:.*]] = arith.muli %{{.*}}, %{{.*}} : index
// CHECK: %[[KEYS:.*]] = arith.muli %{{.*}}, %{{.*}} : index
// CHECK: %[[OWN:.*]] = arith.maxui %[[KEYS]], %{{.*}} : index
// CHECK: %[[RATIO:.*]] = arith.divui %[[MET]], %[[OWN]] : index
// CHECK: %[[EACH:.*]] = arith.maxui %[[RATIO]], %{{.*}} : index
// CHECK: %[[ALL:.*]] = arith.muli %[[SIZE]], %[[EACH]] : index
// CHECK: arith.divui %c131072{{.*}}, %[[ALL]] : index
// CHECK: hopper.work_loop {{.*}} group

!q = tensor<?x?x?x128xbf16>

func.func @shared(%q: !q, %k: !q, %v: !q) -> (!q {attn.name = "o"}, tensor<?x?x?xf32> {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %h = tensor.dim %q, %c1 : !q
  %s = tensor.dim %q, %c2 : !q
  %o = tensor.empty(%b, %h, %s) : !q
  %l = tensor.empty(%b, %h, %s) : tensor<?x?x?xf32>
  %r:2 = attn.attention ins(%q, %k, %v : !q, !q, !q) outs(%o, %l : !q, tensor<?x?x?xf32>)
  return %r#0, %r#1 : !q, tensor<?x?x?xf32>
}
