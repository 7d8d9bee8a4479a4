//===- ThreadBuilder.h - What lowers a kernel to a thread -------*- C++ -*-===//
//
// What is known of a kernel before its operations become those of a thread,
// and a builder with which they do.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADS_THREADBUILDER_H
#define ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADS_THREADBUILDER_H

#include "Fragment.h"
#include "IndexRanges.h"
#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "attn/Dialect/ScalarBuilder.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::attn {

/// Bytes of a row of a chunk of columns, which are swizzled.
inline constexpr int64_t kRowBytes = 128;
/// Bytes of an element of a vector in shared memory.
inline constexpr int64_t kVectorBytes = 4;
/// Elements of i1 in a word of a vector.
inline constexpr int64_t kVectorBits = 32;
/// Bytes that are swizzled together, and that a thread copies at a time.
inline constexpr int64_t kSegmentBytes = 16;
/// Tiles with swizzled rows start at multiples of this.
inline constexpr int64_t kTileAlignment = 1024;
/// Messages that a work queue holds.
inline constexpr int64_t kWorkQueueSlots = 2;

using Elements = SmallVector<Value>;

/// What `make` gives for each element of the operands, which have one element,
/// that is for all, or as many as others.
Elements mapElements(ArrayRef<ValueRange> operands,
                     function_ref<Value(ValueRange)> make);

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

/// A condition: `lower <= position && position <= upper && rest`, where a bound
/// that is null does not bound. Bounds are i32 and are the same for many
/// elements.
struct Limits {
  int64_t position = 0;
  Value lower, upper;
  /// Another condition that must hold, too, or null.
  Value rest;
};

/// What divides: an i32, or a constant where that is null.
struct Divisor {
  Value value;
  int64_t constant = 0;

  bool operator==(const Divisor &other) const {
    return value == other.value && constant == other.constant;
  }
};

/// What an i32 is the remainder of, where neither is negative.
struct Remainder {
  IndexElement dividend;
  Divisor divisor;
};

/// What the base of positions may be: multiples of a number, up to another one.
struct PositionBase {
  int64_t most = 0, multiple = 1;
};

/// What values of a thread are, besides what their operations say: it holds
/// from the operation on that makes a value.
struct ThreadFacts {
  /// Integers that are indices, or were.
  DenseMap<Value, IndexElement> sums;
  DenseMap<Value, FloatSum> floatSums;
  DenseMap<Value, Limits> limits;
  DenseMap<Value, Remainder> remainders;
  /// Of booleans, the i32 whose lowest bit they are.
  DenseMap<Value, Value> bytes;
  /// What bases of positions may be.
  DenseMap<Value, PositionBase> bases;
  /// What uses compute again by themselves, from what it is made of.
  DenseSet<Operation *> repeated;
};

/// A buffer, or a strided map, which has the strides of batch, head and row,
/// and the number of rows as its one extent.
struct BufferParameter {
  Value pointer;
  /// Bytes are strides times the element's size; null for 1.
  SmallVector<Value> strides;
  SmallVector<IndexElement> extents;
};

/// A channel, a work queue, turns or a tile in shared memory.
struct SharedTile {
  /// Bytes from the start of shared memory.
  int64_t offset = 0;
  int64_t bytes = 0;
  // Of a channel, the barriers of the first stage, and its payload; of turns,
  // those of the first replica. There are so many barriers of each of the two.
  int64_t fullBarrier = 0, emptyBarrier = 0, numBarriers = 0, payload = 0;
  /// How many arrivals make a tile full, and free.
  int64_t fullArrivals = 1, emptyArrivals = 1;
  /// Whether tiles arrive as writes by threads, which matrix instructions do
  /// not see by themselves.
  bool isWrittenByThreads = false;
  /// Whether stages are columns of the same rows.
  bool isBesideOthers = false;
};

/// Where a tile is, as the two numbers that a thread has for it: bytes from the
/// start of shared memory, a constant as a rule, and from there multiples of
/// kSegmentBytes. Both are i32.
struct TileView {
  Value start, segments;
};

/// The named barrier of the first warpgroup; each has one. 0 is for all
/// threads, and those in between are for ping-pong.
inline constexpr int64_t kGroupBarrier = 7;

/// Where a kernel has what in shared memory, and which named barriers.
class SharedLayout {
public:
  /// Fails with a diagnostic where there are too few barriers.
  LogicalResult assign(hopper::WarpSpecializeOp specialize);

  /// Of a channel, a work queue, whose tile is its numbers, or a tile.
  const SharedTile &get(Value value) const { return tiles.at(value); }
  int64_t getBytes() const { return sharedBytes; }
  /// The named barrier of the first replica that takes turns.
  int64_t getPingPongBarrier(Value pingPong) const {
    return pingPongBarriers.find(pingPong)->second;
  }
  ArrayRef<std::pair<Value, int64_t>> getPingPong() const {
    return pingPongBarriers.getArrayRef();
  }

private:
  LogicalResult assignBarriers(hopper::WarpSpecializeOp specialize);
  void placeBarriers(SharedTile &tile, int64_t count);
  void layOutRing(hopper::WarpSpecializeOp specialize, Value ring);
  void layOutTurns(hopper::WarpSpecializeOp specialize, Value turns);
  void layOutMemory(hopper::WarpSpecializeOp specialize);

  DenseMap<Value, SharedTile> tiles;
  int64_t sharedBytes = 0, numBarrierBytes = 0;
  llvm::MapVector<Value, int64_t> pingPongBarriers;
};

