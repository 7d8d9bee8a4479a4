// What is wrong with lists of keys is an error of the call.

// DEFINE: %{lists} = %python %S/Inputs/write-lists.py %t
// DEFINE: %{run} = attn-run %s --arg=k=randn:1x1x5x8 --arg=rows=%t.rows.npy --arg=columns=%t.columns.npy --out=o=%t.npy

// RUN: %{lists} 0,2,3 0,4,2 && %{run} --check | FileCheck %s --check-prefix=RIGHT
// RIGHT: {{^}}PASS{{$}}

// RUN: %{lists} 0,2,3 0,5,2 && not %{run} 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: key-lists-errors.mlir:[[#@LINE + 20]]:8: error: 'attn.attention' op expects columns of the sparsity to be from 0 to below 5, but got 5
// RUN: %{lists} 0,2,3 0,4,-1 && not %{run} 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: error: 'attn.attention' op expects columns of the sparsity to be from 0 to below 5, but got -1
// RUN: %{lists} 0,2,3 4,1,2 && not %{run} 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: %{lists} 0,2,3 1,1,2 && not %{run} 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: 'attn.attention' op expects the columns of a row of the sparsity to ascend, but got 1 after one that is not less
// RUN: %{lists} 0,2,4 0,1,2 && not %{run} 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// OUTSIDE: error: 'attn.attention' op expects rows of the sparsity to lie in the 3 columns, but got 4
// RUN: %{lists} -3,2,3 0,1,2 && not %{run} 2>&1 | FileCheck %s --check-prefix=BEFORE
// BEFORE: error: 'attn.attention' op expects rows of the sparsity to lie in the 3 columns, but got -3
// RUN: %{lists} 0,2,1 0,1,2 && not %{run} 2>&1 | FileCheck %s --check-prefix=DECREASING
// DECREASING: error: 'attn.attention' op expects rows of the sparsity not to decrease, but got 1 after a larger one
// RUN: %{lists} 0,2 0,1 && not %{run} 2>&1 | FileCheck %s --check-prefix=SHAPE
// SHAPE: error: 'attn.attention' op expects dimension 0 of rows of the sparsity to have extent 3, but got 2

!q = tensor<1x1x2x8xf32>
!k = tensor<1x1x?x8xf32>
func.func @f(%q: !q, %k: !k, %rows: tensor<?xi32>, %columns: tensor<?xi32>)
    -> (!q {attn.name = "o"}) {
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %k, %k : !q, !k, !k)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<?xi32>, tensor<?xi32>)
      outs(%init : !q)
  return %o : !q
}
