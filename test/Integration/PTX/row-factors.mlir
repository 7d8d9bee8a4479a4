// Factors of all scores of a row: their signs go to the queries, their
// magnitudes into the exponent. Some are negative, 0 or NaN; heads in one tile,
// parts of keys, queries in registers. Queries as rows multiply each product.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer

// RUN: attn-run %s --entry=heads --target=cuda --until-after=attn-hopper-outline | FileCheck %s --check-prefix=IR
// IR: hopper.step "negate_q"
// IR: hopper.negate_rows
// IR: hopper.step "hold_factors"
// IR: hopper.softmax_step %{{.*}} factors %{{.*}} factor 1.0

// DEFINE: %{run} = %python %S/Inputs/run_kernel.py %s
// DEFINE: %{heads} = %{run} --entry=heads --arg=q=randn:1x4x200x64 --arg=k=randn:1x2x150x64 --arg=a=randn:4
// RUN: %{heads} | FileCheck %s
// RUN: %{heads} --schedule '#hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 208, q_in_registers>' | FileCheck %s
// RUN: %{run} --entry=heads --arg=q=randn:1x4x3x64 --arg=k=randn:1x2x700x64 --arg=a=randn:4 --num-splits=3 --schedule '#hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 208, split_kv, pack_gqa>' | FileCheck %s
// RUN: %{run} --entry=heads --arg=q=randn:1x2x200x64 --arg=k=randn:1x2x200x64 --arg=a=0:2 | FileCheck %s
// RUN: %{run} --entry=rows --arg=q=randn:1x2x200x96 --arg=k=randn:1x2x200x96 --arg=a=randn:200 --arg=c=randn:200 '--arg=w=randint(0,5):200' | FileCheck %s
// RUN: %{run} --entry=quotient --arg=q=randn:2x2x130x128 --arg=k=randn:2x2x100x128 --arg=a=randn:2x130 | FileCheck %s
// RUN: %{run} --entry=odd --arg=q=randn:1x2x20x579 --arg=k=randn:1x2x50x579 --arg=a=randn:2 | FileCheck %s
// RUN: %{run} --entry=floats --arg=q=randn:1x2x20x32 --arg=k=randn:1x2x50x32 --arg=a=randn:20 | FileCheck %s
// RUN: not %{heads} --tolerance=0 | FileCheck %s --check-prefix=WRONG
// RUN: attn-run %s --entry=heads --check --arg=q=randn:2x4x300x64 --arg=k=randn:2x2x200x64 --arg=a=randn:4 | FileCheck %s --check-prefix=CPU
// RUN: attn-run %s --entry=heads --check --arg=q=randn:2x4x1x64 --arg=k=randn:2x2x200x64 --arg=a=0:4 | FileCheck %s --check-prefix=CPU
// RUN: attn-run %s --entry=rows --check --arg=q=randn:2x4x100x96 --arg=k=randn:2x2x100x96 --arg=a=randn:100 --arg=c=randn:100 '--arg=w=randint(0,5):100' | FileCheck %s --check-prefix=CPU
// RUN: attn-run %s --entry=quotient --check --arg=q=randn:2x4x100x128 --arg=k=randn:2x2x100x128 --arg=a=randn:2x100 | FileCheck %s --check-prefix=CPU
// CHECK: o: max error
// CHECK: lse: max error
// CHECK: seed 0
// WRONG: o: max error
// CPU: {{^}}PASS{{$}}

!q = tensor<?x?x?x64xbf16>
!p = tensor<?x?x?x96xbf16>
!w = tensor<?x?x?x128xbf16>
!r = tensor<?x?x?xf32>
!v = tensor<?xf32>
!h = tensor<?x?x?x579xf16>
!f = tensor<?x?x?x32xf32>

func.func @heads(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %a: !v {attn.name = "a"}) -> (!q {attn.name = "o"}, !r {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %l = tensor.empty(%n0, %n1, %n2) : !r
  %o, %lse = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%a : !v) outs(%init, %l : !q, !r)
      score(%s, %b, %h, %i, %j, %t) {
        %x = tensor.extract %t[%h] : !v
        %y = arith.mulf %s, %x : f32
        attn.yield %y : f32
      }
  return %o, %lse : !q, !r
}

