// Layouts of blocks as arguments: random ones by default, of any density with
// blocks(p), which makes the columns of lists with their rows; their sizes follow
// from those of q and k, and the other way round.

// RUN: attn-run %s --check 2>&1 | FileCheck %s --check-prefix=DEFAULT
// DEFAULT:      {{^}}  q        1x4x128x16xf32 {{ *}}randn{{$}}
// DEFAULT:      {{^}}  rows     4x5xi32 {{ *}}blocks(0.5){{$}}
// DEFAULT-NEXT: {{^}}  columns  {{[0-9]+}}xi64 {{ *}}blocks(0.5){{$}}
// DEFAULT:      {{^}}PASS{{$}}

// RUN: attn-run %s --arg=q=randn:2x4x300x16 --arg=k=randn:2x4x200x16 '--arg=rows=blocks(1)' --check \
// RUN:   | FileCheck %s --check-prefix=SIZES
// SIZES: {{^}}  rows     4x11xi32 {{ *}}blocks(1){{$}}
// SIZES: {{^}}  columns  160xi64 {{ *}}blocks(1){{$}}
// SIZES: {{^}}PASS{{$}}

// Empty layouts, with columns and without, and lengths of 0.
// RUN: attn-run %s '--arg=rows=blocks(0)' --check | FileCheck %s --check-prefix=EMPTY
// EMPTY: {{^}}  columns  0xi64
// EMPTY: {{^}}  o  {{.*}} min 0 {{ *}}max 0
// EMPTY: {{^}}PASS{{$}}
// RUN: attn-run %s --arg=q=randn:1x4x0x16 --arg=k=randn:1x4x64x16 --check | FileCheck %s --check-prefix=PASS
// RUN: attn-run %s --arg=q=randn:1x4x64x16 --arg=k=randn:1x4x0x16 --check | FileCheck %s --check-prefix=PASS
// PASS: {{^}}PASS{{$}}

// Bits from the same numbers are the same layout.
// RUN: attn-run %s --arg=q=randn:2x4x300x16 --out=o=%t.lists.npy
// RUN: sed -e 's/%%rows: tensor<4x?xi32>/%%rows: tensor<4x?x?xi1>/; s/, %%columns: tensor<?xi64>//' \
// RUN:   -e 's/<lists, block = 32x64> %%rows, %%columns : .*)/<bits, block = 32x64> %%rows : tensor<4x?x?xi1>)/' %s > %t.bits.mlir
// RUN: attn-run %t.bits.mlir --arg=q=randn:2x4x300x16 --out=o=%t.bits.npy | FileCheck %s --check-prefix=BITS
// BITS: {{^}}  rows  4x10x5xi1 {{ *}}blocks(0.5){{$}}
// RUN: cmp %t.lists.npy %t.bits.npy
// RUN: attn-run %t.bits.mlir '--arg=rows=randint(0,2):4x3x2' --arg=k=randn:1x4x100x16 --check | FileCheck %s --check-prefix=LENGTH
// LENGTH: {{^}}  q     1x4x96x16xf32
// LENGTH: {{^}}PASS{{$}}

// A mask is drawn, and the compiler needs no tile beyond those of blocks.
// RUN: attn-run %s --arg=q=randn:2x4x256x16 --show-mask --mask-block=32x64 | FileCheck %s --check-prefix=MASK
// MASK: mask of the attention in line [[#@LINE + 45]]: batch 2, 4 heads, 256 queries, 256 keys, in tiles of 32x64
// MASK: h 0 {{ *}}[[PART:[0-9.]+]] {{ *}}{{[0-9]+}} {{ *}}0 {{ *}}{{[0-9]+}} {{ *}}[[PART]]{{$}}
// MASK: the compiler visits [[TILES:[0-9]+]] of 256 tiles, [[TILES]] of them without asking the mask

// What is wrong with lists, when the program runs; with checks of bounds too.
// RUN: not attn-run %s --arg=rows=arange:4x5 --arg=columns=arange:19 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not attn-run %s --arg=rows=arange:4x5 --arg=columns=arange:19 --bounds-check 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: {{^}}attn-run: error: {{.*}}sparsity.mlir:[[#@LINE + 38]]:8: error: 'attn.attention' op expects columns of the sparsity to be from 0 to below 2, but got {{[0-9]+}}{{$}}
// RUN: not attn-run %s '--arg=rows=randint(3,4):4x5' --arg=columns=0:2 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// OUTSIDE: error: 'attn.attention' op expects rows of the sparsity to lie in the 2 columns, but got 3{{$}}
// RUN: not attn-run %s --arg=rows=-1:4x5 --arg=columns=0:2 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: error: 'attn.attention' op expects rows of the sparsity to lie in the 2 columns, but got -1{{$}}
// RUN: not attn-run %s '--arg=rows=randint(0,40):4x5' --arg=columns=0:40 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: 'attn.attention' op expects rows of the sparsity not to decrease, but got {{[0-9]+}} after a larger one{{$}}
// ORDER: error: 'attn.attention' op expects the columns of a row of the sparsity to ascend, but got 0 after one that is not less{{$}}

// A result that is wrong is not written.
// RUN: rm -f %t.o.npy
// RUN: not attn-run %s --arg=rows=-1:4x5 --arg=columns=0:2 --out=o=%t.o.npy 2>&1
// RUN: not ls %t.o.npy

// Shapes, before anything runs.
// RUN: not attn-run %s --arg=q=randn:1x4x128x16 --arg=rows=0:4x4 --arg=columns=0:2 2>&1 | FileCheck %s --check-prefix=SHAPE
// SHAPE: error: {{.*}}: error: 'attn.attention' op expects dimension 1 of rows of the sparsity to have extent 5, but got 4{{$}}

// Lists of single keys.
// RUN: sed 's/block = 32x64/block = 1x1/' %s | attn-run - '--arg=rows=blocks(0.1)' --check | FileCheck %s --check-prefix=KEYS
// KEYS: {{^}}PASS{{$}}

// A kernel makes bits of lists before.
// RUN: sed 's/f32/f16/g' %s | env ATTN_PTXAS=off attn-run - --target=cuda --emit=ptx | FileCheck %s --check-prefix=CUDA
// CUDA: .entry blocks_summary0(
// CUDA: .entry blocks(
// CUDA: wgmma
// RUN: sed 's/f32/f16/g; s/16xf16/64xf16/g' %t.bits.mlir | env ATTN_PTXAS=off attn-run - --target=cuda --emit=ptx | FileCheck %s --check-prefix=PTX
// PTX: wgmma

func.func @blocks(%q: tensor<?x4x?x16xf32>, %k: tensor<?x4x?x16xf32>, %v: tensor<?x4x?x16xf32>,
                  %rows: tensor<4x?xi32>, %columns: tensor<?xi64>)
    -> (tensor<?x4x?x16xf32> {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : tensor<?x4x?x16xf32>
  %length = tensor.dim %q, %c2 : tensor<?x4x?x16xf32>
  %init = tensor.empty(%batch, %length) : tensor<?x4x?x16xf32>
  %o = attn.attention
      ins(%q, %k, %v : tensor<?x4x?x16xf32>, tensor<?x4x?x16xf32>, tensor<?x4x?x16xf32>)
      sparsity(#attn.sparsity<lists, block = 32x64> %rows, %columns : tensor<4x?xi32>, tensor<?xi64>)
      outs(%init : tensor<?x4x?x16xf32>)
  return %o : tensor<?x4x?x16xf32>
}
