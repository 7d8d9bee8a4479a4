//===- ThreadProgram.h - A kernel as one thread runs it ---------*- C++ -*-===//
//
// Emits the operations of one thread for the operations of a kernel. A vector
// that a warpgroup holds is a list of the thread's elements:
//
//   vector<N x 64>  4j + 2r + p: key 8j + 2 (lane mod 4) + p, query row + 8r
//   vector<N x 1>   2j + p: key 8j + 2 (lane mod 4) + p
//   vector<1 x 64>  r: query row + 8r
//   vector<4 x 64>  r: the sum in this thread for query row + 8r
//
// where row is 16 * warp + lane / 4. Of 16-bit floats, two with neighbouring p
// are one i32.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADPROGRAM_H
#define ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADPROGRAM_H

#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::attn {

/// Bytes of a row of a chunk of columns, which are swizzled.
inline constexpr int64_t kRowBytes = 128;
/// Bytes of an element of a vector in shared memory.
inline constexpr int64_t kVectorBytes = 4;
/// Bytes that are swizzled together, and that a thread copies at a time.
inline constexpr int64_t kSegmentBytes = 16;
/// Tiles with swizzled rows start at multiples of this.
inline constexpr int64_t kTileAlignment = 1024;
/// Messages that a mailbox holds.
inline constexpr int64_t kMailboxSlots = 2;

/// The address `offset` bytes behind another one.
Value offsetPointer(ImplicitLocOpBuilder &b, Value base, Value offset);

/// An index: `base + offset`, or `offset` without a base. The base is i32 or
/// i64; the sum does not overflow its type.
struct IndexElement {
  Value base;
  int64_t offset = 0;
};

/// A float: `base + offset`, or `offset` without a base.
struct FloatSum {
  Value base;
  double offset = 0;
};

/// What an index value of the kernel may be.
struct Interval {
  int64_t lo = INT64_MIN, hi = INT64_MAX;
  bool fitsInt32() const { return lo >= INT32_MIN && hi <= INT32_MAX; }
  bool isWithin(int64_t bound) const { return lo >= -bound && hi <= bound; }
  /// The values of a monotone function, or all where it may overflow.
  static Interval combine(Interval a, Interval b,
                          function_ref<bool(int64_t, int64_t, int64_t &)> op);
};

/// A condition: `lower <= position && position <= upper`, where a bound that is
/// null does not bound. Bounds are i32 and are the same for many elements.
struct Limits {
  int64_t position = 0;
  Value lower, upper;
};

/// A buffer parameter, or a strided map, which has the strides of batch, head
/// and row, and the number of rows as its one extent.
struct BufferParameter {
  Value pointer;
  /// Bytes are strides times the element's size; null for 1.
  SmallVector<Value> strides;
  SmallVector<IndexElement> extents;
};

/// A channel or a tile in shared memory.
struct SharedTile {
  /// Bytes from the start of shared memory.
  int64_t offset = 0;
  int64_t bytes = 0;
  // Of a channel, the barriers of the first stage, and its note.
  int64_t fullBarrier = 0, emptyBarrier = 0, note = 0;
  /// How many arrivals make a tile full, and free.
  int64_t fullArrivals = 1, emptyArrivals = 1;
  /// Whether tiles arrive as writes by threads, which matrix instructions do
  /// not see by themselves.
  bool isWrittenByThreads = false;
};

/// A tile at some point of the program: a part of what is in shared memory.
struct TileView {
  const SharedTile *shared = nullptr;
  /// Where it starts: numbers, as i32, of so many bytes each.
  SmallVector<std::pair<Value, int64_t>, 2> offsets;

  /// Moves the start by `number` times `bytes`; null is 0.
  TileView advance(Value number, int64_t bytes) const {
    TileView view = *this;
    if (number)
      view.offsets.push_back({number, bytes});
    return view;
  }
};

class ThreadProgram {
public:
  ThreadProgram(OpBuilder &builder, gpu::GPUFuncOp kernel, bool accurateTanh);

  /// Emits the kernel as a function before it.
  LogicalResult emit();

private:
  using Elements = SmallVector<Value>;

  // KernelLayout.cpp.
  LogicalResult emitSignature();
  void layOutRing(Value ring);
  void layOutMemory();
  void emitRamps();
  void emitBarriers();
  // ThreadProgram.cpp: structure.
  // LowerPartitions.cpp.
  LogicalResult assignBarriers();
  LogicalResult emitPartitions();
  LogicalResult emitWarpgroups(const hopper::PartitionLayout &layout,
                               unsigned first, unsigned end);
  LogicalResult emitPartition(const hopper::PartitionLayout &layout,
                              unsigned number);
  LogicalResult emitPlain();
  void describeLaunch(int64_t threads);
  LogicalResult emitBlock(Block &block);
  LogicalResult emitOp(Operation &op);
  LogicalResult emitFor(scf::ForOp op);
  LogicalResult emitIf(scf::IfOp op);
  LogicalResult emitWhile(scf::WhileOp op);
  LogicalResult emitYield(Operation &op);
  void flatten(ValueRange values, SmallVectorImpl<Value> &elements);
  void flattenTypes(TypeRange types, SmallVectorImpl<Type> &elements);
  void bind(ValueRange values, ValueRange &elements);
  void describe(DictionaryAttr param) { params.push_back(param); }

  // LowerIndices.cpp.
  Interval getInterval(Value value);
  Interval computeInterval(Value value);
  LogicalResult emitIndexOp(Operation &op);
  bool emitPositionsToFloat(arith::SIToFPOp op);
  bool emitDivisionOfPositions(Operation &op);
  SmallVector<IndexElement> getIndices(Value value);
  /// An index as i32 or i64; of a value that is known to fit, for i32.
  Value toInt(IndexElement index, unsigned bits);
  Value getIndexInt(Value value, unsigned bits) {
    return toInt(getIndices(value)[0], bits);
  }
  Value addOffset(Value value, int64_t offset);

  // LowerLimits.cpp.
  void emitComparison(arith::CmpIOp op, unsigned bits);
  bool emitConjunction(arith::AndIOp op);

  // LowerVectors.cpp.
  LogicalResult emitConstant(Operation &op);
  LogicalResult emitBroadcast(Operation &op);
  LogicalResult emitElementwise(Operation &op);
  LogicalResult emitMultiplication(arith::MulFOp op);
  LogicalResult emitExtension(Operation &op);
  LogicalResult emitRounding(Operation &op);
  void emitReduce(hopper::ReduceOp op);
  void emitAny(hopper::AnyOp op);
  void emitIota(hopper::IotaOp op);
  LogicalResult emitGather(GatherOp op);
  // LowerParts.cpp.
  LogicalResult emitStoreRows(hopper::StoreRowsOp op);
  void emitMerge(hopper::MergeOp op);
  void unpackPosition(hopper::StoreRowsOp op, Value at,
                      SmallVectorImpl<IndexElement> &position);
  // LowerBits.cpp.
  bool emitBitTest(arith::CmpIOp op);
  // LowerLists.cpp.
  void emitListWords(ListWordsOp op);
  Value getOwnWords();
  // LowerUnions.cpp.
  void emitListUnions(ListUnionsOp op);
  // LowerSummaries.cpp.
  LogicalResult emitWarpReduce(gpu::SubgroupReduceOp op);
  LogicalResult emitElementStore(memref::StoreOp op);
  LogicalResult emitAtomicMinimum(memref::AtomicRMWOp op);
  Value getAddress(const BufferParameter &buffer, ArrayRef<IndexElement> index,
                   unsigned bytes);

  // LowerMatrix.cpp.
  void emitMma(hopper::MmaOp op);
  void emitWait(hopper::WaitOp op);
  void emitLoadFragment(hopper::LoadFragmentOp op);
  void emitLoadPairs(hopper::LoadFragmentOp op);
  void emitLoadVector(hopper::LoadFragmentOp op);
  void emitSplit(hopper::SplitOp op);
  Value packPair(Value low, Value high, Type element);
  Value getDescriptor(const TileView &tile, uint64_t leadingBytes);
  SmallVector<Value> emitAsm(StringRef text, StringRef constraints,
                             ValueRange operands, TypeRange results);

