//===- AssignSchedule.cpp - Choose how attentions are cut into tiles ------===//

#include "Tiles/RegionVectorizer.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNASSIGNSCHEDULEPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// A multiple of `step` up to `size` that divides `blocks`, or else `size`.
static int64_t getPartOfBlock(int64_t size, int64_t step, int64_t blocks) {
  if (blocks % size != 0)
    for (int64_t part = size; part >= step; part -= step)
      if (blocks % part == 0)
        return part;
  return size;
}

/// A schedule for few queries, at most `queries` to a tile, or null where
/// vectors are too short for one.
static ScheduleAttr chooseFewQueriesSchedule(FloatType accType, int64_t queries,
                                             const CPUScheduleInput &input) {
  int64_t lanes = input.vectorBits / accType.getWidth();
  if (lanes < 2 || !llvm::isPowerOf2_64(lanes))
    return {};
  // More queries in a tile read keys less often, which gains little from here.
  int64_t tileM = std::min(queries, lanes / 2);
  int64_t tileN = getPartOfBlock(std::max<int64_t>(128, lanes), lanes,
                                 input.blocks.columns);
  return ScheduleAttr::get(accType.getContext(), tileM, tileN, lanes,
                           /*unrollM=*/std::gcd<int64_t>(tileM, 4),
                           /*unrollN=*/4);
}

ScheduleAttr mlir::attn::chooseCPUSchedule(FloatType accType,
                                           int64_t queryKeyDim,
                                           int64_t valueDim,
                                           const CPUScheduleInput &input) {
  int64_t elementBytes = accType.getWidth() / 8;
  int64_t lanes = std::max<int64_t>(1, input.vectorBits / accType.getWidth());
  if (input.queries > 0 && input.queries <= lanes)
    if (ScheduleAttr few =
            chooseFewQueriesSchedule(accType, input.queries, input))
      return few;
  // The inner kernel holds unrollM * unrollN sums, one row of unrollM query
  // vectors, and a broadcast key or value. It is bound by loads unless both
  // factors are large: 3 x 8 fills 32 registers, 2 x 4 or 3 x 4 16 of them.
  int64_t unrollM = 3;
  int64_t unrollN = input.vectorRegisters >= 32 ? 8 : 4;
  // One step of the inner kernel reads a slice of tile_m queries, a KV block,
  // and its scores: they should share the first-level cache with room to spare.
  // Smaller tiles cost more rescaling, larger ones more misses.
  int64_t tileN = 64;
  int64_t tileM = 2 * lanes * unrollM;
  int64_t dim = std::max(queryKeyDim, valueDim);
  while (tileM > lanes * unrollM &&
         tileM * (dim + tileN) * elementBytes > 2 * int64_t(input.l1Bytes))
    tileM -= lanes * unrollM;
  // Rows that there are no queries for take as long as others. All sums that
  // there are registers for are of the vectors that are left.
  auto takeVectors = [&](int64_t vectors) {
    unrollN = std::min<int64_t>(unrollM * unrollN / vectors, 16);
    unrollM = vectors;
    tileM = vectors * lanes;
  };
  int64_t vectors = llvm::divideCeil(input.queries, lanes);
  if (input.queries > 0 && vectors * lanes < tileM) {
    if (vectors <= unrollM)
      takeVectors(vectors);
    else
      tileM = llvm::alignTo(input.queries, lanes * unrollM);
  }
  // A tile that lies in a block is needed only if that is, and has no predicate
  // for it, which is worth more than the few per cent that small tiles cost.
  if (input.blocks.rows % tileM != 0)
    for (vectors = 4; vectors >= 1; --vectors) {
      int64_t rows = vectors * lanes;
      if (rows > tileM || input.blocks.rows % rows != 0)
        continue;
      takeVectors(vectors);
      break;
    }
  tileN = getPartOfBlock(tileN, 16, input.blocks.columns);
  return ScheduleAttr::get(accType.getContext(), tileM, tileN, lanes, unrollM,
                           unrollN);
}

