// Bytecode holds every operation, type and attribute, and gives the same text
// back.

// RUN: attn-opt %S/ops.mlir -o %t.text.mlir
// RUN: attn-opt %S/ops.mlir --emit-bytecode -o %t.mlirbc
// RUN: attn-opt %t.mlirbc -o %t.back.mlir
// RUN: diff %t.text.mlir %t.back.mlir

// RUN: attn-opt %S/types.mlir --emit-bytecode | attn-opt | FileCheck %S/types.mlir
// RUN: attn-opt %S/attr-schedule.mlir --emit-bytecode | attn-opt | FileCheck %S/attr-schedule.mlir

// What is in the file is bytecode.
// RUN: head -c 4 %t.mlirbc | od -An -c | FileCheck %s --check-prefix=MAGIC
// MAGIC: M {{ *}}L {{ *}}357 {{ *}}R
