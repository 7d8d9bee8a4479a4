//===- TunedKernel.cpp - Kernels with schedules that were tuned -----------===//

#include "TunedKernel.h"
#include "attn/JIT/TuningSpace.h"
#include "attn/Support/Log.h"
#include "attn/Tune/Database.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include <atomic>
#include <map>
#include <mutex>

using namespace attn;

namespace {
class TunedKernel : public LoadedKernel {
public:
  TunedKernel(std::string program, CompileOptions options,
              std::shared_ptr<const LoadedKernel> usual,
              std::vector<tune::Entry> entries, std::string version)
      : LoadedKernel(*usual), program(std::move(program)),
        options(std::move(options)), usual(std::move(usual)),
        entries(std::move(entries)), version(std::move(version)) {}

  bool isOnHost(size_t input) const override { return usual->isOnHost(input); }

  llvm::Expected<CodeChoice>
  explain(llvm::ArrayRef<TensorView> inputs) const override;

  std::vector<size_t> getPreparedInputs() const override {
    return usual->getPreparedInputs();
  }

protected:
  llvm::Error execute(llvm::ArrayRef<TensorView> inputs,
                      llvm::ArrayRef<TensorView> results,
                      const RunOptions &options) const override;
  llvm::Expected<std::shared_ptr<Prepared>>
  computePrepared(llvm::ArrayRef<TensorView> inputs,
                  const RunOptions &options) const override;
  bool owns(const Prepared &prepared,
            llvm::ArrayRef<TensorView> inputs) const override;

private:
  /// What calls with extents of a bucket run.
  struct Choice {
    /// Null for `usual`.
    std::shared_ptr<const LoadedKernel> kernel;
    unsigned threads = 0;
    /// CodeChoice::source, and why it is that.
    std::string source = "model", reason;
    std::optional<double> measured;
    /// The one of `entries` that decided, as long as it is legal.
    const tune::Entry *entry = nullptr;
    std::once_flag made;
    /// Whether a call has found that the kernel cannot run, and why; the reason
    /// is kept by `mutex`.
    std::atomic<bool> hasFailed = false;
    std::string failure;
  };

  Choice &choose(llvm::ArrayRef<TensorView> inputs) const;
  void makeChoice(const tune::Bucket &bucket, Choice &choice) const;
  /// What came of a choice's kernel, whose error is the call's if it is wrong
  /// for any schedule. After another one, which this takes, `usual` is to run.
  llvm::Error takeFailure(Choice &choice, llvm::Error error) const;
  std::shared_ptr<const LoadedKernel> getKernel(const std::string &schedule,
                                                std::string &failure) const;
  std::string program;
  CompileOptions options;
  std::shared_ptr<const LoadedKernel> usual;
  std::vector<tune::Entry> entries;
  std::string version;
  /// Of the maps, whose members are made once, and without it: a compilation
  /// makes no other call wait than those that need it.
  mutable std::mutex mutex;
  mutable std::map<tune::Bucket, Choice> choices;
  struct Made {
    std::once_flag made;
    std::shared_ptr<const LoadedKernel> kernel;
    std::string failure;
  };
  mutable std::map<std::string, Made> kernels;
};
} // namespace

std::shared_ptr<const LoadedKernel>
TunedKernel::getKernel(const std::string &schedule,
                       std::string &failure) const {
  auto &made = [&]() -> Made & {
    std::lock_guard<std::mutex> lock(mutex);
    return kernels[schedule];
  }();
  std::call_once(made.made, [&] {
    CompileOptions own = options;
    own.schedule = schedule;
    llvm::Expected<KernelPackage> package = compileToPackage(program, own);
    llvm::Expected<std::shared_ptr<const LoadedKernel>> loaded =
        package ? loadPackage(std::move(*package)) : package.takeError();
    if (loaded)
      made.kernel = std::move(*loaded);
    else
      made.failure = llvm::toString(loaded.takeError());
  });
  failure = made.failure;
  return made.kernel;
}

void TunedKernel::makeChoice(const tune::Bucket &bucket, Choice &choice) const {
  tune::Source source;
  const tune::Entry *entry =
      tune::chooseEntry(entries, bucket, version, source);
  if (!entry) {
    choice.reason = "the model of costs: nothing is known of such extents";
    return;
  }
  choice.reason = llvm::formatv(
      "tuned for {0}{1}{2}: {3:F1} us, untuned {4:F1} us", entry->extents,
      source == tune::Source::Nearest ? ", the nearest extents" : "",
      entry->version == version ? "" : ", with " + entry->version,
      1e6 * entry->seconds, 1e6 * entry->untunedSeconds);
  choice.source = source == tune::Source::Exact     ? "exact"
                  : source == tune::Source::Nearest ? "nearest"
                                                    : "other-version";
  // Code of another version took another time.
  if (source == tune::Source::Exact)
    choice.measured = entry->seconds;
  choice.entry = entry;
  // Others are those of a damaged entry.
  choice.threads = std::max<int64_t>(entry->threads, 0);
  if (entry->schedule.empty()) {
    choice.reason += "; the compiler's choice is best";
    return;
  }
  std::string failure;
  choice.kernel = getKernel(entry->schedule, failure);
  if (!choice.kernel) {
    choice.entry = nullptr;
    choice.threads = 0;
    choice.measured = std::nullopt;
    choice.source = "model";
    choice.reason = "the model of costs: the tuned schedule " +
                    entry->schedule + " is no longer legal: " +
                    llvm::StringRef(failure).split('\n').first.str();
  } else {
    choice.reason = entry->schedule + ", " + choice.reason;
  }
}

