// RUN: heddle-opt %s --split-input-file --verify-diagnostics

#t = #heddle.dims<"tokens">
#s = #heddle.dims<"sequences">
#p = #heddle.dims<"step">
func.func @no_rows(%h: tensor<?x8xf32, #s>, %i: tensor<?xi32, #s>) {
  // expected-error @+1 {{expects at least one operand of `rows`}}
  %0 = heddle.scan rows() states(%h) constants() of(%i, %i) {row_size = "length", step = "step"}
      : (tensor<?x8xf32, #s>, tensor<?xi32, #s>, tensor<?xi32, #s>) -> tensor<?x8xf32, #s> {
  ^bb0(%a: tensor<?x8xf32, #p>):
    heddle.yield %a : tensor<?x8xf32, #p>
  }
  return
}

// -----

#t = #heddle.dims<"tokens">
#s = #heddle.dims<"sequences">
#p = #heddle.dims<"step">
func.func @other_tokens(%x: tensor<?x8xf32, #t>, %y: tensor<?x8xf32, #heddle.dims<"others">>, %i: tensor<?xi32, #s>) {
  // expected-error @+1 {{expects rows of the same tokens}}
  heddle.scan rows(%x, %y) states() constants() of(%i, %i) {row_size = "length", step = "step"}
      : (tensor<?x8xf32, #t>, tensor<?x8xf32, #heddle.dims<"others">>, tensor<?xi32, #s>, tensor<?xi32, #s>) -> () {
  ^bb0(%a: tensor<?x8xf32, #p>, %b: tensor<?x8xf32, #p>):
    heddle.yield
  }
  return
}

// -----

#t = #heddle.dims<"tokens">
#s = #heddle.dims<"sequences">
#p = #heddle.dims<"step">
func.func @state_of_tokens(%x: tensor<?x8xf32, #t>, %i: tensor<?xi32, #s>) {
  // expected-error @+1 {{expects states with a row for each sequence}}
  %0 = heddle.scan rows(%x) states(%x) constants() of(%i, %i) {row_size = "length", step = "step"}
      : (tensor<?x8xf32, #t>, tensor<?x8xf32, #t>, tensor<?xi32, #s>, tensor<?xi32, #s>) -> tensor<?x8xf32, #t> {
  ^bb0(%a: tensor<?x8xf32, #p>, %b: tensor<?x8xf32, #p>):
    heddle.yield %b : tensor<?x8xf32, #p>
  }
  return
}

// -----

#t = #heddle.dims<"tokens">
#s = #heddle.dims<"sequences">
#p = #heddle.dims<"step">
func.func @starts(%x: tensor<?x8xf32, #t>, %i: tensor<?xi32, #s>, %j: tensor<4xi32>) {
  // expected-error @+1 {{expects starts and lengths for the same number of sequences, known at run time}}
  heddle.scan rows(%x) states() constants() of(%i, %j) {row_size = "length", step = "step"}
      : (tensor<?x8xf32, #t>, tensor<?xi32, #s>, tensor<4xi32>) -> () {
  ^bb0(%a: tensor<?x8xf32, #p>):
    heddle.yield
  }
  return
}

// -----

#t = #heddle.dims<"tokens">
#s = #heddle.dims<"sequences">
func.func @arguments(%x: tensor<?x8xf32, #t>, %i: tensor<?xi32, #s>) {
  // expected-error @+1 {{expects its region to take a step's rows, the states and the constants, in this order}}
  heddle.scan rows(%x) states() constants() of(%i, %i) {row_size = "length", step = "step"}
      : (tensor<?x8xf32, #t>, tensor<?xi32, #s>, tensor<?xi32, #s>) -> () {
  ^bb0(%a: tensor<?x8xf32, #t>):
    heddle.yield
  }
  return
}

// -----

#t = #heddle.dims<"tokens">
#s = #heddle.dims<"sequences">
#p = #heddle.dims<"step">
func.func @yields(%x: tensor<?x8xf32, #t>, %h: tensor<?x8xf32, #s>, %i: tensor<?xi32, #s>) {
  // expected-error @+1 {{expects its region to yield the new states and then the outputs, one for each result}}
  %0 = heddle.scan rows(%x) states(%h) constants() of(%i, %i) {row_size = "length", step = "step"}
      : (tensor<?x8xf32, #t>, tensor<?x8xf32, #s>, tensor<?xi32, #s>, tensor<?xi32, #s>) -> tensor<?x8xf32, #s> {
  ^bb0(%a: tensor<?x8xf32, #p>, %b: tensor<?x8xf32, #p>):
    heddle.yield
  }
  return
}

// -----

#t = #heddle.dims<"tokens">
#s = #heddle.dims<"sequences">
#p = #heddle.dims<"step">
func.func @narrower_state(%x: tensor<?x4xf32, #t>, %h: tensor<?x8xf32, #s>, %i: tensor<?xi32, #s>) {
  // expected-error @+1 {{expects its region to yield a state of the type 'tensor<?x8xf32, #heddle.dims<"step">>'}}
  %0 = heddle.scan rows(%x) states(%h) constants() of(%i, %i) {row_size = "length", step = "step"}
      : (tensor<?x4xf32, #t>, tensor<?x8xf32, #s>, tensor<?xi32, #s>, tensor<?xi32, #s>) -> tensor<?x8xf32, #s> {
  ^bb0(%a: tensor<?x4xf32, #p>, %b: tensor<?x8xf32, #p>):
    heddle.yield %a : tensor<?x4xf32, #p>
  }
  return
}

// -----

#t = #heddle.dims<"tokens">
#s = #heddle.dims<"sequences">
#p = #heddle.dims<"step">
func.func @last_state(%x: tensor<?x8xf32, #t>, %h: tensor<?x8xf32, #s>, %i: tensor<?xi32, #s>) {
  // expected-error @+1 {{gives a state of the type 'tensor<?x8xf32, #heddle.dims<"tokens">>', which began as}}
  %0 = heddle.scan rows(%x) states(%h) constants() of(%i, %i) {row_size = "length", step = "step"}
      : (tensor<?x8xf32, #t>, tensor<?x8xf32, #s>, tensor<?xi32, #s>, tensor<?xi32, #s>) -> tensor<?x8xf32, #t> {
  ^bb0(%a: tensor<?x8xf32, #p>, %b: tensor<?x8xf32, #p>):
    heddle.yield %b : tensor<?x8xf32, #p>
  }
  return
}

// -----

#t = #heddle.dims<"tokens">
#s = #heddle.dims<"sequences">
#p = #heddle.dims<"step">
func.func @output(%x: tensor<?x8xf32, #t>, %i: tensor<?xi32, #s>) {
  // expected-error @+1 {{expects a row of the output 'tensor<?x4xf32, #heddle.dims<"tokens">>' for each token}}
  %0 = heddle.scan rows(%x) states() constants() of(%i, %i) {row_size = "length", step = "step"}
      : (tensor<?x8xf32, #t>, tensor<?xi32, #s>, tensor<?xi32, #s>) -> tensor<?x4xf32, #t> {
  ^bb0(%a: tensor<?x8xf32, #p>):
    heddle.yield %a : tensor<?x8xf32, #p>
  }
  return
}

// -----

#s = #heddle.dims<"sequences">
func.func @steps(%h: tensor<?x8xf32, #s>, %a: tensor<16xi32>, %b: tensor<8xi32>) {
  // expected-error @+1 {{expects the starts and the counts of as many steps}}
  %0 = heddle.repeat "length" carried(%h) constants() steps(%a, %b) {step = "step", tokens = "tokens"}
      : (tensor<?x8xf32, #s>, tensor<16xi32>, tensor<8xi32>) -> tensor<?x8xf32, #s> {
  ^bb0(%start: tensor<1xi32>, %c: tensor<?x8xf32, #s>):
    heddle.yield %c : tensor<?x8xf32, #s>
  }
  return
}

// -----

#s = #heddle.dims<"sequences">
func.func @repeat_arguments(%h: tensor<?x8xf32, #s>, %a: tensor<16xi32>) {
  // expected-error @+1 {{expects its region to take a number of a row, the carried values and the constants}}
  %0 = heddle.repeat "length" carried(%h) constants() steps(%a, %a) {step = "step", tokens = "tokens"}
      : (tensor<?x8xf32, #s>, tensor<16xi32>, tensor<16xi32>) -> tensor<?x8xf32, #s> {
  ^bb0(%c: tensor<?x8xf32, #s>):
    heddle.yield %c : tensor<?x8xf32, #s>
  }
  return
}

// -----

#s = #heddle.dims<"sequences">
func.func @repeat_yields(%h: tensor<?x8xf32, #s>, %a: tensor<16xi32>) {
  // expected-error @+1 {{expects its region to yield, and the op to give, values of the carried ones' types}}
  %0 = heddle.repeat "length" carried(%h) constants() steps(%a, %a) {step = "step", tokens = "tokens"}
      : (tensor<?x8xf32, #s>, tensor<16xi32>, tensor<16xi32>) -> tensor<?x8xf32, #s> {
  ^bb0(%start: tensor<1xi32>, %c: tensor<?x8xf32, #s>):
    heddle.yield %start : tensor<1xi32>
  }
  return
}

// -----

#t = #heddle.dims<"tokens">
#p = #heddle.dims<"step">
func.func @step_rows(%x: tensor<?x8xf32, #t>, %i: tensor<1xi32>) {
  // expected-error @+1 {{expects rows of the same type in}}
  %0 = heddle.step_rows %x at %i : tensor<?x8xf32, #t> to tensor<?x4xf32, #p>
  return
}

// -----

#t = #heddle.dims<"tokens">
#p = #heddle.dims<"step">
func.func @insert_rows(%x: tensor<?x4xf32, #p>, %y: tensor<?x8xf32, #t>, %i: tensor<1xi32>) {
  // expected-error @+1 {{expects rows of the same type in}}
  %0 = heddle.insert_rows %x into %y at %i : tensor<?x4xf32, #p> into tensor<?x8xf32, #t>
  return
}

// -----

#t = #heddle.dims<"tokens">
#p = #heddle.dims<"step">
func.func @replace_first(%x: tensor<?x4xf32, #p>, %y: tensor<?x8xf32, #t>) {
  // expected-error @+1 {{expects rows of the same type in}}
  %0 = heddle.replace_first %x of %y : tensor<?x4xf32, #p> of tensor<?x8xf32, #t>
  return
}

// -----

#s = #heddle.dims<"sequences">
func.func @step_sizes(%l: tensor<?xi32, #s>) {
  // expected-error @+1 {{expects as many steps as the longest sequence may have}}
  %0, %1 = heddle.step_sizes %l {tokens = "tokens"} : tensor<?xi32, #s> -> tensor<?xi32, #s>
  return
}

// -----

#t = #heddle.dims<"tokens">
func.func @columns(%x: tensor<?x8xf32, #t>) {
  // expected-error @+1 {{takes 4 columns from 6 on of 8}}
  %0 = heddle.columns %x from 6 : tensor<?x8xf32, #t> -> tensor<?x4xf32, #t>
  return
}

// -----

func.func @columns_far_out(%x: tensor<?x8xf32, #heddle.dims<"tokens">>) {
  // expected-error @+1 {{takes 4 columns from 9223372036854775806 on of 8}}
  %0 = heddle.columns %x from 9223372036854775806 : tensor<?x8xf32, #heddle.dims<"tokens">> -> tensor<?x4xf32, #heddle.dims<"tokens">>
  return
}

// -----

func.func @columns_of_others(%x: tensor<?x8xf32, #heddle.dims<"a">>) {
  // expected-error @+1 {{expects as many rows, of a static number of columns}}
  %0 = heddle.columns %x from 0 : tensor<?x8xf32, #heddle.dims<"a">> -> tensor<?x4xf32, #heddle.dims<"b">>
  return
}

// -----

#t = #heddle.dims<"tokens">
func.func @join(%x: tensor<?x8xf32, #t>) {
  // expected-error @+1 {{expects a result of its parts' 16 columns}}
  %0 = heddle.join %x, %x : tensor<?x8xf32, #t>, tensor<?x8xf32, #t> -> tensor<?x12xf32, #t>
  return
}
