//===- LowerSums.cpp - Sums in global memory ------------------------------===//

#include "Shared/SharedMemory.h"
#include "ThreadPatterns.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Adds to memory, or stores where that is the first of all additions.
struct Reduction {
  ThreadBuilder &b;
  /// Null where there is no first one.
  Value isFirst;

  /// For floats that follow each other.
  void emit(Value address, ArrayRef<Value> elements) const;
};
} // namespace

void Reduction::emit(Value address, ArrayRef<Value> elements) const {
  std::string list, constraints = "l";
  for (size_t number = 1; number <= elements.size(); ++number) {
    list += (number == 1 ? "$" : ",$") + std::to_string(number);
    constraints += ",f";
  }
  std::string type = ".f32";
  if (elements.size() > 1) {
    type = ".v" + std::to_string(elements.size()) + type;
    list = "{" + list + "}";
  }
  std::string to = type + " [$0], " + list + ";";
  SmallVector<Value> operands = {address};
  llvm::append_range(operands, elements);
  std::string text = "red.global.add" + to;
  if (isFirst) {
    std::string first = "$" + std::to_string(operands.size());
    text = "@" + first + " st.global" + to + " @!" + first + " " + text;
    constraints += ",b";
    operands.push_back(isFirst);
  }
  b.asmOp(text, constraints, operands, {});
}

/// The four elements of 8 columns are neighbours, and those of all threads
/// follow each other.
static constexpr int64_t kGroupElements = 4;

/// Where those of the first 8 columns of a thread are.
static Value getFragmentAddress(hopper::ReduceAddOp op,
                                Operands<hopper::ReduceAddOp> in,
                                ThreadBuilder &b) {
  SmallVector<IndexElement> position = b.getPosition(in.getIndices());
  position.push_back({b.mul(b.thread.inGroup, kGroupElements), 0});
  return b.getAddress(b.getBuffer(op.getMemref().getType(), in.getMemref()),
                      position, /*bytes=*/4);
}

/// Where those from element `first` of a thread on are.
static Value getGroup(ThreadBuilder &b, Value base, size_t first) {
  return b.offsetPointer(
      base, b.i32(static_cast<int64_t>(first) * 4 * hopper::kWarpgroupThreads));
}

static void emitReduceFragment(hopper::ReduceAddOp op,
                               Operands<hopper::ReduceAddOp> in,
                               const Reduction &reduction) {
  ThreadBuilder &b = reduction.b;
  Value base = getFragmentAddress(op, in, b);
  Elements list(in.getVector());
  for (size_t first = 0; first < list.size(); first += kGroupElements)
    reduction.emit(getGroup(b, base, first),
                   ArrayRef(list).slice(first, kGroupElements));
}

//===----------------------------------------------------------------------===//
// The last addition
//===----------------------------------------------------------------------===//

namespace {
/// Threads that have the elements of a row of 8 columns.
constexpr int64_t kThreadsOfRow = 4;

/// Writes sums, rounded, to a buffer.
class SumWriter {
public:
  SumWriter(hopper::ReduceAddOp op, Operands<hopper::ReduceAddOp> in,
            ThreadBuilder &b)
      : b(b), element(getElementTypeOrSelf(op.getOut())),
        buffer(b.getBuffer(op.getOut().getType(), in.getOut())),
        position(b.getPosition(in.getOutIndices())), m(*op.getOutM()),
        n(*op.getOutN()) {
    count[0] = countFrom(position[m], in.getOutEndM());
    count[1] = countFrom(position[n], in.getOutEndN());
  }

  /// What gives for 8 columns of a thread two neighbours in each of two rows,
  /// by the number of the first of these elements.
  using GetSums = function_ref<SmallVector<Value>(size_t first)>;
  void emit(size_t numElements, GetSums getSums);

private:
  Value countFrom(IndexElement first, ValueRange end);
  /// Whether these rows and columns of the tile are there; null where all are.
  Value isThere(Value inM, Value inN);
  Value getAddress(Value inM, Value inN);
  Value pack(Value low, Value high) { return b.packPair(low, high, element); }
  void emitPieces(SmallVector<Value> &pieces, Value address, Value condition);
  void emitAlongN(size_t numElements, GetSums getSums);
  void emitAlongM(size_t numElements, GetSums getSums);

