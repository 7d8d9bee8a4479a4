//===- Passes.td - Passes from Hopper kernels to NVVM ------*- tablegen -*-===//

#ifndef ATTN_CONVERSION_HOPPERTONVVM_PASSES_TD
#define ATTN_CONVERSION_HOPPERTONVVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnHopperLowerPass : Pass<"attn-hopper-lower", "::mlir::gpu::GPUModuleOp"> {
  let summary = "give each thread its part of a Hopper kernel";
  let description = [{
    Each kernel becomes an `llvm.func` of one thread's program, in scf, arith, NVVM and LLVM operations.

    * A tensor with a `#hopper.layout` becomes the registers that the layout gives a thread.
    * Channels become tiles and barriers in dynamic shared memory; a wait for use `n` of `S` stages waits for the phase `n / S` of
      the barrier of stage `n mod S`. Puts are copies of the tensor memory accelerator into tiles with swizzled rows of 128 bytes.
    * `hopper.mma` is one instruction for each 16 of the reduced extent, in inline assembly, whose results are tied to its operands; so is
      `hopper.wait`, so that nothing that reads a pending vector can move before it.
    * `math.exp2`, `math.log2`, `math.tanh`, `math.rsqrt` and `math.sqrt` become the approximations of the hardware, with relative
      errors of 2^-22, 2^-22, 2^-11, 2^-22 and 2^-23; subnormal numbers count as 0. `arith.divf` is a product with an approximate inverse. `accurate-tanh` computes the hyperbolic tangent from exponentials
      instead.
    * Index arithmetic is done in 32 bits where all values are known to fit, otherwise in 64.
    * A comparison of positions becomes one of a constant with a bound that many elements of a thread share, in 32 bits whatever is asked for; bounds
      of comparisons that must all hold are joined, so that an element takes at most two.

    The function's attribute `hopper.params` describes its parameters, `hopper.shared_bytes` is the dynamic shared memory, `hopper.threads` the size of a CTA;
    `hopper.schedule` and `hopper.grid` stay.

    Before, with a channel of two stages:

    ```mlir
    gpu.module @m {
      gpu.func @f(%n: i32 {hopper.operand = 0 : i64}) kernel
          attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 128, registers = 240>} {
        %ch = hopper.create_channel : !hopper.channel<2x128x64xbf16>
        hopper.warp_specialize partition @load threads(1) {
        } partition @compute registers(240) {
          %t = hopper.get %ch[%n] : !hopper.channel<2x128x64xbf16> -> !hopper.tile<128x64xbf16>
        }
        gpu.return
      }
    }
    ```

    After:

    ```mlir
    gpu.module @m {
      llvm.mlir.global external @attn_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
      llvm.func @f(%n: i32) attributes {hopper.params = ..., nvvm.kernel, ...} {
    ...
        nvvm.setmaxregister increase 240
    ...
        %c1 = arith.constant 1 : i32
    ...
        %c3 = arith.constant 3 : i32
    ...
        %stage = arith.andi %n, %c1 : i32
        %offset = arith.shli %stage, %c3 : i32
        %barrier = llvm.getelementptr %shared[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
        %round = arith.shrui %n, %c1 : i32
        %phase = arith.andi %round, %c1 : i32
    ...
        nvvm.mbarrier.try_wait.parity %barrier, %phase, %ticks : !llvm.ptr<3>, i32, i32
    ...
    }
    ```

    Precondition: `hopper-assign-layouts`.

    Errors: operations that threads cannot compute; fragments without a layout.
  }];
  let options = [
    Option<"accurateTanh", "accurate-tanh", "bool", /*default=*/"false",
           "compute math.tanh from exponentials, to a relative error of 2^-20">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"
  ];
}

