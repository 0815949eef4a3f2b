// Matmuls, sums along rows and columns, norms, losses, and transposes of gathers.
#include "compiler/Reference/Registry.h"

#include <cmath>

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::reference;

/// The target chooses which pieces the parts of partial products contract; only the sum of the parts has a meaning.
/// Here the first part is the whole product.
template <typename Op> static void product(Op op, Frame &frame) {
  const Array &a = frame.get(op.getLhs()), &b = frame.get(op.getRhs());
  Array &result = frame.make(op.getResult());
  int64_t contracted = a.shape[op.getTransposeLhs() ? 0 : 1], columns = result.shape.back(), width = result.width();
  for (int64_t i = 0; i < result.shape[0]; ++i)
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t k = 0; k < contracted; ++k)
        result(i * width + j) +=
            (op.getTransposeLhs() ? a(k, i) : a(i, k)) * (op.getTransposeRhs() ? b(j, k) : b(k, j));
}

static void project(ProjectOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput()), &weights = frame.get(op.getWeights()),
              &biases = frame.get(op.getBiases());
  for (auto [n, projection] : llvm::enumerate(op.getProjections())) {
    Array &result = frame.make(projection);
    auto number = static_cast<int64_t>(n), inputs = input.shape[1], outputs = result.shape[1];
    for (int64_t i = 0; i < result.shape[0]; ++i)
      for (int64_t j = 0; j < outputs; ++j) {
        result(i, j) = biases(number * outputs + j);
        for (int64_t k = 0; k < inputs; ++k)
          result(i, j) += input(i, k) * weights(number * inputs + k, j);
      }
  }
}

static void projectGradInput(ProjectGradInputOp op, Frame &frame) {
  const Array &weights = frame.get(op.getWeights());
  Array &result = frame.make(op.getResult());
  int64_t inputs = result.shape[1];
  for (auto [n, value] : llvm::enumerate(op.getGradients())) {
    const Array &gradient = frame.get(value);
    for (int64_t i = 0; i < result.shape[0]; ++i)
      for (int64_t k = 0; k < inputs; ++k)
        for (int64_t j = 0; j < gradient.shape[1]; ++j)
          result(i, k) += gradient(i, j) * weights(static_cast<int64_t>(n) * inputs + k, j);
  }
}

static void projectGradWeights(ProjectGradWeightsOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput());
  Array &weights = frame.make(op.getResult(0)), &biases = frame.make(op.getResult(1));
  int64_t inputs = input.shape[1];
  for (auto [n, value] : llvm::enumerate(op.getGradients())) {
    const Array &gradient = frame.get(value);
    auto number = static_cast<int64_t>(n), outputs = gradient.shape[1];
    for (int64_t i = 0; i < input.shape[0]; ++i)
      for (int64_t j = 0; j < outputs; ++j) {
        biases(number * outputs + j) += gradient(i, j);
        for (int64_t k = 0; k < inputs; ++k)
          weights(number * inputs + k, j) += input(i, k) * gradient(i, j);
      }
  }
}

/// A sum of rows gives a number for each column. A sum of columns gives a number for each row, or for each part of a
/// row.
static void sum(SumOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput());
  Array &result = frame.make(op.getResult());
  if (result.size() == 0)
    return;
  for (int64_t i = 0; i < input.size(); ++i)
    result(op.getColumns() ? i / (input.size() / result.size()) : i % result.size()) += input(i);
}

/// The target chooses which rows belong to a group. Here the first group has all rows.
static void partialSums(PartialSumsOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput());
  Array &result = frame.make(op.getResult());
  for (int64_t i = 0; i < input.size(); ++i)
    result(0, i % result.shape[1]) += input(i);
}

