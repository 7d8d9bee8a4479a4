//===- BlocksCheck.h - Check block bounds against the mask ------*- C++ -*-===//
//
// The `blocks` region of attn.online_attention claims which keys are masked,
// and which are allowed, for all rows of a tile. Here the claims are compared
// with what the mask says, row by row.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_REFERENCE_BLOCKSCHECK_H
#define ATTN_LIB_REFERENCE_BLOCKSCHECK_H

#include "AttentionRows.h"
#include <mutex>

namespace attn::reference {

class BlocksCheck {
public:
  BlocksCheck(mlir::attn::OnlineAttentionOp op, const AttentionSizes &sizes,
              const AttentionInputs &inputs, const EvaluatorOptions &options)
      : op(op), sizes(sizes), inputs(inputs), options(options) {}

  /// Evaluates the region for all tiles: of one row, and of
  /// `options.blockRows`. Bounds are relative to the whole problem, so nothing
  /// is checked where the operation has offsets.
  llvm::Error compile();

  /// Compares one row with the bounds of its tiles. Called from many threads.
  void checkRow(const AttentionRows::Row &row);

  /// The violation that comes first, if any.
  llvm::Error takeError();

  struct Bounds {
    int64_t lo, fullLo, fullHi, hi;
  };
  /// Evaluates the region for each tile of so many rows, in the order of (b, h,
  /// tile).
  static llvm::Error
  forEachTile(mlir::attn::OnlineAttentionOp op, const AttentionSizes &sizes,
              const AttentionInputs &inputs, const EvaluatorOptions &options,
              int64_t tileRows, llvm::function_ref<void(Bounds)> body);

private:
  llvm::Error evaluateTiles(int64_t tileRows);
  void report(int64_t number, std::string text);

  mlir::attn::OnlineAttentionOp op;
  const AttentionSizes &sizes;
  const AttentionInputs &inputs;
  const EvaluatorOptions &options;
  struct Tiling {
    int64_t tileRows;
    int64_t tilesPerHead;
    /// For each (b, h, tile).
    std::vector<Bounds> bounds;
  };
  std::vector<Tiling> tilings;
  std::mutex mutex;
  int64_t firstNumber = INT64_MAX;
  std::string message;
};

} // namespace attn::reference

#endif // ATTN_LIB_REFERENCE_BLOCKSCHECK_H
