//===- Passes.td - Passes of the attn dialect -------------*- tablegen -*-===//
//
// Passes in the order in which the pipelines run them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_TRANSFORMS_PASSES_TD
#define ATTN_DIALECT_ATTN_TRANSFORMS_PASSES_TD

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

    `f_grad` takes the arguments of `f`, its results of floats, and their gradients, and returns a gradient for each argument of floats that the results depend on, or for those
    that `wrt` names. What `f` has returned is not computed again: where it returns both `o` and `lse` of an attention, that is all that is kept of it.
    Names are those of `f` with a `d` in front. With `joint`, it does not take the results of `f`, but computes and returns them too.

    Where a function has no derivative: of a minimum or a maximum of equal numbers, either gets half of the gradient; those of an absolute value and of a square root at 0 are 0; rounding and integers have
    none. The side of a choice that is not taken adds nothing, and no NaN.

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
    Option<"joint", "joint", "bool", /*default=*/"false", "compute and return the results of the function too">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
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
    * `arith.addui_extended`, `mulsi_extended` and `mului_extended` additions and products.

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

    * `gathered`: with `one-per-launch`, as for a GPU. The lists stay, but the attention is marked `attn.gathered`: tiles of queries meet the keys that some of their lists hold.
      What it costs grows with these. It is taken only if it is asked for.

    With `auto`, costs of the first two are computed from the extents of the operands, as a model has them that was measured
    (`SparsityCosts.cpp`); where extents are not known, by the program when it runs, in which both forms stand then. Dense is not chosen where words would have more than 2 GiB.
    `xformers` chooses by the rule of xFormers, a baseline: lists below 30 % of all pairs.
    An attention that has a schedule has the form that the schedule is for.

    With `one-per-launch`, as for a GPU, `auto` and `xformers` leave the lists: kernels of both forms are made from the same program, and a launch takes one.

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
           "auto, dense, blocks, lists, gathered, or xformers">,
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

