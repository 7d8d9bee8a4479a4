// Keys that are the values as well: a gradient has one tile of both, which all
// warpgroups read for the gradient of queries while others write what they have.
//
// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// DEFINE: %{run} = %python %S/Inputs/run_kernel.py %s --grad
// RUN: %{run} --entry=plain --arg=q=randn:1x2x64x64 --arg=k=randn:1x2x64x64 | FileCheck %s
// RUN: %{run} --entry=plain --arg=q=randn:1x2x100x64 --arg=k=randn:1x2x200x64 | FileCheck %s
// RUN: %{run} --entry=wide --arg=q=randn:1x1x70x128 --arg=k=randn:1x1x150x128 | FileCheck %s
// RUN: %{run} --entry=biased --arg=q=randn:1x2x100x64 --arg=k=randn:1x2x200x64 --arg=w=randn:200 | FileCheck %s --check-prefixes=CHECK,CAPTURE
// CHECK: dq: max error
// CHECK: dk: max error
// CAPTURE: dw: max error
// CHECK: seed 0: {{[0-9]+}} steps,
func.func @plain(%q: tensor<1x2x?x64xbf16>, %k: tensor<1x2x?x64xbf16>) -> tensor<1x2x?x64xbf16> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<1x2x?x64xbf16>
  %init = tensor.empty(%n) : tensor<1x2x?x64xbf16>
  %o = attn.attention
      ins(%q, %k, %k : tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>)
      outs(%init : tensor<1x2x?x64xbf16>)
  return %o : tensor<1x2x?x64xbf16>
}

func.func @wide(%q: tensor<1x1x?x128xf16>, %k: tensor<1x1x?x128xf16>) -> tensor<1x1x?x128xf16> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<1x1x?x128xf16>
  %init = tensor.empty(%n) : tensor<1x1x?x128xf16>
  %o = attn.attention
      ins(%q, %k, %k : tensor<1x1x?x128xf16>, tensor<1x1x?x128xf16>, tensor<1x1x?x128xf16>)
      outs(%init : tensor<1x1x?x128xf16>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %i, %j : index
        attn.yield %p : i1
      }
  return %o : tensor<1x1x?x128xf16>
}

func.func @biased(%q: tensor<1x2x?x64xbf16>, %k: tensor<1x2x?x64xbf16>, %w: tensor<?xf32>) -> tensor<1x2x?x64xbf16> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<1x2x?x64xbf16>
  %init = tensor.empty(%n) : tensor<1x2x?x64xbf16>
  %o = attn.attention
      ins(%q, %k, %k : tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>)
      captures(%w : tensor<?xf32>)
      outs(%init : tensor<1x2x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %w) {
        %x = tensor.extract %w[%j] : tensor<?xf32>
        %t = arith.addf %s, %x : f32
        attn.yield %t : f32
      }
  return %o : tensor<1x2x?x64xbf16>
}
