// Positions divided by numbers of a call: quotients and remainders are products
// with a reciprocal, conditions on quotients bound the key, and those that a
// number divides a difference compare remainders. Divisors are 1, powers of two
// and others, within a tile and beyond all positions, and 0 and below.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// RUN: split-file %s %t
// RUN: %python %S/Inputs/run_kernel.py %t/quotients.mlir --arg=q=randn:1x1x150x64 --arg=n=7 --schedule '#hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 208>'
// RUN: %python %S/Inputs/run_kernel.py %t/quotients.mlir --arg=q=randn:1x1x150x64 --arg=n=0 --schedule '#hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 208>'
// RUN: %python %S/Inputs/run_kernel.py %t/quotients.mlir --arg=q=randn:1x1x150x64 --arg=n=64 --schedule '#hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 208>'
// RUN: %python %S/Inputs/run_kernel.py %t/remainders.mlir --arg=q=randn:1x1x150x64 --arg=n=-5 --schedule '#hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 208>'
// RUN: %python %S/Inputs/run_kernel.py %t/remainders.mlir --arg=q=randn:1x1x150x64 --arg=n=0 --schedule '#hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 208>'
// RUN: %python %S/Inputs/run_kernel.py %t/remainders.mlir --arg=q=randn:1x1x150x64 --arg=n=5000000000 --schedule '#hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 208>'
// RUN: %python %S/Inputs/run_kernel.py %t/scores.mlir --arg=q=randn:1x1x150x64 --arg=n=11 --schedule '#hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 208>'
// RUN: %python %S/Inputs/run_kernel.py %t/scores.mlir --arg=q=randn:1x1x150x64 --arg=n=-1 --schedule '#hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 208>'
// RUN: %python %S/Inputs/run_kernel.py %t/scores.mlir --arg=q=randn:1x1x150x64 --arg=n=1 --schedule '#hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 208>'
// RUN: attn-run %t/quotients.mlir --target=cpu --check --arg=q=randn:1x1x150x64 --arg=n=7 | FileCheck %s
// RUN: attn-run %t/quotients.mlir --target=cpu --check --arg=q=randn:1x1x150x64 --arg=n=0 | FileCheck %s
// RUN: attn-run %t/remainders.mlir --target=cpu --check --arg=q=randn:1x1x150x64 --arg=n=-5 | FileCheck %s
// RUN: attn-run %t/scores.mlir --target=cpu --check --arg=q=randn:1x1x150x64 --arg=n=11 | FileCheck %s
// RUN: attn-run %t/scores.mlir --target=cpu --check --arg=q=randn:1x1x150x64 --arg=n=-1 | FileCheck %s
// RUN: attn-run %t/scores.mlir --target=cpu --check --arg=q=randn:1x1x150x64 --arg=n=5000000000 | FileCheck %s
// CHECK: PASS

//--- quotients.mlir
!t = tensor<?x?x?x64xbf16>

// The chunk of the query, the one before, and all behind the next.
func.func @quotients(%q: !t, %k: !t, %v: !t, %n: index) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%n : index) outs(%init : !t)
      mask(%b0, %h0, %i, %j, %by) {
        %one = arith.constant 1 : index
        %x = arith.divui %i, %by : index
        %y = arith.divui %j, %by : index
        %same = arith.cmpi eq, %x, %y : index
        %last = arith.subi %x, %one : index
        %before = arith.cmpi eq, %last, %y : index
        %next = arith.addi %x, %one : index
        %behind = arith.cmpi sgt, %y, %next : index
        %near = arith.ori %same, %before : i1
        %p = arith.ori %near, %behind : i1
        attn.yield %p : i1
      }
  return %o : !t
}

//--- remainders.mlir
!t = tensor<?x?x?x64xbf16>

// Python's remainder of a difference, and columns of a grid.
func.func @remainders(%q: !t, %k: !t, %v: !t, %n: index) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%n : index) outs(%init : !t)
      mask(%b0, %h0, %i, %j, %by) {
        %zero = arith.constant 0 : index
        %two = arith.constant 2 : index
        %d = arith.subi %i, %j : index
        %r = arith.remsi %d, %by : index
        %isNegative = arith.cmpi slt, %r, %zero : index
        %sum = arith.addi %r, %by : index
        %m = arith.select %isNegative, %sum, %r : index
        %divides = arith.cmpi eq, %m, %zero : index
        %y = arith.remui %j, %by : index
        %x = arith.remui %i, %by : index
        %dx = arith.subi %x, %y : index
        %ax = math.absi %dx : index
        %far = arith.cmpi sgt, %ax, %two : index
        %p = arith.ori %divides, %far : i1
        attn.yield %p : i1
      }
  return %o : !t
}

//--- scores.mlir
!t = tensor<?x?x?x64xbf16>

// Each kind of division of numbers on both sides of 0.
func.func @scores(%q: !t, %k: !t, %v: !t, %n: index) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%n : index) outs(%init : !t)
      score(%s0, %b0, %h0, %i, %j, %by) {
        %three = arith.constant 3 : index
        %ten = arith.constant 10 : index
        %part = arith.constant 0.01 : f32
        %d = arith.subi %j, %i : index
        %quotient = arith.divsi %d, %by : index
        %down = arith.floordivsi %d, %by : index
        %rest = arith.remsi %d, %by : index
        %up = arith.ceildivsi %d, %by : index
        %w0 = arith.muli %down, %three : index
        %w1 = arith.muli %rest, %ten : index
        %u0 = arith.addi %quotient, %w0 : index
        %u1 = arith.addi %u0, %w1 : index
        %u2 = arith.subi %u1, %up : index
        %u3 = arith.index_cast %u2 : index to i32
        %f = arith.sitofp %u3 : i32 to f32
        %g = arith.mulf %f, %part : f32
        %sum = arith.addf %s0, %g : f32
        attn.yield %sum : f32
      }
  return %o : !t
}
