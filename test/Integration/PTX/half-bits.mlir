// The bits of 16-bit floats of pairs: of what is rounded, of what is read, and
// floats made of bits and chosen.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// RUN: %python %S/Inputs/run_kernel.py %s --arg=q=randn:1x2x72x64 --arg=x=randn:72x72 --arg=y=randn:72x72

!t = tensor<?x?x?x64xbf16>

func.func @bits(%q: !t, %k: !t, %v: !t, %x: tensor<?x?xf32>, %y: tensor<?x?xf16>) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%x, %y : tensor<?x?xf32>, tensor<?x?xf16>) outs(%init : !t)
      score(%s0, %b0, %h0, %i, %j, %a, %c) {
        %0 = tensor.extract %c[%i, %j] : tensor<?x?xf16>
        %1 = arith.bitcast %0 : f16 to i16
        %mask = arith.constant 32767 : i16
        %2 = arith.andi %1, %mask : i16
        %3 = arith.bitcast %2 : i16 to f16
        %4 = arith.cmpi slt, %j, %i : index
        %5 = arith.select %4, %3, %0 : f16
        %6 = arith.extf %5 : f16 to f32
        %7 = arith.addf %s0, %6 : f32
        attn.yield %7 : f32
      }
      mask(%b0, %h0, %i, %j, %a, %c) {
        %0 = tensor.extract %a[%i, %j] : tensor<?x?xf32>
        %1 = arith.truncf %0 : f32 to f16
        %2 = arith.bitcast %1 : f16 to i16
        %3 = arith.constant 15360 : i16
        %p = arith.cmpi slt, %2, %3 : i16
        attn.yield %p : i1
      }
  return %o : !t
}
