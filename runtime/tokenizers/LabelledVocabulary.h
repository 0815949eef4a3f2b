// A vocabulary together with the names of the labels that a model predicts. Checkpoints of such models store both.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/tokenizers/TextCodec.h"

#include <filesystem>
#include <memory>

namespace heddle {

// The beginning of the names of labels that nobody has named, in published models.
inline constexpr std::string_view kUnnamedLabel = "LABEL_";

inline constexpr const char *kLabelsFile = "labels.json"; // a list of names in the order of their numbers

// The vocabulary of a model that takes no texts, for example an image classifier.
class NoTokens final : public TextCodec {
public:
  std::vector<int32_t> encode(std::string_view) const override { return {}; }
  std::string decode(std::span<const int32_t>) const override { return {}; }
  std::string piece(int32_t id) const override { return "#" + std::to_string(id); }
  int32_t pieces() const override { return 0; }
  const std::vector<TokenizerFile> &files() const override {
    static const std::vector<TokenizerFile> none;
    return none;
  }
};

class LabelledVocabulary final : public TextCodec {
public:
  LabelledVocabulary(std::unique_ptr<TextCodec> tokens, std::vector<std::string> labels);
  // Adds a checkpoint's labels to its vocabulary.
  static Result<std::unique_ptr<TextCodec>> load(std::unique_ptr<TextCodec> tokens,
                                                 const std::filesystem::path &folder);

  std::vector<int32_t> encode(std::string_view line) const override { return tokens->encode(line); }
  std::vector<int32_t> encodeTarget(std::string_view line) const override { return tokens->encodeTarget(line); }
  std::vector<int32_t> encodeContinuation(std::string_view text) const override {
    return tokens->encodeContinuation(text);
  }
  std::vector<int32_t> encodeUnmarked(std::string_view text) const override { return tokens->encodeUnmarked(text); }
  const InputMarks *inputMarks() const override { return tokens->inputMarks(); }
  std::string decode(std::span<const int32_t> ids) const override { return tokens->decode(ids); }
  std::string continuation(std::span<const int32_t> before, std::span<const int32_t> ids) const override {
    return tokens->continuation(before, ids);
  }
  std::vector<std::string> unknownParts(std::string_view line) const override { return tokens->unknownParts(line); }
  std::string piece(int32_t id) const override { return tokens->piece(id); }
  int32_t pieces() const override { return tokens->pieces(); }
  std::optional<int32_t> beginId() const override { return tokens->beginId(); }
  std::optional<int32_t> endId() const override { return tokens->endId(); }
  std::optional<int32_t> maskId() const override { return tokens->maskId(); }
  const std::vector<std::string> &labels() const override { return names; }
  const std::vector<TokenizerFile> &files() const override { return stored; }

private:
  std::unique_ptr<TextCodec> tokens;
  std::vector<std::string> names;
  std::vector<TokenizerFile> stored;
};

} // namespace heddle
