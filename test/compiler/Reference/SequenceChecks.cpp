// Gradients of ops on columns, windows and recurrences.
#include "test/compiler/Reference/GradientChecks.h"

namespace heddle::test {
namespace {

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

// With one rank.
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
             std::to_string(2 * p.shape().keyHeads) + " stride 2 at (" + std::to_string(row) + ", " +
             std::to_string(column) + ")" + ofType(from) + " -> " + Program::type(to));
      p.addLoss("%y" + id, to);
    }
}

// Elman's network with a gate; its final state and its intermediate states both count. A second state counts the steps.
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

} // namespace

void addSequenceChecks(Checks &checks) {
  checks.insert({
      {"heddle.all_reduce", allReduce},
      {"heddle.columns", columns},
      {"heddle.fold", window<true>},
      {"heddle.join", join},
      {"heddle.scan", scan},
      {"heddle.subsample", stride<false>},
      {"heddle.unfold", window<false>},
      {"heddle.upsample", stride<true>},
  });
}

} // namespace heddle::test
