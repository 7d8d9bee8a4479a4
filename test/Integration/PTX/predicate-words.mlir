// Predicates of a tile that are words: unions of intervals, remainders of
// positions, conditions of the query or of the key, and joins of these.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer

// RUN: attn-run %s --entry=ranges --target=cuda --emit=ptx | FileCheck %s --check-prefix=RANGES
// RANGES-COUNT-2: bmsk.clamp.b32
// RANGES:         or.b32
// RUN: attn-run %s --entry=strided --target=cuda --emit=ptx | FileCheck %s --check-prefix=STRIDED
// STRIDED-COUNT-7: vote.sync.ballot.b32
// STRIDED-NOT:     rem.u32
// STRIDED:         bmsk.clamp.b32

// DEFINE: %{run} = %python %S/Inputs/run_kernel.py %s --arg=q=randn:1x1x300x64 --arg=k=randn:1x1x400x64
// DEFINE: %{ranges} = %{run} --entry=ranges '--arg=a=randint(0,200):300' '--arg=e=randint(100,300):300' '--arg=c=randint(300,350):300' '--arg=f=randint(300,420):300'
// RUN: %{ranges} | FileCheck %s
// RUN: %{ranges} --schedule '#hopper.schedule<tile_m = 64, tile_n = 256, stages = 2, registers = 240>' | FileCheck %s
// RUN: %{ranges} --schedule '#hopper.schedule<tile_m = 128, tile_n = 80, stages = 2, registers = 232>' | FileCheck %s
// RUN: %{run} --entry=ranges '--arg=a=randint(-2147483648,2147483647):300' '--arg=e=randint(-2147483648,2147483647):300' '--arg=c=randint(-9,300):300' '--arg=f=randint(0,2147483647):300' | FileCheck %s

// DEFINE: %{small} = %python %S/Inputs/run_kernel.py %s --arg=q=randn:1x1x130x64 --arg=k=randn:1x1x270x64
// DEFINE: %{strided} = %{small} --entry=strided --arg=w=50
// RUN: %{strided} --arg=d=1 | FileCheck %s
// RUN: %{strided} --arg=d=4 | FileCheck %s
// RUN: %{strided} --arg=d=-7 --schedule '#hopper.schedule<tile_m = 64, tile_n = 256, stages = 2, registers = 240>' | FileCheck %s
// RUN: %{strided} --arg=d=64 --schedule '#hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 232>' | FileCheck %s
// RUN: %{strided} --arg=d=127 --schedule '#hopper.schedule<tile_m = 64, tile_n = 176, stages = 2, registers = 240>' | FileCheck %s
// RUN: %{strided} --arg=d=200 | FileCheck %s
// RUN: %{strided} --arg=d=5000000000 | FileCheck %s
// RUN: %{strided} --arg=d=0 | FileCheck %s
// RUN: %{strided} --arg=d=5 --grad=q,k --tolerance=0.05 | FileCheck %s --check-prefix=GRAD

// RUN: %{run} --entry=constants | FileCheck %s
// RUN: %{run} --entry=constants --schedule '#hopper.schedule<tile_m = 64, tile_n = 256, stages = 2, registers = 240>' | FileCheck %s
// RUN: %{run} --entry=flags '--arg=t=randint(0,2):400' '--arg=r=randint(0,2):300' | FileCheck %s
// RUN: %{run} --entry=grid | FileCheck %s
// RUN: %{run} --entry=grid --schedule '#hopper.schedule<tile_m = 64, tile_n = 128, stages = 2, registers = 240>' | FileCheck %s

// RUN: attn-run %s --entry=blocks --target=cuda --emit=ptx | FileCheck %s --check-prefix=BLOCKS
// BLOCKS-COUNT-7: vote.sync.ballot.b32
// BLOCKS-NOT:     rem.u32
// DEFINE: %{blocks} = %{small} --entry=blocks
// RUN: %{blocks} --arg=n=1 --arg=w=0 | FileCheck %s
// RUN: %{blocks} --arg=n=5 --arg=w=3 | FileCheck %s
// RUN: %{blocks} --arg=n=64 --arg=w=9 --schedule '#hopper.schedule<tile_m = 64, tile_n = 256, stages = 2, registers = 240>' | FileCheck %s
// RUN: %{blocks} --arg=n=100 --arg=w=-3 --schedule '#hopper.schedule<tile_m = 128, tile_n = 80, stages = 2, registers = 232>' | FileCheck %s
// RUN: %{blocks} --arg=n=128 --arg=w=5000000000 --schedule '#hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 232>' | FileCheck %s
// RUN: %{blocks} --arg=n=5000000000 --arg=w=-5000000000 | FileCheck %s
// RUN: %{blocks} --arg=n=96 --arg=w=17 --grad=q,k --tolerance=0.05 | FileCheck %s --check-prefix=GRAD

