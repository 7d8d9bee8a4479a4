// RUN: attn-opt %s | attn-opt | FileCheck %s

// CHECK: module attributes {attn.target = #attn.target<"sm_90a", sms = 132, sm_shared = 233472, cta_shared = 232448, reserved_shared = 1024, sm_registers = 65536, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80, wgmma = true, tma = true, cp_async = true>}
module attributes {attn.target = #attn.target<"sm_90a", sms = 132,
    sm_shared = 233472, cta_shared = 232448, reserved_shared = 1024,
    sm_registers = 65536, thread_registers = 255, sm_threads = 2048,
    cta_threads = 1024, sm_ctas = 32, ptx = 80, wgmma = true, tma = true,
    cp_async = true, warp_threads = 32>} {
}

// In any order, and without the instructions that it has not.
// CHECK: module attributes {attn.target = #attn.target<"small", sms = 1, sm_shared = 2, cta_shared = 2, reserved_shared = 0, sm_registers = 1, thread_registers = 1, sm_threads = 32, cta_threads = 32, sm_ctas = 1, ptx = 70, warp_threads = 16>}
module attributes {attn.target = #attn.target<"small", ptx = 70,
    cta_shared = 2, reserved_shared = 0, sm_shared = 2, sm_registers = 1,
    thread_registers = 1, sm_threads = 32, cta_threads = 32, sm_ctas = 1,
    warp_threads = 16, sms = 1>} {
}
