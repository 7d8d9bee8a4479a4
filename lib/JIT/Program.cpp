//===- Program.cpp - What is compiled -------------------------------------===//

#include "Program.h"
#include "Symbols.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/SourceMgr.h"

// The namespace attn is ours here, not that of the dialect.
using namespace mlir;

namespace attn {

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// The name in a range of source text such as "%q", "" if it is a number.
static StringRef getName(SMRange range) {
  if (!range.isValid())
    return "";
  StringRef text(range.Start.getPointer(),
                 range.End.getPointer() - range.Start.getPointer());
  text.consume_front("%");
  return text.empty() || llvm::isDigit(text[0]) ? "" : text;
}

/// How the text calls `value`.
static StringRef getName(Value value, const AsmParserState &state) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    const AsmParserState::BlockDefinition *block =
        state.getBlockDef(argument.getOwner());
    unsigned number = argument.getArgNumber();
    if (!block || number >= block->arguments.size())
      return "";
    return getName(block->arguments[number].loc);
  }
  auto result = cast<OpResult>(value);
  const AsmParserState::OperationDefinition *op =
      state.getOpDef(result.getOwner());
  if (!op)
    return "";
  // Of a group of results, as in %r:2, only the first has a name.
  for (const auto &group : op->resultGroups)
    if (group.startIndex == result.getResultNumber())
      return getName(group.definition.loc);
  return "";
}

/// Names the arguments and results of a function that have no name yet, unless
/// another has it.
static void nameFromText(func::FuncOp function, const AsmParserState &state) {
  StringRef attribute = ::mlir::attn::kNameAttrName;
  Builder builder(function.getContext());
  llvm::StringSet<> taken;
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    if (auto name = function.getArgAttrOfType<StringAttr>(i, attribute))
      taken.insert(name.getValue());
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    StringRef name = getName(argument, state);
    if (!function.getArgAttr(number, attribute) && !name.empty() &&
        taken.insert(name).second)
      function.setArgAttr(number, attribute, builder.getStringAttr(name));
  }

  taken.clear();
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
    if (auto name = function.getResultAttrOfType<StringAttr>(i, attribute))
      taken.insert(name.getValue());
  auto returns = function.getFunctionBody().getOps<func::ReturnOp>();
  if (returns.empty())
    return;
  for (auto [number, value] :
       llvm::enumerate((*returns.begin()).getOperands())) {
    StringRef name = getName(value, state);
    if (!function.getResultAttr(number, attribute) && !name.empty() &&
        taken.insert(name).second)
      function.setResultAttr(number, attribute, builder.getStringAttr(name));
  }
}

OwningOpRef<ModuleOp> parseProgram(StringRef program,
                                   const CompileOptions &options,
                                   MLIRContext *context) {
  ParserConfig config(context);
  // Buffers of the parser end with a zero, which a StringRef need not have.
  std::unique_ptr<llvm::MemoryBuffer> buffer =
      llvm::MemoryBuffer::getMemBufferCopy(program, options.bufferName);
  llvm::SourceMgr sources;
  bool isText = !isBytecode(*buffer);
  sources.AddNewSourceBuffer(std::move(buffer), SMLoc());
  if (!isText)
    return parseSourceFile<ModuleOp>(sources, config);

  Block block;
  AsmParserState state;
  if (failed(parseAsmSourceFile(sources, &block, config, &state)))
    return nullptr;
  OwningOpRef<ModuleOp> module =
      mlir::detail::constructContainerOpForParserIfNecessary<ModuleOp>(
          &block, context,
          FileLineColLoc::get(context, options.bufferName, /*line=*/0,
                              /*column=*/0));
  if (module)
    for (func::FuncOp function : module->getOps<func::FuncOp>())
      nameFromText(function, state);
  return module;
}

//===----------------------------------------------------------------------===//
// Entry
//===----------------------------------------------------------------------===//

static func::FuncOp findEntry(ModuleOp module, const CompileOptions &options) {
  SmallVector<func::FuncOp> functions;
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    if (options.entry.empty() ? function.isPublic() && !function.isExternal()
                              : function.getName() == options.entry)
      functions.push_back(function);
  if (!options.entry.empty()) {
    if (functions.empty())
      emitError(module.getLoc(), "expects a function of the name '")
          << options.entry << "', but got none";
    else if (functions[0].isExternal())
      functions[0].emitOpError("expects a body, as this is the entry");
    else
      return functions[0];
    return nullptr;
  }
  if (functions.size() == 1)
    return functions[0];
  InFlightDiagnostic diagnostic =
      emitError(module.getLoc(),
                "expects one public function with a body, or the name of the "
                "entry, but got ")
      << functions.size();
  for (func::FuncOp function : functions)
    diagnostic.attachNote(function.getLoc())
        << "'" << function.getName() << "' is public";
  return nullptr;
}

