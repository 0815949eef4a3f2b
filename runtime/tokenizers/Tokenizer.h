// A small interface to SentencePiece: one model for source and target pieces, or, as in Marian's models, one model per
// side and a vocabulary that numbers the pieces of both.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/tokenizers/TextCodec.h"

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

// The marks of vocabularies that Heddle learns.
inline constexpr int32_t kUnknownId = 0;
inline constexpr int32_t kBeginId = 1;
inline constexpr int32_t kEndId = 2;

enum class VocabularyType { Bpe, Unigram, Word };

// How a vocabulary is learnt.
struct VocabularyTraining {
  VocabularyType type = VocabularyType::Bpe;
  bool lineEnds = false; // whether a line feed is a piece; if not, it is treated as a space
  bool mask = false;     // whether a piece stands for hidden words
  std::string (*textOfLine)(std::string_view line) = nullptr; // null: the line itself
};

class Tokenizer final : public TextCodec {
public:
  static Result<Tokenizer> load(const std::filesystem::path &path);
  static Result<Tokenizer> fromBytes(std::string_view model, const std::string &name);

  // Loads from the contents of files(): spm.model, or source.spm, target.spm and vocab.json. `origin` tells in messages
  // where they come from.
  static Result<Tokenizer> fromFiles(const std::vector<TokenizerFile> &files, const std::string &origin);
  // Reads these files from a folder. Fails with NotFound if the folder has none of them.
  static Result<Tokenizer> loadFolder(const std::filesystem::path &folder);

  // Learns a vocabulary of at most `pieces` pieces from the lines of the files, by byte pair encoding, as a unigram
  // language model or as a list of the most frequent words. A small corpus may give fewer; the caller checks pieces().
  static Result<Tokenizer> train(const std::vector<std::filesystem::path> &files, int32_t pieces,
                                 const VocabularyTraining &how = {});

  Tokenizer(Tokenizer &&) noexcept;
  Tokenizer &operator=(Tokenizer &&) noexcept;
  ~Tokenizer() override;

  std::vector<int32_t> encode(std::string_view line) const override; // a source sentence
  std::vector<int32_t> encodeTarget(std::string_view line) const override;
  std::vector<int32_t> encodeContinuation(std::string_view text) const override;

  // Expects a source sentence.
  std::vector<std::string> unknownParts(std::string_view line) const override;

  // Decodes a target sentence. Skips marks and ids without a piece.
  std::string decode(std::span<const int32_t> ids) const override;
  std::string continuation(std::span<const int32_t> before, std::span<const int32_t> ids) const override;

  // Includes the mark of a space (U+2581).
  std::string piece(int32_t id) const override;

  int32_t pieces() const override;
  std::optional<int32_t> endId() const override;
  std::optional<int32_t> maskId() const override;

  // All files that a tokenizer may have.
  static constexpr std::string_view kFileNames[] = {"spm.model", "source.spm", "target.spm", "vocab.json"};
  const std::vector<TokenizerFile> &files() const override { return stored; }

private:
  using Processor = sentencepiece::SentencePieceProcessor;
  // Numbers the pieces of two models. Null if there is a single model, which numbers its own pieces.
  struct Vocabulary;
  // The same model without the space that it prepends to a text.
  struct Continuing;
  // A part of a line, and the model that encodes it.
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

  std::unique_ptr<Processor> source, target; // `target` is null if one model serves both sides
  std::unique_ptr<Vocabulary> vocabulary;
  std::vector<TokenizerFile> stored;
  std::unique_ptr<Continuing> continuing, targetContinuing;
};

} // namespace heddle
