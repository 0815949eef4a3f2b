// The vocabularies of models that are trained here, and of Marian's: a SentencePiece model for source and target pieces, or one
// model per side and a vocabulary that numbers the pieces of both.
#pragma once

#include "runtime/tokenizers/PublishedVocabulary.h"

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

  std::vector<int32_t> encode(std::string_view line) const override; // a source sentence
  std::vector<int32_t> encodeTarget(std::string_view line) const override { return ofTarget().encode(line); }
  std::vector<int32_t> encodeContinuation(std::string_view text) const override {
    return source.encodeContinuation(text);
  }
  // Expects a source sentence.
  std::vector<std::string> unknownParts(std::string_view line) const override;

  // Decode a target sentence. Marks and ids without a piece are skipped.
  std::string decode(std::span<const int32_t> ids) const override { return ofTarget().decode(ids); }
  std::string continuation(std::span<const int32_t> before, std::span<const int32_t> ids) const override {
    return ofTarget().continuation(before, ids);
  }

  // Includes the mark of a space (U+2581).
  std::string piece(int32_t id) const override { return source.piece(id); }
  int32_t pieces() const override { return source.pieces(); }
  std::optional<int32_t> endId() const override { return source.endId(); }
  std::optional<int32_t> maskId() const override { return source.maskId(); }

  // All files that a tokenizer may have.
  static constexpr std::string_view kFileNames[] = {"spm.model", "source.spm", "target.spm", "vocab.json"};
  const std::vector<TokenizerFile> &files() const override { return stored; }

private:
  Tokenizer(PublishedVocabulary source, std::optional<PublishedVocabulary> target, std::vector<TokenizerFile> stored);
  const PublishedVocabulary &ofTarget() const { return target ? *target : source; }
  std::string_view takeLanguage(std::string_view &line) const;

  PublishedVocabulary source;
  std::optional<PublishedVocabulary> target; // absent if one model serves both sides
  std::vector<TokenizerFile> stored;
};

} // namespace heddle
