// Heads wider than an accumulator has registers for: tiles of all columns of
// queries and keys, with a launch for each part of the values.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer

// DEFINE: %{run} = %python %S/Inputs/run_kernel.py %s --launches
// RUN: %{run} --entry=causal --arg=q=randn:1x2x70x320 --arg=k=randn:1x2x90x320 --arg=v=randn:1x2x90x300 | FileCheck %s
// RUN: %{run} --entry=shared --arg=q=randn:1x8x3x576 --arg=k=randn:1x1x90x576 --arg=v=randn:1x1x90x512 | FileCheck %s
// RUN: attn-run %s --entry=shared --target=cuda --emit=ptx --variant=all | FileCheck %s --check-prefix=VARIANTS
// CHECK: elements
// CHECK: o: max error
// CHECK-NEXT: lse: max error
// VARIANTS: #hopper.schedule<tile_m = 64, tile_n = 32,
// VARIANTS: pack_gqa
// VARIANTS: split_kv
// VARIANTS: strided

!q = tensor<1x2x?x320xbf16>
!v = tensor<1x2x?x300xbf16>
!l = tensor<1x2x?xf32>
func.func @causal(%q: !q, %k: !q, %v: !v) -> (!v {attn.name = "o"}, !l {attn.name = "lse"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n) : !v
  %stat = tensor.empty(%n) : !l
  %o, %lse = attn.attention ins(%q, %k, %v : !q, !q, !v) outs(%init, %stat : !v, !l)
      mask(%b, %h, %i, %j) {
        %m = arith.cmpi sle, %j, %i : index
        attn.yield %m : i1
      }
  return %o, %lse : !v, !l
}

// Latent attention as it decodes: all heads share keys.
!mq = tensor<1x8x?x576xf16>
!mk = tensor<1x1x?x576xf16>
!mv = tensor<1x1x?x512xf16>
!mo = tensor<1x8x?x512xf16>
!ml = tensor<1x8x?xf32>
func.func @shared(%q: !mq, %k: !mk, %v: !mv) -> (!mo {attn.name = "o"}, !ml {attn.name = "lse"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !mq
  %init = tensor.empty(%n) : !mo
  %stat = tensor.empty(%n) : !ml
  %o, %lse = attn.attention ins(%q, %k, %v : !mq, !mk, !mv) outs(%init, %stat : !mo, !ml)
  return %o, %lse : !mo, !ml
}
