//===- TabulatePositions.cpp - What masks compute of positions, in tables -===//
//
// A thread of a GPU has scores of few queries and many keys. What a mask
// computes of the key alone it computes for each of these, as do the threads
// with other queries of the tile, and those of each other tile with the same
// keys; and while the values wait for the scores, they take registers. What it
// computes of the query alone it computes for each tile with a predicate. So
// what takes more than to read an element is computed in front, once for each
// position, and where tiles are looked for it is a range of elements.
//
//===----------------------------------------------------------------------===//

#include "MaskConditions.h"
#include "RegionSlice.h"
#include "WorkerLoop.h"
#include "attn/Analysis/MaskValues.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNTABULATEPOSITIONSPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// What is read instead costs as many instructions, with the table. A thread
/// has two queries, but reads what it needs of them while it waits.
static constexpr int64_t kLeastCostOfKey = 12, kLeastCostOfQuery = 40;
/// With fewer queries, each key is asked for a few times at most.
static constexpr int64_t kLeastQueries = 64;

namespace {
class PositionTables {
public:
  PositionTables(RewriterBase &rewriter, AttentionLikeOpInterface op)
      : rewriter(rewriter), op(op), mask(op.getMask()), values(op) {}

  void emit();

private:
  /// Values that depend on the query or the key, and on the batch and the head
  /// alike.
  struct Group {
    bool isOfKey, batch, head;
    SmallVector<Value> values;
  };

  int64_t getCost(Operation *inner) const;
  /// Whether a value depends on the position of one kind alone.
  bool isOf(Value value, bool ofKey) const {
    return values.dependsOnKey(value) == ofKey &&
           values.dependsOnQuery(value) != ofKey;
  }
  bool isWorthTable(Value value, bool ofKey) const;
  Type getElementType(Value value) const;
  Value convert(Value value, Type type);
  void emit(const Group &group);

  RewriterBase &rewriter;
  AttentionLikeOpInterface op;
  Region &mask;
  MaskValues values;
};
} // namespace

/// About how many instructions an operation takes.
int64_t PositionTables::getCost(Operation *inner) const {
  constexpr int64_t read = 4, function = 12, divisionByConstant = 4,
                    divisionByScalar = 6, division = 20, wideDivision = 100;
  if (isa<tensor::ExtractOp>(inner))
    return read;
  if (isa<math::MathDialect>(inner->getDialect()))
    return isa<math::AbsFOp, math::AbsIOp, math::FmaOp>(inner) ? 1 : function;
  if (isa<arith::DivFOp, arith::RemFOp>(inner))
    return function;
  if (inner->hasTrait<OpTrait::ConstantLike>() ||
      inner->hasTrait<OpTrait::IsTerminator>() || isa<CastOpInterface>(inner))
    return 0;
  if (!isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
           arith::CeilDivSIOp, arith::CeilDivUIOp, arith::RemSIOp,
           arith::RemUIOp>(inner))
    return 1;
  if (std::optional<int64_t> constant =
          getConstantInteger(inner->getOperand(1)))
    return llvm::isPowerOf2_64(*constant) ? 1 : divisionByConstant;
  ConstantIntRanges range = values.getRange(inner->getOperand(0));
  if (range.smin().getSignificantBits() > 32 ||
      range.smax().getSignificantBits() > 32)
    return wideDivision;
  return isa<BlockArgument>(inner->getOperand(1)) ? divisionByScalar : division;
}

/// The type of the elements of a table of `value`; null if there can be none.
Type PositionTables::getElementType(Value value) const {
  Type type = value.getType();
  if (type.isF32() || type.isInteger(1) || type.isInteger(8) ||
      type.isInteger(16) || type.isInteger(32))
    return type;
  if (!type.isIndex() && !type.isInteger(64))
    return {};
  ConstantIntRanges range = values.getRange(value);
  bool isNarrow = range.smin().getSignificantBits() <= 32 &&
                  range.smax().getSignificantBits() <= 32;
  return rewriter.getIntegerType(isNarrow ? 32 : 64);
}

/// Whether pairs, or the mask, ask for a value, and it takes long to compute.
bool PositionTables::isWorthTable(Value value, bool ofKey) const {
  auto isAskedFor = [&](Operation *user) {
    return user->getParentRegion() != &mask ||
           user->hasTrait<OpTrait::IsTerminator>() ||
           llvm::any_of(user->getResults(),
                        [&](Value result) { return !isOf(result, ofKey); });
  };
  if (!isOf(value, ofKey) || values.isGuarded(value) ||
      !getElementType(value) || llvm::none_of(value.getUsers(), isAskedFor))
    return false;
  int64_t cost = 0;
  for (Operation *needed : getRegionSlice(mask, value)) {
    if (llvm::none_of(needed->getResults(),
                      [&](Value result) { return isOf(result, ofKey); }))
      continue;
    needed->walk([&](Operation *inner) { cost += getCost(inner); });
  }
  return cost >= (ofKey ? kLeastCostOfKey : kLeastCostOfQuery);
}

