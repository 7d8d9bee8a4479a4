// Biases that are affine in the key by pieces: a multiple of the distance, up to
// a limit, the larger one of two, and an element of a table, which keys far away
// share. In the product where a tile is in one piece.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer

// RUN: attn-run %s --entry=distance --target=cuda --until-after=attn-hopper-outline | FileCheck %s --check-prefix=IR
// IR-NOT: hopper.step "hold_slopes"
// IR: hopper.step "qk"
// IR:   hopper.split_bf16x3
// IR:   hopper.dot %{{.*}} acc
// IR: hopper.step "softmax"
// IR:   scf.if
// IR:   hopper.softmax_step %{{.*}} offset

// No product where a bias is the same for all keys of a tile. What depends on
// the distance alone is computed for each diagonal.
// RUN: attn-run %s --entry=table --target=cuda --until-after=attn-hopper-outline | FileCheck %s --check-prefix=TABLE
// RUN: attn-run %s --entry=buckets --target=cuda --until-after=attn-hopper-outline | FileCheck %s --check-prefix=DIAGONALS
// DIAGONALS-NOT: hopper.any
// DIAGONALS: hopper.put_diagonals
// TABLE-NOT: iota_tile
// TABLE: hopper.step "softmax"
// TABLE:   hopper.any
// TABLE:   scf.if
// TABLE:   hopper.softmax_step %{{.*}} offset

// DEFINE: %{run} = %python %S/Inputs/run_kernel.py %s --arg=q=randn:1x2x200x64 --arg=k=randn:1x2x330x64 --arg=slopes=randn:2
// RUN: %{run} --entry=distance | FileCheck %s
// RUN: %{run} --entry=distance --schedule '#hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 208, bias_in_product>' | FileCheck %s
// RUN: %{run} --entry=clipped --arg=n=70:1 | FileCheck %s
// RUN: %{run} --entry=larger --arg=n=90:1 | FileCheck %s
// RUN: %{run} --entry=table --arg=n=1:1 --arg=w=randn:2x41 | FileCheck %s
// RUN: %{run} --entry=buckets --arg=n=1:1 --arg=w=randn:2x20 | FileCheck %s
// RUN: %{run} --entry=single --arg=n=1:1 --arg=w=randn:2x50 | FileCheck %s
// RUN: %{run} --entry=narrow --arg=n=1:1 --arg=w=randn:2x50 | FileCheck %s
// RUN: not %{run} --entry=distance --tolerance=0 | FileCheck %s --check-prefix=WRONG
// DEFINE: %{cpu} = attn-run %s --check --arg=q=randn:2x2x200x64 --arg=k=randn:2x2x330x64 --arg=slopes=randn:2
// RUN: %{cpu} --entry=distance | FileCheck %s --check-prefix=CPU
// RUN: %{cpu} --entry=clipped --arg=n=70:1 | FileCheck %s --check-prefix=CPU
// RUN: %{cpu} --entry=larger --arg=n=90:1 | FileCheck %s --check-prefix=CPU
// RUN: %{cpu} --entry=table --arg=n=1:1 --arg=w=randn:2x41 | FileCheck %s --check-prefix=CPU
// RUN: %{cpu} --entry=single --arg=n=1:1 --arg=w=randn:2x50 | FileCheck %s --check-prefix=CPU
// RUN: %{cpu} --entry=buckets --arg=n=1:1 --arg=w=randn:2x20 | FileCheck %s --check-prefix=CPU
// CHECK: o: max error
// CHECK: seed 0
// WRONG: o: max error
// CPU: {{^}}PASS{{$}}

!q = tensor<?x?x?x64xbf16>

func.func @distance(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %slopes: tensor<?xf32> {attn.name = "slopes"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%slopes : tensor<?xf32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %d = arith.subi %i, %j : index
        %d32 = arith.index_cast %d : index to i32
        %abs = math.absi %d32 : i32
        %distance = arith.sitofp %abs : i32 to f32
        %slope = tensor.extract %t[%h] : tensor<?xf32>
        %x = arith.mulf %slope, %distance : f32
        %y = arith.subf %s, %x : f32
        attn.yield %y : f32
      }
  return %o : !q
}

// No more beyond a distance, as a number of the call.
func.func @clipped(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %slopes: tensor<?xf32> {attn.name = "slopes"}, %n: tensor<1xi32> {attn.name = "n"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%slopes, %n : tensor<?xf32>, tensor<1xi32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t, %u) {
        %z = arith.constant 0 : index
        %most = tensor.extract %u[%z] : tensor<1xi32>
        %d = arith.subi %i, %j : index
        %d32 = arith.index_cast %d : index to i32
        %abs = math.absi %d32 : i32
        %clipped = arith.minsi %abs, %most : i32
        %distance = arith.sitofp %clipped : i32 to f32
        %slope = tensor.extract %t[%h] : tensor<?xf32>
        %x = arith.mulf %slope, %distance : f32
        %y = arith.subf %s, %x : f32
        attn.yield %y : f32
      }
  return %o : !q
}

