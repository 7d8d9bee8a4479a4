//===- HopperOutliner.h - Programs of tiles become kernels ------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_OUTLINE_HOPPEROUTLINER_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_OUTLINE_HOPPEROUTLINER_H

#include "Kernels/CombineKernel.h"
#include "Kernels/KernelValues.h"
#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Dialect/Attn/IR/AttnTile.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::attn {

/// The partitions of a kernel.
inline constexpr llvm::StringLiteral kLoadPartition = "load",
                                     kComputePartition = "compute";
/// The steps that compute terms of keys, and that share them.
inline constexpr llvm::StringLiteral kReadTermsStep = "read_terms",
                                     kKeyTermsStep = "key_terms";

/// What a tile is written to.
struct OutlinedResult {
  Value vector;
  unsigned argument = 0;
  /// Of the tensor, in its order; which of them is the row.
  SmallVector<OpFoldResult> offsets;
  int64_t rowDim = 0;
  /// For vector<Dv x M>, with the position.
  std::optional<TileAccess> access;
  /// What it is written to, as it is seen there, and what packs its heads, or
  /// null.
  Value destination;
  PackGQAOp packing;
};

/// Where a number for each row is stored; see hopper.store_rows.
struct RowsPlace {
  SmallVector<Value> position;
  int64_t rowDim = 0;
  /// The count of packed heads and their dimension, or null.
  Value packed;
  IntegerAttr heads;
};

/// A capture with an element for each row and position of a block, which comes
/// in tiles.
struct OutlinedCapture {
  TileAccess access;
  /// The reads of it, and the step that loads it.
  SmallVector<GatherOp> reads;
  std::string step;
};

/// A capture with an element for each position of a block, which comes as a
/// vector: what reads it, the step that loads it, and the predicate that alone
/// reads it, if one does, of partial blocks.
struct OutlinedVector {
  SmallVector<GatherOp> reads;
  std::string step;
  MaskTileOp mask;
  int64_t stages;
};

/// The operands of a product over the rows of the work tile: that whose 64 rows
/// are those of the result that a replica has, and the other one. Null for
/// another product.
struct AllRowsProduct {
  OpOperand *own = nullptr, *across = nullptr;
};
AllRowsProduct matchAllRowsProduct(vector::ContractionOp product);

/// What a value that a step gives is used as, also where it is extended.
struct OperandUses {
  /// By what computes with it.
  bool isValue = false;
  /// In products: as rows of the work tile, and in those over all rows as one
  /// of the operands, or as the other, of which one is named.
  SmallVector<vector::ContractionOp, 2> products;
  bool isOwn = false;
  vector::ContractionOp across;
};
OperandUses getOperandUses(Value value);

/// Slopes of a bias, of all blocks or of one.
struct HeldSlopes {
  /// vector<8 x 64>, what is multiplied with the numbers of the keys.
  Value slopes;
  /// An i1: the slopes are 0, and the bias is computed for each score.
  Value isPlain;
};

/// Writes the program of one worker again as the program of a CTA.
class Outliner {
public:
  explicit Outliner(const TileProgram &program)
      : program(program), function(program.function), grid(program.grid),
        schedule(program.schedule), loc(grid.getLoc()), builder(function) {}

