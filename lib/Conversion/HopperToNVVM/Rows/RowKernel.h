//===- RowKernel.h - Single queries on a GPU --------------------*- C++ -*-===//
//
// Emits the program of one thread for a loop over single queries whose keys and
// values are gathered. A warp has a query, or several next to each other, for
// which it reads the keys that one of them needs once. Its lanes form groups of
// `lanes`, each of which reads the row of one key at a time, 16 bytes a lane:
//
//   lane = lanes * g + r      columns E * (lanes * c + r) + {0 ... E - 1} of
//                             chunk c, with E elements in 16 bytes
//   32 keys of a step         substep s of group g has key
//                             s * (32 / lanes) + g, whose score, and all that
//                             regions compute of it, is in the lane with r = s
//
// So eight rows are in flight together in each group; with more lanes, a loop
// goes over the substeps. What depends on a key is computed once. Products are
// summed over the lanes of a group by rounds of shuffles that halve the number
// of sums; the accumulator is summed over groups once, at the end of the list.
//
// Costs of a pair (i, j), without captures: (Dqk + Dv) * size bytes of k and v,
// and the 4 or 8 bytes of its column, from the L2 cache, as k and v of a head
// stay there. With D = 64 and 16 bits that is 260 bytes, and about 16
// instructions of a warp: on an H200, at 5.5 TB/s, 21 pairs in a nanosecond by
// bytes, and about 58 by instructions. From memory come only q, o, lse and the
// lists, and k and v once. Without lists, the bytes are shared by the queries
// of a warp; with four of f32, as many cycles go to them as to the products.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_HOPPERTONVVM_ROWS_ROWKERNEL_H
#define ATTN_LIB_CONVERSION_HOPPERTONVVM_ROWS_ROWKERNEL_H

#include "attn/Dialect/Attn/IR/AttnTile.h"
#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "attn/Dialect/ScalarBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include <vector>

namespace mlir::attn {

class RowKernel {
public:
  /// `grid` is the loop in `function`.
  RowKernel(OpBuilder &builder, func::FuncOp function, scf::ForallOp grid,
            RowScheduleAttr schedule, bool accurateTanh);

  /// Replaces the function by a module with a kernel.
  LogicalResult emit();

private:
  /// Elements of a row that a lane has: by chunk, then by element.
  using Columns = SmallVector<Value>;
  /// The rows of a tensor that a step gathers.
  struct GatheredRows {
    unsigned argument = 0;
    Type elementType;
    int64_t numColumns = 0;
    unsigned rowDim = 0, columnDim = 0;
    /// The tile values: which rows, and which of them there are.
    Value rows, mask;
    /// The first element that this lane reads of row 0.
    Value pointer;
  };

  /// One of the queries of this warp.
  struct Query {
    IRMapping mapping;
    /// Values with an element for each column, in this lane.
    DenseMap<Value, Columns> columns;
    /// Whether there is such a query; null for the first one.
    Value exists;

    /// What this lane has of some values.
    void appendParts(SmallVectorImpl<Value> &parts, ValueRange values) const;
    /// Takes what this lane has of values off `parts`, as much as it has of
    /// other ones.
    void setParts(ValueRange values, ValueRange like, ValueRange &parts);
  };

  // RowKernel.cpp
  LogicalResult checkFunction();
  LogicalResult emitGrid();
  LogicalResult emitBlock(Block &block);
  LogicalResult emitOp(Operation &op);
  LogicalResult emitOfQuery(Operation &op);
  LogicalResult forEachQuery(function_ref<LogicalResult()> emit);
  LogicalResult emitDim(Operation &op);
  LogicalResult emitGather(GatherOp op);
  LogicalResult emitResults();
  LogicalResult emitRowResult(Value vector, unsigned argument,
                              ArrayRef<OpFoldResult> offsets);
  LogicalResult emitColumnResult(vector::TransferWriteOp write,
                                 unsigned argument,
                                 ArrayRef<OpFoldResult> offsets);
  FailureOr<Value> evaluateColumn(Value value, unsigned number);
  void mapScalars();
  void finish();

