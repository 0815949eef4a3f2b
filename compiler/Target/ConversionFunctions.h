// Conversion patterns without state, written as functions.
#pragma once

#include "mlir/Transforms/DialectConversion.h"

namespace mlir::heddle {

template <typename Op> struct FunctionPattern : OpConversionPattern<Op> {
  using Convert = LogicalResult (*)(Op, typename Op::Adaptor, ConversionPatternRewriter &);

  FunctionPattern(const TypeConverter &converter, MLIRContext *context, Convert convert, PatternBenefit benefit)
      : OpConversionPattern<Op>(converter, context, benefit), convert(convert) {}

  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    return convert(op, adaptor, rewriter);
  }

  Convert convert;
};

/// Adds a pattern for each of the functions.
template <typename... Ops>
void addConversions(RewritePatternSet &patterns, const TypeConverter &converter, PatternBenefit benefit,
                    LogicalResult (*...convert)(Ops, typename Ops::Adaptor, ConversionPatternRewriter &)) {
  (patterns.add<FunctionPattern<Ops>>(converter, patterns.getContext(), convert, benefit), ...);
}

} // namespace mlir::heddle
