//===- TilesCheck.cpp - Check classes of tiles against the mask -----------===//

#include "TilesCheck.h"

using namespace attn::reference;
using llvm::Error;
using llvm::Expected;

Error TilesCheck::forEachTile(mlir::attn::OnlineAttentionOp op,
                              const AttentionSizes &sizes,
                              const AttentionInputs &inputs,
                              const EvaluatorOptions &options, int64_t tileRows,
                              int64_t tileColumns,
                              llvm::function_ref<void(Class)> body) {
  Program program;
  RegionCompiler compiler(options.mode, program);
  mlir::Block &block = op.getTiles().front();
  uint32_t arguments[mlir::attn::kNumTilesArgs];
  for (auto [number, reg] : llvm::enumerate(arguments))
    reg = compiler.bindLane(block.getArgument(number));
  for (auto [number, capture] : llvm::enumerate(inputs.captures))
    compiler.bindArray(block.getArgument(mlir::attn::kNumTilesArgs + number),
                       *capture, number);
  if (Error error = compiler.compileBlock(block))
    return error;
  uint32_t results[2];
  mlir::Operation *yield = block.getTerminator();
  for (auto [number, reg] : llvm::enumerate(results)) {
    Expected<uint32_t> lane =
        compiler.getLane(yield->getOperand(number), yield);
    if (!lane)
      return lane.takeError();
    reg = *lane;
  }

  Frame frame(program);
  auto fail = [&] {
    return llvm::createStringError(compiler.describe(frame.getError()));
  };
  if (!frame.runRow())
    return fail();
  for (int64_t b = 0; b < sizes.batch; ++b)
    for (int64_t h = 0; h < sizes.heads; ++h)
      for (int64_t i = 0; i < sizes.queries; i += tileRows)
        for (int64_t j = 0; j < sizes.keys; j += tileColumns) {
          int64_t values[] = {b, h,
                              i, std::min(i + tileRows, sizes.queries),
                              j, std::min(j + tileColumns, sizes.keys)};
          for (auto [reg, value] : llvm::zip(arguments, values))
            *frame.laneInts(reg) = value;
          if (!frame.runLanes(1))
            return fail();
          body({*frame.laneInts(results[0]) != 0,
                *frame.laneInts(results[1]) != 0});
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
    bool allowed = row.allowed[j];
    if (allowed ? known.may : !known.must)
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