RowScheduleAttr
mlir::attn::chooseCPURowSchedule(FloatType accType,
                                 const CPUScheduleInput &input) {
  int64_t lanes = llvm::bit_floor(
      std::max<unsigned>(1, input.vectorBits / accType.getWidth()));
  // Four vectors of scores: more are rescaled less often, but lists that end
  // within them leave more undone. Tasks of few queries cost claims of tasks.
  return RowScheduleAttr::get(accType.getContext(), /*rows=*/16,
                              /*tileN=*/4 * lanes, lanes, /*queries=*/1);
}

bool mlir::attn::isBlockNumber(AttentionLikeOpInterface op, Value index) {
  Region &mask = op.getMask();
  Operation *quotient = index.getDefiningOp();
  return op.getOffsets().empty() && getDivisor(quotient) &&
         (quotient->getOperand(0) == mask.getArgument(2) ||
          quotient->getOperand(0) == mask.getArgument(3));
}

MaskBlocks mlir::attn::getMaskBlocks(AttentionLikeOpInterface op) {
  if (SparsityAttr sparsity = op.getSparsityAttr())
    return {sparsity.getBlockRows(), sparsity.getBlockColumns()};
  MaskBlocks blocks;
  Region &mask = op.getMask();
  mask.walk([&](Operation *quotient) {
    if (quotient->getNumResults() != 1 ||
        !isBlockNumber(op, quotient->getResult(0)))
      return;
    // Words are read at quotients, but their bits differ.
    SmallVector<tensor::ExtractOp> reads;
    for (Operation *user : quotient->getUsers())
      if (auto read = dyn_cast<tensor::ExtractOp>(user))
        reads.push_back(read);
    if (!reads.empty() && llvm::all_of(reads, isKeyBitmaskWord))
      return;
    // Where nothing is read, only such as tiles can be multiples of, or parts.
    constexpr int64_t least = 32;
    int64_t divisor = *getDivisor(quotient);
    if (divisor % least != 0 && reads.empty())
      return;
    bool isRow = quotient->getOperand(0) == mask.getArgument(2);
    int64_t &size = isRow ? blocks.rows : blocks.columns;
    size = std::gcd(size, divisor);
  });
  return blocks;
}

/// Puts `op`, and the finalize that alone reads its state, into a branch that
/// is taken for more queries than `most`, and a copy into the other one.
/// Returns the copy.
static OnlineAttentionOp splitFewQueries(RewriterBase &rewriter,
                                         OnlineAttentionOp op, int64_t most) {
  AttentionLikeOpInterface attention = op;
  Location loc = op.getLoc();
  SmallVector<Operation *> together = {op};
  if (FinalizeOp finalize = op.getOwnFinalize())
    together.push_back(finalize);
  Operation *last = together.back();
  rewriter.setInsertionPoint(last);
  Value queries = tensor::DimOp::create(rewriter, loc, op.getQuery(),
                                        attention.getLayout(0).s);
  Value areMany = arith::CmpIOp::create(
      rewriter, loc, arith::CmpIPredicate::ugt, queries,
      arith::ConstantIndexOp::create(rewriter, loc, most));
  auto choice = scf::IfOp::create(rewriter, loc, last->getResultTypes(),
                                  areMany, /*withElseRegion=*/true);
  rewriter.setInsertionPointToEnd(choice.elseBlock());
  IRMapping mapping;
  SmallVector<Operation *> copies;
  for (Operation *part : together)
    copies.push_back(rewriter.clone(*part, mapping));
  scf::YieldOp::create(rewriter, loc, copies.back()->getResults());
  rewriter.replaceAllUsesWith(last->getResults(), choice.getResults());
  rewriter.setInsertionPointToEnd(choice.thenBlock());
  scf::YieldOp::create(rewriter, loc, last->getResults());
  for (Operation *part : together)
    rewriter.moveOpBefore(part, choice.thenBlock()->getTerminator());
  return cast<OnlineAttentionOp>(copies.front());
}

