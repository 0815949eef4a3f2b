// The vocabularies of published language models: tokenizer.json, GPT-2's two files, tokenizer.model, and GGUF files.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/tokenizers/PieceTexts.h"
#include "runtime/tokenizers/SubwordModel.h"
#include "runtime/tokenizers/TextCodec.h"
#include "runtime/tokenizers/TextCutter.h"
#include "runtime/tokenizers/TextNormalizer.h"
#include "runtime/tokenizers/WholeTokens.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <unordered_set>

namespace heddle {

class PublishedVocabulary final : public TextCodec {
public:
  // Loads the first of these that `path` has: vocabulary.gguf (or `path` is itself a GGUF file); tokenizer.json;
  // vocab.json with merges.txt, or with sentencepiece.bpe.model (M2M-100); SentencePiece's tokenizer.model. A tokenizer.json that adds nothing to vocab.json and
  // merges.txt is skipped.
  //
  // tokenizer.json has pieces, added tokens, how a text is normalised before look-up, and how tokens become text. If it
  // is of a kind that Heddle does not read, the error names the unsupported part. vocab.json has pieces with a
  // printable character for each byte, merges.txt one pair of pieces per line, in order of priority.
  static Result<PublishedVocabulary> load(const std::filesystem::path &path);

  // Added tokens in the line, such as GPT-2's end mark "<|endoftext|>", are encoded as themselves. decode(encode(line))
  // is the normalised line. GPT-2's kind does not normalise and returns every line byte by byte.
  std::vector<int32_t> encode(std::string_view line) const override { return encode(line, TextCutter::Place::Begin); }
  std::vector<int32_t> encodeContinuation(std::string_view text) const override {
    return encode(text, TextCutter::Place::Continuation);
  }
  // The text: any bytes, as a character may be cut off at either end. Ids without a piece are skipped.
  std::string decode(std::span<const int32_t> ids) const override {
    return parts.texts.join(parts.table, ids, /*begins=*/true);
  }
  // Skips marks among `ids`, such as a begin mark: they stand for no text.
  std::string continuation(std::span<const int32_t> before, std::span<const int32_t> ids) const override;
  std::vector<std::string> unknownParts(std::string_view line) const override;
  const InputMarks *inputMarks() const override { return parts.inputs ? &*parts.inputs : nullptr; }
  std::string piece(int32_t id) const override { return parts.table.shown(id); }
  int32_t pieces() const override { return std::min(parts.table.size(), rows); }
  // The added token with this text, such as a language's code.
  std::optional<int32_t> addedToken(std::string_view text) const {
    std::optional<int32_t> token = parts.wholes.find(text);
    return token ? token : parts.normalizedWholes.find(text);
  }
  // The number of a piece. For a text that is no piece, the number of the unknown token; -1 without such a token.
  int32_t idOf(std::string_view piece) const { return parts.table.find(piece).value_or(parts.unknown.value_or(-1)); }
  void limitTo(int32_t limit) override;
  std::optional<int32_t> beginId() const override { return parts.begin; }
  std::optional<int32_t> endId() const override { return parts.end; }
  std::optional<int32_t> maskId() const override { return parts.mask; }

  static constexpr const char *kTokenizerJson = "tokenizer.json";
  static constexpr const char *kGgufVocabulary = "vocabulary.gguf";
  static constexpr const char *kTokenizerModel = "tokenizer.model";
  static constexpr const char *kNumberedModel = "sentencepiece.bpe.model";
  const std::vector<TokenizerFile> &files() const override { return parts.files; }

  struct Parts {
    PieceTable table;             // includes the added tokens
    WholeTokens wholes;           // added tokens that are looked for in the original text
    WholeTokens normalizedWholes; // added tokens that are looked for in the normalised text
    std::vector<int32_t> marks;   // added tokens that stand for no text, such as the begin mark
    TextNormalizer normalizer;
    TextCutter cutter;
    std::unique_ptr<SubwordModel> model;
    PieceTexts texts;
    std::optional<int32_t> begin, end, mask;
    std::optional<InputMarks> inputs;
    std::optional<int32_t> unknown; // replaces pieces that the model has no row for
    std::vector<TokenizerFile> files;
  };
  explicit PublishedVocabulary(Parts given) : parts(std::move(given)), marks(parts.marks.begin(), parts.marks.end()) {
    for (std::optional<int32_t> mark : {parts.begin, parts.end})
      if (mark)
        marks.insert(*mark);
  }

private:
  static Result<PublishedVocabulary> loadGpt2(const std::filesystem::path &folder);
  // Calls `onToken` for each token that is recognised as a whole, and `onWord` for each word between them. `place` is the
  // position of the line's first character.
  void cut(std::string_view line, TextCutter::Place place, const std::function<void(int32_t)> &onToken,
           const TextCutter::OnWord &onWord) const;
  std::vector<int32_t> encode(std::string_view line, TextCutter::Place place) const;

  Parts parts;
  std::unordered_set<int32_t> marks; // including begin and end
  int32_t rows = std::numeric_limits<int32_t>::max();
};

} // namespace heddle
