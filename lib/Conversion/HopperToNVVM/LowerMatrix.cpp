//===- LowerMatrix.cpp - Matrix instructions ------------------------------===//
//
// Encodings of descriptors and fragments: PTX ISA, "Asynchronous Warpgroup
// Level Matrix Instructions".
//
//===----------------------------------------------------------------------===//

#include "ThreadProgram.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

/// Bytes of eight rows of a chunk, in which the swizzle repeats.
static constexpr int64_t kAtomBytes = 8 * kRowBytes;
/// The reduced extent of one instruction, and the bytes of its elements.
static constexpr int64_t kStep = 16, kStepBytes = 32;
static constexpr int64_t kStepsInChunk = kRowBytes / kStepBytes;

SmallVector<Value> ThreadProgram::emitAsm(StringRef text, StringRef constraints,
                                          ValueRange operands,
                                          TypeRange results) {
  Type type = results.size() == 1
                  ? results[0]
                  : Type(LLVM::LLVMStructType::getLiteral(
                        b.getContext(), SmallVector<Type>(results)));
  if (results.empty())
    type = {};
  auto op = LLVM::InlineAsmOp::create(
      b, type ? TypeRange(type) : TypeRange(), operands, text, constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
  SmallVector<Value> list;
  if (results.size() == 1)
    list.push_back(op.getResult(0));
  else
    for (size_t number = 0; number < results.size(); ++number)
      list.push_back(LLVM::ExtractValueOp::create(b, op.getResult(0), number));
  return list;
}

/// A tile as an operand in shared memory. `leadingBytes` is the distance of
/// chunks where they lie along the other extent than the reduced one.
Value ThreadProgram::getDescriptor(const TileView &tile,
                                   uint64_t leadingBytes) {
  Value &base = descriptors[{tile.shared->offset, leadingBytes}];
  if (!base) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(partitionStart);
    uint64_t high = uint64_t(1) << 62 | uint64_t(kAtomBytes >> 4) << 32 |
                    (leadingBytes >> 4) << 16;
    Value address =
        arith::AddIOp::create(b, sharedInt, i32(tile.shared->offset));
    Value field = arith::ShRUIOp::create(
        b, arith::AndIOp::create(b, address, i32(0x3FFFF)), i32(4));
    base =
        arith::OrIOp::create(b, zext64(field), i64(static_cast<int64_t>(high)));
  }
  Value result = base;
  for (auto [number, bytes] : tile.offsets)
    result = arith::AddIOp::create(
        b, result, zext64(arith::MulIOp::create(b, number, i32(bytes >> 4))));
  return result;
}

