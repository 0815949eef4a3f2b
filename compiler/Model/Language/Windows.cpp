// `window(x, from, to)`: concatenates each row with its neighbours in the sequence. A convolution is a matmul of such
// rows.
#include "compiler/Model/Language/Elaborator.h"

#include "compiler/Model/Language/Builtins.h"

#include <limits>

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::language;

Item Elaborator::window(BuiltinCall &call) {
  constexpr int64_t anywhere = std::numeric_limits<int32_t>::min(), furthest = 1024;
  Value x = tensor(call.given[0].item, call.given[0].where, "what window() is of");
  std::optional<int64_t> from = whole(call.given[1], "the first row of a window", anywhere);
  std::optional<int64_t> to = whole(call.given[2], "the last row of a window", anywhere);
  if (!x || !from || !to)
    return mistake();
  Side *side = scanState ? nullptr : findSide(typeOf(x));
  if (!side || typeOf(x).getRank() != 2 || !typeOf(x).getElementType().isF32())
    return fail(call.where()) << "window() takes rows of tokens, whose sequences it knows, not "
                              << describe(call.given[0].item)
                              << (scanState ? "; within a scan there is one row at a time" : "");
  if (*from > *to || *from < -furthest || *to > furthest)
    return fail(call.where()) << "a window reaches from a row to the same or a later one, at most " << furthest
                              << " rows away, not from " << *from << " to " << *to;
  if (*from == 0 && *to == 0)
    return call.given[0].item;
  auto type = RankedTensorType::get({typeOf(x).getDimSize(0), typeOf(x).getDimSize(1) * (*to - *from + 1)},
                                    builder.getF32Type(), typeOf(x).getEncoding());
  return make(UnfoldOp::create(builder, place(call.where()), type, x, import(side->positions), *from, *to));
}
