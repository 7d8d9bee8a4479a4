// RUN: attn-opt %s --attn-hopper-split-values --split-input-file | FileCheck %s

// Values of more than 256 columns are two attentions of even parts, of which
// the first has the log-sum-exp, and the last fewer columns where multiples of
// 8 are not even.

// CHECK-LABEL: func.func @parts(
// CHECK-SAME: %[[Q:[^ ]*]]: tensor<1x?x4x576xbf16>, %[[K:[^ ]*]]: tensor<1x?x1x576xbf16>, %[[V:[^ ]*]]: tensor<1x?x1x300xbf16>
// CHECK: %[[V0:.*]] = tensor.extract_slice %[[V]][0, 0, 0, 0] [1, %{{.*}}, 1, 152] [1, 1, 1, 1] : tensor<1x?x1x300xbf16> to tensor<1x?x1x152xbf16>
// CHECK: %[[O0:.*]], %[[LSE:.*]] = attn.attention layout(bshd)
// CHECK-NEXT: ins(%[[Q]], %[[K]], %[[V0]] :
// CHECK: score(
// CHECK: %[[A:.*]] = tensor.insert_slice %[[O0]] into %{{.*}}[0, 0, 0, 0] [1, %{{.*}}, 4, 152] [1, 1, 1, 1]
// CHECK: %[[V1:.*]] = tensor.extract_slice %[[V]][0, 0, 0, 152] [1, %{{.*}}, 1, 148] [1, 1, 1, 1]
// CHECK: %[[O1:.*]], %{{.*}} = attn.attention layout(bshd)
// CHECK-NEXT: ins(%[[Q]], %[[K]], %[[V1]] :
// CHECK: score(
// CHECK: %[[O:.*]] = tensor.insert_slice %[[O1]] into %[[A]][0, 0, 0, 152] [1, %{{.*}}, 4, 148] [1, 1, 1, 1]
// CHECK: return %[[O]], %[[LSE]]
!q = tensor<1x?x4x576xbf16>
!k = tensor<1x?x1x576xbf16>
!v = tensor<1x?x1x300xbf16>
!o = tensor<1x?x4x300xbf16>
!l = tensor<1x4x?xf32>
func.func @parts(%q: !q, %k: !k, %v: !v, %o: !o, %l: !l) -> (!o, !l) {
  %r, %lse = attn.attention layout(bshd) ins(%q, %k, %v : !q, !k, !v) outs(%o, %l : !o, !l)
      score(%s, %b, %h, %i, %j) {
        %x = math.tanh %s : f32
        attn.yield %x : f32
      }
  return %r, %lse : !o, !l
}

// -----

// Not of f32, which tiles do not have, of values for which there are registers,
// or where tiles have not as many columns of queries; nor lists of single keys.

// CHECK-LABEL: func.func @alone(
// CHECK-NOT: tensor.extract_slice
!f = tensor<1x2x?x320xf32>
!n = tensor<1x2x?x256xbf16>
!w = tensor<1x2x?x584xbf16>
!t = tensor<1x2x16x320xbf16>
func.func @alone(%f: !f, %n: !n, %w: !w, %t: !t, %rows: tensor<17xi32>, %columns: tensor<?xi32>) -> (!f, !n, !w, !t) {
  %0 = attn.attention ins(%f, %f, %f : !f, !f, !f) outs(%f : !f)
  %1 = attn.attention ins(%n, %n, %n : !n, !n, !n) outs(%n : !n)
  %2 = attn.attention ins(%w, %w, %w : !w, !w, !w) outs(%w : !w)
  %3 = attn.attention ins(%t, %t, %t : !t, !t, !t)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<17xi32>, tensor<?xi32>) outs(%t : !t)
  return %0, %1, %2, %3 : !f, !n, !w, !t
}

// -----

// Of values that are known to be none parts are zeros, and so is a result; other
// results are rows without keys.

// CHECK-LABEL: func.func @no_keys(
// CHECK-NOT: tensor.extract_slice
// CHECK: %[[V:.*]] = tensor.splat %{{.*}} : tensor<1x2x0x160xbf16>
// CHECK: attn.attention
// CHECK-NEXT: ins(%{{.*}}, %{{.*}}, %[[V]] :
// CHECK: tensor.insert_slice
// CHECK-LABEL: func.func @no_queries(
// CHECK-NOT: tensor.insert_slice
// CHECK: %[[NONE:.*]] = tensor.splat %{{.*}} : tensor<1x2x0x320xbf16>
// CHECK-NEXT: return %[[NONE]]
!t = tensor<1x2x?x320xbf16>
!none = tensor<1x2x0x320xbf16>
func.func @no_keys(%q: !t, %k: !none) -> !t {
  %o = attn.attention ins(%q, %k, %k : !t, !none, !none) outs(%q : !t)
  return %o : !t
}
func.func @no_queries(%q: !none, %k: !t) -> !none {
  %o = attn.attention ins(%q, %k, %k : !none, !t, !t) outs(%q : !none)
  return %o : !none
}
