//===- Arguments.h - The inputs of a run ------------------------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_ARGUMENTS_H
#define ATTN_TOOLS_ATTNRUN_ARGUMENTS_H

#include "Options.h"
#include "Sizes.h"
#include "attn/JIT/Kernel.h"

namespace attn::cli {

/// An input of a run.
struct Argument {
  std::string name;
  /// Where the numbers come from: "randn", "q.npy".
  std::string source;
  /// Whether the user left some of its sizes to us.
  bool hasChosenSize = false;
  Tensor tensor;
};

/// The names that messages and options have for inputs or results: their own,
/// or their position where they have none.
std::vector<std::string> getNames(llvm::ArrayRef<TensorInfo> infos);

/// The position of the input or result that an option names. `what` is
/// "argument" or "result".
llvm::Expected<unsigned> findByName(llvm::StringRef name, llvm::StringRef what,
                                    llvm::ArrayRef<std::string> names);

/// Makes the inputs of a kernel, which was made from `function`, as the options
/// tell, and takes note of their shapes in `sizes`.
llvm::Expected<std::vector<Argument>> makeArguments(const Kernel &kernel,
                                                    mlir::func::FuncOp function,
                                                    const Options &options,
                                                    Sizes &sizes);

/// The bytes of memory that this process may have.
uint64_t getMemoryLimit();

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_ARGUMENTS_H
