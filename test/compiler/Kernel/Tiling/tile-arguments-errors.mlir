// Addresses are passed in 128 bytes of push constants. heddle-fuse-kernels makes no kernel with this many.
// RUN: heddle-opt %s --heddle-tile --verify-diagnostics

!x = tensor<8x32xf32>
heddle.size @tokens max 2048

func.func @too_many_arguments(%a: !x, %b: !x, %c: !x, %d: !x, %e: !x, %f: !x, %g: !x, %h: !x, %i: !x, %j: !x, %k: !x,
                              %l: !x, %m: !x, %n: !x, %o: !x, %p: !x) -> !x {
  // expected-error @+1 {{in kernel 'wide': the kernel needs 17 arguments, but vulkan:software passes at most 16}}
  %r = heddle.kernel "wide"(%a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k, %l, %m, %n, %o, %p
                            : !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x) -> !x {
  ^bb0(%0: !x, %1: !x, %2: !x, %3: !x, %4: !x, %5: !x, %6: !x, %7: !x, %8: !x, %9: !x, %10: !x, %11: !x, %12: !x, %13: !x,
       %14: !x, %15: !x):
    %16 = math.exp %0 : !x
    heddle.yield %16 : !x
  }
  return %r : !x
}
