// Recurrence, as scans and as steps, and ops that cut and join columns.
#include "compiler/Reference/Registry.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::reference;

/// Returns the rows of `from` that `rows` names.
static Array gather(const Array &from, ArrayRef<int64_t> rows) {
  SmallVector<int64_t> shape(from.shape);
  shape[0] = static_cast<int64_t>(rows.size());
  Array result(shape);
  int64_t width = from.width();
  for (auto [i, row] : llvm::enumerate(rows))
    std::copy_n(from.numbers.begin() + row * width, width, result.numbers.begin() + static_cast<int64_t>(i) * width);
  return result;
}

static void scatterTo(Array &to, const Array &rows, ArrayRef<int64_t> places) {
  int64_t width = to.width();
  for (auto [i, place] : llvm::enumerate(places))
    std::copy_n(rows.numbers.begin() + static_cast<int64_t>(i) * width, width, to.numbers.begin() + place * width);
}

/// Runs one step at a time, for all sequences that have a token there, in their own order.
static LogicalResult scan(ScanOp op, Frame &frame) {
  const Array &starts = frame.get(op.getStarts()), &lengths = frame.get(op.getLengths());
  SmallVector<Array> states;
  for (Value state : op.getStates())
    states.push_back(frame.get(state));
  SmallVector<Array *> outputs;
  for (Value output : op.getOutputs())
    outputs.push_back(&frame.make(output));
  int64_t tokens = frame.get(op.getRows().front()).rows(), longest = 0;
  for (int64_t s = 0; s < starts.size(); ++s) {
    longest = std::max(longest, lengths.whole(s));
    if (lengths.whole(s) > 0 && (starts.whole(s) < 0 || starts.whole(s) + lengths.whole(s) > tokens))
      return op.emitOpError() << "has a sequence of rows " << starts.whole(s) << " to "
                              << starts.whole(s) + lengths.whole(s) << " of " << tokens;
  }
  Interpreter &interpreter = frame.getInterpreter();
  int64_t sequences = interpreter.getSize(op.getStep());
  for (int64_t step = 0; step < longest; ++step) {
    SmallVector<int64_t> present, rows; // the sequences with a token at this step, and the rows of these tokens
    for (int64_t s = 0; s < starts.size(); ++s)
      if (step < lengths.whole(s)) {
        present.push_back(s);
        rows.push_back(starts.whole(s) + (op.getReverse() ? lengths.whole(s) - 1 - step : step));
      }
    interpreter.setSize(op.getStep(), static_cast<int64_t>(present.size()));
    SmallVector<Array> arguments;
    for (Value value : op.getRows())
      arguments.push_back(gather(frame.get(value), rows));
    for (const Array &state : states)
      arguments.push_back(gather(state, present));
    for (Value value : op.getConstants())
      arguments.push_back(frame.get(value));
    FailureOr<SmallVector<Array>> given = Frame(interpreter, nullptr).run(op.getBody().front(), arguments);
    if (failed(given))
      return failure();
    for (auto [i, state] : llvm::enumerate(states))
      scatterTo(state, (*given)[i], present);
    for (auto [i, output] : llvm::enumerate(outputs))
      scatterTo(*output, (*given)[states.size() + i], rows);
  }
  interpreter.setSize(op.getStep(), sequences);
  for (auto [last, state] : llvm::zip_equal(op.getLast(), states))
    frame.set(last, std::move(state));
  return success();
}

static LogicalResult repeat(RepeatOp op, Frame &frame) {
  const Array &starts = frame.get(op.getStarts()), &counts = frame.get(op.getCounts());
  SmallVector<Array> carried;
  for (Value value : op.getCarried())
    carried.push_back(frame.get(value));
  Interpreter &interpreter = frame.getInterpreter();
  int64_t trips = interpreter.getSize(op.getTrips()), before = interpreter.getSize(op.getStep());
  for (int64_t trip = 0; trip < trips; ++trip) {
    int64_t step = op.getReverse() ? trips - 1 - trip : trip;
    if (step >= counts.size())
      return op.emitOpError() << "takes step " << step << " of " << counts.size();
    interpreter.setSize(op.getStep(), counts.whole(step));
    Array start(ArrayRef<int64_t>{1});
    start(0) = starts(step);
    SmallVector<Array> arguments{std::move(start)};
    llvm::append_range(arguments, carried);
    for (Value value : op.getConstants())
      arguments.push_back(frame.get(value));
    FailureOr<SmallVector<Array>> given = Frame(interpreter, nullptr).run(op.getBody().front(), arguments);
    if (failed(given))
      return failure();
    carried = std::move(*given);
  }
  interpreter.setSize(op.getStep(), before);
  for (auto [result, value] : llvm::zip_equal(op.getResults(), carried))
    frame.set(result, std::move(value));
  return success();
}

//===-- Rows of a step ------------------------------------------------------------------------------------------===//

