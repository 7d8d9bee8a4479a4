//===- HopperOutlineProducts.cpp - Products of a program of tiles ---------===//
//
// A vector has the rows m of the work tile, or what a replica has 64 of, as its
// last dimension. Of products there are two kinds:
//
//   result[n, m] = sum_k tile[n, k] vector[k, m]
//   result[n, m] = sum_k across[n, k] own[m, k]
//
// k is of a block or a head in the first kind. In the second, k are the rows of
// the work tile, those of all replicas.
//
// The operands of the second kind are tiles: what a replica has computed of its
// rows goes to all of them. Each then computes 64 of the m; or where there are
// but 64, a part of the n.
//
//===----------------------------------------------------------------------===//

#include "HopperOutliner.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// What rounded numbers are extended from, if a step gives them, or the value.
static Value skipExtension(Value value) {
  auto extend = value.getDefiningOp<arith::ExtFOp>();
  return extend && extend.getIn().getDefiningOp<StepOp>() ? extend.getIn()
                                                          : value;
}

AllRowsProduct mlir::attn::matchAllRowsProduct(vector::ContractionOp product) {
  AffineExpr m, n, k;
  bindDims(product.getContext(), n, m, k);
  SmallVector<AffineMap> maps = product.getIndexingMapsArray();
  auto is = [&](unsigned number, AffineExpr a, AffineExpr b) {
    return maps[number] == AffineMap::get(3, 0, {a, b}, product.getContext());
  };
  if (!is(2, n, m))
    return {};
  if (is(0, n, k) && is(1, m, k))
    return {&product.getRhsMutable(), &product.getLhsMutable()};
  if (is(0, m, k) && is(1, n, k))
    return {&product.getLhsMutable(), &product.getRhsMutable()};
  return {};
}

OperandUses mlir::attn::getOperandUses(Value value) {
  OperandUses uses;
  for (OpOperand &use : value.getUses()) {
    auto extend = dyn_cast<arith::ExtFOp>(use.getOwner());
    if (extend && value.getDefiningOp<StepOp>()) {
      OperandUses extended = getOperandUses(extend.getResult());
      uses.isValue |= extended.isValue;
      llvm::append_range(uses.products, extended.products);
      uses.isOwn |= extended.isOwn;
      uses.across = extended.across ? extended.across : uses.across;
      continue;
    }
    auto product = dyn_cast<vector::ContractionOp>(use.getOwner());
    if (!product || &use == &product.getAccMutable()) {
      uses.isValue = true;
      continue;
    }
    AllRowsProduct all = matchAllRowsProduct(product);
    uses.isOwn |= all.own == &use;
    if (all.across == &use)
      uses.across = product;
    if (!all.own && &use == &product.getRhsMutable())
      uses.products.push_back(product);
    else if (!all.own)
      uses.isValue = true;
  }
  return uses;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// How many columns of a product over the rows of the work tile each replica
/// computes; 0 where it computes all, of its own rows.
int64_t Outliner::getSharedOutColumns(VectorType result) {
  return schedule.getSharedOutColumns(result.getDimSize(1),
                                      result.getDimSize(0));
}

/// The product of two tiles over the rows of the work tile.
FailureOr<Value> Outliner::emitAllRowsProduct(vector::ContractionOp product,
                                              AllRowsProduct operandsOf) {
  Value ownSource = skipExtension(operandsOf.own->get()),
        acrossSource = skipExtension(operandsOf.across->get());
  Value own = tiles.lookup(ownSource),
        across = acrossTiles.lookup(acrossSource);
  // A tile of the work tile has its rows as rows.
  bool isTransposed = !across;
  if (!across)
    across = tiles.lookup(acrossSource);
  auto type = cast<VectorType>(product.getResultType());
  if (!own || !across || !matchPattern(product.getAcc(), m_AnyZeroFloat()))
    return product.emitError("expects the product over rows of the work tile "
                             "to be one of tiles, from zero, on a GPU");
  auto getOwnColumns = [&](Value tile, int64_t columns) {
    auto type = cast<hopper::TileType>(tile.getType());
    auto own = hopper::TileType::get(
        builder.getContext(), type.getRows(), columns, type.getElementType(),
        type.getParentRows(), type.getChunkColumns());
    return hopper::OwnColumnsOp::create(builder, loc, own, tile);
  };
  // Columns of a tile that is loaded are columns of the result.
  if (int64_t columns = isTransposed ? getSharedOutColumns(type) : 0)
    return hopper::DotOp::create(builder, loc, getVectorType(columns), own,
                                 getOwnColumns(across, columns),
                                 /*acc=*/Value(), /*rhs_transposed=*/true,
                                 /*lhs_transposed=*/true)
        .getResult();
  // The last warpgroup may have fewer, and zeros behind them.
  if (llvm::alignTo(type.getDimSize(1), hopper::kWarpgroupRows) !=
      static_cast<uint64_t>(schedule.getTileM()))
    return product.emitError("expects ")
           << schedule.getTileM() << " columns of the product over rows of the "
           << "work tile, 64 for each warpgroup, but got "
           << type.getDimSize(1);
  return hopper::DotOp::create(builder, loc, getVectorType(type.getDimSize(0)),
                               getOwnColumns(own, hopper::kWarpgroupRows),
                               across, /*acc=*/Value(), isTransposed,
                               /*lhs_transposed=*/true)
      .getResult();
}

/// The product of a tile and either rows of the work tile or a vector that was
/// computed.
FailureOr<Value> Outliner::emitProduct(vector::ContractionOp product) {
  if (AllRowsProduct all = matchAllRowsProduct(product); all.own)
    return emitAllRowsProduct(product, all);
  AffineExpr m, n, k;
  bindDims(builder.getContext(), n, m, k);
  SmallVector<AffineMap> maps = product.getIndexingMapsArray();
  auto map = [&](AffineExpr a, AffineExpr b) {
    return AffineMap::get(3, 0, {a, b}, builder.getContext());
  };
  bool isTransposed = maps[0] == map(k, n);
  Value tile = tiles.lookup(skipExtension(product.getLhs()));
  if (!tile || maps[1] != map(k, m) || maps[2] != map(n, m) ||
      (!isTransposed && maps[0] != map(n, k)))
    return product.emitError("expects the product of a loaded tile and rows of "
                             "the work tile on a GPU");
  Value source = skipExtension(product.getRhs());
  Value lhs = operands.lookup(source);
  if (Value rows = tiles.lookup(source); rows && !isInReach(lhs))
    lhs = emitOwnRows(rows);
  Value acc;
  if (!matchPattern(product.getAcc(), m_AnyZeroFloat())) {
    FailureOr<Value> value =
        values->getVector(product.getAcc(), VectorKind::Both);
    if (failed(value))
      return failure();
    acc = *value;
  }
  if (!lhs)
    return product.emitError("expects an operand that a step gives");
  auto type = cast<VectorType>(product.getResultType());
  return hopper::DotOp::create(builder, loc, getVectorType(type.getDimSize(0)),
                               lhs, tile, acc, isTransposed)
      .getResult();
}
