//===- BlocksCheck.cpp - Check block bounds against the mask --------------===//

#include "BlocksCheck.h"
#include "BoundsRegion.h"

using namespace attn::reference;
using llvm::Error;

Error BlocksCheck::compile() {
  if (op.getBlocks().empty() || options.blockRows <= 0 ||
      !op.getOffsets().empty())
    return Error::success();
  if (Error error = evaluateTiles(1))
    return error;
  return options.blockRows == 1 ? Error::success()
                                : evaluateTiles(options.blockRows);
}

Error BlocksCheck::evaluateTiles(int64_t tileRows) {
  Tiling tiling{tileRows, (sizes.queries + tileRows - 1) / tileRows, {}};
  if (Error error =
          forEachTile(op, sizes, inputs, options, tileRows,
                      [&](Bounds bounds) { tiling.bounds.push_back(bounds); }))
    return error;
  tilings.push_back(std::move(tiling));
  return Error::success();
}

Error BlocksCheck::forEachTile(mlir::attn::OnlineAttentionOp op,
                               const AttentionSizes &sizes,
                               const AttentionInputs &inputs,
                               const EvaluatorOptions &options,
                               int64_t tileRows,
                               llvm::function_ref<void(Bounds)> body) {
  BoundsRegion region(op.getBlocks(), mlir::attn::kNumBlocksArgs, inputs,
                      options.mode);
  if (Error error = region.compile())
    return error;
  for (int64_t b = 0; b < sizes.batch; ++b)
    for (int64_t h = 0; h < sizes.heads; ++h)
      for (int64_t begin = 0; begin < sizes.queries; begin += tileRows) {
        auto result = region.evaluate(
            {b, h, begin, std::min(begin + tileRows, sizes.queries),
             sizes.keys});
        if (!result)
          return result.takeError();
        body({(*result)[0], (*result)[1], (*result)[2], (*result)[3]});
      }
  return Error::success();
}

void BlocksCheck::checkRow(const AttentionRows::Row &row) {
  for (const Tiling &tiling : tilings) {
    int64_t tile = row.id.i / tiling.tileRows;
    const Bounds &bounds =
        tiling
            .bounds[(row.id.b * sizes.heads + row.id.h) * tiling.tilesPerHead +
                    tile];
    for (int64_t j = 0; j < sizes.keys; ++j) {
      bool allowed = row.getAllowedByMask()[j];
      bool outside = j < bounds.lo || j >= bounds.hi;
      bool full = j >= bounds.fullLo && j < bounds.fullHi;
      if (allowed ? !outside || !row.isAllowed : !full)
        continue;
      std::string where =
          "(" + std::to_string(row.id.b) + ", " + std::to_string(row.id.h) +
          ", " + std::to_string(row.id.i) + ", " + std::to_string(j) + ")";
      std::string claim =
          "lo = " + std::to_string(bounds.lo) +
          ", full_lo = " + std::to_string(bounds.fullLo) +
          ", full_hi = " + std::to_string(bounds.fullHi) +
          ", hi = " + std::to_string(bounds.hi) + " for the rows from " +
          std::to_string(tile * tiling.tileRows) + " to below " +
          std::to_string(std::min((tile + 1) * tiling.tileRows, sizes.queries));
      report(row.number, (allowed ? "expects allowed keys to lie within the "
                                    "bounds of blocks, but got the key at (b, "
                                    "h, i, j) = "
                                  : "expects keys within the full bounds of "
                                    "blocks to be allowed, but got the masked "
                                    "key at (b, h, i, j) = ") +
                             where + " and " + claim);
      return;
    }
  }
}

void BlocksCheck::report(int64_t number, std::string text) {
  std::lock_guard<std::mutex> lock(mutex);
  if (number >= firstNumber)
    return;
  firstNumber = number;
  message = std::move(text);
}

Error BlocksCheck::takeError() {
  if (firstNumber == INT64_MAX)
    return Error::success();
  return makeError(op, message);
}