static std::optional<DType> getDType(Type type) {
  if (type.isF64())
    return DType::F64;
  if (type.isF32())
    return DType::F32;
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::BF16;
  if (type.isIndex() || type.isSignlessInteger(64))
    return DType::I64;
  if (type.isSignlessInteger(32))
    return DType::I32;
  if (type.isSignlessInteger(16))
    return DType::I16;
  if (type.isSignlessInteger(8))
    return DType::I8;
  if (type.isSignlessInteger(1))
    return DType::I1;
  return std::nullopt;
}

/// Appends the description of an argument or a result.
static LogicalResult describe(func::FuncOp function, StringRef what,
                              StringRef prefix, Type type, Attribute name,
                              std::vector<TensorInfo> &infos) {
  size_t number = infos.size();
  TensorInfo info;
  info.name = name ? cast<StringAttr>(name).getValue().str()
                   : (prefix + Twine(number)).str();
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::optional<DType> dtype =
      getDType(tensor ? tensor.getElementType() : type);
  if (!dtype || (tensor && tensor.getEncoding()))
    return function.emitOpError("expects the entry to take and return scalars "
                                "and ranked tensors of f64, f32, f16, bf16, "
                                "i64, i32, i16, i8, i1 or index, but got ")
           << type << " for " << what << " " << number;
  info.dtype = *dtype;
  if (tensor)
    for (int64_t size : tensor.getShape())
      info.shape.push_back(ShapedType::isDynamic(size) ? kDynamicExtent : size);
  infos.push_back(std::move(info));
  return success();
}

/// Whether the runtime or the lowering to GPUs gives a meaning to a name.
static bool isReserved(StringRef name) {
  return isHostSymbol(name) || name == "attn_shared";
}

/// Gives the names that the runtime uses back to it.
static LogicalResult freeReservedNames(ModuleOp module) {
  SymbolTable symbols(module);
  for (func::FuncOp function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (function.isExternal() || !isReserved(function.getName()))
      continue;
    std::string name = (function.getName() + ".attn").str();
    while (symbols.lookup(name))
      name += "_";
    if (failed(symbols.rename(function, name)))
      return function.emitOpError("expects a name that can be changed");
  }
  return success();
}

static void applyDeterminism(ModuleOp module,
                             std::optional<bool> deterministic) {
  if (deterministic)
    module.walk([&](::mlir::attn::AttentionGradOp op) {
      op.setNondeterministic(!*deterministic);
    });
}

static LogicalResult applySchedule(ModuleOp module, StringRef text) {
  if (text.empty())
    return success();
  MLIRContext *context = module.getContext();
  context->getOrLoadDialect<::mlir::attn::AttnDialect>();
  Attribute attribute = parseAttribute(text, context);
  if (!attribute)
    return failure();
  if (!isa<::mlir::attn::ScheduleAttrInterface>(attribute))
    return emitError(module.getLoc(), "expects a schedule such as "
                                      "#attn.schedule<...>, but got ")
           << attribute;
  module.walk([&](::mlir::attn::AttentionLikeOpInterface op) {
    op->setAttr("schedule", attribute);
  });
  return success();
}

func::FuncOp selectEntry(ModuleOp module, const CompileOptions &options) {
  func::FuncOp entry = findEntry(module, options);
  if (!entry)
    return nullptr;
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    function.setVisibility(function == entry
                               ? SymbolTable::Visibility::Public
                               : SymbolTable::Visibility::Private);
  return entry;
}

LogicalResult prepareProgram(ModuleOp module, const CompileOptions &options,
                             KernelMetadata &metadata, EntryPoint &entryPoint) {
  func::FuncOp entry = selectEntry(module, options);
  if (!entry)
    return failure();
  metadata.entry = entry.getName().str();
  StringRef attribute = ::mlir::attn::kNameAttrName;
  for (auto [number, type] : llvm::enumerate(entry.getArgumentTypes()))
    if (failed(describe(entry, "argument", "arg", type,
                        entry.getArgAttr(number, attribute), metadata.inputs)))
      return failure();
  for (Type type : entry.getArgumentTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    entryPoint.arguments.push_back(
        {tensor ? static_cast<unsigned>(tensor.getRank()) : 0, !tensor});
  }
  for (auto [number, type] : llvm::enumerate(entry.getResultTypes()))
    if (failed(describe(entry, "result", "out", type,
                        entry.getResultAttr(number, attribute),
                        metadata.results)))
      return failure();
  if (failed(freeReservedNames(module)))
    return failure();
  entryPoint.function = entry.getName().str();
  applyDeterminism(module, options.deterministic);
  return applySchedule(module, options.schedule);
}

} // namespace attn
