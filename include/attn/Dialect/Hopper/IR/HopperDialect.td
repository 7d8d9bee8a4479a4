//===- HopperDialect.td - The hopper dialect ---------------*- tablegen -*-===//

#ifndef ATTN_DIALECT_HOPPER_IR_HOPPERDIALECT_TD
#define ATTN_DIALECT_HOPPER_IR_HOPPERDIALECT_TD

include "attn/Dialect/Attn/IR/AttnInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/TensorEncoding.td"

def Hopper_Dialect : Dialect {
  let name = "hopper";
  let cppNamespace = "::mlir::attn::hopper";
  let summary = "Warp-specialised kernels for GPUs of compute capability 9.0";
  let description = [{
    The machine level of the GPU target: a CTA whose warps are partitioned. One warp, say, copies tiles into shared memory, warpgroups of 128
    threads compute on them, and a further warp waits for other CTAs. Partitions meet in channels, rings of tiles in shared memory. Matrix products are asynchronous, and waits return values.

    A *fragment* is what a warpgroup holds together in registers: a vector of rank 2, with the 64 rows `m` of its matrix instructions as columns, and their columns `n`
    as rows. In scores S, `m` are queries and `n` are keys, as at the tile level; in their transpose it is the other way round. `hopper-assign-layouts` makes it a tensor of the same shape whose
    encoding, a `#hopper.layout`, says which thread has which elements.

    | vector | tensor | holds |
    |---|---|---|
    | `vector<N x 64 x T>` | `tensor<N x 64 x T, #hopper.layout<accumulator>>` | one element for each n and m |
    | `vector<1 x 64 x T>` | `tensor<1 x 64 x T, #hopper.layout<rows>>` | one element for each m |
    | `vector<N x 1 x T>` | `tensor<N x 1 x T, #hopper.layout<columns>>` | one element for each n |
    | `vector<4 x 64 x T>` | `tensor<4 x 64 x T, #hopper.layout<partial>>` | four parts of a sum for each m, in four threads |

    Operations of arith and math on fragments are elementwise, and need one layout. No operation decides anything: sizes, order, overlap and
    the number of stages are explicit in the program. `attn-hopper-outline` and the passes after it make such
    programs, `attn-hopper-lower` gives each thread its part of the fragments.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::attn::AttnDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Hopper_ScheduleAttr : AttrDef<Hopper_Dialect, "Schedule", [
    DeclareAttrInterfaceMethods<Attn_ScheduleAttrInterface, ["getMostPackedHeads", "getPartitionRows", "getRowAlignment", "spreadsDiagonals", "hasPlacesInTurns", "emitPlaceInTurns", "roundsLastSums", "getSharedOutColumns", "getSumLayout"]>]> {
  let mnemonic = "schedule";
  let summary = "how one attention runs on a GPU";
  let description = [{
    * `tile_m`: query rows of a CTA, 64 for each consumer warpgroup.
    * `tile_n`: keys in one tile, a multiple of 16.
    * `stages`: KV blocks, and as many of values, that are in shared memory at a time; 1, 2 or 4.
    * `registers`: registers of a thread of a consumer, a multiple of 8. All consumers together have no more than the CTA was
      started with: up to 256 with one consumer, 240 with two, 160 with three, and 112 with four; less with `min_ctas_per_sm`.
    * `min_ctas_per_sm`: so many CTAs run on a multiprocessor at a time, from 1 (not written) to 4, and share its registers and
      its shared memory. What one of them waits for, the others compute beside.
    * `head_swizzle`: heads whose tiles take turns in the order of the grid, which lets long
      tiles of several heads run first. CTAs that run at a time read the same keys less often, then, and at one time.
    * `head_swizzle_keys`: fewer heads take turns if they had together more than so many keys, or of gradients, whose work
      tiles are keys, so many queries, those of all heads that share the keys; 0 (not written) for any number.
    * `head_swizzle_least_keys`: more heads take turns, as long as they have together no more than so many keys, or queries; 0 (not written) for no more.
    * `capture_stages`: tiles of a capture that has an element for each key and query which are in shared memory at a time;
      1, 2 or 4, or 0 (not written), with which threads read its elements one by one.
    * `in_flight`: so many products of a warpgroup are under way at a time at most, from 1 to 8, or 0 (not written) for as many as are started before a result is needed.
      What a product reads is free when it is waited for.
    * `longest_first`: the tiles of the last queries come first. Of gradients with sums in one order, whose work tiles are keys and wait for each other: those of 5/8 of a head's
      tiles, from the last of them to the first, and then the rest, from the last one on.
    * `longest_first_rows`: `longest_first` for heads of at most so many queries, or keys of gradients; 0 (not written) for never; not
      together with `longest_first` or `zigzag`.
    * `longest_first_least_tiles`: with either of these, only where there are at least so many work tiles of all heads together; 0 (not written) for any number.
    * `zigzag`: the tiles of the last queries and those of the first ones come in turn, which have the most keys under a mask as a rule; not
      together with `longest_first`.
    * `short_first`: where `tile_m` does not divide the number of queries, the first tile has fewer of them, in multiples of 64, and not the last one, which
      has the most keys under a causal mask. Not for masks that choose tiles by data.
    * `persistent`: a CTA computes one tile after another.
    * `ping_pong`: warpgroups take turns in issuing matrix products; short for `exclusive`, from the first product to the last.
    * `q_in_registers`: queries are held in registers, not read from shared memory.
    * `bias_in_product`: a bias of the scores that is affine in the key, such as a slope times the distance, is part of the product of queries and
      keys, not computed for each score; without effect on other scores.
    * `strided`: threads copy tiles element by element, so that queries, keys, values and results may have any strides but those of
      their columns; not together with `persistent` or `capture_stages`.
    * `split_kv`: the keys of a Q block are shared out to several CTAs, each of which writes a result of its own in f32, and a
      second kernel combines them. How many there are is chosen at a launch, which may be one; not together with `persistent` or `strided`.
    * `pack_gqa`: a tile has the queries of several heads that share keys and values, as many as the largest power of two up to 64 that
      divides the number of query heads for each head of keys; not together with `capture_stages` or `strided`.
    * `reuse_q`: results are staged in the shared memory of their own queries, and that of two tiles of queries takes turns, where there is room for both;
      for schedules whose blocks in shared memory leave none for results. Needs `persistent`, without `q_in_registers`. No effect where queries and values have other columns.
    * `write_dq`: of gradients with sums in one order, the last work tile that adds to a Q block writes what that gets of dQ, and no kernel behind does. That is for heads of few work
      tiles: of many, the last one ends behind all others, as it reads what they have added in each iteration. No effect on sums in any order, or where columns are not the last dimension of dQ; not together with `strided`.
    * `order`: the steps of the loop over blocks in the order in which an iteration runs them, each with its stage in parentheses if that is not 0. Steps of stage 1 are for
      the block before. Without an order, what follows the softmax of a
      block is run beside the softmax of the next one.
    * `exclusive`: steps between which, from the first to the last in the order, warpgroups take turns.
    * `partitions`: steps that other warpgroups run than those of the rest, with a name for these. Each such partition has as many warpgroups as `tile_m` takes, and
      `registers` is what a thread of each of them has.

    Examples:

    ```mlir
    #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, head_swizzle = 8,
                     longest_first, persistent, ping_pong, q_in_registers>
    #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, head_swizzle = 1,
                     order = [load_k, qk, load_v(1), pv(1), softmax], exclusive = [qk, pv]>
    #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1,
                     order = [load_k, qk, act, load_v, pv], partitions = {pv = second}>
    ```
  }];
  let parameters = (ins "int64_t":$tileM, "int64_t":$tileN, "int64_t":$stages,
      "int64_t":$registers, "int64_t":$headSwizzle, "int64_t":$headSwizzleKeys, "int64_t":$headSwizzleLeastKeys,
      "int64_t":$longestFirstRows,
      "int64_t":$longestFirstLeastTiles,
      "int64_t":$captureStages, "int64_t":$minCtasPerSm, "int64_t":$inFlight, "bool":$longestFirst,
      "bool":$zigzag, "bool":$shortFirst, "bool":$persistent, "bool":$pingPong, "bool":$qInRegisters,
      "bool":$biasInProduct, "bool":$strided,
      "bool":$splitKV, "bool":$packGQA, "bool":$reuseQ, "bool":$writeDq, "::mlir::ArrayAttr":$order,
      "::mlir::ArrayAttr":$exclusive, "::mlir::DictionaryAttr":$partitions);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The warpgroups of each partition that computes.
    int64_t getNumConsumers() const { return getTileM() / 64; }

    /// Emits whether the work tiles of a head are started from the last one on:
    /// `count` of each of `heads`. Null for never.
    ::mlir::Value emitIsLongestFirst(::mlir::attn::ScalarBuilder &b, ::mlir::Value count, ::mlir::Value heads) const;
  }];
}

def Hopper_PlaceAttr : AttrDef<Hopper_Dialect, "Place"> {
  let mnemonic = "place";
  let summary = "where a schedule has a step of a pipelined loop";
  let description = [{
    `#hopper.place<"pv", 1>`: the step `pv` is in stage 1, for the block before the one of steps in stage 0. Its place in the order is that in the list of places.
  }];
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$stage);
  let assemblyFormat = "`<` $name `,` $stage `>`";
  let genVerifyDecl = 1;
}

