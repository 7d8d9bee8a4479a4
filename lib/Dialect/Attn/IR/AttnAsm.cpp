//===- AttnAsm.cpp - Assembly of the attn dialect -------------------------===//
//
// The two levels of attention and its gradient share one assembly: keyword
// clauses for the operands, then the regions with their arguments named and
// their types implied.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Dialect/Attn/IR/AttnTile.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

static ParseResult parseLayoutLetters(OpAsmParser &parser, Layout &layout) {
  StringRef letters;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&letters))
    return failure();
  FailureOr<Layout> parsed = Layout::parse(letters);
  if (failed(parsed))
    return parser.emitError(
               loc, "expects a layout to be a permutation of 'bhsd', but got '")
           << letters << "'";
  layout = *parsed;
  return success();
}

static ParseResult parseLayout(OpAsmParser &parser, AffineMapAttr &layout) {
  Layout parsed;
  if (parseLayoutLetters(parser, parsed))
    return failure();
  layout = AffineMapAttr::get(parsed.getMap(parser.getContext()));
  return success();
}

static void printLayout(OpAsmPrinter &printer, Operation *,
                        AffineMapAttr layout) {
  printer << Layout::get(layout.getValue()).str();
}

/// `layout(x)` for one layout of all four tensors, `layouts(q, k, v, o)` else.
static ParseResult parseLayouts(OpAsmParser &parser, OperationState &result) {
  SmallVector<Attribute> maps;
  MLIRContext *context = parser.getContext();
  if (succeeded(parser.parseOptionalKeyword("layout"))) {
    Layout layout;
    if (parser.parseLParen() || parseLayoutLetters(parser, layout) ||
        parser.parseRParen())
      return failure();
    maps.assign(4, AffineMapAttr::get(layout.getMap(context)));
  } else if (succeeded(parser.parseOptionalKeyword("layouts"))) {
    llvm::SMLoc loc = parser.getCurrentLocation();
    auto parseOne = [&]() -> ParseResult {
      Layout layout;
      if (parseLayoutLetters(parser, layout))
        return failure();
      maps.push_back(AffineMapAttr::get(layout.getMap(context)));
      return success();
    };
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseOne))
      return failure();
    if (maps.size() != 4)
      return parser.emitError(
                 loc, "expects four layouts, for q, k, v and o, but got ")
             << maps.size();
  }
  if (!maps.empty())
    result.addAttribute("layouts", ArrayAttr::get(context, maps));
  return success();
}

static void printLayouts(OpAsmPrinter &printer, ArrayAttr layouts) {
  if (!layouts)
    return;
  auto letters = [](Attribute map) {
    return Layout::get(cast<AffineMapAttr>(map).getValue()).str();
  };
  if (llvm::all_equal(layouts)) {
    printer << " layout(" << letters(layouts[0]) << ")";
    return;
  }
  printer << " layouts(";
  llvm::interleaveComma(layouts, printer,
                        [&](Attribute map) { printer << letters(map); });
  printer << ")";
}

//===----------------------------------------------------------------------===//
// Wanted gradients
//===----------------------------------------------------------------------===//

/// `wrt(q, k, v, 0, 1)`: of inputs, captures by their number.
static ParseResult parseWrt(OpAsmParser &parser, OperationState &result) {
  SmallVector<int64_t> inputs;
  auto parseOne = [&]() -> ParseResult {
    llvm::SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (succeeded(parser.parseOptionalKeyword(&name))) {
      std::optional<int64_t> input =
          llvm::StringSwitch<std::optional<int64_t>>(name)
              .Case("q", kGradQuery)
              .Case("k", kGradKey)
              .Case("v", kGradValue)
              .Default(std::nullopt);
      if (!input)
        return parser.emitError(loc, "expects wrt to name q, k, v or the "
                                     "number of a capture, but got '")
               << name << "'";
      inputs.push_back(*input);
      return success();
    }
    int64_t capture;
    if (parser.parseInteger(capture))
      return failure();
    if (capture < 0)
      return parser.emitError(loc, "expects wrt to name q, k, v or the number "
                                   "of a capture, but got ")
             << capture;
    inputs.push_back(kGradCapture + capture);
    return success();
  };
  if (parser.parseKeyword("wrt") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseOne))
    return failure();
  result.addAttribute("wrt", parser.getBuilder().getDenseI64ArrayAttr(inputs));
  return success();
}

