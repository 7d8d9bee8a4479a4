//===- HopperPartitionOps.td - Partitions and channels -----*- tablegen -*-===//

#ifndef ATTN_DIALECT_HOPPER_IR_HOPPERPARTITIONOPS_TD
#define ATTN_DIALECT_HOPPER_IR_HOPPERPARTITIONOPS_TD

include "attn/Dialect/Hopper/IR/HopperOpBase.td"

//===----------------------------------------------------------------------===//
// Partitions
//===----------------------------------------------------------------------===//

def Hopper_WarpSpecializeOp : Hopper_Op<"warp_specialize", [
    SingleBlockImplicitTerminator<"YieldOp">, NoRegionArguments,
    DeclareOpInterfaceMethods<RegionBranchOpInterface>]> {
  let summary = "give the warps of a CTA their programs";
  let description = [{
    Each partition is a program with a name, run by one or more replicas: by a warpgroup each, or with `warps(n)` by n warps, or with `threads(1)`
    by one thread of a warp. Which replica runs is `hopper.warpgroup_id`.

    Warps are handed out in the order of the partitions. A partition of whole warpgroups starts at the next warpgroup. Partitions of fewer warps
    share warpgroups, and with them the registers.

    `registers` is how many each thread has. Warpgroups without that have an equal share of what the others leave, up to 128. With `ctas_per_sm`,
    registers are that part of a multiprocessor's, so that so many of these CTAs run there at a time. The operation ends its kernel.

    A partition that puts into a channel is its producer, and those that get from it are its consumers; a partition may be both.

    Example:

    ```mlir
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ch[%n], %map[%b, %h, %r] : !hopper.channel<2x128x64xbf16>, !hopper.map<128x64xbf16>
    } partition @compute replicas(2) registers(240) {
      %t = hopper.get %ch[%n] : !hopper.channel<2x128x64xbf16> -> !hopper.tile<128x64xbf16>
      hopper.release %ch[%n] : !hopper.channel<2x128x64xbf16>
    }
    ```

    Errors: no partition, or two of one name; more than 1024 threads; other than 1 to 4 CTAs; registers that are not a multiple of 8 from 24 to
    256, that differ in a warpgroup, or that leave less than 24 to the others; a channel that several partitions put into, or that is filled in
    several ways; turns that several partitions hold or take, or that another number of replicas holds.
  }];
  let arguments = (ins TypedArrayAttrBase<Hopper_PartitionAttr, "partitions">:$partitions,
      DefaultValuedAttr<I64Attr, "1">:$ctas_per_sm);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let builders = [
    /// Makes each partition with an empty body.
    OpBuilder<(ins "::llvm::ArrayRef<PartitionAttr>":$partitions, CArg<"int64_t", "1">:$ctasPerSM)>
  ];
  let skipDefaultBuilders = 1;
  let assemblyFormat = [{
    (`ctas_per_sm` `(` $ctas_per_sm^ `)`)? custom<Partitions>($partitions, $bodies) attr-dict
  }];
  let extraClassDeclaration = [{
    PartitionAttr getPartition(unsigned number) {
      return ::llvm::cast<PartitionAttr>(getPartitions()[number]);
    }
    /// The number of the partition that `op` is in, or none.
    std::optional<unsigned> findPartition(Operation *op);
    /// Who uses a channel or a work queue here.
    RingUsers getUsers(Value ring);
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Hopper_YieldOp : Hopper_Op<"yield", [Pure, ReturnLike, Terminator,
    ParentOneOf<["WarpSpecializeOp"]>]> {
  let summary = "end a partition";
  let description = "Ends a region of `hopper.warp_specialize`; not written in text.";
  let assemblyFormat = "attr-dict";
}

def Hopper_WarpgroupIdOp : Hopper_Op<"warpgroup_id", [Pure]> {
  let summary = "the number of a replica";
  let description = [{
    From 0, among the replicas of its partition, which are warpgroups or parts of one.

    ```mlir
    %wg = hopper.warpgroup_id
    ```

    Errors: outside of a partition.
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

def Hopper_CreateChannelOp : Hopper_Op<"create_channel"> {
  let summary = "a ring of tiles in shared memory";
  let description = [{
    A ring that one partition fills and one or more partitions read. Its uses are numbered from 0. Each number is put once, by all replicas
    together, and got and released once by each replica of each consumer, in order. Numbers are i32 and may wrap around.

    ```mlir
    %ch = hopper.create_channel : !hopper.channel<2x128x64xbf16>
    ```
  }];
  let results = (outs Res<Hopper_ChannelType, "", [MemAlloc]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Hopper_PutOp : Hopper_Op<"put", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "copy rows of a tensor into a channel";
  let description = [{
    Use `number` of the channel: waits until the tile that was in its place has been released by all consumers, and
    starts the copy of the box at row `row` and column `column`, or 0, of a head. Rows and columns out of range become 0.
    A payload, which all threads of the producer have, goes with the tile. The box of a packed map starts at head `head` and at row
    `row` of each of its heads.

    With a list, row `r` of the box is not that of number `row + r`, but of number `list[position..., row + r]`: what is copied is gathered from rows in any order, some of
    them more than once.

    ```mlir
    hopper.put %ch[%n], %map[%b, %h, %r] : !hopper.channel<2x128x64xbf16>, !hopper.map<128x64xbf16>
    hopper.put %ch[%n], %map[%b, %h, %r] column %c : !hopper.channel<2x128x64xbf16>, !hopper.map<128x64xbf16>
    hopper.put %ch[%n], %map[%b, %h, %r] payload %x : !hopper.channel<2x128x64xbf16, payload>, !hopper.map<128x64xbf16>
    hopper.put %ch[%n], %map[%b, %h, %r] rows %list[%p] : !hopper.channel<2x128x64xbf16>,
        !hopper.map<128x64xbf16, strided, aligned>, memref<?x128xi32>
    ```

    Errors: a box of another shape or element type than the channel's tiles; outside of a partition of one replica; a strided map where
    that is no warpgroup or with a column; a list with another map, or of other elements than i32, or with a number of positions other than the rank less one; a
    payload without a channel with payload, or the other way round.
  }];
  let arguments = (ins Hopper_ChannelType:$channel, I32:$number,
      Hopper_MapType:$map, Index:$batch, Index:$head, Index:$row,
      Optional<Index>:$column, Optional<AnyMemRef>:$list,
      Variadic<Index>:$position, Optional<I32>:$payload);
  let assemblyFormat = [{
    $channel `[` $number `]` `,` $map `[` $batch `,` $head `,` $row `]`
    (`column` $column^)? (`rows` $list^ `[` $position `]`)? (`payload` $payload^)? attr-dict
    `:` type($channel) `,` type($map) (`,` type($list)^)?
  }];
  let hasVerifier = 1;
}

def Hopper_PutVectorOp : Hopper_Op<"put_vector", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "copy elements of a buffer into a channel";
  let description = [{
    As `hopper.put`, for the R elements of a buffer from an index on, f32 or i32. All of them are there, and the first one is aligned to 16 bytes: the copy engine copies them.

    With `zero_fill`, any index and any element type will do, and elements outside of the buffer are 0:

    | elements | who copies |
    |---|---|
    | of 4 or 8 bytes | each thread of the partition starts a copy (`cp.async`), and does not wait for it |
    | of 1 or 2 bytes | each thread loads an element before it waits for room, and stores it |
    | i1, a byte in the buffer and a bit in the channel | each thread of a warp loads one, and the warp votes |

    ```mlir
    hopper.put_vector %ch[%n], %lse[%b, %h, %r] : !hopper.channel<2x80xf32>, memref<?x?x?xf32>
    hopper.put_vector %ch[%n], %ids[%b, %j] zero_fill : !hopper.channel<2x128xi32>, memref<?x?xi32>
    hopper.put_vector %ch[%n], %flags[%b, %j] zero_fill : !hopper.channel<4x128xi1>, memref<?x?xi1>
    ```

    Errors: a channel of tiles, or of a number of elements that is not a multiple of 4; elements of other than 32 bits without `zero_fill`; i1 in a partition that is no warps; a buffer of other elements than the channel, or without a contiguous last
    dimension; a number of indices other than the rank; outside of a partition of one replica.
  }];
  let arguments = (ins Hopper_ChannelType:$channel, I32:$number, AnyMemRef:$source, Variadic<Index>:$indices, UnitAttr:$zero_fill);
  let assemblyFormat = [{
    $channel `[` $number `]` `,` $source `[` $indices `]` (`zero_fill` $zero_fill^)? attr-dict `:` type($channel) `,` type($source)
  }];
  let hasVerifier = 1;
}

def Hopper_PutFragmentOp : Hopper_Op<"put_fragment", [
    Hopper_OwnLayouts, AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "write what warpgroups hold into a channel";
  let description = [{
    Each replica of a partition writes its block of the tile from registers, and has put use `number` of the channel when all have: it waits until the tile that was there
    has been released by all consumers, writes, and arrives. Block `block`, or 0, is

    | | tile | vector |
    |---|---|---|
    | | `tile[64 * block + m, n]` | `vector[n, m]`, 16 bits |
    | `transposed` | `tile[n, 64 * block + m]` | `vector[n, m]`, 16 bits |
    | | `tile[64 * block + m]` | `vector[0, m]`, f32 |

    What is written is there for products, too. With a condition, which is uniform in a warpgroup and the same for all replicas, it is put only where that holds.

    ```mlir
    hopper.put_fragment %ch[%n], %p at %wg : !hopper.channel<2x128x80xbf16>, vector<80x64xbf16>
    hopper.put_fragment %ch[%n], %p at %wg transposed : !hopper.channel<2x80x128xbf16>, vector<80x64xbf16>
    hopper.put_fragment %sums[%n], %x if %c : !hopper.channel<1x64xf32>, vector<1x64xf32>
    ```

    Errors: a tile of another shape or element type; a channel with payload; outside of a partition of warpgroups.
  }];
  let arguments = (ins Hopper_ChannelType:$channel, I32:$number,
      Hopper_FragmentOf<[BF16, F16, F32]>:$vector, Optional<Index>:$block,
      Optional<I1>:$condition, UnitAttr:$transposed);
  let assemblyFormat = [{
    $channel `[` $number `]` `,` $vector (`at` $block^)? (`transposed` $transposed^)? (`if` $condition^)? attr-dict
    `:` type($channel) `,` type($vector)
  }];
  let hasVerifier = 1;
}

def Hopper_PutBF16x3Op : Hopper_Op<"put_bf16x3", [Hopper_OwnLayouts, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "write a number for each key into a channel, in three parts";
  let description = [{
    Waits until the tile that was in the place of use `number` has been released by all consumers, and writes, for `most`, the largest of the numbers:

    | column of row n | |
    |---|---|
    | 0 to 2 | numbers of 16 bits, which together are `factor * (vector[n, 0] - most)` up to rounding of f32, or -2^126 if that is less; of -inf, -inf and two others |
    | 3 to 5 | n |
    | 6, 7 | 0 |

    So a product with `hopper.split_bf16x3` that is `behind_ones` is a sum of a number for each key and a multiple of the key's position, and loses no digits where numbers are large, but alike. The payload has the bits
    of `most`. If all numbers are -inf, it is 0. If one of them is NaN, or the magnitude of `most` is above the limit, it is NaN, and all columns are 0.

    All warps of the partition have all numbers, and write the same. Tiles of a channel lie beside each other, 16 columns each.

    ```mlir
    hopper.put_bf16x3 %ch[%n], %x times 4.0 up_to 1.0e9 : !hopper.channel<4x128x8xbf16, payload>, tensor<128x1xf32, #hopper.layout<lanes>>
    ```

    Errors: a channel without payload, or of tiles with other than 8 columns or not a row for each number, of which bf16 has no more than 256; a factor or a limit that is not positive;
    outside of a partition of whole warps and one replica.
  }];
  let arguments = (ins Hopper_ChannelType:$channel, I32:$number, Hopper_FragmentOf<[F32]>:$vector, F32Attr:$factor, F32Attr:$limit);
  let assemblyFormat = [{
    $channel `[` $number `]` `,` $vector `times` $factor `up_to` $limit attr-dict `:` type($channel) `,` type($vector)
  }];
  let hasVerifier = 1;
}

def Hopper_GetOp : Hopper_Op<"get", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait for a tile of a channel";
  let description = [{
    Waits until use `number` of the channel has arrived, and returns its tile, which may be read until it is released, and
    the payload of a channel with payload. With a condition, which is uniform in a warp, it waits only where that holds; the tile may be read in any
    case, and is of any values otherwise.

    ```mlir
    %t = hopper.get %ch[%n] : !hopper.channel<2x128x64xbf16> -> !hopper.tile<128x64xbf16>
    %t, %x = hopper.get %ch[%n] : !hopper.channel<2x128x64xbf16, payload> -> !hopper.tile<128x64xbf16>, i32
    %t = hopper.get %ch[%n] if %c : !hopper.channel<2x128x64xbf16> -> !hopper.tile<128x64xbf16>
    ```

    Errors: a result that is not a tile of the channel; a payload without a channel with payload, or the other way round; a condition together with
    a payload; outside of a partition.
  }];
  let arguments = (ins Hopper_ChannelType:$channel, I32:$number, Optional<I1>:$condition);
  let results = (outs Hopper_TileType:$tile, Optional<I32>:$payload);
  let builders = [
    OpBuilder<(ins "Value":$channel, "Value":$number, CArg<"Value", "{}">:$condition)>
  ];
  let assemblyFormat = [{
    $channel `[` $number `]` (`if` $condition^)? attr-dict `:` type($channel) `->` type($tile) (`,` type($payload)^)?
  }];
  let hasVerifier = 1;
}

def Hopper_ViewOp : Hopper_Op<"view", [Pure]> {
  let summary = "a tile of a channel that has arrived before";
  let description = [{
    The tile of use `number`, for which this replica has waited (`hopper.get`) and which it has not released.

    ```mlir
    %t = hopper.view %ch[%n] : !hopper.channel<2x128x64xbf16> -> !hopper.tile<128x64xbf16>
    ```

    Errors: a result that is not a tile of the channel; outside of a partition.
  }];
  let arguments = (ins Hopper_ChannelType:$channel, I32:$number);
  let results = (outs Hopper_TileType:$tile);
  let assemblyFormat = "$channel `[` $number `]` attr-dict `:` type($channel) `->` type($tile)";
  let hasVerifier = 1;
}

def Hopper_ReleaseOp : Hopper_Op<"release", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "let the producer overwrite a tile";
  let description = [{
    This replica has read the tile of use `number`; products that read it are done. With a condition, which is uniform in a warp, it is released
    only where that holds.

    ```mlir
    hopper.release %ch[%n] : !hopper.channel<2x128x64xbf16>
    hopper.release %ch[%n] if %c : !hopper.channel<2x128x64xbf16>
    ```

    Errors: outside of a partition.
  }];
  let arguments = (ins Hopper_ChannelType:$channel, I32:$number, Optional<I1>:$condition);
  let builders = [
    OpBuilder<(ins "Value":$channel, "Value":$number), [{
      build($_builder, $_state, channel, number, Value());
    }]>
  ];
  let assemblyFormat = "$channel `[` $number `]` (`if` $condition^)? attr-dict `:` type($channel)";
  let hasVerifier = 1;
}

#endif // ATTN_DIALECT_HOPPER_IR_HOPPERPARTITIONOPS_TD
