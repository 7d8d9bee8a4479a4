// What a mask reads may be computed by another launch. Tables that are made of it
// are made in each call, and those of arguments once for many.

// RUN: rm -rf %t && env ATTN_PTXAS=off attn-run %s --entry=computed --target=cuda --emit=package --emit-to=%t.package --dump-ir=%t
// RUN: cat %t/launch-1-schedule-0/*-reconcile-unrealized-casts.mlir | FileCheck %s --check-prefix=COMPUTED
// RUN: rm -rf %t && env ATTN_PTXAS=off attn-run %s --entry=given --target=cuda --emit=package --emit-to=%t.package --dump-ir=%t
// RUN: cat %t/schedule-0/*-reconcile-unrealized-casts.mlir | FileCheck %s --check-prefix=GIVEN
// COMPUTED: llvm.func @computed(
// COMPUTED-SAME: hopper.tables =
// COMPUTED-NOT: prepared
// GIVEN: llvm.func @given(
// GIVEN-SAME: hopper.tables = {{.*}}prepared

!t = tensor<1x1x?x64xbf16>
func.func @computed(%q: !t, %ids: tensor<?xi64>) -> !t {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %short = arith.trunci %ids : tensor<?xi64> to tensor<?xi32>
  %init = tensor.empty(%n) : !t
  %o = attn.attention ins(%q, %q, %q : !t, !t, !t) captures(%short : tensor<?xi32>) outs(%init : !t)
      mask(%b, %h, %i, %j, %d) {
        %x = tensor.extract %d[%i] : tensor<?xi32>
        %y = tensor.extract %d[%j] : tensor<?xi32>
        %p = arith.cmpi eq, %x, %y : i32
        attn.yield %p : i1
      }
  return %o : !t
}

func.func @given(%q: !t, %short: tensor<?xi32>) -> !t {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%n) : !t
  %o = attn.attention ins(%q, %q, %q : !t, !t, !t) captures(%short : tensor<?xi32>) outs(%init : !t)
      mask(%b, %h, %i, %j, %d) {
        %x = tensor.extract %d[%i] : tensor<?xi32>
        %y = tensor.extract %d[%j] : tensor<?xi32>
        %p = arith.cmpi eq, %x, %y : i32
        attn.yield %p : i1
      }
  return %o : !t
}
