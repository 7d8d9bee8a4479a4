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

LogicalResult mlir::attn::emitElementIteration(OpBuilder &builder,
                                               scf::ForallOp loop,
                                               KernelArguments &arguments,
                                               KernelValues &values) {
  Location loc = loop.getLoc();
  Value lane;
  if (hasSums(loop)) {
    if (failed(emitWarpIteration(builder, loop, values)))
      return failure();
    lane = gpu::LaneIdOp::create(builder, loc, /*upper_bound=*/IntegerAttr());
    values.setLane(lane);
  } else if (failed(emitThreadIteration(builder, loop, values))) {
    return failure();
  }
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
    OpBuilder::InsertionGuard guard(builder);
    if (lane) {
      ScalarBuilder ints(loc, builder);
      builder.setInsertionPointToStart(
          scf::IfOp::create(ints, ints.eq(ints.toI32(lane), 0),
                            /*withElseRegion=*/false)
              .thenBlock());
    }
    memref::StoreOp::create(builder, loc, *value,
                            arguments.getMemRef(*operand, insert.getDestType()),
                            *place);
  }
  return success();
}
