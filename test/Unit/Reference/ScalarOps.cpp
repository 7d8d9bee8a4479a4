//===- ScalarOps.cpp - Evaluate one operation on scalars ------------------===//

#include "ScalarOps.h"
#include "mlir/IR/Dialect.h"

using namespace attn;
using namespace attn::test;

/// The operation works on scalars, in a region of linalg.generic.
EvaluatedTensor attn::test::evaluateRows(const std::string &ops,
                                         const std::string &resultType,
                                         llvm::ArrayRef<Column> columns,
                                         EvaluatorOptions options) {
  int64_t size = columns[0].values.size();
  std::string prefix = "tensor<" + std::to_string(size) + "x";
  std::string arguments, inputs, inputTypes, blockArguments, maps;
  std::vector<Tensor> tensors;
  tensors.reserve(columns.size());
  for (auto [number, column] : llvm::enumerate(columns)) {
    std::string letter(1, char('a' + number));
    std::string separator = number ? ", " : "";
    std::string type = prefix + column.type + ">";
    arguments += separator + "%t" + letter + ": " + type;
    inputs += separator + "%t" + letter;
    inputTypes += separator + type;
    blockArguments += "%" + letter + ": " + column.type + ", ";
    maps += "affine_map<(d) -> (d)>, ";
    tensors.push_back(makeTensor(column.dtype, {size}, column.values));
  }
  std::string result = prefix + resultType + ">";
  std::string text =
      "func.func @f(" + arguments + ") -> " + result +
      " {\n%e = tensor.empty() : " + result +
      "\n%x = linalg.generic {indexing_maps = [" + maps +
      "affine_map<(d) -> (d)>], iterator_types = [\"parallel\"]} ins(" +
      inputs + " : " + inputTypes + ") outs(%e : " + result + ") {\n^bb0(" +
      blockArguments + "%out: " + resultType + "):\n" + ops +
      "\nlinalg.yield %r : " + resultType + "\n} -> " + result +
      "\nreturn %x : " + result + "\n}";
  std::vector<const Tensor *> pointers;
  for (const Tensor &tensor : tensors)
    pointers.push_back(&tensor);
  return evaluate(text, pointers, options)[0];
}

EvaluatedTensor attn::test::evaluateCast(const std::string &name,
                                         const std::string &from,
                                         DType fromType, const std::string &to,
                                         llvm::ArrayRef<double> samples,
                                         EvaluatorOptions options) {
  return evaluateRows("%r = " + name + " %a : " + from + " to " + to, to,
                      Column{from, fromType, samples.vec()}, options);
}

TEST(ScalarOpsTest, NoOperationIsMissing) {
  // Microscaling formats have no type that the evaluator computes with.
  std::set<std::string> names = {"arith.scaling_extf", "arith.scaling_truncf",
                                 // Used by most tests.
                                 "arith.constant"};
  addFloatOps(names);
  addIntegerOps(names);
  addCasts(names);
  for (mlir::RegisteredOperationName name :
       getContext().getRegisteredOperations()) {
    llvm::StringRef text = name.getStringRef();
    if (text.starts_with("arith.") || text.starts_with("math.") ||
        text.starts_with("index."))
      EXPECT_TRUE(names.count(text.str())) << text.str();
  }
}