static void layerNorm(LayerNormOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput()), &gamma = frame.get(op.getGamma()), &beta = frame.get(op.getBeta());
  Array &result = frame.make(op.getResult()), &mean = frame.make(op.getMean()), &rstd = frame.make(op.getRstd());
  int64_t columns = input.shape[1];
  for (int64_t row = 0; row < input.shape[0]; ++row) {
    double sum = 0, squares = 0;
    for (int64_t column = 0; column < columns; ++column)
      sum += input(row, column);
    mean(row) = sum / static_cast<double>(columns);
    for (int64_t column = 0; column < columns; ++column)
      squares += (input(row, column) - mean(row)) * (input(row, column) - mean(row));
    rstd(row) = 1 / std::sqrt(squares / static_cast<double>(columns) + op.getEpsilon().convertToDouble());
    for (int64_t column = 0; column < columns; ++column)
      result(row, column) = (input(row, column) - mean(row)) * rstd(row) * gamma(column) + beta(column);
  }
}

static void layerNormApply(LayerNormApplyOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput()), &gamma = frame.get(op.getGamma()), &beta = frame.get(op.getBeta());
  const Array &mean = frame.get(op.getMean()), &rstd = frame.get(op.getRstd());
  Array &result = frame.make(op.getResult());
  for (int64_t row = 0; row < input.shape[0]; ++row)
    for (int64_t column = 0; column < input.shape[1]; ++column)
      result(row, column) = (input(row, column) - mean(row)) * rstd(row) * gamma(column) + beta(column);
}

/// With g = gradient * gamma and x the normalised input: rstd (g - mean(g) - x mean(g x)).
static void layerNormGrad(LayerNormGradOp op, Frame &frame) {
  const Array &gradient = frame.get(op.getGradient()), &input = frame.get(op.getInput()),
              &gamma = frame.get(op.getGamma());
  const Array &mean = frame.get(op.getMean()), &rstd = frame.get(op.getRstd());
  Array &result = frame.make(op.getResult());
  int64_t columns = input.shape[1];
  for (int64_t row = 0; row < input.shape[0]; ++row) {
    auto normal = [&](int64_t column) { return (input(row, column) - mean(row)) * rstd(row); };
    double ofGradient = 0, ofProduct = 0;
    for (int64_t column = 0; column < columns; ++column) {
      double g = gradient(row, column) * gamma(column);
      ofGradient += g / static_cast<double>(columns);
      ofProduct += g * normal(column) / static_cast<double>(columns);
    }
    for (int64_t column = 0; column < columns; ++column)
      result(row, column) =
          rstd(row) * (gradient(row, column) * gamma(column) - ofGradient - normal(column) * ofProduct);
  }
}

/// Returns the target probability of a class: most of the mass is on the target.
static double wanted(int64_t column, int64_t target, double smoothing, int64_t columns) {
  return (column == target ? 1 - smoothing : 0) + smoothing / static_cast<double>(columns);
}

static LogicalResult expectTargets(Operation *op, const Array &targets, int64_t columns) {
  for (double target : targets.numbers)
    if (target < 0 || target >= static_cast<double>(columns))
      return op->emitOpError() << "has the target " << target << " among " << columns << " classes";
  return success();
}

static LogicalResult crossEntropy(CrossEntropyOp op, Frame &frame) {
  const Array &logits = frame.get(op.getLogits()), &targets = frame.get(op.getTargets());
  Array &loss = frame.make(op.getLoss()), &logSumExp = frame.make(op.getLogSumExp());
  int64_t columns = logits.shape[1];
  if (failed(expectTargets(op, targets, columns)))
    return failure();
  double smoothing = op.getSmoothing().convertToDouble();
  for (int64_t row = 0; row < logits.shape[0]; ++row) {
    double largest = -INFINITY, sum = 0;
    for (int64_t column = 0; column < columns; ++column)
      largest = std::max(largest, logits(row, column));
    for (int64_t column = 0; column < columns; ++column)
      sum += std::exp(logits(row, column) - largest);
    loss(row) = logSumExp(row) = largest + std::log(sum);
    for (int64_t column = 0; column < columns; ++column)
      loss(row) -= wanted(column, targets.whole(row), smoothing, columns) * logits(row, column);
  }
  return success();
}

