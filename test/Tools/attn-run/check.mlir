// Comparison with the reference: each result against float64, with the errors
// that the same maths has step by step in the types of the program.

// RUN: split-file %s %t

// RUN: attn-run %S/Inputs/causal.mlir --arg=q=randn:2x4x37x16 --arg=k=randn:2x2x37x16 --check | FileCheck %s --check-prefix=PASS
// PASS:      {{^}}check against the reference in float64{{$}}
// PASS-NEXT: {{^}}             error{{ +}}eager{{ +}}ratio{{ +}}bound{{$}}
// PASS-NEXT: {{^}}  o    max   {{[-0-9.e]+ +[-0-9.e]+ +[-0-9.e]+ +[-0-9.e]+}} {{ *}}pass{{$}}
// PASS-NEXT: {{^}}       mean  {{[-0-9.e]+ +[-0-9.e]+ +[-0-9.e]+ +[-0-9.e]+$}}
// PASS-NEXT: {{^}}  lse  max   {{[-0-9.e]+ +[-0-9.e]+ +[-0-9.e]+ +[-0-9.e]+}} {{ *}}pass{{$}}
// PASS-NEXT: {{^}}       mean  {{[-0-9.e]+ +[-0-9.e]+ +[-0-9.e]+ +[-0-9.e]+$}}
// PASS-NEXT: {{^}}  a second run gave the same bits{{$}}
// PASS-NEXT: {{^}}PASS{{$}}

// A score that overflows in f32 on its way, but not in f64: the result is not
// what the maths says, and the exit code tells.
// RUN: not attn-run %t/overflow.mlir --check > %t/out 2> %t/err
// RUN: FileCheck %s --check-prefix=FAIL --input-file=%t/out
// RUN: count 0 < %t/err
// FAIL:      {{^}}results{{$}}
// FAIL-NEXT: {{^}}  o  1x1x4x8xf32  {{.*}}  nan 32  inf 0
// FAIL:      {{^}}  o  max   {{.*}}  FAIL{{$}}
// FAIL-NEXT: {{^}}     mean  {{.*}}
// FAIL-NEXT: {{^}}  'o': {{.+}}
// FAIL-NEXT: {{^}}  a second run gave the same bits{{$}}
// FAIL-NEXT: {{^}}FAIL{{$}}

// RUN: not attn-run %t/overflow.mlir --check --format=json > %t/json
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t/json
// JSON:      "first": [
// JSON-NEXT:   "nan",
// JSON:      "check": {
// JSON-NEXT:   "pass": false,
// JSON:        "name": "o",
// JSON-NEXT:   "pass": false,
// JSON-NEXT:   "reason": "{{.+}}",
// JSON-NEXT:   "repeated": true,
// JSON:        "mismatches": 32

// Results are written whether they are right or not.
// RUN: not attn-run %t/overflow.mlir --check --out=o=%t/o.npy
// RUN: %python %S/Inputs/npy.py read %t/o.npy | FileCheck %s --check-prefix=WRITTEN
// WRITTEN: <f4 (1, 1, 4, 8) nan nan

// What is too long to evaluate in full is sampled.
// RUN: attn-run %t/long.mlir --check | FileCheck %s --check-prefix=LONG
// LONG: {{^}}check against the reference in float64, of up to {{[0-9]+}} rows of each head{{$}}
// LONG: {{^}}PASS{{$}}

// What the compiler takes and the reference does not is an error of the check
// alone.
// RUN: not attn-run %t/bounds.mlir --arg=w=1:3 --check 2>&1 | FileCheck %s --check-prefix=BOUNDS
// BOUNDS: {{^}}attn-run: error: cannot evaluate the reference: {{.+}}

//--- overflow.mlir
func.func @overflow(%q: tensor<1x1x4x8xf32>)
    -> (tensor<1x1x4x8xf32> {attn.name = "o"}) {
  %init = tensor.empty() : tensor<1x1x4x8xf32>
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>,
                       tensor<1x1x4x8xf32>)
      outs(%init : tensor<1x1x4x8xf32>)
      score(%s, %b, %h, %i, %j) {
        %large = arith.constant 1.000000e+30 : f32
        %small = arith.constant 1.000000e-30 : f32
        %a = arith.mulf %s, %s : f32
        %one = arith.constant 1.000000e+00 : f32
        %c = arith.addf %a, %one : f32
        %d = arith.mulf %c, %large : f32
        %e = arith.mulf %d, %d : f32
        %f = math.sqrt %e : f32
        %g = arith.mulf %f, %small : f32
        attn.yield %g : f32
      }
  return %o : tensor<1x1x4x8xf32>
}

//--- long.mlir
func.func @long(%q: tensor<1x8x4096x64xbf16>, %k: tensor<1x1x4096x64xbf16>)
    -> tensor<1x8x4096x64xbf16> {
  %init = tensor.empty() : tensor<1x8x4096x64xbf16>
  %o = attn.attention
      ins(%q, %k, %k : tensor<1x8x4096x64xbf16>, tensor<1x1x4096x64xbf16>,
                       tensor<1x1x4096x64xbf16>)
      outs(%init : tensor<1x8x4096x64xbf16>)
  return %o : tensor<1x8x4096x64xbf16>
}

//--- bounds.mlir
func.func @bounds(%q: tensor<1x1x4x8xf32>, %w: tensor<?xf32>)
    -> tensor<1x1x4x8xf32> {
  %init = tensor.empty() : tensor<1x1x4x8xf32>
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>,
                       tensor<1x1x4x8xf32>)
      captures(%w : tensor<?xf32>)
      outs(%init : tensor<1x1x4x8xf32>)
      score(%s, %b, %h, %i, %j, %w) {
        %square = arith.muli %j, %j : index
        %a = tensor.extract %w[%square] : tensor<?xf32>
        %c = arith.addf %s, %a : f32
        attn.yield %c : f32
      }
  return %o : tensor<1x1x4x8xf32>
}
