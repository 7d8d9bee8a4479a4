//===- Passes.td - Passes of the attn dialect -------------*- tablegen -*-===//
//
// Passes in the order in which the pipelines run them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_TRANSFORMS_PASSES_TD
#define ATTN_DIALECT_ATTN_TRANSFORMS_PASSES_TD

include "attn/Dialect/Attn/Transforms/TensorPasses.td"
include "attn/Dialect/Attn/Transforms/OnlinePasses.td"
include "attn/Dialect/Attn/Transforms/TilePasses.td"

#endif // ATTN_DIALECT_ATTN_TRANSFORMS_PASSES_TD
