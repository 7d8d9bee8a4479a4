//===- LowerPartitions.h - Which threads do what ----------------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_HOPPERTONVVM_LOWERPARTITIONS_H
#define ATTN_LIB_CONVERSION_HOPPERTONVVM_LOWERPARTITIONS_H

#include "Threads/ThreadBuilder.h"

namespace mlir::attn {

/// The dynamic shared memory of a kernel.
inline constexpr llvm::StringLiteral kSharedName = "attn_shared";

/// Emits what all threads do first, and the values that all have.
void emitKernelStart(Kernel &kernel);
/// Emits the values that threads of each partition have, in its region, and
/// what they do at its start and its end.
void emitPartitionStarts(Kernel &kernel);
/// Replaces `hopper.warp_specialize` by branches, when regions are lowered.
void emitPartitionBranches(Kernel &kernel);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_HOPPERTONVVM_LOWERPARTITIONS_H