def Hopper_PartitionAttr : AttrDef<Hopper_Dialect, "Partition"> {
  let mnemonic = "partition";
  let summary = "some warps of a CTA";
  let description = [{
    `replicas` times `threads` threads that run the same program: 1 thread of a warp, or 1 to 4 whole warps. `registers` is how many each thread has, or 0 for
    what others leave. It is written as part of `hopper.warp_specialize`.

    Example:

    ```mlir
    #hopper.partition<name = "compute", replicas = 2, threads = 128, registers = 240>
    ```

    Errors: no name; other than 1 to 1024 replicas; other than 1, 32, 64, 96 or 128 threads; registers other than 0 or a multiple of 8 from 24 to 256.
  }];
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$replicas, "int64_t":$threads, "int64_t":$registers);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// A replica of one thread has a warp.
    int64_t getWarpsOfReplica() const { return (getThreads() + 31) / 32; }
    int64_t getWarps() const { return getReplicas() * getWarpsOfReplica(); }
    bool hasWarpgroups() const { return getThreads() == 128; }
  }];
}

def Hopper_Layout : I32EnumAttr<"FragmentLayout", "how a warpgroup holds a fragment", [
    I32EnumAttrCase<"Accumulator", 0, "accumulator">, I32EnumAttrCase<"Rows", 1, "rows">,
    I32EnumAttrCase<"Columns", 2, "columns">, I32EnumAttrCase<"Partial", 3, "partial">,
    I32EnumAttrCase<"Threads", 4, "threads">, I32EnumAttrCase<"Lanes", 5, "lanes">]> {
  let cppNamespace = "::mlir::attn::hopper";
  let genSpecializedAttr = 0;
}