static std::string getGradInputText(int64_t input, StringRef capturePrefix) {
  static constexpr StringLiteral names[] = {"q", "k", "v"};
  return input < kGradCapture
             ? names[input].str()
             : (capturePrefix + Twine(input - kGradCapture)).str();
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

namespace {
/// Which operation an assembly is of.
enum class AssemblyOf { Attention, Gradient, Online };

/// A region in the assembly: its keyword and the types of its leading
/// arguments.
struct RegionSpec {
  StringRef keyword;
  SmallVector<Type> leading;
  StringRef leadingNames;
};
} // namespace

static SmallVector<RegionSpec> getRegionSpecs(Builder &builder, Type accType,
                                              AssemblyOf kind) {
  Type index = builder.getIndexType();
  SmallVector<RegionSpec> specs;
  specs.push_back(
      {"score", {accType, index, index, index, index}, "s, b, h, i, j"});
  specs.push_back({"mask", {index, index, index, index}, "b, h, i, j"});
  if (kind == AssemblyOf::Gradient)
    specs.push_back({"adjoint",
                     {accType, accType, index, index, index, index},
                     "s, ds, b, h, i, j"});
  if (kind == AssemblyOf::Online)
    specs.push_back(
        {"blocks", {index, index, index, index, index}, "b, h, i0, i1, skv"});
  if (kind != AssemblyOf::Attention)
    specs.push_back({"tiles",
                     {index, index, index, index, index, index},
                     "b, h, i0, i1, j0, j1"});
  if (kind == AssemblyOf::Online)
    specs.push_back({"rows", {index, index, index}, "b, h, i"});
  return specs;
}

static ParseResult parseRegions(OpAsmParser &parser, OperationState &result,
                                Type accType, ArrayRef<Type> captureTypes,
                                AssemblyOf kind) {
  for (const RegionSpec &spec :
       getRegionSpecs(parser.getBuilder(), accType, kind)) {
    Region *region = result.addRegion();
    if (failed(parser.parseOptionalKeyword(spec.keyword)))
      continue;
    SmallVector<OpAsmParser::Argument> arguments;
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseArgumentList(arguments, AsmParser::Delimiter::Paren))
      return failure();
    SmallVector<Type> types(spec.leading);
    types.append(captureTypes.begin(), captureTypes.end());
    if (arguments.size() != types.size())
      return parser.emitError(loc, "expects the ")
             << spec.keyword << " region to have the arguments ("
             << spec.leadingNames << ") and one for each of "
             << captureTypes.size() << " captures, but got "
             << arguments.size();
    for (auto [argument, type] : llvm::zip_equal(arguments, types))
      argument.type = type;
    // The regions are isolated, so an argument may have the name of a value
    // outside, most often that of the capture it stands for.
    if (parser.parseRegion(*region, arguments, /*enableNameShadowing=*/true))
      return failure();
  }
  return success();
}

static void printRegions(OpAsmPrinter &printer, Operation *op) {
  bool isGradient = isa<AttentionGradOp>(op);
  const StringLiteral keywords[] = {
      "score", "mask", isGradient ? StringLiteral("adjoint") : "blocks",
      "tiles", "rows"};
  printer.increaseIndent();
  for (auto [index, region] : llvm::enumerate(op->getRegions())) {
    if (region.empty())
      continue;
    printer.printNewline();
    printer << keywords[index] << "(";
    llvm::interleaveComma(region.getArguments(), printer, [&](Value argument) {
      printer.printOperand(argument);
    });
    printer << ") ";
    printer.printRegion(region, /*printEntryBlockArgs=*/false);
  }
  printer.decreaseIndent();
}

