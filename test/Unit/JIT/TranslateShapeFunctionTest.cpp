//===- TranslateShapeFunctionTest.cpp - Tests of shape functions ----------===//
//
// For operations of arith on numbers of any width, a shape function computes
// what the folder of the operation does.
//
//===----------------------------------------------------------------------===//

#include "../../../lib/JIT/TranslateShapeFunction.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "gtest/gtest.h"
#include <random>

using namespace attn;
using namespace mlir;

namespace {
class TranslateShapeFunction : public ::testing::Test {
protected:
  TranslateShapeFunction() : builder(&context) {
    context.loadDialect<::mlir::attn::AttnDialect, arith::ArithDialect,
                        func::FuncDialect, tensor::TensorDialect>();
  }

  Type getType(unsigned width) {
    return width == 0 ? Type(builder.getIndexType())
                      : builder.getIntegerType(width);
  }

  /// An operation, or null if there is none with these types.
  using Build = llvm::function_ref<Operation *(OpBuilder &, Value, Value)>;

  /// What the folder makes of numbers; nullopt for what it does not fold.
  std::optional<int64_t> fold(Type type, int64_t a, int64_t b, Build build);
  /// What a shape function makes of extents; nullopt for no value.
  std::optional<int64_t> evaluate(Type type, int64_t a, int64_t b, Build build);
  void compare(llvm::StringRef name, Type type, Build build);

  MLIRContext context;
  OpBuilder builder;
  std::mt19937_64 random{1};
  int numCompared = 0;
};
} // namespace

/// As signed numbers, but booleans.
static int64_t getNumber(const llvm::APInt &bits) {
  return bits.getBitWidth() == 1 ? bits.getZExtValue() : bits.getSExtValue();
}

std::optional<int64_t> TranslateShapeFunction::fold(Type type, int64_t a,
                                                    int64_t b, Build build) {
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
  builder.setInsertionPointToEnd(module->getBody());
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  auto constant = [&](int64_t number) -> Value {
    llvm::APInt bits =
        llvm::APInt(64, number, /*isSigned=*/true).sextOrTrunc(width);
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, bits));
  };
  Operation *op = build(builder, constant(a), constant(b));
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands())
    operands.push_back(operand.getDefiningOp<arith::ConstantOp>().getValue());
  SmallVector<OpFoldResult> results;
  if (failed(op->fold(operands, results)) || results.empty())
    return std::nullopt;
  Attribute attribute = llvm::dyn_cast<Attribute>(results[0]);
  if (auto value = llvm::dyn_cast<Value>(results[0]))
    attribute = value.getDefiningOp<arith::ConstantOp>().getValue();
  auto number = dyn_cast_or_null<IntegerAttr>(attribute);
  return number ? std::optional(getNumber(number.getValue())) : std::nullopt;
}

std::optional<int64_t>
TranslateShapeFunction::evaluate(Type type, int64_t a, int64_t b, Build build) {
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto tensor = RankedTensorType::get(
      {ShapedType::kDynamic, ShapedType::kDynamic}, builder.getF32Type());
  auto shapes = func::FuncOp::create(
      builder, loc, "f.shapes",
      builder.getFunctionType({tensor}, {builder.getI1Type(), type, type}));
  shapes->setAttr(::mlir::attn::kConstraintsAttrName,
                  builder.getStrArrayAttr({"%0"}));
  builder.setInsertionPointToEnd(shapes.addEntryBlock());
  auto extent = [&](int64_t dim) -> Value {
    Value number =
        tensor::DimOp::create(builder, loc, shapes.getArgument(0), dim);
    if (type.isIndex())
      return number;
    return arith::IndexCastOp::create(builder, loc, type, number);
  };
  Value left = extent(0);
  Value result = build(builder, left, extent(1))->getResult(0);
  // The number is that of a constraint which is never met.
  Value no =
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(false));
  func::ReturnOp::create(builder, loc, ValueRange{no, result, result});
  shapes.setFunctionType(builder.getFunctionType(
      {tensor}, {no.getType(), result.getType(), result.getType()}));
  FailureOr<ShapeFunction> function = translateShapeFunction(shapes);
  EXPECT_TRUE(succeeded(function));
  if (failed(function))
    return std::nullopt;
  int64_t shape[] = {a, b};
  auto extents = function->evaluate({{nullptr, 0, 2, shape, nullptr}});
  EXPECT_FALSE(bool(extents));
  std::string text = llvm::toString(extents.takeError());
  int64_t number;
  if (llvm::StringRef(text).getAsInteger(10, number))
    return std::nullopt;
  return number;
}

