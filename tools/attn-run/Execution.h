//===- Execution.h - Running a kernel on tensors ----------------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_EXECUTION_H
#define ATTN_TOOLS_ATTNRUN_EXECUTION_H

#include "Arguments.h"
#include "attn/Tune/GPU.h"
#include <deque>
#include <memory>

namespace attn::cli {

/// A kernel, its inputs, and room for its results.
class Execution {
public:
  /// Asks the kernel for the shapes of the results and allocates them.
  static llvm::Expected<Execution> create(const Kernel &kernel,
                                          std::vector<Argument> arguments,
                                          const Options &options);
  /// The same with the inputs of another one.
  static llvm::Expected<Execution>
  create(const Kernel &kernel, const Execution &other, const Options &options);

  /// What the results hold before a run. Both are NaN in each floating-point
  /// type, so that an element that a run leaves out stands out.
  enum class Poison { First, Second };

  /// Poisons the results and runs the kernel.
  llvm::Error run(Poison poison = Poison::First);
  /// Runs the kernel once or, on a GPU, up to `count` times, and returns the
  /// seconds of each run. With Options::cold, the caches of a GPU are flushed
  /// before each.
  llvm::Expected<std::vector<double>> measure(size_t count);

  /// Which code a run takes.
  llvm::Expected<CodeChoice> explain() const {
    return kernel.getLoaded()->explain(inputViews);
  }

  /// The GPU that it runs on, or null.
  const GPU *getGPU() const { return gpu ? &*gpu : nullptr; }

  llvm::ArrayRef<Argument> getArguments() const { return *arguments; }
  llvm::ArrayRef<std::string> getResultNames() const { return resultNames; }
  std::vector<Tensor> &getResults() { return results; }
  const std::vector<Tensor> &getResults() const { return results; }

  /// The bytes of the results.
  std::vector<llvm::StringRef> getResultBytes() const;
  /// The size of all inputs and results.
  uint64_t getTotalBytes() const;

private:
  using Arguments = std::shared_ptr<std::vector<Argument>>;

  explicit Execution(const Kernel &kernel) : kernel(kernel) {}

  static llvm::Expected<Execution>
  create(const Kernel &kernel, Arguments arguments, const Options &options);

  TensorView makeView(Tensor &tensor);
  llvm::Error runOnCPU();

  Kernel kernel;
  unsigned threads = 0;
  bool isCold = false;
  bool checkLists = false;
  Arguments arguments;
  std::vector<std::string> resultNames;
  std::vector<Tensor> results;
  /// What the views point to; a deque keeps its elements where they are.
  std::deque<Shape> extents;
  std::vector<TensorView> inputViews, resultViews;
  std::optional<GPU> gpu;
};

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_EXECUTION_H
