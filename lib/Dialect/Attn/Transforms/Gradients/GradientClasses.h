//===- GradientClasses.h - Which tiles work tiles need, from data -*- C++ -*-=//
//
// Where bounds do not say all of which rows a work tile of gradients meets, the
// region `tiles` is asked of each tile: whether it is needed, and whether its
// pairs are all allowed.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_GRADIENTCLASSES_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_GRADIENTCLASSES_H

#include "Tiles/BlockMetadata.h"
#include "attn/Dialect/Attn/IR/AttnTile.h"

namespace mlir::attn {

class GradientClasses {
public:
  /// Emits what the tiles of all work tiles share, in front of them. With
  /// `isOverKeys`, queries meet tiles of keys, and otherwise the other way
  /// round. Nothing where `op` has no region `tiles`.
  static FailureOr<std::optional<GradientClasses>>
  create(RewriterBase &rewriter, AttentionGradOp op, bool isOverKeys);

  /// The rows that a work tile meets: those of a head, up to the last one.
  struct Others {
    Value batch, head, end;
  };
  /// Says of the tiles of a loop over them which ones the work tile with the
  /// rows `own` needs, and which of these need no predicate: none where
  /// `isWhole` is given and does not hold.
  LogicalResult emit(OpBuilder &builder, TileLoopOp loop, const TileRows &own,
                     const Others &others, Value isWhole) const;

private:
  GradientClasses(AttentionGradOp op, bool isOverKeys);

  TileQuestions questions;
  BlockMetadata metadata;
  bool isOverKeys;
};

/// What all work tiles of a gradient read.
struct GradientInputs {
  /// <do, o> - dlse, in the layout of lse.
  Value delta;
  /// Of work tiles of queries, which meet keys, and of work tiles of keys.
  std::optional<GradientClasses> overKeys, overQueries;
};

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_GRADIENTCLASSES_H