/// Names for the arguments of the regions, so that printed IR reads like maths.
static void nameRegionArguments(Operation *op, Region &region,
                                OpAsmSetValueNameFn setName) {
  static constexpr StringLiteral names[6][6] = {
      {"s", "b", "h", "i", "j", ""},     {"b", "h", "i", "j", "", ""},
      {"b", "h", "i0", "i1", "skv", ""}, {"b", "h", "i0", "i1", "j0", "j1"},
      {"b", "h", "i", "", "", ""},       {"s", "ds", "b", "h", "i", "j"}};
  static constexpr unsigned counts[] = {kNumScoreArgs,  kNumMaskArgs,
                                        kNumBlocksArgs, kNumTilesArgs,
                                        kNumRowsArgs,   kNumAdjointArgs};
  constexpr unsigned adjoint = 5;
  unsigned which = region.getRegionNumber();
  if (auto gradient = dyn_cast<AttentionGradOp>(op))
    which = &region == &gradient.getAdjoint() ? adjoint : which;
  for (BlockArgument argument : region.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (number < counts[which])
      setName(argument, names[which][number]);
    else
      setName(argument, ("w" + Twine(number - counts[which])).str());
  }
}

void AttentionOp::getAsmBlockArgumentNames(Region &region,
                                           OpAsmSetValueNameFn setName) {
  nameRegionArguments(*this, region, setName);
}

void AttentionGradOp::getAsmBlockArgumentNames(Region &region,
                                               OpAsmSetValueNameFn setName) {
  nameRegionArguments(*this, region, setName);
}

void OnlineAttentionOp::getAsmBlockArgumentNames(Region &region,
                                                 OpAsmSetValueNameFn setName) {
  nameRegionArguments(*this, region, setName);
}

/// Names for results, of which the last may be absent.
static void nameResults(Operation *op, ArrayRef<StringRef> names,
                        OpAsmSetValueNameFn setName) {
  for (auto [result, name] : llvm::zip(op->getResults(), names))
    setName(result, name);
}

void AttentionOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  nameResults(*this, {"o", "lse"}, setName);
}

void AttentionGradOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  for (auto [result, input] : llvm::zip(getResults(), getWrt()))
    setName(result, "d" + getGradInputText(input, "w"));
}

void OnlineAttentionOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  nameResults(*this, {"acc", "max", "sum"}, setName);
}

void FinalizeOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  nameResults(*this, {"o", "lse"}, setName);
}

//===----------------------------------------------------------------------===//
// Ranges of captures
//===----------------------------------------------------------------------===//

/// The type of the source, which implies those of the results.
static ParseResult parseRangeTypes(OpAsmParser &parser, Type &source, Type &min,
                                   Type &max) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(source))
    return failure();
  auto tensor = dyn_cast<RankedTensorType>(source);
  if (!tensor || !tensor.getElementType().isSignlessIntOrIndex())
    return parser.emitError(loc,
                            "expects a ranked tensor of integers, but got ")
           << source;
  min = max = tensor.getElementType();
  return success();
}

