// Bytecode holds every operation and attribute, and gives the same text back.

// RUN: attn-opt %S/roundtrip.mlir -o %t.text.mlir
// RUN: attn-opt %S/roundtrip.mlir --emit-bytecode -o %t.mlirbc
// RUN: attn-opt %t.mlirbc -o %t.back.mlir
// RUN: diff %t.text.mlir %t.back.mlir

// What is in the file is bytecode.
// RUN: head -c 4 %t.mlirbc | od -An -c | FileCheck %s --check-prefix=MAGIC
// MAGIC: M {{ *}}L {{ *}}357 {{ *}}R

// Attributes outside of operations.
// RUN: attn-opt %s --emit-bytecode | attn-opt | FileCheck %s
// CHECK: attributes {schedules = [#attn.schedule<tile_m = 4, tile_n = 2, lanes = 2, unroll_m = 2, unroll_n = 1>]}
func.func private @holder() attributes {schedules = [#attn.schedule<tile_m = 4, tile_n = 2, lanes = 2, unroll_m = 2, unroll_n = 1>]}

// A file that was cut short is an error.
// RUN: head -c 400 %t.mlirbc > %t.cut.mlirbc
// RUN: not attn-opt %t.cut.mlirbc 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: error:
