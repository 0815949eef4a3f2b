// Calls that name missing rows are refused, for every entry: contract_check ARTIFACT MAX_TOKENS. Makes and binds valid
// inputs for each entry, then spoils them one after another. Needs no kernels.
#include "runtime/artifact/Artifact.h"
#include "runtime/session/CallBinding.h"
#include "tools/heddle-run/call/RandomInputs.h"

#include <cstdio>
#include <limits>

namespace heddle {
namespace {

class EntryCheck {
public:
  EntryCheck(const schema::Module &module, const schema::Entry &entry, std::vector<run::NamedTensor> tensors,
             int64_t maxTokens)
      : module(module), entry(entry), tensors(std::move(tensors)), maxTokens(maxTokens) {}

  int run() {
    expect("valid inputs", "");
    for (const schema::Port *port : *entry.inputs())
      if (port->type()->element() == schema::ElementType::I32)
        spoil(*port);
    std::printf("%-16s %d calls, %d failures\n", entry.name()->c_str(), calls, failures);
    return failures;
  }

private:
  std::span<int32_t> valuesOf(const std::string &name) {
    for (run::NamedTensor &tensor : tensors)
      if (tensor.name == name)
        return tensor.tensor.values<int32_t>();
    return {};
  }

  // Expects the call to be refused with this text, or to be accepted if the text is empty.
  void expect(const std::string &what, const std::string &text) {
    std::vector<Input> inputs;
    for (const run::NamedTensor &tensor : tensors)
      inputs.push_back({tensor.name, tensor.tensor});
    Result<CallBinding> bound = bindCall(module, entry, inputs);
    std::string message = bound ? "" : bound.message();
    ++calls;
    if (text.empty() ? message.empty() : message.find(text) != std::string::npos)
      return;
    ++failures;
    std::printf("%s, %s: expected '%s', got '%s'\n", entry.name()->c_str(), what.c_str(), text.c_str(),
                message.c_str());
  }

  void expectWith(const std::string &input, size_t at, int32_t value, const std::string &text) {
    int32_t old = std::exchange(valuesOf(input)[at], value);
    expect(str(input, "[", at, "] = ", value), text);
    valuesOf(input)[at] = old;
  }

  void spoil(const schema::Port &port) {
    std::string name(view(port.name()));
    size_t last = valuesOf(name).size() - 1;
    if (name == "top_k" || name.starts_with("key_")) { // not row numbers
      expectWith(name, last, -1, "");
      expectWith(name, last, std::numeric_limits<int32_t>::max(), "");
      return;
    }
    expectWith(name, last, -1, str("input '", name, "' holds -1 at index ", last));
    expectWith(name, last, std::numeric_limits<int32_t>::max(), str("input '", name, "' holds 2147483647"));
    if (port.value_limit() == 0)
      expect(name, "a limit"); // every input of the importer has a limit
    // Nodes look at neighbours, and sentences at their words, in any sequence.
    bool isUnused =
        name == "source_starts" && !(valuesOf("source_neighbours").empty() && valuesOf("source_sentences").empty());
    if (!name.ends_with("_starts") || isUnused)
      return;
    std::string prefix = name.substr(0, name.size() - 7), lengths = prefix + "_lengths";
    int64_t rows = rowsOf(prefix);
    int32_t length = valuesOf(lengths)[last];
    // The first missing row, and segments that end at the last row.
    int32_t start = int32_t(rows - length);
    expectWith(name, last, start, "");
    std::string named = str("input '", name, "' holds ", start + 1, " at index ", last);
    expectWith(name, last, start + 1,
               start + 1 < port.value_limit() && prefix != "source_sentences"
                   ? str(named, " and input '", lengths, "' holds ", length, " at index ", last, ": start ", start + 1,
                         ", length ", length, ", and there are ", rows)
                   : named);
  }

  int64_t rowsOf(const std::string &prefix) {
    std::string tokens = prefix == "target" ? "target_in" : prefix;
    if (!valuesOf(tokens).empty() && (prefix == "source" || prefix == "target" || prefix == "source_sentences"))
      return int64_t(valuesOf(tokens).size());
    if (prefix == "source_words")
      return int64_t(valuesOf("source").size());
    if (prefix == "query" || prefix == "group")
      return int64_t(valuesOf("token").size());
    return maxTokens; // the rows of the caches
  }

  const schema::Module &module;
  const schema::Entry &entry;
  std::vector<run::NamedTensor> tensors;
  const int64_t maxTokens;
  int calls = 0, failures = 0;
};

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  auto session = Session::open(std::filesystem::path(argv[1]));
  if (!session) {
    std::printf("%s\n", session.message().c_str());
    return 1;
  }
  const schema::Module &module = (*session)->artifact().module();
  int failures = 0;
  for (const EntryInfo &info : (*session)->entries()) {
    // Fewer sequences than the maximum: the call's own number of rows counts.
    auto inputs = run::randomInputs(info, {.sequences = 3});
    if (!inputs) {
      std::printf("%s\n", inputs.message().c_str());
      return 1;
    }
    for (const schema::Entry *entry : *module.entries())
      if (view(entry->name()) == info.name)
        failures += EntryCheck(module, *entry, std::move(*inputs), std::stoll(argv[2])).run();
  }
  return failures != 0;
}

} // namespace
} // namespace heddle

int main(int argc, char **argv) { return heddle::main(argc, argv); }
