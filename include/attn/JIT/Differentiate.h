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
  /// Names of the arguments to compute gradients with respect to; if empty, all
  /// arguments of floats, except those that only masks read.
  std::vector<std::string> wrt;
  /// Whether scalar arguments are left out if `wrt` is empty. Kernels for a GPU
  /// return no gradients of scalars.
  bool tensorsOnly = false;
  /// Whether the program computes the results and returns them too, instead of
  /// taking them as arguments.
  bool joint = false;
  /// Whether the last bits of a gradient may differ from run to run, which is
  /// faster on a GPU.
  bool nondeterministic = false;
};

/// The text of a program that computes the gradients of `program`, with one
/// public function (see attn-differentiate). It is compiled like any program.
/// It has the locations of `program`, so that diagnostics point there.
llvm::Expected<std::string>
differentiate(llvm::StringRef program,
              const DifferentiateOptions &options = {});

} // namespace attn

#endif // ATTN_JIT_DIFFERENTIATE_H
