//===- Mask.h - What --show-mask tells of a program -------------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_MASK_H
#define ATTN_TOOLS_ATTNRUN_MASK_H

#include "Baseline.h"
#include "Program.h"
#include "Progress.h"
#include "attn/Reference/MaskTiles.h"

namespace attn::cli {

/// What the compiler makes of a mask.
struct CompiledMask {
  /// What its bounds let a kernel visit.
  BlocksTiles blocks;
  /// How it finds the class of a tile.
  std::string way;
  /// What the predicate of a partial tile costs; "" where there is none.
  std::string cost;
};

/// The masks of a program on the arguments of a run.
struct MaskReport {
  /// From the definition of each mask, pair by pair.
  std::vector<MaskTiles> masks;
  /// What the compiler makes of each mask; empty if that is not known, and then
  /// the reason.
  std::vector<CompiledMask> compiled;
  std::string whyNotCompiled;
  /// The file of --show-mask=png and its size in pixels, or "".
  std::string file;
  int64_t width = 0;
  int64_t height = 0;
  /// How many times as long the program takes without its masks, where --bench
  /// measured that; otherwise perhaps the reason why it did not.
  std::optional<double> measuredSpeedup;
  std::string whyNotMeasured;

  /// All tiles of a mask over those that the compiler visits or, if that is not
  /// known, those that are not empty; none where there are no tiles.
  std::optional<double> getPredictedSpeedup(size_t mask) const;
};

/// Evaluates the masks of a program, which `kernel` was made from. Fails if it
/// has none.
llvm::Expected<MaskReport> surveyMasks(Program &program, const Kernel &kernel,
                                       llvm::ArrayRef<Argument> arguments,
                                       const Options &options,
                                       Progress &progress);

/// The file that --show-mask=png writes if --show-mask-to names none, from the
/// name of the function.
std::string getPictureName(llvm::StringRef entry);

/// Compiles the program without its masks to measure what they gain, or gives
/// nothing and the reason why that cannot be run.
llvm::Expected<std::optional<Baseline>>
makeUnmasked(const Options &options, Program &program, const Kernel &kernel,
             const Execution &execution, std::string &reason);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_MASK_H
