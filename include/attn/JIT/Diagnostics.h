//===- Diagnostics.h - Diagnostics and remarks as text ----------*- C++ -*-===//

#ifndef ATTN_JIT_DIAGNOSTICS_H
#define ATTN_JIT_DIAGNOSTICS_H

#include "attn/JIT/CompileReport.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Error.h"
#include <string>

namespace attn {

/// Collects the diagnostics of a context while it lives: errors with their
/// notes, and warnings.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext *context);

  /// An error with the diagnostics so far, or with `fallback` if there is none.
  llvm::Error takeError(const llvm::Twine &fallback);
  std::string takeWarnings() { return std::move(warnings); }

private:
  std::string errors, warnings;
  /// Whether all errors say that another target can run the program.
  bool isForOtherTarget = true;
  mlir::ScopedDiagnosticHandler handler;
};

/// Appends the remarks of a context to `remarks` while it lives. Does nothing
/// for a context that already has remarks set up.
class RemarkCollector {
public:
  RemarkCollector(mlir::MLIRContext *context,
                  std::vector<CompileReport::Remark> &remarks);
  RemarkCollector(const RemarkCollector &) = delete;
  RemarkCollector &operator=(const RemarkCollector &) = delete;
  ~RemarkCollector();

private:
  /// Null if nothing was set up.
  mlir::MLIRContext *context = nullptr;
};

/// An error of the compilation. If the program is right, but not for this
/// target, the code is std::errc::not_supported.
llvm::Error makeCompileError(const llvm::Twine &text,
                             bool isForOtherTarget = false);
/// An error in an option of the compilation, independent of the program, with
/// code std::errc::invalid_argument.
llvm::Error makeOptionError(const llvm::Twine &text);

} // namespace attn

#endif // ATTN_JIT_DIAGNOSTICS_H
