//===- Sizes.h - Sizes that types leave open --------------------*- C++ -*-===//
//
// Finds out which dimensions of the tensors of a function have the same size,
// so that few sizes have to be told for all to be known.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTNRUN_SIZES_H
#define ATTN_TOOLS_ATTNRUN_SIZES_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Support/Tensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn::cli {

/// The sizes of the tensors in a function: those that types and the user tell,
/// those that must equal them, and for the rest a choice.
class Sizes {
public:
  /// What a dimension that nothing determines gets.
  static constexpr int64_t kDefaultBatch = 1;
  static constexpr int64_t kDefaultHeads = 8;
  static constexpr int64_t kDefaultLength = 128;

  explicit Sizes(mlir::func::FuncOp function);

  /// Tells the shape of an argument.
  void setShape(unsigned argument, llvm::ArrayRef<int64_t> shape);

  /// Gives each dimension of an argument that is still open a size.
  void complete();

  /// The shape of a tensor, with kDynamicExtent for what
  /// is not known.
  Shape getShape(mlir::Value value) const;

private:
  /// What an open dimension is of, for its default.
  enum class Role { Other, Batch, Heads };

  struct Dimension {
    /// Another dimension of the same size, nearer to the one that stands for
    /// all; that one is its own parent and has the size and the role.
    unsigned parent;
    int64_t size;
    Role role = Role::Other;
    /// Whether some argument has it, so that its size is free to choose.
    bool isOfArgument = false;
  };

  unsigned find(unsigned id) const;
  void unite(unsigned a, unsigned b);
  void propagate();

  void collect(mlir::Operation *op);
  void collectAttention(mlir::attn::AttentionLikeOpInterface op);
  void collectCaptures(mlir::attn::AttentionLikeOpInterface op);
  void collectSparsity(mlir::attn::AttentionLikeOpInterface op);
  void propagateBlocks();
  void collectLinalg(mlir::Operation *op);
  void uniteShapes(mlir::Value a, mlir::Value b);
  void uniteWithSource(unsigned id, mlir::Value size);
  unsigned getId(mlir::Value value, unsigned dim) const {
    return firstIds.lookup(value) + dim;
  }

  /// The number of the first dimension of each ranked tensor; the others
  /// follow.
  llvm::DenseMap<mlir::Value, unsigned> firstIds;
  std::vector<Dimension> dimensions;
  /// The dimension `blocks` counts the blocks of `block` in dimension `length`,
  /// and `extra`.
  struct BlockCount {
    unsigned blocks, length;
    int64_t block, extra;
  };
  std::vector<BlockCount> blockCounts;
  /// Pairs that are usually equal, though they need not be.
  std::vector<std::pair<unsigned, unsigned>> guesses;
  mlir::func::FuncOp function;
};

/// What the attentions of a function compute.
struct Work {
  /// Floating-point operations, two for a multiply-add, masked keys counted.
  double operations = 0;
  /// The number of attentions, and the longest of their queries.
  int64_t numAttentions = 0;
  int64_t maxQueries = 0;
};

/// Adds up the work of all attentions; nothing if it is not known how often
/// they run, or on which sizes.
std::optional<Work> countWork(mlir::func::FuncOp function, const Sizes &sizes);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_SIZES_H