TunedKernel::Choice &
TunedKernel::choose(llvm::ArrayRef<TensorView> inputs) const {
  tune::Bucket bucket = tune::getBucket(
      getFreeExtents(getMetadata().inputs, [&](size_t input, size_t dim) {
        return inputs[input].shape[dim];
      }));
  auto &choice = [&]() -> Choice & {
    std::lock_guard<std::mutex> lock(mutex);
    return choices[bucket];
  }();
  std::call_once(choice.made, [&] {
    makeChoice(bucket, choice);
    if (isLogEnabled("tune"))
      log("tune", "@" + getMetadata().entry + ", bucket " +
                      tune::formatBucket(bucket) + ": " + choice.reason);
  });
  return choice;
}

llvm::Expected<CodeChoice>
TunedKernel::explain(llvm::ArrayRef<TensorView> inputs) const {
  llvm::Expected<CodeChoice> usualChoice = usual->explain(inputs);
  if (!usualChoice)
    return usualChoice;
  const Choice &choice = choose(inputs);
  auto addEntries = [&](CodeChoice &told) {
    for (const tune::Entry &entry : entries)
      told.tuned.push_back({entry.schedule, entry.threads, entry.extents,
                            entry.version, entry.seconds, entry.untunedSeconds,
                            !choice.hasFailed && &entry == choice.entry});
  };
  if (choice.hasFailed) {
    std::lock_guard<std::mutex> lock(mutex);
    usualChoice->text =
        "the model of costs: a tuned schedule cannot run: " + choice.failure;
    addEntries(*usualChoice);
    return usualChoice;
  }
  llvm::Expected<CodeChoice> told =
      choice.kernel ? choice.kernel->explain(inputs) : std::move(usualChoice);
  if (!told)
    return told;
  addEntries(*told);
  told->source = choice.source;
  told->text = choice.reason;
  told->measured = choice.measured;
  if (choice.threads != 0)
    told->text += llvm::formatv(", {0} threads", choice.threads);
  return told;
}

bool TunedKernel::owns(const Prepared &prepared,
                       llvm::ArrayRef<TensorView> inputs) const {
  const LoadedKernel *owner = &getKernelOf(prepared);
  return owner == usual.get() || owner == choose(inputs).kernel.get();
}

llvm::Error TunedKernel::takeFailure(Choice &choice, llvm::Error error) const {
  std::error_code code;
  error = llvm::handleErrors(std::move(error),
                             [&](std::unique_ptr<llvm::ErrorInfoBase> info) {
                               code = info->convertToErrorCode();
                               return llvm::Error(std::move(info));
                             });
  // What the arguments hold is wrong for any schedule.
  if (code == std::errc::result_out_of_range)
    return error;
  std::string text = llvm::toString(std::move(error));
  // One schedule is not for any strides, which the usual kernel is. Without
  // memory, or if it cannot be loaded, it is not worth another attempt.
  if (code != std::errc::invalid_argument) {
    if (isLogEnabled("tune"))
      log("tune", "@" + getMetadata().entry +
                      ": the compiler's choice runs instead of a tuned "
                      "schedule, which cannot: " +
                      text);
    std::lock_guard<std::mutex> lock(mutex);
    choice.failure = std::move(text);
    choice.hasFailed = true;
  }
  return llvm::Error::success();
}

llvm::Expected<std::shared_ptr<Prepared>>
TunedKernel::computePrepared(llvm::ArrayRef<TensorView> inputs,
                             const RunOptions &options) const {
  Choice &choice = choose(inputs);
  auto prepare = [&](const LoadedKernel &kernel)
      -> llvm::Expected<std::shared_ptr<Prepared>> {
    llvm::Expected<std::shared_ptr<const Prepared>> made =
        kernel.prepare(inputs, options);
    if (!made)
      return made.takeError();
    return std::const_pointer_cast<Prepared>(*made);
  };
  if (choice.kernel && !choice.hasFailed) {
    llvm::Expected<std::shared_ptr<Prepared>> made = prepare(*choice.kernel);
    if (made)
      return made;
    if (llvm::Error error = takeFailure(choice, made.takeError()))
      return std::move(error);
  }
  return prepare(*usual);
}

llvm::Error TunedKernel::execute(llvm::ArrayRef<TensorView> inputs,
                                 llvm::ArrayRef<TensorView> results,
                                 const RunOptions &options) const {
  Choice &choice = choose(inputs);
  // What `usual` has prepared, before or after the choice has failed.
  bool isOfUsual =
      options.prepared && &getKernelOf(*options.prepared) == usual.get();
  if (!choice.hasFailed) {
    RunOptions own = options;
    if (own.threads == 0)
      own.threads = choice.threads;
    if (!choice.kernel || isOfUsual)
      return executeOf(*usual, inputs, results, own);
    llvm::Error error = executeOf(*choice.kernel, inputs, results, own);
    if (!error)
      return error;
    error = takeFailure(choice, std::move(error));
    if (error)
      return error;
  }
  // It has no use for the tables of another kernel.
  RunOptions own = options;
  if (!isOfUsual)
    own.prepared = nullptr;
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
  const tune::Shipped &shipped = tune::getShipped();
  if (shipped.entries.empty() && shipped.error.empty() &&
      (file.empty() || !llvm::sys::fs::exists(file)))
    return kernel;
  llvm::Expected<std::string> hash = getProgramHash(program, options);
  if (!hash) {
    llvm::consumeError(hash.takeError());
    return kernel;
  }
  std::vector<tune::Entry> entries = tune::findEntries(*hash, note);
  if (entries.empty())
    return kernel;
  // To ask a GPU takes memory of it, which is for programs that were tuned.
  llvm::Expected<TuningPlace> place = getTuningPlace(options);
  if (!place) {
    llvm::consumeError(place.takeError());
    return kernel;
  }
  llvm::erase_if(entries, [&](const tune::Entry &entry) {
    return entry.device != place->device;
  });
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