Value PositionTables::convert(Value value, Type type) {
  Location loc = op.getLoc();
  Type from = value.getType();
  if (from == type)
    return value;
  if (from.isIndex() || type.isIndex())
    return arith::IndexCastOp::create(rewriter, loc, type, value);
  if (from.getIntOrFloatBitWidth() > type.getIntOrFloatBitWidth())
    return arith::TruncIOp::create(rewriter, loc, type, value);
  return arith::ExtSIOp::create(rewriter, loc, type, value);
}

/// Fills the tables of a group in one loop, and makes the mask read them.
void PositionTables::emit(const Group &group) {
  Location loc = op.getLoc();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  SmallVector<unsigned> positions;
  SmallVector<OpFoldResult> extents;
  auto add = [&](unsigned position, Value tensor, unsigned dim) {
    positions.push_back(position);
    extents.push_back(tensor::getMixedSize(rewriter, loc, tensor, dim));
  };
  if (group.batch)
    add(0, op.getQuery(), op.getLayout(0).b);
  if (group.head)
    add(1, op.getQuery(), op.getLayout(0).h);
  if (group.isOfKey)
    add(kNumMaskArgs - 1, op.getKey(), op.getLayout(1).s);
  else
    add(kNumMaskArgs - 2, op.getQuery(), op.getLayout(0).s);
  SmallVector<Value> tables;
  for (Value value : group.values)
    tables.push_back(
        tensor::EmptyOp::create(rewriter, loc, extents, getElementType(value)));
  scf::ForallOp loop = createWorkerLoop(rewriter, loc, extents, tables);
  markPreparation(loop, op);

  rewriter.setInsertionPoint(loop.getTerminator());
  SmallVector<Value> ids(loop.getInductionVars());
  IRMapping mapping;
  for (auto [position, id] : llvm::zip_equal(positions, ids))
    mapping.map(mask.getArgument(position), id);
  mapping.map(mask.getArguments().drop_front(kNumMaskArgs),
              OperandRange(op.getCaptures()));
  SmallVector<Value> elements;
  for (Value value : group.values) {
    for (Operation *needed : getRegionSlice(
             mask, value, [&](Value known) { return mapping.contains(known); }))
      rewriter.clone(*needed, mapping);
    elements.push_back(convert(mapping.lookup(value), getElementType(value)));
  }
  writeElements(rewriter, loop, ids, elements);

  for (auto [value, table] : llvm::zip_equal(group.values, loop.getResults())) {
    BlockArgument capture = addMaskCapture(rewriter, op, table);
    rewriter.setInsertionPointAfterValue(value);
    SmallVector<Value> indices =
        llvm::map_to_vector(positions, [&](unsigned position) -> Value {
          return mask.getArgument(position);
        });
    Value element = tensor::ExtractOp::create(rewriter, loc, capture, indices);
    rewriter.replaceAllUsesWith(value, convert(element, value.getType()));
  }
}

void PositionTables::emit() {
  SmallVector<Group, 4> groups;
  for (Operation &inner : mask.front())
    for (Value result : inner.getResults()) {
      bool isOfKey = values.dependsOnKey(result);
      if (!isWorthTable(result, isOfKey))
        continue;
      bool batch = dependsOn(mask, result, {0}),
           head = dependsOn(mask, result, {1});
      auto *group = llvm::find_if(groups, [&](const Group &other) {
        return other.isOfKey == isOfKey && other.batch == batch &&
               other.head == head;
      });
      if (group == groups.end())
        group = &groups.emplace_back(Group{isOfKey, batch, head, {}});
      group->values.push_back(result);
    }
  for (const Group &group : groups)
    emit(group);
  if (!groups.empty())
    cleanUpRegions(op);
}

static bool mayTabulate(AttentionLikeOpInterface op) {
  int64_t queries = op.getQueryType().getDimSize(op.getLayout(0).s);
  return !op.getMask().empty() && op.getOffsets().empty() &&
         !op.getSparsityAttr() && !op->hasAttr(kWholeAttrName) &&
         (ShapedType::isDynamic(queries) || queries >= kLeastQueries);
}

namespace {
struct AttnTabulatePositions
    : public attn::impl::AttnTabulatePositionsPassBase<AttnTabulatePositions> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<AttentionLikeOpInterface> ops;
    getOperation()->walk(
        [&](AttentionLikeOpInterface op) { ops.push_back(op); });
    for (AttentionLikeOpInterface op : ops)
      if (mayTabulate(op))
        PositionTables(rewriter, op).emit();
  }
};
} // namespace
