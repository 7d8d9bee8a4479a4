//===- Xla.cpp - Kernels as custom calls of XLA ---------------------------===//

#include "attn-c/Xla.h"
#include "XlaFfi.h"
#include "attn-c/Attn.h"
#include "attn/Support/MadeOnce.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cstring>
#include <memory>

using namespace attn::xla;
using llvm::SmallVector;
using llvm::SmallVectorImpl;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

namespace {
/// What a call has come to, with a message where it failed.
struct Outcome {
  int32_t code = 0;
  std::string message;

  explicit operator bool() const { return code != 0; }
};
} // namespace

static Outcome invalid(const llvm::Twine &message) {
  return {kInvalidArgument, message.str()};
}

/// Takes the error of a call of the C interface: a reference, as the call may
/// be what is evaluated last.
static Outcome take(attnStatus status, attnError *const &error) {
  if (status == ATTN_OK)
    return {};
  Outcome failed{kUnknown, attnErrorMessage(error)};
  attnErrorDestroy(error);
  switch (status) {
  case ATTN_INVALID_ARGUMENT:
  case ATTN_COMPILE_ERROR:
    failed.code = kInvalidArgument;
    break;
  case ATTN_OUT_OF_MEMORY:
    failed.code = kResourceExhausted;
    break;
  case ATTN_OUT_OF_RANGE:
    failed.code = kOutOfRange;
    break;
  case ATTN_UNSUPPORTED:
    failed.code = kUnimplemented;
    break;
  default:
    break;
  }
  return failed;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
struct Attrs {
  StringRef program;
  StringRef numbers;
  StringRef wrt;
  StringRef options;
};

/// A kernel, and of each input whether it is a number, and of which type.
struct Kernel {
  ~Kernel() { attnKernelRelease(handle); }

  Outcome compile(const Attrs &attrs, attnDevice device);

  attnKernel *handle = nullptr;
  SmallVector<std::pair<bool, attnDType>> inputs;
};
} // namespace

static attn::MadeOnce<const Kernel> &getKernels() {
  // Threads of XLA may outlive what is destroyed at the end of a process.
  static auto &kernels = *new attn::MadeOnce<const Kernel>;
  return kernels;
}

static Outcome differentiate(const Attrs &attrs, std::string &gradient) {
  SmallVector<StringRef> names;
  attrs.wrt.split(names, ',', -1, /*KeepEmpty=*/false);
  std::vector<std::string> kept(names.begin(), names.end());
  SmallVector<const char *> pointers;
  for (const std::string &name : kept)
    pointers.push_back(name.c_str());
  attnDifferentiateOptions options{};
  options.struct_size = sizeof(options);
  options.buffer_name = "attn.jax";
  options.wrt = pointers.data();
  options.num_wrt = pointers.size();
  attnString *text = nullptr;
  attnError *error = nullptr;
  if (Outcome failed =
          take(attnDifferentiate(attrs.program.data(), attrs.program.size(),
                                 &options, &text, &error),
               error))
    return failed;
  gradient.assign(attnStringData(text), attnStringSize(text));
  attnStringDestroy(text);
  return {};
}

/// Adds options that are lines of name=value. `kept` has the text of values.
static Outcome readOptions(const Attrs &attrs, attnCompileOptions &options,
                           SmallVectorImpl<std::string> &kept) {
  SmallVector<StringRef> lines;
  attrs.options.split(lines, '\n', -1, /*KeepEmpty=*/false);
  kept.reserve(lines.size());
  for (StringRef line : lines) {
    auto [name, value] = line.split('=');
    const char *text = kept.emplace_back(value.str()).c_str();
    int32_t number = 0;
    bool isNumber = !value.getAsInteger(10, number);
    if (name == "processor") {
      options.target = text;
    } else if (name == "sparsity") {
      options.sparsity = text;
    } else if (name == "schedule") {
      // One of forward kernels.
      if (attrs.wrt.empty())
        options.schedule = text;
    } else if (name == "bounds_check" && isNumber) {
      options.bounds_check = number;
    } else if (name == "deterministic" && isNumber) {
      options.deterministic =
          number != 0 ? ATTN_DETERMINISTIC : ATTN_NONDETERMINISTIC;
    } else if (name == "opt_level" && isNumber) {
      // 0 is the usual one there, and -1 none.
      options.opt_level = number == 0 ? -1 : number;
    } else {
      return invalid("expects options that attn.compile has, but got '" + line +
                     "'");
    }
  }
  return {};
}

