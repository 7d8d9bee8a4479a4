//===- ExpandSparsity.cpp - Explicit layouts of blocks as masks -----------===//

#include "ListErrors.h"
#include "ListTables.h"
#include "Masks/MaskConditions.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "attn/Dialect/ScalarBuilder.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNEXPANDSPARSITYPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Lists as bits
//===----------------------------------------------------------------------===//

namespace {
/// Emits the loop that turns the lists of an attention into bits. One program
/// fills one row of blocks, or one bit.
class ListsToBits {
public:
  ListsToBits(RewriterBase &builder, AttentionLikeOpInterface op,
              SmallVectorImpl<Attribute> &sites)
      : builder(builder), op(op), loc(op.getLoc()), sites(sites),
        rows(op.getSparsityOperands()[0]),
        columns(op.getSparsityOperands()[1]) {}

  /// i1 of [B or 1, Hq or 1, nI, nJ].
  Value emit();
  Value emitByElement();

private:
  Value findColumn(ValueRange ids);
  Value emitRow(Value row, ValueRange ids);
  Value addColumn(Value row, Value previous, Value column);
  /// Reports an error where `condition` holds. Its numbers are such that those
  /// of two reports may be mixed.
  void report(unsigned which, Value first, Value second, Value condition) {
    ReportOp::create(builder, loc, firstSite + which, first, second, condition);
  }

  OpFoldResult divideUp(OpFoldResult length, int64_t block) {
    if (std::optional<int64_t> known = getConstantIntValue(length))
      return builder.getIndexAttr(llvm::divideCeil(*known, block));
    Value sum = arith::AddIOp::create(builder, loc, cast<Value>(length),
                                      index(block - 1));
    return arith::DivUIOp::create(builder, loc, sum, index(block)).getResult();
  }
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value boolean(bool value) {
    return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(value));
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }

  RewriterBase &builder;
  AttentionLikeOpInterface op;
  Location loc;
  SmallVectorImpl<Attribute> &sites;
  Value rows, columns;
  int64_t firstSite = 0;
  Value numColumns, numKeyBlocks;
};
} // namespace

/// Sets the bit of `column` in a row; where there is no such bit, any other, as
/// that is reported.
Value ListsToBits::addColumn(Value row, Value previous, Value column) {
  Value isOutside = compare(arith::CmpIPredicate::uge, column, numKeyBlocks);
  report(OutOfRange, column, numKeyBlocks, isOutside);
  Value isInside = compare(arith::CmpIPredicate::ult, column, numKeyBlocks);
  Value isNoAscent = compare(arith::CmpIPredicate::sle, column, previous);
  report(NoAscent, column, column,
         arith::AndIOp::create(builder, loc, isInside, isNoAscent));
  Value zero = index(0);
  Value safe = arith::SelectOp::create(builder, loc, isOutside, zero, column);
  return tensor::InsertOp::create(builder, loc, boolean(true), row,
                                  ValueRange{zero, zero, zero, safe});
}

/// Fills `row`, of 1x1x1xnJ, with the bits of a row of blocks.
Value ListsToBits::emitRow(Value row, ValueRange ids) {
  Value zero = index(0), one = index(1);
  Value extent = tensor::DimOp::create(builder, loc, row, 3);
  Value none = boolean(false);
  auto clear = scf::ForOp::create(
      builder, loc, zero, extent, one, ValueRange{row},
      [&](OpBuilder &, Location, Value column, ValueRange carried) {
        Value next =
            tensor::InsertOp::create(builder, loc, none, carried[0],
                                     ValueRange{zero, zero, zero, column});
        scf::YieldOp::create(builder, loc, next);
      });

  auto [begin, end] = readListEnds(builder, loc, rows, ids);
  for (Value offset : {begin, end})
    report(OutsideOfColumns, offset, numColumns,
           compare(arith::CmpIPredicate::ugt, offset, numColumns));
  report(Decreasing, end, end, compare(arith::CmpIPredicate::slt, end, begin));
  // Nothing outside of the columns is read, whatever the rows hold.
  Value low = arith::MaxSIOp::create(builder, loc, begin, zero);
  Value high = arith::MinSIOp::create(builder, loc, end, numColumns);
  auto fill = scf::ForOp::create(
      builder, loc, low, high, one, ValueRange{clear.getResult(0), index(-1)},
      [&](OpBuilder &, Location, Value number, ValueRange carried) {
        Value column = readList(builder, loc, columns, number);
        Value next = addColumn(carried[0], carried[1], column);
        scf::YieldOp::create(builder, loc, ValueRange{next, column});
      });
  return fill.getResult(0);
}

