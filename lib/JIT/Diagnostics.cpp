//===- Diagnostics.cpp - Diagnostics and remarks as text ------------------===//

#include "attn/JIT/Diagnostics.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;

static llvm::StringRef getSeverityName(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Note:
    return "note";
  case mlir::DiagnosticSeverity::Warning:
    return "warning";
  case mlir::DiagnosticSeverity::Error:
    return "error";
  case mlir::DiagnosticSeverity::Remark:
    return "remark";
  }
  llvm_unreachable("unknown severity");
}

/// Appends a line "file:line:column: severity: text".
static void append(std::string &text, mlir::Location loc,
                   llvm::StringRef severity, const llvm::Twine &message) {
  llvm::raw_string_ostream os(text);
  if (!text.empty())
    os << "\n";
  std::string place = mlir::attn::getLocationText(loc);
  if (!place.empty())
    os << place << ": ";
  os << severity << ": " << message;
}

static void append(std::string &text, const mlir::Diagnostic &diagnostic) {
  append(text, diagnostic.getLocation(),
         getSeverityName(diagnostic.getSeverity()), diagnostic.str());
  for (const mlir::Diagnostic &note : diagnostic.getNotes()) {
    // Notes that print the operation are for developers of passes.
    std::string message = note.str();
    if (!llvm::StringRef(message).starts_with("see current operation"))
      append(text, note.getLocation(), "note", message);
  }
}

DiagnosticCollector::DiagnosticCollector(mlir::MLIRContext *context)
    : handler(context, [this](mlir::Diagnostic &diagnostic) {
        bool isError =
            diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
        append(isError ? errors : warnings, diagnostic);
        isForOtherTarget &=
            !isError || mlir::attn::isForOtherTarget(diagnostic);
      }) {}

llvm::Error DiagnosticCollector::takeError(const llvm::Twine &fallback) {
  std::string text = std::move(errors);
  errors.clear();
  bool isKnown = std::exchange(isForOtherTarget, true) && !text.empty();
  return makeCompileError(
      text.empty() ? "error: " + fallback : llvm::Twine(text), isKnown);
}

llvm::Error attn::makeCompileError(const llvm::Twine &text,
                                   bool isForOtherTarget) {
  return llvm::createStringError(
      isForOtherTarget ? std::make_error_code(std::errc::not_supported)
                       : llvm::inconvertibleErrorCode(),
      text);
}

llvm::Error attn::makeOptionError(const llvm::Twine &text) {
  return llvm::createStringError(
      std::make_error_code(std::errc::invalid_argument), text);
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

namespace {
class RemarkWriter : public mlir::remark::detail::MLIRRemarkStreamerBase {
public:
  explicit RemarkWriter(std::vector<CompileReport::Remark> &remarks)
      : remarks(remarks) {}
  void
  streamOptimizationRemark(const mlir::remark::detail::Remark &remark) final {
    CompileReport::Remark &kept = remarks.emplace_back();
    kept.location = mlir::attn::getLocationText(remark.getLocation());
    kept.name = remark.getRemarkName().str();
    // What is said, and then the numbers.
    std::string &message = kept.text, numbers;
    for (const mlir::remark::detail::Remark::Arg &arg : remark.getArgs()) {
      if (arg.key == mlir::attn::kScheduleRemarkKey)
        kept.schedule = arg.val;
      else if (arg.key == "Remark")
        message += (message.empty() ? "" : "; ") + arg.val;
      else
        numbers += (numbers.empty() ? "" : ", ") + arg.key + " = " + arg.val;
    }
    if (!numbers.empty())
      message += " (" + numbers + ")";
  }

private:
  std::vector<CompileReport::Remark> &remarks;
};
} // namespace

RemarkCollector::RemarkCollector(mlir::MLIRContext *context,
                                 std::vector<CompileReport::Remark> &remarks) {
  if (context->getRemarkEngine())
    return;
  mlir::remark::RemarkCategories categories;
  // `all` alone adds to those that are set, and sets none.
  for (auto member : {&mlir::remark::RemarkCategories::passed,
                      &mlir::remark::RemarkCategories::missed,
                      &mlir::remark::RemarkCategories::analysis,
                      &mlir::remark::RemarkCategories::failed})
    categories.*member = mlir::attn::kRemarkCategory.str();
  if (mlir::succeeded(mlir::remark::enableOptimizationRemarks(
          *context, std::make_unique<RemarkWriter>(remarks),
          std::make_unique<mlir::remark::RemarkEmittingPolicyAll>(),
          categories)))
    this->context = context;
}

RemarkCollector::~RemarkCollector() {
  if (context)
    context->setRemarkEngine(nullptr);
}
