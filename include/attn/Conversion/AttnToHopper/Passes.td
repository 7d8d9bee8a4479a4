//===- Passes.td - Passes from tiles to Hopper kernels -----*- tablegen -*-===//

#ifndef ATTN_CONVERSION_ATTNTOHOPPER_PASSES_TD
#define ATTN_CONVERSION_ATTNTOHOPPER_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnHopperAssignSchedulePass : Pass<"attn-hopper-assign-schedule"> {
  let summary = "choose how each attention runs on a Hopper GPU";
  let description = [{
    Gives each attention that has none a `#hopper.schedule`, by its head dimensions and by whether it has a mask, and a bias that is affine in the key; one whose queries have lists of
    single keys gets an `#attn.row_schedule`.

    With `list`, remarks tell all schedules of the table for each attention, in the order in which a compilation tries them, with what they cost and the numbers of their rows. `schedules` names a file with another
    table than the compiler's own (docs/gpu.md).

    Elements other than bf16 and f16, and head dimensions that tiles do not have (multiples of 8, of values up to 256 and of queries up to 576), have a schedule of single queries. A score that does not ask for the product of queries and keys gets it by a choice that is never taken, as kernels start from one.

    Postcondition: each attention has a schedule.

    Before:

    ```mlir
    func.func @f(%q: tensor<1x8x?x128xbf16>, %o: tensor<1x8x?x128xbf16>) -> tensor<1x8x?x128xbf16> {
      %r = attn.attention ins(%q, %q, %q : tensor<1x8x?x128xbf16>, tensor<1x8x?x128xbf16>, tensor<1x8x?x128xbf16>) outs(%o : tensor<1x8x?x128xbf16>)
      return %r : tensor<1x8x?x128xbf16>
    }
    ```

    After:

    ```mlir
    func.func @f(%q: tensor<1x8x?x128xbf16>, %o: tensor<1x8x?x128xbf16>) -> tensor<1x8x?x128xbf16> {
      %r = attn.attention schedule #hopper.schedule<tile_m = ...>
    ...
      return %r : tensor<1x8x?x128xbf16>
    }
    ```

    Errors: a schedule of tiles for other head dimensions; one that the table does not have, with tiles that are more than the registers of a thread hold; a file that is no table of schedules, or one with no row for an attention.
  }];
  let options = [
    Option<"list", "list", "bool", "false", "Tell all schedules of the table for each attention">,
    Option<"schedules", "schedules", "std::string", "\"\"", "A file with another table of schedules than that of the compiler">
  ];
  let dependentDialects = ["::mlir::attn::hopper::HopperDialect"];
}

