//===- AttnTileOps.td - Loops over tiles and their steps --*- tablegen -*-===//
//
// The structure of a worker's program. What the steps do to tiles is said by
// operations of vector, arith and math, and by those of AttnOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNTILEOPS_TD
#define ATTN_DIALECT_ATTN_IR_ATTNTILEOPS_TD

include "attn/Dialect/Attn/IR/AttnAttrs.td"
include "attn/Dialect/Attn/IR/AttnDialect.td"
include "mlir/Interfaces/LoopLikeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"

def Attn_TileLoopOp : Attn_Op<"tile_loop", [
    SingleBlock, RecursiveMemoryEffects, RecursivelySpeculatable,
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<LoopLikeOpInterface, [
        "getLoopRegions", "getLoopInductionVars", "getLoopLowerBounds",
        "getLoopUpperBounds", "getLoopSteps", "getInitsMutable",
        "getRegionIterArgs", "getYieldedValuesMutable", "getLoopResults"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a loop over tiles";
  let description = [{
    Runs its body once for each tile `[j, j + step)` with `j = lowerBound, lowerBound + step, ...` below `upperBound`; the last tile may
    be cut off by what it reads. The order of tiles is not specified: what is carried is a reduction, such as the state of the
    online softmax, and a pass may visit tiles in any order and split the loop into several.

    Two optional regions tell the class of a tile. They see its start `j`, and what is computed outside of the loop.

    * `needed`: yields false where the body would leave what is carried as it is, so that the tile can be passed over. Without
      the region, each tile is needed.
    * `full`: yields true where each position of the tile exists and all pairs are allowed, so that no predicate is needed
      (`attn.mask_tile`), and a read of `step` rows from `j` is in bounds. What it yields for tiles that are not
      needed does not matter. Without the region, no tile is known to be full. Where it is known that the tiles within
      an interval are the full ones, `within %a to %b` says so: the region yields `a <= j` and `j + step <= b`.

    `only_last_partial` says that all tiles are full but the last one, in the order above, of the tiles of any partition of the rows
    of the worker that the schedule makes; for a partition, bounds and classes are those of the tile with its rows in place of all.

    `online(%acc = ..., %max = ..., %sum = ...)` carries the state of an online softmax, in front of what `iter_args` carry: the body has one
    `attn.online_step`, of this state, and yields the maximum and the sum that it gives. A target may hold both in another form in the loop.

    The loop stays a loop however many tiles it is known to have. Class regions read and write nothing that the body writes.

    Operands:

    * `lowerBound`, `upperBound`: the first position, and the one behind the last.
    * `initArgs`: what is carried into the first tile, of which the state is the first three.

    Example, the sum of the rows of a tensor that are not yet too far:

    ```mlir
    %r = attn.tile_loop %j = %lo to %hi step 64 iter_args(%sum = %zero)
        needed(%first) {
          %p = arith.cmpi slt, %first, %far : index
          attn.yield %p : i1
        }
        full(%first) within %lo to %n {
          %end = arith.addi %first, %c64 : index
          %p = arith.cmpi sle, %end, %n : index
          attn.yield %p : i1
        } : vector<64xf32> {
      %x = attn.step @load -> (vector<64xf32>) {
        %t = vector.transfer_read %source[%j], %c0 : tensor<?xf32>, vector<64xf32>
        attn.yield %t : vector<64xf32>
      }
      %s = attn.step @add -> (vector<64xf32>) {
        %t = arith.addf %sum, %x : vector<64xf32>
        attn.yield %t : vector<64xf32>
      }
      attn.yield %s : vector<64xf32>
    }
    ```

    Errors: a step that is not positive; bodies or regions with other arguments or results; steps of one name;
    `within` or `only_last_partial` without a region `full`; a state of other than three values; a body with an `attn.online_step` without a
    state, or with none or several with one; a step of another state, or a maximum and a sum that are not those of the step.
  }];
  let arguments = (ins Index:$lowerBound, Index:$upperBound, Variadic<AnyType>:$initArgs,
    Optional<Index>:$fullLower, Optional<Index>:$fullUpper,
    ConfinedAttr<I64Attr, [IntPositive]>:$step,
    UnitAttr:$onlyLastPartial, UnitAttr:$online);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region MaxSizedRegion<1>:$needed, MaxSizedRegion<1>:$full,
    SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    // With a body of one block, whose arguments are the start of the tile and
    // what is carried, without a terminator, and no class regions. What is carried
    // is no state.
    OpBuilder<(ins "::mlir::Value":$lower, "::mlir::Value":$upper,
        "int64_t":$step, "::mlir::ValueRange":$inits)>
  ];
  let extraClassDeclaration = [{
    /// Where the state of an online softmax is in what is carried.
    enum StatePart { Acc, Max, Sum, NumStateParts };
    /// The step of that softmax, or null.
    ::mlir::attn::OnlineStepOp getOnlineStep();
    /// What makes the state that is carried into the first tile, or null if it is
    /// not one of no keys.
    ::mlir::attn::OnlineStartOp getOnlineStart();
    ::mlir::Value getInductionVar() { return getBody().getArgument(0); }
    ::mlir::BlockArgument getRegionIterArg(unsigned number) {
      return getBody().getArgument(number + 1);
    }
    /// What the body carries on.
    ::mlir::OperandRange getYielded() {
      return getBody().front().getTerminator()->getOperands();
    }
    /// Whether tiles have a class that tells if they are needed, or full.
    bool hasNeeded() { return !getNeeded().empty(); }
    bool hasFull() { return !getFull().empty(); }
    /// What a class region, which is there, yields.
    ::mlir::Value getClass(::mlir::Region &region) {
      return region.front().getTerminator()->getOperand(0);
    }
    /// Copies a class region, which is there, to where the builder stands, and
    /// returns what it yields for the tile from `start`.
    ::mlir::Value cloneClass(::mlir::OpBuilder &builder, ::mlir::Region &region,
                             ::mlir::Value start);
    /// Adds a block for a class region, without a terminator.
    ::mlir::Block *addClass(::mlir::Region &region);
    /// The step of this name in the body, or null.
    ::mlir::attn::StepOp getStep(::llvm::StringRef name);
  }];
}

