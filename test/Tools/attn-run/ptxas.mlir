// What ptxas says of kernels, and what that leads to.

// REQUIRES: ptxas

// RUN: attn-run %s --entry=plain --emit=cubin --emit-to=%t.cubin | count 0
// RUN: head -c 4 %t.cubin | od -An -c | FileCheck %s --check-prefix=CUBIN
// CUBIN: 177 E L F
// RUN: rm -rf %t.cache
// RUN: env ATTN_LIBCUDA=%fake_cuda ATTN_CACHE_DIR=%t.cache attn-run %s --entry=plain --target=cuda | FileCheck %s
// The second time the kernel comes from the cache, where what the assembler made
// of it is kept, too.
// RUN: ls %t.cache | count 2
// RUN: env ATTN_LIBCUDA=%fake_cuda ATTN_CACHE_DIR=%t.cache attn-run %s --entry=plain --target=cuda | FileCheck %s
// CHECK: plain  384 threads  168 registers  0 bytes of spills  {{[0-9]+}} bytes of shared memory  1 CTA per SM  #hopper.schedule<tile_m = 128, tile_n = 64,

// A schedule that spills runs if there is no other.
// RUN: attn-run %s --entry=greedy --emit=cubin --emit-to=%t.greedy 2>&1 | count 0
// RUN: env ATTN_LIBCUDA=%fake_cuda attn-run %s --entry=greedy --target=cuda | FileCheck %s --check-prefix=SPILL
// SPILL: greedy  384 threads  168 registers  {{[1-9][0-9]*}} bytes of spills

// An assembler that takes too long is no error: the driver compiles the kernel.
// RUN: echo '#!/bin/sh' > %t.slow
// RUN: echo 'if [ "$1" = --version ]; then echo slow; else exec sleep 1000; fi' >> %t.slow
// RUN: chmod +x %t.slow
// RUN: env ATTN_PTXAS=%t.slow ATTN_PTXAS_SECONDS=0 ATTN_CACHE_DIR=off attn-run %s --entry=plain --emit=ptx --emit-to=%t.slow.ptx 2>&1 | count 0
// RUN: FileCheck %s --check-prefix=SLOW --input-file=%t.slow.ptx
// SLOW: .visible .entry plain(

func.func @plain(%q: tensor<1x2x100x64xbf16>) -> tensor<1x2x100x64xbf16> {
  %init = tensor.empty() : tensor<1x2x100x64xbf16>
  %o = attn.attention
      schedule #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1>
      ins(%q, %q, %q : tensor<1x2x100x64xbf16>, tensor<1x2x100x64xbf16>,
                       tensor<1x2x100x64xbf16>)
      outs(%init : tensor<1x2x100x64xbf16>)
  return %o : tensor<1x2x100x64xbf16>
}

func.func @greedy(%q: tensor<1x2x1000x128xbf16>) -> tensor<1x2x1000x128xbf16> {
  %init = tensor.empty() : tensor<1x2x1000x128xbf16>
  %o = attn.attention
      schedule #hopper.schedule<tile_m = 128, tile_n = 224, stages = 1, registers = 240, head_swizzle = 1>
      ins(%q, %q, %q : tensor<1x2x1000x128xbf16>, tensor<1x2x1000x128xbf16>,
                       tensor<1x2x1000x128xbf16>)
      outs(%init : tensor<1x2x1000x128xbf16>)
  return %o : tensor<1x2x1000x128xbf16>
}