Outcome Kernel::compile(const Attrs &attrs, attnDevice device) {
  std::string text;
  if (attrs.wrt.empty())
    text = attrs.program.str();
  else if (Outcome failed = differentiate(attrs, text))
    return failed;
  attnCompileOptions options{};
  options.struct_size = sizeof(options);
  options.buffer_name = "attn.jax";
  options.device = device;
  SmallVector<std::string> kept;
  if (Outcome failed = readOptions(attrs, options, kept))
    return failed;
  attnError *error = nullptr;
  if (Outcome failed = take(attnKernelCompile(text.data(), text.size(),
                                              &options, &handle, &error),
                            error))
    return failed;
  for (size_t n = 0; n < attnKernelNumInputs(handle); ++n) {
    attnTensorInfo info{};
    info.struct_size = sizeof(info);
    if (Outcome failed =
            take(attnKernelInputInfo(handle, n, &info, &error), error))
      return failed;
    inputs.emplace_back(info.rank == 0 && StringRef(info.name).starts_with("x"),
                        info.dtype);
  }
  return {};
}

/// The kernel of a call, which the first such call compiles.
static Outcome find(const Attrs &attrs, attnDevice device,
                    std::shared_ptr<const Kernel> &kernel) {
  std::string key = llvm::utostr(device) + ' ' + attrs.wrt.str() + ' ';
  key += attrs.options;
  key += '\0';
  key += attrs.program;
  Outcome failed;
  kernel = getKernels().get(key, [&]() -> std::shared_ptr<const Kernel> {
    auto made = std::make_shared<Kernel>();
    failed = made->compile(attrs, device);
    return failed ? nullptr : std::move(made);
  });
  return failed;
}

void attnXlaClear(void) { getKernels().clear(); }

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static Outcome readAttributes(const Attributes &from, Attrs &attrs) {
  for (int64_t n = 0; n < from.size; ++n) {
    StringRef name(from.names[n]->data, from.names[n]->size);
    StringRef *place = name == "program"   ? &attrs.program
                       : name == "numbers" ? &attrs.numbers
                       : name == "wrt"     ? &attrs.wrt
                       : name == "options" ? &attrs.options
                                           : nullptr;
    if (!place)
      return invalid(
          "expects the attributes program, numbers, wrt and options, "
          "but got '" +
          name + "'");
    if (from.types[n] != kStringType)
      return invalid("expects the attribute '" + name + "' to be a string");
    const auto *bytes = static_cast<const Bytes *>(from.values[n]);
    *place = StringRef(bytes->data, bytes->size);
  }
  return {};
}

static Outcome readBuffer(const Buffers &buffers, int64_t number,
                          attnTensor &tensor) {
  if (buffers.types[number] != kBufferType)
    return invalid("expects operands and results that are buffers");
  const auto *buffer = static_cast<const Buffer *>(buffers.items[number]);
  static constexpr std::pair<int32_t, attnDType> kTypes[] = {
      {kF64, ATTN_F64},   {kF32, ATTN_F32}, {kF16, ATTN_F16},
      {kBF16, ATTN_BF16}, {kS64, ATTN_I64}, {kS32, ATTN_I32},
      {kS16, ATTN_I16},   {kS8, ATTN_I8},   {kPred, ATTN_I1}};
  const auto *type = std::find_if(
      std::begin(kTypes), std::end(kTypes),
      [&](const auto &known) { return known.first == buffer->dtype; });
  if (type == std::end(kTypes))
    return invalid("expects arrays of floats, of integers with a sign or of "
                   "bool, but got XLA's type " +
                   llvm::Twine(buffer->dtype));
  tensor = {};
  tensor.struct_size = sizeof(tensor);
  tensor.data = buffer->data;
  tensor.dtype = type->second;
  tensor.rank = buffer->rank;
  tensor.shape = buffer->dims;
  return {};
}

