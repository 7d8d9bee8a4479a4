//===- Tuner.cpp - Measures which schedule is fastest ---------------------===//

#include "attn/Tune/Tuner.h"
#include "Contenders.h"
#include "Folder.h"
#include "attn/JIT/TuningSpace.h"
#include "attn/Runtime/ThreadCount.h"
#include "attn/Support/Files.h"
#include "attn/Support/Npy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <atomic>
#include <thread>

using namespace attn;
using namespace attn::tune;
using llvm::Error;
using llvm::Expected;

std::string tune::describeTrial(llvm::StringRef schedule, int64_t threads) {
  std::string text =
      schedule.empty() ? "the compiler's choice" : schedule.str();
  if (threads != 0)
    text += llvm::formatv(", {0} threads", threads);
  return text;
}

std::string TuneResult::describe() const {
  size_t dropped = llvm::count_if(
      trials, [](const Trial &trial) { return trial.seconds == 0; });
  std::string counts = llvm::formatv(
      "{0} candidates measured, {1} dropped before", entry.tried, dropped);
  if (entry.schedule.empty() && entry.threads == 0)
    return llvm::formatv("the compiler's choice stays, {0:F1} us; {1}",
                         1e6 * entry.seconds, counts);
  std::string what =
      entry.schedule.empty() ? "the compiler's choice" : entry.schedule;
  if (entry.threads != 0)
    what += llvm::formatv(" on {0} thread{1}", entry.threads,
                          entry.threads == 1 ? "" : "s");
  return llvm::formatv("{0} takes {1:F1} us and the compiler's choice {2:F1} "
                       "us, {3:F2} times as long; {4}",
                       what, 1e6 * entry.seconds, 1e6 * entry.untunedSeconds,
                       getSpeedup(), counts);
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

/// Why the compiler would run a kernel only if there were no other, or "".
static std::string findFlaw(const CompileReport &report) {
  auto rejected = report.getRemarks("schedule-rejected");
  return rejected.empty() ? "" : rejected.front().text;
}

/// Compiles candidates on several threads until half of the time is over.
static void compileAll(llvm::StringRef program, const CompileOptions &compile,
                       std::vector<Contender> &contenders,
                       const KernelPackage &incumbent, const Folder &folder,
                       double seconds, Clock::time_point start) {
  std::atomic<size_t> next = 1;
  auto work = [&] {
    for (size_t i; (i = next++) < contenders.size();) {
      Contender &contender = contenders[i];
      std::chrono::duration<double> elapsed = Clock::now() - start;
      if (elapsed.count() > seconds / 2) {
        contender.lacksTime = true;
        contender.verdict = "no time to compile it";
        continue;
      }
      CompileOptions own = compile;
      own.schedule = contender.schedule;
      CompileReport report;
      Expected<KernelPackage> package = compileToPackage(program, own, &report);
      if (!package) {
        // The first line tells enough.
        contender.verdict = "does not compile: " +
                            llvm::StringRef(llvm::toString(package.takeError()))
                                .split('\n')
                                .first.str();
        continue;
      }
      contender.verdict = findFlaw(report);
      if (package->object == incumbent.object && !package->program)
        contender.verdict = "has the code of the compiler's choice";
      if (!contender.verdict.empty())
        continue;
      contender.file = folder.get(llvm::Twine(i) + ".attn");
      if (Error error = writeFile(contender.file, package->toBytes()))
        contender.verdict = llvm::toString(std::move(error));
    }
  };
  std::vector<std::thread> threads;
  size_t count = std::min<size_t>(getNumAvailableCpus(), 8);
  for (size_t i = 0; i < count; ++i)
    threads.emplace_back(work);
  for (std::thread &thread : threads)
    thread.join();
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

static std::string describeShapes(llvm::ArrayRef<TensorInfo> infos,
                                  llvm::ArrayRef<Shape> shapes) {
  std::string text;
  for (auto [info, shape] : llvm::zip(infos, shapes)) {
    if (shape.empty())
      continue;
    text += (text.empty() ? "" : " ") + info.name + "=";
    for (auto [dim, extent] : llvm::enumerate(shape))
      text += (dim == 0 ? "" : "x") + std::to_string(extent);
  }
  return text;
}

/// Puts an entry in a database, but not in place of one that says much more.
static Error keep(Database &database, const Entry &entry,
                  llvm::ArrayRef<Trial> trials) {
  return database.put(entry, trials, [&](const Entry &old) -> Error {
    if (old.tried <= 2 * entry.tried)
      return Error::success();
    return llvm::createStringError(
        llvm::formatv("the database has what won among {0} candidates, and "
                      "this is of {1}; give it more time",
                      old.tried, entry.tried)
            .str());
  });
}

Expected<TuneResult> tune::tune(llvm::StringRef program,
                                const CompileOptions &compile,
                                llvm::ArrayRef<const Tensor *> inputs,
                                const TuneOptions &options) {
  Clock::time_point start = Clock::now();
  if (!(options.seconds > 0))
    return llvm::createStringError(
        llvm::formatv("expects more than 0 seconds to tune, but got {0}",
                      options.seconds)
            .str());
  if (!compile.schedule.empty())
    return llvm::createStringError("expects no schedule with a tuning");
  if (!compile.schedules.empty())
    return llvm::createStringError(
        "expects no table of schedules with a tuning, which tries what is "
        "around the compiler's own");
  // More than that is no time of a clock.
  double seconds = std::min(options.seconds, 1e6);
  auto tell = [&](const llvm::Twine &step) {
    if (options.progress)
      options.progress(step.str());
  };
  tell("finding schedules");
  Expected<TuningPlace> place = getTuningPlace(compile);
  if (!place)
    return place.takeError();
  Expected<TuningSpace> space = getTuningSpace(program, compile);
  if (!space)
    return space.takeError();
  if (!space->obstacle.empty())
    return llvm::createStringError("nothing to tune: " + space->obstacle);
  CompileOptions untuned = compile;
  untuned.tuning = Tuning::Off;
  // They are called from one thread, and candidates are compiled on several.
  untuned.dumpIR = nullptr;
  untuned.dumpLLVM = nullptr;
  untuned.dumpPart = nullptr;
  Expected<KernelPackage> incumbent = compileToPackage(program, untuned);
  if (!incumbent)
    return incumbent.takeError();
  const KernelMetadata &metadata = incumbent->metadata;
  std::vector<Shape> shapes;
  for (const Tensor *tensor : inputs)
    shapes.push_back(Shape(tensor->getShape()));
  bool areOfTypes = inputs.size() == metadata.inputs.size();
  for (size_t i = 0; areOfTypes && i < inputs.size(); ++i)
    areOfTypes = inputs[i]->getDType() == metadata.inputs[i].dtype &&
                 shapes[i].size() == metadata.inputs[i].shape.size();
  if (!areOfTypes)
    return llvm::createStringError(
        std::make_error_code(std::errc::invalid_argument),
        "expects " + llvm::Twine(metadata.inputs.size()) +
            " inputs of the types and ranks of the program's to tune, but "
            "got " +
            llvm::Twine(inputs.size()));

  Folder folder;
  if (Error error = folder.create())
    return std::move(error);
  std::vector<std::string> inputCommands;
  for (auto [number, tensor] : llvm::enumerate(inputs)) {
    std::string file = folder.get("input" + llvm::Twine(number) + ".npy");
    if (Error error = writeNpy(file, *tensor))
      return std::move(error);
    inputCommands.push_back(
        llvm::formatv("input {0} {1}", file, int(tensor->getDType())));
  }

  std::vector<Contender> contenders(1);
  for (const TuningCandidate &candidate :
       llvm::ArrayRef(space->candidates).take_front(options.maxCandidates)) {
    Contender contender;
    contender.schedule = candidate.schedule;
    contenders.push_back(std::move(contender));
  }
  contenders[0].file = folder.get("0.attn");
  if (Error error = writeFile(contenders[0].file, incumbent->toBytes()))
    return std::move(error);
  tell(llvm::formatv("compiling {0} schedules", contenders.size() - 1).str());
  compileAll(program, untuned, contenders, *incumbent, folder, seconds, start);

  std::vector<std::string> worker = options.worker;
  if (const char *named = std::getenv("ATTN_TUNE_WORKER"))
    worker = {named};
  Judge judge(program, compile, inputs);
  llvm::SmallVector<DType> resultTypes = llvm::map_to_vector(
      metadata.results, [](const TensorInfo &info) { return info.dtype; });
  Race race(std::move(worker), std::move(inputCommands), contenders, judge,
            resultTypes, folder.get("result"));
  // One that hangs does not take what the others need.
  race.firstRunLimit =
      std::min(race.firstRunLimit, WorkerProcess::Seconds(seconds / 8));
  if (Error error = race.start())
    return std::move(error);
  // What was compiled is measured, however long that took.
  auto getSpan = [](double seconds) {
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(seconds));
  };
  // A part is for the one that is best, which is measured again.
  auto kept = getSpan(seconds / 10);
  race.end =
      std::max(start + getSpan(seconds), Clock::now() + getSpan(seconds / 2)) -
      kept;
  race.begin = start;
  race.progress = tell;
  race.run();
  // Fewer threads are worth a try where there is little work, for the schedule
  // that is best so far.
  if (compile.device == DeviceKind::CPU && getDefaultNumThreads() > 1) {
    size_t best = race.findBest();
    for (int32_t threads = getDefaultNumThreads() / 2; threads >= 1;
         threads /= 2) {
      Contender fewer;
      fewer.schedule = contenders[best].schedule;
      fewer.file = contenders[best].file;
      fewer.threads = threads;
      contenders.push_back(std::move(fewer));
    }
    race.run();
  }
  size_t best = race.findBest();
  race.end += kept;
  race.decide(best);
  const Contender &winner = contenders[best];

  TuneResult result;
  result.turns = std::move(race.turns);
  Entry &entry = result.entry;
  entry.program = space->program;
  entry.device = place->device;
  entry.version = place->version;
  entry.bucket =
      getBucket(getFreeExtents(metadata.inputs, [&](size_t input, size_t dim) {
        return shapes[input][dim];
      }));
  entry.schedule = winner.schedule;
  entry.threads = winner.threads;
  entry.untunedSeconds = contenders[0].getMedian();
  entry.seconds = best == 0 ? entry.untunedSeconds
                            : entry.untunedSeconds * winner.getRatio();
  entry.spread = winner.getSpread();
  entry.name = metadata.entry;
  entry.extents = describeShapes(metadata.inputs, shapes);
  entry.time = std::chrono::duration_cast<std::chrono::seconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count();
  for (const Contender &contender : contenders) {
    Trial trial;
    trial.schedule = describeTrial(contender.schedule, contender.threads);
    trial.verdict = contender.verdict;
    if (!contender.seconds.empty())
      trial.seconds = contender.getMedian();
    // The first is what candidates are measured against.
    if (&contender != &contenders[0])
      entry.tried += !contender.seconds.empty();
    result.trials.push_back(std::move(trial));
  }
  if (options.database.empty()) {
    result.note = "there is no database to keep it in";
    return result;
  }
  if (entry.tried == 0 && llvm::any_of(contenders, [](const Contender &one) {
        return one.lacksTime;
      })) {
    result.note = "there was no time to measure a candidate";
    return result;
  }
  Expected<Database> database =
      Database::open(options.database, /*isWritten=*/true);
  Error error =
      database ? keep(*database, entry, result.trials) : database.takeError();
  result.isKept = !error;
  result.note = llvm::toString(std::move(error));
  return result;
}
