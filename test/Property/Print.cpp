//===- Print.cpp - Random programs as MLIR --------------------------------===//

#include "Program.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <map>

using namespace attn;
using namespace attn::property;
using llvm::formatv;

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
  }
  llvm_unreachable("unknown kind of dimension");
}

/// Arranges extents of b, h, s and d in a layout; without d where that is
/// negative one beyond the end.
static Shape arrange(llvm::StringRef layout, int64_t b, int64_t h, int64_t s,
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

/// The type of an input with its free extents.
static std::string getInputType(const Program &program, size_t input) {
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
// Regions
//===----------------------------------------------------------------------===//

namespace {
class RegionPrinter {
public:
  RegionPrinter(const Program &program, llvm::raw_ostream &os)
      : program(program), os(os), scopes(1) {}

  void print(const ExprRef &expr) {
    std::string value = emit(expr);
    line() << "attn.yield " << value << " : " << getType(expr->type) << "\n";
  }
  /// A score, or the argument without one, and a weight behind it.
  void printScore(const ExprRef &expr, std::optional<double> dropout) {
    if (!dropout)
      return print(expr);
    std::string value = expr ? emit(expr) : "%s";
    std::string seed = op("arith.constant {0} : i64", program.seed);
    std::string weight =
        op("attn.dropout {0} seed {1} offset {1} at %b, %h, "
           "%i, %j : {2}",
           llvm::formatv("{0:e}", *dropout).str(), seed, getType(Type::Float));
    line() << formatv("attn.yield {0}, {1} : {2}, {2}\n", value, weight,
                      getType(Type::Float));
  }

private:
  std::string getType(Type type) const {
    return type == Type::Bool  ? "i1"
           : type == Type::Int ? "index"
           : program.isF64()   ? "f64"
                               : "f32";
  }
  llvm::raw_ostream &line() { return os.indent(8 + 2 * (scopes.size() - 1)); }

  /// Prints one operation and returns its result.
  template <typename... Args> std::string op(const char *format, Args... args) {
    std::string name = "%x" + std::to_string(count++);
    line() << name << " = " << formatv(format, args...).str() << "\n";
    return name;
  }

  std::string emit(const ExprRef &expr) {
    for (const auto &scope : scopes)
      if (auto found = scope.find(expr.get()); found != scope.end())
        return found->second;
    std::string value = emitNew(*expr);
    scopes.back()[expr.get()] = value;
    return value;
  }

  std::string emitNew(const Expr &expr);
  std::string emitConstant(const Expr &expr);
  std::string emitIf(const Expr &expr);
  std::string emitFor(const Expr &expr);
  std::string emitVariable(const Expr &expr);
  std::string emitCast(const Expr &expr);
  std::string emitCapture(const Expr &expr);
  std::string emitPosition(const Expr &expr, size_t dim);
  std::string convert(std::string value, DType from, bool isIndex, Type to);

  const Program &program;
  llvm::raw_ostream &os;
  std::vector<std::map<const Expr *, std::string>> scopes;
  /// Variables of the loops that are open.
  std::map<std::string, std::string> ofLoops;
  int count = 0;
};
} // namespace

std::string RegionPrinter::emitConstant(const Expr &expr) {
  if (expr.type == Type::Bool)
    return op("arith.constant {0}", expr.integer ? "true" : "false");
  if (expr.type == Type::Int)
    return op("arith.constant {0} : index", expr.integer);
  if (std::isinf(expr.number) || std::isnan(expr.number))
    return op("arith.constant {0} : {1}",
              program.isF64() ? "0xFFF0000000000000" : "0xFF800000",
              getType(Type::Float));
  std::string digits;
  llvm::raw_string_ostream(digits) << llvm::format("%.6e", expr.number);
  return op("arith.constant {0} : {1}", digits, getType(Type::Float));
}

std::string RegionPrinter::emitIf(const Expr &expr) {
  std::string condition = emit(expr.args[0]);
  std::string name = "%x" + std::to_string(count++);
  line() << name << " = scf.if " << condition << " -> (" << getType(expr.type)
         << ") {\n";
  for (size_t arg : {1, 2}) {
    scopes.emplace_back();
    std::string value = emit(expr.args[arg]);
    line() << "scf.yield " << value << " : " << getType(expr.type) << "\n";
    scopes.pop_back();
    line() << (arg == 1 ? "} else {\n" : "}\n");
  }
  return name;
}

std::string RegionPrinter::emitFor(const Expr &expr) {
  std::string type = expr.width && expr.type == Type::Int
                         ? "i" + std::to_string(expr.width)
                         : getType(expr.type);
  auto cast = [&](std::string value, std::string from, std::string to) {
    return from == to || expr.type != Type::Int
               ? value
               : op("arith.index_cast {0} : {1} to {2}", value, from, to);
  };
  std::string position =
      expr.width ? "i" + std::to_string(expr.width) : "index";
  std::string init = cast(emit(expr.args[0]), "index", type);
  std::string zero = op("arith.constant 0 : {0}", position),
              one = op("arith.constant 1 : {0}", position),
              end = op("arith.constant {0} : {1}", expr.integer, position);
  std::string name = "%x" + std::to_string(count++),
              iteration = "%x" + std::to_string(count++),
              carried = "%x" + std::to_string(count++);
  line() << formatv("{0} = scf.for {1} = {2} to {3} step {4} "
                    "iter_args({5} = {6}) -> ({7}){8} {{\n",
                    name, iteration, zero, end, one, carried, init, type,
                    expr.width ? " : " + position : std::string());
  scopes.emplace_back();
  auto outer = ofLoops;
  if (expr.width)
    iteration = op("arith.index_cast {0} : {1} to index", iteration, position);
  ofLoops[expr.name + "r"] = iteration;
  ofLoops[expr.name + "c"] = cast(carried, type, "index");
  std::string next = cast(emit(expr.args[1]), "index", type);
  line() << "scf.yield " << next << " : " << type << "\n";
  ofLoops = std::move(outer);
  scopes.pop_back();
  line() << "}\n";
  return cast(name, type, "index");
}

/// An argument, or a variable of a loop, which is 0 outside of it.
std::string RegionPrinter::emitVariable(const Expr &expr) {
  if (expr.name.size() == 1)
    return "%" + expr.name;
  auto found = ofLoops.find(expr.name);
  if (found != ofLoops.end())
    return found->second;
  return op(expr.type == Type::Int ? "arith.constant 0 : {0}"
                                   : "arith.constant 0.0 : {0}",
            getType(expr.type));
}

std::string RegionPrinter::emitCast(const Expr &expr) {
  std::string value = emit(expr.args[0]);
  Type from = expr.args[0]->type;
  if (from == Type::Bool && expr.type == Type::Int)
    return op("arith.index_castui {0} : i1 to index", value);
  if (from == Type::Bool)
    return op("arith.uitofp {0} : i1 to {1}", value, getType(Type::Float));
  std::string integer = "i" + std::to_string(expr.width ? expr.width : 64);
  value = op("arith.index_cast {0} : index to {1}", value, integer);
  return op("arith.sitofp {0} : {1} to {2}", value, integer,
            getType(Type::Float));
}

/// An element of a capture as a value of a region.
std::string RegionPrinter::convert(std::string value, DType from, bool isIndex,
                                   Type to) {
  std::string fromType = isIndex ? "index" : getName(from).str();
  std::string toType = getType(to);
  if (fromType == toType)
    return value;
  if (to == Type::Int)
    return op(from == DType::I1 ? "arith.index_castui {0} : {1} to index"
                                : "arith.index_cast {0} : {1} to index",
              value, fromType);
  if (to == Type::Bool) {
    std::string zero = op(attn::isFloat(from) ? "arith.constant 0.0 : {0}"
                                              : "arith.constant 0 : {0}",
                          fromType);
    return op(attn::isFloat(from) ? "arith.cmpf ogt, {0}, {1} : {2}"
                                  : "arith.cmpi sgt, {0}, {1} : {2}",
              value, zero, fromType);
  }
  if (isIndex) {
    value = op("arith.index_cast {0} : index to i64", value);
    fromType = "i64";
  }
  if (!attn::isFloat(from))
    return op(from == DType::I1 ? "arith.uitofp {0} : {1} to {2}"
                                : "arith.sitofp {0} : {1} to {2}",
              value, fromType, toType);
  return op(from == DType::F64 ? "arith.truncf {0} : {1} to {2}"
                               : "arith.extf {0} : {1} to {2}",
            value, fromType, toType);
}

/// An index of a capture, brought inside where it may be outside.
std::string RegionPrinter::emitPosition(const Expr &expr, size_t dim) {
  const CaptureDim &extent = program.captures[expr.capture].dims[dim];
  const ExprRef &at = expr.args[dim];
  std::string value = emit(at);
  static const std::pair<DimKind, const char *> natural[] = {
      {DimKind::Batch, "b"},
      {DimKind::Heads, "h"},
      {DimKind::Queries, "i"},
      {DimKind::Keys, "j"}};
  for (auto [kind, name] : natural)
    if (extent.kind == kind && at->isVariable(name))
      return value;
  if (extent.kind == DimKind::Constant && at->kind == Expr::Kind::Constant &&
      at->integer >= 0 && at->integer < extent.constant)
    return value;
  std::string number = op("arith.constant {0} : index", dim);
  std::string size = op("tensor.dim %w{0}, {1} : {2}", expr.capture, number,
                        getInputType(program, 3 + expr.capture));
  if (expr.integer % 2)
    return op("arith.remui {0}, {1} : index", value, size);
  std::string one = op("arith.constant 1 : index");
  std::string zero = op("arith.constant 0 : index");
  std::string last = op("arith.subi {0}, {1} : index", size, one);
  std::string low = op("arith.maxsi {0}, {1} : index", value, zero);
  return op("arith.minsi {0}, {1} : index", low, last);
}

std::string RegionPrinter::emitCapture(const Expr &expr) {
  const Capture &capture = program.captures[expr.capture];
  std::string value = "%w" + std::to_string(expr.capture);
  if (!capture.isScalar) {
    std::vector<std::string> positions;
    for (size_t dim = 0; dim < capture.dims.size(); ++dim)
      positions.push_back(emitPosition(expr, dim));
    value =
        op("tensor.extract {0}[{1}] : {2}", value, llvm::join(positions, ", "),
           getInputType(program, 3 + expr.capture));
  }
  return convert(value, capture.dtype, capture.isIndex, expr.type);
}

std::string RegionPrinter::emitNew(const Expr &expr) {
  std::vector<std::string> args;
  std::string type =
      getType(expr.args.empty() ? expr.type : expr.args.back()->type);
  switch (expr.kind) {
  case Expr::Kind::Variable:
    return emitVariable(expr);
  case Expr::Kind::For:
    return emitFor(expr);
  case Expr::Kind::Constant:
    return emitConstant(expr);
  case Expr::Kind::If:
    return emitIf(expr);
  case Expr::Kind::Cast:
    return emitCast(expr);
  case Expr::Kind::Capture:
    return emitCapture(expr);
  case Expr::Kind::Dim: {
    std::string number = op("arith.constant {0} : index", expr.integer);
    return op("tensor.dim %w{0}, {1} : {2}", expr.capture, number,
              getInputType(program, 3 + expr.capture));
  }
  case Expr::Kind::Select:
    for (const ExprRef &arg : expr.args)
      args.push_back(emit(arg));
    return op("arith.select {0} : {1}", llvm::join(args, ", "), type);
  case Expr::Kind::Op:
  case Expr::Kind::Compare:
    break;
  }

  for (const ExprRef &arg : expr.args)
    args.push_back(emit(arg));
  if (expr.width) {
    std::string narrow = "i" + std::to_string(expr.width);
    for (std::string &arg : args)
      arg = op("arith.index_cast {0} : index to {1}", arg, narrow);
    type = narrow;
  }
  // The operations of `index` have no type, and their predicate is a call's.
  llvm::StringRef name = expr.name;
  std::string value;
  if (name.consume_front("index.cmp "))
    return op("index.cmp {0}({1})", name.str(), llvm::join(args, ", "));
  if (name.starts_with("index."))
    return op("{0} {1}", expr.name, llvm::join(args, ", "));
  if (expr.kind == Expr::Kind::Compare)
    return op("{0}, {1} : {2}", expr.name, llvm::join(args, ", "), type);
  value = op("{0} {1} : {2}", expr.name, llvm::join(args, ", "), type);
  if (expr.width)
    value = op("arith.index_cast {0} : {1} to index", value, type);
  return value;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

namespace {
/// The types and names that a function is printed with.
struct Names {
  explicit Names(const Program &program);

  std::string inputs[3];
  std::string o, lse;
  std::string captureNames, captureTypes, captureArgs;
};
} // namespace

Names::Names(const Program &program) {
  for (size_t input = 0; input < 3; ++input)
    inputs[input] = getInputType(program, input);
  const Lengths &lengths = program.runs.front();
  const bool *free = program.dynamic[0];
  int64_t b = free[0] ? -1 : lengths.batch;
  int64_t h = free[1] ? -1 : lengths.getHeads();
  int64_t s = free[2] ? -1 : lengths.queries;
  llvm::StringRef layout = program.layouts[3];
  o = "tensor<" +
      formatTensorType(arrange(layout, b, h, s, program.valueDim),
                       program.dtype) +
      ">";
  lse = "tensor<" +
        formatTensorType(arrange(layout, b, h, s, std::nullopt),
                         program.isF64() ? DType::F64 : DType::F32) +
        ">";
  for (size_t n = 0; n < program.captures.size(); ++n) {
    std::string comma = n ? ", " : "";
    captureNames += comma + "%c" + std::to_string(n);
    captureTypes += comma + getInputType(program, 3 + n);
    captureArgs += ", %w" + std::to_string(n);
  }
}

static void printInits(const Program &program, const Names &names,
                       llvm::raw_ostream &os) {
  // The extents of q that o and lse do not know.
  std::vector<std::string> free;
  for (char letter : llvm::StringRef(program.layouts[3])) {
    size_t at = llvm::StringRef("bhs").find(letter);
    if (letter == 'd' || !program.dynamic[0][at])
      continue;
    std::string dim = std::to_string(program.layouts[0].find(letter));
    os << formatv("  %n{0} = arith.constant {1} : index\n", letter, dim);
    os << formatv("  %d{0} = tensor.dim %q, %n{0} : {1}\n", letter,
                  names.inputs[0]);
    free.push_back(std::string("%d") + letter);
  }
  os << formatv("  %oinit = tensor.empty({0}) : {1}\n", llvm::join(free, ", "),
                names.o);
  os << formatv("  %linit = tensor.empty({0}) : {1}\n", llvm::join(free, ", "),
                names.lse);
}

static void printAttention(const Program &program, const Names &names,
                           size_t number, llvm::raw_ostream &os) {
  const Attention &attention = program.attentions[number];
  std::string n = std::to_string(number);
  os << "  %o" << n << (attention.lse ? ", %lse" + n : "")
     << " = attn.attention";
  if (attention.scale)
    os << llvm::format(" scale %.6e", *attention.scale);
  const std::string *l = program.layouts;
  if (l[0] == l[1] && l[0] == l[2] && l[0] == l[3])
    os << " layout(" << l[0] << ")";
  else
    os << formatv(" layouts({0}, {1}, {2}, {3})", l[0], l[1], l[2], l[3]);
  std::string q = attention.chained ? "%o" + std::to_string(number - 1) : "%q";
  os << formatv("\n      ins({0}, %k, %v : {1}, {2}, {3})", q,
                attention.chained ? names.o : names.inputs[0], names.inputs[1],
                names.inputs[2]);
  if (!program.captures.empty())
    os << formatv("\n      captures({0} : {1})", names.captureNames,
                  names.captureTypes);
  if (attention.bits) {
    const std::vector<CaptureDim> &dims =
        program.captures[*attention.bits].dims;
    os << formatv("\n      sparsity(#attn.sparsity<bits, block = {0}x{1}> "
                  "%c{2} : {3})",
                  dims[dims.size() - 2].constant, dims.back().constant,
                  *attention.bits, getInputType(program, 3 + *attention.bits));
  }
  if (attention.lse)
    os << formatv("\n      outs(%oinit, %linit : {0}, {1})\n", names.o,
                  names.lse);
  else
    os << formatv("\n      outs(%oinit : {0})\n", names.o);
  if (attention.score || attention.dropout) {
    os << formatv("      score(%s, %b, %h, %i, %j{0}) {{\n", names.captureArgs);
    RegionPrinter(program, os).printScore(attention.score, attention.dropout);
    os << "      }\n";
  }
  if (attention.mask) {
    os << formatv("      mask(%b, %h, %i, %j{0}) {{\n", names.captureArgs);
    RegionPrinter(program, os).print(attention.mask);
    os << "      }\n";
  }
}

std::string property::print(const Program &program) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Names names(program);
  std::vector<std::string> args, values, types;
  for (auto [input, name] : llvm::enumerate(llvm::StringRef("qkv")))
    args.push_back(formatv("%{0}: {1}", name, names.inputs[input]));
  for (size_t n = 0; n < program.captures.size(); ++n)
    args.push_back(formatv("%c{0}: {1}", n, getInputType(program, 3 + n)));
  for (auto [n, attention] : llvm::enumerate(program.attentions)) {
    values.push_back(formatv("%o{0}", n));
    types.push_back(names.o);
    if (attention.lse) {
      values.push_back(formatv("%lse{0}", n));
      types.push_back(names.lse);
    }
  }
  os << formatv("func.func @f({0})\n    -> ({1}) {{\n",
                llvm::join(args, ",\n    "), llvm::join(types, ", "));
  printInits(program, names, os);
  for (size_t n = 0; n < program.attentions.size(); ++n)
    printAttention(program, names, n, os);
  os << formatv("  return {0} : {1}\n}\n", llvm::join(values, ", "),
                llvm::join(types, ", "));
  return text;
}

std::string property::printCommands(const Program &program,
                                    llvm::StringRef path) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Lengths &lengths : program.runs) {
    os << "// attn-run " << path
       << " --target=" << (program.device == DeviceKind::Cuda ? "cuda" : "cpu")
       << " --check --seed=" << program.seed;
    if (program.boundsCheck)
      os << " --bounds-check";
    for (size_t input = 0; input < program.getNumInputs(); ++input)
      os << " '--arg=" << input << "=" << program.getInputSpec(input, lengths)
         << "'";
    os << "\n";
  }
  if (program.optLevel != 3)
    os << "// at optimisation level " << program.optLevel << "\n";
  if (program.strides.seed)
    os << "// with strides of seed " << program.strides.seed << "\n";
  return text;
}