/// Tells a schedule, when it is taken, and what it is for.
static void explain(AttentionLikeOpInterface op, const CPUScheduleInput &input,
                    const Twine &when) {
  std::string text = when.str();
  llvm::raw_string_ostream os(text);
  Attribute attribute = op->getAttr("schedule");
  if (auto rows = dyn_cast<RowScheduleAttr>(attribute)) {
    os << "each query has a list of keys, of which vectors of "
       << rows.getLanes() << " are computed at a time";
  } else if (auto tiles = dyn_cast<ScheduleAttr>(attribute)) {
    if (tiles.hasFewQueries())
      os << "vectors lie along keys; ";
    int64_t dim = std::max(op.getQueryKeyDim(), op.getValueDim());
    int64_t bytes =
        op.getAccumulatorType().getWidth() / 8 *
        (tiles.getTileM() * (dim + tiles.getTileN()) + tiles.getTileN() * dim);
    os << llvm::formatv(
        "{0} sums in {1} vector registers; {2:F0} KiB of a tile's queries, "
        "keys and scores, where {3:F0} KiB are near a core",
        tiles.getUnrollM() * tiles.getUnrollN(), input.vectorRegisters,
        double(bytes) / 1024, double(input.l1Bytes) / 1024);
    if (input.blocks.rows != 0 || input.blocks.columns != 0)
      os << llvm::formatv("; the mask has blocks of {0} x {1}",
                          input.blocks.rows, input.blocks.columns);
  }
  remark::analysis(op.getLoc(), remark::RemarkOpts::name("schedule")
                                    .category(kRemarkCategory)
                                    .function(getFunctionName(op)))
      << remark::metric(kScheduleRemarkKey, attribute)
      << remark::add("{0}", text);
}

namespace {
struct AttnAssignSchedule
    : public mlir::attn::impl::AttnAssignSchedulePassBase<AttnAssignSchedule> {
  using AttnAssignSchedulePassBase::AttnAssignSchedulePassBase;

  void runOnOperation() override {
    if (vectorBits < 64 || vectorRegisters == 0 || l1Bytes == 0) {
      getOperation()->emitError("expects vector-bits of at least 64, and "
                                "vector-registers and l1-bytes of at least 1");
      return signalPassFailure();
    }
    SmallVector<AttentionLikeOpInterface> ops;
    getOperation()->walk(
        [&](AttentionLikeOpInterface op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionLikeOpInterface op : ops) {
      CPUScheduleInput input{vectorBits, vectorRegisters, l1Bytes};
      bool isGiven = op->hasAttr("schedule");
      if (!isGiven && hasKeyLists(op)) {
        op->setAttr("schedule",
                    chooseCPURowSchedule(op.getAccumulatorType(), input));
      } else if (!isGiven) {
        input.blocks = getMaskBlocks(op);
        int64_t queries = op.getQueryType().getDimSize(op.getLayout(0).s);
        // Tiles of a gradient have queries and keys the other way, too.
        if (!ShapedType::isDynamic(queries) && !isa<AttentionGradOp>(op))
          input.queries = queries;
        FloatType accType = op.getAccumulatorType();
        ScheduleAttr many = chooseCPUSchedule(accType, op.getQueryKeyDim(),
                                              op.getValueDim(), input);
        op->setAttr("schedule", many);
        auto online = dyn_cast<OnlineAttentionOp>(op.getOperation());
        int64_t most = many.getTileM() / 2;
        ScheduleAttr few;
        if (online && ShapedType::isDynamic(queries))
          few = chooseFewQueriesSchedule(accType, most, input);
        if (few) {
          AttentionLikeOpInterface ofFew =
              splitFewQueries(rewriter, online, most);
          ofFew->setAttr("schedule", few);
          explain(op, input, "with more than " + Twine(most) + " queries: ");
          explain(ofFew, input, "with up to " + Twine(most) + " queries: ");
          continue;
        }
      }
      explain(op, input, isGiven ? "which is given: " : "");
    }
  }
};
} // namespace
