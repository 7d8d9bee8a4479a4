// A box of a capture that starts at other rows and columns than the tile does,
// on either side of the tensor: what is outside reads as 0. Distances that do
// not fit the 32 bits of a coordinate are outside.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// RUN: attn-run %s --target=cuda --until-after=attn-hopper-outline | FileCheck %s
// RUN: %python %S/Inputs/run_kernel.py %s --arg=q=randn:1x2x70x64 --arg=k=randn:1x2x90x64 --arg=bias=randn:2x80x96 --arg=rows=3 --arg=columns=-17
// RUN: %python %S/Inputs/run_kernel.py %s --arg=q=randn:1x1x70x64 --arg=k=randn:1x1x90x64 --arg=bias=randn:1x64x88 --arg=rows=-9 --arg=columns=40
// RUN: %python %S/Inputs/run_kernel.py %s --arg=q=randn:1x1x70x64 --arg=k=randn:1x1x90x64 --arg=bias=randn:1x64x88 --arg=rows=4294967296 --arg=columns=-4294967296

// CHECK: hopper.step "load_arg3" in "load" -> !hopper.tile<{{[0-9]+}}x{{[0-9]+}}xbf16>
// CHECK: arith.maxsi
// CHECK: arith.minsi
// CHECK: hopper.load

!t = tensor<?x?x?x64xbf16>

func.func @shifted(%q: !t, %k: !t, %v: !t, %bias: tensor<?x?x?xbf16>, %rows: index, %columns: index) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%bias, %rows, %columns : tensor<?x?x?xbf16>, index, index) outs(%init : !t)
      score(%x, %b0, %h0, %i, %j, %w, %c, %d) {
        %row = arith.addi %c, %i : index
        %column = arith.subi %j, %d : index
        %e = tensor.extract %w[%h0, %row, %column] : tensor<?x?x?xbf16>
        %f = arith.extf %e : bf16 to f32
        %y = arith.addf %x, %f : f32
        attn.yield %y : f32
      }
  return %o : !t
}
