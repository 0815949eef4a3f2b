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

// -----

#g = #tile.grid<"", 1, 1>
plan.entry @eval arena 256 {
  // expected-error @+1 {{reads or writes tensor<4xf32> as its binding 1, which is no binding of a tensor}}
  plan.launch @k grid [#g, #g, #g] [#plan.binding<arena "", 0, 32>] reads [tensor<8xf32>] writes [tensor<4xf32>]
}

// -----

#g = #tile.grid<"", 1, 1>
plan.entry @eval arena 256 {
  // expected-error @+1 {{reads or writes tensor<1xi32> as its binding 0}}
  plan.launch @k grid [#g, #g, #g] [#plan.binding<size "n", 0, 4>] reads [tensor<1xi32>]
}

// -----

#g = #tile.grid<"", 1, 1>
plan.entry @eval arena 256 {
  // expected-error @+1 {{has a binding that moves on from step to step, and is in no repetition}}
  plan.launch @k grid [#g, #g, #g] [#plan.binding<arena "", 0, 4 step 4>]
}

// -----

#g = #tile.grid<"", 1, 1>
plan.entry @eval arena 256 {
  plan.repeat "length" most 80 rows "step" of "tokens" {
    // expected-error @+1 {{binds bytes 0 to 320 of an arena of 256}}
    plan.launch @k grid [#g, #g, #g] [#plan.binding<arena "", 0, 4 step 4>]
  }
}

// -----

plan.entry @step arena 256 {
  // expected-error @+1 {{takes 1 tensors and makes 0; expects as many, and at least one}}
  plan.collective all_reduce [#plan.binding<arena "", 0, 32>] to []
}

// -----

plan.entry @step arena 256 {
  // expected-error @+1 {{which is no tensor of f32}}
  plan.collective all_reduce [#plan.binding<arena "", 0, 30>] to [#plan.binding<arena "", 0, 30>]
}

// -----

plan.entry @step arena 256 {
  // expected-error @+1 {{which is no tensor of f32}}
  plan.collective all_reduce [#plan.binding<size "n", 0, 4>] to [#plan.binding<arena "", 0, 4>]
}

// -----

plan.entry @step arena 256 {
  // expected-error @+1 {{binds bytes 240 to 272 of an arena of 256}}
  plan.collective all_reduce [#plan.binding<arena "", 240, 32>] to [#plan.binding<arena "", 0, 32>]
}

// -----

plan.entry @step arena 256 {
  // expected-error @+1 {{makes 64 bytes of 32}}
  plan.collective all_reduce [#plan.binding<arena "", 0, 32>] to [#plan.binding<arena "", 128, 64>]
}

// -----

plan.entry @step arena 256 {
  // expected-error @+1 {{binds #plan.binding<arena "", 0, 32> and #plan.binding<arena "", 16, 32>, which overlap}}
  plan.collective all_reduce [#plan.binding<arena "", 0, 32>] to [#plan.binding<arena "", 16, 32>]
}

// -----

plan.entry @step arena 256 {
  // expected-error @+1 {{names a sharded variable for each tensor where it is no all_reduce, and only there}}
  plan.collective all_gather [#plan.binding<arena "", 0, 32>] to [#plan.binding<arena "", 0, 32>]
}

// -----

plan.entry @step arena 256 {
  // expected-error @+1 {{names a sharded variable for each tensor where it is no all_reduce, and only there}}
  plan.collective all_reduce [#plan.binding<arena "", 0, 32>] to [#plan.binding<arena "", 0, 32>] as [@m]
}

// -----

plan.entry @step arena 256 {
  // expected-error @+1 {{has shards of 0 rows along axis 1; expects at least one row, and an axis from 0 to 2}}
  plan.launch @k grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>] [] shard <"m", axis 1 tile 0>
}

// -----

// expected-error @+1 {{has a block of 300 bytes; expects multiples of 256, together 556}}
plan.entry @eval arena 556 blocks [256, 300] {}

// -----

// expected-error @+1 {{has a block of 0 bytes; expects multiples of 256, together 512}}
plan.entry @eval arena 512 blocks [512, 0] {}

// -----

// expected-error @+1 {{has a block of 512 bytes; expects multiples of 256, together 512}}
plan.entry @eval arena 512 blocks [256, 512] {}

// -----

// expected-error @+1 {{has blocks of 256 bytes together, and an arena of 512}}
plan.entry @eval arena 512 blocks [256] {}

// -----

plan.entry @eval arena 512 blocks [256, 256] {
  // expected-error @+1 {{lies at bytes 192 to 320, which are not in one block}}
  plan.input "x" : tensor<32xf32> at 192 bytes 128
}

// -----

plan.entry @eval arena 512 blocks [256, 256] {
  // expected-error @+1 {{lies at bytes 480 to 544, which are not in one block}}
  plan.output "x" : tensor<16xf32> at 480 bytes 64
}

// -----

#g = #tile.grid<"", 1, 1>
plan.entry @eval arena 512 blocks [256, 256] {
  plan.repeat "length" most 3 rows "step" of "tokens" {
    // expected-error @+1 {{binds bytes 128 to 288, which are not in one block}}
    plan.launch @k grid [#g, #g, #g] [#plan.binding<arena "", 128, 32 step 64>]
  }
}

// -----

plan.entry @step arena 512 blocks [256, 256] {
  // expected-error @+1 {{binds bytes 240 to 272, which are not in one block}}
  plan.collective all_reduce [#plan.binding<arena "", 240, 32>] to [#plan.binding<arena "", 0, 32>]
}
