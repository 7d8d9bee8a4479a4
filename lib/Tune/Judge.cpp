//===- Judge.cpp - Whether a candidate's results are right ----------------===//

#include "Judge.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Pipelines/RegisterDialects.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

using namespace attn;
using namespace attn::tune;
using llvm::Error;
using llvm::Expected;

/// Operations that the reference may take for a tuning, which it evaluates one
/// by one.
static constexpr double kBudget = 4e9;

/// How many rows of each head are evaluated, 0 for all; none if even the fewest
/// take too long.
static std::optional<int64_t>
chooseRows(mlir::func::FuncOp function, llvm::ArrayRef<const Tensor *> inputs) {
  double elements = 0, longest = 1;
  for (const Tensor *input : inputs) {
    elements = std::max(elements, double(input->getNumElements()));
    for (int64_t extent : input->getShape())
      longest = std::max(longest, double(extent));
  }
  constexpr double perElement = 4;
  constexpr double least = 16;
  if (perElement * elements * longest <= kBudget)
    return 0;
  // What is computed with further, and gradients, are evaluated in full.
  auto walk = function.walk([](mlir::attn::AttentionLikeOpInterface op) {
    bool isReturned = llvm::all_of(op->getUsers(), [](mlir::Operation *user) {
      return mlir::isa<mlir::func::ReturnOp>(user);
    });
    return isReturned && mlir::isa<mlir::attn::AttentionOp>(*op)
               ? mlir::WalkResult::advance()
               : mlir::WalkResult::interrupt();
  });
  bool isSampled =
      !walk.wasInterrupted() && function.getOps<mlir::func::CallOp>().empty();
  if (!isSampled || least * perElement * elements > kBudget)
    return std::nullopt;
  return int64_t(kBudget / (perElement * elements));
}

Error Judge::evaluate() {
  mlir::DialectRegistry registry;
  mlir::attn::registerCompilerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(program, &context);
  mlir::func::FuncOp entry;
  if (module)
    for (auto function : module->getOps<mlir::func::FuncOp>())
      if (!function.isDeclaration() &&
          (options.entry.empty() ? function.isPublic()
                                 : function.getName() == options.entry))
        entry = function;
  if (!entry)
    return llvm::createStringError("the program has no entry");
  std::optional<int64_t> rows = chooseRows(entry, inputs);
  if (!rows)
    return Error::success();
  auto evaluate = [&](EvalMode mode,
                      std::vector<EvaluatedTensor> &to) -> Error {
    EvaluatorOptions evaluator;
    evaluator.mode = mode;
    evaluator.maxRows = *rows;
    Expected<std::vector<EvaluatedTensor>> values =
        Evaluator(evaluator).evaluate(entry, inputs);
    if (!values)
      return values.takeError();
    to = std::move(*values);
    return Error::success();
  };
  if (Error error = evaluate(EvalMode::Float64, reference))
    return error;
  return evaluate(EvalMode::Eager, eager);
}

/// How far results of two schedules may be apart without a reference, as a part
/// of the largest one: they add the same numbers in another order, and round
/// probabilities to the type of the values, each of which is off by half a unit
/// in the last place.
static double getTolerance(DType type) {
  switch (type) {
  case DType::BF16:
    return 8 * 0x1p-8;
  case DType::F16:
    return 8 * 0x1p-11;
  case DType::F32:
    return 256 * 0x1p-24;
  case DType::F64:
    return 256 * 0x1p-53;
  default:
    return 0;
  }
}

Error Judge::check(llvm::ArrayRef<Tensor> results,
                   llvm::ArrayRef<Difference> differences) {
  if (!isEvaluated) {
    // Without a reference the rest of what is asked is asked all the same.
    if (Error error = evaluate()) {
      llvm::consumeError(std::move(error));
      reference.clear();
    }
    isEvaluated = true;
  }
  bool hasReference = reference.size() == results.size();
  for (size_t i = 0; i < results.size(); ++i) {
    double most =
        getTolerance(results[i].getDType()) * differences[i].magnitude;
    if (hasReference) {
      CheckResult result = checkResult(results[i], reference[i], eager[i]);
      if (!result.pass)
        return llvm::createStringError("result " + llvm::Twine(i) + ": " +
                                       result.reason);
      most = 2 * result.maxBound;
    }
    if (differences[i].difference > most)
      return llvm::createStringError(
          llvm::formatv("result {0} is off by {1:e} of at most {2:e}", i,
                        differences[i].difference, most)
              .str());
  }
  return Error::success();
}