def Attn_StepOp : Attn_Op<"step", [
    SingleBlock, RecursiveMemoryEffects, RecursivelySpeculatable]> {
  let summary = "a step of a program by name";
  let description = [{
    Runs its region once; what that yields are the results. Schedules refer to a step by its name, which no other step of the same loop has.
    Values from outside are used as they are.

    The steps of attention are `@load_k` and `@load_v`, the tiles of keys and values; `@qk`, the product of keys and queries;
    `@softmax`, scores, mask and `attn.online_step`; and `@pv`, what values times probabilities adds to the accumulator. Where
    keys are listed, `@positions` says which they are.

    Example:

    ```mlir
    %s = attn.step @qk -> (vector<64x32xf32>) {
      %product = arith.mulf %k, %q : vector<64x32xf32>
      attn.yield %product : vector<64x32xf32>
    }
    ```

    Errors: a region that yields other types than those of the results; a step in a step.
  }];
  let arguments = (ins SymbolNameAttr:$stepName);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $stepName (`->` `(` type($outputs)^ `)`)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    // With an empty block.
    OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::TypeRange":$outputs)>
  ];
  let extraClassDeclaration = [{
    ::mlir::OperandRange getYielded() {
      return getBody().front().getTerminator()->getOperands();
    }
    /// What a step yields for a value that it gives; other values as they are.
    static ::mlir::Value getSource(::mlir::Value value);
    /// Puts the operations of the region in place of the step.
    void inlineBody(::mlir::RewriterBase &rewriter);
  }];
}

def Attn_SpreadDiagonalsOp : Attn_Op<"spread_diagonals", [Pure]> {
  let summary = "a tile of which all elements of a diagonal are one";
  let description = [{
    ```
    result[n, m] = diagonals[n - m + M]
    ```

    for a tile of N keys by M queries. What depends on the distance of query and key alone is computed for N + M distances rather than for N * M pairs.

    Operands:

    * `diagonals`: N + M elements, of which the first one is in no tile.

    Example:

    ```mlir
    %y = attn.spread_diagonals %x : vector<96xf32> -> vector<64x32xf32>
    ```

    Errors: a number of diagonals other than the sum of the extents of the tile.
  }];
  let arguments = (ins VectorOfRankAndType<[1], [F32]>:$diagonals);
  let results = (outs VectorOfRankAndType<[2], [F32]>:$tile);
  let assemblyFormat = "$diagonals attr-dict `:` type($diagonals) `->` type($tile)";
  let hasVerifier = 1;
}

