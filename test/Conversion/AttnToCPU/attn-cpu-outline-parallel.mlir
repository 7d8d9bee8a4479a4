// RUN: attn-opt %s --attn-cpu-outline-parallel --split-input-file | FileCheck %s

// The environment holds what the body uses and the extents that a task number
// is taken apart by; constants are made anew, buffers are made once.

// CHECK: func.func private @attn_rt_next_task(!llvm.ptr) -> i64
// CHECK: func.func private @attn_rt_parallel(!llvm.ptr, i64, !llvm.ptr, !llvm.ptr)
// CHECK: func.func @grid(%[[X:.*]]: memref<?xf32>, %[[S:.*]]: f32, %[[A:.*]]: index, %[[B:.*]]: index, %[[EXEC:.*]]: !llvm.ptr) -> i64 {
// CHECK: %[[ENV:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(i64, f32, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, i64)>
// CHECK: %[[NA:.*]] = arith.maxsi %[[A]], %c0
// CHECK: %[[NB:.*]] = arith.maxsi %[[B]], %c0
// CHECK: %[[P:.*]] = arith.muli %{{.*}}, %[[NA]]
// CHECK: %[[TOTAL:.*]] = arith.muli %[[P]], %[[NB]]
// CHECK: %[[ZERO:c0_i64.*]] = arith.constant 0 : i64
// CHECK: %[[FLAG:.*]] = llvm.getelementptr %[[ENV]][0, 0]
// CHECK: llvm.store %[[ZERO]], %[[FLAG]]
// CHECK: llvm.store %[[S]], %{{.*}} : f32, !llvm.ptr
// CHECK: llvm.store %{{.*}}, %{{.*}} : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, !llvm.ptr
// CHECK: %[[WORKER:.*]] = constant @grid.worker0 : (!llvm.ptr, !llvm.ptr) -> ()
// CHECK: %[[NUM:.*]] = arith.index_cast %[[TOTAL]] : index to i64
// CHECK: %[[PTR:.*]] = builtin.unrealized_conversion_cast %[[WORKER]]
// CHECK: call @attn_rt_parallel(%[[EXEC]], %[[NUM]], %[[PTR]], %[[ENV]])
// CHECK: return %{{.*}} : i64

// CHECK: func.func private @grid.worker0(%[[WENV:.*]]: !llvm.ptr, %[[TASKS:.*]]: !llvm.ptr) {
// CHECK: arith.constant 7.0
// CHECK: %[[BUFFER:.*]] = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
// CHECK: scf.while : () -> i64 {
// CHECK: %[[TASK:.*]] = func.call @attn_rt_next_task(%[[TASKS]])
// CHECK: %[[MORE:.*]] = arith.cmpi sge, %[[TASK]], %{{.*}} : i64
// CHECK: scf.condition(%[[MORE]]) %[[TASK]]
// CHECK: ^bb0(%[[T:.*]]: i64):
// CHECK: %[[N:.*]] = arith.index_cast %[[T]]
// The last dimension varies fastest.
// CHECK: %[[J:.*]] = arith.remui %[[N]], %[[COUNT:.*]] : index
// CHECK: %[[I:.*]] = arith.divui %[[N]], %[[COUNT]] : index
// CHECK-NOT: memref.alloc
// CHECK: memref.store %{{.*}}, %[[BUFFER]][%[[I]]]
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[J]]]
// CHECK-NOT: memref.dealloc
// CHECK: scf.yield
// CHECK: memref.dealloc %[[BUFFER]]
// CHECK-NEXT: return
func.func @grid(%x: memref<?xf32>, %s: f32, %a: index, %b: index) {
  %c7 = arith.constant 7.0 : f32
  scf.forall (%i, %j) in (%a, %b) {
    %buffer = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
    memref.store %s, %buffer[%i] : memref<8xf32>
    memref.store %c7, %x[%j] : memref<?xf32>
    memref.dealloc %buffer : memref<8xf32>
  }
  return
}

// -----

// Lower bounds and steps; a buffer whose size is not constant, or that is not
// freed at the end, is made in each task.

// CHECK-LABEL: func.func @bounds(
// CHECK: %[[SPAN:.*]] = arith.subi %{{.*}}, %{{.*}} : index
// CHECK: arith.ceildivsi %[[SPAN]], %{{.*}} : index
// CHECK-LABEL: func.func private @bounds.worker0(
// CHECK-NOT: memref.alloc
// CHECK: scf.while
// CHECK: %[[SCALED:.*]] = arith.muli %{{.*}}, %{{.*}} : index
// CHECK: %[[I:.*]] = arith.addi %[[SCALED]], %{{.*}} : index
// CHECK: memref.alloc(%[[I]]) : memref<?xf32>
// CHECK: memref.dealloc
// CHECK: scf.yield
func.func @bounds(%x: memref<?xf32>, %lb: index, %ub: index, %s: f32) {
  %c0 = arith.constant 0 : index
  scf.forall (%i) = (%lb) to (%ub) step (4) {
    %buffer = memref.alloc(%i) : memref<?xf32>
    memref.store %s, %buffer[%c0] : memref<?xf32>
    memref.dealloc %buffer : memref<?xf32>
  }
  return
}

// -----

// Loops in loops of the function have their environment on the stack once;
// a loop in a worker is left to it.

// CHECK-LABEL: func.func @nested(
// CHECK: llvm.alloca
// CHECK: scf.for
// CHECK-NOT: llvm.alloca
// CHECK: call @attn_rt_parallel
// CHECK-LABEL: func.func private @nested.worker0(
// CHECK: scf.forall
func.func @nested(%x: memref<?x?xf32>, %n: index, %s: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    scf.forall (%i) in (%n) {
      scf.forall (%j) in (%n) {
        memref.store %s, %x[%i, %j] : memref<?x?xf32>
      }
    }
  }
  return
}

// -----

// A function without loops still has the arguments and the result of an entry,
// and what is said of its buffers goes. Shape functions and private functions stay.

// CHECK-LABEL: func.func @plain(
// CHECK-SAME: %{{.*}}: memref<4xf32>, %{{.*}}: memref<?xi64>, %{{.*}}: !llvm.ptr) -> i64 {
// CHECK: func.func @plain.shapes(%{{.*}}: memref<4xf32>) -> index
// CHECK: func.func private @helper(%{{.*}}: f32) -> f32
func.func @plain(%x: memref<4xf32> {attn.name = "x"}, %status: memref<?xi64> {attn.status}) {
  return
}
func.func @plain.shapes(%x: memref<4xf32>) -> index attributes {attn.constraints = []} {
  %c4 = arith.constant 4 : index
  return %c4 : index
}
func.func private @helper(%x: f32) -> f32 {
  return %x : f32
}
