// Products of positions and numbers that decide where a limit, a bucket or a root
// is: rounded after each operation, as on a CPU, in kernels of results, of
// gradients and of tables of masks. 60 and 90 times 0.7 are whole numbers only so.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer
// RUN: split-file %s %t
// RUN: %python %S/Inputs/run_kernel.py %t/limits.mlir --arg=q=randn:1x1x130x64 --arg=k=randn:1x1x130x64 --arg=r=0.7
// RUN: %python %S/Inputs/run_kernel.py %t/buckets.mlir --grad=q,k,v --arg=q=randn:1x1x130x64 --arg=k=randn:1x1x130x64 --arg=t=randn:300
// RUN: %python %S/Inputs/run_kernel.py %t/roots.mlir --arg=q=randn:1x1x70x64 --arg=k=randn:1x1x70x64 --arg='x=uniform(0.1,3):70'

//--- limits.mlir
!t = tensor<1x1x?x64xbf16>
func.func @limits(%q: !t, %k: !t, %v: !t, %r: f32) -> (!t {attn.name = "o"}, tensor<1x1x?xf32> {attn.name = "lse"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%n) : !t
  %linit = tensor.empty(%n) : tensor<1x1x?xf32>
  %o:2 = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%r : f32) outs(%init, %linit : !t, tensor<1x1x?xf32>)
      mask(%b, %h, %i, %j, %rate) {
        %ji = arith.index_cast %j : index to i32
        %jf = arith.sitofp %ji : i32 to f32
        %ii = arith.index_cast %i : index to i32
        %if = arith.sitofp %ii : i32 to f32
        %limit = arith.mulf %if, %rate : f32
        %p = arith.cmpf oeq, %jf, %limit : f32
        attn.yield %p : i1
      }
  return %o#0, %o#1 : !t, tensor<1x1x?xf32>
}

//--- buckets.mlir
!t = tensor<1x1x?x64xbf16>
func.func @buckets(%q: !t, %k: !t, %v: !t, %t: tensor<?xf32>) -> (!t {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%n) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%t : tensor<?xf32>) outs(%init : !t)
      score(%s, %b, %h, %i, %j, %table) {
        %d = arith.subi %i, %j : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %rate = arith.constant 0.7 : f32
        %scaled = arith.mulf %df, %rate : f32
        %floor = math.floor %scaled : f32
        %bucket = arith.fptosi %floor : f32 to i32
        %at = arith.index_cast %bucket : i32 to index
        %bias = tensor.extract %table[%at] : tensor<?xf32>
        %y = arith.addf %s, %bias : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %table) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : !t
}

//--- roots.mlir
!t = tensor<1x1x?x64xbf16>
func.func @roots(%q: !t, %k: !t, %v: !t, %x: tensor<?xf32>) -> (!t {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%n) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%x : tensor<?xf32>) outs(%init : !t)
      score(%s, %b, %h, %i, %j, %at) {
        %xi = tensor.extract %at[%i] : tensor<?xf32>
        %xj = tensor.extract %at[%j] : tensor<?xf32>
        %ii = arith.mulf %xi, %xi : f32
        %jj = arith.mulf %xj, %xj : f32
        %d = arith.subf %ii, %jj : f32
        %root = math.sqrt %d : f32
        %y = arith.subf %s, %root : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %at) {
        %xi = tensor.extract %at[%i] : tensor<?xf32>
        %xj = tensor.extract %at[%j] : tensor<?xf32>
        %p = arith.cmpf ole, %xj, %xi : f32
        attn.yield %p : i1
      }
  return %o : !t
}