def AttnPlanPass : Pass<"attn-plan", "::mlir::ModuleOp"> {
  let summary = "add functions that compute the extents of results";
  let description = [{
    For each public function `F` with a body, adds a function `F.plan` with the arguments
    of `F`. It reads the extents of its arguments and nothing else, and has no branches. It returns

    * for each constraint on extents a condition, and two extents that break it if it does not hold;
    * then the extents of the results of `F`, dimension by dimension and result by result.

    The function attribute `attn.constraints` of `F.plan` holds one text for each
    constraint, in which `%0`, `%1` stand for its two extents. A kernel package keeps the function as a
    list of operations, which a call evaluates; what is wrong with extents is the first constraint that they break.
    There are constraints for

    * each `attn.attention`: batches, heads and lengths of q, k, v, o and lse agree, and a sparsity has the blocks that they have;
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
    func.func @f.plan(%q: tensor<2x8x?x64xf32>, %k: tensor<2x8x?x64xf32>, %v: tensor<2x8x?x64xf32>)
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

    Functions with `attn.constraints`, which attn-plan makes, stay as they are.

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

//===----------------------------------------------------------------------===//
// Tensor to online level
//===----------------------------------------------------------------------===//

def AttnOnlineSoftmaxPass : Pass<"attn-online-softmax"> {
  let summary = "make the softmax of attentions an associative reduction over keys";
  let description = [{
    Replaces each `attn.attention` by an `attn.online_attention` that starts
    from the neutral state (acc = 0, max = -inf, sum = 0) and an
    `attn.finalize`. The regions move over unchanged; the scale becomes explicit.

    Precondition: none. Postcondition: no `attn.attention` is left.

    Before:

    ```mlir
    func.func @plain(%q: tensor<2x4x16x8xf32>, %k: tensor<2x4x16x8xf32>, %v: tensor<2x4x16x8xf32>,
                     %o: tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32> {
      %r = attn.attention ins(%q, %k, %v : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
          outs(%o : tensor<2x4x16x8xf32>)
      return %r : tensor<2x4x16x8xf32>
    }
    ```

    After:

    ```mlir
    %acc = linalg.fill ins(%zero : f32) outs(%0 : tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32>
    %max = linalg.fill ins(%neg_inf : f32) outs(%1 : tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %sum = linalg.fill ins(%zero : f32) outs(%2 : tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %s0, %s1, %s2 = attn.online_attention scale 0.35355339059327373
        ins(%q, %k, %v : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
        outs(%acc, %max, %sum : tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16xf32>)
    %r = attn.finalize ins(%s0, %s1, %s2 : tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16xf32>)
        outs(%o : tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32>
    ```
  }];
  let options = [
    Option<"rescale", "rescale", "::mlir::attn::Rescale", /*default=*/"::mlir::attn::Rescale::Exact",
           "whether steps of the softmax bring the state to each new maximum, or only to one that is much larger (attn.online_step)",
           [{::llvm::cl::values(
               clEnumValN(::mlir::attn::Rescale::Exact, "exact", "to each new maximum"),
               clEnumValN(::mlir::attn::Rescale::Lazy, "lazy", "to one that is larger by more than 8, in base 2; or never where all scores are in a range, such as that of a soft-cap"))}]>
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

//===----------------------------------------------------------------------===//
// Online level
//===----------------------------------------------------------------------===//

def AttnClassifyBlocksPass : Pass<"attn-classify-blocks"> {
  let summary = "derive the keys that a tile of queries needs from its mask";
  let description = [{
    Fills the `blocks` region of each `attn.online_attention` that has a mask and no bounds yet.

    The mask is read as a tree of conjunctions, disjunctions, negations and choices over
    comparisons `a * j + r >= 0`, where `a` is a constant and `r` a sum of integers that do not
    depend on `j` and grow or fall with `i`: `i` itself, multiples, quotients, minima and maxima of
    such, and anything made of `b`, `h` and captures. Comparisons may be of any
    predicate (unsigned ones where the sign of one side is known), on index or integers.
    `maxsi`, `minsi`, `absi`, `select`, and quotients of `j` by a positive constant are taken apart too.
    All else is unknown.

    Over the rows `i0 <= i < i1` a comparison is an interval of keys for which some row allows the key, and one
    for which all do. A conjunction intersects both. A disjunction takes the hull of the
    first, and of the second the union if it is an interval, otherwise the longer one.
    A choice by a condition that does not depend on `i` and `j` selects. What is unknown may allow any
    key, and allows none for certain; where nothing is known of the whole
    mask the region stays absent.

    The region holds straight-line code. It yields `0 <= lo <= full_lo <= full_hi <= hi <= skv`
    for `0 <= i0 < i1` and any `skv`, where captures are read as the mask reads them for every key, so
    that it is for tiles that have a row and a key.

    Lengths, batches and heads are taken to be below 2^31, and arithmetic on index and i64
    in the mask not to overflow; narrower integers may wrap. A single captured integer in a comparison
    may have any value. Where several meet in one comparison, those beyond 2^44 in magnitude stand for infinity.

    Precondition: none, though masks are best understood after `attn-canonicalize-score`.
    An attention with offsets is left alone.
    Postcondition: none; bounds are optional.

    Remarks: `classified`, or `partial-everywhere` with the reason, at the operation
    that was not understood.

    Before, a sliding window:

    ```mlir
    %r:3 = attn.online_attention scale 1.000000e+00
        ins(%q, %k, %v : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
        outs(%acc, %max, %sum : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
        mask(%b, %h, %i, %j) {
          %c128 = arith.constant 128 : index
          %d = arith.subi %i, %j : index
          %near = arith.cmpi slt, %d, %c128 : index
          %past = arith.cmpi sle, %j, %i : index
          %p = arith.andi %near, %past : i1
          attn.yield %p : i1
        }
    ```

    After, the same with:

    ```mlir
        blocks(%b, %h, %i0, %i1, %skv) {
          %c0 = arith.constant 0 : index
          %c-128 = arith.constant -128 : index
          %c-127 = arith.constant -127 : index
          %c1 = arith.constant 1 : index
          %0 = arith.addi %i0, %c-127 : index
          %1 = arith.addi %i1, %c-128 : index
          %2 = arith.addi %i0, %c1 : index
          %hi = arith.minsi %i1, %skv : index
          %3 = arith.maxsi %0, %c0 : index
          %lo = arith.minsi %3, %hi : index
          %4 = arith.maxsi %1, %c0 : index
          %full_lo = arith.minsi %4, %hi : index
          %5 = arith.minsi %2, %skv : index
          %full_hi = arith.maxsi %full_lo, %5 : index
          attn.yield %lo, %full_lo, %full_hi, %hi : index, index, index, index
        }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"
  ];
}

def AttnLiftMaskPass : Pass<"attn-lift-mask"> {
  let summary = "derive whether a tile of queries and keys is needed from its mask";
  let description = [{
    Fills the `tiles` region of each `attn.online_attention` whose mask bounds in `blocks` do
    not describe: one that allows keys in several intervals (a window and some keys for all, blocks with gaps,
    all but some keys), or in ones that depend on data (documents).

    The region is the mask itself, lifted from a pair `(i, j)` to the pairs of a tile: straight-line code on
    the ends of intervals. `i` becomes the interval from `i0` to `i1 - 1`, `j` that from `j0` to `j1 - 1`; `b`, `h`, captured scalars
    and what is computed from these alone are exact. A comparison becomes two, whether it may hold and whether it must,
    and conjunction, disjunction, negation and choice act on these pairs.

    * Sums, differences, products, minima, maxima, `absi`, `select`, `scf.if`, conversions: the exact interval, if each
      operand occurs once. Sums that leave 64 bits saturate. Integers of fewer bits that may wrap may be anything.
    * Quotients and right shifts by positive integers that are constant or the same for the tile: exact.
    * Remainders and the low bits of an integer: exact where the interval lies within one period, otherwise the
      whole period. Whether a remainder by a constant equals an integer is exact for any interval.
    * Other `andi`, `ori`, `xori` on integers that are not negative: the bits above the highest one that changes within the tile
      are exact, and the others are unknown.
    * A read of a captured tensor of integers: the least and the largest element that its indices reach (`attn.range`), if these are at
      most some 256 for a tile. With i1, whether any and whether all are true.
    * All else may be anything that the analysis of ranges does not rule out.

    A tile is empty, or needs no predicate, only if that is certain for each pair on its own: sound whatever the captures hold,
    under the assumptions of `attn-classify-blocks`. A mask of which it is certain for all tiles that no pair is allowed becomes
    `false`, with the bounds of that, and one that allows all pairs of any tile is removed.

    Precondition: none, though `attn-classify-blocks` runs before it, since a mask of intervals is left to it. An attention with
    offsets is left alone, and so is one whose tiles the mask does not tell apart. Postcondition: none; the region is optional.

    Remarks: `lifted`.

    Before, the first 4 keys and a window:

    ```mlir
    %r:3 = attn.online_attention scale 1.000000e+00
        ins(%q, %k, %v : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
        outs(%acc, %max, %sum : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
        mask(%b, %h, %i, %j) {
          %c4 = arith.constant 4 : index
          %c128 = arith.constant 128 : index
          %d = arith.subi %i, %j : index
          %a = math.absi %d : index
          %near = arith.cmpi slt, %a, %c128 : index
          %first = arith.cmpi slt, %j, %c4 : index
          %p = arith.ori %near, %first : i1
          attn.yield %p : i1
        }
    ```

    After, the same with:

    ```mlir
        tiles(%b, %h, %i0, %i1, %j0, %j1) {
          %c0 = arith.constant 0 : index
          %c128 = arith.constant 128 : index
          %c4 = arith.constant 4 : index
          %c1 = arith.constant 1 : index
          %0 = arith.subi %i1, %c1 : index
          %1 = arith.subi %j1, %c1 : index
          %2 = arith.subi %i0, %1 : index
          %3 = arith.subi %0, %j0 : index
          %4 = arith.subi %c0, %3 : index
          %5 = arith.subi %c0, %2 : index
          %6 = arith.maxsi %2, %4 : index
          %7 = arith.maxsi %6, %c0 : index
          %8 = arith.maxsi %5, %3 : index
          %9 = arith.cmpi slt, %7, %c128 : index
          %10 = arith.cmpi slt, %8, %c128 : index
          %11 = arith.cmpi slt, %j0, %c4 : index
          %12 = arith.cmpi slt, %1, %c4 : index
          %may = arith.ori %9, %11 : i1
          %must = arith.ori %10, %12 : i1
          attn.yield %may, %must : i1, i1
        }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def AttnAssignSchedulePass : Pass<"attn-assign-schedule"> {
  let summary = "choose how each attention is cut into tiles";
  let description = [{
    Gives each attention that has none a `#attn.schedule`, chosen for a CPU
    with vectors of `vector-bits`, `vector-registers` of them, and a first-level
    data cache of `l1-bytes`: the inner kernel holds as many sums as the
    registers allow, and the tiles that one step touches fit in the cache. Where the mask reads captures at
    quotients of positions by constants, which tell blocks apart, a tile divides a block if it can.

    Precondition: static head dimensions. Postcondition: each attention has a schedule.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", /*default=*/"256",
           "width of a vector register in bits">,
    Option<"vectorRegisters", "vector-registers", "unsigned", /*default=*/"16",
           "number of vector registers">,
    Option<"l1Bytes", "l1-bytes", "unsigned", /*default=*/"32768",
           "size of the first-level data cache in bytes">
  ];
}

//===----------------------------------------------------------------------===//
// Online to tile level
//===----------------------------------------------------------------------===//

def AttnPackHeadsPass : Pass<"attn-pack-heads"> {
  let summary = "make rows of one head of those of heads that share keys";
  let description = [{
    Where the schedule packs heads (`pack_heads` of `#hopper.schedule`), an `attn.online_attention` and the `attn.finalize` of its state become
    those of fewer heads with more rows: P heads of a group become one (`attn.pack_heads`), where a group is what has one head of keys and values.
    P is a power of two that divides the heads of a group, up to what the schedule says; a launch chooses it
    (`attn.packed_count`), so that one program serves any extents.

    The regions get P as one more capture. Of row `r` of packed head `u` the query is `r / P` and the head `u * P + r mod P`; bounds of
    keys are those of all queries that some row is of.

    Precondition: attentions have no `sparsity`, no `offsets` and no `tiles` region, and bounds in `blocks` do not depend on the head;
    the state starts filled, and one `attn.finalize` takes it. Anything else is an error.
    Postcondition: attentions compute with `attn.pack_heads` of queries and destinations; `attn.unpack_heads` gives the results.

    Before, with 8 heads of queries for 2 of keys:

    ```mlir
    %r:3 = attn.online_attention ... mask(%b, %h, %i, %j) { %p = arith.cmpi sle, %j, %i : index ... }
    ```

    After:

    ```mlir
    %p = attn.packed_count %q heads 1 of %k heads 1 most 64 : tensor<2x8x?x64xbf16>, tensor<2x2x?x64xbf16>
    %packed = attn.pack_heads %q by %p heads 1 rows 2 : tensor<2x8x?x64xbf16> -> tensor<2x?x?x64xbf16>
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

    * for `dq`, over tiles of queries, each with a loop over tiles of keys,
    * for `dk` and `dv`, over tiles of keys, each with a loop over tiles of the queries of all heads and batches that share them,
    * for each capture, over parts of its gradient that work tiles do not share, and in each over all pairs that may contribute to it, with `attn.scatter`.

    The steps of these loops are `@load_q`, `@load_k`, `@load_v`, `@load_do`, the products `@qk` and `@dp`, `@exp`, which makes probabilities of scores and lse, `@ds`, which makes the
    gradients of the products of queries and keys, and the sums `@dq`, `@dk`, `@dv`. Probabilities are computed in each of them, and not kept.

    With `one-pass` there is one loop, over tiles of keys, in which each tile of queries is met once: what it gets of `dq` is added to a buffer that work tiles share
    (`attn.accumulate`, step `@red`). A loop over queries before it computes what they share, lse in base 2 and delta, and one behind it rounds `dq`. Queries of all heads that share the keys are one loop. Probabilities are rounded before
    they are multiplied, as an eager program does.

    Precondition: each gradient has a schedule. Postcondition: there is no `attn.attention_grad` left.

    Errors: a gradient without a schedule, or with a sparsity; an operation in a region that has no form on tiles; the gradient of a capture with `one-pass`.
  }];
  let options = [
    Option<"onePass", "one-pass", "bool", /*default=*/"false",
           "One loop over all pairs, whose sums of queries are in memory">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"
  ];
}

def AttnTilePass : Pass<"attn-tile"> {
  let summary = "cut attentions into loops over tiles of queries and keys";
  let description = [{
    Each `attn.finalize` with the `attn.online_attention` that feeds it alone becomes one
    `scf.forall` over (batch, head, tile of queries). Its body is the program of one worker:
    it loads its queries once, loops over tiles of keys with the state of the
    softmax in loop-carried vectors, and writes its rows of the results.
    An online attention or a finalize on its own is cut the same way, with the state in tensors.

    The loop over keys is one `attn.tile_loop`, whatever the target, from `lo` to `hi` of the `blocks` region, so that tiles without an
    allowed key at either end are not visited. Its steps have names (`attn.step`), and the predicate is the region of an `attn.mask_tile`.
    Tiles between `full_lo` and `full_hi` are full, and need no predicate. Without bounds none is known to be full; without a mask all are but the last, ragged one.
    Where the bounds tell that of any partition of the rows only the last tile is not full, as under a causal mask, the loop says so.

    With a `tiles` region that tells tiles of keys apart, the loop has the class of each tile from it: whether it is needed, and whether it is full. What the region computes of the rows alone is computed once for a
    tile of queries. Each `attn.range` that depends on the keys and not on the rows is answered before the
    loop over workers, for all tiles of keys: two tensors of `[B or 1, H or 1, number of tiles]`, filled by a loop over workers of their own.
    With a schedule of one loop over keys the region is ignored.

    With lists of single keys (a sparsity of lists with blocks of 1x1) and a `#attn.row_schedule`, a tile has one query, and the loop is over its list, in steps
    of `tile_n` keys, whose rows of k and v are gathered. Whatever the lists hold, nothing outside of the operands is read. `blocks` and `tiles` are ignored.

    With such lists and another schedule of one loop over keys, `attn.list_unions` in front of the loop over workers finds the keys that some query of each tile has. The loop over keys counts those, in steps of
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
    Postcondition: of the dialect only `attn.tile_loop`, `attn.step`, `attn.mask_tile`, `attn.affine_scores`, `attn.online_step`, `attn.gather`, `attn.list_unions`, `attn.report` and views of packed heads are left.

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

def AttnDecomposeOnlineStepPass : Pass<"attn-decompose-online-step"> {
  let summary = "make arithmetic of steps of the online softmax";
  let description = [{
    Each `attn.online_step` becomes operations of vector, arith and math on the same tiles: the maximum and the sum over the keys are
    `vector.multi_reduction`, statistics of queries are broadcast.

    * With `rescale(exact)`, the maximum is that of all keys so far.
    * With `rescale(lazy)`, each query keeps its maximum where that of the scores is above it by no more than 8.
    * With `rescale(never)`, the maximum stays, and nothing is rescaled.

    Powers of two have `fastmath<afn>`: those below the normal numbers may be 0.

    Postcondition: no `attn.online_step` is left.

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
    once for a tile of queries.
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

#endif // ATTN_DIALECT_ATTN_TRANSFORMS_PASSES_TD
