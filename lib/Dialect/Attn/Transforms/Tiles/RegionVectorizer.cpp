//===- RegionVectorizer.cpp - Regions on whole tiles ----------------------===//

#include "RegionVectorizer.h"
#include "RegionLoops.h"
#include "RegionSlice.h"
#include "TotalDivision.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

Type RegionVectorizer::getType(Type type, TileKind kind) {
  switch (kind) {
  case TileKind::Uniform:
    return type;
  case TileKind::Query:
    return VectorType::get({numQueries}, type);
  case TileKind::Key:
    return VectorType::get({numKeys}, type);
  case TileKind::Tile:
    return VectorType::get({numKeys, numQueries}, type);
  }
  llvm_unreachable("covered switch");
}

Value RegionVectorizer::broadcast(TileValue value, TileKind kind) {
  if (value.kind == kind)
    return value.value;
  Type element = getElementTypeOrSelf(value.value.getType());
  Value source = value.value;
  if (value.kind == TileKind::Key)
    source = vector::ShapeCastOp::create(
        builder, loc, VectorType::get({numKeys, 1}, element), source);
  return vector::BroadcastOp::create(builder, loc, getType(element, kind),
                                     source);
}

TileValue RegionVectorizer::logicalAnd(TileValue a, TileValue b) {
  for (auto [one, other] : {std::pair{a, b}, {b, a}})
    if (matchPattern(one.value, m_One()))
      return other;
  if (TileValue joined = joinLimits(/*isAnd=*/true, a.limit, b.limit);
      joined.value)
    return joined;
  TileKind kind = join(a.kind, b.kind);
  return {arith::AndIOp::create(builder, loc, broadcast(a, kind),
                                broadcast(b, kind)),
          kind};
}

TileValue RegionVectorizer::lookup(Value value) {
  auto it = values.find(value);
  assert(it != values.end() && "operand is visited before its use");
  return it->second;
}

FailureOr<TileValue> RegionVectorizer::run(Region &region,
                                           ArrayRef<TileValue> arguments,
                                           TileValue active, unsigned result) {
  for (auto [argument, value] :
       llvm::zip_equal(region.getArguments(), arguments))
    values[argument] = value;
  Operation *yield = region.front().getTerminator();
  Value yielded = yield->getOperand(result);
  if (yield->getNumOperands() == 1) {
    if (failed(visitBlock(region.front(), active)))
      return failure();
  } else {
    for (Operation *op : getRegionSlice(region, yielded))
      if (failed(visit(*op, active)))
        return failure();
  }
  return lookup(yielded);
}

LogicalResult RegionVectorizer::emit(Operation &op) {
  return visit(op, getTrue());
}

LogicalResult RegionVectorizer::visitBlock(Block &block, TileValue active) {
  for (Operation &op : block.without_terminator())
    if (failed(visit(op, active)))
      return failure();
  return success();
}

LogicalResult RegionVectorizer::visit(Operation &op, TileValue active) {
  if (given.contains(&op))
    return success();
  if (op.hasTrait<OpTrait::ConstantLike>()) {
    values[op.getResult(0)] = {builder.clone(op)->getResult(0)};
    return success();
  }
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    values[dim] = {tensor::DimOp::create(builder, op.getLoc(),
                                         lookup(dim.getSource()).value,
                                         lookup(dim.getIndex()).value)};
    return success();
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    visitExtract(extract, active);
    return success();
  }
  if (isa<scf::IfOp>(op))
    return visitIf(op, active);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return visitFor(loop, active);
  if (auto contribution = dyn_cast<ContributeOp>(op)) {
    if (contribute)
      contributions = contribute(contribution, active, contributions);
    return success();
  }
  if (auto dropout = dyn_cast<DropoutOp>(op)) {
    visitDropout(dropout);
    return success();
  }
  if (OpTrait::hasElementwiseMappableTraits(&op))
    return visitElementwise(op, active);
  return op.emitError("'") << op.getName()
                           << "' has no form on tiles: expects the region to "
                              "be canonicalized by attn-canonicalize-score";
}

