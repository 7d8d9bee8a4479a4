//===- DestinationArguments.cpp - Results in memory of the caller ---------===//

#include "Extents.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNDESTINATIONARGUMENTSPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Computes `value` into `destination` if it is now computed into a
/// tensor.empty. What that held is undefined, so the destination may hold
/// anything, and a use of it that comes too early makes bufferization copy.
static bool computeInto(OpBuilder &builder, Value value, Value destination) {
  for (OpOperand *operand = getDestination(value); operand;
       operand = getDestination(operand->get())) {
    if (!operand->get().getDefiningOp<tensor::EmptyOp>())
      continue;
    Type type = operand->get().getType();
    if (type != destination.getType()) {
      if (!tensor::CastOp::areCastCompatible(destination.getType(), type))
        return false;
      builder.setInsertionPoint(operand->getOwner());
      destination =
          tensor::CastOp::create(builder, value.getLoc(), type, destination);
    }
    operand->set(destination);
    return true;
  }
  return false;
}

/// An attention reads none of its destinations, so they need not hold what an
/// argument or another operation gave them.
static void detachAttentions(func::FuncOp function) {
  function.walk([&](DestinationStyleOpInterface op) {
    if (!isa<AttentionOp, AttentionGradOp>(op))
      return;
    OpBuilder builder(op);
    for (OpOperand &out : op.getDpsInitsMutable()) {
      auto empty = out.get().getDefiningOp<tensor::EmptyOp>();
      if (empty && empty->hasOneUse())
        continue;
      SmallVector<OpFoldResult> sizes =
          tensor::getMixedSizes(builder, op.getLoc(), out.get());
      out.set(tensor::EmptyOp::create(
          builder, op.getLoc(), sizes,
          cast<RankedTensorType>(out.get().getType()).getElementType()));
    }
  });
}

/// A name for a result among the names of the arguments.
static StringAttr getDestinationName(func::FuncOp function, unsigned number) {
  MLIRContext *context = function.getContext();
  auto name = function.getResultAttrOfType<StringAttr>(number, kNameAttrName);
  if (!name)
    name = StringAttr::get(context, "out" + Twine(number));
  auto isTaken = [&](StringAttr name) {
    for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
      if (function.getArgAttr(i, kNameAttrName) == name)
        return true;
    return false;
  };
  StringAttr unique = name;
  for (unsigned suffix = 0; isTaken(unique); ++suffix)
    unique = StringAttr::get(context, name.getValue() + "_" + Twine(suffix));
  return unique;
}

static LogicalResult addDestinations(func::FuncOp function, ModuleOp module) {
  if (function.getNumResults() == 0)
    return success();
  if (!SymbolTable::symbolKnownUseEmpty(function, module))
    return function.emitOpError("expects a public function with results not to "
                                "be used in the module: inline it, or make it "
                                "private");
  SmallVector<func::ReturnOp> returns(
      function.getFunctionBody().getOps<func::ReturnOp>());
  if (returns.size() != 1)
    return function.emitOpError("expects one return, but got ")
           << returns.size();
  for (auto [number, type] : llvm::enumerate(function.getResultTypes()))
    if (!isa<RankedTensorType>(type) && !type.isIntOrIndexOrFloat())
      return function.emitOpError("expects results to be ranked tensors or "
                                  "scalars, but got ")
             << type << " for result " << number;

  detachAttentions(function);
  MLIRContext *context = function.getContext();
  StringRef writable = bufferization::BufferizationDialect::kWritableAttrName;
  for (BlockArgument argument : function.getArguments())
    if (isa<RankedTensorType>(argument.getType()))
      function.setArgAttr(argument.getArgNumber(), writable,
                          BoolAttr::get(context, false));

  struct Result {
    Value value, destination;
    bool isInPlace;
  };
  OpBuilder builder(returns[0]);
  SmallVector<Result> results;
  for (auto [number, value] : llvm::enumerate(returns[0].getOperands())) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      type = RankedTensorType::get({}, value.getType());
    NamedAttribute attributes[] = {
        {StringAttr::get(context, kNameAttrName),
         getDestinationName(function, number)},
        {StringAttr::get(context, writable), BoolAttr::get(context, true)}};
    unsigned position = function.getNumArguments();
    if (failed(function.insertArgument(position, type,
                                       DictionaryAttr::get(context, attributes),
                                       value.getLoc())))
      return failure();
    Value destination = function.getArgument(position);
    bool isInPlace = computeInto(builder, value, destination);
    results.push_back({value, destination, isInPlace});
  }

  // What is in place comes last: another result may be a view of it, which
  // bufferization takes for overwritten by writing it to where it is.
  builder.setInsertionPoint(returns[0]);
  SmallVector<Value> returned(results.size());
  for (bool isInPlace : {false, true}) {
    for (auto [number, result] : llvm::enumerate(results)) {
      if (result.isInPlace != isInPlace)
        continue;
      Location loc = result.value.getLoc();
      Type type = result.destination.getType();
      Value source = result.value;
      if (source.getType() != type)
        source = tensor::InsertOp::create(builder, loc, source,
                                          result.destination, ValueRange());
      returned[number] = bufferization::MaterializeInDestinationOp::create(
                             builder, loc, type, source, result.destination)
                             .getResult();
    }
  }
  returns[0].getOperandsMutable().assign(returned);
  function.setFunctionType(FunctionType::get(
      context, function.getArgumentTypes(), TypeRange(ValueRange(returned))));
  function.removeResAttrsAttr();
  return success();
}

namespace {
struct AttnDestinationArguments
    : public mlir::attn::impl::AttnDestinationArgumentsPassBase<
          AttnDestinationArguments> {
  void runOnOperation() override {
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal() &&
          !function->hasAttr(kConstraintsAttrName) &&
          failed(addDestinations(function, getOperation())))
        return signalPassFailure();
  }
};
} // namespace
