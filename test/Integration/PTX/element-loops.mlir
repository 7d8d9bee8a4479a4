// Tensors computed around attentions, each by a launch of its own, in the
// interpreter: sums of gradients, slices, conversions, and sums over dimensions.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer

// DEFINE: %{run} = %python %S/Inputs/run_kernel.py %s --launches
// RUN: %{run} --entry=twice --grad --arg=x=randn:2x3x70x64 | FileCheck %s --check-prefix=TWICE
// RUN: %{run} --entry=differential --grad --arg=q=randn:1x4x70x32 --arg=k=randn:1x4x50x32 | FileCheck %s --check-prefix=DIFFERENTIAL
// RUN: %{run} --entry=scaled --arg=q=randn:1x2x37x16 --arg=k=randn:1x2x41x16 | FileCheck %s --check-prefix=SCALED
// RUN: %{run} --entry=mean --arg=q=randn:1x2x37x16 | FileCheck %s --check-prefix=MEAN
// RUN: %{run} --entry=sink --grad --arg=q=randn:1x2x37x64 --arg=k=randn:1x2x41x64 --arg=sinks=randn:2 | FileCheck %s --check-prefix=SINK
// RUN: %{run} --entry=wide --arg=q=randn:1x2x9x160 --arg=k=randn:1x2x271x160 --arg=w=randn:271 | FileCheck %s --check-prefix=WIDE
// RUN: attn-run %s --target=cuda --emit=ptx --first-schedule --entry=none | FileCheck %s --check-prefix=NONE
// RUN: not %{run} --entry=mean --arg=q=randn:1x2x37x16 --tolerance=0 | FileCheck %s --check-prefix=WRONG

