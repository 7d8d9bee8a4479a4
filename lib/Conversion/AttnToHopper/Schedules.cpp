//===- Schedules.cpp - Schedules for Hopper GPUs --------------------------===//
//
// Measured on an H200 with bf16 at 16384 tokens and some 2048 columns. A pair
// of tile sizes is in the table if ptxas compiles it without spills, as a rule
// if scores, results and probabilities, tile_n / 2 + Dv / 2 + tile_n / 4, and
// Dqk / 4 for queries in registers, leave 30 registers free.
//
//===----------------------------------------------------------------------===//

#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "attn/Analysis/KeyBias.h"
#include "attn/Analysis/MaskBounds.h"
#include "attn/Conversion/MathToArith/FloatFunctions.h"
#include "attn/Dialect/Attn/Transforms/Sparsity.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// The shared memory that a thread block may have, in bytes: its part of that
/// of a multiprocessor, but for what the hardware takes for each.
static int64_t getSharedLimit(TargetAttr target,
                              hopper::ScheduleAttr schedule) {
  return std::min(target.getCtaShared(),
                  target.getSmShared() / schedule.getThreadBlocks() -
                      target.getReservedShared());
}

/// The bytes of so many columns of a tile's row.
static int64_t getRowBytes(int64_t columns, Type element) {
  return llvm::alignTo(columns, hopper::getChunkColumns(element)) *
         hopper::getElementBytes(element);
}

/// The same of 16 bits.
static int64_t getRowBytes(int64_t columns) {
  return llvm::alignTo(columns, hopper::kChunkColumns) * 2;
}

bool mlir::attn::isCaptureTileElement(Type element) {
  return isa<BFloat16Type, Float16Type, Float32Type>(element) ||
         element.isInteger(1) || element.isInteger(8);
}

/// All but the staged results.
static int64_t getChannelBytes(hopper::ScheduleAttr schedule,
                               int64_t queryKeyDim, int64_t valueDim,
                               ArrayRef<Type> captures) {
  constexpr int64_t barrierBytes = 1024;
  int64_t keys = getRowBytes(queryKeyDim), values = getRowBytes(valueDim);
  int64_t captureBytes = 0;
  for (Type element : captures)
    captureBytes += getRowBytes(schedule.getTileN(), element);
  // Positions of keys in a tile.
  int64_t ramp = schedule.getBiasInProduct()
                     ? schedule.getTileN() * getRowBytes(hopper::kChunkColumns)
                     : 0;
  return barrierBytes + ramp + schedule.getTileM() * keys +
         schedule.getStages() * schedule.getTileN() * (keys + values) +
         schedule.getCaptureStages() * schedule.getTileM() * captureBytes;
}

int64_t mlir::attn::getStagingColumns(TargetAttr target,
                                      hopper::ScheduleAttr schedule,
                                      int64_t queryKeyDim, int64_t valueDim,
                                      ArrayRef<Type> captures) {
  // Results of parts go to memory as they are.
  if (schedule.getSplitKeys())
    return 0;
  bool fitsInQueries = queryKeyDim == valueDim;
  if (!schedule.getPersistent() && fitsInQueries)
    return 0;
  int64_t free = getSharedLimit(target, schedule) -
                 getChannelBytes(schedule, queryKeyDim, valueDim, captures);
  int64_t tileM = schedule.getTileM();
  int64_t part = llvm::alignDown(std::max<int64_t>(free / (tileM * 2), 0),
                                 hopper::kChunkColumns);
  if (part < valueDim && part > 0 && !schedule.getStrided())
    return part;
  return part < valueDim && fitsInQueries ? 0 : valueDim;
}

/// The shared memory that a kernel with this schedule takes, in bytes.
static int64_t getSharedBytes(TargetAttr target, hopper::ScheduleAttr schedule,
                              int64_t queryKeyDim, int64_t valueDim,
                              ArrayRef<Type> captures) {
  return getChannelBytes(schedule, queryKeyDim, valueDim, captures) +
         schedule.getTileM() *
             getRowBytes(getStagingColumns(target, schedule, queryKeyDim,
                                           valueDim, captures));
}