  ThreadBuilder &b;
  Type element;
  BufferParameter buffer;
  SmallVector<IndexElement> position;
  unsigned m, n;
  /// How many rows and columns there are, or null for all of the tile.
  std::array<Value, 2> count;
};
} // namespace

Value SumWriter::countFrom(IndexElement first, ValueRange end) {
  if (end.empty())
    return {};
  // As many as no tile has.
  constexpr int64_t many = 1 << 16;
  Value rest = b.sub(b.toInt(end, 64), b.toInt(first, 64));
  return b.trunc32(b.minS(rest, many));
}

Value SumWriter::isThere(Value inM, Value inN) {
  Value inRows = count[0] ? b.slt(inM, count[0]) : Value(),
        inColumns = count[1] ? b.slt(inN, count[1]) : Value();
  return inRows && inColumns ? b.andI(inRows, inColumns)
                             : (inRows ? inRows : inColumns);
}

Value SumWriter::getAddress(Value inM, Value inN) {
  SmallVector<IndexElement> at = position;
  at[m] = {b.add(b.toInt(position[m], 64), b.zext64(inM)), 0};
  at[n] = {b.add(b.toInt(position[n], 64), b.zext64(inN)), 0};
  return b.getAddress(buffer, at, /*bytes=*/2);
}

/// The numbers of four threads that have two neighbours each of four rows
/// become those of a row for each of them.
static SmallVector<Value> exchange(ThreadBuilder &b, ArrayRef<Value> pieces) {
  SmallVector<Value> rows(pieces);
  for (int64_t bit : {1, 2}) {
    Value isUpper = b.ne(b.andI(b.thread.quad, bit), 0);
    for (int64_t first : {0, 1}) {
      // Of each pair, this thread keeps one number, for which it gets the same
      // of the other thread.
      int64_t low = bit == 1 ? 2 * first : first, high = low + bit;
      Value own = b.select(isUpper, rows[high], rows[low]),
            other = b.shuffle(b.select(isUpper, rows[low], rows[high]), bit);
      rows[low] = b.select(isUpper, other, own);
      rows[high] = b.select(isUpper, own, other);
    }
  }
  return rows;
}

/// Writes pieces of rows, one for each of four threads; there may be fewer.
void SumWriter::emitPieces(SmallVector<Value> &pieces, Value address,
                           Value condition) {
  if (auto count = static_cast<int64_t>(pieces.size()); count < kThreadsOfRow) {
    Value isPiece = b.slt(b.thread.quad, count);
    condition = condition ? b.andI(condition, isPiece) : isPiece;
    pieces.resize(kThreadsOfRow, pieces.back());
  }
  Value row = LLVM::UndefOp::create(
      b, VectorType::get({kThreadsOfRow}, b.getI32Type()));
  for (auto [number, piece] : llvm::enumerate(exchange(b, pieces)))
    row = LLVM::InsertElementOp::create(b, row, piece, b.i32(number));
  b.ifThen(condition,
           [&] { LLVM::StoreOp::create(b, row, address, /*alignment=*/16); });
  pieces.clear();
}

/// Rows of 8 elements that follow each other in n.
void SumWriter::emitAlongN(size_t numElements, GetSums getSums) {
  Value inN = b.shl(b.thread.quad, 3);
  std::array<Value, 2> inM, addresses;
  for (int64_t r : {0, 1}) {
    inM[r] = b.addOffset(b.thread.row, 8 * r);
    addresses[r] = getAddress(inM[r], inN);
  }
  constexpr size_t atOnce = kThreadsOfRow * kGroupElements;
  for (size_t first = 0; first < numElements; first += atOnce) {
    std::array<SmallVector<Value>, 2> pieces;
    for (size_t e = first; e < std::min(first + atOnce, numElements);
         e += kGroupElements) {
      SmallVector<Value> sums = getSums(e);
      for (int64_t r : {0, 1})
        pieces[r].push_back(pack(sums[2 * r], sums[2 * r + 1]));
    }
    auto column = static_cast<int64_t>(first / kGroupElements * 8);
    for (int64_t r : {0, 1})
      emitPieces(pieces[r], b.offsetPointer(addresses[r], column * 2),
                 isThere(inM[r], b.addOffset(inN, column)));
  }
}

