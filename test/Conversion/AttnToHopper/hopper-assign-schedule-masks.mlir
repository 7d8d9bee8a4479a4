// Schedules by what is known of a mask.

// RUN: attn-opt %s --attn-hopper-assign-schedule=list --split-input-file -o /dev/null 2>&1 | grep "remark:" | FileCheck %s

!t = tensor<1x1x?x64xbf16>

// The last queries have the most keys: the first tile is the one that has fewer
// rows.
// CHECK:      schedule: {{.*}}tile_m = 192, tile_n = 128, {{.*}} longest_first, short_first
// CHECK-NEXT: schedule: {{.*}}tile_m = 256, tile_n = 64, {{.*}} longest_first, short_first
// CHECK-NEXT: last resort:
func.func @causal(%q: !t) -> !t {
  %r = attn.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) mask(%b, %h, %i, %j) {
    %p = arith.cmpi sle, %j, %i : index
    attn.yield %p : i1
  }
  return %r : !t
}

// -----

!t = tensor<1x1x?x64xbf16>

// It is not known which ones do, and each has keys of its own.
// CHECK: for any strides:
// CHECK-NEXT: schedule: {{.*}}tile_m = 256, tile_n = 64, {{.*}} zigzag{{.*}} spill_bytes = 96
// CHECK-NEXT: schedule: {{.*}}tile_m = 64, tile_n = 64, {{.*}} min_ctas_per_sm = 3, zigzag
// CHECK-NEXT: last resort: {{.*}}tile_m = 192, tile_n = 64, {{.*}} zigzag
// CHECK-NEXT: last resort: {{.*}}tile_m = 128, tile_n = 128, {{.*}} zigzag
func.func @documents(%q: !t, %ids: tensor<?xi32>) -> !t {
  %r = attn.attention ins(%q, %q, %q : !t, !t, !t) captures(%ids : tensor<?xi32>) outs(%q : !t)
      mask(%b, %h, %i, %j, %c) {
    %x = tensor.extract %c[%i] : tensor<?xi32>
    %y = tensor.extract %c[%j] : tensor<?xi32>
    %p = arith.cmpi eq, %x, %y : i32
    attn.yield %p : i1
  }
  return %r : !t
}

// -----

!t = tensor<1x1x?x64xbf16>

// Tiles that are parts of the blocks that a mask makes.
// CHECK: for any strides:
// CHECK-NEXT: schedule: {{.*}}tile_m = 256, tile_n = 64, {{.*}} zigzag
// CHECK-NEXT: schedule: {{.*}}tile_m = 128, tile_n = 128, {{.*}} zigzag
// CHECK-NEXT: last resort:
func.func @blocks_256(%q: !t) -> !t {
  %r = attn.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) mask(%b, %h, %i, %j) {
    %c2 = arith.constant 2 : index
    %c256 = arith.constant 256 : index
    %x = arith.divui %i, %c256 : index
    %y = arith.divui %j, %c256 : index
    %d = arith.addi %x, %y : index
    %e = arith.remui %d, %c2 : index
    %c0 = arith.constant 0 : index
    %p = arith.cmpi eq, %e, %c0 : index
    attn.yield %p : i1
  }
  return %r : !t
}

// -----

!t = tensor<1x1x?x64xbf16>

