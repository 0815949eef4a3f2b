// Texts with a character, a token or a line missing, added or moved. Each must give a model or an error at a place in a
// file, quickly and without a crash.
#include "compiler/Model/Language/ModelText.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <chrono>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mlir::heddle;

namespace {

constexpr int kTexts = 5000;
constexpr std::chrono::seconds kLongest(10);

std::string readLibrary(StringRef name) {
  std::string path = (HEDDLE_LIBRARY "/" + name + ".weft").str();
  auto file = llvm::MemoryBuffer::getFile(path);
  EXPECT_TRUE(bool(file)) << path;
  return file ? (*file)->getBuffer().str() : "";
}

/// Words that a mutation may insert.
constexpr StringLiteral kWords[] = {"repeat",
                                    "with",
                                    "if",
                                    "else",
                                    "def",
                                    "param",
                                    "weight",
                                    "{",
                                    "}",
                                    "(",
                                    ")",
                                    "[",
                                    "]",
                                    "|",
                                    ",",
                                    "=",
                                    "~",
                                    "@",
                                    "^",
                                    "%",
                                    "..",
                                    "0",
                                    "1e308",
                                    "4096",
                                    "x",
                                    "\"",
                                    "\n",
                                    "in",
                                    "task",
                                    "use",
                                    "true",
                                    "not",
                                    "source",
                                    "target",
                                    "memory",
                                    "logits",
                                    "pairs",
                                    "mask",
                                    "tanh",
                                    "sum",
                                    "linear",
                                    "first",
                                    "max",
                                    "heads",
                                    "d_model",
                                    "softmax",
                                    "transpose(",
                                    "-",
                                    "scan",
                                    "reversed",
                                    "as",
                                    "lstm",
                                    "gru",
                                    "zeros(",
                                    "slice(",
                                    "join(",
                                    "last",
                                    "average",
                                    "source.label",
                                    "source.labelled",
                                    "classes",
                                    "places(",
                                    "number(",
                                    "spread(",
                                    "source.lengths",
                                    "target.positions",
                                    "abs("};

constexpr StringLiteral kRecurrent = R"(task translate
param width = 8
memory(source) {
  weight source_table[vocab_size, width] ~ normal(0.1)
  h, c = scan reversed source_table[source] as x with h = zeros(width), c = zeros(width) { lstm(x, h, c, 1) }
  join(first(h), last(c))
}
logits(target) {
  weight target_table[vocab_size, width] ~ normal(0.1)
  begin = slice(memory, 0, width)
  states = scan target_table[target] as y with h = begin { gru(join(y, memory), h) }
  above = scan states as x, target_table[target] as y with s = zeros(width) { rnn(x + y * begin, s) }
  linear(above, vocab_size)
}
loss(target) { cross_entropy(logits, target.next) }
)";

constexpr StringLiteral kAttending = R"(task translate
param width = 8
memory(source) {
  weight source_table[vocab_size, width] ~ normal(0.1)
  scan source_table[source] as x with h = zeros(width) { gru(x, h) }
}
logits(target) {
  weight target_table[vocab_size, width] ~ normal(0.1)
  weight v[width] ~ normal(0.1)
  keys = linear(memory, width)
  states, contexts = scan target_table[target] as y with h = last(memory) {
    scores = pairs(linear(h, width), keys) { |q, k| v * tanh(q + k) - abs(q) }
    place = number(source.lengths) * sigmoid(sum(h * v))
    near = mask(scores) { |query, key| key <= query + 3 }
    context = softmax(near) * exp(0 - (places(near) - place) ^ 2) @ memory
    gru(join(y, context), h), context
  }
  early = pairs(contexts, keys)
  later = softmax(mask(pairs(contexts, keys, 2) { |q, k| max(q, k) })) @ memory + softmax(mask(early) + places(early)) @ memory
  linear(join(states, later * spread(number(source.lengths), target)), vocab_size)
}
loss(target) { cross_entropy(logits, target.next) }
)";

class Mutator {
public:
  explicit Mutator(uint32_t seed) : random(seed) {}

  std::string mutate(std::string text) {
    for (int i = 0, count = 1 + pick(3); i < count; ++i)
      mutateOnce(text);
    return text;
  }

private:
  size_t pick(size_t below) { return below ? random() % below : 0; }

