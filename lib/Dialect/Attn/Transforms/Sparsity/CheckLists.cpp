//===- CheckLists.cpp - Check lists of keys when a program runs -----------===//

#include "ListErrors.h"
#include "ListTables.h"
#include "WorkerLoop.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNCHECKLISTSPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Lists that a worker checks at a time.
static constexpr int64_t kListsOfTask = 64;

int64_t mlir::attn::addListErrors(AttentionLikeOpInterface op,
                                  SmallVectorImpl<Attribute> &sites) {
  int64_t first = sites.size();
  for (StringRef text :
       {"rows of the sparsity to lie in the %1 columns, but got %0",
        "rows of the sparsity not to decrease, but got %0 after a larger one",
        "columns of the sparsity to be from 0 to below %1, but got %0",
        "the columns of a row of the sparsity to ascend, but got %0 after one "
        "that is not less"})
    sites.push_back(
        StringAttr::get(op->getContext(), getErrorText(op, "expects " + text)));
  return first;
}

namespace {
/// Emits the loop that checks the lists of one attention. A row is a query, or
/// those of a row of blocks, and a column a key, or those of a column of
/// blocks.
class ListsCheck {
public:
  ListsCheck(OpBuilder &builder, AttentionLikeOpInterface op, int64_t firstSite)
      : builder(builder), op(op), loc(op.getLoc()),
        rows(op.getSparsityOperands()[0]), columns(op.getSparsityOperands()[1]),
        firstSite(firstSite) {}

  /// An iteration checks some lists, and looks for what is wrong only where
  /// something is.
  void emit();
  /// An iteration checks one list, a column after the other in any order.
  void emitByList();

private:
  /// A part of the columns.
  struct List {
    Value begin, end;
  };

  /// The list of a row, after reports of what is wrong with its ends.
  List emitEnds(ValueRange ids);
  void emitList(ValueRange ids);
  /// Tells of each column what is wrong with it.
  void emitReports(List list);
  /// The extents of the operands.
  void emitExtents();

  void report(ListsError error, Value first, Value second, Value condition) {
    ReportOp::create(builder, loc, firstSite + error, first, second, condition);
  }
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) {
    return arith::SubIOp::create(builder, loc, a, b);
  }

  OpBuilder &builder;
  AttentionLikeOpInterface op;
  Location loc;
  Value rows, columns;
  int64_t firstSite;
  OpFoldResult numRows;
  Value numColumns, numKeys;
};
} // namespace

void ListsCheck::emitReports(List list) {
  scf::ForOp::create(
      builder, loc, list.begin, list.end, index(1), ValueRange(),
      [&](OpBuilder &, Location, Value number, ValueRange) {
        Value column = readList(builder, loc, columns, number);
        Value isInside = compare(arith::CmpIPredicate::ult, column, numKeys);
        report(OutOfRange, column, numKeys,
               compare(arith::CmpIPredicate::uge, column, numKeys));
        Value isNotFirst =
            compare(arith::CmpIPredicate::sgt, number, list.begin);
        Value last = arith::MaxSIOp::create(builder, loc, list.begin,
                                            sub(number, index(1)));
        Value before = readList(builder, loc, columns, last);
        Value isNoAscent = arith::AndIOp::create(
            builder, loc, isNotFirst,
            compare(arith::CmpIPredicate::sle, column, before));
        report(NoAscent, column, column,
               arith::AndIOp::create(builder, loc, isInside, isNoAscent));
        scf::YieldOp::create(builder, loc);
      });
}

ListsCheck::List ListsCheck::emitEnds(ValueRange ids) {
  auto [begin, end] = readListEnds(builder, loc, rows, ids);
  for (Value offset : {begin, end})
    report(OutsideOfColumns, offset, numColumns,
           compare(arith::CmpIPredicate::ugt, offset, numColumns));
  report(Decreasing, end, end, compare(arith::CmpIPredicate::slt, end, begin));
  // Nothing outside of the columns is read, whatever the rows hold, and no
  // number near where a list begins overflows.
  begin = arith::MaxSIOp::create(builder, loc, begin, index(0));
  return {arith::MinSIOp::create(builder, loc, begin, numColumns),
          arith::MinSIOp::create(builder, loc, end, numColumns)};
}

