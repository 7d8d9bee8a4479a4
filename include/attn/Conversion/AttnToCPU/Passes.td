//===- Passes.td - Passes from tiles to code for a CPU -----*- tablegen -*-===//

#ifndef ATTN_CONVERSION_ATTNTOCPU_PASSES_TD
#define ATTN_CONVERSION_ATTNTOCPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertAttnToCPUPass : Pass<"convert-attn-to-cpu"> {
  let summary = "lower tiles to buffers and loops on hardware vectors";
  let description = [{
    Works on each `scf.forall` with a schedule, the loop over tiles that
    `attn-tile` makes. In its body

    * a tile that is carried, contracted, or costly to compute becomes a buffer,
      allocated at the start of the body; all other tiles are computed
      element by element where they are used, and never stored;
    * a contraction becomes a register-blocked loop: `unroll_n` rows by
      `unroll_m` vectors of `lanes` queries stay in registers over the sum. Keys and values
      of the accumulator type are read in place; others are converted, a tile at a time;
    * a `vector.multi_reduction` over the rows becomes a loop over them, which also computes the tile that is reduced, element by element, and leaves
      it in memory if it is read again. What is reduced so far, and what the columns alone decide, is in registers;
    * what a contraction adds to is computed where the sum is added, such as an accumulator that is rescaled;
    * the memory of a tile that is read for the last time goes to the tile that takes its place;
    * an `scf.if` that yields tiles leaves each in one buffer on both sides, in that of the state
      of the softmax where it continues one;
    * `attn.gather` becomes masked loads. An index out of range reads 0, and
      with a site number is stored to the `attn.status` argument, the extent behind it.
    * `attn.report`, wherever it is, becomes the same two stores in a branch.

    A loop with an `#attn.row_schedule`, whose queries have lists of keys, becomes one over groups of `rows` queries. Vectors over the keys of
    a step stay vectors, of `tile_n` elements; products with gathered rows read these in place, as vectors of `lanes` elements along the columns.

    Precondition: tiles are on buffers. Postcondition: no operation of the dialect is
    left, and vectors have one dimension, of `lanes` elements or of `tile_n`.

    Before:

    ```mlir
    scf.forall (%t) in (4) {
      %x = vector.transfer_read %in[%t, %c0], %pad {in_bounds = [true]} : memref<4x8xf32>, vector<8xf32>
      %y = arith.mulf %x, %x : vector<8xf32>
      vector.transfer_write %y, %out[%t, %c0] {in_bounds = [true]} : vector<8xf32>, memref<4x8xf32>
    } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 8, lanes = 8, unroll_m = 1, unroll_n = 1>}
    ```

    After:

    ```mlir
    scf.forall (%t) in (4) {
      scf.for %i = %c0 to %c8 step %c1 {
        %x = memref.load %in[%t, %i] : memref<4x8xf32>
        %y = arith.mulf %x, %x : f32
        memref.store %y, %out[%t, %i] : memref<4x8xf32>
      }
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def AttnCPUOutlineParallelPass : Pass<"attn-cpu-outline-parallel", "::mlir::ModuleOp"> {
  let summary = "run loops over tiles on several threads";
  let description = [{
    Gives each public function a last argument `%exec`, the threads to run on, and the result i64: 0,
    or 1 if memory runs out. The body of each outermost `scf.forall` becomes a function of its own, a
    worker, that the threads run with attn_rt_parallel of attn/Runtime/ABI.h. A worker

    * loads what the body takes from outside from the struct `%env` (constants are
      made anew). The first field of the struct is an i64, 0 at first, which a worker without memory sets to 1;
    * allocates the buffers of constant size that the body allocates and frees, once;
    * takes the number of a task, computes from it the induction variables,
      the last one varying fastest, runs the body, and starts over until there is no task.

    Functions with `attn.constraints`, which attn-shape-function makes, stay as they are.

    Precondition: no tensors; functions have no results. Postcondition: an `scf.forall` is
    left only in others, to be run in sequence.

    Before:

    ```mlir
    func.func @f(%x: memref<?xf32>) {
      %c0 = arith.constant 0 : index
      %n = memref.dim %x, %c0 : memref<?xf32>
      scf.forall (%i) in (%n) {
        %c1 = arith.constant 1.0 : f32
        memref.store %c1, %x[%i] : memref<?xf32>
      }
      return
    }
    ```

    After, without casts between types of memref and of LLVM:

    ```mlir
    func.func @f(%x: memref<?xf32>, %exec: !llvm.ptr) -> i64 {
      %env = llvm.alloca %c1 x !llvm.struct<(i64, memref<?xf32>)> : (i64) -> !llvm.ptr
      %n = memref.dim %x, %c0 : memref<?xf32>
      ... 0 and %x are stored to %env
      %worker = constant @f.worker0 : (!llvm.ptr, !llvm.ptr) -> ()
      call @attn_rt_parallel(%exec, %n, %worker, %env) : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr) -> ()
      return %c0_i64 : i64
    }
    func.func private @f.worker0(%env: !llvm.ptr, %tasks: !llvm.ptr) {
      ... %x is loaded from %env
      scf.while : () -> i64 {
        %task = func.call @attn_rt_next_task(%tasks) : (!llvm.ptr) -> i64
        %isTask = arith.cmpi sge, %task, %c0_i64 : i64
        scf.condition(%isTask) %task : i64
      } do {
      ^bb0(%i: i64):
        memref.store %c1, %x[%i] : memref<?xf32>
        scf.yield
      }
      return
    }
    ```

    Errors: a function with results; a loop with results, or that is in a function which is not public.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def AttnCPULowerMathPass : Pass<"attn-cpu-lower-math"> {
  let summary = "replace functions on f32 by arithmetic";
  let description = [{
    Replaces `math` operations on f32 and vectors of f32 for which there is arithmetic that is
    accurate to 5 units in the last place, denormal numbers included, and gives the special values
    that the C library gives: exp, exp2, expm1, log, log1p, log2, erf, tanh. Others are left to
    calls of the C library.

    `math.fma` stays; sums of products in the arithmetic are fused where
    that is faster (`llvm.intr.fmuladd`).

    Before:

    ```mlir
    %y = math.exp2 %x : vector<8xf32>
    ```

    After, shortened:

    ```mlir
    %r = arith.subf %x, %n : vector<8xf32>
    %p = llvm.intr.fmuladd(%c0, %r, %c1) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
    ...
    %y = arith.mulf %p5, %scale : vector<8xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"
  ];
}

