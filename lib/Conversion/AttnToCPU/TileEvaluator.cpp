//===- TileEvaluator.cpp - Tile values at a point -------------------------===//

#include "TileEvaluator.h"
#include "Reports.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

bool mlir::attn::isContiguous(Value buffer, unsigned dim) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         dim + 1 == type.getRank() && strides[dim] == 1;
}

unsigned mlir::attn::getVectorDim(Value buffer) {
  if (buffer.getDefiningOp<memref::TransposeOp>())
    return 0;
  return cast<MemRefType>(buffer.getType()).getRank() - 1;
}

/// What was allocated, and the same position in it.
static std::pair<Value, SmallVector<Value>> getPlace(Value buffer,
                                                     ValueRange position) {
  SmallVector<Value> place(position);
  auto transpose = buffer.getDefiningOp<memref::TransposeOp>();
  if (!transpose)
    return {buffer, place};
  std::swap(place[0], place[1]);
  return {transpose.getIn(), place};
}

Value mlir::attn::loadTile(OpBuilder &builder, Location loc, Type type,
                           Value buffer, ValueRange position) {
  auto [base, place] = getPlace(buffer, position);
  if (auto vector = dyn_cast<VectorType>(type))
    return vector::LoadOp::create(builder, loc, vector, base, place);
  return memref::LoadOp::create(builder, loc, base, place);
}

void mlir::attn::storeTile(OpBuilder &builder, Location loc, Value value,
                           Value buffer, ValueRange position) {
  auto [base, place] = getPlace(buffer, position);
  if (isa<VectorType>(value.getType()))
    vector::StoreOp::create(builder, loc, value, base, place);
  else
    memref::StoreOp::create(builder, loc, value, base, place);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static bool isVectorPoint(ArrayRef<TileCoord> coords) {
  return llvm::any_of(coords, [](TileCoord coord) { return coord.isVector; });
}

Value TileEvaluator::splat(Value value) {
  if (isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(
      builder, loc, VectorType::get({lanes}, value.getType()), value);
}

Value TileEvaluator::evaluateVector(Value value, ArrayRef<TileCoord> coords) {
  Value result = evaluate(value, coords);
  if (!result || !isVectorPoint(coords))
    return result;
  return splat(result);
}

Value TileEvaluator::evaluate(Value value, ArrayRef<TileCoord> coords) {
  if (!isa<VectorType>(value.getType()) && !value.getDefiningOp<GatherOp>())
    return value;
  auto getOffset = [&](unsigned dim) {
    return dim < coords.size() ? coords[dim].offset : Value();
  };
  std::pair key(value, std::pair(getOffset(0), getOffset(1)));
  if (Value known = cache.lookup(key))
    return known;
  Value result = emit(value, coords);
  if (result)
    cache[key] = result;
  return result;
}

LogicalResult TileEvaluator::evaluateOfColumns(Value value, TileCoord column) {
  llvm::SetVector<Value> values;
  values.insert(value);
  for (size_t number = 0; number < values.size(); ++number) {
    Operation *op = values[number].getDefiningOp();
    if (!op || buffers.contains(values[number]))
      continue;
    if (auto broadcast = dyn_cast<vector::BroadcastOp>(op)) {
      auto source = dyn_cast<VectorType>(broadcast.getSourceType());
      if (source && source.getRank() == 1 &&
          source.getShape().back() ==
              broadcast.getResultVectorType().getShape().back() &&
          !evaluate(broadcast.getSource(), column))
        return failure();
    } else if (OpTrait::hasElementwiseMappableTraits(op)) {
      values.insert_range(op->getOperands());
    }
  }
  return success();
}

Value TileEvaluator::emit(Value value, ArrayRef<TileCoord> coords) {
  if (Value buffer = buffers.lookup(value)) {
    SmallVector<Value> indices;
    for (TileCoord coord : coords)
      indices.push_back(coord.offset);
    Type element = getElementTypeOrSelf(buffer.getType());
    Type type =
        isVectorPoint(coords) ? VectorType::get({lanes}, element) : element;
    Value loaded = loadTile(builder, loc, type, buffer, indices);
    Type wanted = getElementTypeOrSelf(value.getType());
    if (wanted == element)
      return loaded;
    if (auto type = dyn_cast<VectorType>(loaded.getType()))
      wanted = type.clone(wanted);
    return arith::TruncIOp::create(builder, loc, wanted, loaded);
  }
  Operation *op = value.getDefiningOp();
  if (!op) {
    emitError(value.getLoc(), "expects a tile that is an argument to be in "
                              "memory");
    return {};
  }
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)) && constant.isSplat())
    return arith::ConstantOp::create(builder, loc,
                                     constant.getSplatValue<TypedAttr>());
  if (auto step = dyn_cast<vector::StepOp>(op)) {
    if (!coords[0].isVector)
      return coords[0].offset;
    Value ids = vector::StepOp::create(
        builder, loc, VectorType::get({lanes}, builder.getIndexType()));
    return arith::AddIOp::create(builder, loc, splat(coords[0].offset), ids);
  }
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op))
    return emitBroadcast(broadcast, coords);
  if (auto cast = dyn_cast<vector::ShapeCastOp>(op)) {
    // vector<N> as vector<N x 1>.
    VectorType type = cast.getSourceVectorType();
    if (type.getRank() == 1 && coords.size() == 2 &&
        cast.getResultVectorType().getDimSize(1) == 1)
      return evaluate(cast.getSource(), coords.take_front());
  }
  if (auto read = dyn_cast<vector::TransferReadOp>(op))
    return emitRead(read, coords);
  if (auto gather = dyn_cast<GatherOp>(op))
    return emitGather(gather, coords);
  if (OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1)
    return emitElementwise(*op, coords);
  op->emitError("'") << op->getName()
                     << "' on tiles has no lowering to the CPU";
  return {};
}

