//===- KernelInfo.h - What the compiler says of GPU kernels -----*- C++ -*-===//
//
// A CudaProgram is the GPU part of a compilation: code, and how to launch it.
// It is pure data, without pointers and without MLIR, like a kernel package.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_KERNELINFO_H
#define ATTN_RUNTIME_CUDA_KERNELINFO_H

#include "attn/Runtime/Cuda/Costs.h"
#include "attn/Runtime/TensorView.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn::cuda {

/// What the arrays of a tensor map's descriptor hold at most.
constexpr size_t kMaxMapRank = 5;
/// Parameters of one kernel: their bytes with padding, and their number, each
/// of which has 8 bytes at least. The hardware's own limit on the bytes is the
/// same on all that runs our code.
constexpr size_t kMaxParamBytes = 4096;
constexpr size_t kMaxParams = kMaxParamBytes / 8;

/// Threads of a warp.
constexpr int32_t kWarpThreads = 32;

/// The most batches, heads, queries, or keys: kernels compute with positions in
/// 32 bits.
constexpr int64_t kMaxExtent = int64_t(1) << 30;

/// What a parameter of a kernel is made from.
enum class ParamKind : int32_t {
  /// A tensor map of an operand, by value.
  TensorMap,
  /// The device address of the operand's element 0, 64 bits.
  Pointer,
  /// shape[dim].
  Extent,
  /// strides[dim], in elements.
  Stride,
  /// The value of an operand of rank 0, which lies in host memory. It is read
  /// during the launch.
  Scalar,
  /// The device address of two 32-bit numbers, 0 at the start of the launch and
  /// again at its end, that no other launch uses meanwhile. No operand.
  Counter,
  /// How many heads a tile of packed heads has; see countPackedHeads. 32 bits,
  /// no operand.
  PackedCount,
};

/// How the hardware places a tile's 16-byte pieces in shared memory. Numbers
/// of these enumerations are those of cuda.h.
enum class Swizzle : int32_t { None = 0, B32 = 1, B64 = 2, B128 = 3 };

/// How much the L2 cache fetches at a time.
enum class L2Promotion : int32_t { None = 0, B64 = 1, B128 = 2, B256 = 3 };

/// A tensor map: elements of `operand` in boxes. What a box has outside of the
/// tensor is read as zero, and not written.
struct TensorMapInfo {
  /// Dimensions of the operand, innermost first; -1 is one of extent 1 that the
  /// operand does not have. Those that are not named have index 0.
  llvm::SmallVector<int32_t, kMaxMapRank> dims;
  /// The box: elements for each of `dims`.
  llvm::SmallVector<uint32_t, kMaxMapRank> box;
  Swizzle swizzle = Swizzle::B128;
  L2Promotion promotion = L2Promotion::B128;
  /// Whether a launch divides the box's rows, box[2], among the heads of a
  /// tile, which become box[1].
  bool packed = false;
};

/// A parameter. Parameters lie in the kernel's order, each aligned to its size
/// and tensor maps to 64 bytes.
struct Param {
  ParamKind kind = ParamKind::Pointer;
  /// An operand: inputs, then results.
  int32_t operand = 0;
  /// Of Extent and Stride.
  int32_t dim = 0;
  /// Of TensorMap.
  TensorMapInfo map;
  /// The bits of Extent and Stride, 32 or 64; those of a Scalar, or 0 for
  /// those of the operand's element type. Numbers of 32 bits are signed, and
  /// extents that do not fit are an error of the launch.
  int32_t bits = 64;
  /// Of Pointer and Stride: bytes that the address, or the distance between
  /// elements, is a multiple of, in operands that the kernel is for.
  int32_t alignment = 1;
};

/// What code takes of a multiprocessor, in bytes where it says so.
struct Resources {
  int32_t registers = 0;
  /// Static shared memory.
  int32_t sharedBytes = 0;
  /// Stores and loads.
  int32_t spillBytes = 0;
  int32_t stackBytes = 0;
  /// How many blocks of a multiprocessor there is room for at a time.
  int32_t residentBlocks = 0;
};

