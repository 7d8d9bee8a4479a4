//===- TilePasses.td - Passes of the tile level ------------*- tablegen -*-===//

#ifndef ATTN_DIALECT_ATTN_TRANSFORMS_TILEPASSES_TD
#define ATTN_DIALECT_ATTN_TRANSFORMS_TILEPASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Online to tile level
//===----------------------------------------------------------------------===//

def AttnPackGQAPass : Pass<"attn-pack-gqa"> {
  let summary = "make rows of one head of those of heads that share keys";
  let description = [{
    Where the schedule packs heads (`pack_gqa` of `#hopper.schedule`), an `attn.online_attention` and the `attn.finalize` of its state become
    those of fewer heads with more rows: P heads of a group become one (`attn.pack_gqa`), where a group is what has one head of keys and values.
    P is a power of two that divides the heads of a group, up to what the schedule says; a launch chooses it
    (`attn.packed_count`), so that one program serves any extents.

    The regions get P as one more capture. Of row `r` of packed head `u` the query is `r / P` and the head `u * P + r mod P`; bounds of
    keys are those of all queries that some row is of.

    Precondition: attentions have no `sparsity`, no `offsets` and no `tiles` region, and bounds in `blocks` do not depend on the head;
    the state starts filled, and one `attn.finalize` takes it. Anything else is an error.
    Postcondition: attentions compute with `attn.pack_gqa` of queries and destinations; `attn.unpack_heads` gives the results.

    Before, with 8 heads of queries for 2 of keys:

    ```mlir
    %r:3 = attn.online_attention ... mask(%b, %h, %i, %j) { %p = arith.cmpi sle, %j, %i : index ... }
    ```

    After:

    ```mlir
    %p = attn.packed_count %q heads 1 of %k heads 1 most 64 : tensor<2x8x?x64xbf16>, tensor<2x2x?x64xbf16>
    %packed = attn.pack_gqa %q by %p heads 1 rows 2 : tensor<2x8x?x64xbf16> -> tensor<2x?x?x64xbf16>
    %r:3 = attn.online_attention ... ins(%packed, %k, %v, %p : ...)
        mask(%b, %h, %i, %j, %n) { %q = arith.divui %i, %n : index  %p = arith.cmpi sle, %j, %q : index ... }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def AttnTileGradientsPass : Pass<"attn-tile-gradients"> {
  let summary = "cut gradients into loops over tiles";
  let description = [{
    Each `attn.attention_grad` becomes loops over work tiles, as `attn-tile` makes of attentions:

    * for `dq` together with `dk` or `dv`, over parts of the keys of a head: for each KV block of a part a loop over tiles of the queries of all heads and batches that share it gives
      `dk` and `dv`, and adds what the block gives the queries to sums of the part; a second loop over Q blocks adds the sums of all parts in their order. How many parts there are
      follows from extents alone: as many as make 16 of all heads, of 4 KV blocks at least. More than 4 of a head have sums of 2^26 elements together at most. Dqk is a multiple of `lanes`,
    * otherwise, for `dq`, over Q blocks, each with a loop over KV blocks, and for `dk` and `dv`, over KV blocks, each with a loop over tiles of the queries,
    * for each capture, over parts of its gradient that work tiles do not share, and in each over all pairs that may contribute to it, with `attn.scatter`.

    The steps of these loops are `@load_q`, `@load_k`, `@load_v`, `@load_do`, the products `@qk` and `@dp`, `@exp`, which makes probabilities of scores and lse, `@ds`, which makes the
    gradients of the products of queries and keys, and the sums `@dq`, `@dk`, `@dv`. Probabilities are computed in each of them, and not kept.

    With `one-pass` there is one loop, over KV blocks, in which each Q block is met once: what it gets of `dq` is added to a buffer that work tiles share
    (`attn.accumulate`, step `@red`). A loop over queries before it computes what they share, lse in base 2 and delta. A loop behind rounds the sums; or, if the schedule says so, the last
    work tile that adds to a Q block in one order writes `dq`, and the loop before writes zeros for Q blocks that none adds to. Queries of all heads that share the keys are one loop. Probabilities are rounded before
    they are multiplied, as an eager program does.

    The loop over Q blocks is bounded by the mask, or else, with a region `tiles`, goes through a list: loops in front make a table of the class of each tile, by work tile and Q block, and from it
    the numbers of the Q blocks that each work tile needs, in order, and which of them are full. Where heads that share keys differ in their masks, a list has the entries of all of them; batches that share keys need what any of them does.

    Precondition: each gradient has a schedule. Postcondition: there is no `attn.attention_grad` left.

    Gradients of captures are added to buffers that work tiles share as well (`attn.scatter`), as exact sums, or where pairs have elements of their own as floats; a remark `capture-gradient` says which, and on a CPU what
    work tiles have parts of their own for.

    Errors: a gradient without a schedule, or with a sparsity; an operation in a region that has no form on tiles.
  }];
  let options = [
    Option<"onePass", "one-pass", "bool", /*default=*/"false",
           "One loop over all pairs, whose sums of queries are in memory">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"
  ];
}

def AttnTilePass : Pass<"attn-tile"> {
  let summary = "cut attentions into loops over tiles of queries and keys";
  let description = [{
    Each `attn.finalize` with the `attn.online_attention` that feeds it alone becomes one
    `scf.forall` over (batch, head, Q block). Its body is the program of one worker:
    it loads its queries once, loops over KV blocks with the state of the
    softmax in loop-carried vectors, and writes its rows of the results.
    An online attention or a finalize on its own is cut the same way, with the state in tensors.

    The loop over keys is one `attn.tile_loop`, whatever the target, from `lo` to `hi` of the `blocks` region, so that tiles without an
    allowed key at either end are not visited. Its steps have names (`attn.step`), and the predicate is the region of an `attn.mask_tile`.
    Tiles between `full_lo` and `full_hi` are full, and need no predicate. Without bounds none is known to be full; without a mask all are but the last, ragged one.
    Where the bounds tell that of any partition of the rows only the last tile is not full, as under a causal mask, the loop says so.

    With a `tiles` region that tells KV blocks apart, the loop has the class of each tile from it: whether it is needed, and whether it is full. What the region computes of the rows alone is computed once for a
    Q block. Each `attn.range` that depends on the keys and not on the rows is answered before the
    loop over workers, for all KV blocks: two tensors of `[B or 1, H or 1, number of blocks]`, of Q blocks, of KV blocks, or of both, filled by a loop over workers of their own.
    With a schedule of one loop over keys the region is ignored.

    With lists of single keys (a sparsity of lists with blocks of 1x1) and a `#attn.row_schedule`, a tile has one query, and the loop is over its list, in steps
    of `tile_n` keys, whose rows of k and v are gathered. Whatever the lists hold, nothing outside of the operands is read. `blocks` and `tiles` are ignored.

    With such lists and another schedule of one loop over keys, `attn.key_union` in front of the loop over workers finds the keys that some query of each tile has. The loop over keys counts those, in steps of
    `tile_n`, whose rows of k and v are gathered; words say which pairs take part, and regions see the positions of the keys. A tile whose keys are not known gives NaN. `blocks` and `tiles` are ignored.

    The score and mask regions become operations on vectors. A value that depends on
    the query or the key alone stays one-dimensional. What the regions show and vectors do not is said:

    * Conditions `key < x`, for anything that is the same for all keys, and their conjunctions and disjunctions, are one comparison with a limit. The number of keys is one of them, unless the others are
      on something else than positions, such as the documents of query and key; then it is an operand of `attn.mask_tile`, for the last tile to ask for.
    * A read of a capture at consecutive queries and keys, each of them shifted by scalars or not, is a box (`attn.gather`).
    * Scores with a bias that is affine in the key are an `attn.affine_scores`, whose slopes are computed before the loop.
    * The constant that scores are still to be multiplied by is the factor of `attn.online_step`.

    Precondition: attentions carry a schedule (`attn-assign-schedule`), regions
    are canonical (`attn-canonicalize-score`), no `attn.attention` is left.
    An attention has no `sparsity` left (`attn-expand-sparsity`).
    Postcondition: of the dialect only `attn.tile_loop`, `attn.step`, `attn.mask_tile`, `attn.affine_scores`, `attn.online_step`, `attn.gather`, `attn.key_union`, `attn.report` and views of packed heads are left.

    With `bounds-check`, each read of a capture gets a number, and an
    index out of range reports it at run time; the functions get the
    attribute `attn.sites` with one text for each number, in which `%0` stands for the
    index and `%1` for the extent. They come behind those that are there.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"
  ];
  let options = [
    Option<"boundsCheck", "bounds-check", "bool", /*default=*/"false",
           "report indices of captures that are out of range">
  ];
}

def AttnExpandDropoutPass : Pass<"attn-expand-dropout"> {
  let summary = "make arithmetic of dropout";
  let description = [{
    Each `attn.dropout`, on numbers or vectors, becomes arithmetic on integers of 32 bits, with a call of Philox for each pair: seven rounds of one product of 64 bits. What is the same for all pairs
    of a head stays numbers. A kernel of a GPU does without this pass; its threads compute four pairs by one call.

    Postcondition: no `attn.dropout` is left.

    Before:

    ```mlir
    %w = attn.dropout 2.500000e-01 seed %seed offset %offset at %b, %h, %i, %j : f32
    ```

    After, with `%word` from the ten rounds:

    ```mlir
    %kept = arith.cmpi uge, %word, %c1073741824_i32 : i32
    %w = arith.select %kept, %cst_1.333, %cst_0 : f32
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::vector::VectorDialect"
  ];
}

def AttnDecomposeOnlineStepPass : Pass<"attn-decompose-online-step"> {
  let summary = "make arithmetic of steps of the online softmax";
  let description = [{
    Each `attn.online_step` becomes operations of vector, arith and math on the same tiles: the maximum and the sum over the keys are
    `vector.multi_reduction`, statistics of queries are broadcast.

    * With `rescale(exact)`, the maximum is that of all keys so far.
    * With `rescale(lazy)`, each query keeps its maximum where that of the scores is above it by no more than 8.
    * With `rescale(never)`, the maximum stays, and nothing is rescaled.

    Powers of two have `fastmath<afn>`: those below the normal numbers may be 0.

    `attn.online_start` becomes constants, and `attn.normalize` the arithmetic that it documents; a log-sum-exp without a use is not computed.

    Postcondition: no `attn.online_start`, `attn.online_step` or `attn.normalize` is left.

    Before:

    ```mlir
    %p, %acc1, %max1, %sum1 = attn.online_step %s, %acc, %max, %sum
        : vector<64x32xf32>, vector<128x32xf32>, vector<32xf32>
    ```

    After, without constants:

    ```mlir
    %most = vector.multi_reduction <maxnumf>, %s, %infinity [0] : vector<64x32xf32> to vector<32xf32>
    %grows = arith.cmpf ogt, %most, %max : vector<32xf32>
    %max1 = arith.select %grows, %most, %max : vector<32xi1>, vector<32xf32>
    %isEmpty = arith.cmpf oeq, %max1, %infinity : vector<32xf32>
    %shift = arith.select %isEmpty, %zero, %max1 : vector<32xi1>, vector<32xf32>
    %shifts = vector.broadcast %shift : vector<32xf32> to vector<64x32xf32>
    %e = arith.subf %s, %shifts : vector<64x32xf32>
    %p = math.exp2 %e fastmath<afn> : vector<64x32xf32>
    %added = vector.multi_reduction <add>, %p, %zero [0] : vector<64x32xf32> to vector<32xf32>
    %d = arith.subf %max, %shift : vector<32xf32>
    %rescale = math.exp2 %d fastmath<afn> : vector<32xf32>
    %rescales = vector.broadcast %rescale : vector<32xf32> to vector<128x32xf32>
    %acc1 = arith.mulf %acc, %rescales : vector<128x32xf32>
    %sum1 = math.fma %sum, %rescale, %added : vector<32xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def AttnExpandTileLoopsPass : Pass<"attn-expand-tile-loops"> {
  let summary = "make plain loops of loops over tiles";
  let description = [{
    Each `attn.tile_loop` becomes loops of `scf`, and steps what is in them. Under the predicate, an `attn.mask_tile` becomes a select; in full tiles it goes,
    and reads of their rows are in bounds.

    * If full tiles are those within an interval, and all tiles are needed, there are three loops: those before, full ones, and those behind.
    * Otherwise there is one loop, which branches on whether the tile is needed, and on whether it is full, as far as the regions tell.

    What is there for targets that copy tiles and multiply matrices becomes what it stands for: scores with a bias that is affine in the key
    (`attn.affine_scores`) are computed as the program says it, and a box of a capture (`attn.gather`) is read by a vector of indices, but where keys are
    listed: there a box is a part of a list.

    Postcondition: no `attn.tile_loop`, `attn.step`, `attn.mask_tile`, `attn.affine_scores` and no other box is left, but with `key-lists`, in workers that it leaves as they are.

    Before:

    ```mlir
    %r = attn.tile_loop %j = %c0 to %n step 64 iter_args(%acc = %zero)
        full(%first) within %c0 to %n {
          %end = arith.addi %first, %c64 : index
          %p = arith.cmpi sle, %end, %n : index
          attn.yield %p : i1
        } : vector<64xf32> {
      %next = attn.step @add -> (vector<64xf32>) {
        ...
        %m = attn.mask_tile %x : vector<64xf32> { ... attn.yield %p : vector<64xi1> }
    ```

    After:

    ```mlir
    %full = scf.for %j = %c0 to %end step %c64 iter_args(%acc = %zero) -> (vector<64xf32>) {
      ...
    }
    %r = scf.for %j = %end to %n step %c64 iter_args(%acc = %full) -> (vector<64xf32>) {
      ...
      %m = arith.select %p, %x, %infinity : vector<64xi1>, vector<64xf32>
      ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let options = [
    Option<"keyLists", "key-lists", "bool", /*default=*/"false",
           "only the loops of workers with a #attn.row_schedule, whose queries have lists of keys">
  ];
}

//===----------------------------------------------------------------------===//
// Tensors to buffers
//===----------------------------------------------------------------------===//

def AttnHoistInvariantsPass : Pass<"attn-hoist-invariants"> {
  let summary = "move what does not change out of the loops over keys";
  let description = [{
    Moves operations that depend on nothing in an `scf.for` before it, as
    `loop-invariant-code-motion` does, but none out of an `scf.forall`: a tile that all workers
    need is cheaper to make in each than to hand to each.

    Run before bufferization, it lets a capture that does not depend on the key be read
    once for a Q block.
  }];
}

def AttnBufferizePass : Pass<"attn-bufferize", "::mlir::ModuleOp"> {
  let summary = "replace tensors by buffers, and results by destinations";
  let description = [{
    One-shot bufferization of functions. An argument that is a tensor becomes a memref whose offset and
    strides are free but for the innermost stride, which is 1. Results must be destination
    arguments (`attn-destination-arguments`), and go away.

    Copies become `linalg` operations, so that they work for all strides without
    help of a library. If captures are read with checks, a function gets one more argument, `memref<?xi64>` with the
    attribute `attn.status`, that the checks report to.

    Postcondition: no tensors are left.

    Before:

    ```mlir
    func.func @f(%x: tensor<4xf32> {bufferization.writable = false},
                 %out0: tensor<4xf32> {bufferization.writable = true}) -> tensor<4xf32> {
      %r = bufferization.materialize_in_destination %x in %out0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }
    ```

    After:

    ```mlir
    func.func @f(%x: memref<4xf32, strided<[1], offset: ?>>, %out0: memref<4xf32, strided<[1], offset: ?>>) {
      linalg.copy ins(%x : memref<4xf32, strided<[1], offset: ?>>)
          outs(%out0 : memref<4xf32, strided<[1], offset: ?>>)
      return
    }
    ```

    Errors: what one-shot bufferization reports; a result that is no destination argument.
  }];
  let dependentDialects = [
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::memref::MemRefDialect"
  ];
}

#endif // ATTN_DIALECT_ATTN_TRANSFORMS_TILEPASSES_TD
