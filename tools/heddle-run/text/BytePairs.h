// GPT-2's vocabulary (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019): byte pair encoding
// (Sennrich et al., 2016) of bytes, so that every text has its tokens, and tokens their text.
#pragma once

#include "runtime/core/Status.h"
#include "tools/heddle-run/text/PieceTable.h"
#include "tools/heddle-run/text/TextCodec.h"

#include <array>
#include <filesystem>

namespace heddle::run {

class BytePairs final : public TextCodec {
public:
  // Reads vocab.json, whose pieces have a printable character in the place of each byte, and merges.txt, whose lines
  // are pairs of pieces that become one, the first ones first.
  static Result<BytePairs> load(const std::filesystem::path &folder);

  // decode(encode(line)) is the line, byte by byte, be it UTF-8 or not. "<|endoftext|>" in it is the end mark.
  std::vector<int32_t> encode(std::string_view line) const override;
  // Any bytes: a character may be cut off at either end. Ids that name no piece are left out.
  std::string decode(std::span<const int32_t> ids) const override;
  std::string piece(int32_t id) const override { return table.shown(id); }
  int32_t pieces() const override { return table.size(); }
  std::optional<int32_t> endId() const override { return end; }

  static constexpr std::string_view kFileNames[] = {"vocab.json", "merges.txt"};
  const std::vector<TokenizerFile> &files() const override { return stored; }

private:
  struct Merge {
    int32_t rank, product;
  };
  static uint64_t pairOf(int32_t left, int32_t right) { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }

  Status readMerges(const std::filesystem::path &path);
  const Merge *findMerge(int32_t left, int32_t right) const;
  void appendWord(std::string_view bytes, std::vector<int32_t> &ids) const;

  PieceTable table;
  std::vector<std::string> texts; // the bytes that each piece stands for
  std::array<int32_t, 256> byteIds{};
  std::unordered_map<uint64_t, Merge> merges;
  int32_t end = 0;
  std::vector<TokenizerFile> stored;
};

// The words that pairs are merged within: bytes of the first one of `text`, which is not empty. Contractions, letters,
// numbers and other characters, each with a space before it, and white space, of which the last character is left to
// the word behind it.
size_t firstWordBytes(std::string_view text);

} // namespace heddle::run
