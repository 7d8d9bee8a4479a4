// A log-sum-exp of which the output is not read: nothing is combined, and no
// schedule that splits keys is tried.

// RUN: attn-run %s --check --target=cpu --arg=q=randn:1x2x40x64 --arg=k=randn:1x2x50x64 --arg=v=randn:1x2x50x64 | FileCheck %s
// RUN: attn-run %s --target=cuda --emit=ptx --variant=all | FileCheck %s --check-prefix=PTX --implicit-check-not=lse_combine
// CHECK: PASS
// PTX: .visible .entry lse(

func.func @lse(%q: tensor<1x2x?x64xbf16>, %k: tensor<1x2x?x64xbf16>, %v: tensor<1x2x?x64xbf16>) -> tensor<1x2x?xf32> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<1x2x?x64xbf16>
  %o_init = tensor.empty(%n) : tensor<1x2x?x64xbf16>
  %lse_init = tensor.empty(%n) : tensor<1x2x?xf32>
  %o, %lse = attn.attention ins(%q, %k, %v : tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>)
      outs(%o_init, %lse_init : tensor<1x2x?x64xbf16>, tensor<1x2x?xf32>)
  return %lse : tensor<1x2x?xf32>
}
