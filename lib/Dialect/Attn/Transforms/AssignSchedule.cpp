//===- AssignSchedule.cpp - Choose how attentions are cut into tiles ------===//

#include "Tiles/RegionVectorizer.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNASSIGNSCHEDULEPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

ScheduleAttr mlir::attn::chooseCPUSchedule(FloatType accType,
                                           int64_t queryKeyDim,
                                           int64_t valueDim,
                                           const CPUScheduleInput &input) {
  int64_t elementBytes = accType.getWidth() / 8;
  int64_t lanes = std::max<int64_t>(1, input.vectorBits / accType.getWidth());
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
  // Up to half a vector of queries take longer as its lanes than one by one.
  bool areFew = input.queries > 0 && input.queries <= lanes / 2 &&
                llvm::isPowerOf2_64(lanes);
  if (areFew) {
    tileM = input.queries;
    tileN = llvm::alignTo(2 * tileN, lanes);
    unrollM = std::gcd<int64_t>(tileM, 4);
    unrollN = 4;
  } else if (input.queries > 0 && vectors * lanes < tileM) {
    if (vectors <= unrollM)
      takeVectors(vectors);
    else
      tileM = llvm::alignTo(input.queries, lanes * unrollM);
  }
  // A tile that lies in a block is needed only if that is, and has no predicate
  // for it, which is worth more than the few per cent that small tiles cost.
  if (!areFew && input.blocks.rows % tileM != 0)
    for (vectors = 4; vectors >= 1; --vectors) {
      int64_t rows = vectors * lanes;
      if (rows > tileM || input.blocks.rows % rows != 0)
        continue;
      takeVectors(vectors);
      break;
    }
  int64_t step = areFew ? lanes : 16;
  if (input.blocks.columns % tileN != 0)
    for (int64_t keys = tileN; keys >= step; keys -= step)
      if (input.blocks.columns % keys == 0) {
        tileN = keys;
        break;
      }
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

/// Tells a schedule and what it is for.
static void explain(AttentionLikeOpInterface op, const CPUScheduleInput &input,
                    bool isGiven) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Attribute attribute = op->getAttr("schedule");
  if (isGiven)
    os << "which is given: ";
  if (auto rows = dyn_cast<RowScheduleAttr>(attribute)) {
    os << "each query has a list of keys, of which vectors of "
       << rows.getLanes() << " are computed at a time";
  } else if (auto tiles = dyn_cast<ScheduleAttr>(attribute)) {
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
    getOperation()->walk([&](AttentionLikeOpInterface op) {
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
        op->setAttr("schedule", chooseCPUSchedule(op.getAccumulatorType(),
                                                  op.getQueryKeyDim(),
                                                  op.getValueDim(), input));
      }
      explain(op, input, isGiven);
    });
  }
};
} // namespace
