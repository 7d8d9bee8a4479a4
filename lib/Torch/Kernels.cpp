//===- Kernels.cpp - Kernels of programs that are text --------------------===//

#include "Kernels.h"
#include "Library.h"
#include "attn/Support/MadeOnce.h"
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <stdexcept>
#include <unordered_map>

using namespace attn_torch;

/// Throws what a call has told of. The error is a reference as the call may be
/// what is evaluated last.
static void check(attnStatus status, attnError *const &error) {
  if (status == ATTN_OK)
    return;
  std::string message = getLibrary().attnErrorMessage(error);
  getLibrary().attnErrorDestroy(error);
  throw std::runtime_error(message);
}

Kernel::Kernel(attnKernel *handle) : handle(handle) {
  const Library &library = getLibrary();
  for (size_t n = 0; n < library.attnKernelNumInputs(handle); ++n) {
    attnTensorInfo info{};
    info.struct_size = sizeof(info);
    attnError *error = nullptr;
    check(library.attnKernelInputInfo(handle, n, &info, &error), error);
    names.emplace_back(info.name);
    types.push_back(info.dtype);
  }
}

Kernel::~Kernel() { getLibrary().attnKernelRelease(handle); }

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

namespace {
using Options = std::map<std::string, std::string>;
} // namespace

/// A string of JSON without its quotes; numbers and bools as they are.
static std::string readValue(const std::string &json) {
  if (json.empty() || json[0] != '"')
    return json;
  std::string value;
  for (size_t i = 1; i + 1 < json.size(); ++i) {
    if (json[i] != '\\') {
      value += json[i];
      continue;
    }
    char escaped = json[++i];
    value += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
  }
  return value;
}

static Options readOptions(const std::string &text) {
  Options options;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    size_t equals = line.find('=');
    if (equals == std::string::npos)
      throw std::runtime_error(
          "expects options of attn as lines of name=value, but got '" + line +
          "'");
    options[line.substr(0, equals)] = readValue(line.substr(equals + 1));
    at = end + 1;
  }
  return options;
}

static std::shared_ptr<const Kernel>
compile(const std::string &text, Options options, attnDevice device) {
  attnCompileOptions given{};
  given.struct_size = sizeof(given);
  given.buffer_name = "attn.torch";
  given.device = device;
  for (const auto &[name, value] : options) {
    if (name == "schedule")
      given.schedule = value.c_str();
    else if (name == "sparsity")
      given.sparsity = value.c_str();
    else if (name == "processor")
      given.target = value.c_str();
    else if (name == "bounds_check")
      given.bounds_check = value == "true";
    else if (name == "deterministic")
      given.deterministic =
          value == "true" ? ATTN_DETERMINISTIC : ATTN_NONDETERMINISTIC;
    else if (name == "opt_level")
      // 0 is the usual one, and -1 none.
      given.opt_level = value == "0" ? -1 : std::atoi(value.c_str());
    else
      throw std::runtime_error(
          "expects options that attn.compile has, but got '" + name + "'");
  }
  attnKernel *kernel = nullptr;
  attnError *error = nullptr;
  check(getLibrary().attnKernelCompile(text.data(), text.size(), &given,
                                       &kernel, &error),
        error);
  return std::make_shared<Kernel>(kernel);
}

//===----------------------------------------------------------------------===//
// Kernels that were compiled
//===----------------------------------------------------------------------===//

namespace {
/// What calls with one mask have prepared, by kinds of calls.
using PreparedCalls = attn::MadeOnce<attnPrepared>;

/// Everything that calls of this process share.
struct State {
  attn::MadeOnce<const Kernel> kernels;
  /// Guards the masks.
  std::mutex mutex;
  /// By the number of a mask.
  std::unordered_map<int64_t, std::shared_ptr<PreparedCalls>> masks;
};
} // namespace

static State &getState() {
  // Threads may outlive what is destroyed at the end of a process.
  static State &state = *new State;
  return state;
}

template <typename Make>
static std::shared_ptr<const Kernel> find(const Program &program,
                                          const std::string &wrt, Make make) {
  std::string key = std::to_string(program.device) + '\0' + wrt + '\0' +
                    program.options + '\0' + program.text;
  return getState().kernels.get(key, make);
}

std::shared_ptr<const Kernel> attn_torch::getForward(const Program &program) {
  return find(program, "", [&] {
    return compile(program.text, readOptions(program.options), program.device);
  });
}

