//===- Sizes.cpp - Sizes that types leave open ----------------------------===//

#include "Sizes.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Runtime/KernelPackage.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace attn;
using namespace attn::cli;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Value;
using mlir::attn::AttentionLikeOpInterface;
using mlir::attn::Layout;

Sizes::Sizes(mlir::func::FuncOp function) : function(function) {
  auto add = [&](Value value) {
    auto type = mlir::dyn_cast<RankedTensorType>(value.getType());
    if (!type || !firstIds.try_emplace(value, dimensions.size()).second)
      return;
    for (int64_t size : type.getShape())
      dimensions.push_back(
          {unsigned(dimensions.size()),
           mlir::ShapedType::isDynamic(size) ? kDynamicExtent : size});
  };
  llvm::for_each(function.getArguments(), add);
  for (Dimension &dimension : dimensions)
    dimension.isOfArgument = true;
  function->walk([&](mlir::Block *block) {
    llvm::for_each(block->getArguments(), add);
    for (Operation &op : *block)
      llvm::for_each(op.getResults(), add);
  });
  function->walk([&](Operation *op) { collect(op); });
}

//===----------------------------------------------------------------------===//
// Classes of equal sizes
//===----------------------------------------------------------------------===//

unsigned Sizes::find(unsigned id) const {
  while (dimensions[id].parent != id)
    id = dimensions[id].parent;
  return id;
}

/// Where two known sizes disagree the first is kept: the compiled program tells
/// the error, and where.
void Sizes::unite(unsigned a, unsigned b) {
  a = find(a);
  b = find(b);
  if (a == b)
    return;
  // The older one stays, so paths stay short.
  if (a > b)
    std::swap(a, b);
  if (dimensions[a].size < 0)
    dimensions[a].size = dimensions[b].size;
  if (dimensions[a].role == Role::Other)
    dimensions[a].role = dimensions[b].role;
  dimensions[a].isOfArgument |= dimensions[b].isOfArgument;
  dimensions[b].parent = a;
}

void Sizes::setShape(unsigned argument, llvm::ArrayRef<int64_t> shape) {
  Value value = function.getArgument(argument);
  if (!firstIds.contains(value))
    return;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    Dimension &dimension = dimensions[find(getId(value, dim))];
    if (dimension.size < 0)
      dimension.size = size;
  }
}

/// Takes sizes that are known over to where they are likely to be the same.
void Sizes::propagate() {
  auto copy = [](const Dimension &from, Dimension &to) {
    if (from.size < 0 || to.size >= 0 || !to.isOfArgument)
      return false;
    to.size = from.size;
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [a, b] : guesses) {
      Dimension &first = dimensions[find(a)];
      Dimension &second = dimensions[find(b)];
      changed |= copy(first, second) || copy(second, first);
    }
  }
}

/// Blocks tell lengths, a multiple of them, and the other way round.
void Sizes::propagateBlocks() {
  for (const BlockCount &count : blockCounts) {
    Dimension &blocks = dimensions[find(count.blocks)];
    Dimension &length = dimensions[find(count.length)];
    if (length.size >= 0 && blocks.size < 0)
      blocks.size = llvm::divideCeil(length.size, count.block) + count.extra;
    else if (length.size < 0 && blocks.size >= count.extra)
      length.size = (blocks.size - count.extra) * count.block;
  }
}

void Sizes::complete() {
  // Blocks that are told say more than what is only usual.
  propagateBlocks();
  propagate();
  auto isBlockCount = [&](unsigned id) {
    return llvm::any_of(blockCounts, [&](const BlockCount &count) {
      return find(count.blocks) == id;
    });
  };
  for (unsigned id = 0; id < dimensions.size(); ++id) {
    Dimension &dimension = dimensions[id];
    if (dimension.parent != id || dimension.size >= 0 ||
        !dimension.isOfArgument || isBlockCount(id))
      continue;
    dimension.size = dimension.role == Role::Batch   ? kDefaultBatch
                     : dimension.role == Role::Heads ? kDefaultHeads
                                                     : kDefaultLength;
    propagate();
  }
  propagateBlocks();
}

Shape Sizes::getShape(Value value) const {
  Shape shape;
  if (auto type = mlir::dyn_cast<RankedTensorType>(value.getType()))
    for (unsigned dim = 0; dim < type.getRank(); ++dim)
      shape.push_back(dimensions[find(getId(value, dim))].size);
  return shape;
}

//===----------------------------------------------------------------------===//
// What operations tell
//===----------------------------------------------------------------------===//

void Sizes::uniteShapes(Value a, Value b) {
  auto typeA = mlir::dyn_cast<RankedTensorType>(a.getType());
  auto typeB = mlir::dyn_cast<RankedTensorType>(b.getType());
  if (typeA && typeB && typeA.getRank() == typeB.getRank())
    for (unsigned dim = 0; dim < typeA.getRank(); ++dim)
      unite(getId(a, dim), getId(b, dim));
}

