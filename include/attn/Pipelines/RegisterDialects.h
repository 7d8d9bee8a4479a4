//===- RegisterDialects.h - Dialects the compiler uses ----------*- C++ -*-===//
//
// One list of the dialects and the external models of interfaces that the
// library and the tools load, so that all of them read the same programs.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PIPELINES_REGISTERDIALECTS_H
#define ATTN_PIPELINES_REGISTERDIALECTS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::attn {

/// What the pipelines read, make and lower: the attn dialect, the upstream
/// dialects around it, and the interfaces that bufferization, inlining and the
/// lowering to LLVM ask for. Translation to LLVM IR is not part of it.
void registerCompilerDialects(DialectRegistry &registry);

} // namespace mlir::attn

#endif // ATTN_PIPELINES_REGISTERDIALECTS_H
