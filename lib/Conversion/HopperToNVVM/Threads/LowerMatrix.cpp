//===- LowerMatrix.cpp - Matrix instructions ------------------------------===//
//
// Encodings of descriptors and fragments: PTX ISA, "Asynchronous Warpgroup
// Level Matrix Instructions".
//
//===----------------------------------------------------------------------===//

#include "Shared/SharedMemory.h"
#include "ThreadPatterns.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::attn;

/// Bytes of eight rows of a chunk, in which the swizzle repeats.
static constexpr int64_t kAtomBytes = 8 * kRowBytes;
/// The bytes of the reduced extent of one instruction.
static constexpr int64_t kStepBytes = 2 * hopper::kProductStep;

/// A tile as an operand in shared memory. `leadingBytes` is the distance of
/// chunks where they lie along the other extent than the reduced one.
static Value makeDescriptor(ThreadBuilder &b, Value start,
                            uint64_t leadingBytes) {
  uint64_t high = uint64_t(1) << 62 | uint64_t(kAtomBytes >> 4) << 32 |
                  (leadingBytes >> 4) << 16;
  Value address = b.add(b.thread.sharedInt, start);
  Value field = b.shrU(b.andI(address, 0x3FFFF), 4);
  return b.orI(b.zext64(field), static_cast<int64_t>(high));
}

/// What is constant is computed at the start of the partition, once.
static Value getDescriptor(ThreadBuilder &b, TileView tile,
                           uint64_t leadingBytes) {
  APInt start;
  Value result;
  if (matchPattern(tile.start, m_ConstantInt(&start))) {
    Value &known = b.thread.descriptors[{start.getSExtValue(), leadingBytes}];
    if (!known) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(b.thread.start);
      known = makeDescriptor(b, b.i32(start.getSExtValue()), leadingBytes);
    }
    result = known;
  } else {
    result = makeDescriptor(b, tile.start, leadingBytes);
  }
  static_assert(kSegmentBytes == 1 << 4, "descriptors count 16 bytes");
  for (auto [number, segments] : getSteps(tile))
    result = b.add(result, b.zext64(b.mul(number, segments)));
  return result;
}

/// Of so many steps each descriptor may be an operand of the text. The others
/// are sums in it: all operands are there at its start, in registers.
static constexpr int64_t kMostStepsOfOperands = 8;

static Elements lowerMma(hopper::MmaOp op, Operands<hopper::MmaOp> in,
                         ThreadBuilder &b) {
  hopper::TileType rhs = op.getRhs().getType();
  int64_t outer = op.getResult().getType().getFragment().getDimSize(0);
  bool isTransposed = op.getRhsTransposed();
  bool isLhsTransposed = op.getLhsTransposed();
  auto lhsTile = dyn_cast<hopper::TileType>(op.getLhs().getType());
  int64_t inner = isTransposed ? rhs.getRows() : rhs.getColumns();
  int64_t numSteps = llvm::divideCeil(inner, hopper::kProductStep);
  int64_t numAcc = outer / 2;
  auto getTileDescriptor = [&](hopper::TileType type, ValueRange tile,
                               bool isTransposed) {
    return getDescriptor(b, getTile(tile),
                         isTransposed ? type.getParentRows() * kRowBytes : 16);
  };
  Value rhsDescriptor = getTileDescriptor(rhs, in.getRhs(), isTransposed);
  Value lhsDescriptor;
  if (lhsTile)
    lhsDescriptor = getTileDescriptor(lhsTile, in.getLhs(), isLhsTransposed);
  Elements acc, lhs;
  if (op.getAcc())
    acc = Elements(in.getAcc());
  if (!lhsTile)
    lhs = Elements(in.getLhs());
  // Half a step meets columns that read as 0. A constant could be put into its
  // register after the fence.
  auto numLhs = static_cast<size_t>(4 * numSteps);
  if (!lhsTile && lhs.size() < numLhs)
    lhs.resize(numLhs,
               b.asmOp("mov.b32 $0, 0;", "=r", {}, b.getI32Type()).front());

  // Bytes to step `step` of an operand, whose rows or chunks lie along the
  // reduced extent.
  auto getOffset = [](int64_t step, hopper::TileType type, bool isTransposed) {
    int64_t steps = type.getChunkColumns() / hopper::kProductStep;
    return isTransposed ? step * hopper::kProductStep * kRowBytes
                        : step / steps * type.getParentRows() * kRowBytes +
                              step % steps * kStepBytes;
  };
  auto getList = [](int64_t first, int64_t count) {
    std::string list = "{";
    for (int64_t i = first; i < first + count; ++i)
      list += (i == first ? "$" : ",$") + std::to_string(i);
    return list + "}";
  };
  StringRef type = rhs.getElementType().isBF16() ? "bf16" : "f16";
  std::string instruction = llvm::formatv(
      "wgmma.mma_async.sync.aligned.m64n{0}k16.f32.{1}.{1} ", outer, type);
  SmallVector<Type> results(numAcc, b.getF32Type());
  // One text for all steps: the accumulator is an operand and a result of it.
  std::string text, constraints;
  llvm::raw_string_ostream os(text), constraint(constraints);
  for (int64_t e = 0; e < numAcc; ++e)
    constraint << (e ? ",=f" : "=f");
  SmallVector<Value> operands;
  /// Adds an operand, and returns its number in the text.
  auto add = [&](Value value, StringRef kind) {
    operands.push_back(value);
    constraint << "," << kind;
    return numAcc + static_cast<int64_t>(operands.size()) - 1;
  };
  // A sum in the text takes longer than an operand of a loop that is computed
  // in front of it.
  bool addsInText = b.kernel.hasManyProducts || numSteps > kMostStepsOfOperands;
  os << "{ .reg .pred p; " << (addsInText ? ".reg .b64 a, b; " : "") << "setp."
     << (acc.empty() ? "ne" : "eq")
     << ".b32 p, 0, 0; wgmma.fence.sync.aligned; ";
  int64_t right = 0, left = 0;
  if (addsInText) {
    right = add(rhsDescriptor, "l");
    left = lhsTile ? add(lhsDescriptor, "l") : 0;
  }
  // What the text calls the descriptor of a step.
  auto addStep = [&](StringRef name, int64_t first, Value descriptor,
                     int64_t bytes) -> std::string {
    if (!addsInText)
      return "$" +
             std::to_string(add(b.addOffset(descriptor, bytes >> 4), "l"));
    os << "add.s64 " << name << ", $" << first << ", " << (bytes >> 4) << "; ";
    return name.str();
  };
  for (int64_t step = 0; step < numSteps; ++step) {
    std::string rhsStep =
        addStep("b", right, rhsDescriptor, getOffset(step, rhs, isTransposed));
    std::string lhsStep;
    if (lhsTile) {
      lhsStep = addStep("a", left, lhsDescriptor,
                        getOffset(step, lhsTile, isLhsTransposed));
    } else {
      lhsStep = getList(numAcc + static_cast<int64_t>(operands.size()), 4);
      for (int64_t e = 0; e < 4; ++e)
        add(lhs[4 * step + e], "r");
    }
    os << instruction << getList(0, numAcc) << ", " << lhsStep << ", "
       << rhsStep << ", p, 1, 1, ";
    if (lhsTile)
      os << (isLhsTransposed ? 1 : 0) << ", ";
    os << (isTransposed ? 1 : 0) << "; ";
    // Without an accumulator only the first product does not add to one.
    if (acc.empty() && step == 0 && numSteps > 1)
      os << "setp.eq.b32 p, 0, 0; ";
  }
  os << "wgmma.commit_group.sync.aligned; }";
  // Accumulators stay where they are.
  for (auto [e, value] : llvm::enumerate(acc))
    add(value, std::to_string(e));
  return b.asmOp(text, constraints, operands, results);
}