/// Unites a dimension with the one that `size` was asked from, if that is so.
void Sizes::uniteWithSource(unsigned id, Value size) {
  auto source = size.getDefiningOp<mlir::tensor::DimOp>();
  if (!source || !firstIds.contains(source.getSource()))
    return;
  if (std::optional<int64_t> dim = source.getConstantIndex())
    if (*dim >= 0 && *dim < source.getSource().getType().getRank())
      unite(id, getId(source.getSource(), *dim));
}

void Sizes::collect(Operation *op) {
  if (auto attention = mlir::dyn_cast<AttentionLikeOpInterface>(op)) {
    collectAttention(attention);
    collectCaptures(attention);
    collectSparsity(attention);
  } else if (mlir::isa<mlir::linalg::LinalgOp>(op)) {
    collectLinalg(op);
  } else if (auto empty = mlir::dyn_cast<mlir::tensor::EmptyOp>(op)) {
    for (auto [dim, size] : llvm::enumerate(empty.getMixedSizes()))
      if (auto value = mlir::dyn_cast<Value>(size))
        uniteWithSource(getId(empty, dim), value);
  } else if (auto slice = mlir::dyn_cast<mlir::tensor::ExtractSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    unsigned resultDim = 0;
    for (auto [dim, size] : llvm::enumerate(slice.getMixedSizes())) {
      if (dropped[dim])
        continue;
      if (auto value = mlir::dyn_cast<Value>(size))
        uniteWithSource(getId(slice, resultDim), value);
      ++resultDim;
    }
  } else if (auto cast = mlir::dyn_cast<mlir::tensor::CastOp>(op)) {
    uniteShapes(cast.getSource(), cast);
  } else if (mlir::OpTrait::hasElementwiseMappableTraits(op)) {
    for (Value operand : op->getOperands())
      uniteShapes(op->getResult(0), operand);
  }
  if (auto dps = mlir::dyn_cast<mlir::DestinationStyleOpInterface>(op))
    for (mlir::OpOperand &init : dps.getDpsInitsMutable())
      if (mlir::OpResult result = dps.getTiedOpResult(&init))
        uniteShapes(init.get(), result);
}

void Sizes::collectAttention(AttentionLikeOpInterface op) {
  auto dps = mlir::cast<mlir::DestinationStyleOpInterface>(op.getOperation());
  Layout q = op.getLayout(0), k = op.getLayout(1), v = op.getLayout(2),
         o = op.getLayout(3);
  auto query = [&](unsigned dim) { return getId(op.getQuery(), dim); };
  auto key = [&](unsigned dim) { return getId(op.getKey(), dim); };
  auto value = [&](unsigned dim) { return getId(op.getValue(), dim); };

  unite(key(k.b), value(v.b));
  unite(key(k.h), value(v.h));
  unite(key(k.s), value(v.s));
  llvm::SmallVector<Value> rows(dps.getDpsInits());
  auto gradient =
      mlir::dyn_cast<mlir::attn::AttentionGradOp>(op.getOperation());
  if (gradient) {
    rows = {gradient.getOutput(), gradient.getLse(), gradient.getOutputGrad()};
    if (gradient.getLseGrad())
      rows.push_back(gradient.getLseGrad());
    for (auto [out, input] :
         llvm::zip_equal(gradient.getOuts(), gradient.getWrt()))
      if (mlir::isa<RankedTensorType>(gradient.getInput(input).getType()))
        uniteShapes(out, gradient.getInput(input));
  }
  for (Value init : rows) {
    bool hasHeadDim =
        mlir::cast<RankedTensorType>(init.getType()).getRank() == 4;
    auto dim = [&](unsigned dim) {
      return getId(init, hasHeadDim ? dim : o.rowDim(dim));
    };
    unite(query(q.b), dim(o.b));
    unite(query(q.h), dim(o.h));
    unite(query(q.s), dim(o.s));
  }
  dimensions[find(query(q.b))].role = Role::Batch;
  dimensions[find(key(k.b))].role = Role::Batch;
  dimensions[find(query(q.h))].role = Role::Heads;
  dimensions[find(key(k.h))].role = Role::Heads;

  // Keys and values may also be shared by the batch or by heads, and be as many
  // as they like.
  guesses.emplace_back(query(q.b), key(k.b));
  guesses.emplace_back(query(q.h), key(k.h));
  guesses.emplace_back(query(q.s), key(k.s));
}