void ThreadProgram::emitMma(hopper::MmaOp op) {
  hopper::TileType rhs = op.getRhs().getType();
  int64_t outer = op.getResult().getType().getVector().getDimSize(0);
  bool isTransposed = op.getRhsTransposed();
  bool isLhsTransposed = op.getLhsTransposed();
  auto lhsTile = dyn_cast<hopper::TileType>(op.getLhs().getType());
  int64_t inner = isTransposed ? rhs.getRows() : rhs.getColumns();
  int64_t numSteps = llvm::divideCeil(inner, kStep);
  int64_t numAcc = outer / 2;
  auto getTileDescriptor = [&](Value tile, bool isTransposed) {
    auto type = cast<hopper::TileType>(tile.getType());
    return getDescriptor(tiles.at(tile),
                         isTransposed ? type.getParentRows() * kRowBytes : 16);
  };
  Value rhsDescriptor = getTileDescriptor(op.getRhs(), isTransposed);
  Value lhsDescriptor;
  if (lhsTile)
    lhsDescriptor = getTileDescriptor(op.getLhs(), isLhsTransposed);
  Elements acc, lhs;
  if (op.getAcc())
    acc = get(op.getAcc());
  if (!lhsTile)
    lhs = get(op.getLhs());

  // Bytes to step `step` of an operand, whose rows or chunks lie along the
  // reduced extent.
  auto getOffset = [](int64_t step, int64_t rows, bool isTransposed) {
    return isTransposed ? step * kStep * kRowBytes
                        : step / kStepsInChunk * rows * kRowBytes +
                              step % kStepsInChunk * kStepBytes;
  };
  auto addBytes = [&](Value descriptor, int64_t bytes) {
    return addOffset(descriptor, bytes >> 4);
  };
  StringRef type = rhs.getElementType().isBF16() ? "bf16" : "f16";
  // Half a step meets columns that read as 0. A constant could be put into its
  // register after the fence.
  auto numLhs = static_cast<size_t>(4 * numSteps);
  if (!lhsTile && lhs.size() < numLhs)
    lhs.resize(numLhs,
               emitAsm("mov.b32 $0, 0;", "=r", {}, b.getI32Type()).front());
  SmallVector<Type> results(numAcc, b.getF32Type());
  for (int64_t step = 0; step < numSteps; ++step) {
    std::string text, constraints;
    llvm::raw_string_ostream os(text), constraint(constraints);
    for (int64_t e = 0; e < numAcc; ++e)
      constraint << "=f,";
    SmallVector<Value> operands;
    operands.push_back(addBytes(
        rhsDescriptor, getOffset(step, rhs.getParentRows(), isTransposed)));
    constraint << "l";
    os << "{ .reg .pred p; setp." << (acc.empty() ? "ne" : "eq")
       << ".b32 p, 0, 0; ";
    if (step == 0)
      os << "wgmma.fence.sync.aligned; ";
    os << "wgmma.mma_async.sync.aligned.m64n" << outer << "k16.f32." << type
       << "." << type << " {";
    for (int64_t e = 0; e < numAcc; ++e)
      os << (e ? "," : "") << "$" << e;
    os << "}, ";
    if (lhsTile) {
      operands.push_back(
          addBytes(lhsDescriptor,
                   getOffset(step, lhsTile.getParentRows(), isLhsTransposed)));
      constraint << ",l";
      os << "$" << numAcc + 1;
    } else {
      os << "{";
      for (int64_t e = 0; e < 4; ++e) {
        operands.push_back(lhs[4 * step + e]);
        constraint << ",r";
        os << (e ? "," : "") << "$" << numAcc + 1 + e;
      }
      os << "}";
    }
    os << ", $" << numAcc << ", p, 1, 1, ";
    if (lhsTile)
      os << (isLhsTransposed ? 1 : 0) << ", ";
    os << (isTransposed ? 1 : 0) << ";";
    if (step + 1 == numSteps)
      os << " wgmma.commit_group.sync.aligned;";
    os << " }";
    // Accumulators stay where they are.
    for (auto [e, value] : llvm::enumerate(acc)) {
      constraint << "," << e;
      operands.push_back(value);
    }
    acc = emitAsm(text, constraints, operands, results);
  }
  values[op.getResult()] = acc;
}

void ThreadProgram::emitWait(hopper::WaitOp op) {
  Elements acc;
  for (Value pending : op.getPending())
    llvm::append_range(acc, get(pending));
  std::string constraints;
  llvm::raw_string_ostream os(constraints);
  for (size_t e = 0; e < acc.size(); ++e)
    os << (e ? "," : "") << "=f";
  for (size_t e = 0; e < acc.size(); ++e)
    os << "," << e;
  SmallVector<Type> types(acc.size(), b.getF32Type());
  SmallVector<Value> done = emitAsm(
      ("wgmma.wait_group.sync.aligned " + Twine(op.getInFlight()) + ";").str(),
      constraints, acc, types);
  ArrayRef<Value> rest = done;
  for (Value result : op.getValues()) {
    int64_t count = getCount(result.getType());
    values[result] = Elements(rest.take_front(count));
    rest = rest.drop_front(count);
  }
}

