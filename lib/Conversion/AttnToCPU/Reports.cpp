//===- Reports.cpp - Errors in data, as the code of a CPU tells them ------===//

#include "Reports.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::attn;

Value mlir::attn::getStatusArgument(Operation *op, StringRef what) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), kStatusAttrName))
      return argument;
  op->emitError("expects the function of ")
      << what << " to have an argument with '" << kStatusAttrName << "'";
  return {};
}

void mlir::attn::storeReport(OpBuilder &builder, Location loc, Value status,
                             int64_t site, Value first, Value second) {
  int64_t slot = 2 * site;
  for (Value value : {first, second})
    memref::StoreOp::create(
        builder, loc, value, status,
        ValueRange{arith::ConstantIndexOp::create(builder, loc, slot++)});
}

LogicalResult mlir::attn::lowerReports(Operation *root) {
  SmallVector<ReportOp> reports;
  root->walk([&](ReportOp op) { reports.push_back(op); });
  for (ReportOp op : reports) {
    Value status = getStatusArgument(op, "a report");
    if (!status)
      return failure();
    Location loc = op.getLoc();
    OpBuilder builder(op);
    auto branch = scf::IfOp::create(builder, loc, op.getCondition());
    builder.setInsertionPointToStart(branch.thenBlock());
    auto cast = [&](Value value) -> Value {
      return arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                        value);
    };
    storeReport(builder, loc, status, op.getSite(), cast(op.getFirst()),
                cast(op.getSecond()));
    op.erase();
  }
  return success();
}