  void mutateOnce(std::string &text) {
    if (text.empty())
      return;
    size_t at = pick(text.size()), length = std::min(text.size() - at, 1 + pick(12));
    switch (pick(6)) {
    case 0: // fewer characters
      text.erase(at, length);
      break;
    case 1: // the same characters twice
      text.insert(pick(text.size()), text.substr(at, length));
      break;
    case 2: // another character
      text[at] = static_cast<char>(pick(4) ? 32 + pick(95) : pick(256));
      break;
    case 3: // another word
      text.insert(at, (" " + kWords[pick(std::size(kWords))] + " ").str());
      break;
    case 4: { // a word replaced by another
      size_t end = at;
      while (end < text.size() && (llvm::isAlnum(text[end]) || text[end] == '_'))
        ++end;
      text.replace(at, end - at, kWords[pick(std::size(kWords))].str());
      break;
    }
    default: // a line moved
      size_t start = text.rfind('\n', at), end = text.find('\n', at);
      start = start == std::string::npos ? 0 : start + 1;
      std::string line = text.substr(start, end == std::string::npos ? end : end + 1 - start);
      text.erase(start, line.size());
      text.insert(std::min(text.size(), pick(text.size() + 1)), line);
    }
  }

  std::mt19937 random;
};

struct Outcome {
  bool compiled = false;
  int errors = 0, withoutPlace = 0;
  std::string messages;
};

Outcome compile(MLIRContext &context, StringRef text) {
  Outcome outcome;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    ++outcome.errors;
    outcome.messages += diagnostic.str() + "\n";
    bool hasPlace = false;
    diagnostic.getLocation()->walk([&](Location part) {
      hasPlace |= isa<FileLineColLoc>(part);
      return WalkResult::advance();
    });
    outcome.withoutPlace += !hasPlace;
    return success();
  });
  FailureOr<language::ModelText> model = language::ModelText::read(&context, "mutated.weft", text);
  if (failed(model))
    return outcome;
  language::Settings settings;
  LocationAttr where = FileLineColLoc::get(&context, "given.toml", 1, 1);
  for (auto [name, value] :
       {std::pair("d_model", 8), {"heads", 2}, {"d_ff", 8}, {"encoder_layers", 1}, {"decoder_layers", 1}})
    settings[name] = {int64_t(value), where};
  if (failed(model->setParameters(settings)))
    return outcome;
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  outcome.compiled = succeeded(model->elaborate(*module, {20, 64, 8, 32}));
  if (outcome.compiled) {
    EXPECT_TRUE(succeeded(verify(*module))) << text.str();
  }
  return outcome;
}

TEST(Mutations, GiveAModelOrAMistakeAtAPlace) {
  std::string stacks = readLibrary("stacks"), layers = readLibrary("layers");
  // The texts in one piece, so that mutations reach all parts.
  std::vector<std::string> sources;
  for (StringRef name : {"transformer", "decoder", "encoder", "classifier", "tagger", "pretraining"}) {
    std::string whole = readLibrary(name) + stacks + layers;
    size_t use = whole.find("use stacks\n");
    ASSERT_NE(use, std::string::npos);
    whole.erase(use, 11);
    // Removes a parameter that the text declares again.
    if (StringRef again = " token_types = 0,"; StringRef(whole).contains("param token_types"))
      whole.erase(whole.find(again), again.size());
    sources.push_back(whole);
  }
  sources.push_back(readLibrary("embedder")); // uses the encoder whole
  sources.push_back(kRecurrent.str() + layers);
  sources.push_back(kAttending.str() + layers);
  MLIRContext context(MLIRContext::Threading::DISABLED);
  for (const std::string &source : sources)
    ASSERT_TRUE(compile(context, source).compiled);

  Mutator mutator(1);
  int compiled = 0;
  for (int i = 0; i < kTexts; ++i) {
    std::string text = mutator.mutate(sources[i % sources.size()]);
    auto start = std::chrono::steady_clock::now();
    Outcome outcome = compile(context, text);
    EXPECT_LT(std::chrono::steady_clock::now() - start, kLongest) << text;
    EXPECT_TRUE(outcome.compiled ? outcome.errors == 0 : outcome.errors > 0) << text;
    EXPECT_EQ(outcome.withoutPlace, 0) << outcome.messages << text;
    compiled += outcome.compiled;
    if (HasFailure())
      break;
  }
  // Changes of comments, names and numbers are often harmless; most mutations are errors.
  EXPECT_GT(compiled, kTexts / 100);
  EXPECT_LT(compiled, kTexts * 9 / 10);
}

} // namespace
