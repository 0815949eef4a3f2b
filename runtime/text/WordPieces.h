// BERT's vocabulary (Devlin et al., 2019): words, and the pieces of which rarer words are put together (Wu et al.,
// "Google's Neural Machine Translation System", 2016, 4.1).
#pragma once

#include "runtime/core/Status.h"
#include "runtime/text/PieceTable.h"
#include "runtime/text/TextCodec.h"
#include "runtime/text/WholeTokens.h"

#include <filesystem>
#include <optional>

namespace heddle {

class WordPieces final : public TextCodec {
public:
  // Reads vocab.txt, a piece a line, and tokenizer_config.json where there is one, for the three options below. In a
  // folder without vocab.txt it is tokenizer.json with a model of type WordPiece, whose steps are those of BERT.
  static Result<WordPieces> load(const std::filesystem::path &folder);

  // A whole input: [CLS], the line's pieces and [SEP]. What stands for itself in the line ("[MASK]", "[SEP]", ...) is
  // the piece. Bytes that are no UTF-8 are left out.
  std::vector<int32_t> encode(std::string_view line) const override;
  // Words with a space between any two; case, accents and the line's own spaces are lost.
  std::string decode(std::span<const int32_t> ids) const override;
  std::string piece(int32_t id) const override { return table.shown(id); }
  int32_t pieces() const override { return table.size(); }
  const std::vector<TokenizerFile> &files() const override { return stored; }
  // Whether a folder has a tokenizer.json with such a model.
  static bool isIn(const std::filesystem::path &folder);

  int32_t separatorId() const { return separator; }
  std::optional<int32_t> maskId() const override { return mask; }

private:
  struct Options {
    bool lowerCase = true;       // do_lower_case
    bool stripAccents = true;    // strip_accents; as lowerCase where it is null or absent
    bool splitIdeographs = true; // tokenize_chinese_chars
    bool seesWords = true;       // a capital sigma at a word's end is a small one of its own: not in tokenizer.json
  };

  static Result<WordPieces> loadJson(const std::filesystem::path &folder);
  Status findMarks(const std::string &path);
  Status readOptions(const std::filesystem::path &path);
  std::vector<std::u32string> words(std::string_view text) const;
  void appendWord(std::u32string_view word, std::vector<int32_t> &ids) const;
  void appendPieces(std::u32string_view word, std::vector<int32_t> &ids) const;

  PieceTable table;
  Options options;
  size_t longestWord = 100; // characters; a longer one is unknown
  int32_t unknown = 0, beginning = 0, separator = 0;
  std::optional<int32_t> mask;
  WholeTokens marks; // these and, where it is there, that of padding
  std::vector<TokenizerFile> stored;
};

// What begins a piece that continues a word.
inline constexpr std::string_view kContinuation = "##";

} // namespace heddle
