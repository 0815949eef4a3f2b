// Gradients of elementwise ops and of lookups.
#include "test/compiler/Reference/GradientChecks.h"

namespace heddle::test {
namespace {

Check unary(const std::string &op, double from = -0.5) {
  return [=](Program &p) {
    for (const Dims &dims : {Dims{"tokens", p.shape().columns()}, Dims{p.shape().columns()}, Dims{"tokens"},
                             Dims{"tokens", p.shape().heads, p.shape().width}}) {
      std::string name = "x" + std::to_string(dims.size()) + dims[0].size, x = p.weight(name, dims, from);
      p.line("%y_" + name + " = " + op + " " + x + ofType(dims));
      p.addLoss("%y_" + name, dims);
    }
  };
}

Check binary(const std::string &op, double from = -0.5) {
  return [=](Program &p) {
    Dims dims{"tokens", p.shape().columns()};
    std::string x = p.weight("x", dims), y = p.weight("y", dims, from);
    p.line("%z = " + op + " " + x + ", " + y + ofType(dims));
    p.line("%same = " + op + " " + y + ", " + y + ofType(dims));
    p.addLoss("%z", dims);
    p.addLoss("%same", dims);
  };
}

// For distinct numbers, like those of a weight.
Check extremum(const std::string &op) {
  return [=](Program &p) {
    int64_t columns = p.shape().columns();
    Dims both{"tokens", 2 * columns}, dims{"tokens", columns};
    std::string weight = p.weight("both", both);
    for (auto [name, from] : {std::pair("x", int64_t(0)), {"y", columns}})
      p.line("%" + std::string(name) + " = heddle.columns " + weight + " from " + std::to_string(from) + ofType(both) +
             " -> " + Program::type(dims));
    p.line("%z = " + op + " %x, %y" + ofType(dims));
    p.addLoss("%z", dims);
  };
}

void select(Program &p) {
  Dims dims{"tokens", p.shape().columns()};
  std::string x = p.weight("x", dims), y = p.weight("y", dims), of = p.randomInput("of", dims);
  p.line("%zero = heddle.fill 0.0 : f32" + ofType(dims));
  p.line("%condition = arith.cmpf ogt, " + of + ", %zero" + ofType(dims));
  p.line("%z = arith.select %condition, " + x + ", " + y + " : " + Program::type(dims, "i1") + ", " +
         Program::type(dims));
  p.addLoss("%z", dims);
}

void broadcast(Program &p) {
  int64_t heads = p.shape().heads, width = p.shape().width, columns = p.shape().columns();
  const std::vector<std::pair<Dims, Dims>> cases = {
      {{1}, {columns}},
      {{1}, {"tokens"}},
      {{1}, {"tokens", columns}},
      {{1}, {3, columns}},
      {{1}, {"tokens", heads, width}},
      {{1}, {5, heads, width}},
      {{columns}, {"tokens", columns}},
      {{columns}, {3, columns}},
      {{width}, {"tokens", heads, width}},
      {{width}, {5, heads, width}},
      {{"tokens"}, {"tokens", columns}},
      {{"tokens"}, {"tokens", heads, width}},
      {{"tokens", heads}, {"tokens", heads, width}},
      {{5, heads}, {5, heads, width}},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    auto [from, to] = cases[i];
    std::string name = "x" + std::to_string(i), x = p.weight(name, from);
    p.line("%y" + name + " = heddle.broadcast " + x + ofType(from) + " to " + Program::type(to));
    p.line("%square" + name + " = arith.mulf %y" + name + ", %y" + name + ofType(to));
    p.addLoss("%square" + name, to);
  }
}

void stopGradient(Program &p) {
  Dims dims{"tokens", p.shape().columns()};
  std::string x = p.weight("x", dims), z = p.ignoredWeight("z", dims);
  p.line("%stopped = heddle.stop_gradient " + z + ofType(dims));
  p.line("%y = arith.mulf " + x + ", %stopped" + ofType(dims));
  p.addLoss("%y", dims);
}

void embedding(Program &p) {
  int64_t columns = p.shape().columns(), tokens = p.extent("tokens"), keys = p.extent("keys");
  std::vector<double> some, keysOfTokens;
  for (int64_t i = 0; i < tokens; ++i) { // some rows several times, some never
    some.push_back(static_cast<double>(i * i % 4));
    keysOfTokens.push_back(static_cast<double>(i * 3 % keys));
  }
  std::string indices = p.input("indices", {"tokens"}, some), others = p.input("others", {"tokens"}, keysOfTokens);
  auto add = [&](const std::string &name, const std::string &rows, const Dims &table, const Dims &result) {
    std::string weight = p.weight(name, table);
    p.line("%y_" + name + " = heddle.embedding " + rows + ", " + weight + " : " + Program::type({"tokens"}, "i32") +
           ", " + Program::type(table) + " -> " + Program::type(result));
    p.line("%square_" + name + " = arith.mulf %y_" + name + ", %y_" + name + ofType(result));
    p.addLoss("%square_" + name, result);
  };
  add("table", indices, {5, columns}, {"tokens", columns});
  add("numbers", indices, {5}, {"tokens"});
  add("rows", others, {"keys", columns}, {"tokens", columns});
  add("column", others, {"keys"}, {"tokens"});
}

void rotary(Program &p) {
  int64_t pairs = p.shape().width, columns = 2 * p.shape().columns();
  Dims dims{"tokens", columns};
  std::vector<double> positions;
  for (int64_t i = 0; i < p.extent("tokens"); ++i)
    positions.push_back(static_cast<double>(3 * i));
  std::string at = p.input("at", {"tokens"}, positions), half = p.randomInput("half", {pairs});
  std::vector<double> twice;
  for (int64_t pair = 0; pair < pairs; ++pair)
    twice.insert(twice.end(), 2, 0.3 * static_cast<double>(pair) + 0.1);
  std::string each = p.input("each", {2 * pairs}, twice, "f32");
  int next = 0;
  // In the last case, heads have as many further columns that do not turn.
  const std::string partly = "{head_width = " + std::to_string(4 * pairs) + " : i64}";
  for (const std::string &flags : {std::string(), std::string("{inverse}"), std::string("{neighbours}"),
                                   std::string("{inverse, neighbours}"), partly}) {
    if (flags == partly)
      dims.back() = Dim(2 * columns);
    std::string name = "x" + std::to_string(next++), x = p.weight(name, dims);
    bool hasEach = flags.find("neighbours") != std::string::npos;
    p.line("%y_" + name + " = heddle.rotary " + x + " at " + at + " by " + (hasEach ? each : half) + " " + flags +
           ofType(dims) + ", " + Program::type({"tokens"}, "i32") + ", " +
           Program::type({hasEach ? 2 * pairs : pairs}));
    p.addLoss("%y_" + name, dims);
  }
}

void dropout(Program &p) {
  addSeed(p);
  int next = 0;
  for (const Dims &dims : {Dims{"tokens", p.shape().columns()}, Dims{"tokens", p.shape().heads, p.shape().width},
                           Dims{p.shape().columns()}, Dims{"tokens"}}) {
    std::string name = "x" + std::to_string(next++), x = p.weight(name, dims);
    p.line("%y_" + name + " = heddle.dropout " + x + " seed %seed step %drawn {rate = 0.4 : f32, stream = 7 : i32}" +
           ofType(dims));
    p.addLoss("%y_" + name, dims);
  }
}

} // namespace

void addElementwiseChecks(Checks &checks) {
  checks.insert({
      {"arith.addf", binary("arith.addf")},
      {"arith.subf", binary("arith.subf")},
      {"arith.mulf", binary("arith.mulf")},
      {"arith.divf", binary("arith.divf", 0.5)},
      {"arith.negf", unary("arith.negf")},
      {"arith.maximumf", extremum("arith.maximumf")},
      {"arith.minimumf", extremum("arith.minimumf")},
      {"arith.select", select},
      {"math.erf", unary("math.erf")},
      {"math.exp", unary("math.exp")},
      {"math.log", unary("math.log", 0.5)},
      {"math.rsqrt", unary("math.rsqrt", 0.5)},
      {"math.sqrt", unary("math.sqrt", 0.5)},
      {"math.tanh", unary("math.tanh")},
      {"heddle.broadcast", broadcast},
      {"heddle.dropout", dropout},
      {"heddle.embedding", embedding},
      {"heddle.rotary", rotary},
      {"heddle.stop_gradient", stopGradient},
  });
}

} // namespace heddle::test