// RUN: attn-run %s --entry=alternatives --target=cuda --emit=ptx | FileCheck %s --check-prefix=ALTERNATIVES
// ALTERNATIVES-COUNT-2: bmsk.clamp.b32
// DEFINE: %{alternatives} = %{run} --entry=alternatives '--arg=x=randint(0,90):400'
// RUN: %{alternatives} | FileCheck %s
// RUN: %{alternatives} --schedule '#hopper.schedule<tile_m = 64, tile_n = 256, stages = 2, registers = 240>' | FileCheck %s
// RUN: %{alternatives} --schedule '#hopper.schedule<tile_m = 128, tile_n = 80, stages = 2, registers = 232>' | FileCheck %s

// RUN: %{small} --entry=periods | FileCheck %s
// RUN: %{small} --entry=periods --schedule '#hopper.schedule<tile_m = 64, tile_n = 256, stages = 2, registers = 240>' | FileCheck %s
// RUN: %{small} --entry=periods --schedule '#hopper.schedule<tile_m = 64, tile_n = 176, stages = 2, registers = 240>' | FileCheck %s
// RUN: not %{run} --entry=grid --tolerance=0 | FileCheck %s --check-prefix=WRONG

// CHECK: o: max error
// CHECK: seed 0
// GRAD: q{{.*}}: max error
// GRAD: k{{.*}}: max error
// WRONG: o: max error

!q = tensor<?x?x?x64xbf16>
!v = tensor<?xi32>
!b = tensor<?xi1>

// a <= j < e or c <= j < f, for each query.
func.func @ranges(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %a: !v {attn.name = "a"}, %e: !v {attn.name = "e"}, %c: !v {attn.name = "c"}, %f: !v {attn.name = "f"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%a, %e, %c, %f : !v, !v, !v, !v) outs(%init : !q)
      mask(%b, %h, %i, %j, %t0, %t1, %t2, %t3) {
        %x0 = tensor.extract %t0[%i] : !v
        %x1 = tensor.extract %t1[%i] : !v
        %x2 = tensor.extract %t2[%i] : !v
        %x3 = tensor.extract %t3[%i] : !v
        %y0 = arith.index_cast %x0 : i32 to index
        %y1 = arith.index_cast %x1 : i32 to index
        %y2 = arith.index_cast %x2 : i32 to index
        %y3 = arith.index_cast %x3 : i32 to index
        %p0 = arith.cmpi sle, %y0, %j : index
        %p1 = arith.cmpi slt, %j, %y1 : index
        %p2 = arith.cmpi sge, %j, %y2 : index
        %p3 = arith.cmpi sgt, %y3, %j : index
        %r0 = arith.andi %p0, %p1 : i1
        %r1 = arith.andi %p2, %p3 : i1
        %r = arith.ori %r0, %r1 : i1
        attn.yield %r : i1
      }
  return %o : !q
}

// The last w keys and every d-th one before them.
func.func @strided(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %w: index {attn.name = "w"}, %d: index {attn.name = "d"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%w, %d : index, index) outs(%init : !q)
      mask(%b, %h, %i, %j, %t0, %t1) {
        %distance = arith.subi %i, %j : index
        %is_near = arith.cmpi slt, %distance, %t0 : index
        %rest = arith.remsi %distance, %t1 : index
        %zero = arith.constant 0 : index
        %is_there = arith.cmpi eq, %rest, %zero : index
        %either = arith.ori %is_near, %is_there : i1
        %is_before = arith.cmpi sle, %j, %i : index
        %r = arith.andi %either, %is_before : i1
        attn.yield %r : i1
      }
  return %o : !q
}

// Remainders by constants: equal ones in one of two classes, and not both.
func.func @constants(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) outs(%init : !q)
      mask(%b, %h, %i, %j) {
        %c7 = arith.constant 7 : index
        %c48 = arith.constant 48 : index
        %c100 = arith.constant 100 : index
        %i0 = arith.remui %i, %c7 : index
        %j0 = arith.remui %j, %c7 : index
        %p0 = arith.cmpi eq, %i0, %j0 : index
        %i1 = arith.remui %i, %c48 : index
        %j1 = arith.remui %j, %c48 : index
        %p1 = arith.cmpi eq, %j1, %i1 : index
        %differ = arith.xori %p0, %p1 : i1
        %distance = arith.subi %j, %i : index
        %is_far = arith.cmpi sge, %distance, %c100 : index
        %r = arith.ori %differ, %is_far : i1
        attn.yield %r : i1
      }
  return %o : !q
}

// Keys with a flag are seen by all, others by those near, none by some queries.
func.func @flags(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %f: !b {attn.name = "t"}, %g: !b {attn.name = "r"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%f, %g : !b, !b) outs(%init : !q)
      mask(%b, %h, %i, %j, %t, %u) {
        %c30 = arith.constant 30 : index
        %flag = tensor.extract %t[%j] : !b
        %own = tensor.extract %u[%i] : !b
        %distance = arith.subi %i, %j : index
        %size = math.absi %distance : index
        %is_near = arith.cmpi sle, %size, %c30 : index
        %sees = arith.andi %is_near, %own : i1
        %r = arith.ori %flag, %sees : i1
        attn.yield %r : i1
      }
  return %o : !q
}

