#include "runtime/tokenizers/GgufVocabulary.h"

#include "runtime/tokenizers/ByteFallback.h"
#include "runtime/tokenizers/BytePairs.h"
#include "runtime/tokenizers/SentencePieceVocabulary.h"

#include <algorithm>
#include <cmath>
#include <variant>

namespace heddle {
namespace {

using Parts = PublishedVocabulary::Parts;

constexpr std::string_view kPrefix = "tokenizer.", kOfModels = "tokenizer.ggml.";

// Token kinds have the same numbers in GGUF files.
using enum SentencePieceFile::Kind;

// How texts are cut if pieces are bytes, by the names that the files use.
struct Cutting {
  std::initializer_list<std::string_view> names;
  std::variant<WordRule, WordPattern::Family> rule;
  bool wholeWordsFirst = false; // then the begin mark also precedes every text
  bool isComposed = false;      // texts are converted to normal form C
};
const Cutting kCuttings[] = {
    {{"default", "gpt-2", "phi-2", "mpt", "olmo", "jais", "gigachat", "mellum", "exaone4", "trillion", "a.x-4.0"},
     WordRule{WordRule::Kind::GPT2, 0}},
    {{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"},
     WordRule{WordRule::Kind::GPT2, 1}},
    {{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"},
     WordRule{WordRule::Kind::LLaMA3, 3},
     true},
    {{"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, WordRule{WordRule::Kind::LLaMA3, 3}},
    {{"stablelm2", "megrez", "hunyuan", "grok-2", "kormo"}, WordRule{WordRule::Kind::LLaMA3, 1}},
    {{"qwen2", "deepseek-r1-qwen"}, WordRule{WordRule::Kind::LLaMA3, 1}, false, true},
    {{"qwen35"}, WordPattern::Family::Qwen35, false, true},
    {{"tekken"}, WordPattern::Family::Tekken, true},
    {{"gpt-4o", "llama4", "kanana2", "minimax-m2"}, WordPattern::Family::O200k},
    {{"seed-coder"}, WordPattern::Family::SeedCoder},
    {{"bloom", "poro-chat", "gpt3-finnish"}, WordPattern::Family::Bloom},
    {{"viking"}, WordPattern::Family::Viking},
    {{"deepseek-llm"}, WordPattern::Family::DeepSeekLLM},
    {{"deepseek-coder"}, WordPattern::Family::DeepSeekCoder},
    {{"deepseek-v3", "hunyuan-dense"}, WordPattern::Family::DeepSeekV3}};

class Reader {
public:
  explicit Reader(const GgufReader &file) : file(file) {}

  Result<Parts> read() {
    HEDDLE_ASSIGN(std::string model, text("model", ""));
    if (model.empty())
      return makeError(ErrorKind::NotFound, "'", file.path().string(), "' has no vocabulary: it lacks the key '",
                       kOfModels, "model'.");
    if (model != "gpt2" && model != "llama")
      return unreadable("model", model, "gpt2 (byte pairs of bytes) and llama (SentencePiece's byte pairs)");
    Parts parts;
    isPieces = model == "llama";
    HEDDLE_CHECK(readTokens(parts));
    bool begins = isPieces;
    HEDDLE_CHECK(isPieces ? readPieces(parts) : readBytePairs(parts, begins));
    HEDDLE_CHECK(readMarks(parts, begins));
    parts.files = {
        {PublishedVocabulary::kGgufVocabulary, ggufHeader(0, file.countValues(kPrefix)) + file.storedValues(kPrefix)}};
    return parts;
  }

private:
  template <typename... Why> Error malformed(const Why &...why) const {
    return makeError(ErrorKind::Malformed, "'", file.path().string(), "': ", why..., "; download or convert it again.");
  }
  Error unreadable(std::string_view key, std::string_view given, std::string_view readable) const {
    return makeError(ErrorKind::Unsupported, "'", file.path().string(), "' has '", kOfModels, key, "' = \"",
                     given.substr(0, 100), "\", and of the vocabularies of GGUF files Heddle reads ", readable,
                     "; name the folder that Hugging Face publishes, by --vocab or as checkpoint.");
  }

  const GgufValue *find(std::string_view key) const { return file.value(str(kOfModels, key)); }
  Result<std::string> text(std::string_view key, std::string_view otherwise) const {
    const GgufValue *value = find(key);
    if (value && !value->text())
      return malformed("'", kOfModels, key, "' is no text");
    return value ? *value->text() : std::string(otherwise);
  }
  Result<bool> flag(std::string_view key, bool otherwise) const {
    const GgufValue *value = find(key);
    if (value && !value->flag())
      return malformed("'", kOfModels, key, "' is neither true nor false");
    return value ? *value->flag() : otherwise;
  }
  // An array with one element per token; null if the key is missing.
  Result<const GgufValue::Array *> array(std::string_view key) const {
    const GgufValue *value = find(key);
    const GgufValue::Array *array = value ? value->array() : nullptr;
    if (value && (!array || (!tokens.empty() && array->size() != tokens.size())))
      return malformed("'", kOfModels, key, "' is no list with an element for each of ", tokens.size(), " tokens");
    return array;
  }

  Status readTokens(Parts &parts) {
    HEDDLE_ASSIGN(const GgufValue::Array *texts, array("tokens"));
    if (!texts || texts->empty())
      return malformed("it has no tokens ('", kOfModels, "tokens')");
    for (const GgufValue &token : *texts) {
      const std::string *piece = token.text();
      if (!piece)
        return malformed("token ", tokens.size(), " is no text");
      HEDDLE_CHECK(parts.table.add(int32_t(tokens.size()), *piece, file.path().string()));
      tokens.push_back(*piece);
    }
    HEDDLE_ASSIGN(const GgufValue::Array *types, array("token_type"));
    for (size_t id = 0; id < tokens.size(); ++id) {
      std::optional<uint64_t> kind = types ? (*types)[id].whole() : ByteFallback::byteOf(tokens[id]) ? Byte : Normal;
      if (!kind)
        return malformed("the type of token ", id, " is no whole number");
      kinds.push_back(*kind);
      bool isMark = *kind == Control || (*kind == Unknown && isPieces);
      if (!isMark && *kind != UserDefined)
        continue;
      if (isMark || !isPieces) // partsOfModel() takes SentencePiece's user-defined pieces
        parts.wholes.add(tokens[id], int32_t(id));
      added.push_back(int32_t(id));
      if (isMark)
        parts.marks.push_back(int32_t(id));
    }
    return Success();
  }

  static std::string readNames() {
    std::string all;
    for (const Cutting &cutting : kCuttings)
      for (std::string_view name : cutting.names)
        all += str(all.empty() ? "" : ", ", name);
    return all;
  }

  Status readBytePairs(Parts &parts, bool &begins) const {
    HEDDLE_ASSIGN(std::string name, text("pre", "default"));
    auto cutting = std::ranges::find_if(
        kCuttings, [&](const Cutting &one) { return std::ranges::find(one.names, name) != one.names.end(); });
    if (cutting == std::end(kCuttings))
      return unreadable("pre", name, readNames());
    begins = cutting->wholeWordsFirst;
    const GgufValue *list = find("merges");
    if (!list || !list->array())
      return malformed("it has no list of merges ('", kOfModels, "merges')");
    Merges merges;
    for (const GgufValue &merge : *list->array()) {
      if (!merge.text())
        return malformed("merge ", merges.size(), " is no text");
      std::string_view line = *merge.text();
      size_t space = line.find(' ', 1); // a piece is never empty, so the space is not the first character
      std::string_view right = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
      HEDDLE_CHECK(
          merges.add(parts.table, line.substr(0, space), right, {file.path().string(), "merge", merges.size()}));
    }
    HEDDLE_ASSIGN(BytePairs pairs,
                  BytePairs::create(parts.table, std::move(merges), {.wholeWordsFirst = cutting->wholeWordsFirst},
                                    file.path().string()));
    parts.model = std::make_unique<BytePairs>(std::move(pairs));
    if (const auto *rule = std::get_if<WordRule>(&cutting->rule))
      parts.cutter.add(*rule);
    else
      for (WordPattern &step : WordPattern::of(std::get<WordPattern::Family>(cutting->rule)))
        parts.cutter.add(std::move(step));
    if (cutting->isComposed)
      parts.normalizer.add(NormalForm::C);
    parts.texts = PieceTexts(parts.table, {.isBytes = true}, added);
    return Success();
  }

  Status readPieces(Parts &parts) const {
    if (find("precompiled_charsmap"))
      return unreadable("precompiled_charsmap", "...", "those that change no characters");
    HEDDLE_ASSIGN(const GgufValue::Array *scores, array("scores"));
    if (!scores)
      return malformed("its tokens have no scores ('", kOfModels, "scores')");
    SentencePieceFile model{.model = SentencePieceFile::BytePairs, .usesBytes = true, .dropsSpaces = false};
    for (size_t id = 0; id < tokens.size(); ++id) {
      std::optional<double> score = (*scores)[id].number();
      if (!score || std::isnan(*score))
        return malformed("the score of token ", id, " is no number");
      model.pieces.push_back({tokens[id], float(*score), kinds[id]});
    }
    HEDDLE_ASSIGN(std::optional<int32_t> unknown, mark("unknown_token_id", 0));
    if (unknown)
      model.pieces[size_t(*unknown)].kind = Unknown;
    HEDDLE_ASSIGN(model.spaceFirst, flag("add_space_prefix", true));
    HEDDLE_ASSIGN(Parts read, partsOfModel(model, file.path().string()));
    read.wholes = std::move(parts.wholes);
    read.marks = std::move(parts.marks);
    parts = std::move(read);
    parts.unknown = unknown;
    return Success();
  }

  // The token that the key names; without the key, the usual one.
  Result<std::optional<int32_t>> mark(std::string_view key, std::optional<uint64_t> usual) const {
    const GgufValue *value = find(key);
    std::optional<uint64_t> id = value ? value->whole() : usual;
    if (value && (!id || *id >= tokens.size()))
      return malformed("'", kOfModels, key, "' is no number of its ", tokens.size(), " tokens");
    return id && *id < tokens.size() ? std::optional(int32_t(*id)) : std::nullopt;
  }

  Status readMarks(Parts &parts, bool begins) const {
    auto usual = [&](uint64_t id) { return isPieces ? std::optional(id) : std::nullopt; };
    HEDDLE_ASSIGN(std::optional<int32_t> first, mark("bos_token_id", usual(1)));
    HEDDLE_ASSIGN(parts.end, mark("eos_token_id", usual(2)));
    HEDDLE_ASSIGN(begins, flag("add_bos_token", begins));
    if (begins && first) {
      parts.begin = first;
      parts.marks.push_back(*first);
    }
    HEDDLE_ASSIGN(bool ends, flag("add_eos_token", false)); // behind texts that are read as a whole
    if (ends && parts.end)
      parts.inputs = InputMarks{begins && first ? std::vector{*first} : std::vector<int32_t>(), {*parts.end}, {}};
    return Success();
  }

  const GgufReader &file;
  bool isPieces = false; // whether tokens are SentencePiece's pieces of characters instead of GPT-2's of bytes
  std::vector<std::string> tokens;
  std::vector<uint64_t> kinds;
  std::vector<int32_t> added; // tokens recognised in a text as a whole
};

} // namespace

Result<Parts> readGgufVocabulary(const GgufReader &file) { return Reader(file).read(); }

} // namespace heddle