/// Rows of 8 elements that follow each other in m: of 8 by 8 elements that a
/// warp has, it exchanges rows and columns.
void SumWriter::emitAlongM(size_t numElements, GetSums getSums) {
  // Four pieces are two of 16 rows each.
  constexpr int64_t rows = 16;
  Value ofLane = b.shrU(b.thread.lane, 2);
  Value inM = b.add(b.sub(b.thread.row, ofLane),
                    b.shl(b.andI(b.thread.quad, 1), 3)),
        inN = b.add(ofLane, b.shl(b.shrU(b.thread.quad, 1), 3));
  Value address = getAddress(inM, inN),
        step = b.mul(buffer.strides[n], rows * 2);
  constexpr size_t atOnce = kThreadsOfRow / 2 * kGroupElements;
  for (size_t first = 0; first < numElements; first += atOnce) {
    SmallVector<Value> pieces;
    for (size_t e = first; e < std::min(first + atOnce, numElements);
         e += kGroupElements) {
      SmallVector<Value> sums = getSums(e);
      for (int64_t r : {0, 1})
        pieces.push_back(
            b.asmOp("movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r",
                    pack(sums[2 * r], sums[2 * r + 1]), {b.getI32Type()})[0]);
    }
    emitPieces(pieces, address, isThere(inM, inN));
    inN = b.addOffset(inN, rows);
    address = b.offsetPointer(address, step);
  }
}

void SumWriter::emit(size_t numElements, GetSums getSums) {
  // Where elements of n do not follow each other, those of m do.
  if (!buffer.strides[n])
    emitAlongN(numElements, getSums);
  else
    emitAlongM(numElements, getSums);
}

/// Adds what others have added, unless this is the first one, too: half of it
/// is on the way at a time, as there are registers for.
static void emitLast(hopper::ReduceAddOp op, Operands<hopper::ReduceAddOp> in,
                     Value isFirst, ThreadBuilder &b) {
  Value base = getFragmentAddress(op, in, b);
  double scale = op.getScale().convertToDouble();
  ValueRange own = in.getVector();
  int64_t numGroups = own.size() / kGroupElements,
          atOnce = llvm::divideCeil(numGroups, 2);
  SmallVector<Value> others;
  // Zeros are written in any case, so that no register is live before.
  auto load = [&](size_t first) {
    SmallVector<Type> types(kGroupElements, b.getF32Type());
    llvm::append_range(
        others, b.asmOp("{ mov.f32 $0, 0f00000000; mov.f32 $1, 0f00000000; "
                        "mov.f32 $2, 0f00000000; mov.f32 $3, 0f00000000; "
                        "@!$5 ld.global.v4.f32 {$0,$1,$2,$3}, [$4]; }",
                        "=&f,=&f,=&f,=&f,l,b",
                        {getGroup(b, base, first), isFirst}, types));
  };
  SumWriter(op, in, b).emit(own.size(), [&](size_t first) {
    if (first == others.size())
      for (int64_t group = 0; group < atOnce && others.size() < own.size();
           ++group)
        load(others.size());
    SmallVector<Value> sums;
    for (size_t e = first; e < first + kGroupElements; ++e) {
      sums.push_back(b.add(own[e], others[e]));
      if (scale != 1)
        sums.back() = b.mul(sums.back(), b.f32(scale));
    }
    return sums;
  });
}

static void lowerReduceAdd(hopper::ReduceAddOp op,
                           Operands<hopper::ReduceAddOp> in, ThreadBuilder &b) {
  b.ifThen(getOptional(in.getCondition()), [&] {
    Reduction reduction{b, getOptional(in.getFirst())};
    Value isLast = getOptional(in.getLast());
    if (!isLast)
      return emitReduceFragment(op, in, reduction);
    auto branch = scf::IfOp::create(b, isLast, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    emitLast(op, in, reduction.isFirst, b);
    b.setInsertionPointToStart(branch.elseBlock());
    emitReduceFragment(op, in, reduction);
  });
}

void mlir::attn::populateSumPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerReduceAdd);
}
