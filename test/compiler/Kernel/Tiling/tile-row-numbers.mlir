// RUN: heddle-opt %s --heddle-tile | FileCheck %s

heddle.size @tokens max 64
!x = tensor<?x20xf32, #heddle.dims<"tokens">>
!number = tensor<?xf32, #heddle.dims<"tokens">>

// A number for each row is stored before the second walk over the rows, and this walk reads %number. So the result does
// not take over its memory. The rows may take over the memory of %x.
// CHECK-LABEL: func.func @numbers_beside_rows
// CHECK: tile.launch @{{[a-z_0-9]+}}Tx20(%arg0, %arg1) {{.*}} reuse [-1, 0]
func.func @numbers_beside_rows(%x: !x, %number: !number) -> (!number, !x) {
  %results:2 = heddle.kernel "sum"(%x, %number : !x, !number) -> !number, !x {
  ^bb0(%a: !x, %b: !number):
    %square = arith.mulf %a, %a : !x
    %sum = heddle.sum columns %square : !x -> !number
    %scale = math.rsqrt %sum : !number
    %factor = arith.mulf %b, %scale : !number
    %factors = heddle.broadcast %factor : !number to !x
    %scaled = arith.mulf %factors, %a : !x
    heddle.yield %scale, %scaled : !number, !x
  }
  return %results#0, %results#1 : !number, !x
}
