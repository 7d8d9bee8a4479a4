//===- ShapeFunction.cpp - Functions that compute the extents of results --===//

#include "Extents.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNSHAPEFUNCTIONPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Builds the shape function of one function.
class ShapeFunctionBuilder {
public:
  ShapeFunctionBuilder(func::FuncOp function, func::FuncOp scratch,
                       func::FuncOp shapes)
      : function(function), scratch(scratch), shapes(shapes),
        extents(scratch, shapes), builder(extents.getBuilder()),
        loc(shapes.getLoc()) {}

  LogicalResult run();

private:
  struct Constraint {
    Value isMet;
    /// The offending extents.
    Value first, second;
    std::string text;
  };

  /// A tensor of rows of queries, with or without a head dimension.
  struct RowTensor {
    StringRef name;
    Value value;
    bool hasDim;
  };
  LogicalResult addAttention(AttentionLikeOpInterface op,
                             ArrayRef<RowTensor> rows);
  LogicalResult addAttention(AttentionOp op);
  LogicalResult addGradient(AttentionGradOp op);
  LogicalResult addSparsity(AttentionLikeOpInterface op, Value batch,
                            Value heads, Value numQueries, Value numKeys);
  void addReads(AttentionLikeOpInterface op, ArrayRef<Value> pairs);
  Value emitReach(Value index, const DenseMap<Value, Value> &reach);
  void addLoops(linalg::LinalgOp op);
  void addCast(tensor::CastOp op);
  void addEmpty(tensor::EmptyOp op);
  void addSlice(OffsetSizeAndStrideOpInterface op, Value whole);
  void addSource(tensor::InsertSliceOp op);
  void addExpansion(tensor::ExpandShapeOp op);
  LogicalResult addResults(SmallVectorImpl<Value> &results);
  void addConstraint(Operation *op, Value isMet, Value first, Value second,
                     const Twine &text);
  void addEqual(Operation *op, Value a, Value b, const Twine &text);
  void emitBody(ArrayRef<Value> results);

  Value constant(int64_t value) {
    return extents.emit(builder.getIndexAttr(value));
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return builder.createOrFold<arith::CmpIOp>(loc, predicate, a, b);
  }
  LogicalResult reportCulprit(Operation *op, const Twine &what);

  func::FuncOp function, scratch, shapes;
  Extents extents;
  OpBuilder &builder;
  Location loc;
  SmallVector<Constraint> constraints;
};
} // namespace

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

LogicalResult ShapeFunctionBuilder::reportCulprit(Operation *op,
                                                  const Twine &what) {
  InFlightDiagnostic diagnostic = op->emitOpError("expects ")
                                  << what
                                  << " to follow from the extents of arguments";
  diagnostic.attachNote(extents.getCulprit()) << "depends on this";
  return diagnostic;
}

void ShapeFunctionBuilder::addConstraint(Operation *op, Value isMet,
                                         Value first, Value second,
                                         const Twine &text) {
  if (matchPattern(isMet, m_One()))
    return;
  constraints.push_back({isMet, first, second, getErrorText(op, text)});
}

void ShapeFunctionBuilder::addEqual(Operation *op, Value a, Value b,
                                    const Twine &text) {
  if (a != b)
    addConstraint(op, compare(arith::CmpIPredicate::eq, a, b), a, b,
                  text + ", but got %0 and %1");
}

LogicalResult ShapeFunctionBuilder::addAttention(AttentionOp op) {
  SmallVector<RowTensor> rows = {{"o", op.getOuts()[0], true}};
  if (op.getLseInit())
    rows.push_back({"lse", op.getLseInit(), false});
  return addAttention(op, rows);
}

