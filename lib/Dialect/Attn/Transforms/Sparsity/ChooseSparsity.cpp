//===- ChooseSparsity.cpp - Choose how a sparse structure runs ------------===//

#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Attn/Transforms/Sparsity.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNCHOOSESPARSITYPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static void emitRemark(AttentionLikeOpInterface op, const Twine &text) {
  remark::passed(op.getLoc(), remark::RemarkOpts::name("sparsity")
                                  .category(kRemarkCategory)
                                  .function(getFunctionName(op)))
      << remark::add("{0}", text.str());
}

//===----------------------------------------------------------------------===//
// Which one
//===----------------------------------------------------------------------===//

namespace {
/// Numbers of a program that runs, as f64.
class Numbers {
public:
  Numbers(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value get(double value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF64FloatAttr(value));
  }
  Value dim(Value tensor, int64_t number) {
    auto type = cast<RankedTensorType>(tensor.getType());
    if (!type.isDynamicDim(number))
      return get(static_cast<double>(type.getDimSize(number)));
    Value extent = tensor::DimOp::create(builder, loc, tensor, number);
    return builder.createOrFold<arith::UIToFPOp>(
        loc, builder.getF64Type(),
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), extent)
            .getResult());
  }
  Value add(Value a, Value b) {
    return builder.createOrFold<arith::AddFOp>(loc, a, b);
  }
  Value mul(Value a, Value b) {
    return builder.createOrFold<arith::MulFOp>(loc, a, b);
  }
  Value less(Value a, Value b) {
    return builder.createOrFold<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT,
                                               a, b);
  }

private:
  OpBuilder &builder;
  Location loc;
};
} // namespace

/// Whether the lists of `op` are to run as rows, by the extents of its
/// operands: the costs of both forms are multiplied by the number of lists, so
/// that nothing is divided.
static Value emitAreRows(OpBuilder &builder, AttentionLikeOpInterface op) {
  Location loc = op.getLoc();
  Numbers n(builder, loc);
  Value rows = op.getSparsityOperands()[0],
        columns = op.getSparsityOperands()[1];
  Layout layout = op.getLayout(0);
  Value queries = n.dim(op.getQuery(), layout.s);
  Value keys = n.dim(op.getKey(), op.getLayout(1).s);
  Value heads =
      n.mul(n.dim(op.getQuery(), layout.b), n.dim(op.getQuery(), layout.h));
  Value lists = n.get(1);
  for (int64_t dim = 0;
       dim < cast<RankedTensorType>(rows.getType()).getRank() - 1; ++dim)
    lists = n.mul(lists, n.dim(rows, dim));
  Value entries = n.dim(columns, 0);
  // Pairs of all lists: those of a list, for each head that has it.
  Value pairs = n.mul(entries, heads);
  Value all = n.mul(n.mul(lists, heads), n.mul(queries, keys));
  ListCosts costs = getCPUListCosts(op);
  Value ofRows =
      n.add(n.mul(pairs, n.get(costs.pair)),
            n.mul(n.mul(lists, heads), n.mul(queries, n.get(costs.row))));
  Value ofDense = n.add(n.mul(all, n.get(costs.densePair)),
                        n.mul(n.mul(entries, lists), n.get(costs.entry)));
  Value bytes =
      n.mul(n.mul(lists, queries), n.mul(keys, n.get(4.0 / kWordKeys)));
  Value areTooMany = n.less(n.get(static_cast<double>(kMaxWordBytes)), bytes);
  return builder.createOrFold<arith::OrIOp>(loc, n.less(ofRows, ofDense),
                                            areTooMany);
}

/// Makes both forms of `op`, of which a program that runs takes one.
static LogicalResult makeBoth(RewriterBase &rewriter,
                              AttentionLikeOpInterface op, Value areRows) {
  Location loc = op.getLoc();
  auto choice = scf::IfOp::create(rewriter, loc, op->getResultTypes(), areRows,
                                  /*withElseRegion=*/true);
  for (Block *block : {choice.thenBlock(), choice.elseBlock()}) {
    rewriter.setInsertionPointToEnd(block);
    Operation *copy = rewriter.clone(*op);
    scf::YieldOp::create(rewriter, loc, copy->getResults());
    if (block == choice.elseBlock() &&
        failed(expandKeyLists(rewriter, cast<AttentionLikeOpInterface>(copy),
                              /*asOperation=*/false)))
      return failure();
  }
  rewriter.replaceOp(op, choice.getResults());
  return success();
}

