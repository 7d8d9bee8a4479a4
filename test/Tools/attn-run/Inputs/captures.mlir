// Captures of every element type, read at [b], [h], [i] or [j] and as scalars.
func.func @captures(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x7x8xf32>,
                    %v: tensor<1x2x7x8xf32>, %rows: tensor<?xf64>,
                    %heads: tensor<?xf16>, %keys: tensor<?x?xi1>,
                    %ids: tensor<?xi8>, %order: tensor<?xi16>, %n: i32,
                    %shift: index, %factor: f32)
    -> (tensor<1x2x5x8xf32> {attn.name = "o"}) {
  %init = tensor.empty() : tensor<1x2x5x8xf32>
  %o = attn.attention
      ins(%q, %k, %v : tensor<1x2x5x8xf32>, tensor<1x2x7x8xf32>,
                       tensor<1x2x7x8xf32>)
      captures(%rows, %heads, %keys, %ids, %order, %n, %shift, %factor
          : tensor<?xf64>, tensor<?xf16>, tensor<?x?xi1>, tensor<?xi8>,
            tensor<?xi16>, i32, index, f32)
      outs(%init : tensor<1x2x5x8xf32>)
      score(%s, %b, %h, %i, %j, %rows, %heads, %keys, %ids, %order, %n, %shift,
            %factor) {
        %row64 = tensor.extract %rows[%i] : tensor<?xf64>
        %row = arith.truncf %row64 : f64 to f32
        %head16 = tensor.extract %heads[%h] : tensor<?xf16>
        %head = arith.extf %head16 : f16 to f32
        %x = arith.mulf %s, %factor : f32
        %y = arith.addf %x, %row : f32
        %z = arith.addf %y, %head : f32
        attn.yield %z : f32
      }
      mask(%b, %h, %i, %j, %rows, %heads, %keys, %ids, %order, %n, %shift,
           %factor) {
        %isHidden = tensor.extract %keys[%b, %j] : tensor<?x?xi1>
        %id = tensor.extract %ids[%j] : tensor<?xi8>
        %zero = arith.constant 0 : i8
        %isFirst = arith.cmpi eq, %id, %zero : i8
        %turn = tensor.extract %order[%i] : tensor<?xi16>
        %wide = arith.extsi %turn : i16 to i32
        %isTurn = arith.cmpi sge, %wide, %n : i32
        %i1 = arith.addi %i, %shift : index
        %isNear = arith.cmpi sge, %i1, %shift : index
        %true = arith.constant true
        %isShown = arith.xori %isHidden, %true : i1
        %a = arith.andi %isShown, %isFirst : i1
        %c = arith.andi %isTurn, %isNear : i1
        %p = arith.andi %a, %c : i1
        attn.yield %p : i1
      }
  return %o : tensor<1x2x5x8xf32>
}
