//===- RandomRegion.h - Random score and mask regions -----------*- C++ -*-===//
//
// Text of attentions with random regions, and data for their captures.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_ANALYSIS_RANDOMREGION_H
#define ATTN_TEST_UNIT_ANALYSIS_RANDOMREGION_H

#include "RegionInterpreter.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <random>
#include <string>

namespace mlir::attn::test {

/// Lengths that the random regions are made for: tables have this many rows.
inline constexpr int64_t kBatch = 2, kHeads = 2, kMaxRows = 14;

/// Values of the captures of `makeOnlineAttention`: two index scalars, one i32
/// for each batch, one i1 and one i32 for each position.
struct CaptureData {
  int64_t first, second;
  std::vector<int64_t> lengths, flags, documents;

  std::vector<Scalar> get() const {
    return {Scalar::of(first), Scalar::of(second), Scalar::of(lengths),
            Scalar::of(flags), Scalar::of(documents)};
  }
};

class RandomRegion {
public:
  explicit RandomRegion(unsigned seed) : engine(seed) {}

  /// A body that yields a random i1 and never reads a capture out of range.
  std::string makeMask(unsigned depth);
  /// A body that yields a score with random conditions of -inf.
  std::string makeScore(unsigned depth);
  CaptureData makeCaptures();
  /// A number from `low` to `high`, the same on every platform.
  int64_t pick(int64_t low, int64_t high);

private:
  std::string boolean(unsigned depth);
  std::string integer(unsigned depth);
  std::string binary(const std::string &op, unsigned depth);
  std::string narrow(unsigned depth);
  std::string guarded(unsigned depth);
  std::string shift(const std::string &score);
  /// Appends a line that defines a new value, and returns the value.
  std::string define(const std::string &text);
  std::string constant(int64_t value);

  std::mt19937 engine;
  std::string body;
  unsigned count = 0;
};

/// A module with one `attn.online_attention` around the given region bodies;
/// an empty one leaves the region out. The arguments of regions are called
/// %s, %b, %h, %i, %j, %c0, %c1, %len, %flag and %doc.
std::string makeOnlineAttention(const std::string &score,
                                const std::string &mask);

/// Parses the module and finds its attention; fails the test if it is wrong.
mlir::OwningOpRef<mlir::ModuleOp> parse(mlir::MLIRContext &context,
                                        const std::string &text);
mlir::attn::OnlineAttentionOp getAttention(mlir::ModuleOp module);

/// A context with all dialects that a region may use.
std::unique_ptr<mlir::MLIRContext> makeContext();

} // namespace mlir::attn::test

#endif // ATTN_TEST_UNIT_ANALYSIS_RANDOMREGION_H
