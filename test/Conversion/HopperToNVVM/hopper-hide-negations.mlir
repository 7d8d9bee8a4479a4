// RUN: attn-opt %s --attn-hopper-hide-negations | FileCheck %s

// ptxas 13.0 loses the sign of a negation that is an operand of two maxima.

// CHECK-LABEL: llvm.func @wide(
// CHECK-SAME: %[[A:[^:]*]]: i32, %[[B:[^:]*]]: i32, %[[C:[^:]*]]: i32)
// CHECK: %[[N:.*]] = llvm.inline_asm asm_dialect = att "{ .reg .b32 n; not.b32 n, $1; add.s32 $0, n, 1; }", "=r,r" %[[B]] : (i32) -> i32
// CHECK: %[[M:.*]] = arith.maxsi %[[A]], %[[N]] : i32
// CHECK: %[[P:.*]] = llvm.inline_asm {{.*}} %[[C]] : (i32) -> i32
// CHECK: arith.maxsi %[[P]], %[[M]] : i32
llvm.func @wide(%a: i32, %b: i32, %c: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %minus = arith.constant -1 : i32
  %n = arith.subi %zero, %b : i32
  %m = arith.maxsi %a, %n : i32
  %p = arith.muli %c, %minus : i32
  %r = arith.maxsi %p, %m : i32
  llvm.return %r : i32
}

// CHECK-LABEL: llvm.func @half(
// CHECK-SAME: %[[A:[^:]*]]: i16, %[[B:[^:]*]]: i16)
// CHECK: %[[N:.*]] = llvm.inline_asm asm_dialect = att "{ .reg .b16 n; not.b16 n, $1; add.s16 $0, n, 1; }", "=h,h" %[[B]] : (i16) -> i16
// CHECK: arith.minsi %[[A]], %[[N]] : i16
llvm.func @half(%a: i16, %b: i16) -> i16 {
  %zero = arith.constant 0 : i16
  %n = arith.subi %zero, %b : i16
  %m = arith.minsi %a, %n : i16
  llvm.return %m : i16
}

// LLVM makes a negation of a product with a negative number, and takes the low
// bits of one for one.

// CHECK-LABEL: llvm.func @products(
// CHECK-SAME: %[[A:[^:]*]]: i32, %[[B:[^:]*]]: i32, %[[C:[^:]*]]: i64)
// CHECK: %[[TWO:.*]] = arith.constant 2 : i32
// CHECK: %[[TWICE:.*]] = arith.muli %[[B]], %[[TWO]] : i32
// CHECK: %[[N:.*]] = llvm.inline_asm {{.*}} %[[TWICE]] : (i32) -> i32
// CHECK: %[[M:.*]] = arith.maxsi %[[A]], %[[N]] : i32
// CHECK: %[[THREE:.*]] = arith.constant 3 : i64
// CHECK: %[[THRICE:.*]] = arith.muli %[[C]], %[[THREE]] : i64
// CHECK: %[[LOW:.*]] = arith.trunci %[[THRICE]] : i64 to i32
// CHECK: %[[P:.*]] = llvm.inline_asm {{.*}} %[[LOW]] : (i32) -> i32
// CHECK: arith.maxsi %[[P]], %[[M]] : i32
llvm.func @products(%a: i32, %b: i32, %c: i64) -> i32 {
  %two = arith.constant -2 : i32
  %three = arith.constant -3 : i64
  %n = arith.muli %b, %two : i32
  %m = arith.maxsi %a, %n : i32
  %w = arith.muli %c, %three : i64
  %p = arith.trunci %w : i64 to i32
  %r = arith.maxsi %p, %m : i32
  llvm.return %r : i32
}

// Differences, other uses of a negation, and other types stay.

// CHECK-LABEL: llvm.func @others(
// CHECK-NOT: llvm.inline_asm
// CHECK: llvm.return
llvm.func @others(%a: i32, %b: i32, %c: i64) -> i32 {
  %zero = arith.constant 0 : i32
  %wide = arith.constant 0 : i64
  %n = arith.subi %zero, %b : i32
  %d = arith.subi %a, %b : i32
  %m = arith.maxsi %a, %d : i32
  %u = arith.maxui %m, %n : i32
  %l = arith.subi %wide, %c : i64
  %x = arith.maxsi %l, %c : i64
  %t = arith.trunci %x : i64 to i32
  %r = arith.addi %u, %t : i32
  llvm.return %r : i32
}