/// The choice among forms of lists of single keys on a CPU.
static LogicalResult chooseLists(RewriterBase &rewriter,
                                 AttentionLikeOpInterface op) {
  rewriter.setInsertionPoint(op);
  Value areRows = emitAreRows(rewriter, op);
  std::string rule =
      llvm::formatv("lists cost less below some {0:F1} % of all pairs (of 4096 "
                    "keys), and a dense attention with a predicate from there",
                    100 * getCPUListCosts(op).getCrossover(4096));
  APInt known;
  if (!matchPattern(areRows, m_ConstantInt(&known))) {
    emitRemark(op, "lists and dense: " + rule +
                       "; a call takes one by the extents of the lists");
    return makeBoth(rewriter, op, areRows);
  }
  emitRemark(op, Twine(known.isZero() ? "dense: " : "lists: ") + rule +
                     "; the extents are known");
  return known.isZero() ? expandKeyLists(rewriter, op, /*asOperation=*/false)
                        : success();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// The form that `op` is to have: the one that is asked for, or what its
/// schedule is for.
static FailureOr<SparsityForm> getForm(AttentionLikeOpInterface op,
                                       SparsityForm given) {
  SparsityAttr sparsity = op.getSparsityAttr();
  if (!hasKeyLists(op)) {
    if (given == SparsityForm::Lists || given == SparsityForm::Gathered)
      return op.emitError("expects dense or blocks for a sparsity with blocks "
                          "of ")
             << sparsity.getBlockRows() << "x" << sparsity.getBlockColumns()
             << ", but got " << getSparsityFormName(given)
             << "; leave the choice to the compiler with auto";
    return given == SparsityForm::Dense ? SparsityForm::Dense
                                        : SparsityForm::Blocks;
  }
  // Gradients have one form.
  if (isa<AttentionGradOp>(op))
    return SparsityForm::Dense;
  if (given == SparsityForm::Blocks)
    return op.emitError("expects dense, lists or gathered for lists of single "
                        "keys, but got blocks; leave the choice to the "
                        "compiler with auto");
  Attribute schedule = op->getAttr("schedule");
  if (schedule && given == SparsityForm::Auto)
    return isa<RowScheduleAttr>(schedule) ? SparsityForm::Lists
                                          : SparsityForm::Dense;
  return given;
}

/// Marks an attention whose Q blocks are to gather their keys.
static LogicalResult markGathered(AttentionLikeOpInterface op, bool isForGPU) {
  constexpr StringLiteral wayOut =
      "; leave the choice to the compiler with auto";
  if (!isForGPU)
    return op.emitError("expects dense or lists for lists of single keys on a "
                        "CPU, but got gathered, which is for the tensor cores "
                        "of a GPU")
           << wayOut;
  Type element = op.getQueryType().getElementType();
  if (!isa<BFloat16Type, Float16Type>(element))
    return op.emitError("expects queries of bf16 or f16 for gathered keys, but "
                        "got ")
           << element << wayOut;
  if (Attribute schedule = op->getAttr("schedule");
      isa_and_nonnull<RowScheduleAttr>(schedule))
    return op.emitError("expects a schedule of tiles for gathered keys, but "
                        "got ")
           << schedule << wayOut;
  op->setAttr(kGatheredAttrName, UnitAttr::get(op.getContext()));
  return success();
}

namespace {
struct ChooseSparsity
    : public attn::impl::AttnChooseSparsityPassBase<ChooseSparsity> {
  using AttnChooseSparsityPassBase::AttnChooseSparsityPassBase;

  LogicalResult choose(RewriterBase &rewriter, AttentionLikeOpInterface op,
                       SparsityForm given);
  void runOnOperation() override {
    std::optional<SparsityForm> given = parseSparsityForm(form);
    if (!given) {
      getOperation()->emitError("expects a form of a sparsity to be auto, "
                                "dense, blocks, lists or gathered, but got '")
          << form << "'";
      return signalPassFailure();
    }
    SmallVector<AttentionLikeOpInterface> ops;
    getOperation()->walk([&](AttentionLikeOpInterface op) {
      if (op.getSparsityAttr() && op.getOffsets().empty())
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (AttentionLikeOpInterface op : ops)
      if (failed(choose(rewriter, op, *given)))
        return signalPassFailure();
  }
};
} // namespace

LogicalResult ChooseSparsity::choose(RewriterBase &rewriter,
                                     AttentionLikeOpInterface op,
                                     SparsityForm given) {
  FailureOr<SparsityForm> form = getForm(op, given);
  if (failed(form))
    return failure();
  if (!hasKeyLists(op)) {
    if (*form == SparsityForm::Dense)
      op->setAttr(kWholeAttrName, rewriter.getUnitAttr());
    emitRemark(op, *form == SparsityForm::Dense
                       ? "dense: as asked for; no tile is passed over for the "
                         "layout"
                       : "blocks: the class of a tile costs next to nothing, "
                         "and tiles that no block needs are passed over at "
                         "any density");
    return success();
  }
  if (*form == SparsityForm::Lists)
    return success();
  if (*form == SparsityForm::Gathered)
    return markGathered(op, /*isForGPU=*/onePerLaunch);
  if (*form == SparsityForm::Dense)
    return expandKeyLists(rewriter, op, /*asOperation=*/onePerLaunch);
  // A GPU has a kernel of each form, and a launch takes one of them.
  return onePerLaunch ? success() : chooseLists(rewriter, op);
}