Value TileEvaluator::emitElementwise(Operation &op,
                                     ArrayRef<TileCoord> coords) {
  SmallVector<Value> operands;
  bool isVector = false;
  for (Value operand : op.getOperands()) {
    Value value = evaluate(operand, isa<VectorType>(operand.getType())
                                        ? coords
                                        : ArrayRef<TileCoord>());
    if (!value)
      return {};
    isVector |= isa<VectorType>(value.getType());
    operands.push_back(value);
  }
  IRMapping mapping;
  for (auto [operand, value] : llvm::zip_equal(op.getOperands(), operands))
    mapping.map(operand, isVector ? splat(value) : value);
  Operation *clone = builder.clone(op, mapping);
  Type element = getElementTypeOrSelf(op.getResult(0).getType());
  clone->getResult(0).setType(isVector ? VectorType::get({lanes}, element)
                                       : element);
  // A splat constant operand that was cloned with a vector type is mapped, so
  // only attributes could still hold a shape; elementwise ops have none.
  return clone->getResult(0);
}

Value TileEvaluator::emitBroadcast(vector::BroadcastOp op,
                                   ArrayRef<TileCoord> coords) {
  auto source = dyn_cast<VectorType>(op.getSourceType());
  if (!source)
    return evaluate(op.getSource(), {});
  SmallVector<TileCoord> inner(coords.take_back(source.getRank()));
  VectorType result = op.getResultVectorType();
  int64_t skipped = result.getRank() - source.getRank();
  for (auto [dim, coord] : llvm::enumerate(inner))
    if (source.getDimSize(dim) == 1 && result.getDimSize(skipped + dim) != 1)
      coord = {arith::ConstantIndexOp::create(builder, loc, 0)};
  return evaluate(op.getSource(), inner);
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

Value TileEvaluator::emitRead(vector::TransferReadOp op,
                              ArrayRef<TileCoord> coords) {
  SmallVector<Value> indices(op.getIndices());
  AffineMap map = op.getPermutationMap();
  Value inRange;
  for (auto [number, coord] : llvm::enumerate(coords)) {
    unsigned dim = map.getDimPosition(number);
    Value index =
        arith::AddIOp::create(builder, loc, indices[dim], coord.offset);
    if (!op.isDimInBounds(number)) {
      // Past the end, any element that exists is read in place of padding.
      Value extent = memref::DimOp::create(builder, loc, op.getBase(), dim);
      Value one = arith::ConstantIndexOp::create(builder, loc, 1);
      Value last = arith::SubIOp::create(builder, loc, extent, one);
      Value inside = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::slt, index, extent);
      inRange =
          inRange ? Value(arith::AndIOp::create(builder, loc, inRange, inside))
                  : inside;
      index = arith::MinSIOp::create(builder, loc, index, last);
    }
    indices[dim] = index;
  }
  Type element = getElementTypeOrSelf(op.getType());
  Value result;
  Value padding = op.getPadding();
  if (isVectorPoint(coords)) {
    auto type = VectorType::get({lanes}, element);
    result = vector::LoadOp::create(builder, loc, type, op.getBase(), indices);
    padding = inRange ? splat(padding) : padding;
  } else {
    result = memref::LoadOp::create(builder, loc, op.getBase(), indices);
  }
  if (!inRange)
    return result;
  return arith::SelectOp::create(builder, loc, inRange, result, padding);
}