Value RegionVectorizer::splat(Type element, const APInt &value, TileKind kind) {
  TypedAttr attribute = builder.getIntegerAttr(element, value);
  return broadcast({arith::ConstantOp::create(builder, loc, attribute)}, kind);
}

std::optional<int64_t> mlir::attn::getDivisor(Operation *op) {
  APInt constant;
  if (!op || op->getNumOperands() != 2 ||
      !matchPattern(op->getOperand(1), m_ConstantInt(&constant)))
    return std::nullopt;
  if (isa<arith::ShRUIOp, arith::ShRSIOp>(op))
    return constant.ult(32)
               ? std::optional(int64_t(1) << constant.getZExtValue())
               : std::nullopt;
  if (isa<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>(op) &&
      constant.isStrictlyPositive() && constant.getSignificantBits() <= 64)
    return constant.getSExtValue();
  return std::nullopt;
}

/// The positive constant of which `op` is the remainder where what it divides
/// is not negative; nothing for other operations.
static std::optional<int64_t> getModulus(Operation &op) {
  APInt constant;
  if (op.getNumOperands() != 2 ||
      !matchPattern(op.getOperand(1), m_ConstantInt(&constant)) ||
      !constant.isStrictlyPositive() || constant.getSignificantBits() > 63)
    return std::nullopt;
  if (isa<arith::RemUIOp, arith::RemSIOp>(op))
    return constant.getSExtValue();
  if (isa<arith::AndIOp>(op) && (constant + 1).isPowerOf2())
    return constant.getSExtValue() + 1;
  return std::nullopt;
}

/// A quotient that is the same for the tile though what it divides is not.
bool RegionVectorizer::visitUniformQuotient(Operation &op, const Start &start) {
  std::optional<int64_t> divisor = getDivisor(&op);
  if (!divisor || *divisor % start.alignment != 0 ||
      start.extent > start.alignment)
    return false;
  IRMapping mapping;
  mapping.map(op.getOperand(0), start.value);
  mapping.map(op.getOperand(1), lookup(op.getOperand(1)).value);
  values[op.getResult(0)] = {builder.clone(op, mapping)->getResult(0)};
  return true;
}

bool RegionVectorizer::visitDivisionOfTile(Operation &op) {
  if (op.getNumOperands() != 2 || op.getNumResults() != 1)
    return false;
  auto found = starts.find(op.getOperand(0));
  if (found == starts.end())
    return false;
  const Start &start = found->second;
  if (visitUniformQuotient(op, start))
    return true;
  std::optional<int64_t> divisor = getDivisor(&op), modulus = getModulus(op);
  TileKind kind = lookup(op.getOperand(0)).kind;
  if ((!divisor && !modulus) ||
      start.alignment % divisor.value_or(modulus.value_or(1)) != 0 ||
      divisor == 1 || modulus == 1)
    return false;
  Type index = builder.getIndexType();
  Value step = vector::StepOp::create(builder, loc,
                                      cast<VectorType>(getType(index, kind)));
  Value by = splat(index, APInt(64, divisor ? *divisor : *modulus), kind);
  Value result;
  if (modulus) {
    result = arith::RemUIOp::create(builder, loc, step, by);
  } else {
    Value first = arith::DivUIOp::create(
        builder, loc, start.value,
        arith::ConstantIndexOp::create(builder, loc, *divisor));
    result =
        arith::AddIOp::create(builder, loc, broadcast({first}, kind),
                              arith::DivUIOp::create(builder, loc, step, by));
  }
  values[op.getResult(0)] = {result, kind};
  return true;
}

