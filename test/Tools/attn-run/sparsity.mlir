// RUN: attn-run %s --target=cpu --arg=q=randn:1x2x300x64 --arg=rows='blocks(0.05)' | FileCheck %s --check-prefix=FEW
// RUN: attn-run %s --target=cpu --arg=q=randn:1x2x300x64 --arg=rows='blocks(1)' | FileCheck %s --check-prefix=ALL
// RUN: attn-run %s --target=cpu --arg=q=randn:1x2x300x64 --arg=rows='blocks(0.05)' --sparsity=dense --check | FileCheck %s --check-prefix=DENSE
// RUN: attn-run %s --target=cpu --arg=q=randn:1x2x300x64 --arg=rows='blocks(1)' --sparsity=lists --check | FileCheck %s --check-prefix=LISTS
// RUN: attn-run %s --target=cpu --arg=q=randn:1x2x300x64 --arg=rows='blocks(0.9)' --format=json | FileCheck %s --check-prefix=JSON
// RUN: not attn-run %s --target=cpu --sparsity=blocks 2>&1 | FileCheck %s --check-prefix=BLOCKS
// RUN: not attn-run %s --target=cuda --emit=ptx --sparsity=blocks 2>&1 | FileCheck %s --check-prefix=BLOCKS
// RUN: not attn-run %s --target=cpu --sparsity=sparse 2>&1 | FileCheck %s --check-prefix=NAME

// FEW: {{^}}sparsity{{$}}
// FEW-NEXT: lists: {{[45]\.[0-9]+}} % of all pairs are in lists
// ALL: dense: 100.00 % of all pairs are in lists
// DENSE: dense: {{[45]\.[0-9]+}} % of all pairs are in lists
// DENSE: PASS
// LISTS: lists: 100.00 % of all pairs are in lists
// LISTS: PASS
// JSON: "form": "dense"
// BLOCKS: error: expects dense, lists or gathered for lists of single keys, but got blocks; leave the choice to the compiler with auto
// NAME: error: expects a form of a sparsity to be auto, dense, blocks, lists or gathered, but got 'sparse'
!q = tensor<?x2x?x64xf32>
func.func @f(%q: !q, %k: !q, %v: !q, %rows: tensor<2x?xi32>, %columns: tensor<?xi32>) -> !q {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%b, %s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<2x?xi32>, tensor<?xi32>)
      outs(%init : !q)
  return %o : !q
}
