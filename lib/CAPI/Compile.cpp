//===- Compile.cpp - Compilation in the C interface -----------------------===//

#include "CAPI.h"
#include "attn-c/Attn.h"
#include "attn/JIT/Kernel.h"
#include "attn/Runtime/ThreadCount.h"

using namespace attn;
using namespace attn::capi;

template <>
constexpr size_t attn::capi::kFirstSize<attnCompileOptions> =
    offsetof(attnCompileOptions, dump_user) +
    sizeof(attnCompileOptions::dump_user);

//===----------------------------------------------------------------------===//
// Kernels of any device
//===----------------------------------------------------------------------===//

llvm::Expected<std::shared_ptr<const LoadedKernel>>
attn::capi::loadKernel(KernelPackage package) {
  llvm::Expected<Kernel> kernel = Kernel::load(std::move(package));
  if (!kernel)
    return kernel.takeError();
  return kernel->getLoaded();
}

llvm::Error attn::capi::checkKind(DeviceKind) { return llvm::Error::success(); }

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

static std::function<void(llvm::StringRef, llvm::StringRef)>
makeDump(attnDump dump, void *user) {
  if (!dump)
    return nullptr;
  return [=](llvm::StringRef stage, llvm::StringRef text) {
    dump(user, stage.str().c_str(), text.str().c_str(), text.size());
  };
}

attnStatus attn::capi::readCompileOptions(const attnCompileOptions *from,
                                          CompileOptions &options,
                                          attnError **error) {
  if (!from)
    return ATTN_OK;
  attnCompileOptions given;
  if (attnStatus status = readStruct(from, given, "attnCompileOptions", error))
    return status;
  if (given.opt_level < -1 || given.opt_level > 3)
    return fail(error, ATTN_INVALID_ARGUMENT,
                "expects opt_level to be from -1 to 3, but got " +
                    llvm::Twine(given.opt_level));
  if (given.tuning != ATTN_TUNING_AUTO && given.tuning != ATTN_TUNING_OFF)
    return fail(error, ATTN_INVALID_ARGUMENT,
                "expects tuning to be ATTN_TUNING_AUTO or ATTN_TUNING_OFF, but "
                "got " +
                    llvm::Twine(given.tuning));
  if (given.deterministic < ATTN_DETERMINISM_AS_WRITTEN ||
      given.deterministic > ATTN_NONDETERMINISTIC)
    return fail(error, ATTN_INVALID_ARGUMENT,
                "expects deterministic to be ATTN_DETERMINISM_AS_WRITTEN, "
                "ATTN_DETERMINISTIC or ATTN_NONDETERMINISTIC, but got " +
                    llvm::Twine(given.deterministic));
  if (given.reserved != 0)
    return fail(error, ATTN_UNSUPPORTED,
                "expects the reserved member of attnCompileOptions to be 0, "
                "but got " +
                    llvm::Twine(given.reserved));
  if (given.deterministic != ATTN_DETERMINISM_AS_WRITTEN)
    options.deterministic = given.deterministic == ATTN_DETERMINISTIC;
  if (given.schedules)
    options.schedules = given.schedules;
  options.tuning = given.tuning == ATTN_TUNING_OFF ? Tuning::Off : Tuning::Auto;
  if (given.device != ATTN_DEVICE_CPU && given.device != ATTN_DEVICE_CUDA)
    return fail(error, ATTN_INVALID_ARGUMENT,
                "expects device to be ATTN_DEVICE_CPU or ATTN_DEVICE_CUDA, but "
                "got " +
                    llvm::Twine(given.device));
  options.device = static_cast<DeviceKind>(given.device);
  if (given.entry)
    options.entry = given.entry;
  if (given.buffer_name)
    options.bufferName = given.buffer_name;
  if (given.target)
    options.target = given.target;
  if (given.schedule)
    options.schedule = given.schedule;
  if (given.sparsity)
    options.sparsity = given.sparsity;
  options.boundsCheck = given.bounds_check != 0;
  if (given.opt_level != 0)
    options.optLevel = std::max(given.opt_level, 0);
  options.dumpIR = makeDump(given.dump_ir, given.dump_user);
  options.dumpLLVM = makeDump(given.dump_llvm, given.dump_user);
  return ATTN_OK;
}

attnStatus attnKernelCompile(const char *program, size_t size,
                             const attnCompileOptions *options,
                             attnKernel **kernel, attnError **error) {
  if (!kernel)
    return failNull(error, "a place for the kernel");
  *kernel = nullptr;
  if (!program)
    return failNull(error, "a program");
  CompileOptions ours;
  if (attnStatus status = readCompileOptions(options, ours, error))
    return status;
  llvm::Expected<Kernel> compiled =
      Kernel::compile(llvm::StringRef(program, size), ours);
  if (!compiled)
    return fail(error, compiled.takeError(), ATTN_COMPILE_ERROR);
  *kernel = new attnKernel(compiled->getLoaded(), compiled->report());
  return succeed(error);
}

attnStatus attnPrintAfter(const char *program, size_t size,
                          const attnCompileOptions *options, const char *pass,
                          attnString **text, attnError **error) {
  if (!text)
    return failNull(error, "a place for the text");
  *text = nullptr;
  if (!program)
    return failNull(error, "a program");
  if (!pass)
    return failNull(error, "a pass");
  CompileOptions ours;
  if (attnStatus status = readCompileOptions(options, ours, error))
    return status;
  ours.untilAfter = pass;
  llvm::Expected<std::string> printed =
      printAfter(llvm::StringRef(program, size), ours);
  if (!printed)
    return fail(error, printed.takeError(), ATTN_COMPILE_ERROR);
  return succeed(text, std::move(*printed), error);
}

attnStatus attnPipelinePasses(attnString **names, attnError **error) {
  if (!names)
    return failNull(error, "a place for the names");
  std::string lines;
  for (const std::string &pass : getPipelinePasses())
    lines += pass + "\n";
  return succeed(names, std::move(lines), error);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

attnStatus attnThreadPoolCreate(int32_t num_threads, attnThreadPool **pool,
                                attnError **error) {
  if (!pool)
    return fail(error, ATTN_INVALID_ARGUMENT,
                "expects a place for the pool, but got NULL");
  *pool = nullptr;
  if (num_threads < 1 || num_threads > kMaxThreads)
    return fail(error, ATTN_INVALID_ARGUMENT,
                "expects from 1 to " + llvm::Twine(kMaxThreads) +
                    " threads, but got " + llvm::Twine(num_threads));
  *pool = new attnThreadPool(num_threads);
  return succeed(error);
}

void attnThreadPoolDestroy(attnThreadPool *pool) { delete pool; }
