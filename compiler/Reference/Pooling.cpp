// Ops that combine or choose rows: segments, windows, strides, and the largest elements.
#include "compiler/Reference/Registry.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::reference;

static LogicalResult expectRows(Operation *op, int64_t start, int64_t length, int64_t rows) {
  if (length == 0 || (start >= 0 && length > 0 && start + length <= rows))
    return success();
  return op->emitOpError() << "has a segment of rows " << start << " to " << start + length << " of " << rows;
}

static LogicalResult segment(SegmentOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput()), &starts = frame.get(op.getStarts()),
              &lengths = frame.get(op.getLengths());
  Array &result = frame.make(op.getResult());
  Array *chosen = op.getChosen() ? &frame.make(op.getChosen()) : nullptr;
  for (int64_t s = 0; s < starts.size(); ++s) {
    int64_t start = starts.whole(s), length = lengths.whole(s);
    if (failed(expectRows(op, start, length, input.shape[0])))
      return failure();
    for (int64_t column = 0; column < input.shape[1]; ++column) {
      int64_t best = length == 0 ? -1 : start;
      for (int64_t row = start; row < start + length; ++row) {
        double element = input(row, column);
        if (op.getPool() == Pool::Sum) {
          result(s, column) += element;
          continue;
        }
        double known = input(best, column);
        bool isBetter = op.getPool() == Pool::Max ? element > known : element < known;
        if (!std::isnan(known) && (isBetter || std::isnan(element)))
          best = row;
      }
      if (chosen) {
        (*chosen)(s, column) = static_cast<double>(best);
        result(s, column) = best < 0 ? 0 : input(best, column);
      }
    }
  }
  return success();
}

/// Returns the row that is `offset` rows further on if it belongs to the same sequence, or else -1.
static int64_t neighbour(const Array &positions, int64_t row, int64_t offset) {
  int64_t other = row + offset;
  bool isThere = other >= 0 && other < positions.size() && positions.whole(other) == positions.whole(row) + offset;
  return isThere ? other : -1;
}

static void unfold(UnfoldOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput()), &positions = frame.get(op.getPositions());
  Array &result = frame.make(op.getResult());
  auto first = static_cast<int64_t>(op.getFirst()), last = static_cast<int64_t>(op.getLast()), width = input.shape[1];
  for (int64_t row = 0; row < input.shape[0]; ++row)
    for (int64_t offset = first; offset <= last; ++offset)
      if (int64_t other = neighbour(positions, row, offset); other >= 0)
        for (int64_t column = 0; column < width; ++column)
          result(row, (offset - first) * width + column) = input(other, column);
}

static void fold(FoldOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput()), &positions = frame.get(op.getPositions());
  Array &result = frame.make(op.getResult());
  auto first = static_cast<int64_t>(op.getFirst()), last = static_cast<int64_t>(op.getLast()), width = result.shape[1];
  for (int64_t row = 0; row < input.shape[0]; ++row)
    for (int64_t offset = first; offset <= last; ++offset)
      if (int64_t other = neighbour(positions, row, offset); other >= 0)
        for (int64_t column = 0; column < width; ++column)
          result(other, column) += input(row, (offset - first) * width + column);
}

/// Calls `pair` for each pixel of `small`, with its index in `large`, at every `stride`-th row and column, and its own
/// index. Fails after an error if `large` has no such pixel.
template <typename Op>
static LogicalResult stride(Op op, const Array &large, const Array &small, function_ref<void(int64_t, int64_t)> pair) {
  auto width = static_cast<int64_t>(op.getWidth()), stride = static_cast<int64_t>(op.getStride()),
       narrow = width / stride;
  for (int64_t pixel = 0; pixel < small.shape[0]; ++pixel) {
    int64_t row = pixel / narrow * stride + static_cast<int64_t>(op.getRow()),
            column = pixel % narrow * stride + static_cast<int64_t>(op.getColumn()), there = row * width + column;
    if (there >= large.shape[0])
      return op.emitOpError() << "has pixel " << there << " of " << large.shape[0];
    pair(there, pixel);
  }
  return success();
}

static LogicalResult subsample(SubsampleOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput());
  Array &result = frame.make(op.getResult());
  return stride(op, input, result, [&](int64_t there, int64_t pixel) {
    for (int64_t column = 0; column < input.shape[1]; ++column)
      result(pixel, column) = input(there, column);
  });
}

static LogicalResult upsample(UpsampleOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput());
  Array &result = frame.make(op.getResult());
  return stride(op, result, input, [&](int64_t there, int64_t pixel) {
    for (int64_t column = 0; column < input.shape[1]; ++column)
      result(there, column) = input(pixel, column);
  });
}

/// Leaves out NaNs and elements of at most -FLT_MAX. If fewer than k elements remain, further values are -FLT_MAX at
/// the place of the segment's first element.
static LogicalResult topK(TopKOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput());
  const Array *starts = op.getStarts() ? &frame.get(op.getStarts()) : nullptr;
  const Array *lengths = op.getLengths() ? &frame.get(op.getLengths()) : nullptr;
  Array &values = frame.make(op.getValues()), &rows = frame.make(op.getRows()), &columns = frame.make(op.getColumns());
  constexpr double lowest = -static_cast<double>(std::numeric_limits<float>::max());
  int64_t width = input.shape[1];
  for (int64_t s = 0; s < values.shape[0]; ++s) {
    int64_t start = starts ? starts->whole(s) : s, length = lengths ? lengths->whole(s) : 1;
    if (failed(expectRows(op, start, length, input.shape[0])))
      return failure();
    std::vector<int64_t> places;
    for (int64_t place = start * width; place < (start + length) * width; ++place)
      if (input(place) > lowest)
        places.push_back(place);
    std::stable_sort(places.begin(), places.end(), [&](int64_t a, int64_t b) { return input(a) > input(b); });
    for (int64_t k = 0; k < values.shape[1]; ++k) {
      bool isThere = k < static_cast<int64_t>(places.size());
      int64_t place = isThere ? places[static_cast<size_t>(k)] : start * width;
      values(s, k) = isThere ? input(place) : lowest;
      const int64_t row = place / width, column = place % width;
      rows(s, k) = static_cast<double>(row);
      columns(s, k) = static_cast<double>(column);
    }
  }
  return success();
}

void reference::addPooling(Registry &registry) { registry.add<segment, unfold, fold, subsample, upsample, topK>(); }
