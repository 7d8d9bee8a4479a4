//===- PingPongSteps.h - Turns of warpgroups in a pipelined loop -*- C++ -*-=//

#ifndef ATTN_LIB_DIALECT_HOPPER_TRANSFORMS_PINGPONGSTEPS_H
#define ATTN_LIB_DIALECT_HOPPER_TRANSFORMS_PINGPONGSTEPS_H

#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn::hopper {

/// Puts the steps of a loop that exclude each other between two that wait for
/// and pass on a turn, in the stage of the latest one: a prologue that has some
/// of them alone takes no turn, and there is one for each block.
void addPingPongSteps(RewriterBase &rewriter, PipelinedForOp loop,
                      Value pingPong);

/// Nobody waits for a tile during a turn that could begin when the tile is
/// there: the others would wait as well. For steps that are inlined.
void waitBeforePingPong(RewriterBase &rewriter, Block &block);

} // namespace mlir::attn::hopper

#endif // ATTN_LIB_DIALECT_HOPPER_TRANSFORMS_PINGPONGSTEPS_H
