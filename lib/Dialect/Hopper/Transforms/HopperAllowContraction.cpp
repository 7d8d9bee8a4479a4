//===- HopperAllowContraction.cpp - Where one rounding may be left out ----===//
//
// A multiplication and an addition that become one instruction round once, not
// twice. Of a score that changes the last bits, which products have rounded
// anyway. Of a position times a number it may change which side of a limit a
// key is on, or make a difference of equal squares negative.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Analysis/DataFlow/SparseAnalysis.h"
#include "mlir/Analysis/DataFlow/Utils.h"
#include "mlir/Analysis/DataFlowFramework.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace mlir::attn {
#define GEN_PASS_DEF_HOPPERALLOWCONTRACTIONPASS
#include "attn/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

namespace {
/// Whether a value depends on a product of matrices.
struct OfProduct {
  bool isOne = false;

  static OfProduct join(const OfProduct &a, const OfProduct &b) {
    return {a.isOne || b.isOne};
  }
  bool operator==(const OfProduct &other) const { return isOne == other.isOne; }
  void print(raw_ostream &os) const { os << isOne; }
};

using State = dataflow::Lattice<OfProduct>;

class ProductAnalysis : public dataflow::SparseForwardDataFlowAnalysis<State> {
public:
  using SparseForwardDataFlowAnalysis::SparseForwardDataFlowAnalysis;

  LogicalResult visitOperation(Operation *op, ArrayRef<const State *> operands,
                               ArrayRef<State *> results) override {
    bool isOne = isa<DotOp, MmaOp>(op) ||
                 llvm::any_of(operands, [](const State *operand) {
                   return operand->getValue().isOne;
                 });
    for (State *result : results)
      propagateIfChanged(result, result->join(OfProduct{isOne}));
    return success();
  }

  void setToEntryState(State *) override {}
};

class Contractions {
public:
  explicit Contractions(const DataFlowSolver &solver) : solver(solver) {}

  /// Whether a change of the last bit of what an operation computes changes no
  /// more than last bits.
  bool mayContract(Operation *op);

private:
  bool isOfProduct(Value value) const {
    const auto *state = solver.lookupState<State>(value);
    return state && state->getValue().isOne;
  }
  bool hasSmoothUses(Value value);
  bool isSmooth(OpOperand &use);

  const DataFlowSolver &solver;
  DenseMap<Operation *, bool> known;
};
} // namespace

/// Whether a value is at least 0 by its form, such as a sum of squares, in
/// which nothing cancels.
static bool isNotNegative(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<math::AbsFOp, math::ExpOp, math::Exp2Op, math::SqrtOp>(op))
    return true;
  auto areOperands = [&] {
    return llvm::all_of(op->getOperands(), isNotNegative);
  };
  if (isa<arith::MulFOp>(op))
    return op->getOperand(0) == op->getOperand(1) || areOperands();
  if (isa<arith::AddFOp, vector::BroadcastOp>(op))
    return areOperands();
  APFloat constant(0.0f);
  return matchPattern(value, m_ConstantFloat(&constant)) &&
         !constant.isNegative();
}

/// Whether the last bits of a result follow those of an operand, everywhere.
static bool isContinuousIn(Operation *op, unsigned operand) {
  // Near 0 they need those of the operand.
  if (isa<math::SqrtOp, math::RsqrtOp, math::LogOp, math::Log2Op>(op))
    return isNotNegative(op->getOperand(operand));
  if (isa<arith::SelectOp>(op))
    return operand != 0;
  if (isa<arith::DivFOp>(op))
    return operand == 0 || isNotNegative(op->getOperand(operand));
  // Not sines: the last bit of a large angle is a large part of a turn.
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp,
             arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
             arith::MinNumFOp, arith::ExtFOp, arith::TruncFOp, math::FmaOp,
             math::AbsFOp, math::ExpOp, math::Exp2Op, math::TanhOp, math::ErfOp,
             vector::BroadcastOp>(op);
}

bool Contractions::isSmooth(OpOperand &use) {
  Operation *user = use.getOwner();
  if (isa<scf::YieldOp>(user) &&
      isa<scf::IfOp, scf::ExecuteRegionOp>(user->getParentOp()))
    return hasSmoothUses(
        user->getParentOp()->getResult(use.getOperandNumber()));
  // Of a loop or a branch, the operand may be read by anything inside.
  if (user->getNumRegions() == 0 &&
      llvm::any_of(user->getResults(),
                   [&](Value result) { return isOfProduct(result); }))
    return true;
  return isContinuousIn(user, use.getOperandNumber()) && mayContract(user);
}

bool Contractions::hasSmoothUses(Value value) {
  return isOfProduct(value) ||
         llvm::all_of(value.getUses(),
                      [&](OpOperand &use) { return isSmooth(use); });
}

bool Contractions::mayContract(Operation *op) {
  auto [it, isNew] = known.try_emplace(op, false);
  if (!isNew)
    return it->second;
  bool may = llvm::all_of(op->getResults(),
                          [&](Value result) { return hasSmoothUses(result); });
  known[op] = may;
  return may;
}

namespace {
struct HopperAllowContraction
    : public mlir::attn::impl::HopperAllowContractionPassBase<
          HopperAllowContraction> {
  void runOnOperation() override {
    DataFlowSolver solver;
    dataflow::loadBaselineAnalyses(solver);
    solver.load<ProductAnalysis>();
    if (failed(solver.initializeAndRun(getOperation())))
      return signalPassFailure();
    Contractions contractions(solver);
    getOperation()->walk([&](arith::ArithFastMathInterface op) {
      if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op) ||
          !getElementTypeOrSelf(op->getResult(0)).isF32() ||
          !contractions.mayContract(op))
        return;
      op->setAttr(op.getFastMathAttrName(),
                  arith::FastMathFlagsAttr::get(
                      &getContext(), op.getFastMathFlagsAttr().getValue() |
                                         arith::FastMathFlags::contract));
    });
  }
};
} // namespace
