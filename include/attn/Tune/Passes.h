//===- Passes.h - What was tuned, as attributes -----------------*- C++ -*-===//

#ifndef ATTN_TUNE_PASSES_H
#define ATTN_TUNE_PASSES_H

#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::attn {

#define GEN_PASS_DECL
#include "attn/Tune/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "attn/Tune/Passes.h.inc"

} // namespace mlir::attn

#endif // ATTN_TUNE_PASSES_H
