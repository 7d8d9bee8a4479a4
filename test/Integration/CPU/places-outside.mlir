// Slices and elements at numbers of the call: inside, all is as written; outside,
// the call fails, and touches no other memory.

// DEFINE: %{run} = attn-run %s --entry=append --arg=k=randn:1x2x6x16 --arg=v=randn:1x2x6x16
// RUN: %{run} --arg=pos=4 --check | FileCheck %s --check-prefix=PASS
// RUN: not %{run} --arg=pos=-1 2>&1 | FileCheck %s --check-prefix=BEFORE
// RUN: not %{run} --arg=pos=1000000000 2>&1 | FileCheck %s --check-prefix=BEHIND
// RUN: attn-run %s --entry=element --arg=n=3 --check | FileCheck %s --check-prefix=PASS
// RUN: not attn-run %s --entry=element --arg=n=1000000000000 2>&1 | FileCheck %s --check-prefix=ELEMENT
// RUN: not attn-run %s --entry=element --arg=n=-9223372036854775808 2>&1 | FileCheck %s --check-prefix=LEAST
// RUN: not attn-run %s --entry=rest --arg=k=randn:1x2x3x16 2>&1 | FileCheck %s --check-prefix=REST
// RUN: attn-run %s --entry=quotient --arg=n=7 --arg=m=0 --check | FileCheck %s --check-prefix=PASS
// RUN: attn-run %s --entry=quotient --arg=n=-9223372036854775808 --arg=m=-1 --check | FileCheck %s --check-prefix=PASS
// PASS: PASS
// BEFORE: 'tensor.insert_slice' op expects an offset of dimension 2 such that the slice is within extent 6, but got -1
// BEHIND: 'tensor.insert_slice' op expects an offset of dimension 2 such that the slice is within extent 6, but got 1000000000
// ELEMENT: 'tensor.extract' op expects an index of dimension 0 within extent 4, but got 1000000000000
// LEAST: 'tensor.extract' op expects an index of dimension 0 within extent 4, but got -9223372036854775808
// REST: 'tensor.extract_slice' op expects no negative size of dimension 2, but got -2

!t = tensor<1x2x?x16xf32>
!one = tensor<1x2x1x16xf32>

func.func @append(%q: !one, %new: !one, %k: !t, %v: !t, %pos: index) -> (!one {attn.name = "o"}, !t {attn.name = "cache"}) {
  %longer = tensor.insert_slice %new into %k[0, 0, %pos, 0] [1, 2, 1, 16] [1, 1, 1, 1] : !one into !t
  %init = tensor.empty() : !one
  %o = attn.attention ins(%q, %longer, %v : !one, !t, !t) captures(%pos : index) outs(%init : !one)
      mask(%b, %h, %i, %j, %p) {
        %x = arith.cmpi sle, %j, %p : index
        attn.yield %x : i1
      }
  return %o, %longer : !one, !t
}

func.func @element(%a: tensor<4xf32>, %n: index) -> (f32 {attn.name = "o"}) {
  %r = tensor.extract %a[%n] : tensor<4xf32>
  return %r : f32
}

func.func @rest(%q: !one, %k: !t) -> (!one {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %all = tensor.dim %k, %c2 : !t
  %n = arith.subi %all, %c5 : index
  %s = tensor.extract_slice %k[0, 0, 5, 0] [1, 2, %n, 16] [1, 1, 1, 1] : !t to !t
  %init = tensor.empty() : !one
  %o = attn.attention ins(%q, %s, %s : !one, !t, !t) outs(%init : !one)
  return %o : !one
}

func.func @quotient(%q: tensor<1x2x33x16xf32>, %n: index, %m: index) -> (tensor<1x2x33x16xf32> {attn.name = "o"}) {
  %w = arith.divsi %n, %m : index
  %init = tensor.empty() : tensor<1x2x33x16xf32>
  %o = attn.attention ins(%q, %q, %q : tensor<1x2x33x16xf32>, tensor<1x2x33x16xf32>, tensor<1x2x33x16xf32>)
      captures(%w : index) outs(%init : tensor<1x2x33x16xf32>)
      mask(%b, %h, %i, %j, %x) {
        %d = arith.subi %i, %j : index
        %p = arith.cmpi sle, %d, %x : index
        attn.yield %p : i1
      }
  return %o : tensor<1x2x33x16xf32>
}