/// A capture that is read at [b], [h], [i] or [j] must be at least as large.
void Sizes::collectCaptures(AttentionLikeOpInterface op) {
  Layout q = op.getLayout(0), k = op.getLayout(1);
  const unsigned positions[] = {
      getId(op.getQuery(), q.b), getId(op.getQuery(), q.h),
      getId(op.getQuery(), q.s), getId(op.getKey(), k.s)};
  auto collectRegion = [&](mlir::Region &region, unsigned numLeading,
                           unsigned firstIndex) {
    region.walk([&](mlir::tensor::ExtractOp extract) {
      auto source = mlir::dyn_cast<mlir::BlockArgument>(extract.getTensor());
      if (!source || source.getOwner()->getParent() != &region ||
          source.getArgNumber() < numLeading)
        return;
      Value capture = op.getCaptures()[source.getArgNumber() - numLeading];
      for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
        Value origin = index;
        while (auto cast = origin.getDefiningOp<mlir::arith::IndexCastOp>())
          origin = cast.getIn();
        auto argument = mlir::dyn_cast<mlir::BlockArgument>(origin);
        if (argument && argument.getOwner()->getParent() == &region &&
            argument.getArgNumber() >= firstIndex &&
            argument.getArgNumber() < numLeading)
          guesses.emplace_back(getId(capture, dim),
                               positions[argument.getArgNumber() - firstIndex]);
      }
    });
  };
  collectRegion(op.getScore(), mlir::attn::kNumScoreArgs, 1);
  collectRegion(op.getMask(), mlir::attn::kNumMaskArgs, 0);
}

void Sizes::collectSparsity(AttentionLikeOpInterface op) {
  mlir::attn::SparsityAttr sparsity = op.getSparsityAttr();
  if (!sparsity)
    return;
  Layout q = op.getLayout(0), k = op.getLayout(1);
  Value operand = op.getSparsityOperands()[0];
  unsigned rank = mlir::cast<RankedTensorType>(operand.getType()).getRank();
  unsigned numLeading = rank - (sparsity.isBits() ? 2 : 1);
  // One batch or head may serve all, but a type that says so is static.
  const unsigned leading[] = {getId(op.getQuery(), q.b),
                              getId(op.getQuery(), q.h)};
  for (unsigned dim = 0; dim < numLeading; ++dim)
    guesses.emplace_back(leading[2 - numLeading + dim], getId(operand, dim));
  blockCounts.push_back({getId(operand, numLeading), getId(op.getQuery(), q.s),
                         sparsity.getBlockRows(), sparsity.isLists() ? 1 : 0});
  if (sparsity.isBits())
    blockCounts.push_back({getId(operand, numLeading + 1),
                           getId(op.getKey(), k.s), sparsity.getBlockColumns(),
                           0});
}

/// Operands that are indexed by the same loop have the same size there.
void Sizes::collectLinalg(Operation *op) {
  auto linalg = mlir::cast<mlir::linalg::LinalgOp>(op);
  llvm::SmallVector<std::optional<unsigned>> loops(linalg.getNumLoops());
  for (mlir::OpOperand &operand : op->getOpOperands()) {
    if (!mlir::isa<RankedTensorType>(operand.get().getType()))
      continue;
    mlir::AffineMap map = linalg.getMatchingIndexingMap(&operand);
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      auto loop = mlir::dyn_cast<mlir::AffineDimExpr>(expr);
      if (!loop)
        continue;
      unsigned id = getId(operand.get(), dim);
      std::optional<unsigned> &first = loops[loop.getPosition()];
      if (first)
        unite(*first, id);
      else
        first = id;
    }
  }
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

std::optional<Work> cli::countWork(mlir::func::FuncOp function,
                                   const Sizes &sizes) {
  Work work;
  mlir::WalkResult result = function->walk([&](Operation *op) {
    if (mlir::isa<mlir::CallOpInterface>(op))
      return mlir::WalkResult::interrupt();
    auto attention = mlir::dyn_cast<AttentionLikeOpInterface>(op);
    if (!attention)
      return mlir::WalkResult::advance();
    Shape query = sizes.getShape(attention.getQuery());
    Shape key = sizes.getShape(attention.getKey());
    Layout q = attention.getLayout(0), k = attention.getLayout(1);
    const int64_t factors[] = {query[q.b], query[q.h], query[q.s], key[k.s]};
    if (op->getParentOp() != function ||
        llvm::any_of(factors, [](int64_t size) { return size < 0; }))
      return mlir::WalkResult::interrupt();
    double product = 2;
    for (int64_t factor : factors)
      product *= double(factor);
    work.operations +=
        product * double(attention.getQueryKeyDim() + attention.getValueDim());
    ++work.numAttentions;
    work.maxQueries = std::max(work.maxQueries, query[q.s]);
    return mlir::WalkResult::advance();
  });
  if (result.wasInterrupted())
    return std::nullopt;
  return work;
}
