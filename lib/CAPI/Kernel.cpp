//===- Kernel.cpp - Kernels of the C interface ----------------------------===//

#include "CAPI.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace attn;
using namespace attn::capi;

static attnStatus failNull(attnError **error, const char *what) {
  return fail(error, ATTN_INVALID_ARGUMENT,
              llvm::Twine("expects ") + what + ", but got NULL");
}

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

static attnStatus readOptions(const attnCompileOptions *from,
                              CompileOptions &options, attnError **error) {
  if (!from)
    return ATTN_OK;
  attnCompileOptions given;
  if (attnStatus status = readStruct(from, given, "attnCompileOptions", error))
    return status;
  if (given.opt_level < -1 || given.opt_level > 3)
    return fail(error, ATTN_INVALID_ARGUMENT,
                "expects opt_level to be from -1 to 3, but got " +
                    llvm::Twine(given.opt_level));
  if (given.reserved != 0)
    return fail(error, ATTN_UNSUPPORTED,
                "expects the reserved member of attnCompileOptions to be 0, "
                "but got " +
                    llvm::Twine(given.reserved));
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
  if (attnStatus status = readOptions(options, ours, error))
    return status;
  llvm::Expected<Kernel> compiled =
      Kernel::compile(llvm::StringRef(program, size), ours);
  if (!compiled)
    return fail(error, compiled.takeError(), ATTN_COMPILE_ERROR);
  *kernel = new attnKernel(std::move(*compiled));
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
  if (attnStatus status = readOptions(options, ours, error))
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

attnStatus attnKernelSave(const attnKernel *kernel, attnString **bytes,
                          attnError **error) {
  if (!bytes)
    return failNull(error, "a place for the bytes");
  *bytes = nullptr;
  if (!kernel)
    return failNull(error, "a kernel");
  return succeed(bytes, kernel->kernel.package().toBytes(), error);
}

attnStatus attnKernelLoad(const void *bytes, size_t size, attnKernel **kernel,
                          attnError **error) {
  if (!kernel)
    return failNull(error, "a place for the kernel");
  *kernel = nullptr;
  if (!bytes)
    return failNull(error, "the bytes of a kernel");
  llvm::Expected<KernelPackage> package = KernelPackage::fromBytes(
      llvm::StringRef(static_cast<const char *>(bytes), size));
  if (!package)
    return fail(error, ATTN_UNSUPPORTED, llvm::toString(package.takeError()));
  llvm::Expected<Kernel> loaded = Kernel::load(std::move(*package));
  if (!loaded)
    return fail(error, ATTN_UNSUPPORTED, llvm::toString(loaded.takeError()));
  *kernel = new attnKernel(std::move(*loaded));
  return succeed(error);
}

void attnKernelRetain(attnKernel *kernel) {
  if (kernel)
    kernel->references.fetch_add(1, std::memory_order_relaxed);
}

void attnKernelRelease(attnKernel *kernel) {
  if (kernel && kernel->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete kernel;
}

//===----------------------------------------------------------------------===//
// Description
//===----------------------------------------------------------------------===//

const char *attnKernelEntry(const attnKernel *kernel) {
  return kernel ? kernel->kernel.package().metadata.entry.c_str() : "";
}

attnDevice attnKernelDevice(const attnKernel *kernel) {
  return kernel ? static_cast<attnDevice>(kernel->kernel.device())
                : ATTN_DEVICE_CPU;
}

size_t attnKernelNumInputs(const attnKernel *kernel) {
  return kernel ? kernel->kernel.inputs().size() : 0;
}

size_t attnKernelNumResults(const attnKernel *kernel) {
  return kernel ? kernel->kernel.results().size() : 0;
}

static attnStatus writeInfo(llvm::ArrayRef<TensorInfo> infos, const char *kind,
                            size_t index, attnTensorInfo *info,
                            attnError **error) {
  if (!info)
    return failNull(error, "an attnTensorInfo");
  if (index >= infos.size())
    return fail(error, ATTN_INVALID_ARGUMENT,
                llvm::Twine("expects the index of one of ") +
                    llvm::Twine(infos.size()) + " " + kind + ", but got " +
                    llvm::Twine(index));
  const TensorInfo &from = infos[index];
  attnTensorInfo filled = {};
  filled.name = from.name.c_str();
  filled.dtype = static_cast<attnDType>(from.dtype);
  filled.rank = from.shape.size();
  filled.shape = from.shape.data();
  return writeStruct(filled, info, "attnTensorInfo", error);
}

attnStatus attnKernelInputInfo(const attnKernel *kernel, size_t index,
                               attnTensorInfo *info, attnError **error) {
  if (!kernel)
    return failNull(error, "a kernel");
  return writeInfo(kernel->kernel.inputs(), "inputs", index, info, error);
}

attnStatus attnKernelResultInfo(const attnKernel *kernel, size_t index,
                                attnTensorInfo *info, attnError **error) {
  if (!kernel)
    return failNull(error, "a kernel");
  return writeInfo(kernel->kernel.results(), "results", index, info, error);
}

/// What the kernels take of a GPU.
static llvm::json::Array describeKernels(const cuda::CudaProgram &program) {
  llvm::json::Array kernels;
  for (const cuda::LaunchInfo &launch : program.launches)
    for (const cuda::Variant &variant : launch.variants) {
      llvm::json::Object kernel{
          {"entry", variant.entry},
          {"schedule", llvm::json::fixUTF8(variant.schedule)},
          {"threads", variant.threads},
          {"sharedBytes", variant.dynamicSharedBytes}};
      if (const std::optional<cuda::Resources> &resources = variant.resources) {
        kernel["sharedBytes"] =
            variant.dynamicSharedBytes + resources->sharedBytes;
        kernel["registers"] = resources->registers;
        kernel["spillBytes"] = resources->spillBytes;
      }
      if (!variant.summaries.empty()) {
        llvm::json::Array summaries;
        for (const cuda::SummaryKernel &summary : variant.summaries)
          summaries.push_back(summary.entry);
        kernel["summaries"] = std::move(summaries);
      }
      kernels.push_back(std::move(kernel));
    }
  return kernels;
}

static llvm::json::Value makeReport(const Kernel &kernel) {
  const CompileReport &report = kernel.report();
  llvm::json::Array stages;
  for (const CompileReport::Stage &stage : report.stages)
    stages.push_back(llvm::json::Object{{"name", stage.name},
                                        {"milliseconds", stage.milliseconds}});
  llvm::json::Array remarks;
  for (llvm::StringRef line : llvm::split(report.remarks, '\n'))
    if (!line.empty())
      remarks.push_back(llvm::json::fixUTF8(line));
  llvm::json::Object object{
      {"target", report.target},
      {"objectSize", static_cast<int64_t>(report.objectSize)},
      {"milliseconds", report.getTotalMilliseconds()},
      {"stages", std::move(stages)},
      {"remarks", std::move(remarks)},
      {"warnings", llvm::json::fixUTF8(report.warnings)}};
  if (const auto &program = kernel.package().program)
    object["kernels"] = describeKernels(*program);
  return object;
}

attnStatus attnKernelReport(const attnKernel *kernel, attnString **json,
                            attnError **error) {
  if (!json)
    return failNull(error, "a place for the report");
  *json = nullptr;
  if (!kernel)
    return failNull(error, "a kernel");
  return succeed(json, llvm::formatv("{0}", makeReport(kernel->kernel)), error);
}