/// An extent of a table: ceil(shape[dim] / divisor) of an operand, or without
/// an operand, -1, `size`, or if `isNumSplits`, how many parts the keys of a
/// tile have. If not negative, `plusRows` is the operand that a table before
/// is, and the extent has as many more as that has rows: elements with the same
/// indices but the last.
struct TableExtent {
  int32_t operand = -1;
  int32_t dim = 0;
  int64_t divisor = 1;
  int64_t size = 1;
  bool isNumSplits = false;
  int32_t plusRows = -1;
};

/// Memory of one launch, which a kernel fills and another one reads.
struct TableInfo {
  /// Of an element, 1, 2, 4 or 8.
  int32_t elementBytes = 4;
  /// Elements lie one after another, those of the last dimension together.
  llvm::SmallVector<TableExtent, 4> extents;
  /// Whether it is all zeros before the first kernel.
  bool isZero = false;
  /// Whether calls may share it: the kernel that fills it is preparation, which
  /// reads inputs that a mask or a sparsity reads, tables of preparation before
  /// it, and extents.
  bool isPrepared = false;
};

/// A kernel that runs before that of a variant. It fills the tables from
/// `elements` to that of the next such kernel, all of them prepared or none.
struct PrologueKernel {
  std::string entry;
  /// Threads of a block, whole warps.
  int32_t threads = 0;
  /// The table, by its operand, that has as many elements as warps are needed,
  /// or as many rows: elements with the same indices but the last. Or blocks
  /// are needed, in place of warps. Or a warp fills several elements that
  /// follow each other in the last dimension.
  int32_t elements = 0;
  bool byRow = false;
  bool byBlock = false;
  int32_t warpElements = 1;
  /// All but maps and counters.
  std::vector<Param> params;
};

/// A kernel that runs before that of a variant, or behind it, a warp for each
/// iteration of a loop.
struct LoopKernel {
  std::string entry;
  /// Threads of a block, whole warps.
  int32_t threads = 0;
  bool isBehind = false;
  /// Their product is the number of iterations.
  llvm::SmallVector<TableExtent, 4> extents;
  /// All but maps and counters.
  std::vector<Param> params;
};

/// A kernel that runs behind that of a variant and combines the results of
/// parts of the keys.
struct CombineKernel {
  std::string entry;
  /// Threads of a block, whole warps.
  int32_t threads = 0;
  /// Warps that each row of a head needs.
  int32_t warpsPerRow = 1;
  /// All but maps and counters.
  std::vector<Param> params;
};

/// One way to compute a launch, and what it costs.
struct Variant : Costs {
  /// The schedule, for people.
  std::string schedule;
  /// The kernel's name in the code. Without one there is no kernel of tiles:
  /// loops alone compute the launch.
  std::string entry;
  /// Threads of a block.
  int32_t threads = 0;
  int32_t dynamicSharedBytes = 0;
  /// Query rows of a tile, and the keys of one step, of which all are computed;
  /// 1 if that is not known.
  int32_t tileRows = 0;
  int32_t tileKeys = 1;
  /// How many heads with the same keys have rows in a tile at most, a power of
  /// two; see countPackedHeads.
  int32_t mostPackedHeads = 1;
  /// Whether a block takes tiles until none is left, so that there are no more
  /// blocks than run at the same time; otherwise block i computes tile i.
  bool persistent = false;
  /// Whether rows meet the keys of their lists, and no other.
  bool ofLists = false;
  /// The operands of which a launch may leave elements unread, as a mask or
  /// lists leave keys out.
  std::vector<int32_t> partlyRead;
  std::vector<Param> params;
  /// Tables are operands too: the first one is operand `firstTable`, and no
  /// operand of the caller has its number or a greater one.
  int32_t firstTable = 0;
  std::vector<TableInfo> tables;
  /// In the code of this variant.
  std::vector<PrologueKernel> prologues;
  /// The same; they run even where there are no tiles.
  std::vector<LoopKernel> loops;
  /// If the keys of a tile are shared out to several blocks, as many as
  /// getNumSplits says: block i computes part i % parts of tile i / parts.
  std::optional<CombineKernel> combine;
  /// The code as text, and as a binary for one chip; one of them may be empty.
  std::string ptx;
  std::string cubin;
  std::optional<Resources> resources;

  bool hasTiles() const { return !entry.empty(); }
  /// A name for the code.
  const std::string &getName() const {
    return hasTiles() ? entry : loops.front().entry;
  }
  /// Whether such a kernel is preparation; see TableInfo::isPrepared.
  bool isPreparation(const PrologueKernel &prologue) const {
    return tables[prologue.elements - firstTable].isPrepared;
  }
};

