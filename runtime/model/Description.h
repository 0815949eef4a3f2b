// The keys of an artifact's model description that the host has to know.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/text/Batches.h"
#include "runtime/text/TextCodec.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// Which of the two stacks a model has; what it is good for depends on that.
inline constexpr std::string_view kEncoderAndDecoder = "transformer", kEncoderAlone = "encoder",
                                  kDecoderAlone = "decoder";
// Models that give labels.
inline constexpr std::string_view kClassifier = "classifier", kTagger = "tagger";
// A model that gives a pair of texts a label or a grade.
inline constexpr std::string_view kPairs = "pair";
// A model that guesses hidden words and whether sentences follow each other.
inline constexpr std::string_view kPretraining = "pretraining";

struct ModelDescription {
  std::string architecture;
  int64_t vocabularySize = 0;
  int64_t maximumTokens = 0;    // of one side, in one call; also the rows of the self-attention caches
  int64_t maximumSequences = 0; // in one call
  int64_t maximumLength = 0;    // of one sequence, with its mark
  Marks marks;
  std::vector<int32_t> otherEnds;                                     // tokens beside marks.end that end a text
  int64_t knownTokens = std::numeric_limits<int64_t>::max();          // tokens from here on have no piece
  int32_t paddingId = -1;                                             // which is no answer; below 0: there is none
  int64_t widestBeam = 1;                                             // that `beam_step` was compiled for
  int64_t width = 0, heads = 0, encoderLayers = 0, decoderLayers = 0; // 0 where the description is silent
  int64_t classes = 0; // labels that the model tells apart; 0: it gives none
  bool hasTokenTypes = false, scalesLoss = false, weighsTokens = false;
  bool isPublished = false; // compiled from a published model, whose tokenizer has its own rule for marks
  nlohmann::json json;      // all keys, to be compared and kept

  // Fails where the text is not a description that Description::parse takes, or not that of a Transformer.
  static Result<ModelDescription> parse(std::string_view text);

  Labelling labelling() const {
    return architecture == kClassifier    ? Labelling::Texts
           : architecture == kTagger      ? Labelling::Words
           : architecture == kPretraining ? Labelling::Hidden
           : architecture == kPairs       ? (classes != 0 ? Labelling::Pairs : Labelling::Grades)
                                          : Labelling::None;
  }
  // A row of logits has so many numbers.
  int64_t choices() const { return classes != 0 ? classes : vocabularySize; }
  bool endsText(int32_t token) const {
    return token == marks.end || std::ranges::find(otherEnds, token) != otherEnds.end();
  }
  BatchLimits limits() const { return {maximumTokens, maximumSequences, maximumLength, marks}; }
};

// Fails where the model has no room for so many pieces; where the vocabulary has an end mark, also where it is not the
// model's.
Status checkVocabulary(const TextCodec &vocabulary, const ModelDescription &description);

// Makes the vocabulary and the model fit each other. A published decoder alone takes the vocabulary's marks: texts
// begin with the begin mark only if the vocabulary says so, and training ends them with the vocabulary's end. Tokens
// that the model has no row for become unknown. Fails as checkVocabulary does.
Status adoptVocabulary(TextCodec &vocabulary, ModelDescription &description);

// Fails where the vocabulary of a checkpoint has no labels, or more than the model.
Status checkLabels(const TextCodec &vocabulary, const ModelDescription &description, std::string_view checkpoint);

// Fails where the model has other stacks: says what it could do instead of what `command` does.
Status checkArchitecture(const ModelDescription &description, std::string_view wanted, std::string_view command);

// What a command may read.
enum class TextKind { Pairs, Plain, Records };

// Fails where the model is not for text of this kind.
Status checkTask(const ModelDescription &description, TextKind kind, std::string_view command);

// The keys in which two descriptions differ, as "d_model (512, now 64)". With `functionOnly`, keys that change how a
// model is trained or how much one call holds, but not what its weights compute, do not count.
std::vector<std::string> differences(const nlohmann::json &before, const nlohmann::json &now, bool functionOnly);

} // namespace heddle
