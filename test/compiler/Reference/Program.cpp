#include "test/compiler/Reference/Program.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

namespace heddle::test {

using mlir::heddle::reference::Array;

namespace {

int64_t sumOf(const std::vector<int64_t> &lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
}

std::vector<double> startsOf(const std::vector<int64_t> &lengths) {
  std::vector<double> starts;
  double next = 0;
  for (int64_t length : lengths) {
    starts.push_back(next);
    next += static_cast<double>(length);
  }
  return starts;
}

std::string number(int64_t value) { return std::to_string(value); }

} // namespace

int64_t Shape::longestKey() const { return *std::max_element(keyLengths.begin(), keyLengths.end()); }

std::string Shape::describe() const {
  std::string text = "sequences of";
  for (int64_t length : lengths)
    text += " " + number(length);
  text += ", keys";
  for (int64_t length : keyLengths)
    text += " " + number(length);
  return text + ", " + number(heads) + " heads (" + number(keyHeads) + " of keys) of " + number(width);
}

Program::Program(const Shape &shape) : batch(shape) {
  int64_t longest = *std::max_element(shape.lengths.begin(), shape.lengths.end());
  declarations = "heddle.size @tokens max " + number(sumOf(shape.lengths)) + "\n" +                          //
                 "heddle.size @keys max " + number(sumOf(shape.keyLengths)) + "\n" +                         //
                 "heddle.size @sequences max " + number(static_cast<int64_t>(shape.lengths.size())) + "\n" + //
                 "heddle.size @pixels max " + number(4 * shape.pixelBlocks()) + "\n" +                       //
                 "heddle.size @pixel_blocks max " + number(shape.pixelBlocks()) + "\n" +                     //
                 "heddle.size @length max " + number(longest) + " longest \"lengths\"\n" +                   //
                 "heddle.size @key_length max " + number(shape.longestKey()) + " longest \"key_lengths\"\n" +
                 "heddle.size @step max " + number(static_cast<int64_t>(shape.lengths.size())) +
                 " of @sequences from 0\n";
}

int64_t Program::extent(const Dim &dim) const {
  if (dim.size.empty())
    return dim.extent;
  if (dim.size == "tokens")
    return sumOf(batch.lengths);
  if (dim.size == "pixels" || dim.size == "pixel_blocks")
    return batch.pixelBlocks() * (dim.size == "pixels" ? 4 : 1);
  return dim.size == "keys" ? sumOf(batch.keyLengths) : static_cast<int64_t>(batch.lengths.size());
}

std::string Program::type(const Dims &dims, const std::string &element) {
  std::string text = "tensor<", size;
  for (const Dim &dim : dims) {
    text += (dim.size.empty() ? number(dim.extent) : "?") + "x";
    if (!dim.size.empty())
      size = ", #heddle.dims<\"" + dim.size + "\">";
  }
  return text + element + size + ">";
}

Array Program::array(const Dims &dims) const {
  mlir::SmallVector<int64_t> shape;
  for (const Dim &dim : dims)
    shape.push_back(extent(dim));
  return Array(shape);
}

std::string Program::input(const std::string &name, const Dims &dims, const std::vector<double> &numbers,
                           const std::string &element) {
  Array value = array(dims);
  assert(value.numbers.size() == numbers.size() && "an input of its shape");
  value.numbers = numbers;
  values.push_back(value);
  arguments += (arguments.empty() ? "" : ",\n    ") + ("%" + name) + ": " + type(dims, element) + " {heddle.name = \"" +
               name + "\"}";
  return "%" + name;
}

std::string Program::randomInput(const std::string &name, const Dims &dims) {
  std::vector<double> numbers(array(dims).numbers.size());
  for (double &value : numbers)
    value = std::uniform_real_distribution<double>(-1, 1)(generator);
  return input(name, dims, numbers, "f32");
}

void Program::addSequences() {
  auto add = [&](const std::string &prefix, const std::vector<int64_t> &lengths) {
    input(prefix + "starts", {"sequences"}, startsOf(lengths));
    input(prefix + "lengths", {"sequences"}, {lengths.begin(), lengths.end()});
  };
  add("", batch.lengths);
  add("key_", batch.keyLengths);
}

std::string Program::rowsOf(const std::string &size) {
  std::string &known = permutations[size];
  if (known.empty()) {
    std::vector<double> rows(static_cast<size_t>(extent(Dim(size.c_str()))));
    std::iota(rows.begin(), rows.end(), 0);
    std::shuffle(rows.begin(), rows.end(), generator);
    known = input("rows_of_" + size, {Dim(size.c_str())}, rows);
  }
  return known;
}

std::string Program::weight(const std::string &name, const Dims &dims, double from) {
  Dims whole = dims;
  whole[0] = extent(dims[0]);
  bool isGathered = !dims[0].size.empty();
  if (isGathered && dims.size() == 3) // tables are matrices
    whole = {whole[0], dims[1].extent * dims[2].extent};
  declarations += "heddle.variable @" + name + " weight : " + type(whole) + "\nheddle.variable @grad." + name +
                  " gradient of @" + name + " as gradient : " + type(whole) + "\n";
  Array value = array(whole);
  // No two values are so close that a small step changes which one is larger.
  std::vector<double> places(value.numbers.size());
  std::iota(places.begin(), places.end(), 0);
  std::shuffle(places.begin(), places.end(), generator);
  for (auto [element, place] : llvm::zip(value.numbers, places))
    element = from + (place + std::uniform_real_distribution<double>(0.25, 0.75)(generator)) /
                         static_cast<double>(places.size());
  start[name] = value;
  std::string read = "%" + name + (isGathered ? "_table" : "");
  line(read + " = heddle.read @" + name + " : " + type(whole));
  if (!isGathered)
    return read;
  Dims gathered = whole;
  gathered[0] = dims[0];
  std::string rows = rowsOf(dims[0].size), result = "%" + name, taken = dims.size() == 3 ? result + "_rows" : result;
  line(taken + " = heddle.embedding " + rows + ", " + read + " : " + type({dims[0]}, "i32") + ", " + type(whole) +
       " -> " + type(gathered));
  if (dims.size() == 3)
    line(result + " = heddle.reshape " + taken + " : " + type(gathered) + " to " + type(dims));
  return result;
}

std::string Program::ignoredWeight(const std::string &name, const Dims &dims) {
  ignored[name] = true;
  return weight(name, dims);
}

std::string Program::sum(const std::string &value, Dims dims) {
  std::string current = value;
  auto reduce = [&](const std::string &how, const Dims &to) {
    std::string result = "%sum_" + std::to_string(next++);
    line(result + " = heddle." + how + " " + current + " : " + type(dims) + (how == "reshape" ? " to " : " -> ") +
         type(to));
    current = result;
    dims = to;
  };
  if (dims.size() == 3 && dims[0].size.empty())
    reduce("reshape", {dims[0], dims[1].extent * dims[2].extent});
  if (dims.size() == 3)
    reduce("sum columns", {dims[0], dims[1]});
  if (dims.size() == 2)
    reduce("sum rows", {dims[1]});
  if (!dims[0].size.empty())
    reduce("sum rows", {1});
  if (dims[0].extent != 1)
    reduce("sum columns", {1});
  return current;
}

void Program::addLoss(const std::string &value, const Dims &dims) {
  std::string id = std::to_string(next++), factor = randomInput("factor_" + id, dims);
  line("%product_" + id + " = arith.mulf " + value + ", " + factor + " : " + type(dims));
  std::string part = sum("%product_" + id, dims);
  if (!loss.empty()) {
    line("%loss_" + id + " = arith.addf " + loss + ", " + part + " : tensor<1xf32>");
    part = "%loss_" + id;
  }
  loss = part;
}

std::string Program::text() const {
  return declarations + "func.func @f(" + arguments + ") -> (tensor<1xf32> {heddle.name = \"loss\"}) {\n" + body +
         "  heddle.accumulate " + loss + "\n  return " + loss + " : tensor<1xf32>\n}\n";
}

} // namespace heddle::test
