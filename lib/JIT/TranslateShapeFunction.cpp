//===- TranslateShapeFunction.cpp - Shape functions as data ---------------===//

#include "TranslateShapeFunction.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include <map>

using namespace attn;
using mlir::failed;
using mlir::failure;
using mlir::success;
using mlir::Value;

namespace {
/// How an operation reads its operands: as numbers, or bit by bit, which are
/// the same in any form.
enum class Reading { Signed, Unsigned, Bits };

struct BinaryOp {
  ShapeOp op;
  Reading reading = Reading::Signed;
};
} // namespace

/// A name without its dialect, as arith and index have it.
static std::optional<BinaryOp> getBinaryOp(llvm::StringRef name) {
  constexpr Reading isUnsigned = Reading::Unsigned;
  return llvm::StringSwitch<std::optional<BinaryOp>>(name)
      .Cases({"addi", "add"}, BinaryOp{ShapeOp::Add})
      .Cases({"subi", "sub"}, BinaryOp{ShapeOp::Sub})
      .Cases({"muli", "mul"}, BinaryOp{ShapeOp::Mul})
      .Cases({"divsi", "divs"}, BinaryOp{ShapeOp::DivS})
      .Cases({"divui", "divu"}, BinaryOp{ShapeOp::DivU, isUnsigned})
      .Cases({"ceildivsi", "ceildivs"}, BinaryOp{ShapeOp::CeilDivS})
      .Cases({"ceildivui", "ceildivu"}, BinaryOp{ShapeOp::CeilDivU, isUnsigned})
      .Cases({"floordivsi", "floordivs"}, BinaryOp{ShapeOp::FloorDivS})
      .Cases({"remsi", "rems"}, BinaryOp{ShapeOp::RemS})
      .Cases({"remui", "remu"}, BinaryOp{ShapeOp::RemU, isUnsigned})
      .Cases({"andi", "and"}, BinaryOp{ShapeOp::And, Reading::Bits})
      .Cases({"ori", "or"}, BinaryOp{ShapeOp::Or, Reading::Bits})
      .Cases({"xori", "xor"}, BinaryOp{ShapeOp::Xor, Reading::Bits})
      .Cases({"shli", "shl"}, BinaryOp{ShapeOp::Shl})
      .Cases({"shrsi", "shrs"}, BinaryOp{ShapeOp::ShrS})
      .Cases({"shrui", "shru"}, BinaryOp{ShapeOp::ShrU, isUnsigned})
      .Cases({"minsi", "mins"}, BinaryOp{ShapeOp::MinS})
      .Cases({"maxsi", "maxs"}, BinaryOp{ShapeOp::MaxS})
      .Cases({"minui", "minu"}, BinaryOp{ShapeOp::MinU, isUnsigned})
      .Cases({"maxui", "maxu"}, BinaryOp{ShapeOp::MaxU, isUnsigned})
      .Default(std::nullopt);
}

/// A comparison, of which "greater" is "less" with its operands exchanged.
static BinaryOp getComparison(llvm::StringRef predicate) {
  constexpr Reading isUnsigned = Reading::Unsigned;
  return llvm::StringSwitch<BinaryOp>(predicate)
      .Case("eq", {ShapeOp::Eq})
      .Case("ne", {ShapeOp::Ne})
      .Cases({"slt", "sgt"}, {ShapeOp::LtS})
      .Cases({"sle", "sge"}, {ShapeOp::LeS})
      .Cases({"ult", "ugt"}, {ShapeOp::LtU, isUnsigned})
      .Cases({"ule", "uge"}, {ShapeOp::LeU, isUnsigned});
}

/// An index has 64 bits; nullopt for what is no integer.
static std::optional<unsigned> getWidth(mlir::Type type) {
  if (type.isIndex())
    return 64;
  if (type.isInteger() && type.getIntOrFloatBitWidth() <= 64)
    return type.getIntOrFloatBitWidth();
  return std::nullopt;
}

namespace {
/// Values of the function are numbers with sign, but booleans, which are 0
/// and 1.
class Translator {
public:
  mlir::LogicalResult translate(mlir::Operation &op);
  int64_t get(Value value) const { return numbers.lookup(value); }