LogicalResult RegionVectorizer::visitElementwise(Operation &op,
                                                 TileValue active) {
  if (visitDivisionOfTile(op))
    return success();
  SmallVector<TileValue> operands;
  TileKind kind = TileKind::Uniform;
  for (Value operand : op.getOperands()) {
    operands.push_back(lookup(operand));
    kind = join(kind, operands.back().kind);
  }
  if (isIntegerDivision(&op)) {
    TileValue &result = values[op.getResult(0)];
    const TileValue &divisor = operands[1];
    auto spread = [&](Value value) {
      return broadcast({value, divisor.kind}, kind);
    };
    result = {emitTotalDivision(builder, op, broadcast(operands[0], kind),
                                divisor.value, spread),
              kind};
    result.quotient = getQuotient(op, operands);
    result.congruence = getCongruence(op, operands);
    return success();
  }
  if (auto condition = dyn_cast<arith::CmpIOp>(op)) {
    values[condition] =
        compare(condition.getPredicate(), operands[0], operands[1]);
    return success();
  }
  if (isa<arith::AndIOp, arith::OrIOp>(op))
    if (TileValue joined = joinLimits(isa<arith::AndIOp>(op), operands[0].limit,
                                      operands[1].limit);
        joined.value) {
      values[op.getResult(0)] = joined;
      return success();
    }
  IRMapping mapping;
  for (auto [operand, value] : llvm::zip_equal(op.getOperands(), operands))
    mapping.map(operand, broadcast(value, kind));
  Operation *clone = builder.clone(op, mapping);
  for (auto [result, tile] :
       llvm::zip_equal(op.getResults(), clone->getResults())) {
    tile.setType(getType(result.getType(), kind));
    values[result] = {tile, kind};
  }
  if (isa<arith::SubIOp>(op))
    values[op.getResult(0)].congruence = getCongruence(op, operands);
  return success();
}

/// What is the same for all pairs stays a scalar.
void RegionVectorizer::visitDropout(DropoutOp op) {
  TileKind kind = TileKind::Uniform;
  for (Value operand : op->getOperands())
    kind = join(kind, lookup(operand).kind);
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    TileValue tile = lookup(operand);
    mapping.map(operand, tile.kind == TileKind::Uniform
                             ? tile.value
                             : broadcast(tile, kind));
  }
  auto clone = cast<DropoutOp>(builder.clone(*op, mapping));
  clone.getFactor().setType(getType(op.getType(), kind));
  clone.setAligned(
      llvm::all_of(ArrayRef<Value>{op.getI(), op.getJ()}, [&](Value position) {
        auto found = starts.find(position);
        return found != starts.end() &&
               found->second.alignment % kDropoutGroup == 0;
      }));
  values[op] = {clone, kind};
}

Value RegionVectorizer::emitStart(Value index) {
  TileValue tile = lookup(index);
  Operation *op = index.getDefiningOp();
  if (tile.start || !isa_and_present<arith::AddIOp, arith::SubIOp>(op))
    return tile.start;
  // Shifted by a scalar.
  bool isSecond = isa<arith::AddIOp>(op) &&
                  lookup(op->getOperand(0)).kind == TileKind::Uniform;
  Value shift = op->getOperand(!isSecond);
  if (lookup(shift).kind != TileKind::Uniform)
    return {};
  Value start = emitStart(op->getOperand(isSecond));
  if (!start)
    return {};
  IRMapping mapping;
  mapping.map(op->getOperand(isSecond), start);
  mapping.map(shift, lookup(shift).value);
  return builder.clone(*op, mapping)->getResult(0);
}

std::optional<RegionVectorizer::Box>
RegionVectorizer::emitBox(ValueRange indices, TileKind kind,
                          SmallVectorImpl<Value> &starts) {
  if (kind == TileKind::Uniform)
    return std::nullopt;
  Box box;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    TileValue tile = lookup(index);
    starts.push_back(tile.value);
    if (tile.kind == TileKind::Uniform)
      continue;
    starts.back() = emitStart(index);
    // A diagonal is no box.
    std::optional<int64_t> &axis =
        tile.kind == TileKind::Key ? box.rows : box.columns;
    if (!starts.back() || axis)
      return std::nullopt;
    axis = dim;
  }
  // What is the same for all keys, or all queries, is read for each of them.
  if (isAlong(kind, TileKind::Key) != box.rows.has_value() ||
      isAlong(kind, TileKind::Query) != box.columns.has_value())
    return std::nullopt;
  return box;
}