/// Returns the rows that exist: none past the last. Fails after an error if they begin before the first.
static FailureOr<SmallVector<int64_t>> rowsFrom(Operation *op, int64_t first, int64_t count, int64_t all) {
  if (first < 0)
    return op->emitOpError() << "begins at row " << first << " of " << all;
  SmallVector<int64_t> rows(static_cast<size_t>(std::max<int64_t>(std::min(count, all - first), 0)));
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

static LogicalResult stepRows(StepRowsOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput());
  Array &result = frame.make(op.getResult());
  auto rows = rowsFrom(op, frame.get(op.getStart()).whole(0), result.rows(), input.rows());
  if (failed(rows))
    return failure();
  Array taken = gather(input, *rows);
  llvm::copy(taken.numbers, result.numbers.begin());
  return success();
}

static LogicalResult insertRows(InsertRowsOp op, Frame &frame) {
  Array &result = frame.set(op.getResult(), frame.get(op.getDestination()));
  const Array &rows = frame.get(op.getRows());
  auto places = rowsFrom(op, frame.get(op.getStart()).whole(0), rows.rows(), result.rows());
  if (failed(places))
    return failure();
  scatterTo(result, rows, *places);
  return success();
}

static void replaceFirst(ReplaceFirstOp op, Frame &frame) {
  Array &result = frame.set(op.getResult(), frame.get(op.getDestination()));
  const Array &rows = frame.get(op.getRows());
  scatterTo(result, rows, *rowsFrom(op, 0, rows.rows(), result.rows()));
}

//===-- The order of steps --------------------------------------------------------------------------------------===//

static void rank(RankOp op, Frame &frame) {
  const Array &lengths = frame.get(op.getLengths());
  Array &result = frame.make(op.getResult());
  for (int64_t i = 0; i < lengths.size(); ++i)
    for (int64_t j = 0; j < lengths.size(); ++j)
      result(i) += lengths(j) > lengths(i) || (lengths(j) == lengths(i) && j < i);
}

static void stepSizes(StepSizesOp op, Frame &frame) {
  const Array &lengths = frame.get(op.getLengths());
  Array &starts = frame.make(op.getStarts()), &counts = frame.make(op.getCounts());
  auto tokens = static_cast<double>(frame.size(op.getTokens()));
  double next = 0;
  for (int64_t step = 0; step < starts.size(); ++step) {
    starts(step) = std::min(next, tokens);
    for (double length : lengths.numbers)
      counts(step) += length > static_cast<double>(step);
    next += counts(step);
    counts(step) = std::min(counts(step), tokens - starts(step));
  }
}

/// Results stay within the tensors, even for tokens that no sequence owns.
static void stepOrder(StepOrderOp op, Frame &frame) {
  const Array &position = frame.get(op.getPosition()), &sequence = frame.get(op.getSequence()),
              &starts = frame.get(op.getStarts());
  const Array &rank = frame.get(op.getRank()), &order = frame.get(op.getOrder()),
              &firsts = frame.get(op.getSequenceStarts());
  Array &places = frame.make(op.getPlaces()), &rows = frame.make(op.getRows());
  int64_t tokens = places.size();
  auto at = [](const Array &table, int64_t i) {
    return table.size() == 0 ? 0 : table.whole(std::clamp<int64_t>(i, 0, table.size() - 1));
  };
  for (int64_t token = 0; token < tokens; ++token) {
    int64_t step = position.whole(token), start = step < starts.size() ? starts.whole(step) : 0;
    places(token) = static_cast<double>(std::clamp<int64_t>(start + at(rank, sequence.whole(token)), 0, tokens - 1));
    int64_t last = 0; // the step that this place belongs to
    for (int64_t i = 0; i < starts.size(); ++i)
      if (starts.whole(i) <= token)
        last = i;
    int64_t owner = at(order, token - starts.whole(last));
    rows(token) = static_cast<double>(std::clamp<int64_t>(at(firsts, owner) + last, 0, tokens - 1));
  }
}

//===-- Columns -------------------------------------------------------------------------------------------------===//

static void columns(ColumnsOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput());
  Array &result = frame.make(op.getResult());
  for (int64_t row = 0; row < result.shape[0]; ++row)
    for (int64_t column = 0; column < result.shape[1]; ++column)
      result(row, column) = input(row, static_cast<int64_t>(op.getFrom()) + column);
}

static void join(JoinOp op, Frame &frame) {
  Array &result = frame.make(op.getResult());
  int64_t first = 0;
  for (Value value : op.getParts()) {
    const Array &part = frame.get(value);
    for (int64_t row = 0; row < part.shape[0]; ++row)
      for (int64_t column = 0; column < part.shape[1]; ++column)
        result(row, first + column) = part(row, column);
    first += part.shape[1];
  }
}

void reference::addRecurrence(Registry &registry) {
  registry.add<scan, repeat, stepRows, insertRows, replaceFirst, rank, stepSizes, stepOrder, columns, join>();
}
