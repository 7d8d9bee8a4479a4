//===- HopperPipelineOps.td - A kernel before it has partitions -*- tablegen -*-===//
//
// The program of a CTA as one sequence of named steps. Passes give each step
// a partition, a stage and a place in the order, put channels where tiles go
// from one partition to another, and cut the program into partitions.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_HOPPER_IR_HOPPERPIPELINEOPS_TD
#define ATTN_DIALECT_HOPPER_IR_HOPPERPIPELINEOPS_TD

include "attn/Dialect/Hopper/IR/HopperOpBase.td"

//===----------------------------------------------------------------------===//
// Work tiles
//===----------------------------------------------------------------------===//

def Hopper_WorkLoopOp : Hopper_Op<"work_loop", [AttrSizedOperandSegments,
    SingleBlockImplicitTerminator<"EndOp">, RecursiveMemoryEffects]> {
  let summary = "the work tiles of a CTA";
  let description = [{
    Runs its body for work tiles `(batch, head, tile)` below these extents, such that all CTAs of a launch run each of them once. Which CTA has
    which, and in which order, is the kernel's schedule: `persistent`, `longest_first`, `zigzag`. With `num_splits`, each is run in so many parts, which
    follow each other in the order, so that they end together.

    The body has the three numbers, that of the part where there are parts, and as an i32 how many work tiles the CTA has had before.

    Operands: `batches`, `heads`, `tiles` and `num_splits`, how many there are; `counter`, what a persistent kernel fetches work tiles with (`hopper.fetch_next`), or none;
    `group`, how many heads take turns in the order, or none for one; `inits`, values that are carried from work tile to work tile.

    ```mlir
    hopper.work_loop (%b, %h, %t, %n) in (%B, %H, %tiles) counter %c : memref<2xi32> { ... }
    %r = hopper.work_loop (%b, %h, %t, %n) in (%B, %H, %tiles) iter_args(%uses = %zero) : i32 { ... hopper.end %next : i32 }
    hopper.work_loop (%b, %h, %t, %p, %n) in (%B, %H, %tiles, %parts) { ... }
    ```

    Errors: a body with other arguments, or that ends with other than the carried values.
  }];
  let arguments = (ins Index:$batches, Index:$heads, Index:$tiles, Optional<Index>:$num_splits,
      Optional<MemRefOf<[I32]>>:$counter, Optional<Index>:$group, Variadic<AnyType>:$inits);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    Block *getBlock() { return &getBody().front(); }
    /// How many work tiles there are, by each of their numbers.
    SmallVector<Value> getExtents();
    /// Batch, head and tile, and the part where there are parts.
    unsigned getNumIds() { return getNumSplits() ? 4 : 3; }
    ValueRange getIds() { return getBlock()->getArguments().take_front(getNumIds()); }
    /// How many rows each number `id` stands for: those of a tile, or 1.
    static int64_t getRowsOf(Value id);
    /// How many work tiles the CTA has had before.
    Value getNumber() { return getBlock()->getArgument(getNumIds()); }
    ValueRange getCarried() { return getBlock()->getArguments().drop_front(getNumIds() + 1); }
    EndOp getEnd() { return cast<EndOp>(getBlock()->getTerminator()); }
  }];
}

def Hopper_WorkRowsOp : Hopper_Op<"work_rows", [Pure]> {
  let summary = "the rows of a work tile";
  let description = [{
    `first = size * tile` and `end = min(first + size, count)`. With `own`, those of a replica of a partition, each of which has 64 of the rows:
    for replica `w`, from `first + 64 w` up to `end`, at most 64, and none if that is beyond `end`. So whatever is computed of the rows, such as the
    range of a loop over KV blocks, holds for a CTA or for a warpgroup. A replica without rows has `first = end = count`, so that it reads and writes nothing.

    With `short_first`, tiles end with the `count` rows, rounded up to a multiple of 64, instead of starting with the first one: tile 0 has what is left, which is a multiple
    of 64 rows.

    Operands: `tile`, the number of the work tile; `count`, the rows that there are. `size` is a multiple of 64.

    ```mlir
    %first, %end = hopper.work_rows %t of %count size 192
    %first, %end = hopper.work_rows %t of %count size 192 short_first own
    ```

    Errors: a size that is not a positive multiple of 64.
  }];
  let arguments = (ins Index:$tile, Index:$count, I64Attr:$size, UnitAttr:$short_first, UnitAttr:$own);
  let results = (outs Index:$first, Index:$end);
  let assemblyFormat = "$tile `of` $count `size` $size (`short_first` $short_first^)? (`own` $own^)? attr-dict";
  let hasVerifier = 1;
}

