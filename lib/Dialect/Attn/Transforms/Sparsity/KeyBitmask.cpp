//===- KeyBitmask.cpp - Lists of single keys as a mask of words -----------===//
//
// Where many pairs are allowed, an attention with lists of keys is better a
// dense one with a predicate: a bit for each pair of a query and a key, in
// words of 32 keys. A loop over queries in front of the attention fills them.
//
//===----------------------------------------------------------------------===//

#include "ListTables.h"
#include "Masks/MaskConditions.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "attn/Dialect/ScalarBuilder.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Emits the loop that turns the lists of an attention into words.
class ListsToWords {
public:
  ListsToWords(RewriterBase &builder, AttentionLikeOpInterface op)
      : builder(builder), op(op), loc(op.getLoc()),
        rows(op.getSparsityOperands()[0]),
        columns(op.getSparsityOperands()[1]) {}

  /// i32 of [B or 1, Hq or 1, queries, words]. With `asOperation` an iteration
  /// fills its row by one operation, in place of a loop.
  Value emit(bool asOperation);

private:
  std::pair<Value, Value> readEnds(ValueRange ids);
  Value emitRow(Value row, Value begin, Value end);
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value word(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  }

  RewriterBase &builder;
  AttentionLikeOpInterface op;
  Location loc;
  Value rows, columns;
};
} // namespace

/// The part of the columns that is the list of a query: none of it is outside
/// of them, whatever the rows hold.
std::pair<Value, Value> ListsToWords::readEnds(ValueRange ids) {
  auto [begin, end] = readListEnds(builder, loc, rows, ids);
  Value numColumns = tensor::DimOp::create(builder, loc, columns, 0);
  return {arith::MaxSIOp::create(builder, loc, begin, index(0)),
          arith::MinSIOp::create(builder, loc, end, numColumns)};
}

/// Fills `row`, of 1x1x1xW.
Value ListsToWords::emitRow(Value row, Value begin, Value end) {
  Value zero = index(0), one = index(1);
  Value numWords = tensor::DimOp::create(builder, loc, row, 3);
  Value none = word(0);
  auto at = [&](Value number) {
    return SmallVector<Value>{zero, zero, zero, number};
  };
  auto clear = scf::ForOp::create(
      builder, loc, zero, numWords, one, ValueRange{row},
      [&](OpBuilder &, Location, Value number, ValueRange carried) {
        Value next = tensor::InsertOp::create(builder, loc, none, carried[0],
                                              at(number));
        scf::YieldOp::create(builder, loc, next);
      });
  auto fill = scf::ForOp::create(
      builder, loc, begin, end, one, clear.getResults(),
      [&](OpBuilder &, Location, Value number, ValueRange carried) {
        Value column = readList(builder, loc, columns, number);
        Value own =
            arith::DivUIOp::create(builder, loc, column, index(kWordKeys));
        // A wrong column, which is reported, sets no bit.
        Value isInside = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::ult, own, numWords);
        auto set = scf::IfOp::create(
            builder, loc, isInside,
            [&](OpBuilder &, Location) {
              Value old =
                  tensor::ExtractOp::create(builder, loc, carried[0], at(own));
              Value place = arith::IndexCastOp::create(
                  builder, loc, builder.getI32Type(),
                  arith::RemUIOp::create(builder, loc, column, index(kWordKeys))
                      .getResult());
              Value bit = arith::ShLIOp::create(builder, loc, word(1), place);
              Value with = arith::OrIOp::create(builder, loc, old, bit);
              Value next = tensor::InsertOp::create(builder, loc, with,
                                                    carried[0], at(own));
              scf::YieldOp::create(builder, loc, next);
            },
            [&](OpBuilder &, Location) {
              scf::YieldOp::create(builder, loc, carried[0]);
            });
        scf::YieldOp::create(builder, loc, set.getResults());
      });
  return fill.getResult(0);
}

Value ListsToWords::emit(bool asOperation) {
  SmallVector<OpFoldResult> grid = getListGrid(builder, loc, rows);
  grid.push_back(
      tensor::getMixedSize(builder, loc, op.getQuery(), op.getLayout(0).s));
  OpFoldResult numWords = affine::makeComposedFoldedAffineApply(
      builder, loc, builder.getAffineSymbolExpr(0).ceilDiv(kWordKeys),
      {tensor::getMixedSize(builder, loc, op.getKey(), op.getLayout(1).s)});
  // A slice of a row must not start behind the last of no words.
  if (isZeroInteger(numWords))
    numWords = builder.getIndexAttr(1);
  return emitTable(builder, op, loc, grid, numWords, builder.getI32Type(),
                   [&](Value row, ValueRange ids) -> Value {
                     auto [begin, end] = readEnds(ids);
                     if (!asOperation)
                       return emitRow(row, begin, end);
                     return KeyBitmaskOp::create(
                                builder, loc, row.getType(), columns, begin,
                                end, row, SmallVector<Value>(3, index(0)))
                         .getResult();
                   });
}

/// Makes the mask ask for the bit of a pair.
static void addWords(RewriterBase &rewriter, AttentionLikeOpInterface op,
                     Value words) {
  Location loc = op.getLoc();
  BlockArgument capture = addMaskCapture(rewriter, op, words);
  Block &mask = op.getMask().front();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(mask.getTerminator());
  SmallVector<Value> indices =
      getSharedIndices(rewriter, loc, mask, capture, /*numLeading=*/2);
  ScalarBuilder b(loc, rewriter);
  Value key = mask.getArgument(3);
  indices.push_back(mask.getArgument(2));
  indices.push_back(b.divU(key, kWordKeys));
  Value word = tensor::ExtractOp::create(b, capture, indices);
  Value bit = b.andI(b.shrU(word, b.toI32(b.remU(key, kWordKeys))), 1);
  addMaskCondition(rewriter, op, b.ne(bit, 0));
}

LogicalResult mlir::attn::expandKeyLists(RewriterBase &rewriter,
                                         AttentionLikeOpInterface op,
                                         bool asOperation) {
  if (!op.getOffsets().empty())
    return op.emitError("expects no offsets with lists of keys that become "
                        "words: run attn-choose-sparsity before the attention "
                        "is cut");
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  addWords(rewriter, op, ListsToWords(rewriter, op).emit(asOperation));
  rewriter.modifyOpInPlace(op, [&] {
    op.getSparsityOperandsMutable().clear();
    op->removeAttr("sparsity");
  });
  return success();
}

bool mlir::attn::isKeyBitmaskWord(Value element) {
  auto read = element.getDefiningOp<tensor::ExtractOp>();
  return read && llvm::any_of(read->getUsers(), [&](Operation *user) {
           return isa<arith::ShRUIOp>(user) && user->getOperand(0) == element &&
                  !getConstantIntValue(user->getOperand(1));
         });
}
