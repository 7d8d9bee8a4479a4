//===- TilesCheck.h - Check classes of tiles against the mask ---*- C++ -*-===//
//
// The `tiles` region of attn.online_attention claims that no pair of a tile is
// allowed, or that all are. Here the claims are compared with what the mask
// says, row by row.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_REFERENCE_TILESCHECK_H
#define ATTN_LIB_REFERENCE_TILESCHECK_H

#include "AttentionRows.h"
#include <mutex>

namespace attn::reference {

class TilesCheck {
public:
  TilesCheck(mlir::attn::OnlineAttentionOp op, const AttentionSizes &sizes,
             const AttentionInputs &inputs, const EvaluatorOptions &options)
      : op(op), sizes(sizes), inputs(inputs), options(options) {}

  /// Whether any pair of a tile may be allowed, and whether all are.
  struct Class {
    bool may, must;
  };
  /// Evaluates the region, which there is, for all tiles of some rows and keys:
  /// by batch, head, row and key.
  static llvm::Error forEachTile(mlir::attn::OnlineAttentionOp op,
                                 const AttentionSizes &sizes,
                                 const AttentionInputs &inputs,
                                 const EvaluatorOptions &options,
                                 int64_t tileRows, int64_t tileColumns,
                                 llvm::function_ref<void(Class)> body);

  /// Evaluates the region for all tiles of `options.blockRows` rows and as many
  /// keys. It is relative to the whole problem, so nothing is checked where the
  /// operation has offsets.
  llvm::Error compile();

  /// Compares one row with the classes of its tiles. Called from many threads.
  void checkRow(const AttentionRows::Row &row);

  /// The violation that comes first, if any.
  llvm::Error takeError();

private:
  mlir::attn::OnlineAttentionOp op;
  const AttentionSizes &sizes;
  const AttentionInputs &inputs;
  const EvaluatorOptions &options;
  int64_t rowTiles = 0, keyTiles = 0;
  /// For each (b, h, tile of rows, KV block).
  std::vector<Class> classes;
  std::mutex mutex;
  int64_t firstNumber = INT64_MAX;
  std::string message;
};

} // namespace attn::reference

#endif // ATTN_LIB_REFERENCE_TILESCHECK_H