def Attn_MaskTileOp : Attn_Op<"mask_tile", [
    SingleBlock, RecursiveMemoryEffects, RecursivelySpeculatable,
    AttrSizedOperandSegments, AllTypesMatch<["scores", "result"]>]> {
  let summary = "replace the scores of pairs that are not allowed";
  let description = [{
    ```
    result[n, m] = first + n < end && allowed[n, m] ? scores[n, m] : -inf
    ```

    where `allowed` is what the region yields. In a tile of which the region `full` of the `attn.tile_loop` around it is true, all pairs are
    allowed: who lowers this may leave the region out there.

    Operands:

    * `scores`: of keys by queries.
    * `first`, `end`: the position of the first key, and the one behind the last that there is. Only the last tile has keys that there are not, so
      who lowers this may ask for the end there alone. Without them, the region says all.

    Example:

    ```mlir
    %m = attn.mask_tile %scores keys %j to %numKeys : vector<64x32xf32> {
      %p = arith.cmpi eq, %documents, %document : vector<64x32xi32>
      attn.yield %p : vector<64x32xi1>
    }
    ```

    Errors: scores that are no vector of floats, or, with keys, of a rank other than 2; a first key without an end; a region that does not yield a vector of i1 of their shape.
  }];
  let arguments = (ins VectorOfAnyRankOf<[AnyFloat]>:$scores,
    Optional<Index>:$first, Optional<Index>:$end);
  let results = (outs VectorOfAnyRankOf<[AnyFloat]>:$result);
  let regions = (region SizedRegion<1>:$allowed);
  let assemblyFormat = [{
    $scores (`keys` $first^ `to` $end)? `:` type($scores) attr-dict-with-keyword $allowed
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    // With an empty block.
    OpBuilder<(ins "::mlir::Value":$scores,
        CArg<"::mlir::Value", "::mlir::Value()">:$first,
        CArg<"::mlir::Value", "::mlir::Value()">:$end)>
  ];
  let extraClassDeclaration = [{
    /// What the region yields.
    ::mlir::Value getPredicate() {
      return getAllowed().front().getTerminator()->getOperand(0);
    }
    /// Computes whether there are the keys of the tile, which has `end`.
    ::mlir::Value emitExist(::mlir::OpBuilder &builder);
    /// Computes the region where this is, and takes its place by a select.
    void expand(::mlir::RewriterBase &rewriter);
  }];
}

def Attn_AffineScoresOp : Attn_Op<"affine_scores", [
    SingleBlock, RecursiveMemoryEffects, RecursivelySpeculatable, AttrSizedOperandSegments,
    AllTypesMatch<["product", "result"]>, AllTypesMatch<["slope", "offset"]>,
    OptionalTypesMatchWith<"where has an element for each slope", "slope", "where",
      "::llvm::cast<::mlir::VectorType>($_self).clone("
      "::mlir::IntegerType::get($_self.getContext(), 1))">]> {
  let summary = "scores with a bias that is affine in the key";
  let description = [{
    ```
    result[n, m] = factor * (product[n, m] + slope[m] * n) + offset[m] + keys[n]
    ```

    The region computes the same as the program says it, and rounds as that does. A target may take the bias along in the product of queries and
    keys, with some more columns of each, and needs nothing for each score then; it computes the region where slopes are so large that the sum would lose digits,
    and where the bias is not affine in the tile, as that of a distance is not where the tile has keys before and behind a query.

    Operands:

    * `product`: of keys by queries. It has no other use, as who takes the bias along changes it.
    * `slope`: what the bias of a query grows by from key to key, divided by the factor. Without `where` it is the same in all tiles, and computed outside of
      the `attn.tile_loop` around.
    * `offset`: the bias of the first key of the tile, without `keys`.
    * `keys`: what each key of the tile gets, whatever the query; nothing if it is not given. Of keys that there are not, -inf.
    * `where`: for which queries the bias is affine in the tile, so that the equation holds; all if it is not given.

    Example, slopes of heads (ALiBi):

    ```mlir
    %s = attn.affine_scores %product factor 1.8e-01 slope %slope offset %start : vector<64x32xf32>, vector<32xf32> {
      %x = arith.mulf %product, %factor : vector<64x32xf32>
      %y = arith.addf %x, %bias : vector<64x32xf32>
      attn.yield %y : vector<64x32xf32>
    }
    ```

    Errors: a product that is no tile of f32, or that something else uses; slopes that are not one for each query, or, without `where`, computed in the loop;
    `keys` that are not one number for each key; a factor that is not positive and finite; a region that does not yield a tile of the shape of the product.
  }];
  let arguments = (ins VectorOfRankAndType<[2], [F32]>:$product, F64Attr:$factor,
    VectorOfRankAndType<[1], [F32]>:$slope, VectorOfRankAndType<[1], [F32]>:$offset,
    Optional<VectorOfRankAndType<[1], [F32]>>:$keys, Optional<VectorOfRankAndType<[1], [I1]>>:$where);
  let results = (outs VectorOfRankAndType<[2], [F32]>:$result);
  let regions = (region SizedRegion<1>:$plain);
  let assemblyFormat = [{
    $product `factor` $factor `slope` $slope `offset` $offset (`keys` $keys^)? (`where` $where^)?
    `:` type($product) `,` type($slope) (`,` type($keys)^)? attr-dict-with-keyword $plain
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    // With an empty block.
    OpBuilder<(ins "::mlir::Value":$product, "double":$factor,
        "::mlir::Value":$slope, "::mlir::Value":$offset, CArg<"::mlir::Value", "{}">:$keys,
        CArg<"::mlir::Value", "{}">:$where)>
  ];
  let extraClassDeclaration = [{
    /// What the region yields.
    ::mlir::Value getPlainScores() {
      return getPlain().front().getTerminator()->getOperand(0);
    }
    /// Computes the region where this is.
    void expand(::mlir::RewriterBase &rewriter);
  }];
}

def Attn_GatherRowsOp : Attn_Op<"gather_rows", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    TypesMatchWith<"mask has an element for each row", "rows", "mask",
      "::llvm::cast<::mlir::VectorType>($_self).clone("
      "::mlir::IntegerType::get($_self.getContext(), 1))">]> {
  let summary = "read rows of a tensor that a vector names";
  let description = [{
    `result[n, d] = source[..., rows[n], ..., d, ...]` where `mask[n]` holds and the row is inside of `source`, otherwise 0; no element outside is ever read.

    Operands:

    * `source`: the tensor, or its buffer.
    * `indices`: the position in all dimensions of `source` but those of rows and columns, in order.
    * `rows`: the numbers of the rows.
    * `mask`: which of them there are.

    `rowDim` and `columnDim` are the dimensions of `source` that rows and columns are counted along. All columns are read.

    Example, keys that a list names:

    ```mlir
    %k = attn.gather_rows %keys[%b, %g] rows %list along 2 columns along 3 mask %exist
        : tensor<2x8x?x64xbf16>, vector<32xindex> -> vector<32x64xbf16>
    ```

    Errors: a number of indices other than the rank of `source` less two; dimensions that `source` does not have, or one for both; a result of another shape or
    element type.
  }];
  let arguments = (ins AnyTypeOf<[AnyRankedTensor, AnyMemRef]>:$source,
    Variadic<Index>:$indices, VectorOfRankAndType<[1], [Index]>:$rows,
    VectorOfRankAndType<[1], [I1]>:$mask, I64Attr:$rowDim, I64Attr:$columnDim);
  let results = (outs VectorOfRankAndType<[2], [AnyType]>:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` `rows` $rows `along` $rowDim `columns` `along` $columnDim
    `mask` $mask attr-dict `:` type($source) `,` type($rows) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The position in all dimensions, with null for those of rows and columns.
    ::llvm::SmallVector<::mlir::Value> getPosition();
    /// Those other dimensions.
    ::llvm::SmallVector<int64_t> getOtherDims();
  }];
}

def Attn_AccumulateOp : Attn_Op<"accumulate", [
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "accumulate a tile into memory that workers share";
  let description = [{
    Adds each element of `vector` to the element of `into` at `indices` plus the element's position, of which
    `permutation_map` says in which dimensions of `into` its dimensions are, as that of `vector.transfer_write`; without it, they are the
    last ones. What would be outside of `into` is left out.

    Workers that add to the same element each add once for each operation that they run. With mode `add`, they do so atomically and in any order; with `ordered`,
    one after the other, so that a second run gives the same bits: a worker waits until `counters` holds the number `after`, adds, and then writes its own number there.
    So workers that add to the same elements have one counter, which is 0 before the first of them, and numbers from 1 on; each is after the one before. The first one, which is after 0,
    stores its elements: `into` holds anything before.
    Whoever waits has to be started after the one that it waits for.

    Where `last` holds, nobody adds behind this worker: in place of `into` it writes to `out` what the sum is times `scale`, rounded to the element type of `out`. `into` holds anything then. What
    would be outside of `out` is left out.

    Operands:

    * `vector`: the tile.
    * `into`: a tensor or its buffer, of the element type of the tile.
    * `indices`: one for each dimension of `into`.
    * `counters`, `counter_indices`: a buffer of i32. Behind the dimensions of the indices it has one more, an element for each partition of a worker that has
      some of the rows: they have counters of their own.
    * `after`, `own`: indices, the numbers of the worker before and of this one.
    * `last`: an i1.
    * `out`: a buffer of floats; `out_indices`, one for each dimension of it, and `out_map`, in which of them the dimensions of the tile are.

    The result is `into` with the sums, if it is a tensor; a buffer is written, and there is no result.

    Example:

    ```mlir
    attn.accumulate add %dq into %mem[%b, %h, %i, %c0] map affine_map<(b, h, i, d) -> (d, i)>
        : vector<64x32xf32>, memref<2x8x?x64xf32>
    %t = attn.accumulate ordered %dk into %sum[%j] after %p as %n in %counters[%b, %h]
        : vector<32xf32>, tensor<?xf32> -> tensor<?xf32>, memref<2x8x2xi32>
    attn.accumulate ordered %dq into %mem[%b, %h, %t, %c0, %c0] after %p as %n in %counters[%b, %h, %t]
        last %l to %out[%b, %h, %i, %c0] map affine_map<(b, h, i, d) -> (i, d)> scale 1.250000e-01
        : vector<64x32xf32>, memref<2x8x?x64x32xf32>, memref<2x8x?x1xi32> to memref<2x8x?x32xbf16>
    ```

    Errors: element types that differ; a number of indices that is not the rank of `into`, or of `out`; a map that is no projected permutation to the dimensions of the
    tile, or a tile of a higher rank; a result that is not there for a tensor, or there for a buffer; `ordered` without counters, or counters without it; counters that are no buffer of i32, or a number of their
    indices other than the rank less one; `last` without counters; an `out_map` that is no projected permutation to the dimensions of the tile.
  }];
  let arguments = (ins Attn_AccumulateMode:$mode,
    VectorOfAnyRankOf<[AnyFloat, AnySignlessInteger]>:$vector,
    AnyTypeOf<[AnyRankedTensor, AnyMemRef]>:$into, Variadic<Index>:$indices,
    Optional<Index>:$after, Optional<Index>:$own,
    Optional<AnyMemRef>:$counters, Variadic<Index>:$counter_indices,
    Optional<I1>:$last, Optional<MemRefOf<[AnyFloat]>>:$out, Variadic<Index>:$out_indices,
    OptionalAttr<AffineMapAttr>:$permutationMap, OptionalAttr<AffineMapAttr>:$out_map,
    DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $mode $vector `into` $into `[` $indices `]` (`map` $permutationMap^)?
    (`after` $after^ `as` $own `in` $counters `[` $counter_indices `]`)?
    (`last` $last^ `to` $out `[` $out_indices `]` `map` $out_map)? (`scale` $scale^)? attr-dict
    `:` type($vector) `,` type($into) (`->` type($result)^)? (`,` type($counters)^)? (`to` type($out)^)?
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

def Attn_NegateQueriesOp : Attn_Op<"negate_queries", [Pure,
    AllTypesMatch<["queries", "result"]>]> {
  let summary = "the queries of a tile, some of them negated";
  let description = [{
    `result[d, i] = where[i] ? -queries[d, i] : queries[d, i]`. A negative factor of all scores of a row is a positive one of the
    products with the negated query (see `attn.online_step`), once for the work tile in place of once for each pair.

    Operands: `queries`, `vector<D x M>` of floats, as products read it; `where`, `vector<M>` of i1.

    Example:

    ```mlir
    %n = attn.negate_queries %q where %p : vector<128x32xf32>, vector<32xi1>
    ```

    Errors: queries that are no matrix of floats, or other than one i1 for each column.
  }];
  let arguments = (ins VectorOfRankAndType<[2], [AnyFloat]>:$queries,
    VectorOfRankAndType<[1], [I1]>:$where);
  let results = (outs VectorOfRankAndType<[2], [AnyFloat]>:$result);
  let assemblyFormat = "$queries `where` $where attr-dict `:` type($queries) `,` type($where)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$queries, "::mlir::Value":$where), [{
    build($_builder, $_state, queries.getType(), queries, where);
  }]>];
}

//===----------------------------------------------------------------------===//
// Work tiles
//===----------------------------------------------------------------------===//

def Attn_TileQueriesOp : Attn_Op<"tile_queries", [MemoryEffects<[MemWrite]>]> {
  let summary = "how many queries of a worker's tile there are";
  let description = [{
    Columns of tiles from `count` on are for queries behind the last one: nothing reads them, and they need not be computed.
    `attn-tile` puts it in front of a worker with a `#attn.schedule` that may have fewer than `tile_m`, for `convert-attn-to-cpu`, whose loops go over
    one query after the other, or over `unroll_m` vectors of them. Without it there are `tile_m`.

    Operands:

    * `count`: index, at least 1 and at most `tile_m`.

    Example:

    ```mlir
    attn.tile_queries %count
    ```
  }];
  let arguments = (ins Index:$count);
  let assemblyFormat = "$count attr-dict";
}

