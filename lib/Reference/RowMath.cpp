//===- RowMath.cpp - Products and softmax of one query row ----------------===//

#include "RowMath.h"
#include <algorithm>

using namespace attn::reference;

static constexpr int64_t kWidth = PanelMatrix::kWidth;

/// Rows of a product that are summed before they are added to the result. The
/// reference takes few, because partial sums keep the error from growing with
/// the length.
static int64_t getBlockSize(Sums sums) { return isReference(sums) ? 128 : 256; }

static double roundSum(Sums sums, double value) {
  return sums == Sums::F32 ? roundToF32(value) : value;
}

namespace {
/// The sums of one panel, in a type T. Rounded to float32 after each addition
/// if `F32`: the product of two floats is exact in double, so that this is a
/// fused multiply-add, and needs no such instruction.
template <typename T, bool F32> class PanelSums {
public:
  /// sum[c] += x[r] * panel[r][c] for rows of one block.
  void add(const double *x, const double *panel, int64_t rows) {
    T sum[kWidth];
    std::copy_n(block, kWidth, sum);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < kWidth; ++c)
        sum[c] = round(sum[c] + static_cast<T>(x[r]) * panel[r * kWidth + c]);
    std::copy_n(sum, kWidth, block);
  }
  /// Adds the sums of a block to those of the blocks before.
  void finishBlock() {
    for (int64_t c = 0; c < kWidth; ++c) {
      total[c] = round(total[c] + block[c]);
      block[c] = 0;
    }
  }
  T get(int64_t c) const { return total[c]; }

private:
  static T round(T value) {
    return F32 ? static_cast<T>(static_cast<float>(value)) : value;
  }
  T block[kWidth] = {};
  T total[kWidth] = {};
};
} // namespace

/// Calls `body` with the sums for a panel, of the type that `sums` says.
template <typename Body> static void withPanelSums(Sums sums, Body body) {
  switch (sums) {
  case Sums::F32:
    return body(PanelSums<double, true>());
  case Sums::Extended:
    return body(PanelSums<long double, false>());
  default:
    return body(PanelSums<double, false>());
  }
}

void attn::reference::multiplyPanels(const double *x, const PanelMatrix &matrix,
                                     int64_t panelBegin, int64_t panelEnd,
                                     double factor, Sums sums, double *out) {
  int64_t rows = matrix.getNumRows(), blockSize = getBlockSize(sums);
  for (int64_t panel = panelBegin; panel < panelEnd; ++panel, out += kWidth)
    withPanelSums(sums, [&](auto panelSums) {
      for (int64_t begin = 0; begin < rows; begin += blockSize) {
        panelSums.add(x + begin, matrix.getPanel(panel) + begin * kWidth,
                      std::min(blockSize, rows - begin));
        panelSums.finishBlock();
      }
      for (int64_t c = 0; c < kWidth; ++c)
        out[c] = panelSums.get(c) * factor;
    });
}

void attn::reference::multiplyRows(const double *x, const KeySpans &spans,
                                   const uint8_t *skip,
                                   const PanelMatrix &matrix, Sums sums,
                                   double *out) {
  int64_t blockSize = getBlockSize(sums);
  for (int64_t panel = 0; panel < matrix.getNumPanels(); ++panel, out += kWidth)
    withPanelSums(sums, [&](auto panelSums) {
      const double *data = matrix.getPanel(panel);
      auto add = [&](int64_t begin, int64_t end) {
        panelSums.add(x + begin, data + begin * kWidth, end - begin);
      };
      int64_t block = 0;
      for (KeySpan span : spans)
        for (int64_t begin = span.begin; begin < span.end;) {
          if (begin / blockSize != block)
            panelSums.finishBlock();
          block = begin / blockSize;
          int64_t end = std::min(span.end, (block + 1) * blockSize);
          if (!skip)
            add(begin, end);
          for (int64_t r = begin; skip && r < end; ++r)
            if (skip[r])
              add(r, r + 1);
          begin = end;
        }
      panelSums.finishBlock();
      for (int64_t c = 0; c < kWidth; ++c)
        out[c] = panelSums.get(c);
    });
}

