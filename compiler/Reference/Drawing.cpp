// The choice of the next token.
#include "compiler/Reference/Philox.h"
#include "compiler/Reference/Registry.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::reference;

static double noise(double uniform) { return -std::log(-std::log(std::max(uniform, 0x1p-25))); }

static void gumbel(GumbelOp op, Frame &frame) {
  const Array &rows = frame.get(op.getRows());
  Array &result = frame.make(op.getResult());
  auto step = static_cast<uint32_t>(frame.get(op.getStep()).whole(0));
  for (int64_t row = 0; row < result.shape[0]; ++row)
    for (int64_t column = 0; column < result.shape[1]; ++column)
      result(row, column) = noise(uniform(keyOf(frame.get(op.getSeed())), step, static_cast<uint32_t>(op.getStream()),
                                          static_cast<uint32_t>(rows.whole(row)), static_cast<uint32_t>(column)));
}

/// Returns the smallest logit that may be drawn.
static double cutoffOf(ArrayRef<double> logits, double temperature, int64_t topK, double topP) {
  std::vector<double> falling(logits.begin(), logits.end());
  llvm::sort(falling, std::greater<double>());
  double cutoff = -static_cast<double>(std::numeric_limits<float>::max());
  if (topK > 0 && topK < static_cast<int64_t>(falling.size()))
    cutoff = std::max(cutoff, falling[static_cast<size_t>(topK) - 1]);
  if (!(topP < 1))
    return std::min(cutoff, falling.front());
  auto power = [&](double logit) { return std::exp((logit - falling.front()) / std::max(temperature, 1e-30)); };
  double whole = 0, part = 0;
  for (double logit : falling)
    whole += logit >= cutoff ? power(logit) : 0;
  for (size_t i = 0; i < falling.size(); ++i) {
    part += power(falling[i]);
    bool isLastOfEquals = i + 1 == falling.size() || falling[i + 1] < falling[i];
    if (isLastOfEquals && part >= topP * whole)
      return std::max(cutoff, falling[i]);
  }
  return std::min(cutoff, falling.front());
}

static void draw(DrawOp op, Frame &frame) {
  const Array &logits = frame.get(op.getLogits()), &temperatures = frame.get(op.getTemperature());
  const Array &topK = frame.get(op.getTopK()), &topP = frame.get(op.getTopP());
  const Array &low = frame.get(op.getKeyLow()), &high = frame.get(op.getKeyHigh());
  Array &token = frame.make(op.getToken()), &cutoff = frame.make(op.getCutoff());
  int64_t columns = logits.shape[1];
  for (int64_t row = 0; row < logits.shape[0]; ++row) {
    ArrayRef<double> own(logits.numbers.data() + row * columns, static_cast<size_t>(columns));
    double temperature = temperatures(row), largest = *llvm::max_element(own);
    token(row) = -1;
    if (llvm::any_of(own, [](double x) { return std::isnan(x); }) || (std::isinf(largest) && largest < 0))
      continue;
    cutoff(row) = cutoffOf(own, temperature, topK.whole(row), topP(row));
    double best = -INFINITY;
    for (int64_t column = 0; column < columns; ++column) {
      double logit = own[static_cast<size_t>(column)], score = logit;
      if (temperature > 0)
        score = (logit - largest) / temperature +
                noise(uniform({static_cast<uint32_t>(low.whole(row)), static_cast<uint32_t>(high.whole(row))}, 0, 0, 0,
                              static_cast<uint32_t>(column)));
      if (logit >= cutoff(row) && score > best) {
        best = score;
        token(row) = static_cast<double>(column);
      }
    }
  }
}

static LogicalResult penalise(PenaliseOp op, Frame &frame) {
  const Array &rows = frame.get(op.getRows()), &columns = frame.get(op.getColumns()),
              &penalties = frame.get(op.getPenalties());
  Array &result = frame.set(op.getResult(), frame.get(op.getLogits()));
  for (int64_t i = 0; i < rows.size(); ++i) {
    int64_t row = rows.whole(i), column = columns.whole(i);
    if (row < 0 || row >= result.shape[0] || column < 0 || column >= result.shape[1])
      return op.emitOpError() << "has the place " << row << ", " << column << " of " << result.shape[0] << " x "
                              << result.shape[1];
    double &logit = result(row, column);
    logit = logit < 0 ? logit * penalties(i) : logit / penalties(i);
  }
  return success();
}

void reference::addDrawing(Registry &registry) { registry.add<gumbel, draw, penalise>(); }
