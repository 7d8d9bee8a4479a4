//===- Passes.h - Passes from tiles to code for a CPU -----------*- C++ -*-===//

#ifndef ATTN_CONVERSION_ATTNTOCPU_PASSES_H
#define ATTN_CONVERSION_ATTNTOCPU_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::attn {

#define GEN_PASS_DECL
#include "attn/Conversion/AttnToCPU/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "attn/Conversion/AttnToCPU/Passes.h.inc"

} // namespace mlir::attn

#endif // ATTN_CONVERSION_ATTNTOCPU_PASSES_H
