//===- WarpLoops.cpp - Loops of which a warp has an iteration -------------===//

#include "WarpLoops.h"
#include "attn/Dialect/ScalarBuilder.h"
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
  ScalarBuilder ints(loc, builder);
  Value block = ints.toI32(gpu::BlockIdOp::create(ints, gpu::Dimension::x));
  Value thread = ints.toI32(gpu::ThreadIdOp::create(ints, gpu::Dimension::x));
  return ints.add(ints.mul(block, kWarpLoopThreads / hopper::kWarpThreads),
                  ints.divU(thread, hopper::kWarpThreads));
}

SmallVector<Value> mlir::attn::emitIteration(OpBuilder &builder, Location loc,
                                             Value number,
                                             ArrayRef<Value> extents) {
  ScalarBuilder ints(loc, builder);
  Value count = ints.i32(1);
  for (Value extent : extents)
    count = ints.mul(count, extent);
  auto branch = scf::IfOp::create(ints, ints.slt(number, count),
                                  /*withElseRegion=*/false);
  ints.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> indices(extents.size());
  Value rest = number;
  for (size_t dim = extents.size(); dim-- > 0;) {
    indices[dim] =
        hopper::PositionOp::create(ints, ints.remU(rest, extents[dim]));
    rest = ints.divU(rest, extents[dim]);
  }
  builder.restoreInsertionPoint(ints.saveInsertionPoint());
  return indices;
}

static FailureOr<SmallVector<Value>>
emitExtents(OpBuilder &builder, scf::ForallOp loop, KernelValues &values) {
  ScalarBuilder ints(loop.getLoc(), builder);
  SmallVector<Value> extents;
  for (OpFoldResult bound : loop.getMixedUpperBound()) {
    FailureOr<Value> extent = values.getScalar(bound);
    if (failed(extent))
      return failure();
    extents.push_back(ints.toI32(*extent));
  }
  return extents;
}

void mlir::attn::mapIndices(scf::ForallOp loop, ArrayRef<Value> indices,
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
  int64_t perWarp = hopper::kWarpThreads / lanes;
  if (perWarp > 1)
    extents->back() =
        ScalarBuilder(loc, builder).divU(extents->back(), perWarp);
  WarpIteration result;
  result.number = emitWarpNumber(builder, loc);
  result.indices = emitIteration(builder, loc, result.number, *extents);
  if (perWarp > 1) {
    ScalarBuilder ints(loc, builder);
    Value lane = gpu::LaneIdOp::create(ints, /*upper_bound=*/IntegerAttr());
    Value last = ints.mul(ints.toI32(result.indices.back()), perWarp);
    result.indices.back() = hopper::PositionOp::create(
        ints, ints.add(last, ints.divU(ints.toI32(lane), lanes)));
  }
  mapIndices(loop, result.indices, values);
  return std::move(result);
}

int64_t mlir::attn::getIterationsOfThread(scf::ForallOp loop) {
  constexpr int64_t kMost = 4;
  std::optional<int64_t> last =
      getConstantIntValue(loop.getMixedUpperBound().back());
  if (!last)
    return kMost;
  // A tensor without elements has no iteration.
  int64_t all =
      std::max<int64_t>(llvm::divideCeil(*last, hopper::kWarpThreads), 1);
  return llvm::divideCeil(all, llvm::divideCeil(all, kMost));
}

FailureOr<SmallVector<ThreadIteration>>
mlir::attn::emitThreadIterations(OpBuilder &builder, scf::ForallOp loop,
                                 KernelValues &values) {
  Location loc = loop.getLoc();
  FailureOr<SmallVector<Value>> extents = emitExtents(builder, loop, values);
  if (failed(extents))
    return failure();
  int64_t count = getIterationsOfThread(loop);
  int64_t perWarp = count * hopper::kWarpThreads;
  std::optional<int64_t> constant =
      getConstantIntValue(loop.getMixedUpperBound().back());
  bool isRow = constant && *constant <= perWarp;
  Value last = extents->back();
  ScalarBuilder outside(loc, builder);
  extents->back() = isRow
                        ? outside.i32(1)
                        : outside.divU(outside.add(last, perWarp - 1), perWarp);
  SmallVector<Value> indices =
      emitIteration(builder, loc, emitWarpNumber(builder, loc), *extents);
  ScalarBuilder inside(loc, builder);
  Value first = inside.toI32(
      gpu::LaneIdOp::create(inside, /*upper_bound=*/IntegerAttr()));
  if (!isRow)
    first =
        inside.add(inside.mul(inside.toI32(indices.back()), perWarp), first);
  SmallVector<ThreadIteration> result;
  for (int64_t number = 0; number < count; ++number) {
    int64_t offset = number * hopper::kWarpThreads;
    Value position = inside.add(first, offset);
    ThreadIteration &iteration = result.emplace_back();
    // Beyond the end there is the last element again.
    bool isWithin =
        constant && (isRow ? offset + hopper::kWarpThreads <= *constant
                           : *constant % perWarp == 0);
    if (!isWithin) {
      iteration.isThere = inside.slt(position, last);
      position = inside.minS(position, inside.sub(last, 1));
    }
    iteration.indices = indices;
    iteration.indices.back() = hopper::PositionOp::create(inside, position);
  }
  return result;
}