double attn::reference::maximumScore(const double *scores,
                                     const KeySpans &spans) {
  double max = -HUGE_VAL;
  bool isNaN = false;
  for (KeySpan span : spans)
    for (int64_t j = span.begin; j < span.end; ++j) {
      isNaN |= std::isnan(scores[j]);
      max = scores[j] > max ? scores[j] : max;
    }
  return isNaN ? std::nan("") : max;
}

template <typename T, typename Exponential>
static double sumExponentials(const double *scores, const KeySpans &spans,
                              double max, double *p, Exponential exponential) {
  T sum = 0;
  for (KeySpan span : spans)
    for (int64_t begin = span.begin; begin < span.end; begin += 64) {
      T partial = 0;
      for (int64_t j = begin, end = std::min(begin + 64, span.end); j < end;
           ++j) {
        T value = exponential(static_cast<T>(scores[j]) - max);
        partial += value;
        p[j] = value;
      }
      sum += partial;
    }
  return sum;
}

double attn::reference::exponentials(const double *scores,
                                     const KeySpans &spans, double max,
                                     Sums sums, double *p) {
  auto exponential = [](auto x) { return std::exp(x); };
  return sums == Sums::Extended
             ? sumExponentials<long double>(scores, spans, max, p, exponential)
             : sumExponentials<double>(scores, spans, max, p, exponential);
}

double attn::reference::exponentials2(const double *scores,
                                      const KeySpans &spans, double max,
                                      Sums sums, double *p) {
  auto exponential = [](auto x) { return std::exp2(x); };
  return sums == Sums::Extended
             ? sumExponentials<long double>(scores, spans, max, p, exponential)
             : sumExponentials<double>(scores, spans, max, p, exponential);
}

double attn::reference::eagerSoftmax(const double *scores,
                                     const KeySpans &spans, double max,
                                     Sums sums, ElementType::Kind type,
                                     double *p) {
  constexpr int64_t kPartial = 16;
  double partial[kPartial] = {};
  for (KeySpan span : spans)
    for (int64_t j = span.begin; j < span.end; ++j) {
      p[j] = roundSum(sums, std::exp(roundSum(sums, scores[j] - max)));
      double &sum = partial[j % kPartial];
      sum = roundSum(sums, sum + p[j]);
    }
  for (int64_t half = kPartial / 2; half > 0; half /= 2)
    for (int64_t c = 0; c < half; ++c)
      partial[c] = roundSum(sums, partial[c] + partial[c + half]);
  for (KeySpan span : spans) {
    for (int64_t j = span.begin; j < span.end; ++j)
      p[j] = roundSum(sums, p[j] / partial[0]);
    roundRow(p + span.begin, span.end - span.begin, type);
  }
  return partial[0];
}

void attn::reference::eagerScale(double *values, int64_t count, double scale,
                                 Sums sums, ElementType::Kind type) {
  scale = roundSum(sums, scale);
  roundRow(values, count, type);
  for (int64_t j = 0; j < count; ++j)
    values[j] = roundSum(sums, values[j] * scale);
  roundRow(values, count, type);
}

void attn::reference::roundRow(double *values, int64_t count,
                               ElementType::Kind type) {
  switch (type) {
  case ElementType::F32:
    for (int64_t j = 0; j < count; ++j)
      values[j] = roundToF32(values[j]);
    break;
  case ElementType::F16:
    for (int64_t j = 0; j < count; ++j)
      values[j] = roundToF16(values[j]);
    break;
  case ElementType::BF16:
    for (int64_t j = 0; j < count; ++j)
      values[j] = roundToBF16(values[j]);
    break;
  default:
    break;
  }
}
