//===- Differentiate.h - Programs that compute gradients --------*- C++ -*-===//

#ifndef ATTN_JIT_DIFFERENTIATE_H
#define ATTN_JIT_DIFFERENTIATE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace attn {

struct DifferentiateOptions {
  /// The function to differentiate; if empty, the only public one.
  std::string entry;
  /// The name of the program in diagnostics.
  std::string bufferName = "<input>";
  /// Names of the arguments to compute gradients with respect to; if empty,
  /// all of floats, but for those that only masks depend on.
  std::vector<std::string> wrt;
  /// Without names, whether numbers are left out. Kernels for a GPU have no
  /// result for the gradient of one.
  bool tensorsOnly = false;
  /// Whether the program computes and returns the results too, and does not
  /// take them as arguments.
  bool joint = false;
  /// Whether the last bits of a gradient may differ from run to run, which
  /// saves a GPU some time.
  bool nondeterministic = false;
};

/// The program that computes the gradients of another one, with one public
/// function (see attn-differentiate), to be compiled as any program. Its text
/// has the locations of the other one, so that diagnostics point there.
llvm::Expected<std::string>
differentiate(llvm::StringRef program,
              const DifferentiateOptions &options = {});

} // namespace attn

#endif // ATTN_JIT_DIFFERENTIATE_H