void RegionVectorizer::visitExtract(tensor::ExtractOp op, TileValue active) {
  SmallVector<TileValue> indices;
  TileKind kind = TileKind::Uniform;
  for (Value index : op.getIndices()) {
    indices.push_back(lookup(index));
    kind = join(kind, indices.back().kind);
  }
  // A uniform read is safe whatever the mask: out of range, it gives 0, and
  // then no active element uses it.
  TileValue mask = active;
  if (!sites && join(active.kind, kind) != kind)
    mask = getTrue();
  else if (sites)
    kind = join(kind, active.kind);
  Value source = lookup(op.getTensor()).value;
  SmallVector<Value> indexValues;
  std::optional<Box> box = emitBox(op.getIndices(), kind, indexValues);
  if (!box) {
    indexValues.clear();
    for (TileValue index : indices)
      indexValues.push_back(index.kind == TileKind::Uniform
                                ? index.value
                                : broadcast(index, kind));
  }
  IntegerAttr site;
  if (sites) {
    site = builder.getI64IntegerAttr(sites->first + sites->sites.size());
    auto argument = cast<BlockArgument>(op.getTensor());
    unsigned leading =
        argument.getOwner()->getNumArguments() -
        cast<AttentionLikeOpInterface>(argument.getOwner()->getParentOp())
            .getCaptures()
            .size();
    for (int64_t dim = 0; dim < op.getTensor().getType().getRank(); ++dim)
      sites->sites.push_back(
          {op.getLoc(), sites->captureNames[argument.getArgNumber() - leading],
           static_cast<unsigned>(dim)});
  }
  Value maskValue =
      mask.kind == TileKind::Uniform ? mask.value : broadcast(mask, kind);
  auto getDim = [&](std::optional<int64_t> dim) {
    return dim ? builder.getI64IntegerAttr(*dim) : IntegerAttr();
  };
  Box dims = box.value_or(Box());
  values[op] = {GatherOp::create(builder, op.getLoc(),
                                 getType(op.getType(), kind), source,
                                 indexValues, maskValue, site,
                                 getDim(dims.rows), getDim(dims.columns)),
                kind};
}

LogicalResult RegionVectorizer::visitIf(Operation &op, TileValue active) {
  auto ifOp = cast<scf::IfOp>(op);
  TileValue condition = lookup(ifOp.getCondition());
  Value allOnes = broadcast(getTrue(), condition.kind);
  TileValue negated = {
      arith::XOrIOp::create(builder, loc, condition.value, allOnes),
      condition.kind};
  if (failed(visitBlock(*ifOp.thenBlock(), logicalAnd(active, condition))))
    return failure();
  if (ifOp.elseBlock() &&
      failed(visitBlock(*ifOp.elseBlock(), logicalAnd(active, negated))))
    return failure();
  for (auto [number, result] : llvm::enumerate(ifOp.getResults())) {
    TileValue thenValue = lookup(ifOp.thenYield().getOperand(number));
    TileValue elseValue = lookup(ifOp.elseYield().getOperand(number));
    TileKind kind = join(condition.kind, join(thenValue.kind, elseValue.kind));
    values[result] = {arith::SelectOp::create(builder, op.getLoc(),
                                              broadcast(condition, kind),
                                              broadcast(thenValue, kind),
                                              broadcast(elseValue, kind)),
                      kind};
  }
  return success();
}

