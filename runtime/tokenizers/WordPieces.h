// BERT's vocabulary (Devlin et al., 2019): words, and pieces of which rarer words are composed (Wu et al., "Google's
// Neural Machine Translation System", 2016, 4.1).
#pragma once

#include "runtime/core/Status.h"
#include "runtime/tokenizers/PieceTable.h"
#include "runtime/tokenizers/TextCodec.h"
#include "runtime/tokenizers/WholeTokens.h"

#include <filesystem>
#include <optional>

namespace heddle {

class WordPieces final : public TextCodec {
public:
  // Reads a tokenizer.json with a model of type WordPiece and BERT's steps, if the folder has one: Hugging Face's
  // library prefers it, too. Otherwise reads vocab.txt.
  static Result<WordPieces> load(const std::filesystem::path &folder);
  // Reads vocab.txt, with one piece per line, and the first three options below from tokenizer_config.json if it
  // exists.
  static Result<WordPieces> loadLines(const std::filesystem::path &folder);

  // Encodes a whole input: [CLS], the line's pieces and [SEP]. Marks in the line ("[MASK]", "[SEP]", ...) become their
  // own pieces. Invalid UTF-8 is dropped.
  std::vector<int32_t> encode(std::string_view line) const override;
  std::vector<int32_t> encodeUnmarked(std::string_view text) const override;
  const InputMarks *inputMarks() const override { return &inputs; }
  // Words separated by single spaces. Case, accents and the line's own spaces are lost.
  std::string decode(std::span<const int32_t> ids) const override;
  std::string piece(int32_t id) const override { return table.shown(id); }
  int32_t pieces() const override { return table.size(); }
  const std::vector<TokenizerFile> &files() const override { return stored; }
  // Returns true if the folder has a tokenizer.json with such a model.
  static bool isIn(const std::filesystem::path &folder);

  std::optional<int32_t> maskId() const override { return mask; }

private:
  struct Options {
    bool lowerCase = true;       // do_lower_case
    bool stripAccents = true;    // strip_accents; equals lowerCase if null or absent
    bool splitIdeographs = true; // tokenize_chinese_chars
    bool seesWords = true;       // a capital sigma has another small form at a word's end; not for tokenizer.json
  };

  static Result<WordPieces> loadJson(const std::filesystem::path &folder);
  Status findMarks(const std::string &path);
  Status readOptions(const std::filesystem::path &path);
  std::vector<std::u32string> words(std::string_view text) const;
  void appendWord(std::u32string_view word, std::vector<int32_t> &ids) const;
  void appendPieces(std::u32string_view word, std::vector<int32_t> &ids) const;

  PieceTable table;
  Options options;
  size_t longestWord = 100; // in characters; longer words are unknown
  int32_t unknown = 0, beginning = 0, separator = 0;
  std::optional<int32_t> mask;
  InputMarks inputs; // [CLS] A [SEP], and [CLS] A [SEP] B [SEP]
  WholeTokens marks; // the tokens above and [PAD], if the vocabulary has them
  std::vector<TokenizerFile> stored;
};

// The prefix of a piece that continues a word.
inline constexpr std::string_view kContinuation = "##";

} // namespace heddle
