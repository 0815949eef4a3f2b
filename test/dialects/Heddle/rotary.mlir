// One file for an op: valid ops go through the parser and the printer twice, and invalid ones are refused.
// RUN: heddle-opt %s --split-input-file --verify-diagnostics | heddle-opt --split-input-file | FileCheck %s
// RUN: heddle-opt %s --split-input-file --verify-diagnostics --mlir-print-op-generic | heddle-opt --split-input-file | FileCheck %s

!indices = tensor<?xi32, #heddle.dims<"tokens">>
!matrix = tensor<?x8xf32, #heddle.dims<"tokens">>

heddle.size @tokens max 64

// CHECK-LABEL: func.func @rotary
func.func @rotary(%x: !matrix, %indices: !indices) {
  // CHECK: %[[FREQUENCIES:.*]] = heddle.numbers [1.000000e+00, 1.250000e-01] : tensor<2xf32>
  // CHECK: heddle.rotary %{{.*}} at %{{.*}} by %[[FREQUENCIES]] : tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<?xi32, #heddle.dims<"tokens">>, tensor<2xf32>
  // CHECK: heddle.rotary %{{.*}} at %{{.*}} by %[[FREQUENCIES]] {inverse} : tensor<?x8xf32
  %frequencies = heddle.numbers [1.0, 0.125] : tensor<2xf32>
  %turned = heddle.rotary %x at %indices by %frequencies : !matrix, !indices, tensor<2xf32>
  %back = heddle.rotary %turned at %indices by %frequencies {inverse} : !matrix, !indices, tensor<2xf32>
  // CHECK: heddle.rotary %{{.*}} at %{{.*}} by %{{.*}} {neighbours} : tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<?xi32, #heddle.dims<"tokens">>, tensor<4xf32>
  %columns = heddle.numbers [1.0, 1.0, 0.125, 0.125] : tensor<4xf32>
  %others = heddle.rotary %x at %indices by %columns {neighbours} : !matrix, !indices, tensor<4xf32>
  // CHECK: heddle.rotary %{{.*}} at %{{.*}} by %[[FREQUENCIES]] {head_width = 8 : i64} : tensor<?x8xf32
  %part = heddle.rotary %x at %indices by %frequencies {head_width = 8 : i64} : !matrix, !indices, tensor<2xf32>
  return
}

// -----

func.func @rotary(%x: tensor<4x9xf32>, %positions: tensor<4xi32>, %frequencies: tensor<2xf32>) {
  // expected-error @+1 {{expects a width of heads from 0 on, got -3}}
  %0 = heddle.rotary %x at %positions by %frequencies {head_width = -3 : i64} : tensor<4x9xf32>, tensor<4xi32>, tensor<2xf32>
  return
}

// -----

func.func @rotary(%x: tensor<4x9xf32>, %positions: tensor<4xi32>, %frequencies: tensor<2xf32>) {
  // expected-error @+1 {{expects heads of two columns for each frequency, got 'tensor<4x9xf32>' and 'tensor<2xf32>'}}
  %0 = heddle.rotary %x at %positions by %frequencies {head_width = 3 : i64} : tensor<4x9xf32>, tensor<4xi32>, tensor<2xf32>
  return
}

// -----

func.func @rotary(%x: tensor<4x9xf32>, %positions: tensor<4xi32>, %frequencies: tensor<2xf32>) {
  // expected-error @+1 {{expects heads of two columns for each frequency}}
  %0 = heddle.rotary %x at %positions by %frequencies {head_width = 5 : i64} : tensor<4x9xf32>, tensor<4xi32>, tensor<2xf32>
  return
}

// -----

func.func @rotary(%x: tensor<4x8xf32>, %positions: tensor<5xi32>, %frequencies: tensor<2xf32>) {
  // expected-error @+1 {{expects the same number of rows}}
  %0 = heddle.rotary %x at %positions by %frequencies : tensor<4x8xf32>, tensor<5xi32>, tensor<2xf32>
  return
}

// -----

func.func @rotary(%x: tensor<4x8xf32>, %positions: tensor<4xi32>, %frequencies: tensor<3xf32>) {
  // expected-error @+1 {{expects heads of two columns for each frequency, got 'tensor<4x8xf32>' and 'tensor<3xf32>'}}
  %0 = heddle.rotary %x at %positions by %frequencies : tensor<4x8xf32>, tensor<4xi32>, tensor<3xf32>
  return
}

// -----

func.func @rotary(%x: tensor<4x9xf32>, %positions: tensor<4xi32>, %frequencies: tensor<3xf32>) {
  // expected-error @+1 {{expects heads of pairs of columns, with a frequency for each column, got 'tensor<4x9xf32>' and 'tensor<3xf32>'}}
  %0 = heddle.rotary %x at %positions by %frequencies {neighbours} : tensor<4x9xf32>, tensor<4xi32>, tensor<3xf32>
  return
}

// -----

func.func @rotary(%x: tensor<4x8xf32>, %positions: tensor<4xi32>, %frequencies: tensor<6xf32>) {
  // expected-error @+1 {{expects heads of pairs of columns, with a frequency for each column, got 'tensor<4x8xf32>' and 'tensor<6xf32>'}}
  %0 = heddle.rotary %x at %positions by %frequencies {neighbours} : tensor<4x8xf32>, tensor<4xi32>, tensor<6xf32>
  return
}
