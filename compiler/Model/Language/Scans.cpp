// Recurrences, `scan rows as x with state = start { ... }`, and the functions that slice and join columns.
#include "compiler/Model/Language/Elaborator.h"

#include "compiler/Model/Language/Builtins.h"
#include "compiler/Model/Language/Parts.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::language;

/// The run-time size: number of sequences that take part in a scan's step.
static constexpr StringLiteral kStep = "step_sequences";

/// A scan under construction. Its block belongs to no op yet, because the operands from outside are known only at its
/// end.
struct Elaborator::ScanState {
  struct Operand {
    Value outside;
    BlockArgument argument;
  };
  Region region;
  mlir::Block *block = nullptr;
  const Side *side = nullptr;
  SmallVector<Operand> rows, states, fixed, constants; // fixed: rows of sequences, carried unchanged
};

bool Elaborator::isInScan(mlir::Block *block) { return scanState && block == scanState->block; }

bool Elaborator::isOfStep(RankedTensorType type) {
  return scanState && type.getRank() > 0 && type.isDynamicDim(0) && getSizeName(type, 0) == kStep;
}

const Side *Elaborator::getScanSide() { return scanState->side; }

static RankedTensorType withRows(RankedTensorType type, StringRef size) {
  SmallVector<int64_t> shape(type.getShape());
  shape.front() = ShapedType::kDynamic;
  return RankedTensorType::get(shape, type.getElementType(),
                               DimsAttr::get(type.getContext(), {StringAttr::get(type.getContext(), size)}));
}

/// Makes a value from outside available in the scan's block: as the current token's row, as the sequence's row, or as a
/// constant.
Value Elaborator::capture(Value outside) {
  for (auto *operands : {&scanState->rows, &scanState->fixed, &scanState->constants})
    for (const ScanState::Operand &operand : *operands)
      if (operand.outside == outside)
        return operand.argument;
  RankedTensorType type = typeOf(outside);
  bool isOfSequences = type.getRank() > 0 && getSizeName(type, 0) == kSequences;
  auto *operands = findSide(type) == scanState->side ? &scanState->rows
                   : isOfSequences                   ? &scanState->fixed
                                                     : &scanState->constants;
  Type inside = operands == &scanState->constants ? Type(type) : withRows(type, kStep);
  operands->push_back({outside, scanState->block->addArgument(inside, outside.getLoc())});
  return operands->back().argument;
}

/// Evaluates the rows or states that a scan's text names, and adds them as operands.
bool Elaborator::addOperands(ScanState &scan, const std::vector<State> &named, bool areRows, Scope &scope) {
  for (const State &operand : named) {
    Item item = evaluate(*operand.start, scope);
    LocationAttr where = operand.start->where;
    Value value = tensor(item, where, areRows ? "what a scan goes through" : "what a state starts as");
    if (!value)
      return false;
    Side *side = findSide(typeOf(value));
    bool isMatrix = typeOf(value).getElementType().isF32() && typeOf(value).getRank() == 2;
    bool isOfSequences = getSizeName(typeOf(value), 0) == kSequences;
    if (!isMatrix || (areRows ? !side || (scan.side && side != scan.side) : !isOfSequences)) {
      fail(where) << (areRows ? "a scan goes through rows of tokens, all of the same input, not "
                              : "a state starts as a row for each sequence, such as zeros(width) or last(x), not ")
                  << describe(item);
      return false;
    }
    if (areRows)
      scan.side = side;
    (areRows ? scan.rows : scan.states).push_back({value, {}});
  }
  return true;
}

