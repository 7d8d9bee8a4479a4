//===- BlockArguments.h - Arguments that are layouts of blocks --*- C++ -*-===//
//
// What arguments that an attention has as its sparsity are, if the user says
// nothing, or no more than blocks(p): random blocks. Rows and columns of lists
// are made together, and are those of the bits from the same numbers.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNRUN_BLOCKARGUMENTS_H
#define ATTN_TOOLS_ATTNRUN_BLOCKARGUMENTS_H

#include "Sizes.h"
#include "attn/Support/ArgSpec.h"

namespace attn::cli {

/// Arguments that are the sparsity of an attention.
struct BlockArguments {
  mlir::Operation *attention;
  /// Of the bits, or the rows.
  unsigned first;
  /// Of the columns of lists.
  std::optional<unsigned> columns;

  mlir::attn::AttentionLikeOpInterface getOp() const {
    return mlir::cast<mlir::attn::AttentionLikeOpInterface>(attention);
  }
  /// What they are if the user says nothing.
  ArgSpec getDefaultSpec() const;
  /// Makes rows and columns. `spec` is that of the rows.
  llvm::Expected<std::pair<Tensor, Tensor>>
  makeLists(const ArgSpec &spec, const Sizes &sizes, uint64_t seed) const;
};

/// The arguments of `function` that are a sparsity as they are.
std::vector<BlockArguments> findBlockArguments(mlir::func::FuncOp function);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_BLOCKARGUMENTS_H
