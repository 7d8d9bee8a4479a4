//===- Contenders.cpp - Kernels that are measured in turn -----------------===//

#include "Contenders.h"
#include "attn/Support/Npy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>

using namespace attn::tune;
using llvm::Error;
using llvm::Expected;

/// The number below which a part of all lies.
static double getQuantile(std::vector<double> numbers, double part) {
  if (numbers.empty())
    return 0;
  llvm::sort(numbers);
  double at = part * double(numbers.size() - 1);
  size_t below = size_t(at);
  size_t above = std::min(below + 1, numbers.size() - 1);
  return numbers[below] +
         (at - double(below)) * (numbers[above] - numbers[below]);
}

double Contender::getMedian() const { return getQuantile(seconds, 0.5); }
double Contender::getRatio() const {
  return ratios.empty() ? 1 : getQuantile(ratios, 0.5);
}
double Contender::getScore() const {
  double ratio = getRatio();
  return ratios.size() < 3 ? (1 + ratio) / 2 : ratio;
}
double Contender::getSpread() const {
  return getQuantile(seconds, 0.75) - getQuantile(seconds, 0.25);
}

// A kernel on a GPU may have to be compiled by the driver when it is loaded.
static constexpr WorkerProcess::Seconds kLoadLimit(120);

/// How long runs may take in all before they count as hanging.
static WorkerProcess::Seconds getLimit(double usual, size_t count) {
  return WorkerProcess::Seconds(5 + 50 * usual * double(count));
}

Error Race::restart() {
  worker.reset();
  numLoaded = 0;
  for (Contender &contender : contenders)
    contender.number = std::nullopt;
  Expected<WorkerProcess> started = WorkerProcess::start(command);
  if (!started)
    return started.takeError();
  worker.emplace(std::move(*started));
  for (const std::string &input : inputCommands)
    if (Expected<std::string> answer = worker->ask(input, kLoadLimit); !answer)
      return answer.takeError();
  return load(contenders[0]);
}

Error Race::load(Contender &contender) {
  Expected<std::string> answer =
      worker->ask("load " + contender.file, kLoadLimit);
  if (!answer)
    return ++numLoaded, answer.takeError();
  contender.number = numLoaded++;
  // Before any time is known, a run may take as long as a load.
  auto limit = usual > 0 ? firstRunLimit + getLimit(usual, 1) : kLoadLimit;
  if (Error error = measure(contender, 1, limit).takeError()) {
    tell("drop", *std::exchange(contender.number, std::nullopt));
    return error;
  }
  return Error::success();
}

/// To compare results of the size of a model's takes longer than to measure
/// what computes them: so only what becomes the fastest is compared.
Error Race::check(Contender &contender) {
  if (Error error = prepare())
    return error;
  if (!contender.number)
    if (Error error = load(contender))
      return error;
  // Results are those of two kernels at a time: of all of them they would take
  // many times the memory of the inputs.
  llvm::scope_exit release([&] {
    for (const Contender *one : {&contenders[0], &contender})
      tell("free", *one->number);
  });
  for (const Contender *one : {&contenders[0], &contender})
    if (Expected<std::string> answer = worker->ask(
            llvm::formatv("run {0} {1}", *one->number, one->threads),
            kLoadLimit);
        !answer)
      return answer.takeError();
  return compare(*contender.number);
}

static Error makeDifference(Error error) {
  return llvm::createStringError("gives other results: " +
                                 llvm::toString(std::move(error)));
}

