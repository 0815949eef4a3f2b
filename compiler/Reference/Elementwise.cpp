// Elementwise ops.
#include "compiler/Reference/Philox.h"
#include "compiler/Reference/Registry.h"

#include <cmath>

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::reference;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static void fill(FillOp op, Frame &frame) {
  double number = 0;
  if (auto value = dyn_cast<FloatAttr>(op.getValue()))
    number = value.getValueAsDouble();
  else if (auto value = cast<IntegerAttr>(op.getValue()); value.getType().isInteger(1))
    number = value.getValue().isZero() ? 0 : 1;
  else
    number = static_cast<double>(value.getInt());
  for (double &element : frame.make(op.getResult()).numbers)
    element = number;
}

static void iota(IotaOp op, Frame &frame) {
  Array &result = frame.make(op.getResult());
  auto dim = static_cast<size_t>(op.getDim());
  int64_t inner = Array::count(ArrayRef(result.shape).drop_front(dim + 1));
  for (int64_t i = 0; i < result.size(); ++i)
    result(i) = static_cast<double>(i / inner % result.shape[dim]);
}

static void broadcast(BroadcastOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput());
  Array &result = frame.make(op.getResult());
  RankedTensorType type = typeOf(op.getInput());
  bool isScalar = type.getShape() == ArrayRef<int64_t>{1};
  int64_t rows = result.rows(), width = result.width(), last = result.shape.back();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < width; ++column) {
      int64_t from = column % last; // a row is repeated
      if (isScalar)
        from = 0;
      else if (type.getRank() == 2)
        from = row * type.getDimSize(1) + column / last; // a number for each part of a row
      else if (isColumn(type))
        from = row;
      result(row * width + column) = input(from);
    }
}

static void stopGradient(StopGradientOp op, Frame &frame) { frame.set(op.getResult(), frame.get(op.getInput())); }

static LogicalResult embedding(EmbeddingOp op, Frame &frame) {
  const Array &indices = frame.get(op.getIndices()), &table = frame.get(op.getTable());
  Array &result = frame.make(op.getResult());
  int64_t width = table.width();
  for (int64_t row = 0; row < result.rows(); ++row) {
    int64_t index = indices.whole(row);
    if (index < 0 || index >= table.rows())
      return op.emitError() << "takes row " << index << " of " << table.rows();
    for (int64_t column = 0; column < width; ++column)
      result(row * width + column) = table(index * width + column);
  }
  return success();
}

/// Returns an element of a matrix of `columns` columns that may be stored in panels of them.
static double elementAt(const Array &stored, int64_t columns, int64_t row, int64_t column) {
  int64_t ofPanel = stored.shape[1], panels = columns / ofPanel;
  return panels < 2 ? stored(row, column)
                    : stored(column / ofPanel * (stored.shape[0] / panels) + row, column % ofPanel);
}

/// Returns the bits of one number. Word r of a column holds the rows from r * 32 / bits on, the first in its lowest
/// bits.
static int64_t bitsAt(const Array &words, int64_t bits, int64_t columns, int64_t row, int64_t column) {
  int64_t numbers = 32 / bits;
  auto word = static_cast<uint32_t>(static_cast<int32_t>(elementAt(words, columns, row / numbers, column)));
  return (word >> (row % numbers * bits)) & ((1u << bits) - 1);
}

static void dequantize(DequantizeOp op, Frame &frame) {
  const Array &words = frame.get(op.getWords());
  const Array *high = op.getHigh() ? &frame.get(op.getHigh()) : nullptr;
  const Array *table = op.getTable() ? &frame.get(op.getTable()) : nullptr;
  Array &result = frame.make(op.getResult());
  auto bits = static_cast<int64_t>(op.getBits()), highBits = static_cast<int64_t>(op.getHighBits());
  int64_t sign = op.getIsUnsigned() ? 0 : int64_t(1) << (bits + highBits - 1);
  auto ofGroup = [&](Value values, int64_t row, int64_t column) {
    const Array &groups = frame.get(values);
    auto [rows, columns] = op.getGroup();
    return elementAt(groups, result.shape[1] / columns, row / rows, column / columns);
  };
  for (int64_t row = 0; row < result.shape[0]; ++row)
    for (int64_t column = 0; column < result.shape[1]; ++column) {
      int64_t number = bitsAt(words, bits, result.shape[1], row, column);
      if (high)
        number |= bitsAt(*high, highBits, result.shape[1], row, column) << bits;
      double value = table ? (*table)(number) : static_cast<double>((number ^ sign) - sign);
      if (op.getScales())
        value *= ofGroup(op.getScales(), row, column);
      if (op.getOffsets())
        value += ofGroup(op.getOffsets(), row, column);
      result(row, column) = value;
    }
}

