//===- SkewLoop.h - Late steps without a prologue --------------*- C++ -*-===//
//
// A pipelined loop whose prologue is not written out: an iteration runs all
// steps, also those that are for blocks before the first one. What others see
// of these is left out, all else computes with zeros. So the body is there
// once, and behind the loop stand the late steps of the last blocks alone.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_HOPPER_TRANSFORMS_SKEWLOOP_H
#define ATTN_LIB_DIALECT_HOPPER_TRANSFORMS_SKEWLOOP_H

#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn::hopper {

/// Whether late steps may run for blocks that there are not: they carry nothing
/// from block to block, and wait for no tile but what their own partition
/// publishes.
bool canSkew(PipelinedForOp loop);

/// Replaces `loop`, whose body has the steps of `source` and whose variable, an
/// i32, counts at least one block, by its pipelined form.
scf::ForOp skewLoop(RewriterBase &rewriter, scf::ForOp loop,
                    PipelinedForOp source);

} // namespace mlir::attn::hopper

#endif // ATTN_LIB_DIALECT_HOPPER_TRANSFORMS_SKEWLOOP_H