// Two lines, of floats: one that falls with the key and one that rises.
func.func @larger(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %slopes: tensor<?xf32> {attn.name = "slopes"}, %n: tensor<1xi32> {attn.name = "n"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%slopes, %n : tensor<?xf32>, tensor<1xi32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t, %u) {
        %z = arith.constant 0 : index
        %small = arith.constant 0.01 : f32
        %first = tensor.extract %u[%z] : tensor<1xi32>
        %j32 = arith.index_cast %j : index to i32
        %i32 = arith.index_cast %i : index to i32
        %falls = arith.subi %first, %j32 : i32
        %a0 = arith.sitofp %falls : i32 to f32
        %a = arith.mulf %a0, %small : f32
        %rises = arith.subi %j32, %i32 : i32
        %b0 = arith.sitofp %rises : i32 to f32
        %slope = tensor.extract %t[%h] : tensor<?xf32>
        %b1 = arith.mulf %b0, %small : f32
        %b2 = arith.mulf %b1, %slope : f32
        %x = arith.maximumf %a, %b2 : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %o : !q
}

// An element of a table, of which all beyond some distance share one, as bfloat16,
// and one of a bucket by the logarithm, which conditions choose.
func.func @table(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %slopes: tensor<?xf32> {attn.name = "slopes"}, %n: tensor<1xi32> {attn.name = "n"}, %w: tensor<?x?xbf16> {attn.name = "w"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%slopes, %n, %w : tensor<?xf32>, tensor<1xi32>, tensor<?x?xbf16>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t, %u, %x) {
        %low = arith.constant -20 : index
        %high = arith.constant 20 : index
        %twice = arith.addi %i, %i : index
        %d = arith.subi %twice, %j : index
        %0 = arith.maxsi %d, %low : index
        %1 = arith.minsi %0, %high : index
        %2 = arith.addi %1, %high : index
        %e = tensor.extract %x[%h, %2] : tensor<?x?xbf16>
        %f = arith.extf %e : bf16 to f32
        %y = arith.addf %s, %f : f32
        attn.yield %y : f32
      }
  return %o : !q
}

func.func @buckets(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %slopes: tensor<?xf32> {attn.name = "slopes"}, %n: tensor<1xi32> {attn.name = "n"}, %w: tensor<?x?xf32> {attn.name = "w"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%slopes, %n, %w : tensor<?xf32>, tensor<1xi32>, tensor<?x?xf32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t, %u, %x) {
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %few = arith.constant 4 : i32
        %last = arith.constant 9 : i32
        %half = arith.constant 10 : index
        %by = arith.constant 2.0 : f32
        %d = arith.subi %i, %j : index
        %d32 = arith.index_cast %d : index to i32
        %isBehind = arith.cmpi slt, %d32, %zero : i32
        %abs = math.absi %d32 : i32
        %least = arith.maxsi %abs, %one : i32
        %float = arith.sitofp %least : i32 to f32
        %log = math.log %float : f32
        %scaled = arith.mulf %log, %by : f32
        %far0 = arith.fptosi %scaled : f32 to i32
        %far = arith.minsi %far0, %last : i32
        %isNear = arith.cmpi slt, %abs, %few : i32
        %bucket = arith.select %isNear, %abs, %far : i32
        %at = arith.index_cast %bucket : i32 to index
        %other = arith.addi %at, %half : index
        %place = arith.select %isBehind, %other, %at : index
        %e = tensor.extract %x[%h, %place] : tensor<?x?xf32>
        %y = arith.addf %s, %e : f32
        attn.yield %y : f32
      }
  return %o : !q
}

// One distance within those that share an element has another one.
func.func @single(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %slopes: tensor<?xf32> {attn.name = "slopes"}, %n: tensor<1xi32> {attn.name = "n"}, %w: tensor<?x?xf32> {attn.name = "w"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%slopes, %n, %w : tensor<?xf32>, tensor<1xi32>, tensor<?x?xf32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t, %u, %x) {
        %few = arith.constant 7 : index
        %most = arith.constant 20 : index
        %other = arith.constant 40 : index
        %d = arith.subi %i, %j : index
        %far = arith.maxsi %d, %most : index
        %near = arith.minsi %far, %most : index
        %is = arith.cmpi eq, %d, %few : index
        %at = arith.select %is, %other, %near : index
        %e = tensor.extract %x[%h, %at] : tensor<?x?xf32>
        %y = arith.addf %s, %e : f32
        attn.yield %y : f32
      }
  return %o : !q
}

// So it is with what a narrow integer leaves of a distance.
func.func @narrow(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %slopes: tensor<?xf32> {attn.name = "slopes"}, %n: tensor<1xi32> {attn.name = "n"}, %w: tensor<?x?xf32> {attn.name = "w"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%slopes, %n, %w : tensor<?xf32>, tensor<1xi32>, tensor<?x?xf32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t, %u, %x) {
        %few = arith.constant 7 : index
        %zero = arith.constant 0 : i8
        %d = arith.subi %i, %j : index
        %d8 = arith.index_cast %d : index to i8
        %p8 = arith.maxsi %d8, %zero : i8
        %m8 = arith.minsi %p8, %zero : i8
        %narrow = arith.cmpi sgt, %d8, %zero : i8
        %low = arith.index_cast %m8 : i8 to index
        %place = arith.select %narrow, %few, %low : index
        %f = tensor.extract %x[%h, %place] : tensor<?x?xf32>
        %y = arith.addf %s, %f : f32
        attn.yield %y : f32
      }
  return %o : !q
}