static void printRangeTypes(OpAsmPrinter &printer, Operation *, Type source,
                            Type, Type) {
  printer << source;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

namespace {
/// One parenthesised clause, such as `ins(%a, %b : t0, t1)`.
struct Clause {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  llvm::SMLoc loc;
};
} // namespace

static ParseResult parseClause(OpAsmParser &parser, Clause &clause) {
  clause.loc = parser.getCurrentLocation();
  if (parser.parseLParen() || parser.parseOperandList(clause.operands) ||
      parser.parseColonTypeList(clause.types) || parser.parseRParen())
    return failure();
  return success();
}

/// `sparsity(#attn.sparsity<...> %a, ... : t0, ...)`, if it is there.
static ParseResult parseSparsity(OpAsmParser &parser, OperationState &result,
                                 Clause &clause) {
  if (failed(parser.parseOptionalKeyword("sparsity")))
    return success();
  SparsityAttr sparsity;
  if (parser.parseLParen() || parser.parseAttribute(sparsity))
    return failure();
  clause.loc = parser.getCurrentLocation();
  if (parser.parseOperandList(clause.operands) ||
      parser.parseColonTypeList(clause.types) || parser.parseRParen())
    return failure();
  result.addAttribute("sparsity", sparsity);
  return success();
}

static ParseResult parseAttentionLike(OpAsmParser &parser,
                                      OperationState &result, AssemblyOf kind) {
  Builder &builder = parser.getBuilder();
  if (succeeded(parser.parseOptionalKeyword("scale"))) {
    double scale;
    if (parser.parseFloat(scale))
      return failure();
    result.addAttribute("scale", builder.getF64FloatAttr(scale));
  }
  if (parseLayouts(parser, result))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("schedule"))) {
    // The CPU's without its name, any other with it.
    SMLoc loc = parser.getCurrentLocation();
    Attribute schedule;
    OptionalParseResult named = parser.parseOptionalAttribute(schedule);
    if (named.has_value()) {
      if (failed(*named))
        return failure();
      if (!isa<ScheduleAttrInterface>(schedule))
        return parser.emitError(loc, "expects a schedule, but got ")
               << schedule;
    } else {
      ScheduleAttr stripped;
      if (parser.parseCustomAttributeWithFallback(stripped, Type()))
        return failure();
      schedule = stripped;
    }
    result.addAttribute("schedule", schedule);
  }
  bool isGradient = kind == AssemblyOf::Gradient;
  if (isGradient && parseWrt(parser, result))
    return failure();
  if (kind == AssemblyOf::Online &&
      succeeded(parser.parseOptionalKeyword("rescale"))) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseLParen() || parser.parseKeyword(&name))
      return failure();
    std::optional<Rescale> rescale = symbolizeRescale(name);
    if (!rescale)
      return parser.emitError(loc, "expects rescale(exact), rescale(lazy) or "
                                   "rescale(never), but got '")
             << name << "'";
    if (parser.parseRParen())
      return failure();
    result.addAttribute("rescale",
                        RescaleAttr::get(parser.getContext(), *rescale));
  }

  Clause ins, captures, sparsity, outs;
  if (parser.parseKeyword("ins") || parseClause(parser, ins))
    return failure();
  size_t numInputs = ins.operands.size();
  if (isGradient && numInputs != 6 && numInputs != 7)
    return parser.emitError(ins.loc, "expects ins to hold q, k, v, o, lse, do "
                                     "and at most dlse, but got ")
           << numInputs << " operands";
  if (!isGradient && numInputs != 3)
    return parser.emitError(ins.loc, "expects ins to hold q, k and v, but got ")
           << numInputs << " operands";
  if (succeeded(parser.parseOptionalKeyword("captures")) &&
      parseClause(parser, captures))
    return failure();
  if (parseSparsity(parser, result, sparsity))
    return failure();
  SmallVector<OpAsmParser::UnresolvedOperand> offsets;
  if (succeeded(parser.parseOptionalKeyword("offsets")) &&
      parser.parseOperandList(offsets, AsmParser::Delimiter::Paren))
    return failure();
  if (parser.parseKeyword("outs") || parseClause(parser, outs))
    return failure();
  SMLoc attributesLoc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  // One of another kind would be taken for one that is not there.
  if (failed(result.name.verifyInherentAttrs(
          result.attributes, [&] { return parser.emitError(attributesLoc); })))
    return failure();

  for (const Clause *clause : {&ins, &captures, &sparsity}) {
    if (parser.resolveOperands(clause->operands, clause->types, clause->loc,
                               result.operands))
      return failure();
  }
  if (parser.resolveOperands(offsets, builder.getIndexType(),
                             result.operands) ||
      parser.resolveOperands(outs.operands, outs.types, outs.loc,
                             result.operands))
    return failure();
  SmallVector<int32_t> segments(isGradient ? 6 : 3, 1);
  if (isGradient)
    segments.push_back(numInputs == 7);
  for (size_t size : {captures.operands.size(), sparsity.operands.size(),
                      offsets.size(), outs.operands.size()})
    segments.push_back(static_cast<int32_t>(size));
  result.addAttribute("operandSegmentSizes",
                      builder.getDenseI32ArrayAttr(segments));
  result.addTypes(outs.types);

  auto queryType = dyn_cast<RankedTensorType>(ins.types[0]);
  if (!queryType)
    return parser.emitError(ins.loc,
                            "expects q to be a ranked tensor, but got ")
           << ins.types[0];
  return parseRegions(parser, result,
                      getAccumulatorType(queryType.getElementType()),
                      captures.types, kind);
}