void ListsCheck::emitList(ValueRange ids) {
  List list = emitEnds(ids);
  Value zero = index(0), one = index(1);
  // Sums that can be vectorised tell whether there is anything to report.
  auto largest = scf::ForOp::create(
      builder, loc, list.begin, list.end, one, ValueRange{zero},
      [&](OpBuilder &, Location, Value number, ValueRange carried) {
        Value next = arith::MaxUIOp::create(
            builder, loc, carried[0], readList(builder, loc, columns, number));
        scf::YieldOp::create(builder, loc, next);
      });
  auto wrong = scf::ForOp::create(
      builder, loc, add(list.begin, one), list.end, one, ValueRange{zero},
      [&](OpBuilder &, Location, Value number, ValueRange carried) {
        Value before = readList(builder, loc, columns, sub(number, one));
        Value isNoAscent =
            compare(arith::CmpIPredicate::sle,
                    readList(builder, loc, columns, number), before);
        Value count = arith::IndexCastUIOp::create(
            builder, loc, builder.getIndexType(), isNoAscent);
        scf::YieldOp::create(builder, loc, add(carried[0], count));
      });
  Value isOutside = arith::AndIOp::create(
      builder, loc,
      compare(arith::CmpIPredicate::uge, largest.getResult(0), numKeys),
      compare(arith::CmpIPredicate::slt, list.begin, list.end));
  Value isWrong = arith::OrIOp::create(
      builder, loc, isOutside,
      compare(arith::CmpIPredicate::ne, wrong.getResult(0), zero));
  scf::IfOp::create(builder, loc, isWrong, [&](OpBuilder &, Location) {
    emitReports(list);
    scf::YieldOp::create(builder, loc);
  });
}

void ListsCheck::emitExtents() {
  numColumns = tensor::DimOp::create(builder, loc, columns, 0);
  SparsityAttr sparsity = op.getSparsityAttr();
  AffineExpr s0 = builder.getAffineSymbolExpr(0);
  auto getNumBlocks = [&](Value tensor, unsigned dim, int64_t block) {
    return affine::makeComposedFoldedAffineApply(
        builder, loc, s0.ceilDiv(block),
        {tensor::getMixedSize(builder, loc, tensor, dim)});
  };
  numRows =
      getNumBlocks(op.getQuery(), op.getLayout(0).s, sparsity.getBlockRows());
  numKeys = getValueOrCreateConstantIndexOp(
      builder, loc,
      getNumBlocks(op.getKey(), op.getLayout(1).s, sparsity.getBlockColumns()));
}

void ListsCheck::emit() {
  emitExtents();
  Value count = getValueOrCreateConstantIndexOp(builder, loc, numRows);
  Value size = index(kListsOfTask), one = index(1);
  Value numTasks = arith::DivUIOp::create(
      builder, loc, add(count, index(kListsOfTask - 1)), size);
  SmallVector<OpFoldResult> grid = getListGrid(builder, loc, rows);
  grid.push_back(numTasks);
  scf::ForallOp tasks = createWorkerLoop(builder, loc, grid, ValueRange());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(tasks.getTerminator());
  SmallVector<Value> ids(tasks.getInductionVars());
  Value first = arith::MulIOp::create(builder, loc, ids[2], size);
  Value last = arith::MinSIOp::create(builder, loc, add(first, size), count);
  scf::ForOp::create(builder, loc, first, last, one, ValueRange(),
                     [&](OpBuilder &, Location, Value row, ValueRange) {
                       emitList({ids[0], ids[1], row});
                       scf::YieldOp::create(builder, loc);
                     });
}

void ListsCheck::emitByList() {
  emitExtents();
  SmallVector<OpFoldResult> grid = getListGrid(builder, loc, rows);
  grid.push_back(numRows);
  scf::ForallOp lists = createWorkerLoop(builder, loc, grid, ValueRange());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(lists.getTerminator());
  emitReports(emitEnds(lists.getInductionVars()));
}

namespace {
struct CheckLists : public attn::impl::AttnCheckListsPassBase<CheckLists> {
  using AttnCheckListsPassBase::AttnCheckListsPassBase;

  bool isChecked(AttentionLikeOpInterface op) {
    SparsityAttr sparsity = op.getSparsityAttr();
    return sparsity && sparsity.isLists() && op.getOffsets().empty() &&
           (byList || sparsity.isElementwise());
  }

  void runOnOperation() override {
    SmallVector<Attribute> sites = getSites(getOperation());
    OpBuilder builder(&getContext());
    getOperation()->walk([&](AttentionLikeOpInterface op) {
      if (!isChecked(op))
        return;
      builder.setInsertionPoint(op);
      ListsCheck check(builder, op, addListErrors(op, sites));
      if (byList)
        check.emitByList();
      else
        check.emit();
    });
    setSites(getOperation(), sites);
  }
};
} // namespace
