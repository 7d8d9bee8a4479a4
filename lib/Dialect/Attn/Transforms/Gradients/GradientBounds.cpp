//===- GradientBounds.cpp - Which rows a work tile of gradients meets -----===//
//
// The analysis of masks tells which keys a Q block needs. Which queries
// a KV block needs is the same question about the mask whose positions have
// changed places.
//
//===----------------------------------------------------------------------===//

#include "GradientBounds.h"
#include "Masks/BlockBounds.h"
#include "Tiles/RegionVectorizer.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

static void swapUses(Value a, Value b) {
  SmallVector<OpOperand *> ofA, ofB;
  for (OpOperand &use : a.getUses())
    ofA.push_back(&use);
  for (OpOperand &use : b.getUses())
    ofB.push_back(&use);
  for (OpOperand *use : ofA)
    use->set(b);
  for (OpOperand *use : ofB)
    use->set(a);
}

/// A tensor of which no length is known, so that none is taken for another.
static Value hideLengths(OpBuilder &builder, Value tensor, unsigned d) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> shape(type.getRank(), ShapedType::kDynamic);
  shape[d] = type.getDimSize(d);
  return tensor::CastOp::create(builder, tensor.getLoc(), type.clone(shape),
                                tensor);
}

namespace {
/// A copy of a gradient whose mask has its positions the other way round: its
/// keys are the queries.
class Transposed {
public:
  Transposed(OpBuilder &builder, AttentionGradOp op)
      : op(cast<AttentionGradOp>(builder.clone(*op))) {
    AttentionLikeOpInterface attention = op;
    OpBuilder before(this->op);
    this->op.getQueryMutable().assign(
        hideLengths(before, op.getQuery(), attention.getLayout(0).d));
    this->op.getKeyMutable().assign(
        hideLengths(before, op.getKey(), attention.getLayout(1).d));
    Region &mask = this->op.getMask();
    swapUses(mask.getArgument(2), mask.getArgument(3));
  }
  ~Transposed() {
    Value query = op.getQuery(), key = op.getKey();
    op.erase();
    query.getDefiningOp()->erase();
    key.getDefiningOp()->erase();
  }
  Transposed(const Transposed &) = delete;
  Transposed &operator=(const Transposed &) = delete;

  AttentionGradOp get() { return op; }

private:
  AttentionGradOp op;
};
} // namespace

/// The blocks region of `op`, in `block`.
static std::optional<std::array<Value, 4>>
buildBounds(AttentionGradOp op, Location loc, Block &block) {
  OpBuilder builder(op.getContext());
  builder.setInsertionPointToStart(&block);
  MaskBounds mask(op);
  return BlockBoundsBuilder(builder, loc, mask).build();
}

FailureOr<std::optional<std::array<Value, 4>>>
mlir::attn::emitGradientBounds(OpBuilder &builder, AttentionGradOp op,
                               const GradientPlace &place, bool isTransposed) {
  std::optional<std::array<Value, 4>> result;
  Location loc = op.getLoc();
  if (op.getMask().empty()) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    result = {zero, zero, place.otherEnd, place.otherEnd};
    return result;
  }
  // With offsets, positions are not those that the mask sees.
  if (!op.getOffsets().empty())
    return result;
  std::optional<Transposed> transposed;
  if (isTransposed)
    transposed.emplace(builder, op);
  Block block;
  for (unsigned number = 0; number < kNumBlocksArgs; ++number)
    block.addArgument(builder.getIndexType(), loc);
  for (Value capture : op.getCaptures())
    block.addArgument(capture.getType(), loc);
  std::optional<std::array<Value, 4>> bounds =
      buildBounds(transposed ? transposed->get() : op, loc, block);

  RegionVectorizer values(builder, loc, /*numKeys=*/1, /*numQueries=*/1,
                          /*sites=*/nullptr);
  SmallVector<Value> arguments = {place.batch, place.head, place.ownBegin,
                                  place.ownEnd, place.otherEnd};
  llvm::append_range(arguments, op.getCaptures());
  for (auto [argument, value] :
       llvm::zip_equal(block.getArguments(), arguments))
    values.set(argument, {value});
  bool failedToEmit = false;
  if (bounds) {
    result.emplace();
    for (Operation &inner : block)
      failedToEmit |= !failedToEmit && failed(values.emit(inner));
    if (!failedToEmit)
      for (auto [to, from] : llvm::zip_equal(*result, *bounds))
        to = values.get(from).value;
  }
  block.dropAllReferences();
  block.dropAllDefinedValueUses();
  if (failedToEmit)
    return failure();
  return result;
}

bool mlir::attn::boundsQueries(AttentionGradOp op) {
  if (op.getMask().empty())
    return true;
  OpBuilder builder(op);
  Transposed transposed(builder, op);
  return MaskBounds(transposed.get()).areIntervals();
}

bool mlir::attn::boundsKeys(AttentionGradOp op) {
  return op.getMask().empty() || MaskBounds(op).areIntervals();
}

FailureOr<MetQueries> mlir::attn::emitMetQueries(OpBuilder &builder,
                                                 AttentionGradOp op,
                                                 const GradientPlace &place,
                                                 bool isBounded,
                                                 int64_t block) {
  Location loc = op.getLoc();
  FailureOr<std::optional<std::array<Value, 4>>> bounds =
      std::optional<std::array<Value, 4>>();
  if (isBounded)
    bounds = emitGradientBounds(builder, op, place, /*isTransposed=*/true);
  if (failed(bounds))
    return failure();
  MetQueries met;
  Value upper = place.otherEnd,
        lower = arith::ConstantIndexOp::create(builder, loc, 0);
  if (*bounds) {
    met.fullLower = (**bounds)[1];
    met.fullUpper = (**bounds)[2];
    lower = (**bounds)[0];
    upper = arith::MinSIOp::create(builder, loc, (**bounds)[3], place.otherEnd);
  }
  Value isEmpty = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                        lower, upper);
  Value size = arith::ConstantIndexOp::create(builder, loc, block);
  met.lower = arith::MulIOp::create(
      builder, loc, arith::DivUIOp::create(builder, loc, lower, size), size);
  met.upper = arith::SelectOp::create(builder, loc, isEmpty, met.lower, upper);
  return met;
}
