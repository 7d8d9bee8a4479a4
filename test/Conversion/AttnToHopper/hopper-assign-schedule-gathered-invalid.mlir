// RUN: attn-opt %s --attn-choose-sparsity='form=gathered one-per-launch' --attn-hopper-assign-schedule --verify-diagnostics

// Rows of gathered tiles are copied in the background.

!t = tensor<1x1x64x64xbf16>
module attributes {attn.target = #attn.target<"sm_old", sms = 1, sm_shared = 233472, cta_shared = 232448, reserved_shared = 1024,
    sm_registers = 65536, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80, wgmma = true, tma = true>} {
  func.func @gathered(%q: !t, %rows: tensor<65xi32>, %columns: tensor<?xi32>) -> !t {
    // expected-error@+1 {{expects a target with cp.async for gathered tiles, but sm_old has none; leave the choice of a form to the compiler}}
    %r = attn.attention ins(%q, %q, %q : !t, !t, !t)
        sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<65xi32>, tensor<?xi32>) outs(%q : !t)
    return %r : !t
  }
}
