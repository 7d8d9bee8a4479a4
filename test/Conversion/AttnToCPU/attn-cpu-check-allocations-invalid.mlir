// RUN: attn-opt %s --attn-cpu-check-allocations --split-input-file --verify-diagnostics

llvm.func @_mlir_memref_to_llvm_aligned_alloc(i64, i64) -> !llvm.ptr
llvm.func @alignment(%size: i64) -> i64 {
  %align = llvm.mlir.constant(128 : i64) : i64
  // expected-error @below {{expects an alignment of at most 64 bytes}}
  %p = llvm.call @_mlir_memref_to_llvm_aligned_alloc(%align, %size) : (i64, i64) -> !llvm.ptr
  llvm.return %size : i64
}

// -----

llvm.func @_mlir_memref_to_llvm_aligned_alloc(i64, i64) -> !llvm.ptr
// expected-error @below {{expects a function that allocates to return i64, or to be a worker}}
llvm.func @result(%size: i64) -> f32 {
  %align = llvm.mlir.constant(64 : i64) : i64
  %zero = llvm.mlir.constant(0.0 : f32) : f32
  %p = llvm.call @_mlir_memref_to_llvm_aligned_alloc(%align, %size) : (i64, i64) -> !llvm.ptr
  llvm.return %zero : f32
}