int64_t mlir::attn::getQueryStages(TargetAttr target,
                                   hopper::ScheduleAttr schedule,
                                   int64_t queryKeyDim, int64_t valueDim,
                                   ArrayRef<Type> captures) {
  // Queries in registers are out of the way of the next ones anyway.
  if (!schedule.getPersistent() || schedule.getQInRegisters() ||
      getStagingColumns(target, schedule, queryKeyDim, valueDim, captures) !=
          valueDim)
    return 1;
  int64_t bytes =
      getSharedBytes(target, schedule, queryKeyDim, valueDim, captures) +
      schedule.getTileM() * getRowBytes(queryKeyDim);
  return bytes <= getSharedLimit(target, schedule) ? 2 : 1;
}

int64_t mlir::attn::getFreeSharedBytes(TargetAttr target,
                                       hopper::ScheduleAttr schedule,
                                       int64_t queryKeyDim, int64_t valueDim,
                                       ArrayRef<Type> captures) {
  int64_t more =
      getQueryStages(target, schedule, queryKeyDim, valueDim, captures) - 1;
  return getSharedLimit(target, schedule) -
         getSharedBytes(target, schedule, queryKeyDim, valueDim, captures) -
         more * schedule.getTileM() * getRowBytes(queryKeyDim);
}

bool mlir::attn::isHeadDimSupported(int64_t dim) {
  return dim % 8 == 0 && dim <= 256;
}

bool mlir::attn::areHeadDimsSupported(AttentionLikeOpInterface op) {
  return isHeadDimSupported(op.getQueryKeyDim()) &&
         isHeadDimSupported(op.getValueDim());
}

bool mlir::attn::haveTiles(AttentionLikeOpInterface op) {
  return getTarget(op).getWgmma() && areHeadDimsSupported(op) &&
         isa<BFloat16Type, Float16Type>(op.getQueryType().getElementType());
}

/// Whether a region reads a capture for each key.
static bool readsPerKey(Region &region, unsigned keyArgument) {
  if (region.empty())
    return false;
  llvm::SetVector<Operation *> users;
  getForwardSlice(region.getArgument(keyArgument), &users);
  return llvm::any_of(users, llvm::IsaPred<tensor::ExtractOp>);
}

/// Whether a region reads a capture at two indices of which one depends on the
/// query and one on the key, so that each thread reads all of its elements. By
/// one index, such as the distance of query and key, it reads few, as by the
/// numbers of blocks.
static bool readsPerPair(AttentionLikeOpInterface attention, Region &region,
                         unsigned queryArgument) {
  if (region.empty())
    return false;
  llvm::SetVector<Operation *> ofQuery, ofKey;
  Value query = region.getArgument(queryArgument),
        key = region.getArgument(queryArgument + 1);
  getForwardSlice(query, &ofQuery);
  getForwardSlice(key, &ofKey);
  auto count = [](tensor::ExtractOp op, Value argument,
                  llvm::SetVector<Operation *> &users) {
    return llvm::count_if(op.getIndices(), [&](Value index) {
      return index == argument || users.contains(index.getDefiningOp());
    });
  };
  bool isMask = &region == &attention.getMask();
  WalkResult result = region.walk([&](tensor::ExtractOp op) {
    if (isMask && llvm::any_of(op.getIndices(), [&](Value index) {
          return isBlockNumber(attention, index);
        }))
      return WalkResult::advance();
    int64_t queries = count(op, query, ofQuery), keys = count(op, key, ofKey);
    bool isOne =
        queries + keys < 2 ||
        (queries == 1 && keys == 1 &&
         llvm::any_of(
             op.getIndices(),
             [&](Value index) {
               Operation *source = index.getDefiningOp();
               return ofQuery.contains(source) && ofKey.contains(source);
             }));
    return isOne ? WalkResult::advance() : WalkResult::interrupt();
  });
  return result.wasInterrupted();
}