  // RowKernelKeys.cpp
  LogicalResult emitKeys(scf::ForOp op);
  LogicalResult emitNeeded(scf::IfOp op);
  FailureOr<SmallVector<Value>> emitKeyLoop(scf::ForOp op, int64_t numOwn);
  LogicalResult emitContract(vector::ContractionOp op);
  LogicalResult emitStep(OnlineStepOp op);
  void emitAny(vector::ReductionOp op);
  Value getNumberInStep();
  FailureOr<Value> getOfKey(Value value);
  LogicalResult emitProducts(vector::ContractionOp op,
                             const GatheredRows &rows);
  LogicalResult emitValues(vector::ContractionOp op, const GatheredRows &rows);
  /// How many keys a group reads at a time, and whether a loop goes over them.
  int64_t getSubstepsAtOnce() const { return std::min<int64_t>(lanes, 8); }
  bool hasSubstepLoop() const { return lanes > getSubstepsAtOnce(); }
  SmallVector<Value> emitSubsteps(
      ValueRange inits,
      function_ref<SmallVector<Value>(Value first, ValueRange carried)> body);
  Value getLaneOf(Value first, int64_t number);

  // RowKernelLoads.cpp
  FailureOr<GatheredRows> getRows(vector::ContractionOp op);
  LogicalResult loadQuery(vector::ContractionOp op);
  /// What this lane has of the row of a key, in f32.
  Columns loadRow(const GatheredRows &rows, Value key);
  /// The same of any row, of which `pointer` is this lane's first element.
  Columns loadColumns(const GatheredRows &rows, Value pointer, Value condition);
  /// 16 bytes of global memory, or 0, as f32.
  Columns loadChunk(Value pointer, Value condition, Type element);
  Value getOwnKey(const GatheredRows &rows);
  Value getKey(const GatheredRows &rows, Value first, int64_t number);
  Value getColumnOffset(int64_t chunk, int64_t numElements);
  Value isInColumns(int64_t chunk, int64_t numElements, int64_t numColumns);
  Value isInRow(int64_t chunk, int64_t numElements, int64_t number,
                int64_t numColumns);
  /// Whether 16 bytes may be read or written at a time, as i1.
  Value isAligned(unsigned argument, unsigned columnDim);
  int64_t getNumChunks(Type element, int64_t numColumns) const;
  /// How many elements of a row this lane has.
  int64_t getNumOwn(const GatheredRows &rows) const;

  /// The argument of the function that a tensor is.
  FailureOr<unsigned> getArgument(Value tensor, Operation *user);
  /// Parameters of the kernel, made when they are needed.
  Value getParam(StringRef kind, unsigned argument, Type type,
                 int64_t dim = -1);
  Value getPointer(unsigned argument);
  Value getStride(unsigned argument, unsigned dim);
  Value getExtent(unsigned argument, unsigned dim);
  /// The address of an element, at positions of i64.
  Value getAddress(unsigned argument, ArrayRef<Value> position);
  Value emitLoad(Value address, Value condition, Type element);
  Value offsetPointer(Value pointer, Value bytes);

  Value toIndex(Value value) {
    return arith::IndexCastUIOp::create(b, b.getIndexType(), value);
  }
  Value toI64(Value value) {
    return arith::IndexCastOp::create(b, b.getI64Type(), value);
  }
  Value toI64(OpFoldResult value);
  Value shuffle(Value value, Value lane, bool isXor);
  Value shuffleXor(Value value, int64_t distance) {
    return shuffle(value, b.i32(distance), /*isXor=*/true);
  }

  ScalarBuilder b;
  func::FuncOp function;
  scf::ForallOp grid;
  RowScheduleAttr schedule;
  bool accurateTanh;
  LLVM::LLVMFuncOp kernel;
  SmallVector<Attribute> params;
  SmallVector<Type> paramTypes;
  DenseMap<std::tuple<Attribute, unsigned, int64_t>, Value> knownParams;
  /// Those of this warp, and that for which an operation is emitted.
  std::vector<Query> queries;
  Query *query;
  /// What the keys are gathered from.
  unsigned keyDim = 0;
  std::optional<unsigned> keyArgument;
  /// By which rows, and which of them there are: positions in this group, one
  /// for each substep, as i32, -1 for those that there are not.
  DenseMap<std::pair<Value, Value>, SmallVector<Value>> stepKeys;
  /// Whether 16 bytes are read at a time.
  bool isWide = true;
  int64_t lanes;
  // Of the thread.
  Value lane, laneInGroup, group, warp;
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_HOPPERTONVVM_ROWS_ROWKERNEL_H