  LogicalResult run();

private:
  LogicalResult match();
  void inlinePositions();
  LogicalResult matchBlock(Value output);
  LogicalResult matchResult(tensor::ParallelInsertSliceOp insert);
  LogicalResult takeSoftmax();
  TileAccess getAccess(Value tensor, Type element, int64_t row, int64_t column,
                       ArrayRef<OpFoldResult> position);
  FailureOr<SmallVector<Value>> emitPosition(const TileAccess &access,
                                             Value row = {});
  FailureOr<RowsPlace> emitRowsPlace(ArrayRef<OpFoldResult> offsets,
                                     int64_t rowDim, Value count,
                                     int64_t headDim);
  void storeRows(const RowsPlace &place, Value vector, Value buffer);
  FailureOr<TileAccess> matchRead(vector::TransferReadOp read,
                                  unsigned columnResult);
  ArrayAttr getOrder();
  ArrayAttr getExclusive();
  void expandBoxes();
  FailureOr<Value> emitCoordinate(OpFoldResult position);
  void matchCaptures();
  void matchVectors();
  bool isLoaded(GatherOp read);
  int64_t getResultColumns() const;
  ArrayAttr placeCaptures();
  LogicalResult emitCaptureLoads();
  void emitCaptures(StepOp step);
  SmallVector<Type> getCaptureTypes();
  SharedUse getSharedUse(int64_t valueDim, ArrayRef<Type> captures);
  void takeBias();
  void findReadsOfKeys();
  LogicalResult emitKeyTerms();
  /// A step before the loop that gives what `body` makes of the 64 rows of a
  /// warpgroup.
  FailureOr<ValueRange>
  emitRowsStep(StringRef name, TypeRange types,
               function_ref<FailureOr<SmallVector<Value>>()> body);
  LogicalResult emitFactors();
  LogicalResult emitSlopes();
  FailureOr<HeldSlopes> computeSlopes();
  LogicalResult takeSlopes();
  Value addBias(Value product);
  FailureOr<Value> emitBias(Value isPlain);
  FailureOr<Value> emitWithoutKeys(Value scores);
  FailureOr<Value> emitBiasOfFirstKey();
  FailureOr<std::pair<Value, Value>> emitBiasOfBlock();
  bool isOfDiagonals(VectorType type);
  LogicalResult emitReads(StepOp step);
  LogicalResult emitWork(Block *body);
  Value emitHeadSwizzle(ValueRange extents);
  LogicalResult emitQueries();
  LogicalResult emitBounds();
  LogicalResult emitLoopInputs();
  LogicalResult emitClassInputs(Region &region);
  LogicalResult emitClasses(Region &classes);
  void simplifyClasses();
  LogicalResult emitLoop();
  LogicalResult emitStep(StepOp step);
  LogicalResult emitLoadStep(StepOp step);
  FailureOr<Value> emitProduct(vector::ContractionOp product);
  int64_t getSharedOutColumns(VectorType result);
  std::optional<unsigned> getSharedOutDim(Value value);
  FailureOr<Value> emitAllRowsProduct(vector::ContractionOp product,
                                      AllRowsProduct operandsOf);
  /// After whom a tile is added, as whom, and where that is written; null for
  /// any order. And whether nobody comes behind.
  struct AddingTurn {
    Value after, own, counters, last;
    SmallVector<Value> indices;
  };
  FailureOr<AddingTurn> emitTurn(AccumulateOp op);
  /// A result, where a tile is in it, and in which of its dimensions the two of
  /// the tile are, with their ends where these have any.
  struct RoundedSums {
    Value out;
    SmallVector<Value> indices;
    IntegerAttr dims[2];
    Value ends[2];
  };
  Value emitOwnFirst(int64_t count);
  FailureOr<RoundedSums> emitRoundedSums(AccumulateOp op);
  /// Of a buffer in the order of fragments, with so many parts of so many
  /// columns for each warpgroup, the number of one.
  struct FragmentPart {
    int64_t number = 0, count = 1, columns = 0;
  };
  std::optional<FragmentPart> getPart(AccumulateOp op,
                                      hopper::FragmentOrderAttr order,
                                      ArrayRef<int64_t> dims);
  LogicalResult emitAccumulate(AccumulateOp op);
  LogicalResult emitSumDiagonals(SumDiagonalsOp op);
  LogicalResult emitSpreadDiagonals(SpreadDiagonalsOp op);
  FailureOr<Value> emitAddRows(AddRowsOp op);
  LogicalResult emitScatter(ScatterOp op);
  LogicalResult emitCarriedSums();
  LogicalResult matchResidents();
  LogicalResult emitStepOps(Block &block);
  LogicalResult emitOutputs(StepOp step, StringRef partition,
                            SmallVectorImpl<Value> &ends);
  LogicalResult emitOnlineStep(OnlineStepOp step);
  FailureOr<Value> emitMask(MaskTileOp mask, Value scores);
  /// Where results are staged that one partition stores.
  struct StagingTiles {
    StringRef partition;
    /// Memory of their own, for one after the other.
    Value own;
    /// Tiles that a result has been staged in.
    SmallVector<Value> used;
  };
  int64_t getStagedColumns(const TileAccess &result);
  Value findReadTile(const TileAccess &result, const StagingTiles &staging);
  Value takeStaging(const TileAccess &result, StagingTiles &staging);
  FailureOr<Value> emitMask(Value scores, Value full,
                            function_ref<FailureOr<Value>()> emitPredicate);
  LogicalResult emitResults();
  LogicalResult emitResult(const OutlinedResult &result, StagingTiles &staging);
  LogicalResult matchPartitions();
  StringRef getPartition(StringRef step);
  StringRef getResultPartition();
  StringRef getResultPartition(const OutlinedResult &result);
  StringRef getQueryPartition();
  bool isInReach(Value value);
  bool isUsedElsewhere(Value output, StringRef partition);
  void takeFromOthers(StepOp step, StringRef partition);
  int64_t getPublishedStages(Value output, StringRef partition);
  Value publish(Value vector, bool isTransposed, int64_t stages);
  void expandNormalize();
  LogicalResult matchSplits();
  void declareSplits();
  void takePart(Value &lower, Value &upper);
  LogicalResult emitSplitResults();
  hopper::TileType getTileType(const TileAccess &access, int64_t rows);
  FailureOr<Value> emitLoad(const TileAccess &access, int64_t rows,
                            int64_t stages);
  FailureOr<Value> emitVector(Value source, ValueRange indices, VectorType type,
                              int64_t stages, bool zeroFill, Value condition);
  FailureOr<Value> emitLoadStep(StringRef name, const TileAccess &access,
                                int64_t rows, int64_t stages);
  Value emitOwnRows(Value tile);
  /// Whether the loop is that of an attention, and not of its gradients. There,
  /// of the queries of a work tile each warpgroup reads its own rows alone.
  bool isAttention() { return loop.getOnline(); }
  hopper::StepOp createStep(StringRef name, StringRef partition,
                            TypeRange types);
  DictionaryAttr describeGrid();

