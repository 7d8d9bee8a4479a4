//===- WarpLoops.h - Loops of which a warp has an iteration -----*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_WARPLOOPS_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_WARPLOOPS_H

#include "KernelValues.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::attn {

/// Threads of a block of kernels whose threads are all alike.
inline constexpr int64_t kWarpLoopThreads = 128;

/// An extent of a loop or a table, which a launch has to know: a constant, or
/// ceil(extent / divisor) of a dimension of an argument. A dictionary as
/// hopper::kTablesAttrName has it. `divisor` is one more.
FailureOr<DictionaryAttr> describeExtent(Builder &builder,
                                         func::FuncOp function,
                                         OpFoldResult extent, Operation *user,
                                         int64_t divisor = 1);

/// A table of elements of a type with such extents, as hopper::kTablesAttrName
/// has it.
DictionaryAttr describeTable(Builder &builder, Type element,
                             ArrayRef<Attribute> extents);

/// An empty kernel of such threads.
gpu::GPUFuncOp createWarpKernel(OpBuilder &builder, Location loc,
                                const Twine &name,
                                int64_t threads = kWarpLoopThreads);

/// The number of a warp among all of a kernel of kWarpLoopThreads, as i32.
Value emitWarpNumber(OpBuilder &builder, Location loc);

/// Sets the builder to where there is iteration `number` of a loop with these
/// extents, all i32, and gives its indices.
SmallVector<Value> emitIteration(OpBuilder &builder, Location loc, Value number,
                                 ArrayRef<Value> extents);

/// The indices of `loop` are these from now on.
void mapIndices(scf::ForallOp loop, ArrayRef<Value> indices,
                KernelValues &values);

/// An iteration of a loop: its number, as i32, and its indices.
struct WarpIteration {
  Value number;
  SmallVector<Value> indices;
};

/// Sets the builder to where a warp has its iteration of `loop`, and maps the
/// indices. Warps beyond the last iteration have none. Where so many `lanes`
/// have an iteration, a warp has some that follow each other in the last
/// dimension, whose extent is a multiple of their number.
FailureOr<WarpIteration>
emitWarpIteration(OpBuilder &builder, scf::ForallOp loop, KernelValues &values,
                  int64_t lanes = hopper::kWarpThreads);

/// How many iterations a thread has of a loop over elements: as many as cover
/// the last dimension by few warps, each an element further than a warp.
int64_t getIterationsOfThread(scf::ForallOp loop);

/// An iteration of a thread, which is there or has the indices of another one.
struct ThreadIteration {
  SmallVector<Value> indices;
  /// Null where it always is.
  Value isThere;
};

/// Sets the builder to where a thread has its iterations of `loop`. Threads of
/// a warp follow each other in the last dimension.
FailureOr<SmallVector<ThreadIteration>>
emitThreadIterations(OpBuilder &builder, scf::ForallOp loop,
                     KernelValues &values);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_WARPLOOPS_H
