// RUN: attn-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expects the name of a chip}}
#t = #attn.target<"", sms = 1, sm_shared = 2048, cta_shared = 1024, reserved_shared = 1024, sm_registers = 65536, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80>

// -----

// expected-error@+1 {{expects sms to be positive, but got 0}}
#t = #attn.target<"sm", sms = 0, sm_shared = 2048, cta_shared = 1024, reserved_shared = 1024, sm_registers = 65536, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80>

// -----

// expected-error@+1 {{expects sm_shared to be positive, but got 0}}
#t = #attn.target<"sm", sms = 1, sm_shared = 0, cta_shared = 1024, reserved_shared = 1024, sm_registers = 65536, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80>

// -----

// expected-error@+1 {{expects cta_shared to be positive, but got 0}}
#t = #attn.target<"sm", sms = 1, sm_shared = 2048, cta_shared = 0, reserved_shared = 1024, sm_registers = 65536, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80>

// -----

// expected-error@+1 {{expects sm_registers to be positive, but got 0}}
#t = #attn.target<"sm", sms = 1, sm_shared = 2048, cta_shared = 1024, reserved_shared = 1024, sm_registers = 0, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80>

// -----

// expected-error@+1 {{expects thread_registers to be positive, but got 0}}
#t = #attn.target<"sm", sms = 1, sm_shared = 2048, cta_shared = 1024, reserved_shared = 1024, sm_registers = 65536, thread_registers = 0, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80>

// -----

// expected-error@+1 {{expects sm_threads to be positive, but got 0}}
#t = #attn.target<"sm", sms = 1, sm_shared = 2048, cta_shared = 1024, reserved_shared = 1024, sm_registers = 65536, thread_registers = 255, sm_threads = 0, cta_threads = 1024, sm_ctas = 32, ptx = 80>

// -----

// expected-error@+1 {{expects cta_threads to be positive, but got 0}}
#t = #attn.target<"sm", sms = 1, sm_shared = 2048, cta_shared = 1024, reserved_shared = 1024, sm_registers = 65536, thread_registers = 255, sm_threads = 2048, cta_threads = 0, sm_ctas = 32, ptx = 80>

// -----

// expected-error@+1 {{expects sm_ctas to be positive, but got 0}}
#t = #attn.target<"sm", sms = 1, sm_shared = 2048, cta_shared = 1024, reserved_shared = 1024, sm_registers = 65536, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 0, ptx = 80>

// -----

// expected-error@+1 {{expects ptx to be positive, but got 0}}
#t = #attn.target<"sm", sms = 1, sm_shared = 2048, cta_shared = 1024, reserved_shared = 1024, sm_registers = 65536, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 0>

// -----

// expected-error@+1 {{expects memory_gbs not to be negative, but got -1}}
#t = #attn.target<"sm", sms = 1, sm_shared = 2048, cta_shared = 1024, reserved_shared = 1024, sm_registers = 65536, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80, memory_gbs = -1>

// -----

// expected-error@+1 {{expects product_tflops not to be negative, but got -2}}
#t = #attn.target<"sm", sms = 1, sm_shared = 2048, cta_shared = 1024, reserved_shared = 1024, sm_registers = 65536, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80, product_tflops = -2>

// -----

// expected-error@+1 {{expects reserved_shared not to be negative, but got -1}}
#t = #attn.target<"sm", sms = 1, sm_shared = 2048, cta_shared = 1024, reserved_shared = -1, sm_registers = 65536, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80>

// -----

// expected-error@+1 {{expects cta_shared and reserved_shared to be at most sm_shared, but got 2049 of 2048}}
#t = #attn.target<"sm", sms = 1, sm_shared = 2048, cta_shared = 1025, reserved_shared = 1024, sm_registers = 65536, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80>

// -----

// expected-error@+1 {{expects thread_registers to be at most sm_registers, but got 255 of 254}}
#t = #attn.target<"sm", sms = 1, sm_shared = 2048, cta_shared = 1024, reserved_shared = 1024, sm_registers = 254, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80>

// -----

// expected-error@+1 {{expects cta_threads to be at most sm_threads, but got 1024 of 1000}}
#t = #attn.target<"sm", sms = 1, sm_shared = 2048, cta_shared = 1024, reserved_shared = 1024, sm_registers = 65536, thread_registers = 255, sm_threads = 1000, cta_threads = 1024, sm_ctas = 32, ptx = 80>

// -----

// expected-error@+1 {{expects tma with wgmma}}
#t = #attn.target<"sm", sms = 1, sm_shared = 2048, cta_shared = 1024, reserved_shared = 1024, sm_registers = 65536, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80, wgmma = true>

// -----

// expected-error@+1 {{expects 'attn.target' to be a target, but got "sm_90a"}}
module attributes {attn.target = "sm_90a"} {
}

// -----

// expected-error@+1 {{expects warp_threads to be positive, but got 0}}
#t = #attn.target<"sm", sms = 1, sm_shared = 2048, cta_shared = 1024, reserved_shared = 1024, sm_registers = 65536, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80, warp_threads = 0>

// -----

// expected-error@+1 {{expects warps of 32 threads with wgmma, but got 64}}
#t = #attn.target<"sm", sms = 1, sm_shared = 2048, cta_shared = 1024, reserved_shared = 1024, sm_registers = 65536, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80, wgmma = true, tma = true, warp_threads = 64>

// -----

// expected-error@+1 {{expects reserved_shared to be at most 2147483647, but got 9223372036854775807}}
#t = #attn.target<"sm", sms = 1, sm_shared = 2048, cta_shared = 1024, reserved_shared = 9223372036854775807, sm_registers = 65536, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80>
