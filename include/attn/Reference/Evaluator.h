//===- Evaluator.h - Reference evaluation of functions ----------*- C++ -*-===//
//
// Evaluates a function that holds attention, on tensors in host memory, from
// the definitions of its operations alone: no pass and no lowering takes part,
// regions are interpreted, and nothing is tiled. It is what every target is
// tested against.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_EVALUATOR_H
#define ATTN_REFERENCE_EVALUATOR_H

#include "attn/Support/Tensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <vector>

namespace attn {

/// In which arithmetic a function is evaluated.
enum class EvalMode {
  /// Everything that is a float is a double, whatever its type, and nothing is
  /// rounded, but what masks and scores compute of positions and captures
  /// alone,
  /// as that may decide which keys take part, and which element of a table is
  /// read: `arith.truncf` is the identity and a sum over keys that is f32 in
  /// the definition is a sum of doubles. Inputs and constants are exact. For
  /// f64
  /// inputs, scores and sums of attention are long double, so that the
  /// reference
  /// is better than what is compared with it.
  ///
  /// Masked keys take no part, whatever their key and value hold. A score of
  /// NaN
  /// or +inf makes o and lse of its row NaN, as the formulas of
  /// `attn.online_attention` do.
  Float64,
  /// As a framework computes the same maths without a fused kernel, each step
  /// materialised in the declared type. For inputs of type T and accumulators
  /// of type A, f32 (f64 where T is f64):
  ///
  ///   s = T(sum q k)          summed in A
  ///   s = T(A(s * A(scale)))
  ///   s = T(score(s))         each operation rounded to its type
  ///   s = -inf                where masked
  ///   p = T(exp(s - max) / sum exp(s - max))     in A
  ///   o = T(sum p v)          summed in A
  ///   lse = max + ln sum exp(s - max)            in A
  ///
  /// Sums are as accurate as those of the libraries that frameworks call:
  /// matrix
  /// products add up blocks of 256 terms, with fused multiply-adds for f32, and
  /// the sum of the softmax has 16 partial sums. A kernel that adds thousands
  /// of
  /// keys one by one into one f32 is measurably worse. All other operations
  /// round each result to its type.
  Eager,
};

struct EvaluatorOptions {
  EvalMode mode = EvalMode::Float64;
  /// If not 0, attention is evaluated for this many query rows of each batch
  /// and head, chosen by `seed`, where its results are only returned. Attention
  /// whose results are used further is evaluated in full.
  int64_t maxRows = 0;
  uint64_t seed = 0;
  /// Number of threads, 0 for one per processor. Results do not depend on it.
  unsigned threads = 0;
  /// `attn.online_attention` with a `blocks` or a `tiles` region is checked
  /// against its mask: the bounds for tiles of this many query rows must hold,
  /// and the classes of tiles of as many rows and keys. 0 turns the check off.
  int64_t blockRows = 16;
};

/// Absolute rounding noise of a correct implementation, that is one which keeps
/// scores, sums and accumulators in the accumulator type: see CheckRule. Zero
/// where it is unknown.
struct RoundingNoise {
  /// Of the worst element and of the average one, from arithmetic in the
  /// accumulator type.
  double max = 0;
  double mean = 0;
  /// What a few elements may have in addition by chance.
  double chanceMax = 0;
  double chanceMean = 0;
};

/// A result of a function.
struct EvaluatedTensor {
  /// The declared element type; I64 for index.
  DType dtype = DType::F32;
  Shape shape;
  /// Row-major elements, in `ints` for integers.
  std::vector<double> floats;
  std::vector<int64_t> ints;
  /// Which elements were evaluated, 1 or 0 for each; empty if all were.
  std::vector<uint8_t> evaluated;
  RoundingNoise noise;

  int64_t getNumElements() const {
    return isFloat(dtype) ? floats.size() : ints.size();
  }
  bool isEvaluated(int64_t index) const {
    return evaluated.empty() || evaluated[index];
  }
  /// The elements rounded to the declared type.
  llvm::Expected<Tensor> toTensor() const;
};

class Evaluator {
public:
  explicit Evaluator(EvaluatorOptions options = {}) : options(options) {}

  /// Evaluates `function` on one tensor for each argument, where scalars are
  /// tensors of rank 0 and an index is an I64. Calls are resolved in the
  /// module of `function`.
  ///
  /// Fails if inputs do not fit the arguments, on operations that are not
  /// supported (naming the operation and its location), and where
  /// `tensor.extract` leaves its tensor, naming the capture, the index, the
  /// extent and, in a region of an attention, (b, h, i, j).
  llvm::Expected<std::vector<EvaluatedTensor>>
  evaluate(mlir::func::FuncOp function,
           llvm::ArrayRef<const Tensor *> inputs) const;

private:
  EvaluatorOptions options;
};

} // namespace attn

#endif // ATTN_REFERENCE_EVALUATOR_H
