//===- CaptureSums.cpp - Gradients of captures that workers share ---------===//

#include "CaptureSums.h"
#include "Adjoints.h"
#include "Diagonals.h"
#include "Tiles/TileOps.h"
#include "WorkerLoop.h"
#include "attn/Dialect/Attn/Transforms/GradientSteps.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace mlir::attn;

SmallVector<ContributeOp> mlir::attn::getContributions(AttentionGradOp op,
                                                       int64_t capture) {
  SmallVector<ContributeOp> contributions;
  op.getAdjoint().walk([&](ContributeOp contribution) {
    if (contribution.getCaptureNumber() == capture)
      contributions.push_back(contribution);
  });
  return contributions;
}

/// Whether no two pairs add to one element: all contributions have the same
/// indices, and among them are all of b, h, i and j of which there are several.
static bool areDisjoint(AttentionGradOp op,
                        ArrayRef<ContributeOp> contributions) {
  if (contributions.empty())
    return false;
  AttentionLikeOpInterface attention = op;
  Layout query = attention.getLayout(0);
  RankedTensorType type = attention.getQueryType();
  auto isThere = [&](AdjointArg position) {
    return llvm::is_contained(ContributeOp(contributions.front()).getIndices(),
                              op.getAdjoint().getArgument(position));
  };
  bool areSame = llvm::all_of(contributions, [&](ContributeOp contribution) {
    return llvm::equal(contribution.getIndices(),
                       ContributeOp(contributions.front()).getIndices());
  });
  return areSame && (isThere(kAdjointBatch) || type.getDimSize(query.b) == 1) &&
         (isThere(kAdjointHead) || type.getDimSize(query.h) == 1) &&
         isThere(kAdjointQuery) && isThere(kAdjointKey);
}

SmallVector<CaptureSum> mlir::attn::emitCaptureSums(OpBuilder &builder,
                                                    AttentionGradOp op) {
  Location loc = op.getLoc();
  SmallVector<CaptureSum> sums;
  for (int64_t input : op.getWrt()) {
    if (input < kGradCapture)
      continue;
    int64_t capture = input - kGradCapture;
    bool isDisjoint = areDisjoint(op, getContributions(op, capture));
    Type element =
        isDisjoint ? Type(builder.getF32Type()) : Type(builder.getI64Type());
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(builder, loc, op.getOutOf(input));
    if (!isDisjoint)
      sizes.insert(sizes.begin(), builder.getIndexAttr(kExactSumWords));
    auto [shape, dynamic] = decomposeMixedValues(sizes);
    Value buffer = memref::AllocOp::create(
        builder, loc, MemRefType::get(shape, element), dynamic);
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
    linalg::FillOp::create(builder, loc, zero, buffer);
    sums.push_back({capture,
                    isDisjoint ? ScatterMode::Disjoint : ScatterMode::Exact,
                    buffer});
  }
  return sums;
}

void mlir::attn::remarkCaptureGradient(ContributeOp op, int64_t capture,
                                       StringRef form) {
  remark::passed(op.getLoc(), remark::RemarkOpts::name("capture-gradient")
                                  .category(kRemarkCategory)
                                  .function(getFunctionName(
                                      op->getParentOfType<AttentionGradOp>())))
      << remark::add("gradient of capture {0}: {1}", capture, form.str());
}

/// Indices in their vectorised form: along what they do not depend on, there is
/// one.
static SmallVector<Value> getIndices(OpBuilder &builder, ContributeOp op,
                                     RegionVectorizer &vectorizer) {
  SmallVector<Value> indices;
  for (Value operand : op.getIndices()) {
    TileValue index = vectorizer.get(operand);
    Value value = index.value;
    if (index.kind == TileKind::Query || index.kind == TileKind::Key) {
      int64_t count = cast<VectorType>(value.getType()).getDimSize(0);
      bool isOfRows = index.kind == TileKind::Key;
      auto type = VectorType::get({isOfRows ? count : 1, isOfRows ? 1 : count},
                                  builder.getIndexType());
      value = vector::ShapeCastOp::create(builder, op.getLoc(), type, value);
    }
    indices.push_back(value);
  }
  return indices;
}