LogicalResult ShapeFunctionBuilder::addGradient(AttentionGradOp op) {
  SmallVector<RowTensor> rows = {{"o", op.getOutput(), true},
                                 {"lse", op.getLse(), false},
                                 {"do", op.getOutputGrad(), true}};
  if (op.getLseGrad())
    rows.push_back({"dlse", op.getLseGrad(), false});
  if (failed(addAttention(op, rows)))
    return failure();
  for (auto [out, input] : llvm::zip_equal(op.getOuts(), op.getWrt())) {
    Value primal = op.getInput(input);
    auto type = dyn_cast<RankedTensorType>(primal.getType());
    for (int64_t dim = 0; type && dim < type.getRank(); ++dim) {
      Value got = extents.emitExtent(out, dim);
      Value wanted = got ? extents.emitExtent(primal, dim) : Value();
      if (!wanted)
        return reportCulprit(op, "extents of operands");
      addEqual(op, got, wanted,
               "expects a gradient to have the extents of its input");
    }
  }
  return success();
}

LogicalResult ShapeFunctionBuilder::addAttention(AttentionLikeOpInterface op,
                                                 ArrayRef<RowTensor> rows) {
  struct Logical {
    StringRef name;
    Value batch, heads, length;
  };
  bool isKnown = true;
  auto get = [&](StringRef name, Value tensor, Layout layout, bool hasDim) {
    auto extent = [&](unsigned dim) {
      Value result =
          extents.emitExtent(tensor, hasDim ? dim : layout.rowDim(dim));
      isKnown &= result != nullptr;
      return isKnown ? result : Value();
    };
    Logical result{name};
    // The first that is not known is the one that is reported.
    if (isKnown)
      result.batch = extent(layout.b);
    if (isKnown)
      result.heads = extent(layout.h);
    if (isKnown)
      result.length = extent(layout.s);
    return result;
  };
  Layout oLayout = op.getLayout(3);
  Logical q = get("q", op.getQuery(), op.getLayout(0), true);
  Logical k = get("k", op.getKey(), op.getLayout(1), true);
  Logical v = get("v", op.getValue(), op.getLayout(2), true);
  SmallVector<Logical> outs;
  for (const RowTensor &tensor : rows)
    outs.push_back(get(tensor.name, tensor.value, oLayout, tensor.hasDim));
  if (!isKnown)
    return reportCulprit(op, "extents of operands");

  addEqual(op, k.length, v.length, "expects k and v to have the same length");
  addEqual(op, k.heads, v.heads,
           "expects k and v to have the same number of heads");
  addEqual(op, k.batch, v.batch, "expects k and v to have the same batch");
  if (k.batch != q.batch) {
    Value isOne = compare(arith::CmpIPredicate::eq, k.batch, constant(1));
    Value isSame = compare(arith::CmpIPredicate::eq, k.batch, q.batch);
    addConstraint(op, builder.createOrFold<arith::OrIOp>(loc, isOne, isSame),
                  k.batch, q.batch,
                  "expects k and v to have the batch of q or 1, but got %0 for "
                  "%1");
  }
  if (k.heads != q.heads) {
    Value zero = constant(0);
    Value isZero = compare(arith::CmpIPredicate::eq, k.heads, zero);
    Value divisor = builder.createOrFold<arith::SelectOp>(loc, isZero,
                                                          constant(1), k.heads);
    Value rest = builder.createOrFold<arith::RemUIOp>(loc, q.heads, divisor);
    // No heads of k and v serve no heads of q.
    Value left =
        builder.createOrFold<arith::SelectOp>(loc, isZero, q.heads, rest);
    addConstraint(op, compare(arith::CmpIPredicate::eq, left, zero), q.heads,
                  k.heads,
                  "expects the heads of q to be a multiple of the heads of k "
                  "and v, but got %0 and %1");
  }
  for (const Logical &out : outs) {
    addEqual(op, out.batch, q.batch,
             "expects " + out.name + " and q to have the same batch");
    addEqual(op, out.heads, q.heads,
             "expects " + out.name + " and q to have the same number of heads");
    addEqual(op, out.length, q.length,
             "expects " + out.name + " and q to have the same length");
  }
  if (!op.getOffsets().empty())
    return success();
  addReads(op, {q.batch, q.heads, q.length, k.length});
  return op.getSparsityAttr()
             ? addSparsity(op, q.batch, q.heads, q.length, k.length)
             : success();
}

