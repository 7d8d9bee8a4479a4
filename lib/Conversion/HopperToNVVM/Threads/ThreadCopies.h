//===- ThreadCopies.h - Copies by threads -----------------------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADS_THREADCOPIES_H
#define ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADS_THREADCOPIES_H

#include "ThreadPatterns.h"

namespace mlir::attn {

/// The producer's threads together; each arrives when its part is there.
void emitCopyIn(ThreadBuilder &b, hopper::PutOp op, Operands<hopper::PutOp> in,
                Value sharedTile, Value full);
/// The rows of the tensor that this thread copies segments of.
SmallVector<Value> getOwnRows(ThreadBuilder &b, hopper::PutOp op,
                              Operands<hopper::PutOp> in);
/// The producer's threads together, each of which arrives when its copies are
/// done, without waiting for them.
void emitAsyncCopyIn(ThreadBuilder &b, hopper::PutOp op,
                     Operands<hopper::PutOp> in, Value sharedTile,
                     ArrayRef<Value> rows, Value full);
/// The threads of a consumer together, from the rows that they have staged.
void emitCopyOut(ThreadBuilder &b, hopper::StoreOp op,
                 Operands<hopper::StoreOp> in);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADS_THREADCOPIES_H
