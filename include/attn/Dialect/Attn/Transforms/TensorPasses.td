//===- TensorPasses.td - Passes of the tensor level --------*- tablegen -*-===//

#ifndef ATTN_DIALECT_ATTN_TRANSFORMS_TENSORPASSES_TD
#define ATTN_DIALECT_ATTN_TRANSFORMS_TENSORPASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Tensor and online level
//===----------------------------------------------------------------------===//

def AttnDifferentiatePass : Pass<"attn-differentiate", "::mlir::ModuleOp"> {
  let summary = "add functions that compute gradients";
  let description = [{
    For each public function `f` a function `f_grad` is added, which computes the gradients of a loss with respect to arguments of `f`, from
    those with respect to its results. The function is gone through in reverse, with sums where a value is used several times: its attentions become
    `attn.attention_grad`, whose adjoint regions are made of the scores in the same way.

    `f_grad` takes the arguments of `f`, its results of floats, and their gradients, and returns a gradient for each argument of floats that the results depend on (with
    `tensors-only`, for each tensor), or for those that `wrt` names. What `f` has returned is not computed again: where it returns both `o` and `lse` of an attention, that is all that is kept of it.
    Names are those of `f` with a `d` in front. With `joint`, it does not take the results of `f`, but computes and returns them too.

    Where a function has no derivative: of a minimum or a maximum of equal numbers, either gets half of the gradient; those of an absolute value and of a square root at 0 are 0; rounding and integers have
    none. The side of a choice that is not taken adds nothing, and no NaN.

    An operation of `linalg` whose results are computed element by element, or are sums, has one for each input, which sums over the loops that the input does not have.

    A loop in a score has a loop as its derivative, which keeps nothing of what the iterations were:

    * Where no iteration changes the gradients of what is carried, as in a sum, it takes the iterations in their order, and carries along what the terms are computed of.
    * Else it begins with the last one. If the gradient needs values that were carried into an iteration, as that of `sin(acc)` does, a loop in it computes them from the first iteration on: half of the
      square of the number of iterations in all. A loop of that kind that runs 256 operations at most, and reads no capture that has a gradient, is unrolled instead.

    Precondition: functions are of one block and without calls. Postcondition: none.

    Before:

    ```mlir
    func.func @f(%q: tensor<1x2x64x8xf32>, %k: tensor<1x2x64x8xf32>, %v: tensor<1x2x64x8xf32>) -> (tensor<1x2x64x8xf32>, tensor<1x2x64xf32>) {
      ...
      %o, %lse = attn.attention ins(%q, %k, %v : ...) outs(%0, %1 : ...)
        score(%s, %b, %h, %i, %j) {
          %x = math.exp %s : f32
          attn.yield %x : f32
        }
      return %o, %lse : tensor<1x2x64x8xf32>, tensor<1x2x64xf32>
    }
    ```

    After, behind it:

    ```mlir
    func.func @f_grad(%arg0: tensor<1x2x64x8xf32>, %arg1: tensor<1x2x64x8xf32>, %arg2: tensor<1x2x64x8xf32>,
        %arg3: tensor<1x2x64x8xf32>, %arg4: tensor<1x2x64xf32>, %arg5: tensor<1x2x64x8xf32>, %arg6: tensor<1x2x64xf32>)
        -> (tensor<1x2x64x8xf32>, tensor<1x2x64x8xf32>, tensor<1x2x64x8xf32>) {
      ...
      %dq, %dk, %dv = attn.attention_grad wrt(q, k, v)
          ins(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6 : ...) outs(...)
        score(%s, %b, %h, %i, %j) {
          %x = math.exp %s : f32
          attn.yield %x : f32
        }
        adjoint(%s, %ds, %b, %h, %i, %j) {
          %x = math.exp %s : f32
          %dx = arith.mulf %ds, %x : f32
          attn.yield %dx : f32
        }
      return %dq, %dk, %dv : ...
    }
    ```

    Errors: an operation that a gradient flows through and that has no derivative; a function of several blocks; a `wrt` that is no argument, or one of integers.
  }];
  let options = [
    ListOption<"wrt", "wrt", "std::string", "names of arguments to compute gradients with respect to">,
    Option<"tensorsOnly", "tensors-only", "bool", /*default=*/"false", "without names, compute none with respect to numbers">,
    Option<"joint", "joint", "bool", /*default=*/"false", "compute and return the results of the function too">,
    Option<"nondeterministic", "nondeterministic", "bool", /*default=*/"false", "let the last bits differ from run to run where that is faster">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def AttnCheckSlicesPass : Pass<"attn-check-slices", "::mlir::ModuleOp"> {
  let summary = "report slices and elements that are outside of their tensor";
  let description = [{
    Where a slice begins, or which element is read, may be a number of the call or of a tensor: nothing knows it before the program runs. A slice that
    would leave its tensor is the last or first that is inside, an element that is not there is 0 and is not written, and either is reported
    (`attn.report`), so that the call fails without having touched other memory. Offsets that are constants, and sizes, are what the shape function checks.

    Before:

    ```mlir
    %1 = tensor.insert_slice %new into %cache[0, %at, 0] [2, 1, 16] [1, 1, 1] : tensor<2x1x16xf32> into tensor<2x?x16xf32>
    ```

    After:

    ```mlir
    %most = arith.subi %length, %c1 : index
    %low = arith.maxsi %at, %c0 : index
    %inside = arith.minsi %low, %most : index
    %isOutside = arith.cmpi ne, %inside, %at : index
    attn.report site 0 (%at, %length) if %isOutside
    %1 = tensor.insert_slice %new into %cache[0, %inside, 0] [2, 1, 16] [1, 1, 1] : tensor<2x1x16xf32> into tensor<2x?x16xf32>
    ```

    Loops of linalg and regions of attentions stay as they are.

    Errors: none.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::attn::AttnDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def AttnExpandDivisionsPass : Pass<"attn-expand-divisions"> {
  let summary = "divide integers by anything outside of attentions";
  let description = [{
    Integer divisions and remainders that no region of an attention holds, of numbers of the call or in loops over tensors, are ones that a processor has
    for every divisor: by 0 they give 0, and the smallest integer by -1 is itself, as in [regions](../numerics.md). Those that extents need have been
    constraints of the shape function before, which are errors of a call.

    Of whole tensors they have become loops before, by `convert-elementwise-to-linalg`, or for a GPU by `attn-hopper-element-loops`.

    Before:

    ```mlir
    %w = arith.divui %n, %m : index
    ```

    After:

    ```mlir
    %isZero = arith.cmpi eq, %m, %c0 : index
    %divisor = arith.select %isZero, %c1, %m : index
    %quotient = arith.divui %n, %divisor : index
    %w = arith.select %isZero, %c0, %quotient : index
    ```

    Errors: none.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def AttnExpandScalarOpsPass : Pass<"attn-expand-scalar-ops"> {
  let summary = "replace operations on numbers that targets have not";
  let description = [{
    Operations of arith and math that no target has, or that some lowering of upstream does not know on vectors, become simpler ones, so that passes after this one
    know fewer:

    * `math.isnan`, `isinf`, `isfinite` and `isnormal` become comparisons,
    * `math.clampf` a maximum and a minimum, `math.sincos` a sine and a cosine,
    * `math.fpowi` products for powers up to 4, otherwise `math.powf` and the sign of an odd power,
    * `math.ipowi` products, for each bit of a power that is not constant,
    * `arith.addui_extended`, `mulsi_extended` and `mului_extended` additions and products,
    * `arith.index_cast` of an index to fewer bits than it may need a truncation, which canonicalization does not take back where the bits are cast to an index again.

    It runs first, before numbers of 16 bits are computed with in 32, as what is normal depends on the type.

    Before:

    ```mlir
    %p = math.isinf %s : f32
    ```

    After:

    ```mlir
    %x = math.absf %s : f32
    %inf = arith.constant 0x7F800000 : f32
    %p = arith.cmpf oeq, %x, %inf : f32
    ```

    Errors: none.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def AttnJoinProductsPass : Pass<"attn-join-products", "::mlir::ModuleOp"> {
  let summary = "make products of captured rows a part of that of queries and keys";
  let description = [{
    A score that adds `sum_r a[.., i, .., r] * c[.., j, .., r]` to a multiple of what it is given, as decoupled position terms do, multiplies two rows for each pair. The rows become
    further elements of queries and keys, which matrix instructions multiply:

    ```
    q' = [q, f * a],  k' = [k, c]     so that  scale * q'.k' = scale * q.k + (sum over r)
    ```

    The sum is a loop, or written out, of four elements or more; `a` is read at some of b, h and i, `c` at some of b, h and j. `f` is what the score multiplies the sum by, over what it multiplies its argument by, and over `scale`.
    Where elements of queries are bf16 and `a`, `c` or `f * a` have more digits, they become the sum of three bf16, and the products of parts that f32 would hold are summed up: nothing is rounded that f32 does not round.
    Queries and keys have 256 elements at most, with zeros up to a multiple of 16 bytes.

    Keys and values that batches or heads share are copied for each, where `c` differs between them.

    Of an `attn.attention_grad`, gradients of `a` and `c` are those of the elements that they have become, in the element type of `q`; where a capture has more digits, or is read elsewhere too, the sum stays in the score.

    Before:

    ```mlir
    %o = attn.attention ins(%q, %k, %v : tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>)
        captures(%a, %c : tensor<2x64x8xf32>, tensor<64x8xf32>) outs(%init : tensor<1x2x64x16xf32>)
      score(%s, %b, %h, %i, %j, %x, %y) {
        %sum = scf.for %r = %c0 to %c8 step %c1 iter_args(%t = %s) -> (f32) {
          %xr = tensor.extract %x[%h, %i, %r] : tensor<2x64x8xf32>
          %yr = tensor.extract %y[%j, %r] : tensor<64x8xf32>
          %p = arith.mulf %xr, %yr : f32
          %n = arith.addf %t, %p : f32
          scf.yield %n : f32
        }
        attn.yield %sum : f32
      }
    ```

    After:

    ```mlir
    %f = linalg.generic ... // 4 * a, as the scale is 1/4
    %q2 = tensor.insert_slice %f into %q1[0, 0, 0, 16] [1, 2, 64, 8] [1, 1, 1, 1] : tensor<1x2x64x8xf32> into tensor<1x2x64x24xf32>
    %k2 = ...
    %o = attn.attention scale 2.500000e-01 ins(%q2, %k2, %v : tensor<1x2x64x24xf32>, tensor<1x2x64x24xf32>, tensor<1x2x64x16xf32>)
        outs(%init : tensor<1x2x64x16xf32>)
    ```

    Errors: none.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def AttnExpandSparsityPass : Pass<"attn-expand-sparsity"> {
  let summary = "make explicit layouts of blocks a part of masks";
  let description = [{
    The `sparsity` of an attention becomes a capture of bits, and its mask asks for the bit of the block that a pair is in, too.
    Whatever is done for masks then is done for layouts: tiles that no block allows are passed over.

    Lists become bits first, by a loop over batches, heads and rows of blocks, as far as the lists depend on them. What
    is wrong with lists, rows that decrease or leave the columns, columns that do not ascend or are out of range, is
    reported where the program runs (`attn.report`, `attn.sites`), and then bits may be anything.
    With `by-element`, which suits workers that fill tables an element at a time, nothing is reported: a list is the set of
    its columns that are in range, and rows end at the end of the columns.

    Lists with blocks of 1x1 stay as they are.

    Precondition: an attention with lists has no offsets. Postcondition: the only sparsity is of blocks of 1x1. `blocks` and `tiles` of
    an attention that had one are gone, as they promise too many keys.

    Before:

    ```mlir
    %r = attn.attention
        ins(%q, %k, %v : tensor<2x4x256x8xf32>, tensor<2x4x256x8xf32>, tensor<2x4x256x8xf32>)
        sparsity(#attn.sparsity<bits, block = 64x64> %bits : tensor<4x4x4xi1>)
        outs(%o : tensor<2x4x256x8xf32>)
        mask(%b, %h, %i, %j) {
          %p = arith.cmpi sle, %j, %i : index
          attn.yield %p : i1
        }
    ```

    After:

    ```mlir
    %r = attn.attention
        ins(%q, %k, %v : tensor<2x4x256x8xf32>, tensor<2x4x256x8xf32>, tensor<2x4x256x8xf32>)
        captures(%bits : tensor<4x4x4xi1>)
        outs(%o : tensor<2x4x256x8xf32>)
        mask(%b, %h, %i, %j, %w0) {
          %p = arith.cmpi sle, %j, %i : index
          %c64 = arith.constant 64 : index
          %0 = arith.divui %i, %c64 : index
          %1 = arith.divui %j, %c64 : index
          %2 = tensor.extract %w0[%h, %0, %1] : tensor<4x4x4xi1>
          %3 = arith.andi %p, %2 : i1
          attn.yield %3 : i1
        }
    ```

    Errors: lists in an attention with offsets.
  }];
  let options = [
    Option<"byElement", "by-element", "bool", /*default=*/"false",
           "for lists, a program for each bit, which looks for it, in place of one for each row; what is wrong with lists is "
           "not reported">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def AttnChooseSparsityPass : Pass<"attn-choose-sparsity"> {
  let summary = "choose how each sparse structure runs";
  let description = [{
    An attention with lists of single keys (blocks of 1x1) has three forms:

    * `lists`: a query is a row, which meets the keys of its list and no other. What it costs grows with the pairs in lists.
    * `dense`: the lists become bits, one for each pair, in words of 32 keys, by a loop in front of the attention, and the mask asks for the bit of a pair.
      What it costs grows with all pairs, each of which costs far less. Words are one bit for each pair of a query and a key of each list.

    * `gathered`: with `one-per-launch`, as for a GPU. The lists stay, but the attention is marked `attn.gathered`: Q blocks meet the keys that some of their lists hold.
      What it costs grows with these. It is taken only if it is asked for.

    With `auto`, costs of the first two are computed from the extents of the operands, as a model has them that was measured
    (`SparsityCosts.cpp`); where extents are not known, by the program when it runs, in which both forms stand then. Dense is not chosen where words would have more than 2 GiB.
    An attention that has a schedule has the form that the schedule is for.

    With `one-per-launch`, as for a GPU, `auto` leaves the lists: kernels of both forms are made from the same program, and a launch takes one.

    A sparsity with blocks stays as it is: tiles are passed over wherever no block needs them (`blocks`). With `dense` the attention is marked `attn.whole`,
    so that its mask is not asked which tiles it needs.

    Precondition: lists were checked (`attn-check-lists`), as words are filled without reports. An attention with offsets is left alone.

    Remarks: `sparsity`, which form, and why.

    Before:

    ```mlir
    %r = attn.attention
        ins(%q, %k, %v : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
        sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<4x?xi32>, tensor<?xi32>)
        outs(%o : tensor<2x4x?x8xf32>)
    ```

    After, with `form=dense`:

    ```mlir
    %words = scf.forall (%b, %h, %i) in (1, 4, %queries) shared_outs(%w = %empty) -> (tensor<1x4x?x?xi32>) { ... }
    %r = attn.attention
        ins(%q, %k, %v : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
        captures(%words : tensor<1x4x?x?xi32>)
        outs(%o : tensor<2x4x?x8xf32>)
        mask(%b, %h, %i, %j, %w0) {
          %true = arith.constant true
          %c0 = arith.constant 0 : index
          %c32 = arith.constant 32 : index
          %n = arith.divui %j, %c32 : index
          %word = tensor.extract %w0[%c0, %h, %i, %n] : tensor<1x4x?x?xi32>
          %k = arith.remui %j, %c32 : index
          %place = arith.index_cast %k : index to i32
          %shifted = arith.shrui %word, %place : i32
          %c1 = arith.constant 1 : i32
          %bit = arith.andi %shifted, %c1 : i32
          %none = arith.constant 0 : i32
          %in = arith.cmpi ne, %bit, %none : i32
          %p = arith.andi %true, %in : i1
          attn.yield %p : i1
        }
    ```

    Errors: a form of another name; `lists` and `gathered` for a sparsity with larger blocks, and `blocks` for lists of single keys; `gathered` without `one-per-launch`, for elements
    other than bf16 and f16, or with a schedule for rows.
  }];
  let options = [
    Option<"form", "form", "std::string", /*default=*/"\"auto\"",
           "auto, dense, blocks, lists, or gathered">,
    Option<"onePerLaunch", "one-per-launch", "bool", /*default=*/"false",
           "leave the choice to whoever launches one of several kernels, and fill words by one operation for each query">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def AttnCheckListsPass : Pass<"attn-check-lists"> {
  let summary = "check lists of keys or blocks where the program runs";
  let description = [{
    Before each attention whose queries have lists of keys (a sparsity of lists with blocks of 1x1) comes a loop over workers that reads the lists once, and reports
    what is wrong with them (`attn.report`, `attn.sites`): rows that decrease or leave the columns, columns that do not ascend or are out of range.
    Lists that heads or batches share are read once for all of them. An attention with offsets, which is a part of another one, is not checked.
    Lists of blocks are checked where they become bits (`attn-expand-sparsity`).

    With `by-list`, which suits a GPU (`attn-hopper-checks`), lists of blocks are checked here, too, and an iteration of the loop over workers has one list, whose columns are
    looked at one by one, in any order.

    What is computed of lists with errors is undefined, but nothing outside of the operands is read (`attn-tile`).

    Before:

    ```mlir
    %r = attn.attention
        ins(%q, %k, %v : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
        sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<4x?xi32>, tensor<?xi32>)
        outs(%o : tensor<2x4x?x8xf32>)
    ```

    After:

    ```mlir
    scf.forall (%b, %h, %t) in (1, 4, %groups) {
      scf.for %i = %first to %last step %c1 {
        ...
        attn.report site 1(%end, %end) if %decreases
        ...
      }
    }
    %r = attn.attention ...
    ```
  }];
  let options = [
    Option<"byList", "by-list", "bool", "false", "An iteration checks one list, of blocks, too, column by column">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def AttnTabulatePositionsPass : Pass<"attn-tabulate-positions"> {
  let summary = "compute what masks need of a query or a key in front of attentions, once for each";
  let description = [{
    What a mask computes of the key alone, or the query alone, and the batch and the head, becomes a capture where it takes more instructions
    than to read it: a tensor with an element for each key, or query, which a loop in front fills. Values that depend on the same of these
    share one loop. As captures they are read by position: ranges of their elements say of a tile what it needs.

    This suits workers whose threads would each compute it for all their keys. A remainder or a quotient of a position by a constant or a scalar capture stays,
    as bounds and words of bits are made of it. So does the mask of an attention that is known to have fewer than 64 queries.

    Precondition: none; an attention with offsets or a sparsity stays as it is. Postcondition: none.

    Before:

    ```mlir
    %r = attn.attention
        ins(%q, %k, %v : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
        captures(%segments : tensor<4xi32>)
        outs(%o : tensor<2x4x?x8xf32>)
        mask(%b, %h, %i, %j, %w) {
          %n = tensor.extract %w[%h] : tensor<4xi32>
          %size = arith.index_cast %n : i32 to index
          %x = arith.divui %i, %size : index
          %y = arith.divui %j, %size : index
          %p = arith.cmpi eq, %x, %y : index
          attn.yield %p : i1
        }
    ```

    After:

    ```mlir
    %keys = tensor.dim %k, %c2 : tensor<2x4x?x8xf32>
    %0 = tensor.empty(%keys) : tensor<4x?xi32>
    %1 = scf.forall (%h, %j) in (4, %keys) shared_outs(%out = %0) -> (tensor<4x?xi32>) {
      %n = tensor.extract %segments[%h] : tensor<4xi32>
      %size = arith.index_cast %n : i32 to index
      %y = arith.divui %j, %size : index
      %element = arith.index_cast %y : index to i32
      ...
    }
    %r = attn.attention
        ins(%q, %k, %v : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
        captures(%segments, %1 : tensor<4xi32>, tensor<4x?xi32>)
        outs(%o : tensor<2x4x?x8xf32>)
        mask(%b, %h, %i, %j, %w, %t) {
          %n = tensor.extract %w[%h] : tensor<4xi32>
          %size = arith.index_cast %n : i32 to index
          %x = arith.divui %i, %size : index
          %element = tensor.extract %t[%h, %j] : tensor<4x?xi32>
          %y = arith.index_cast %element : i32 to index
          %p = arith.cmpi eq, %x, %y : index
          attn.yield %p : i1
        }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def AttnCanonicalizeScorePass : Pass<"attn-canonicalize-score"> {
  let summary = "bring the score and mask regions of attentions to few forms";
  let description = [{
    Works on `attn.attention` and `attn.online_attention`, in place:

    * Operations of the index dialect become those of arith on index.
    * `scf.if` becomes `arith.select` where both sides may always be computed,
      which is to say without a read of a capture and without a division by
      anything but a constant.
    * All regions are folded, canonicalized and freed of common subexpressions.
    * A score that is -inf where a condition on `b`, `h`, `i`, `j` and
      captures does not hold gives that condition to the mask. Of a
      conjunction, the parts move one by one. A condition that reads a captured tensor only
      moves where the attention had no mask, since that mask may be what keeps its
      indices in range. Arithmetic on such a score that keeps -inf, such as a finite bias,
      does not hide it. Bounds in `blocks`, and `tiles`, are dropped, as they promise too many keys then.
    * Constant factors of `s`, which nothing else in the score sees, join the scale, if
      the product is a normal number of the accumulator type.
    * Reads of captures that are splat constants become the constant.
      An identity score, a mask that is always true, captures without use and attentions
      without use go away. A mask that is always false stays.
    * Where a mask asks for a term of the key to be one of the query
      (`document[j] == document[i]`), its other conditions read that of the query, as it is false
      elsewhere: `j - begin[document[j]] <= i - begin[document[i]]` becomes `j <= i`. Not where
      that would be a read that the mask does not have, whose index may be out of bounds.
    * The mask is written in one form, whatever its spelling was:
      * A comparison whose key is linear is solved for it: `j <= f`, `j >= f`, `j == f`, where `f` is computed once for a query. So are
        absolute values, minima and maxima, unsigned comparisons, multiples and equal quotients (`i / 64 == j / 64`), which become two bounds.
      * An equality of remainders is `j mod m == f mod m`.
      * What else depends on the key, such as an element of a capture, is on the left. Integers are of index type, but for what is read of captures.
      * Conditions that must all hold, or any of them, come in one order and occur once. Bounds on the same sum become one, an equality, or a constant.

      Arithmetic on index and i64 is taken not to overflow, as in `attn-classify-blocks`; a captured integer may have any value, as long as the sum of several in one
      comparison fits 64 bits. Narrower integers that may wrap stay as they are. Masks of more than 1024 operations are left alone.

    Precondition: none. Postcondition: regions hold no operation of the index
    dialect, and `scf.if` only around what may not be computed always.

    Remarks: `mask-extracted`, `scale-folded`.

    Before:

    ```mlir
    %r = attn.attention scale 5.000000e-01
        ins(%q, %k, %v : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
        outs(%o : tensor<2x4x16x8xf32>)
        score(%s, %b, %h, %i, %j) {
          %two = arith.constant 2.000000e+00 : f32
          %inf = arith.constant 0xFF800000 : f32
          %p = index.cmp sle(%j, %i)
          %y = scf.if %p -> f32 {
            %x = arith.mulf %two, %s : f32
            scf.yield %x : f32
          } else {
            scf.yield %inf : f32
          }
          attn.yield %y : f32
        }
    ```

    After:

    ```mlir
    %r = attn.attention scale 1.000000e+00
        ins(%q, %k, %v : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
        outs(%o : tensor<2x4x16x8xf32>)
        mask(%b, %h, %i, %j) {
          %p = arith.cmpi sle, %j, %i : index
          attn.yield %p : i1
        }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def AttnShapeFunctionPass : Pass<"attn-shape-function", "::mlir::ModuleOp"> {
  let summary = "add functions that compute the extents of results";
  let description = [{
    For each public function `F` with a body, adds a function `F.shapes` with the arguments
    of `F`. It reads the extents of its arguments and nothing else, and has no branches. It returns

    * for each constraint on extents a condition, and two extents that break it if it does not hold;
    * then the extents of the results of `F`, dimension by dimension and result by result.

    The function attribute `attn.constraints` of `F.shapes` holds one text for each
    constraint, in which `%0`, `%1` stand for its two extents. A kernel package keeps the function as a
    list of operations, which a call evaluates; what is wrong with extents is the first constraint that they break.
    There are constraints for

    * each `attn.attention`: batches, heads and lengths of q, k, v, o and lse agree, and a sparsity has the blocks that they have;
    * each `tensor.extract` of a capture, outside of branches, by the index of a batch, a head, a query or a key,
      to which a constant may be added, and which one may divide: there is an element for each of these, if there are pairs.
      In a score, there need be none for an index that the mask asks for, or with a sparsity;
    * each `linalg` operation: operands agree on the extent of each loop;
    * each `tensor.cast` that makes an extent static;
    * each `tensor.empty`: extents are not negative.

    A constraint holds for all executions, also where the operation is in a branch that is not taken.

    Precondition: calls are inlined. Postcondition: `F` is unchanged.

    Before:

    ```mlir
    func.func @f(%q: tensor<2x8x?x64xf32>, %k: tensor<2x8x?x64xf32>, %v: tensor<2x8x?x64xf32>)
        -> tensor<2x8x?x64xf32> {
      %c2 = arith.constant 2 : index
      %s = tensor.dim %q, %c2 : tensor<2x8x?x64xf32>
      %init = tensor.empty(%s) : tensor<2x8x?x64xf32>
      %o = attn.attention
          ins(%q, %k, %v : tensor<2x8x?x64xf32>, tensor<2x8x?x64xf32>, tensor<2x8x?x64xf32>)
          outs(%init : tensor<2x8x?x64xf32>)
      return %o : tensor<2x8x?x64xf32>
    }
    ```

    After, besides `@f`, shortened:

    ```mlir
    func.func @f.shapes(%q: tensor<2x8x?x64xf32>, %k: tensor<2x8x?x64xf32>, %v: tensor<2x8x?x64xf32>)
        -> (i1, index, index, index, index, index, index)
        attributes {attn.constraints = ["...: expects k and v to have the same length, but got %0 and %1"]} {
      %sq = tensor.dim %q, %c2 : tensor<2x8x?x64xf32>
      %sk = tensor.dim %k, %c2 : tensor<2x8x?x64xf32>
      %sv = tensor.dim %v, %c2 : tensor<2x8x?x64xf32>
      %ok = arith.cmpi eq, %sk, %sv : index
      return %ok, %sk, %sv, %c2, %c8, %sq, %c64 : i1, index, index, index, index, index, index
    }
    ```

    Errors: an extent of a result, or one that a constraint is about, that depends on data and
    not on extents alone.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::tensor::TensorDialect"
  ];
}

def AttnDestinationArgumentsPass : Pass<"attn-destination-arguments", "::mlir::ModuleOp"> {
  let summary = "let the caller provide the memory of results";
  let description = [{
    Each result of a public function with a body becomes one more argument of the same type, the
    destination, at the end of the arguments; a scalar result becomes a tensor of rank 0. The value that was returned is
    written there, and what is returned is the destination. Where the value was computed
    into a `tensor.empty`, it is computed into the destination instead,
    so that bufferization neither allocates nor copies.

    Destinations are marked as writable, and arguments that are tensors as not writable. A destination is named by the
    `attn.name` of the result, or "out" and its number.

    Functions with `attn.constraints`, which attn-shape-function makes, stay as they are.

    Before:

    ```mlir
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %init = tensor.empty() : tensor<4xf32>
      %y = linalg.exp ins(%x : tensor<4xf32>) outs(%init : tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```

    After:

    ```mlir
    func.func @f(%x: tensor<4xf32> {bufferization.writable = false},
                 %out0: tensor<4xf32> {attn.name = "out0", bufferization.writable = true}) -> tensor<4xf32> {
      %y = linalg.exp ins(%x : tensor<4xf32>) outs(%out0 : tensor<4xf32>) -> tensor<4xf32>
      %r = bufferization.materialize_in_destination %y in %out0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }
    ```

    Errors: a result that is neither a ranked tensor nor a scalar; several return operations; a
    function that is called in the module.
  }];
  let dependentDialects = [
    "::mlir::bufferization::BufferizationDialect", "::mlir::func::FuncDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

#endif // ATTN_DIALECT_ATTN_TRANSFORMS_TENSORPASSES_TD
