// A bias that is affine in the key, with a slope for each query: in the product
// where slopes are small, and computed where they are not.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// RUN: attn-run %s --target=cuda --until-after=attn-hopper-outline | FileCheck %s
// RUN: %python %S/Inputs/run_kernel.py %s --arg=q=randn:1x2x100x64 --arg=k=randn:1x2x140x64 --arg=slopes=randn:2x100
// RUN: %python %S/Inputs/run_kernel.py %s --arg=q=randn:1x1x70x64 --arg=k=randn:1x1x140x64 --arg=slopes=0:1x70
// RUN: sed 's#%slope, %distance : f32#%slope, %large : f32#' %s > %t.large.mlir
// RUN: %python %S/Inputs/run_kernel.py %t.large.mlir --arg=q=randn:1x1x70x64 --arg=k=randn:1x1x140x64 --arg=slopes=randn:1x70 --tolerance 0.05

// CHECK: hopper.step "hold_slopes"

!t = tensor<?x?x?x64xbf16>

func.func @rows(%q: !t, %k: !t, %v: !t, %slopes: tensor<?x?xf32>) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%slopes : tensor<?x?xf32>) outs(%init : !t)
      score(%x, %b0, %h0, %i, %j, %w) {
        %d = arith.subi %j, %i : index
        %n = arith.index_cast %d : index to i32
        %distance = arith.sitofp %n : i32 to f32
        %thousand = arith.constant 1000.0 : f32
        %large = arith.mulf %distance, %thousand : f32
        %slope = tensor.extract %w[%h0, %i] : tensor<?x?xf32>
        %bias = arith.mulf %slope, %distance : f32
        %y = arith.subf %x, %bias : f32
        attn.yield %y : f32
      }
      mask(%b0, %h0, %i, %j, %w) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : !t
}