/// One more than the largest number that an index of a region is for some pair,
/// by that of the arguments of the region. Null where this is not known.
Value ShapeFunctionBuilder::emitReach(Value index,
                                      const DenseMap<Value, Value> &reach) {
  if (std::optional<int64_t> number = getConstantIntValue(index))
    return *number < 0 ? Value() : constant(*number + 1);
  if (Value known = reach.lookup(index))
    return known;
  Operation *op = index.getDefiningOp();
  if (!op)
    return {};
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return emitReach(op->getOperand(0), reach);
  if (op->getNumOperands() != 2)
    return {};
  std::optional<int64_t> number = getConstantIntValue(op->getOperand(1));
  Value operand =
      number && *number > 0 ? emitReach(op->getOperand(0), reach) : Value();
  if (!operand)
    return {};
  if (isa<arith::AddIOp>(op))
    return builder.createOrFold<arith::AddIOp>(loc, operand, constant(*number));
  if (isa<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>(op))
    return builder.createOrFold<arith::CeilDivUIOp>(loc, operand,
                                                    constant(*number));
  return {};
}

/// Whether the pairs that take part may leave a batch (0), a head, a query or a
/// key (3) out. A mask that leaves out all does not count.
static bool isMasked(AttentionLikeOpInterface op, unsigned index) {
  return op.getSparsityAttr() || (!op.getMask().empty() &&
                                  !op.getMask().getArgument(index).use_empty());
}

/// What the regions read of tensors for each batch, head, query or key has to
/// be there, if there are any `pairs` of these.
void ShapeFunctionBuilder::addReads(AttentionLikeOpInterface op,
                                    ArrayRef<Value> pairs) {
  Value fewest;
  DenseSet<std::tuple<Value, int64_t, Value>> done;
  for (Region *region : op.getCaptureRegions()) {
    Block &body = region->front();
    unsigned numCaptures = op.getCaptures().size();
    unsigned firstCapture = body.getNumArguments() - numCaptures;
    DenseMap<Value, Value> reach;
    for (unsigned n = 0; n < pairs.size(); ++n)
      if (region == &op.getMask() || !isMasked(op, n))
        reach[body.getArgument(firstCapture - pairs.size() + n)] = pairs[n];
    // What is read in a branch is not read for all of them.
    for (auto read : body.getOps<tensor::ExtractOp>()) {
      auto tensor = dyn_cast<BlockArgument>(read.getTensor());
      if (!tensor || tensor.getOwner() != &body)
        continue;
      Value capture = op.getCaptures()[tensor.getArgNumber() - firstCapture];
      for (auto [dim, index] : llvm::enumerate(read.getIndices())) {
        Value wanted = emitReach(index, reach);
        Value got = wanted ? extents.emitExtent(capture, dim) : Value();
        if (!got || !done.insert({capture, dim, wanted}).second)
          continue;
        Value isMet = compare(arith::CmpIPredicate::uge, got, wanted);
        if (matchPattern(isMet, m_One()))
          continue;
        if (!fewest) {
          fewest = pairs[0];
          for (Value count : pairs.drop_front())
            fewest = builder.createOrFold<arith::MinUIOp>(loc, fewest, count);
        }
        Value isEmpty = compare(arith::CmpIPredicate::eq, fewest, constant(0));
        addConstraint(read,
                      builder.createOrFold<arith::OrIOp>(loc, isMet, isEmpty),
                      got, wanted,
                      "expects dimension " + Twine(dim) +
                          " of the tensor to have extent %1 or more, as this "
                          "is read, but got %0");
      }
    }
  }
}