static LogicalResult crossEntropyGrad(CrossEntropyGradOp op, Frame &frame) {
  const Array &logits = frame.get(op.getLogits()), &targets = frame.get(op.getTargets());
  const Array &logSumExp = frame.get(op.getLogSumExp()), &gradient = frame.get(op.getGradient());
  Array &result = frame.make(op.getResult());
  int64_t columns = logits.shape[1];
  if (failed(expectTargets(op, targets, columns)))
    return failure();
  double smoothing = op.getSmoothing().convertToDouble();
  for (int64_t row = 0; row < logits.shape[0]; ++row)
    for (int64_t column = 0; column < columns; ++column)
      result(row, column) = gradient(row) * (std::exp(logits(row, column) - logSumExp(row)) -
                                             wanted(column, targets.whole(row), smoothing, columns));
  return success();
}

static void argmax(ArgmaxOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput());
  Array &result = frame.make(op.getResult());
  for (int64_t row = 0; row < input.shape[0]; ++row)
    for (int64_t column = 1; column < input.shape[1]; ++column)
      if (input(row, column) > input(row, result.whole(row)))
        result(row) = static_cast<double>(column);
}

template <typename Op> static LogicalResult scatter(Op op, Frame &frame, bool adds) {
  const Array &indices = frame.get(op.getIndices()), &rows = frame.get(op.getRows());
  Array &result = frame.set(op.getResult(), frame.get(op.getDestination()));
  for (int64_t row = 0; row < rows.shape[0]; ++row) {
    int64_t index = indices.whole(row);
    if (index < 0 || index >= result.shape[0])
      return op.emitOpError() << "writes row " << index << " of " << result.shape[0];
    for (int64_t column = 0; column < rows.shape[1]; ++column)
      result(index, column) = (adds ? result(index, column) : 0) + rows(row, column);
  }
  return success();
}
static LogicalResult scatterAdd(ScatterAddOp op, Frame &frame) { return scatter(op, frame, /*adds=*/true); }
static LogicalResult scatterRows(ScatterRowsOp op, Frame &frame) { return scatter(op, frame, /*adds=*/false); }

static void findFirst(FindFirstOp op, Frame &frame) {
  const Array &indices = frame.get(op.getIndices());
  Array &first = frame.make(op.getFirst());
  for (double &place : first.numbers)
    place = -1;
  for (int64_t i = indices.size() - 1; i >= 0; --i)
    if (int64_t index = indices.whole(i); index >= 0 && index < first.size())
      first(index) = static_cast<double>(i);
}

static LogicalResult sumEqual(SumEqualOp op, Frame &frame) {
  const Array &indices = frame.get(op.getIndices()), &first = frame.get(op.getFirst()), &rows = frame.get(op.getRows());
  Array &result = frame.make(op.getResult());
  for (int64_t row = 0; row < rows.shape[0]; ++row) {
    int64_t index = indices.whole(row);
    if (index < 0 || index >= first.size())
      return op.emitOpError() << "has the index " << index << " of " << first.size();
    int64_t place = first.whole(index);
    if (place < 0 || place >= result.shape[0])
      return op.emitOpError() << "has index " << index << " first in row " << place << " of " << result.shape[0];
    for (int64_t column = 0; column < rows.shape[1]; ++column)
      result(place, column) += rows(row, column);
  }
  return success();
}

void reference::addMatrices(Registry &registry) {
  registry.add<product<MatmulOp>>();
  registry.add<product<PartialProductsOp>>();
  registry.add<project, projectGradInput, projectGradWeights, sum, partialSums, layerNorm, layerNormApply,
               layerNormGrad, crossEntropy, crossEntropyGrad, argmax, scatterAdd, scatterRows, findFirst, sumEqual>();
}