/// Loads two neighbours of each of two rows for 8 columns at a time: rows
/// lane / 4 and 8 below, columns lane % 4 * 2 and the next one.
void ThreadProgram::emitLoadPairs(hopper::LoadFragmentOp op) {
  hopper::TileType type = op.getTile().getType();
  Type element = type.getElementType();
  int64_t size = hopper::getElementBytes(element);
  int64_t chunkColumns = hopper::getChunkColumns(element);
  // The first columns of a thread; those of other groups of 8 differ in the
  // bits that are the segment of 16 bytes, which are swizzled, and in
  // constants.
  constexpr int64_t segmentBytes = 16, numSegments = 8;
  Value inRow =
      arith::AddIOp::create(b, arith::MulIOp::create(b, row, i32(kRowBytes)),
                            arith::MulIOp::create(b, quad, i32(2 * size)));
  Value swizzle = arith::MulIOp::create(
      b, arith::AndIOp::create(b, row, i32(numSegments - 1)),
      i32(segmentBytes));
  Value first = arith::XOrIOp::create(b, inRow, swizzle);
  Value base = getSharedPointer(tiles.at(op.getTile()), 0);
  Type pair =
      size == 4 ? Type(VectorType::get({2}, element)) : Type(b.getI16Type());
  Elements list;
  for (int64_t column = 0; column < type.getColumns(); column += 8) {
    int64_t bytes = column % chunkColumns * size;
    Value offset = arith::XOrIOp::create(
        b, first, i32(llvm::alignDown(bytes, segmentBytes)));
    Value start = offsetPointer(b, base, offset);
    int64_t chunk = column / chunkColumns * type.getParentRows() * kRowBytes;
    for (int64_t half : {0, 1}) {
      int64_t constant = chunk + bytes % segmentBytes + half * 8 * kRowBytes;
      Value both =
          LLVM::LoadOp::create(b, pair, offsetPointer(b, start, i32(constant)));
      for (int64_t e : {0, 1}) {
        if (size == 4) {
          list.push_back(LLVM::ExtractElementOp::create(b, both, i32(e)));
          continue;
        }
        Value byte = e == 0
                         ? both
                         : arith::ShRUIOp::create(
                               b, both, arith::ConstantIntOp::create(b, 8, 16))
                               .getResult();
        byte = arith::TruncIOp::create(b, b.getI8Type(), byte);
        if (element.isInteger(1))
          byte = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, byte,
                                       arith::ConstantIntOp::create(b, 0, 8));
        list.push_back(byte);
      }
    }
  }
  values[op.getResult()] = list;
  // All threads of the warp have read it before one of them releases it.
  NVVM::SyncWarpOp::create(b, i32(-1));
}

/// Lane l reads the row of matrix l / 8: rows 0-7 and 8-15 of the left and the
/// right half of 16 columns.
void ThreadProgram::emitLoadFragment(hopper::LoadFragmentOp op) {
  hopper::TileType type = op.getTile().getType();
  if (type.isVector())
    return emitLoadVector(op);
  if (hopper::getElementBytes(type.getElementType()) != 2)
    return emitLoadPairs(op);
  Value rows = arith::AddIOp::create(b, arith::AndIOp::create(b, lane, i32(15)),
                                     arith::MulIOp::create(b, warp, i32(16)));
  Value half = arith::ShRUIOp::create(b, lane, i32(4));
  Value swizzle = arith::AndIOp::create(b, lane, i32(7));
  Value start =
      arith::AddIOp::create(b, getSharedAddress(tiles.at(op.getTile())),
                            arith::MulIOp::create(b, rows, i32(kRowBytes)));
  Elements list;
  int64_t numSteps = llvm::divideCeil(type.getColumns(), kStep);
  for (int64_t step = 0; step < numSteps; ++step) {
    Value segment = arith::XOrIOp::create(
        b, addOffset(half, step % kStepsInChunk * 2), swizzle);
    Value address = arith::AddIOp::create(
        b,
        addOffset(start,
                  step / kStepsInChunk * type.getParentRows() * kRowBytes),
        arith::ShLIOp::create(b, segment, i32(4)));
    SmallVector<Type> types(4, b.getI32Type());
    llvm::append_range(
        list, emitAsm("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0,$1,$2,$3}, "
                      "[$4];",
                      "=r,=r,=r,=r,r", address, types));
  }
  // Of the last step there may be the first half alone.
  list.truncate(type.getColumns() / 4);
  values[op.getResult()] = list;
}

/// The first thread of the four that share a row has the parts 0 and 1 of it,
/// the second one part 2.
void ThreadProgram::emitSplit(hopper::SplitOp op) {
  Type element = cast<VectorType>(op.getResult().getType()).getElementType();
  auto round = [&](Value x) -> Value {
    Value rounded = arith::TruncFOp::create(b, element, x);
    return arith::ExtFOp::create(b, b.getF32Type(), rounded);
  };
  auto isThread = [&](int64_t number) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, quad,
                                 i32(number));
  };
  Elements list;
  for (Value x : Elements(get(op.getSource()))) {
    Value rest = arith::SubFOp::create(b, x, round(x));
    Value last = arith::SubFOp::create(b, rest, round(rest));
    Value other = arith::SelectOp::create(
        b, isThread(1), packPair(last, f32(0), element), i32(0));
    list.push_back(arith::SelectOp::create(b, isThread(0),
                                           packPair(x, rest, element), other));
  }
  values[op.getResult()] = list;
}
