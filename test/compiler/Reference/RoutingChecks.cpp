// Gradients of mixtures of experts: columns that rows choose, rows by their places, and matmuls of groups of rows.
#include "test/compiler/Reference/GradientChecks.h"

namespace heddle::test {
namespace {

// The columns 1 and 3 of the first row, 2 and 4 of the second, and so on.
std::string columns(Program &p) {
  std::vector<double> numbers;
  for (int64_t row = 0; row < p.extent("tokens"); ++row)
    for (int64_t j = 0; j < 2; ++j)
      numbers.push_back(static_cast<double>((row + 1 + 2 * j) % 5));
  return p.input("columns", {"tokens", 2}, numbers);
}

void pick(Program &p) {
  std::string x = p.weight("x", {"tokens", 5}), chosen = columns(p);
  p.line("%y = heddle.pick " + x + ", " + chosen + ofType({"tokens", 5}) + ", " + Program::type({"tokens", 2}, "i32") +
         " -> " + Program::type({"tokens", 2}));
  p.addLoss("%y", {"tokens", 2});
}

void place(Program &p) {
  std::string x = p.weight("x", {"tokens", 2}), chosen = columns(p);
  p.line("%y = heddle.place " + x + ", " + chosen + ofType({"tokens", 2}) + ", " + Program::type({"tokens", 2}, "i32") +
         " -> " + Program::type({"tokens", 5}));
  p.addLoss("%y", {"tokens", 5});
}

void gather(Program &p) {
  int64_t width = p.shape().columns();
  std::string x = p.weight("x", {4, width});
  std::string pairs = p.input("pairs", {2, 2}, {0, 2, 1, 3}), each = p.input("each", {4, 1}, {0, 1, 0, 1});
  auto add = [&](const std::string &y, const std::string &at, const std::string &inverse, const Dims &from, int64_t of,
                 const Dims &to, int64_t back) {
    p.line(y + at + " inverse " + inverse + ofType(from) + ", " + Program::type({to[0], of}, "i32") + ", " +
           Program::type({from[0], back}, "i32") + " -> " + Program::type(to));
  };
  add("%sums = heddle.gather " + x + " at ", pairs, each, {4, width}, 2, {2, width}, 1);
  add("%rows = heddle.gather %sums at ", each, pairs, {2, width}, 1, {4, width}, 2);
  p.addLoss("%sums", {2, width});
  p.addLoss("%rows", {4, width});
}

// An empty group, one with most rows, another empty one, and one with the last row.
void groupedMatmul(Program &p) {
  int64_t depth = p.shape().columns(), other = p.shape().width + 2, groups = 4;
  auto rows = static_cast<double>(p.extent("tokens"));
  std::string starts = p.input("starts", {groups + 1}, {0, 0, rows - 1, rows - 1, rows});
  struct Case {
    Dims a, b, result;
    std::string flags;
  };
  const std::vector<Case> cases = {
      {{"tokens", depth}, {groups * depth, other}, {"tokens", other}, ""},
      {{"tokens", depth}, {groups * other, depth}, {"tokens", other}, " {transpose_rhs}"},
      {{"tokens", depth}, {"tokens", other}, {groups * depth, other}, " {transpose_lhs}"},
  };
  int next = 0;
  for (const Case &c : cases) {
    std::string id = std::to_string(next++), a = p.weight("a" + id, c.a), b = p.weight("b" + id, c.b);
    p.line("%y" + id + " = heddle.grouped_matmul " + a + ", " + b + " groups(" + starts + ")" + c.flags + ofType(c.a) +
           ", " + Program::type(c.b) + ", " + Program::type({groups + 1}, "i32") + " -> " + Program::type(c.result));
    p.addLoss("%y" + id, c.result);
  }
}

} // namespace

void addRoutingChecks(Checks &checks) {
  checks.insert({
      {"heddle.gather", gather},
      {"heddle.grouped_matmul", groupedMatmul},
      {"heddle.pick", pick},
      {"heddle.place", place},
  });
}

} // namespace heddle::test
