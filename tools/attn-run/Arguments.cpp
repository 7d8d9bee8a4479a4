//===- Arguments.cpp - The inputs of a run --------------------------------===//

#include "Arguments.h"
#include "BlockArguments.h"
#include "Program.h"
#include "attn/Support/ArgSpec.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <unistd.h>

using namespace attn;
using namespace attn::cli;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::vector<std::string> cli::getNames(ArrayRef<TensorInfo> infos) {
  std::vector<std::string> names;
  for (auto [position, info] : llvm::enumerate(infos))
    names.push_back(info.name.empty() ? std::to_string(position) : info.name);
  return names;
}

Expected<unsigned> cli::findByName(StringRef name, StringRef what,
                                   ArrayRef<std::string> names) {
  // As the program writes it.
  name.consume_front("%");
  const std::string *found = llvm::find(names, name);
  if (found != names.end())
    return found - names.begin();
  size_t position;
  if (!name.getAsInteger(10, position) && position < names.size())
    return position;
  if (names.empty())
    return llvm::createStringError(
        llvm::formatv("unknown {0} '{1}': there is none", what, name));
  return llvm::createStringError(
      llvm::formatv("unknown {0} '{1}': expects {2}{3}", what, name,
                    quoteNames(names), suggestName(name, names)));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// What an argument is if the user says nothing.
static ArgSpec getDefaultSpec(const TensorInfo &info) {
  ArgSpec spec;
  if (!isFloat(info.dtype)) {
    spec.isInteger = true;
    spec.text = "0";
  } else if (info.shape.empty()) {
    spec.isInteger = true;
    spec.lo = spec.intLo = 1;
    spec.text = "1";
  } else {
    spec.kind = ArgSpec::Kind::Randn;
    spec.text = "randn";
  }
  return spec;
}

static Error prefix(const llvm::Twine &context, Error error) {
  return llvm::createStringError(context + ": " +
                                 llvm::toString(std::move(error)));
}

/// The specs of all arguments.
static Expected<std::vector<ArgSpec>>
makeSpecs(ArrayRef<TensorInfo> infos, ArrayRef<std::string> names,
          ArrayRef<NamedOption> options, ArrayRef<BlockArguments> blocks) {
  std::vector<std::optional<ArgSpec>> given(infos.size());
  for (const NamedOption &option : options) {
    Expected<unsigned> position = findByName(option.name, "argument", names);
    if (!position)
      return position.takeError();
    if (given[*position])
      return llvm::createStringError("expects one value for argument '" +
                                     names[*position] + "', but got several");
    Expected<ArgSpec> spec = ArgSpec::parse(option.value);
    if (!spec)
      return prefix("argument '" + names[*position] + "'", spec.takeError());
    given[*position] = std::move(*spec);
  }
  for (const BlockArguments &arguments : blocks) {
    // Columns belong to the rows, so either both are the user's or none.
    bool isGiven = arguments.columns && given[*arguments.columns];
    if (isGiven)
      continue;
    if (!given[arguments.first])
      given[arguments.first] = arguments.getDefaultSpec();
    if (arguments.columns &&
        given[arguments.first]->kind == ArgSpec::Kind::Blocks) {
      given[*arguments.columns] = given[arguments.first];
      given[*arguments.columns]->shape = std::nullopt;
    }
  }
  std::vector<ArgSpec> specs;
  for (auto [spec, info] : llvm::zip(given, infos))
    specs.push_back(spec ? std::move(*spec) : getDefaultSpec(info));
  return std::move(specs);
}

/// The least of what a control group leaves this process and what the machine
/// has.
uint64_t cli::getMemoryLimit() {
  uint64_t limit =
      uint64_t(::sysconf(_SC_PHYS_PAGES)) * uint64_t(::sysconf(_SC_PAGESIZE));
  for (const char *path : {"/sys/fs/cgroup/memory.max",
                           "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    auto file = llvm::MemoryBuffer::getFileAsStream(path);
    uint64_t bytes;
    if (file && !(*file)->getBuffer().trim().getAsInteger(10, bytes))
      limit = std::min(limit, bytes);
  }
  return limit;
}

/// Checks that the tensors fit into memory before any is made: the system
/// grants memory it does not have, and kills who uses it.
static Error checkMemory(ArrayRef<std::string> names,
                         ArrayRef<TensorInfo> infos, ArrayRef<Shape> shapes) {
  uint64_t sum = 0, largest = 0;
  size_t which = 0;
  for (auto [i, info] : llvm::enumerate(infos)) {
    Expected<int64_t> bytes = getDenseSize(shapes[i], info.dtype);
    if (!bytes)
      return prefix("argument '" + names[i] + "'", bytes.takeError());
    sum = llvm::SaturatingAdd(sum, uint64_t(*bytes));
    if (uint64_t(*bytes) > largest) {
      largest = *bytes;
      which = i;
    }
  }
  uint64_t limit = getMemoryLimit();
  if (sum <= limit)
    return Error::success();
  return llvm::createStringError(llvm::formatv(
      "expects arguments that fit into {0} of memory, but got {1}, of which "
      "'{2}' ({3}) has {4}",
      formatByteCount(limit), formatByteCount(sum), names[which],
      formatTensorType(shapes[which], infos[which].dtype),
      formatByteCount(largest)));
}

Expected<std::vector<Argument>> cli::makeArguments(const Kernel &kernel,
                                                   mlir::func::FuncOp function,
                                                   const Options &options,
                                                   Sizes &sizes) {
  ArrayRef<TensorInfo> infos = kernel.inputs();
  std::vector<std::string> names = getNames(infos);
  std::vector<BlockArguments> blocks = findBlockArguments(function);
  Expected<std::vector<ArgSpec>> specs =
      makeSpecs(infos, names, options.arguments, blocks);
  if (!specs)
    return specs.takeError();

  // First what is told about shapes, then the rest of the shapes from that.
  std::vector<std::optional<Tensor>> tensors(infos.size());
  std::vector<Shape> shapes;
  for (size_t i = 0; i < infos.size(); ++i) {
    const ArgSpec &spec = (*specs)[i];
    Shape shape = spec.shape ? *spec.shape : infos[i].shape;
    if (spec.kind == ArgSpec::Kind::File) {
      Expected<Tensor> tensor =
          makeTensor(spec, infos[i].dtype, infos[i].shape, options.seed, i);
      if (!tensor)
        return prefix("argument '" + names[i] + "'", tensor.takeError());
      shape.assign(tensor->getShape().begin(), tensor->getShape().end());
      tensors[i] = std::move(*tensor);
    }
    if (!matchesShape(shape, infos[i].shape))
      return llvm::createStringError(
          llvm::formatv("argument '{0}': expects {1}, but got {2}", names[i],
                        formatTensorType(infos[i].shape, infos[i].dtype),
                        formatTensorType(shape, infos[i].dtype)));
    sizes.setShape(i, shape);
    shapes.push_back(shape);
  }
  sizes.complete();

  std::vector<bool> isChosen;
  for (auto [i, shape] : llvm::enumerate(shapes)) {
    Shape complete = sizes.getShape(function.getArgument(i));
    isChosen.push_back(false);
    for (auto [size, chosen] : llvm::zip(shape, complete))
      if (size < 0) {
        size = chosen;
        isChosen.back() = true;
      }
  }
  if (Error error = checkMemory(names, infos, shapes))
    return std::move(error);
  for (const BlockArguments &arguments : blocks) {
    if (!arguments.columns ||
        (*specs)[*arguments.columns].kind != ArgSpec::Kind::Blocks)
      continue;
    auto lists =
        arguments.makeLists((*specs)[*arguments.columns], sizes, options.seed);
    if (!lists)
      return lists.takeError();
    tensors[arguments.first] = std::move(lists->first);
    tensors[*arguments.columns] = std::move(lists->second);
  }

  std::vector<Argument> arguments;
  for (size_t i = 0; i < infos.size(); ++i) {
    ArgSpec &spec = (*specs)[i];
    if (!tensors[i]) {
      spec.shape =
          infos[i].shape.empty() ? std::nullopt : std::make_optional(shapes[i]);
      Expected<Tensor> tensor =
          makeTensor(spec, infos[i].dtype, infos[i].shape, options.seed, i);
      if (!tensor)
        return prefix("argument '" + names[i] + "'", tensor.takeError());
      tensors[i] = std::move(*tensor);
    }
    arguments.push_back(
        {names[i], spec.text, isChosen[i], std::move(*tensors[i])});
  }
  return std::move(arguments);
}
