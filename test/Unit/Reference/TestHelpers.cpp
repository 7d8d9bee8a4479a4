//===- TestHelpers.cpp - Evaluate MLIR text in tests ----------------------===//

#include "TestHelpers.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"

using namespace attn;
using namespace attn::test;

mlir::MLIRContext &attn::test::getContext() {
  static mlir::MLIRContext *context = [] {
    auto *context = new mlir::MLIRContext;
    context->loadDialect<mlir::arith::ArithDialect, mlir::attn::AttnDialect,
                         mlir::func::FuncDialect, mlir::index::IndexDialect,
                         mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                         mlir::scf::SCFDialect, mlir::tensor::TensorDialect>();
    return context;
  }();
  return *context;
}

mlir::OwningOpRef<mlir::ModuleOp> attn::test::parse(llvm::StringRef text) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      text, mlir::ParserConfig(&getContext()), "test.mlir");
  EXPECT_TRUE(module) << text.str();
  if (!module)
    std::exit(1);
  return module;
}

mlir::func::FuncOp attn::test::getEntry(mlir::ModuleOp module) {
  mlir::func::FuncOp last;
  for (auto function : module.getOps<mlir::func::FuncOp>())
    last = function;
  return last;
}

Tensor attn::test::makeTensor(DType dtype, llvm::ArrayRef<int64_t> shape,
                              llvm::ArrayRef<double> elements) {
  Tensor tensor = llvm::cantFail(Tensor::create(dtype, shape));
  EXPECT_TRUE(elements.size() == 1 ||
              int64_t(elements.size()) == tensor.getNumElements());
  for (int64_t index = 0; index < tensor.getNumElements(); ++index)
    tensor.setFromDouble(index, elements[elements.size() == 1 ? 0 : index]);
  return tensor;
}

Tensor attn::test::makeScalar(DType dtype, double value) {
  return makeTensor(dtype, {}, value);
}

Tensor attn::test::makeRandom(DType dtype, llvm::ArrayRef<int64_t> shape,
                              uint64_t seed) {
  Tensor tensor = llvm::cantFail(Tensor::create(dtype, shape));
  RandomStream random(seed);
  for (int64_t index = 0; index < tensor.getNumElements(); ++index)
    tensor.setFromDouble(index, random.getNormal(index));
  return tensor;
}

/// The type of a tensor in a layout whose only known size is that of d.
static std::string getTensorType(const std::string &layout, int64_t dim,
                                 DType dtype) {
  std::string type = "tensor<";
  for (char letter : layout)
    type += (letter == 'd' ? std::to_string(dim) : "?") + "x";
  return type + getName(dtype).str() + ">";
}

std::string attn::test::AttentionText::str() const {
  std::string types[4];
  for (unsigned tensor = 0; tensor < 4; ++tensor)
    types[tensor] =
        getTensorType(layouts[tensor], tensor < 2 ? dim : valueDim, dtype);
  std::string lseType =
      std::string("tensor<?x?x?x") + (dtype == DType::F64 ? "f64>" : "f32>");
  std::string text = "func.func @f(%q: " + types[0] + ", %k: " + types[1] +
                     ", %v: " + types[2];
  std::string names, values, captureTypes;
  for (auto [number, type] : llvm::enumerate(captures)) {
    std::string value = "%v" + std::to_string(number);
    text += ", " + value + ": " + type;
    names += ", %c" + std::to_string(number);
    values += (number ? ", " : "") + value;
    captureTypes += (number ? ", " : "") + type;
  }
  std::string blocks, blockTypes;
  for (auto [number, type] : llvm::enumerate(sparsityTypes)) {
    std::string value = "%x" + std::to_string(number);
    text += ", " + value + ": " + type;
    blocks += (number ? ", " : "") + value;
    blockTypes += (number ? ", " : "") + type;
  }
  text += ") -> (" + types[3] + ", " + lseType + ") {\n";
  std::string sizes, rowSizes;
  for (char letter : layouts[3]) {
    if (letter == 'd')
      continue;
    std::string name = std::string("%size") + letter;
    std::string position = std::to_string(layouts[0].find(letter));
    text += "  %at" + std::string(1, letter) + " = arith.constant " + position +
            " : index\n  " + name + " = tensor.dim %q, %at" + letter + " : " +
            types[0] + "\n";
    sizes += (sizes.empty() ? "" : ", ") + name;
  }
  text += "  %oinit = tensor.empty(" + sizes + ") : " + types[3] +
          "\n  %linit = tensor.empty(" + sizes + ") : " + lseType +
          "\n  %o, %lse = attn.attention " + attributes +
          "\n      ins(%q, %k, %v : " + types[0] + ", " + types[1] + ", " +
          types[2] + ")\n";
  if (!captures.empty())
    text += "      captures(" + values + " : " + captureTypes + ")\n";
  if (!sparsity.empty())
    text += "      sparsity(" + sparsity + " " + blocks + " : " + blockTypes +
            ")\n";
  text += "      outs(%oinit, %linit : " + types[3] + ", " + lseType + ")\n";
  if (!score.empty())
    text +=
        "      score(%s, %b, %h, %i, %j" + names + ") {\n" + score + "\n}\n";
  if (!mask.empty())
    text += "      mask(%b, %h, %i, %j" + names + ") {\n" + mask + "\n}\n";
  return text + "  return %o, %lse : " + types[3] + ", " + lseType + "\n}\n";
}

test::Results attn::test::evaluate(mlir::ModuleOp module,
                                   llvm::ArrayRef<const Tensor *> inputs,
                                   EvaluatorOptions options) {
  llvm::Expected<Results> results =
      Evaluator(options).evaluate(getEntry(module), inputs);
  if (results)
    return std::move(*results);
  ADD_FAILURE() << llvm::toString(results.takeError());
  return Results(module.getOps<mlir::func::FuncOp>().empty()
                     ? 0
                     : getEntry(module).getNumResults());
}

test::Results attn::test::evaluate(llvm::StringRef text,
                                   llvm::ArrayRef<const Tensor *> inputs,
                                   EvaluatorOptions options) {
  return evaluate(*parse(text), inputs, options);
}

std::string attn::test::getError(llvm::StringRef text,
                                 llvm::ArrayRef<const Tensor *> inputs,
                                 EvaluatorOptions options) {
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(text);
  llvm::Expected<Results> results =
      Evaluator(options).evaluate(getEntry(*module), inputs);
  if (!results)
    return llvm::toString(results.takeError());
  ADD_FAILURE() << "expects an error for " << text.str();
  return "";
}
