//===- RowProducts.cpp - Products of captured rows in a score -------------===//

#include "RowProducts.h"
#include "../RegionLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

/// A product that is as quickly computed for each pair.
static constexpr int64_t kFewestElements = 4;

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

namespace {
/// What a sum has of one of its operands.
struct Term {
  Value value;
  double factor = 1;
};
} // namespace

static std::optional<double> getNumber(Value value) {
  APFloat number(0.0);
  if (!matchPattern(value, m_ConstantFloat(&number)))
    return std::nullopt;
  return number.convertToDouble();
}

/// The loop, if it adds to what it begins with, and what it adds each time.
static Value getAddend(scf::ForOp loop) {
  if (loop.getNumRegionIterArgs() != 1)
    return {};
  BlockArgument sum = loop.getRegionIterArg(0);
  auto add = loop.getBody()
                 ->getTerminator()
                 ->getOperand(0)
                 .getDefiningOp<arith::AddFOp>();
  if (!add || add->getBlock() != loop.getBody() || !sum.hasOneUse() ||
      *sum.user_begin() != add)
    return {};
  return add.getLhs() == sum ? add.getRhs() : add.getLhs();
}

/// The operands that the result of `op` is linear in, with their factors: none
/// if it is not linear.
static SmallVector<Term> getLinearOperands(Operation *op) {
  return llvm::TypeSwitch<Operation *, SmallVector<Term>>(op)
      .Case([](arith::AddFOp add) -> SmallVector<Term> {
        return {{add.getLhs(), 1}, {add.getRhs(), 1}};
      })
      .Case([](arith::SubFOp sub) -> SmallVector<Term> {
        return {{sub.getLhs(), 1}, {sub.getRhs(), -1}};
      })
      .Case([](arith::NegFOp neg) -> SmallVector<Term> {
        return {{neg.getOperand(), -1}};
      })
      .Case([](arith::MulFOp mul) -> SmallVector<Term> {
        for (bool isLeft : {true, false})
          if (auto by = getNumber(isLeft ? mul.getLhs() : mul.getRhs()))
            return {{isLeft ? mul.getRhs() : mul.getLhs(), *by}};
        return {};
      })
      .Case([](arith::DivFOp div) -> SmallVector<Term> {
        if (auto by = getNumber(div.getRhs()); by && *by != 0)
          return {{div.getLhs(), 1 / *by}};
        return {};
      })
      .Default([](Operation *) { return SmallVector<Term>(); });
}

/// The last operation that is linear in `value` by way of values with one use,
/// or null.
static Operation *getSum(Value value) {
  Operation *sum = nullptr;
  Block *block = value.getParentBlock();
  while (value.hasOneUse()) {
    OpOperand &use = *value.use_begin();
    Operation *op = use.getOwner();
    auto loop = dyn_cast<scf::ForOp>(op);
    bool isLinear =
        loop ? getAddend(loop) && llvm::is_contained(loop.getInitArgs(), value)
             : llvm::any_of(getLinearOperands(op),
                            [&](Term term) { return term.value == value; });
    if (op->getBlock() != block || !isLinear)
      break;
    sum = op;
    value = op->getResult(0);
  }
  return sum;
}

