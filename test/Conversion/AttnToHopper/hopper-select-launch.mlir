// RUN: attn-opt %s --attn-hopper-select-launch | FileCheck %s --check-prefixes=CHECK,FIRST
// RUN: attn-opt %s --attn-hopper-select-launch=launch=1 | FileCheck %s --check-prefixes=CHECK,SECOND
// RUN: not attn-opt %s --attn-hopper-select-launch=launch=2 2>&1 | FileCheck %s --check-prefix=NONE

// The lse that only gradients need is an argument of both launches.
// CHECK-LABEL: func.func @both(
// CHECK-SAME: %[[O:arg2]]: tensor<1x8x?x64xbf16>
// CHECK-SAME: %[[DQ:arg3]]: tensor<1x8x?x64xbf16>
// CHECK-SAME: %[[LSE:arg4]]: tensor<1x8x?xf32> {bufferization.writable = true})
// CHECK-SAME: hopper.scratch = {first = 4 : i64, tables = [{bytes = 4 : i64, extents = [{extent = 1 : i64}, {extent = 8 : i64}, {dim = 2 : i64, divisor = 1 : i64, operand = 0 : i64}]}]}
// FIRST-NOT: attn.attention_grad
// FIRST: %[[R:.*]], %[[L:.*]] = attn.attention
// FIRST: outs(%[[O]], %[[LSE]] :
// FIRST-NOT: attn.attention_grad
// Nothing else would read it here.
// FIRST: %[[WRITTEN:.*]] = bufferization.materialize_in_destination %[[L]] in %[[LSE]]
// FIRST: return %[[R]], %[[DQ]], %[[WRITTEN]] :
// SECOND-NOT: attn.attention{{$}}
// SECOND: %[[R:.*]] = attn.attention_grad wrt(q)
// SECOND: ins(%{{.*}}, %{{.*}}, %{{.*}}, %[[O]], %[[LSE]], %arg1 :
// SECOND: return %[[O]], %[[R]] :
// NONE: error: expects a launch from 0 to 1, but got 2
!t = tensor<1x8x?x64xbf16>
func.func @both(%q: !t, %do: !t, %oi: !t, %qi: !t) -> (!t, !t) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %li = tensor.empty(%n) : tensor<1x8x?xf32>
  %o, %l = attn.attention ins(%q, %q, %q : !t, !t, !t) outs(%oi, %li : !t, tensor<1x8x?xf32>)
  %dq = attn.attention_grad wrt(q) ins(%q, %q, %q, %o, %l, %do : !t, !t, !t, !t, tensor<1x8x?xf32>, !t) outs(%qi : !t)
  return %o, %dq : !t, !t
}

// Alone it stays as it is.
// CHECK-LABEL: func.func private @one(
// CHECK-NOT: hopper.scratch
// CHECK: attn.attention{{$}}
func.func private @one(%q: !t, %oi: !t) -> !t {
  %o = attn.attention ins(%q, %q, %q : !t, !t, !t) outs(%oi : !t)
  return %o : !t
}

// A loop over elements is a launch, too, whose iterations are those of its result.
// CHECK-LABEL: func.func @scaled(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<1x8x?x64xbf16>, %[[O:[^:]*]]: tensor<1x8x?x64xbf16>,
// CHECK-SAME: %[[K:arg2]]: tensor<1x8x?x64xbf16> {bufferization.writable = true})
// FIRST: %[[N:.*]] = tensor.dim %[[K]], %
// FIRST: %[[LOOP:.*]] = scf.forall (%{{.*}}) in (1, 8, %[[N]], 64) shared_outs(%{{.*}} = %[[K]])
// FIRST-NOT: attn.attention
// FIRST: bufferization.materialize_in_destination %[[LOOP]] in %[[K]]
// SECOND-NOT: scf.forall
// SECOND: attn.attention
// SECOND: ins(%[[Q]], %[[K]], %[[Q]] :
func.func @scaled(%q: !t, %oi: !t) -> !t {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %e = tensor.empty(%n) : !t
  %k = scf.forall (%b, %h, %i, %d) in (1, 8, %n, 64) shared_outs(%out = %e) -> (!t) {
    %c0 = arith.constant 0 : index
    %x = tensor.extract %q[%b, %h, %i, %d] : !t
    %y = arith.addf %x, %x : bf16
    %s = tensor.extract_slice %out[%b, %h, %i, %d] [1, 1, 1, 1] [1, 1, 1, 1] : !t to tensor<1x1x1x1xbf16>
    %w = tensor.insert %y into %s[%c0, %c0, %c0, %c0] : tensor<1x1x1x1xbf16>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %w into %out[%b, %h, %i, %d] [1, 1, 1, 1] [1, 1, 1, 1] : tensor<1x1x1x1xbf16> into !t
    }
  }
  %o = attn.attention ins(%q, %k, %q : !t, !t, !t) outs(%oi : !t)
  return %o : !t
}