def Hopper_SplitOfRangeOp : Hopper_Op<"split_of_range", [Pure]> {
  let summary = "the blocks of a part of a range";
  let description = [{
    The blocks `[lower + n * step, lower + (n + 1) * step)` below `upper` are shared out to `num_splits`: each part has as many of them, one after the other, but
    at least `least`, so that the last parts may have fewer, or none. The result is the range of part number `split`, which is empty if
    `first >= end`.

    Operands: `lower`, `upper`, the range; `split`, from 0 to `num_splits - 1`.

    ```mlir
    %first, %end = hopper.split_of_range %p of %parts from %lo to %hi step 64 least 4
    ```

    Errors: a step or a least number of blocks that is not positive.
  }];
  let arguments = (ins Index:$split, Index:$num_splits, Index:$lower, Index:$upper,
      I64Attr:$step, I64Attr:$least);
  let results = (outs Index:$first, Index:$end);
  let assemblyFormat = "$split `of` $num_splits `from` $lower `to` $upper `step` $step `least` $least attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

def Hopper_EndOp : Hopper_Op<"end", [Pure, ReturnLike, Terminator,
    ParentOneOf<["WorkLoopOp", "PipelinedForOp", "StepOp", "MaskOp"]>]> {
  let summary = "end a region of a kernel's program";
  let description = "Ends a region and gives the values that its operation returns or carries.";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ValueRange()); }]>];
}

def Hopper_StepOp : Hopper_Op<"step", [
    SingleBlock, RecursiveMemoryEffects, RecursivelySpeculatable]> {
  let summary = "a named part of a kernel's program that one partition runs";
  let description = [{
    Runs its region once. A schedule refers to it by `name`. What is in the same partition may use its results; a tile may also go to another
    partition, by way of a channel (`hopper-insert-channels`). Nothing else crosses.

    ```mlir
    %s = hopper.step "qk" in "compute" -> vector<80x64xf32> {
      %x = hopper.dot %q, %k : !hopper.tile<64x128xbf16, of 192>, !hopper.tile<80x128xbf16> -> vector<80x64xf32>
      hopper.end %x : vector<80x64xf32>
    }
    ```

    Errors: values at the end that are not those of the results; arguments of the region.
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$partition);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `in` $partition (`->` type($results)^)? $body attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    Block *getBlock() { return &getBody().front(); }
    EndOp getEnd() { return cast<EndOp>(getBlock()->getTerminator()); }
  }];
}

