//===- ScheduleRegisters.cpp - The registers that tiles take --------------===//
//
// How many registers a kernel takes is for its assembler to say. Counted here
// is what a thread has at the same time in any case, since one product reads or
// writes it while another is under way: where that is too much, the kernel
// spills whatever the assembler does.
//
//===----------------------------------------------------------------------===//

#include "attn/Conversion/AttnToHopper/Schedules.h"

using namespace mlir;
using namespace mlir::attn;

/// Whether there is no more than one block of keys, for which nothing is
/// carried.
static bool isOneBlock(AttentionLikeOpInterface op, int64_t tileN) {
  int64_t keys = op.getKeyType().getDimSize(op.getLayout(1).s);
  return !ShapedType::isDynamic(keys) && keys <= tileN;
}

/// Whether the probabilities of a block are multiplied while the scores of the
/// next one are computed. By default they are.
static bool overlapsProducts(hopper::ScheduleAttr schedule) {
  ArrayAttr order = schedule.getOrder();
  if (!order)
    return true;
  int64_t at = 0, scores = -1, values = -1, softmaxStage = 0, valuesStage = 0;
  for (auto place : order.getAsRange<hopper::PlaceAttr>()) {
    if (place.getName() == "qk") {
      scores = at;
    } else if (place.getName() == "softmax") {
      softmaxStage = place.getStage();
    } else if (place.getName() == "pv") {
      values = at;
      valuesStage = place.getStage();
    }
    ++at;
  }
  return scores >= 0 && scores < values && valuesStage > softmaxStage;
}

LogicalResult mlir::attn::verifyTileRegisters(AttentionLikeOpInterface op,
                                              TargetAttr target,
                                              hopper::ScheduleAttr schedule) {
  // Partitions share out what is counted here.
  if (schedule.getPartitions() || !isOutputRead(op) ||
      isOneBlock(op, schedule.getTileN()))
    return success();
  // 128 threads have 64 rows: half a float for each key or column, and a
  // register for four numbers of 16 bits.
  constexpr int64_t floats = hopper::kWarpgroupThreads / hopper::kWarpgroupRows;
  int64_t scores = schedule.getTileN() / floats,
          results = op.getValueDim() / floats,
          probabilities =
              overlapsProducts(schedule) ? schedule.getTileN() / floats / 2 : 0,
          queries =
              schedule.getQInRegisters() ? op.getQueryKeyDim() / floats / 2 : 0;
  int64_t most =
      std::min(schedule.getRegisters(), int64_t(target.getThreadRegisters()));
  if (scores + results + probabilities + queries <= most)
    return success();
  InFlightDiagnostic diagnostic =
      op.emitError("expects a schedule with tiles of which a thread has its "
                   "part in ")
      << most << " registers, but of scores it has " << scores
      << ", of results " << results;
  if (probabilities)
    diagnostic << ", of probabilities " << probabilities;
  if (queries)
    diagnostic << ", of queries " << queries;
  return diagnostic
         << "; take a smaller tile_n or more registers, or leave the "
            "choice of a schedule to the compiler";
}
