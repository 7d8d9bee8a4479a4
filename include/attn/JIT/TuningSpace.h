//===- TuningSpace.h - The schedules that a program may have ----*- C++ -*-===//

#ifndef ATTN_JIT_TUNINGSPACE_H
#define ATTN_JIT_TUNINGSPACE_H

#include "attn/JIT/Compiler.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace attn {

/// A schedule to try.
struct TuningCandidate {
  /// Text of an attribute, as CompileOptions::schedule has it.
  std::string schedule;
  /// The time by a cost model, only to sort candidates: less is better.
  double cost = 0;
};

struct TuningSpace {
  /// A hash, in hexadecimal, of the program at the online level without names
  /// and locations, and of the options besides schedules that kernels depend
  /// on. Programs that compute the same with the same types have one hash.
  std::string program;
  /// The schedules that are legal on the target, the most promising first. The
  /// resource model has checked them, but they have not been compiled.
  std::vector<TuningCandidate> candidates;
  /// Why there are no candidates; "" if there are.
  std::string obstacle;
};

/// The schedules that a tuner may try for a program. There are none if the
/// options or the program have a schedule.
llvm::Expected<TuningSpace> getTuningSpace(llvm::StringRef program,
                                           const CompileOptions &options);

/// Only TuningSpace::program, which is kept on disk beside the kernels.
llvm::Expected<std::string> getProgramHash(llvm::StringRef program,
                                           const CompileOptions &options);

/// The dynamic extents of inputs, from which buckets of a tuning database are
/// made. `getExtent(input, dim)` returns an extent.
llvm::SmallVector<int64_t, 16>
getFreeExtents(llvm::ArrayRef<TensorInfo> inputs,
               llvm::function_ref<int64_t(size_t, size_t)> getExtent);

/// Entry::device and Entry::version of a tuning database for kernels with these
/// options: the device, and the versions that times depend on, with a hash of
/// the compiler's sources. Fails if the options need a GPU and there is none.
struct TuningPlace {
  std::string device, version;
};
llvm::Expected<TuningPlace> getTuningPlace(const CompileOptions &options);

} // namespace attn

#endif // ATTN_JIT_TUNINGSPACE_H
