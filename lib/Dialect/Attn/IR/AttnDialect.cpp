//===- AttnDialect.cpp - The attn dialect ---------------------------------===//

#include "attn/Dialect/Attn/IR/AttnDropout.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Dialect/Attn/IR/AttnTarget.h"
#include "attn/Dialect/Attn/IR/AttnTile.h"
#include "attn/Dialect/Attn/IR/Preparation.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

#include "attn/Dialect/Attn/IR/AttnAttrInterfaces.cpp.inc"
#include "attn/Dialect/Attn/IR/AttnDialect.cpp.inc"
#include "attn/Dialect/Attn/IR/AttnEnums.cpp.inc"
#include "attn/Dialect/Attn/IR/AttnInterfaces.cpp.inc"

/// `64x128`: queries and keys of a block.
static ParseResult parseBlockExtents(AsmParser &parser, int64_t &rows,
                                     int64_t &columns) {
  SmallVector<int64_t> extents;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseDimensionList(extents, /*allowDynamic=*/false,
                                /*withTrailingX=*/false))
    return failure();
  if (extents.size() != 2)
    return parser.emitError(loc, "expects a block of two extents, but got ")
           << extents.size();
  rows = extents[0];
  columns = extents[1];
  return success();
}

static void printBlockExtents(AsmPrinter &printer, int64_t rows,
                              int64_t columns) {
  printer << rows << 'x' << columns;
}

#define GET_ATTRDEF_CLASSES
#include "attn/Dialect/Attn/IR/AttnAttrs.cpp.inc"

namespace {
/// Functions that hold attention may be inlined into others; the regions of an
/// attention are isolated and stay as they are.
struct AttnInlinerInterface : public DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void AttnDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "attn/Dialect/Attn/IR/AttnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "attn/Dialect/Attn/IR/AttnOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "attn/Dialect/Attn/IR/AttnTileOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "attn/Dialect/Attn/IR/AttnGradOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "attn/Dialect/Attn/IR/AttnDropoutOps.cpp.inc"
      >();
  addInterfaces<AttnInlinerInterface>();
}

LogicalResult AttnDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() == kScheduleAttrName) {
    if (isa<ScheduleAttrInterface>(attribute.getValue()))
      return success();
    return op->emitError("expects '")
           << kScheduleAttrName << "' to be a schedule, but got "
           << attribute.getValue();
  }
  if (attribute.getName() == kSitesAttrName ||
      attribute.getName() == kConstraintsAttrName) {
    auto texts = dyn_cast<ArrayAttr>(attribute.getValue());
    if (texts && llvm::all_of(texts, llvm::IsaPred<StringAttr>))
      return success();
    return op->emitError("expects '")
           << attribute.getName().getValue()
           << "' to be an array of strings, but got " << attribute.getValue();
  }
  if (attribute.getName() == kTargetAttrName) {
    if (isa<TargetAttr>(attribute.getValue()))
      return success();
    return op->emitError("expects '")
           << kTargetAttrName << "' to be a target, but got "
           << attribute.getValue();
  }
  for (StringRef name :
       {kWholeAttrName, kGatheredAttrName, kPreparationAttrName}) {
    if (attribute.getName() != name)
      continue;
    if (!isa<UnitAttr>(attribute.getValue()))
      return op->emitError("expects '")
             << name << "' to have no value, but got " << attribute.getValue();
    if (name == kPreparationAttrName && !isa<LoopLikeOpInterface>(op))
      return op->emitError("expects '")
             << name << "' to be of a loop that fills tables";
    return success();
  }
  return op->emitError("unknown attribute '")
         << attribute.getName().getValue() << "' of the attn dialect";
}

/// Checks one `attn.name`: `what` is "argument" or "result", `getName` gives
/// the name of another of them.
static LogicalResult
verifyNameAttribute(Operation *op, StringRef what, unsigned number,
                    NamedAttribute attribute,
                    function_ref<Attribute(unsigned)> getName) {
  if (attribute.getName() != kNameAttrName)
    return op->emitError("unknown ")
           << what << " attribute '" << attribute.getName().getValue()
           << "' of the attn dialect";
  auto name = dyn_cast<StringAttr>(attribute.getValue());
  if (!name || name.empty())
    return op->emitError("expects '")
           << kNameAttrName << "' of " << what << " " << number
           << " to be a non-empty string, but got " << attribute.getValue();
  for (unsigned other = 0; other < number; ++other)
    if (getName(other) == name)
      return op->emitError("expects names of ")
             << what << "s to be unique, but got '" << name.getValue()
             << "' for " << what << "s " << other << " and " << number;
  return success();
}