template <typename OpTy>
static void printAttentionLike(OpAsmPrinter &printer, OpTy op) {
  if (FloatAttr scale = op.getScaleAttr()) {
    printer << " scale ";
    printer.printFloat(scale.getValue());
  }
  printLayouts(printer, op.getLayoutsAttr());
  if (ScheduleAttrInterface schedule = op.getScheduleAttr()) {
    printer << " schedule";
    if (auto stripped = dyn_cast<ScheduleAttr>(schedule))
      printer.printStrippedAttrOrType(stripped);
    else
      printer << ' ' << schedule;
  }
  unsigned numInputs = 3;
  if constexpr (std::is_same_v<OpTy, AttentionGradOp>) {
    numInputs = op.getLseGrad() ? 7 : 6;
    printer << " wrt(";
    llvm::interleaveComma(op.getWrt(), printer, [&](int64_t input) {
      printer << getGradInputText(input, "");
    });
    printer << ")";
  }
  if constexpr (std::is_same_v<OpTy, OnlineAttentionOp>)
    if (op.getRescale() != Rescale::Exact)
      printer << " rescale(" << stringifyRescale(op.getRescale()) << ")";
  auto clause = [&](StringRef keyword, ValueRange operands) {
    if (operands.empty())
      return;
    printer.printNewline();
    printer << "    " << keyword << "(";
    printer.printOperands(operands);
    printer << " : ";
    llvm::interleaveComma(operands.getTypes(), printer);
    printer << ")";
  };
  clause("ins", op->getOperands().take_front(numInputs));
  clause("captures", op.getCaptures());
  if (SparsityAttr sparsity = op.getSparsityAttr()) {
    printer.printNewline();
    printer << "    sparsity(" << sparsity << ' ';
    printer.printOperands(op.getSparsityOperands());
    printer << " : ";
    llvm::interleaveComma(op.getSparsityOperands().getTypes(), printer);
    printer << ")";
  }
  if (!op.getOffsets().empty()) {
    printer.printNewline();
    printer << "    offsets(";
    printer.printOperands(op.getOffsets());
    printer << ")";
  }
  clause("outs", op.getOuts());
  printer.printOptionalAttrDictWithKeyword(
      op->getAttrs(), {"scale", "layouts", "schedule", "sparsity", "rescale",
                       "wrt", "operandSegmentSizes"});
  printRegions(printer, op);
}

ParseResult AttentionOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseAttentionLike(parser, result, AssemblyOf::Attention);
}
void AttentionOp::print(OpAsmPrinter &printer) {
  printAttentionLike(printer, *this);
}

ParseResult AttentionGradOp::parse(OpAsmParser &parser,
                                   OperationState &result) {
  return parseAttentionLike(parser, result, AssemblyOf::Gradient);
}
void AttentionGradOp::print(OpAsmPrinter &printer) {
  printAttentionLike(printer, *this);
}

ParseResult OnlineAttentionOp::parse(OpAsmParser &parser,
                                     OperationState &result) {
  return parseAttentionLike(parser, result, AssemblyOf::Online);
}
void OnlineAttentionOp::print(OpAsmPrinter &printer) {
  printAttentionLike(printer, *this);
}

#define GET_OP_CLASSES
#include "attn/Dialect/Attn/IR/AttnOps.cpp.inc"