//===----------------------------------------------------------------------===//
// Sums of the work tile
//===----------------------------------------------------------------------===//

bool mlir::attn::isOfWorkTile(ContributeOp op, bool hasManyBatches,
                              bool hasManyHeads) {
  Region &adjoint = op->getParentOfType<AttentionGradOp>().getAdjoint();
  // A loop may add to one element many times, or to many.
  auto loop = op->getParentOfType<scf::ForOp>();
  if (loop && adjoint.isAncestor(loop->getParentRegion()))
    return false;
  SetVector<Operation *> ops = getIndexOps(op);
  auto isKnown = [&](Value value) {
    if (!adjoint.isAncestor(value.getParentRegion()))
      return true;
    if (Operation *defining = value.getDefiningOp())
      return ops.contains(defining);
    auto argument = cast<BlockArgument>(value);
    unsigned number = argument.getArgNumber();
    return argument.getOwner() == &adjoint.front() &&
           (number >= kNumAdjointArgs || number == kAdjointKey ||
            (number == kAdjointBatch && !hasManyBatches) ||
            (number == kAdjointHead && !hasManyHeads));
  };
  DenseSet<Value> ofKey = {adjoint.getArgument(kAdjointKey)};
  for (Operation *computing : ops) {
    if (!llvm::all_of(computing->getOperands(), isKnown))
      return false;
    if (llvm::none_of(computing->getOperands(),
                      [&](Value operand) { return ofKey.contains(operand); }))
      continue;
    // Behind the last key there is nothing to read.
    if (isa<tensor::ExtractOp>(computing))
      return false;
    ofKey.insert_range(computing->getResults());
  }
  return llvm::all_of(op.getIndices(), isKnown);
}

Value mlir::attn::emitCarriedSums(OpBuilder &builder, ContributeOp op,
                                  Value parts, TileValue active,
                                  RegionVectorizer &vectorizer) {
  Value values =
      vectorizer.broadcast(vectorizer.get(op.getValue()), TileKind::Tile);
  return AddRowsOp::create(builder, op.getLoc(), values, parts,
                           vectorizer.broadcast(active, TileKind::Tile));
}

LogicalResult mlir::attn::emitScatterOfSums(OpBuilder &builder,
                                            const CaptureSum &sum,
                                            ContributeOp op, Value parts,
                                            ArrayRef<TileValue> arguments) {
  Location loc = op.getLoc();
  auto type = cast<VectorType>(parts.getType());
  RegionVectorizer vectorizer(builder, loc, type.getDimSize(0),
                              type.getDimSize(1), /*sites=*/nullptr);
  if (failed(emitIndices(op, arguments, vectorizer)))
    return failure();
  bool isOfKeys = llvm::any_of(op.getIndices(), [&](Value index) {
    return vectorizer.get(index).kind != TileKind::Uniform;
  });
  remarkCaptureGradient(
      op, sum.capture,
      isOfKeys ? "an exact sum of one number for each work tile and key"
               : "an exact sum of one number for each work tile and "
                 "warp");
  auto all =
      DenseElementsAttr::get(type.clone(builder.getI1Type()), /*value=*/true);
  ScatterOp::create(builder, loc, Type(), sum.mode, parts, sum.buffer,
                    getIndices(builder, op, vectorizer),
                    arith::ConstantOp::create(builder, loc, all));
  return success();
}

//===----------------------------------------------------------------------===//
// Sums of a tile
//===----------------------------------------------------------------------===//

