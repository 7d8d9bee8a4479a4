//===- SharedKeys.cpp - Keys that batches and heads share -----------------===//

#include "SharedKeys.h"
#include "Gradients/Adjoints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

/// Whether there are as many of a dimension of q and of k.
static bool areEqual(AttentionLikeOpInterface op, unsigned query,
                     unsigned key) {
  int64_t extent = op.getQueryType().getDimSize(query);
  return ShapedType::isStatic(extent) &&
         extent == op.getKeyType().getDimSize(key);
}

SharedKeys::SharedKeys(OpBuilder &builder, AttentionLikeOpInterface op,
                       bool ofBatches, bool ofHeads)
    : builder(builder), op(op), loc(op.getLoc()),
      spreadsBatches(ofBatches &&
                     !areEqual(op, op.getLayout(0).b, op.getLayout(1).b)),
      spreadsHeads(ofHeads &&
                   !areEqual(op, op.getLayout(0).h, op.getLayout(1).h)) {}

SmallVector<OpFoldResult> SharedKeys::getSizes(Value tensor, unsigned which) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, tensor);
  if (which == 0)
    return sizes;
  Layout own = op.getLayout(which), ofQuery = op.getLayout(0);
  SmallVector<OpFoldResult> all =
      tensor::getMixedSizes(builder, loc, op.getQuery());
  if (spreadsBatches)
    sizes[own.b] = all[ofQuery.b];
  if (spreadsHeads)
    sizes[own.h] = all[ofQuery.h];
  return sizes;
}

/// How many batches, or heads, of the queries share one of k or v.
Value SharedKeys::emitNumCopies(OpBuilder &inner, bool ofHeads,
                                unsigned which) {
  Layout own = op.getLayout(which), ofQuery = op.getLayout(0);
  Value all = inner.createOrFold<tensor::DimOp>(
      loc, op.getQuery(), ofHeads ? ofQuery.h : ofQuery.b);
  Value shared = inner.createOrFold<tensor::DimOp>(loc, getTensor(which),
                                                   ofHeads ? own.h : own.b);
  // No division by the extent of an empty tensor.
  Value one = arith::ConstantIndexOp::create(inner, loc, 1);
  return arith::DivUIOp::create(
      inner, loc, all, arith::MaxUIOp::create(inner, loc, shared, one));
}

/// The place of an element in the loops of an operation of linalg.
static SmallVector<Value> getPlace(OpBuilder &inner, Location loc) {
  SmallVector<Value> place;
  for (unsigned dim = 0; dim < 4; ++dim)
    place.push_back(linalg::IndexOp::create(inner, loc, dim));
  return place;
}

Value SharedKeys::spread(Value tensor, unsigned which) {
  if (!areSpread())
    return tensor;
  Layout layout = op.getLayout(which);
  Value empty = tensor::EmptyOp::create(builder, loc, getSizes(tensor, which),
                                        getElementTypeOrSelf(tensor.getType()));
  SmallVector<utils::IteratorType> loops(4, utils::IteratorType::parallel);
  auto copies = linalg::GenericOp::create(
      builder, loc, empty.getType(), ValueRange(), empty,
      builder.getMultiDimIdentityMap(4), loops,
      [&](OpBuilder &inner, Location, ValueRange) {
        SmallVector<Value> place = getPlace(inner, loc);
        for (bool ofHeads : {false, true}) {
          if (!(ofHeads ? spreadsHeads : spreadsBatches))
            continue;
          Value &own = place[ofHeads ? layout.h : layout.b];
          own = arith::DivUIOp::create(inner, loc, own,
                                       emitNumCopies(inner, ofHeads, which));
        }
        linalg::YieldOp::create(
            inner, loc,
            tensor::ExtractOp::create(inner, loc, tensor, place).getResult());
      });
  return copies.getResult(0);
}

Value SharedKeys::sum(Value copies, unsigned which, FloatType type) {
  return sum(which, type, [&](OpBuilder &inner, ValueRange place) -> Value {
    return tensor::ExtractOp::create(inner, loc, copies, place);
  });
}

Value SharedKeys::sum(unsigned which, FloatType type, Part emitPart) {
  Layout layout = op.getLayout(which);
  FloatType accType = op.getAccumulatorType();
  Value empty = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, getTensor(which)),
      type);
  SmallVector<utils::IteratorType> loops(4, utils::IteratorType::parallel);
  auto emit = [&](OpBuilder &inner, Location, ValueRange) {
    SmallVector<Value> start = getPlace(inner, loc);
    if (!areSpread()) {
      Value only = convertFloats(inner, loc, emitPart(inner, start), accType);
      linalg::YieldOp::create(inner, loc,
                              convertFloats(inner, loc, only, type));
      return;
    }
    Value zero = arith::ConstantIndexOp::create(inner, loc, 0);
    Value one = arith::ConstantIndexOp::create(inner, loc, 1);
    Value copies[2];
    for (bool ofHeads : {false, true}) {
      copies[ofHeads] = (ofHeads ? spreadsHeads : spreadsBatches)
                            ? emitNumCopies(inner, ofHeads, which)
                            : one;
      Value &own = start[ofHeads ? layout.h : layout.b];
      own = arith::MulIOp::create(inner, loc, own, copies[ofHeads]);
    }
    // Most often there is one, of which a GPU makes no sum.
    Value isOne = arith::CmpIOp::create(
        inner, loc, arith::CmpIPredicate::eq,
        arith::MulIOp::create(inner, loc, copies[0], copies[1]), one);
    auto branch = scf::IfOp::create(inner, loc, TypeRange(accType), isOne,
                                    /*withElseRegion=*/true);
    OpBuilder single = branch.getThenBodyBuilder();
    scf::YieldOp::create(
        single, loc,
        convertFloats(single, loc, emitPart(single, start), accType));

    OpBuilder several = branch.getElseBodyBuilder();
    Value none =
        arith::ConstantOp::create(several, loc, several.getZeroAttr(accType));
    auto ofBatches =
        scf::ForOp::create(several, loc, zero, copies[0], one, none);
    scf::YieldOp::create(several, loc, ofBatches.getResult(0));
    OpBuilder first = OpBuilder::atBlockBegin(ofBatches.getBody());
    auto ofHeads = scf::ForOp::create(first, loc, zero, copies[1], one,
                                      ofBatches.getRegionIterArg(0));
    scf::YieldOp::create(first, loc, ofHeads.getResult(0));
    OpBuilder second = OpBuilder::atBlockBegin(ofHeads.getBody());
    SmallVector<Value> place(start);
    place[layout.b] = arith::AddIOp::create(second, loc, place[layout.b],
                                            ofBatches.getInductionVar());
    place[layout.h] = arith::AddIOp::create(second, loc, place[layout.h],
                                            ofHeads.getInductionVar());
    Value part = convertFloats(second, loc, emitPart(second, place), accType);
    scf::YieldOp::create(
        second, loc,
        arith::AddFOp::create(second, loc, ofHeads.getRegionIterArg(0), part)
            .getResult());
    linalg::YieldOp::create(
        inner, loc, convertFloats(inner, loc, branch.getResult(0), type));
  };
  return linalg::GenericOp::create(builder, loc, empty.getType(), ValueRange(),
                                   empty, builder.getMultiDimIdentityMap(4),
                                   loops, emit)
      .getResult(0);
}
