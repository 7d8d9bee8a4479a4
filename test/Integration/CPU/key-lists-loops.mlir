// RUN: attn-run %s --check --sparsity=lists '--arg=rows=blocks(0.4)' '--arg=most=randint(0,9)' '--arg=weights=randint(0,5)' | FileCheck %s
// RUN: attn-run %s --check --sparsity=lists --bounds-check '--arg=rows=blocks(0.4)' '--arg=most=randint(0,9)' '--arg=weights=randint(0,5)' | FileCheck %s
// CHECK: {{^}}PASS{{$}}

// Lists of keys with a mask that only the query decides: its loop and its branch
// are of numbers, which a worker computes once for the query.

func.func @f(%q: tensor<1x2x37x24xf32>, %k: tensor<1x2x50x24xf32>, %v: tensor<1x2x50x20xf32>, %rows: tensor<38xi32>, %columns: tensor<?xi32>, %weights: tensor<37x4xi32>, %most: tensor<37xi32>) -> (tensor<1x2x37x20xf32> {attn.name = "o"}) {
  %init = tensor.empty() : tensor<1x2x37x20xf32>
  %o = attn.attention
      ins(%q, %k, %v : tensor<1x2x37x24xf32>, tensor<1x2x50x24xf32>, tensor<1x2x50x20xf32>)
      captures(%weights, %most : tensor<37x4xi32>, tensor<37xi32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<38xi32>, tensor<?xi32>)
      outs(%init : tensor<1x2x37x20xf32>)
      mask(%b, %h, %i, %j, %weight_of, %most_of) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c4 = arith.constant 4 : index
        %zero = arith.constant 0 : i32
        %sum = scf.for %n = %c0 to %c4 step %c1 iter_args(%so_far = %zero) -> (i32) {
          %weight = tensor.extract %weight_of[%i, %n] : tensor<37x4xi32>
          %next = arith.addi %so_far, %weight : i32
          scf.yield %next : i32
        }
        %is_even = arith.cmpi eq, %h, %c0 : index
        %limit = scf.if %is_even -> (i32) {
          %of_row = tensor.extract %most_of[%i] : tensor<37xi32>
          scf.yield %of_row : i32
        } else {
          %all = arith.constant 20 : i32
          scf.yield %all : i32
        }
        %p = arith.cmpi sle, %sum, %limit : i32
        attn.yield %p : i1
      }
  return %o : tensor<1x2x37x20xf32>
}
