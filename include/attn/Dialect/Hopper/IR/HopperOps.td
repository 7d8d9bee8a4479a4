//===- HopperOps.td - Operations of the hopper dialect -----*- tablegen -*-===//

#ifndef ATTN_DIALECT_HOPPER_IR_HOPPEROPS_TD
#define ATTN_DIALECT_HOPPER_IR_HOPPEROPS_TD

include "attn/Dialect/Hopper/IR/HopperDialect.td"
include "attn/Dialect/Hopper/IR/HopperInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Hopper_Op<string mnemonic, list<Trait> traits = []>
    : Op<Hopper_Dialect, mnemonic, traits>;

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
    several ways.
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

def Hopper_SyncOp : Hopper_Op<"sync", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a barrier of all threads of a partition";
  let description = [{
    All replicas wait for each other. What they have written to shared memory before is there for all of them.

    ```mlir
    hopper.sync
    ```

    Errors: outside of a partition, or in one of a single thread.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

def Hopper_CreateChannelOp : Hopper_Op<"create_channel", [MemoryEffects<[MemAlloc]>]> {
  let summary = "a ring of tiles in shared memory";
  let description = [{
    A ring that one partition fills and one or more partitions read. Its uses are numbered from 0. Each number is put once, by all replicas
    together, and got and released once by each replica of each consumer, in order. Numbers are i32 and may wrap around.

    ```mlir
    %ch = hopper.create_channel : !hopper.channel<2x128x64xbf16>
    ```
  }];
  let results = (outs Hopper_ChannelType:$result);
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
    As `hopper.put`, for the R elements of a buffer from an index on: f32 or i32. All of them are there, and the first one is aligned to 16 bytes: the copy engine copies them.

    With `zero_fill`, any index will do, and elements outside of the buffer are 0. The threads of the partition start a copy of each element (`cp.async`), and do not wait for it.

    ```mlir
    hopper.put_vector %ch[%n], %lse[%b, %h, %r] : !hopper.channel<2x80xf32>, memref<?x?x?xf32>
    hopper.put_vector %ch[%n], %ids[%b, %j] zero_fill : !hopper.channel<2x128xi32>, memref<?x?xi32>
    ```

    Errors: a channel of tiles, or of a number of elements that is not a multiple of 4; a buffer of other elements than the channel, or without a contiguous last
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

//===----------------------------------------------------------------------===//
// Distribution of work
//===----------------------------------------------------------------------===//

def Hopper_FetchNextOp : Hopper_Op<"fetch_next", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "fetch the next work tile of the launch";
  let description = [{
    The number of CTAs plus the number of fetches that the launch has made before. So CTAs that first do
    the work that has their own number, and then what they fetch until that is beyond the last, do all work once.
    The counter is 0 at the start of a launch.

    ```mlir
    %n = hopper.fetch_next %counter : memref<2xi32>
    ```

    Errors: outside of a partition of one thread or one warp.
  }];
  let arguments = (ins MemRefOf<[I32]>:$counter);
  let results = (outs I32:$result);
  let assemblyFormat = "$counter attr-dict `:` type($counter)";
  let hasVerifier = 1;
}

def Hopper_ResetCounterOp : Hopper_Op<"reset_counter", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "reset the counter of the tile scheduler";
  let description = [{
    The last CTA of a launch that runs it makes the counter 0 again, so that nothing has to be done between launches.

    ```mlir
    hopper.reset_counter %counter : memref<2xi32>
    ```

    Errors: outside of a partition of one thread or one warp.
  }];
  let arguments = (ins MemRefOf<[I32]>:$counter);
  let assemblyFormat = "$counter attr-dict `:` type($counter)";
  let hasVerifier = 1;
}

def Hopper_BallotOp : Hopper_Op<"ballot"> {
  let summary = "what the threads of a warp say to a condition";
  let description = [{
    Bit `n` is the condition of the thread with `gpu.lane_id` `n`.

    ```mlir
    %bits = hopper.ballot %condition
    ```

    Errors: in a partition of one thread.
  }];
  let arguments = (ins I1:$condition);
  let results = (outs I32:$bits);
  let assemblyFormat = "$condition attr-dict";
  let hasVerifier = 1;
}

def Hopper_CreateWorkQueueOp : Hopper_Op<"create_work_queue", [MemoryEffects<[MemAlloc]>]> {
  let summary = "a ring of two messages in shared memory";
  let description = [{
    ```mlir
    %m = hopper.create_work_queue : !hopper.work_queue<2>
    ```
  }];
  let results = (outs Hopper_WorkQueueType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Hopper_PostOp : Hopper_Op<"post", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "send a message to the consumers";
  let description = [{
    Use `number` of the work queue, counted from 0; waits until all consumers have received use `number - 2`.

    ```mlir
    hopper.post %m[%n], %a, %b : !hopper.work_queue<2>
    ```

    Errors: a message of another length; outside of a partition of one thread or one warp.
  }];
  let arguments = (ins Hopper_WorkQueueType:$work_queue, I32:$number, Variadic<I32>:$values);
  let assemblyFormat = "$work_queue `[` $number `]` `,` $values attr-dict `:` type($work_queue)";
  let hasVerifier = 1;
}

def Hopper_ReceiveOp : Hopper_Op<"receive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait for a message from the producer";
  let description = [{
    ```mlir
    %a, %b = hopper.receive %m[%n] : !hopper.work_queue<2> -> i32, i32
    ```

    Errors: a message of another length; outside of a partition of warpgroups.
  }];
  let arguments = (ins Hopper_WorkQueueType:$work_queue, I32:$number);
  let results = (outs Variadic<I32>:$values);
  let assemblyFormat = "$work_queue `[` $number `]` attr-dict `:` type($work_queue) `->` type($values)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Ping-pong barrier
//===----------------------------------------------------------------------===//

def Hopper_CreatePingPongOp : Hopper_Op<"create_ping_pong", [MemoryEffects<[MemAlloc]>]> {
  let summary = "let consumers take turns";
  let description = [{
    It is the turn of consumer 0.

    ```mlir
    %t = hopper.create_ping_pong : !hopper.ping_pong
    ```
  }];
  let results = (outs Hopper_PingPongType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

class Hopper_PingPongUserOp<string mnemonic> : Hopper_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let arguments = (ins Hopper_PingPongType:$ping_pong);
  let assemblyFormat = "$ping_pong attr-dict `:` type($ping_pong)";
  let hasVerifier = 1;
}

def Hopper_PingPongWaitOp : Hopper_PingPongUserOp<"ping_pong_wait"> {
  let summary = "wait for this consumer's turn";
  let description = [{
    ```mlir
    hopper.ping_pong_wait %t : !hopper.ping_pong
    ```

    Errors: outside of a partition of warpgroups.
  }];
}

def Hopper_PingPongArriveOp : Hopper_PingPongUserOp<"ping_pong_arrive"> {
  let summary = "give the turn to the next consumer";
  let description = [{
    The last one gives it to the first.

    ```mlir
    hopper.ping_pong_arrive %t : !hopper.ping_pong
    ```

    Errors: outside of a partition of warpgroups.
  }];
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

def Hopper_RowsOp : Hopper_Op<"rows", [Pure]> {
  let summary = "some rows of a tile";
  let description = [{
    The R rows from row `R * index` on, of as many as the result has. A warpgroup has 64.

    ```mlir
    %r = hopper.rows %t[%wg] : !hopper.tile<128x64xbf16> -> !hopper.tile<64x64xbf16, of 128>
    %x = hopper.rows %v[%wg] : !hopper.tile<128xf32> -> !hopper.tile<64xf32, of 128>
    ```

    Errors: a result of rows that are not a multiple of 8 that divides those of the source, or of other columns; rows of rows.
  }];
  let arguments = (ins Hopper_TileType:$source, Index:$index);
  let results = (outs Hopper_TileType:$result);
  let assemblyFormat = [{
    $source `[` $index `]` attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Hopper_ColumnsOp : Hopper_Op<"columns", [Pure]> {
  let summary = "some columns of a tile";
  let description = [{
    The C columns from column `C * index` on, of as many as the result has.

    ```mlir
    %c = hopper.columns %t[%wg] : !hopper.tile<128x128xbf16> -> !hopper.tile<128x64xbf16>
    ```

    Errors: a result of columns that are not a multiple of those of 128 bytes that divides those of the source, or of other rows.
  }];
  let arguments = (ins Hopper_TileType:$source, Index:$index);
  let results = (outs Hopper_TileType:$result);
  let assemblyFormat = [{
    $source `[` $index `]` attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Hopper_LoadFragmentOp : Hopper_Op<"load_fragment", [Hopper_OwnLayouts, MemoryEffects<[MemRead]>]> {
  let summary = "hold rows of a tile in registers";
  let description = [{
    `result[c, m] = tile[m, c]` for the 64 rows of a tile. Of an i8 or i1, what is not 0 in memory is an i1 that is set. Of a tile that is a
    vector, `result[n, 0] = tile[n]`, or `result[0, m] = tile[m]` for 64 rows.

    ```mlir
    %q = hopper.load_fragment %r : !hopper.tile<64x64xbf16, of 128> -> vector<64x64xbf16>
    %l = hopper.load_fragment %v : !hopper.tile<80xf32> -> vector<80x1xf32>
    %m = hopper.load_fragment %w : !hopper.tile<64xf32> -> vector<1x64xf32>
    ```

    Errors: a tile of other than 64 rows; a result of other columns or element type; a vector that is not of f32 or i32; outside of a partition of warpgroups.
  }];
  let arguments = (ins Hopper_TileType:$tile);
  let results = (outs Hopper_FragmentOf<[BF16, F16, F32, I32, I8, I1]>:$result);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` type($result)";
  let hasVerifier = 1;
}

def Hopper_MmaOp : Hopper_Op<"mma", [Hopper_FragmentOpInterface, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "start a matrix product";
  let description = [{
    Starts, for the 64 rows `m` that a warpgroup has of its result,

    ```
    result[n, m] = acc[n, m] + sum_k rhs[n, k] * lhs[k, m]
    ```

    as one group that `hopper.wait` waits for. Which of queries, keys and columns `n`, `m` and `k` are is up to the program. Operands:

    * `lhs`: `vector<K x 64>` of bf16 or f16; or 64 rows of a tile, `lhs[k, m] = tile[m, k]`; or with `lhs_transposed` 64 columns of one,
      `lhs[k, m] = tile[k, m]`.
    * `rhs`: a tile of the same element type, `rhs[n, k] = tile[n, k]`, or with `rhs_transposed` `tile[k, n]`.
    * `acc`: `vector<N x 64>` of f32, or pending; absent for 0.

    `N` is a multiple of 8 up to 256. `K` is a multiple of 16, or if it is along the columns of tiles of 8; the last half of a step is 0 then, as tiles
    hold 0 up to the next multiple of 16, and so does `lhs` in registers.

    ```mlir
    %s = hopper.mma %q, %k : vector<64x64xbf16>, !hopper.tile<128x64xbf16> -> !hopper.pending<vector<128x64xf32>>
    %o = hopper.mma %p, %v acc %a rhs_transposed : vector<128x64xbf16>, !hopper.tile<128x64xbf16>, vector<64x64xf32>
        -> !hopper.pending<vector<64x64xf32>>
    %dq = hopper.mma %ds, %k lhs_transposed rhs_transposed : !hopper.tile<128x64xbf16>, !hopper.tile<128x256xbf16>
        -> !hopper.pending<vector<256x64xf32>>
    ```

    Errors: extents that do not fit; other element types; `lhs_transposed` of a vector; outside of a partition of warpgroups.
  }];
  let arguments = (ins AnyTypeOf<[Hopper_TileType, Hopper_FragmentOf<[BF16, F16]>]>:$lhs,
      Hopper_TileType:$rhs, Optional<AnyTypeOf<[Hopper_FragmentOf<[F32]>, Hopper_PendingType]>>:$acc,
      UnitAttr:$rhs_transposed, UnitAttr:$lhs_transposed);
  let results = (outs Hopper_PendingType:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`acc` $acc^)? (`lhs_transposed` $lhs_transposed^)? (`rhs_transposed` $rhs_transposed^)? attr-dict
    `:` type($lhs) `,` type($rhs) (`,` type($acc)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def Hopper_CreateIotaTileOp : Hopper_Op<"create_iota_tile", [MemoryEffects<[MemAlloc]>]> {
  let summary = "a tile in shared memory whose rows hold their number";
  let description = [{
    `result[n, c] = n`, from the start of the kernel on. As an operand of a product, it multiplies what it meets with the position of a key in its tile.

    ```mlir
    %r = hopper.create_iota_tile : !hopper.tile<128x8xbf16>
    ```

    Errors: more than 256 rows, whose numbers bf16 does not have; other than 8 columns; rows of a larger tile.
  }];
  let results = (outs Hopper_TileType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Hopper_SplitBF16x3Op : Hopper_Op<"split_bf16x3", [Hopper_OwnLayouts, Pure]> {
  let summary = "a number for each query as a sum of numbers of 16 bits";
  let description = [{
    `result[0, m] + result[1, m] + result[2, m]` is `source[0, m]` up to rounding of f32: each is what the ones before leave, rounded. The other
    rows are 0. So a product with it is a product with f32 in place of numbers of 16 bits. A source that is no finite number of the element type gives NaN or
    an infinity.

    ```mlir
    %p = hopper.split_bf16x3 %x : vector<1x64xf32> -> vector<8x64xbf16>
    ```

    Errors: other than 8 rows of 64 queries, of one row.
  }];
  let arguments = (ins Hopper_FragmentOf<[F32]>:$source);
  let results = (outs Hopper_FragmentOf<[BF16, F16]>:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Hopper_WaitOp : Hopper_Op<"wait", [Hopper_FragmentOpInterface, MemoryEffects<[MemRead, MemWrite]>,
    InferTypeOpAdaptor]> {
  let summary = "wait for matrix products";
  let description = [{
    Waits until at most `in_flight` of the products that this warpgroup started last are still running, of which
    those of `pending` must not be any, and returns their vectors.

    ```mlir
    %v = hopper.wait %s in_flight 1 : !hopper.pending<vector<128x64xf32>>
    %x, %y = hopper.wait %a, %b in_flight 0 : !hopper.pending<vector<128x64xf32>>, !hopper.pending<vector<64x64xf32>>
    ```

    Errors: other than 0 to 7 products in flight; nothing to wait for; outside of a partition of warpgroups.
  }];
  let arguments = (ins Variadic<Hopper_PendingType>:$pending, I64Attr:$in_flight);
  let results = (outs Variadic<Hopper_FragmentOf<[F32]>>:$values);
  let assemblyFormat = "$pending `in_flight` $in_flight attr-dict `:` type($pending)";
  let hasVerifier = 1;
}

def Hopper_InFlightOp : Hopper_Op<"in_flight", [Hopper_FragmentOpInterface, Pure,
    TypesMatchWith<"the operand is the vector of the result", "result", "vector",
                   "::llvm::cast<PendingType>($_self).getFragment()">]> {
  let summary = "treat a vector as pending";
  let description = [{
    Where paths meet of which some have waited.

    ```mlir
    %p = hopper.in_flight %v : !hopper.pending<vector<64x64xf32>>
    ```
  }];
  let arguments = (ins Hopper_FragmentOf<[F32]>:$vector);
  let results = (outs Hopper_PendingType:$result);
  let assemblyFormat = "$vector attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

def Hopper_BroadcastOp : Hopper_Op<"broadcast", [Pure]> {
  let summary = "a fragment whose rows, columns or elements are all the same";
  let description = [{
    `vector.broadcast` once layouts are assigned: `result[n, m]` is `source`, `source[0, m]` of `rows` or `source[n, 0]` of `columns`. No element moves between threads.

    ```mlir
    %y = hopper.broadcast %x : f32 -> tensor<1x64xf32, #hopper.layout<rows>>
    %z = hopper.broadcast %y : tensor<1x64xf32, #hopper.layout<rows>> -> tensor<80x64xf32, #hopper.layout<accumulator>>
    ```

    Errors: rows to other than `accumulator` or `partial`; columns to other than `accumulator` of as many; any other fragment; element types that differ.
  }];
  let arguments = (ins AnyType:$source);
  let results = (outs Hopper_LaidOut<[AnyType]>:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Hopper_IotaOp : Hopper_Op<"iota", [Hopper_OwnLayouts, Pure]> {
  let summary = "positions within a vector";
  let description = [{
    `0, 1, ...` along the keys for `vector<N x 1 x index>`, along the queries for `vector<1 x 64 x index>`.

    ```mlir
    %i = hopper.iota : vector<128x1xindex>
    ```

    Errors: another shape, or a number of keys that is not a multiple of 8.
  }];
  let results = (outs Hopper_FragmentOf<[Index]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Hopper_PositionOp : Hopper_Op<"position", [Pure]> {
  let summary = "a position, an extent, or the number of a batch or head";
  let description = [{
    The index that a number stands for, of which it is known that `0 <= source <= 2^30`, so that threads can compute with it in
    32 bits. The caller of a kernel ensures that lengths, batches and heads are in that range. Of the number of a tile of `of`
    positions it is known that `of * source` is a position, too.

    ```mlir
    %i = hopper.position %n
    %tile = hopper.position %t of 128
    ```

    Errors: tiles of less than one position.
  }];
  let arguments = (ins I32:$source, DefaultValuedAttr<I64Attr, "1">:$of);
  let results = (outs Index:$result);
  let assemblyFormat = "$source (`of` $of^)? attr-dict";
  let extraClassDeclaration = [{
    /// The largest number it may be.
    int64_t getMost() { return kMaxPosition / getOf(); }
  }];
  let hasVerifier = 1;
}

def Hopper_ReduceOp : Hopper_Op<"reduce", [Hopper_OwnLayouts, Pure]> {
  let summary = "reduce over the rows of a vector";
  let description = [{
    `max`: `result[0, m] = max_n source[n, m]`, ignoring NaN, of type `vector<1 x 64>`.
    `add`: to `vector<1 x 64>`, the sum over n; to `vector<4 x 64>`, four sums `result[p, m]` over the `n` with
    `n / 2 mod 4 = p`, each in the thread that holds them. Those four are a source, too, of their sum.

    ```mlir
    %m = hopper.reduce max %s : vector<128x64xf32> -> vector<1x64xf32>
    ```

    Errors: another kind; a source of other than 64 queries, or of a number of rows that is not a multiple of 8; a result of another shape.
  }];
  let arguments = (ins StrAttr:$kind, Hopper_FragmentOf<[F32]>:$source);
  let results = (outs Hopper_FragmentOf<[F32]>:$result);
  let assemblyFormat = "custom<Keyword>($kind) $source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Hopper_AnyOp : Hopper_Op<"any", [Hopper_OwnLayouts, Pure]> {
  let summary = "whether a condition holds for some query of a warp";
  let description = [{
    The result is the same for all threads of a warp, and may differ between warps.

    ```mlir
    %p = hopper.any %c : vector<1x64xi1>
    ```
  }];
  let arguments = (ins Hopper_FragmentOf<[I1]>:$condition);
  let results = (outs I1:$result);
  let assemblyFormat = "$condition attr-dict `:` type($condition)";
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

def Hopper_CreateTileOp : Hopper_Op<"create_tile", [MemoryEffects<[MemAlloc]>]> {
  let summary = "a tile in shared memory that results are staged in";
  let description = [{
    ```mlir
    %t = hopper.create_tile : !hopper.tile<128x64xbf16>
    ```
  }];
  let results = (outs Hopper_TileType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Hopper_StoreOp : Hopper_Op<"store", [Hopper_FragmentOpInterface, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "write the rows of a consumer to a tensor";
  let description = [{
    `map[batch, head, row + m, c] = vector[c, m]` where row and column are in range, for a packed map of P heads
    `map[batch, head + m mod P, row + m / P, c] = vector[c, m]`, by way of the tile `staging`,
    64 rows that belong to this consumer. With a column, which is a multiple of 64, columns are those from there on. The copy is asynchronous; `hopper.drain`, the next store, and the end of the
    kernel wait for it. A tile with fewer columns, in multiples of 64, is used for one part after the other; for a strided map it has all.

    ```mlir
    hopper.store %v, %st, %map[%b, %h, %r]
        : vector<64x64xbf16>, !hopper.tile<64x64xbf16, of 128>, !hopper.map<64x64xbf16>
    hopper.store %v, %st, %map[%b, %h, %r] column %c
        : vector<64x64xbf16>, !hopper.tile<64x64xbf16, of 128>, !hopper.map<64x64xbf16>
    ```

    Errors: extents or element types that differ; a column of a strided map; outside of a partition of warpgroups.
  }];
  let arguments = (ins Hopper_FragmentOf<[BF16, F16]>:$vector, Hopper_TileType:$staging,
      Hopper_MapType:$map, Index:$batch, Index:$head, Index:$row,
      Optional<Index>:$column);
  let assemblyFormat = [{
    $vector `,` $staging `,` $map `[` $batch `,` $head `,` $row `]` (`column` $column^)? attr-dict
    `:` type($vector) `,` type($staging) `,` type($map)
  }];
  let hasVerifier = 1;
}

def Hopper_DrainOp : Hopper_Op<"drain", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until stores have read shared memory";
  let description = [{
    Of all tiles that this consumer has stored from, its rows have been read when each of its warps has come past.

    ```mlir
    hopper.drain
    ```

    Errors: outside of a partition of warpgroups.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Hopper_StoreRowsOp : Hopper_Op<"store_rows", [Hopper_OwnLayouts, AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "write one element, or one row, for each query of a consumer";
  let description = [{
    `memref[indices..., row + m] = vector[0, m]`, with `row + m` as the index of dimension `dim`, where it is below `end`. A vector of more
    rows than one is written along the last dimension of the buffer, whose extent it has, and whose index is left out:
    `memref[indices..., row + m, ..., c] = vector[c, m]`. Rows of such a buffer are aligned to 8 bytes.

    ```mlir
    hopper.store_rows %v, %lse[%b, %h, %r] dim 2 end %e : vector<1x64xf32>, memref<?x?x?xf32>
    hopper.store_rows %o, %parts[%b, %h, %r, %part] dim 2 end %e : vector<128x64xf32>, memref<?x?x?x?x128xf32>
    hopper.store_rows %v, %lse[%b, %h, %r] dim 2 end %e packed %p heads 1 : vector<1x64xf32>, memref<?x?x?xf32>
    ```

    With `packed`, the indices and the end count heads and rows as `attn.pack_gqa` of so many heads does, with the heads in dimension `heads`.

    Errors: another shape of the vector; a buffer of other elements; a number of indices other than the rank, or than the rank without the columns;
    a dimension that is not that of an index, or heads in that of the rows; outside of a partition of warpgroups.
  }];
  let arguments = (ins Hopper_FragmentOf<[F32]>:$vector, AnyMemRef:$memref,
      Variadic<Index>:$indices, I64Attr:$dim, Index:$end, Optional<Index>:$packed,
      OptionalAttr<I64Attr>:$heads);
  let assemblyFormat = [{
    $vector `,` $memref `[` $indices `]` `dim` $dim `end` $end
    (`packed` $packed^ `heads` $heads)? attr-dict
    `:` type($vector) `,` type($memref)
  }];
  let hasVerifier = 1;
}

def Hopper_ReduceAddOp : Hopper_Op<"reduce_add", [
    Hopper_FragmentOpInterface, AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "add what a warpgroup holds to memory";
  let description = [{
    Adds each element of a vector to one of a buffer, which others may add to at the same time, in any order:

    `memref[..., i_m + m, ..., i_n + n] += vector[n, m]`, where `i_m` and `i_n` are the indices of dimensions `m` and `n`, and where
    `i_m + m < end_m` and `i_n + n < end_n` if these are given. One instruction adds `vector` floats, 1 (not written), 2 or 4, that follow each other along
    dimension `n`. That is the last one and contiguous then, and their addresses are aligned to as many floats.

    With `fragment`, the last dimension, whose index is left out, has the elements in the order of registers, so that each warp adds to 512
    contiguous bytes at a time: element `4 * (128 * j + t) + 2 * r + p` is that of
    `n = 8 * j + 2 * (t mod 4) + p` and `m = 16 * (t / 32) + t mod 32 / 4 + 8 * r`, for `t` from 0 to 127. Its rows are aligned to 16 bytes.

    With counters, nobody else adds at the same time, and sums are the same each time: the warpgroup waits until an element of `counters` is `after`, adds, and then
    writes `own` to it, as i32. The condition is uniform in the warpgroup then.

    With a condition, which is uniform in a warp, elements are added only where that holds. Sums flush denormal numbers if four are added at a time.

    ```mlir
    hopper.reduce_add %v, %sums[%b, %h, %r, %c] m 2 n 3 end_m %e vector 4 : vector<64x64xf32>, memref<?x?x?x128xf32>
    hopper.reduce_add %v, %sums[%b, %h, %r, %c] m 3 n 2 end_n %e if %p : vector<80x64xf32>, memref<?x?x?x128xf32>
    hopper.reduce_add %v, %blocks[%b, %h, %t] fragment : vector<80x64xf32>, memref<?x?x?x5120xf32>
    hopper.reduce_add %v, %blocks[%b, %h, %t] fragment after %p as %n in %counters[%b, %h, %t] : vector<80x64xf32>, memref<?x?x?x5120xf32>, memref<?x?x?xi32>
    ```

    Errors: a vector of other than 64 columns, or of a number of rows that is not a multiple of 8; a buffer of other elements; a number of indices other than the rank, or
    with `fragment` than the rank less one; dimensions that are the same or are not any of the buffer; other numbers of floats; several of
    them along a dimension that is not contiguous, or with `end_n`; with `fragment` another extent of the last dimension, dimensions or ends;
    counters that are not of i32, or a number of indices of them other than their rank; outside of a partition of warpgroups.
  }];
  let arguments = (ins Hopper_FragmentOf<[F32]>:$vector, AnyMemRef:$memref, Variadic<Index>:$indices,
      OptionalAttr<I64Attr>:$m, OptionalAttr<I64Attr>:$n, Optional<Index>:$end_m, Optional<Index>:$end_n,
      DefaultValuedAttr<I64Attr, "1">:$width, Optional<I1>:$condition,
      Optional<Index>:$after, Optional<Index>:$own, Optional<AnyMemRef>:$counters, Variadic<Index>:$counter_indices);
  let assemblyFormat = [{
    $vector `,` $memref `[` $indices `]` (`m` $m^ `n` $n):(`fragment`)? (`end_m` $end_m^)? (`end_n` $end_n^)?
    (`vector` $width^)? (`if` $condition^)?
    (`after` $after^ `as` $own `in` $counters `[` $counter_indices `]`)? attr-dict `:` type($vector) `,` type($memref) (`,` type($counters)^)?
  }];
  let extraClassDeclaration = [{
    /// Whether the buffer is in the order of registers.
    bool isFragment() { return !getM(); }
  }];
  let hasVerifier = 1;
}

def Hopper_CombineOp : Hopper_Op<"combine", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "combine the parts of a row of a result";
  let description = [{
    What a warp does: up to 64 columns of a row, from the parts that its keys were shared out to. A part is a normalised row of f32 in `parts`, and
    the log-sum-exp of its scores in base 2 in `lses`, which is -inf where the part has no key for the row; the part is not read then.
    With `w[p] = 2^lses[row..., p]`, and for `c` from the column that is the index of dimension `dim` of the result,

    * `into[..., c] = sum_p w[p] * parts[row..., p, c] / sum_p w[p]`, or 0 if all parts are empty,
    * `lse[lse_indices...] = log(sum_p w[p])`, in base e, or -inf; by the warp that has column 0.

    Sums are taken in an order that depends on the number of parts alone. Rows of parts are contiguous and aligned to 16 bytes.

    ```mlir
    hopper.combine %parts, %lses[%b, %h, %r] into %o[%b, %h, %r, %c] dim 3 lse %lse[%b, %h, %r]
        : memref<?x?x?x?x128xf32>, memref<?x?x?x?xf32>, memref<?x?x?x128xbf16>, memref<?x?x?xf32>
    ```

    Errors: parts whose rows are not of a multiple of 8 columns, or not as long as those of the result; a number of indices other than the rank, or
    for `row` other than three; a dimension that is not one of the result.
  }];
  let arguments = (ins MemRefRankOf<[F32], [5]>:$parts, MemRefRankOf<[F32], [4]>:$lses,
      Variadic<Index>:$row, MemRefRankOf<[BF16, F16, F32], [4]>:$into, Variadic<Index>:$indices, I64Attr:$dim,
      Optional<MemRefRankOf<[F32], [3]>>:$lse, Variadic<Index>:$lse_indices);
  let assemblyFormat = [{
    $parts `,` $lses `[` $row `]` `into` $into `[` $indices `]` `dim` $dim
    (`lse` $lse^ `[` $lse_indices `]`)? attr-dict
    `:` type($parts) `,` type($lses) `,` type($into) (`,` type($lse)^)?
  }];
  let hasVerifier = 1;
}

include "attn/Dialect/Hopper/IR/HopperPipelineOps.td"

#endif // ATTN_DIALECT_HOPPER_IR_HOPPEROPS_TD
