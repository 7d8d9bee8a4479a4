// RUN: attn-opt %s --attn-cpu-check-allocations --split-input-file | FileCheck %s

// An entry frees what it holds and returns 1.

// CHECK: llvm.func @attn_rt_free(!llvm.ptr)
// CHECK: llvm.func @attn_rt_alloc(i64) -> (!llvm.ptr {llvm.noalias})
// CHECK-NOT: _mlir_memref_to_llvm
// CHECK-LABEL: llvm.func @entry(
// CHECK: %[[SLOT0:.*]] = llvm.alloca %{{.*}} x !llvm.ptr
// CHECK: %[[SLOT1:.*]] = llvm.alloca %{{.*}} x !llvm.ptr
// CHECK: llvm.store %{{.*}}, %[[SLOT0]]
// CHECK: llvm.store %{{.*}}, %[[SLOT1]]
// CHECK: %[[P:.*]] = llvm.call @attn_rt_alloc(%{{.*}}) : (i64) -> !llvm.ptr
// CHECK: llvm.store %[[P]], %[[SLOT0]]
// CHECK: %[[NONE:.*]] = llvm.icmp "eq" %[[P]], %{{.*}} : !llvm.ptr
// CHECK: llvm.cond_br %[[NONE]] weights([0, 1]), ^[[END:.*]], ^[[NEXT:.*]]
// CHECK: ^[[NEXT]]:
// CHECK: %[[Q:.*]] = llvm.call @attn_rt_alloc
// CHECK: llvm.cond_br %{{.*}} weights([0, 1]), ^[[END]], ^{{.*}}
// What is freed is held no longer; it is known which allocation that was.
// CHECK-NOT: llvm.load
// CHECK: llvm.store %{{.*}}, %[[SLOT1]]
// CHECK-NEXT: llvm.call @attn_rt_free(%[[Q]])
// CHECK: llvm.store %{{.*}}, %[[SLOT0]]
// CHECK: llvm.call @attn_rt_free(%[[P]])
// CHECK: llvm.return %{{.*}} : i64
// CHECK: ^[[END]]:
// CHECK: %[[HELD1:.*]] = llvm.load %[[SLOT1]]
// CHECK: llvm.call @attn_rt_free(%[[HELD1]])
// CHECK: %[[HELD0:.*]] = llvm.load %[[SLOT0]]
// CHECK: llvm.call @attn_rt_free(%[[HELD0]])
// CHECK: %[[ONE:.*]] = llvm.mlir.constant(1 : i64)
// CHECK: llvm.return %[[ONE]] : i64
llvm.func @_mlir_memref_to_llvm_aligned_alloc(i64, i64) -> !llvm.ptr
llvm.func @_mlir_memref_to_llvm_free(!llvm.ptr)
llvm.func @entry(%size: i64) -> i64 {
  %align = llvm.mlir.constant(64 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %p = llvm.call @_mlir_memref_to_llvm_aligned_alloc(%align, %size) : (i64, i64) -> !llvm.ptr
  %q = llvm.call @_mlir_memref_to_llvm_aligned_alloc(%align, %size) : (i64, i64) -> !llvm.ptr
  llvm.call @_mlir_memref_to_llvm_free(%q) : (!llvm.ptr) -> ()
  llvm.call @_mlir_memref_to_llvm_free(%p) : (!llvm.ptr) -> ()
  llvm.return %zero : i64
}

// -----

// Memory in a descriptor is known; of what a branch chose, each allocation is
// asked.

// CHECK-LABEL: llvm.func @chosen(
// CHECK: %[[SLOT:.*]] = llvm.alloca %{{.*}} x !llvm.ptr
// CHECK: %[[P:.*]] = llvm.call @attn_rt_alloc
// CHECK: ^{{.*}}(%[[M:.*]]: !llvm.ptr):
// CHECK: %[[HELD:.*]] = llvm.load %[[SLOT]]
// CHECK: %[[SAME:.*]] = llvm.icmp "eq" %[[HELD]], %[[M]]
// CHECK: %[[REST:.*]] = llvm.select %[[SAME]], %{{.*}}, %[[HELD]]
// CHECK: llvm.store %[[REST]], %[[SLOT]]
// CHECK: llvm.call @attn_rt_free(%[[M]])
// CHECK: %[[FIELD:.*]] = llvm.extractvalue
// CHECK-NEXT: %{{.*}} = llvm.mlir.zero
// CHECK-NEXT: llvm.store %{{.*}}, %[[SLOT]]
// CHECK-NEXT: llvm.call @attn_rt_free(%[[FIELD]])
llvm.func @_mlir_memref_to_llvm_aligned_alloc(i64, i64) -> !llvm.ptr
llvm.func @_mlir_memref_to_llvm_free(!llvm.ptr)
llvm.func @chosen(%size: i64, %c: i1, %other: !llvm.ptr) -> i64 {
  %align = llvm.mlir.constant(64 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %p = llvm.call @_mlir_memref_to_llvm_aligned_alloc(%align, %size) : (i64, i64) -> !llvm.ptr
  llvm.cond_br %c, ^next(%other : !llvm.ptr), ^next(%p : !llvm.ptr)
^next(%m: !llvm.ptr):
  llvm.call @_mlir_memref_to_llvm_free(%m) : (!llvm.ptr) -> ()
  %none = llvm.mlir.poison : !llvm.struct<(ptr, i64)>
  %with = llvm.insertvalue %p, %none[0] : !llvm.struct<(ptr, i64)>
  %both = llvm.insertvalue %size, %with[1] : !llvm.struct<(ptr, i64)>
  %field = llvm.extractvalue %both[0] : !llvm.struct<(ptr, i64)>
  llvm.call @_mlir_memref_to_llvm_free(%field) : (!llvm.ptr) -> ()
  llvm.return %zero : i64
}

// -----

// A worker tells the entry, which ends as well.

// CHECK-LABEL: llvm.func @worker(
// CHECK-SAME: %[[ENV:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr)
// CHECK: llvm.call @attn_rt_alloc
// CHECK: llvm.cond_br %{{.*}} weights([0, 1]), ^[[END:.*]], ^
// CHECK: ^[[END]]:
// CHECK: llvm.store %{{.*}}, %[[ENV]] atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr
// CHECK-NEXT: llvm.return
// CHECK-LABEL: llvm.func @entry(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: !llvm.ptr, %[[ENV:.*]]: !llvm.ptr) -> i64
// CHECK: llvm.call @attn_rt_parallel
// CHECK: %[[STATUS:.*]] = llvm.load %[[ENV]] : !llvm.ptr -> i64
// CHECK: %[[FAILED:.*]] = llvm.icmp "ne" %[[STATUS]], %{{.*}} : i64
// CHECK: llvm.cond_br %[[FAILED]] weights([0, 1]), ^[[OUT:.*]], ^
// CHECK: ^[[OUT]]:
// CHECK-NEXT: %[[ONE:.*]] = llvm.mlir.constant(1 : i64)
// CHECK-NEXT: llvm.return %[[ONE]]
llvm.func @_mlir_memref_to_llvm_aligned_alloc(i64, i64) -> !llvm.ptr
llvm.func @_mlir_memref_to_llvm_free(!llvm.ptr)
llvm.func @attn_rt_parallel(!llvm.ptr, i64, !llvm.ptr, !llvm.ptr)
llvm.func @worker(%env: !llvm.ptr, %tasks: !llvm.ptr) {
  %align = llvm.mlir.constant(64 : i64) : i64
  %p = llvm.call @_mlir_memref_to_llvm_aligned_alloc(%align, %align) : (i64, i64) -> !llvm.ptr
  llvm.call @_mlir_memref_to_llvm_free(%p) : (!llvm.ptr) -> ()
  llvm.return
}
llvm.func @entry(%exec: !llvm.ptr, %n: i64, %worker: !llvm.ptr, %env: !llvm.ptr) -> i64 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  llvm.call @attn_rt_parallel(%exec, %n, %worker, %env) : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr) -> ()
  llvm.return %zero : i64
}