// A factor of each row, and a number that is added; some factors are NaN, also of
// rows that have no key.
func.func @rows(%q: !p {attn.name = "q"}, %k: !p {attn.name = "k"}, %a: !v {attn.name = "a"}, %c: !v {attn.name = "c"}, %w: tensor<?xi32> {attn.name = "w"}) -> (!p {attn.name = "o"}, !r {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !p
  %n1 = tensor.dim %q, %c1 : !p
  %n2 = tensor.dim %q, %c2 : !p
  %init = tensor.empty(%n0, %n1, %n2) : !p
  %l = tensor.empty(%n0, %n1, %n2) : !r
  %o, %lse = attn.attention ins(%q, %k, %k : !p, !p, !p) captures(%a, %c, %w : !v, !v, tensor<?xi32>) outs(%init, %l : !p, !r)
      score(%s, %b, %h, %i, %j, %t, %u, %m) {
        %one = arith.constant 1 : i32
        %nan = arith.constant 0x7FC00000 : f32
        %kind = tensor.extract %m[%i] : tensor<?xi32>
        %is1 = arith.cmpi sle, %kind, %one : i32
        %x0 = tensor.extract %t[%i] : !v
        %x = arith.select %is1, %nan, %x0 : f32
        %z = tensor.extract %u[%i] : !v
        %y0 = arith.mulf %s, %x : f32
        %y1 = arith.mulf %z, %y0 : f32
        %y = arith.addf %y1, %x0 : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %t, %u, %m) {
        %zero = arith.constant 0 : i32
        %kind = tensor.extract %m[%i] : tensor<?xi32>
        %p = arith.cmpi ne, %kind, %zero : i32
        %r = arith.cmpi sle, %j, %i : index
        %both = arith.andi %p, %r : i1
        attn.yield %both : i1
      }
  return %o, %lse : !p, !r
}

func.func @quotient(%q: !w {attn.name = "q"}, %k: !w {attn.name = "k"}, %a: tensor<?x?xf32> {attn.name = "a"}) -> (!w {attn.name = "o"}, !r {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !w
  %n1 = tensor.dim %q, %c1 : !w
  %n2 = tensor.dim %q, %c2 : !w
  %init = tensor.empty(%n0, %n1, %n2) : !w
  %l = tensor.empty(%n0, %n1, %n2) : !r
  %o, %lse = attn.attention ins(%q, %k, %k : !w, !w, !w) captures(%a : tensor<?x?xf32>) outs(%init, %l : !w, !r)
      score(%s, %b, %h, %i, %j, %t) {
        %x = tensor.extract %t[%b, %i] : tensor<?x?xf32>
        %y = arith.divf %s, %x : f32
        attn.yield %y : f32
      }
  return %o, %lse : !w, !r
}

func.func @odd(%q: !h {attn.name = "q"}, %k: !h {attn.name = "k"}, %a: !v {attn.name = "a"}) -> (!h {attn.name = "o"}, !r {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !h
  %n1 = tensor.dim %q, %c1 : !h
  %n2 = tensor.dim %q, %c2 : !h
  %init = tensor.empty(%n0, %n1, %n2) : !h
  %l = tensor.empty(%n0, %n1, %n2) : !r
  %o, %lse = attn.attention ins(%q, %k, %k : !h, !h, !h) captures(%a : !v) outs(%init, %l : !h, !r)
      score(%s, %b, %h, %i, %j, %t) {
        %x = tensor.extract %t[%h] : !v
        %y = arith.mulf %s, %x : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %t) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o, %lse : !h, !r
}

func.func @floats(%q: !f {attn.name = "q"}, %k: !f {attn.name = "k"}, %a: !v {attn.name = "a"}) -> (!f {attn.name = "o"}, !r {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !f
  %n1 = tensor.dim %q, %c1 : !f
  %n2 = tensor.dim %q, %c2 : !f
  %init = tensor.empty(%n0, %n1, %n2) : !f
  %l = tensor.empty(%n0, %n1, %n2) : !r
  %o, %lse = attn.attention ins(%q, %k, %k : !f, !f, !f) captures(%a : !v) outs(%init, %l : !f, !r)
      score(%s, %b, %h, %i, %j, %t) {
        %x = tensor.extract %t[%i] : !v
        %y = arith.divf %s, %x : f32
        attn.yield %y : f32
      }
  return %o, %lse : !f, !r
}
