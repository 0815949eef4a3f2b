heddle.variable @w weight : tensor<65536x65536xf32>

func.func @f() {
  return
}
