//===- ArgSpec.h - Arguments described in text ------------------*- C++ -*-===//
//
// What a user writes to say which values an argument has:
//
//   randn:2x8x1000x64      standard normal, of this shape
//   uniform(-1,1):4x5      uniform in [-1, 1)
//   randint(0,10):7        integers in [0, 10)
//   arange:7               0, 1, 2, ... in row-major order
//   blocks(0.5):4x8x8      each with this probability, of i1
//   full(3.5):2x2          the same number everywhere
//   3.5                    short for full(3.5)
//   dir/q.npy              a file: what ends in .npy or has a '/'
//
// The shape may be left out where the type of the argument tells it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_ARGSPEC_H
#define ATTN_SUPPORT_ARGSPEC_H

#include "attn/Support/Tensor.h"
#include <optional>

namespace attn {

struct ArgSpec {
  enum class Kind { File, Randn, Uniform, RandInt, Arange, Blocks, Full };

  Kind kind = Kind::Full;
  /// What is written before ':', for messages; the path of File.
  std::string text;
  /// The range of Uniform; `lo` is the number of Full, or the probability of
  /// Blocks.
  double lo = 0;
  double hi = 0;
  /// The range of RandInt; `intLo` is the number of Full if `isInteger`.
  int64_t intLo = 0;
  int64_t intHi = 0;
  bool isInteger = false;
  /// What is written after ':'.
  std::optional<Shape> shape;

  /// Parses the whole text. Errors name a column, counted from 1.
  static llvm::Expected<ArgSpec> parse(llvm::StringRef text);
};

/// Writes the numbers of a generator into a tensor. Element k, in row-major
/// order, gets number k of the random stream (seed, stream), so it depends
/// neither on the shape nor on the element type but for rounding.
///
/// It is an error if the spec is a file, if its shape is another, or if the
/// numbers are not of the tensor's kind: real numbers for integers, integers
/// out of range, finite numbers that would round to an infinity.
llvm::Error fill(Tensor &tensor, const ArgSpec &spec, uint64_t seed,
                 uint64_t stream);

/// Whether Blocks has element `k` of the random stream (seed, stream).
bool hasBlock(const ArgSpec &spec, uint64_t seed, uint64_t stream, uint64_t k);

/// Makes the tensor that a spec describes for an argument of type `dtype` and
/// `shape`, which has negative numbers for sizes that the type leaves open.
llvm::Expected<Tensor> makeTensor(const ArgSpec &spec, DType dtype,
                                  llvm::ArrayRef<int64_t> shape, uint64_t seed,
                                  uint64_t stream);

} // namespace attn

#endif // ATTN_SUPPORT_ARGSPEC_H
