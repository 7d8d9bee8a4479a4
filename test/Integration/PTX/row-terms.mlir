// What all keys of a row share is added, or left out, at its end: numbers that are
// infinite or NaN, rows without keys, heads in one tile, parts of keys, lists.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer

// DEFINE: %{run} = %python %S/Inputs/run_kernel.py %s
// RUN: %{run} --entry=rows --arg=q=randn:1x2x200x64 --arg=k=randn:1x2x200x64 --arg=a=randn:2x200 '--arg=c=randint(0,7):200' | FileCheck %s
// RUN: %{run} --entry=rows --arg=q=randn:1x4x3x64 --arg=k=randn:1x2x700x64 --arg=a=randn:4x3 --arg=c=1:3 --num-splits=3 --schedule '#hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 208, split_kv>' | FileCheck %s
// RUN: %{run} --entry=bounded --arg=q=randn:1x2x200x64 --arg=k=randn:1x2x200x64 --arg=a=randn:200 '--arg=c=randint(0,220):1' | FileCheck %s
// RUN: %{run} --entry=bounded --arg=q=randn:1x4x3x64 --arg=k=randn:1x2x700x64 --arg=a=randn:700 --arg=c=2:1 --num-splits=3 --schedule '#hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 208, split_kv, pack_gqa>' | FileCheck %s
// RUN: %{run} --entry=alone --arg=q=randn:1x2x400x64 --arg=k=randn:1x2x300x64 '--arg=c=blocks(0.01):1x400' | FileCheck %s
// RUN: %python -c "import numpy as n; n.save('%t.rows.npy', n.arange(71, dtype='i4') * 5); n.save('%t.columns.npy', (n.arange(70)[:, None] // 2 + [0, 3, 9, 20, 33]).ravel().astype('i4'))"
// DEFINE: %{lists} = --entry=listed --arg=q=randn:1x2x70x64 --arg=k=randn:1x2x90x64 --arg=rows=%t.rows.npy --arg=columns=%t.columns.npy --arg=a=randn:70
// RUN: %{run} %{lists} --option=--sparsity=lists | FileCheck %s
// RUN: %{run} %{lists} --option=--sparsity=gathered | FileCheck %s
// RUN: %{run} --entry=output --arg=q=randn:1x4x3x64 --arg=k=randn:1x2x700x64 --arg=a=randn:1x3 --num-splits=3 --schedule '#hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 208, split_kv>' | FileCheck %s --check-prefix=OUTPUT
// RUN: not %{run} --entry=bounded --arg=q=randn:1x2x200x64 --arg=k=randn:1x2x200x64 --arg=a=randn:200 --arg=c=150:1 --tolerance=0 | FileCheck %s --check-prefix=WRONG
// RUN: attn-run %s --entry=rows --check --arg=q=randn:2x4x300x64 --arg=k=randn:2x2x200x64 --arg=a=randn:4x300 '--arg=c=randint(0,7):300' | FileCheck %s --check-prefix=CPU
// RUN: attn-run %s --entry=rows --check --arg=q=randn:2x4x1x64 --arg=k=randn:2x2x200x64 --arg=a=randn:4x1 --arg=c=1:1 | FileCheck %s --check-prefix=CPU
// RUN: attn-run %s --entry=bounded --check --arg=q=randn:2x4x100x64 --arg=k=randn:2x2x100x64 --arg=a=randn:100 '--arg=c=randint(0,120):2' | FileCheck %s --check-prefix=CPU
// RUN: attn-run %s --entry=alone --check --arg=q=randn:2x4x300x64 --arg=k=randn:2x2x100x64 '--arg=c=blocks(0.5):2x300' | FileCheck %s --check-prefix=CPU
// RUN: attn-run %s --entry=listed --check --arg=q=randn:1x2x70x64 --arg=k=randn:1x2x90x64 '--arg=rows=blocks(0.3)' --arg=a=randn:70 | FileCheck %s --check-prefix=CPU
// CHECK: o: max error
// CHECK: lse: max error
// CHECK: seed 0
// OUTPUT: o: max error
// OUTPUT-NEXT: seed 0
// WRONG: o: max error
// CPU: {{^}}PASS{{$}}

!q = tensor<?x?x?x64xbf16>
!r = tensor<?x?x?xf32>
!m = tensor<?x?xf32>

