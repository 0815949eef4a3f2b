// Vocabularies of GPT-2 (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019) and its like: byte pair
// encoding (Sennrich et al., 2016) of bytes, so that every text has its tokens, and tokens their text.
#pragma once

#include "runtime/core/Status.h"
#include "tools/heddle-run/text/PieceTable.h"
#include "tools/heddle-run/text/TextCodec.h"
#include "tools/heddle-run/text/Words.h"

#include <array>
#include <filesystem>

namespace heddle::run {

class BytePairs final : public TextCodec {
public:
  // Reads vocab.json, whose pieces have a printable character in the place of each byte, and merges.txt, whose lines
  // are pairs of pieces that become one, the first ones first; or tokenizer.json, which has both, tokens that are added to
  // them, and how words are cut. A tokenizer.json of another kind of vocabulary is an error that says what it has.
  static Result<BytePairs> load(const std::filesystem::path &folder);

  // decode(encode(line)) is the line, byte by byte, be it UTF-8 or not, but for a vocabulary that composes characters. Added tokens
  // in it are themselves, such as GPT-2's end mark "<|endoftext|>".
  std::vector<int32_t> encode(std::string_view line) const override;
  // Any bytes: a character may be cut off at either end. Ids that name no piece are left out.
  std::string decode(std::span<const int32_t> ids) const override;
  std::string piece(int32_t id) const override { return table.shown(id); }
  int32_t pieces() const override { return table.size(); }
  std::optional<int32_t> endId() const override { return end; }

  static constexpr std::string_view kFileNames[] = {"vocab.json", "merges.txt"};
  static constexpr const char *kTokenizerJson = "tokenizer.json";
  const std::vector<TokenizerFile> &files() const override { return stored; }

private:
  struct Merge {
    int32_t rank, product;
  };
  static uint64_t pairOf(int32_t left, int32_t right) { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }

  static Result<BytePairs> loadJson(const std::filesystem::path &folder);
  // Whether tokenizer.json cuts words by GPT-2's rule alone.
  static Result<bool> cutsAsGpt2(const std::filesystem::path &folder);
  Status readAlphabet(const std::filesystem::path &path);
  Status readMerges(const std::filesystem::path &path);
  Status addMerge(std::string_view left, std::string_view right, int32_t rank, const std::string &where);
  const Merge *findMerge(int32_t left, int32_t right) const;
  void appendWord(std::string_view bytes, std::vector<int32_t> &ids) const;

  PieceTable table;
  std::vector<std::string> texts; // the bytes that each piece stands for
  std::array<int32_t, 256> byteIds{};
  std::array<std::string, 256> alphabet; // the characters that stand for bytes
  std::unordered_map<uint64_t, Merge> merges;
  std::vector<int32_t> wholes; // tokens that a text has as a whole
  std::optional<int32_t> end;
  WordRule words;
  bool composes = false;        // text in normalization form C
  bool wholeWordsFirst = false; // a word that is a piece is no matter of merges
  std::vector<TokenizerFile> stored;
};

} // namespace heddle::run
