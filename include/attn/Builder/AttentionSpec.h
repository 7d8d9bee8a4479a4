//===- AttentionSpec.h - Attention built in C++ -----------------*- C++ -*-===//
//
//   attn::AttentionSpec spec;
//   spec.queryHeads = 8;
//   spec.keyHeads = 2;
//   spec.dtype = attn::DType::BF16;
//   attn::Capture slopes = spec.capture("slopes", attn::DType::F32, {8});
//   spec.score([=](const attn::ScoreArgs &a) {
//     return a.s + slopes[{a.h}] * toFloat(a.j - a.i);
//   });
//   spec.mask([](const attn::MaskArgs &a) { return a.j <= a.i; });
//   llvm::Expected<attn::Kernel> kernel = spec.compile();
//
// The kernel takes q, k, v, the captures in the order in which they were made,
// and the sparsity, and returns o and, with wantLse, lse.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_BUILDER_ATTENTIONSPEC_H
#define ATTN_BUILDER_ATTENTIONSPEC_H

#include "attn/Builder/Expr.h"
#include "attn/JIT/Kernel.h"
#include <functional>

namespace mlir {
class MLIRContext;
template <typename OpTy> class OwningOpRef;
} // namespace mlir

namespace attn {

/// The position of a pair: batch, query head, query, and key; and the numbers
/// of queries and keys.
struct MaskArgs {
  Expr b, h, i, j;
  Expr numQueries, numKeys;
};

/// The same, and `s`, the scaled product of query and key.
struct ScoreArgs : public MaskArgs {
  Expr s;
};

/// Which blocks of queries and keys take part, as tensors that are inputs of
/// the kernel; see attn.attention for what they hold. BlockLayout.h makes some.
struct Sparsity {
  enum class Format {
    /// "blocks", i1 of [rows of blocks, columns of blocks].
    Bits,
    /// "rows" of [rows of blocks + 1] and "columns" of any number.
    Lists
  };
  Format format = Format::Bits;
  /// Queries and keys of a block: multiples of 16 from 16 to 256, or, for
  /// lists, both 1.
  int64_t blockRows = 64;
  int64_t blockColumns = 64;
  /// Whether the tensors have a dimension of heads in front, with the extent of
  /// q's or 1, and a dimension of batches in front of that.
  bool perHead = true;
  bool perBatch = false;
  /// The type of the elements of lists: i32 or i64.
  DType dtype = DType::I32;
};

/// A copy has the captures that were added before. Different threads may build
/// and compile one specification, or copies of it, at the same time, if its
/// functions may be called so.
class AttentionSpec {
public:
  /// The name of the function and of the kernel.
  std::string name = "attention";
  /// The element type of q, k, v, and o: f64, f32, f16 or bf16.
  DType dtype = DType::F32;

  // Extents, below 2^31; kDynamicExtent for those that a call gives at run
  // time.
  int64_t batch = kDynamicExtent;
  /// `batch`, or 1.
  int64_t keyBatch = kDynamicExtent;
  int64_t queryHeads = kDynamicExtent;
  /// Divides `queryHeads`.
  int64_t keyHeads = kDynamicExtent;
  int64_t numQueries = kDynamicExtent;
  int64_t numKeys = kDynamicExtent;
  // The head dimensions are never dynamic.
  int64_t queryKeyDim = 64;
  int64_t valueDim = 64;

  /// The order of batch, head, sequence and head dimension in q, k, v and o:
  /// permutations of "bhsd".
  std::string queryLayout = "bhsd", keyLayout = "bhsd", valueLayout = "bhsd",
              outputLayout = "bhsd";
  /// 1 / sqrt(queryKeyDim) if not set.
  std::optional<double> scale;
  /// Whether the log-sum-exp of the scores is a second result.
  bool wantLse = false;

  /// Adds a tensor that score and mask may read.
  Capture capture(llvm::StringRef name, DType dtype,
                  llvm::ArrayRef<int64_t> shape);
  /// Adds a scalar that score and mask may read.
  Capture scalar(llvm::StringRef name, DType dtype);

  /// Sets the score function. It returns a float, which replaces the scaled
  /// product; without a function, or with an empty one, the score is the scaled
  /// product. What it throws, `build` and `compile` throw.
  void score(std::function<Expr(const ScoreArgs &)> function) {
    scoreFunction = std::move(function);
  }
  /// Sets the mask function. It returns a bool that says whether a pair is
  /// allowed; without a function, or with an empty one, all pairs are.
  void mask(std::function<Expr(const MaskArgs &)> function) {
    maskFunction = std::move(function);
  }

  /// Sets the sparsity: only pairs that both the blocks and the mask allow take
  /// part.
  void sparsity(const Sparsity &layout) { blocks = layout; }

  /// Makes a module with one function. The error says which of the settings
  /// above does not fit. Loads the dialects that it needs into the context.
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
  build(mlir::MLIRContext *context) const;

  llvm::Expected<Kernel> compile(const CompileOptions &options = {}) const;

private:
  class Builder;
  struct CaptureInfo {
    TensorInfo info;
    bool isScalar;
    /// That of the Capture.
    uint64_t id;
  };

  Capture add(TensorInfo info, bool isScalar);

  std::vector<CaptureInfo> captures;
  std::optional<Sparsity> blocks;
  std::function<Expr(const ScoreArgs &)> scoreFunction;
  std::function<Expr(const MaskArgs &)> maskFunction;
};

} // namespace attn

#endif // ATTN_BUILDER_ATTENTIONSPEC_H
