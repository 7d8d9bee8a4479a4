//===- ShapeFunctionJSON.cpp - Shape functions as JSON and as text --------===//

#include "ShapeOps.h"
#include "attn/Runtime/KernelPackage.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

using namespace attn;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// In the order of the enumeration.
static constexpr ShapeOpInfo kOps[] = {
    {"constant", 0, 1},
    {"extent", 0, 2},
    {"add", 2, 2},
    {"sub", 2, 2},
    {"mul", 2, 2},
    {"divs", 2, 2},
    {"divu", 2, 2},
    {"ceildivs", 2, 2},
    {"ceildivu", 2, 2},
    {"floordivs", 2, 2},
    {"rems", 2, 2},
    {"remu", 2, 2},
    {"and", 2, 2},
    {"or", 2, 2},
    {"xor", 2, 2},
    {"shl", 2, 2},
    {"shrs", 2, 2},
    {"shru", 2, 2},
    {"mins", 2, 2},
    {"maxs", 2, 2},
    {"minu", 2, 2},
    {"maxu", 2, 2},
    {"eq", 2, 2},
    {"ne", 2, 2},
    {"lts", 2, 2},
    {"les", 2, 2},
    {"ltu", 2, 2},
    {"leu", 2, 2},
    {"select", 3, 3},
    {"sign_extend", 1, 2, /*hasBits=*/true},
    {"zero_extend", 1, 2, /*hasBits=*/true},
};
static_assert(std::size(kOps) == static_cast<size_t>(ShapeOp::ZeroExtend) + 1,
              "each operation has an entry");

const ShapeOpInfo *attn::getInfo(ShapeOp op) {
  auto number = static_cast<size_t>(op);
  return number < std::size(kOps) ? &kOps[number] : nullptr;
}

std::optional<ShapeOp> attn::parseShapeOp(llvm::StringRef name) {
  const auto *found = llvm::find_if(
      kOps, [&](const ShapeOpInfo &op) { return op.name == name; });
  if (found == std::end(kOps))
    return std::nullopt;
  return static_cast<ShapeOp>(found - kOps);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// {"instructions": [["extent", 0, 2], ["constant", 64], ["eq", 0, 1]],
///  "constraints": [{"is_met": 2, "numbers": [0, 1], "text": "..."}],
///  "results": [0]}
json::Value ShapeFunction::toJSON() const {
  json::Array lines, checks;
  for (const ShapeInstruction &instruction : instructions) {
    const ShapeOpInfo &info = *getInfo(instruction.op);
    json::Array line{info.name};
    for (size_t i = 0; i < info.numOperands; ++i)
      line.push_back(instruction.operands[i]);
    lines.push_back(std::move(line));
  }
  for (const ShapeConstraint &constraint : constraints)
    checks.push_back(json::Object{
        {"is_met", constraint.isMet},
        {"numbers", json::Array{constraint.numbers[0], constraint.numbers[1]}},
        {"text", json::isUTF8(constraint.text)
                     ? constraint.text
                     : json::fixUTF8(constraint.text)}});
  return json::Object{{"instructions", std::move(lines)},
                      {"constraints", std::move(checks)},
                      {"results", json::Array(results)}};
}

namespace attn {

static bool fromJSON(const json::Value &value, ShapeInstruction &instruction,
                     json::Path path) {
  const json::Array *line = value.getAsArray();
  std::optional<llvm::StringRef> name;
  if (line && !line->empty())
    name = line->front().getAsString();
  std::optional<ShapeOp> op = name ? parseShapeOp(*name) : std::nullopt;
  if (!op) {
    path.report("expected an operation of a shape function");
    return false;
  }
  instruction.op = *op;
  const ShapeOpInfo &info = *getInfo(*op);
  if (line->size() != 1 + info.numOperands) {
    path.report("expected another number of operands");
    return false;
  }
  for (size_t i = 0; i < info.numOperands; ++i)
    if (!fromJSON((*line)[i + 1], instruction.operands[i], path.index(i + 1)))
      return false;
  return true;
}

static bool fromJSON(const json::Value &value, ShapeConstraint &constraint,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  std::vector<int64_t> numbers;
  if (!mapper || !mapper.map("is_met", constraint.isMet) ||
      !mapper.map("numbers", numbers) || !mapper.map("text", constraint.text))
    return false;
  if (numbers.size() != std::size(constraint.numbers)) {
    path.field("numbers").report("expected two values");
    return false;
  }
  llvm::copy(numbers, constraint.numbers);
  return true;
}

bool ShapeFunction::fromJSON(const json::Value &value, ShapeFunction &function,
                             json::Path path) {
  json::ObjectMapper mapper(value, path);
  return mapper && mapper.map("instructions", function.instructions) &&
         mapper.map("constraints", function.constraints) &&
         mapper.map("results", function.results);
}

} // namespace attn

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

void ShapeFunction::print(llvm::raw_ostream &os,
                          llvm::ArrayRef<TensorInfo> inputs,
                          llvm::ArrayRef<TensorInfo> results) const {
  for (auto [number, instruction] : llvm::enumerate(instructions)) {
    const ShapeOpInfo &info = *getInfo(instruction.op);
    const int64_t *operands = instruction.operands;
    os << "%" << number << " = " << info.name;
    if (instruction.op == ShapeOp::Extent)
      os << " " << operands[1] << " of " << inputs[operands[0]].name;
    for (size_t i = 0;
         instruction.op != ShapeOp::Extent && i < info.numOperands; ++i)
      os << (i == 0 ? " " : ", ") << (i < info.numValues ? "%" : "")
         << operands[i];
    os << "\n";
  }
  for (const ShapeConstraint &constraint : constraints)
    os << "require %" << constraint.isMet << " else \"" << constraint.text
       << "\" (%" << constraint.numbers[0] << ", %" << constraint.numbers[1]
       << ")\n";
  llvm::ArrayRef<int64_t> rest = this->results;
  for (const TensorInfo &info : results) {
    os << "result " << info.name << ":";
    for (int64_t value : rest.take_front(info.shape.size()))
      os << " %" << value;
    rest = rest.drop_front(info.shape.size());
    os << "\n";
  }
}
