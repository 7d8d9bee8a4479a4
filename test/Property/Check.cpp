//===- Check.cpp - Running a program and its reference --------------------===//
//
// A case runs in a child process, because what it looks for may crash. The
// parent never compiles and so has no threads that a fork would lose.
//
//===----------------------------------------------------------------------===//

#include "attn/Reference/Check.h"
#include "Memory.h"
#include "Program.h"
#include "attn/JIT/Differentiate.h"
#include "attn/JIT/Kernel.h"
#include "attn/Pipelines/RegisterDialects.h"
#include "attn/Runtime/Cuda/Device.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace attn;
using namespace attn::property;
using llvm::formatv;

llvm::StringRef property::getName(Outcome::Kind kind) {
  switch (kind) {
  case Outcome::Kind::Right:
    return "right";
  case Outcome::Kind::Unsupported:
    return "unsupported";
  case Outcome::Kind::Rejected:
    return "rejected";
  case Outcome::Kind::Crash:
    return "crash";
  case Outcome::Kind::Timeout:
    return "timeout";
  case Outcome::Kind::RunError:
    return "run error";
  case Outcome::Kind::Wrong:
    return "wrong result";
  case Outcome::Kind::NotDeterministic:
    return "not deterministic";
  case Outcome::Kind::StrayWrite:
    return "stray write";
  case Outcome::Kind::NoReference:
    return "no reference";
  }
  llvm_unreachable("unknown kind of outcome");
}

//===----------------------------------------------------------------------===//
// One case
//===----------------------------------------------------------------------===//

static Outcome fail(Outcome::Kind kind, const llvm::Twine &text) {
  return {kind, text.str()};
}

static Outcome fail(Outcome::Kind kind, llvm::Error error) {
  return {kind, llvm::toString(std::move(error))};
}

namespace {
class Case {
public:
  Case(const Program &program, const CheckOptions &options)
      : program(program), checkOptions(options), text(print(program)) {}

  Outcome run();

private:
  Outcome run(const CompileOptions &options, std::string &other);
  Outcome run(const Kernel &kernel, mlir::func::FuncOp function,
              const Lengths &lengths);
  llvm::Expected<Tensor> makeGradient(const Kernel &kernel,
                                      mlir::func::FuncOp function,
                                      const Lengths &lengths, size_t input);
  Outcome compare(const Kernel &kernel, mlir::func::FuncOp function,
                  llvm::ArrayRef<Tensor> inputs, llvm::ArrayRef<Tensor> results,
                  const std::string &where);

  const Program &program;
  const CheckOptions &checkOptions;
  std::string text;
};
} // namespace

Outcome Case::compare(const Kernel &kernel, mlir::func::FuncOp function,
                      llvm::ArrayRef<Tensor> inputs,
                      llvm::ArrayRef<Tensor> results,
                      const std::string &where) {
  std::vector<const Tensor *> pointers;
  for (const Tensor &input : inputs)
    pointers.push_back(&input);
  std::vector<EvaluatedTensor> evaluated[2];
  for (EvalMode mode : {EvalMode::Float64, EvalMode::Eager}) {
    EvaluatorOptions options;
    options.mode = mode;
    options.threads = 1;
    auto values = Evaluator(options).evaluate(function, pointers);
    if (!values)
      return fail(Outcome::Kind::NoReference, values.takeError());
    evaluated[mode == EvalMode::Eager] = std::move(*values);
  }
  for (size_t n = 0; n < results.size(); ++n) {
    CheckResult result =
        checkResult(results[n], evaluated[0][n], evaluated[1][n]);
    if (!result.pass)
      return fail(Outcome::Kind::Wrong,
                  formatv("{0}: result {1}: {2}", where, n, result.reason));
  }
  return {};
}

static std::vector<TensorView>
getViews(llvm::MutableArrayRef<GuardedTensor> tensors) {
  std::vector<TensorView> views;
  for (GuardedTensor &tensor : tensors)
    views.push_back(tensor.getView());
  return views;
}

static llvm::Error runOnCPU(const Kernel &kernel,
                            llvm::MutableArrayRef<GuardedTensor> inputs,
                            llvm::MutableArrayRef<GuardedTensor> results,
                            unsigned threads) {
  RunOptions options;
  options.threads = threads;
  return kernel.run(getViews(inputs), getViews(results), options);
}

