// The tasks of models. The compiler derives a model's entries from its task; the runtime reads text for it.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace heddle {

// The units that labels belong to, if the model predicts labels: texts, words of texts, words hidden from the model, or
// pairs of texts. `Hidden` words are in pairs of sentences, and the model also predicts whether these follow each other;
// `Masked` words are in single texts. Pairs may have grades instead of labels. `Partners` are pairs without labels: each
// left text has to find its right one among those of the call.
enum class Labelling { None, Texts, Words, Hidden, Masked, Pairs, Grades, Partners };

inline bool isOfHiddenWords(Labelling kind) { return kind == Labelling::Hidden || kind == Labelling::Masked; }
inline bool isOfPairs(Labelling kind) {
  return kind == Labelling::Pairs || kind == Labelling::Grades || kind == Labelling::Partners;
}

// The kind of text that a model is trained with: two files of sentence pairs, plain text, or records.
enum class TextKind { Pairs, Plain, Records, None };

// The architectures that programs ask for.
inline constexpr std::string_view kEncoderAndDecoder = "transformer", kEncoderAlone = "encoder",
                                  kDecoderAlone = "decoder", kEmbedder = "embedder";

namespace schema {

struct Task {
  std::string_view name;         // in a model's text: `task classify`
  std::string_view architecture; // in the artifact's description
  Labelling labelling;
  TextKind text;
  std::string_view stacks, use; // for messages: what the model is, and the command for it
};

inline constexpr std::string_view kUsePredict = "`heddle-run predict` predicts labels with it";

inline constexpr Task kTasks[] = {
    {"translate", kEncoderAndDecoder, Labelling::None, TextKind::Pairs, "an encoder with a decoder",
     "`heddle-run translate` translates with it"},
    {"language", kDecoderAlone, Labelling::None, TextKind::Plain, "a decoder alone",
     "`heddle-run generate` continues text with it"},
    {"encode", kEncoderAlone, Labelling::None, TextKind::None, "an encoder alone",
     "`heddle-run fill` fills in masked words with it, where it has a head for that"},
    {"classify", "classifier", Labelling::Texts, TextKind::Records, "one that gives texts labels", kUsePredict},
    {"tag", "tagger", Labelling::Words, TextKind::Records, "one that gives words labels", kUsePredict},
    {"pair", "pair", Labelling::Pairs, TextKind::Records, "one that gives pairs of texts labels or grades",
     kUsePredict},
    {"embed", kEmbedder, Labelling::Partners, TextKind::Records, "one that learns vectors of texts",
     "`heddle-run embed` computes vectors with it"},
    {"pretrain", "pretraining", Labelling::Hidden, TextKind::Plain, "one that guesses hidden words",
     "`heddle-run train --text` trains it"}};

// The task whose `key` is `value`, or null.
inline const Task *findTask(std::string_view value, std::string_view Task::*key = &Task::name) {
  const auto *found = std::ranges::find(kTasks, value, key);
  return found == std::end(kTasks) ? nullptr : found;
}

} // namespace schema
} // namespace heddle