Value ListsToBits::emit() {
  firstSite = addListErrors(op, sites);
  SparsityAttr sparsity = op.getSparsityAttr();
  auto getLength = [&](Value tensor, unsigned dim) {
    return tensor::getMixedSize(builder, loc, tensor, dim);
  };
  OpFoldResult one = builder.getIndexAttr(1);
  OpFoldResult numRows = divideUp(getLength(op.getQuery(), op.getLayout(0).s),
                                  sparsity.getBlockRows());
  OpFoldResult numBlocks = divideUp(getLength(op.getKey(), op.getLayout(1).s),
                                    sparsity.getBlockColumns());
  numKeyBlocks = getValueOrCreateConstantIndexOp(builder, loc, numBlocks);
  numColumns = tensor::DimOp::create(builder, loc, columns, 0);
  SmallVector<OpFoldResult> grid = getListGrid(builder, loc, rows);
  grid.push_back(numRows);
  // Without keys, a bit that nothing reads is where a wrong column goes.
  OpFoldResult extent = numBlocks;
  if (isa<Value>(numBlocks))
    extent = arith::MaxSIOp::create(builder, loc, numKeyBlocks, index(1))
                 .getResult();
  else if (isZeroInteger(numBlocks))
    extent = one;
  return emitTable(
      builder, op, loc, grid, extent, builder.getI1Type(),
      [&](Value row, ValueRange ids) { return emitRow(row, ids); });
}

/// Whether the block with these numbers is in the list of its row. Of lists
/// with errors, as a set of what is in range.
Value ListsToBits::findColumn(ValueRange ids) {
  auto [begin, end] = readListEnds(builder, loc, rows, ids.drop_back());
  Value low = arith::MaxSIOp::create(builder, loc, begin, index(0));
  // No number near where a list begins overflows.
  low = arith::MinSIOp::create(builder, loc, low, numColumns);
  Value high = arith::MinSIOp::create(builder, loc, end, numColumns);
  auto find = scf::ForOp::create(
      builder, loc, low, high, index(1), ValueRange{boolean(false)},
      [&](OpBuilder &, Location, Value number, ValueRange carried) {
        Value isIt =
            compare(arith::CmpIPredicate::eq,
                    readList(builder, loc, columns, number), ids.back());
        Value found = arith::OrIOp::create(builder, loc, carried[0], isIt);
        scf::YieldOp::create(builder, loc, found);
      });
  return find.getResult(0);
}

Value ListsToBits::emitByElement() {
  SparsityAttr sparsity = op.getSparsityAttr();
  numColumns = tensor::DimOp::create(builder, loc, columns, 0);
  AffineExpr s0 = builder.getAffineSymbolExpr(0);
  auto getNumBlocks = [&](Value tensor, unsigned dim, int64_t block) {
    return affine::makeComposedFoldedAffineApply(
        builder, loc, s0.ceilDiv(block),
        {tensor::getMixedSize(builder, loc, tensor, dim)});
  };
  SmallVector<OpFoldResult> grid = getListGrid(builder, loc, rows);
  grid.push_back(
      getNumBlocks(op.getQuery(), op.getLayout(0).s, sparsity.getBlockRows()));
  grid.push_back(
      getNumBlocks(op.getKey(), op.getLayout(1).s, sparsity.getBlockColumns()));
  return emitTable(builder, op, loc, grid, /*rowSizes=*/{}, builder.getI1Type(),
                   [&](Value slice, ValueRange ids) {
                     return tensor::InsertOp::create(
                                builder, loc, findColumn(ids), slice,
                                SmallVector<Value>(4, index(0)))
                         .getResult();
                   });
}

//===----------------------------------------------------------------------===//
// Bits as a mask
//===----------------------------------------------------------------------===//

