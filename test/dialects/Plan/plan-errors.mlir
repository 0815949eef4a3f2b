// RUN: heddle-opt %s --split-input-file --verify-diagnostics

plan.entry @eval arena 256 {
  // expected-error @+1 {{expects a grid of three axes, got 0}}
  plan.launch @k grid [] []
}

// -----

#g = #tile.grid<"", 1, 1>
plan.entry @eval arena 256 {
  // expected-error @+1 {{binds bytes 250 to 282 of an arena of 256}}
  plan.launch @k grid [#g, #g, #g] [#plan.binding<arena "", 250, 32>]
}

// -----

// expected-error @+1 {{expects parent op 'plan.entry'}}
plan.input "x" : tensor<8xf32> at 0 bytes 32
