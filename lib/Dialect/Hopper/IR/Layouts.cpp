//===- Layouts.cpp - How a warpgroup holds fragments ----------------------===//

#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

#include "attn/Dialect/Hopper/IR/HopperInterfaces.cpp.inc"

//===----------------------------------------------------------------------===//
// The attribute
//===----------------------------------------------------------------------===//

bool LayoutAttr::fits(ArrayRef<int64_t> shape) const {
  if (shape.size() != 2)
    return false;
  int64_t n = shape[0], m = shape[1];
  if (n <= 0)
    return false;
  constexpr int64_t columns = 8, parts = 4;
  switch (getValue()) {
  case FragmentLayout::Accumulator:
    return n % columns == 0 && m == kWarpgroupRows;
  case FragmentLayout::Rows:
    return n == 1 && m == kWarpgroupRows;
  case FragmentLayout::Columns:
  case FragmentLayout::Lanes:
    return n % columns == 0 && m == 1;
  case FragmentLayout::Partial:
    return n == parts && m == kWarpgroupRows;
  case FragmentLayout::Threads:
    return n == 1 && m > 0 && m % kWarpgroupThreads == 0;
  }
  llvm_unreachable("all layouts are handled");
}

LogicalResult
LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                           function_ref<InFlightDiagnostic()> emitError) const {
  if (fits(shape))
    return success();
  return emitError() << "expects a shape that layout '"
                     << stringifyFragmentLayout(getValue()) << "' has, but got "
                     << llvm::interleaved(shape, "x");
}

OpAsmAliasResult LayoutAttr::getAlias(raw_ostream &os) const {
  os << stringifyFragmentLayout(getValue());
  return OpAsmAliasResult::FinalAlias;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

LogicalResult
FragmentOrderAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                          int64_t m, int64_t n) {
  if (m >= 0 && n >= 0 && std::abs(m - n) == 1)
    return success();
  return emitError() << "expects m and n to be dimensions that follow each "
                        "other, but got "
                     << m << " and " << n;
}

AffineMap FragmentOrderAttr::getAffineMap() const {
  SmallVector<AffineExpr> results;
  for (int64_t dim = 0; dim < std::min(getM(), getN()); ++dim)
    results.push_back(getAffineDimExpr(dim, getContext()));
  AffineExpr m = getAffineDimExpr(getM(), getContext()),
             n = getAffineDimExpr(getN(), getContext());
  for (AffineExpr expr : {m.floorDiv(kWarpgroupRows), n.floorDiv(8),
                          (m % kWarpgroupRows).floorDiv(16), m % 8,
                          (n % 8).floorDiv(2), (m % 16).floorDiv(8), n % 2})
    results.push_back(expr);
  return AffineMap::get(getRank(), 0, results, getContext());
}

bool FragmentOrderAttr::isIdentity() const { return false; }

bool FragmentOrderAttr::fits(ArrayRef<int64_t> shape) const {
  constexpr int64_t columns = 8;
  return static_cast<int64_t>(shape.size()) == getRank() &&
         !ShapedType::isDynamic(shape[getM()]) &&
         !ShapedType::isDynamic(shape[getN()]) &&
         shape[getM()] % kWarpgroupRows == 0 && shape[getN()] % columns == 0;
}

LogicalResult FragmentOrderAttr::verifyLayout(
    ArrayRef<int64_t> shape,
    function_ref<InFlightDiagnostic()> emitError) const {
  if (fits(shape))
    return success();
  InFlightDiagnostic diagnostic = emitError();
  diagnostic << "expects the last dimensions, " << getM() << " and " << getN()
             << ", to be multiples of " << kWarpgroupRows << " and 8, but got ";
  llvm::interleave(
      shape,
      [&](int64_t extent) {
        if (ShapedType::isDynamic(extent))
          diagnostic << "?";
        else
          diagnostic << extent;
      },
      [&] { diagnostic << "x"; });
  return diagnostic;
}