def Hopper_LayoutAttr : AttrDef<Hopper_Dialect, "Layout", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>,
    DeclareAttrInterfaceMethods<OpAsmAttrInterface, ["getAlias"]>]> {
  let mnemonic = "layout";
  let summary = "which thread of a warpgroup has which elements of a fragment";
  let description = [{
    The encoding of a tensor that the 128 threads of a warpgroup hold together. Thread `t` is lane `l = t mod 32` of warp `w = t / 32`. It has

    | layout | shape | elements of a thread, in the order of its registers |
    |---|---|---|
    | `accumulator` | N x 64 | `4j + 2r + p`: n = 8j + 2 (l mod 4) + p, m = 16w + l / 4 + 8r |
    | `rows` | 1 x 64 | `r`: m = 16w + l / 4 + 8r |
    | `columns` | N x 1 | `2j + p`: n = 8j + 2 (l mod 4) + p |
    | `partial` | 4 x 64 | `r`: part l mod 4 of m = 16w + l / 4 + 8r |
    | `threads` | 1 x 128 | m = t |
    | `lanes` | N x 1 | `j`: n = 32j + l, in each warp; beyond N there is none |

    for `r` and `p` 0 or 1, and `j` below N / 8, or N / 32, rounded up, of `lanes`. `accumulator` is what matrix instructions write; of 16-bit floats, it is also what they read as their left operand, with the two of `p` in one register of 32 bits. So
    rounding an accumulator makes an operand without moving elements between threads.

    Example:

    ```mlir
    tensor<80x64xf32, #hopper.layout<accumulator>>
    ```

    Errors: a tensor of another shape; N that is not a multiple of 8.
  }];
  let parameters = (ins EnumParameter<Hopper_Layout>:$value);
  let assemblyFormat = "`<` $value `>`";
  let extraClassDeclaration = [{
    /// Whether a fragment of this shape may have the layout.
    bool fits(::llvm::ArrayRef<int64_t> shape) const;
  }];
}