std::shared_ptr<const Kernel>
attn_torch::getGradient(const Program &program,
                        const std::vector<std::string> &wrt) {
  std::string names;
  std::vector<const char *> pointers;
  for (const std::string &name : wrt) {
    names += name + ',';
    pointers.push_back(name.c_str());
  }
  return find(program, names, [&] {
    attnDifferentiateOptions options{};
    options.struct_size = sizeof(options);
    options.buffer_name = "attn.torch";
    options.wrt = pointers.data();
    options.num_wrt = pointers.size();
    attnString *text = nullptr;
    attnError *error = nullptr;
    const Library &library = getLibrary();
    check(library.attnDifferentiate(program.text.data(), program.text.size(),
                                    &options, &text, &error),
          error);
    std::string gradient(library.attnStringData(text),
                         library.attnStringSize(text));
    library.attnStringDestroy(text);
    Options rest = readOptions(program.options);
    rest.erase("schedule");
    return compile(gradient, std::move(rest), program.device);
  });
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// What decides which tiles run, but for what the mask reads.
static std::string getKind(const Kernel &kernel, int32_t device,
                           const std::vector<attnTensor> &inputs,
                           const std::vector<attnTensor> &results) {
  std::string kind;
  auto add = [&](const void *data, size_t size) {
    kind.append(static_cast<const char *>(data), size);
  };
  add(&kernel.handle, sizeof(kernel.handle));
  add(&device, sizeof(device));
  for (const auto *tensors : {&inputs, &results})
    for (const attnTensor &tensor : *tensors) {
      auto misaligned = reinterpret_cast<uintptr_t>(tensor.data) % 16;
      add(&misaligned, sizeof(misaligned));
      add(&tensor.dtype, sizeof(tensor.dtype));
      add(tensor.shape, tensor.rank * sizeof(int64_t));
      add(tensor.strides, tensor.rank * sizeof(int64_t));
    }
  return kind;
}

/// What was prepared for calls of a kind, which the first one does; null for a
/// mask that is not known.
static std::shared_ptr<attnPrepared>
prepare(const Kernel &kernel, const std::vector<attnTensor> &inputs,
        const std::string &kind, const attnRunOptions &options, int64_t mask) {
  std::shared_ptr<PreparedCalls> calls;
  {
    State &state = getState();
    std::lock_guard<std::mutex> lock(state.mutex);
    auto known = state.masks.find(mask);
    if (known == state.masks.end())
      return nullptr;
    calls = known->second;
  }
  return calls->get(kind, [&] {
    attnPrepared *prepared = nullptr;
    attnError *error = nullptr;
    check(getLibrary().attnKernelPrepare(kernel.handle, inputs.data(),
                                         inputs.size(), &options, &prepared,
                                         &error),
          error);
    return std::shared_ptr<attnPrepared>(prepared,
                                         getLibrary().attnPreparedDestroy);
  });
}

void attn_torch::run(const Kernel &kernel,
                     const std::vector<attnTensor> &inputs,
                     const std::vector<attnTensor> &results, void *stream,
                     int32_t device, int64_t mask) {
  attnRunOptions options{};
  options.struct_size = sizeof(options);
  options.stream = stream;
  std::shared_ptr<attnPrepared> prepared;
  if (mask != 0) {
    std::string kind = getKind(kernel, device, inputs, results);
    prepared = prepare(kernel, inputs, kind, options, mask);
    options.prepared = prepared.get();
  }
  attnError *error = nullptr;
  check(getLibrary().attnKernelRun(kernel.handle, inputs.data(), inputs.size(),
                                   results.data(), results.size(), &options,
                                   &error),
        error);
}

//===----------------------------------------------------------------------===//
// For attn.torch
//===----------------------------------------------------------------------===//

extern "C" {
/// Lets calls with the mask of a number share what they prepare, from now on.
__attribute__((visibility("default"))) void attnTorchShare(int64_t mask) {
  State &state = getState();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.masks[mask] = std::make_shared<PreparedCalls>();
}

/// The mask of a number is no more.
__attribute__((visibility("default"))) void attnTorchForget(int64_t mask) {
  State &state = getState();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.masks.erase(mask);
}

/// Forgets all kernels, and what calls have prepared.
__attribute__((visibility("default"))) void attnTorchClear() {
  State &state = getState();
  state.kernels.clear();
  std::lock_guard<std::mutex> lock(state.mutex);
  for (auto &[mask, calls] : state.masks)
    calls->clear();
}
}