  // LowerMemory.cpp.
  void emitPut(hopper::PutOp op);
  Value getFreePhase(Value number, int64_t stages);
  Value emitWaitFree(const SharedTile &tile, Value stage, Value phase);
  void emitPutVector(hopper::PutVectorOp op);
  void emitSync();
  TileView getView(const SharedTile &tile, Value stage) {
    return TileView{&tile, {}}.advance(stage, tile.bytes);
  }
  void emitGet(hopper::GetOp op);
  void emitView(hopper::ViewOp op);
  void emitRelease(hopper::ReleaseOp op);
  void emitArrive(Value barrier);
  void emitByLeader(function_ref<void()> body);
  Value getNote(const SharedTile &tile, Value stage);
  void emitWarpArrive(Value barrier, Value condition = {});
  void emitWarpSync();
  void emitBallot(hopper::BallotOp op);
  void emitClaim(hopper::ClaimOp op);
  void emitRetire(hopper::RetireOp op);
  void emitRetirement(hopper::RetireOp op);
  SmallVector<Value> getCoordinates(hopper::MapType map, Value batch,
                                    Value head, Value row);
  void emitTensorCopy(hopper::PutOp op, const SharedTile &tile, Value stage,
                      Value full);
  void emitPost(hopper::PostOp op);
  void emitReceive(hopper::ReceiveOp op);
  void emitTakeTurn(Value turns);
  void emitPassTurn(Value turns, Value from);
  void emitStore(hopper::StoreOp op);
  void emitDrain();
  void emitStoreEnd();
  // LowerFragments.cpp.
  void emitPutFragment(hopper::PutFragmentOp op);
  void emitStaging(ArrayRef<Value> elements, const TileView &tile,
                   int64_t chunkBytes);
  void emitStagingTransposed(ArrayRef<Value> elements, const TileView &tile);
  void emitReduceAdd(hopper::ReduceAddOp op);
  void emitReduceFragment(hopper::ReduceAddOp op);
  void emitReduceRows(hopper::ReduceAddOp op);
  // LowerCopies.cpp.
  Value getRow(hopper::PutOp op, Value rowInTile);
  SmallVector<Value> getOwnRows(hopper::PutOp op);
  void emitCopyIn(hopper::PutOp op, Value sharedTile, Value full);
  void emitAsyncCopyIn(hopper::PutOp op, Value sharedTile, ArrayRef<Value> rows,
                       Value full);
  void emitCopyOut(hopper::StoreOp op, const TileView &tile);
  Value getHeadPointer(const BufferParameter &buffer, Value batch, Value head);
  void forEachSegment(const BufferParameter &buffer, int64_t columns,
                      int64_t chunkBytes, Value shared, Value head, Value row,
                      Value rowInTile,
                      function_ref<void(Value, Value, Value)> copy);

  Value getStage(Value number, int64_t stages);
  Value getPhase(Value number, int64_t stages);
  Value getBarrier(int64_t offset, Value stage);
  Value getSharedPointer(const TileView &tile, int64_t offset);
  Value getSharedAddress(const TileView &tile);
  void emitGroupBarrier();
  void emitNamedBarrier(Value id, int64_t threads);
  void emitProxyFence();
  void emitIfThen(Value condition, function_ref<void()> body);

  // Short forms.
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value f32(double value);
  Value zext64(Value value);
  Value intrinsic(StringRef name, ValueRange operands, Type type);
  Value shuffle(Value value, int64_t lane);
  Elements &get(Value value);
  static int64_t getCount(Type type);
  Type getElementType(Type type);

  ImplicitLocOpBuilder b;
  gpu::GPUFuncOp kernel;
  hopper::WarpSpecializeOp roles;
  bool accurateTanh;
  LLVM::LLVMFuncOp function;
  SmallVector<Attribute> params;
  int64_t sharedBytes = 0, numBarrierBytes = 0;

  DenseMap<Value, Elements> values;
  DenseMap<Value, SmallVector<IndexElement>> indices;
  /// Floats that are a sum of a value and a constant.
  DenseMap<Value, SmallVector<FloatSum>> floatSums;
  /// Conditions on positions.
  DenseMap<Value, SmallVector<Limits>> limits;
  /// The index that an integer was cast from.
  DenseMap<Value, SmallVector<IndexElement>> castIndices;
  DenseMap<Value, Interval> intervals;
  /// What bases of positions may be.
  DenseMap<Value, Interval> bases;
  DenseMap<Value, TileView> tiles;
  DenseMap<Value, BufferParameter> buffers;
  /// Channels, tiles and mailboxes; the tile of a mailbox is its numbers.
  DenseMap<Value, SharedTile> shared;
  /// Matrix descriptors of the first stage, by offset and leading bytes.
  DenseMap<std::pair<int64_t, uint64_t>, Value> descriptors;
  /// The first of the named barriers of turns.
  llvm::MapVector<Value, int64_t> turnBarriers;
  /// The named barriers of partitions.
  llvm::StringMap<int64_t> syncBarriers;

  // Of the partition.
  hopper::PartitionAttr partition;
  int64_t firstGroup = 0;
  Operation *partitionStart = nullptr;
  bool stores = false;

  // Of the thread: its number among those of a replica's warpgroup, and the
  // number of the replica, among others.
  Value threadId, sharedBase, sharedInt, group, groupThread, warpgroup, lane,
      warp, isLane0, isLeader, isGroupLeader, quad, row;
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADPROGRAM_H
