#n = #heddle.dims<"n">
heddle.size @n max 8

func.func @f(%x: tensor<?x2xf32, #n> {heddle.name = "x"}) -> (tensor<?x2xf32, #n> {heddle.name = "whole"}, tensor<?x2xf32, #n> {heddle.name = "leaf"}) {
  %0 = arith.addf %x, %x : tensor<?x2xf32, #n>
  %1 = arith.addf %0, %x : tensor<?x2xf32, #n>
  %2 = arith.addf %1, %x : tensor<?x2xf32, #n>
  %3 = arith.addf %2, %x : tensor<?x2xf32, #n>
  %4 = arith.addf %3, %x : tensor<?x2xf32, #n>
  %5 = arith.addf %4, %x : tensor<?x2xf32, #n>
  %6 = arith.addf %5, %x : tensor<?x2xf32, #n>
  %7 = arith.addf %6, %x : tensor<?x2xf32, #n>
  %8 = arith.addf %7, %x : tensor<?x2xf32, #n>
  %9 = arith.addf %8, %x : tensor<?x2xf32, #n>
  %power = math.exp %x : tensor<?x2xf32, #n>
  %leaf = arith.negf %power : tensor<?x2xf32, #n>
  %10 = arith.addf %9, %x : tensor<?x2xf32, #n>
  %11 = arith.addf %10, %x : tensor<?x2xf32, #n>
  %12 = arith.addf %11, %x : tensor<?x2xf32, #n>
  %13 = arith.addf %12, %x : tensor<?x2xf32, #n>
  %14 = arith.addf %13, %x : tensor<?x2xf32, #n>
  %15 = arith.addf %14, %x : tensor<?x2xf32, #n>
  %16 = arith.addf %15, %x : tensor<?x2xf32, #n>
  %17 = arith.addf %16, %x : tensor<?x2xf32, #n>
  %18 = arith.addf %17, %x : tensor<?x2xf32, #n>
  %19 = arith.addf %18, %x : tensor<?x2xf32, #n>
  %20 = arith.addf %19, %x : tensor<?x2xf32, #n>
  %21 = arith.addf %20, %x : tensor<?x2xf32, #n>
  %22 = arith.addf %21, %x : tensor<?x2xf32, #n>
  %23 = arith.addf %22, %x : tensor<?x2xf32, #n>
  return %23, %leaf : tensor<?x2xf32, #n>, tensor<?x2xf32, #n>
}
