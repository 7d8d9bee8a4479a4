//===- CarryPlaces.cpp - Numbers of blocks by several indices -------------===//

#include "CarryPlaces.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

/// Whether a number is a multiple of a constant as it stands.
static bool isMultiple(OpFoldResult number, int64_t of) {
  if (std::optional<int64_t> constant = getConstantIntValue(number))
    return *constant % of == 0;
  auto product = cast<Value>(number).getDefiningOp<arith::MulIOp>();
  return product &&
         (isMultiple(product.getLhs(), of) || isMultiple(product.getRhs(), of));
}

LogicalResult CarriedPlaces::match() {
  WalkResult walk =
      loop.getBody().walk([&](affine::AffineDelinearizeIndexOp op) {
        if (op.getLinearIndex() != loop.getInductionVar())
          return WalkResult::advance();
        SmallVector<OpFoldResult> extents = op.getMixedBasis();
        if (extents.empty() || !isMultiple(extents.back(), loop.getStep())) {
          op.emitOpError("expects an innermost extent of the position of a "
                         "loop that is a multiple of its step, ")
              << loop.getStep();
          return WalkResult::interrupt();
        }
        auto same = llvm::find_if(places, [&](auto &group) {
          return group.front().getMixedBasis() == extents &&
                 group.front().getNumResults() == op.getNumResults();
        });
        if (same == places.end())
          places.push_back({op});
        else
          same->push_back(op);
        return WalkResult::advance();
      });
  return failure(walk.wasInterrupted());
}

SmallVector<Value> CarriedPlaces::emitFirst(Value position) {
  Type i32 = rewriter.getI32Type();
  SmallVector<Value> first;
  for (ArrayRef<affine::AffineDelinearizeIndexOp> group : places) {
    affine::AffineDelinearizeIndexOp op = group.front();
    SmallVector<Value> indices(op.getNumResults());
    SmallVector<OpFoldResult> extents = op.getMixedBasis();
    Value rest = position;
    for (size_t number = indices.size(); number-- > 0;) {
      // The outermost extent, which may be left out, bounds nothing.
      if (number == 0) {
        indices[0] = rest;
        break;
      }
      OpFoldResult extent = extents[extents.size() - (indices.size() - number)];
      Value size = arith::IndexCastOp::create(
          rewriter, loc, i32,
          getValueOrCreateConstantIndexOp(rewriter, loc, extent));
      indices[number] = arith::RemUIOp::create(rewriter, loc, rest, size);
      rest = arith::DivUIOp::create(rewriter, loc, rest, size);
    }
    llvm::append_range(first, indices);
  }
  return first;
}

SmallVector<Value> CarriedPlaces::emitNext(ValueRange carried) {
  if (places.empty())
    return {};
  Type i32 = rewriter.getI32Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(rewriter, loc, value, 32);
  };
  auto step = hopper::StepOp::create(
      rewriter, loc, SmallVector<Type>(carried.size(), i32), "next_place", "");
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.createBlock(&step.getBody());
  SmallVector<Value> next(carried);
  size_t offset = 0;
  for (ArrayRef<affine::AffineDelinearizeIndexOp> group : places) {
    affine::AffineDelinearizeIndexOp source = group.front();
    SmallVector<OpFoldResult> extents = source.getMixedBasis();
    size_t count = source.getNumResults();
    Value by = constant(loop.getStep()), isBelow;
    for (size_t number = count; number-- > 0;) {
      Value &index = next[offset + number];
      index = arith::SubIOp::create(rewriter, loc, index, by);
      if (number == 0)
        break;
      // Below 0, it goes on from the end of its extent.
      isBelow = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt,
                                      index, constant(0));
      Value size = arith::IndexCastOp::create(
          rewriter, loc, i32,
          getValueOrCreateConstantIndexOp(
              rewriter, loc, extents[extents.size() - (count - number)]));
      index = arith::SelectOp::create(
          rewriter, loc, isBelow,
          arith::AddIOp::create(rewriter, loc, index, size), index);
      by = arith::SelectOp::create(rewriter, loc, isBelow, constant(1),
                                   constant(0));
    }
    for (affine::AffineDelinearizeIndexOp op : group) {
      OpBuilder::InsertionGuard inStep(rewriter);
      rewriter.setInsertionPoint(op);
      SmallVector<Value> positions;
      for (Value index : carried.slice(offset, count))
        positions.push_back(PositionOp::create(rewriter, loc, index));
      rewriter.replaceOp(op, positions);
    }
    offset += count;
  }
  EndOp::create(rewriter, loc, next);
  SmallVector<Attribute> schedule(loop.getSchedule().getValue());
  schedule.push_back(
      PlaceAttr::get(rewriter.getContext(), step.getName(), /*stage=*/0));
  loop.setScheduleAttr(rewriter.getArrayAttr(schedule));
  return SmallVector<Value>(step.getResults());
}
