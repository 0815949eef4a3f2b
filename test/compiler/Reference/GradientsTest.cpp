// Every differentiable op: the gradients that autodiff makes of it, run in the reference interpreter, against
// differences of the loss. An op without a check fails by its name.
#include "test/compiler/Reference/Program.h"

#include "compiler/Autodiff/ArithGradients.h"
#include "compiler/Autodiff/Differentiate.h"
#include "compiler/Autodiff/ScanGradient.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace heddle::test {
namespace {

using mlir::heddle::reference::Array;
using mlir::heddle::reference::Interpreter;

using Check = std::function<void(Program &)>;

// Odd extents, extents of one, an empty sequence, and one even case. All have as many columns as heads times a head's width.
const std::vector<Shape> kShapes = {
    {{1}, {1}, 1, 1, 1},
    {{3}, {5}, 1, 1, 1},
    {{1, 1, 1}, {3, 1, 2}, 1, 1, 5},
    {{2, 3}, {1, 4}, 3, 1, 1},
    {{5, 1, 3}, {2, 3, 1}, 3, 3, 3},
    {{4}, {7}, 2, 1, 7},
    {{2, 0, 3}, {4, 1, 2}, 4, 2, 2},
};

std::string ofType(const Dims &dims) { return " : " + Program::type(dims); }

//===-- Elementwise -----------------------------------------------------------------------------------------------===//

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

// Of numbers that are all different, as those of one weight are.
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
  for (int64_t i = 0; i < tokens; ++i) { // some rows more than once, some never
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
  for (int64_t i = 0; i < 2 * pairs; ++i)
    twice.push_back(0.3 * static_cast<double>(i / 2) + 0.1);
  std::string each = p.input("each", {2 * pairs}, twice, "f32");
  int next = 0;
  for (const std::string flags : {"", "{inverse}", "{neighbours}", "{inverse, neighbours}"}) {
    std::string name = "x" + std::to_string(next++), x = p.weight(name, dims);
    bool hasEach = flags.find("neighbours") != std::string::npos;
    p.line("%y_" + name + " = heddle.rotary " + x + " at " + at + " by " + (hasEach ? each : half) + " " + flags +
           ofType(dims) + ", " + Program::type({"tokens"}, "i32") + ", " +
           Program::type({hasEach ? 2 * pairs : pairs}));
    p.addLoss("%y_" + name, dims);
  }
}

void addSeed(Program &p) {
  p.input("seed", {2}, {12345, -6});
  p.input("drawn", {1}, {3});
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

//===-- Products and sums -----------------------------------------------------------------------------------------===//

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

//===-- Pairs -----------------------------------------------------------------------------------------------------===//

// The sequences of pairs, and how keys are found: `keyRows` and `users` are empty, or clauses of the assembly with
// types.
struct Pairs {
  std::string sequences, attributes, sequenceTypes;
  std::string keyRows, keyRowTypes, users, userTypes;
};

Pairs addPairs(Program &p) {
  p.addSequences();
  std::string each = Program::type({"sequences"}, "i32"), types = each;
  for (int i = 1; i < 4; ++i)
    types += ", " + each;
  return {"queries(%starts, %lengths) keys(%key_starts, %key_lengths)",
          "{query_size = \"length\", key_size = \"key_length\"}",
          types,
          "",
          "",
          "",
          ""};
}

// Each query is alone and has a list of keys. A shape that has other sequences has no such pairs.
std::optional<Pairs> addListedPairs(Program &p) {
  const Shape &shape = p.shape();
  if (std::ranges::any_of(shape.lengths, [](int64_t length) { return length != 1; }))
    return std::nullopt;
  int64_t sequences = p.extent("sequences"), keys = p.extent("keys"), most = shape.longestKey();
  std::vector<double> lists, starts(shape.lengths.size(), 0), counts(static_cast<size_t>(keys), 0);
  std::vector<double> rows(static_cast<size_t>(keys * sequences), 0), numbers = rows;
  for (int64_t s = 0; s < sequences; ++s)
    for (int64_t i = 0; i < most; ++i) {
      int64_t key = (s * 2 + i) % keys;
      lists.push_back(static_cast<double>(key));
      if (i >= shape.keyLengths[static_cast<size_t>(s)])
        continue;
      double &count = counts[static_cast<size_t>(key)];
      size_t place = static_cast<size_t>(key * sequences) + static_cast<size_t>(count);
      rows[place] = static_cast<double>(s);
      numbers[place] = static_cast<double>(i);
      ++count;
    }
  Pairs pairs = addPairs(p);
  p.input("list_starts", {"sequences"}, starts);
  p.input("lists", {"sequences", most}, lists);
  p.input("user_rows", {"keys", sequences}, rows);
  p.input("user_numbers", {"keys", sequences}, numbers);
  p.input("user_counts", {"keys"}, counts);
  pairs.sequences = "queries(%starts, %lengths) keys(%list_starts, %key_lengths)";
  pairs.attributes = "{query_size = \"\", key_size = \"key_length\"}";
  pairs.keyRows = " rows(%lists)";
  pairs.keyRowTypes = Program::type({"sequences", most}, "i32") + ", ";
  pairs.users = " users(%user_rows, %user_numbers, %user_counts)";
  pairs.userTypes = Program::type({"keys", sequences}, "i32") + ", " + Program::type({"keys", sequences}, "i32") +
                    ", " + Program::type({"keys"}, "i32") + ", ";
  return pairs;
}

struct PairTypes {
  Dims query, key, scores;

  explicit PairTypes(const Program &p)
      : query{"tokens", p.shape().columns()}, key{"keys", p.shape().keyHeads * p.shape().width},
        scores{"tokens", p.shape().heads, p.shape().longestKey()} {}
};

void addScores(Program &p, const Pairs &pairs, const std::string &name) {
  PairTypes types(p);
  std::string q = p.weight("q_" + name, types.query), k = p.weight("k_" + name, types.key);
  p.line("%" + name + " = heddle.scores " + q + ", " + k + pairs.keyRows + pairs.users + " " + pairs.sequences + " " +
         pairs.attributes + " : (" + Program::type(types.query) + ", " + Program::type(types.key) + ", " +
         pairs.keyRowTypes + pairs.userTypes + pairs.sequenceTypes + ") -> " + Program::type(types.scores));
  p.addLoss("%" + name, types.scores);
}

void addCombinedScores(Program &p, const Pairs &pairs, const std::string &name) {
  PairTypes types(p);
  types.key = {"keys", p.shape().columns()};
  Dims row{p.shape().columns()};
  std::string q = p.weight("q_" + name, types.query), k = p.weight("k_" + name, types.key),
              v = p.weight("v_" + name, row);
  p.line("%" + name + " = heddle.scores " + q + ", " + k + pairs.keyRows + " parameters(" + v + ")" + pairs.users +
         " " + pairs.sequences + " combine {\n  ^bb0(%a: f32, %b: f32, %c: f32):\n    %0 = arith.addf %a, %b : f32\n" +
         "    %1 = math.tanh %0 : f32\n    %2 = arith.mulf %1, %c : f32\n    %3 = arith.mulf %a, %2 : f32\n" +
         "    heddle.yield %3 : f32\n  } " + pairs.attributes + " : (" + Program::type(types.query) + ", " +
         Program::type(types.key) + ", " + pairs.keyRowTypes + Program::type(row) + ", " + pairs.userTypes +
         pairs.sequenceTypes + ") -> " + Program::type(types.scores));
  p.addLoss("%" + name, types.scores);
}

void scores(Program &p) {
  std::optional<Pairs> listed = addListedPairs(p);
  Pairs pairs = listed ? *listed : addPairs(p);
  addScores(p, pairs, "product");
  addCombinedScores(p, pairs, "combined");
}

void context(Program &p) {
  std::optional<Pairs> listed = addListedPairs(p);
  Pairs pairs = listed ? *listed : addPairs(p);
  PairTypes types(p);
  std::string weights = p.weight("weights", types.scores), value = p.weight("value", types.key);
  p.line("%y = heddle.context " + weights + ", " + value + pairs.keyRows + pairs.users + " " + pairs.sequences + " " +
         pairs.attributes + " : (" + Program::type(types.scores) + ", " + Program::type(types.key) + ", " +
         pairs.keyRowTypes + pairs.userTypes + pairs.sequenceTypes + ") -> " + Program::type(types.query));
  p.addLoss("%y", types.query);
}

void transposedContext(Program &p) {
  Pairs pairs = addPairs(p);
  PairTypes types(p);
  std::string weights = p.weight("weights", types.scores), x = p.weight("x", types.query);
  p.line("%y = heddle.transposed_context " + weights + ", " + x + " " + pairs.sequences + " " + pairs.attributes +
         " : (" + Program::type(types.scores) + ", " + Program::type(types.query) + ", " + pairs.sequenceTypes +
         ") -> " + Program::type(types.key));
  p.addLoss("%y", types.key);
}

void mask(Program &p) {
  addPairs(p);
  PairTypes types(p);
  std::string position = Program::type({"tokens"}, "i32"), sequences = Program::type({"sequences"}, "i32");
  p.line("%position, %sequence = heddle.locate rows(%starts, %lengths) {row_size = \"length\"} : " + sequences +
         " -> " + position);
  for (const std::string region : {"", "mask {\n  ^bb0(%q: i32, %k: i32):\n    %c = arith.cmpi sle, %k, %q : i32\n"
                                       "    heddle.yield %c : i1\n  } "}) {
    std::string name = region.empty() ? "all" : "causal", x = p.weight(name, types.scores);
    p.line("%y_" + name + " = heddle.mask " + x + " at(%position, %sequence) keys(%key_lengths) " + region +
           "{value = 0.25 : f32}" + ofType(types.scores) + ", " + position + ", " + sequences);
    p.addLoss("%y_" + name, types.scores);
  }
}

void softmax(Program &p) {
  addPairs(p);
  PairTypes types(p);
  std::string position = Program::type({"tokens"}, "i32"), sequences = Program::type({"sequences"}, "i32");
  p.line("%position, %sequence = heddle.locate rows(%starts, %lengths) {row_size = \"length\"} : " + sequences +
         " -> " + position);
  std::string x = p.weight("x", types.scores), z = p.weight("z", types.scores);
  p.line("%y = heddle.softmax " + x + ofType(types.scores));
  p.addLoss("%y", types.scores);
  p.line("%masked = heddle.mask " + z +
         " at(%position, %sequence) keys(%key_lengths) mask {\n  ^bb0(%q: i32, %k: i32):\n" +
         "    %c = arith.cmpi slt, %k, %q : i32\n    heddle.yield %c : i1\n  } {value = 0xFF800000 : f32}" +
         ofType(types.scores) + ", " + position + ", " + sequences);
  p.line("%w = heddle.softmax %masked" + ofType(types.scores));
  p.addLoss("%w", types.scores);
}

void attention(Program &p) {
  Pairs pairs = addPairs(p);
  addSeed(p);
  PairTypes types(p);
  const std::string capped =
      "score {\n  ^bb0(%s: f32, %q: i32, %k: i32, %h: i32):\n    %cap = arith.constant 0.5 : f32\n"
      "    %0 = arith.divf %s, %cap : f32\n    %1 = math.tanh %0 : f32\n    %2 = arith.sitofp %k : i32 to f32\n"
      "    %3 = arith.mulf %1, %2 : f32\n    %4 = arith.addf %3, %s : f32\n    heddle.yield %4 : f32\n  } ";
  const std::string causal =
      "mask {\n  ^bb0(%q: i32, %k: i32):\n    %c = arith.cmpi sle, %k, %q : i32\n    heddle.yield %c : i1\n  } ";
  int next = 0;
  for (auto [regions, drops] :
       {std::pair(std::string(), false), {causal, false}, {capped + causal, true}, {"", true}}) {
    std::string id = std::to_string(next++), q = p.weight("q" + id, types.query);
    std::string k = p.weight("k" + id, types.key), v = p.weight("v" + id, types.key);
    p.line("%y" + id + ", %lse" + id + " = heddle.attention " + q + ", " + k + ", " + v + " " + pairs.sequences + " " +
           (drops ? "dropout(%seed, %drawn) " : "") + regions + "{heads = " + std::to_string(p.shape().heads) +
           " : i64, scale = 0.7 : f32, " + (drops ? "dropout = 0.3 : f32, stream = 2 : i32, " : "") +
           "query_size = \"length\", key_size = \"key_length\"} : (" + Program::type(types.query) + ", " +
           Program::type(types.key) + ", " + Program::type(types.key) + ", " + pairs.sequenceTypes +
           (drops ? ", tensor<2xi32>, tensor<1xi32>" : "") + ") -> (" + Program::type(types.query) + ", " +
           Program::type({"tokens", p.shape().heads}) + ")");
    p.addLoss("%y" + id, types.query);
  }
}

//===-- Columns, windows, recurrence ------------------------------------------------------------------------------===//

void columns(Program &p) {
  Dims whole{"tokens", p.shape().columns() + 3};
  std::string x = p.weight("x", whole);
  int next = 0;
  for (auto [from, count] : {std::pair<int64_t, int64_t>(0, 1),
                             {1, p.shape().columns()},
                             {p.shape().columns() + 2, 1},
                             {0, p.shape().columns() + 3}}) {
    std::string y = "%y" + std::to_string(next++);
    Dims part{"tokens", count};
    p.line(y + " = heddle.columns " + x + " from " + std::to_string(from) + ofType(whole) + " -> " +
           Program::type(part));
    p.addLoss(y, part);
  }
}

void join(Program &p) {
  int64_t columns = p.shape().columns();
  Dims a{"tokens", columns}, b{"tokens", 1}, whole{"tokens", 2 * columns + 1};
  std::string x = p.weight("x", a), y = p.weight("y", b);
  p.line("%whole = heddle.join " + x + ", " + y + ", " + x + ofType(a) + ", " + Program::type(b) + ", " +
         Program::type(a) + " -> " + Program::type(whole));
  p.line("%square = arith.mulf %whole, %whole" + ofType(whole));
  p.addLoss("%square", whole);
}

template <bool folds> void window(Program &p) {
  p.addSequences();
  std::string position = Program::type({"tokens"}, "i32");
  p.line("%position, %sequence = heddle.locate rows(%starts, %lengths) {row_size = \"length\"} : " +
         Program::type({"sequences"}, "i32") + " -> " + position);
  int next = 0;
  for (auto [first, last] : {std::pair(-1, 1), {0, 2}, {-2, -2}, {1, 1}, {0, 0}}) {
    Dims narrow{"tokens", p.shape().columns()}, wide{"tokens", p.shape().columns() * (last - first + 1)};
    Dims from = folds ? wide : narrow, to = folds ? narrow : wide;
    std::string id = std::to_string(next++), x = p.weight("x" + id, from);
    p.line("%y" + id + " = heddle." + (folds ? "fold " : "unfold ") + x + " at %position from " +
           std::to_string(first) + " to " + std::to_string(last) + ofType(from) + ", " + position + " -> " +
           Program::type(to));
    p.addLoss("%y" + id, to);
  }
}

// Of one rank.
void allReduce(Program &p) {
  Dims matrix{3, p.shape().columns()}, row{p.shape().columns()};
  std::string x = p.weight("x", matrix), y = p.weight("y", row);
  p.line("%sum_x, %sum_y = heddle.all_reduce " + x + ", " + y + ofType(matrix) + ", " + Program::type(row));
  p.addLoss("%sum_x", matrix);
  p.addLoss("%sum_y", row);
}

template <bool upwards> void stride(Program &p) {
  Dims all{"pixels", p.shape().columns()}, blocks{"pixel_blocks", p.shape().columns()}, from = upwards ? blocks : all,
                                           to = upwards ? all : blocks;
  for (int row : {0, 1})
    for (int column : {0, 1}) {
      std::string id = std::to_string(row) + std::to_string(column), x = p.weight("x" + id, from);
      p.line("%y" + id + " = heddle." + (upwards ? "upsample " : "subsample ") + x + " width " +
             std::to_string(2 * p.shape().keyHeads) + " stride 2 at (" + std::to_string(row) + ", " + std::to_string(column) + ")" +
             ofType(from) + " -> " + Program::type(to));
      p.addLoss("%y" + id, to);
    }
}

// Elman's network with a gate, whose state at the end and on the way both count; a second state counts the steps.
void scan(Program &p) {
  p.addSequences();
  int64_t columns = p.shape().columns();
  Dims tokens{"tokens", columns}, sequences{"sequences", columns}, weights{columns, columns}, step{"step", columns},
      row{columns};
  std::string stepType = Program::type(step), each = Program::type({"sequences"}, "i32");
  for (const std::string reverse : {"", " reverse"}) {
    std::string id = reverse.empty() ? "on" : "back";
    std::string x = p.weight("x_" + id, tokens), h = p.weight("h_" + id, sequences), u = p.weight("u_" + id, weights);
    std::string b = p.weight("b_" + id, row);
    std::string types = Program::type(tokens) + ", " + Program::type(sequences) + ", " + Program::type(sequences) +
                        ", " + Program::type(weights) + ", " + Program::type(row) + ", " + each + ", " + each;
    p.line("%none_" + id + " = heddle.fill 0.0 : f32" + ofType(sequences));
    p.line("%r_" + id + ":3 = heddle.scan rows(" + x + ") states(" + h + ", %none_" + id + ") constants(" + u + ", " +
           b + ") of(%starts, %lengths)" + reverse + " {row_size = \"length\", step = \"step\"} : (" + types +
           ") -> (" + Program::type(sequences) + ", " + Program::type(sequences) + ", " + Program::type(tokens) +
           ") {\n" + "  ^bb0(%now: " + stepType + ", %state: " + stepType + ", %count: " + stepType +
           ", %w: " + Program::type(weights) + ", %bias: " + Program::type(row) +
           "):\n    %0 = heddle.matmul %state, %w : " + stepType + ", " + Program::type(weights) + " -> " + stepType +
           "\n    %1 = heddle.broadcast %bias : " + Program::type(row) + " to " + stepType +
           "\n    %2 = arith.addf %0, %1 : " + stepType + "\n    %3 = math.tanh %2 : " + stepType +
           "\n    %4 = arith.mulf %3, %now : " + stepType + "\n    %5 = arith.addf %count, %4 : " + stepType +
           "\n    heddle.yield %4, %5, %3 : " + stepType + ", " + stepType + ", " + stepType + "\n  }");
    p.addLoss("%r_" + id + "#0", sequences);
    p.addLoss("%r_" + id + "#1", sequences);
    p.addLoss("%r_" + id + "#2", tokens);
  }
}

//===-- All of them -----------------------------------------------------------------------------------------------===//

const std::map<std::string, Check> &checks() {
  static const std::map<std::string, Check> all = {
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
      {"heddle.all_reduce", allReduce},
      {"heddle.attention", attention},
      {"heddle.broadcast", broadcast},
      {"heddle.columns", columns},
      {"heddle.context", context},
      {"heddle.cross_entropy", crossEntropy},
      {"heddle.dropout", dropout},
      {"heddle.embedding", embedding},
      {"heddle.fold", window<true>},
      {"heddle.join", join},
      {"heddle.layer_norm", layerNorm},
      {"heddle.mask", mask},
      {"heddle.matmul", matmul},
      {"heddle.project", project},
      {"heddle.reshape", reshape},
      {"heddle.rotary", rotary},
      {"heddle.scan", scan},
      {"heddle.scatter_add", scatterAdd},
      {"heddle.scores", scores},
      {"heddle.segment", segment},
      {"heddle.slice", slice},
      {"heddle.softmax", softmax},
      {"heddle.stop_gradient", stopGradient},
      {"heddle.subsample", stride<false>},
      {"heddle.sum", sum},
      {"heddle.transposed_context", transposedContext},
      {"heddle.unfold", window<false>},
      {"heddle.upsample", stride<true>},
  };
  return all;
}

class Gradients : public testing::TestWithParam<std::string> {
protected:
  Gradients() {
    mlir::DialectRegistry registry;
    registry.insert<mlir::heddle::HeddleDialect, mlir::func::FuncDialect>();
    mlir::heddle::registerArithGradients(registry);
    mlir::heddle::registerScanGradient(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  // The loss with the weights as they are set.
  static double lossOf(Interpreter &interpreter, mlir::func::FuncOp entry, const Program &program) {
    auto outputs = interpreter.call(entry, program.inputs());
    EXPECT_TRUE(mlir::succeeded(outputs));
    return mlir::succeeded(outputs) ? outputs->front()(0) : NAN;
  }

  mlir::MLIRContext context;
};

// Differences of fourth order, whose error is a multiple of the step's fourth power.
double difference(const std::function<double(double)> &at) {
  constexpr double step = 1e-3;
  return (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step);
}

// Constants of the rules are f32.
constexpr double kTolerance = 1e-7;

TEST_P(Gradients, AreDifferences) {
  for (const Shape &shape : kShapes) {
    SCOPED_TRACE(shape.describe());
    Program program(shape);
    checks().at(GetParam())(program);
    std::string text = program.text();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    mlir::PassManager passes(&context);
    passes.addPass(mlir::heddle::createDifferentiatePass());
    ASSERT_TRUE(mlir::succeeded(passes.run(*module))) << text;
    auto entry = module->lookupSymbol<mlir::func::FuncOp>("f");
    Interpreter interpreter(*module);
    auto reset = [&] {
      for (const auto &[name, value] : program.weights())
        interpreter.setVariable(interpreter.findVariable(name), value);
    };
    reset();
    ASSERT_TRUE(std::isfinite(lossOf(interpreter, entry, program)));
    std::map<std::string, Array> gradients;
    for (const auto &[name, value] : program.weights())
      gradients[name] = interpreter.getVariable(interpreter.findVariable("grad." + name));
    for (const auto &[name, value] : program.weights()) {
      const Array &gradient = gradients.at(name);
      double scale = 0;
      for (double number : gradient.numbers)
        scale = std::max(scale, std::abs(number));
      if (program.isIgnored(name)) {
        EXPECT_EQ(scale, 0) << name;
        continue;
      }
      for (int64_t i = 0; i < value.size(); ++i) {
        double expected = difference([&](double step) {
          reset();
          Array changed = value;
          changed(i) += step;
          interpreter.setVariable(interpreter.findVariable(name), changed);
          return lossOf(interpreter, entry, program);
        });
        EXPECT_NEAR(gradient(i), expected, kTolerance * (1 + scale)) << "element " << i << " of " << name;
      }
    }
  }
}

std::vector<std::string> namesOfChecks() {
  std::vector<std::string> names;
  for (const auto &[name, check] : checks())
    names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Gradients, testing::ValuesIn(namesOfChecks()), [](const auto &info) {
  std::string name = info.param;
  std::ranges::replace(name, '.', '_');
  return name;
});

TEST_F(Gradients, AreCheckedForEveryDifferentiableOp) {
  std::set<std::string> differentiable;
  for (mlir::RegisteredOperationName op : context.getRegisteredOperations())
    if (op.hasInterface<mlir::heddle::DifferentiableOpInterface>())
      differentiable.insert(op.getStringRef().str());
  EXPECT_GT(differentiable.size(), 30u);
  for (const std::string &name : differentiable)
    EXPECT_TRUE(checks().count(name)) << name << " has a gradient rule and no check in GradientsTest.cpp";
  for (const auto &[name, check] : checks())
    EXPECT_TRUE(differentiable.count(name)) << name << " has a check and no gradient rule";
}

} // namespace
} // namespace heddle::test
