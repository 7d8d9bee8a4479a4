//===- Attn.h - The attn dialect --------------------------------*- C++ -*-===//
//
// Declarations of the dialect, its attributes, interfaces and operations.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTN_H
#define ATTN_DIALECT_ATTN_IR_ATTN_H

#include "attn/Dialect/Attn/IR/Layout.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/DeviceMappingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::attn {

class ScalarBuilder;

/// The type in which scores, softmax and sums are computed for inputs of
/// `elementType`: f64 for f64, otherwise f32.
FloatType getAccumulatorType(Type elementType);

/// Whether q, k and v may have this element type: f64, f32, f16 or bf16.
bool isSupportedElementType(Type elementType);

/// The name of the argument attribute that names an argument of a function.
inline constexpr llvm::StringLiteral kNameAttrName = "attn.name";

/// The attribute of a loop over tiles that holds the schedule it came from.
inline constexpr llvm::StringLiteral kScheduleAttrName = "attn.schedule";
/// The attribute of a module that holds one text for each error in data that
/// is reported: of checked reads, and by attn.report.
inline constexpr llvm::StringLiteral kSitesAttrName = "attn.sites";
/// Of an attention whose mask is not asked which tiles it needs.
inline constexpr llvm::StringLiteral kWholeAttrName = "attn.whole";
/// Of an attention with lists of single keys whose Q blocks gather the
/// keys that they have.
inline constexpr llvm::StringLiteral kGatheredAttrName = "attn.gathered";
/// The attribute of the function argument that these errors are reported to:
/// memref<?xi64>, two elements for each number in `attn.sites`: an index that
/// is out of range, and the extent that it should be below.
inline constexpr llvm::StringLiteral kStatusAttrName = "attn.status";
/// The attribute of a function `F.shapes` that holds one text for each
/// constraint on extents (see attn-shape-function).
inline constexpr llvm::StringLiteral kConstraintsAttrName = "attn.constraints";

/// By how much the base-2 exponent of a maximum may grow before sums and
/// results are brought to it. Probabilities stay below 2^8 then.
inline constexpr double kRescaleThreshold = 8;

/// Keys of a word that lists of single keys become.
inline constexpr int64_t kWordKeys = 32;

/// Number of leading arguments of each region, before the captures:
/// (s, b, h, i, j), (b, h, i, j), (b, h, i0, i1, skv), and
/// (b, h, i0, i1, j0, j1).
inline constexpr unsigned kNumScoreArgs = 5;
inline constexpr unsigned kNumMaskArgs = 4;
/// Leading arguments of a `rows` region: b, h, i.
inline constexpr unsigned kNumRowsArgs = 3;
inline constexpr unsigned kNumBlocksArgs = 5;
inline constexpr unsigned kNumTilesArgs = 6;

} // namespace mlir::attn

#include "attn/Dialect/Attn/IR/AttnAttrInterfaces.h.inc"
#include "attn/Dialect/Attn/IR/AttnDialect.h.inc"
#include "attn/Dialect/Attn/IR/AttnEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "attn/Dialect/Attn/IR/AttnAttrs.h.inc"

#include "attn/Dialect/Attn/IR/AttnInterfaces.h.inc"

namespace mlir::attn {
// Of AttnGrad.h and AttnTile.h, whose regions end as those of an attention.
class AttentionGradOp;
class TileLoopOp;
class StepOp;
class MaskTileOp;
class AffineScoresOp;
} // namespace mlir::attn

#define GET_OP_CLASSES
#include "attn/Dialect/Attn/IR/AttnOps.h.inc"

#endif // ATTN_DIALECT_ATTN_IR_ATTN_H
