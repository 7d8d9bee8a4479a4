//===- Print.cpp - Random programs as MLIR --------------------------------===//

#include "Printer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace attn;
using namespace attn::property;
using llvm::formatv;

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
  for (auto [n, capture] : llvm::enumerate(program.captures)) {
    if (capture.isOperand)
      continue;
    std::string comma = captureNames.empty() ? "" : ", ";
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
  bool isShared = program.keysAreValues && names.inputs[1] == names.inputs[2] &&
                  program.layouts[1] == program.layouts[2];
  os << formatv("\n      ins({0}, %k, {1} : {2}, {3}, {4})", q,
                isShared ? "%k" : "%v",
                attention.chained ? names.o : names.inputs[0], names.inputs[1],
                names.inputs[2]);
  if (!names.captureNames.empty())
    os << formatv("\n      captures({0} : {1})", names.captureNames,
                  names.captureTypes);
  if (const std::optional<Sparsity> &sparsity = attention.sparsity) {
    std::string operands = "%c" + std::to_string(sparsity->operand);
    std::string types = getInputType(program, 3 + sparsity->operand);
    if (sparsity->columns) {
      operands += ", %c" + std::to_string(*sparsity->columns);
      types += ", " + getInputType(program, 3 + *sparsity->columns);
    }
    os << formatv("\n      sparsity(#attn.sparsity<{0}, block = {1}x{2}> {3} : "
                  "{4})",
                  sparsity->columns ? "lists" : "bits", sparsity->blockQueries,
                  sparsity->blockKeys, operands, types);
  }
  if (attention.lse)
    os << formatv("\n      outs(%oinit, %linit : {0}, {1})\n", names.o,
                  names.lse);
  else
    os << formatv("\n      outs(%oinit : {0})\n", names.o);
  if (attention.score || attention.dropout) {
    os << formatv("      score(%s, %b, %h, %i, %j{0}) {{\n", names.captureArgs);
    printScore(program, attention, os);
    os << "      }\n";
  }
  if (attention.mask) {
    os << formatv("      mask(%b, %h, %i, %j{0}) {{\n", names.captureArgs);
    printRegion(program, attention.mask, os);
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
    if (program.sparsityForm != "auto")
      os << " --sparsity=" << program.sparsityForm;
    // Rows of lists make the columns, too.
    for (size_t input = 0; input < program.getNumInputs(); ++input)
      if (!program.isColumns(input))
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
