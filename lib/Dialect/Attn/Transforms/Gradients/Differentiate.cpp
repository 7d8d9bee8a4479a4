//===- Differentiate.cpp - From a function to its gradients ---------------===//

#include "Differentiate.h"
#include "Adjoints.h"
#include "Filled.h"
#include "attn/Dialect/Attn/IR/AttnDropout.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNDIFFERENTIATEPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static bool isOfFloats(Type type) {
  return isSupportedElementType(getElementTypeOrSelf(type));
}

static Value createEmpty(OpBuilder &builder, Location loc, Value like) {
  auto type = dyn_cast<RankedTensorType>(like.getType());
  if (!type)
    return tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>(),
                                   like.getType());
  return tensor::EmptyOp::create(builder, loc,
                                 tensor::getMixedSizes(builder, loc, like),
                                 type.getElementType());
}

/// 0 in each element of something like `like`, in memory of its own.
static Value createZeros(OpBuilder &builder, Location loc, Value like) {
  Type element = getElementTypeOrSelf(like.getType());
  if (!isa<RankedTensorType>(like.getType()))
    return arith::ConstantOp::create(builder, loc,
                                     builder.getZeroAttr(element));
  return createFilled(builder, loc, tensor::getMixedSizes(builder, loc, like),
                      element, 0);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// The log-sum-exp of `op`, which a second attention right behind it computes
/// if `op` does not.
static Value getLse(OpBuilder &builder, AttentionOp op,
                    SmallVectorImpl<std::pair<Value, Value>> &again) {
  if (op.getLseInit())
    return op.getResult(1);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(op);
  AttentionLikeOpInterface attention = op;
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, loc, op.getOuts()[0]);
  sizes.erase(sizes.begin() + attention.getLayout(3).d);
  Value init = tensor::EmptyOp::create(builder, loc, sizes,
                                       attention.getAccumulatorType());
  auto both = AttentionOp::create(
      builder, loc, TypeRange{op->getResultTypes()[0], init.getType()},
      op.getQuery(), op.getKey(), op.getValue(), op.getCaptures(),
      op.getSparsityOperands(), op.getOffsets(),
      ValueRange{op.getOuts()[0], init}, op.getScaleAttr(), op.getLayoutsAttr(),
      op.getScheduleAttr(), op.getSparsityAttr());
  both->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), both->getRegions()))
    if (!from.empty())
      builder.cloneRegionBefore(from, to, to.end());
  again.push_back({op.getResult(0), both.getResult(0)});
  return both.getResult(1);
}

/// Whether nothing but the mask of `op` reads a capture: it has no derivative.
static bool isOfMask(AttentionOp op, unsigned capture) {
  auto isRead = [](Region &region, unsigned argument) {
    return !region.empty() && !region.getArgument(argument).use_empty();
  };
  return isRead(op.getMask(), kNumMaskArgs + capture) &&
         !isRead(op.getScore(), kNumScoreArgs + capture);
}

/// What may have a gradient, by its number in `wrt`, or null: q, k, v, and
/// captures.
static SmallVector<Value> getDifferentiable(AttentionOp op) {
  SmallVector<Value> inputs = {op.getQuery(), op.getKey(), op.getValue()};
  for (auto [number, capture] : llvm::enumerate(op.getCaptures()))
    inputs.push_back(isOfMask(op, number) ? Value() : capture);
  return inputs;
}

