// Each error of the verifier of attn.online_step.

// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @step_scores_rank(%s: vector<4xf32>, %a: vector<8x4xf32>, %m: vector<4xf32>) {
  // expected-error@+1 {{expects scores to have rank 2, but got 'vector<4xf32>'}}
  %0:4 = attn.online_step %s, %a, %m, %m : vector<4xf32>, vector<8x4xf32>, vector<4xf32>
  return
}

// -----

func.func @step_acc_rank(%s: vector<4x4xf32>, %a: vector<2x8x4xf32>, %m: vector<4xf32>) {
  // expected-error@+1 {{expects acc to have rank 2, but got 'vector<2x8x4xf32>'}}
  %0:4 = attn.online_step %s, %a, %m, %m : vector<4x4xf32>, vector<2x8x4xf32>, vector<4xf32>
  return
}

// -----

func.func @step_max_rank(%s: vector<4x4xf32>, %m: vector<1x4xf32>) {
  // expected-error@+1 {{expects max to have rank 1, but got 'vector<1x4xf32>'}}
  %0:4 = attn.online_step %s, %s, %m, %m : vector<4x4xf32>, vector<4x4xf32>, vector<1x4xf32>
  return
}

// -----

func.func @step_scalable(%s: vector<4x[4]xf32>, %m: vector<[4]xf32>) {
  // expected-error@+1 {{expects vectors of fixed size, but got 'vector<4x[4]xf32>'}}
  %0:4 = attn.online_step %s, %s, %m, %m : vector<4x[4]xf32>, vector<4x[4]xf32>, vector<[4]xf32>
  return
}

// -----

func.func @step_element_types(%s: vector<4x4xf32>, %m: vector<4xf64>) {
  // expected-error@+1 {{expects all vectors to have element type 'f32', but got 'vector<4xf64>'}}
  %0:4 = attn.online_step %s, %s, %m, %m : vector<4x4xf32>, vector<4x4xf32>, vector<4xf64>
  return
}

// -----

func.func @step_element_type(%s: vector<4x4xf16>, %m: vector<4xf16>) {
  // expected-error@+1 {{expects element type f32 or f64, but got 'f16'}}
  %0:4 = attn.online_step %s, %s, %m, %m : vector<4x4xf16>, vector<4x4xf16>, vector<4xf16>
  return
}

// -----

func.func @step_queries(%s: vector<4x8xf32>, %a: vector<4x16xf32>, %m: vector<32xf32>) {
  // expected-error@+1 {{expects scores, acc, max and sum to have the same number of queries, but got 8, 16 and 32}}
  %0:4 = attn.online_step %s, %a, %m, %m : vector<4x8xf32>, vector<4x16xf32>, vector<32xf32>
  return
}

// -----

func.func @step_generic(%s: vector<4x8xf32>, %m: vector<8xf32>, %l: vector<9xf32>) {
  // expected-error@+1 {{failed to verify that all of {max, sum, newMax, newSum} have same type}}
  %0:4 = "attn.online_step"(%s, %s, %m, %l) : (vector<4x8xf32>, vector<4x8xf32>, vector<8xf32>, vector<9xf32>)
      -> (vector<4x8xf32>, vector<4x8xf32>, vector<8xf32>, vector<8xf32>)
  return
}

// -----

func.func @step_generic_scores(%s: vector<4x8xf32>, %m: vector<8xf32>) {
  // expected-error@+1 {{failed to verify that all of {scores, probabilities} have same type}}
  %0:4 = "attn.online_step"(%s, %s, %m, %m) : (vector<4x8xf32>, vector<4x8xf32>, vector<8xf32>, vector<8xf32>)
      -> (vector<5x8xf32>, vector<4x8xf32>, vector<8xf32>, vector<8xf32>)
  return
}

// -----

func.func @step_factor(%s: vector<4x8xf32>, %m: vector<8xf32>) {
  // expected-error@+1 {{expects a factor that is positive and finite, but got 0.0}}
  %0:4 = attn.online_step %s, %s, %m, %m factor 0.0 : vector<4x8xf32>, vector<4x8xf32>, vector<8xf32>
  return
}

// -----

func.func @step_not_a_vector(%s: f32) {
  // expected-error@+1 {{invalid kind of type specified: expected builtin.vector, but found 'f32'}}
  %0:4 = attn.online_step %s, %s, %s, %s : f32, f32, f32
  return
}

// -----

func.func @negate_queries(%q: vector<8x4xf32>, %p: vector<8xi1>) {
  // expected-error@+1 {{expects an i1 for each of 4 queries, but got 'vector<8xi1>'}}
  %0 = attn.negate_queries %q where %p : vector<8x4xf32>, vector<8xi1>
  return
}