// q and k are one tensor.
// TWICE-COUNT-2: #hopper.schedule<
// TWICE-NEXT: elements
// TWICE-NEXT: o: max error
// TWICE-NEXT: dx: max error
// TWICE-NEXT: dv: max error
// TWICE-NEXT: seed 0
!t = tensor<2x3x?x64xbf16>
func.func @twice(%x: !t, %v: !t) -> (!t {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c2 : !t
  %init = tensor.empty(%n) : !t
  %o = attn.attention ins(%x, %x, %v : !t, !t, !t) outs(%init : !t)
  return %o : !t
}

// The difference of two attentions, of slices of q and k and with the same v.
// DIFFERENTIAL-COUNT-4: elements
// DIFFERENTIAL-NEXT: #hopper.schedule<
// DIFFERENTIAL-NEXT: #hopper.schedule<
// DIFFERENTIAL: o: max error
// DIFFERENTIAL-NEXT: dq: max error
// DIFFERENTIAL-NEXT: dk: max error
// DIFFERENTIAL-NEXT: dv: max error
// DIFFERENTIAL-NEXT: seed 0
!x = tensor<1x4x?x32xbf16>
!h = tensor<1x2x?x32xbf16>
!f = tensor<1x2x?x32xf32>
func.func @differential(%q: !x, %k: !x, %v: !h) -> (!h {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !x
  %m = tensor.dim %k, %c2 : !x
  %q0 = tensor.extract_slice %q[0, 0, 0, 0] [1, 2, %n, 32] [1, 2, 1, 1] : !x to !h
  %q1 = tensor.extract_slice %q[0, 1, 0, 0] [1, 2, %n, 32] [1, 2, 1, 1] : !x to !h
  %k0 = tensor.extract_slice %k[0, 0, 0, 0] [1, 2, %m, 32] [1, 2, 1, 1] : !x to !h
  %k1 = tensor.extract_slice %k[0, 1, 0, 0] [1, 2, %m, 32] [1, 2, 1, 1] : !x to !h
  %init = tensor.empty(%n) : !h
  %a = attn.attention ins(%q0, %k0, %v : !h, !h, !h) outs(%init : !h)
  %b = attn.attention ins(%q1, %k1, %v : !h, !h, !h) outs(%init : !h)
  %a32 = arith.extf %a : !h to !f
  %b32 = arith.extf %b : !h to !f
  %half = arith.constant 0.5 : f32
  %e = tensor.empty(%n) : !f
  %halves = linalg.fill ins(%half : f32) outs(%e : !f) -> !f
  %less = arith.mulf %b32, %halves : !f
  %d = arith.subf %a32, %less : !f
  %r = arith.truncf %d : !f to !h
  return %r : !h
}

// A scalar of a function, and keys in another layout and as other elements.
// SCALED: elements
// SCALED-NEXT: #hopper.schedule<
// SCALED-NEXT: o: max error
!s = tensor<1x2x?x16xf16>
func.func @scaled(%q: !s, %k: tensor<1x2x?x16xf32>, %factor: f32) -> (!s {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !s
  %m = tensor.dim %k, %c2 : tensor<1x2x?x16xf32>
  %e = tensor.empty(%m) : !s
  %keys = linalg.generic {
      indexing_maps = [affine_map<(b, h, j, d) -> (b, h, j, d)>, affine_map<(b, h, j, d) -> ()>, affine_map<(b, h, j, d) -> (b, h, j, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%k, %factor : tensor<1x2x?x16xf32>, f32) outs(%e : !s) {
    ^bb0(%x: f32, %f: f32, %out: f16):
      %y = arith.mulf %x, %f : f32
      %z = arith.truncf %y : f32 to f16
      linalg.yield %z : f16
  } -> !s
  %init = tensor.empty(%n) : !s
  %o = attn.attention ins(%q, %keys, %keys : !s, !s, !s) outs(%init : !s)
  return %o : !s
}

// Rows longer than a thread's iterations: of a constant, and of any number of
// elements.
// WIDE-COUNT-2: elements
// WIDE-NEXT: #hopper.schedule<
// WIDE-NEXT: o: max error
!w = tensor<1x2x?x160xbf16>
!c = tensor<?xf32>
func.func @wide(%q: !w, %k: !w, %w: !c) -> (!w {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !w
  %m = tensor.dim %k, %c2 : !w
  %e = tensor.empty(%n) : !w
  %halves = linalg.generic {
      indexing_maps = [affine_map<(b, h, i, d) -> (b, h, i, d)>, affine_map<(b, h, i, d) -> (b, h, i, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%q : !w) outs(%e : !w) {
    ^bb0(%x: bf16, %out: bf16):
      %half = arith.constant 0.5 : bf16
      %y = arith.mulf %x, %half : bf16
      linalg.yield %y : bf16
  } -> !w
  %r = tensor.empty(%m) : !c
  %squares = linalg.generic {
      indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> (j)>],
      iterator_types = ["parallel"]}
      ins(%w : !c) outs(%r : !c) {
    ^bb0(%x: f32, %out: f32):
      %y = arith.mulf %x, %x : f32
      linalg.yield %y : f32
  } -> !c
  %o = attn.attention ins(%halves, %k, %k : !w, !w, !w) captures(%squares : !c) outs(%e : !w)
      score(%s, %b, %h, %i, %j, %t) {
        %x = tensor.extract %t[%j] : !c
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %o : !w
}

// A tensor without elements.
// NONE: .visible .entry none(
!z = tensor<2x0xf32>
func.func @none(%q: !w, %z: !z) -> (!w, !z) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !w
  %e = tensor.empty(%n) : !w
  %o = attn.attention ins(%q, %q, %q : !w, !w, !w) outs(%e : !w)
  %twice = arith.addf %z, %z : !z
  return %o, %twice : !w, !z
}

// What is left of keys when their mean is taken away, which is a sum.
// MEAN: elements
// MEAN-NEXT: elements
// MEAN-NEXT: #attn.row_schedule<
// MEAN-NEXT: o: max error
// WRONG: wrong: o: max error
!g = tensor<1x2x?x16xf32>
!m = tensor<1x2x16xf32>
func.func @mean(%q: !g) -> (!g {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !g
  %zero = arith.constant 0.0 : f32
  %me = tensor.empty() : !m
  %start = linalg.fill ins(%zero : f32) outs(%me : !m) -> !m
  %sum = linalg.reduce ins(%q : !g) outs(%start : !m) dimensions = [2]
    (%x: f32, %y: f32) {
      %z = arith.addf %x, %y : f32
      linalg.yield %z : f32
    }
  %e = tensor.empty(%n) : !g
  %keys = linalg.generic {
      indexing_maps = [affine_map<(b, h, j, d) -> (b, h, j, d)>, affine_map<(b, h, j, d) -> (b, h, d)>, affine_map<(b, h, j, d) -> (b, h, j, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%q, %sum : !g, !m) outs(%e : !g) {
    ^bb0(%x: f32, %s: f32, %out: f32):
      %i = arith.index_cast %n : index to i32
      %f = arith.sitofp %i : i32 to f32
      %mean = arith.divf %s, %f : f32
      %y = arith.subf %x, %mean : f32
      linalg.yield %y : f32
  } -> !g
  %o = attn.attention ins(%q, %keys, %keys : !g, !g, !g) outs(%e : !g)
  return %o : !g
}

// A learned weight in the denominator, from the log-sum-exp. Its gradient is a sum
// over all but heads.
// SINK: #hopper.schedule<
// SINK: o: max error
// SINK-NEXT: dq: max error
// SINK-NEXT: dk: max error
// SINK-NEXT: dv: max error
// SINK-NEXT: dsinks: max error
!k = tensor<?x?x?x64xbf16>
!l = tensor<?x?x?xf32>
func.func @sink(%q: !k, %k: !k, %v: !k, %sinks: tensor<?xf32>) -> (!k {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !k
  %H = tensor.dim %q, %c1 : !k
  %M = tensor.dim %q, %c2 : !k
  %init = tensor.empty(%B, %H, %M) : !k
  %linit = tensor.empty(%B, %H, %M) : !l
  %o, %lse = attn.attention ins(%q, %k, %v : !k, !k, !k) outs(%init, %linit : !k, !l)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  %r = linalg.generic {
      indexing_maps = [affine_map<(b, h, i, d) -> (b, h, i, d)>,
                       affine_map<(b, h, i, d) -> (b, h, i)>,
                       affine_map<(b, h, i, d) -> (h)>,
                       affine_map<(b, h, i, d) -> (b, h, i, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%o, %lse, %sinks : !k, !l, tensor<?xf32>) outs(%init : !k) {
    ^bb0(%x: bf16, %l: f32, %w: f32, %out: bf16):
      %xf = arith.extf %x : bf16 to f32
      %one = arith.constant 1.0 : f32
      %d = arith.subf %w, %l : f32
      %e = math.exp %d : f32
      %n = arith.addf %one, %e : f32
      %y = arith.divf %xf, %n : f32
      %yt = arith.truncf %y : f32 to bf16
      linalg.yield %yt : bf16
  } -> !k
  return %r : !k
}