BlockArgument mlir::attn::addMaskCapture(RewriterBase &rewriter,
                                         AttentionLikeOpInterface op,
                                         Value capture) {
  Region &mask = op.getMask();
  Location loc = op.getLoc();
  if (mask.empty()) {
    OpBuilder::InsertionGuard guard(rewriter);
    SmallVector<Type> types(kNumMaskArgs, rewriter.getIndexType());
    llvm::append_range(types, op.getCaptures().getTypes());
    SmallVector<Location> locs(types.size(), loc);
    rewriter.createBlock(&mask, mask.end(), types, locs);
    Value isTrue = arith::ConstantIntOp::create(rewriter, loc, 1, 1);
    YieldOp::create(rewriter, loc, isTrue);
  }
  rewriter.modifyOpInPlace(op, [&] {
    // What was known of tiles is known of a weaker mask.
    if (auto online = dyn_cast<OnlineAttentionOp>(op.getOperation()))
      for (Region *region : {&online.getBlocks(), &online.getTiles()}) {
        region->dropAllReferences();
        region->getBlocks().clear();
      }
    for (Region *region : op.getCaptureRegions())
      region->addArgument(capture.getType(), loc);
    op.getCapturesMutable().append(capture);
  });
  return mask.front().getArguments().back();
}

SmallVector<Value> mlir::attn::getSharedIndices(OpBuilder &builder,
                                                Location loc, Block &mask,
                                                Value capture,
                                                int64_t numLeading) {
  auto type = cast<RankedTensorType>(capture.getType());
  ScalarBuilder b(loc, builder);
  SmallVector<Value> indices;
  for (int64_t dim = 0; dim < numLeading; ++dim) {
    Value own = mask.getArgument(2 - numLeading + dim);
    if (type.getDimSize(dim) == 1) {
      own = b.index(0);
    } else if (type.isDynamicDim(dim)) {
      Value extent = tensor::DimOp::create(b, capture, dim);
      own = b.select(b.eq(extent, 1), b.index(0), own);
    }
    indices.push_back(own);
  }
  return indices;
}

void mlir::attn::addMaskCondition(RewriterBase &rewriter,
                                  AttentionLikeOpInterface op,
                                  Value condition) {
  Operation *yield = op.getMask().front().getTerminator();
  Value both = arith::AndIOp::create(rewriter, op.getLoc(),
                                     yield->getOperand(0), condition);
  rewriter.modifyOpInPlace(yield, [&] { yield->setOperand(0, both); });
}

/// Makes the mask ask for the bit of the block that a pair is in.
static void addBits(RewriterBase &rewriter, AttentionLikeOpInterface op,
                    Value bits) {
  SparsityAttr sparsity = op.getSparsityAttr();
  Location loc = op.getLoc();
  BlockArgument capture = addMaskCapture(rewriter, op, bits);
  Block &mask = op.getMask().front();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(mask.getTerminator());
  SmallVector<Value> indices =
      getSharedIndices(rewriter, loc, mask, capture,
                       cast<RankedTensorType>(bits.getType()).getRank() - 2);
  for (auto [argument, block] :
       {std::pair<unsigned, int64_t>{2, sparsity.getBlockRows()},
        {3, sparsity.getBlockColumns()}})
    indices.push_back(arith::DivUIOp::create(
        rewriter, loc, mask.getArgument(argument),
        arith::ConstantIndexOp::create(rewriter, loc, block)));
  Value bit = tensor::ExtractOp::create(rewriter, loc, capture, indices);
  addMaskCondition(rewriter, op, bit);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

LogicalResult mlir::attn::expandSparsity(RewriterBase &rewriter,
                                         AttentionLikeOpInterface op,
                                         SmallVectorImpl<Attribute> &sites,
                                         bool byElement, bool ofKeys) {
  SparsityAttr sparsity = op.getSparsityAttr();
  if (!sparsity || (sparsity.isElementwise() && !ofKeys))
    return success();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  Value bits = op.getSparsityOperands()[0];
  if (sparsity.isLists()) {
    if (!op.getOffsets().empty())
      return op.emitError("expects no offsets with lists of blocks: run "
                          "attn-expand-sparsity before the attention is cut");
    ListsToBits lists(rewriter, op, sites);
    bits = byElement ? lists.emitByElement() : lists.emit();
  }
  addBits(rewriter, op, bits);
  rewriter.modifyOpInPlace(op, [&] {
    op.getSparsityOperandsMutable().clear();
    op->removeAttr("sparsity");
  });
  return success();
}

namespace {
struct ExpandSparsity
    : public attn::impl::AttnExpandSparsityPassBase<ExpandSparsity> {
  using AttnExpandSparsityPassBase::AttnExpandSparsityPassBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<Attribute> sites = getSites(getOperation());
    WalkResult walk = getOperation()->walk([&](AttentionLikeOpInterface op) {
      return WalkResult(expandSparsity(rewriter, op, sites, byElement));
    });
    if (walk.wasInterrupted())
      return signalPassFailure();
    setSites(getOperation(), sites);
  }
};
} // namespace