/// What is not readable ends the search, so that a value that was asked for
/// before is not asked again: operations may share operands at each level.
static bool
isVectorReadable(Value value, unsigned dim, const TileBuffers &buffers,
                 llvm::SmallDenseSet<std::pair<Value, unsigned>> &visited) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type || !visited.insert({value, dim}).second)
    return true;
  if (Value buffer = buffers.lookup(value))
    return dim == getVectorDim(buffer);
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op)) {
    auto source = dyn_cast<VectorType>(broadcast.getSourceType());
    int64_t own = source ? dim - (type.getRank() - source.getRank()) : -1;
    // What is the same along the dimension is read once.
    return own < 0 || source.getDimSize(own) != type.getDimSize(dim) ||
           isVectorReadable(broadcast.getSource(), own, buffers, visited);
  }
  auto read = dyn_cast<vector::TransferReadOp>(op);
  if (!read)
    return (op->hasTrait<OpTrait::ConstantLike>() ||
            isa<vector::StepOp, GatherOp>(op) ||
            OpTrait::hasElementwiseMappableTraits(op)) &&
           llvm::all_of(op->getOperands(), [&](Value operand) {
             return isVectorReadable(operand, dim, buffers, visited);
           });
  return read.isDimInBounds(dim) &&
         isContiguous(read.getBase(),
                      read.getPermutationMap().getDimPosition(dim));
}

bool mlir::attn::isVectorReadable(Value value, unsigned dim,
                                  const TileBuffers &buffers) {
  llvm::SmallDenseSet<std::pair<Value, unsigned>> visited;
  return ::isVectorReadable(value, dim, buffers, visited);
}

void TileEvaluator::emitReports(GatherOp op, Value mask,
                                ArrayRef<Value> indices,
                                ArrayRef<Value> inRange) {
  Value status = getStatusArgument(op, "a checked read");
  if (!status)
    return;
  for (auto [dim, index, inside] : llvm::enumerate(indices, inRange)) {
    Value ones = arith::ConstantOp::create(
        builder, loc,
        cast<TypedAttr>(isa<VectorType>(inside.getType())
                            ? Attribute(DenseElementsAttr::get(
                                  cast<VectorType>(inside.getType()), true))
                            : Attribute(builder.getBoolAttr(true))));
    Value outside = arith::XOrIOp::create(builder, loc, inside, ones);
    Value wanted = mask;
    if (isa<VectorType>(outside.getType()) || isa<VectorType>(mask.getType())) {
      outside = splat(outside);
      wanted = splat(mask);
    }
    Value bad = arith::AndIOp::create(builder, loc, outside, wanted);
    Type i64 = builder.getI64Type();
    Value reported;
    Value any = bad;
    if (isa<VectorType>(bad.getType())) {
      any = vector::ReductionOp::create(builder, loc, vector::CombiningKind::OR,
                                        bad);
      // Any of the bad indices serves; the largest also shows negative ones
      // if there is nothing else.
      auto wide = VectorType::get({lanes}, i64);
      Value cast = arith::IndexCastOp::create(builder, loc, wide, splat(index));
      Value lowest = arith::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(wide, APInt::getSignedMinValue(64)));
      Value chosen = arith::SelectOp::create(builder, loc, bad, cast, lowest);
      reported = vector::ReductionOp::create(
          builder, loc, vector::CombiningKind::MAXSI, chosen);
    } else {
      reported = arith::IndexCastOp::create(builder, loc, i64, index);
    }
    auto ifAny = scf::IfOp::create(builder, loc, any);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifAny.thenBlock());
    Value extent = arith::IndexCastOp::create(
        builder, loc, i64,
        memref::DimOp::create(builder, loc, op.getSource(), dim));
    storeReport(builder, loc, status, *op.getSite() + dim, reported, extent);
  }
}

Value TileEvaluator::emitGather(Value base, VectorType type, Value offsets,
                                Value active) {
  Value origin = arith::ConstantIndexOp::create(builder, loc, 0);
  Value zeros =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  auto create = [&](Value offsets, Value active) -> Value {
    return vector::GatherOp::create(builder, loc, type, base,
                                    ValueRange{origin}, offsets, active, zeros);
  };
  // No processor gathers less than 32 bits: LLVM reads lane by lane, each under
  // a branch of its own, and in functions with thousands of branches it takes
  // long to find registers. So there is one, and lanes that are not active read
  // what an active one does.
  Type element = type.getElementType();
  if (element.isIndex() || element.getIntOrFloatBitWidth() >= 32)
    return create(offsets, active);
  Value any = vector::ReductionOp::create(builder, loc,
                                          vector::CombiningKind::OR, active);
  auto branch = scf::IfOp::create(builder, loc, type, any,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, zeros);
  builder.setInsertionPointToStart(branch.thenBlock());
  auto wide = VectorType::get({lanes}, builder.getI64Type());
  Value numbers = arith::IndexCastOp::create(builder, loc, wide, offsets);
  Value lowest = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(wide, APInt::getSignedMinValue(64)));
  Value one = vector::ReductionOp::create(
      builder, loc, vector::CombiningKind::MAXSI,
      arith::SelectOp::create(builder, loc, active, numbers, lowest));
  Value safe =
      arith::SelectOp::create(builder, loc, active, numbers, splat(one));
  Value all = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(cast<VectorType>(active.getType()), true));
  Value gathered = create(
      arith::IndexCastOp::create(builder, loc, offsets.getType(), safe), all);
  Value result = arith::SelectOp::create(builder, loc, active, gathered, zeros);
  scf::YieldOp::create(builder, loc, result);
  return branch.getResult(0);
}