/// The types of what a region reads at [..., i, ..., j], each of them shifted
/// by scalars or not, and may have in tiles.
static void collectCaptureTiles(Region &region, unsigned queryArgument,
                                SmallVectorImpl<Type> &types) {
  if (region.empty())
    return;
  Value query = region.getArgument(queryArgument),
        key = region.getArgument(queryArgument + 1);
  llvm::SetVector<Operation *> dependent;
  getForwardSlice(query, &dependent);
  getForwardSlice(key, &dependent);
  region.walk([&](tensor::ExtractOp op) {
    auto isScalar = [&](Value index) {
      return index != query && index != key &&
             !dependent.contains(index.getDefiningOp());
    };
    auto skipShifts = [&](Value index) {
      while (auto *sum = index.getDefiningOp()) {
        if (!isa<arith::AddIOp, arith::SubIOp>(sum))
          break;
        Value lhs = sum->getOperand(0), rhs = sum->getOperand(1);
        if (isScalar(rhs))
          index = lhs;
        else if (isScalar(lhs) && isa<arith::AddIOp>(sum))
          index = rhs;
        else
          break;
      }
      return index;
    };
    auto indices = llvm::map_to_vector(op.getIndices(), skipShifts);
    if (isCaptureTileElement(op.getType()) && indices.size() >= 2 &&
        indices.size() <= 4 && indices.back() == key &&
        llvm::count(indices, query) == 1 &&
        llvm::count_if(indices, isScalar) == int64_t(indices.size()) - 2)
      types.push_back(op.getType());
  });
}

