// Values of arguments.

// The defaults by type.
// RUN: attn-run %S/Inputs/captures.mlir | FileCheck %s --check-prefix=DEFAULTS
// DEFAULTS:      {{^}}  q       1x2x5x8xf32  randn{{$}}
// DEFAULTS-NEXT: {{^}}  k       1x2x7x8xf32  randn{{$}}
// DEFAULTS-NEXT: {{^}}  v       1x2x7x8xf32  randn{{$}}
// DEFAULTS-NEXT: {{^}}  rows    5xf64        randn{{$}}
// DEFAULTS-NEXT: {{^}}  heads   2xf16        randn{{$}}
// DEFAULTS-NEXT: {{^}}  keys    1x7xi1       0{{$}}
// DEFAULTS-NEXT: {{^}}  ids     7xi8         0{{$}}
// DEFAULTS-NEXT: {{^}}  order   5xi16        0{{$}}
// DEFAULTS-NEXT: {{^}}  n       i32          0{{$}}
// DEFAULTS-NEXT: {{^}}  shift   i64          0{{$}}
// DEFAULTS-NEXT: {{^}}  factor  f32          1{{$}}

// Every kind of spec, by name and by position, alone and in the form of two
// words; and all of it is right.
// RUN: attn-run %S/Inputs/captures.mlir --arg=q=uniform(-1,1) --arg=1=randn:1x2x7x8 \
// RUN:   --arg v=arange --arg=rows=full(0.5):5 --arg=4=0.25 --arg=keys=randint(0,2) \
// RUN:   --arg=ids=full(0) --arg=order=randint(-3,3):6 --arg=n=-2 --arg=shift=3 \
// RUN:   --arg=10=uniform(0.5,0.6) --check | FileCheck %s --check-prefix=GIVEN
// GIVEN: {{^}}  q       1x2x5x8xf32  uniform(-1,1){{$}}
// GIVEN: {{^}}  k       1x2x7x8xf32  randn{{$}}
// GIVEN: {{^}}  v       1x2x7x8xf32  arange{{$}}
// GIVEN: {{^}}  rows    5xf64        full(0.5){{$}}
// GIVEN: {{^}}  heads   2xf16        0.25{{$}}
// GIVEN: {{^}}  keys    1x7xi1       randint(0,2){{$}}
// GIVEN: {{^}}  ids     7xi8         full(0){{$}}
// GIVEN: {{^}}  order   6xi16        randint(-3,3){{$}}
// GIVEN: {{^}}  n       i32          -2{{$}}
// GIVEN: {{^}}  shift   i64          3{{$}}
// GIVEN: {{^}}  factor  f32          uniform(0.5,0.6){{$}}
// GIVEN: {{^}}PASS{{$}}

// An argument's numbers depend on the seed and its position, not on what else is
// given: telling the default changes nothing.
// RUN: attn-run %S/Inputs/causal.mlir > %t.default
// RUN: attn-run %S/Inputs/causal.mlir --arg=k=randn:1x8x128x16 | diff %t.default -

// Names come from attn.name, from the text, or are positions.
// RUN: attn-run %s --arg=query=0 --arg=%%k=0 --arg=2=0 2>&1 | FileCheck %s --check-prefix=NAMES
// NAMES: {{^}}  query  1x1x2x4xf32  0{{$}}
// NAMES: {{^}}  k      1x1x2x4xf32  0{{$}}
// NAMES: {{^}}  v      1x1x2x4xf32  0{{$}}
// NAMES: {{^}}  out    1x1x2x4xf32  min 0 {{ *}}max 0
func.func @names(%q: tensor<1x1x2x4xf32> {attn.name = "query"},
                 %k: tensor<1x1x2x4xf32>, %v: tensor<1x1x2x4xf32>)
    -> (tensor<1x1x2x4xf32> {attn.name = "out"}) {
  %init = tensor.empty() : tensor<1x1x2x4xf32>
  %o = attn.attention
      ins(%q, %k, %v : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%init : tensor<1x1x2x4xf32>)
  return %o : tensor<1x1x2x4xf32>
}
