//===- Baseline.cpp - Another program to measure against ------------------===//

#include "Baseline.h"
#include "Program.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace attn;
using namespace attn::cli;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;

/// Whether tensors of one type may be of the other.
static bool areCompatible(const TensorInfo &a, const TensorInfo &b) {
  if (a.dtype != b.dtype || a.shape.size() != b.shape.size())
    return false;
  for (auto [x, y] : llvm::zip_equal(a.shape, b.shape))
    if (x >= 0 && y >= 0 && x != y)
      return false;
  return true;
}

static Error checkTypes(llvm::StringRef what, const std::string &program,
                        ArrayRef<TensorInfo> expected,
                        ArrayRef<TensorInfo> got) {
  if (expected.size() != got.size())
    return llvm::createStringError(llvm::formatv(
        "expects the baseline '{0}' to have {1} {2}{3}, as the program has, "
        "but got {4}",
        program, expected.size(), what, expected.size() == 1 ? "" : "s",
        got.size()));
  std::vector<std::string> names = getNames(expected);
  for (size_t i = 0; i < got.size(); ++i)
    if (!areCompatible(expected[i], got[i]))
      return llvm::createStringError(llvm::formatv(
          "expects the baseline '{0}' to have {1} {2} ('{3}') of {4}, as the "
          "program has, but got {5}",
          program, what, i, names[i],
          formatTensorType(expected[i].shape, expected[i].dtype),
          formatTensorType(got[i].shape, got[i].dtype)));
  return Error::success();
}

Expected<Baseline> cli::makeBaseline(const Options &options,
                                     const Kernel &kernel,
                                     const Execution &execution) {
  Expected<Program> program = loadProgram(options.baseline, options.entry);
  if (!program)
    return program.takeError();
  CompileOptions compile;
  compile.entry = program->entry.getSymName().str();
  compile.bufferName = program->name;
  compile.boundsCheck = options.boundsCheck;
  compile.device = kernel.device();
  Expected<Kernel> other =
      Kernel::compile(program->buffer->getBuffer(), compile);
  if (!other)
    return makeCompileError(*program, other.takeError());
  if (Error error =
          checkTypes("input", program->name, kernel.inputs(), other->inputs()))
    return std::move(error);
  if (Error error = checkTypes("result", program->name, kernel.results(),
                               other->results()))
    return std::move(error);
  Expected<Execution> made = Execution::create(*other, execution, options);
  if (!made)
    return made.takeError();
  return Baseline{program->name, compile.entry, std::move(*made)};
}