// Rows or columns nearby of a grid with 64 columns.
func.func @grid(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) outs(%init : !q)
      mask(%b, %h, %i, %j) {
        %c1m = arith.constant 1 : index
        %c3m = arith.constant 3 : index
        %c64 = arith.constant 64 : index
        %i0 = arith.remui %i, %c64 : index
        %j0 = arith.remui %j, %c64 : index
        %d0 = arith.subi %i0, %j0 : index
        %s0 = math.absi %d0 : index
        %p0 = arith.cmpi sle, %s0, %c3m : index
        %i1 = arith.divui %i, %c64 : index
        %j1 = arith.divui %j, %c64 : index
        %d1 = arith.subi %i1, %j1 : index
        %s1 = math.absi %d1 : index
        %p1 = arith.cmpi sle, %s1, %c1m : index
        %r = arith.ori %p0, %p1 : i1
        attn.yield %r : i1
      }
  return %o : !q
}

// In blocks of 8 of each n, those before the query's own or in it; and beside
// these the first w of each n, but for the last one.
func.func @blocks(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %n: index {attn.name = "n"}, %w: index {attn.name = "w"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%n, %w : index, index) outs(%init : !q)
      mask(%b, %h, %i, %j, %t0, %t1) {
        %c1m = arith.constant 1 : index
        %c8 = arith.constant 8 : index
        %i0 = arith.remui %i, %t0 : index
        %j0 = arith.remui %j, %t0 : index
        %i1 = arith.divui %i0, %c8 : index
        %j1 = arith.divui %j0, %c8 : index
        %is_before = arith.cmpi sle, %j1, %i1 : index
        %is_far = arith.cmpi slt, %j, %i : index
        %own = arith.andi %is_before, %is_far : i1
        %is_first = arith.cmpi sgt, %t1, %j0 : index
        %last = arith.subi %t0, %c1m : index
        %is_no_last = arith.cmpi ne, %j0, %last : index
        %first = arith.andi %is_first, %is_no_last : i1
        %r = arith.ori %own, %first : i1
        attn.yield %r : i1
      }
  return %o : !q
}

// Numbers in periods that are constants: near ones, also beyond the period's
// ends, of two periods that tiles are no multiples of; and all but one of a third.
func.func @periods(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) outs(%init : !q)
      mask(%b, %h, %i, %j) {
        %c6 = arith.constant 6 : index
        %c11 = arith.constant 11 : index
        %c24 = arith.constant 24 : index
        %c30 = arith.constant 30 : index
        %c150 = arith.constant 150 : index
        %i0 = arith.remui %i, %c24 : index
        %j0 = arith.remui %j, %c24 : index
        %d0 = arith.subi %i0, %j0 : index
        %s0 = math.absi %d0 : index
        %p0 = arith.cmpi sle, %s0, %c6 : index
        %i1 = arith.remui %i, %c150 : index
        %j1 = arith.remui %j, %c150 : index
        %d1 = arith.subi %i1, %j1 : index
        %s1 = math.absi %d1 : index
        %p1 = arith.cmpi slt, %s1, %c30 : index
        %j2 = arith.remui %j, %c11 : index
        %p2 = arith.cmpi ne, %j2, %c6 : index
        %near = arith.andi %p0, %p1 : i1
        %r = arith.andi %near, %p2 : i1
        attn.yield %r : i1
      }
  return %o : !q
}

// The block of the query, or near keys with data that is near: conditions that
// words save, beside one that is compared for each pair.
func.func @alternatives(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %x: !v {attn.name = "x"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%x : !v) outs(%init : !q)
      mask(%b, %h, %i, %j, %t) {
        %size = arith.constant 40 : index
        %c9 = arith.constant 9 : i32
        %reach = arith.constant 150 : index
        %iblock = arith.divui %i, %size : index
        %jblock = arith.divui %j, %size : index
        %own = arith.cmpi eq, %iblock, %jblock : index
        %behind = arith.cmpi sle, %j, %i : index
        %d = arith.subi %i, %j : index
        %close = arith.cmpi sle, %d, %reach : index
        %near = arith.andi %behind, %close : i1
        %y = tensor.extract %t[%i] : !v
        %z = tensor.extract %t[%j] : !v
        %e = arith.subi %y, %z : i32
        %a = math.absi %e : i32
        %same = arith.cmpi sle, %a, %c9 : i32
        %both = arith.andi %near, %same : i1
        %p = arith.ori %own, %both : i1
        attn.yield %p : i1
      }
  return %o : !q
}
