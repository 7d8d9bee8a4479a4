//===- Program.cpp - What random programs are made of ---------------------===//

#include "Printer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace attn;
using namespace attn::property;

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

static std::shared_ptr<Expr> make(Expr::Kind kind, Type type) {
  auto expr = std::make_shared<Expr>();
  expr->kind = kind;
  expr->type = type;
  return expr;
}

ExprRef property::makeVariable(llvm::StringRef name) {
  auto expr = make(Expr::Kind::Variable, name == "s" ? Type::Float : Type::Int);
  expr->name = name.str();
  return expr;
}

ExprRef property::makeCarried(Type type, llvm::StringRef loop) {
  auto expr = make(Expr::Kind::Variable, type);
  expr->name = (loop + "c").str();
  return expr;
}

ExprRef property::makeIteration(llvm::StringRef loop) {
  auto expr = make(Expr::Kind::Variable, Type::Int);
  expr->name = (loop + "r").str();
  return expr;
}

ExprRef property::makeFor(llvm::StringRef name, int64_t count, ExprRef init,
                          ExprRef next, unsigned width) {
  auto expr = make(Expr::Kind::For, init->type);
  expr->name = name.str();
  expr->integer = count;
  expr->args = {std::move(init), std::move(next)};
  expr->width = width;
  return expr;
}

ExprRef property::makeFloat(double number) {
  auto expr = make(Expr::Kind::Constant, Type::Float);
  expr->number = number;
  return expr;
}

ExprRef property::makeInt(int64_t number) {
  auto expr = make(Expr::Kind::Constant, Type::Int);
  expr->integer = number;
  return expr;
}

ExprRef property::makeBool(bool value) {
  auto expr = make(Expr::Kind::Constant, Type::Bool);
  expr->integer = value;
  return expr;
}

ExprRef property::makeOp(Type type, llvm::StringRef name,
                         std::vector<ExprRef> args, unsigned width) {
  auto expr = make(Expr::Kind::Op, type);
  expr->name = name.str();
  expr->args = std::move(args);
  expr->width = width;
  return expr;
}

ExprRef property::makeResult(Type type, llvm::StringRef name,
                             std::vector<ExprRef> args, int64_t number,
                             unsigned width) {
  auto expr = make(Expr::Kind::Op, type);
  expr->name = name.str();
  expr->args = std::move(args);
  expr->integer = number;
  expr->width = width;
  return expr;
}

ExprRef property::makeOpIn(llvm::StringRef floatType, llvm::StringRef name,
                           std::vector<ExprRef> args) {
  auto expr = make(Expr::Kind::Op, Type::Float);
  expr->name = name.str();
  expr->args = std::move(args);
  expr->floatType = floatType.str();
  return expr;
}

ExprRef property::makeConversion(Type type, llvm::StringRef name, ExprRef from,
                                 unsigned width, llvm::StringRef floatType) {
  auto expr = make(Expr::Kind::Cast, type);
  expr->name = name.str();
  expr->args = {std::move(from)};
  expr->width = width;
  expr->floatType = floatType.str();
  return expr;
}

ExprRef property::makeCompare(llvm::StringRef name, ExprRef lhs, ExprRef rhs,
                              unsigned width) {
  auto expr = make(Expr::Kind::Compare, Type::Bool);
  expr->name = name.str();
  expr->args = {std::move(lhs), std::move(rhs)};
  expr->width = width;
  return expr;
}

ExprRef property::makeSelect(Expr::Kind kind, ExprRef condition, ExprRef yes,
                             ExprRef no) {
  auto expr = make(kind, yes->type);
  expr->args = {std::move(condition), std::move(yes), std::move(no)};
  return expr;
}

ExprRef property::makeCast(Type type, ExprRef from, unsigned width) {
  auto expr = make(Expr::Kind::Cast, type);
  expr->args = {std::move(from)};
  expr->width = width;
  return expr;
}