/// With which numbers of up to 31 bits are divided: the quotient of n is
/// 2 n * factor >> 32 >> shift.
struct Reciprocal {
  /// i32, or null where there is none.
  Value factor, shift;
  /// What divides, or its absolute value, with -1 as `sign` if it is negative
  /// and 0 if not.
  Value divisor, sign;
};

/// The values that a thread has from the start of its partition on, or of the
/// kernel.
struct Thread {
  hopper::PartitionAttr partition;
  int64_t firstGroup = 0;
  /// The number among all threads, among those of a replica's warpgroup, and
  /// the number of the replica, among others.
  Value id, sharedBase, sharedInt, group, inGroup, warpgroup, lane, warp,
      isLane0, isLeader, isGroupLeader, quad, row;
  /// Descriptors and reciprocals go before this.
  Operation *start = nullptr;
  /// Matrix descriptors of the first stage, by offset and leading bytes.
  DenseMap<std::pair<int64_t, uint64_t>, Value> descriptors;
  /// What reciprocals are computed from, there.
  SmallVector<Operation *> early;
  /// Of divisors with a sign, and of those without.
  DenseMap<Value, Reciprocal> reciprocals[2];
  /// Of what divides, bits of the remainders of distances (PositionBits.h).
  DenseMap<Value, SmallVector<Value>> remainderBits;
};

/// What is known of a kernel while its operations are lowered.
struct Kernel {
  Kernel(LLVM::LLVMFuncOp function, bool accurateTanh);

  /// The thread that runs an operation.
  Thread &getThread(Operation *op);

  LLVM::LLVMFuncOp function;
  /// Of a kernel whose threads are not all alike.
  hopper::WarpSpecializeOp specialize;
  int64_t numThreads = 0;
  SharedLayout shared;
  IndexRanges ranges;
  /// Whether a loop has more products than a forward pass, whose descriptors
  /// there are too few uniform registers for.
  bool hasManyProducts;
  ThreadFacts facts;
  /// Outside of partitions, and in each region of `specialize`.
  Thread all;
  DenseMap<Region *, Thread> threads;
  bool accurateTanh;
};

/// Builds operations of a thread.
class ThreadBuilder : public ScalarBuilder {
public:
  ThreadBuilder(OpBuilder &builder, Location loc, Kernel &kernel,
                Thread &thread)
      : ScalarBuilder(loc, builder), kernel(kernel), thread(thread) {}
  /// In place of `op`.
  ThreadBuilder(OpBuilder &builder, Operation *op, Kernel &kernel)
      : ThreadBuilder(builder, op->getLoc(), kernel, kernel.getThread(op)) {}

  Value intrinsic(StringRef name, ValueRange operands, Type type);
  /// The value of the lane whose number differs in the bits of `lanes`.
  Value shuffle(Value value, int64_t lanes);
  /// The value of the first lane.
  Value broadcast(Value value);
  Value addOffset(Value value, int64_t offset);
  Value offsetPointer(Value base, Value offset);
  Value offsetPointer(Value base, int64_t offset);
  /// Always, if the condition is null.
  void ifThen(Value condition, function_ref<void()> body);
  /// Instructions that do more than compute their results.
  SmallVector<Value> asmOp(StringRef text, StringRef constraints,
                           ValueRange operands, TypeRange results);
  /// An integer of so many bits in global memory, which no one writes, or 0
  /// where a condition does not hold and nothing is read. A byte is an i32, so
  /// that its register needs no conversion.
  Value loadGlobal(Value address, Value condition, unsigned bits);
  /// The boolean that is the lowest bit of an i32, of which this is noted.
  Value toBool(Value byte);
  /// Whether a bit of a word is set.
  Value testBit(Value word, int64_t bit);
  /// Two floats of 16 bits in one register, the first in the lower half.
  Value packPair(Value low, Value high, Type element);
  /// What rounding an f32 to `element` leaves of it.
  Value getRest(Value value, Type element);

  // Indices.
  IndexElement getIndex(Value value) const;
  SmallVector<IndexElement> getIndices(ValueRange values) const;
  /// Equal for indices that are known to be equal, and for equal values; of a
  /// constant it is that.
  std::array<int64_t, 2> getKey(IndexElement index) const;
  /// The indices that integers were cast from, where that is known.
  FailureOr<SmallVector<IndexElement>> getCastIndices(ValueRange values) const;
  /// The position that one index for each dimension is.
  SmallVector<IndexElement> getPosition(ArrayRef<ValueRange> indices) const;
  /// An index as i32 or i64; of a value that is known to fit, for i32.
  Value toInt(IndexElement index, unsigned bits);
  Value toInt(ValueRange index, unsigned bits) {
    return toInt(getIndex(index.front()), bits);
  }
  /// Notes that uses of a value compute it again, from a base or null.
  void markRepeated(Value value, Value base);
  /// An index as a value, of which it is known that it is a sum.
  Value toIndex(IndexElement index);
  Elements toIndices(ArrayRef<IndexElement> list);

  // Buffers.
  BufferParameter getBuffer(Type type, ValueRange values);
  /// The address of an element of so many bytes.
  Value getAddress(const BufferParameter &buffer, ArrayRef<IndexElement> index,
                   unsigned bytes);

  Kernel &kernel;
  Thread &thread;
};

/// The same, once for elements whose operands are known to be equal, as those
/// on a diagonal of what depends on the distance of query and key. They have
/// one value then, so that what is made of it is known to be equal as well.
Elements mapEqualElements(ThreadBuilder &b, ArrayRef<ValueRange> operands,
                          function_ref<Value(ValueRange)> make);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADS_THREADBUILDER_H