void TranslateShapeFunction::compare(llvm::StringRef name, Type type,
                                     Build build) {
  const int64_t numbers[] = {0,    1,    2,          3,         7,
                             -1,   -2,   -7,         100,       127,
                             -128, 1000, 2147483647, INT64_MAX, INT64_MIN};
  for (int run = 0; run < 40; ++run) {
    int64_t a = numbers[random() % std::size(numbers)];
    int64_t b = numbers[random() % std::size(numbers)];
    std::optional<int64_t> expected = fold(type, a, b, build);
    std::optional<int64_t> got = evaluate(type, a, b, build);
    // Poison, and what 64 bits do not hold.
    if (!expected || !got)
      continue;
    ++numCompared;
    std::string text;
    llvm::raw_string_ostream(text)
        << name << " " << type << " " << a << " " << b;
    EXPECT_EQ(*got, *expected) << text;
  }
}

template <typename Op>
static Operation *create(OpBuilder &builder, Value a, Value b) {
  return Op::create(builder, builder.getUnknownLoc(), a, b);
}

TEST_F(TranslateShapeFunction, Operations) {
  const std::pair<const char *, Operation *(*)(OpBuilder &, Value, Value)>
      ops[] = {{"addi", create<arith::AddIOp>},
               {"subi", create<arith::SubIOp>},
               {"muli", create<arith::MulIOp>},
               {"divsi", create<arith::DivSIOp>},
               {"divui", create<arith::DivUIOp>},
               {"ceildivsi", create<arith::CeilDivSIOp>},
               {"ceildivui", create<arith::CeilDivUIOp>},
               {"floordivsi", create<arith::FloorDivSIOp>},
               {"remsi", create<arith::RemSIOp>},
               {"remui", create<arith::RemUIOp>},
               {"andi", create<arith::AndIOp>},
               {"ori", create<arith::OrIOp>},
               {"xori", create<arith::XOrIOp>},
               {"shli", create<arith::ShLIOp>},
               {"shrsi", create<arith::ShRSIOp>},
               {"shrui", create<arith::ShRUIOp>},
               {"minsi", create<arith::MinSIOp>},
               {"maxsi", create<arith::MaxSIOp>},
               {"minui", create<arith::MinUIOp>},
               {"maxui", create<arith::MaxUIOp>}};
  for (auto [name, build] : ops)
    for (unsigned width : {0, 1, 8, 32, 63, 64}) {
      int before = numCompared;
      compare(name, getType(width), build);
      EXPECT_GT(numCompared, before) << name << " " << width;
    }
}

TEST_F(TranslateShapeFunction, Comparisons) {
  for (unsigned width : {0, 1, 8, 64})
    for (uint64_t number = 0; number <= arith::getMaxEnumValForCmpIPredicate();
         ++number) {
      auto predicate = static_cast<arith::CmpIPredicate>(number);
      compare(arith::stringifyCmpIPredicate(predicate), getType(width),
              [&](OpBuilder &builder, Value a, Value b) -> Operation * {
                return arith::CmpIOp::create(builder, builder.getUnknownLoc(),
                                             predicate, a, b);
              });
    }
  EXPECT_GT(numCompared, 1000);
}

TEST_F(TranslateShapeFunction, Casts) {
  for (unsigned from : {1, 8, 32, 64})
    for (unsigned to : {1, 8, 32, 64}) {
      auto cast = [&](auto makeOp) {
        compare("cast to i" + std::to_string(to), getType(from),
                [&](OpBuilder &builder, Value a, Value) -> Operation * {
                  return makeOp(builder, builder.getUnknownLoc(), getType(to),
                                a);
                });
      };
      if (from < to) {
        cast([](auto &builder, auto loc, auto type, auto value) {
          return arith::ExtSIOp::create(builder, loc, type, value);
        });
        cast([](auto &builder, auto loc, auto type, auto value) {
          return arith::ExtUIOp::create(builder, loc, type, value);
        });
      } else if (from > to) {
        cast([](auto &builder, auto loc, auto type, auto value) {
          return arith::TruncIOp::create(builder, loc, type, value);
        });
      }
    }
  for (unsigned width : {1, 8, 32, 64}) {
    auto castBoth = [&](unsigned from, unsigned to) {
      compare("index_cast", getType(from),
              [&](OpBuilder &builder, Value a, Value) -> Operation * {
                return arith::IndexCastOp::create(
                    builder, builder.getUnknownLoc(), getType(to), a);
              });
      compare("index_castui", getType(from),
              [&](OpBuilder &builder, Value a, Value) -> Operation * {
                return arith::IndexCastUIOp::create(
                    builder, builder.getUnknownLoc(), getType(to), a);
              });
    };
    castBoth(0, width);
    castBoth(width, 0);
  }
  EXPECT_GT(numCompared, 500);
}