size_t property::getSize(const ExprRef &expr) {
  size_t size = 1;
  for (const ExprRef &arg : expr->args)
    size += getSize(arg);
  return size;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

int64_t CaptureDim::get(const Lengths &lengths) const {
  switch (kind) {
  case DimKind::Batch:
    return lengths.batch;
  case DimKind::Heads:
    return lengths.getHeads();
  case DimKind::Queries:
    return lengths.queries;
  case DimKind::Keys:
    return lengths.keys;
  case DimKind::Constant:
    return constant;
  case DimKind::QueryBlocks:
    return (lengths.queries + constant - 1) / constant;
  case DimKind::KeyBlocks:
    return (lengths.keys + constant - 1) / constant;
  case DimKind::RowStarts:
    return (lengths.queries + constant - 1) / constant + 1;
  case DimKind::Entries:
    return 0;
  }
  llvm_unreachable("unknown kind of dimension");
}

Shape property::arrange(llvm::StringRef layout, int64_t b, int64_t h, int64_t s,
                        std::optional<int64_t> d) {
  Shape shape;
  for (char letter : layout) {
    if (letter == 'd' && !d)
      continue;
    shape.push_back(letter == 'b'   ? b
                    : letter == 'h' ? h
                    : letter == 's' ? s
                                    : *d);
  }
  return shape;
}

Shape Program::getInputShape(size_t input, const Lengths &lengths) const {
  int64_t kvBatch = broadcast ? 1 : lengths.batch;
  switch (input) {
  case 0:
    return arrange(layouts[0], lengths.batch, lengths.getHeads(),
                   lengths.queries, keyDim);
  case 1:
    return arrange(layouts[1], kvBatch, lengths.kvHeads, lengths.keys, keyDim);
  case 2:
    return arrange(layouts[2], kvBatch, lengths.kvHeads, lengths.keys,
                   valueDim);
  default:
    Shape shape;
    for (const CaptureDim &dim : captures[input - 3].dims)
      shape.push_back(dim.get(lengths));
    return shape;
  }
}

Shape Program::getResultShape(bool ofLse, const Lengths &lengths) const {
  return arrange(layouts[3], lengths.batch, lengths.getHeads(), lengths.queries,
                 ofLse ? std::nullopt : std::optional<int64_t>(valueDim));
}

DType Program::getInputDType(size_t input) const {
  return input < 3 ? dtype : captures[input - 3].dtype;
}

std::string Program::getInputSpec(size_t input, const Lengths &lengths) const {
  Shape shape = getInputShape(input, lengths);
  const std::string &fill = input < 3 ? fills[input] : captures[input - 3].fill;
  if (input >= 3 && captures[input - 3].dims.empty())
    return fill;
  return fill + ":" + formatShape(shape);
}

std::string property::getInputType(const Program &program, size_t input) {
  Shape shape = program.getInputShape(input, program.runs.front());
  if (input < 3) {
    llvm::StringRef layout = program.layouts[input];
    for (auto [at, letter] : llvm::enumerate(llvm::StringRef("bhs")))
      if (program.dynamic[input][at])
        shape[layout.find(letter)] = -1;
  } else {
    const Capture &capture = program.captures[input - 3];
    if (capture.isScalar)
      return capture.isIndex ? "index" : getName(capture.dtype).str();
    for (auto [at, dim] : llvm::enumerate(capture.dims))
      if (dim.dynamic)
        shape[at] = -1;
  }
  return "tensor<" + formatTensorType(shape, program.getInputDType(input)) +
         ">";
}

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

/// The sparsity whose rows or columns an input is.
static const Sparsity *findLists(const Program &program, size_t input) {
  for (const Attention &attention : program.attentions)
    if (attention.sparsity && attention.sparsity->columns &&
        (3 + attention.sparsity->operand == input ||
         3 + *attention.sparsity->columns == input))
      return &*attention.sparsity;
  return nullptr;
}

bool Program::isColumns(size_t input) const {
  const Sparsity *lists = findLists(*this, input);
  return lists && 3 + *lists->columns == input;
}

/// Rows and columns of random blocks, which are those that attn-run makes.
static std::pair<std::vector<int64_t>, std::vector<int64_t>>
makeLists(const Program &program, const Sparsity &lists, const ArgSpec &spec,
          const Lengths &lengths) {
  size_t input = 3 + lists.operand;
  Shape shape = program.getInputShape(input, lengths);
  int64_t numRows = 1;
  for (int64_t extent : shape)
    numRows *= extent;
  int64_t numBlocks =
      llvm::divideCeil(uint64_t(lengths.keys), uint64_t(lists.blockKeys));
  std::vector<int64_t> rows, columns;
  uint64_t number = 0;
  for (int64_t row = 0; row < numRows; ++row) {
    rows.push_back(columns.size());
    // The last one of a head ends its last list.
    if (row % shape.back() == shape.back() - 1)
      continue;
    for (int64_t column = 0; column < numBlocks; ++column)
      if (hasBlock(spec, program.seed, input, number++))
        columns.push_back(column);
  }
  return {std::move(rows), std::move(columns)};
}

llvm::Expected<Tensor> Program::makeInput(size_t input,
                                          const Lengths &lengths) const {
  const Sparsity *lists = findLists(*this, input);
  size_t source = lists ? 3 + lists->operand : input;
  llvm::Expected<ArgSpec> spec = ArgSpec::parse(getInputSpec(source, lengths));
  if (!spec)
    return spec.takeError();
  Shape shape = getInputShape(input, lengths);
  if (!lists)
    return makeTensor(*spec, getInputDType(input), shape, seed, input);
  auto [rows, columns] = makeLists(*this, *lists, *spec, lengths);
  if (isColumns(input))
    shape = {int64_t(columns.size())};
  llvm::Expected<Tensor> tensor = Tensor::create(getInputDType(input), shape);
  if (tensor)
    for (auto [at, element] :
         llvm::enumerate(isColumns(input) ? columns : rows))
      tensor->setFromInt(at, element);
  return tensor;
}
