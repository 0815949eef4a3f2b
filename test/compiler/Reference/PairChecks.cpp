// Gradients of ops on pairs of queries and keys.
#include "test/compiler/Reference/GradientChecks.h"

#include <algorithm>
#include <optional>

namespace heddle::test {
namespace {

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

// Each query is a sequence of its own, with a list of keys. Shapes with other sequences have no such pairs.
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
  Dims perHead{p.shape().heads};
  p.line("%v = heddle.softmax %masked sink(" + p.weight("sink", perHead) + ofType(perHead) + ")" +
         ofType(types.scores));
  p.addLoss("%v", types.scores);
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
  Dims perHead{p.shape().heads};
  for (auto [regions, drops] :
       {std::pair(std::string(), false), {causal, false}, {capped + causal, true}, {"", true}}) {
    bool hasSink = next == 1 || next == 2;
    std::string id = std::to_string(next++), q = p.weight("q" + id, types.query);
    std::string k = p.weight("k" + id, types.key), v = p.weight("v" + id, types.key);
    p.line("%y" + id + ", %lse" + id + " = heddle.attention " + q + ", " + k + ", " + v + " " +
           (hasSink ? "sink(" + p.weight("sink" + id, perHead) + ") " : "") + pairs.sequences + " " +
           (drops ? "dropout(%seed, %drawn) " : "") + regions + "{heads = " + std::to_string(p.shape().heads) +
           " : i64, scale = 0.7 : f32, " + (drops ? "dropout = 0.3 : f32, stream = 2 : i32, " : "") +
           "query_size = \"length\", key_size = \"key_length\"} : (" + Program::type(types.query) + ", " +
           Program::type(types.key) + ", " + Program::type(types.key) + ", " +
           (hasSink ? Program::type(perHead) + ", " : "") + pairs.sequenceTypes +
           (drops ? ", tensor<2xi32>, tensor<1xi32>" : "") + ") -> (" + Program::type(types.query) + ", " +
           Program::type({"tokens", p.shape().heads}) + ")");
    p.addLoss("%y" + id, types.query);
  }
}

} // namespace

void addPairChecks(Checks &checks) {
  checks.insert({
      {"heddle.attention", attention},
      {"heddle.context", context},
      {"heddle.mask", mask},
      {"heddle.scores", scores},
      {"heddle.softmax", softmax},
      {"heddle.transposed_context", transposedContext},
  });
}

} // namespace heddle::test