Value TileEvaluator::emitGather(GatherOp op, ArrayRef<TileCoord> coords) {
  auto at = [&](Value operand) {
    return evaluate(operand, isa<VectorType>(operand.getType())
                                 ? coords
                                 : ArrayRef<TileCoord>());
  };
  Value mask = at(op.getMask());
  if (!mask)
    return {};
  SmallVector<Value> indices;
  for (Value operand : op.getIndices()) {
    Value index = at(operand);
    if (!index)
      return {};
    indices.push_back(index);
  }
  return emitGather(op, mask, indices);
}

Value TileEvaluator::emitGather(GatherOp op, Value mask,
                                ArrayRef<Value> indices) {
  bool isVector =
      isa<VectorType>(mask.getType()) ||
      llvm::any_of(ValueRange(indices).getTypes(), llvm::IsaPred<VectorType>);
  // One unsigned comparison covers both ends.
  SmallVector<Value> inRange;
  Value active = mask;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value extent = memref::DimOp::create(builder, loc, op.getSource(), dim);
    bool wide = isa<VectorType>(index.getType());
    inRange.push_back(arith::CmpIOp::create(builder, loc,
                                            arith::CmpIPredicate::ult, index,
                                            wide ? splat(extent) : extent));
    Value inside = inRange.back();
    if (isa<VectorType>(active.getType()) || wide) {
      inside = splat(inside);
      active = splat(active);
    }
    active = arith::AndIOp::create(builder, loc, active, inside);
  }
  if (op.getSite())
    emitReports(op, mask, indices, inRange);

  Type element = getElementTypeOrSelf(op.getType());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  if (!isVector) {
    auto ifActive = scf::IfOp::create(builder, loc, element, active,
                                      /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifActive.thenBlock());
    Value loaded =
        memref::LoadOp::create(builder, loc, op.getSource(), indices);
    scf::YieldOp::create(builder, loc, loaded);
    builder.setInsertionPointToStart(ifActive.elseBlock());
    scf::YieldOp::create(builder, loc, zero);
    return ifActive.getResult(0);
  }

  // Gather along one dimension, from the element offsets in memory.
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, loc, op.getSource());
  Value uniform = metadata.getOffset(), varying;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value stride = metadata.getStrides()[dim];
    bool wide = isa<VectorType>(index.getType());
    Value scaled = arith::MulIOp::create(builder, loc, index,
                                         wide ? splat(stride) : stride);
    Value &sum = wide ? varying : uniform;
    sum =
        sum ? Value(arith::AddIOp::create(builder, loc, sum, scaled)) : scaled;
  }
  if (!varying)
    varying = splat(arith::ConstantIndexOp::create(builder, loc, 0));
  // The uniform part may lie outside where no lane is active, so it is added
  // to the offsets of the lanes and not to the base.
  Value offsets = arith::AddIOp::create(builder, loc, varying, splat(uniform));
  auto flatType = MemRefType::get({int64_t(1) << 62}, element);
  // The whole address space: the offsets were checked above.
  Value flat = memref::ReinterpretCastOp::create(
      builder, loc, flatType, metadata.getBaseBuffer(),
      /*offset=*/builder.getIndexAttr(0),
      ArrayRef<OpFoldResult>{builder.getIndexAttr(int64_t(1) << 62)},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
  auto createGather = [&](Value base, Type type) {
    return emitGather(base, VectorType::get({lanes}, type), offsets,
                      splat(active));
  };
  if (!element.isInteger(1))
    return createGather(flat, element);
  // A boolean in memory is a byte, but a vector of i1 is a string of bits, so
  // bytes are gathered. Both kinds of buffer have one representation.
  Type byte = builder.getI8Type();
  Value bytes =
      UnrealizedConversionCastOp::create(
          builder, loc, MemRefType::get(flatType.getShape(), byte), flat)
          .getResult(0);
  return arith::TruncIOp::create(builder, loc,
                                 VectorType::get({lanes}, element),
                                 createGather(bytes, byte));
}
