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
  /// What a model says of its time, for an order alone: the less, the better.
  double cost = 0;
};

struct TuningSpace {
  /// The hash, in hexadecimal, of the program at the online level without names
  /// and places, and the options that kernels depend on beside schedules: what
  /// two programs have in common that compute the same with the same types.
  std::string program;
  /// What is legal on the target, the most promising first. The resource model
  /// has checked them, but not a compilation.
  std::vector<TuningCandidate> candidates;
  /// Why there are none; "" if there are.
  std::string obstacle;
};

/// What a tuner may try for a program. A schedule in the options or in the
/// program leaves nothing to choose.
llvm::Expected<TuningSpace> getTuningSpace(llvm::StringRef program,
                                           const CompileOptions &options);

/// TuningSpace::program alone, which is kept on disk beside the kernels.
llvm::Expected<std::string> getProgramHash(llvm::StringRef program,
                                           const CompileOptions &options);

/// The extents of inputs that the types of a kernel leave open, of which
/// buckets of a tuning database are made. `getExtent(input, dim)` has them.
llvm::SmallVector<int64_t, 16>
getFreeExtents(llvm::ArrayRef<TensorInfo> inputs,
               llvm::function_ref<int64_t(size_t, size_t)> getExtent);

/// What kernels of these options run on, and the versions that their times
/// depend on, with a hash of the compiler's sources: Entry::device and
/// Entry::version of a tuning database. An error without a GPU where one is
/// needed.
struct TuningPlace {
  std::string device, version;
};
llvm::Expected<TuningPlace> getTuningPlace(const CompileOptions &options);

} // namespace attn

#endif // ATTN_JIT_TUNINGSPACE_H