static void joinPanels(JoinPanelsOp op, Frame &frame) {
  const Array &panels = frame.get(op.getPanels());
  Array &result = frame.make(op.getResult());
  for (int64_t row = 0; row < result.shape[0]; ++row)
    for (int64_t column = 0; column < result.shape[1]; ++column)
      result(row, column) = elementAt(panels, result.shape[1], row, column);
}

static void sumParts(SumPartsOp op, Frame &frame) {
  const Array &parts = frame.get(op.getParts());
  Array &result = frame.make(op.getResult());
  for (int64_t row = 0; row < parts.shape[0]; ++row)
    for (int64_t part = 0; part < parts.shape[1]; ++part)
      for (int64_t column = 0; column < parts.shape[2]; ++column)
        result(row, column) += parts(row, part, column);
}

static LogicalResult densify(DensifyOp op, Frame &frame) {
  const Array &places = frame.get(op.getPlaces()), &rows = frame.get(op.getRows());
  Array &result = frame.make(op.getResult());
  for (int64_t row = 0; row < result.shape[0]; ++row) {
    int64_t place = places.whole(row);
    if (place >= rows.rows())
      return op.emitError() << "takes row " << place << " of " << rows.rows();
    for (int64_t column = 0; place >= 0 && column < result.shape[1]; ++column)
      result(row, column) = rows(place, column);
  }
  return success();
}

static void sinusoid(SinusoidOp op, Frame &frame) {
  const Array &positions = frame.get(op.getPositions());
  Array &result = frame.make(op.getResult());
  int64_t width = result.shape[1];
  for (int64_t row = 0; row < result.shape[0]; ++row)
    for (int64_t column = 0; column < width; ++column) {
      int64_t pair = op.getHalves() ? column % (width / 2) : column / 2;
      bool isSine = op.getHalves() ? column < width / 2 : column % 2 == 0;
      double angle = positions(row) / std::pow(10000.0, 2.0 * static_cast<double>(pair) / static_cast<double>(width));
      result(row, column) = isSine ? std::sin(angle) : std::cos(angle);
    }
}

static void numbers(NumbersOp op, Frame &frame) {
  Array &result = frame.make(op.getResult());
  for (auto [i, number] : llvm::enumerate(op.getValues()))
    result(static_cast<int64_t>(i)) = number;
}

static void rotary(RotaryOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput()), &positions = frame.get(op.getPositions()),
              &frequencies = frame.get(op.getFrequencies());
  Array &result = frame.make(op.getResult());
  // Pairs are columns `first` and `first + distance` of a head.
  int64_t head = op.getHeadColumns(), turned = op.getTurnedColumns(), distance = op.getNeighbours() ? 1 : turned / 2;
  for (int64_t row = 0; row < input.shape[0]; ++row)
    for (int64_t begin = 0; begin < input.shape[1]; begin += head) {
      for (int64_t column = begin + turned; column < begin + head; ++column)
        result(row, column) = input(row, column);
      for (int64_t pair = 0; pair < turned / 2; ++pair) {
        int64_t inHead = op.getNeighbours() ? 2 * pair : pair, first = begin + inHead;
        double angle = positions(row) * frequencies(inHead) * (op.getInverse() ? -1 : 1);
        double a = input(row, first), b = input(row, first + distance);
        result(row, first) = a * std::cos(angle) - b * std::sin(angle);
        result(row, first + distance) = b * std::cos(angle) + a * std::sin(angle);
      }
    }
}

static void dropout(DropoutOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput()), &seed = frame.get(op.getSeed()), &step = frame.get(op.getStep());
  Array &result = frame.make(op.getResult());
  double rate = op.getRate().convertToDouble();
  bool hasHeads = input.shape.size() == 3;
  RankedTensorType type = typeOf(op.getInput());
  for (int64_t i = 0; i < input.size(); ++i) {
    int64_t columns = input.shape.back(), row = i / input.width(), column = i % columns;
    if (type.getRank() == 1) { // a vector is a row or a column
      row = isColumn(type) ? i : 0;
      column = isColumn(type) ? 0 : i;
    }
    auto stream = static_cast<uint32_t>(op.getStream());
    if (hasHeads)
      stream = ((stream + 1) << 16) + static_cast<uint32_t>(i / columns % input.shape[1]);
    double drawn = uniform(keyOf(seed), static_cast<uint32_t>(step.whole(0)), stream, static_cast<uint32_t>(row),
                           static_cast<uint32_t>(column));
    result(i) = drawn >= rate ? input(i) / (1 - rate) : 0;
  }
}

