//===- ApplyTuning.cpp - Schedules of a database, written into a program --===//

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "attn/JIT/TuningSpace.h"
#include "attn/Tune/Database.h"
#include "attn/Tune/Passes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNAPPLYTUNINGPASS
#include "attn/Tune/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
namespace tune = ::attn::tune;

/// The attentions of a function, and of those that it calls.
static void collectAttentions(func::FuncOp function,
                              SetVector<Operation *> &attentions,
                              DenseSet<Operation *> &visited) {
  if (!visited.insert(function).second)
    return;
  function.walk([&](Operation *op) {
    if (isa<AttentionLikeOpInterface>(op))
      attentions.insert(op);
    if (auto call = dyn_cast<func::CallOp>(op))
      if (auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
              call, call.getCalleeAttr()))
        collectAttentions(callee, attentions, visited);
  });
}

/// The entry for a function whose arguments leave so many extents open; null,
/// with a reason, if there is none.
static const tune::Entry *choose(ArrayRef<tune::Entry> entries,
                                 ArrayRef<int64_t> extents, bool areExtents,
                                 std::string &reason) {
  if (entries.empty()) {
    reason = "nothing is known of the program";
    return nullptr;
  }
  bool isSame = llvm::all_of(entries, [&](const tune::Entry &entry) {
    return entry.schedule == entries[0].schedule;
  });
  if (!areExtents && isSame)
    return &entries[0];
  if (!areExtents && !entries[0].bucket.empty()) {
    reason = "schedules differ with the extents, which no option tells";
    return nullptr;
  }
  tune::Source source;
  const tune::Entry *entry = tune::chooseEntry(
      entries, tune::getBucket(extents), entries[0].version, source);
  if (!entry)
    reason = "nothing is known of such extents";
  return entry;
}

/// What the context says meanwhile, in place of its handlers.
namespace {
class Listener {
public:
  explicit Listener(MLIRContext *context)
      : handler(context, [&](Diagnostic &diagnostic) {
          if (text.empty())
            text = diagnostic.str();
          return success();
        }) {}

  std::string text;

private:
  ScopedDiagnosticHandler handler;
};
} // namespace

/// Gives attentions a schedule, all or none.
static LogicalResult apply(StringRef text, ArrayRef<Operation *> attentions,
                           std::string &reason) {
  Listener listener(attentions[0]->getContext());
  auto schedule = dyn_cast_or_null<ScheduleAttrInterface>(
      parseAttribute(text, attentions[0]->getContext()));
  auto fail = [&] {
    reason = ("the schedule " + text + " is not legal: " +
              (listener.text.empty() ? "expects a schedule" : listener.text))
                 .str();
    return failure();
  };
  if (!schedule)
    return fail();
  for (Operation *op : attentions)
    op->setAttr("schedule", schedule);
  if (llvm::all_of(attentions, [](Operation *op) {
        return succeeded(verify(op, /*verifyRecursively=*/false));
      }))
    return success();
  for (Operation *op : attentions)
    op->removeAttr("schedule");
  return fail();
}

namespace {
struct AttnApplyTuning
    : public mlir::attn::impl::AttnApplyTuningPassBase<AttnApplyTuning> {
  using AttnApplyTuningPassBase::AttnApplyTuningPassBase;

  void runOnOperation() override {
    if (file.empty()) {
      getOperation().emitError("expects a tuning database as the option file");
      return signalPassFailure();
    }
    if (llvm::any_of(extents, [](int64_t extent) { return extent < 0; })) {
      getOperation().emitError("expects extents of 0 or more");
      return signalPassFailure();
    }
    llvm::Expected<tune::Database> database = tune::Database::read(file);
    auto entries =
        database
            ? database->getEntries()
            : llvm::Expected<std::vector<tune::Entry>>(database.takeError());
    if (!entries) {
      getOperation().emitError(llvm::toString(entries.takeError()));
      return signalPassFailure();
    }
    llvm::erase_if(*entries, [&](const tune::Entry &entry) {
      return !StringRef(entry.device).starts_with(device);
    });
    // Of several versions the last one that was tuned with.
    llvm::sort(*entries, [](const tune::Entry &a, const tune::Entry &b) {
      return std::tie(b.time, b.version, b.bucket) <
             std::tie(a.time, a.version, a.bucket);
    });
    std::string text;
    llvm::raw_string_ostream os(text);
    getOperation().print(os, OpPrintingFlags().enableDebugInfo());
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isDeclaration())
        if (failed(applyTo(function, text, *entries)))
          return signalPassFailure();
  }

private:
  LogicalResult applyTo(func::FuncOp function, const std::string &text,
                        ArrayRef<tune::Entry> all) {
    SetVector<Operation *> found;
    DenseSet<Operation *> visited;
    collectAttentions(function, found, visited);
    SmallVector<Operation *> attentions = llvm::filter_to_vector(
        found, [](Operation *op) { return !op->hasAttr("schedule"); });
    if (attentions.empty())
      return success();
    auto tell = [&](StringRef name, const Twine &what) {
      auto opts = remark::RemarkOpts::name(name)
                      .category(kRemarkCategory)
                      .function(function.getName());
      if (name == "tuned")
        remark::passed(function.getLoc(), opts)
            << remark::add("{0}", what.str());
      else
        remark::missed(function.getLoc(), opts)
            << remark::add("{0}", what.str());
      return success();
    };
    ::attn::CompileOptions options;
    options.entry = function.getName().str();
    llvm::Expected<std::string> hash = ::attn::getProgramHash(text, options);
    if (!hash)
      return tell(
          "not-tuned",
          "it does not compile: " +
              StringRef(llvm::toString(hash.takeError())).split('\n').first);
    std::vector<tune::Entry> entries(all.begin(), all.end());
    llvm::erase_if(entries, [&](const tune::Entry &entry) {
      return entry.program != *hash;
    });
    for (const tune::Entry &entry : entries)
      if (!extents.empty() && extents.size() != entry.bucket.size())
        return function.emitError("expects ")
               << entry.bucket.size() << " extents, but got " << extents.size();
    for (const tune::Entry &entry : entries)
      if (entry.device != entries[0].device)
        return function.emitError("expects entries of one device, but got '")
               << entries[0].device << "' and '" << entry.device
               << "'; name one with the option device";
    // Those of older versions tell nothing of other extents.
    std::set<tune::Bucket> buckets;
    llvm::erase_if(entries, [&](const tune::Entry &entry) {
      return !buckets.insert(entry.bucket).second;
    });
    std::string reason;
    const tune::Entry *entry =
        choose(entries, extents, !extents.empty(), reason);
    if (!entry)
      return tell("not-tuned", reason);
    if (entry->schedule.empty())
      return tell("not-tuned", "the compiler's choice is fastest");
    if (failed(apply(entry->schedule, attentions, reason)))
      return tell("not-tuned", reason);
    return tell(
        "tuned",
        llvm::formatv(
            "{0}, tuned for {1} on {2}: {3:F1} us, untuned "
            "{4:F1} us{5}",
            entry->schedule, entry->extents, entry->device,
            1e6 * entry->seconds, 1e6 * entry->untunedSeconds,
            entry->threads == 0
                ? ""
                : llvm::formatv(", with {0} threads", entry->threads).str())
            .str());
  }
};
} // namespace