def Hopper_PipelinedForOp : Hopper_Op<"pipelined_for", [
    AttrSizedOperandSegments, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "a loop over blocks whose steps are pipelined";
  let description = [{
    Visits the blocks `[lower + n * step, lower + (n + 1) * step)` that lie below `upper`, from the last to the first. The body has named steps, and nothing else that
    is not pure. `schedule` has a `#hopper.place` for each step: its stage and, by position, the order within an iteration. An iteration of the pipelined loop runs
    the steps of stage `s` for the block `s` before. A carried value may be used by steps before the one that gives it.

    `exclusive` names the steps between which, from the first to the last one in the order, the replicas of a partition take turns.

    With `within`, the bounds are those of one replica of a partition, and the range after `within` has the blocks that come by channels; the replica passes over
    those outside of its own. `only_last_partial` says that each block of the loop but the first that is visited is full (`hopper.mask`).

    A loop with a region `classes` visits some of its blocks: those for whose start the region ends with true, and an i1 that says whether the block is full. That is the second argument
    of the body. The partition that copies asks as it goes, and tells the others with the tiles that they get anyway (`hopper.next_block`).

    A loop with `while` visits the blocks that it is told. Its first carried value, an i32, is the code of a block, and the loop ends at one that is negative.
    The code is the position of the block, which is a multiple of 16, and 1 more if the block is not full. With bounds, which are those of one replica, it passes over the blocks that
    come before the first one that starts below `upper`, and over those from the first one on that ends at `lower` or below: they are for other replicas.

    ```mlir
    %r = hopper.pipelined_for %j = %lo to %hi step 80 iter_args(%acc = %zero)
        schedule [#hopper.place<"load_k", 0>, #hopper.place<"qk", 0>, ...] : vector<128x64xf32> {
      ...
      hopper.end %next : vector<128x64xf32>
    }
    %r = hopper.pipelined_for %j, %full = %lo to %hi step 80 iter_args(%acc = %zero)
        schedule [#hopper.place<"load_k", 0>, #hopper.place<"qk", 0>, ...] : vector<128x64xf32>
        classes(%c) { ... hopper.end %needed, %isFull : i1, i1 } { ... }
    %r:2 = hopper.pipelined_for while iter_args(%code = %first, %acc = %zero)
        schedule [#hopper.place<"qk", 0>, ...] : i32, vector<128x64xf32> { ... }
    %r:2 = hopper.pipelined_for while from %lo to %hi step 80 iter_args(%code = %first, %acc = %zero)
        schedule [#hopper.place<"qk", 0>, ...] : i32, vector<128x64xf32> { ... }
    ```

    Errors: a step without a place, or a place without a step, or two of one name; a step that is not pure outside of steps; a step scheduled before
    another one whose result it uses; steps of several partitions that exclude each other; carried values whose types differ; `classes` that do not make two i1 of an index, with `within` or `only_last_partial`, or
    with a step that is not a multiple of 16; `while` without an i32 that is carried first.
  }];
  let arguments = (ins Optional<Index>:$lower, Optional<Index>:$upper, Optional<Index>:$outerLower,
      Optional<Index>:$outerUpper, I64Attr:$step, UnitAttr:$only_last_partial, UnitAttr:$told,
      Variadic<AnyType>:$inits, TypedArrayAttrBase<Hopper_PlaceAttr, "places">:$schedule,
      DefaultValuedAttr<StrArrayAttr, "{}">:$exclusive);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body, AnyRegion:$classes);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    Block *getBlock() { return &getBody().front(); }
    Value getInductionVar() { return getBlock()->getArgument(0); }
    /// Whether its blocks are told.
    bool isWhile() { return getTold(); }
    bool hasClasses() { return !getClasses().empty(); }
    /// Whether a block is full, where there are classes.
    Value getIsFull() { return getBlock()->getArgument(1); }
    /// How many arguments of the body come before the carried values.
    unsigned getNumVariables() { return isWhile() ? 0 : hasClasses() ? 2 : 1; }
    ValueRange getCarried() {
      return getBlock()->getArguments().drop_front(getNumVariables());
    }
    EndOp getEnd() { return cast<EndOp>(getBlock()->getTerminator()); }
    /// The place of a step, by position in the schedule, and its stage.
    std::pair<int64_t, int64_t> getPlace(StringRef step);
  }];
}

//===----------------------------------------------------------------------===//
// What steps do
//===----------------------------------------------------------------------===//