/// A loop on tiles, whose carried values all have the shape of what the loop
/// reads. What contributions add to is carried behind them.
LogicalResult RegionVectorizer::visitFor(scf::ForOp loop, TileValue active) {
  bool contributes = contribute && loop->walk([](ContributeOp) {
                                         return WalkResult::interrupt();
                                       })
                                       .wasInterrupted();
  if (loop.getNumResults() == 0 && !contributes)
    return success();
  SmallVector<TileValue> carried;
  for (Value init : loop.getInitArgs())
    carried.push_back(lookup(init));
  auto setCarried = [&] {
    for (auto [argument, value] :
         llvm::zip_equal(loop.getRegionIterArgs(), carried))
      values[argument] = value;
  };
  Type indexType = loop.getInductionVar().getType();
  Value begin = lookup(loop.getLowerBound()).value;
  std::optional<int64_t> lower = getConstantIntValue(begin);
  int64_t step = *getConstantIntValue(loop.getStep()),
          count = getTripCount(loop);
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(indexType, value));
  };
  if (lower && (unrollsLoops || count <= 1)) {
    for (int64_t n = 0; n < count; ++n) {
      values[loop.getInductionVar()] = {number(*lower + n * step)};
      setCarried();
      if (failed(visitBlock(*loop.getBody(), active)))
        return failure();
      carried = llvm::map_to_vector(loop.getYieldedValues(),
                                    [&](Value value) { return lookup(value); });
    }
    for (auto [result, value] : llvm::zip_equal(loop.getResults(), carried))
      values[result] = value;
    return success();
  }
  TileKind kind = sites ? active.kind : TileKind::Uniform;
  for (TileValue value : carried)
    kind = join(kind, value.kind);
  SetVector<Value> outside;
  getUsedValuesDefinedAbove(loop.getRegion(), outside);
  for (Value value : outside)
    kind = join(kind, lookup(value).kind);
  SmallVector<Value> inits;
  for (TileValue value : carried)
    inits.push_back(broadcast(value, kind));
  if (contributes && contributions)
    inits.push_back(contributions);
  // It counts its runs where the type cannot hold what follows the last one. A
  // loop that begins where another one stands ends at a position.
  unsigned width = ConstantIntRanges::getStorageBitwidth(indexType);
  int64_t length, last = 0;
  bool counts = lower && (llvm::MulOverflow(count, step, length) ||
                          llvm::AddOverflow(*lower, length, last) ||
                          !llvm::isIntN(width, last));
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value end;
  if (!counts)
    end = lower ? number(last) : lookup(loop.getUpperBound()).value;
  auto tiles = scf::ForOp::create(
      builder, loop.getLoc(), counts ? index(0) : begin,
      counts ? index(count) : end, counts ? index(1) : number(step), inits);
  OpBuilder::InsertionGuard guard(builder);
  if (!tiles.getBody()->empty())
    tiles.getBody()->getTerminator()->erase();
  builder.setInsertionPointToEnd(tiles.getBody());
  Value position = tiles.getInductionVar();
  if (counts) {
    if (!indexType.isIndex())
      position = arith::IndexCastOp::create(builder, loc, indexType, position);
    position = arith::AddIOp::create(
        builder, loc, begin,
        arith::MulIOp::create(builder, loc, position, number(step)));
  }
  values[loop.getInductionVar()] = {position};
  for (auto [value, argument] : llvm::zip(carried, tiles.getRegionIterArgs()))
    value = {argument, kind};
  setCarried();
  if (inits.size() > carried.size())
    contributions = tiles.getRegionIterArgs().back();
  if (failed(visitBlock(*loop.getBody(), active)))
    return failure();
  SmallVector<Value> next;
  for (Value yielded : loop.getYieldedValues())
    next.push_back(broadcast(lookup(yielded), kind));
  if (inits.size() > carried.size()) {
    next.push_back(contributions);
    contributions = tiles.getResults().back();
  }
  scf::YieldOp::create(builder, loop.getLoc(), next);
  for (auto [result, tile] : llvm::zip(loop.getResults(), tiles.getResults()))
    values[result] = {tile, kind};
  return success();
}
