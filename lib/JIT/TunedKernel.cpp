//===- TunedKernel.cpp - Kernels with schedules that were tuned -----------===//

#include "TunedKernel.h"
#include "attn/JIT/TuningSpace.h"
#include "attn/Support/Log.h"
#include "attn/Tune/Database.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>
#include <mutex>

using namespace attn;

namespace {
class TunedKernel : public LoadedKernel {
public:
  TunedKernel(std::string program, CompileOptions options,
              std::shared_ptr<const LoadedKernel> usual,
              std::vector<tune::Entry> entries, std::string version)
      : LoadedKernel(usual->getPackage()), program(std::move(program)),
        options(std::move(options)), usual(std::move(usual)),
        entries(std::move(entries)), version(std::move(version)) {}

  bool isOnHost(size_t input) const override { return usual->isOnHost(input); }

  llvm::Expected<CodeChoice>
  explain(llvm::ArrayRef<TensorView> inputs) const override;

protected:
  llvm::Error execute(llvm::ArrayRef<TensorView> inputs,
                      llvm::ArrayRef<TensorView> results,
                      const RunOptions &options) const override;

private:
  /// What calls with extents of a bucket run.
  struct Choice {
    /// Null for `usual`.
    std::shared_ptr<const LoadedKernel> kernel;
    unsigned threads = 0;
    /// CodeChoice::source, and why it is that.
    std::string source = "model", reason;
  };

  const Choice &choose(llvm::ArrayRef<TensorView> inputs) const;
  Choice makeChoice(const tune::Bucket &bucket) const;
  std::shared_ptr<const LoadedKernel> getKernel(const std::string &schedule,
                                                std::string &failure) const;

  std::string program;
  CompileOptions options;
  std::shared_ptr<const LoadedKernel> usual;
  std::vector<tune::Entry> entries;
  std::string version;
  mutable std::mutex mutex;
  mutable std::map<tune::Bucket, Choice> choices;
  struct Made {
    std::shared_ptr<const LoadedKernel> kernel;
    std::string failure;
  };
  mutable std::map<std::string, Made> kernels;
};
} // namespace

std::shared_ptr<const LoadedKernel>
TunedKernel::getKernel(const std::string &schedule,
                       std::string &failure) const {
  auto [found, isNew] = kernels.try_emplace(schedule);
  Made &made = found->second;
  if (isNew) {
    CompileOptions own = options;
    own.schedule = schedule;
    llvm::Expected<KernelPackage> package = compileToPackage(program, own);
    llvm::Expected<std::shared_ptr<const LoadedKernel>> loaded =
        package ? loadPackage(std::move(*package)) : package.takeError();
    if (loaded)
      made.kernel = std::move(*loaded);
    else
      made.failure = llvm::toString(loaded.takeError());
  }
  failure = made.failure;
  return made.kernel;
}

TunedKernel::Choice TunedKernel::makeChoice(const tune::Bucket &bucket) const {
  tune::Source source;
  const tune::Entry *entry =
      tune::chooseEntry(entries, bucket, version, source);
  Choice choice;
  if (!entry) {
    choice.reason = "the model of costs: nothing is known of such extents";
    return choice;
  }
  choice.reason = llvm::formatv(
      "tuned for {0}{1}{2}: {3:F1} us, untuned {4:F1} us", entry->extents,
      source == tune::Source::Exact ? "" : ", the nearest extents",
      entry->version == version ? "" : ", with " + entry->version,
      1e6 * entry->seconds, 1e6 * entry->untunedSeconds);
  choice.source = source == tune::Source::Exact ? "exact" : "nearest";
  choice.threads = entry->threads;
  if (entry->schedule.empty()) {
    choice.reason += "; the compiler's choice is best";
    return choice;
  }
  std::string failure;
  choice.kernel = getKernel(entry->schedule, failure);
  if (!choice.kernel) {
    choice.threads = 0;
    choice.source = "model";
    choice.reason = "the model of costs: the tuned schedule " +
                    entry->schedule + " is no longer legal: " +
                    llvm::StringRef(failure).split('\n').first.str();
  } else {
    choice.reason = entry->schedule + ", " + choice.reason;
  }
  return choice;
}