//===----------------------------------------------------------------------===//
// The ends of an online softmax
//===----------------------------------------------------------------------===//

def Attn_OnlineStartOp : Attn_Op<"online_start", [Pure,
    AllTypesMatch<["max", "sum"]>]> {
  let summary = "the state of an online softmax before the first key";
  let description = [{
    What a loop of `attn.online_step` carries into its first tile: `acc` and `sum` are 0, and `max` is `from` for each query, -inf if it is
    not given. Another number than -inf is for steps with `rescale(never)`, which look for no maximum.

    The results are `vector<Dv x M>` and twice `vector<M>`, all of f32 or f64, as of `attn.online_step`.

    Example:

    ```mlir
    %acc, %max, %sum = attn.online_start : vector<128x32xf32>, vector<32xf32>
    %acc1, %max1, %sum1 = attn.online_start from 2.885390e+01 : vector<128x32xf32>, vector<32xf32>
    ```

    Errors: ranks, numbers of queries or element types that differ; a `from` that is NaN or +inf.
  }];
  let arguments = (ins OptionalAttr<F64Attr>:$from);
  let results = (outs AnyFixedVectorOfNonZeroRank:$acc, AnyFixedVectorOfNonZeroRank:$max,
    AnyFixedVectorOfNonZeroRank:$sum);
  let assemblyFormat = "(`from` $from^)? attr-dict `:` type($acc) `,` type($max)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The number that the maximum starts as.
    double getFirstMax();
    /// That which all elements of a result are.
    double getFirst(::mlir::OpResult result);
  }];
}

