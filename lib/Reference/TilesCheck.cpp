//===- TilesCheck.cpp - Check classes of tiles against the mask -----------===//

#include "TilesCheck.h"
#include "BoundsRegion.h"

using namespace attn::reference;
using llvm::Error;

Error TilesCheck::forEachTile(mlir::attn::OnlineAttentionOp op,
                              const AttentionSizes &sizes,
                              const AttentionInputs &inputs,
                              const EvaluatorOptions &options, int64_t tileRows,
                              int64_t tileColumns,
                              llvm::function_ref<void(Class)> body) {
  BoundsRegion region(op.getTiles(), mlir::attn::kNumTilesArgs, inputs,
                      options.mode);
  if (Error error = region.compile())
    return error;
  for (int64_t b = 0; b < sizes.batch; ++b)
    for (int64_t h = 0; h < sizes.heads; ++h)
      for (int64_t i = 0; i < sizes.queries; i += tileRows)
        for (int64_t j = 0; j < sizes.keys; j += tileColumns) {
          auto result =
              region.evaluate({b, h, i, std::min(i + tileRows, sizes.queries),
                               j, std::min(j + tileColumns, sizes.keys)});
          if (!result)
            return result.takeError();
          body({(*result)[0] != 0, (*result)[1] != 0});
        }
  return Error::success();
}

Error TilesCheck::compile() {
  if (op.getTiles().empty() || options.blockRows <= 0 ||
      !op.getOffsets().empty())
    return Error::success();
  int64_t size = options.blockRows;
  rowTiles = (sizes.queries + size - 1) / size;
  keyTiles = (sizes.keys + size - 1) / size;
  return forEachTile(op, sizes, inputs, options, size, size,
                     [&](Class tile) { classes.push_back(tile); });
}

void TilesCheck::checkRow(const AttentionRows::Row &row) {
  if (classes.empty())
    return;
  int64_t size = options.blockRows;
  int64_t first =
      ((row.id.b * sizes.heads + row.id.h) * rowTiles + row.id.i / size) *
      keyTiles;
  for (int64_t j = 0; j < sizes.keys; ++j) {
    const Class &known = classes[first + j / size];
    bool allowed = row.getAllowedByMask()[j];
    if (allowed ? known.may || !row.isAllowed : !known.must)
      continue;
    std::lock_guard<std::mutex> lock(mutex);
    if (row.number >= firstNumber)
      return;
    firstNumber = row.number;
    int64_t i0 = row.id.i / size * size, j0 = j / size * size;
    message = std::string(allowed ? "expects no allowed key in a tile that is "
                                    "empty, but got the key at "
                                  : "expects no masked key in a tile that is "
                                    "full, but got the key at ") +
              "(b, h, i, j) = (" + std::to_string(row.id.b) + ", " +
              std::to_string(row.id.h) + ", " + std::to_string(row.id.i) +
              ", " + std::to_string(j) + ") in the tile from row " +
              std::to_string(i0) + " and key " + std::to_string(j0) + " of " +
              std::to_string(size) + " each";
    return;
  }
}

Error TilesCheck::takeError() {
  if (firstNumber == INT64_MAX)
    return Error::success();
  return makeError(op, message);
}
