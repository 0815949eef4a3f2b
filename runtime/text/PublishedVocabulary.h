// The vocabularies of published language models: those of tokenizer.json, GPT-2's two files, and those in GGUF files.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/text/PieceTexts.h"
#include "runtime/text/SubwordModel.h"
#include "runtime/text/TextCodec.h"
#include "runtime/text/TextCutter.h"
#include "runtime/text/TextNormalizer.h"
#include "runtime/text/WholeTokens.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <unordered_set>

namespace heddle {

class PublishedVocabulary final : public TextCodec {
public:
  // Reads tokenizer.json: pieces, tokens that are added to them, what is done to a text before it is looked up, and how
  // tokens become text. Or vocab.json, whose pieces have a printable character in the place of each byte, and
  // merges.txt, whose lines are pairs of pieces that become one, the first ones first. A tokenizer.json of another kind
  // is an error that says what it has. A folder without these may have SentencePiece's tokenizer.model.
  // `path` may be a GGUF file, too; in a folder that is vocabulary.gguf.
  static Result<PublishedVocabulary> load(const std::filesystem::path &path);

  // Added tokens in the line are themselves, such as GPT-2's end mark "<|endoftext|>". decode(encode(line)) is the line
  // but for what the vocabulary does to texts before it looks them up; GPT-2's kind gives back every line byte by byte.
  std::vector<int32_t> encode(std::string_view line) const override { return encode(line, TextCutter::Place::Begin); }
  std::vector<int32_t> encodeContinuation(std::string_view text) const override {
    return encode(text, TextCutter::Place::Continuation);
  }
  // Any bytes: a character may be cut off at either end. Ids that name no piece are left out.
  std::string decode(std::span<const int32_t> ids) const override {
    return parts.texts.join(parts.table, ids, /*begins=*/true);
  }
  // Leaves out marks, such as a begin mark among `ids`: they stand for no text.
  std::string continuation(std::span<const int32_t> before, std::span<const int32_t> ids) const override;
  std::string piece(int32_t id) const override { return parts.table.shown(id); }
  int32_t pieces() const override { return std::min(parts.table.size(), rows); }
  void limitTo(int32_t limit) override;
  std::optional<int32_t> beginId() const override { return parts.begin; }
  std::optional<int32_t> endId() const override { return parts.end; }

  static constexpr const char *kTokenizerJson = "tokenizer.json";
  static constexpr const char *kGgufVocabulary = "vocabulary.gguf";
  static constexpr const char *kTokenizerModel = "tokenizer.model";
  const std::vector<TokenizerFile> &files() const override { return parts.files; }

  struct Parts {
    PieceTable table;             // with the added tokens
    WholeTokens wholes;           // added tokens as they stand in a text
    WholeTokens normalizedWholes; // those that are looked for in what the normalizer makes of a text
    std::vector<int32_t> marks;   // added tokens that stand for no text, such as the begin mark
    TextNormalizer normalizer;
    TextCutter cutter;
    std::unique_ptr<SubwordModel> model;
    PieceTexts texts;
    std::optional<int32_t> begin, end;
    std::optional<int32_t> unknown; // stands for pieces that the model has no row for
    std::vector<TokenizerFile> files;
  };
  explicit PublishedVocabulary(Parts given) : parts(std::move(given)), marks(parts.marks.begin(), parts.marks.end()) {
    for (std::optional<int32_t> mark : {parts.begin, parts.end})
      if (mark)
        marks.insert(*mark);
  }

private:
  static Result<PublishedVocabulary> loadGpt2(const std::filesystem::path &folder);
  // `place`: where the line's first character stands.
  std::vector<int32_t> encode(std::string_view line, TextCutter::Place place) const;

  Parts parts;
  std::unordered_set<int32_t> marks; // with the begin and the end
  int32_t rows = std::numeric_limits<int32_t>::max();
};

} // namespace heddle