static LogicalResult reverseAttention(AttentionOp op, Cotangents &cotangents) {
  if (failed(verifyConstantWeight(op)))
    return failure();
  OpBuilder &builder = cotangents.builder;
  Location loc = op.getLoc();
  SmallVector<Value> inputs = getDifferentiable(op);
  SmallVector<int64_t> wrt;
  SmallVector<Value> outs;
  for (auto [number, input] : llvm::enumerate(inputs)) {
    if (!input || !cotangents.isActive(input))
      continue;
    wrt.push_back(number);
    outs.push_back(createEmpty(builder, loc, cotangents.getPrimal(input)));
  }
  Value lse = getLse(builder, op, cotangents.again);
  Value outputGrad = cotangents.get(op.getResult(0)).value;
  if (!outputGrad)
    outputGrad = createZeros(builder, loc, op.getOuts()[0]);
  Value lseGrad;
  if (op.getLseInit())
    lseGrad = cotangents.get(op.getResult(1)).value;
  auto gradient = AttentionGradOp::create(
      builder, loc, ValueRange(outs).getTypes(), op.getQuery(), op.getKey(),
      op.getValue(), op.getResult(0), lse, outputGrad, lseGrad,
      op.getCaptures(), op.getSparsityOperands(), op.getOffsets(), outs, wrt,
      op.getScaleAttr(), op.getLayoutsAttr(), /*schedule=*/nullptr,
      op.getSparsityAttr(), /*nondeterministic=*/false);
  for (auto [from, to] :
       {std::pair<Region *, Region *>{&op.getScore(), &gradient.getScore()},
        {&op.getMask(), &gradient.getMask()}})
    if (!from->empty())
      builder.cloneRegionBefore(*from, *to, to->end());
  if (failed(differentiateScore(gradient)))
    return failure();
  for (auto [input, result] : llvm::zip_equal(wrt, gradient.getResults())) {
    Value value = result;
    if (!isa<TensorType>(inputs[input].getType()))
      value = tensor::ExtractOp::create(builder, loc, value, ValueRange());
    cotangents.add(loc, inputs[input], {value});
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Operations around it
//===----------------------------------------------------------------------===//

static LogicalResult reverse(Operation &op, Cotangents &cotangents) {
  OpBuilder &builder = cotangents.builder;
  Location loc = op.getLoc();
  auto gradient = [&] { return cotangents.get(op.getResult(0)); };
  auto add = [&](Value operand, Value value) {
    cotangents.add(loc, operand, {value, gradient().mayBeDead});
    return success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](AttentionOp op) { return reverseAttention(op, cotangents); })
      .Case([&](linalg::LinalgOp op) {
        return reverseStructured(op, cotangents);
      })
      .Case([&](tensor::CastOp op) {
        return add(op.getSource(), tensor::CastOp::create(
                                       builder, loc, op.getSource().getType(),
                                       gradient().value));
      })
      .Case([&](tensor::ExtractSliceOp op) {
        Value zeros = createZeros(builder, loc, op.getSource());
        return add(op.getSource(), tensor::InsertSliceOp::create(
                                       builder, loc, gradient().value, zeros,
                                       op.getMixedOffsets(), op.getMixedSizes(),
                                       op.getMixedStrides()));
      })
      .Case([&](tensor::InsertSliceOp op) {
        Value all = gradient().value;
        auto type = op.getSourceType().clone(getElementTypeOrSelf(all));
        Value part = tensor::ExtractSliceOp::create(
            builder, loc, type, all, op.getMixedOffsets(), op.getMixedSizes(),
            op.getMixedStrides());
        // Of a destination without contents nothing is wanted.
        if (cotangents.isActive(op.getDest()))
          (void)add(op.getDest(),
                    tensor::InsertSliceOp::create(
                        builder, loc, createZeros(builder, loc, op.getSource()),
                        all, op.getMixedOffsets(), op.getMixedSizes(),
                        op.getMixedStrides()));
        return add(op.getSource(), part);
      })
      .Case([&](tensor::CollapseShapeOp op) {
        return add(op.getSrc(),
                   tensor::ExpandShapeOp::create(
                       builder, loc, op.getSrcType(), gradient().value,
                       op.getReassociationIndices(),
                       tensor::getMixedSizes(builder, loc, op.getSrc())));
      })
      .Case([&](tensor::ExpandShapeOp op) {
        return add(op.getSrc(),
                   tensor::CollapseShapeOp::create(
                       builder, loc, op.getSrcType(), gradient().value,
                       op.getReassociationIndices()));
      })
      .Default(
          [&](Operation *op) { return cotangents.reverseElementwise(*op); });
}

/// The values that gradients flow through. What is in a destination is not
/// read.
static void propagateThrough(Block &block, DenseSet<Value> &active) {
  for (Operation &op : block.without_terminator()) {
    auto attention = dyn_cast<AttentionOp>(op);
    if (!attention) {
      propagateActivity(op, active);
      continue;
    }
    if (llvm::any_of(getDifferentiable(attention), [&](Value input) {
          return input && active.contains(input);
        }))
      active.insert_range(attention->getResults());
  }
}

namespace {
/// The values that what a block returns depends on.
struct Needed {
  explicit Needed(Block &block);

  /// Other than by masks.
  DenseSet<Value> values;
  /// By the mask of an attention.
  DenseMap<Value, AttentionOp> ofMasks;
};
} // namespace

Needed::Needed(Block &block) {
  values.insert_range(block.getTerminator()->getOperands());
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    bool isNeeded = false;
    AttentionOp mask;
    for (Value result : op.getResults()) {
      isNeeded |= values.contains(result);
      if (AttentionOp other = ofMasks.lookup(result))
        mask = other;
    }
    auto add = [&](Value value) {
      if (isNeeded)
        values.insert(value);
      if (mask)
        ofMasks.try_emplace(value, mask);
    };
    auto attention = dyn_cast<AttentionOp>(op);
    if (!attention) {
      llvm::for_each(getReadValues(op), add);
      continue;
    }
    for (Value input : getDifferentiable(attention))
      if (input)
        add(input);
    llvm::for_each(attention.getSparsityOperands(), add);
    llvm::for_each(attention.getOffsets(), add);
    for (auto [number, capture] : llvm::enumerate(attention.getCaptures()))
      if ((isNeeded || mask) && isOfMask(attention, number))
        ofMasks.try_emplace(capture, mask ? mask : attention);
  }
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

namespace {
/// The gradient of one function.
class FunctionGradient {
public:
  FunctionGradient(func::FuncOp primal, ArrayRef<std::string> wrt,
                   bool tensorsOnly, bool isJoint, bool nondeterministic)
      : primal(primal), wrt(wrt), tensorsOnly(tensorsOnly), isJoint(isJoint),
        nondeterministic(nondeterministic) {}

  /// Adds it behind the function.
  LogicalResult run();

private:
  std::string getName(unsigned number, bool isResult);
  LogicalResult chooseArguments();
  Value addArgument(Type type, StringRef name);
  void eraseDead(Block &block);

  func::FuncOp primal, gradient;
  ArrayRef<std::string> wrt;
  bool tensorsOnly, isJoint, nondeterministic;
  SmallVector<BlockArgument> wanted;
};
} // namespace

std::string FunctionGradient::getName(unsigned number, bool isResult) {
  auto name =
      isResult ? primal.getResultAttrOfType<StringAttr>(number, kNameAttrName)
               : primal.getArgAttrOfType<StringAttr>(number, kNameAttrName);
  return name ? name.str() : ((isResult ? "out" : "arg") + Twine(number)).str();
}

/// Finds the arguments with respect to which there is a gradient: those that
/// are asked for, or all of floats, or all tensors of these, that the results
/// depend on, other than by masks.
LogicalResult FunctionGradient::chooseArguments() {
  Needed needed(gradient.getBody().front());
  llvm::StringSet<> missing;
  for (const std::string &name : wrt)
    missing.insert(name);
  for (unsigned number = 0; number < primal.getNumArguments(); ++number) {
    BlockArgument argument = gradient.getArgument(number);
    std::string name = getName(number, /*isResult=*/false);
    bool isAsked = missing.erase(name);
    if (isAsked && !isOfFloats(argument.getType()))
      return primal.emitError("expects gradients with respect to arguments of "
                              "f64, f32, f16 or bf16, but got '")
             << name << "' of " << argument.getType();
    AttentionOp mask = needed.ofMasks.lookup(argument);
    if (isAsked && mask && !needed.values.contains(argument))
      return mask.emitError("expects no gradient with respect to '")
             << name << "', which only masks depend on";
    bool isDefault =
        wrt.empty() && (!tensorsOnly || isa<TensorType>(argument.getType()));
    if (isAsked || (isDefault && isOfFloats(argument.getType()) &&
                    needed.values.contains(argument)))
      wanted.push_back(argument);
  }
  for (const std::string &name : wrt)
    if (missing.contains(name))
      return primal.emitError("expects gradients with respect to its "
                              "arguments, but got '")
             << name << "', which is none";
  return success();
}

Value FunctionGradient::addArgument(Type type, StringRef name) {
  unsigned number = gradient.getNumArguments();
  llvm::StringSet<> taken;
  for (unsigned other = 0; other < number; ++other)
    if (auto known =
            gradient.getArgAttrOfType<StringAttr>(other, kNameAttrName))
      taken.insert(known.getValue());
  std::string unique = name.str();
  while (taken.contains(unique))
    unique += "_";
  (void)gradient.insertArgument(number, type, /*argAttrs=*/{},
                                gradient.getLoc());
  gradient.setArgAttr(number, kNameAttrName,
                      StringAttr::get(gradient.getContext(), unique));
  return gradient.getArgument(number);
}

void FunctionGradient::eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

LogicalResult FunctionGradient::run() {
  if (!primal.getBody().hasOneBlock())
    return primal.emitError("expects a function of one block, but got ")
           << primal.getBody().getBlocks().size();
  gradient = primal.clone();
  gradient.setName((primal.getName() + "_grad").str());
  OpBuilder builder(primal);
  builder.setInsertionPointAfter(primal);
  SymbolTable symbols(primal->getParentOp());
  symbols.insert(gradient, builder.getInsertionPoint());
  addScalarOperands(gradient);
  if (failed(chooseArguments()))
    return failure();

  Block &block = gradient.getBody().front();
  auto end = cast<func::ReturnOp>(block.getTerminator());
  SmallVector<Value> returned(end.getOperands());
  DenseSet<Value> active;
  active.insert_range(wanted);
  propagateThrough(block, active);

  builder.setInsertionPoint(end);
  IRMapping primals;
  Cotangents cotangents(builder, primals, /*least=*/nullptr, active);
  // What the forward function returned need not be computed again.
  SmallVector<std::pair<Value, Value>> saved;
  for (auto [number, value] : llvm::enumerate(returned))
    if (!isJoint && value.getDefiningOp() && isOfFloats(value.getType()))
      saved.push_back(
          {value, addArgument(value.getType(), getName(number, true))});
  for (auto [number, value] : llvm::enumerate(returned))
    if (isOfFloats(value.getType()))
      cotangents.add(
          end.getLoc(), value,
          {addArgument(value.getType(), "d" + getName(number, true))});
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(block.without_terminator()))) {
    if (cotangents.has(op) && failed(reverse(op, cotangents)))
      return failure();
  }
  if (nondeterministic)
    gradient.walk([](AttentionGradOp op) { op.setNondeterministic(true); });

  SmallVector<Value> results;
  SmallVector<std::string> names;
  if (isJoint) {
    results = returned;
    for (unsigned number = 0; number < returned.size(); ++number)
      names.push_back(getName(number, /*isResult=*/true));
  }
  for (BlockArgument argument : wanted) {
    Value value = cotangents.get(argument).value;
    if (!value)
      value = createZeros(builder, end.getLoc(), argument);
    std::string name = "d" + getName(argument.getArgNumber(), false);
    while (llvm::is_contained(names, name))
      name += "_";
    results.push_back(value);
    names.push_back(name);
  }
  end.getOperandsMutable().assign(results);
  for (auto [value, argument] : saved)
    value.replaceAllUsesWith(argument);
  // One attention serves both.
  for (auto [value, other] : cotangents.again)
    value.replaceAllUsesWith(other);
  eraseDead(block);
  gradient.setFunctionType(FunctionType::get(
      gradient.getContext(), block.getArgumentTypes(), end.getOperandTypes()));
  gradient.setAllResultAttrs(SmallVector<DictionaryAttr>(
      results.size(), builder.getDictionaryAttr({})));
  for (auto [number, name] : llvm::enumerate(names))
    gradient.setResultAttr(number, kNameAttrName, builder.getStringAttr(name));
  return success();
}

namespace {
struct AttnDifferentiate
    : public mlir::attn::impl::AttnDifferentiatePassBase<AttnDifferentiate> {
  using AttnDifferentiatePassBase::AttnDifferentiatePassBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal())
        functions.push_back(function);
    for (func::FuncOp function : functions)
      if (failed(FunctionGradient(function, wrt, tensorsOnly, joint,
                                  nondeterministic)
                     .run()))
        return signalPassFailure();
  }
};
} // namespace
