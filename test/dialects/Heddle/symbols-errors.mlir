// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expects a maximum of at least 1, got 0}}
heddle.size @tokens max 0

// -----

// expected-error @+1 {{expects a static shape, got 'tensor<?x8xf32>'}}
heddle.variable @w weight : tensor<?x8xf32>

// -----

// expected-error @+1 {{#heddle.dims names 2 sizes, but the tensor has 1 dynamic dimensions}}
func.func private @dims(tensor<?x8xf32, #heddle.dims<"tokens", "sequences">>)

// -----

func.func @read() {
  // expected-error @+1 {{names no variable: @w}}
  %0 = heddle.read @w : tensor<8xf32>
  return
}

// -----

heddle.variable @w weight : tensor<8xf32>
func.func @read() {
  // expected-error @+1 {{has type 'tensor<4xf32>', but variable @w is 'tensor<8xf32>'}}
  %0 = heddle.read @w : tensor<4xf32>
  return
}

// -----

func.func @write(%x: tensor<8xf32>) {
  // expected-error @+1 {{names no variable: @w}}
  heddle.write @w, %x : tensor<8xf32>
  return
}

// -----

heddle.variable @w weight : tensor<8xf32>
func.func @write(%x: tensor<4xf32>) {
  // expected-error @+1 {{has type 'tensor<4xf32>', but variable @w is 'tensor<8xf32>'}}
  heddle.write @w, %x : tensor<4xf32>
  return
}

// -----

func.func @minimize(%loss: tensor<2xf32>) {
  // expected-error @+1 {{operand #0 must be tensor<1xf32>}}
  "heddle.accumulate"(%loss) : (tensor<2xf32>) -> ()
  return
}

// -----

func.func @kernel(%x: tensor<8xf32>) {
  // expected-error @+1 {{expects its region's arguments to have the inputs' types}}
  heddle.kernel "k" (%x : tensor<8xf32>) {
  ^bb0(%a: tensor<4xf32>):
    heddle.yield
  }
  return
}

// -----

func.func @kernel(%x: tensor<8xf32>) {
  // expected-error @+1 {{expects its region to yield the results' types}}
  %0 = heddle.kernel "k" (%x : tensor<8xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<8xf32>):
    heddle.yield %a : tensor<8xf32>
  }
  return
}