LogicalResult FragmentOrderAttr::getStridesAndOffset(ArrayRef<int64_t>,
                                                     SmallVectorImpl<int64_t> &,
                                                     int64_t &) const {
  return failure();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

std::optional<FragmentLayout> hopper::getLayout(Type type) {
  if (auto pending = dyn_cast<PendingType>(type))
    type = pending.getFragment();
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    if (auto layout = dyn_cast_if_present<LayoutAttr>(tensor.getEncoding()))
      return layout.getValue();
  return std::nullopt;
}

bool hopper::isFragment(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return isa<PendingType>(type) || (vector && vector.getRank() == 2) ||
         getLayout(type);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult hopper::verifyLayouts(FragmentOpInterface op) {
  std::optional<bool> areAssigned;
  auto verify = [&](Value value) -> LogicalResult {
    Type type = value.getType();
    if (!isFragment(type))
      return success();
    std::optional<FragmentLayout> layout = getLayout(type);
    if (areAssigned.value_or(layout.has_value()) != layout.has_value())
      return op->emitOpError("expects all fragments to have layouts or none, "
                             "but got ")
             << type;
    areAssigned = layout.has_value();
    if (FragmentLayout expected = op.getLayout(value);
        layout && *layout != expected)
      return op->emitOpError("expects a fragment with layout '")
             << stringifyFragmentLayout(expected) << "', but got " << type;
    return success();
  };
  for (Value operand : op->getOperands())
    if (failed(verify(operand)))
      return failure();
  for (Value result : op->getResults())
    if (failed(verify(result)))
      return failure();
  return success();
}

/// Of one element for each row of a matrix instruction, or of more.
static FragmentLayout getLayoutOfRows(ShapedType type, FragmentLayout ofMore) {
  return type.getDimSize(0) == 1 ? FragmentLayout::Rows : ofMore;
}

FragmentLayout PutFragmentOp::getLayout(Value) {
  return getChannel().getType().isVector() ? FragmentLayout::Rows
                                           : FragmentLayout::Accumulator;
}

FragmentLayout PutBF16x3Op::getLayout(Value) { return FragmentLayout::Lanes; }

FragmentLayout LoadFragmentOp::getLayout(Value) {
  if (!getTile().getType().isVector())
    return FragmentLayout::Accumulator;
  return getLayoutOfRows(getResult().getType(), FragmentLayout::Columns);
}

FragmentLayout NegateRowsOp::getLayout(Value) { return FragmentLayout::Rows; }

FragmentLayout SplitBF16x3Op::getLayout(Value fragment) {
  return fragment == getSource() ? FragmentLayout::Rows
                                 : FragmentLayout::Accumulator;
}

/// Of as many elements for each thread, one for each m, or each n, or of a
/// tile.
static FragmentLayout getLayoutOfShape(ShapedType type) {
  if (type.getDimSize(0) == 1)
    return type.getDimSize(1) % kWarpgroupThreads == 0 ? FragmentLayout::Threads
                                                       : FragmentLayout::Rows;
  return type.getDimSize(1) == 1 ? FragmentLayout::Columns
                                 : FragmentLayout::Accumulator;
}

FragmentLayout IotaOp::getLayout(Value) {
  ShapedType type = getResult().getType();
  if (hopper::getLayout(type) == FragmentLayout::Lanes)
    return FragmentLayout::Lanes;
  return getLayoutOfShape(type);
}

FragmentLayout ReduceOp::getLayout(Value fragment) {
  // Of four parts of a sum there is no less than their sum.
  bool isOfParts = getSource().getType().getDimSize(0) == kSumParts;
  if (fragment == getSource())
    return isOfParts ? FragmentLayout::Partial : FragmentLayout::Accumulator;
  return getLayoutOfRows(getResult().getType(), FragmentLayout::Partial);
}

FragmentLayout ScatterAddOp::getLayout(Value fragment) {
  auto type = cast<ShapedType>(fragment.getType());
  return type.getDimSize(0) == kSumParts ? FragmentLayout::Partial
                                         : getLayoutOfShape(type);
}

FragmentLayout DiagonalSumsOp::getLayout(Value fragment) {
  return getLayoutOfShape(cast<ShapedType>(fragment.getType()));
}

FragmentLayout PutDiagonalsOp::getLayout(Value) {
  return FragmentLayout::Threads;
}

FragmentLayout SpreadDiagonalsOp::getLayout(Value fragment) {
  return getLayoutOfShape(cast<ShapedType>(fragment.getType()));
}

FragmentLayout AnyOp::getLayout(Value) { return FragmentLayout::Rows; }

FragmentLayout StoreRowsOp::getLayout(Value) {
  return getLayoutOfRows(getVector().getType(), FragmentLayout::Accumulator);
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType result = getResult().getType();
  Type source = getSource().getType();
  if (getElementTypeOrSelf(source) != result.getElementType())
    return emitOpError("expects elements of ")
           << result.getElementType() << ", but got " << source;
  if (!isa<ShapedType>(source))
    return success();
  std::optional<FragmentLayout> from = hopper::getLayout(source),
                                to = hopper::getLayout(result);
  bool ofRows =
      from == FragmentLayout::Rows &&
      (to == FragmentLayout::Accumulator || to == FragmentLayout::Partial);
  bool ofColumns =
      from == FragmentLayout::Columns && to == FragmentLayout::Accumulator;
  if (ofRows || (ofColumns && cast<ShapedType>(source).getDimSize(0) ==
                                  result.getDimSize(0)))
    return success();
  return emitOpError("expects a scalar, rows, or as many columns, but got ")
         << source << " for " << result;
}