  ShapeFunction function;

private:
  int64_t add(ShapeOp op, int64_t a, int64_t b = 0, int64_t c = 0) {
    function.instructions.push_back({op, {a, b, c}});
    return function.instructions.size() - 1;
  }
  int64_t addConstant(int64_t number);

  /// An operand as an operation reads it.
  int64_t read(Value value, Reading reading);
  /// A number with only the bits that a type has.
  int64_t wrap(int64_t number, mlir::Type type);

  int64_t translateBinary(BinaryOp op, Value a, Value b, mlir::Type type);
  int64_t translateComparison(llvm::StringRef predicate, Value a, Value b);
  std::optional<int64_t> translateValue(mlir::Operation &op);

  llvm::DenseMap<Value, int64_t> numbers;
  /// By their numbers, any of 64 bits, which keys of a DenseMap are not.
  std::map<int64_t, int64_t> constants;
};
} // namespace

int64_t Translator::addConstant(int64_t number) {
  auto [found, isNew] = constants.try_emplace(number, 0);
  if (isNew)
    found->second = add(ShapeOp::Constant, number);
  return found->second;
}

int64_t Translator::read(Value value, Reading reading) {
  unsigned width = *getWidth(value.getType());
  bool isBool = width == 1, isUnsigned = reading == Reading::Unsigned;
  int64_t number = get(value);
  if (width == 64 || reading == Reading::Bits || isBool == isUnsigned)
    return number;
  return add(isBool ? ShapeOp::SignExtend : ShapeOp::ZeroExtend, number, width);
}

int64_t Translator::wrap(int64_t number, mlir::Type type) {
  unsigned width = *getWidth(type);
  if (width == 64)
    return number;
  return add(width == 1 ? ShapeOp::ZeroExtend : ShapeOp::SignExtend, number,
             width);
}

int64_t Translator::translateBinary(BinaryOp op, Value a, Value b,
                                    mlir::Type type) {
  int64_t left = read(a, op.reading);
  bool isShift = op.op == ShapeOp::Shl || op.op == ShapeOp::ShrS;
  int64_t right = read(b, isShift ? Reading::Unsigned : op.reading);
  int64_t result = add(op.op, left, right);
  return op.reading == Reading::Bits ? result : wrap(result, type);
}

int64_t Translator::translateComparison(llvm::StringRef predicate, Value a,
                                        Value b) {
  BinaryOp op = getComparison(predicate);
  int64_t left = read(a, op.reading), right = read(b, op.reading);
  if (predicate.drop_front().starts_with("g"))
    std::swap(left, right);
  return add(op.op, left, right);
}

/// The number of the result; nullopt for operations that shape functions lack.
std::optional<int64_t> Translator::translateValue(mlir::Operation &op) {
  mlir::Type type = op.getResult(0).getType();
  llvm::APInt constant;
  if (mlir::matchPattern(&op, mlir::m_ConstantInt(&constant)))
    return addConstant(constant.getBitWidth() == 1 ? constant.getZExtValue()
                                                   : constant.getSExtValue());
  using Result = std::optional<int64_t>;
  return llvm::TypeSwitch<mlir::Operation *, Result>(&op)
      .Case([&](mlir::tensor::DimOp dim) -> Result {
        auto argument = llvm::dyn_cast<mlir::BlockArgument>(dim.getSource());
        std::optional<int64_t> number = dim.getConstantIndex();
        if (!argument || !number)
          return std::nullopt;
        return add(ShapeOp::Extent, argument.getArgNumber(), *number);
      })
      .Case([&](mlir::arith::CmpIOp compare) {
        return translateComparison(
            mlir::arith::stringifyCmpIPredicate(compare.getPredicate()),
            compare.getLhs(), compare.getRhs());
      })
      .Case([&](mlir::index::CmpOp compare) {
        return translateComparison(
            mlir::index::stringifyIndexCmpPredicate(compare.getPred()),
            compare.getLhs(), compare.getRhs());
      })
      .Case([&](mlir::arith::SelectOp select) {
        return add(ShapeOp::Select, get(select.getCondition()),
                   get(select.getTrueValue()), get(select.getFalseValue()));
      })
      .Case<mlir::arith::ExtSIOp, mlir::arith::TruncIOp,
            mlir::arith::IndexCastOp, mlir::index::CastSOp>([&](auto cast) {
        return wrap(read(cast->getOperand(0), Reading::Signed), type);
      })
      .Case<mlir::arith::ExtUIOp, mlir::arith::IndexCastUIOp,
            mlir::index::CastUOp>([&](auto cast) {
        return wrap(read(cast->getOperand(0), Reading::Unsigned), type);
      })
      .Case([&](mlir::math::AbsIOp abs) {
        int64_t number = read(abs.getOperand(), Reading::Signed);
        int64_t negated = add(ShapeOp::Sub, addConstant(0), number);
        return wrap(add(ShapeOp::MaxS, number, negated), type);
      })
      .Default([&](mlir::Operation *) -> Result {
        if (!llvm::isa<mlir::arith::ArithDialect, mlir::index::IndexDialect>(
                op.getDialect()))
          return std::nullopt;
        std::optional<BinaryOp> binary =
            getBinaryOp(op.getName().stripDialect());
        if (!binary)
          return std::nullopt;
        return translateBinary(*binary, op.getOperand(0), op.getOperand(1),
                               type);
      });
}

