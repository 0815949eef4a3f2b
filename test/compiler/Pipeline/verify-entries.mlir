// RUN: heddle-opt %s --split-input-file --verify-diagnostics --heddle-verify-entries

// Ports are known by their names, sizes get their values from inputs, and random numbers follow from the caller's seed.
heddle.size @n max 64
heddle.size @part max 32 of @n from 0
heddle.size @longest max 16 longest "lengths"
heddle.variable @seed counter : tensor<2xi32>
heddle.variable @salt counter : tensor<2xi32>
#n = #heddle.dims<"n">
func.func @right(%x: tensor<?x8xf32, #n> {heddle.name = "x"}, %l: tensor<?xi32, #n> {heddle.name = "lengths", heddle.limit = 17 : i64})
    -> (tensor<?x8xf32, #heddle.dims<"part">> {heddle.name = "x"}, tensor<8xf32> {heddle.name = "noise"}) {
  %part = heddle.slice %x from 0 : tensor<?x8xf32, #n> to tensor<?x8xf32, #heddle.dims<"part">>
  %seed = heddle.read @seed : tensor<2xi32>
  %salt = heddle.read @salt : tensor<2xi32>
  %both = arith.xori %seed, %salt : tensor<2xi32>
  %noise = heddle.random uniform %both {scale = 1.0 : f32, stream = 0 : i32} : tensor<8xf32>
  return %part, %noise : tensor<?x8xf32, #heddle.dims<"part">>, tensor<8xf32>
}
func.func @given_seed(%seed: tensor<2xi32> {heddle.name = "seed"}) -> (tensor<8xf32> {heddle.name = "noise"}) {
  %noise = heddle.random uniform %seed {scale = 1.0 : f32, stream = 0 : i32} : tensor<8xf32>
  return %noise : tensor<8xf32>
}

// -----

// expected-error @+1 {{entry 'f': input 1 has the name 'x' of input 0; a call tells them apart by name}}
func.func @f(%x: tensor<8xf32> {heddle.name = "x"}, %y: tensor<4xi32> {heddle.name = "x"}) {
  return
}

// -----

// expected-error @+1 {{entry 'f': output 2 has the name 'y' of output 0; a call tells them apart by name}}
func.func @f(%x: tensor<8xf32> {heddle.name = "x"}) -> (tensor<8xf32> {heddle.name = "y"}, tensor<8xf32> {heddle.name = "z"}, tensor<8xf32> {heddle.name = "y"}) {
  return %x, %x, %x : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error @+1 {{entry 'f': input 0 needs a heddle.name}}
func.func @f(%x: tensor<8xf32>) {
  return
}

// -----

// expected-error @+1 {{entry 'f': input 0 needs a heddle.name of 1 to 1024 bytes without control characters}}
func.func @f(%x: tensor<8xf32> {heddle.name = "a\0Ab"}) {
  return
}

// -----

// expected-error @+1 {{a name has 1 to 1024 bytes and no control characters, and this has 3}}
heddle.variable @"a\0Ab" weight : tensor<8xf32>

// -----

// expected-error @+1 {{entry 'f': input 0 has a heddle.limit of 3 : i64, which is a whole number above 0 and goes with inputs of i32}}
func.func @f(%x: tensor<8xf32> {heddle.name = "x", heddle.limit = 3 : i64}) {
  return
}

// -----

// expected-error @+1 {{entry 'f': input 0 has a heddle.limit of -1 : i64}}
func.func @f(%x: tensor<8xi32> {heddle.name = "x", heddle.limit = -1 : i64}) {
  return
}

// -----

heddle.size @n max 64
func.func @f(%x: tensor<1xf32> {heddle.name = "x"}) {
  // expected-error @+1 {{entry 'f': result 0 of 'heddle.broadcast': no input gives size 'n' a value; give the entry an input with a dimension of that name}}
  %0 = heddle.broadcast %x : tensor<1xf32> to tensor<?xf32, #heddle.dims<"n">>
  return
}

// -----

heddle.size @n max 64 longest "lengths"
// An f32 number is no length.
func.func @f(%x: tensor<1xf32> {heddle.name = "lengths"}) {
  // expected-error @+1 {{no input gives size 'n' a value; the i32 input 'lengths', whose largest number it is, is absent}}
  %0 = heddle.broadcast %x : tensor<1xf32> to tensor<?xf32, #heddle.dims<"n">>
  return
}

// -----

heddle.size @n max 64
#n = #heddle.dims<"n">
func.func @f(%s: tensor<?xi32, #n> {heddle.name = "s"}) {
  // expected-error @+1 {{entry 'f': row_size: size 'absent' is not declared; add heddle.size @absent max N}}
  %p, %q = heddle.locate rows(%s, %s) {row_size = "absent"} : tensor<?xi32, #n> -> tensor<?xi32, #n>
  return
}

// -----

heddle.variable @key counter : tensor<2xi32>
func.func @f() -> (tensor<8xf32> {heddle.name = "noise"}) {
  %seed = heddle.read @key : tensor<2xi32>
  // expected-error @+1 {{'heddle.random' takes its seed from variable 'key', which no caller sets: `init` fills the variable 'seed' with the caller's seed; rename 'key' to 'seed'}}
  %noise = heddle.random uniform %seed {scale = 1.0 : f32, stream = 0 : i32} : tensor<8xf32>
  return %noise : tensor<8xf32>
}

// -----

// Arithmetic on it is no length either.
heddle.variable @key counter : tensor<2xi32>
heddle.variable @step counter as steps : tensor<1xi32>
func.func @f(%x: tensor<8xf32> {heddle.name = "x"}) -> (tensor<8xf32> {heddle.name = "y"}) {
  %key = heddle.read @key : tensor<2xi32>
  %step = heddle.read @step : tensor<1xi32>
  %seed = arith.addi %key, %key : tensor<2xi32>
  // expected-error @+1 {{'heddle.dropout' takes its seed from variable 'key'}}
  %y = heddle.dropout %x seed %seed step %step {rate = 0.5 : f32, stream = 0 : i32} : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @+1 {{variable 'seed' has type 'tensor<1xi32>', but `init` fills it with the caller's seed, a tensor<2xi32>}}
heddle.variable @seed counter : tensor<1xi32>

// -----

heddle.variable @w weight : tensor<8xf32>
heddle.variable @m optimizer_state of @w as first_moment : tensor<8xf32>
// expected-error @+1 {{variable 'n' has the role first_moment, which 'm' has already; remove either of them}}
heddle.variable @n optimizer_state of @w as first_moment : tensor<8xf32>

// -----

// A static vector is a row of columns, not a number for each row.
func.func @f(%x: tensor<6x8xf32> {heddle.name = "x"}, %p: tensor<6xi32> {heddle.name = "p"}, %f: tensor<4xf32> {heddle.name = "f"},
             %t: tensor<9x8xf32> {heddle.name = "t"}) {
  // expected-error @+1 {{entry 'f': 'heddle.rotary' has a number for each of 6 rows in a 'tensor<6xi32>', which kernels take for a single row; let the number of rows vary, as in tensor<?xi32, #heddle.dims<"NAME">>}}
  %0 = heddle.rotary %x at %p by %f : tensor<6x8xf32>, tensor<6xi32>, tensor<4xf32>
  // expected-error @+1 {{'heddle.sinusoid' has a number for each of 6 rows}}
  %1 = heddle.sinusoid %p : tensor<6xi32> -> tensor<6x8xf32>
  // expected-error @+1 {{'heddle.embedding' has a number for each of 6 rows}}
  %2 = heddle.embedding %p, %t : tensor<6xi32>, tensor<9x8xf32> -> tensor<6x8xf32>
  // expected-error @+1 {{'heddle.cross_entropy' has a number for each of 6 rows}}
  %3:2 = heddle.cross_entropy %x, %p {smoothing = 0.0 : f32} : tensor<6x8xf32>, tensor<6xi32> -> tensor<6xf32>
  // expected-error @+1 {{'heddle.argmax' has a number for each of 6 rows}}
  %4 = heddle.argmax %x : tensor<6x8xf32> -> tensor<6xi32>
  // expected-error @+1 {{'heddle.sum' has a number for each of 6 rows}}
  %5 = heddle.sum columns %x : tensor<6x8xf32> -> tensor<6xf32>
  // expected-error @+1 {{'heddle.scatter_add' has a number for each of 6 rows}}
  %6 = heddle.scatter_add %t, %p, %x : tensor<9x8xf32>, tensor<6xi32>, tensor<6x8xf32>
  return
}

// -----

func.func @one_row(%x: tensor<1x8xf32> {heddle.name = "x"}) -> (tensor<1xi32> {heddle.name = "y"}, tensor<8xf32> {heddle.name = "z"}) {
  %0 = heddle.argmax %x : tensor<1x8xf32> -> tensor<1xi32>
  %1 = heddle.sum rows %x : tensor<1x8xf32> -> tensor<8xf32>
  return %0, %1 : tensor<1xi32>, tensor<8xf32>
}

// -----

// expected-error @+1 {{entry 'f': input 0 has the attribute 'heddle.limits', which means nothing; there are heddle.name, heddle.limit and heddle.role}}
func.func @f(%x: tensor<4xi32> {heddle.name = "x", heddle.limits = 3}) {
  return
}

// -----

// expected-error @+1 {{entry 'f': input 0 has the heddle.role "positions"; a role is SEQUENCES.ROLE, such as "source.positions", and only inputs have one}}
func.func @f(%x: tensor<4xi32> {heddle.name = "x", heddle.role = "positions"}) {
  return
}

// -----

// expected-error @+1 {{entry 'f': output 0 has the heddle.role "source.positions"; a role is SEQUENCES.ROLE, such as "source.positions", and only inputs have one}}
func.func @f(%x: tensor<4xi32> {heddle.name = "x", heddle.role = "source.positions"}) -> (tensor<4xi32> {heddle.name = "y", heddle.role = "source.positions"}) {
  return %x : tensor<4xi32>
}

// -----

func.func @f(%x: tensor<4x4xf32> {heddle.name = "x"}) -> (tensor<4x4xf32> {heddle.name = "y"}) {
  // expected-error @+1 {{entry 'f': 'heddle.matmul' has no attribute 'transpose_rsh'}}
  %y = heddle.matmul %x, %x {transpose_rsh} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

heddle.size @none max 0 fixed
// expected-error @+1 {{entry 'f': input 0 is a 'tensor<?x4xf32, #heddle.dims<"none">>', and size 'none' of dimension 0 is always 0}}
func.func @f(%x: tensor<?x4xf32, #heddle.dims<"none">> {heddle.name = "x"}) {
  return
}
