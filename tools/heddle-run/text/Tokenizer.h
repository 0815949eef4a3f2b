// SentencePiece behind a narrow door: one shared model of source and target pieces.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace heddle::run {

inline constexpr int32_t kUnknownId = 0;
inline constexpr int32_t kBeginId = 1;
inline constexpr int32_t kEndId = 2;

enum class VocabularyType { Bpe, Unigram };

class Tokenizer {
public:
  static Result<Tokenizer> load(const std::filesystem::path &path);
  static Result<Tokenizer> fromBytes(std::string_view model, const std::string &name);

  // Learns a vocabulary of at most `pieces` pieces, by byte pair encoding or as a unigram language model, from the
  // lines of the files. A corpus too small for that many gives fewer; the caller compares pieces().
  static Result<Tokenizer> train(const std::vector<std::filesystem::path> &files, int32_t pieces,
                                 VocabularyType type = VocabularyType::Bpe);

  Tokenizer(Tokenizer &&) noexcept;
  Tokenizer &operator=(Tokenizer &&) noexcept;
  ~Tokenizer();

  std::vector<int32_t> encode(std::string_view line) const;

  // Identifiers that name no piece, and those of begin and end, are left out.
  std::string decode(std::span<const int32_t> ids) const;

  int32_t pieces() const;

  // The model as SentencePiece keeps it in a file.
  const std::string &bytes() const { return model; }

private:
  Tokenizer(std::unique_ptr<sentencepiece::SentencePieceProcessor> processor, std::string model);

  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor;
  std::string model;
};

} // namespace heddle::run
