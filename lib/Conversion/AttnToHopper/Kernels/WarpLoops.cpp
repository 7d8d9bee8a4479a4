//===- WarpLoops.cpp - Loops of which a warp has an iteration -------------===//

#include "WarpLoops.h"
#include "IntBuilder.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;
using namespace mlir::attn;

FailureOr<DictionaryAttr> mlir::attn::describeExtent(Builder &builder,
                                                     func::FuncOp function,
                                                     OpFoldResult extent,
                                                     Operation *user,
                                                     int64_t divisor) {
  auto getNumber = [&](StringRef name, int64_t number) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(number));
  };
  if (std::optional<int64_t> constant = getConstantIntValue(extent))
    return builder.getDictionaryAttr(
        getNumber("extent", llvm::divideCeil(*constant, divisor)));
  auto value = cast<Value>(extent);
  if (auto apply = value.getDefiningOp<affine::AffineApplyOp>()) {
    auto division =
        dyn_cast<AffineBinaryOpExpr>(apply.getAffineMap().getResult(0));
    auto by = division && division.getKind() == AffineExprKind::CeilDiv
                  ? dyn_cast<AffineConstantExpr>(division.getRHS())
                  : AffineConstantExpr();
    if (!by || apply.getMapOperands().size() != 1 ||
        !isa<AffineDimExpr, AffineSymbolExpr>(division.getLHS()))
      return user->emitError("expects the extents of a table to be those of "
                             "arguments, or their quotients");
    divisor *= by.getValue();
    value = apply.getMapOperands()[0];
  }
  auto dim = value.getDefiningOp<tensor::DimOp>();
  Value source = dim ? dim.getSource() : Value();
  while (auto cast =
             source ? source.getDefiningOp<tensor::CastOp>() : tensor::CastOp())
    source = cast.getSource();
  auto argument = dyn_cast_if_present<BlockArgument>(source);
  if (!argument || argument.getOwner() != &function.getBody().front() ||
      !dim.getConstantIndex())
    return user->emitError("expects the extents of a table to be those of "
                           "arguments, or their quotients");
  return builder.getDictionaryAttr(
      {getNumber("dim", *dim.getConstantIndex()), getNumber("divisor", divisor),
       getNumber("operand", argument.getArgNumber())});
}

DictionaryAttr mlir::attn::describeTable(Builder &builder, Type element,
                                         ArrayRef<Attribute> extents) {
  int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  return builder.getDictionaryAttr(
      {builder.getNamedAttr(
           "bytes", builder.getI64IntegerAttr(std::max<int64_t>(bits / 8, 1))),
       builder.getNamedAttr("extents", builder.getArrayAttr(extents))});
}

gpu::GPUFuncOp mlir::attn::createWarpKernel(OpBuilder &builder, Location loc,
                                            const Twine &name,
                                            int64_t threads) {
  auto kernel =
      gpu::GPUFuncOp::create(builder, loc, name.str(),
                             FunctionType::get(builder.getContext(), {}, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  kernel->setAttr(hopper::kThreadsAttrName, builder.getI64IntegerAttr(threads));
  return kernel;
}

Value mlir::attn::emitWarpNumber(OpBuilder &builder, Location loc) {
  IntBuilder ib{builder, loc};
  Value block =
      ib.fromIndex(gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  Value thread =
      ib.fromIndex(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
  return ib.add(
      ib.mul(block, ib.constant(kWarpLoopThreads / hopper::kWarpThreads)),
      ib.div(thread, ib.constant(hopper::kWarpThreads)));
}

SmallVector<Value> mlir::attn::emitIteration(OpBuilder &builder, Location loc,
                                             Value number,
                                             ArrayRef<Value> extents) {
  IntBuilder ib{builder, loc};
  Value count = ib.constant(1);
  for (Value extent : extents)
    count = ib.mul(count, extent);
  Value isIteration = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::slt, number, count);
  auto branch = scf::IfOp::create(builder, loc, isIteration,
                                  /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> indices(extents.size());
  Value rest = number;
  for (size_t dim = extents.size(); dim-- > 0;) {
    indices[dim] = ib.toPosition(ib.rem(rest, extents[dim]));
    rest = ib.div(rest, extents[dim]);
  }
  return indices;
}

static FailureOr<SmallVector<Value>>
emitExtents(OpBuilder &builder, scf::ForallOp loop, KernelValues &values) {
  IntBuilder ib{builder, loop.getLoc()};
  SmallVector<Value> extents;
  for (OpFoldResult bound : loop.getMixedUpperBound()) {
    FailureOr<Value> extent = values.getScalar(bound);
    if (failed(extent))
      return failure();
    extents.push_back(ib.fromIndex(*extent));
  }
  return extents;
}

static void mapIndices(scf::ForallOp loop, ArrayRef<Value> indices,
                       KernelValues &values) {
  for (auto [from, to] : llvm::zip_equal(loop.getInductionVars(), indices))
    values.map(from, to);
}

FailureOr<WarpIteration> mlir::attn::emitWarpIteration(OpBuilder &builder,
                                                       scf::ForallOp loop,
                                                       KernelValues &values,
                                                       int64_t lanes) {
  Location loc = loop.getLoc();
  FailureOr<SmallVector<Value>> extents = emitExtents(builder, loop, values);
  if (failed(extents))
    return failure();
  IntBuilder ib{builder, loc};
  int64_t perWarp = hopper::kWarpThreads / lanes;
  if (perWarp > 1)
    extents->back() = ib.div(extents->back(), ib.constant(perWarp));
  WarpIteration result;
  result.number = emitWarpNumber(builder, loc);
  result.indices = emitIteration(builder, loc, result.number, *extents);
  if (perWarp > 1) {
    Value lane =
        gpu::LaneIdOp::create(builder, loc, /*upper_bound=*/IntegerAttr());
    Value last =
        ib.mul(ib.fromIndex(result.indices.back()), ib.constant(perWarp));
    result.indices.back() = ib.toPosition(
        ib.add(last, ib.div(ib.fromIndex(lane), ib.constant(lanes))));
  }
  mapIndices(loop, result.indices, values);
  return std::move(result);
}

LogicalResult mlir::attn::emitThreadIteration(OpBuilder &builder,
                                              scf::ForallOp loop,
                                              KernelValues &values) {
  Location loc = loop.getLoc();
  IntBuilder ib{builder, loc};
  FailureOr<SmallVector<Value>> extents = emitExtents(builder, loop, values);
  if (failed(extents))
    return failure();
  Value last = extents->back();
  extents->back() = ib.div(ib.add(last, ib.constant(hopper::kWarpThreads - 1)),
                           ib.constant(hopper::kWarpThreads));
  SmallVector<Value> indices =
      emitIteration(builder, loc, emitWarpNumber(builder, loc), *extents);
  Value lane =
      gpu::LaneIdOp::create(builder, loc, /*upper_bound=*/IntegerAttr());
  indices.back() = arith::AddIOp::create(
      builder, loc,
      arith::MulIOp::create(
          builder, loc, indices.back(),
          arith::ConstantIndexOp::create(builder, loc, hopper::kWarpThreads)),
      lane);
  Value isThere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                        ib.fromIndex(indices.back()), last);
  builder.setInsertionPointToStart(
      scf::IfOp::create(builder, loc, isThere, /*withElseRegion=*/false)
          .thenBlock());
  mapIndices(loop, indices, values);
  return success();
}