/// Evaluates a scan. Its values are the states after each token, then the other values of the block's last line.
Item Elaborator::scan(const Expression &expression, Scope &scope) {
  if (scanState)
    return fail(expression.where) << "a scan cannot be within another one";
  ScanState state;
  if (!isWithinPart(expression.where) || !addOperands(state, expression.rows, /*areRows=*/true, scope) ||
      !addOperands(state, expression.states, /*areRows=*/false, scope))
    return mistake();
  if (symbols.insert(kStep).second) {
    OpBuilder atStart = OpBuilder::atBlockBegin(module.getBody());
    atStart.setInsertionPointAfter(module.lookupSymbol(kSequences));
    SizeOp::create(atStart, Location(model.start), kStep, limits.maxSequences, StringAttr(), /*fixed=*/false,
                   FlatSymbolRefAttr::get(builder.getContext(), kSequences), 0);
  }
  state.block = &state.region.emplaceBlock();
  SmallVector<Value> next;
  SmallVector<const Side *> keysOfNext; // for scores of pairs
  {
    llvm::SaveAndRestore<ScanState *> restore(scanState, &state);
    llvm::SaveAndRestore restoreLocated(part->located);
    part->located.clear();
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(state.block);
    Scope inner{&scope, {}};
    for (auto [operands, names] : {std::pair(&state.rows, &expression.rows), {&state.states, &expression.states}})
      for (auto [operand, named] : llvm::zip_equal(*operands, *names)) {
        operand.argument = state.block->addArgument(withRows(typeOf(operand.outside), kStep), operand.outside.getLoc());
        inner.items[named.name.text] = make(operand.argument);
      }
    Item result = evaluateBlock(*expression.block, inner);
    if (result.isMistake())
      return mistake();
    const auto *list = result.as<ListItem>();
    ListItem items = list ? *list : ListItem{result};
    bool fits = items.size() >= state.states.size();
    for (size_t i = 0; i < items.size() && fits; ++i) {
      Value value = tensorOrNull(items[i], expression.block->where);
      auto type = value ? dyn_cast<RankedTensorType>(value.getType()) : RankedTensorType();
      fits = type && (i < state.states.size() ? type == state.states[i].argument.getType()
                                              : isOfStep(type) && type.getElementType().isF32() &&
                                                    (type.getRank() == 2 || scoresOrNull(items[i])));
      next.push_back(value);
      const TensorItem *scores = scoresOrNull(items[i]);
      keysOfNext.push_back(scores ? scores->keys : nullptr);
    }
    if (!fits && next.size() > state.states.size())
      return fail(expression.block->where)
             << "behind the states the last line of a scan's block has rows of numbers, or scores, for each "
             << "sequence, but here is " << describe(items[next.size() - 1]);
    if (!fits) {
      InFlightDiagnostic error = fail(expression.block->where) << "the scan carries on ";
      for (auto [i, operand] : llvm::enumerate(state.states))
        error << (i ? " and " : "") << describe(make(operand.argument));
      error << ", but the last line of its block is " << describe(result);
      return mistake();
    }
  }

  // The block's arguments are the rows, the states, the fixed rows and the constants.
  SmallVector<BlockArgument> arguments;
  auto take = [&](ArrayRef<ScanState::Operand> operands) {
    SmallVector<Value> outside;
    for (const ScanState::Operand &operand : operands) {
      outside.push_back(operand.outside);
      arguments.push_back(operand.argument);
    }
    return outside;
  };
  SmallVector<Value> yielded(next.begin(), next.begin() + state.states.size());
  for (const ScanState::Operand &operand : state.fixed)
    yielded.push_back(operand.argument);
  llvm::append_range(yielded, next);
  SmallVector<Value> rows = take(state.rows), begins = take(state.states);
  llvm::append_range(begins, take(state.fixed));
  SmallVector<Value> constants = take(state.constants);
  SmallVector<Type> types = llvm::to_vector(ValueRange(begins).getTypes());
  for (Value value : next)
    types.push_back(withRows(typeOf(value), state.side->tokens));
  Location at = place(expression.where);
  auto op = ScanOp::create(builder, at, types, rows, begins, constants, import(state.side->starts),
                           import(state.side->lengths), state.side->longest, kStep, expression.text == "reversed");
  mlir::Block &body = op.getBody().emplaceBlock();
  body.getOperations().splice(body.end(), state.block->getOperations());
  OpBuilder end = OpBuilder::atBlockEnd(&body);
  YieldOp::create(end, at, yielded);
  for (BlockArgument argument : arguments)
    argument.replaceAllUsesWith(body.addArgument(argument.getType(), argument.getLoc()));
  ListItem outputs;
  for (auto [output, keys] : llvm::zip_equal(op.getOutputs(), keysOfNext))
    outputs.push_back(make(output, keys));
  return outputs.size() == 1 ? outputs.front() : Item(outputs);
}

//===-- States and columns --------------------------------------------------------------------------------------===//

/// zeros(width): a row of zeros for each sequence.
Item Elaborator::zerosOf(BuiltinCall &call) {
  if (updated)
    return zerosOfState(call);
  std::optional<int64_t> width = whole(call.given[0], "the width of zeros()");
  if (!width || !isWithinPart(call.where()))
    return mistake();
  auto column = RankedTensorType::get({ShapedType::kDynamic, *width}, builder.getF32Type());
  return make(fill(withRows(column, kSequences), 0, call.where()));
}

Item Elaborator::slice(BuiltinCall &call) {
  Value x = tensor(call.given[0].item, call.given[0].where, "what slice() takes columns of");
  std::optional<int64_t> from = whole(call.given[1], "the first column", 0);
  std::optional<int64_t> width = whole(call.given[2], "the number of columns");
  if (!x || !from || !width)
    return mistake();
  RankedTensorType type = typeOf(x);
  if (type.getRank() != 2 || !type.getElementType().isF32() || *from + *width > type.getDimSize(1))
    return fail(call.where()) << "slice() takes columns " << *from << " to " << *from + *width
                              << " of rows, and here are only " << describe(call.given[0].item);
  auto result = RankedTensorType::get({type.getDimSize(0), *width}, type.getElementType(), type.getEncoding());
  return make(heddle::ColumnsOp::create(builder, place(call.where()), result, x, *from));
}

/// join(...): concatenates the columns of several tensors.
Item Elaborator::join(BuiltinCall &call) {
  SmallVector<Value> parts;
  int64_t columns = 0;
  for (const Given &given : call.given) {
    if (!given.where)
      continue;
    Value part = tensor(given.item, given.where, "what join() puts side by side");
    if (!part)
      return mistake();
    RankedTensorType column = typeOf(part);
    if (column.getRank() == 1 && !column.hasStaticShape() && column.getElementType().isF32())
      part = asRows(part, given.where);
    bool isMatrix = typeOf(part).getRank() == 2 && typeOf(part).getElementType().isF32();
    if (!isMatrix || (!parts.empty() && getDimType(typeOf(part), 0, builder.getF32Type()) !=
                                            getDimType(typeOf(parts.front()), 0, builder.getF32Type())))
      return fail(given.where) << "join() puts rows of the same tokens or sequences side by side, but here is "
                               << describe(given.item)
                               << (parts.empty() ? "" : " beside " + describe(call.given[0].item));
    parts.push_back(part);
    columns += typeOf(part).getDimSize(1);
  }
  RankedTensorType type = typeOf(parts.front());
  auto result = RankedTensorType::get({type.getDimSize(0), columns}, type.getElementType(), type.getEncoding());
  return make(JoinOp::create(builder, place(call.where()), result, parts));
}
