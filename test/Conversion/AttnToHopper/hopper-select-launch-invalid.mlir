// RUN: attn-opt %s --attn-hopper-select-launch --verify-diagnostics

!t = tensor<1x1x8x64xbf16>
func.func @number(%q: !t, %s: tensor<f32>, %oi: !t) -> !t {
  %e = tensor.empty() : tensor<f32>
  // expected-error @+1 {{expects what a launch computes for another, or for a number, to have dimensions on a GPU; of gradients, name those that are wanted without those of numbers, or make the number a tensor of rank 0; the target cpu can run it}}
  %n = scf.forall (%i) in (1) shared_outs(%out = %e) -> (tensor<f32>) {
    %x = tensor.extract %s[] : tensor<f32>
    %y = arith.addf %x, %x : f32
    %slice = tensor.extract_slice %out[] [] [] : tensor<f32> to tensor<f32>
    %w = tensor.insert %y into %slice[] : tensor<f32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %w into %out[] [] [] : tensor<f32> into tensor<f32>
    }
  }
  %o = attn.attention ins(%q, %q, %q : !t, !t, !t) captures(%n : tensor<f32>) outs(%oi : !t)
      score(%x, %b, %h, %i, %j, %c) {
        %y = tensor.extract %c[] : tensor<f32>
        %z = arith.addf %x, %y : f32
        attn.yield %z : f32
      }
  return %o : !t
}
