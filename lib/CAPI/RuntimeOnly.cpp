//===- RuntimeOnly.cpp - What libattn-runtime can run ---------------------===//

#include "CAPI.h"

using namespace attn;

llvm::Expected<std::shared_ptr<const LoadedKernel>>
attn::capi::loadKernel(KernelPackage package) {
  return loadCudaKernel(std::move(package));
}

llvm::Error attn::capi::checkKind(DeviceKind device) {
  if (device == DeviceKind::Cuda)
    return llvm::Error::success();
  return llvm::createStringError(
      "expects ATTN_DEVICE_CUDA; kernels for a CPU need libattn");
}
