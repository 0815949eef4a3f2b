// Mixtures of experts: choices, their order by expert, and a matmul for each expert.
#include "compiler/Reference/Registry.h"

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::reference;

static void pick(PickOp op, Frame &frame) {
  const Array &rows = frame.get(op.getRows()), &columns = frame.get(op.getColumns());
  Array &result = frame.make(op.getResult());
  for (int64_t row = 0; row < result.shape[0]; ++row)
    for (int64_t j = 0; j < result.shape[1]; ++j)
      if (int64_t column = static_cast<int64_t>(columns(row, j)); column >= 0 && column < rows.shape[1])
        result(row, j) = rows(row, column);
}

static void place(PlaceOp op, Frame &frame) {
  const Array &values = frame.get(op.getValues()), &columns = frame.get(op.getColumns());
  Array &result = frame.make(op.getResult());
  for (int64_t row = 0; row < values.shape[0]; ++row)
    for (int64_t j = 0; j < values.shape[1]; ++j)
      if (int64_t column = static_cast<int64_t>(columns(row, j)); column >= 0 && column < result.shape[1])
        result(row, column) += values(row, j);
}

static LogicalResult expectExperts(Operation *op, const Array &chosen, int64_t experts) {
  for (double expert : chosen.numbers)
    if (expert < 0 || expert >= static_cast<double>(experts))
      return op->emitOpError() << "has the expert " << expert << " of " << experts;
  return success();
}

static LogicalResult countChoices(CountChoicesOp op, Frame &frame) {
  const Array &chosen = frame.get(op.getChosen());
  Array &counts = frame.make(op.getCounts());
  if (failed(expectExperts(op, chosen, counts.shape[1])))
    return failure();
  int64_t length = (chosen.shape[0] + counts.shape[0] - 1) / counts.shape[0];
  for (int64_t i = 0; i < chosen.size(); ++i)
    ++counts(i / chosen.shape[1] / length, chosen.whole(i));
  return success();
}

static LogicalResult dispatch(DispatchOp op, Frame &frame) {
  const Array &chosen = frame.get(op.getChosen());
  Array &places = frame.make(op.getPlaces()), &order = frame.make(op.getOrder()),
        &experts = frame.make(op.getExperts()), &starts = frame.make(op.getStarts());
  if (failed(expectExperts(op, chosen, starts.size() - 1)))
    return failure();
  int64_t place = 0;
  for (int64_t expert = 0; expert + 1 < starts.size(); ++expert) {
    for (int64_t choice = 0; choice < chosen.size(); ++choice)
      if (chosen.whole(choice) == expert) {
        places(choice) = static_cast<double>(place);
        order(place) = static_cast<double>(choice);
        experts(place++) = static_cast<double>(expert);
      }
    starts(expert + 1) = static_cast<double>(place);
  }
  return success();
}

static LogicalResult gather(GatherOp op, Frame &frame) {
  const Array &rows = frame.get(op.getRows()), &indices = frame.get(op.getIndices());
  Array &result = frame.make(op.getResult());
  for (int64_t i = 0; i < indices.size(); ++i) {
    int64_t index = indices.whole(i);
    if (index < 0 || index >= rows.shape[0])
      return op.emitOpError() << "has the index " << index << " of " << rows.shape[0] << " rows";
    for (int64_t column = 0; column < rows.shape[1]; ++column)
      result(i / indices.shape[1], column) += rows(index, column);
  }
  return success();
}

/// With a transposed left side, row i of the result belongs to the group i / (rows of a group's matrix).
static void groupedMatmul(GroupedMatmulOp op, Frame &frame) {
  const Array &a = frame.get(op.getLhs()), &b = frame.get(op.getRhs()), &starts = frame.get(op.getStarts());
  Array &result = frame.make(op.getResult());
  int64_t groups = op.getGroups();
  for (int64_t group = 0; group < groups; ++group)
    for (int64_t row = starts.whole(group); row < starts.whole(group + 1); ++row)
      for (int64_t j = 0; j < result.shape[1]; ++j)
        for (int64_t k = 0; k < a.shape[1]; ++k)
          if (op.getTransposeLhs())
            result(group * a.shape[1] + k, j) += a(row, k) * b(row, j);
          else if (op.getTransposeRhs())
            result(row, j) += a(row, k) * b(group * result.shape[1] + j, k);
          else
            result(row, j) += a(row, k) * b(group * a.shape[1] + k, j);
}

void reference::addRouting(Registry &registry) {
  registry.add<pick, place, countChoices, dispatch, gather, groupedMatmul>();
}
