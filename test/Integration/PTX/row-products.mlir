// Products of captured rows that join those of queries and keys, in the
// interpreter: with gradients, for heads that share keys, and in several parts.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer

// DEFINE: %{run} = %python %S/Inputs/run_kernel.py %s --launches
// RUN: %{run} --entry=rows --arg=q=randn:2x2x70x64 --arg=k=randn:1x2x50x64 --arg=a=randn:2x80x16 --arg=c=randn:2x50x16 | FileCheck %s --check-prefix=ROWS
// RUN: %{run} --entry=shared --grad --tolerance=0.1 --arg=q=randn:1x2x37x32 --arg=k=randn:1x1x41x32 --arg=a=randn:37x8 --arg=c=randn:2x41x8 | FileCheck %s --check-prefix=SHARED
// RUN: %{run} --entry=wide --arg=q=randn:1x2x37x64 --arg=k=randn:1x2x41x64 --arg=a=randn:37x8 --arg=c=randn:41x8 | FileCheck %s --check-prefix=WIDE

!q = tensor<?x?x?x64xbf16>
!h = tensor<?x?x?x32xbf16>

// q, k and v for each batch, each by a launch of its own, with 80 elements.
// ROWS-COUNT-3: elements
// ROWS-NEXT: #hopper.schedule<
// ROWS-NEXT: o: max error
func.func @rows(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %a: tensor<?x?x?xbf16> {attn.name = "a"}, %c: tensor<?x?x?xbf16> {attn.name = "c"}) -> (!q {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%a, %c : tensor<?x?x?xbf16>, tensor<?x?x?xbf16>) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %u, %w) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %n = arith.constant 16 : index
        %y = scf.for %r = %zero to %n step %one iter_args(%acc = %s) -> (f32) {
          %p = tensor.extract %u[%h, %i, %r] : tensor<?x?x?xbf16>
          %t = tensor.extract %w[%b, %j, %r] : tensor<?x?x?xbf16>
          %pf = arith.extf %p : bf16 to f32
          %tf = arith.extf %t : bf16 to f32
          %m = arith.mulf %pf, %tf : f32
          %x = arith.addf %acc, %m : f32
          scf.yield %x : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}

// Columns differ between heads that share keys, and the scale is no power of two:
// 15 elements, and one that is 0.
// SHARED: o: max error
// SHARED-NEXT: dq: max error
// SHARED-NEXT: dk: max error
// SHARED-NEXT: da: max error
// SHARED-NEXT: dc: max error
func.func @shared(%q: !h {attn.name = "q"}, %k: !h {attn.name = "k"}, %a: tensor<?x8xbf16> {attn.name = "a"}, %c: tensor<?x?x8xbf16> {attn.name = "c"}) -> (!h {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !h
  %n1 = tensor.dim %q, %c1 : !h
  %n2 = tensor.dim %q, %c2 : !h
  %init = tensor.empty(%n0, %n1, %n2) : !h
  %o = attn.attention ins(%q, %k, %k : !h, !h, !h) captures(%a, %c : tensor<?x8xbf16>, tensor<?x?x8xbf16>) outs(%init : !h)
      score(%s, %b, %h, %i, %j, %u, %w) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %n = arith.constant 5 : index
        %y = scf.for %r = %zero to %n step %one iter_args(%acc = %s) -> (f32) {
          %p = tensor.extract %u[%i, %r] : tensor<?x8xbf16>
          %t = tensor.extract %w[%h, %j, %r] : tensor<?x?x8xbf16>
          %pf = arith.extf %p : bf16 to f32
          %tf = arith.extf %t : bf16 to f32
          %m = arith.mulf %pf, %tf : f32
          %x = arith.addf %acc, %m : f32
          scf.yield %x : f32
        }
        attn.yield %y : f32
      }
  return %o : !h
}

// Captures of f32: six products of parts.
// WIDE: o: max error
// WIDE-NEXT: lse: max error
func.func @wide(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %a: tensor<?x8xf32> {attn.name = "a"}, %c: tensor<?x8xf32> {attn.name = "c"}) -> (!q {attn.name = "o"}, tensor<?x?x?xf32> {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !q
  %n1 = tensor.dim %q, %c1 : !q
  %n2 = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%n0, %n1, %n2) : !q
  %linit = tensor.empty(%n0, %n1, %n2) : tensor<?x?x?xf32>
  %o, %lse = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%a, %c : tensor<?x8xf32>, tensor<?x8xf32>) outs(%init, %linit : !q, tensor<?x?x?xf32>)
      score(%s, %b, %h, %i, %j, %u, %w) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %n = arith.constant 8 : index
        %y = scf.for %r = %zero to %n step %one iter_args(%acc = %s) -> (f32) {
          %p = tensor.extract %u[%i, %r] : tensor<?x8xf32>
          %t = tensor.extract %w[%j, %r] : tensor<?x8xf32>
          %m = arith.mulf %p, %t : f32
          %x = arith.addf %acc, %m : f32
          scf.yield %x : f32
        }
        attn.yield %y : f32
      }
  return %o, %lse : !q, tensor<?x?x?xf32>
}
