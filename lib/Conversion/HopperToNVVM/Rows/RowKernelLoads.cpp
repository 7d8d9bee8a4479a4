//===- RowKernelLoads.cpp - Rows of keys in the lanes of a warp -----------===//

#include "RowKernel.h"
#include "ScalarMath.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"

using namespace mlir;
using namespace mlir::attn;

/// Bytes that a lane reads at a time.
static constexpr int64_t kChunkBytes = 16;

//===----------------------------------------------------------------------===//
// Columns of a lane
//===----------------------------------------------------------------------===//

static int64_t getNumElements(Type element) {
  return kChunkBytes * 8 / element.getIntOrFloatBitWidth();
}

int64_t RowKernel::getNumChunks(Type element, int64_t numColumns) const {
  return llvm::divideCeil(numColumns, lanes * getNumElements(element));
}

int64_t RowKernel::getNumOwn(const GatheredRows &rows) const {
  return getNumChunks(rows.elementType, rows.numColumns) *
         getNumElements(rows.elementType);
}

/// The first column of a chunk in this lane, as i32.
Value RowKernel::getColumnOffset(int64_t chunk, int64_t numElements) {
  Value first = b.mul(laneInGroup, numElements);
  if (chunk == 0)
    return first;
  return b.add(first, chunk * lanes * numElements);
}

/// Whether this lane has columns of a chunk, or null if all lanes do.
Value RowKernel::isInColumns(int64_t chunk, int64_t numElements,
                             int64_t numColumns) {
  if ((chunk + 1) * lanes * numElements <= numColumns)
    return {};
  return b.ult(getColumnOffset(chunk, numElements), numColumns);
}

/// Whether an element of a chunk is in the row, or null if that is known of the
/// chunk as a whole.
Value RowKernel::isInRow(int64_t chunk, int64_t numElements, int64_t number,
                         int64_t numColumns) {
  if (numColumns % numElements == 0)
    return {};
  Value column = b.add(getColumnOffset(chunk, numElements), number);
  return b.ult(column, numColumns);
}

Value RowKernel::isAligned(unsigned argument, unsigned columnDim) {
  auto type = cast<RankedTensorType>(function.getArgument(argument).getType());
  if (columnDim + 1 != type.getRank())
    return b.i1(false);
  Value bits =
      LLVM::PtrToIntOp::create(b, b.getI64Type(), getPointer(argument));
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  // The last piece of a row has all its elements.
  if (type.getDimSize(columnDim) * bytes % kChunkBytes != 0)
    return b.i1(false);
  for (unsigned dim = 0; dim < columnDim; ++dim)
    bits = b.orI(bits, b.mul(getStride(argument, dim), bytes));
  bits = b.andI(bits, kChunkBytes - 1);
  return b.eq(bits, 0);
}

RowKernel::Columns RowKernel::loadChunk(Value pointer, Value condition,
                                        Type element) {
  SmallVector<Type> words(4, b.getI32Type());
  // Not read unless the predicate holds.
  Value loaded = emitPureAsm(
      b,
      "{ mov.b32 $0, 0; mov.b32 $1, 0; mov.b32 $2, 0; mov.b32 $3, 0; "
      "@$5 ld.global.nc.v4.b32 {$0, $1, $2, $3}, [$4]; }",
      "=&r,=&r,=&r,=&r,l,b", ValueRange{pointer, condition},
      LLVM::LLVMStructType::getLiteral(b.getContext(), words));
  Columns list;
  for (int64_t number = 0; number < 4; ++number) {
    Value word = LLVM::ExtractValueOp::create(b, loaded, number);
    if (element.isF32()) {
      list.push_back(LLVM::BitcastOp::create(b, element, word));
    } else if (element.isBF16()) {
      // The upper half of a float.
      for (Value bits : {b.shl(word, 16), b.andI(word, 0xFFFF0000)})
        list.push_back(LLVM::BitcastOp::create(b, b.getF32Type(), bits));
    } else {
      Value both =
          LLVM::BitcastOp::create(b, VectorType::get({2}, element), word);
      for (int64_t half : {0, 1})
        list.push_back(LLVM::FPExtOp::create(
            b, b.getF32Type(),
            LLVM::ExtractElementOp::create(b, both, b.i32(half))));
    }
  }
  return list;
}

RowKernel::Columns RowKernel::loadColumns(const GatheredRows &rows,
                                          Value pointer, Value condition) {
  Type element = rows.elementType;
  int64_t numElements = getNumElements(element);
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  auto type =
      cast<RankedTensorType>(function.getArgument(rows.argument).getType());
  Columns list;
  int64_t numChunks = getNumChunks(element, rows.numColumns);
  for (int64_t chunk = 0; chunk < numChunks; ++chunk) {
    Value active = condition;
    if (Value inColumns = isInColumns(chunk, numElements, rows.numColumns))
      active = b.andI(active, inColumns);
    int64_t first = chunk * lanes * numElements;
    if (isWide) {
      Value at = offsetPointer(pointer, b.i64(first * bytes));
      llvm::append_range(list, loadChunk(at, active, element));
      continue;
    }
    for (int64_t e = 0; e < numElements; ++e) {
      Value offset = b.i64((first + e) * bytes);
      if (rows.columnDim + 1 != type.getRank())
        offset = b.mul(offset, getStride(rows.argument, rows.columnDim));
      Value exists = active;
      if (Value inRow = isInRow(chunk, numElements, e, rows.numColumns))
        exists = b.andI(active, inRow);
      Value value = emitLoad(offsetPointer(pointer, offset), exists, element);
      if (!element.isF32())
        value = arith::ExtFOp::create(b, b.getF32Type(), value);
      list.push_back(value);
    }
  }
  return list;
}

