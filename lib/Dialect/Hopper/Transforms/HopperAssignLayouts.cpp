//===- HopperAssignLayouts.cpp - Which thread holds what ------------------===//
//
// Operations of the hopper dialect say which layouts their fragments have.
// Arithmetic and control flow hand layouts on, in both directions: a constant
// has the layout that its users need.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace mlir::attn {
#define GEN_PASS_DEF_HOPPERASSIGNLAYOUTSPASS
#include "attn/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

/// Whether there is an element for each n, of which there are two layouts.
static bool isOfColumns(Value fragment) {
  auto vector = dyn_cast<VectorType>(fragment.getType());
  return vector && vector.getRank() == 2 && vector.getDimSize(1) == 1;
}

/// A constant that partitions share is one for each use.
static void splitConstants(Operation *root) {
  IRRewriter rewriter(root->getContext());
  root->walk([&](arith::ConstantOp constant) {
    if (!isOfColumns(constant) || constant->use_empty())
      return;
    rewriter.setInsertionPointAfter(constant);
    for (OpOperand &use :
         llvm::make_early_inc_range(llvm::drop_begin(constant->getUses())))
      rewriter.modifyOpInPlace(use.getOwner(), [&] {
        use.set(rewriter.clone(*constant)->getResult(0));
      });
  });
}

/// Fragments that have one layout.
using LayoutSets = llvm::EquivalenceClasses<Value>;

static bool needsLayout(Value value) {
  return isFragment(value.getType()) && !getLayout(value.getType());
}

/// What `op` combines, reads and makes.
static SmallVector<Value> getFragments(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  llvm::append_range(values, op->getResults());
  llvm::erase_if(values, [](Value value) { return !needsLayout(value); });
  return values;
}

/// Joins the fragments of which `op` says that they have one layout.
static LogicalResult join(LayoutSets &sets, Operation *op) {
  SmallVector<Value> values = getFragments(op);
  for (Value value : values)
    sets.insert(value);
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op)) {
    RegionBranchSuccessorMapping mapping;
    branch.getSuccessorOperandInputMapping(mapping);
    for (auto &[operand, inputs] : mapping)
      for (Value input : inputs)
        if (needsLayout(input))
          sets.unionSets(operand->get(), input);
    return success();
  }
  if (op->hasTrait<OpTrait::Elementwise>() || isa<GatherOp>(op)) {
    for (Value value : values)
      sets.unionSets(values.front(), value);
    return success();
  }
  if (values.empty() || op->hasTrait<OpTrait::ConstantLike>() ||
      isa<FragmentOpInterface, RegionBranchTerminatorOpInterface,
          vector::BroadcastOp>(op))
    return success();
  return op->emitOpError("expects nothing that a warpgroup holds together, but "
                         "got ")
         << values.front().getType();
}

/// The layout that `op` says a fragment has, if it says any.
static std::optional<FragmentLayout> getLayoutIn(Operation *op,
                                                 Value fragment) {
  // Numbers of columns are in whatever layout they are used in.
  if (isa<IotaOp>(op) && isOfColumns(fragment))
    return std::nullopt;
  if (auto says = dyn_cast<FragmentOpInterface>(op))
    return says.getLayout(fragment);
  auto broadcast = dyn_cast<vector::BroadcastOp>(op);
  if (!broadcast || fragment != broadcast.getSource())
    return std::nullopt;
  // One element for each n, or for each m.
  return cast<VectorType>(fragment.getType()).getDimSize(1) == 1
             ? FragmentLayout::Columns
             : FragmentLayout::Rows;
}

namespace {
class LayoutAssigner {
public:
  explicit LayoutAssigner(Operation *root) : root(root) {}
  LogicalResult run();

private:
  /// Notes what `op` says of its fragments.
  LogicalResult note(Operation *op);
  /// The type with a layout of a fragment.
  FailureOr<Type> getType(Value value) const;

  Operation *root;
  LayoutSets sets;
  /// By the leaders of sets.
  DenseMap<Value, FragmentLayout> layouts;
};
} // namespace

LogicalResult LayoutAssigner::note(Operation *op) {
  for (Value value : getFragments(op)) {
    std::optional<FragmentLayout> layout = getLayoutIn(op, value);
    if (!layout)
      continue;
    auto [it, isNew] = layouts.try_emplace(sets.getLeaderValue(value), *layout);
    if (!isNew && it->second != *layout)
      return op->emitOpError("expects a fragment with layout '")
             << stringifyFragmentLayout(*layout)
             << "', but others use it with layout '"
             << stringifyFragmentLayout(it->second) << "'";
  }
  return success();
}

FailureOr<Type> LayoutAssigner::getType(Value value) const {
  auto pending = dyn_cast<PendingType>(value.getType());
  auto vector =
      cast<ShapedType>(pending ? pending.getFragment() : value.getType());
  auto emitError = [&] { return mlir::emitError(value.getLoc()); };
  if (value.getParentRegion() == &root->getRegion(0) &&
      isa<BlockArgument>(value))
    return emitError() << "expects no fragments as arguments of a kernel, but "
                          "got "
                       << vector;
  auto it = layouts.find(sets.getLeaderValue(value));
  std::optional<FragmentLayout> layout;
  if (it != layouts.end())
    layout = it->second;
  // Nobody needs it.
  for (uint32_t number = 0;
       !layout && number <= getMaxEnumValForFragmentLayout(); ++number)
    if (auto any = static_cast<FragmentLayout>(number);
        LayoutAttr::get(root->getContext(), any).fits(vector.getShape()))
      layout = any;
  if (!layout)
    return emitError() << "expects a shape that a layout has, but got "
                       << vector;
  auto type = RankedTensorType::getChecked(
      emitError, vector.getShape(), vector.getElementType(),
      LayoutAttr::get(root->getContext(), *layout));
  if (!type)
    return failure();
  return pending ? Type(PendingType::get(root->getContext(), type)) : type;
}

static void setType(Value value, Type type) {
  value.setType(type);
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op)) {
    auto elements = cast<DenseElementsAttr>(constant.getValue());
    constant.setValueAttr(elements.reshape(cast<ShapedType>(type)));
  }
}

LogicalResult LayoutAssigner::run() {
  auto check = [&](LogicalResult result) {
    return succeeded(result) ? WalkResult::advance() : WalkResult::interrupt();
  };
  splitConstants(root);
  if (root->walk([&](Operation *op) { return check(join(sets, op)); })
          .wasInterrupted() ||
      root->walk([&](Operation *op) { return check(note(op)); })
          .wasInterrupted())
    return failure();
  SmallVector<std::pair<Value, Type>> types;
  for (const auto *member : sets) {
    FailureOr<Type> type = getType(member->getData());
    if (failed(type))
      return failure();
    types.emplace_back(member->getData(), *type);
  }
  for (auto [value, type] : types)
    setType(value, type);
  IRRewriter rewriter(root->getContext());
  root->walk([&](vector::BroadcastOp op) {
    // It is a vector no more.
    Type type = op->getResult(0).getType();
    if (!getLayout(type))
      return;
    rewriter.setInsertionPoint(op);
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, type, op->getOperand(0));
  });
  return success();
}

namespace {
struct HopperAssignLayouts
    : public mlir::attn::impl::HopperAssignLayoutsPassBase<
          HopperAssignLayouts> {
  void runOnOperation() override {
    if (failed(LayoutAssigner(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