LogicalResult AttnDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned number,
                                                    NamedAttribute attribute) {
  auto function = cast<FunctionOpInterface>(op);
  if (attribute.getName() == kStatusAttrName) {
    auto type = dyn_cast<ShapedType>(function.getArgument(number).getType());
    if (isa<UnitAttr>(attribute.getValue()) && type && type.hasRank() &&
        type.getRank() == 1 && type.getElementType().isInteger(64))
      return success();
    return op->emitError("expects '")
           << kStatusAttrName
           << "' to be a unit attribute of an argument of rank 1 and i64";
  }
  return verifyNameAttribute(op, "argument", number, attribute,
                             [&](unsigned other) -> Attribute {
                               return function.getArgAttr(other, kNameAttrName);
                             });
}

LogicalResult AttnDialect::verifyRegionResultAttribute(
    Operation *op, unsigned, unsigned number, NamedAttribute attribute) {
  auto function = cast<FunctionOpInterface>(op);
  return verifyNameAttribute(
      op, "result", number, attribute, [&](unsigned other) -> Attribute {
        return function.getResultAttr(other, kNameAttrName);
      });
}

FloatType mlir::attn::getAccumulatorType(Type elementType) {
  MLIRContext *context = elementType.getContext();
  return elementType.isF64() ? FloatType(Float64Type::get(context))
                             : FloatType(Float32Type::get(context));
}

bool mlir::attn::isSupportedElementType(Type elementType) {
  return isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(elementType);
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t tileM, int64_t tileN, int64_t lanes,
                                   int64_t unrollM, int64_t unrollN) {
  for (auto [name, value] : {std::pair<StringRef, int64_t>{"tile_m", tileM},
                             {"tile_n", tileN},
                             {"lanes", lanes},
                             {"unroll_m", unrollM},
                             {"unroll_n", unrollN}})
    if (value < 1)
      return emitError() << "expects " << name << " to be positive, but got "
                         << value;
  if (tileM < lanes) {
    if (!llvm::isPowerOf2_64(lanes) || tileN % lanes != 0)
      return emitError() << "expects lanes to be a power of two that divides "
                            "tile_n, which is "
                         << tileN << ", as tile_m is smaller, but got "
                         << lanes;
    if (tileM % unrollM != 0)
      return emitError() << "expects unroll_m to divide tile_m, which is "
                         << tileM << ", but got " << unrollM;
    return success();
  }
  // Without the product, which may overflow.
  if (tileM % lanes != 0 || tileM / lanes % unrollM != 0)
    return emitError() << "expects tile_m to be a multiple of lanes * "
                          "unroll_m, which are "
                       << lanes << " and " << unrollM
                       << ", or less than lanes, but got " << tileM;
  return success();
}

bool ScheduleAttr::hasSingleKeyLoop() const { return false; }

LogicalResult
RowScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                        int64_t rows, int64_t tileN, int64_t lanes,
                        int64_t queries) {
  for (auto [name, value] : {std::pair<StringRef, int64_t>{"rows", rows},
                             {"lanes", lanes},
                             {"queries", queries}})
    if (value < 1)
      return emitError() << "expects " << name << " to be positive, but got "
                         << value;
  // A vector over one key would not be told from one over columns.
  if (tileN < 2)
    return emitError() << "expects tile_n to be at least 2, but got " << tileN;
  if (!llvm::isPowerOf2_64(lanes) || tileN % lanes != 0)
    return emitError() << "expects lanes to be a power of two that divides "
                          "tile_n, which is "
                       << tileN << ", but got " << lanes;
  if (rows % queries != 0)
    return emitError() << "expects queries to divide rows, which is " << rows
                       << ", but got " << queries;
  return success();
}

int64_t RowScheduleAttr::getTileM() const { return 1; }
bool RowScheduleAttr::hasSingleKeyLoop() const { return false; }

int64_t WorkerAttr::getMappingId() const { return getDim(); }
bool WorkerAttr::isLinearMapping() const { return false; }
int64_t WorkerAttr::getRelativeIndex() const { return getDim(); }

LogicalResult WorkerAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t dim) {
  if (dim >= 0)
    return success();
  return emitError() << "expects a dimension of 0 or more, but got " << dim;
}

LogicalResult SparsityAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   SparsityFormat format, int64_t blockRows,
                                   int64_t blockColumns) {
  auto isBlock = [](int64_t extent) {
    return extent >= 16 && extent <= 256 && extent % 16 == 0;
  };
  if (isBlock(blockRows) && isBlock(blockColumns))
    return success();
  if (format == SparsityFormat::Lists && blockRows == 1 && blockColumns == 1)
    return success();
  return emitError()
         << "expects a block whose extents are multiples of 16 from "
            "16 to 256"
         << (format == SparsityFormat::Lists ? ", or 1x1" : "") << ", but got "
         << blockRows << "x" << blockColumns;
}