// A number of each row that is subtracted, rows that are left out, and a causal
// mask; some numbers are infinite or NaN.
func.func @rows(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %a: tensor<?x?xf32> {attn.name = "a"}, %c: tensor<?xi32> {attn.name = "c"}) -> (!q {attn.name = "o"}, !r {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %l = tensor.empty(%n0, %n1, %n2) : !r
  %o, %lse = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%a, %c : tensor<?x?xf32>, tensor<?xi32>) outs(%init, %l : !q, !r)
      score(%s, %b, %h, %i, %j, %t, %u) {
        %none = arith.constant 0xFF800000 : f32
        %all = arith.constant 0x7F800000 : f32
        %nan = arith.constant 0x7FC00000 : f32
        %two = arith.constant 2 : i32
        %three = arith.constant 3 : i32
        %four = arith.constant 4 : i32
        %x0 = tensor.extract %t[%h, %i] : tensor<?x?xf32>
        %kind = tensor.extract %u[%i] : tensor<?xi32>
        %is2 = arith.cmpi eq, %kind, %two : i32
        %is3 = arith.cmpi eq, %kind, %three : i32
        %is4 = arith.cmpi eq, %kind, %four : i32
        %x1 = arith.select %is2, %none, %x0 : f32
        %x2 = arith.select %is3, %all, %x1 : f32
        %x3 = arith.select %is4, %nan, %x2 : f32
        %y = arith.subf %s, %x3 : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %t, %u) {
        %z = arith.constant 0 : i32
        %x = tensor.extract %u[%i] : tensor<?xi32>
        %p = arith.cmpi sgt, %x, %z : i32
        %r = arith.cmpi sle, %j, %i : index
        %w = arith.andi %p, %r : i1
        attn.yield %w : i1
      }
  return %o, %lse : !q, !r
}

// Keys are bounded by how many rows a batch has.
func.func @bounded(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %a: tensor<?xf32> {attn.name = "a"}, %c: tensor<?xindex> {attn.name = "c"}) -> (!q {attn.name = "o"}, !r {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %l = tensor.empty(%n0, %n1, %n2) : !r
  %o, %lse = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%a, %c : tensor<?xf32>, tensor<?xindex>) outs(%init, %l : !q, !r)
      score(%s, %b, %h, %i, %j, %t, %u) {
        %x = tensor.extract %t[%i] : tensor<?xf32>
        %z = tensor.extract %t[%j] : tensor<?xf32>
        %y = arith.addf %x, %s : f32
        %w = arith.subf %y, %z : f32
        attn.yield %w : f32
      }
      mask(%b, %h, %i, %j, %t, %u) {
        %x = tensor.extract %u[%b] : tensor<?xindex>
        %p = arith.cmpi slt, %i, %x : index
        attn.yield %p : i1
      }
  return %o, %lse : !q, !r
}

// The mask says which rows there are, and no more.
func.func @alone(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %c: tensor<?x?xi1> {attn.name = "c"}) -> (!q {attn.name = "o"}, !r {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %l = tensor.empty(%n0, %n1, %n2) : !r
  %o, %lse = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%c : tensor<?x?xi1>) outs(%init, %l : !q, !r)
      mask(%b, %h, %i, %j, %u) {
        %x = tensor.extract %u[%b, %i] : tensor<?x?xi1>
        attn.yield %x : i1
      }
  return %o, %lse : !q, !r
}

// Of lists of keys.
!s = tensor<1x2x70x64xbf16>
!t = tensor<1x2x90x64xbf16>
func.func @listed(%q: !s {attn.name = "q"}, %k: !t {attn.name = "k"}, %rows: tensor<71xi32> {attn.name = "rows"}, %columns: tensor<?xi32> {attn.name = "columns"}, %a: tensor<70xf32> {attn.name = "a"}) -> (!s {attn.name = "o"}, tensor<1x2x70xf32> {attn.name = "lse"}) {
  %init = tensor.empty() : !s
  %l = tensor.empty() : tensor<1x2x70xf32>
  %o, %lse = attn.attention ins(%q, %k, %k : !s, !t, !t) captures(%a : tensor<70xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<71xi32>, tensor<?xi32>)
      outs(%init, %l : !s, tensor<1x2x70xf32>)
      score(%s, %b, %h, %i, %j, %t) {
        %x = tensor.extract %t[%i] : tensor<70xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %t) {
        %zero = arith.constant 0.0 : f32
        %x = tensor.extract %t[%i] : tensor<70xf32>
        %p = arith.cmpf ogt, %x, %zero : f32
        attn.yield %p : i1
      }
  return %o, %lse : !s, tensor<1x2x70xf32>
}

// Without the log-sum-exp, which parts have all the same.
func.func @output(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %a: !m {attn.name = "a"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%a : !m) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %x = tensor.extract %t[%b, %i] : !m
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %o : !q
}