/// The extents of the operands that say which blocks take part.
LogicalResult ShapeFunctionBuilder::addSparsity(AttentionLikeOpInterface op,
                                                Value batch, Value heads,
                                                Value numQueries,
                                                Value numKeys) {
  SparsityAttr sparsity = op.getSparsityAttr();
  std::string name = sparsity.isBits() ? "bits" : "rows";
  Value operand = op.getSparsityOperands()[0];
  int64_t rank = cast<RankedTensorType>(operand.getType()).getRank();
  int64_t numLeading = rank - (sparsity.isBits() ? 2 : 1);
  auto numBlocks = [&](Value length, int64_t block) {
    return builder.createOrFold<arith::CeilDivUIOp>(loc, length,
                                                    constant(block));
  };
  for (int64_t dim = 0; dim < rank; ++dim) {
    Value got = extents.emitExtent(operand, dim);
    if (!got)
      return reportCulprit(op, "extents of operands");
    std::string text = "expects dimension " + std::to_string(dim) + " of " +
                       name + " of the sparsity to have extent %1";
    if (dim < numLeading) {
      Value wanted = dim + 1 == numLeading ? heads : batch;
      Value isOne = compare(arith::CmpIPredicate::eq, got, constant(1));
      Value isSame = compare(arith::CmpIPredicate::eq, got, wanted);
      addConstraint(op, builder.createOrFold<arith::OrIOp>(loc, isOne, isSame),
                    got, wanted, text + " or 1, but got %0");
      continue;
    }
    Value wanted = dim == numLeading
                       ? numBlocks(numQueries, sparsity.getBlockRows())
                       : numBlocks(numKeys, sparsity.getBlockColumns());
    if (sparsity.isLists())
      wanted = builder.createOrFold<arith::AddIOp>(loc, wanted, constant(1));
    addConstraint(op, compare(arith::CmpIPredicate::eq, got, wanted), got,
                  wanted, text + ", but got %0");
  }
  return success();
}

/// Operands that are indexed by the same loop.
void ShapeFunctionBuilder::addLoops(linalg::LinalgOp op) {
  DenseMap<unsigned, std::pair<Value, unsigned>> first;
  for (OpOperand &operand : op->getOpOperands()) {
    if (op.isScalar(&operand))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [number, expr] : llvm::enumerate(map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim)
        continue;
      Value extent = extents.emitExtent(operand.get(), number);
      if (!extent)
        continue;
      auto [known, isNew] = first.try_emplace(dim.getPosition(), extent,
                                              operand.getOperandNumber());
      if (!isNew)
        addEqual(op, known->second.first, extent,
                 "expects operands " + Twine(known->second.second) + " and " +
                     Twine(operand.getOperandNumber()) +
                     " to have the same extent along loop " +
                     Twine(dim.getPosition()));
    }
  }
}

void ShapeFunctionBuilder::addCast(tensor::CastOp op) {
  auto source = dyn_cast<RankedTensorType>(op.getSource().getType());
  auto result = dyn_cast<RankedTensorType>(op.getType());
  if (!source || !result)
    return;
  for (int64_t dim = 0; dim < source.getRank(); ++dim) {
    if (!source.isDynamicDim(dim) || result.isDynamicDim(dim))
      continue;
    Value got = extents.emitExtent(op.getSource(), dim);
    if (!got)
      continue;
    Value wanted = constant(result.getDimSize(dim));
    addConstraint(
        op, compare(arith::CmpIPredicate::eq, got, wanted), got, wanted,
        "expects dimension " + Twine(dim) + " to have extent %1, but got %0");
  }
}

void ShapeFunctionBuilder::addEmpty(tensor::EmptyOp op) {
  for (Value size : op.getDynamicSizes()) {
    // An extent of a tensor is no negative number.
    if (size.getDefiningOp<tensor::DimOp>())
      continue;
    if (Value got = extents.emit(size))
      addConstraint(op, compare(arith::CmpIPredicate::sge, got, constant(0)),
                    got, got, "expects no negative extent, but got %0");
  }
}

