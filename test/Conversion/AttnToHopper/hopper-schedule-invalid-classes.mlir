// Tiles that are passed over, and tables, that kernels cannot have.

// RUN: attn-opt %s --attn-canonicalize-score --attn-online-softmax --attn-classify-blocks --attn-lift-mask --attn-tile --canonicalize --cse --attn-hopper-schedule --split-input-file --verify-diagnostics

// Two elements at a time.
func.func @two_elements(%x: tensor<?xi32>, %q: tensor<1x4x?x64xbf16>, %o: tensor<1x4x?x64xbf16>) -> tensor<1x4x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<8x2xi32>
  %table = scf.forall (%t) in (8) shared_outs(%out = %e) -> (tensor<8x2xi32>) {
    %s = tensor.extract_slice %out[%t, 0] [1, 2] [1, 1] : tensor<8x2xi32> to tensor<1x2xi32>
    %v = tensor.extract %x[%t] : tensor<?xi32>
    %w = tensor.insert %v into %s[%c0, %c0] : tensor<1x2xi32>
    scf.forall.in_parallel {
      // expected-error@+1 {{expects one element of a table on a GPU, at the indices of the loop; the target cpu can run it}}
      tensor.parallel_insert_slice %w into %out[%t, 0] [1, 2] [1, 1] : tensor<1x2xi32> into tensor<8x2xi32>
    }
  }
  %r = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>
      ins(%q, %q, %q : tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>)
      captures(%table : tensor<8x2xi32>)
      outs(%o : tensor<1x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %w) {
        %c1 = arith.constant 1 : index
        %v = tensor.extract %w[%h, %c1] : tensor<8x2xi32>
        %f = arith.sitofp %v : i32 to f32
        %y = arith.addf %s, %f : f32
        attn.yield %y : f32
      }
  return %r : tensor<1x4x?x64xbf16>
}

// -----

// An extent that a launch does not find.
func.func @extent(%x: tensor<?xi32>, %q: tensor<1x4x?x64xbf16>, %o: tensor<1x4x?x64xbf16>) -> tensor<1x4x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xi32>
  %n2 = arith.muli %n, %n : index
  %e = tensor.empty(%n2) : tensor<?xi32>
  // expected-error@+1 {{expects the extents of a table to be those of arguments, or their quotients}}
  %table = scf.forall (%t) in (%n2) shared_outs(%out = %e) -> (tensor<?xi32>) {
    %s = tensor.extract_slice %out[%t] [1] [1] : tensor<?xi32> to tensor<1xi32>
    %v = tensor.extract %x[%t] : tensor<?xi32>
    %w = tensor.insert %v into %s[%c0] : tensor<1xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %w into %out[%t] [1] [1] : tensor<1xi32> into tensor<?xi32>
    }
  }
  %r = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>
      ins(%q, %q, %q : tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>)
      captures(%table : tensor<?xi32>)
      outs(%o : tensor<1x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %w) {
        %v = tensor.extract %w[%h] : tensor<?xi32>
        %f = arith.sitofp %v : i32 to f32
        %y = arith.addf %s, %f : f32
        attn.yield %y : f32
      }
  return %r : tensor<1x4x?x64xbf16>
}

// -----

// Reads of what is no argument.
func.func @read(%q: tensor<1x4x?x64xbf16>, %o: tensor<1x4x?x64xbf16>) -> tensor<1x4x?x64xbf16> {
  %c0 = arith.constant 0 : index
  %x = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %e = tensor.empty() : tensor<4xi32>
  %table = scf.forall (%t) in (4) shared_outs(%out = %e) -> (tensor<4xi32>) {
    %s = tensor.extract_slice %out[%t] [1] [1] : tensor<4xi32> to tensor<1xi32>
    // expected-error@+1 {{expects an element of an argument of the function; the target cpu can run it}}
    %v = tensor.extract %x[%t] : tensor<4xi32>
    %w = tensor.insert %v into %s[%c0] : tensor<1xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %w into %out[%t] [1] [1] : tensor<1xi32> into tensor<4xi32>
    }
  }
  %r = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>
      ins(%q, %q, %q : tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>, tensor<1x4x?x64xbf16>)
      captures(%table : tensor<4xi32>)
      outs(%o : tensor<1x4x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %w) {
        %v = tensor.extract %w[%h] : tensor<4xi32>
        %f = arith.sitofp %v : i32 to f32
        %y = arith.addf %s, %f : f32
        attn.yield %y : f32
      }
  return %r : tensor<1x4x?x64xbf16>
}