// Tiles as large as blocks.
// CHECK: for any strides:
// CHECK-NEXT: schedule: {{.*}}tile_m = 64, tile_n = 64, {{.*}} min_ctas_per_sm = 3, zigzag
// CHECK-NEXT: last resort:
func.func @blocks_64(%q: !t, %bits: tensor<?x?xi1>) -> !t {
  %r = attn.attention ins(%q, %q, %q : !t, !t, !t)
      sparsity(#attn.sparsity<bits, block = 64x64> %bits : tensor<?x?xi1>) outs(%q : !t)
  return %r : !t
}

// -----

!t = tensor<1x1x?x128xbf16>

// CHECK: for any strides:
// CHECK-NEXT: schedule: {{.*}}tile_m = 64, tile_n = 64, {{.*}} min_ctas_per_sm = 2, zigzag
// CHECK-NEXT: last resort:
func.func @blocks_64_of_128(%q: !t, %bits: tensor<?x?xi1>) -> !t {
  %r = attn.attention ins(%q, %q, %q : !t, !t, !t)
      sparsity(#attn.sparsity<bits, block = 64x64> %bits : tensor<?x?xi1>) outs(%q : !t)
  return %r : !t
}

// -----

!t = tensor<1x1x?x64xbf16>

// CHECK: for any strides:
// CHECK-NEXT: schedule: {{.*}}tile_m = 64, tile_n = 32, {{.*}} min_ctas_per_sm = 3, zigzag
// CHECK-NEXT: last resort:
func.func @blocks_32(%q: !t, %bits: tensor<?x?xi1>) -> !t {
  %r = attn.attention ins(%q, %q, %q : !t, !t, !t)
      sparsity(#attn.sparsity<bits, block = 32x32> %bits : tensor<?x?xi1>) outs(%q : !t)
  return %r : !t
}

// -----

!t = tensor<1x1x?x128xbf16>

// A key is more to read, so that more queries share it.
// CHECK: for any strides:
// CHECK-NEXT: schedule: {{.*}}tile_m = 192, tile_n = 80, {{.*}} zigzag
// CHECK-NEXT: schedule: {{.*}}tile_m = 128, tile_n = 128, {{.*}} zigzag
func.func @documents_of_128(%q: !t, %ids: tensor<?xi32>) -> !t {
  %r = attn.attention ins(%q, %q, %q : !t, !t, !t) captures(%ids : tensor<?xi32>) outs(%q : !t)
      mask(%b, %h, %i, %j, %c) {
    %x = tensor.extract %c[%i] : tensor<?xi32>
    %y = tensor.extract %c[%j] : tensor<?xi32>
    %p = arith.cmpi eq, %x, %y : i32
    attn.yield %p : i1
  }
  return %r : !t
}

// -----

!t = tensor<1x1x?x64xbf16>

// A window: warpgroups take no turns in the few KV blocks of each tile.
// CHECK: for any strides:
// CHECK-NEXT: schedule: {{.*}}tile_m = 192, tile_n = 128, {{.*}} persistent, ping_pong>
// CHECK-NEXT: schedule: {{.*}}tile_m = 256, tile_n = 64, {{.*}} persistent>
func.func @window_64(%q: !t) -> !t {
  %r = attn.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) mask(%b, %h, %i, %j) {
    %c99 = arith.constant 99 : index
    %end = arith.addi %j, %c99 : index
    %near = arith.cmpi sge, %end, %i : index
    %before = arith.cmpi sle, %j, %i : index
    %p = arith.andi %near, %before : i1
    attn.yield %p : i1
  }
  return %r : !t
}

// -----

!t = tensor<1x1x?x128xbf16>

// CHECK: for any strides:
// CHECK-NEXT: schedule: {{.*}}tile_m = 192, tile_n = 64, {{.*}} persistent, reuse_q>
// CHECK-NEXT: schedule: {{.*}}tile_m = 128, tile_n = 128,
func.func @window_128(%q: !t) -> !t {
  %r = attn.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t) mask(%b, %h, %i, %j) {
    %c99 = arith.constant 99 : index
    %end = arith.addi %j, %c99 : index
    %near = arith.cmpi sge, %end, %i : index
    %before = arith.cmpi sle, %j, %i : index
    %p = arith.andi %near, %before : i1
    attn.yield %p : i1
  }
  return %r : !t
}

// -----

!t = tensor<1x1x?x128xbf16>

// Divisions by a number of a call are products. Where a predicate takes more
// registers, queries are in shared memory, and the search for KV blocks has more.
// What costs the same as a schedule in front of it is compiled if that one spills.
// CHECK:      mlir:[[@LINE+5]]:8: remark: schedule: {{.*}}tile_m = 128, tile_n = 128, {{.*}} registers = 232, {{.*}} q_in_registers
// CHECK-NEXT: fallback: {{.*}}tile_m = 128, tile_n = 128, {{.*}} registers = 232,
// CHECK-NEXT: last resort: {{.*}}tile_m = 128, tile_n = 128, {{.*}} registers = 224,
// CHECK-NEXT: last resort: {{.*}}tile_m = 128, tile_n = 64, {{.*}} registers = 216,
func.func @grid(%q: !t, %columns: index) -> !t {
  %r = attn.attention ins(%q, %q, %q : !t, !t, !t) captures(%columns : index) outs(%q : !t)
      mask(%b, %h, %i, %j, %by) {
    %x = arith.remui %i, %by : index
    %y = arith.remui %j, %by : index
    %same = arith.cmpi eq, %x, %y : index
    %u = arith.divui %i, %by : index
    %v = arith.divui %j, %by : index
    %row = arith.cmpi eq, %u, %v : index
    %p = arith.ori %same, %row : i1
    attn.yield %p : i1
  }
  return %r : !t
}

// -----

!t = tensor<1x1x?x128xbf16>

// Those by a number of each key are not.
// CHECK: for any strides:
// CHECK-NEXT: last resort: {{.*}}tile_m = 64, tile_n = 16
func.func @by_keys(%q: !t) -> !t {
  %r = attn.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
      mask(%b, %h, %i, %j) {
    %0 = arith.remui %i, %j : index
    %1 = arith.divui %i, %j : index
    %2 = arith.remui %1, %j : index
    %3 = arith.divui %1, %j : index
    %same = arith.cmpi eq, %0, %2 : index
    %less = arith.cmpi ult, %3, %1 : index
    %p = arith.ori %same, %less : i1
    attn.yield %p : i1
  }
  return %r : !t
}

// -----

// A mask of the query alone leaves out less than documents do; one that divides
// by a number of the call, as a strided one, has parts of any size.

!t = tensor<2x8x?x64xbf16>
// CHECK: for any strides:
// CHECK-NEXT: schedule: {{.*}}tile_m = 192, tile_n = 128, {{.*}} zigzag
// CHECK-NEXT: schedule: {{.*}}tile_m = 256, tile_n = 64, {{.*}} zigzag
// CHECK-NEXT: last resort: {{.*}}tile_m = 128, tile_n = 128, {{.*}} zigzag
// CHECK: for any strides:
// CHECK-NEXT: schedule: {{.*}}tile_m = 64, tile_n = 64, {{.*}} min_ctas_per_sm = 3, zigzag
func.func @rows_and_strided(%q: !t, %rows: tensor<?xi1>, %n: index) -> !t {
  %o = attn.attention
      ins(%q, %q, %q : !t, !t, !t)
      captures(%rows : tensor<?xi1>)
      outs(%q : !t)
      mask(%b, %h, %i, %j, %r) {
        %p = tensor.extract %r[%i] : tensor<?xi1>
        attn.yield %p : i1
      }
  %s = attn.attention
      ins(%o, %q, %q : !t, !t, !t)
      captures(%n : index)
      outs(%q : !t)
      mask(%b, %h, %i, %j, %nn) {
        %c0 = arith.constant 0 : index
        %d = arith.subi %i, %j : index
        %e = arith.remsi %d, %nn : index
        %p = arith.cmpi eq, %e, %c0 : index
        attn.yield %p : i1
      }
  return %s : !t
}

// -----

// A quotient alone, as of chunks, comes once, and a window needs all tiles with
// any remainder in it.

!t = tensor<2x8x?x64xbf16>
// CHECK: for any strides:
// CHECK-NEXT: schedule: {{.*}}tile_m = 192, tile_n = 128,
// CHECK-NEXT: schedule: {{.*}}tile_m = 64, tile_n = 64,
// CHECK: for any strides:
// CHECK-NEXT: schedule: {{.*}}tile_m = 192, tile_n = 128,
// CHECK-NEXT: schedule: {{.*}}tile_m = 64, tile_n = 64,
func.func @chunks_and_dilated(%q: !t, %n: index, %m: index) -> !t {
  %o = attn.attention
      ins(%q, %q, %q : !t, !t, !t)
      captures(%n : index)
      outs(%q : !t)
      mask(%b, %h, %i, %j, %nn) {
        %x = arith.floordivsi %i, %nn : index
        %y = arith.floordivsi %j, %nn : index
        %p = arith.cmpi eq, %x, %y : index
        attn.yield %p : i1
      }
  %s = attn.attention
      ins(%o, %q, %q : !t, !t, !t)
      captures(%n, %m : index, index)
      outs(%q : !t)
      mask(%b, %h, %i, %j, %nn, %mm) {
        %c0 = arith.constant 0 : index
        %d = arith.subi %i, %j : index
        %a = math.absi %d : index
        %near = arith.cmpi sle, %a, %mm : index
        %e = arith.remsi %d, %nn : index
        %p = arith.cmpi eq, %e, %c0 : index
        %r = arith.andi %near, %p : i1
        attn.yield %r : i1
      }
  return %s : !t
}

// -----

// A table of pairs, of documents and of blocks: small tiles, in the order of the
// grid, and with 128 columns large ones for blocks.

!t = tensor<1x1x?x64xbf16>
!w = tensor<1x1x?x128xbf16>
// CHECK: for any strides:
// CHECK-NEXT: schedule: {{.*}}tile_m = 64, tile_n = 64, {{.*}}head_swizzle = 16, min_ctas_per_sm = 3, persistent>
func.func @pairs(%q: !t, %of: tensor<?xindex>, %sees: tensor<?x?xi1>) -> !t {
  %r = attn.attention ins(%q, %q, %q : !t, !t, !t) captures(%of, %sees : tensor<?xindex>, tensor<?x?xi1>) outs(%q : !t)
      mask(%b, %h, %i, %j, %o, %s) {
        %m = tensor.extract %o[%i] : tensor<?xindex>
        %n = tensor.extract %o[%j] : tensor<?xindex>
        %p = tensor.extract %s[%m, %n] : tensor<?x?xi1>
        attn.yield %p : i1
      }
  return %r : !t
}

// CHECK: for any strides:
// CHECK-NEXT: schedule: {{.*}}tile_m = 128, tile_n = 128, {{.*}}head_swizzle = 16, persistent, ping_pong, q_in_registers>
func.func @blocks(%q: !w, %size: index, %sees: tensor<?x?xi1>) -> !w {
  %r = attn.attention ins(%q, %q, %q : !w, !w, !w) captures(%size, %sees : index, tensor<?x?xi1>) outs(%q : !w)
      mask(%b, %h, %i, %j, %z, %s) {
        %m = arith.divsi %i, %z : index
        %n = arith.divsi %j, %z : index
        %p = tensor.extract %s[%m, %n] : tensor<?x?xi1>
        attn.yield %p : i1
      }
  return %r : !w
}
