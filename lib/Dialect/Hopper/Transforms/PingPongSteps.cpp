//===- PingPongSteps.cpp - Turns of warpgroups in a pipelined loop --------===//

#include "PingPongSteps.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

void hopper::addPingPongSteps(RewriterBase &rewriter, PipelinedForOp loop,
                              Value pingPong) {
  Location loc = loop.getLoc();
  SmallVector<Attribute> places;
  int64_t first = INT64_MAX, last = 0, stage = 0;
  for (auto name : loop.getExclusive().getAsRange<StringAttr>()) {
    auto [order, own] = loop.getPlace(name.getValue());
    first = std::min(first, order);
    last = std::max(last, order);
    stage = std::max(stage, own);
  }
  auto add = [&](StringRef name, bool isTake) {
    rewriter.setInsertionPointToStart(loop.getBlock());
    auto step = hopper::StepOp::create(rewriter, loc, TypeRange(), name, "");
    rewriter.createBlock(&step.getBody());
    if (isTake)
      PingPongWaitOp::create(rewriter, loc, pingPong);
    else
      PingPongArriveOp::create(rewriter, loc, pingPong);
    EndOp::create(rewriter, loc);
    places.push_back(PlaceAttr::get(rewriter.getContext(), name, stage));
  };
  for (auto [number, place] :
       llvm::enumerate(loop.getSchedule().getAsRange<PlaceAttr>())) {
    if (static_cast<int64_t>(number) == first)
      add("ping_pong_wait", true);
    places.push_back(place);
    if (static_cast<int64_t>(number) == last)
      add("ping_pong_arrive", false);
  }
  loop.setScheduleAttr(rewriter.getArrayAttr(places));
}

void hopper::waitBeforePingPong(RewriterBase &rewriter, Block &block) {
  SmallVector<PingPongWaitOp> all;
  block.walk([&](PingPongWaitOp turn) { all.push_back(turn); });
  for (PingPongWaitOp turn : all) {
    Operation *last = nullptr;
    for (Operation *op = turn->getNextNode(); op; op = op->getNextNode()) {
      bool isOfScalars = isPure(op) && llvm::none_of(op->getResultTypes(),
                                                     llvm::IsaPred<VectorType>);
      if (isa<GetOp>(op))
        last = op;
      else if (!isa<NextUseOp>(op) && !isOfScalars)
        break;
    }
    if (last)
      rewriter.moveOpAfter(turn, last);
  }
}
