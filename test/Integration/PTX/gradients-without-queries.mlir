// Gradients of captures where it is known that there is no pair: what is left
// of the program are loops that write zeros, with the table they read.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer

// DEFINE: %{run} = %python %S/Inputs/run_kernel.py %s --grad=q,k,v,heads --arg=heads=randn:2
// RUN: %{run} --entry=batch --arg=q=randn:0x2x3x8 --arg=k=randn:0x2x5x8 --arg=v=randn:0x2x5x8 | FileCheck %s
// RUN: %{run} --entry=queries --arg=q=randn:1x2x0x8 --arg=k=randn:1x2x5x8 --arg=v=randn:1x2x5x8 | FileCheck %s
// CHECK: dheads: max error

!b = tensor<0x2x?x8xbf16>
func.func @batch(%q: !b, %k: !b, %v: !b, %heads: tensor<2xf32>) -> !b {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !b
  %init = tensor.empty(%n) : !b
  %o = attn.attention ins(%q, %k, %v : !b, !b, !b) captures(%heads : tensor<2xf32>) outs(%init : !b)
      score(%s, %b, %h, %i, %j, %of) {
        %x = tensor.extract %of[%h] : tensor<2xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %o : !b
}

!q = tensor<1x2x0x8xbf16>
!k = tensor<1x2x5x8xbf16>
func.func @queries(%q: !q, %k: !k, %v: !k, %heads: tensor<2xf32>) -> !q {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %k, %v : !q, !k, !k) captures(%heads : tensor<2xf32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %of) {
        %x = tensor.extract %of[%h] : tensor<2xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %o : !q
}

// Head dimensions that are padded, and in parts: what has no element is a launch
// that writes none.

// RUN: %python %S/Inputs/run_kernel.py %s --launches --entry=padded --grad=q,k,v --arg=q=randn:1x2x0x60 --arg=k=randn:1x2x5x60 --arg=v=randn:1x2x5x60 | FileCheck %s --check-prefix=WIDE
// RUN: %python %S/Inputs/run_kernel.py %s --launches --entry=wide --arg=q=randn:1x2x3x300 --arg=k=randn:1x2x0x300 | FileCheck %s --check-prefix=WIDE
// WIDE: max error

!p = tensor<1x2x0x60xbf16>
!pk = tensor<1x2x5x60xbf16>
func.func @padded(%q: !p {attn.name = "q"}, %k: !pk {attn.name = "k"}, %v: !pk {attn.name = "v"}) -> !p {
  %init = tensor.empty() : !p
  %o = attn.attention ins(%q, %k, %v : !p, !pk, !pk) outs(%init : !p)
  return %o : !p
}

!w = tensor<1x2x3x300xbf16>
!wk = tensor<1x2x0x300xbf16>
func.func @wide(%q: !w {attn.name = "q"}, %k: !wk {attn.name = "k"}) -> !w {
  %init = tensor.empty() : !w
  %o = attn.attention ins(%q, %k, %k : !w, !wk, !wk) outs(%init : !w)
  return %o : !w
}
