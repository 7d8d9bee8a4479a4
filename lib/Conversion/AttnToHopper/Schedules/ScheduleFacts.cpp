//===- ScheduleFacts.cpp - What schedules depend on in a program ----------===//

#include "ScheduleFacts.h"
#include "attn/Analysis/Diagonals.h"
#include "attn/Analysis/KeyBias.h"
#include "attn/Analysis/MaskBounds.h"
#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "attn/Dialect/Attn/Transforms/Sparsity.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <numeric>

using namespace mlir;
using namespace mlir::attn;

bool mlir::attn::isCaptureTileElement(Type element) {
  return isa<BFloat16Type, Float16Type, Float32Type>(element) ||
         element.isInteger(1) || element.isInteger(8);
}

/// Whether a region reads a capture for each key.
static bool readsPerKey(Region &region, unsigned keyArgument,
                        const Diagonals &diagonals) {
  if (region.empty())
    return false;
  llvm::SetVector<Operation *> users;
  getForwardSlice(region.getArgument(keyArgument), &users);
  return llvm::any_of(users, [&](Operation *user) {
    return isa<tensor::ExtractOp>(user) && !diagonals.ops.contains(user);
  });
}

/// Whether a region reads a capture at two indices of which one depends on the
/// query and one on the key, so that each thread reads all of its elements. By
/// one index, such as the distance of query and key, it reads few, as by the
/// numbers of blocks.
static bool readsPerPair(AttentionLikeOpInterface attention, Region &region,
                         unsigned queryArgument, const Diagonals &diagonals) {
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
    if (diagonals.ops.contains(op))
      return WalkResult::advance();
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
static bool hasKeyBitmask(AttentionLikeOpInterface op) {
  if (hasKeyLists(op))
    return true;
  WalkResult walk = op.getMask().walk([](tensor::ExtractOp read) {
    return isKeyBitmaskWord(read) ? WalkResult::interrupt()
                                  : WalkResult::advance();
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
static bool maySplitKV(AttentionLikeOpInterface op, bool hasLongTiles,
                       bool isPacked) {
  constexpr int64_t tileM = 64, leastTileN = 64;
  Layout query = op.getLayout(0), key = op.getLayout(1);
  ArrayRef<int64_t> shape = op.getQueryType().getShape();
  int64_t keys = op.getKeyType().getDimSize(key.s);
  if (!ShapedType::isDynamic(keys) &&
      keys <= leastTileN * hopper::kMinSplitBlocks)
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

/// Whether it depends on the keys which tiles are needed.
static bool asksForKeys(Region &tiles) {
  llvm::SetVector<Operation *> dependent;
  for (unsigned number : {kNumTilesArgs - 2, kNumTilesArgs - 1})
    getForwardSlice(tiles.getArgument(number), &dependent);
  return dependent.contains(
      tiles.front().getTerminator()->getOperand(0).getDefiningOp());
}

namespace {
/// How a mask divides something of positions.
struct Divisions {
  bool any = false, remainders = false;
};
} // namespace

/// By numbers of a call, or by constants that may be the size of tiles.
static Divisions getDivisions(Region &mask) {
  if (mask.empty())
    return {};
  llvm::SetVector<Operation *> dependent;
  for (unsigned number : {kNumMaskArgs - 2, kNumMaskArgs - 1})
    getForwardSlice(mask.getArgument(number), &dependent);
  Divisions found;
  for (Operation *op : dependent) {
    constexpr int64_t leastTile = 32;
    APInt divisor;
    bool isRemainder = isa<arith::RemSIOp, arith::RemUIOp>(op);
    if ((!isRemainder &&
         !isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op)) ||
        (matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) &&
         divisor.slt(leastTile)))
      continue;
    found.any = true;
    found.remainders |= isRemainder;
  }
  return found;
}

static bool hasFunctions(Region &score, const Diagonals &diagonals) {
  return score
      .walk([&](Operation *inner) {
        return isa<math::MathDialect>(inner->getDialect()) &&
                       !diagonals.ops.contains(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

ProgramFacts::ProgramFacts(AttentionLikeOpInterface op) {
  Region &score = op.getScore(), &mask = op.getMask();
  queryKeyDim = op.getQueryKeyDim();
  valueDim = op.getValueDim();
  dim = std::max(queryKeyDim, valueDim);
  bothDims = queryKeyDim + valueDim;
  collectCaptureTiles(score, kNumScoreArgs - 2, captures);
  collectCaptureTiles(mask, kNumMaskArgs - 2, captures);
  for (Type element : captures)
    captureBytes = std::max(captureBytes, hopper::getElementBytes(element));
  Diagonals diagonals(op);
  numDiagonals = diagonals.values.size();
  perPair = readsPerPair(op, score, kNumScoreArgs - 2, diagonals) ||
            readsPerPair(op, mask, kNumMaskArgs - 2, diagonals);

  masked = !mask.empty() || op.getSparsityAttr();
  std::optional<MaskBounds> bounds;
  if (!mask.empty())
    bounds.emplace(op);
  // Lists of single keys leave hardly a KV block out.
  words = hasKeyBitmask(op);
  auto online = dyn_cast<OnlineAttentionOp>(op.getOperation());
  bool hasClasses = online && !online.getTiles().empty(),
       areOfKeys = hasClasses && asksForKeys(online.getTiles());
  rowClasses = hasClasses && !areOfKeys;
  whole = op->hasAttr(kWholeAttrName);
  classes = !words && !whole &&
            (op.getSparsityAttr() || areOfKeys ||
             (bounds && !bounds->areIntervals()));
  causal = bounds && boundsKeys(bounds->getRoot(), op, -1);
  window = bounds && isBand(*bounds, op);
  hasLongRows = bounds && hasGlobalQueries(bounds->getRoot(), op);
  auto [rows, columns] = getMaskBlocks(op);
  smallBlocks = rows % kBlock != 0 || columns % kBlock != 0;
  largeBlocks = rows != 0 && !smallBlocks;
  blockQueries = std::gcd(rows, 2 * kBlock);
  blockKeys = std::gcd(columns, kBlock);
  Divisions divisions = getDivisions(mask);
  divides = divisions.any;
  periodic = divisions.remainders;
  // Of a block there is one read.
  maskReadsKeys = rows == 0 && readsPerKey(mask, kNumMaskArgs - 1, diagonals);

  if (std::optional<KeyBias> found = getKeyBias(op);
      found && numDiagonals == 0) {
    bias = found->isAffine;
    keyBias = !found->keys.empty();
  }
  scoreReadsKeys = !keyBias && readsPerKey(score, kNumScoreArgs - 1, diagonals);
  scoreFunctions = hasFunctions(score, diagonals);
  scoreArithmetic = !score.empty() && !bias && !keyBias && !scoreReadsKeys;
  packable = getPackingObstacle(op).empty();
  fewTiles = maySplitKV(op, classes && !window, packable && !bias);
}
