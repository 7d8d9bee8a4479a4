// RUN: attn-run %s --check '--arg=rows=blocks(0.3)' '--arg=sum=uniform(0.5,2)' | FileCheck %s
// CHECK: {{^}}PASS{{$}}

// Lists of keys that continue a state.

func.func @f(%q: tensor<1x2x37x24xf32>, %k: tensor<1x2x50x24xf32>, %v: tensor<1x2x50x20xf32>, %rows: tensor<38xi32>, %columns: tensor<?xi32>, %acc: tensor<1x2x37x20xf32>, %max: tensor<1x2x37xf32>, %sum: tensor<1x2x37xf32>) -> (tensor<1x2x37x20xf32> {attn.name = "o"}, tensor<1x2x37xf32> {attn.name = "max1"}, tensor<1x2x37xf32> {attn.name = "sum1"}) {
  %s:3 = attn.online_attention scale 0.25
      ins(%q, %k, %v : tensor<1x2x37x24xf32>, tensor<1x2x50x24xf32>, tensor<1x2x50x20xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<38xi32>, tensor<?xi32>)
      outs(%acc, %max, %sum : tensor<1x2x37x20xf32>, tensor<1x2x37xf32>, tensor<1x2x37xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %s#0, %s#1, %s#2 : tensor<1x2x37x20xf32>, tensor<1x2x37xf32>, tensor<1x2x37xf32>
}
