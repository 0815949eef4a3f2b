// Reads the steps of a tokenizer.json: how a text is processed before its words are looked up, and how pieces become
// text.
#pragma once

#include "runtime/core/Json.h"
#include "runtime/tokenizers/PieceTexts.h"
#include "runtime/tokenizers/TextCutter.h"
#include "runtime/tokenizers/TextNormalizer.h"

namespace heddle {

class TokenizerSteps {
public:
  explicit TokenizerSteps(std::string path) : path(std::move(path)) {}

  Result<TextNormalizer> normalizer(const nlohmann::json &step) const;
  // Returns true if words are converted to bytes before look-up, as in GPT-2.
  static bool cutsBytes(const nlohmann::json &step);
  Result<TextCutter> cutter(const nlohmann::json &step) const;
  // For vocabularies whose pieces are not bytes.
  Result<PieceRule> decoder(const nlohmann::json &step) const;

  // Errors for contents that Heddle does not read, and for contents that no valid file has.
  template <typename... Why> Error unreadable(const Why &...why) const {
    return makeError(
        ErrorKind::Unsupported, "'", path, "' has ", why...,
        "; of tokenizer.json Heddle reads byte pair encoding as GPT-2, LLaMA, Mistral, Gemma and Qwen have it, and "
        "unigram models as T5 has them.");
  }
  template <typename... Why> Error malformed(const Why &...why) const {
    return makeError(ErrorKind::Malformed, "'", path, "': ", why..., "; download the file again.");
  }
  Error tooMany(std::string_view what, size_t count) const {
    return malformed("it has ", count, " ", what, ", more than any vocabulary");
  }
  static std::string shortened(const nlohmann::json &step) { return step.dump().substr(0, 200); }

private:
  Status addNormalizer(const nlohmann::json &step, TextNormalizer &normalizer) const;
  Status addCutter(const nlohmann::json &step, TextCutter &cutter) const;
  Status addDecoder(const nlohmann::json &step, PieceRule &rule, bool &isFused) const;
  Status addWords(const nlohmann::json &step, TextCutter &cutter) const;
  static bool addPattern(const std::string &pattern, TextCutter &cutter);

  std::string path;
};

} // namespace heddle