const TunedKernel::Choice &
TunedKernel::choose(llvm::ArrayRef<TensorView> inputs) const {
  llvm::SmallVector<int64_t, 16> extents;
  for (auto [info, view] : llvm::zip_equal(getMetadata().inputs, inputs))
    for (auto [dim, extent] : llvm::enumerate(info.shape))
      if (extent < 0)
        extents.push_back(view.shape[dim]);
  tune::Bucket bucket = tune::getBucket(extents);
  std::lock_guard<std::mutex> lock(mutex);
  auto [found, isNew] = choices.try_emplace(bucket);
  if (isNew) {
    found->second = makeChoice(bucket);
    if (isLogEnabled("tune"))
      log("tune", "@" + getMetadata().entry + ", bucket " +
                      tune::formatBucket(bucket) + ": " + found->second.reason);
  }
  return found->second;
}

llvm::Expected<CodeChoice>
TunedKernel::explain(llvm::ArrayRef<TensorView> inputs) const {
  llvm::Expected<CodeChoice> usualChoice = usual->explain(inputs);
  if (!usualChoice)
    return usualChoice;
  const Choice &choice = choose(inputs);
  llvm::Expected<CodeChoice> told =
      choice.kernel ? choice.kernel->explain(inputs) : std::move(usualChoice);
  if (!told)
    return told;
  told->source = choice.source;
  told->text = choice.reason;
  if (choice.threads != 0)
    told->text += llvm::formatv(", {0} threads", choice.threads);
  return told;
}

llvm::Error TunedKernel::execute(llvm::ArrayRef<TensorView> inputs,
                                 llvm::ArrayRef<TensorView> results,
                                 const RunOptions &options) const {
  const Choice &choice = choose(inputs);
  RunOptions own = options;
  if (own.threads == 0)
    own.threads = choice.threads;
  if (choice.kernel) {
    llvm::Error error = executeOf(*choice.kernel, inputs, results, own);
    if (!error)
      return error;
    // One schedule is not for any strides, which the usual kernel is.
    bool isArgument = false;
    error = llvm::handleErrors(std::move(error),
                               [&](std::unique_ptr<llvm::ErrorInfoBase> info) {
                                 isArgument = info->convertToErrorCode() ==
                                              std::errc::invalid_argument;
                                 return llvm::Error(std::move(info));
                               });
    if (!isArgument)
      return error;
    llvm::consumeError(std::move(error));
  }
  return executeOf(*usual, inputs, results, own);
}

std::shared_ptr<const LoadedKernel>
attn::applyTuning(llvm::StringRef program, const CompileOptions &options,
                  std::shared_ptr<const LoadedKernel> kernel,
                  std::string &note) {
  if (options.tuning == Tuning::Off || !options.schedule.empty() ||
      !options.schedules.empty())
    return kernel;
  // Where nobody has tuned, this costs a look at a file.
  std::string file = tune::getUserDatabasePath();
  if (tune::getShippedEntries().empty() &&
      (file.empty() || !llvm::sys::fs::exists(file)))
    return kernel;
  llvm::Expected<TuningPlace> place = getTuningPlace(options);
  llvm::Expected<std::string> hash =
      place ? getProgramHash(program, options) : std::string();
  if (!place || !hash) {
    llvm::consumeError(place.takeError());
    llvm::consumeError(hash.takeError());
    return kernel;
  }
  std::vector<tune::Entry> entries =
      tune::findEntries(*hash, place->device, note);
  if (entries.empty())
    return kernel;
  CompileOptions own = options;
  own.dumpIR = nullptr;
  own.dumpLLVM = nullptr;
  own.dumpPart = nullptr;
  return std::make_shared<TunedKernel>(program.str(), std::move(own),
                                       std::move(kernel), std::move(entries),
                                       std::move(place->version));
}