def Attn_NormalizeOp : Attn_Op<"normalize", [Pure,
    AllTypesMatch<["max", "sum", "lse"]>]> {
  let summary = "what the state of an online softmax after the last key stands for";
  let description = [{
    For query `i`, where `isEmpty = sum[i] == 0`, which is a query without an allowed key, whose `acc` is 0:

    ```
    o[e,i] = acc[e,i] * (1 / (isEmpty ? 1 : sum[i]))
    lse[i] = isEmpty ? -inf : ln(2) * (max[i] + log2(sum[i]))
    ```

    `o` is rounded to its element type once.

    Operands: `acc` is `vector<Dv x M>`, `max` and `sum` are `vector<M>`, all of f32 or f64. The results are `o`, of the shape of `acc` and any
    type of floats, and `lse`, of the type of `max`.

    Example:

    ```mlir
    %o, %lse = attn.normalize %acc, %max, %sum
        : vector<128x32xf32>, vector<32xf32> -> vector<128x32xbf16>
    ```

    Errors: ranks, shapes, numbers of queries or element types that differ.
  }];
  let arguments = (ins AnyFixedVectorOfNonZeroRank:$acc,
    AnyFixedVectorOfNonZeroRank:$max, AnyFixedVectorOfNonZeroRank:$sum);
  let results = (outs FixedVectorOfNonZeroRankOf<[AnyFloat]>:$o,
    AnyFixedVectorOfNonZeroRank:$lse);
  let assemblyFormat = [{
    $acc `,` $max `,` $sum attr-dict `:` type($acc) `,` type($max) `->` type($o)
  }];
  let hasVerifier = 1;
}

#endif // ATTN_DIALECT_ATTN_IR_ATTNTILEOPS_TD
