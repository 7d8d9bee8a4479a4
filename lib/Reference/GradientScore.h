//===- GradientScore.h - The score of a gradient, and its derivative -*- C++
//-*-//

#ifndef ATTN_LIB_REFERENCE_GRADIENTSCORE_H
#define ATTN_LIB_REFERENCE_GRADIENTSCORE_H

#include "AttentionGrad.h"
#include "AttentionRows.h"
#include "Tangents.h"

namespace attn::reference {

/// How an evaluation rounds what it keeps, and its sums.
struct GradientRounding {
  bool eager = false;
  ElementType::Kind kind = ElementType::F64;
  Sums sums = Sums::Reference;

  double round(double value) const {
    return eager ? roundTo(kind, value) : value;
  }
  double roundAccumulator(double value) const {
    return sums == Sums::F32 ? roundToF32(value) : value;
  }
};

/// The score of an attention, run for some keys of a row after the other, with
/// what it contributes to the gradients of captures.
class GradientScore {
public:
  /// `results` has the gradients that `op` names, and `variances` the squares
  /// of the terms of their elements. All arguments must outlive the result,
  /// which is null for an attention without a score.
  static llvm::Expected<std::unique_ptr<GradientScore>>
  create(mlir::attn::AttentionGradOp op, const AttentionInputs &inputs,
         EvalMode mode, const GradientRounding &rounding, const Arrays &results,
         std::vector<std::vector<double>> &variances);

  /// Sets the row, of which `firstKey` is one that is allowed. Returns the text
  /// of an error, if any.
  std::string setRow(RowId id, int64_t firstKey);
  /// Runs the score of the keys `begin + lane`, of which there are up to
  /// kLanes.
  std::string run(const std::vector<double> &s, int64_t begin,
                  llvm::ArrayRef<int64_t> lanes);

  /// What the score of a lane is, and what its probability is multiplied by.
  double getScore(unsigned lane) const {
    return frame->laneFloats(code.results[0])[lane];
  }
  bool hasWeight() const { return code.results.size() > 1; }
  double getWeight(unsigned lane) const {
    return frame->laneFloats(code.results[1])[lane];
  }

  /// Adds what the scores of these keys contribute to captures, and turns their
  /// gradient to that of the products, in place.
  void reverse(int64_t begin, llvm::ArrayRef<int64_t> lanes, double *gradient,
               double *weight);

private:
  /// A read of a capture, or a scalar capture, whose gradient is wanted.
  struct Contribution {
    Tangents tangents;
    Array *gradient;
    std::vector<double> *variance;
    /// Null for a scalar.
    const Access *access;
    bool isRow;
  };

  GradientScore(const AttentionInputs &inputs, EvalMode mode,
                const GradientRounding &rounding)
      : inputs(inputs), rounding(rounding), code(mode) {}

  llvm::Error compile(mlir::attn::AttentionGradOp op, const Arrays &results,
                      std::vector<std::vector<double>> &variances);
  std::string describe(int64_t j) const;
  int64_t getElement(const Contribution &to, unsigned lane) const;

  const AttentionInputs &inputs;
  const GradientRounding &rounding;
  AttentionRows::RegionCode code;
  std::unique_ptr<Frame> frame;
  std::optional<Tangents> tangents;
  std::vector<Contribution> contributions;
  RowId row;
};

} // namespace attn::reference

#endif // ATTN_LIB_REFERENCE_GRADIENTSCORE_H
