//===- WorkerLoop.cpp - Loops that workers share --------------------------===//

#include "WorkerLoop.h"

using namespace mlir;
using namespace mlir::attn;

scf::ForallOp mlir::attn::createWorkerLoop(OpBuilder &builder, Location loc,
                                           ArrayRef<OpFoldResult> extents,
                                           ValueRange outs,
                                           ScheduleAttrInterface schedule) {
  SmallVector<Attribute> workers;
  for (size_t dim = 0; dim < extents.size(); ++dim)
    workers.push_back(WorkerAttr::get(builder.getContext(), dim));
  auto loop = scf::ForallOp::create(builder, loc, extents, outs,
                                    builder.getArrayAttr(workers));
  if (schedule)
    loop->setDiscardableAttr(kScheduleAttrName, schedule);
  return loop;
}
