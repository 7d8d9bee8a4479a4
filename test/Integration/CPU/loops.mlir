// Loops in scores and masks, short and long, around each other, and of values of
// queries, of keys, of pairs and of neither: right against the reference, with
// gradients, and where warps or threads compute rows.

// DEFINE: %{sizes} = --arg=q=randn:1x2x40x16 --arg=k=randn:1x2x50x16 --arg=v=randn:1x2x50x16
// RUN: attn-run %s --entry=rank %{sizes} --arg=a=randn:40x48 --arg=c=randn:50x48 --check --grad=q,k,v,a,c | FileCheck %s
// RUN: attn-run %s --entry=series %{sizes} --check | FileCheck %s
// RUN: attn-run %s --entry=limits %{sizes} --arg=a=randint(0,3):40x20 --check --bounds-check | FileCheck %s
// RUN: attn-run %s --entry=list --arg=q=randn:1x2x3x16 --arg=k=randn:1x2x50x16 --arg=v=randn:1x2x50x16 --arg=c=randn:50x48 --arg=rows=arange:4 --arg=columns=arange:9 --check | FileCheck %s
// RUN: attn-run %s --entry=narrow %{sizes} --check --grad | FileCheck %s
// RUN: attn-run %s --entry=wide %{sizes} --check --grad | FileCheck %s
// RUN: attn-run %s --entry=powers --arg=q=randn:1x2x20x16 --arg=k=randn:1x2x30x16 --arg=v=randn:1x2x30x16 --arg=a=randn:40 --arg=g=0.7 --check --grad | FileCheck %s
// RUN: attn-run %s --entry=branches --arg=q=randn:1x2x10x16 --arg=k=randn:1x2x12x16 --arg=v=randn:1x2x12x16 --arg=a=randn:120x40 --arg=g=0.9 --check --grad=q,k,v,a | FileCheck %s
// RUN: attn-run %s --entry=restarted %{sizes} --arg=a=0.05 --check --grad | FileCheck %s
// CHECK: PASS

!q = tensor<1x2x?x16xf32>
!f = tensor<?x48xf32>

// A product of rows, summed over their rank.
func.func @rank(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %v: !q {attn.name = "v"}, %a: !f {attn.name = "a"}, %c: !f {attn.name = "c"}) -> !q {
  %c2 = arith.constant 2 : index
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q) captures(%a, %c : !f, !f) outs(%init : !q)
      score(%x, %b, %h, %i, %j, %u, %w) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %rank = arith.constant 48 : index
        %y = scf.for %r = %zero to %rank step %one iter_args(%acc = %x) -> (f32) {
          %p = tensor.extract %u[%i, %r] : !f
          %t = tensor.extract %w[%j, %r] : !f
          %m = arith.mulf %p, %t : f32
          %n = arith.addf %acc, %m : f32
          scf.yield %n : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}

// A series of the distance, under a mask of what a loop over integers gives.
func.func @series(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %v: !q {attn.name = "v"}) -> !q {
  %c2 = arith.constant 2 : index
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q) outs(%init : !q)
      score(%x, %b, %h, %i, %j) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %two = arith.constant 2 : index
        %long = arith.constant 1000 : index
        %half = arith.constant 0.75 : f32
        %f1 = arith.constant 1.0 : f32
        %d = arith.subi %i, %j : index
        %di = arith.index_cast %d : index to i32
        %t = arith.sitofp %di : i32 to f32
        %ta = math.absf %t : f32
        %td = arith.addf %ta, %f1 : f32
        %y, %z = scf.for %r = %zero to %long step %two iter_args(%acc = %x, %power = %f1) -> (f32, f32) {
          %inner = scf.for %e = %zero to %two step %one iter_args(%in = %power) -> (f32) {
            %g = arith.mulf %in, %half : f32
            scf.yield %g : f32
          }
          %m = arith.divf %inner, %td : f32
          %u = math.tanh %acc : f32
          %e2 = arith.addf %u, %m : f32
          %n = arith.mulf %e2, %half : f32
          scf.yield %n, %inner : f32, f32
        }
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %hundred = arith.constant 100 : index
        %last = scf.for %r = %zero to %hundred step %one iter_args(%acc = %j) -> (index) {
          %n = arith.xori %acc, %r : index
          scf.yield %n : index
        }
        %three = arith.constant 3 : index
        %m = arith.remui %last, %three : index
        %p = arith.cmpi ne, %m, %zero : index
        attn.yield %p : i1
      }
  return %o : !q
}

