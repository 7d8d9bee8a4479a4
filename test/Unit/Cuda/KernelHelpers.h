//===- KernelHelpers.h - Kernels that tests describe ------------*- C++ -*-===//

#ifndef ATTN_TEST_UNIT_CUDA_KERNELHELPERS_H
#define ATTN_TEST_UNIT_CUDA_KERNELHELPERS_H

#include "attn/Runtime/Cuda/KernelInfo.h"

namespace attn::cuda {

inline Param makeParam(ParamKind kind, int32_t operand, int32_t dim = 0,
                       int32_t bits = 64) {
  Param param;
  param.kind = kind;
  param.operand = operand;
  param.dim = dim;
  param.bits = bits;
  return param;
}

/// A variant that shares out keys: of rows of 64 columns, in tiles of 64 by 64.
inline Variant makeSplitVariant() {
  Variant variant;
  variant.entry = "kernel";
  variant.threads = 256;
  variant.tileRows = 64;
  variant.tileKeys = 64;
  variant.tileCost = 2;
  variant.keyCost = 0.01;
  variant.ptx = "ptx";
  variant.firstTable = 1;
  TableInfo &table = variant.tables.emplace_back();
  table.extents.resize(5);
  for (int32_t dim : {0, 1, 2})
    table.extents[dim] = {0, dim};
  table.extents[3].isNumSplits = true;
  table.extents[4].size = 64;
  CombineKernel &combine = variant.combine.emplace();
  combine.entry = "combine";
  combine.threads = 128;
  combine.warpsPerRow = 3;
  variant.combineCost = 4;
  variant.splitRowCost = 0.001;
  combine.params = {makeParam(ParamKind::Pointer, 1)};
  return variant;
}

} // namespace attn::cuda

#endif // ATTN_TEST_UNIT_CUDA_KERNELHELPERS_H
