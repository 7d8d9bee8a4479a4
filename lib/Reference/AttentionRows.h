//===- AttentionRows.h - Scores of the query rows of an attention -*- C++ -*-=//
//
// What attn.attention and attn.online_attention share: for each query row,
// which keys the mask allows, their scores, and the product with the values.
// Rows are spread over threads; no result depends on how.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_REFERENCE_ATTENTIONROWS_H
#define ATTN_LIB_REFERENCE_ATTENTIONROWS_H

#include "Attention.h"
#include "RegionCompiler.h"
#include "RowMath.h"
#include "SparsityBlocks.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace attn::reference {

struct AttentionSizes {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t kvBatch = 0;
  int64_t kvHeads = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t dim = 0;
  int64_t valueDim = 0;
};

/// Position of a query row.
struct RowId {
  int64_t b;
  int64_t h;
  int64_t i;
};

class AttentionRows {
public:
  /// The region that is being run, and one thread's registers for it.
  struct RegionCode {
    explicit RegionCode(EvalMode mode) : compiler(mode, program) {}

    Program program;
    RegionCompiler compiler;
    /// Compiles the body, once its arguments are bound.
    llvm::Error compile(mlir::Block &block);

    /// Row registers of b, h, i, and lane registers of s (for a score) and j
    /// (but for `rows`).
    uint32_t b, h, i, s, j;
    /// Lane registers of what is yielded: of a score, a weight may be second.
    llvm::SmallVector<uint32_t, 3> results;
  };

  /// One row, as the callback of forEachRow sees it.
  class Row {
  public:
    RowId id;
    /// Position among all rows of (b, h, i), for arrays of one number per row.
    int64_t number;
    /// The keys outside of which none is allowed.
    KeySpans spans;
    int64_t numAllowed;
    /// Whether the row may have keys at all; its scores are multiplied by the
    /// factor, and added to.
    bool isAllowed = true;
    double factor = 1, added = 0;
    /// One for each key in `spans`; -inf where masked.
    std::vector<double> scores;
    /// For the callback, one for each key, 0 outside of `spans`.
    std::vector<double> p;
    std::vector<uint8_t> allowed;
    /// What the mask region alone allows, for each key.
    const std::vector<uint8_t> &getAllowedByMask() const {
      return rows->sparsity ? allowedByMask : allowed;
    }
    /// |scale| * |q_i| * max_j |k_j|, in Euclidean norms: no smaller than any
    /// score before the score function, whatever cancels in it.
    double productScale = 0;
    /// What probabilities are multiplied by, if the score says; for each
    /// allowed key.
    std::vector<double> weights;
    /// Multiplies them.
    void applyWeights();
    /// Filled by multiplyValues: one for each column of the values.
    std::vector<double> out;

    /// out[e] = sum_j p[j] * v[j][e] over the allowed keys.
    void multiplyValues();
    /// Root of the sum of (p[j] * w[j])^2, where w[j] is the largest element of
    /// v[j] or, if `mean`, the root of the mean of their squares.
    double getSpread(bool mean) const;
    /// The largest number of keys that have the same probability, above 0.
    int64_t getNumAlike() const;

  private:
    friend class AttentionRows;
    const AttentionRows *rows;
    std::unique_ptr<Frame> mask, score, rowTerms;
    std::vector<double> q;
    /// Only with a sparsity.
    std::vector<uint8_t> allowedByMask;
  };

  /// Checks the sizes and compiles the regions. All arguments must outlive the
  /// result.
  static llvm::Expected<std::unique_ptr<AttentionRows>>
  create(mlir::attn::AttentionLikeOpInterface op, double scale,
         const AttentionInputs &inputs, const EvaluatorOptions &options);

  const AttentionSizes &getSizes() const { return sizes; }
  Sums getSums() const { return sums; }
  const std::optional<SparsityBlocks> &getSparsity() const { return sparsity; }
  ElementType::Kind getInputKind() const { return inputs.query->type.kind; }

  /// For callers that need no more than the mask: a row, with room for one
  /// thread, and for the id that is set in it which keys are allowed, in
  /// `allowed` and `numAllowed`. Returns the text of an error, if any.
  Row makeRow() const;
  std::string computeMask(Row &row) const;

  /// Calls `body` for all rows, or for `maxRows` rows of each (b, h) if that is
  /// not 0, from several threads.
  llvm::Error forEachRow(int64_t maxRows, llvm::function_ref<void(Row &)> body);

private:
  enum class RegionKind { Score, Mask, Rows };

  AttentionRows(mlir::attn::AttentionLikeOpInterface op, double scale,
                const AttentionInputs &inputs, const EvaluatorOptions &options)
      : op(op), scale(scale), inputs(inputs), options(options) {}

  llvm::Error setSizes();
  llvm::Error compile();
  llvm::Expected<std::unique_ptr<RegionCode>>
  compileRegion(mlir::Region &region, RegionKind kind);
  std::vector<int64_t> selectQueries(int64_t b, int64_t h,
                                     int64_t maxRows) const;
  void packKeysAndValues(int64_t b, int64_t g);

  /// Fills in isAllowed and added. Returns the text of an error, if any.
  std::string computeRowTerms(Row &row) const;
  /// Fills in spans and allowed as the mask region has them.
  std::string runMask(Row &row) const;
  /// Takes out what the sparsity does not allow.
  void applySparsity(Row &row) const;
  /// Fills in spans, allowed and scores. Returns the text of an error, if any.
  std::string computeRow(Row &row) const;
  std::string computeScores(Row &row) const;
  void setRowRegisters(const RegionCode &code, Frame &frame, RowId id) const;
  std::string describe(const RegionCode &code, const Frame &frame, RowId id,
                       int64_t j) const;

  mlir::attn::AttentionLikeOpInterface op;
  double scale;
  const AttentionInputs &inputs;
  const EvaluatorOptions &options;
  AttentionSizes sizes;
  std::array<int64_t, 4> queryStrides;
  Sums sums = Sums::Reference;
  std::unique_ptr<RegionCode> mask, score, rowTerms;
  std::optional<SparsityBlocks> sparsity;
  /// Keys (transposed) and values of the head at hand.
  PanelMatrix keys, values;
  bool valuesAreFinite = true;
  /// The largest element of each v[j], and the root of the mean of squares.
  std::vector<double> valueMax, valueMean;
  /// The largest Euclidean norm of a key.
  double keyNorm = 0;
};

} // namespace attn::reference

#endif // ATTN_LIB_REFERENCE_ATTENTIONROWS_H