Error Race::compare(size_t number) {
  Expected<std::string> answer = worker->ask(
      llvm::formatv("compare {0} {1}", number, *contenders[0].number),
      kLoadLimit);
  // A worker that ended has not found a difference.
  if (!answer)
    return worker->isRunning() ? makeDifference(answer.takeError())
                               : answer.takeError();
  if (*answer == "same")
    return Error::success();
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(*answer).split(words, ' ', -1, /*KeepEmpty=*/false);
  std::vector<Difference> differences(resultTypes.size());
  bool isRead = words.size() == 1 + 2 * differences.size();
  for (size_t i = 0; isRead && i < differences.size(); ++i)
    isRead = !words[2 * i + 1].getAsDouble(differences[i].difference) &&
             !words[2 * i + 2].getAsDouble(differences[i].magnitude);
  if (!isRead)
    return llvm::createStringError("expects differences, but got '" + *answer +
                                   "'");
  answer =
      worker->ask(llvm::formatv("save {0} {1}", number, scratch), kLoadLimit);
  if (!answer)
    return answer.takeError();
  std::vector<Tensor> results;
  for (auto [i, type] : llvm::enumerate(resultTypes)) {
    NpyExpectation expected;
    expected.dtype = type;
    Expected<Tensor> result =
        readNpy(scratch + std::to_string(i) + ".npy", expected);
    if (!result)
      return result.takeError();
    results.push_back(std::move(*result));
  }
  if (Error error = judge.check(results, differences))
    return makeDifference(std::move(error));
  return Error::success();
}

void Race::tell(llvm::StringRef command, size_t number) {
  if (!worker->isRunning())
    return;
  Expected<std::string> answer =
      worker->ask(llvm::formatv("{0} {1}", command, number), kLoadLimit);
  if (!answer)
    llvm::consumeError(answer.takeError());
}

void Race::retire(Contender &contender, std::string verdict) {
  contender.verdict = std::move(verdict);
  if (contender.number)
    tell("drop", *contender.number);
  contender.number = std::nullopt;
}

Error Race::prepare() {
  if (!obstacle.empty())
    return llvm::createStringError(obstacle);
  if (worker && worker->isRunning() && contenders[0].number)
    return Error::success();
  Error error = restart();
  if (error) {
    obstacle = "the worker cannot go on: " + llvm::toString(std::move(error));
    return llvm::createStringError(obstacle);
  }
  return Error::success();
}

Error Race::start() {
  if (Error error = restart())
    return error;
  // Once to warm up, and once to know how long it takes.
  for (int i = 0; i < 2; ++i) {
    Expected<std::vector<double>> times = measure(contenders[0], 1);
    if (!times)
      return times.takeError();
    usual = getQuantile(*times, 0.5);
  }
  return Error::success();
}

Expected<std::vector<double>> Race::measure(Contender &contender,
                                            size_t count) {
  // Before the first time is known, as long as it may take to load.
  return measure(contender, count,
                 usual > 0 ? getLimit(usual, count) : kLoadLimit);
}

Expected<std::vector<double>> Race::measure(Contender &contender, size_t count,
                                            WorkerProcess::Seconds limit) {
  std::string question = llvm::formatv("measure {0} {1} {2}", *contender.number,
                                       contender.threads, count);
  Expected<std::string> answer = worker->ask(question, limit);
  if (!answer)
    return answer.takeError();
  std::vector<double> times;
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(*answer).split(words, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words)
    if (word.getAsDouble(times.emplace_back()) || times.back() <= 0)
      return llvm::createStringError("expects times of runs, but got '" +
                                     *answer + "'");
  if (times.empty())
    return llvm::createStringError("expects times of runs, but got none");
  return times;
}

void Race::takeTurn(Contender &contender) {
  // So many runs that they take some milliseconds.
  constexpr double turnSeconds = 4e-3;
  auto count =
      size_t(std::clamp(turnSeconds / std::max(usual, 1e-7), 1.0, 20.0));
  auto turn = [&]() -> Error {
    if (Error error = prepare())
      return error;
    if (!contender.number)
      if (Error error = load(contender))
        return error;
    Expected<std::vector<double>> first = measure(contenders[0], count);
    if (!first)
      return first.takeError();
    Expected<std::vector<double>> other = measure(contender, count);
    if (!other)
      return other.takeError();
    llvm::append_range(contenders[0].seconds, *first);
    llvm::append_range(contender.seconds, *other);
    contender.ratios.push_back(getQuantile(*other, 0.5) /
                               getQuantile(*first, 0.5));
    usual = contenders[0].getMedian();
    std::chrono::duration<double> elapsed = Clock::now() - begin;
    turns.push_back({elapsed.count(), 0, getQuantile(*first, 0.5)});
    turns.push_back({elapsed.count(), size_t(&contender - contenders.data()),
                     getQuantile(*other, 0.5)});
    return Error::success();
  };
  if (Error error = turn()) {
    std::string text = llvm::toString(std::move(error));
    // What was measured counts if there is no worker to go on with.
    if (obstacle.empty())
      retire(contender, std::move(text));
  }
}