static void randomNumbers(heddle::RandomOp op, Frame &frame) {
  const Array &seed = frame.get(op.getSeed());
  Array &result = frame.make(op.getResult());
  double scale = op.getScale().convertToDouble();
  auto stream = static_cast<uint32_t>(op.getStream());
  for (int64_t i = 0; i < result.size(); ++i) {
    // In a tensor of three dimensions the columns of all parts lie side by side. A vector is one row.
    int64_t width = result.shape.size() == 1 ? result.size() : result.width();
    auto row = static_cast<uint32_t>(i / width), column = static_cast<uint32_t>(i % width);
    double first = uniform(keyOf(seed), 0, stream, row, column);
    if (op.getDistribution() == Distribution::Uniform) {
      result(i) = (2 * first - 1) * scale;
      continue;
    }
    double second = uniform(keyOf(seed), 0, ~stream, row, column); // the angle of Box and Muller
    result(i) = std::sqrt(-2 * std::log(1 - first)) * std::cos(2 * M_PI * second) * scale;
  }
}

/// The finalizer of MurmurHash3.
static uint32_t mix(uint32_t x) {
  x = (x ^ x >> 16) * 0x85EBCA6B;
  x = (x ^ x >> 13) * 0xC2B2AE35;
  return x ^ x >> 16;
}

/// Rounds to bf16: adds 16 bits, `added`, to the bits of the f32, and then cuts off its lower 16 bits.
static double roundToBF16(double value, uint32_t added) {
  auto bits = llvm::bit_cast<uint32_t>(static_cast<float>(value));
  return std::isnan(value) ? value : llvm::bit_cast<float>((bits + added) & 0xFFFF0000);
}

static void adam(AdamOp op, Frame &frame) {
  auto number = [&](Value scalar) { return frame.get(scalar)(0); };
  double rate = number(op.getRate()), scale = number(op.getGradientScale());
  double correction1 = number(op.getFirstCorrection()), correction2 = number(op.getSecondCorrection());
  double beta1 = op.getBeta1().convertToDouble(), beta2 = op.getBeta2().convertToDouble();
  double epsilon = op.getEpsilon().convertToDouble(), decay = op.getDecay() ? op.getDecay()->convertToDouble() : 0;
  const Array &weight = frame.get(op.getWeight()), &gradient = frame.get(op.getGradient());
  const Array &first = frame.get(op.getFirstMoment()), &second = frame.get(op.getSecondMoment());
  const Array *average = op.getAverage() ? &frame.get(op.getAverage()) : nullptr;
  Array &newWeight = frame.make(op.getNewWeight()), &newFirst = frame.make(op.getNewFirstMoment());
  Array &newSecond = frame.make(op.getNewSecondMoment());
  Array *newAverage = average ? &frame.make(op.getNewAverage()) : nullptr;
  bool isSkipped = op.getSkips() && !(scale > 0);
  uint32_t key = op.getStep() ? mix(static_cast<uint32_t>(frame.get(op.getStep()).whole(0)) * 0x9E3779B9) : 0;
  for (int64_t i = 0; i < weight.size(); ++i) {
    double g = gradient(i) * scale;
    newFirst(i) = isSkipped ? first(i) : beta1 * first(i) + (1 - beta1) * g;
    newSecond(i) = isSkipped ? second(i) : beta2 * second(i) + (1 - beta2) * g * g;
    double step = rate * newFirst(i) * correction1 / (std::sqrt(newSecond(i) * correction2) + epsilon);
    newWeight(i) = isSkipped ? weight(i) : weight(i) - step;
    if (average)
      (*newAverage)(i) = isSkipped ? (*average)(i) : decay * (*average)(i) + (1 - decay) * newWeight(i);
    if (op.getStep()) {
      uint32_t random = mix(llvm::bit_cast<uint32_t>(static_cast<float>(weight(i))) ^ key);
      newFirst(i) = roundToBF16(newFirst(i), random >> 16);
      newSecond(i) = roundToBF16(newSecond(i), random & 0xFFFF);
    }
  }
}

void reference::addElementwise(Registry &registry) {
  registry.add<fill, iota, broadcast, stopGradient, embedding, dequantize, joinPanels, sumParts, densify, sinusoid,
               numbers, rotary, dropout, randomNumbers, adam>();
}
