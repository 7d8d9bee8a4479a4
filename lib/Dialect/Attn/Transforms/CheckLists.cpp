//===- CheckLists.cpp - Check lists of keys when a program runs -----------===//

#include "ListErrors.h"
#include "ListTables.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

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
  std::string place = getLocationText(op.getLoc());
  std::string begin = place + (place.empty() ? "" : ": ") + "error: '" +
                      op->getName().getStringRef().str() + "' op expects ";
  for (StringRef text :
       {"rows of the sparsity to lie in the %1 columns, but got %0",
        "rows of the sparsity not to decrease, but got %0 after a larger one",
        "columns of the sparsity to be from 0 to below %1, but got %0",
        "the columns of a row of the sparsity to ascend, but got %0 after one "
        "that is not less"})
    sites.push_back(StringAttr::get(op->getContext(), begin + text));
  return first;
}

namespace {
/// Emits the loop that checks the lists of one attention.
class ListsCheck {
public:
  ListsCheck(OpBuilder &builder, AttentionLikeOpInterface op, int64_t firstSite)
      : builder(builder), op(op), loc(op.getLoc()),
        rows(op.getSparsityOperands()[0]), columns(op.getSparsityOperands()[1]),
        firstSite(firstSite) {}

  void emit();

private:
  void emitList(ValueRange ids, Value row);
  /// Tells of each column what is wrong with it.
  void emitReports(Value begin, Value end);

  Value read(Value list, ValueRange indices) {
    return readList(builder, loc, list, indices);
  }
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
  Value dim(Value tensor, unsigned number) {
    return tensor::DimOp::create(builder, loc, tensor, number);
  }

  OpBuilder &builder;
  AttentionLikeOpInterface op;
  Location loc;
  Value rows, columns;
  int64_t firstSite;
  Value numColumns, numKeys;
};
} // namespace

void ListsCheck::emitReports(Value begin, Value end) {
  Value minusOne = index(-1), one = index(1);
  scf::ForOp::create(
      builder, loc, begin, end, one, ValueRange{minusOne},
      [&](OpBuilder &, Location, Value number, ValueRange carried) {
        Value column = read(columns, number);
        Value isInside = compare(arith::CmpIPredicate::ult, column, numKeys);
        report(OutOfRange, column, numKeys,
               compare(arith::CmpIPredicate::uge, column, numKeys));
        Value isNoAscent =
            compare(arith::CmpIPredicate::sle, column, carried[0]);
        report(NoAscent, column, column,
               arith::AndIOp::create(builder, loc, isInside, isNoAscent));
        scf::YieldOp::create(builder, loc, column);
      });
}

void ListsCheck::emitList(ValueRange ids, Value row) {
  int64_t rank = cast<RankedTensorType>(rows.getType()).getRank();
  SmallVector<Value> position(ids.take_front(2));
  position.push_back(row);
  position.erase(position.begin(), position.end() - rank);
  Value zero = index(0), one = index(1);
  Value begin = read(rows, position);
  position.back() = add(row, one);
  Value end = read(rows, position);
  for (Value offset : {begin, end})
    report(OutsideOfColumns, offset, numColumns,
           compare(arith::CmpIPredicate::ugt, offset, numColumns));
  report(Decreasing, end, end, compare(arith::CmpIPredicate::slt, end, begin));
  // Nothing outside of the columns is read, whatever the rows hold.
  begin = arith::MaxSIOp::create(builder, loc, begin, zero);
  end = arith::MinSIOp::create(builder, loc, end, numColumns);
  // Sums that can be vectorised tell whether there is anything to report.
  auto largest = scf::ForOp::create(
      builder, loc, begin, end, one, ValueRange{zero},
      [&](OpBuilder &, Location, Value number, ValueRange carried) {
        Value next = arith::MaxUIOp::create(builder, loc, carried[0],
                                            read(columns, number));
        scf::YieldOp::create(builder, loc, next);
      });
  auto wrong = scf::ForOp::create(
      builder, loc, add(begin, one), end, one, ValueRange{zero},
      [&](OpBuilder &, Location, Value number, ValueRange carried) {
        Value before =
            read(columns,
                 arith::SubIOp::create(builder, loc, number, one).getResult());
        Value isNoAscent =
            compare(arith::CmpIPredicate::sle, read(columns, number), before);
        Value count = arith::IndexCastUIOp::create(
            builder, loc, builder.getIndexType(), isNoAscent);
        scf::YieldOp::create(builder, loc, add(carried[0], count));
      });
  Value isOutside = arith::AndIOp::create(
      builder, loc,
      compare(arith::CmpIPredicate::uge, largest.getResult(0), numKeys),
      compare(arith::CmpIPredicate::slt, begin, end));
  Value isWrong = arith::OrIOp::create(
      builder, loc, isOutside,
      compare(arith::CmpIPredicate::ne, wrong.getResult(0), zero));
  scf::IfOp::create(builder, loc, isWrong, [&](OpBuilder &, Location) {
    emitReports(begin, end);
    scf::YieldOp::create(builder, loc);
  });
}

void ListsCheck::emit() {
  numColumns = dim(columns, 0);
  numKeys = dim(op.getKey(), op.getLayout(1).s);
  Value numRows = dim(op.getQuery(), op.getLayout(0).s);
  Value size = index(kListsOfTask), one = index(1);
  Value numTasks = arith::DivUIOp::create(
      builder, loc, add(numRows, index(kListsOfTask - 1)), size);
  int64_t numLeading = cast<RankedTensorType>(rows.getType()).getRank() - 1;
  SmallVector<OpFoldResult> grid(2 - numLeading, builder.getIndexAttr(1));
  for (int64_t number = 0; number < numLeading; ++number)
    grid.push_back(tensor::getMixedSize(builder, loc, rows, number));
  grid.push_back(numTasks);
  SmallVector<Attribute> workers;
  for (int64_t number = 0; number < 3; ++number)
    workers.push_back(WorkerAttr::get(builder.getContext(), number));
  auto tasks = scf::ForallOp::create(builder, loc, grid, ValueRange(),
                                     builder.getArrayAttr(workers));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(tasks.getTerminator());
  SmallVector<Value> ids(tasks.getInductionVars());
  Value first = arith::MulIOp::create(builder, loc, ids[2], size);
  Value last = arith::MinSIOp::create(builder, loc, add(first, size), numRows);
  scf::ForOp::create(builder, loc, first, last, one, ValueRange(),
                     [&](OpBuilder &, Location, Value row, ValueRange) {
                       emitList(ids, row);
                       scf::YieldOp::create(builder, loc);
                     });
}

namespace {
struct CheckLists : public attn::impl::AttnCheckListsPassBase<CheckLists> {
  void runOnOperation() override {
    SmallVector<Attribute> sites;
    if (auto known = getOperation()->getAttrOfType<ArrayAttr>(kSitesAttrName))
      llvm::append_range(sites, known);
    OpBuilder builder(&getContext());
    getOperation()->walk([&](AttentionLikeOpInterface op) {
      if (!hasKeyLists(op) || !op.getOffsets().empty())
        return;
      builder.setInsertionPoint(op);
      ListsCheck(builder, op, addListErrors(op, sites)).emit();
    });
    if (!sites.empty())
      getOperation()->setDiscardableAttr(kSitesAttrName,
                                         ArrayAttr::get(&getContext(), sites));
  }
};
} // namespace