/// Where the number of tiles comes from: B * H * ceil(S / tileRows). A
/// dimension of -1 counts as extent 1, except that there are 0 keys, and 0
/// heads of keys, then.
struct GridInfo {
  int32_t operand = 0;
  int32_t batchDim = 0, headDim = 1, rowDim = 2;
  int32_t keyOperand = 1;
  int32_t keyDim = 2;
  int32_t keyHeadDim = -1;
};

/// Lists of single keys, by the operands that say where they start and what
/// they hold; -1 where there are none.
struct ListsInfo {
  int32_t rowsOperand = -1, columnsOperand = -1;
};

/// A kernel launch in as many variants as the compiler made, at least one.
struct LaunchInfo {
  GridInfo grid;
  ListsInfo lists;
  std::vector<Variant> variants;
};

/// A kernel that checks lists, a warp for each.
struct CheckKernel {
  std::string entry;
  /// Threads of a block, whole warps.
  int32_t threads = 0;
  /// Their product is the number of lists.
  llvm::SmallVector<TableExtent, 4> extents;
  /// All but maps and counters.
  std::vector<Param> params;
};

/// Kernels that look for errors in the lists of a program, which run only for
/// who asks. Each error that there may be is a site by its number. What is
/// found goes to words of 64 bits, three for each site, that are all ones
/// before: the place of an error, as a number, and the two numbers that its
/// text tells. After a second run on what the first has left it is the first
/// error of the site, see HopperChecks.cpp.
struct ListChecks {
  /// The operand that is the words, after all of the caller.
  int32_t words = 0;
  int32_t numSites = 0;
  std::vector<CheckKernel> kernels;
  /// The code of all, which the driver compiles when it is first needed.
  std::string ptx;
};
/// Words of a site.
constexpr int64_t kWordsOfSite = 3;

/// The version that programs are written with.
constexpr int64_t kProgramVersion = 13;

/// Launches in their order. All have the same operands.
struct CudaProgram {
  /// As ptxas names it: "sm_90a".
  std::string chip;
  /// Whether each kernel, of variants and of checks, waits for the end of the
  /// one before it (`griddepcontrol.wait`), so that it may be started while
  /// that one still runs.
  bool dependentLaunch = false;
  /// What the GPU that it was compiled for does at most: floating-point
  /// operations of products of elements of 16 bits, and bytes of its memory, a
  /// second; 0 where it is not known.
  double productRate = 0, memoryRate = 0;
  std::vector<LaunchInfo> launches;
  /// Memory that one launch fills for another, as operands from this number on,
  /// or -1: after those of the caller, and before the tables of launches.
  int32_t firstScratch = -1;
  std::vector<TableInfo> scratch;
  /// Without kernels where there are no lists.
  ListChecks checks;

  /// Everything but the code, of which there are only the sizes.
  llvm::json::Value toJSON() const;
  /// The inverse, where `code` is the code of all variants: the PTX and the
  /// cubin of the first, of the second, and so on, then the PTX of the checks.
  /// Fails if validate does.
  static llvm::Expected<CudaProgram> fromJSON(const llvm::json::Value &json,
                                              llvm::StringRef code);

  /// The program as bytes; see fromBytes.
  std::string toBytes() const;
  /// The inverse of toBytes, an error for anything else.
  static llvm::Expected<CudaProgram> fromBytes(llvm::StringRef bytes);

  /// Checks all that can be known without operands and without a GPU.
  llvm::Error validate() const;

  /// The number of operands of the caller that launches look at.
  int64_t getNumOperands() const;

  /// The operands of the caller whose contents preparation reads, in their
  /// order.
  std::vector<int32_t> getPreparedOperands() const;
};

/// The extents that decide the grid and the variant.
struct LaunchExtents {
  int64_t batch = 1, heads = 1, rows = 0, keys = 0;
  /// Of keys and values; 0 if that is not known.
  int64_t keyHeads = 0;
};

/// Reads them from operands. Fails where an operand has no such dimension.
llvm::Expected<LaunchExtents>
getLaunchExtents(const GridInfo &grid, llvm::ArrayRef<TensorView> operands);