void Race::report(llvm::StringRef what) {
  if (progress)
    progress(llvm::formatv("{0}, best so far {1:F2}x", what,
                           1 / contenders[findBest()].getRatio())
                 .str());
}

void Race::run() {
  std::vector<size_t> left;
  for (size_t i = 1; i < contenders.size(); ++i)
    if (contenders[i].verdict.empty())
      left.push_back(i);
  for (size_t turns = 1; !left.empty() && hasTime(); turns *= 2) {
    for (auto [n, i] : llvm::enumerate(left)) {
      report(llvm::formatv("measuring {0} of {1}", n + 1, left.size()).str());
      for (size_t turn = 0;
           turn < turns && contenders[i].verdict.empty() && hasTime(); ++turn)
        takeTurn(contenders[i]);
    }
    llvm::erase_if(left, [&](size_t i) {
      return !contenders[i].verdict.empty() || contenders[i].ratios.empty();
    });
    // If it is faster than the first, it is the first one that is left.
    findBest();
    llvm::erase_if(left,
                   [&](size_t i) { return !contenders[i].verdict.empty(); });
    llvm::sort(left, [&](size_t a, size_t b) {
      return contenders[a].getScore() < contenders[b].getScore();
    });
    if (left.size() <= 2 && turns >= 4)
      break;
    // The second half goes, but for what is about as fast as the best.
    size_t half = std::max<size_t>((left.size() + 1) / 2, 2);
    while (left.size() > half &&
           contenders[left.back()].getRatio() >
               1.01 * contenders[left.front()].getRatio()) {
      retire(contenders[left.back()], "slower");
      left.pop_back();
    }
    if (turns >= 8)
      break;
  }
  for (Contender &contender : llvm::drop_begin(contenders))
    if (contender.verdict.empty() && contender.ratios.empty()) {
      contender.lacksTime = true;
      contender.verdict = obstacle.empty() ? "no time to measure it" : obstacle;
    }
}

size_t Race::findBest() {
  while (true) {
    size_t best = 0;
    for (size_t i = 1; i < contenders.size(); ++i)
      if (contenders[i].verdict.empty() && !contenders[i].ratios.empty() &&
          contenders[i].getScore() < contenders[best].getScore())
        best = i;
    if (best == 0 || contenders[best].isRight)
      return best;
    Clock::time_point start = Clock::now();
    if (Error error = check(contenders[best]))
      retire(contenders[best], llvm::toString(std::move(error)));
    else
      contenders[best].isRight = true;
    end += Clock::now() - start;
  }
}

void Race::decide(size_t &best) {
  constexpr size_t least = 5, enough = 15;
  // What is less is noise, or not worth another kernel. That fewer threads are
  // faster may be the doing of other processes, and has to be plain.
  auto getGain = [](const Contender &contender) {
    return contender.threads == 0 ? 0.98 : 0.9;
  };
  while (best != 0) {
    Contender &contender = contenders[best];
    // Of several that are about as fast it is the one that was lucky, so that
    // what it was picked for is no measure of it.
    contender.ratios.clear();
    while (contender.verdict.empty() && contender.ratios.size() < enough &&
           hasTime())
      takeTurn(contender);
    if (contender.verdict.empty() && contender.ratios.size() >= least &&
        contender.getRatio() < getGain(contender) &&
        getQuantile(contender.ratios, 0.75) < 1)
      break;
    if (contender.verdict.empty())
      retire(contender, "not surely faster");
    best = findBest();
  }
  // With no other, the first one has no times yet.
  if (contenders[0].seconds.empty()) {
    Error error = prepare();
    Expected<std::vector<double>> times =
        error ? Expected<std::vector<double>>(std::move(error))
              : measure(contenders[0], 10);
    if (times)
      contenders[0].seconds = std::move(*times);
    else
      contenders[0].seconds.push_back(
          (llvm::consumeError(times.takeError()), usual));
  }
  for (size_t i = 1; i < contenders.size(); ++i)
    if (i != best && contenders[i].verdict.empty())
      contenders[i].verdict = "slower";
}
