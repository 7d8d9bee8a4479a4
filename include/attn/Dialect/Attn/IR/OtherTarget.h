//===- OtherTarget.h - Errors that another target does not have -*- C++ -*-===//

#ifndef ATTN_DIALECT_ATTN_IR_OTHERTARGET_H
#define ATTN_DIALECT_ATTN_IR_OTHERTARGET_H

#include "mlir/IR/Diagnostics.h"

namespace mlir::attn {

/// Ends an error of a program that is right, but not for this target: with the
/// way out, and with a mark by which a caller can tell.
struct OtherTarget {};
inline constexpr OtherTarget otherTarget;

/// The mark, in the metadata of a diagnostic.
inline constexpr llvm::StringLiteral kOtherTargetMark = "attn.other_target";

inline InFlightDiagnostic &&operator<<(InFlightDiagnostic &&diagnostic,
                                       OtherTarget) {
  Diagnostic *own = diagnostic.getUnderlyingDiagnostic();
  own->getMetadata().push_back(DiagnosticArgument(kOtherTargetMark));
  *own << "; the target cpu can run it";
  return std::move(diagnostic);
}

inline bool isForOtherTarget(Diagnostic &diagnostic) {
  return llvm::any_of(
      diagnostic.getMetadata(), [](const DiagnosticArgument &argument) {
        return argument.getKind() ==
                   DiagnosticArgument::DiagnosticArgumentKind::String &&
               argument.getAsString() == kOtherTargetMark;
      });
}

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTN_IR_OTHERTARGET_H
