// Sparsity of sizes that are known and leave one block, one list or no pair: tables
// of one element are no loops, and kernels compute what a CPU does.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// DEFINE: %{entry} =
// DEFINE: %{args} =
// DEFINE: %{cpu} = attn-run %s --target=cpu --check --entry=%{entry} %{args} | FileCheck %s --check-prefix=CPU
// DEFINE: %{gpu} = %python %S/Inputs/run_kernel.py %s --entry=%{entry} %{args} | FileCheck %s --check-prefix=GPU
// CPU: {{^}}PASS{{$}}
// GPU: o: max error
// GPU-NEXT: seed 0: {{[0-9]+}} steps,

// REDEFINE: %{entry} = bits
// REDEFINE: %{args} = --arg=bits=full(1)
// RUN: %{cpu}
// RUN: %{gpu}
// REDEFINE: %{args} = --arg=bits=full(0)
// RUN: %{cpu}
// RUN: %{gpu}
// REDEFINE: %{entry} = table
// REDEFINE: %{args} = --arg=table=full(1)
// RUN: %{cpu}
// RUN: %{gpu}
// REDEFINE: %{entry} = blocks
// RUN: %python -c "import numpy as n; n.save('%t.rows.npy', n.arange(2, dtype='i4')); n.save('%t.columns.npy', n.zeros(1, 'i4'))"
// REDEFINE: %{args} = --arg=rows=%t.rows.npy --arg=columns=%t.columns.npy
// RUN: %{cpu}
// RUN: %{gpu}
// REDEFINE: %{entry} = keys
// RUN: %python -c "import numpy as n; n.save('%t.rows.npy', n.array([0, 5], 'i4')); n.save('%t.columns.npy', n.array([0, 3, 64, 65, 149], 'i4'))"
// REDEFINE: %{args} = --arg=rows=%t.rows.npy --arg=columns=%t.columns.npy
// RUN: %{cpu}
// RUN: %{gpu}
// REDEFINE: %{entry} = scaled
// RUN: %python -c "import numpy as n; n.save('%t.rows.npy', n.arange(0, 123, 3, 'i4')); n.save('%t.columns.npy', n.tile(n.array([1, 7, 39], 'i4'), 40))"
// REDEFINE: %{args} = --arg=rows=%t.rows.npy --arg=columns=%t.columns.npy --arg=factor=0.75
// RUN: %{cpu}
// RUN: %{gpu}
// RUN: %python %S/Inputs/run_kernel.py %s --entry=scaled %{args} --option=--sparsity=lists | FileCheck %s --check-prefix=GPU
// REDEFINE: %{entry} = never
// REDEFINE: %{args} = --arg=rows=%t.rows.npy --arg=columns=%t.columns.npy
// RUN: %{cpu}
// RUN: %{gpu}
// RUN: %python %S/Inputs/run_kernel.py %s --entry=never %{args} --option=--sparsity=lists | FileCheck %s --check-prefix=GPU
// REDEFINE: %{entry} = no_keys
// REDEFINE: %{args} = --arg=rows=full(0) --arg=columns=randint(0,1):0
// RUN: %{cpu}
// RUN: %{gpu}
// RUN: attn-run %s --target=cpu --check --entry=no_keys %{args} --sparsity=dense | FileCheck %s --check-prefix=CPU
// RUN: %python %S/Inputs/run_kernel.py %s --entry=no_keys %{args} --option=--sparsity=dense | FileCheck %s --check-prefix=GPU

!head = tensor<1x2x64x64xf16>
!lists = tensor<?xi32>

// All queries and keys are in one block.
func.func @bits(%q: !head, %k: !head, %v: !head, %bits: tensor<1x1xi1>) -> (!head {attn.name = "o"}) {
  %init = tensor.empty() : !head
  %o = attn.attention ins(%q, %k, %v : !head, !head, !head)
      sparsity(#attn.sparsity<bits, block = 64x64> %bits : tensor<1x1xi1>)
      outs(%init : !head)
  return %o : !head
}

// So they are in a table that a mask reads.
func.func @table(%q: !head, %k: !head, %v: !head, %table: tensor<1xi1>) -> (!head {attn.name = "o"}) {
  %init = tensor.empty() : !head
  %o = attn.attention ins(%q, %k, %v : !head, !head, !head)
      captures(%table : tensor<1xi1>) outs(%init : !head)
      mask(%b, %h, %i, %j, %t) {
        %size = arith.constant 64 : index
        %block = arith.divui %j, %size : index
        %p = tensor.extract %t[%block] : tensor<1xi1>
        attn.yield %p : i1
      }
  return %o : !head
}

// One list of blocks, which heads share.
func.func @blocks(%q: !head, %k: !head, %v: !head, %rows: tensor<2xi32>, %columns: !lists) -> (!head {attn.name = "o"}) {
  %init = tensor.empty() : !head
  %o = attn.attention ins(%q, %k, %v : !head, !head, !head)
      sparsity(#attn.sparsity<lists, block = 64x64> %rows, %columns : tensor<2xi32>, !lists)
      outs(%init : !head)
  return %o : !head
}

// One query whose keys are listed.
!row = tensor<1x2x1x64xf16>
!past = tensor<1x2x150x64xf16>
func.func @keys(%q: !row, %k: !past, %v: !past, %rows: tensor<2xi32>, %columns: !lists) -> (!row {attn.name = "o"}) {
  %init = tensor.empty() : !row
  %o = attn.attention ins(%q, %k, %v : !row, !past, !past)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<2xi32>, !lists)
      outs(%init : !row)
  return %o : !row
}

// A number that a region reads, next to lists of keys.
!small = tensor<1x1x40x16xf16>
func.func @scaled(%q: !small, %k: !small, %v: !small, %rows: tensor<41xi32>, %columns: !lists, %factor: f32) -> (!small {attn.name = "o"}) {
  %init = tensor.empty() : !small
  %o = attn.attention ins(%q, %k, %v : !small, !small, !small) captures(%factor : f32)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<41xi32>, !lists)
      outs(%init : !small)
      score(%s, %b, %h, %i, %j, %f) {
        %y = arith.mulf %s, %f : f32
        attn.yield %y : f32
      }
  return %o : !small
}

// A mask that allows none of the keys that are listed.
func.func @never(%q: !small, %k: !small, %v: !small, %rows: tensor<41xi32>, %columns: !lists) -> (!small {attn.name = "o"}) {
  %init = tensor.empty() : !small
  %o = attn.attention ins(%q, %k, %v : !small, !small, !small)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<41xi32>, !lists)
      outs(%init : !small)
      mask(%b, %h, %i, %j) {
        %p = arith.constant false
        attn.yield %p : i1
      }
  return %o : !small
}

// No keys to list.
!none = tensor<1x1x0x16xf16>
func.func @no_keys(%q: !small, %k: !none, %v: !none, %rows: tensor<41xi32>, %columns: !lists) -> (!small {attn.name = "o"}) {
  %init = tensor.empty() : !small
  %o = attn.attention ins(%q, %k, %v : !small, !none, !none)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<41xi32>, !lists)
      outs(%init : !small)
  return %o : !small
}