/// Whether the mask reads bits of words, as lists of single keys become.
static bool hasKeyWords(AttentionLikeOpInterface op) {
  if (hasKeyLists(op))
    return true;
  WalkResult walk = op.getMask().walk([](tensor::ExtractOp read) {
    return isKeyWord(read) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

/// Whether a condition that must hold bounds keys by the query, below, where
/// `sign` is 1, or above, where it is -1.
static bool boundsKeys(const MaskNode &node, AttentionLikeOpInterface op,
                       int64_t sign) {
  if (node.kind == MaskNode::Kind::And)
    return llvm::any_of(node.operands, [&](const MaskNode *operand) {
      return boundsKeys(*operand, op, sign);
    });
  Value query = op.getMask().getArgument(2), key = op.getMask().getArgument(3);
  return node.kind == MaskNode::Kind::Compare &&
         node.form.getCoefficient(key) * sign > 0 &&
         node.form.getCoefficient(query) * sign < 0;
}

/// Whether the number of keys of a query does not grow with that of all keys,
/// as in a window.
static bool isBand(const MaskBounds &bounds, AttentionLikeOpInterface op) {
  return boundsKeys(bounds.getRoot(), op, 1) &&
         boundsKeys(bounds.getRoot(), op, -1);
}

/// Whether some queries see keys that others do not, by a condition on the
/// query alone, as global tokens do.
static bool hasGlobalQueries(const MaskNode &node, AttentionLikeOpInterface op,
                             bool isChoice = false) {
  if (node.kind == MaskNode::Kind::And || node.kind == MaskNode::Kind::Or)
    return llvm::any_of(node.operands, [&](const MaskNode *operand) {
      return hasGlobalQueries(*operand, op,
                              isChoice || node.kind == MaskNode::Kind::Or);
    });
  Value query = op.getMask().getArgument(2), key = op.getMask().getArgument(3);
  return isChoice && node.kind == MaskNode::Kind::Compare &&
         node.form.getCoefficient(key) == 0 &&
         node.form.getCoefficient(query) != 0;
}

/// Whether a launch may share out keys: there are not known to be so few that a
/// tile is not shared out, nor so many tiles that all multiprocessors have
/// several, unless some may take longer than others.
static bool maySplitKeys(AttentionLikeOpInterface op, bool hasLongTiles,
                         bool isPacked) {
  constexpr int64_t tileM = 64, leastTileN = 64;
  Layout query = op.getLayout(0), key = op.getLayout(1);
  ArrayRef<int64_t> shape = op.getQueryType().getShape();
  int64_t keys = op.getKeyType().getDimSize(key.s);
  if (!ShapedType::isDynamic(keys) &&
      keys <= leastTileN * hopper::kLeastPartTiles)
    return false;
  if (hasLongTiles || ShapedType::isDynamic(shape[query.b]) ||
      ShapedType::isDynamic(shape[query.h]) ||
      ShapedType::isDynamic(shape[query.s]))
    return true;
  // With the queries of several heads there are fewer.
  int64_t packed = 1, keyHeads = op.getKeyType().getDimSize(key.h);
  if (isPacked && !ShapedType::isDynamic(keyHeads) && keyHeads > 0) {
    int64_t group = std::max<int64_t>(shape[query.h] / keyHeads, 1);
    packed = std::min(group & -group, tileM);
  }
  int64_t tiles = shape[query.b] * (shape[query.h] / packed) *
                  llvm::divideCeilSigned(shape[query.s] * packed, tileM);
  return tiles < 2 * getTarget(op).getSms();
}

static hopper::ScheduleAttr withTileN(hopper::ScheduleAttr schedule,
                                      int64_t tileN) {
  return hopper::ScheduleAttr::get(
      schedule.getContext(), schedule.getTileM(), tileN, schedule.getStages(),
      schedule.getRegisters(), schedule.getHeadGroup(),
      schedule.getHeadGroupKeys(), schedule.getCaptureStages(),
      schedule.getThreadBlocks(), schedule.getInFlight(), schedule.getReverse(),
      schedule.getBothEnds(), schedule.getShortFirst(),
      schedule.getPersistent(), schedule.getPingPong(),
      schedule.getQInRegisters(), schedule.getBiasInProduct(),
      schedule.getStrided(), schedule.getSplitKeys(), schedule.getPackHeads(),
      schedule.getOrder(), schedule.getExclusive(), schedule.getPartitions());
}

/// Schedules for tiles of queries that gather their keys. The fewer queries,
/// the fewer keys, and another thread block computes while one waits for rows.
static SmallVector<HopperSchedule>
getGatheredSchedules(AttentionLikeOpInterface op) {
  int64_t queryKeyDim = op.getQueryKeyDim(), valueDim = op.getValueDim();
  int64_t dim = std::max(queryKeyDim, valueDim);
  TargetAttr target = getTarget(op);
  SmallVector<HopperSchedule> schedules;
  auto add = [&](int64_t tileN, int64_t stages, int64_t registers,
                 int64_t threadBlocks, bool isStrided = false) {
    auto get = [&](int64_t tileN) {
      return hopper::ScheduleAttr::get(
          op.getContext(), /*tileM=*/64, tileN, stages, registers,
          /*headGroup=*/1, /*headGroupKeys=*/0, /*captureStages=*/0,
          threadBlocks, /*inFlight=*/0, /*reverse=*/false, /*bothEnds=*/false,
          /*shortFirst=*/false, /*persistent=*/false, /*pingPong=*/false,
          /*qInRegisters=*/false,
          /*biasInProduct=*/false, isStrided,
          /*splitKeys=*/false, /*packHeads=*/false, /*order=*/{},
          /*exclusive=*/{}, /*partitions=*/{});
    };
    // Pages are whole words.
    while (tileN > kWordKeys &&
           getSharedBytes(target, get(tileN), queryKeyDim, valueDim, {}) >
               getSharedLimit(target, get(tileN)))
      tileN -= kWordKeys;
    HopperSchedule &schedule = schedules.emplace_back();
    schedule.schedule = get(tileN);
    schedule.isForAnyStrides = isStrided;
  };
  if (dim <= 64)
    add(64, 4, 112, 3);
  else if (dim <= 128)
    add(64, 2, 184, 2);
  else
    add(64, 2, 232, 1);
  // Score and mask may take more registers.
  size_t numFirst = schedules.size();
  if (dim <= 64)
    add(64, 2, 184, 2);
  add(dim <= 128 ? 64 : 32, 2, 232, 1);
  add(32, 2, 232, 1);
  for (HopperSchedule &schedule :
       MutableArrayRef(schedules).drop_front(numFirst))
    schedule.isLastResort = true;
  add(dim <= 128 ? 64 : 32, 2, 208, 1, /*isStrided=*/true);
  return schedules;
}

/// About how many instructions an operation of a region is for each score.
static int64_t getCost(Operation *op) {
  if (isa<tensor::ExtractOp>(op))
    return 3;
  // In f64, or a product for each bit.
  if (isa<math::PowFOp, math::FPowIOp, math::CbrtOp, math::IPowIOp>(op))
    return 100;
  if (isRareFunction(op) || isa<math::SincosOp>(op))
    return 50;
  if (isa<arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp,
          arith::CeilDivUIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>(op) &&
      !matchPattern(op->getOperand(1), m_Constant()))
    return op->getResult(0).getType().isInteger(32) ? 30 : 128;
  return 1;
}

/// Leaves out schedules whose threads would compute so much for a tile that
/// ptxas takes long and finds no registers. Where score and mask cost more than
/// the products, larger tiles gain little. The last one that others fall back
/// to stays, and the one for any strides gets small tiles.
static void dropLargeTiles(AttentionLikeOpInterface op,
                           SmallVectorImpl<HopperSchedule> &schedules) {
  // Instructions of two of the 64 queries of 128 threads, in the loop once.
  constexpr int64_t most = 16384;
  int64_t cost = 0;
  for (Region *region : {&op.getScore(), &op.getMask()})
    region->walk([&](Operation *inner) { cost += getCost(inner); });
  auto isLarge = [&](const HopperSchedule &schedule) {
    return cost * schedule.schedule.getTileN() >= most;
  };
  HopperSchedule *last = nullptr;
  for (HopperSchedule &schedule : schedules)
    if (!schedule.isForAnyStrides && !schedule.isForFewTiles)
      last = &schedule;
  hopper::ScheduleAttr kept = last ? last->schedule : hopper::ScheduleAttr();
  for (HopperSchedule &schedule : schedules)
    if (schedule.isForAnyStrides && isLarge(schedule))
      schedule.schedule =
          withTileN(schedule.schedule, kept ? kept.getTileN() : 16);
  llvm::erase_if(schedules, [&](const HopperSchedule &schedule) {
    return isLarge(schedule) && schedule.schedule != kept &&
           !schedule.isForAnyStrides;
  });
}

SmallVector<HopperSchedule>
mlir::attn::getHopperSchedules(AttentionLikeOpInterface op) {
  if (op->hasAttr(kGatheredAttrName)) {
    SmallVector<HopperSchedule> schedules = getGatheredSchedules(op);
    dropLargeTiles(op, schedules);
    return schedules;
  }
  int64_t queryKeyDim = op.getQueryKeyDim(), valueDim = op.getValueDim();
  int64_t dim = std::max(queryKeyDim, valueDim);
  bool isMasked = !op.getMask().empty() || op.getSparsityAttr();
  enum : unsigned {
    Persistent = 1,
    PingPong = 2,
    QInRegisters = 4,
    Strided = 8,
    SplitKeys = 16,
    PackHeads = 32
  };
  SmallVector<Type> captures;
  collectCaptureTiles(op.getScore(), kNumScoreArgs - 2, captures);
  collectCaptureTiles(op.getMask(), kNumMaskArgs - 2, captures);
  bool hasBias = getKeyBias(op).has_value();
  int64_t stages = 2, captureStages = 0, threadBlocks = 1;
  // The more heads take turns, the better is the work shared out in the end,
  // and the fewer thread blocks read the same keys at a time; but the more is
  // read from beyond the L2 cache. Without a mask it makes no difference.
  int64_t headGroup = !isMasked ? 1 : dim <= 128 ? 64 : 32;
  int64_t headGroupKeys = !isMasked ? 0 : dim <= 128 ? 1 << 19 : 1 << 18;
  // Whether tiles of keys are passed over between others that are not.
  std::optional<MaskBounds> bounds;
  if (!op.getMask().empty())
    bounds.emplace(op);
  // Lists of single keys leave hardly a tile out.
  bool hasWords = hasKeyWords(op);
  bool byClass = !hasWords && !op->hasAttr(kWholeAttrName) &&
                 (op.getSparsityAttr() || (bounds && !bounds->areIntervals()));
  // The last queries have the most keys, unless it is not known that keys end
  // with the query. Then it is the first or the last ones, if any, such as
  // those of global tokens.
  bool endsWithQuery = bounds && boundsKeys(bounds->getRoot(), op, -1);
  bool bothEnds = byClass && !endsWithQuery;
  bool isInBand = bounds && isBand(*bounds, op);
  bool hasFewKeys = byClass || isInBand;
  TargetAttr target = getTarget(op);
  SmallVector<HopperSchedule> schedules;
  auto add = [&](int64_t tileM, int64_t tileN, int64_t registers,
                 unsigned flags, double tileCost, double keyCost) {
    auto get = [&](int64_t tileN) {
      return hopper::ScheduleAttr::get(
          op.getContext(), tileM, tileN, stages, registers, headGroup,
          headGroupKeys, captureStages, threadBlocks, /*inFlight=*/0,
          /*reverse=*/isMasked && !bothEnds, bothEnds,
          /*shortFirst=*/endsWithQuery && !byClass && !isInBand && !hasWords &&
              tileM > 64 && !(flags & Strided),
          (flags & Persistent) != 0, (flags & PingPong) != 0,
          (flags & QInRegisters) != 0, hasBias && !(flags & Strided),
          (flags & Strided) != 0, (flags & SplitKeys) != 0,
          (flags & PackHeads) != 0, /*order=*/{}, /*exclusive=*/{},
          /*partitions=*/{});
    };
    auto fits = [&](hopper::ScheduleAttr schedule) {
      return getSharedBytes(target, schedule, queryKeyDim, valueDim,
                            captures) <= getSharedLimit(target, schedule);
    };
    // Smaller tiles for pairs of head dimensions that need more memory.
    while (tileN > 16 && !fits(get(tileN)))
      tileN -= 16;
    if (!fits(get(tileN)))
      return;
    // Half of the keys are masked as a rule. How many there are in a window, or
    // in a document, is not known before a launch, but not all.
    constexpr double few = 1024;
    HopperSchedule &added = schedules.emplace_back();
    added.schedule = get(tileN);
    added.tileCost = tileCost;
    added.keyCost = keyCost;
    added.isForFewTiles = (flags & SplitKeys) != 0;
    if (hasFewKeys && !hasWords) {
      added.typicalKeys = few;
      // A tile that is left alone takes less than its part of what blocks take
      // beside each other, as much as they take more than their part.
      constexpr double alone = 1.7;
      bool isBesides = threadBlocks > 1 && !added.isForFewTiles;
      added.fewAreLong = bounds && hasGlobalQueries(bounds->getRoot(), op);
      added.longKeyCost = isInBand ? 0 : keyCost * (isBesides ? alone : 1);
      if (!added.isForFewTiles) {
        added.tileCost += few * keyCost;
        added.keyCost = 0;
      }
    } else if (isMasked && !hasWords) {
      added.keyCost /= 2;
    }
  };
  constexpr unsigned all = Persistent | PingPong | QInRegisters;
  constexpr unsigned common = Persistent | PingPong;
  bool isDense = !readsPerPair(op, op.getScore(), kNumScoreArgs - 2) &&
                 !readsPerPair(op, op.getMask(), kNumMaskArgs - 2);
  bool isShared = false;
  if (byClass && isDense && dim <= 128) {
    // Blocks of masks are multiples of 64 or 128 as a rule, and so are tiles,
    // which are in one block then. What finds the tiles takes registers.
    auto [rows, columns] = getMaskBlocks(op);
    int64_t tileN = columns % 128 == 0 ? 128 : columns % 64 == 0 ? 64 : 32;
    // All queries of a tile compute with the keys that some of them need. So
    // tiles are small where blocks are, and several thread blocks compute at a
    // time, each with keys of its own. That reads keys more often, which pays
    // for documents with D = 64, but not where there is more to read of a key.
    bool isSmall = rows % 128 != 0 || columns % 128 != 0;
    isShared = isSmall || (rows == 0 && dim <= 64);
    if (isShared) {
      threadBlocks = dim <= 64 ? 3 : 2;
      add(64, std::min<int64_t>(tileN, 64), dim <= 64 ? 120 : 184, Persistent,
          dim <= 64 ? 1.1 : 2.0, dim <= 64 ? 4.6e-3 : 7.5e-3);
      threadBlocks = 1;
    } else if (dim <= 64) {
      stages = 4;
      // The more queries, the fewer keys that some of them need are read again.
      // What finds them has no registers left to count heads by keys.
      if (rows % 256 == 0) {
        int64_t savedKeys = std::exchange(headGroupKeys, 0),
                saved = std::exchange(headGroup, 16);
        add(256, 64, 112, common, 2.8, 15.0e-3);
        headGroupKeys = savedKeys;
        headGroup = saved;
      }
      add(128, tileN, 208, common, 2.2, 8.5e-3);
      stages = 2;
    } else {
      // What a mask reads for each key, such as its document, takes the
      // registers that queries would be in; of a block there is one read.
      if (rows != 0 || !readsPerKey(op.getMask(), kNumMaskArgs - 1))
        add(128, tileN, 232, all, 1.5, 11.0e-3);
      add(128, tileN, 232, common, 1.5, 11.4e-3);
    }
  } else if (hasWords && isDense && dim <= 128) {
    // A test of a bit is two instructions for each score, which is measured for
    // 192 queries, and 128; 256 are as much slower than without. Tiles are
    // multiples of words.
    if (dim <= 64) {
      stages = 4;
      add(192, 128, 160, common, 2.5, 13.8e-3);
      add(256, 64, 112, common, 3.4, 18.9e-3);
      stages = 2;
    } else {
      add(128, 128, 232, all, 2.2, 13.4e-3);
    }
  } else if (isDense && dim <= 64) {
    // Arithmetic on each score is done best by four warpgroups.
    bool hasScore = !op.getScore().empty() && !hasBias &&
                    !readsPerKey(op.getScore(), kNumScoreArgs - 1);
    stages = 4;
    add(192, 128, 160, common,
        hasFewKeys ? 3.7
        : isMasked ? 2.5
                   : 1.4,
        hasScore   ? 13.5e-3
        : isMasked ? 10.9e-3
                   : 10.3e-3);
    // Of few keys, without turns.
    add(256, 64, 112, hasFewKeys ? Persistent : common,
        hasFewKeys ? 2.7
        : isMasked ? 2.3
                   : 2.6,
        hasScore   ? 17.5e-3
        : isMasked ? 15.1e-3
                   : 14.3e-3);
    stages = 2;
  } else if (isDense && dim <= 96) {
    add(192, 96, 160, isMasked ? common : Persistent, 3.0, 13.0e-3);
    add(128, 128, 232, all, 1.4, 10.0e-3);
  } else if (isDense && dim <= 128) {
    // The ends of a window are parts of tiles. What a score reads for each key
    // takes registers beside those of a mask.
    bool isTight = isMasked && readsPerKey(op.getScore(), kNumScoreArgs - 1);
    // So do functions, which three warpgroups compute best.
    bool hasFunctions = op.getScore()
                            .walk([](Operation *inner) {
                              return isa<math::MathDialect>(inner->getDialect())
                                         ? WalkResult::interrupt()
                                         : WalkResult::advance();
                            })
                            .wasInterrupted();
    isTight |= hasFunctions;
    // Without a mask, turns are worth 2 %; with one they cost as much.
    add(192, hasFewKeys || isTight ? 64 : 80, 160,
        isMasked ? Persistent : common,
        hasFewKeys ? 4.0
        : isMasked ? 3.5
                   : 3.0,
        isMasked ? 15.2e-3 : 15.6e-3);
    add(128, 128, 232, all, isMasked ? 2.2 : 1.5,
        hasFunctions ? 12.4e-3
        : isMasked   ? 11.0e-3
                     : 11.2e-3);
  } else if (isDense && dim <= 192) {
    // What copies keys has registers left for where a window begins.
    add(128, valueDim <= 128 ? 112 : 80, isMasked ? 232 : 240, common, 2.5,
        16.0e-3);
  } else if (isDense) {
    // Under a mask, without turns, but for windows, which take registers. A
    // thread block for each tile is 1 % faster from 4096 on, but 2 to 10 %
    // slower up to 2048.
    add(128, 64, 232, isMasked && !isInBand ? Persistent : common, 3.0,
        21.0e-3);
  }
  if (getPackingObstacle(op).empty()) {
    // For few queries. Several thread blocks of a multiprocessor read as fast
    // as there is memory for; with one, and larger tiles or more stages, it is
    // 3 to 9 % faster where each has one tile, but half as slow again with
    // many.
    if (dim <= 64) {
      threadBlocks = 3;
      add(64, 64, 120, PackHeads, 1.1, 4.6e-3);
    } else if (dim <= 128) {
      threadBlocks = 2;
      add(64, 80, 184, PackHeads, 2.0, 6.6e-3);
    } else {
      add(64, 64, 240, PackHeads, 3.0, 13.5e-3);
    }
    threadBlocks = 1;
  }
  // A dense bias, or a mask that is a tensor.
  if (!captures.empty()) {
    captureStages = 2;
    int64_t most = 0;
    for (Type element : captures)
      most = std::max(most, hopper::getElementBytes(element));
    // Rows of bytes are 128 keys.
    if (dim <= 64 && most == 1)
      add(192, 128, 160, common, 3.0, 14.0e-3);
    else if (dim <= 64 && isInBand)
      add(192, 64, 160, common, 3.0, 16.0e-3);
    else if (dim <= 64)
      add(256, 64, 112, common, 3.4, 20.0e-3);
    else
      add(128, dim <= 128 && most <= 2 ? 128 : 64, 232, PingPong, 3.0, 14.0e-3);
    captureStages = 0;
    // Rows of bytes are often no multiple of 16, and cannot be copied then.
    if (most == 1)
      add(128,
          dim <= 64    ? 96
          : dim <= 128 ? 64
                       : 32,
          232, common, 3.0, 40.0e-3);
  }
  // Addresses and what is read for each key take registers, too.
  size_t numFirst = std::max<size_t>(schedules.size(), 1);
  if (isShared && dim <= 64)
    add(128, 128, 208, common, 2.2, 8.5e-3);
  if (dim <= 192)
    add(128, dim <= 64 ? 96 : dim <= 128 ? 64 : 48, 232, common, 3.0, 20.0e-3);
  add(128, 32, 232, common, 3.0, 40.0e-3);
  add(64, 32, 232, PingPong, 3.0, 40.0e-3);
  add(64, 16, 232, 0, 3.0, 80.0e-3);
  for (HopperSchedule &schedule :
       MutableArrayRef(schedules).drop_front(numFirst))
    schedule.isLastResort = true;
  // Few tiles of queries are small, with those of several heads where they may
  // have them. Two thread blocks compute beside each other, as some have no
  // keys.
  // ptxas makes the products of a bias synchronous in that kernel (C7514).
  bool isPacked = getPackingObstacle(op).empty() && !hasBias;
  if (!hasWords && maySplitKeys(op, hasFewKeys && !isInBand, isPacked)) {
    unsigned splitFlags = SplitKeys;
    if (isPacked)
      splitFlags |= PackHeads;
    captureStages = captures.empty() ? 0 : 2;
    threadBlocks = dim <= 128 ? 2 : 1;
    add(64, dim <= 64 ? 128 : 64, dim <= 128 ? 208 : 232, splitFlags, 2.5,
        dim <= 64    ? 7.0e-3
        : dim <= 128 ? 10.5e-3
                     : 16.0e-3);
    threadBlocks = 1;
    captureStages = 0;
  }
  // Threads that copy need registers for that.
  headGroup = isMasked ? 8 : 1;
  headGroupKeys = 0;
  bool isWide = dim > 192 && (hasBias || isInBand);
  if (isDense || dim <= 192)
    add(128, (isDense && !isWide) || dim <= 128 ? 64 : 32, byClass ? 216 : 208,
        PingPong | Strided, 0, 0);
  else
    add(64, 32, 232, Strided, 0, 0);
  schedules.back().isForAnyStrides = true;
  dropLargeTiles(op, schedules);
  return schedules;
}

RowScheduleAttr mlir::attn::getRowSchedule(AttentionLikeOpInterface op) {
  // As many lanes for a row as read it at once, 16 bytes each; more than eight
  // would read fewer rows at a time and exchange more.
  int64_t bytes = op.getQueryType().getElementTypeBitWidth() / 8;
  int64_t dim = std::max(op.getQueryKeyDim(), op.getValueDim());
  int64_t lanes = llvm::PowerOf2Ceil(llvm::divideCeil(dim * bytes, 16));
  return RowScheduleAttr::get(op.getContext(), /*rows=*/4, /*tileN=*/32,
                              std::min<int64_t>(lanes, 8));
}
