// Products of captured rows that join those of queries and keys, with gradients:
// for each head and batch, of keys that heads and batches share, in several parts,
// in elements of 16 bits, and of fewer elements than captures have.

// RUN: attn-run %s --entry=heads --arg=q=randn:2x3x20x16 --arg=k=randn:2x3x30x16 --arg=v=randn:2x3x30x16 --arg=a=randn:3x25x12 --arg=c=randn:2x40x12 --check --grad | FileCheck %s
// RUN: attn-run %s --entry=shared --arg=q=randn:2x4x20x16 --arg=k=randn:1x2x30x16 --arg=v=randn:1x2x30x8 --arg=a=randn:20x8 --arg=c=randn:2x4x30x8 --check --grad | FileCheck %s
// RUN: attn-run %s --entry=shared --arg=q=randn:0x4x20x16 --arg=k=randn:0x2x0x16 --arg=v=randn:0x2x0x8 --arg=a=randn:20x8 --arg=c=randn:0x4x0x8 --check | FileCheck %s
// RUN: attn-run %s --entry=halves --arg=q=randn:1x2x20x24 --arg=k=randn:1x2x30x24 --arg=v=randn:1x2x30x24 --arg=a=randn:1x2x20x8 --arg=c=randn:30x8 --check --grad | FileCheck %s
// RUN: attn-run %s --entry=wide --arg=q=randn:1x2x20x24 --arg=k=randn:1x2x30x24 --arg=v=randn:1x2x30x24 --arg=a=randn:20x8 --arg=c=randn:30x8 --check --grad | FileCheck %s
// RUN: attn-run %s --entry=elements --arg=q=randn:20x1x2x16 --arg=k=randn:30x1x2x16 --arg=v=randn:30x1x2x16 --arg=a=randn:20x6 --arg=c=randn:8x30 --check --grad | FileCheck %s
// CHECK: PASS

!q = tensor<?x?x?x16xf32>
!v = tensor<?x?x?x8xf32>
!h = tensor<1x2x?x24xbf16>
!l = tensor<?x1x2x16xf32>

// Captures are longer than q and k.
func.func @heads(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %v: !q {attn.name = "v"}, %a: tensor<3x25x12xf32> {attn.name = "a"}, %c: tensor<?x?x12xf32> {attn.name = "c"}) -> !q {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q) captures(%a, %c : tensor<3x25x12xf32>, tensor<?x?x12xf32>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %u, %w) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %ten = arith.constant 10 : index
        %cap = arith.constant 3.0 : f32
        %half = arith.constant 0.5 : f32
        %y = scf.for %r = %zero to %ten step %one iter_args(%acc = %s) -> (f32) {
          %p = tensor.extract %u[%h, %i, %r] : tensor<3x25x12xf32>
          %t = tensor.extract %w[%b, %j, %r] : tensor<?x?x12xf32>
          %m = arith.mulf %p, %t : f32
          %n = arith.addf %acc, %m : f32
          scf.yield %n : f32
        }
        %x = arith.mulf %y, %half : f32
        %t = math.tanh %x : f32
        %z = arith.mulf %t, %cap : f32
        attn.yield %z : f32
      }
      mask(%b, %h, %i, %j, %u, %w) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : !q
}

// Columns differ between heads and batches that share keys.
func.func @shared(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %v: !v {attn.name = "v"}, %a: tensor<?x8xf32> {attn.name = "a"}, %c: tensor<?x?x?x8xf32> {attn.name = "c"}) -> !v {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !v
  %o = attn.attention scale 0.3 ins(%q, %k, %v : !q, !q, !v) captures(%a, %c : tensor<?x8xf32>, tensor<?x?x?x8xf32>) outs(%init : !v)
      score(%s, %b, %h, %i, %j, %u, %w) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %eight = arith.constant 8 : index
        %by = arith.constant 0.7 : f32
        %start = arith.constant 0.0 : f32
        %y = scf.for %r = %zero to %eight step %one iter_args(%acc = %start) -> (f32) {
          %t = tensor.extract %w[%b, %h, %j, %r] : tensor<?x?x?x8xf32>
          %p = tensor.extract %u[%i, %r] : tensor<?x8xf32>
          %m = arith.mulf %t, %p : f32
          %n = arith.addf %m, %acc : f32
          scf.yield %n : f32
        }
        %x = arith.mulf %y, %by : f32
        %z = arith.subf %s, %x : f32
        attn.yield %z : f32
      }
  return %o : !v
}