def Hopper_FragmentOrderAttr : AttrDef<Hopper_Dialect, "FragmentOrder", [
    DeclareAttrInterfaceMethods<MemRefLayoutAttrInterface, ["getAffineMap", "isIdentity", "verifyLayout", "getStridesAndOffset"]>]> {
  let mnemonic = "fragment_order";
  let summary = "a buffer in the order in which warpgroups hold accumulators";
  let description = [{
    The layout of a buffer whose last two dimensions, `m` and `n`, are a tile: elements lie as the threads of warpgroups have them in the registers of
    accumulators, so that a warp reads or adds 512 contiguous bytes at a time. With `i` of dimension `m` and `j` of dimension `n`, these are seven dimensions

    `i / 64, j / 8, i mod 64 / 16, i mod 8, j mod 8 / 2, i mod 16 / 8, j mod 2`

    or warpgroup, columns of an instruction, warp, two of thread, and two of its register. Four floats of a thread follow each other.

    Example: the sums of 80 queries and 128 columns for each block, whose columns are shared out to warpgroups.

    ```mlir
    memref<?x?x?x80x128xf32, #hopper.fragment_order<m = 4, n = 3>>
    ```

    Errors: dimensions that are not two that follow each other; a buffer of which they are not the last ones; a number of `m` that is no multiple of 64, or of
    `n` that is none of 8.
  }];
  let parameters = (ins "int64_t":$m, "int64_t":$n);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return std::max(getM(), getN()) + 1; }
    /// Whether a buffer of this shape may have the layout.
    bool fits(::llvm::ArrayRef<int64_t> shape) const;
  }];
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class Hopper_Type<string name, string typeMnemonic>
    : TypeDef<Hopper_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Hopper_MapType : Hopper_Type<"Map", "map"> {
  let summary = "a tensor in global memory that is copied in boxes of rows";
  let description = [{
    `!hopper.map<R x C x T>` is a parameter of a kernel: a tensor of batch, head, row and column, of which boxes of
    `R` rows and `C` columns of one head are copied. What a box has outside of the tensor reads as 0 and is not written.
    The hardware copies boxes of tensors whose strides are multiples of 16 bytes; those of
    `!hopper.map<R x C x T, strided>` are copied by threads, from any strides, in whole rows of the tensor. With `strided, aligned` the rows of the tensor
    start at multiples of 16 bytes, which threads copy at a time.
    A box of `!hopper.map<R x C x T, packed>` has rows of P heads that follow each other: for each of R / P rows, that of each head.
    P, a power of two that divides R, is what a launch makes the map with.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType, "bool":$strided, "bool":$aligned,
      "bool":$packed);
  let hasCustomAssemblyFormat = 1;
}

def Hopper_TileType : Hopper_Type<"Tile", "tile"> {
  let summary = "a tile in shared memory";
  let description = [{
    `!hopper.tile<R x C x T>`: R rows of C columns, in chunks of as many columns as are 128 bytes, whose rows are swizzled. T is bf16
    or f16, of which products are, or f32, i8 or i1, an i1 being a byte.
    `!hopper.tile<R x C x T, of P>` is R rows of a tile of P rows, a multiple of R. `!hopper.tile<R x f32>` is a vector, without columns, of f16, bf16, f32, f64 or integers of
    1, 8, 16, 32 or 64 bits. Of i1 it is words of 32 bits, of which bit r % 32 of word r / 32 is element r. Only vectors of f32 and i32 have parts.

    `!hopper.tile<R x C x T, chunks of N>`: each chunk starts with column N of the one before, a multiple of 16, and what is behind its N columns is not
    read. So columns that replicas share out start with a chunk where they are no multiples of 64: 96 columns of two replicas are chunks of 48. A product
    reads the columns of a transposed tile from one such chunk.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType, "int64_t":$parentRows, "int64_t":$chunkColumns);
  let builders = [
    TypeBuilder<(ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType, "int64_t":$parentRows), [{
      return $_get($_ctxt, rows, columns, elementType, parentRows, ::mlir::attn::hopper::getChunkColumns(elementType));
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isVector() const { return getColumns() == 0; }
    /// A vector of words, with a bit for each element.
    bool isBits() const { return isVector() && getElementType().isInteger(1); }
    /// A vector of words, each of which is an element.
    bool isWords() const {
      return isVector() && getElementType().getIntOrFloatBitWidth() == 32;
    }
  }];
}

def Hopper_ChannelType : Hopper_Type<"Channel", "channel"> {
  let summary = "a ring of tiles between partitions";
  let description = [{
    `!hopper.channel<S x R x C x T>` has S tiles of R rows and C columns; S is 1, 2 or 4. Each tile of
    `!hopper.channel<S x R x C x T, payload>` comes with a number of 32 bits from the producer. `!hopper.channel<S x R x f32>` has S vectors of R elements, a multiple of 8.
    `!hopper.channel<S x R x C x T, chunks of N>` has tiles with such chunks.
  }];
  let parameters = (ins "int64_t":$stages, "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType,
      "bool":$payload, "int64_t":$chunkColumns);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    TileType getTileType() const {
      return TileType::get(getContext(), getRows(), getColumns(), getElementType(), getRows(), getChunkColumns());
    }
    bool isVector() const { return getColumns() == 0; }
    /// A vector of words, with a bit for each element.
    bool isBits() const { return isVector() && getElementType().isInteger(1); }
    /// A vector of words, each of which is an element.
    bool isWords() const {
      return isVector() && getElementType().getIntOrFloatBitWidth() == 32;
    }
  }];
}

def Hopper_PendingType : Hopper_Type<"Pending", "pending"> {
  let summary = "a fragment that an asynchronous product is still writing";
  let description = "Of f32. Only `hopper.wait` makes a fragment of it.";
  let parameters = (ins "::mlir::ShapedType":$fragment);
  let assemblyFormat = "`<` $fragment `>`";
  let genVerifyDecl = 1;
}

def Hopper_WorkQueueType : Hopper_Type<"WorkQueue", "work_queue"> {
  let summary = "a ring of two messages from one partition to others";
  let description = "`!hopper.work_queue<N>`: a message is N numbers of 32 bits; N is positive.";
  let parameters = (ins "int64_t":$length);
  let assemblyFormat = "`<` $length `>`";
  let genVerifyDecl = 1;
}

def Hopper_PingPongType : Hopper_Type<"PingPong", "ping_pong"> {
  let summary = "a ping-pong (ordered) barrier of the replicas of a partition";
  let parameters = (ins);
}

def Hopper_TurnsType : Hopper_Type<"Turns", "turns"> {
  let summary = "turns to add to memory, one at a time for each replica of a partition";
  let parameters = (ins);
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

/// What a warpgroup holds: a vector, and with a layout a tensor.
class Hopper_LaidOut<list<Type> types> : RankedTensorOf<types, [
    CPred<"::llvm::isa_and_present<::mlir::attn::hopper::LayoutAttr>(::llvm::cast<::mlir::RankedTensorType>($_self).getEncoding())">],
    "tensor with a layout">;
class Hopper_FragmentOf<list<Type> types>
    : AnyTypeOf<[VectorOfRankAndType<[2], types>, Hopper_LaidOut<types>], "", "::mlir::ShapedType">;

#endif // ATTN_DIALECT_HOPPER_IR_HOPPERDIALECT_TD