/// What a slice takes of `whole` has to be there. Of offsets that are no
/// function of extents nothing is known here.
void ShapeFunctionBuilder::addSlice(OffsetSizeAndStrideOpInterface op,
                                    Value whole) {
  auto check = [&](arith::CmpIPredicate predicate, Value a, Value b,
                   const Twine &text) {
    addConstraint(op, compare(predicate, a, b), a, b, text);
  };
  Value zero = constant(0), one = constant(1);
  for (auto [dim, offset, size, stride] : llvm::enumerate(
           op.getMixedOffsets(), op.getMixedSizes(), op.getMixedStrides())) {
    std::string place = " of dimension " + std::to_string(dim);
    Value count = extents.emit(size);
    if (count)
      check(arith::CmpIPredicate::sge, count, zero,
            "expects no negative size" + place + ", but got %0");
    Value first = extents.emit(offset), step = extents.emit(stride),
          extent = extents.emitExtent(whole, dim);
    if (!count || !first || !step || !extent)
      continue;
    check(arith::CmpIPredicate::sge, first, zero,
          "expects no negative offset" + place + ", but got %0");
    check(arith::CmpIPredicate::sge, step, one,
          "expects a positive stride" + place + ", but got %0");
    check(arith::CmpIPredicate::sle, first, extent,
          "expects an offset" + place + " within extent %1, but got %0");
    // So that the distance of the last element does not overflow.
    check(arith::CmpIPredicate::sle, count, extent,
          "expects a size" + place + " within extent %1, but got %0");
    Value steps = builder.createOrFold<arith::SubIOp>(loc, count, one);
    Value last = builder.createOrFold<arith::AddIOp>(
        loc, first, builder.createOrFold<arith::MulIOp>(loc, steps, step));
    Value isEmpty = compare(arith::CmpIPredicate::eq, count, zero);
    Value isIn = compare(arith::CmpIPredicate::slt, last, extent);
    addConstraint(op, builder.createOrFold<arith::OrIOp>(loc, isEmpty, isIn),
                  last, extent,
                  "expects a slice" + place +
                      " within extent %1, but got one whose last element is "
                      "%0");
  }
}

/// What is inserted has the sizes that it is said to have.
void ShapeFunctionBuilder::addSource(tensor::InsertSliceOp op) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  int64_t next = 0;
  for (auto [dim, size] : llvm::enumerate(op.getMixedSizes())) {
    if (dropped.test(dim))
      continue;
    Value got = extents.emitExtent(op.getSource(), next++);
    Value wanted = got ? extents.emit(size) : Value();
    if (wanted)
      addEqual(op, got, wanted,
               "expects the source to have the size of dimension " +
                   Twine(dim));
  }
}

void ShapeFunctionBuilder::addExpansion(tensor::ExpandShapeOp op) {
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    Value got = extents.emitExtent(op.getSrc(), dim);
    Value product = got ? constant(1) : Value();
    for (int64_t number : group) {
      Value extent =
          product ? extents.emit(op.getMixedOutputShape()[number]) : Value();
      product = extent
                    ? builder.createOrFold<arith::MulIOp>(loc, product, extent)
                    : Value();
      if (extent)
        addConstraint(op,
                      compare(arith::CmpIPredicate::sge, extent, constant(0)),
                      extent, extent, "expects no negative extent, but got %0");
    }
    if (product)
      addEqual(op, got, product,
               "expects the extents of a group to be those of dimension " +
                   Twine(dim));
  }
}

//===----------------------------------------------------------------------===//
// Body
//===----------------------------------------------------------------------===//