// The factor of the rows is no power of two: they are three numbers of bf16.
func.func @halves(%q: !h {attn.name = "q"}, %k: !h {attn.name = "k"}, %v: !h {attn.name = "v"}, %a: tensor<1x2x?x8xbf16> {attn.name = "a"}, %c: tensor<?x8xbf16> {attn.name = "c"}) -> !h {
  %c2 = arith.constant 2 : index
  %n2 = tensor.dim %q, %c2 : !h
  %init = tensor.empty(%n2) : !h
  %o = attn.attention ins(%q, %k, %v : !h, !h, !h) captures(%a, %c : tensor<1x2x?x8xbf16>, tensor<?x8xbf16>) outs(%init : !h)
      score(%s, %b, %h, %i, %j, %u, %w) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %eight = arith.constant 8 : index
        %y = scf.for %r = %zero to %eight step %one iter_args(%acc = %s) -> (f32) {
          %p = tensor.extract %u[%b, %h, %i, %r] : tensor<1x2x?x8xbf16>
          %t = tensor.extract %w[%j, %r] : tensor<?x8xbf16>
          %pf = arith.extf %p : bf16 to f32
          %tf = arith.extf %t : bf16 to f32
          %m = arith.mulf %pf, %tf : f32
          %n = arith.addf %acc, %m : f32
          scf.yield %n : f32
        }
        attn.yield %y : f32
      }
  return %o : !h
}

// f32 of queries in bf16: joined forward, and a loop where gradients are f32.
func.func @wide(%q: !h {attn.name = "q"}, %k: !h {attn.name = "k"}, %v: !h {attn.name = "v"}, %a: tensor<?x8xf32> {attn.name = "a"}, %c: tensor<?x8xf32> {attn.name = "c"}) -> !h {
  %c2 = arith.constant 2 : index
  %n2 = tensor.dim %q, %c2 : !h
  %init = tensor.empty(%n2) : !h
  %o = attn.attention ins(%q, %k, %v : !h, !h, !h) captures(%a, %c : tensor<?x8xf32>, tensor<?x8xf32>) outs(%init : !h)
      score(%s, %b, %h, %i, %j, %u, %w) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %eight = arith.constant 8 : index
        %y = scf.for %r = %zero to %eight step %one iter_args(%acc = %s) -> (f32) {
          %p = tensor.extract %u[%i, %r] : tensor<?x8xf32>
          %t = tensor.extract %w[%j, %r] : tensor<?x8xf32>
          %m = arith.mulf %p, %t : f32
          %n = arith.addf %acc, %m : f32
          scf.yield %n : f32
        }
        attn.yield %y : f32
      }
  return %o : !h
}

// Written out, out of order, and in another layout: elements 1 to 4 of rows.
func.func @elements(%q: !l {attn.name = "q"}, %k: !l {attn.name = "k"}, %v: !l {attn.name = "v"}, %a: tensor<?x?xf32> {attn.name = "a"}, %c: tensor<8x?xf32> {attn.name = "c"}) -> !l {
  %c0 = arith.constant 0 : index
  %n0 = tensor.dim %q, %c0 : !l
  %init = tensor.empty(%n0) : !l
  %o = attn.attention layout(sbhd) ins(%q, %k, %v : !l, !l, !l) captures(%a, %c : tensor<?x?xf32>, tensor<8x?xf32>) outs(%init : !l)
      score(%s, %b, %h, %i, %j, %u, %w) {
        %r1 = arith.constant 1 : index
        %r2 = arith.constant 2 : index
        %r3 = arith.constant 3 : index
        %r4 = arith.constant 4 : index
        %quarter = arith.constant 0.25 : f32
        %a1 = tensor.extract %u[%i, %r1] : tensor<?x?xf32>
        %a2 = tensor.extract %u[%i, %r2] : tensor<?x?xf32>
        %a3 = tensor.extract %u[%i, %r3] : tensor<?x?xf32>
        %a4 = tensor.extract %u[%i, %r4] : tensor<?x?xf32>
        %b1 = tensor.extract %w[%r1, %j] : tensor<8x?xf32>
        %b2 = tensor.extract %w[%r2, %j] : tensor<8x?xf32>
        %b3 = tensor.extract %w[%r3, %j] : tensor<8x?xf32>
        %b4 = tensor.extract %w[%r4, %j] : tensor<8x?xf32>
        %p1 = arith.mulf %a1, %b1 : f32
        %p2 = arith.mulf %b2, %a2 : f32
        %p3 = arith.mulf %a3, %b3 : f32
        %p4 = arith.mulf %a4, %b4 : f32
        %x1 = arith.addf %p4, %p2 : f32
        %x2 = arith.addf %p1, %p3 : f32
        %x3 = arith.addf %x1, %x2 : f32
        %x4 = arith.mulf %x3, %quarter : f32
        %d = index.sub %i, %j
        %e = arith.index_cast %d : index to i32
        %f = arith.sitofp %e : i32 to f32
        %y = arith.addf %s, %f : f32
        %z = arith.subf %x4, %y : f32
        attn.yield %z : f32
      }
  return %o : !l
}
