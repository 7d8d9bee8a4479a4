//===- Hopper.h - The hopper dialect ----------------------------*- C++ -*-===//
//
// Declarations of the dialect, its attributes, types and operations.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_HOPPER_IR_HOPPER_H
#define ATTN_DIALECT_HOPPER_IR_HOPPER_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::attn {
class TargetAttr;
} // namespace mlir::attn

namespace mlir::attn::hopper {

/// The largest position; see hopper.position.
inline constexpr int64_t kMaxPosition = int64_t(1) << 30;
/// The queries of a warpgroup: the rows of one matrix instruction.
inline constexpr int64_t kWarpgroupRows = 64;
inline constexpr int64_t kWarpThreads = 32;
inline constexpr int64_t kWarpgroupWarps = 4;
inline constexpr int64_t kWarpgroupThreads = kWarpgroupWarps * kWarpThreads;
/// Floats of a row of the tile that hopper.diagonal_sums uses: pairs of eight
/// rows are in banks of their own.
inline constexpr int64_t kDiagonalStride = kWarpgroupRows + 8;
/// Products that may be under way behind one that is waited for.
inline constexpr int64_t kMostInFlight = 7;
/// Blocks that have codes start at multiples of this.
inline constexpr int64_t kCodeAlignment = 16;
/// The reduced extent of one matrix instruction.
inline constexpr int64_t kProductStep = 16;
/// The columns of a tile that are 128 bytes of 16-bit elements.
inline constexpr int64_t kChunkColumns = 64;

/// A constant of a vector type of floats, each element of which is `value`.
Value createSplat(OpBuilder &builder, Location loc, Type type, double value);

/// The bytes of an element in memory, where an i1 is a byte.
int64_t getElementBytes(Type element);
/// The bytes of a vector of so many elements in shared memory, where an i1 is a
/// bit: a multiple of 16.
int64_t getVectorBytes(int64_t count, Type element);
/// The columns of a tile that are 128 bytes.
int64_t getChunkColumns(Type element);

/// The threads of a CTA: a warpgroup for each consumer, and one that
/// is the producer.
int64_t getNumThreads(int64_t numConsumers);

/// Whether a thread of a warpgroup may ask for so many registers, and so many
/// CTAs be on a multiprocessor, whatever the target.
LogicalResult verifyRegisters(function_ref<InFlightDiagnostic()> emitError,
                              int64_t registers, int64_t minCtasPerSm);

/// Attributes of a kernel's arguments that say what the caller passes: the
/// number of the function's operand, and for an extent the dimension.
inline constexpr llvm::StringLiteral kOperandAttrName = "hopper.operand";
inline constexpr llvm::StringLiteral kDimAttrName = "hopper.dim";
/// For a map, the dimensions of the operand: batch, head, row, column.
inline constexpr llvm::StringLiteral kDimsAttrName = "hopper.dims";
/// Of an argument that is not an operand: two i32 in global memory that are 0
/// between launches and that no other launch uses at the same time.
inline constexpr llvm::StringLiteral kCounterAttrName = "hopper.counter";
/// Of an argument that is not an operand: how many heads are packed, which the
/// launch chooses.
inline constexpr llvm::StringLiteral kPackedCountAttrName =
    "hopper.packed_count";
/// The schedule of a kernel.
inline constexpr llvm::StringLiteral kScheduleAttrName = "hopper.schedule";
/// Where a launch of a kernel finds the number of tiles and of keys: a
/// dictionary of `operand` and its `dims` for batch, head and row, of
/// `key_operand` and `key_dim`, and where heads are packed of `key_head_dim`.
inline constexpr llvm::StringLiteral kGridAttrName = "hopper.grid";
/// What a launch of a lowered kernel needs: what each parameter is made from,
/// the bytes of dynamic shared memory, and the threads of a block.
inline constexpr llvm::StringLiteral kParamsAttrName = "hopper.params";
inline constexpr llvm::StringLiteral kSharedBytesAttrName =
    "hopper.shared_bytes";
inline constexpr llvm::StringLiteral kThreadsAttrName = "hopper.threads";
/// Of a lowered kernel that needs a version of PTX above the least one: ten
/// times that version.
inline constexpr llvm::StringLiteral kPTXVersionAttrName = "hopper.ptx_version";

/// The tables that kernels before the kernel fill, which are operands after
/// those of the function: a dictionary of the number of the `first` one and of
/// `tables`, an array of dictionaries of the `bytes` of an element, the
/// `extents`, and `zero` where it is all zeros at the start of a launch. Each
/// extent is a dictionary of a constant `extent`, or of `operand`, `dim` and
/// `divisor`: ceil(shape[dim] / divisor), or of `parts`: how many the keys of a
/// tile are shared out to, which is chosen at a launch; with `plus_rows` as
/// many more as that operand, a table before, has rows: elements with the same
/// indices but the last.
inline constexpr llvm::StringLiteral kTablesAttrName = "hopper.tables";
/// Memory that the launches of a program share, as kTablesAttrName has it: what
/// one computes for another. The tables of a kernel are operands after it.
inline constexpr llvm::StringLiteral kScratchAttrName = "hopper.scratch";
/// Of a kernel that fills tables, an operand that has as many elements as it
/// needs warps.
inline constexpr llvm::StringLiteral kElementsAttrName = "hopper.elements";
/// Of such a kernel whose warps each fill a row of elements, those with the
/// same indices but the last.
inline constexpr llvm::StringLiteral kRowsAttrName = "hopper.rows";
/// Of such a kernel whose threads each fill elements, how many of the last
/// dimension a warp fills.
inline constexpr llvm::StringLiteral kWarpElementsAttrName =
    "hopper.warp_elements";
/// Of such a kernel that has a CTA where others have a warp.
inline constexpr llvm::StringLiteral kBlocksAttrName = "hopper.blocks";

/// Of a kernel that checks data: a dictionary of the operand that takes what it
/// reports, `words`, of the number of `sites`, and of `extents` as tables have
/// them, whose product is the number of warps.
inline constexpr llvm::StringLiteral kChecksAttrName = "hopper.checks";
/// Words of 64 bits for each site: the place of an error, and its two numbers.
inline constexpr int64_t kWordsOfSite = 3;

/// Of a kernel that runs before the kernel, or behind it, a warp for each
/// iteration of a loop: a dictionary of `extents` as tables have them, whose
/// product is the number of warps, and of `behind` where it is behind.
inline constexpr llvm::StringLiteral kVectorLoopAttrName = "hopper.vector_loop";
/// Of an argument that threads read in vectors of up to 16 bytes: its address
/// and strides are multiples of so many bytes.
inline constexpr llvm::StringLiteral kAlignmentAttrName = "hopper.alignment";

/// Of a kernel that runs behind the kernel and combines the parts of its
/// results, how many warps it needs for each row of a head.
inline constexpr llvm::StringLiteral kCombineAttrName = "hopper.combine";
/// All that says how a kernel is launched, and is not code, next to what
/// lowering it adds.
inline constexpr llvm::StringLiteral kLaunchAttrNames[] = {
    kScheduleAttrName, kGridAttrName,   kTablesAttrName,
    kElementsAttrName, kRowsAttrName,   kWarpElementsAttrName,
    kBlocksAttrName,   kChecksAttrName, kVectorLoopAttrName,
    kCombineAttrName,  kScratchAttrName};
/// The columns of a row that a warp combines at most.
inline constexpr int64_t kCombineColumns = 64;
/// The fewest KV blocks of a part: what has fewer is not shared out.
inline constexpr int64_t kMinSplitBlocks = 4;

/// Who uses a channel or a work queue, as numbers of partitions.
struct RingUsers {
  std::optional<unsigned> producer;
  SmallVector<unsigned, 2> consumers;
  /// What puts into it.
  SmallVector<Operation *> puts;
};

} // namespace mlir::attn::hopper