// -----

// A product of extents that 64 bits do not hold is more than there is, and not
// what is left of it. The runtime rounds.

// CHECK-LABEL: llvm.func @product(
// CHECK-SAME: %[[M:.*]]: i64, %[[N:.*]]: i64)
// CHECK: %[[ONE:.*]] = llvm.getelementptr %{{.*}}[1] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK: %[[SIZE:.*]] = llvm.ptrtoint %[[ONE]]
// CHECK: %[[NO:.*]] = llvm.mlir.constant(false) : i1
// CHECK: %[[A:.*]] = "llvm.intr.umul.with.overflow"(%[[SIZE]], %[[M]])
// CHECK: %[[A0:.*]] = llvm.extractvalue %[[A]][0]
// CHECK: %[[A1:.*]] = llvm.extractvalue %[[A]][1]
// CHECK: %[[WRAPS:.*]] = llvm.or %[[NO]], %[[A1]]
// CHECK: %[[B:.*]] = "llvm.intr.umul.with.overflow"(%[[A0]], %[[N]])
// CHECK: %[[B0:.*]] = llvm.extractvalue %[[B]][0]
// CHECK: %[[B1:.*]] = llvm.extractvalue %[[B]][1]
// CHECK: %[[WRAP:.*]] = llvm.or %[[WRAPS]], %[[B1]]
// CHECK: %[[MOST:.*]] = llvm.mlir.constant(-1 : i64)
// CHECK: %[[BYTES:.*]] = llvm.select %[[WRAP]], %[[MOST]], %[[B0]]
// CHECK: llvm.call @attn_rt_alloc(%[[BYTES]])
// CHECK: llvm.return
// CHECK: llvm.call @attn_rt_free
// CHECK: llvm.return
llvm.func @_mlir_memref_to_llvm_aligned_alloc(i64, i64) -> !llvm.ptr
llvm.func @product(%m: i64, %n: i64) -> i64 {
  %align = llvm.mlir.constant(64 : i64) : i64
  %less = llvm.mlir.constant(63 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %count = llvm.mul %m, %n : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %end = llvm.getelementptr %null[%count] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %bytes = llvm.ptrtoint %end : !llvm.ptr to i64
  %more = llvm.add %bytes, %less : i64
  %rest = llvm.urem %more, %align : i64
  %size = llvm.sub %more, %rest : i64
  %p = llvm.call @_mlir_memref_to_llvm_aligned_alloc(%align, %size) : (i64, i64) -> !llvm.ptr
  llvm.return %zero : i64
}

// -----

// Without allocations there is nothing to do, and nothing to declare.

// CHECK-NOT: attn_rt
// CHECK-LABEL: llvm.func @nothing()
// CHECK-NEXT: llvm.return
// CHECK-NOT: attn_rt
llvm.func @nothing() {
  llvm.return
}
