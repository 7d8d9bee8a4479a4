//===- ElementLoops.cpp - Loops over elements of a result -----------------===//

#include "ElementLoops.h"
#include "WarpLoops.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "attn/Dialect/ScalarBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::attn;

bool mlir::attn::isElementLoop(scf::ForallOp loop) {
  auto inserts = loop.getTerminator().getYieldingOps();
  return !inserts.empty() && llvm::all_of(inserts, [](Operation &op) {
    return cast<tensor::ParallelInsertSliceOp>(op)
        .getSource()
        .getDefiningOp<tensor::InsertOp>();
  });
}

bool mlir::attn::hasSums(scf::ForallOp loop) {
  return !loop.getBody()->getOps<scf::ForOp>().empty();
}

namespace {
/// An element of a result, and where it belongs.
struct Element {
  Location loc;
  Value value, memory, isThere;
  SmallVector<Value> place;
};
} // namespace

static LogicalResult computeElements(scf::ForallOp loop,
                                     KernelArguments &arguments,
                                     KernelValues &values, Value isThere,
                                     SmallVectorImpl<Element> &elements) {
  for (Operation &op : loop.getTerminator().getYieldingOps()) {
    auto insert = cast<tensor::ParallelInsertSliceOp>(op);
    auto element = insert.getSource().getDefiningOp<tensor::InsertOp>();
    std::optional<unsigned> operand = values.getOperand(insert.getDest());
    bool isOne = llvm::all_of(insert.getMixedSizes(), [](OpFoldResult size) {
      return isConstantIntValue(size, 1);
    });
    if (!operand || !isOne)
      return insert.emitError("expects an element of a result") << otherTarget;
    FailureOr<Value> value = values.getScalar(element.getScalar());
    FailureOr<SmallVector<Value>> place =
        values.getScalars(insert.getMixedOffsets());
    if (failed(value) || failed(place))
      return failure();
    Value memory = arguments.getMemRef(*operand, insert.getDestType());
    elements.push_back({op.getLoc(), *value, memory, isThere, *place});
  }
  return success();
}

LogicalResult mlir::attn::emitElementIteration(OpBuilder &builder,
                                               scf::ForallOp loop,
                                               KernelArguments &arguments,
                                               KernelValues &values) {
  Location loc = loop.getLoc();
  SmallVector<Element> elements;
  if (hasSums(loop)) {
    if (failed(emitWarpIteration(builder, loop, values)))
      return failure();
    ScalarBuilder ints(loc, builder);
    Value lane = gpu::LaneIdOp::create(ints, /*upper_bound=*/IntegerAttr());
    values.setLane(lane);
    if (failed(computeElements(loop, arguments, values,
                               ints.eq(ints.toI32(lane), 0), elements)))
      return failure();
  } else {
    FailureOr<SmallVector<ThreadIteration>> iterations =
        emitThreadIterations(builder, loop, values);
    if (failed(iterations))
      return failure();
    KernelValues::State outside = values.save();
    for (ThreadIteration &iteration : *iterations) {
      values.restore(outside);
      mapIndices(loop, iteration.indices, values);
      if (failed(computeElements(loop, arguments, values, iteration.isThere,
                                 elements)))
        return failure();
    }
  }
  // All are written behind the last one, so that their loads overlap.
  for (Element &element : elements) {
    OpBuilder::InsertionGuard guard(builder);
    if (element.isThere)
      builder.setInsertionPointToStart(
          scf::IfOp::create(builder, element.loc, element.isThere,
                            /*withElseRegion=*/false)
              .thenBlock());
    memref::StoreOp::create(builder, element.loc, element.value, element.memory,
                            element.place);
  }
  return success();
}
