//===- AttentionSpec.cpp - Attention built in C++ -------------------------===//

#include "attn/Builder/AttentionSpec.h"
#include "ExprScope.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/JIT/Diagnostics.h"
#include "attn/Pipelines/RegisterDialects.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include <atomic>

// The namespace attn is ours here, not that of the dialect.
namespace dialect = mlir::attn;
using mlir::Value;

namespace attn {

Capture AttentionSpec::add(TensorInfo info, bool isScalar) {
  static std::atomic<uint64_t> next = 0;
  unsigned rank = info.shape.size();
  captures.push_back({std::move(info), isScalar, next++});
  return Capture(captures.back().id, captures.size() - 1, rank);
}

Capture AttentionSpec::capture(llvm::StringRef name, DType dtype,
                               llvm::ArrayRef<int64_t> shape) {
  return add({name.str(), dtype, Shape(shape.begin(), shape.end())},
             /*isScalar=*/false);
}

Capture AttentionSpec::scalar(llvm::StringRef name, DType dtype) {
  return add({name.str(), dtype, {}}, /*isScalar=*/true);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static mlir::Type getType(mlir::Builder &builder, DType dtype) {
  switch (dtype) {
  case DType::F64:
    return builder.getF64Type();
  case DType::F32:
    return builder.getF32Type();
  case DType::F16:
    return builder.getF16Type();
  case DType::BF16:
    return builder.getBF16Type();
  case DType::I64:
    return builder.getI64Type();
  case DType::I32:
    return builder.getI32Type();
  case DType::I16:
    return builder.getI16Type();
  case DType::I8:
    return builder.getI8Type();
  case DType::I1:
    return builder.getI1Type();
  }
  return {};
}

/// A tensor type from extents that may be dynamic; null if one is not valid.
static mlir::RankedTensorType getTensor(llvm::ArrayRef<int64_t> shape,
                                        mlir::Type element) {
  llvm::SmallVector<int64_t> extents(shape);
  for (int64_t &extent : extents) {
    if (extent == kDynamicExtent)
      extent = mlir::ShapedType::kDynamic;
    else if (extent < 0)
      return {};
  }
  return mlir::RankedTensorType::get(extents, element);
}

//===----------------------------------------------------------------------===//
// Builder
//===----------------------------------------------------------------------===//

/// The captures behind those of the specification: the lengths; see buildOp.
static constexpr unsigned kNumLengths = 2;

/// Makes the module of one specification.
class AttentionSpec::Builder {
public:
  Builder(const AttentionSpec &spec, mlir::MLIRContext *context)
      : spec(spec), captures(spec.captures), builder(context),
        loc(mlir::NameLoc::get(builder.getStringAttr(spec.name))) {}

  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> build();

private:
  llvm::Error readLayouts();
  llvm::Error readSparsity(llvm::SmallVectorImpl<mlir::Type> &types,
                           llvm::SmallVectorImpl<std::string> &names);
  llvm::Error buildFunction(mlir::ModuleOp module);
  llvm::Expected<dialect::AttentionOp> buildOp(mlir::ValueRange arguments);
  /// Fills a region by a function, whose first arguments `makeArgs` wraps.
  template <typename Function, typename MakeArgs>
  llvm::Error buildRegion(mlir::Region &region, llvm::StringRef what,
                          unsigned numLeading, ExprScope::Type resultType,
                          const Function &function, MakeArgs makeArgs);

  const AttentionSpec &spec;
  /// Those of the specification before any of its functions adds one.
  const std::vector<CaptureInfo> captures;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::FloatType accType;
  dialect::Layout layouts[4];
  dialect::SparsityAttr sparsity;
};

llvm::Error AttentionSpec::Builder::readLayouts() {
  const std::string *letters[] = {&spec.queryLayout, &spec.keyLayout,
                                  &spec.valueLayout, &spec.outputLayout};
  for (auto [layout, text] : llvm::zip_equal(layouts, letters)) {
    mlir::FailureOr<dialect::Layout> parsed = dialect::Layout::parse(*text);
    if (mlir::failed(parsed))
      return makeCompileError(
          "expects a layout to be a permutation of 'bhsd', but got '" + *text +
          "'");
    layout = *parsed;
  }
  return llvm::Error::success();
}

/// Adds the inputs of the sparsity, if there is one.
llvm::Error AttentionSpec::Builder::readSparsity(
    llvm::SmallVectorImpl<mlir::Type> &types,
    llvm::SmallVectorImpl<std::string> &names) {
  if (!spec.blocks)
    return llvm::Error::success();
  const Sparsity &blocks = *spec.blocks;
  bool isBits = blocks.format == Sparsity::Format::Bits;
  if (!isBits && blocks.format != Sparsity::Format::Lists)
    return makeCompileError("expects the sparsity of '" + spec.name +
                            "' to be bits or lists, but "
                            "got format " +
                            llvm::Twine(static_cast<int64_t>(blocks.format)));
  if (!isBits && !isDTypeCode(static_cast<int32_t>(blocks.dtype)))
    return makeCompileError("expects the lists of '" + spec.name +
                            "' to have an element type");
  DiagnosticCollector diagnostics(builder.getContext());
  sparsity = dialect::SparsityAttr::getChecked(
      [&] { return mlir::emitError(loc); }, builder.getContext(),
      isBits ? dialect::SparsityFormat::Bits : dialect::SparsityFormat::Lists,
      blocks.blockRows, blocks.blockColumns);
  if (!sparsity)
    return diagnostics.takeError("the sparsity is not valid");
  int64_t rank =
      (isBits ? 2 : 1) + (blocks.perBatch ? 2 : (blocks.perHead ? 1 : 0));
  llvm::SmallVector<int64_t> shape(rank, kDynamicExtent);
  // Batches come before heads, which are one then.
  if (blocks.perBatch && !blocks.perHead)
    shape[1] = 1;
  mlir::Type element = getType(builder, isBits ? DType::I1 : blocks.dtype);
  types.push_back(getTensor(shape, element));
  names.push_back(isBits ? "blocks" : "rows");
  if (!isBits) {
    types.push_back(getTensor({kDynamicExtent}, element));
    names.push_back("columns");
  }
  return llvm::Error::success();
}

template <typename Function, typename MakeArgs>
llvm::Error AttentionSpec::Builder::buildRegion(
    mlir::Region &region, llvm::StringRef what, unsigned numLeading,
    ExprScope::Type resultType, const Function &function, MakeArgs makeArgs) {
  auto op = mlir::cast<dialect::AttentionOp>(region.getParentOp());
  llvm::SmallVector<mlir::Type> types(numLeading, builder.getIndexType());
  if (numLeading == dialect::kNumScoreArgs)
    types[0] = accType;
  llvm::append_range(types, op.getCaptures().getTypes());
  mlir::OpBuilder::InsertionGuard guard(builder);
  mlir::Block *block =
      builder.createBlock(&region, region.end(), types,
                          llvm::SmallVector<mlir::Location>(types.size(), loc));
  mlir::ValueRange values = block->getArguments().drop_front(numLeading);
  llvm::SmallVector<ExprScope::CaptureValue> known;
  for (auto [capture, value] :
       llvm::zip_equal(captures, values.drop_back(kNumLengths)))
    known.push_back({capture.id, capture.info.name, value});
  auto scope = std::make_shared<ExprScope>(builder, loc, accType, known);
  Expr numQueries = scope->wrap(values.drop_back().back());
  Expr numKeys = scope->wrap(values.back());
  llvm::SmallVector<Expr> leading;
  for (Value argument : block->getArguments().take_front(numLeading))
    leading.push_back(scope->wrap(argument));

  Value value;
  {
    // Leaves the scope even where the function throws.
    ExprScope::Entry entry(*scope);
    Expr result = function(makeArgs(leading, numQueries, numKeys));
    value = scope->unwrapResult(result, resultType);
  }
  if (!value)
    return makeCompileError("the " + what + " of '" + spec.name + "' " +
                            scope->getError());
  builder.setInsertionPointToEnd(block);
  dialect::YieldOp::create(builder, loc, value);
  return llvm::Error::success();
}

llvm::Expected<dialect::AttentionOp>
AttentionSpec::Builder::buildOp(mlir::ValueRange arguments) {
  Value q = arguments[0], k = arguments[1], v = arguments[2];
  auto sizeOf = [&](Value tensor, unsigned dim) {
    return mlir::tensor::getMixedSize(builder, loc, tensor, dim);
  };
  // Results have the extents of q, but for the head dimension.
  dialect::Layout qLayout = layouts[0], oLayout = layouts[3];
  mlir::OpFoldResult batch = sizeOf(q, qLayout.b), heads = sizeOf(q, qLayout.h),
                     length = sizeOf(q, qLayout.s),
                     dim = builder.getIndexAttr(spec.valueDim);
  llvm::SmallVector<Value> outs = {mlir::tensor::EmptyOp::create(
      builder, loc, oLayout.arrange(batch, heads, length, dim),
      getType(builder, spec.dtype))};
  if (spec.wantLse)
    outs.push_back(mlir::tensor::EmptyOp::create(
        builder, loc, oLayout.arrangeRows(batch, heads, length), accType));

  mlir::ValueRange rest = arguments.drop_front(3);
  llvm::SmallVector<Value> captured(rest.take_front(captures.size()));
  for (mlir::OpFoldResult extent : {length, sizeOf(k, layouts[1].s)})
    captured.push_back(
        mlir::getValueOrCreateConstantIndexOp(builder, loc, extent));
  mlir::FloatAttr scale;
  if (spec.scale)
    scale = builder.getF64FloatAttr(*spec.scale);
  mlir::ArrayAttr maps;
  if (llvm::any_of(layouts, [](dialect::Layout layout) {
        return !(layout == dialect::Layout());
      })) {
    llvm::SmallVector<mlir::AffineMap> list;
    for (dialect::Layout layout : layouts)
      list.push_back(layout.getMap(builder.getContext()));
    maps = builder.getAffineMapArrayAttr(list);
  }
  auto op = dialect::AttentionOp::create(builder, loc, q, k, v, captured, outs,
                                         scale, maps, sparsity,
                                         rest.drop_front(captures.size()));
  auto makeMaskArgs = [](llvm::ArrayRef<Expr> leading, const Expr &numQueries,
                         const Expr &numKeys) {
    return MaskArgs{leading[0], leading[1], leading[2],
                    leading[3], numQueries, numKeys};
  };
  if (spec.scoreFunction) {
    auto makeScoreArgs = [&](llvm::ArrayRef<Expr> leading,
                             const Expr &numQueries, const Expr &numKeys) {
      return ScoreArgs{makeMaskArgs(leading.drop_front(), numQueries, numKeys),
                       leading[0]};
    };
    if (llvm::Error error = buildRegion(
            op.getScore(), "score", dialect::kNumScoreArgs,
            ExprScope::Type::Float, spec.scoreFunction, makeScoreArgs))
      return error;
  }
  if (spec.maskFunction)
    if (llvm::Error error =
            buildRegion(op.getMask(), "mask", dialect::kNumMaskArgs,
                        ExprScope::Type::Bool, spec.maskFunction, makeMaskArgs))
      return error;
  return op;
}

llvm::Error AttentionSpec::Builder::buildFunction(mlir::ModuleOp module) {
  if (spec.name.empty())
    return makeCompileError("expects a specification to have a name");
  // Enumerators that are none are numbers of a caller.
  auto isCode = [](DType dtype) {
    return isDTypeCode(static_cast<int32_t>(dtype));
  };
  for (const CaptureInfo &capture : captures)
    if (!isCode(capture.info.dtype))
      return makeCompileError("expects capture '" + capture.info.name +
                              "' to have an element type");
  if (!isCode(spec.dtype))
    return makeCompileError("expects '" + spec.name +
                            "' to have an element type");
  if (!isFloat(spec.dtype))
    return makeCompileError("expects '" + spec.name +
                            "' to have element type f64, f32, f16 or bf16, but "
                            "got " +
                            getName(spec.dtype));
  accType = dialect::getAccumulatorType(getType(builder, spec.dtype));
  if (llvm::Error error = readLayouts())
    return error;

  mlir::Type element = getType(builder, spec.dtype);
  auto arrange = [&](unsigned which, int64_t batch, int64_t heads,
                     int64_t length, int64_t dim) {
    return getTensor(layouts[which].arrange(batch, heads, length, dim),
                     element);
  };
  llvm::SmallVector<mlir::Type> types = {
      arrange(0, spec.batch, spec.queryHeads, spec.numQueries,
              spec.queryKeyDim),
      arrange(1, spec.keyBatch, spec.keyHeads, spec.numKeys, spec.queryKeyDim),
      arrange(2, spec.keyBatch, spec.keyHeads, spec.numKeys, spec.valueDim)};
  llvm::SmallVector<std::string> names = {"q", "k", "v"};
  for (const CaptureInfo &capture : captures) {
    mlir::Type type = getType(builder, capture.info.dtype);
    types.push_back(capture.isScalar ? type
                                     : getTensor(capture.info.shape, type));
    names.push_back(capture.info.name);
  }
  if (llvm::Error error = readSparsity(types, names))
    return error;
  for (auto [type, name] : llvm::zip_equal(types, names))
    if (!type)
      return makeCompileError("expects extents of '" + name + "' in '" +
                              spec.name +
                              "' that are not negative, or kDynamicExtent");

  builder.setInsertionPointToEnd(module.getBody());
  auto function = mlir::func::FuncOp::create(
      builder, loc, spec.name, builder.getFunctionType(types, {}));
  for (auto [number, name] : llvm::enumerate(names))
    function.setArgAttr(number, dialect::kNameAttrName,
                        builder.getStringAttr(name));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  llvm::Expected<dialect::AttentionOp> op = buildOp(function.getArguments());
  if (!op)
    return op.takeError();
  mlir::func::ReturnOp::create(builder, loc, op->getOutputs());
  function.setFunctionType(
      builder.getFunctionType(types, op->getResultTypes()));
  constexpr llvm::StringLiteral resultNames[] = {"o", "lse"};
  for (unsigned number = 0; number != op->getNumResults(); ++number)
    function.setResultAttr(number, dialect::kNameAttrName,
                           builder.getStringAttr(resultNames[number]));
  return llvm::Error::success();
}

llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
AttentionSpec::Builder::build() {
  DiagnosticCollector diagnostics(builder.getContext());
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
  if (llvm::Error error = buildFunction(*module))
    return error;
  if (mlir::failed(mlir::verify(*module)))
    return diagnostics.takeError("'" + spec.name + "' is not valid");
  return module;
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
AttentionSpec::build(mlir::MLIRContext *context) const {
  if (!context)
    return makeCompileError("expects a context, but got a null pointer");
  mlir::DialectRegistry registry;
  dialect::registerCompilerDialects(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<dialect::AttnDialect, mlir::arith::ArithDialect,
                       mlir::func::FuncDialect, mlir::math::MathDialect,
                       mlir::tensor::TensorDialect>();
  return Builder(*this, context).build();
}

llvm::Expected<Kernel>
AttentionSpec::compile(const CompileOptions &options) const {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> module = build(&context);
  if (!module)
    return module.takeError();
  return Kernel::compile(**module, options);
}

} // namespace attn