mlir::LogicalResult Translator::translate(mlir::Operation &op) {
  auto hasWidth = [](mlir::Type type) { return getWidth(type).has_value(); };
  bool isKnown = op.getNumResults() == 1 &&
                 llvm::all_of(op.getResultTypes(), hasWidth) &&
                 (llvm::isa<mlir::tensor::DimOp>(op) ||
                  llvm::all_of(op.getOperandTypes(), hasWidth));
  std::optional<int64_t> number;
  if (isKnown)
    number = translateValue(op);
  if (!number)
    return op.emitOpError("expects to decide no extent, for which there are "
                          "operations of arith and index on up to 64 bits");
  numbers[op.getResult(0)] = *number;
  return success();
}

/// Operations that values depend on which the terminator has; of a dimension
/// only the number matters.
static llvm::DenseSet<mlir::Operation *> findNeeded(mlir::Block &body) {
  llvm::DenseSet<mlir::Operation *> needed = {body.getTerminator()};
  for (mlir::Operation &op : llvm::reverse(body))
    if (needed.contains(&op) && !llvm::isa<mlir::tensor::DimOp>(op))
      for (Value operand : op.getOperands())
        if (mlir::Operation *other = operand.getDefiningOp())
          needed.insert(other);
  return needed;
}

mlir::FailureOr<ShapeFunction>
attn::translateShapeFunction(mlir::func::FuncOp shapes) {
  auto texts =
      shapes->getAttrOfType<mlir::ArrayAttr>(mlir::attn::kConstraintsAttrName);
  if (!texts || !shapes.getFunctionBody().hasOneBlock() ||
      shapes.getNumResults() < 3 * texts.size())
    return shapes.emitError(
        "expects a shape function as attn-shape-function makes it");
  mlir::RewritePatternSet patterns(shapes.getContext());
  mlir::populateAffineToStdConversionPatterns(patterns);
  if (failed(mlir::applyPatternsGreedily(shapes, std::move(patterns))))
    return failure();
  Translator translator;
  mlir::Block &body = shapes.getFunctionBody().front();
  llvm::DenseSet<mlir::Operation *> needed = findNeeded(body);
  for (mlir::Operation &op : body.without_terminator())
    if (needed.contains(&op) && failed(translator.translate(op)))
      return failure();
  ShapeFunction function = std::move(translator.function);
  llvm::SmallVector<int64_t> values;
  for (Value value : body.getTerminator()->getOperands())
    values.push_back(translator.get(value));
  // A condition and two numbers for each text, then the extents.
  llvm::ArrayRef<int64_t> rest = values;
  for (mlir::Attribute text : texts) {
    function.constraints.push_back({rest[0],
                                    {rest[1], rest[2]},
                                    llvm::cast<mlir::StringAttr>(text).str()});
    rest = rest.drop_front(3);
  }
  function.results.assign(rest.begin(), rest.end());
  return function;
}