/// A number from its digits, in memory as a kernel takes it. False if these are
/// none.
static bool readNumber(StringRef digits, attnDType dtype, uint64_t &word) {
  if (digits.size() != 16 || digits.getAsInteger(16, word))
    return false;
  if (dtype == ATTN_F32) {
    double number;
    std::memcpy(&number, &word, sizeof(number));
    auto single = static_cast<float>(number);
    std::memcpy(&word, &single, sizeof(single));
  } else if (dtype == ATTN_I1) {
    word = word != 0;
  }
  // Of shorter integers, the low bytes come first.
  return true;
}

static Outcome run(const CallFrame &frame, attnDevice device) {
  Attrs attrs;
  if (Outcome failed = readAttributes(frame.attributes, attrs))
    return failed;
  std::shared_ptr<const Kernel> kernel;
  if (Outcome failed = find(attrs, device, kernel))
    return failed;

  SmallVector<attnTensor, 16> inputs, results;
  SmallVector<uint64_t, 8> numbers(kernel->inputs.size());
  int64_t operand = 0;
  for (auto [n, input] : llvm::enumerate(kernel->inputs)) {
    auto [isNumber, dtype] = input;
    attnTensor &tensor = inputs.emplace_back();
    if (isNumber) {
      if (!readNumber(attrs.numbers.take_front(16), dtype, numbers[n]))
        return invalid("expects 16 hexadecimal digits for each number");
      attrs.numbers = attrs.numbers.drop_front(16);
      tensor.struct_size = sizeof(tensor);
      tensor.data = &numbers[n];
      tensor.dtype = dtype;
    } else if (operand == frame.operands.size) {
      return invalid("expects more operands than " + llvm::Twine(operand));
    } else if (Outcome failed = readBuffer(frame.operands, operand++, tensor)) {
      return failed;
    }
  }
  if (operand != frame.operands.size || !attrs.numbers.empty())
    return invalid("expects " + llvm::Twine(operand) + " operands, but got " +
                   llvm::Twine(frame.operands.size));
  for (int64_t n = 0; n < frame.results.size; ++n)
    if (Outcome failed = readBuffer(frame.results, n, results.emplace_back()))
      return failed;

  attnRunOptions options{};
  options.struct_size = sizeof(options);
  if (device == ATTN_DEVICE_CUDA) {
    StreamGetArgs stream{sizeof(stream), nullptr, frame.context, nullptr};
    if (frame.api->getStream(&stream))
      return {kUnknown, "cannot get the stream of XLA"};
    options.stream = stream.stream;
  }
  attnError *error = nullptr;
  return take(attnKernelRun(kernel->handle, inputs.data(), inputs.size(),
                            results.data(), results.size(), &options, &error),
              error);
}

/// Whether XLA has asked which version a handler is of, which this tells.
static bool tellVersion(const CallFrame &frame) {
  if (!frame.extensions || frame.extensions->type != kMetadataExtension)
    return false;
  Metadata *metadata =
      reinterpret_cast<MetadataExtension *>(frame.extensions)->metadata;
  // That of XLA, if its ABI is known here.
  int minor = frame.api ? frame.api->version.minorVersion : kOldestMinor;
  metadata->version = {sizeof(ApiVersion), nullptr, kMajor,
                       std::clamp(minor, kOldestMinor, kNewestMinor)};
  metadata->traits = 0;
  return true;
}

static XLA_FFI_Error *handle(XLA_FFI_CallFrame *opaque, attnDevice device) {
  const auto &frame = *reinterpret_cast<CallFrame *>(opaque);
  if (tellVersion(frame))
    return nullptr;
  Outcome failed = run(frame, device);
  if (!failed)
    return nullptr;
  std::string message = "attn: " + failed.message;
  ErrorCreateArgs args{sizeof(args), nullptr, message.c_str(), failed.code};
  return frame.api->createError(&args);
}

XLA_FFI_Error *attnXlaCpu(XLA_FFI_CallFrame *frame) {
  return handle(frame, ATTN_DEVICE_CPU);
}

XLA_FFI_Error *attnXlaCuda(XLA_FFI_CallFrame *frame) {
  return handle(frame, ATTN_DEVICE_CUDA);
}