/// How many entries lists of single keys have, and how many pairs these are,
/// with all heads and batches.
struct ListExtents {
  double entries = 0, pairs = 0;
};
ListExtents getListExtents(const ListsInfo &lists, const LaunchExtents &extents,
                           llvm::ArrayRef<TensorView> operands);

/// How many heads have rows in a tile: the largest power of two up to `most`
/// that divides the number of heads which use the same keys. With fewer there
/// would be as many tiles or more, and each would read the keys again.
int32_t countPackedHeads(const LaunchExtents &extents, int32_t most);

/// batch * heads * ceil(rows / tileRows), where heads that are packed are one
/// with all their rows; or an error if that is more than a grid can have, 2^31
/// - 1, or if these are more rows than a kernel can count.
llvm::Expected<int64_t> getNumTiles(const LaunchExtents &extents,
                                    const Variant &variant);

/// Whether the hardware can map the operands as the tensor maps of a variant
/// say, and threads can read them as its parameters say: their strides and
/// addresses are multiples of 16 bytes. An operand
/// without elements, or without the dimensions, is left to the launch.
bool canMap(const Variant &variant, llvm::ArrayRef<TensorView> operands);

/// A variant whose tables take more bytes runs only if no other one can.
constexpr int64_t kMaxTableBytes = int64_t(2) << 30;
/// The most bytes for the results of parts; a launch takes fewer parts instead.
constexpr int64_t kMaxSplitBytes = int64_t(1) << 30;

/// The fewest KV blocks of a part, as kernels have it.
constexpr int64_t kMinSplitBlocks = 4;

/// How many parts the keys of a tile have in a variant with a combine kernel,
/// and 1 in others: enough that no part takes longer than the average work of a
/// multiprocessor, at least 2, and at least kMinSplitBlocks tiles in each. It
/// depends on the extents alone, and so do the bits of results.
int64_t getNumSplits(const Variant &variant, const LaunchExtents &extents,
                     int32_t numSMs, llvm::ArrayRef<TensorView> operands = {});

/// What a launch with a variant costs by the sum below; none if it has more
/// tiles than a grid can have.
std::optional<double> getCost(const LaunchInfo &launch, const Variant &variant,
                              const LaunchExtents &extents, int32_t numSMs,
                              llvm::ArrayRef<TensorView> operands = {});

/// The time in seconds that a launch with a variant takes at least on the GPU
/// that `program` was compiled for: that of its products as a rule, or that of
/// reading and writing each element of its operands once, but for those that
/// it may read in part. 0 if neither is known.
double getLeastTime(const CudaProgram &program, const LaunchInfo &launch,
                    const Variant &variant, const LaunchExtents &extents,
                    llvm::ArrayRef<TensorView> operands);

/// The variant with the least
///
///   ceil(tiles / numSMs) * (tileCost + keyCost * keys)
///     + rowCost * rows + pairCost * pairs + entryCost * entries
///     + tableCost * bytes of tables,
///
/// of those that can map the operands, or of all if none can; the first one of
/// several. Keys are rounded up to what a variant computes, and no more than
/// the `typicalKeys` of a tile where there are such. The first factor is
/// the number of waves: rounds in which each multiprocessor computes one tile,
/// in which a last round that is not full costs as much as the others. It is
/// the same for a persistent kernel, whose blocks take the tiles in just such
/// rounds. More than one block on a multiprocessor is not modelled: they share
/// what it can do.
///
/// A variant with a combine kernel is taken if it costs less than that one,
/// each with the cost of the longest tile that there may be:
///
///   max(ceil(tiles * parts / numSMs) * (tileCost + keyCost * keys / parts),
///       tileCost + longKeyCost * keys / parts) + combine
///
/// where there are `typicalKeys`, each multiprocessor has that many of its
/// tiles, and parts without keys.
///
/// The result is an index of `launch.variants`, which must not be empty. A
/// variant with more tiles than a grid can have, or more bytes of tables than
/// kMaxTableBytes, is only taken if all have.
size_t pickVariant(const LaunchInfo &launch, const LaunchExtents &extents,
                   int32_t numSMs, llvm::ArrayRef<TensorView> operands = {});

} // namespace attn::cuda

#endif // ATTN_RUNTIME_CUDA_KERNELINFO_H
