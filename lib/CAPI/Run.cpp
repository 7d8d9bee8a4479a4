//===- Run.cpp - Running of kernels of the C interface --------------------===//

#include "CAPI.h"

using namespace attn;
using namespace attn::capi;

attnStatus attnDeviceCheck(attnDevice device, attnError **error) {
  if (device != ATTN_DEVICE_CPU && device != ATTN_DEVICE_CUDA)
    return fail(error, ATTN_UNSUPPORTED,
                "expects ATTN_DEVICE_CPU or ATTN_DEVICE_CUDA, but got " +
                    llvm::Twine(device));
  auto kind = static_cast<DeviceKind>(device);
  llvm::Error failed = checkKind(kind);
  if (!failed)
    failed = checkDevice(kind);
  if (failed)
    return fail(error, ATTN_UNSUPPORTED, llvm::toString(std::move(failed)));
  return succeed(error);
}

attnStatus attnKernelResultShapes(const attnKernel *kernel,
                                  const attnTensor *inputs, size_t num_inputs,
                                  int64_t *extents, size_t num_extents,
                                  attnError **error) {
  if (!kernel)
    return fail(error, ATTN_INVALID_ARGUMENT, "expects a kernel, but got NULL");
  TensorViews views;
  if (attnStatus status = views.read(inputs, num_inputs, "input", error))
    return status;
  size_t wanted = 0;
  for (const TensorInfo &info : kernel->getMetadata().results)
    wanted += info.shape.size();
  if (num_extents != wanted)
    return fail(error, ATTN_INVALID_ARGUMENT,
                "expects room for " + llvm::Twine(wanted) +
                    " extents, but got " + llvm::Twine(num_extents));
  if (wanted > 0 && !extents)
    return fail(error, ATTN_INVALID_ARGUMENT,
                "expects a place for the extents, but got NULL");
  llvm::Expected<std::vector<Shape>> shapes =
      kernel->kernel->getResultShapes(views.get());
  if (!shapes)
    return fail(error, shapes.takeError(), ATTN_INVALID_ARGUMENT);
  for (const Shape &shape : *shapes)
    extents = std::copy(shape.begin(), shape.end(), extents);
  return succeed(error);
}

/// Options of a run, which live as long as `executor`.
static attnStatus readRunOptions(const attnRunOptions *options,
                                 Executor &executor, RunOptions &ours,
                                 attnError **error) {
  attnRunOptions given = {};
  if (options)
    if (attnStatus status = readStruct(options, given, "attnRunOptions", error))
      return status;
  if (given.threads < 0)
    return fail(error, ATTN_INVALID_ARGUMENT,
                "expects 0 or more threads, but got " +
                    llvm::Twine(given.threads));
  if (given.reserved != 0)
    return fail(error, ATTN_UNSUPPORTED,
                "expects the reserved member of attnRunOptions to be 0, but "
                "got " +
                    llvm::Twine(given.reserved));
  ours.threads = given.threads;
  ours.stream = given.stream;
  ours.checkLists = given.check_lists != 0;
  if (given.prepared)
    ours.prepared = given.prepared->prepared.get();
  if (given.pool) {
    executor.pool = &given.pool->pool;
    ours.executor = &executor;
  }
  return ATTN_OK;
}

attnStatus attnKernelRun(const attnKernel *kernel, const attnTensor *inputs,
                         size_t num_inputs, const attnTensor *results,
                         size_t num_results, const attnRunOptions *options,
                         attnError **error) {
  if (!kernel)
    return failNull(error, "a kernel");
  Executor executor;
  RunOptions ours;
  if (attnStatus status = readRunOptions(options, executor, ours, error))
    return status;
  TensorViews inputViews, resultViews;
  if (attnStatus status = inputViews.read(inputs, num_inputs, "input", error))
    return status;
  if (attnStatus status =
          resultViews.read(results, num_results, "result", error))
    return status;
  if (llvm::Error failed =
          kernel->kernel->run(inputViews.get(), resultViews.get(), ours))
    return fail(error, std::move(failed), ATTN_INVALID_ARGUMENT);
  return succeed(error);
}

attnStatus attnKernelPrepare(const attnKernel *kernel, const attnTensor *inputs,
                             size_t num_inputs, const attnRunOptions *options,
                             attnPrepared **prepared, attnError **error) {
  if (!prepared)
    return failNull(error, "a place for what is prepared");
  *prepared = nullptr;
  if (!kernel)
    return failNull(error, "a kernel");
  Executor executor;
  RunOptions ours;
  if (attnStatus status = readRunOptions(options, executor, ours, error))
    return status;
  if (ours.checkLists || ours.prepared)
    return fail(error, ATTN_INVALID_ARGUMENT,
                "expects no check_lists and no prepared to prepare, which are "
                "for runs");
  TensorViews views;
  if (attnStatus status = views.read(inputs, num_inputs, "input", error))
    return status;
  llvm::Expected<std::shared_ptr<const Prepared>> made =
      kernel->kernel->prepare(views.get(), ours);
  if (!made)
    return fail(error, made.takeError(), ATTN_INVALID_ARGUMENT);
  *prepared = new attnPrepared{std::move(*made)};
  return succeed(error);
}

size_t attnPreparedSize(const attnPrepared *prepared) {
  return prepared ? prepared->prepared->getBytes() : 0;
}

void attnPreparedDestroy(attnPrepared *prepared) { delete prepared; }