//===----------------------------------------------------------------------===//
// Rows of a step
//===----------------------------------------------------------------------===//

FailureOr<RowKernel::GatheredRows>
RowKernel::getRows(vector::ContractionOp op) {
  // Rows are converted to f32 where they are read.
  Value tile = op.getLhs();
  if (auto extend = tile.getDefiningOp<arith::ExtFOp>())
    tile = extend.getIn();
  auto gather = tile.getDefiningOp<GatherRowsOp>();
  if (!gather)
    return op.emitError("expects a product with rows of attn.gather_rows");
  FailureOr<unsigned> argument = getArgument(gather.getSource(), op);
  if (failed(argument))
    return failure();
  auto type = cast<VectorType>(gather.getType());
  GatheredRows rows;
  rows.argument = *argument;
  rows.elementType = type.getElementType();
  rows.numColumns = type.getDimSize(1);
  rows.rowDim = gather.getRowDim();
  rows.columnDim = gather.getColumnDim();
  rows.rows = gather.getRows();
  rows.mask = gather.getMask();
  if (!isa<BFloat16Type, Float16Type, Float32Type>(rows.elementType))
    return op.emitError("expects keys and values of bf16, f16 or f32 on a "
                        "GPU, but got ")
           << rows.elementType << "; convert them" << otherTarget;
  SmallVector<Value> position;
  for (Value index : gather.getPosition())
    position.push_back(index ? toI64(query->mapping.lookup(index)) : b.i64(0));
  position[rows.columnDim] =
      b.zext64(getColumnOffset(0, getNumElements(rows.elementType)));
  rows.pointer = getAddress(rows.argument, position);
  return rows;
}

/// The position of the key that this lane has, or -1.
Value RowKernel::getOwnKey(const GatheredRows &rows) {
  Value own = b.trunc32(toI64(query->mapping.lookup(rows.rows)));
  return b.select(query->mapping.lookup(rows.mask), own, b.i32(-1));
}

/// The position of the key of a substep, or -1.
Value RowKernel::getKey(const GatheredRows &rows, Value first, int64_t number) {
  if (hasSubstepLoop())
    return shuffle(getOwnKey(rows), getLaneOf(first, number), /*isXor=*/false);
  SmallVector<Value> &keys = stepKeys[{rows.rows, rows.mask}];
  if (keys.empty()) {
    Value own = getOwnKey(rows);
    for (int64_t substep = 0; substep < lanes; ++substep)
      keys.push_back(shuffle(own, getLaneOf(first, substep), /*isXor=*/false));
  }
  return keys[number];
}

RowKernel::Columns RowKernel::loadRow(const GatheredRows &rows, Value key) {
  Value exists = b.sge(key, 0);
  int64_t bytes = rows.elementType.getIntOrFloatBitWidth() / 8;
  auto type =
      cast<RankedTensorType>(function.getArgument(rows.argument).getType());
  Value rowBytes = b.i64(bytes);
  if (rows.rowDim + 1 != type.getRank())
    rowBytes = b.mul(getStride(rows.argument, rows.rowDim), rowBytes);
  Value pointer = offsetPointer(rows.pointer, b.mul(b.zext64(key), rowBytes));
  return loadColumns(rows, pointer, exists);
}

LogicalResult RowKernel::loadQuery(vector::ContractionOp op) {
  Value source = op.getRhs();
  if (auto cast = source.getDefiningOp<vector::ShapeCastOp>())
    source = cast.getSource();
  if (auto extend = source.getDefiningOp<arith::ExtFOp>())
    source = extend.getIn();
  auto read = source.getDefiningOp<vector::TransferReadOp>();
  if (!read)
    return op.emitError("expects a product with a query that is read as "
                        "attn-tile does");
  FailureOr<unsigned> argument = getArgument(read.getBase(), read);
  if (failed(argument))
    return failure();
  GatheredRows row;
  row.argument = *argument;
  row.elementType = read.getVectorType().getElementType();
  row.numColumns = read.getVectorType().getDimSize(0);
  row.columnDim = read.getPermutationMap().getDimPosition(0);
  SmallVector<Value> position;
  for (Value index : read.getIndices())
    position.push_back(toI64(query->mapping.lookup(index)));
  position[row.columnDim] =
      b.zext64(getColumnOffset(0, getNumElements(row.elementType)));
  Value exists = b.i1(true);
  if (Value mask = read.getMask())
    exists = query->mapping.lookup(mask);
  query->columns[op.getRhs()] =
      loadColumns(row, getAddress(row.argument, position), exists);
  return success();
}
