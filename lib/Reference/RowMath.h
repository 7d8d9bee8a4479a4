//===- RowMath.h - Products and softmax of one query row --------*- C++ -*-===//
//
// The loops that take the time, as plain as they can be. No MLIR here, so that
// they are compiled as vector code in every kind of build.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_REFERENCE_ROWMATH_H
#define ATTN_LIB_REFERENCE_ROWMATH_H

#include "ElementType.h"
#include <vector>

namespace attn::reference {

/// A matrix whose columns lie in panels of 16, padded with zeros.
class PanelMatrix {
public:
  static constexpr int64_t kWidth = 16;

  void resize(int64_t rows, int64_t cols) {
    numRows = rows;
    numPanels = (cols + kWidth - 1) / kWidth;
    data.assign(numRows * numPanels * kWidth, 0.0);
  }
  double &at(int64_t row, int64_t col) {
    return data[((col / kWidth) * numRows + row) * kWidth + col % kWidth];
  }
  const double *getPanel(int64_t panel) const {
    return &data[panel * numRows * kWidth];
  }
  int64_t getNumRows() const { return numRows; }
  int64_t getNumPanels() const { return numPanels; }

private:
  int64_t numRows = 0;
  int64_t numPanels = 0;
  std::vector<double> data;
};

/// The type in which sums are kept.
enum class Sums {
  /// Doubles, for EvalMode::Float64.
  Reference,
  /// The same for inputs that are doubles themselves: long double where that is
  /// more, or the reference would be no better than what it is compared with.
  Extended,
  /// Float32 with fused multiply-adds, for EvalMode::Eager.
  F32,
  /// Doubles in the order of EvalMode::Eager.
  F64,
};

constexpr bool isReference(Sums sums) {
  return sums == Sums::Reference || sums == Sums::Extended;
}

/// A range of keys.
struct KeySpan {
  int64_t begin;
  int64_t end;
};
using KeySpans = std::vector<KeySpan>;

/// out[c] = factor * sum_r x[r] * matrix[r][c] for the columns of the panels in
/// [panelBegin, panelEnd).
void multiplyPanels(const double *x, const PanelMatrix &matrix,
                    int64_t panelBegin, int64_t panelEnd, double factor,
                    Sums sums, double *out);

/// out[c] = sum_r x[r] * matrix[r][c] for all columns, over the rows in
/// `spans`, added up in blocks of rows. `skip`, if any, tells rows that take no
/// part at all, with 0: unlike x[r] = 0 it hides an infinite or NaN element.
void multiplyRows(const double *x, const KeySpans &spans, const uint8_t *skip,
                  const PanelMatrix &matrix, Sums sums, double *out);

/// The largest score, NaN if one is.
double maximumScore(const double *scores, const KeySpans &spans);

/// p[j] = exp(s[j] - max), not normalised; returns their sum.
double exponentials(const double *scores, const KeySpans &spans, double max,
                    Sums sums, double *p);
/// The same in base 2.
double exponentials2(const double *scores, const KeySpans &spans, double max,
                     Sums sums, double *p);

/// Normalised probabilities as EvalMode::Eager has them, computed in `sums` and
/// rounded to `type`. Returns the sum of the exponentials.
double eagerSoftmax(const double *scores, const KeySpans &spans, double max,
                    Sums sums, ElementType::Kind type, double *p);

/// values[j] = values[j] * scale, rounded to `type` before and after and to
/// `sums` in between.
void eagerScale(double *values, int64_t count, double scale, Sums sums,
                ElementType::Kind type);

void roundRow(double *values, int64_t count, ElementType::Kind type);

} // namespace attn::reference

#endif // ATTN_LIB_REFERENCE_ROWMATH_H
