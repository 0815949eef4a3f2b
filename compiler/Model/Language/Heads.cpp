// Built-in functions on rows of several heads: split into heads, concatenate heads, and apply rotary positions.
#include "compiler/Model/Language/Builtins.h"

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::language;

/// split(x, heads): reshapes each row into a row for each head.
Item Elaborator::split(BuiltinCall &call) {
  Value x = tensor(call.given[0].item, call.given[0].where, "what split() takes head by head");
  std::optional<int64_t> heads = x ? whole(call.given[1], "the number of heads") : std::nullopt;
  if (!heads)
    return mistake();
  RankedTensorType type = typeOf(x);
  if (isInScan(x.getParentBlock()))
    return fail(call.where())
           << "split() has no place within a scan: split what the scan goes through, or what it gives";
  if (type.getRank() != 2 || type.hasStaticShape() || !type.getElementType().isF32())
    return fail(call.where()) << "split(x, heads) takes rows of tokens or of sequences head by head, not "
                              << describe(call.given[0].item);
  if (*heads < 1 || type.getDimSize(1) % *heads != 0)
    return fail(call.given[1].where) << describe(call.given[0].item) << " does not split into " << *heads
                                     << " heads; their number must divide " << type.getDimSize(1);
  auto result = RankedTensorType::get({type.getDimSize(0), *heads, type.getDimSize(1) / *heads}, type.getElementType(),
                                      type.getEncoding());
  return make(ReshapeOp::create(builder, place(call.where()), result, x));
}

/// flat(x): concatenates the heads of each row.
Item Elaborator::flat(BuiltinCall &call) {
  const Item &item = call.given[0].item;
  Value x = tensor(item, call.given[0].where, "what flat() takes");
  if (!x)
    return mistake();
  RankedTensorType type = typeOf(x);
  if (type.getRank() != 3 || item.keys())
    return fail(call.where()) << "flat() puts the heads of split(x, heads) side by side, but here is "
                              << describe(item);
  auto result = RankedTensorType::get({type.getDimSize(0), type.getDimSize(1) * type.getDimSize(2)},
                                      type.getElementType(), type.getEncoding());
  return make(ReshapeOp::create(builder, place(call.where()), result, x));
}

/// rotate(x, positions, frequencies, ...): applies rotary positions to the first columns of each head, two columns for
/// each frequency.
Item Elaborator::rotate(BuiltinCall &call) {
  Value x = tensor(call.given[0].item, call.given[0].where, "what rotate() turns");
  Value positions = x ? tensor(call.given[1].item, call.given[1].where, "the positions of rotate()") : Value();
  Value frequencies =
      positions ? tensor(call.given[2].item, call.given[2].where, "the frequencies of rotate()") : Value();
  if (!frequencies)
    return mistake();
  RankedTensorType type = typeOf(x), perToken = typeOf(positions), row = typeOf(frequencies);
  bool areRows = type.getRank() == 2 && perToken.getRank() == 1 && perToken.getElementType().isInteger(32) &&
                 type.getDimSize(0) == perToken.getDimSize(0) && getSizeName(type, 0) == getSizeName(perToken, 0);
  if (!areRows)
    return fail(call.where())
           << "rotate(x, positions, frequencies) turns rows for tokens by the positions of these, such as "
           << "target.positions, but here are " << describe(call.given[0].item) << " and "
           << describe(call.given[1].item);
  std::optional<bool> neighbours = call.has(3) ? flag(call.given[3], "'neighbours'") : std::optional(false);
  if (!neighbours)
    return mistake();
  std::optional<int64_t> heads = call.has(4) ? whole(call.given[4], "the number of heads") : std::optional<int64_t>(0);
  if (!heads)
    return mistake();
  bool isRow = row.getRank() == 1 && row.hasStaticShape() && row.getElementType().isF32();
  int64_t turned = isRow ? (*neighbours ? 1 : 2) * row.getDimSize(0) : 1;
  int64_t ofHead = *heads > 0 ? type.getDimSize(1) / *heads : turned;
  if (*heads > 0 && (type.getDimSize(1) % *heads != 0 || turned > ofHead))
    return fail(call.given[4].where) << "rotate() turns the first " << turned << " columns of each of " << *heads
                                     << " heads, but here is " << describe(call.given[0].item);
  if (!isRow || turned % 2 != 0 || type.getDimSize(1) % ofHead != 0)
    return fail(call.given[2].where) << "rotate() takes a row of numbers, a frequency for every "
                                     << (*neighbours ? "column of a head, of which neighbours are pairs"
                                                     : "two columns of a head")
                                     << ", but here are " << describe(call.given[0].item) << " and "
                                     << describe(call.given[2].item);
  const auto *numbers = call.given[2].item.as<std::shared_ptr<RowItem>>();
  for (size_t i = 0; *neighbours && numbers && i < (*numbers)->values.size(); i += 2)
    if ((*numbers)->values[i] != (*numbers)->values[i + 1])
      return fail(call.given[2].where) << "the two columns of a pair turn by the same frequency, but columns " << i
                                       << " and " << i + 1 << " have " << describe(number((*numbers)->values[i]))
                                       << " and " << describe(number((*numbers)->values[i + 1]));
  return make(RotaryOp::create(builder, place(call.where()), type, x, positions, frequencies, /*inverse=*/false,
                               *neighbours, *heads > 0 && ofHead != turned ? ofHead : 0));
}
