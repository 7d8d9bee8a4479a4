//===- Checking.cpp - Comparison with the reference -----------------------===//

#include "Checking.h"
#include "llvm/ADT/STLExtras.h"

using namespace attn;
using namespace attn::cli;
using llvm::Error;
using llvm::Expected;

bool CheckReport::passed() const {
  return llvm::all_of(results, [](const CheckResult &r) { return r.pass; }) &&
         llvm::all_of(isRepeated, [](bool isSame) { return isSame; });
}

/// The number of query rows that the reference evaluates in a few seconds, or 0
/// for all: it is as plain as it can be, and therefore slow.
static int64_t chooseRows(const std::optional<Work> &work) {
  constexpr double budget = 2e10;
  constexpr double minRows = 16;
  if (!work || work->operations <= budget)
    return 0;
  return std::max(minRows, work->maxQueries * (budget / work->operations));
}

Expected<CheckReport> cli::checkResults(Execution &execution,
                                        mlir::func::FuncOp function,
                                        const Sizes &sizes,
                                        const Options &options,
                                        Progress &progress) {
  CheckReport report;
  EvaluatorOptions evaluator;
  evaluator.seed = options.seed;
  evaluator.threads = options.threads;
  evaluator.maxRows = report.rows = chooseRows(countWork(function, sizes));
  std::vector<const Tensor *> inputs;
  for (const Argument &argument : execution.getArguments())
    inputs.push_back(&argument.tensor);

  progress.show("evaluating the reference");
  evaluator.mode = EvalMode::Float64;
  Expected<std::vector<EvaluatedTensor>> reference =
      Evaluator(evaluator).evaluate(function, inputs);
  if (!reference)
    return llvm::createStringError("cannot evaluate the reference: " +
                                   llvm::toString(reference.takeError()));
  progress.show("evaluating step by step");
  evaluator.mode = EvalMode::Eager;
  Expected<std::vector<EvaluatedTensor>> eager =
      Evaluator(evaluator).evaluate(function, inputs);
  if (!eager)
    return llvm::createStringError("cannot evaluate step by step: " +
                                   llvm::toString(eager.takeError()));
  for (auto [i, result] : llvm::enumerate(execution.getResults()))
    report.results.push_back(checkResult(result, (*reference)[i], (*eager)[i]));

  progress.show("running again");
  std::vector<std::string> first;
  for (llvm::StringRef bytes : execution.getResultBytes())
    first.push_back(bytes.str());
  if (Error error = execution.run(Execution::Poison::Second))
    return std::move(error);
  for (auto [bytes, before] : llvm::zip(execution.getResultBytes(), first))
    report.isRepeated.push_back(bytes == before);
  return std::move(report);
}
