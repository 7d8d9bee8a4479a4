// Dropout drops the same pairs on a GPU as on a CPU, whatever the schedule: with
// heads that share keys, masks, splits of keys, packed heads, an affine bias in
// the product, blocks that are searched, and rows that warps compute.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// DEFINE: %{drawn} = --arg=seed=-77 --arg=offset=1311768467463790320
// DEFINE: %{sizes} = --arg=q=randn:1x2x70x64 --arg=k=randn:1x1x150x64 --arg=v=randn:1x1x150x64
// RUN: %python %S/Inputs/run_kernel.py %s --entry full %{sizes} %{drawn} | FileCheck %s
// RUN: %python %S/Inputs/run_kernel.py %s --entry full %{sizes} %{drawn} --schedule '#hopper.schedule<tile_m = 64, tile_n = 80, stages = 2, registers = 240>' | FileCheck %s
// RUN: %python %S/Inputs/run_kernel.py %s --entry full %{sizes} %{drawn} --schedule '#hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, split_kv>' | FileCheck %s
// RUN: %python %S/Inputs/run_kernel.py %s --entry full --arg=q=randn:2x4x3x64 --arg=k=randn:2x2x150x64 --arg=v=randn:2x2x150x64 %{drawn} --schedule '#hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, pack_gqa>' | FileCheck %s
// RUN: %python %S/Inputs/run_kernel.py %s --entry alibi %{sizes} %{drawn} --arg=slopes=uniform(0,1):2 --schedule '#hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 240, bias_in_product>' | FileCheck %s
// RUN: %python %S/Inputs/run_kernel.py %s --entry sinks %{sizes} %{drawn} --schedule '#hopper.schedule<tile_m = 64, tile_n = 32, stages = 2, registers = 240>' | FileCheck %s

// CHECK: o: max error
// CHECK-NEXT: seed 0: {{[0-9]+}} steps,

!q = tensor<?x?x?x64xbf16>

func.func @full(%q: !q, %k: !q, %v: !q, %seed: tensor<i64>, %offset: tensor<i64>) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %h = tensor.dim %q, %c1 : !q
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%b, %h, %s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q)
      captures(%seed, %offset : tensor<i64>, tensor<i64>)
      outs(%init : !q)
      score(%x, %sb, %sh, %i, %j, %seeds, %offsets) {
        %n = tensor.extract %seeds[] : tensor<i64>
        %m = tensor.extract %offsets[] : tensor<i64>
        %w = attn.dropout 0.5 seed %n offset %m at %sb, %sh, %i, %j : f32
        attn.yield %x, %w : f32, f32
      }
  return %o : !q
}

func.func @alibi(%q: !q, %k: !q, %v: !q, %slopes: tensor<?xf32>, %seed: tensor<i64>, %offset: tensor<i64>) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %h = tensor.dim %q, %c1 : !q
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%b, %h, %s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q)
      captures(%slopes, %seed, %offset : tensor<?xf32>, tensor<i64>, tensor<i64>)
      outs(%init : !q)
      score(%x, %sb, %sh, %i, %j, %slope, %seeds, %offsets) {
        %n = tensor.extract %seeds[] : tensor<i64>
        %m = tensor.extract %offsets[] : tensor<i64>
        %w = attn.dropout 0.5 seed %n offset %m at %sb, %sh, %i, %j : f32
        %f = tensor.extract %slope[%sh] : tensor<?xf32>
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %g = arith.mulf %f, %df : f32
        %y = arith.addf %x, %g : f32
        attn.yield %y, %w : f32, f32
      }
  return %o : !q
}

func.func @sinks(%q: !q, %k: !q, %v: !q, %seed: tensor<i64>, %offset: tensor<i64>) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %h = tensor.dim %q, %c1 : !q
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%b, %h, %s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q)
      captures(%seed, %offset : tensor<i64>, tensor<i64>)
      outs(%init : !q)
      score(%x, %sb, %sh, %i, %j, %seeds, %offsets) {
        %n = tensor.extract %seeds[] : tensor<i64>
        %m = tensor.extract %offsets[] : tensor<i64>
        %w = attn.dropout 0.5 seed %n offset %m at %sb, %sh, %i, %j : f32
        attn.yield %x, %w : f32, f32
      }
      mask(%mb, %mh, %i, %j, %seeds, %offsets) {
        %d = arith.subi %i, %j : index
        %eight = arith.constant 8 : index
        %four = arith.constant 4 : index
        %past = arith.cmpi sle, %j, %i : index
        %near = arith.cmpi slt, %d, %eight : index
        %first = arith.cmpi slt, %j, %four : index
        %either = arith.ori %near, %first : i1
        %p = arith.andi %past, %either : i1
        attn.yield %p : i1
      }
  return %o : !q
}
