//===- Kernel.cpp - Kernels of the C interface ----------------------------===//

#include "CAPI.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <chrono>

using namespace attn;
using namespace attn::capi;

//===----------------------------------------------------------------------===//
// Packages
//===----------------------------------------------------------------------===//

attnStatus attnKernelSave(const attnKernel *kernel, attnString **bytes,
                          attnError **error) {
  if (!bytes)
    return failNull(error, "a place for the bytes");
  *bytes = nullptr;
  if (!kernel)
    return failNull(error, "a kernel");
  return succeed(bytes, kernel->kernel->getPackage().toBytes(), error);
}

static attnStatus load(llvm::StringRef bytes, attnKernel **kernel,
                       attnError **error) {
  auto start = std::chrono::steady_clock::now();
  llvm::Expected<KernelPackage> package = KernelPackage::fromBytes(bytes);
  if (!package)
    return fail(error, ATTN_UNSUPPORTED, llvm::toString(package.takeError()));
  CompileReport report;
  report.objectSize = package->getCodeSize();
  llvm::Expected<std::shared_ptr<const LoadedKernel>> loaded =
      loadKernel(std::move(*package));
  if (!loaded)
    return fail(error, ATTN_UNSUPPORTED, llvm::toString(loaded.takeError()));
  std::chrono::duration<double, std::milli> time =
      std::chrono::steady_clock::now() - start;
  report.stages.push_back({"load", time.count()});
  *kernel = new attnKernel(std::move(*loaded), std::move(report));
  return succeed(error);
}

attnStatus attnKernelLoad(const void *bytes, size_t size, attnKernel **kernel,
                          attnError **error) {
  if (!kernel)
    return failNull(error, "a place for the kernel");
  *kernel = nullptr;
  if (!bytes)
    return failNull(error, "the bytes of a kernel");
  return load({static_cast<const char *>(bytes), size}, kernel, error);
}

attnStatus attnKernelLoadFile(const char *path, attnKernel **kernel,
                              attnError **error) {
  if (!kernel)
    return failNull(error, "a place for the kernel");
  *kernel = nullptr;
  if (!path)
    return failNull(error, "the path of a file");
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (std::error_code code = file.getError())
    return fail(error, ATTN_INVALID_ARGUMENT,
                llvm::Twine("cannot read '") + path + "': " + code.message());
  return load((*file)->getBuffer(), kernel, error);
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
  return kernel ? kernel->getMetadata().entry.c_str() : "";
}

attnDevice attnKernelDevice(const attnKernel *kernel) {
  return kernel
             ? static_cast<attnDevice>(kernel->kernel->getPackage().getDevice())
             : ATTN_DEVICE_CPU;
}

size_t attnKernelNumInputs(const attnKernel *kernel) {
  return kernel ? kernel->getMetadata().inputs.size() : 0;
}

size_t attnKernelNumResults(const attnKernel *kernel) {
  return kernel ? kernel->getMetadata().results.size() : 0;
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
  return writeInfo(kernel->getMetadata().inputs, "inputs", index, info, error);
}

attnStatus attnKernelResultInfo(const attnKernel *kernel, size_t index,
                                attnTensorInfo *info, attnError **error) {
  if (!kernel)
    return failNull(error, "a kernel");
  return writeInfo(kernel->getMetadata().results, "results", index, info,
                   error);
}

/// With names as all of this interface are.
static llvm::json::Object toCamelCase(llvm::json::Object object) {
  llvm::json::Object result;
  for (auto &[name, value] : object)
    result[llvm::convertToCamelFromSnakeCase(name)] = std::move(value);
  return result;
}

/// The variants of a program, of a call that has made a choice.
static llvm::json::Array describeKernels(const cuda::CudaProgram &program,
                                         const CodeChoice *choice = nullptr) {
  llvm::json::Array kernels;
  for (const VariantReport &variant : describeVariants(program, choice))
    kernels.push_back(toCamelCase(variant.toJSON()));
  return kernels;
}

static llvm::json::Value makeReport(const attnKernel &kernel) {
  const CompileReport &report = kernel.report;
  llvm::json::Array stages;
  for (const CompileReport::Stage &stage : report.stages)
    stages.push_back(llvm::json::Object{{"name", stage.name},
                                        {"milliseconds", stage.milliseconds}});
  llvm::json::Array remarks;
  for (const CompileReport::Remark &remark : report.remarks)
    remarks.push_back(llvm::json::fixUTF8(remark.toString()));
  llvm::json::Object object{
      {"target", report.target},
      {"objectSize", static_cast<int64_t>(report.objectSize)},
      {"milliseconds", report.getTotalMilliseconds()},
      {"stages", std::move(stages)},
      {"remarks", std::move(remarks)},
      {"warnings", llvm::json::fixUTF8(report.warnings)}};
  if (const auto &program = kernel.kernel->getPackage().program)
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
  return succeed(json, llvm::formatv("{0}", makeReport(*kernel)), error);
}

attnStatus attnKernelExplain(const attnKernel *kernel, const attnTensor *inputs,
                             size_t num_inputs, attnString **report,
                             attnError **error) {
  if (!report)
    return failNull(error, "a place for the explanation");
  *report = nullptr;
  if (!kernel)
    return failNull(error, "a kernel");
  TensorViews views;
  if (attnStatus status = views.read(inputs, num_inputs, "input", error))
    return status;
  llvm::Expected<CodeChoice> choice = kernel->kernel->explain(views.get());
  if (!choice)
    return fail(error, choice.takeError(), ATTN_INVALID_ARGUMENT);
  auto getRemarks = [&](llvm::StringRef name) {
    llvm::json::Array texts;
    for (const CompileReport::Remark &remark : kernel->report.getRemarks(name))
      texts.push_back(llvm::json::fixUTF8(remark.getMessage()));
    return texts;
  };
  llvm::json::Array schedules, tuned;
  for (const auto &remark : kernel->report.getRemarks("schedule"))
    schedules.push_back(llvm::json::Object{
        {"schedule", llvm::json::fixUTF8(remark.schedule)},
        {"reason", llvm::json::fixUTF8(remark.text)},
        {"isTaken", choice->package == &kernel->kernel->getPackage()}});
  for (const CodeChoice::Tuned &entry : choice->tuned)
    tuned.push_back(toCamelCase(entry.toJSON()));
  llvm::json::Object object{{"source", choice->source},
                            {"choice", llvm::json::fixUTF8(choice->text)},
                            {"schedules", std::move(schedules)},
                            {"tuned", std::move(tuned)},
                            {"masks", getRemarks("mask-cost")},
                            {"ruledOut", getRemarks("rows-ruled-out")},
                            {"rejected", getRemarks("schedule-rejected")}};
  if (choice->measured)
    object["measuredSeconds"] = *choice->measured;
  if (const auto &program = choice->package->program)
    object["kernels"] = describeKernels(*program, &*choice);
  llvm::json::Value value = std::move(object);
  return succeed(report, llvm::formatv("{0}", value), error);
}
