// Unstructured sparsity: each query of a head has a list of the keys that it
// meets, as a sparse matrix in the format CSR. `rows` says where in `columns`
// the list of each query starts; what is in no list costs nothing. Scores fall
// with the distance.
//
//   attn-run docs/examples/key-lists.mlir --arg=rows='blocks(0.02)' \
//       --arg=q=randn:2x4x1000x64 --check

!q = tensor<?x4x?x64xbf16>
!k = tensor<?x2x?x64xbf16>
!rows = tensor<4x?xi32>
!columns = tensor<?xi32>
!lse = tensor<?x4x?xf32>

func.func @key_lists(%q: !q, %k: !k, %v: !k, %rows: !rows, %columns: !columns)
    -> (!q {attn.name = "o"}, !lse {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : !q
  %queries = tensor.dim %q, %c2 : !q
  %oinit = tensor.empty(%batch, %queries) : !q
  %linit = tensor.empty(%batch, %queries) : !lse
  %o, %lse = attn.attention
      ins(%q, %k, %v : !q, !k, !k)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : !rows, !columns)
      outs(%oinit, %linit : !q, !lse)
      score(%s, %b, %h, %i, %j) {
        %d = arith.subi %i, %j : index
        %i64 = arith.index_cast %d : index to i64
        %x = arith.sitofp %i64 : i64 to f32
        %a = math.absf %x : f32
        %slope = arith.constant -1.562500e-02 : f32
        %bias = arith.mulf %a, %slope : f32
        %y = arith.addf %s, %bias : f32
        attn.yield %y : f32
      }
  return %o, %lse : !q, !lse
}