/// What the result of `op` sums up. A loop that adds is a term, and so is what
/// it begins with.
static void collectTerms(Operation *op, double factor,
                         SmallVectorImpl<Term> &terms) {
  SmallVector<Term> operands = getLinearOperands(op);
  if (auto loop = dyn_cast<scf::ForOp>(op); loop && getAddend(loop)) {
    terms.push_back({loop.getResult(0), factor});
    operands.push_back({loop.getInitArgs().front(), 1});
  }
  for (Term operand : operands) {
    Operation *inner = operand.value.getDefiningOp();
    bool isSum = inner && operand.value.hasOneUse() &&
                 inner->getBlock() == op->getBlock() &&
                 (!getLinearOperands(inner).empty() || isa<scf::ForOp>(inner));
    if (isSum)
      collectTerms(inner, factor * operand.factor, terms);
    else
      terms.push_back({operand.value, factor * operand.factor});
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
/// An element of a captured row.
struct RowElement {
  CapturedRows rows;
  /// Which one, or 0 for that of the counter of a loop.
  int64_t number;
  Operation *read;
};
} // namespace

/// What `value` is, in a loop if there is a `counter`, or nothing.
static std::optional<RowElement> getRowElement(Value value, Value counter) {
  if (auto extend = value.getDefiningOp<arith::ExtFOp>())
    value = extend.getIn();
  auto extract = value.getDefiningOp<tensor::ExtractOp>();
  auto capture =
      extract ? dyn_cast<BlockArgument>(extract.getTensor()) : BlockArgument();
  if (!capture)
    return std::nullopt;
  Block *score = capture.getOwner();
  CapturedRows rows;
  rows.capture = capture;
  int64_t number = -1;
  for (Value index : extract.getIndices()) {
    auto position = dyn_cast<BlockArgument>(index);
    std::optional<int64_t> constant = getConstantIntValue(index);
    unsigned place = CapturedRows::kRowElement;
    if (counter && index == counter)
      number = 0;
    else if (position && position.getOwner() == score)
      place = position.getArgNumber();
    else if (!counter && constant && llvm::isUInt<31>(*constant))
      number = *constant;
    else
      return std::nullopt;
    if (place > kKeyPosition || rows.reads(place))
      return std::nullopt;
    rows.places.push_back(place);
  }
  if (number < 0 || (rows.reads(kQueryPosition) && rows.reads(kKeyPosition)))
    return std::nullopt;
  return RowElement{rows, number, extract};
}

/// The product of captured rows, or of an element of each, that `value` is;
/// without elements where it is none.
static RowProduct getProduct(Value value) {
  RowProduct product;
  Value counter;
  if (auto loop = value.getDefiningOp<scf::ForOp>()) {
    std::optional<int64_t> first = getConstantIntValue(loop.getLowerBound());
    if (!first || *first < 0 || !isOneInteger(loop.getStep()))
      return product;
    product.first = *first;
    product.length = getTripCount(loop);
    counter = loop.getInductionVar();
    value = getAddend(loop);
  }
  auto multiply = value.getDefiningOp<arith::MulFOp>();
  if (!multiply)
    return RowProduct();
  auto left = getRowElement(multiply.getLhs(), counter);
  auto right = getRowElement(multiply.getRhs(), counter);
  if (!left || !right || left->number != right->number)
    return RowProduct();
  if (left->rows.reads(kKeyPosition) || right->rows.reads(kQueryPosition))
    std::swap(left, right);
  // Both are read by query, or both by key.
  if (left->rows.reads(kKeyPosition) || right->rows.reads(kQueryPosition))
    return RowProduct();
  product.rows = left->rows;
  product.columns = right->rows;
  product.reads = {left->read, right->read};
  if (!counter) {
    product.first = left->number;
    product.length = 1;
  }
  return product;
}

/// Whether the captures of `product` have its elements, as far as types tell.
static bool isInside(const RowProduct &product) {
  for (const CapturedRows &rows : {product.rows, product.columns}) {
    auto type = cast<RankedTensorType>(rows.capture.getType());
    for (auto [dim, place] : llvm::enumerate(rows.places))
      if (place == CapturedRows::kRowElement && !type.isDynamicDim(dim) &&
          type.getDimSize(dim) < product.first + product.length)
        return false;
  }
  return true;
}

RowProduct mlir::attn::getRowProduct(scf::ForOp loop) {
  return getAddend(loop) ? getProduct(loop.getResult(0)) : RowProduct();
}

std::vector<RowProduct>
mlir::attn::findRowProducts(AttentionLikeOpInterface op) {
  std::vector<RowProduct> products;
  if (op.getScore().empty())
    return products;
  Block &score = op.getScore().front();
  BlockArgument given = score.getArgument(0);
  Operation *sum = getSum(given);
  if (!sum)
    return products;
  SmallVector<Term> terms;
  collectTerms(sum, 1, terms);
  double ofGiven = 0;
  for (const Term &term : terms)
    if (term.value == given)
      ofGiven = term.factor;
  if (ofGiven == 0)
    return products;

  // Elements by their number; a row may be read in parts.
  struct Element {
    RowProduct product;
    Value term;
    bool isAdded;
    size_t order;
  };
  std::vector<Element> elements;
  for (const Term &term : terms) {
    RowProduct product = getProduct(term.value);
    product.factor = term.factor / ofGiven;
    bool isOnlyTerm = term.value.hasOneUse() || term.value == sum->getResult(0);
    if (product.length > 0 && isOnlyTerm && isInside(product) &&
        std::isfinite(product.factor) && product.factor != 0)
      elements.push_back(
          {product, term.value, term.factor > 0, elements.size()});
  }
  llvm::sort(elements, [](const Element &a, const Element &b) {
    return std::pair(a.product.first, a.order) <
           std::pair(b.product.first, b.order);
  });
  for (const Element &element : elements) {
    auto known = llvm::find_if(products, [&](const RowProduct &product) {
      return product.rows == element.product.rows &&
             product.columns == element.product.columns &&
             product.factor == element.product.factor &&
             product.first + product.length == element.product.first;
    });
    if (known == products.end()) {
      products.push_back(element.product);
      known = std::prev(products.end());
    } else {
      known->length += element.product.length;
      llvm::append_range(known->reads, element.product.reads);
    }
    known->terms.push_back(element.term);
    known->isAdded.push_back(element.isAdded);
  }
  llvm::erase_if(products, [](const RowProduct &product) {
    return product.length < kFewestElements;
  });
  return products;
}

void mlir::attn::removeRowProduct(const RowProduct &product) {
  for (auto [number, isAdded] : llvm::enumerate(product.isAdded)) {
    Value term = product.terms[number];
    auto loop = term.getDefiningOp<scf::ForOp>();
    // The zero that nothing is changed by, so that it folds.
    OpBuilder builder(term.getContext());
    builder.setInsertionPointAfterValue(term);
    auto type = cast<FloatType>(term.getType());
    Value rest = loop ? loop.getInitArgs().front() : Value();
    if (!loop || matchPattern(rest, m_AnyZeroFloat()))
      rest = arith::ConstantOp::create(
          builder, term.getLoc(),
          builder.getFloatAttr(
              type, APFloat::getZero(type.getFloatSemantics(), isAdded)));
    term.replaceAllUsesWith(rest);
    if (loop)
      loop.erase();
  }
}