/// On copies of the tensors and of what is around them, which are copied back.
static llvm::Error runOnGPU(const Kernel &kernel,
                            llvm::MutableArrayRef<GuardedTensor> inputs,
                            llvm::MutableArrayRef<GuardedTensor> results) {
  llvm::Expected<cuda::Device> device = cuda::Device::current();
  if (!device)
    return device.takeError();
  std::vector<std::pair<cuda::DeviceBuffer, GuardedTensor *>> copies;
  auto copy = [&](GuardedTensor &tensor) -> llvm::Expected<TensorView> {
    llvm::MutableArrayRef<uint8_t> bytes = tensor.getBytes();
    auto buffer = cuda::DeviceBuffer::allocate(*device, bytes.size());
    if (!buffer)
      return buffer.takeError();
    if (llvm::Error error = buffer->copyFrom(bytes.data(), bytes.size()))
      return std::move(error);
    auto *data = static_cast<uint8_t *>(buffer->getData());
    copies.emplace_back(std::move(*buffer), &tensor);
    return tensor.getView(data);
  };
  std::vector<TensorView> inputViews, resultViews;
  for (auto [number, input] : llvm::enumerate(inputs)) {
    llvm::Expected<TensorView> view =
        kernel.isOnHost(number) ? input.getView() : copy(input);
    if (!view)
      return view.takeError();
    inputViews.push_back(*view);
  }
  for (GuardedTensor &result : results) {
    llvm::Expected<TensorView> view = copy(result);
    if (!view)
      return view.takeError();
    resultViews.push_back(*view);
  }
  if (llvm::Error error = kernel.run(inputViews, resultViews))
    return error;
  if (llvm::Error error = device->synchronize())
    return error;
  for (auto &[buffer, tensor] : copies)
    if (llvm::Error error =
            buffer.copyTo(tensor->getBytes().data(), buffer.getSize()))
      return error;
  return llvm::Error::success();
}

/// The gradient of a result, which is one more input.
llvm::Expected<Tensor> Case::makeGradient(const Kernel &kernel,
                                          mlir::func::FuncOp function,
                                          const Lengths &lengths,
                                          size_t input) {
  auto type =
      mlir::cast<mlir::ShapedType>(function.getArgument(input).getType());
  Shape shape = program.getResultShape(type.getRank() == 3, lengths);
  llvm::Expected<ArgSpec> spec = ArgSpec::parse("randn:" + formatShape(shape));
  if (!spec)
    return spec.takeError();
  return makeTensor(*spec, kernel.inputs()[input].dtype, shape, program.seed,
                    input);
}

Outcome Case::run(const Kernel &kernel, mlir::func::FuncOp function,
                  const Lengths &lengths) {
  std::string where = formatv(
      "batch {0}, heads {1} of {2}, {3} queries, {4} keys", lengths.batch,
      lengths.getHeads(), lengths.kvHeads, lengths.queries, lengths.keys);
  std::vector<Tensor> inputs;
  std::vector<GuardedTensor> guardedInputs, guardedResults;
  for (size_t input = 0; input < function.getNumArguments(); ++input) {
    llvm::Expected<Tensor> tensor =
        input < program.getNumInputs()
            ? program.makeInput(input, lengths)
            : makeGradient(kernel, function, lengths, input);
    if (!tensor)
      return fail(Outcome::Kind::NoReference, tensor.takeError());
    guardedInputs.emplace_back(tensor->getDType(), tensor->getShape(),
                               program.strides.seed, input);
    guardedInputs.back().copyFrom(*tensor);
    inputs.push_back(std::move(*tensor));
  }

  llvm::Expected<std::vector<Shape>> shapes =
      kernel.resultShapes(getViews(guardedInputs));
  if (!shapes)
    return fail(Outcome::Kind::RunError, shapes.takeError());
  for (auto [n, shape] : llvm::enumerate(*shapes))
    guardedResults.emplace_back(kernel.results()[n].dtype, shape,
                                program.strides.seed, 100 + n);

  // On one thread and on several, or twice on a GPU, with the same bits.
  std::vector<Tensor> results;
  for (unsigned threads : {1, 3}) {
    for (GuardedTensor &result : guardedResults)
      result.poison();
    llvm::Error error =
        kernel.device() == DeviceKind::Cuda
            ? runOnGPU(kernel, guardedInputs, guardedResults)
            : runOnCPU(kernel, guardedInputs, guardedResults, threads);
    if (error)
      return fail(Outcome::Kind::RunError, std::move(error));
    for (auto [n, result] : llvm::enumerate(guardedResults)) {
      if (!result.isGuardIntact())
        return fail(Outcome::Kind::StrayWrite,
                    formatv("{0}: result {1}: something next to it was "
                            "written to",
                            where, n));
      llvm::Expected<Tensor> copy = result.copyOut();
      if (!copy)
        return fail(Outcome::Kind::RunError, copy.takeError());
      if (threads == 1)
        results.push_back(std::move(*copy));
      else if (!haveSameBits(results[n], *copy))
        return fail(Outcome::Kind::NotDeterministic,
                    formatv("{0}: result {1} differs between two runs, on a "
                            "CPU with 1 and {2} threads",
                            where, n, threads));
    }
  }
  for (auto [n, input] : llvm::enumerate(guardedInputs)) {
    llvm::Expected<Tensor> copy = input.copyOut();
    if (!copy)
      return fail(Outcome::Kind::RunError, copy.takeError());
    if (!input.isGuardIntact() || !haveSameBits(inputs[n], *copy))
      return fail(Outcome::Kind::StrayWrite,
                  formatv("{0}: input {1} was written to", where, n));
  }
  if (checkOptions.spoil)
    for (Tensor &result : results)
      if (int64_t count = result.getNumElements())
        result.setFromDouble(count - 1, result.getAsDouble(count - 1) + 1);
  return compare(kernel, function, inputs, results, where);
}

