//===- PrintRegion.cpp - Expressions as MLIR ------------------------------===//

#include "Printer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <map>

using namespace attn;
using namespace attn::property;
using llvm::formatv;

namespace {
class RegionPrinter {
public:
  RegionPrinter(const Program &program, llvm::raw_ostream &os)
      : program(program), os(os), scopes(1) {}

  void print(const ExprRef &expr) {
    std::string value = emit(expr);
    line() << "attn.yield " << value << " : " << getType(expr->type) << "\n";
  }
  void printScore(const Attention &attention);

private:
  std::string getType(Type type) const {
    return type == Type::Bool  ? "i1"
           : type == Type::Int ? "index"
           : program.isF64()   ? "f64"
                               : "f32";
  }
  llvm::raw_ostream &line() { return os.indent(8 + 2 * (scopes.size() - 1)); }

  std::string makeName() { return "%x" + std::to_string(count++); }

  /// Prints one operation and returns its result.
  template <typename... Args> std::string op(const char *format, Args... args) {
    std::string name = makeName();
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
  std::string emitOp(const Expr &expr);
  std::string emitThrough(const Expr &expr);
  std::string changeType(std::string value, std::string from, std::string to);
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
  if (!std::isfinite(expr.number)) {
    const char *f32 = std::isnan(expr.number) ? "0x7FC00000"
                      : expr.number > 0       ? "0x7F800000"
                                              : "0xFF800000";
    const char *f64 = std::isnan(expr.number) ? "0x7FF8000000000000"
                      : expr.number > 0       ? "0x7FF0000000000000"
                                              : "0xFFF0000000000000";
    return op("arith.constant {0} : {1}", program.isF64() ? f64 : f32,
              getType(Type::Float));
  }
  std::string digits;
  llvm::raw_string_ostream(digits) << llvm::format("%.6e", expr.number);
  return op("arith.constant {0} : {1}", digits, getType(Type::Float));
}

std::string RegionPrinter::emitIf(const Expr &expr) {
  std::string condition = emit(expr.args[0]);
  std::string name = makeName();
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
  std::string name = makeName(), iteration = makeName(), carried = makeName();
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

/// A value as one of another type of the same kind: an index as an integer, a
/// float as a wider or narrower one.
std::string RegionPrinter::changeType(std::string value, std::string from,
                                      std::string to) {
  if (from == to)
    return value;
  if (from == "index" || to == "index")
    return op("arith.index_cast {0} : {1} to {2}", value, from, to);
  auto getWidth = [](llvm::StringRef type) {
    return type == "f64" ? 64 : type == "f32" ? 32 : 16;
  };
  return op(getWidth(from) < getWidth(to) ? "arith.extf {0} : {1} to {2}"
                                          : "arith.truncf {0} : {1} to {2}",
            value, from, to);
}

std::string RegionPrinter::emitCast(const Expr &expr) {
  std::string value = emit(expr.args[0]);
  Type from = expr.args[0]->type;
  std::string number = getType(Type::Float);
  if (from == Type::Bool && expr.type == Type::Int)
    return op("arith.index_castui {0} : i1 to index", value);
  if (from == Type::Bool)
    return op("arith.uitofp {0} : i1 to {1}", value, number);
  bool isBits = expr.name == "arith.bitcast";
  if (from == Type::Float) {
    std::string inner = expr.floatType.empty() ? number : expr.floatType;
    value = changeType(value, number, inner);
    std::string integer =
        "i" + (isBits ? inner.substr(inner.size() - 2)
                      : std::to_string(expr.width ? expr.width : 64));
    value = op("{0} {1} : {2} to {3}", expr.name, value, inner, integer);
    return op(expr.name == "arith.fptoui"
                  ? "arith.index_castui {0} : {1} to index"
                  : "arith.index_cast {0} : {1} to index",
              value, integer);
  }
  std::string integer = "i" + std::to_string(isBits ? number == "f64" ? 64 : 32
                                             : expr.width ? expr.width
                                                          : 64);
  value = changeType(value, "index", integer);
  return op("{0} {1} : {2} to {3}",
            expr.name.empty() ? "arith.sitofp" : expr.name, value, integer,
            number);
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
    return emitOp(expr);
  }
  llvm_unreachable("unknown kind of expression");
}

/// An integer made narrower, and an index again by the operation.
std::string RegionPrinter::emitThrough(const Expr &expr) {
  std::string value = emit(expr.args[0]);
  std::string narrow = "i" + std::to_string(expr.width ? expr.width : 32);
  if (llvm::StringRef(expr.name).starts_with("index.")) {
    value = op("index.casts {0} : index to {1}", value, narrow);
    return op("{0} {1} : {2} to index", expr.name, value, narrow);
  }
  value = changeType(value, "index", "i64");
  value = op("arith.trunci {0} : i64 to {1}", value, narrow);
  value = op("{0} {1} : {2} to i64", expr.name, value, narrow);
  return changeType(value, "i64", "index");
}

std::string RegionPrinter::emitOp(const Expr &expr) {
  llvm::StringRef name = expr.name;
  if (name == "arith.extsi" || name == "arith.extui" ||
      name.starts_with("index.cast"))
    return emitThrough(expr);

  // The type in which values of a type of ours are computed.
  bool isPower = name == "math.ipowi" || name == "math.fpowi";
  auto getInner = [&](Type type) -> std::string {
    if (type == Type::Int && isPower && !expr.width)
      return "i32";
    if (type == Type::Int && expr.width)
      return "i" + std::to_string(expr.width);
    if (type == Type::Float && !expr.floatType.empty())
      return expr.floatType;
    return getType(type);
  };
  std::vector<std::string> args, types;
  for (const ExprRef &arg : expr.args) {
    types.push_back(getInner(arg->type));
    args.push_back(changeType(emit(arg), getType(arg->type), types.back()));
  }
  std::string operands = llvm::join(args, ", ");

  // The operations of `index` have no type, and their predicate is a call's.
  if (name.consume_front("index.cmp "))
    return op("index.cmp {0}({1})", name.str(), operands);
  if (name.starts_with("index."))
    return op("{0} {1}", expr.name, operands);
  if (expr.kind == Expr::Kind::Compare)
    return op("{0}, {1} : {2}", expr.name, operands, types[0]);

  std::string text;
  if (name == "math.clampf")
    text =
        formatv("{0} to [{1}, {2}] : {3}", args[0], args[1], args[2], types[0]);
  else if (name == "math.fpowi")
    text = formatv("{0} : {1}", operands, llvm::join(types, ", "));
  else if (name == "arith.addui_extended")
    text = formatv("{0} : {1}, i1", operands, types[0]);
  else
    text = formatv("{0} : {1}", operands, types.back());
  std::string result = makeName();
  if (name == "math.sincos" || name.ends_with("_extended")) {
    std::string other = makeName();
    line() << (expr.integer ? other + ", " + result : result + ", " + other);
  } else {
    line() << result;
  }
  os << " = " << expr.name << " " << text << "\n";
  return changeType(result, getInner(expr.type), getType(expr.type));
}

/// A score, or the argument without one, and a weight behind it.
void RegionPrinter::printScore(const Attention &attention) {
  if (!attention.dropout)
    return print(attention.score);
  std::string value = attention.score ? emit(attention.score) : "%s";
  std::string seed = op("arith.constant {0} : i64", program.seed);
  std::string weight = op("attn.dropout {0} seed {1} offset {1} at %b, %h, "
                          "%i, %j : {2}",
                          formatv("{0:e}", *attention.dropout).str(), seed,
                          getType(Type::Float));
  line() << formatv("attn.yield {0}, {1} : {2}, {2}\n", value, weight,
                    getType(Type::Float));
}

void property::printRegion(const Program &program, const ExprRef &expr,
                           llvm::raw_ostream &os) {
  RegionPrinter(program, os).print(expr);
}

void property::printScore(const Program &program, const Attention &attention,
                          llvm::raw_ostream &os) {
  RegionPrinter(program, os).printScore(attention);
}
