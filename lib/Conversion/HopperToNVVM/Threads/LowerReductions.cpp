//===- LowerReductions.cpp - Reductions over rows of a warpgroup ----------===//

#include "ThreadPatterns.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

/// Combines in two chains, which hides latency without more registers.
static Value reduceList(ArrayRef<Value> list,
                        function_ref<Value(Value, Value)> combine) {
  constexpr size_t numChains = 2;
  SmallVector<Value> chains(list.take_front(numChains));
  for (auto [number, value] : llvm::enumerate(list.drop_front(chains.size())))
    chains[number % numChains] = combine(chains[number % numChains], value);
  Value result = chains[0];
  for (Value chain : ArrayRef(chains).drop_front())
    result = combine(result, chain);
  return result;
}

static Elements lowerReduce(hopper::ReduceOp op, Operands<hopper::ReduceOp> in,
                            ThreadBuilder &b) {
  bool isMax = op.getKind() == "max";
  auto combine = [&](Value x, Value y) -> Value {
    if (isMax)
      return arith::MaxNumFOp::create(b, x, y);
    return b.add(x, y);
  };
  Fragment from(op.getSource().getType()), to(op.getResult().getType());
  Elements list;
  for (int64_t r : {0, 1}) {
    SmallVector<Value> ofRow;
    for (auto [e, value] : llvm::enumerate(in.getSource()))
      if (from.getRow(e) == r)
        ofRow.push_back(value);
    list.push_back(reduceList(ofRow, combine));
  }
  // Over the four threads that share a row.
  if (to.layout == hopper::FragmentLayout::Rows)
    for (int64_t distance : {1, 2})
      for (Value &value : list)
        value = combine(value, b.shuffle(value, distance));
  return list;
}

static Elements lowerAny(hopper::AnyOp, Operands<hopper::AnyOp> in,
                         ThreadBuilder &b) {
  ValueRange elements = in.getCondition();
  Value condition = elements[0];
  for (Value element : elements.drop_front())
    condition = b.orI(condition, element);
  return {NVVM::VoteSyncOp::create(b, b.getI1Type(), b.i32(-1), condition,
                                   NVVM::VoteSyncKind::any)};
}

static Elements lowerBallot(hopper::BallotOp, Operands<hopper::BallotOp> in,
                            ThreadBuilder &b) {
  return {NVVM::VoteSyncOp::create(b, b.getI32Type(), b.i32(-1),
                                   in.getCondition()[0],
                                   NVVM::VoteSyncKind::ballot)};
}

void mlir::attn::populateReductionPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerReduce);
  patterns.add(lowerAny);
  patterns.add(lowerBallot);
}
