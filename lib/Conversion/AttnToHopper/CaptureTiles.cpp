//===- CaptureTiles.cpp - Captures that are read in tiles -----------------===//
//
// A capture with an element for each key and query, such as a dense bias, is
// read at consecutive columns by consecutive keys and at consecutive rows by
// consecutive queries: what a tile reads is a box, which can be copied at once.
//
//===----------------------------------------------------------------------===//

#include "TileProgram.h"
#include "attn/Conversion/AttnToHopper/Schedules.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// A vector of index along one axis of a tile: `position + 0, 1, 2, ...`.
struct Consecutive {
  bool isAlongKeys = false;
  Value position;
};
} // namespace

/// `value` as the sum of a scalar and 0, 1, 2, ... along an axis. A vector of
/// keys was a column before it became one for all queries.
static std::optional<Consecutive> matchConsecutive(Value value) {
  Consecutive result;
  while (Operation *op = value.getDefiningOp()) {
    if (auto broadcast = dyn_cast<vector::BroadcastOp>(op)) {
      if (!isa<VectorType>(broadcast.getSource().getType()))
        return std::nullopt;
      value = broadcast.getSource();
    } else if (auto cast = dyn_cast<vector::ShapeCastOp>(op)) {
      result.isAlongKeys = true;
      value = cast.getSource();
    } else {
      break;
    }
  }
  auto add = value.getDefiningOp<arith::AddIOp>();
  if (!add || cast<VectorType>(value.getType()).getRank() != 1)
    return std::nullopt;
  auto start = add.getLhs().getDefiningOp<vector::BroadcastOp>();
  if (!start || !add.getRhs().getDefiningOp<vector::StepOp>() ||
      isa<VectorType>(start.getSource().getType()))
    return std::nullopt;
  result.position = start.getSource();
  return result;
}

std::optional<TileAccess> mlir::attn::matchCaptureTile(GatherOp read,
                                                       func::FuncOp function,
                                                       int64_t tileN) {
  auto type = dyn_cast<VectorType>(read.getType());
  auto argument = dyn_cast<BlockArgument>(read.getSource());
  if (!type || type.getRank() != 2 || !argument ||
      argument.getOwner() != &function.getFunctionBody().front() ||
      !isCaptureTileElement(type.getElementType()))
    return std::nullopt;
  TileAccess access;
  access.argument = argument.getArgNumber();
  access.columns = tileN;
  access.elementType = type.getElementType();
  int64_t row = -1, column = -1;
  OpFoldResult rowPosition, columnPosition;
  for (auto [dim, index] : llvm::enumerate(read.getIndices())) {
    if (!isa<VectorType>(index.getType())) {
      access.dims.push_back(dim);
      access.position.push_back(index);
      continue;
    }
    std::optional<Consecutive> along = matchConsecutive(index);
    if (!along)
      return std::nullopt;
    bool isKeys = along->isAlongKeys;
    int64_t &axis = isKeys ? column : row;
    // A diagonal is no box.
    if (axis != -1)
      return std::nullopt;
    axis = dim;
    (isKeys ? columnPosition : rowPosition) = along->position;
  }
  int64_t rank = read.getIndices().size();
  if (row == -1 || column != rank - 1 || access.dims.size() > 2)
    return std::nullopt;
  Builder builder(read.getContext());
  while (access.dims.size() < 2) {
    access.dims.push_back(-1);
    access.position.push_back(builder.getIndexAttr(0));
  }
  access.dims.append({row, column});
  access.position.append({rowPosition, columnPosition});
  return access;
}