// A limit for each query, which is a sum.
func.func @limits(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %v: !q {attn.name = "v"}, %a: tensor<?x20xi32> {attn.name = "a"}) -> !q {
  %c2 = arith.constant 2 : index
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q) captures(%a : tensor<?x20xi32>) outs(%init : !q)
      mask(%b, %h, %i, %j, %u) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %n = arith.constant 20 : index
        %limit = scf.for %r = %zero to %n step %one iter_args(%acc = %zero) -> (index) {
          %x = tensor.extract %u[%i, %r] : tensor<?x20xi32>
          %y = arith.index_cast %x : i32 to index
          %z = arith.addi %acc, %y : index
          scf.yield %z : index
        }
        %p = arith.cmpi slt, %j, %limit : index
        attn.yield %p : i1
      }
  return %o : !q
}

func.func @list(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %v: !q {attn.name = "v"}, %c: !f {attn.name = "c"}, %rows: tensor<4xi32> {attn.name = "rows"}, %columns: tensor<9xi32> {attn.name = "columns"}) -> !q {
  %c2 = arith.constant 2 : index
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q) captures(%c : !f)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<4xi32>, tensor<9xi32>) outs(%init : !q)
      score(%x, %b, %h, %i, %j, %w) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %rank = arith.constant 48 : index
        %y = scf.for %r = %zero to %rank step %one iter_args(%acc = %x) -> (f32) {
          %t = tensor.extract %w[%j, %r] : !f
          %n = arith.addf %acc, %t : f32
          scf.yield %n : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}

