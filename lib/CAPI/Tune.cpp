//===- Tune.cpp - Tuning in the C interface -------------------------------===//

#include "../Runtime/Kernels/Views.h"
#include "CAPI.h"
#include "attn-c/Attn.h"
#include "attn/Tune/Tuner.h"
#include "attn/Tune/Worker.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace attn;
using namespace attn::capi;
namespace json = llvm::json;

template <>
constexpr size_t attn::capi::kFirstSize<attnTuneOptions> =
    offsetof(attnTuneOptions, progress_user) +
    sizeof(attnTuneOptions::progress_user);

void attnTuneWorker(void) { tune::runWorker(0, 1); }

/// A dense copy of the elements of a view.
static llvm::Expected<Tensor> copyDense(const TensorView &view) {
  llvm::ArrayRef<int64_t> shape(view.shape, size_t(view.rank));
  llvm::Expected<Tensor> tensor = Tensor::create(DType(view.dtype), shape);
  if (!tensor)
    return tensor;
  size_t size = getSize(DType(view.dtype));
  auto *to = static_cast<char *>(tensor->getData());
  auto *from = static_cast<const char *>(view.data);
  llvm::SmallVector<int64_t, 6> index(view.rank, 0);
  for (int64_t n = 0; n < tensor->getNumElements(); ++n) {
    int64_t offset = 0;
    for (int64_t dim = 0; dim < view.rank; ++dim)
      offset += index[dim] * view.strides[dim];
    std::memcpy(to + n * size, from + offset * int64_t(size), size);
    for (int64_t dim = view.rank - 1; dim >= 0; --dim) {
      if (++index[dim] < shape[dim])
        break;
      index[dim] = 0;
    }
  }
  return tensor;
}

static json::Value makeReport(const tune::TuneResult &result) {
  json::Array trials;
  for (const tune::Trial &trial : result.trials)
    trials.push_back(json::Object{{"schedule", trial.schedule},
                                  {"seconds", trial.seconds},
                                  {"verdict", json::fixUTF8(trial.verdict)}});
  json::Array turns;
  for (const tune::Turn &turn : result.turns)
    turns.push_back(json::Object{{"elapsed", turn.elapsed},
                                 {"trial", int64_t(turn.trial)},
                                 {"seconds", turn.seconds}});
  const tune::Entry &entry = result.entry;
  return json::Object{{"summary", result.describe()},
                      {"program", entry.program},
                      {"device", entry.device},
                      {"version", entry.version},
                      {"bucket", tune::formatBucket(entry.bucket)},
                      {"schedule", entry.schedule},
                      {"threads", entry.threads},
                      {"seconds", entry.seconds},
                      {"spread", entry.spread},
                      {"untunedSeconds", entry.untunedSeconds},
                      {"kept", result.isKept},
                      {"note", json::fixUTF8(result.note)},
                      {"trials", std::move(trials)},
                      {"turns", std::move(turns)}};
}

attnStatus attnTune(const char *program, size_t size,
                    const attnCompileOptions *compile, const attnTensor *inputs,
                    size_t num_inputs, const attnTuneOptions *options,
                    attnString **report, attnError **error) {
  if (!report)
    return failNull(error, "a place for the report");
  *report = nullptr;
  if (!program)
    return failNull(error, "a program");
  if (!options)
    return failNull(error, "attnTuneOptions");
  attnTuneOptions given;
  if (attnStatus status = readStruct(options, given, "attnTuneOptions", error))
    return status;
  CompileOptions ours;
  if (attnStatus status = readCompileOptions(compile, ours, error))
    return status;
  TensorViews views;
  if (attnStatus status = views.read(inputs, num_inputs, "input", error))
    return status;
  if (!(given.seconds > 0))
    return fail(
        error, ATTN_INVALID_ARGUMENT,
        llvm::formatv("expects more than 0 seconds to tune, but got {0}",
                      given.seconds)
            .str());
  if (!given.worker || given.num_worker == 0)
    return failNull(error, "the command of a worker");
  std::vector<Tensor> tensors;
  for (const TensorView &view : views.get()) {
    auto mustHave = [&](const char *what) {
      return fail(
          error, ATTN_INVALID_ARGUMENT,
          llvm::formatv("expects input {0} to have {1}", tensors.size(), what)
              .str());
    };
    bool isEmpty =
        llvm::is_contained(llvm::ArrayRef(view.shape, size_t(view.rank)), 0);
    if (!view.data && !isEmpty)
      return mustHave("data, but got a null pointer");
    if (!getSpan(view))
      return mustHave("strides that stay in the address space");
    llvm::Expected<Tensor> tensor = copyDense(view);
    if (!tensor)
      return fail(error, tensor.takeError(), ATTN_OUT_OF_MEMORY);
    tensors.push_back(std::move(*tensor));
  }
  std::vector<const Tensor *> pointers;
  for (const Tensor &tensor : tensors)
    pointers.push_back(&tensor);
  tune::TuneOptions tuning;
  tuning.seconds = given.seconds;
  for (size_t i = 0; i < given.num_worker; ++i) {
    if (!given.worker[i])
      return failNull(error, "the command of a worker");
    tuning.worker.push_back(given.worker[i]);
  }
  if (given.max_candidates != 0)
    tuning.maxCandidates = given.max_candidates;
  if (given.database)
    tuning.database = given.database;
  if (given.progress)
    tuning.progress = [&](llvm::StringRef step) {
      given.progress(given.progress_user, "tune", step.str().c_str(),
                     step.size());
    };
  llvm::Expected<tune::TuneResult> result =
      tune::tune(llvm::StringRef(program, size), ours, pointers, tuning);
  if (!result)
    return fail(error, result.takeError(), ATTN_COMPILE_ERROR);
  return succeed(report, llvm::formatv("{0}", makeReport(*result)), error);
}
