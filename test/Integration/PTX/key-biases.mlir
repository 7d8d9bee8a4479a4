// Biases with a term for each key, whatever the query: in the product, measured
// from the largest one of a tile. Beside slopes, under masks, and where numbers
// are large, infinite, or no numbers that 16 bits are parts of.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer

// RUN: attn-run %s --entry=plain --target=cuda --until-after=attn-hopper-outline | FileCheck %s --check-prefix=IR
// IR: hopper.step "hold_slopes"
// IR:   hopper.split_bf16x3 %{{.*}} behind_ones
// IR: hopper.step "read_terms" in "load"
// IR:   attn.gather
// IR: hopper.step "key_terms" in "load"
// IR:   hopper.publish_bf16x3
// IR-NOT: attn.gather
// IR: hopper.step "qk"
// IR:   hopper.dot %{{.*}} acc
// IR: hopper.step "softmax"
// IR:   scf.if
// IR:     attn.gather
// IR:   hopper.softmax_step %{{.*}} offset

// Numbers of f16 have not the range.
// RUN: attn-run %s --entry=half --target=cuda --until-after=attn-hopper-outline | FileCheck %s --check-prefix=HALF
// HALF-NOT: publish_bf16x3
// HALF: hopper.softmax_step

// DEFINE: %{args} = --arg=q=randn:1x2x200x64 --arg=k=randn:1x2x330x64
// DEFINE: %{run} = %python %S/Inputs/run_kernel.py %s %{args}
// RUN: %{run} --entry=plain --arg=w=randn:2x330 | FileCheck %s
// RUN: %{run} --entry=plain --arg=w=randn:2x330 --schedule '#hopper.schedule<tile_m = 64, tile_n = 80, stages = 2, registers = 208, bias_in_product>' | FileCheck %s
// RUN: %{run} --entry=plain --arg=w=randn:2x330 --schedule '#hopper.schedule<tile_m = 192, tile_n = 96, stages = 2, registers = 152, bias_in_product, persistent>' | FileCheck %s
// RUN: %{run} --entry=large --arg=w=randn:2x330 | FileCheck %s
// RUN: %{run} --entry=padded --arg=n=70:1 | FileCheck %s
// RUN: %{run} --entry=lowest --arg=n=70:1 | FileCheck %s
// RUN: %{run} --entry=slopes --arg=w=randn:2x330 | FileCheck %s
// RUN: %{run} --entry=distance --arg=w=randn:2x330 | FileCheck %s
// RUN: %{run} --entry=gates --arg=w=randn:2x330 | FileCheck %s
// RUN: %{run} --entry=documents --arg=w=randn:2x330 | FileCheck %s
// RUN: %{run} --entry=padded --arg=n=400:1 | FileCheck %s
// RUN: %python %S/Inputs/run_kernel.py %s --entry=none --arg=q=randn:1x1x1x8 | FileCheck %s
// RUN: %{run} --entry=bent --arg=n=70:1 | FileCheck %s
// RUN: %{run} --entry=infinite --arg=n=70:1 | FileCheck %s
// RUN: %{run} --entry=half --arg=w=randn:2x330 | FileCheck %s
// RUN: not %{run} --entry=plain --arg=w=randn:2x330 --tolerance=0 | FileCheck %s --check-prefix=WRONG
// DEFINE: %{cpu} = attn-run %s --check %{args}
// RUN: %{cpu} --entry=plain --arg=w=randn:2x330 | FileCheck %s --check-prefix=CPU
// RUN: %{cpu} --entry=large --arg=w=randn:2x330 | FileCheck %s --check-prefix=CPU
// RUN: %{cpu} --entry=padded --arg=n=70:1 | FileCheck %s --check-prefix=CPU
// RUN: %{cpu} --entry=lowest --arg=n=70:1 | FileCheck %s --check-prefix=CPU
// RUN: %{cpu} --entry=slopes --arg=w=randn:2x330 | FileCheck %s --check-prefix=CPU
// RUN: %{cpu} --entry=distance --arg=w=randn:2x330 | FileCheck %s --check-prefix=CPU
// RUN: %{cpu} --entry=gates --arg=w=randn:2x330 | FileCheck %s --check-prefix=CPU
// RUN: %{cpu} --entry=documents --arg=w=randn:2x330 | FileCheck %s --check-prefix=CPU
// RUN: %{cpu} --entry=bent --arg=n=70:1 | FileCheck %s --check-prefix=CPU
// RUN: %{cpu} --entry=infinite --arg=n=70:1 | FileCheck %s --check-prefix=CPU
// CHECK: o: max error
// CHECK: seed 0
// WRONG: o: max error
// CPU: {{^}}PASS{{$}}