def AttnCPUCallLibmPass : Pass<"attn-cpu-call-libm", "::mlir::ModuleOp"> {
  let summary = "call the C library where LLVM has no intrinsic";
  let description = [{
    Replaces what `attn-cpu-lower-math` has left of expm1 and log1p, such as those of f64, by calls of the C library. `convert-math-to-llvm` would
    write exp(x) - 1 and log(1 + x), which have no correct digit near 0.

    Before:

    ```mlir
    %y = math.expm1 %x : f64
    ```

    After:

    ```mlir
    %y = func.call @expm1(%x) : (f64) -> f64
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::vector::VectorDialect"];
}

def AttnCPUCheckAllocationsPass : Pass<"attn-cpu-check-allocations", "::mlir::ModuleOp"> {
  let summary = "end a function whose memory runs out";
  let description = [{
    Memory is taken from attn_rt_alloc of attn/Runtime/ABI.h instead of the functions that
    `finalize-memref-to-llvm="use-generic-functions use-aligned-alloc"` calls. Where there is none, what the
    function holds is freed, and the function ends: a function that returns i64
    returns 1, and a worker, which returns nothing, stores 1 to the i64 that its first argument
    points to. A function one of whose workers did so ends in the same way.
    A product of extents that 64 bits do not hold is memory that there is not, too.

    Precondition: functions are functions of LLVM (`convert-func-to-llvm`).

    Before:

    ```mlir
    llvm.func @f() -> i64 {
      %p = llvm.call @_mlir_memref_to_llvm_aligned_alloc(%align, %size) : (i64, i64) -> !llvm.ptr
      llvm.call @_mlir_memref_to_llvm_free(%p) : (!llvm.ptr) -> ()
      llvm.return %c0 : i64
    }
    ```

    After:

    ```mlir
    llvm.func @f() -> i64 {
      %slot = llvm.alloca %c1 x !llvm.ptr : (i64) -> !llvm.ptr
      llvm.store %null, %slot : !llvm.ptr, !llvm.ptr
      %p = llvm.call @attn_rt_alloc(%size) : (i64) -> !llvm.ptr
      llvm.store %p, %slot : !llvm.ptr, !llvm.ptr
      %isNull = llvm.icmp "eq" %p, %null : !llvm.ptr
      llvm.cond_br %isNull, ^end, ^next
    ^next:
      ... null is stored to %slot if that holds %p
      llvm.call @attn_rt_free(%p) : (!llvm.ptr) -> ()
      llvm.return %c0 : i64
    ^end:
      %held = llvm.load %slot : !llvm.ptr -> !llvm.ptr
      llvm.call @attn_rt_free(%held) : (!llvm.ptr) -> ()
      llvm.return %c1 : i64
    }
    ```

    Errors: an alignment above 64 bytes; a function that allocates, and neither returns
    i64 nor is a worker.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // ATTN_CONVERSION_ATTNTOCPU_PASSES_TD
