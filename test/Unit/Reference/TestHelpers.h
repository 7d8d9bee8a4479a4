//===- TestHelpers.h - Evaluate MLIR text in tests --------------*- C++ -*-===//

#ifndef ATTN_TEST_UNIT_REFERENCE_TESTHELPERS_H
#define ATTN_TEST_UNIT_REFERENCE_TESTHELPERS_H

#include "attn/Reference/Evaluator.h"
#include "attn/Support/Random.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "gtest/gtest.h"
#include <array>
#include <limits>

namespace attn::test {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The context that all tests of the program share.
mlir::MLIRContext &getContext();

/// Parses a module; fails the test if that is not possible.
mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text);

/// The last function of a module.
mlir::func::FuncOp getEntry(mlir::ModuleOp module);

/// A tensor of the given elements; one element fills it.
Tensor makeTensor(DType dtype, llvm::ArrayRef<int64_t> shape,
                  llvm::ArrayRef<double> elements);
Tensor makeScalar(DType dtype, double value);
/// Standard normal numbers.
Tensor makeRandom(DType dtype, llvm::ArrayRef<int64_t> shape, uint64_t seed);

/// The text of a function of one attention, with arguments q, k, v and the
/// captures, which the regions name %c0, %c1, ..., and results o and lse.
/// Regions name their other arguments %s, %b, %h, %i, %j. Sizes are dynamic but
/// for the head dimensions.
struct AttentionText {
  DType dtype = DType::F64;
  int64_t dim = 1;
  int64_t valueDim = 1;
  std::vector<std::string> captures = {};
  /// An #attn.sparsity and the types of its operands, which are the arguments
  /// behind the captures.
  std::string sparsity = "";
  std::vector<std::string> sparsityTypes = {};
  /// Operations up to the yield; no region if empty.
  std::string score = "";
  std::string mask = "";
  /// Between the name and `ins`: scale and layouts.
  std::string attributes = "";
  /// Permutations of bhsd, of q, k, v and o.
  std::array<std::string, 4> layouts = {"bhsd", "bhsd", "bhsd", "bhsd"};

  std::string str() const;
};

using Results = std::vector<EvaluatedTensor>;

/// Evaluates the last function of a module. On an error the test fails.
Results evaluate(llvm::StringRef text, llvm::ArrayRef<const Tensor *> inputs,
                 EvaluatorOptions options = {});
Results evaluate(mlir::ModuleOp module, llvm::ArrayRef<const Tensor *> inputs,
                 EvaluatorOptions options = {});

/// The text of the error of an evaluation; fails the test if there is none.
std::string getError(llvm::StringRef text,
                     llvm::ArrayRef<const Tensor *> inputs,
                     EvaluatorOptions options = {});

inline EvaluatorOptions eager() {
  EvaluatorOptions options;
  options.mode = EvalMode::Eager;
  return options;
}

} // namespace attn::test

#endif // ATTN_TEST_UNIT_REFERENCE_TESTHELPERS_H
