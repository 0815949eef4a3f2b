// Gradients of matmuls and sums, and of rows that are sliced, written and renamed.
#include "test/compiler/Reference/GradientChecks.h"

namespace heddle::test {
namespace {

void matmul(Program &p) {
  int64_t columns = p.shape().columns(), other = p.shape().width + 2;
  struct Case {
    Dims a, b, result;
    std::string flags;
  };
  const std::vector<Case> cases = {
      {{"tokens", columns}, {columns, other}, {"tokens", other}, ""},
      {{"tokens", columns}, {other, columns}, {"tokens", other}, " {transpose_rhs}"},
      {{"tokens", columns}, {"tokens", other}, {columns, other}, " {transpose_lhs}"},
      {{columns, 3}, {columns, other}, {3, other}, " {transpose_lhs}"},
      {{columns, 3}, {other, columns}, {3, other}, " {transpose_lhs, transpose_rhs}"},
      {{"tokens", columns}, {columns, 1}, {"tokens", 1}, ""},
  };
  int next = 0;
  for (const Case &c : cases) {
    std::string id = std::to_string(next++), a = p.weight("a" + id, c.a), b = p.weight("b" + id, c.b);
    p.line("%y" + id + " = heddle.matmul " + a + ", " + b + c.flags + ofType(c.a) + ", " + Program::type(c.b) + " -> " +
           Program::type(c.result));
    p.addLoss("%y" + id, c.result);
  }
}

void project(Program &p) {
  int64_t columns = p.shape().columns(), other = p.shape().width;
  for (int64_t count = 1; count <= 3; ++count) {
    std::string id = std::to_string(count);
    Dims input{"tokens", columns}, weights{count * columns, other}, biases{count * other}, result{"tokens", other};
    std::string x = p.weight("x" + id, input), w = p.weight("w" + id, weights), b = p.weight("b" + id, biases), types;
    for (int64_t i = 0; i < count; ++i)
      types += (i > 0 ? ", " : "") + Program::type(result);
    p.line("%y" + id + ":" + id + " = heddle.project " + x + ", " + w + ", " + b + ofType(input) + ", " +
           Program::type(weights) + ", " + Program::type(biases) + " -> " + types);
    for (int64_t i = 0; i < count; i += 2) // nothing depends on the second one
      p.addLoss("%y" + id + "#" + std::to_string(i), result);
  }
}

void sum(Program &p) {
  int64_t heads = p.shape().heads, width = p.shape().width, columns = p.shape().columns();
  struct Case {
    std::string how;
    Dims from, to;
  };
  const std::vector<Case> cases = {
      {"rows", {"tokens", columns}, {columns}},
      {"columns", {"tokens", columns}, {"tokens"}},
      {"rows", {3, columns}, {columns}},
      {"columns", {1, columns}, {1}},
      {"rows", {"tokens"}, {1}},
      {"columns", {columns}, {1}},
      {"rows", {"tokens", heads, width}, {columns}},
      {"columns", {"tokens", heads, width}, {"tokens"}},
      {"columns", {"tokens", heads, width}, {"tokens", heads}},
      {"rows", {5, heads, width}, {columns}},
      {"columns", {5, heads, width}, {5, heads}},
      {"columns", {1, heads, width}, {1}},
  };
  int next = 0;
  for (const Case &c : cases) {
    std::string id = std::to_string(next++), x = p.weight("x" + id, c.from);
    p.line("%y" + id + " = heddle.sum " + c.how + " " + x + ofType(c.from) + " -> " + Program::type(c.to));
    p.line("%square" + id + " = arith.mulf %y" + id + ", %y" + id + ofType(c.to));
    p.addLoss("%square" + id, c.to);
  }
}

void layerNorm(Program &p) {
  Dims dims{"tokens", p.shape().columns()}, row{p.shape().columns()};
  std::string x = p.weight("x", dims), gamma = p.weight("gamma", row, 0.5), beta = p.weight("beta", row);
  p.line("%y, %mean, %rstd = heddle.layer_norm " + x + ", " + gamma + ", " + beta + " {epsilon = 1.0e-3 : f32}" +
         ofType(dims) + ", " + Program::type(row) + ", " + Program::type(row) + " -> " + Program::type({"tokens"}));
  p.addLoss("%y", dims);
}

void crossEntropy(Program &p) {
  Dims dims{"tokens", p.shape().columns()};
  std::vector<double> classes;
  for (int64_t i = 0; i < p.extent("tokens"); ++i)
    classes.push_back(static_cast<double>(i * 5 % p.shape().columns()));
  std::string targets = p.input("targets", {"tokens"}, classes);
  for (const std::string smoothing : {"0.0", "0.1"}) {
    std::string name = smoothing == "0.0" ? "sharp" : "smooth", x = p.weight(name, dims);
    p.line("%loss_" + name + ", %lse_" + name + " = heddle.cross_entropy " + x + ", " + targets +
           " {smoothing = " + smoothing + " : f32}" + ofType(dims) + ", " + Program::type({"tokens"}, "i32") + " -> " +
           Program::type({"tokens"}));
    p.addLoss("%loss_" + name, {"tokens"});
  }
}

void scatterAdd(Program &p) {
  std::vector<double> some;
  for (int64_t i = 0; i < p.extent("tokens"); ++i)
    some.push_back(static_cast<double>(i * i % 4));
  std::string indices = p.input("indices", {"tokens"}, some);
  Dims table{5, p.shape().columns()}, rows{"tokens", p.shape().columns()};
  std::string destination = p.weight("destination", table), added = p.weight("added", rows);
  p.line("%y = heddle.scatter_add " + destination + ", " + indices + ", " + added + ofType(table) + ", " +
         Program::type({"tokens"}, "i32") + ", " + Program::type(rows));
  p.line("%square = arith.mulf %y, %y" + ofType(table));
  p.addLoss("%square", table);
}

void segment(Program &p) {
  p.addSequences();
  Dims from{"tokens", p.shape().columns()}, to{"sequences", p.shape().columns()};
  for (const std::string pool : {"sum", "max", "min"}) {
    std::string x = p.weight(pool, from), chosen = pool == "sum" ? "" : ", %where_" + pool;
    p.line("%y_" + pool + chosen + " = heddle.segment " + pool + " " + x +
           " segments(%starts, %lengths) {row_size = \"length\"}" + ofType(from) + ", " +
           Program::type({"sequences"}, "i32") + " -> " + Program::type(to) +
           (chosen.empty() ? "" : ", " + Program::type(to, "i32")));
    p.addLoss("%y_" + pool, to);
  }
}

void slice(Program &p) {
  int64_t heads = p.shape().heads, width = p.shape().width, columns = p.shape().columns();
  struct Case {
    Dims from, to;
    int64_t first;
  };
  const std::vector<Case> cases = {{{5, columns}, {3, columns}, 1},
                                   {{5, columns}, {5, columns}, 0},
                                   {{columns + 1}, {columns}, 1},
                                   {{columns + 1}, {1}, columns},
                                   {{3, heads, width}, {1, heads, width}, 2}};
  int next = 0;
  for (const Case &c : cases) {
    std::string id = std::to_string(next++), x = p.weight("x" + id, c.from);
    p.line("%y" + id + " = heddle.slice " + x + " from " + std::to_string(c.first) + ofType(c.from) + " to " +
           Program::type(c.to));
    p.addLoss("%y" + id, c.to);
  }
}

void reshape(Program &p) {
  int64_t heads = p.shape().heads, width = p.shape().width, columns = p.shape().columns();
  const std::vector<std::pair<Dims, Dims>> cases = {{{"tokens", columns}, {"tokens", heads, width}},
                                                    {{"tokens", heads, width}, {"tokens", columns}},
                                                    {{"tokens"}, {"tokens", 1}},
                                                    {{3, columns}, {3 * columns}},
                                                    {{3, columns}, {columns, 3}}};
  for (size_t i = 0; i < cases.size(); ++i) {
    std::string id = std::to_string(i), x = p.weight("x" + id, cases[i].first);
    p.line("%y" + id + " = heddle.reshape " + x + ofType(cases[i].first) + " to " + Program::type(cases[i].second));
    p.addLoss("%y" + id, cases[i].second);
  }
}

} // namespace

void addSumChecks(Checks &checks) {
  checks.insert({
      {"heddle.cross_entropy", crossEntropy},
      {"heddle.layer_norm", layerNorm},
      {"heddle.matmul", matmul},
      {"heddle.project", project},
      {"heddle.reshape", reshape},
      {"heddle.scatter_add", scatterAdd},
      {"heddle.segment", segment},
      {"heddle.slice", slice},
      {"heddle.sum", sum},
  });
}

} // namespace heddle::test