LogicalResult
ShapeFunctionBuilder::addResults(SmallVectorImpl<Value> &results) {
  for (auto op : scratch.getFunctionBody().getOps<func::ReturnOp>()) {
    for (auto [number, value] : llvm::enumerate(op.getOperands())) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type)
        continue;
      for (int64_t dim = 0; dim < type.getRank(); ++dim) {
        results.push_back(extents.emitExtent(value, dim));
        if (!results.back())
          return reportCulprit(op, "extent " + Twine(dim) + " of result " +
                                       Twine(number));
      }
    }
  }
  return success();
}

void ShapeFunctionBuilder::emitBody(ArrayRef<Value> results) {
  SmallVector<Value> values;
  SmallVector<StringRef> texts;
  for (const Constraint &constraint : constraints) {
    values.append({constraint.isMet, constraint.first, constraint.second});
    texts.push_back(constraint.text);
  }
  values.append(results.begin(), results.end());
  func::ReturnOp::create(builder, loc, values);
  shapes.setFunctionType(
      builder.getFunctionType(shapes.getArgumentTypes(), TypeRange(values)));
  shapes->setDiscardableAttr(kConstraintsAttrName,
                             builder.getStrArrayAttr(texts));
}

LogicalResult ShapeFunctionBuilder::run() {
  // Reshaping inserts operations, so those there are now are listed first.
  SmallVector<Operation *> ops;
  scratch.walk<WalkOrder::PreOrder>([&](Operation *op) {
    ops.push_back(op);
    // Regions of attentions hold nothing with extents.
    return isa<AttentionOp, AttentionGradOp>(op) ? WalkResult::skip()
                                                 : WalkResult::advance();
  });
  for (Operation *op : ops) {
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      if (failed(addAttention(attention)))
        return failure();
    } else if (auto gradient = dyn_cast<AttentionGradOp>(op)) {
      if (failed(addGradient(gradient)))
        return failure();
    } else if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
      if (structured.hasPureTensorSemantics())
        addLoops(structured);
    } else if (auto cast = dyn_cast<tensor::CastOp>(op)) {
      addCast(cast);
    } else if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
      addEmpty(empty);
    } else if (auto extract = dyn_cast<tensor::ExtractSliceOp>(op)) {
      addSlice(extract, extract.getSource());
    } else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
      addSlice(insert, insert.getDest());
      addSource(insert);
    } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
      addExpansion(expand);
    }
  }
  SmallVector<Value> results;
  if (failed(addResults(results)))
    return failure();
  for (auto [a, b, op] : extents.getEqualities())
    addEqual(op, a, b, "expects tensors of the same extents");
  for (auto [divisor, op] : extents.getDivisors()) {
    Value wide = divisor;
    if (!wide.getType().isIndex())
      wide = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                        wide);
    addConstraint(op, compare(arith::CmpIPredicate::ne, wide, constant(0)),
                  wide, wide, "expects a divisor other than 0, but got %0");
  }
  emitBody(results);
  return success();
}

static LogicalResult addShapeFunction(func::FuncOp function,
                                      SymbolTable &symbols) {
  OpBuilder builder(function);
  builder.setInsertionPointAfter(function);
  std::string name = (function.getName() + ".shapes").str();
  if (Operation *other = symbols.lookup(name))
    return other->emitError("expects no symbol of the name ")
           << name << ", which is for the shape function of a function";
  auto shapes = func::FuncOp::create(
      builder, function.getLoc(), name,
      builder.getFunctionType(function.getArgumentTypes(), {}));
  symbols.insert(shapes);
  shapes.addEntryBlock();
  func::FuncOp scratch = function.clone();
  LogicalResult result = ShapeFunctionBuilder(function, scratch, shapes).run();
  scratch.erase();
  return result;
}

namespace {
struct AttnShapeFunction
    : public mlir::attn::impl::AttnShapeFunctionPassBase<AttnShapeFunction> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<func::FuncOp> functions;
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal() &&
          !function->hasAttr(kConstraintsAttrName))
        functions.push_back(function);
    for (func::FuncOp function : functions)
      if (failed(addShapeFunction(function, symbols)))
        return signalPassFailure();
  }
};
} // namespace
