//===- Passes.h - Passes from Hopper kernels to NVVM ------------*- C++ -*-===//

#ifndef ATTN_CONVERSION_HOPPERTONVVM_PASSES_H
#define ATTN_CONVERSION_HOPPERTONVVM_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::NVVM {
class NVVMDialect;
} // namespace mlir::NVVM

namespace mlir::attn {

#define GEN_PASS_DECL
#include "attn/Conversion/HopperToNVVM/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "attn/Conversion/HopperToNVVM/Passes.h.inc"

} // namespace mlir::attn

#endif // ATTN_CONVERSION_HOPPERTONVVM_PASSES_H
