// A log-sum-exp of which the output is not read: nothing is combined, and no
// schedule that splits keys is tried. Heads that are not known may be packed.

// RUN: attn-run %s --entry=lse --check --target=cpu --arg=q=randn:1x2x40x64 --arg=k=randn:1x2x50x64 --arg=v=randn:1x2x50x64 | FileCheck %s
// RUN: attn-run %s --entry=lse --target=cuda --emit=ptx --variant=all | FileCheck %s --check-prefix=PTX --implicit-check-not=lse_combine
// RUN: attn-run %s --entry=packed --target=cuda --emit=ptx --variant=all | FileCheck %s --check-prefix=PACKED --implicit-check-not=packed_combine
// CHECK: PASS
// PTX: .visible .entry lse(
// PACKED: .visible .entry packed(

func.func @lse(%q: tensor<1x2x?x64xbf16>, %k: tensor<1x2x?x64xbf16>, %v: tensor<1x2x?x64xbf16>) -> tensor<1x2x?xf32> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<1x2x?x64xbf16>
  %o_init = tensor.empty(%n) : tensor<1x2x?x64xbf16>
  %lse_init = tensor.empty(%n) : tensor<1x2x?xf32>
  %o, %lse = attn.attention ins(%q, %k, %v : tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>)
      outs(%o_init, %lse_init : tensor<1x2x?x64xbf16>, tensor<1x2x?xf32>)
  return %lse : tensor<1x2x?xf32>
}

!t = tensor<?x?x?x64xbf16>
func.func @packed(%q: !t, %k: !t, %v: !t) -> tensor<?x?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %n = tensor.dim %q, %c2 : !t
  %o_init = tensor.empty(%b, %h, %n) : !t
  %lse_init = tensor.empty(%b, %h, %n) : tensor<?x?x?xf32>
  %o, %lse = attn.attention ins(%q, %k, %v : !t, !t, !t)
      outs(%o_init, %lse_init : !t, tensor<?x?x?xf32>)
  return %lse : tensor<?x?x?xf32>
}