// The next step after the last one is beyond the type of the position.
func.func @narrow(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %v: !q {attn.name = "v"}) -> !q {
  %c2 = arith.constant 2 : index
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q) outs(%init : !q)
      score(%x, %b, %h, %i, %j) {
        %first = arith.constant -7 : i8
        %end = arith.constant 120 : i8
        %step = arith.constant 9 : i8
        %scale = arith.constant 0.01 : f32
        %y = scf.for %n = %first to %end step %step iter_args(%acc = %x) -> (f32) : i8 {
          %f = arith.sitofp %n : i8 to f32
          %g = arith.mulf %f, %scale : f32
          %p = arith.mulf %g, %x : f32
          %m = arith.addf %acc, %p : f32
          scf.yield %m : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}
func.func @wide(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %v: !q {attn.name = "v"}) -> !q {
  %c2 = arith.constant 2 : index
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q) outs(%init : !q)
      score(%x, %b, %h, %i, %j) {
        %first = arith.constant -7 : index
        %end = arith.constant 9223372036854775800 : index
        %step = arith.constant 6000000000000000000 : index
        %scale = arith.constant 1.0e-19 : f32
        %y = scf.for %n = %first to %end step %step iter_args(%acc = %x) -> (f32) {
          %l = arith.index_cast %n : index to i64
          %f = arith.sitofp %l : i64 to f32
          %g = arith.mulf %f, %scale : f32
          %p = arith.mulf %g, %x : f32
          %m = arith.addf %acc, %p : f32
          scf.yield %m : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}

// A series whose powers no gradient goes through, and one whose powers do, by
// positions of 32 bits.
func.func @powers(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %v: !q {attn.name = "v"}, %a: tensor<40xf32> {attn.name = "a"}, %g: f32 {attn.name = "g"}) -> !q {
  %c2 = arith.constant 2 : index
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q) captures(%a, %g : tensor<40xf32>, f32) outs(%init : !q)
      score(%x, %b, %h, %i, %j, %u, %f) {
        %zero = arith.constant 2 : i32
        %one = arith.constant 3 : i32
        %n = arith.constant 40 : i32
        %f1 = arith.constant 1.0 : f32
        %small = arith.constant 0.05 : f32
        %d = arith.subi %i, %j : index
        %di = arith.index_cast %d : index to i32
        %t = arith.sitofp %di : i32 to f32
        %td = arith.mulf %t, %small : f32
        %tt = math.tanh %td : f32
        %y, %z = scf.for %r = %zero to %n step %one iter_args(%acc = %x, %power = %f1) -> (f32, f32) : i32 {
          %ri = arith.index_cast %r : i32 to index
          %c = tensor.extract %u[%ri] : tensor<40xf32>
          %e = arith.mulf %c, %power : f32
          %acc2 = arith.addf %acc, %e : f32
          %p2 = arith.mulf %power, %tt : f32
          scf.yield %acc2, %p2 : f32, f32
        }
        %ts = math.tanh %y : f32
        %w = arith.mulf %ts, %f : f32
        %y2, %z2 = scf.for %r = %zero to %n step %one iter_args(%acc = %y, %power = %f1) -> (f32, f32) : i32 {
          %ri = arith.index_cast %r : i32 to index
          %c = tensor.extract %u[%ri] : tensor<40xf32>
          %e = arith.mulf %c, %power : f32
          %acc2 = arith.addf %acc, %e : f32
          %p2 = arith.mulf %power, %w : f32
          %p3 = math.tanh %p2 : f32
          %p4 = arith.addf %p3, %p2 : f32
          %p5 = math.sin %p4 : f32
          %rest = arith.subf %p5, %p3 : f32
          %p6 = arith.addf %rest, %p2 : f32
          %p7 = arith.mulf %p6, %f : f32
          %p8 = math.tanh %p7 : f32
          %p9 = arith.subf %p8, %p3 : f32
          %p10 = arith.addf %p9, %p2 : f32
          %p11 = arith.mulf %p10, %p10 : f32
          %p12 = math.tanh %p11 : f32
          %p13 = math.sin %p12 : f32
          %p14 = arith.addf %p13, %p10 : f32
          %p15 = math.tanh %p14 : f32
          scf.yield %acc2, %p15 : f32, f32
        }
        attn.yield %y2 : f32
      }
  return %o : !q
}

// A branch and a loop in a loop of what is carried, over tables at a distance
// and at a query.
func.func @branches(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %v: !q {attn.name = "v"}, %a: tensor<120x40xf32> {attn.name = "a"}, %g: f32 {attn.name = "g"}) -> !q {
  %c2 = arith.constant 2 : index
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q) captures(%a, %g : tensor<120x40xf32>, f32) outs(%init : !q)
      score(%x, %b, %h, %i, %j, %u, %f) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %three = arith.constant 3 : index
        %five = arith.constant 5 : index
        %n = arith.constant 39 : index
        %many = arith.constant 70 : index
        %most = arith.constant 0.999 : f32
        %tiny = arith.constant -0.005 : f32
        %tenth = arith.constant 0.1 : f32
        %f0 = arith.constant 0.0 : f32
        %d = arith.subi %i, %j : index
        %at = arith.addi %d, %many : index
        %y, %z = scf.for %r = %five to %n step %three iter_args(%acc = %x, %other = %f0) -> (f32, f32) {
          %c = tensor.extract %u[%at, %r] : tensor<120x40xf32>
          %ct = arith.mulf %c, %tenth : f32
          %sum = arith.addf %acc, %ct : f32
          %sin = math.sin %sum : f32
          %isBefore = arith.cmpi slt, %r, %j : index
          %side = scf.if %isBefore -> (f32) {
            %m = arith.mulf %sin, %f : f32
            scf.yield %m : f32
          } else {
            %e = tensor.extract %u[%i, %r] : tensor<120x40xf32>
            %et = arith.mulf %e, %tenth : f32
            %m = arith.addf %sum, %et : f32
            scf.yield %m : f32
          }
          %in = scf.for %e = %zero to %many step %one iter_args(%in = %side) -> (f32) {
            %w = math.tanh %in : f32
            %w2 = arith.mulf %w, %tiny : f32
            %w3 = arith.mulf %in, %most : f32
            %w4 = arith.addf %w2, %w3 : f32
            scf.yield %w4 : f32
          }
          %next = arith.addf %in, %other : f32
          %half = arith.mulf %sin, %tenth : f32
          scf.yield %next, %half : f32, f32
        }
        %both = arith.addf %y, %z : f32
        attn.yield %both : f32
      }
  return %o : !q
}

// A loop within another one starts from the score each time.
func.func @restarted(%q: !q {attn.name = "q"}, %k: !q {attn.name = "k"}, %v: !q {attn.name = "v"}, %a: f32 {attn.name = "a"}) -> !q {
  %c2 = arith.constant 2 : index
  %s = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%s) : !q
  %o = attn.attention ins(%q, %k, %v : !q, !q, !q) captures(%a : f32) outs(%init : !q)
      score(%x, %b, %h, %i, %j, %step) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %outer = arith.constant 3 : index
        %inner = arith.constant 40 : index
        %start = arith.constant 0.0 : f32
        %most = arith.constant 2.5 : f32
        %y = scf.for %m = %zero to %outer step %one iter_args(%last = %start) -> (f32) {
          %z = scf.for %n = %zero to %inner step %one iter_args(%sum = %x) -> (f32) {
            %next = arith.addf %sum, %step : f32
            scf.yield %next : f32
          }
          %limited = arith.minimumf %z, %most : f32
          scf.yield %limited : f32
        }
        attn.yield %y : f32
      }
  return %o : !q
}
