// Attributes of the dialect on operations of others.

// RUN: attn-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{unknown attribute 'attn.speed' of the attn dialect}}
func.func @attribute() attributes {attn.speed = 1} {
  return
}

// -----

// expected-error@+1 {{unknown argument attribute 'attn.nam' of the attn dialect}}
func.func private @argument_attribute(tensor<f32> {attn.nam = "x"})

// -----

// expected-error@+1 {{expects 'attn.name' of argument 1 to be a non-empty string, but got 3 : i64}}
func.func private @argument_name_type(tensor<f32>, tensor<f32> {attn.name = 3})

// -----

// expected-error@+1 {{expects 'attn.name' of argument 0 to be a non-empty string, but got ""}}
func.func private @argument_name_empty(tensor<f32> {attn.name = ""})

// -----

// expected-error@+1 {{expects names of arguments to be unique, but got 'x' for arguments 0 and 2}}
func.func private @argument_name_twice(tensor<f32> {attn.name = "x"}, tensor<f32>, tensor<f32> {attn.name = "x"})

// -----

// expected-error@+1 {{unknown result attribute 'attn.nam' of the attn dialect}}
func.func private @result_attribute() -> (tensor<f32> {attn.nam = "x"})

// -----

// expected-error@+1 {{expects 'attn.name' of result 0 to be a non-empty string, but got unit}}
func.func private @result_name_type() -> (tensor<f32> {attn.name})

// -----

// expected-error@+1 {{expects names of results to be unique, but got 'x' for results 0 and 1}}
func.func private @result_name_twice() -> (tensor<f32> {attn.name = "x"}, tensor<f32> {attn.name = "x"})

// -----

func.func @preparation_has_no_value(%n: index) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expects 'attn.preparation' to have no value, but got 1 : i32}}
  scf.for %i = %c0 to %n step %n {
  } {attn.preparation = 1 : i32}
  return
}

// -----

func.func @preparation_is_a_loop(%n: index) {
  // expected-error @below {{expects 'attn.preparation' to be of a loop that fills tables}}
  %x = arith.addi %n, %n {attn.preparation} : index
  return
}
