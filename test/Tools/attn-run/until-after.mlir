// The program after any pass of the pipeline.

// RUN: attn-run %S/Inputs/tiny.mlir --until-after=attn-online-softmax > %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// CHECK:     module
// CHECK:     func.func @tiny
// CHECK:     attn.online_attention
// CHECK-NOT: attention {{.}}
// CHECK:     attn.finalize
// CHECK-NOT: {{^}}results

// What is printed is a valid program.
// RUN: attn-opt %t.mlir --verify-roundtrip > /dev/null

// It is not run, so nothing is written.
// RUN: rm -f %t.npy
// RUN: attn-run %S/Inputs/tiny.mlir --until-after=attn-tile --out=o=%t.npy --check --bench | FileCheck %s --check-prefix=TILE
// RUN: not ls %t.npy
// TILE:     scf.forall
// TILE-NOT: PASS

// RUN: attn-run %S/Inputs/tiny.mlir --until-after=convert-attn-to-cpu | FileCheck %s --check-prefix=CPU
// CPU-NOT: attn.online_step

// Passes on kernels are run on one after the other, and on all of them.
// RUN: attn-run %S/../../Conversion/AttnToHopper/gathered-limits.mlir --target=cuda --sparsity=gathered --until-after=hopper-pipeline | FileCheck %s --check-prefix=KERNELS
// KERNELS-NOT: hopper.pipelined_for
// KERNELS: hopper.softmax_step

// RUN: not attn-run %S/Inputs/tiny.mlir --until-after=attn-online-sofmax 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: {{^}}attn-run: error: unknown pass 'attn-online-sofmax': expects '{{.*}}'attn-online-softmax', {{.*}}; did you mean 'attn-online-softmax'?{{$}}

// RUN: not attn-run %S/Inputs/tiny.mlir --until-after=attn-tile 2>&1 > /dev/full | FileCheck %s --check-prefix=FULL
// FULL: {{^}}attn-run: error: cannot write the output: No space left on device{{$}}
