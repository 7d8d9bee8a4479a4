//===- Schedules.h - Schedules for Hopper GPUs ------------------*- C++ -*-===//

#ifndef ATTN_CONVERSION_ATTNTOHOPPER_SCHEDULES_H
#define ATTN_CONVERSION_ATTNTOHOPPER_SCHEDULES_H

#include "attn/Conversion/AttnToHopper/ScheduleTable.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Runtime/Cuda/Costs.h"

namespace mlir::attn {

/// A schedule, and what a launch costs with it: in microseconds on an H200 for
/// bf16. A kernel of several tiles takes the cost of a tile for each round in
/// which all multiprocessors compute one.
struct HopperSchedule : ::attn::cuda::Costs {
  hopper::ScheduleAttr schedule;
  /// Whether it shares out the keys of a tile, so that a launch takes it where
  /// there are too few tiles, or where some take too long.
  bool isSplitKV = false;
  /// Whether it is for tensors that the others cannot copy, so that a launch
  /// takes it only then.
  bool isForAnyStrides = false;
  /// Whether it is for kernels that ptxas compiles with none of the others.
  bool isLastResort = false;
  /// Whether no launch would take it beside another one, which costs no more
  /// for any extents, so that it is for kernels with which that one spills.
  bool isFallback = false;
  /// Bytes of stores and loads of spilled registers, together, with which it is
  /// faster still than those that would run in its place.
  int64_t spillBytes = 0;
  /// The name of its row of the table, if it is of one.
  std::string row;
};

/// Finds out which schedules are fallbacks. They come behind others that are no
/// last resort.
void findFallbacks(SmallVectorImpl<HopperSchedule> &schedules);

/// Columns of values that a warpgroup has registers for, and of queries and
/// keys that shared memory holds.
inline constexpr int64_t kMostValueColumns = 256, kMostKeyColumns = 576;

/// Whether tiles of `op` may have these head dimensions: multiples of 8, of
/// values up to kMostValueColumns, and of queries and keys up to
/// kMostKeyColumns. Gradients have both in registers, and lists of single keys
/// are gathered, of as many columns as values.
bool areHeadDimsSupported(AttentionLikeOpInterface op, int64_t queryKeyDim,
                          int64_t valueDim);
/// Whether they may have those of `op`.
bool areHeadDimsSupported(AttentionLikeOpInterface op);

/// Whether the target has matrix instructions for the elements of an attention,
/// those of 16 bits, whatever its head dimensions.
bool haveMatrixInstructions(AttentionLikeOpInterface op);
/// Whether matrix instructions take the tiles of an attention: it has them, and
/// head dimensions that are supported.
bool haveTiles(AttentionLikeOpInterface op);

/// Whether several heads of an attention may have the same keys, as far as its
/// types tell.
bool mayShareKeys(AttentionLikeOpInterface op);

/// Why tiles of an attention have queries of one head only; empty if a variant
/// of its kernel has those of several, which read their keys together.
StringRef getPackingObstacle(AttentionLikeOpInterface op);

/// A row of a table that does not serve an attention, by its name, and why.
struct RuledOutRow {
  std::string row, reason;
};

/// The schedules that may serve an attention, whose head dimensions are
/// those of tiles: those of the rows of a table whose conditions it
/// meets, in the order of the rows. A KV block shrinks until it fits the shared
/// memory, and rows whose threads would compute too much for a score are left
/// out. Fails with an error of the attention where the table has none for any
/// extents, or one that contradicts itself. `ruledOut`, if somebody asks, gets
/// the other rows.
FailureOr<SmallVector<HopperSchedule>>
getHopperSchedules(AttentionLikeOpInterface op,
                   const ScheduleTable &table = *ScheduleTable::getDefault(),
                   SmallVectorImpl<RuledOutRow> *ruledOut = nullptr);

/// Costs::pairOperations of the tiles of an attention at the online level, by
/// what `table` takes for the part of keys that a mask leaves. Of masks that
/// leave windows or documents that part is told by Costs::typicalKeys, and the
/// result is 0 if `hasTypicalKeys` is not set.
double getPairOperations(AttentionLikeOpInterface op,
                         const ScheduleTable &table, bool hasTypicalKeys);

/// The schedules that may serve the gradients of an attention in one pass,
/// whose head dimensions are those of tiles, in the same order. Rows
/// are keys, and the others queries.
FailureOr<SmallVector<HopperSchedule>>
getGradientSchedules(AttentionGradOp op,
                     const ScheduleTable &table = *ScheduleTable::getDefault(),
                     SmallVectorImpl<RuledOutRow> *ruledOut = nullptr);

/// The schedule for an attention of single queries: with lists of keys, or of
/// what matrix instructions do not take.
RowScheduleAttr getRowSchedule(AttentionLikeOpInterface op);

/// Whether captures with an element of this type for each query and key may
/// come in tiles.
bool isCaptureTileElement(Type element);

/// Whether something reads the output, and not the log-sum-exp alone.
bool isOutputRead(AttentionLikeOpInterface op);

/// Checks that a thread has registers for its part of the tiles of a schedule.
/// Emits an error at `op` if no assembler could place them without spills.
LogicalResult verifyTileRegisters(AttentionLikeOpInterface op,
                                  TargetAttr target,
                                  hopper::ScheduleAttr schedule);

/// What an attention takes shared memory for, beside what its schedule says.
struct SharedUse {
  int64_t queryKeyDim, valueDim;
  /// Captures of these types come as tiles.
  ArrayRef<Type> captures = {};
  /// How many numbers of scores are computed for each diagonal.
  int64_t numDiagonals = 0;
};

/// Whether a kernel with this schedule has the shared memory that it takes.
bool fitsSharedMemory(TargetAttr target, hopper::ScheduleAttr schedule,
                      const SharedUse &use);

/// How many columns of a result are staged in memory of their own at a time, so
/// that a persistent kernel can read the next queries early: all, or a multiple
/// of 64 if there is less memory. 0 if they are staged in place of the queries,
/// or not at all.
int64_t getStagingColumns(TargetAttr target, hopper::ScheduleAttr schedule,
                          const SharedUse &use);

/// How many Q blocks are in shared memory at a time: 2 where there is
/// memory for it and they stay until the last product, so that the next ones
/// come beside it.
int64_t getQueryStages(TargetAttr target, hopper::ScheduleAttr schedule,
                       const SharedUse &use);

/// The bytes of shared memory that are left beside these.
int64_t getFreeSharedBytes(TargetAttr target, hopper::ScheduleAttr schedule,
                           const SharedUse &use);

} // namespace mlir::attn

#endif // ATTN_CONVERSION_ATTNTOHOPPER_SCHEDULES_H