static Results lowerWait(hopper::WaitOp op, Operands<hopper::WaitOp> in,
                         ThreadBuilder &b) {
  Elements acc;
  for (ValueRange pending : in.getPending())
    llvm::append_range(acc, pending);
  std::string constraints;
  llvm::raw_string_ostream os(constraints);
  for (size_t e = 0; e < acc.size(); ++e)
    os << (e ? "," : "") << "=f";
  for (size_t e = 0; e < acc.size(); ++e)
    os << "," << e;
  SmallVector<Type> types(acc.size(), b.getF32Type());
  SmallVector<Value> done = b.asmOp(
      ("wgmma.wait_group.sync.aligned " + Twine(op.getInFlight()) + ";").str(),
      constraints, acc, types);
  ArrayRef<Value> rest = done;
  Results results;
  for (ValueRange pending : in.getPending()) {
    results.emplace_back(rest.take_front(pending.size()));
    rest = rest.drop_front(pending.size());
  }
  return results;
}

static Elements lowerInFlight(hopper::InFlightOp,
                              Operands<hopper::InFlightOp> in,
                              ThreadBuilder &) {
  return Elements(in.getVector());
}

/// The first thread of the four that share a row has the parts 0 and 1 of it,
/// the second one part 2; behind three ones, the second one part 0, and the
/// third one the others.
static Elements lowerSplitBF16x3(hopper::SplitBF16x3Op op,
                                 Operands<hopper::SplitBF16x3Op> in,
                                 ThreadBuilder &b) {
  Type element = op.getResult().getType().getElementType();
  auto isThread = [&](int64_t number) { return b.eq(b.thread.quad, number); };
  Elements list;
  for (Value x : in.getSource()) {
    Value rest = b.getRest(x, element), last = b.getRest(rest, element);
    if (op.getBehindOnes()) {
      Value one = b.f32(1);
      Value parts =
          b.select(isThread(2), b.packPair(rest, last, element), b.i32(0));
      parts = b.select(isThread(1), b.packPair(one, x, element), parts);
      list.push_back(
          b.select(isThread(0), b.packPair(one, one, element), parts));
      continue;
    }
    Value other =
        b.select(isThread(1), b.packPair(last, b.f32(0), element), b.i32(0));
    list.push_back(b.select(isThread(0), b.packPair(x, rest, element), other));
  }
  return list;
}

void mlir::attn::populateMatrixPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerMma);
  patterns.add(lowerWait);
  patterns.add(lowerInFlight);
  patterns.add(lowerSplitBF16x3);
}