def AttnRowsToNVVMPass : Pass<"attn-rows-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "turn loops over single queries into kernels";
  let description = [{
    Each function with an `scf.forall` that has an `#attn.row_schedule`, as `attn-tile` makes it for an attention without tiles or whose
    queries have lists of keys, becomes an `llvm.func` of one thread's program, in scf, arith, NVVM and LLVM operations, in a
    `gpu.module` of its name and `.cuda`. It has the attributes of kernels that `attn-hopper-lower` makes.

    * A CTA has `rows` queries, and a warp `queries` of them, for which it reads each key once: those from the least to the greatest bound of their loops.
      The operations of the loop are emitted for each query, but products once. Queries behind the last one compute what that does, and store nothing.
    * `lanes` threads share the row of a key, 16 bytes each at a time, so that a warp reads `32 / lanes` rows at once, and up to eight times as many before it waits for them; a loop goes over the rest of a step.
    * Sums of products are exchanged such that each lane has the score of one of the 32 keys of a step, for which it computes what score and mask say.
    * A step that is behind an `scf.if` is passed over unless it holds for one of the queries; `vector.reduction <or>` asks all lanes.
    * The accumulator is in registers, in parts that are added up at the end of the list.
    * Nothing outside of the operands is read, whatever the lists hold.
    * Where rows of the query, keys or values are not aligned to 16 bytes, or columns do not follow each other, elements are read one by one.

    Precondition: results are destination arguments; queries, keys, values, lists and captures are arguments. Postcondition: such
    functions are gone.

    Before:

    ```mlir
    %r = scf.forall (%b, %h, %i) in (1, 8, %rows) shared_outs(%o = %out) -> (tensor<1x8x?x64xbf16>) {
      %begin = attn.gather %offsets[%i] mask %true : tensor<?xi32>, (index), i1 -> i32
      ...
    } {attn.schedule = #attn.row_schedule<rows = 4, tile_n = 32, lanes = 8>}
    ```

    After:

    ```mlir
    gpu.module @f.cuda {
      llvm.func @f(...) attributes {hopper.threads = 128 : i64, nvvm.kernel, ...} {
        ...
      }
    }
    ```

    Errors: a schedule with another `tile_n` than 32, or with more than 32 rows; a function that holds other computations; tensors that are not arguments;
    element types other than bf16, f16 and f32; an attention that starts from a state.
  }];
  let options = [
    Option<"accurateTanh", "accurate-tanh", "bool", "false", "Compute math.tanh from exponentials">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect", "::mlir::attn::hopper::HopperDialect"
  ];
}

def AttnHopperExpandMathPass : Pass<"attn-hopper-expand-math"> {
  let summary = "replace functions on f32 that have no instruction by arithmetic";
  let description = [{
    `math.sin` and all other functions on f32 that are neither an instruction nor one that `attn-hopper-lower` replaces become arithmetic, element by element, so that
    a thread computes one of its elements after another. Their errors are in [numerics.md](../numerics.md). So does `arith.remf`, also on f64, whose expansion in LLVM is not exact.

    Quotients and square roots that they need are approximations of the hardware. With `portable` they
    stay operations that any target has.

    Precondition: after `attn-hopper-lower`, no quotient and square root of f32 that is to be exact. Postcondition: no such function on f32 is left.

    Before:

    ```mlir
    %y = math.atanh %x : f32
    ```

    After, without the logarithm's polynomials:

    ```mlir
    %0 = math.absf %x : f32
    %1 = arith.addf %0, %0 : f32
    %2 = arith.subf %one, %0 : f32
    %3 = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%2) : (f32) -> f32
    %4 = arith.mulf %1, %3 : f32
    ...
    %y = math.copysign %5, %x : f32
    ```
  }];
  let options = [
    Option<"portable", "portable", "bool", "false", "Leave quotients and square roots">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def AttnHopperHideNegationsPass : Pass<"attn-hopper-hide-negations"> {
  let summary = "write negations in maxima and minima so that ptxas keeps them";
  let description = [{
    ptxas 13.0 makes one instruction, `VIMNMX3`, of two maxima or two minima of integers of 16 or 32 bits, and loses the sign of an operand that is a negation: `max(max(a, -b), c)` becomes `max(max(a, b), c)`. The distance
    `max(|x|, |y|)` is such a maximum, as `|x|` is `max(x, -x)`. Each negation that is an operand of `arith.maxsi` or `arith.minsi` of i16 or i32 is written as `~b + 1`, which ptxas does not take for one and which costs as much. So is a product with a negative number, which LLVM makes a negation of.

    Precondition: after `attn-hopper-lower` or `attn-rows-to-nvvm`, as scalars show what they are negations of. Postcondition: no operand of such an operation is a difference from 0 or a product with a negative number, nor the low bits of one.

    Before:

    ```mlir
    llvm.func @larger(%a: i32, %b: i32) -> i32 {
      %c0 = arith.constant 0 : i32
      %n = arith.subi %c0, %b : i32
      %m = arith.maxsi %a, %n : i32
      llvm.return %m : i32
    }
    ```

    After, without what has no use any more:

    ```mlir
    llvm.func @larger(%a: i32, %b: i32) -> i32 {
      ...
      %n = llvm.inline_asm asm_dialect = att "{ .reg .b32 n; not.b32 n, $1; add.s32 $0, n, 1; }", "=r,r" %b : (i32) -> i32
      %m = arith.maxsi %a, %n : i32
      llvm.return %m : i32
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // ATTN_CONVERSION_HOPPERTONVVM_PASSES_TD
