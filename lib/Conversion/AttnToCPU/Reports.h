//===- Reports.h - Errors in data, as the code of a CPU tells them -*- C++ -*-//

#ifndef ATTN_LIB_CONVERSION_ATTNTOCPU_REPORTS_H
#define ATTN_LIB_CONVERSION_ATTNTOCPU_REPORTS_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// The argument of the function around `op` that errors in data are reported
/// to. Without one, emits an error that says `what` asks for it.
Value getStatusArgument(Operation *op, StringRef what);

/// Stores the two i64 of an error in the slot of its site.
void storeReport(OpBuilder &builder, Location loc, Value status, int64_t site,
                 Value first, Value second);

/// Lowers each attn.report under `root`.
LogicalResult lowerReports(Operation *root);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOCPU_REPORTS_H