def AttnHopperExpandGradientsPass : Pass<"attn-hopper-expand-gradients", "::mlir::ModuleOp"> {
  let summary = "gradients without tiles become attentions";
  let description = [{
    A gradient that matrix instructions do not compute, of f32, of a head dimension above 256, or on a target without wgmma, becomes attentions, which have kernels for all of these: one for each of `dq`, `dk` and `dv`
    that is wanted. What a probability is multiplied by in a gradient is the weight of the pair, the second value that a score yields:

    ```
    dq[i] = sum_j softmax(s[i, :])[j] c[i, j] k[j]                       c = scale * adjoint(w dp - delta)
    dk[j] = exp(l[j]) sum_i softmax((s - lse)[:, j])[i] c[i, j] q[i]     l[j] = ln sum_i exp(s[i, j] - lse[i])
    dv[j] = exp(l[j]) sum_i softmax((s - lse)[:, j])[i] w[i, j] do[i]
    ```

    Attentions for `dk` and `dv` have the keys as queries, for each query head, so that their results, in f32, are summed over the heads and batches that share a key. Lists of blocks become bits for them. All sums are in one order.
    An element of the gradient of a capture is a sum over the pairs that its indices may belong to: with this position where an index is `b`, `h`, `i` or `j`, and else all, for which the index function is evaluated.
    Gradients of f64 are left alone, and an error of `attn-hopper-assign-schedule`.

    Before:

    ```mlir
    %dq = attn.attention_grad wrt(q) ins(%q, %k, %v, %o, %lse, %do : ...) outs(%init : tensor<1x2x?x64xf32>)
    ```

    After:

    ```mlir
    %delta = linalg.generic ... ins(%do, %o : ...)
    %dq = attn.attention ins(%q, %k, %k : ...) captures(%lse, %delta, %do, %v : ...) outs(%init : tensor<1x2x?x64xf32>)
        score(%s, %b, %h, %i, %j, %ls, %de, %d, %vs) {
          %dp = scf.for %e = %c0 to %c64 step %c1 iter_args(%sum = %zero) -> f32 { ... }
          %delta = tensor.extract %de[%b, %h, %i] : tensor<1x2x?xf32>
          %ds = arith.subf %dp, %delta : f32
          %c = arith.mulf %ds, %scale : f32
          ...
          attn.yield %s, %weight : f32, f32
        }
    ```
  }];
  let dependentDialects = ["::mlir::attn::hopper::HopperDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def AttnHopperSplitGradientsPass : Pass<"attn-hopper-split-gradients", "::mlir::ModuleOp"> {
  let summary = "the gradient of queries by a kernel of its own";
  let description = [{
    A gradient of bf16 or f16 with more than 128 columns of queries and keys or of values becomes two: that of queries, and that of all else. Work tiles of 64 keys, as many as have `dk` and `dv` in registers, would add `dq` to memory so often that this takes longer than products.
    Work tiles of queries have `dq` in registers, and compute scores and the gradients of probabilities a second time. They write `dq` once, so that there is no buffer of sums in f32, and nobody has to wait for a turn.
    Left alone are gradients of queries alone, or of all else, and those with a schedule.

    Precondition: none. Postcondition: none.

    Before:

    ```mlir
    func.func @f(%x: tensor<1x2x?x256xbf16>, %lse: tensor<1x2x?xf32>) -> (tensor<1x2x?x256xbf16>, tensor<1x2x?x256xbf16>) {
      %dq, %dk = attn.attention_grad wrt(q, k)
        ins(%x, %x, %x, %x, %lse, %x : tensor<1x2x?x256xbf16>, tensor<1x2x?x256xbf16>, tensor<1x2x?x256xbf16>, tensor<1x2x?x256xbf16>, tensor<1x2x?xf32>, tensor<1x2x?x256xbf16>)
        outs(%x, %x : tensor<1x2x?x256xbf16>, tensor<1x2x?x256xbf16>)
      return %dq, %dk : tensor<1x2x?x256xbf16>, tensor<1x2x?x256xbf16>
    }
    ```

    After:

    ```mlir
    func.func @f(%arg0: tensor<1x2x?x256xbf16>, %arg1: tensor<1x2x?xf32>) -> (tensor<1x2x?x256xbf16>, tensor<1x2x?x256xbf16>) {
      %dq = attn.attention_grad wrt(q)
          ins(%arg0, %arg0, %arg0, %arg0, %arg1, %arg0 : tensor<1x2x?x256xbf16>, tensor<1x2x?x256xbf16>, tensor<1x2x?x256xbf16>, tensor<1x2x?x256xbf16>, tensor<1x2x?xf32>, tensor<1x2x?x256xbf16>)
          outs(%arg0 : tensor<1x2x?x256xbf16>)
      %dk = attn.attention_grad wrt(k)
          ins(%arg0, %arg0, %arg0, %arg0, %arg1, %arg0 : tensor<1x2x?x256xbf16>, tensor<1x2x?x256xbf16>, tensor<1x2x?x256xbf16>, tensor<1x2x?x256xbf16>, tensor<1x2x?xf32>, tensor<1x2x?x256xbf16>)
          outs(%arg0 : tensor<1x2x?x256xbf16>)
      return %dq, %dk : tensor<1x2x?x256xbf16>, tensor<1x2x?x256xbf16>
    ```
  }];
}

def AttnHopperSplitValuesPass : Pass<"attn-hopper-split-values", "::mlir::ModuleOp"> {
  let summary = "values of no more columns than there are registers for";
  let description = [{
    An attention of bf16 or f16 whose values have more than 256 columns becomes several, with the same queries and keys and with as even a part of the columns each, of which the results are put together. The weights of all are the same, and the first one has the log-sum-exp.
    Parts of values and results are copied by launches of their own (`attn-hopper-element-loops`). Left alone are attentions whose queries have more than 576 columns or lists of single keys, those with a `#attn.row_schedule`, and all on targets without wgmma.

    Before:

    ```mlir
    %o = attn.attention ins(%q, %k, %v : !q, !q, !v) outs(%init : !v)
    ```

    After, with 512 columns:

    ```mlir
    %v0 = tensor.extract_slice %v[0, 0, 0, 0] [1, 2, %n, 256] [1, 1, 1, 1] : tensor<1x2x?x512xbf16> to tensor<1x2x?x256xbf16>
    %o0 = attn.attention ins(%q, %k, %v0 : ...) outs(%init0 : tensor<1x2x?x256xbf16>)
    %a = tensor.insert_slice %o0 into %init[0, 0, 0, 0] [1, 2, %m, 256] [1, 1, 1, 1] : tensor<1x2x?x256xbf16> into tensor<1x2x?x512xbf16>
    %v1 = tensor.extract_slice %v[0, 0, 0, 256] [1, 2, %n, 256] [1, 1, 1, 1] : tensor<1x2x?x512xbf16> to tensor<1x2x?x256xbf16>
    %o1 = attn.attention ins(%q, %k, %v1 : ...) outs(%init1 : tensor<1x2x?x256xbf16>)
    %o = tensor.insert_slice %o1 into %a[0, 0, 0, 256] [1, 2, %m, 256] [1, 1, 1, 1] : tensor<1x2x?x256xbf16> into tensor<1x2x?x512xbf16>
    ```
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def AttnHopperUseTanhPass : Pass<"attn-hopper-use-tanh"> {
  let summary = "logistic functions by the instruction for tanh";
  let description = [{
    `1 / (1 + exp(-x))` takes an exponential and a reciprocal, of which a multiprocessor makes 16 in a cycle. In the regions of attentions of bf16 and f16, `0.5 + 0.5 * tanh(x / 2)` takes their place, whose tanh is one instruction,
    and `h + h * tanh(h)` with `h = x / 2` that of `x / (1 + exp(-x))`. The instruction is off by 2^-11 at most, relative to 1: an eighth of what the rounding of such a function to bf16 is off by near 1.
    Derivatives have the same exponential: what is divided by `1 + exp(-x)` and multiplied by `exp(-x)` is multiplied by `0.5 - 0.5 * tanh(x / 2)`.
    Exponentials that are used besides stay, and so do functions of what is not only added and multiplied from there on: of a small value, as in a logarithm, nothing would be left.

    Precondition: none. Postcondition: none.

    Before:

    ```mlir
    func.func @f(%q: tensor<2x4x?x64xbf16>, %init: tensor<2x4x?x64xbf16>) -> tensor<2x4x?x64xbf16> {
      %o = attn.attention ins(%q, %q, %q : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>)
        outs(%init : tensor<2x4x?x64xbf16>)
        score(%s, %b, %h, %i, %j) {
          %one = arith.constant 1.0 : f32
          %n = arith.negf %s : f32
          %e = math.exp %n : f32
          %d = arith.addf %e, %one : f32
          %y = arith.divf %s, %d : f32
          attn.yield %y : f32
        }
      return %o : tensor<2x4x?x64xbf16>
    }
    ```

    After:

    ```mlir
    func.func @f(%q: tensor<2x4x?x64xbf16>, %init: tensor<2x4x?x64xbf16>) -> tensor<2x4x?x64xbf16> {
      %o = attn.attention
        ins(%q, %q, %q : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>)
        outs(%init : tensor<2x4x?x64xbf16>)
        score(%s, %b, %h, %i, %j) {
          %half = arith.constant 5.000000e-01 : f32
          %x = arith.mulf %s, %half : f32
          %t = math.tanh %x : f32
          %z = arith.mulf %x, %t : f32
          %y = arith.addf %z, %x : f32
          attn.yield %y : f32
        }
      return %o : tensor<2x4x?x64xbf16>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def AttnHopperPadHeadDimsPass : Pass<"attn-hopper-pad-head-dims", "::mlir::ModuleOp"> {
  let summary = "head dimensions that are multiples of 8";
  let description = [{
    An attention of bf16 or f16 whose head dimensions are no multiples of 8, of values up to 256 and of queries up to 576, or a gradient of one up to 256, is computed of copies of q, k and v (and o and do) with columns of zeros behind their own, and of o (of dq, dk and dv) the first
    columns are its results. They are as exact: what is added to products are zeros, and the scale is that of the head dimension that there is. The copies are launches of their own (`attn-hopper-element-loops`).
    Left alone are those with a `#attn.row_schedule`, and on targets without wgmma.

    Before:

    ```mlir
    %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
    ```

    After, with 24 columns in place of 20:

    ```mlir
    %zeros = tensor.splat %zero[%n] : tensor<1x2x?x24xbf16>
    %q24 = tensor.insert_slice %q into %zeros[0, 0, 0, 0] [1, 2, %n, 20] [1, 1, 1, 1] : tensor<1x2x?x20xbf16> into tensor<1x2x?x24xbf16>
    ...
    %o24 = attn.attention scale 0.223607 ins(%q24, %k24, %v24 : ...) outs(%init24 : tensor<1x2x?x24xbf16>)
    %o = tensor.extract_slice %o24[0, 0, 0, 0] [1, 2, %n, 20] [1, 1, 1, 1] : tensor<1x2x?x24xbf16> to tensor<1x2x?x20xbf16>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def AttnHopperElementLoopsPass : Pass<"attn-hopper-element-loops", "::mlir::ModuleOp"> {
  let summary = "turn tensors computed around attentions into loops over elements";
  let description = [{
    What attentions read and a function returns has to be in memory. A tensor that operations compute element by element becomes a loop with an iteration for each element, in which all is computed that goes into it: arithmetic on tensors,
    operations of linalg, slices and shapes. Sums, and what several operations read, have loops of their own, so that they are computed once.

    Each loop is a launch, as an attention is (`attn-hopper-select-launch`).

    Before:

    ```mlir
    func.func @f(%a: tensor<8x64xbf16>, %b: tensor<8x64xbf16>, %c: tensor<8x64xbf16>) -> tensor<8x64xbf16> {
      %0 = arith.addf %a, %b : tensor<8x64xbf16>
      %1 = arith.addf %0, %c : tensor<8x64xbf16>
      return %1 : tensor<8x64xbf16>
    }
    ```

    After:

    ```mlir
    func.func @f(%a: tensor<8x64xbf16>, %b: tensor<8x64xbf16>, %c: tensor<8x64xbf16>) -> tensor<8x64xbf16> {
      %empty = tensor.empty() : tensor<8x64xbf16>
      %1 = scf.forall (%i, %j) in (8, 64) shared_outs(%out = %empty) -> (tensor<8x64xbf16>) {
        %x = tensor.extract %a[%i, %j] : tensor<8x64xbf16>
        %y = tensor.extract %b[%i, %j] : tensor<8x64xbf16>
        %2 = arith.addf %x, %y : bf16
        %z = tensor.extract %c[%i, %j] : tensor<8x64xbf16>
        %3 = arith.addf %2, %z : bf16
        ...
      } {mapping = [#attn.worker<0>, #attn.worker<1>]}
      return %1 : tensor<8x64xbf16>
    }
    ```

    Errors: tensors that another operation computes.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::attn::AttnDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def AttnHopperSelectLaunchPass : Pass<"attn-hopper-select-launch", "::mlir::ModuleOp"> {
  let summary = "keep one launch of several";
  let description = [{
    Of a function with several attentions, gradients of some, or loops over elements, keeps the one with the number `launch`, in the order of the program. The others have run before it or will run behind it, each with the same arguments: of what they
    compute there are the destinations. A destination that is a new tensor, such as an lse that only gradients need, becomes an argument behind all others, of which the attribute `hopper.scratch` tells the extents; the launch that computes it returns it.

    Before, with `launch=1`:

    ```mlir
    func.func @f(%q: tensor<1x8x?x64xbf16>, %do: tensor<1x8x?x64xbf16>, %oi: tensor<1x8x?x64xbf16>, %qi: tensor<1x8x?x64xbf16>) -> (tensor<1x8x?x64xbf16>, tensor<1x8x?x64xbf16>) {
      %li = tensor.empty(%n) : tensor<1x8x?xf32>
      %o, %l = attn.attention ins(%q, %q, %q : ...) outs(%oi, %li : ...)
      %dq = attn.attention_grad wrt(q) ins(%q, %q, %q, %o, %l, %do : ...) outs(%qi : ...)
      return %o, %dq : tensor<1x8x?x64xbf16>, tensor<1x8x?x64xbf16>
    }
    ```

    After:

    ```mlir
    func.func @f(%q: tensor<1x8x?x64xbf16>, %do: tensor<1x8x?x64xbf16>, %oi: tensor<1x8x?x64xbf16>, %qi: tensor<1x8x?x64xbf16>, %l: tensor<1x8x?xf32>) -> (tensor<1x8x?x64xbf16>, tensor<1x8x?x64xbf16>)
        attributes {hopper.scratch = {first = 4, tables = [...]}} {
      %dq = attn.attention_grad wrt(q) ins(%q, %q, %q, %oi, %l, %do : ...) outs(%qi : ...)
      return %oi, %dq : tensor<1x8x?x64xbf16>, tensor<1x8x?x64xbf16>
    }
    ```

    Errors: a number that there is not; attentions within loops or branches; new tensors without dimensions.
  }];
  let options = [
    Option<"launch", "launch", "unsigned", "0", "The number of the launch to keep">
  ];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::attn::hopper::HopperDialect"];
}

def AttnHopperOutlineTablesPass : Pass<"attn-hopper-outline-tables", "::mlir::ModuleOp"> {
  let summary = "turn loops that fill tables for rows into kernels";
  let description = [{
    In a function with an `scf.forall` that has an `#attn.row_schedule`, each loop before it that fills tables becomes a kernel, as in `attn-hopper-outline`, in a `gpu.module` of its name and `.cuda`.
    The tables become arguments of the function behind all others, and its attribute `hopper.tables` says what they are; `attn-rows-to-nvvm` gives both to the kernel that it adds to the module.

    Precondition: results are destination arguments (`attn-destination-arguments`). Postcondition: such functions have no loop before their own.

    Before:

    ```mlir
    func.func @f(%q: tensor<1x2x?x64xf32>, ..., %rows: tensor<?xi32>, %columns: tensor<?xi32>, %o: tensor<1x2x?x64xf32>) -> tensor<1x2x?x64xf32> {
      %bits = scf.forall (%i, %j) in (%queries, %keys) shared_outs(...) -> (tensor<1x1x?x?xi1>) { ... }
      %r = scf.forall (%b, %h, %i) in (1, 2, %n) shared_outs(...) -> (tensor<1x2x?x64xf32>) {
        %bit = attn.gather %bits[...] mask ... : ...
        ...
      } {attn.schedule = #attn.row_schedule<rows = 4, tile_n = 32, lanes = 8>}
      ...
    }
    ```

    After:

    ```mlir
    gpu.module @f.cuda {
      gpu.func @f_prologue0(...) kernel attributes {hopper.elements = 6 : i64, ...} { ... }
    }
    func.func @f(%q: tensor<1x2x?x64xf32>, ..., %bits: tensor<1x1x?x?xi1>) -> tensor<1x2x?x64xf32> attributes {hopper.tables = {first = 6 : i64, ...}} {
      %r = scf.forall (%b, %h, %i) in (1, 2, %n) shared_outs(...) -> (tensor<1x2x?x64xf32>) {
        %bit = attn.gather %bits[...] mask ... : ...
        ...
      } {attn.schedule = #attn.row_schedule<rows = 4, tile_n = 32, lanes = 8>}
      ...
    }
    ```

    Errors: loops that do not write one element of tables in an iteration, or whose extents are not those of arguments.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect", "::mlir::attn::hopper::HopperDialect"
  ];
}

def AttnHopperOutlinePass : Pass<"attn-hopper-outline", "::mlir::ModuleOp"> {
  let summary = "turn loops over tiles into kernels of named steps";
  let description = [{
    Each function whose body is one `scf.forall` with a `#hopper.schedule` becomes a kernel in a `gpu.module` of its name and `.cuda`: a `hopper.work_loop` with
    the steps of the worker's program, as a warpgroup runs them for its 64 rows.

    * Steps of `attn.tile_loop` keep their names. Those that load a tile are in the partition `load`, the others in `compute`. The loop has the places that the schedule's `order` gives them. Without one, steps run
      as they are written, but that those behind a softmax are of stage 1, in front of that of the next block: `load_k, qk, load_v(1), pv(1), softmax`. `ping_pong` stands for turns from the first product to the last.
    * `load_q` and, with `q_in_registers`, `hold_q` come before the loop, and `store` behind it. Further tiles of a work tile are loaded by steps `load_argN`, of argument `N`.
    * A vector has the rows of a work tile, of which a replica has 64, as its last dimension. A product over these rows, `result[n, m] = sum_k a[n, k] b[m, k]`, is one of tiles: what a step computes of its rows goes to all
      replicas (`hopper.publish`). Each has 64 of the `m` of its result.
    * What a step reads of f32 with `vector.transfer_read` that is in bounds, as a vector of rank 1, is copied at once (`hopper.load_vector`).
    * `attn.accumulate` to a buffer becomes `hopper.reduce_add`, in the order of registers if the buffer has the layout `#hopper.fragment_order`.
    * The state of `attn.online_step` becomes that of `hopper.softmax_step`; `attn.mask_tile` becomes `hopper.mask`, with the class of the block. Where the number of keys is the only condition
      on positions beside others, a `hopper.mask` of its own asks for it, in the last block alone.
    * With a region `needed` the loop has `classes`. What they need that is the same for all blocks is computed in front of the loop.
    * Other loops of the function fill tables that the first one reads an element at a time. Each becomes a kernel that is to run before, with a warp for
      each iteration, which writes one element; the threads of the warp share out a loop of `minsi`, `maxsi`, `andi` or `ori` in it. So does `attn.key_union`, with a CTA for each Q block.
    * Rows that a table names are loaded by its list, and copied by a warpgroup. Such a schedule is not `persistent`.
    * Results of a persistent kernel are staged in shared memory of their own, some columns at a time where there is not enough for
      all, so that the next queries can come early. Otherwise they are staged in place of the queries.
    * A persistent kernel whose queries stay in shared memory until the last product has two tiles of them where there is memory for it.
    * With `strided`, threads copy tiles, for tensors that the hardware cannot map.
    * What is the same for all blocks is computed before the loop, and what is read by key, when its step starts.
    * With `capture_stages`, captures that are read in boxes with a row for each query and a column for each key come in tiles. Argument `N` is loaded by a step `load_argN` (other boxes of it: `load_argN_1`, ...), which an order may name.
      Otherwise it has the stage of the step that reads the capture, and comes right after the first step of the order that loads.
    * With `bias_in_product`, the step of the product of scores with a bias that is affine in the key adds a second product, of the slopes and the numbers of the keys in the block. A step `hold_slopes` before the
      loop computes the slopes; what the first key of a block gets is the `offset` of `hopper.softmax_step`. Slopes that are too large for that are left out, and the bias computed for each score.
    * What is multiplied is rounded to the element type of the tiles, as an eager program does.

    The arguments of the kernel say in attributes what the caller is to pass: `hopper.operand`, the number of an argument of the function;
    `hopper.dim`, for an extent of it; `hopper.dims`, for a map, the dimensions of the operand in the order batch, head, row, column.
    Tables are operands after those of the function; `hopper.tables` gives their extents, and `hopper.elements` of a kernel that fills some, the operand that has as many elements as it needs warps.
    The kernel's attribute `hopper.grid` says which extents give the number of tiles (`operand` and its `dims`: batch, head, row) and of keys (`key_operand`, `key_dim`).
    Where heads are packed (`attn.pack_gqa`), it says where the heads of keys are (`key_head_dim`), and an argument `hopper.packed_count` is how many are one.
    Boxes of queries and results have rows of so many heads then.

    Precondition: results are destination arguments (`attn-destination-arguments`). Postcondition: such functions are gone.

    Before:

    ```mlir
    %r = scf.forall (%b, %h, %t) in (1, 8, %tiles) shared_outs(%o = %out) -> (tensor<1x8x?x64xbf16>) {
      %state:3 = attn.tile_loop %j = %lo to %hi step 128 iter_args(...) ... {
        %k = attn.step @load_k -> (vector<128x64xf32>) { ... }
        ...
      }
    } {attn.schedule = #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, head_swizzle = 1,
                                        order = [load_k, qk, load_v(1), pv(1), softmax]>}
    ```

    After:

    ```mlir
    gpu.module @f.cuda {
      gpu.func @f(...) kernel {
        hopper.work_loop (%b, %h, %t, %n) in (%c1, %c8, %tiles) {
          %q = hopper.step "load_q" in "load" -> !hopper.tile<128x64xbf16> { ... }
          %state:3 = hopper.pipelined_for %j = %lo to %hi step 128 iter_args(...)
              schedule [#hopper.place<"load_k", 0>, #hopper.place<"qk", 0>, #hopper.place<"load_v", 1>, ...] ... {
            %k = hopper.step "load_k" in "load" -> !hopper.tile<128x64xbf16> { ... }
            ...
          }
          hopper.step "store" in "compute" { ... }
        }
        gpu.return
      }
    }
    ```

    Errors: a product over rows whose result has other than 64 columns for each warpgroup, or that adds to something; sums in memory of a tensor, or in order;
    a function that holds other computations; tensors that are not arguments; element types other than bf16 and f16; an attention that starts from a state or has offsets;
    loops besides it that do not write one element of tables in an iteration, or whose extents are not those of arguments; a step without a place in the order, or a place without a step.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect", "::mlir::attn::hopper::HopperDialect"
  ];
}

def AttnHopperChecksPass : Pass<"attn-hopper-checks", "::mlir::ModuleOp"> {
  let summary = "turn loops that check lists into kernels";
  let description = [{
    Each function in which a loop reports errors (`attn.report`), as `attn-check-lists` makes it with `by-list`, becomes a `gpu.module` of its name and `.checks`, with a
    kernel for each such loop and nothing else: all that does not report anything is left out, attention, too.

    A warp has an iteration of the loop, and its threads share out the loops in it that have no results. A report becomes a minimum in memory, so that it does not
    depend on who comes first: of each site there are three words of 64 bits, the place of an error, by the number of the iteration of the innermost loop that it is in, and its two
    numbers. Where the words are all ones first, and the kernel runs once more with the words that it has left, they hold the first error of each site.

    The words are an operand after those of the function. The attribute `hopper.checks` of a kernel gives its number (`words`), how many sites there are (`sites`), and as in `hopper.tables` the
    `extents` whose product is the number of warps that are needed.

    Precondition: results are destination arguments (`attn-destination-arguments`); lists are arguments. Postcondition: such functions are gone.

    Before, without the rest of the function:

    ```mlir
    scf.forall (%b, %h, %i) in (1, 1, %queries) {
      ...
      scf.for %n = %begin to %end step %c1 {
        %column = tensor.extract %columns[%n] : tensor<?xi32>
        ...
        attn.report site 2(%at, %keys) if %isOutside
      }
    }
    ```

    After:

    ```mlir
    gpu.module @f.checks {
      gpu.func @f_check0(...) kernel {
        ...
        scf.for %n = %first to %end step %c32 {
          %column = attn.gather %columns[%n] ...
          scf.if %isOutside {
            %before = memref.atomic_rmw minu %place, %words[%c6] : (i64, memref<12xi64, strided<[1]>>) -> i64
            %isFirst = arith.cmpi uge, %before, %place : i64
            scf.if %isFirst {
              memref.store %0, %words[%c7] : memref<12xi64, strided<[1]>>
              memref.store %1, %words[%c8] : memref<12xi64, strided<[1]>>
            }
          }
        }
        gpu.return
      }
    }
    ```

    Errors: lists that are not arguments; operations with effects other than reports.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::attn::hopper::HopperDialect"
  ];
}

#endif // ATTN_CONVERSION_ATTNTOHOPPER_PASSES_TD