#include "attn/Dialect/Hopper/IR/HopperDialect.h.inc"
#include "attn/Dialect/Hopper/IR/HopperEnums.h.inc"

namespace mlir::attn::hopper {

class FragmentOpInterface;

/// Checks that fragments have the layouts that `op` says, or all have none yet.
LogicalResult verifyLayouts(FragmentOpInterface op);

/// Whether a type is what a warpgroup holds, also what a product is writing.
bool isFragment(Type type);
/// The layout of a fragment, or none, also of any other type.
std::optional<FragmentLayout> getLayout(Type type);

} // namespace mlir::attn::hopper

#include "attn/Dialect/Hopper/IR/HopperInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "attn/Dialect/Hopper/IR/HopperAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "attn/Dialect/Hopper/IR/HopperTypes.h.inc"

#define GET_OP_CLASSES
#include "attn/Dialect/Hopper/IR/HopperOps.h.inc"

namespace mlir::attn::hopper {

/// Checks a list that names the rows of a map's box, or null.
LogicalResult verifyList(Operation *op, MapType map, Value list,
                         ValueRange position);

/// The tile that `op` names rows or columns of, or null.
Value getTileOfPart(Operation *op);
/// The channel that a tile, or a part of one, is of, or null.
Value getChannelOf(Value tile);

/// Checks where elements of a buffer are copied from, as a vector.
LogicalResult verifyVectorSource(Operation *op, Type element, MemRefType source,
                                 ValueRange indices, bool zeroFill);

/// The partition that `op` is in, or null.
PartitionAttr getPartition(Operation *op);

/// Whether a target has the registers that consumers of a schedule ask for.
LogicalResult verifyRegisters(function_ref<InFlightDiagnostic()> emitError,
                              TargetAttr target, ScheduleAttr schedule);

/// Which warps and registers the partitions of a CTA have.
struct PartitionLayout {
  explicit PartitionLayout(WarpSpecializeOp op);

  int64_t getNumGroups() const { return registers.size(); }
  int64_t getNumThreads() const { return getNumGroups() * kWarpgroupThreads; }
  int64_t getFirstGroup(unsigned partition) const {
    return firstWarps[partition] / 4;
  }
  int64_t getRegisters(unsigned partition) const {
    return registers[getFirstGroup(partition)];
  }

  /// Of each partition.
  SmallVector<int64_t> firstWarps;
  /// Of a thread of each warpgroup.
  SmallVector<int64_t> registers;
  /// What warpgroups have that say nothing, or without any what is left.
  int64_t registersLeft = 0;
  bool hasOthers = false;
  /// What all threads start with.
  int64_t startRegisters = 0;
};

} // namespace mlir::attn::hopper

#endif // ATTN_DIALECT_HOPPER_IR_HOPPER_H
