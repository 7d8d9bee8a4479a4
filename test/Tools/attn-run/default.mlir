// Without options: the function on seeded random input, and a summary of each
// result. Text and bytecode, a file and standard input give the same.

// RUN: attn-run %S/Inputs/causal.mlir > %t.out 2> %t.err
// RUN: FileCheck %s --input-file=%t.out
// RUN: count 0 < %t.err

// CHECK:      causal.mlir: @causal on {{.+}}
// CHECK-NEXT: {{^}}arguments{{$}}
// CHECK-NEXT: {{^}}  q  1x8x128x16xf32  randn{{$}}
// CHECK-NEXT: {{^}}  k  1x8x128x16xf32  randn{{$}}
// CHECK-NEXT: {{^}}  v  1x8x128x16xf32  randn{{$}}
// CHECK-NEXT: {{^}}results{{$}}
// CHECK-NEXT: {{^}}  o    1x8x128x16xf32  min -{{[0-9.]+}}  max {{[0-9.]+}}  mean {{[-0-9.e]+}}  nan 0  inf 0  first{{( -?[0-9.]+){4}$}}
// CHECK-NEXT: {{^}}  lse  1x8x128xf32     min -{{[0-9.]+}}  max {{[0-9.]+}}  mean {{[-0-9.e]+}}  {{ *}}nan 0  inf 0  first{{( -?[0-9.]+){4}$}}
// CHECK-NOT:  {{.}}

// RUN: attn-run - < %S/Inputs/causal.mlir | FileCheck %s --check-prefix=STDIN
// STDIN:      {{^}}<stdin>: @causal on
// RUN: attn-run - < %S/Inputs/causal.mlir | tail -n +2 > %t.stdin
// RUN: tail -n +2 %t.out | diff - %t.stdin

// Bytecode keeps no names of arguments, so the results are compared alone.
// RUN: attn-opt %S/Inputs/causal.mlir --emit-bytecode -o %t.mlirbc
// RUN: attn-run %t.mlirbc | FileCheck %s --check-prefix=BYTECODE
// RUN: attn-run %t.mlirbc | sed -n '/^results/,$p' > %t.bytecode
// RUN: sed -n '/^results/,$p' %t.out | diff - %t.bytecode
// BYTECODE: {{^}}  {{.*0}}  1x8x128x16xf32  randn{{$}}

// The number of threads changes nothing; the seed does.
// RUN: attn-run %S/Inputs/causal.mlir --threads=1 --seed=0 --target=cpu --format=text | diff %t.out -
// RUN: attn-run %S/Inputs/causal.mlir --seed=1 | not diff %t.out - > /dev/null

// The query row 0 sees one key, so its result is a row of v, and its log-sum-exp
// the score: with q = k = 1 that is 16 / sqrt(16).
// RUN: attn-run %S/Inputs/causal.mlir --arg=q=1:1x2x3x16 --arg=k=1 --arg=v=arange | FileCheck %s --check-prefix=VALUES
// VALUES:      {{^}}  o    1x2x3x16xf32  min 0  max 79 {{ *}}mean 39.5 {{ *}}nan 0  inf 0  first 0 1 2 3{{$}}
// VALUES-NEXT: {{^}}  lse  1x2x3xf32     min 4  max 5.0986  mean 4.5973  nan 0  inf 0  first 4 4.6931 5.0986 4{{$}}

// Not a number of any kind has no minimum.
// RUN: attn-run %S/Inputs/causal.mlir --arg=q=1:1x1x3x16 --arg=k=1 --arg=v=nan | FileCheck %s --check-prefix=NAN
// NAN: {{^}}  o    1x1x3x16xf32  min none  max none {{ *}}mean none {{ *}}nan 48  inf 0  first nan nan nan nan{{$}}

// Nothing to compute, with lengths of 0.
// RUN: attn-run %S/Inputs/causal.mlir --arg=q=randn:1x2x0x16 --arg=k=randn:1x2x0x16 | FileCheck %s --check-prefix=EMPTY
// EMPTY: {{^}}  o    1x2x0x16xf32  min none  max none  mean none  nan 0  inf 0  first{{$}}

// Rows without keys.
// RUN: attn-run %S/Inputs/causal.mlir --arg=q=randn:1x2x2x16 --arg=k=randn:1x2x0x16 | FileCheck %s --check-prefix=NOKEYS
// NOKEYS: {{^}}  o    1x2x2x16xf32  min 0 {{ *}}max 0 {{ *}}mean 0 {{ *}}nan 0  inf 0  first 0 0 0 0{{$}}
// NOKEYS: {{^}}  lse  1x2x2xf32     min none  max none  mean none  nan 0  inf 4  first -inf -inf -inf -inf{{$}}
