heddle.variable @step counter as steps : tensor<1xi32>
heddle.variable @w weight : tensor<32x12xf32>
heddle.variable @adam.m.w optimizer_state of @w as first_moment : tensor<32x12xbf16>
heddle.variable @adam.v.w optimizer_state of @w as second_moment : tensor<32x12xbf16>

func.func @update(%g: tensor<32x12xf32> {heddle.name = "g"}) -> (tensor<1xf32> {heddle.name = "rate"}) {
  %old = heddle.read @step : tensor<1xi32>
  %one = heddle.fill 1 : i32 : tensor<1xi32>
  %step = arith.addi %old, %one : tensor<1xi32>
  %rate = heddle.fill 0.01 : f32 : tensor<1xf32>
  %unit = heddle.fill 1.0 : f32 : tensor<1xf32>
  %w = heddle.read @w : tensor<32x12xf32>
  %m = heddle.read @adam.m.w : tensor<32x12xbf16>
  %any = heddle.read @adam.v.w : tensor<32x12xbf16>
  %wide = arith.extf %any : tensor<32x12xbf16> to tensor<32x12xf32>
  %size = math.absf %wide : tensor<32x12xf32>
  %v = arith.truncf %size : tensor<32x12xf32> to tensor<32x12xbf16>
  %w2, %m2, %v2 = heddle.adam %w, %g, %m, %v rate %rate corrections %unit, %unit scale %unit rounding %step
    {beta1 = 0.9 : f32, beta2 = 0.999 : f32, epsilon = 1.0e-8 : f32} : tensor<32x12xf32>, tensor<32x12xbf16>
  heddle.write @w, %w2 : tensor<32x12xf32>
  heddle.write @adam.m.w, %m2 : tensor<32x12xbf16>
  heddle.write @adam.v.w, %v2 : tensor<32x12xbf16>
  heddle.write @step, %step : tensor<1xi32>
  return %rate : tensor<1xf32>
}
