//===- TuningCandidates.h - Schedules around the chosen ones ----*- C++ -*-===//

#ifndef ATTN_LIB_JIT_TUNINGCANDIDATES_H
#define ATTN_LIB_JIT_TUNINGCANDIDATES_H

#include "CudaCandidates.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/JIT/TuningSpace.h"
#include "attn/Target/CPU.h"

namespace attn {

/// Tiles for a CPU around the one that the compiler has chosen for `op`, in the
/// order of a model of its inner loop: loads for each product, vectors that do
/// not fit into registers, rescaling, and misses of the caches.
std::vector<TuningCandidate>
getCPUCandidates(mlir::attn::AttentionLikeOpInterface op,
                 mlir::attn::ScheduleAttr chosen, const CPUTarget &target);

/// The rows of a table that serve an attention on a GPU, and the schedules that
/// differ from them in one member and that the target can run.
std::vector<TuningCandidate>
getHopperCandidates(const CudaForm &form, llvm::ArrayRef<Candidate> candidates);

} // namespace attn

#endif // ATTN_LIB_JIT_TUNINGCANDIDATES_H
