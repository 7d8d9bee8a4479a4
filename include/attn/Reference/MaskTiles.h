//===- MaskTiles.h - Which tiles of a mask are empty or full ----*- C++ -*-===//
//
// Asks the mask of each attention of a function about every pair of a query and
// a key, as the reference evaluator does, and sums up tiles of them. Nothing is
// inferred from the mask, so this is what an analysis of masks is compared
// with, and it takes time in proportion to queries * keys. Memory is in
// proportion to the tiles of heads that differ, and to the captures.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_MASKTILES_H
#define ATTN_REFERENCE_MASKTILES_H

#include "attn/Support/Tensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <functional>
#include <vector>

namespace attn {

/// Whether a mask allows no pair of a tile, some of them, or all.
enum class TileClass : uint8_t { Empty, Partial, Full };

struct MaskTilesOptions {
  /// Queries and keys in a tile; at an edge it may have fewer.
  int64_t tileRows = 128;
  int64_t tileColumns = 128;
  /// Number of threads, 0 for one per processor. Results do not depend on it.
  unsigned threads = 0;
  /// An error if the tiles of all heads that differ are more than this.
  int64_t maxTiles = int64_t(1) << 26;
  /// If set, is called now and then, from the thread of the caller, with the
  /// part of the attention at hand that is done, from 0 to 1.
  std::function<void(double)> progress;
};

/// Heads of an attention whose masks are alike: every tile has the same class,
/// and as many pairs are allowed.
struct MaskHeads {
  /// (b, h), ascending.
  std::vector<std::pair<int64_t, int64_t>> heads;
  /// Pairs of a query and a key that the mask of one of them allows.
  int64_t numAllowed = 0;
  /// Row-major.
  std::vector<TileClass> tiles;

  int64_t count(TileClass wanted) const;
};

/// The mask of one attention.
struct MaskTiles {
  /// Valid as long as the function is.
  mlir::Operation *op = nullptr;
  /// How many attentions run before this one, with and without masks.
  size_t number = 0;
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t tileRows = 0;
  int64_t tileColumns = 0;
  /// Rows and columns of tiles.
  int64_t numRows = 0;
  int64_t numColumns = 0;
  /// All heads, those that are alike together, in the order of the first of
  /// each.
  std::vector<MaskHeads> groups;

  /// Over all heads.
  int64_t getNumTiles() const { return batch * heads * numRows * numColumns; }
  int64_t count(TileClass wanted) const;
  /// Allowed pairs over all pairs; 0 if there are none.
  double getDensity() const;
  double getDensity(const MaskHeads &group) const;
};

/// The masks of the attentions that `function` runs on these inputs, in the
/// order they run; without those that have neither mask nor sparsity. An
/// attention itself is evaluated only where a mask depends on it. Fails as
/// Evaluator::evaluate does.
llvm::Expected<std::vector<MaskTiles>>
evaluateMasks(mlir::func::FuncOp function,
              llvm::ArrayRef<const Tensor *> inputs,
              const MaskTilesOptions &options = {});

/// What the regions `blocks` and `tiles` of an attn.online_attention say of all
/// its tiles.
struct BlocksTiles {
  mlir::Operation *op = nullptr;
  int64_t numTiles = 0;
  /// Tiles with a key that is not ruled out for all of the tile's queries.
  int64_t numVisited = 0;
  /// Those of them in which every key is allowed for every query.
  int64_t numFull = 0;
};

/// The same for the regions of all attentions that run, in order; one without
/// either region visits all its tiles, and one without a mask finds all of them
/// full. Takes time in proportion to the rows of tiles, or with `tiles` to
/// tiles.
llvm::Expected<std::vector<BlocksTiles>>
evaluateBlocks(mlir::func::FuncOp function,
               llvm::ArrayRef<const Tensor *> inputs,
               const MaskTilesOptions &options = {});

} // namespace attn

#endif // ATTN_REFERENCE_MASKTILES_H
