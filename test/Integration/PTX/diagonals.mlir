// What a score has of the distance alone, for each diagonal: logarithms and
// tables, beside masks, grouped heads, several such terms, and weights.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer

// RUN: attn-run %s --entry=logarithm --target=cuda --until-after=attn-hopper-outline | FileCheck %s --check-prefix=IR
// IR: hopper.step "softmax"
// IR:   math.log %{{.*}} : vector<1x256xf32>
// IR:   hopper.put_diagonals %{{.*}} in %{{.*}} : vector<1x256xf32>, <256xf32, of 768>
// IR:   hopper.spread_diagonals %{{.*}} : <256xf32, of 768> -> vector<128x64xf32>
// IR-NOT: math.log

// DEFINE: %{run} = %python %S/Inputs/run_kernel.py %s --arg=q=randn:1x4x200x64 --arg=k=randn:1x2x330x64 --arg=w=randn:4x600 --launches
// RUN: %{run} --entry=logarithm --seeds=3 | FileCheck %s
// RUN: %{run} --entry=logarithm --schedule '#hopper.schedule<tile_m = 128, tile_n = 80, stages = 2, registers = 208>' | FileCheck %s
// RUN: %{run} --entry=logarithm --schedule '#hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 208, strided>' | FileCheck %s
// RUN: %{run} --entry=logarithm --schedule '#hopper.schedule<tile_m = 64, tile_n = 32, stages = 2, registers = 208, split_kv, pack_gqa>' | FileCheck %s
// RUN: %{run} --entry=tables | FileCheck %s
// RUN: %{run} --entry=tables --grad=q,k --tolerance=0.1 | FileCheck %s --check-prefix=GRAD
// DEFINE: %{cpu} = attn-run %s --check --arg=q=randn:1x4x200x64 --arg=k=randn:1x2x330x64 --arg=w=randn:4x600
// RUN: %{cpu} --entry=logarithm | FileCheck %s --check-prefix=CPU
// RUN: %{cpu} --entry=tables | FileCheck %s --check-prefix=CPU
// CHECK: o: max error
// CHECK: seed 0
// GRAD: max error
// CPU: {{^}}PASS{{$}}

!q = tensor<?x?x?x64xbf16>

func.func @logarithm(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %w: tensor<?x?xf32> {attn.name = "w"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%w : tensor<?x?xf32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %one = arith.constant 1.0 : f32
        %zero = arith.constant 0 : index
        %d = arith.subi %i, %j : index
        %a = math.absi %d : index
        %n = arith.index_cast %a : index to i32
        %f = arith.sitofp %n : i32 to f32
        %p = arith.addf %f, %one : f32
        %l = math.log %p : f32
        %slope = tensor.extract %t[%h, %zero] : tensor<?x?xf32>
        %x = arith.mulf %slope, %l : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %o : !q
}

func.func @tables(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %w: tensor<?x?xf32> {attn.name = "w"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%w : tensor<?x?xf32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %c330 = arith.constant 330 : index
        %c7 = arith.constant 7 : index
        %shifted = arith.addi %i, %c330 : index
        %d = arith.subi %shifted, %j : index
        %x = tensor.extract %t[%h, %d] : tensor<?x?xf32>
        %y = arith.addf %s, %x : f32
        %r = arith.remui %d, %c7 : index
        %z = tensor.extract %t[%h, %r] : tensor<?x?xf32>
        %u = arith.mulf %y, %z : f32
        attn.yield %u : f32
      }
      mask(%b, %h, %i, %j, %t) {
        %c180 = arith.constant 180 : index
        %far = arith.addi %i, %c180 : index
        %p = arith.cmpi sle, %j, %far : index
        attn.yield %p : i1
      }
  return %o : !q
}
