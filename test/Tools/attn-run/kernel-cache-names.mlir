// Names that differ only in bytes that are no text are of different kernels.
// RUN: rm -rf %t.cache
// RUN: env ATTN_CACHE_DIR=%t.cache ATTN_LOG=cache sh -c 'attn-run %s --target=cpu --entry="$(printf "\377")"' 2>&1 | FileCheck %s --check-prefix=COLD
// COLD: attn: cache: miss {{[0-9a-f]+}}: nothing is kept of this program
// RUN: env ATTN_CACHE_DIR=%t.cache ATTN_LOG=cache sh -c 'attn-run %s --target=cpu --entry="$(printf "\376")"' 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: attn: cache: miss {{[0-9a-f]+}}: another kernel of it differs in entry ('bytes fe', kept is 'bytes ff')
// RUN: env ATTN_CACHE_DIR=%t.cache ATTN_LOG=cache sh -c 'attn-run %s --target=cpu --entry="$(printf "\377")"' 2>&1 | FileCheck %s --check-prefix=WARM
// WARM: attn: cache: hit

func.func @"\FF"(%q: tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32> {
  %init = tensor.empty() : tensor<1x1x4x8xf32>
  %o = attn.attention ins(%q, %q, %q : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>)
      outs(%init : tensor<1x1x4x8xf32>)
  return %o : tensor<1x1x4x8xf32>
}

func.func @"\FE"(%q: tensor<1x1x6x8xf32>) -> tensor<1x1x6x8xf32> {
  %init = tensor.empty() : tensor<1x1x6x8xf32>
  %o = attn.attention ins(%q, %q, %q : tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>)
      outs(%init : tensor<1x1x6x8xf32>)
  return %o : tensor<1x1x6x8xf32>
}