  Value splat(Type type, double value) {
    return hopper::createSplat(builder, loc, type, value);
  }
  /// Creates what all work tiles share at the start of the kernel.
  template <typename Op> Op createAtStart(Type type) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&kernel.getBody().front());
    return Op::create(builder, loc, type);
  }
  int64_t getNumReplicas() const {
    return schedule.getTileM() / hopper::kWarpgroupRows;
  }
  VectorType getVectorType(int64_t rows) {
    return VectorType::get({rows, hopper::kWarpgroupRows},
                           builder.getF32Type());
  }

  /// The program, and what of it is used often.
  TileProgram program;
  func::FuncOp function;
  scf::ForallOp grid;
  hopper::ScheduleAttr schedule;
  Location loc;
  OpBuilder builder;
  gpu::GPUFuncOp kernel;
  std::unique_ptr<KernelArguments> arguments;
  std::unique_ptr<KernelValues> values;
  TileLoopOp loop;
  OnlineStepOp softmax;
  /// What the shift of its scores starts as.
  double firstNegMax = 0;
  /// The tiles that steps load, by what they are in the worker's program: that
  /// of the loop, and that of a work tile, which is a tile of the kernel, too.
  llvm::MapVector<Value, TileAccess> blocks;
  Value queries, queryTile;
  /// What negates some of the queries, or null, and what their scores are
  /// multiplied by, for a work tile.
  NegateQueriesOp negate;
  Value factors;
  /// What sums of diagonals go through, or null.
  Value diagonalTile;
  TileAccess query;
  /// Other tiles of a work tile, and floats of a block.
  llvm::MapVector<Value, TileAccess> residents;
  llvm::MapVector<Value, vector::TransferReadOp> floats;
  SmallVector<OutlinedResult> results;
  SmallVector<OutlinedCapture> captures;
  SmallVector<OutlinedVector> vectors;
  /// The scores whose bias their product takes along, what that is for a work
  /// tile, and what it meets: the numbers of the keys or, of terms of keys, a
  /// tile for each block, and what these are measured from.
  AffineScoresOp affine;
  HeldSlopes held;
  Value biasTile, keysBase;
  /// What is read of captures for these terms alone.
  SmallPtrSet<Operation *, 8> readsOfKeys;
  /// Tiles, those that have the rows of the work tile as columns, and vectors
  /// that are operands of products.
  DenseMap<Value, Value> tiles, acrossTiles, operands;
  /// What the results of the step that is being written stand for.
  struct Output {
    enum Kind { State, Value, Operand, Tile, Across } kind;
    mlir::Value source;
  };
  SmallVector<Output> outputs;
  Value first, end;
  /// The bounds of the loop.
  Value lower, upper;
  /// What the state of the softmax stands for in the end, if anything asks for
  /// that: the state, the results, and the output before it is rounded.
  struct {
    Value max, sum;
    NormalizedTile tile;
  } normalized;
  /// Where keys are shared out to parts: what is combined, where the results of
  /// parts go, which part a work tile is, and whether that has keys.
  CombinedResults combined;
  std::optional<SplitResults> parts;
  Value part, hasKeys;
  /// Whether a block is full, where there are classes.
  Value isFull;
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_OUTLINE_HOPPEROUTLINER_H
