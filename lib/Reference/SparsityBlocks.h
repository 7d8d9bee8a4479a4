//===- SparsityBlocks.h - Which blocks of a layout take part ----*- C++ -*-===//
//
// The `sparsity` of an attention, from its operands: bits, or lists of blocks,
// whose contents are checked.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_REFERENCE_SPARSITYBLOCKS_H
#define ATTN_LIB_REFERENCE_SPARSITYBLOCKS_H

#include "Attention.h"
#include "llvm/Support/Error.h"

namespace attn::reference {

class SparsityBlocks {
public:
  SparsityBlocks(mlir::attn::AttentionLikeOpInterface op,
                 const AttentionInputs &inputs);

  /// Checks shapes and lists against [batch, heads, queries, keys]; before
  /// anything else is asked.
  llvm::Error check(std::array<int64_t, 4> sizes);

  /// Whether pairs of batches, or of heads, may differ in what takes part.
  bool dependsOnBatch() const { return strides[0] != 0; }
  bool dependsOnHead() const { return strides[1] != 0; }

  /// Clears `allowed`, one for each key, where the block of query (b, h, i) and
  /// the key takes no part. Positions are those in the operation.
  void restrict(int64_t b, int64_t h, int64_t i,
                std::vector<uint8_t> &allowed) const;

private:
  llvm::Error checkShape(std::array<int64_t, 4> sizes);
  llvm::Error checkLists(int64_t numKeyBlocks) const;

  mlir::attn::AttentionLikeOpInterface op;
  const AttentionInputs &inputs;
  mlir::attn::SparsityAttr sparsity;
  /// Elements of the first operand from a batch, a head and a row of blocks to
  /// the next; 0 where one serves all.
  std::array<int64_t, 3> strides = {0, 0, 1};
};

} // namespace attn::reference

#endif // ATTN_LIB_REFERENCE_SPARSITYBLOCKS_H