!q = tensor<?x?x?x64xbf16>
!h = tensor<?x?x?x64xf16>

// A number for each head and key.
func.func @plain(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %w: tensor<?x?xf32> {attn.name = "w"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%w : tensor<?x?xf32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %x = tensor.extract %t[%h, %j] : tensor<?x?xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %o : !q
}

// Numbers that are large, but alike: no digit is lost.
func.func @large(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %w: tensor<?x?xf32> {attn.name = "w"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%w : tensor<?x?xf32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %x = tensor.extract %t[%h, %j] : tensor<?x?xf32>
        %c = arith.constant 2.0e5 : f32
        %z = arith.addf %x, %c : f32
        %d = arith.subf %z, %c : f32
        %u = arith.addf %z, %d : f32
        %i32 = arith.index_cast %i : index to i32
        %j32 = arith.index_cast %j : index to i32
        %fj = arith.sitofp %j32 : i32 to f32
        %r = tensor.extract %t[%h, %i] : tensor<?x?xf32>
        %rc = arith.addf %r, %c : f32
        %difference = arith.subf %u, %rc : f32
        %y = arith.addf %s, %difference : f32
        attn.yield %y : f32
      }
  return %o : !q
}

// Keys in front that are masked by a large number, as in a batch that is padded.
func.func @padded(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %n: tensor<1xi32> {attn.name = "n"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%n : tensor<1xi32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %z = arith.constant 0 : index
        %n = tensor.extract %t[%z] : tensor<1xi32>
        %j32 = arith.index_cast %j : index to i32
        %isPad = arith.cmpi slt, %j32, %n : i32
        %pad = arith.constant 0xFF800000 : f32
        %zero = arith.constant 0.0 : f32
        %x = arith.select %isPad, %pad, %zero : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %o : !q
}

// By the lowest number of f32.
func.func @lowest(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %n: tensor<1xi32> {attn.name = "n"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%n : tensor<1xi32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %z = arith.constant 0 : index
        %n = tensor.extract %t[%z] : tensor<1xi32>
        %j32 = arith.index_cast %j : index to i32
        %isPad = arith.cmpi slt, %j32, %n : i32
        %pad = arith.constant -3.40282347E+38 : f32
        %zero = arith.constant 0.0 : f32
        %x = arith.select %isPad, %pad, %zero : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %o : !q
}

// Keys that get +inf, which have all of the weight.
func.func @infinite(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %n: tensor<1xi32> {attn.name = "n"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%n : tensor<1xi32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %z = arith.constant 0 : index
        %n = tensor.extract %t[%z] : tensor<1xi32>
        %j32 = arith.index_cast %j : index to i32
        %isPad = arith.cmpi eq, %j32, %n : i32
        %pad = arith.constant 0x7F800000 : f32
        %zero = arith.constant 0.0 : f32
        %x = arith.select %isPad, %pad, %zero : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %o : !q
}

// Masked keys in tiles whose bias has a bend, so that scores are computed.
func.func @bent(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %n: tensor<1xi32> {attn.name = "n"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%n : tensor<1xi32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %z = arith.constant 0 : index
        %n = tensor.extract %t[%z] : tensor<1xi32>
        %j32 = arith.index_cast %j : index to i32
        %isPad = arith.cmpi slt, %j32, %n : i32
        %pad = arith.constant 0xFF800000 : f32
        %zero = arith.constant 0.0 : f32
        %x = arith.select %isPad, %pad, %zero : f32
        %d = arith.subi %i, %j : index
        %d32 = arith.index_cast %d : index to i32
        %abs = math.absi %d32 : i32
        %f = arith.sitofp %abs : i32 to f32
        %c = arith.constant 0.02 : f32
        %far = arith.mulf %f, %c : f32
        %e = arith.subf %s, %far : f32
        %y = arith.addf %e, %x : f32
        attn.yield %y : f32
      }
  return %o : !q
}

// Beside a multiple of the position.
func.func @slopes(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %w: tensor<?x?xf32> {attn.name = "w"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%w : tensor<?x?xf32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %x = tensor.extract %t[%h, %j] : tensor<?x?xf32>
        %j32 = arith.index_cast %j : index to i32
        %fj = arith.sitofp %j32 : i32 to f32
        %c = arith.constant 0.02 : f32
        %slope = arith.mulf %fj, %c : f32
        %e = arith.addf %s, %slope : f32
        %y = arith.addf %e, %x : f32
        attn.yield %y : f32
      }
  return %o : !q
}

// Beside a multiple of the distance, whose sign is not the same in all tiles.
func.func @distance(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %w: tensor<?x?xf32> {attn.name = "w"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%w : tensor<?x?xf32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %x = tensor.extract %t[%h, %j] : tensor<?x?xf32>
        %d = arith.subi %i, %j : index
        %d32 = arith.index_cast %d : index to i32
        %abs = math.absi %d32 : i32
        %f = arith.sitofp %abs : i32 to f32
        %c = arith.constant 0.02 : f32
        %far = arith.mulf %f, %c : f32
        %e = arith.subf %s, %far : f32
        %y = arith.subf %e, %x : f32
        attn.yield %y : f32
      }
  return %o : !q
}

// What queries have beside what keys have, as with forget gates.
func.func @gates(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %w: tensor<?x?xf32> {attn.name = "w"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%w : tensor<?x?xf32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %x = tensor.extract %t[%h, %j] : tensor<?x?xf32>
        %r = tensor.extract %t[%h, %i] : tensor<?x?xf32>
        %d = arith.subf %r, %x : f32
        %y = arith.addf %s, %d : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %t) {
        %m = arith.cmpi sle, %j, %i : index
        attn.yield %m : i1
      }
  return %o : !q
}

// Under a mask whose blocks the loader finds.
func.func @documents(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %w: tensor<?x?xf32> {attn.name = "w"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%w : tensor<?x?xf32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %x = tensor.extract %t[%h, %j] : tensor<?x?xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %t) {
        %c0_ = arith.constant 0 : index
        %z = arith.constant 0.0 : f32
        %a = tensor.extract %t[%c0_, %i] : tensor<?x?xf32>
        %e = tensor.extract %t[%c0_, %j] : tensor<?x?xf32>
        %p = arith.cmpf ogt, %a, %z : f32
        %r = arith.cmpf ogt, %e, %z : f32
        %m = arith.cmpi eq, %p, %r : i1
        attn.yield %m : i1
      }
  return %o : !q
}

// Of f16.
func.func @half(%q: !h {attn.name = "q"}, %k: !h {attn.name = "k"}, %w: tensor<?x?xf32> {attn.name = "w"}) -> (!h {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !h
  %n1 = tensor.dim %q, %c1 : !h
  %n2 = tensor.dim %q, %c2 : !h
  %init = tensor.empty(%n0, %n1, %n2) : !h
  %o = attn.attention ins(%q, %k, %k : !h, !h, !h) captures(%w : tensor<?x?xf32>) outs(%init : !h)
      score(%s, %b, %h, %i, %j, %t) {
        %x = tensor.extract %t[%h, %j] : tensor<?x?xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %o : !h
}

// Of the one key, which no query may see: nothing is loaded, and no tile of terms
// is left.
func.func @none(%q: tensor<1x1x1x8xbf16> {attn.name = "q"}) -> (tensor<1x1x1x8xbf16> {attn.name = "o"}) {
  %init = tensor.empty() : tensor<1x1x1x8xbf16>
  %o = attn.attention ins(%q, %q, %q : tensor<1x1x1x8xbf16>, tensor<1x1x1x8xbf16>, tensor<1x1x1x8xbf16>) outs(%init : tensor<1x1x1x8xbf16>)
      score(%s, %b, %h, %i, %j) {
        %c0_ = arith.constant 0 : index
        %is_first = arith.cmpi sle, %j, %c0_ : index
        %x = arith.uitofp %is_first : i1 to f32
        %y = arith.addf %x, %s : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j) {
        %c1_ = arith.constant 1 : index
        %m = arith.cmpi sge, %j, %c1_ : index
        attn.yield %m : i1
      }
  return %o : tensor<1x1x1x8xbf16>
}