def Hopper_LoadOp : Hopper_Op<"load", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "a box of a tensor in global memory as a tile";
  let description = [{
    The box at row `row` of a head, and at column `column`, without one at the first. `hopper-insert-channels` makes it a copy into a channel. With a list, rows are those that it names, as those of `hopper.put` are.

    Operands: `map`, the tensor; `batch`, `head`, `row`, `column`, the position of the box.

    ```mlir
    %k = hopper.load %map[%b, %h, %j] stages 2 : !hopper.map<80x128xbf16> -> !hopper.tile<80x128xbf16>
    %k = hopper.load %map[%b, %h, %c0] rows %list[%p] stages 2
        : !hopper.map<64x128xbf16, strided, aligned>, memref<?x64xi32> -> !hopper.tile<64x128xbf16>
    %bias = hopper.load %map[%b, %h, %i, %j] stages 1 : !hopper.map<128x80xf32> -> !hopper.tile<128x80xf32>
    ```

    Errors: other than 1, 2 or 4 stages; a list with another than a strided map, or of other elements than i32, or with a number of positions other than the rank less one.
  }];
  let arguments = (ins Hopper_MapType:$map, Index:$batch, Index:$head, Index:$row,
      Optional<Index>:$column, Optional<AnyMemRef>:$list, Variadic<Index>:$position,
      I64Attr:$stages);
  let results = (outs Hopper_TileType:$result);
  let assemblyFormat = [{
    $map `[` $batch `,` $head `,` $row (`,` $column^)? `]` (`rows` $list^ `[` $position `]`)? `stages` $stages attr-dict
    `:` type($map) (`,` type($list)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def Hopper_LoadVectorOp : Hopper_Op<"load_vector", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "elements of a buffer in global memory as a tile";
  let description = [{
    The elements from an index on, as `hopper.put_vector` copies them, also with `zero_fill`. `hopper-insert-channels` makes it a copy into a channel.

    With a condition, which is the same for all partitions, nothing is copied where that does not hold. Nobody waits for it there either: the tile is used in the predicate of one `hopper.mask`, which is
    computed exactly where the condition holds.

    ```mlir
    %l = hopper.load_vector %lse[%b, %h, %i] stages 2 : memref<?x?x?xf32> -> !hopper.tile<80xf32>
    %d = hopper.load_vector %ids[%b, %j] zero_fill stages 2 : memref<?x?xi32> -> !hopper.tile<128xi32>
    %p = hopper.load_vector %ids[%b, %j] zero_fill if %isPartial stages 4 : memref<?x?xi32> -> !hopper.tile<128xi32>
    ```

    Errors: other than 1, 2 or 4 stages; a tile that is not a vector of a multiple of 8 elements; a buffer of other elements than the tile, or without a contiguous last dimension; a number of
    indices other than the rank.
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$indices, UnitAttr:$zero_fill,
      Optional<I1>:$condition, I64Attr:$stages);
  let results = (outs Hopper_TileType:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` (`zero_fill` $zero_fill^)? (`if` $condition^)? `stages` $stages attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Hopper_PublishOp : Hopper_Op<"publish", [Pure]> {
  let summary = "what the replicas of a partition hold as a tile";
  let description = [{
    Row `64 w + m` and column `n` of the tile are element `[n, m]` of the vector that replica `w` holds; with `transposed`, row `n` and column `64 w + m`. Of a tile that is a vector, element `64 w + m` is `[0, m]`. `hopper-insert-channels`
    makes it a copy from registers into a channel, for another partition, or for all replicas of this one.

    ```mlir
    %t = hopper.publish %p stages 2 : vector<80x64xbf16> -> !hopper.tile<128x80xbf16>
    %t = hopper.publish %p transposed stages 2 : vector<80x64xbf16> -> !hopper.tile<80x128xbf16>
    %t = hopper.publish %x stages 2 : vector<1x64xf32> -> !hopper.tile<128xf32>
    ```

    Errors: other than 1, 2 or 4 stages; a tile that is not made of blocks of the vector, or of other elements.
  }];
  let arguments = (ins VectorOfRankAndType<[2], [BF16, F16, F32]>:$vector, UnitAttr:$transposed, I64Attr:$stages);
  let results = (outs Hopper_TileType:$result);
  let assemblyFormat = [{
    $vector (`transposed` $transposed^)? `stages` $stages attr-dict `:` type($vector) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Hopper_PublishBF16x3Op : Hopper_Op<"publish_bf16x3", [Pure]> {
  let summary = "a number for each key as an operand of a product";
  let description = [{
    What `hopper.put_bf16x3` writes, and the largest of the numbers. `hopper-insert-channels` makes it that, with the number as payload.

    ```mlir
    %t, %most = hopper.publish_bf16x3 %x times 4.0 up_to 1.0e9 stages 4 : vector<128x1xf32> -> !hopper.tile<128x8xbf16>
    ```

    Errors: other than 1, 2 or 4 stages; a tile that has other than 8 columns, or not a row for each number; a factor or a limit that is not positive.
  }];
  let arguments = (ins VectorOfRankAndType<[2], [F32]>:$vector, F32Attr:$factor, F32Attr:$limit, I64Attr:$stages);
  let results = (outs Hopper_TileType:$tile, F32:$most);
  let assemblyFormat = "$vector `times` $factor `up_to` $limit `stages` $stages attr-dict `:` type($vector) `->` type($tile)";
  let hasVerifier = 1;
}

def Hopper_OwnRowsOp : Hopper_Op<"own_rows", [Pure]> {
  let summary = "the 64 rows of a tile that belong to a replica";
  let description = [{
    Rows `64 w` to `64 w + 63` for replica `w` of the partition; all of a tile of 64.

    ```mlir
    %r = hopper.own_rows %q : !hopper.tile<192x128xbf16> -> !hopper.tile<64x128xbf16, of 192>
    ```

    Errors: a result that is not of 64 rows of the source.
  }];
  let arguments = (ins Hopper_TileType:$source);
  let results = (outs Hopper_TileType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Hopper_OwnColumnsOp : Hopper_Op<"own_columns", [Pure]> {
  let summary = "the columns of a tile that belong to a replica";
  let description = [{
    The columns of chunk `w` for replica `w` of the partition, `64 w` to `64 w + 63` in chunks of 64. Those behind the last one are as those of
    `hopper.columns`.

    ```mlir
    %c = hopper.own_columns %k : !hopper.tile<128x128xbf16> -> !hopper.tile<128x64xbf16>
    ```

    Errors: a result that is not of the columns of a chunk of the source.
  }];
  let arguments = (ins Hopper_TileType:$source);
  let results = (outs Hopper_TileType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Hopper_DotOp : Hopper_Op<"dot", [Pure]> {
  let summary = "a matrix product";
  let description = [{
    The product of `hopper.mma`, complete when it returns. `hopper-insert-waits` makes it asynchronous.

    ```mlir
    %s = hopper.dot %q, %k : !hopper.tile<64x128xbf16, of 192>, !hopper.tile<80x128xbf16> -> vector<80x64xf32>
    %o = hopper.dot %p, %v acc %a rhs_transposed : vector<80x64xbf16>, !hopper.tile<80x128xbf16>, vector<128x64xf32> -> vector<128x64xf32>
    %dq = hopper.dot %c, %ds lhs_transposed : !hopper.tile<128x64xbf16>, !hopper.tile<80x128xbf16> -> vector<80x64xf32>
    ```

    Errors: as those of `hopper.mma`.
  }];
  let arguments = (ins AnyTypeOf<[Hopper_TileType, VectorOfRankAndType<[2], [BF16, F16]>]>:$lhs,
      Hopper_TileType:$rhs, Optional<VectorOfRankAndType<[2], [F32]>>:$acc,
      UnitAttr:$rhs_transposed, UnitAttr:$lhs_transposed);
  let results = (outs VectorOfRankAndType<[2], [F32]>:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`acc` $acc^)? (`lhs_transposed` $lhs_transposed^)? (`rhs_transposed` $rhs_transposed^)? attr-dict
    `:` type($lhs) `,` type($rhs) (`,` type($acc)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def Hopper_MaskOp : Hopper_Op<"mask", [
    SingleBlock, RecursiveMemoryEffects, RecursivelySpeculatable,
    AllTypesMatch<["scores", "result"]>]> {
  let summary = "scores that are -inf where a predicate does not hold";
  let description = [{
    `result = allowed ? scores : -inf`, where the region ends with `allowed`, a vector of i1 of the scores' shape. Where `full` is true the predicate
    holds everywhere, and who lowers this may leave it out. `when` says what is known of it: `by_block`, nothing; `always`, the
    predicate is computed in any case; `never`, the block is full.

    ```mlir
    %y = hopper.mask %x unless %full by_block : vector<80x64xf32> {
      ...
      hopper.end %allowed : vector<80x64xi1>
    }
    ```

    Errors: another predicate at the end; an unknown `when`.
  }];
  let arguments = (ins VectorOfRankAndType<[2], [F32]>:$scores, I1:$full,
      DefaultValuedAttr<StrAttr, "\"by_block\"">:$when);
  let results = (outs VectorOfRankAndType<[2], [F32]>:$result);
  let regions = (region SizedRegion<1>:$predicate);
  let assemblyFormat = [{
    $scores `unless` $full custom<Keyword>($when) $predicate attr-dict `:` type($scores)
  }];
  let hasVerifier = 1;
}

def Hopper_SoftmaxStepOp : Hopper_Op<"softmax_step", [Pure,
    AllTypesMatch<["acc", "newAcc"]>, AllTypesMatch<["negMax", "newNegMax"]>,
    AllTypesMatch<["sum", "newSum"]>, AllTypesMatch<["scores", "probabilities"]>, AttrSizedOperandSegments,
    OptionalTypesMatchWith<"factors have the type of negMax", "negMax", "factors", "$_self">,
    OptionalTypesMatchWith<"offset has the type of negMax", "negMax", "offset", "$_self">]> {
  let summary = "one step of the online softmax on a warpgroup's scores";
  let description = [{
    `attn.online_step` as a warpgroup holds its state. With `x = factor * scores`, or `factor * scores + offset`, in base 2, where `factor` is that of each row if there are `factors`, times the constant:

    ```
    most        = max_n x[n, m]
    newNegMax    = min(negMax, -most)                     exact; lazy: negMax where no row of a warp has most + negMax > 8; never: negMax
    newAcc      = acc * 2^(newNegMax - negMax)            newSum = sum * 2^(newNegMax - negMax) + parts of sum_n probabilities
    probabilities[n, m] = 2^(x[n, m] + newNegMax[m])
    ```

    The state of no keys is acc 0, negMax the largest f32, sum 0; with `never` another negMax, and `newNegMax` may be `min(negMax, -most)` for it. `hopper-decompose-softmax` expands the operation.

    Operands: `scores`, `vector<N x 64>`; `acc`, `vector<Dv x 64>`; `negMax`, `vector<1 x 64>`; `sum`, `vector<4 x 64>`, in four parts; `offset`, `vector<1 x 64>`,
    what all scores of a row get beside their factor; `factors`, `vector<1 x 64>`, all positive.

    ```mlir
    %p, %a, %m, %l = hopper.softmax_step %s, %acc, %negMax, %sum factor 0.18 lazy
        : vector<80x64xf32>, vector<128x64xf32>, vector<1x64xf32>, vector<4x64xf32>
    %p, %a, %m, %l = hopper.softmax_step %s offset %o, %acc, %negMax, %sum factor 0.18 exact
        : vector<80x64xf32>, vector<128x64xf32>, vector<1x64xf32>, vector<4x64xf32>
    %p, %a, %m, %l = hopper.softmax_step %s factors %f, %acc, %negMax, %sum factor 0.18 lazy
        : vector<80x64xf32>, vector<128x64xf32>, vector<1x64xf32>, vector<4x64xf32>
    ```

    Errors: other shapes; a factor that is not positive; a rescale other than lazy, exact or never.
  }];
  let arguments = (ins VectorOfRankAndType<[2], [F32]>:$scores,
      VectorOfRankAndType<[2], [F32]>:$acc, VectorOfRankAndType<[2], [F32]>:$negMax,
      VectorOfRankAndType<[2], [F32]>:$sum, Optional<VectorOfRankAndType<[2], [F32]>>:$factors,
      Optional<VectorOfRankAndType<[2], [F32]>>:$offset, F64Attr:$factor, StrAttr:$rescale);
  let results = (outs VectorOfRankAndType<[2], [F32]>:$probabilities,
      VectorOfRankAndType<[2], [F32]>:$newAcc, VectorOfRankAndType<[2], [F32]>:$newNegMax,
      VectorOfRankAndType<[2], [F32]>:$newSum);
  let assemblyFormat = [{
    $scores (`factors` $factors^)? (`offset` $offset^)? `,` $acc `,` $negMax `,` $sum `factor` $factor custom<Keyword>($rescale) attr-dict
    `:` type($scores) `,` type($acc) `,` type($negMax) `,` type($sum)
  }];
  let hasVerifier = 1;
}

def Hopper_NextBlockOp : Hopper_Op<"next_block", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the code of the block that a loop with classes visits next";
  let description = [{
    Stands for the payload of a `hopper.put`. In a loop with `classes`: the code of the block behind the current one; in front of one, of its first block; -1 where there is none. `hopper-specialize` has the
    partition compute it.

    ```mlir
    %x = hopper.next_block
    hopper.put %ch[%n], %map[%b, %h, %j] payload %x : !hopper.channel<2x128x64xbf16, payload>, !hopper.map<128x64xbf16>
    ```
  }];
  let results = (outs I32:$code);
  let assemblyFormat = "attr-dict";
}

def Hopper_NextUseOp : Hopper_Op<"next_use", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the number of the use of a channel that follows";
  let description = [{
    Stands for the number of the `hopper.put`, `hopper.get` or `hopper.release` that uses it, counted from 0 for each of the three in each partition in the order in which they run.
    `hopper-number-channels` computes it. Those of `hopper.view` are counted for each `reader` by itself. So are those of turns: what holds them, takes them and passes them on. With `skipped`, so many of
    the first ones that are counted are no uses, as a condition leaves them out; the number is less by that.

    ```mlir
    %n = hopper.next_use %ch : !hopper.channel<2x128x64xbf16>
    %m = hopper.next_use %ch reader 1 : !hopper.channel<2x128x64xbf16>
    %t = hopper.next_use %turns skipped 1 : !hopper.turns
    ```
  }];
  let arguments = (ins AnyTypeOf<[Hopper_ChannelType, Hopper_TurnsType]>:$channel,
      DefaultValuedAttr<I64Attr, "0">:$reader, DefaultValuedAttr<I64Attr, "0">:$skipped);
  let results = (outs I32:$number);
  let assemblyFormat = "$channel (`reader` $reader^)? (`skipped` $skipped^)? attr-dict `:` type($channel)";
}

#endif // ATTN_DIALECT_HOPPER_IR_HOPPERPIPELINEOPS_TD