/// What is left to add of a tile, for the mode and the dimensions along which
/// indices vary.
static StringRef describeForm(ScatterMode mode, TileKind kind,
                              bool isOfDiagonals) {
  if (mode == ScatterMode::Disjoint)
    return "one addition for each pair, to an element of its own";
  if (isOfDiagonals)
    return "an exact sum of one number for each tile and diagonal";
  switch (kind) {
  case TileKind::Uniform:
    return "an exact sum of one number for each tile and warp";
  case TileKind::Query:
    return "an exact sum of one number for each tile and key";
  case TileKind::Key:
    return "an exact sum of one number for each tile, query and warp";
  case TileKind::Tile:
    return "an exact sum of all pairs";
  }
  llvm_unreachable("all kinds are handled");
}

/// The sums of diagonals.
static LogicalResult emitScatterOfDiagonals(
    OpBuilder &builder, const CaptureSum &sum, ContributeOp op, Value values,
    Value active, RegionVectorizer &vectorizer, const ContributingTile &tile) {
  Location loc = op.getLoc();
  int64_t count = tile.numRows + tile.numColumns;
  FailureOr<SmallVector<Value>> indices =
      emitDiagonalIndices(builder, op, count, tile.getDiagonals(), vectorizer);
  if (failed(indices))
    return failure();
  Value counted =
      arith::SelectOp::create(builder, loc, active, values,
                              createFloat(builder, loc, values.getType(), 0));
  Value sums = SumDiagonalsOp::create(
      builder, loc, VectorType::get({count}, builder.getF32Type()), counted);
  auto all = DenseElementsAttr::get(
      VectorType::get({count}, builder.getI1Type()), /*value=*/true);
  ScatterOp::create(builder, loc, Type(), sum.mode, sums, sum.buffer, *indices,
                    arith::ConstantOp::create(builder, loc, all));
  return success();
}

LogicalResult mlir::attn::emitScatter(OpBuilder &builder, const CaptureSum &sum,
                                      ContributeOp op, TileValue active,
                                      RegionVectorizer &vectorizer,
                                      const ContributingTile &tile) {
  Location loc = op.getLoc();
  TileKind all = TileKind::Uniform;
  for (Value operand : op.getIndices())
    all = join(all, vectorizer.get(operand).kind);
  bool isOfDiagonals = sum.mode == ScatterMode::Exact &&
                       tile.numRows == kDiagonalRows && isByDiagonal(op);
  remarkCaptureGradient(op, sum.capture,
                        describeForm(sum.mode, all, isOfDiagonals));
  Value values =
            vectorizer.broadcast(vectorizer.get(op.getValue()), TileKind::Tile),
        mask = vectorizer.broadcast(active, TileKind::Tile);
  if (isOfDiagonals)
    return emitScatterOfDiagonals(builder, sum, op, values, mask, vectorizer,
                                  tile);
  ScatterOp::create(builder, loc, Type(), sum.mode, values, sum.buffer,
                    getIndices(builder, op, vectorizer), mask);
  return success();
}

Value mlir::attn::emitCaptureGradient(OpBuilder &builder, AttentionGradOp op,
                                      const CaptureSum &sum) {
  Location loc = op.getLoc();
  Value out = op.getOutOf(kGradCapture + sum.capture);
  auto type = cast<RankedTensorType>(out.getType());
  OpFoldResult one = builder.getIndexAttr(1);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, out);
  // Of a scalar, too, there is one.
  SmallVector<OpFoldResult> bounds = sizes;
  if (bounds.empty())
    bounds.push_back(one);
  // Workers share it, so that it stays a loop whatever its extents.
  scf::ForallOp loop =
      createWorkerLoop(builder, loc, bounds, out, /*schedule=*/{});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getTerminator());
  SmallVector<Value> place(loop.getInductionVars());
  place.resize(type.getRank());
  Value value =
      sum.mode == ScatterMode::Exact
          ? ExactSumOp::create(builder, loc, builder.getF32Type(), sum.buffer,
                               place)
                .getResult()
          : memref::LoadOp::create(builder, loc, sum.buffer, place).getResult();
  value = convertFloats(builder, loc, value, type.getElementType());
  writeElements(builder, loop, place, value);
  return loop.getResult(0);
}
