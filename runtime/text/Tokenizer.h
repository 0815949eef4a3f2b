// SentencePiece behind a narrow door: one model of source and target pieces, or, as Marian's models have it, one for
// each side and a vocabulary that numbers the pieces of both.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/text/TextCodec.h"

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

namespace heddle {

// The marks of the vocabularies that Heddle learns.
inline constexpr int32_t kUnknownId = 0;
inline constexpr int32_t kBeginId = 1;
inline constexpr int32_t kEndId = 2;

enum class VocabularyType { Bpe, Unigram, Word };

// How a vocabulary is learnt.
struct VocabularyTraining {
  VocabularyType type = VocabularyType::Bpe;
  bool lineEnds = false; // whether a line's end is a piece too; without, it is a space like any other
  bool mask = false;     // whether there is a piece that stands for a hidden word
  std::string (*textOfLine)(std::string_view line) = nullptr; // null: the line itself
};

class Tokenizer final : public TextCodec {
public:
  static Result<Tokenizer> load(const std::filesystem::path &path);
  static Result<Tokenizer> fromBytes(std::string_view model, const std::string &name);

  // Of the files that files() has: spm.model, or source.spm, target.spm and vocab.json. `origin` is where they come
  // from, for messages.
  static Result<Tokenizer> fromFiles(const std::vector<TokenizerFile> &files, const std::string &origin);
  // Reads them from a folder. An error of kind NotFound says that it has none.
  static Result<Tokenizer> loadFolder(const std::filesystem::path &folder);

  // Learns a vocabulary of at most `pieces` pieces, by byte pair encoding, as a unigram language model or of the most
  // frequent words, from the lines of the files. A corpus too small for that many gives fewer; the caller compares
  // pieces().
  static Result<Tokenizer> train(const std::vector<std::filesystem::path> &files, int32_t pieces,
                                 const VocabularyTraining &how = {});

  Tokenizer(Tokenizer &&) noexcept;
  Tokenizer &operator=(Tokenizer &&) noexcept;
  ~Tokenizer() override;

  std::vector<int32_t> encode(std::string_view line) const override; // a source sentence
  std::vector<int32_t> encodeTarget(std::string_view line) const override;
  std::vector<int32_t> encodeContinuation(std::string_view text) const override;

  // Of a source sentence.
  std::vector<std::string> unknownParts(std::string_view line) const override;

  // A target sentence. Identifiers that name no piece, and those of marks, are left out.
  std::string decode(std::span<const int32_t> ids) const override;
  std::string continuation(std::span<const int32_t> before, std::span<const int32_t> ids) const override;

  // With its mark of a space (U+2581).
  std::string piece(int32_t id) const override;

  int32_t pieces() const override;
  std::optional<int32_t> endId() const override;
  std::optional<int32_t> maskId() const override;

  // Every file that a tokenizer may have.
  static constexpr std::string_view kFileNames[] = {"spm.model", "source.spm", "target.spm", "vocab.json"};
  const std::vector<TokenizerFile> &files() const override { return stored; }

private:
  using Processor = sentencepiece::SentencePieceProcessor;
  // Numbers the pieces of two models; null where there is one model, which numbers them itself.
  struct Vocabulary;
  // The same model, but it puts no space in front of a text.
  struct Continuing;
  // A part of a line, and the model that it is encoded with.
  struct Cut {
    const Processor *processor;
    std::string_view text;
  };

  Tokenizer(std::unique_ptr<Processor> source, std::unique_ptr<Processor> target,
            std::unique_ptr<Vocabulary> vocabulary, std::vector<TokenizerFile> stored);
  static Result<std::unique_ptr<Processor>> parse(std::string_view model, const std::string &name);
  std::string_view takeLanguage(std::string_view &line) const;
  std::vector<int32_t> number(const Processor &processor, std::string_view line) const;
  std::vector<int32_t> numberPart(const Processor &processor, std::string_view text) const;
  std::vector<Cut> cutLong(const Processor &processor, std::string_view line) const;

  std::unique_ptr<Processor> source, target; // `target` is null where one model serves both sides
  std::unique_ptr<Vocabulary> vocabulary;
  std::vector<TokenizerFile> stored;
  std::unique_ptr<Continuing> continuing, targetContinuing;
};

} // namespace heddle