/// Sets `other` to a schedule of the kernel that launches may not have taken.
Outcome Case::run(const CompileOptions &options, std::string &other) {
  if (checkOptions.gradients) {
    DifferentiateOptions joint;
    joint.joint = true;
    llvm::Expected<std::string> both = differentiate(print(program), joint);
    if (!both)
      return fail(Outcome::Kind::Rejected, both.takeError());
    text = std::move(*both);
  }
  llvm::Expected<Kernel> kernel = Kernel::compile(text, options);
  if (!kernel) {
    llvm::Error error = kernel.takeError();
    bool isForOtherTarget = false;
    llvm::visitErrors(error, [&](const llvm::ErrorInfoBase &info) {
      isForOtherTarget = info.convertToErrorCode() == std::errc::not_supported;
    });
    Outcome outcome = fail(Outcome::Kind::Rejected, std::move(error));
    if (isForOtherTarget)
      outcome.kind = Outcome::Kind::Unsupported;
    return outcome;
  }
  // One for results is none for gradients, nor for another attention.
  if (const auto &code = kernel->package().program;
      code && !checkOptions.gradients && program.attentions.size() == 1) {
    // Copies in front of the attention and behind it have none.
    for (const auto &launch : code->launches)
      if (launch.variants.front().schedule != "elements")
        other = launch.variants[program.seed % launch.variants.size()].schedule;
  }
  if (checkOptions.compileOnly)
    return {};
  mlir::DialectRegistry registry;
  mlir::attn::registerCompilerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return fail(Outcome::Kind::Rejected, "the program does not parse");
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  for (const Lengths &lengths : program.runs)
    if (Outcome outcome = run(*kernel, function, lengths);
        outcome.kind != Outcome::Kind::Right)
      return outcome;
  return {};
}

Outcome Case::run() {
  CompileOptions options;
  options.boundsCheck = program.boundsCheck;
  options.optLevel = program.optLevel;
  options.device = program.device;
  options.sparsity = program.sparsityForm;
  std::string schedule, unused;
  Outcome outcome = run(options, schedule);
  if (outcome.kind != Outcome::Kind::Right || schedule.empty())
    return outcome;
  // Most schedules are for aligned rows, and say so. The one for any strides is
  // what the driver compiles, with spills if it has to.
  Program dense = program;
  dense.strides.seed = 0;
  options.schedule = schedule;
  outcome = Case(dense, checkOptions).run(options, unused);
  llvm::StringRef reason = outcome.text;
  if (reason.contains("; copy it"))
    return {};
  if (outcome.isFailure())
    outcome.text += "; with " + schedule;
  return outcome;
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

static void writeAll(int file, llvm::StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written <= 0)
      return;
    bytes = bytes.drop_front(written);
  }
}

static std::string readAll(int file) {
  std::string bytes;
  char buffer[4096];
  ssize_t got;
  while ((got = ::read(file, buffer, sizeof(buffer))) > 0 ||
         (got < 0 && errno == EINTR))
    if (got > 0)
      bytes.append(buffer, got);
  return bytes;
}

Outcome property::check(const Program &program, const CheckOptions &options) {
  int ends[2];
  if (::pipe(ends) != 0)
    return fail(Outcome::Kind::Crash, "no pipe could be made");
  pid_t child = ::fork();
  if (child < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return fail(Outcome::Kind::Crash, "no process could be started");
  }
  if (child == 0) {
    ::close(ends[0]);
    // The default action of SIGALRM ends the process.
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(options.timeout);
    Outcome outcome = Case(program, options).run();
    std::string message(1, static_cast<char>(outcome.kind));
    writeAll(ends[1], message + outcome.text);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string message = readAll(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return fail(Outcome::Kind::Timeout,
                "it runs for more than " + llvm::Twine(options.timeout) + " s");
  if (WIFSIGNALED(status))
    return fail(Outcome::Kind::Crash,
                llvm::Twine("signal ") + ::strsignal(WTERMSIG(status)));
  if (message.empty())
    return fail(Outcome::Kind::Crash,
                "exit code " + llvm::Twine(WEXITSTATUS(status)));
  return {static_cast<Outcome::Kind>(message[0]), message.substr(1)};
}
