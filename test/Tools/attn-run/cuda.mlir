// Runs on a GPU, as far as a driver shows that needs none: kernels do nothing.

// RUN: env ATTN_LIBCUDA=/nonexistent not attn-run %s --target=cuda 2>&1 | FileCheck %s --check-prefix=NONE
// NONE:      attn-run: error: cannot run on a GPU: no CUDA driver: cannot open /nonexistent
// NONE-SAME: the target cpu can run it
// RUN: env ATTN_LIBCUDA=/nonexistent attn-run %s --target=auto | FileCheck %s --check-prefix=AUTO
// AUTO:      @prefix on host

// Times with caches flushed between runs, and in turn with another program.
// RUN: env ATTN_LIBCUDA=%fake_cuda ATTN_PTXAS=off attn-run %s --bench=7 --cold > %t.cold
// RUN: FileCheck %s --check-prefix=COLD --input-file=%t.cold
// COLD:      @prefix on cuda: sm_90a, Fake 0
// COLD:      bench of 7 runs after
// RUN: env ATTN_LIBCUDA=%fake_cuda ATTN_PTXAS=off attn-run %s --bench=7 --baseline=%s > %t.base
// RUN: FileCheck %s --check-prefix=BASE --input-file=%t.base
// BASE:      bench of 7 runs after
// BASE-NEXT:   time      median 1.5 ms, min 1.5 ms, max 1.5 ms
// BASE-NEXT:   baseline  median 1.5 ms, min 1.5 ms, max 1.5 ms: @prefix of {{.*}}cuda.mlir
// BASE-NEXT:   ratio     1: median of the baseline / median

// RUN: env ATTN_LIBCUDA=%fake_cuda ATTN_PTXAS=off attn-run %s --target=auto --bench=30 > %t.txt
// RUN: FileCheck %s --input-file=%t.txt
// CHECK:      @prefix on cuda: sm_90a, Fake 0
// CHECK-NEXT: kernels
// CHECK-NEXT:   prefix  {{[0-9]+}} threads  registers not known  spills not known  {{[0-9]+}} bytes of shared memory  CTAs not known  #hopper.schedule<tile_m =
// CHECK:      arguments
// CHECK:        length  i64
// CHECK:      results
// What the kernel leaves out is NaN.
// CHECK-NEXT:   o  1x2x100x64xbf16  {{.*}}nan 12800
// CHECK-NEXT: bench of 30 runs after {{[0-9]+}} to warm up
// CHECK-NEXT:   time     median 1.5 ms
// CHECK:        compile {{.*}}program {{.*}}online {{.*}}tile {{.*}}kernel {{.*}}thread {{.*}}translate {{.*}}assemble {{.*}}load

// RUN: env ATTN_LIBCUDA=%fake_cuda ATTN_PTXAS=off attn-run %s --target=cuda --format=json | FileCheck %s --check-prefix=JSON
// JSON:      "gpu": "Fake 0"
// JSON:      "kernels": [
// JSON:        "entry": "prefix"
// JSON-NOT:    "registers"
// JSON:        "cubin_bytes": 0
// JSON:      "remarks": [
// JSON:        remark: no-ptxas: the driver will compile the PTX, unchecked: ATTN_PTXAS is off"

// RUN: env ATTN_LIBCUDA=%fake_cuda ATTN_PTXAS=off not attn-run %s --target=cuda --check | FileCheck %s --check-prefix=CHECKED
// CHECKED:   'o': 12800 elements are NaN or infinite on one side
// CHECKED:   FAIL

// RUN: env ATTN_LIBCUDA=%fake_cuda not attn-run %s --target=cuda --bounds-check 2>&1 | FileCheck %s --check-prefix=BOUNDS
// BOUNDS:    error: expects no check of bounds on a GPU; leave it out, or compile for the CPU

func.func @prefix(%q: tensor<1x2x100x64xbf16>, %length: index)
    -> (tensor<1x2x100x64xbf16> {attn.name = "o"}) {
  %init = tensor.empty() : tensor<1x2x100x64xbf16>
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x2x100x64xbf16>, tensor<1x2x100x64xbf16>,
                       tensor<1x2x100x64xbf16>)
      captures(%length : index)
      outs(%init : tensor<1x2x100x64xbf16>)
      mask(%b, %h, %i, %j, %n) {
    %p = arith.cmpi sle, %j, %n : index
    attn.yield %p : i1
  }
  return %o : tensor<1x2x100x64xbf16>
}
