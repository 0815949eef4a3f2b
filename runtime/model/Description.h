// The keys of an artifact's model description that the host needs.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/data/Batches.h"
#include "runtime/schema/Tasks.h"
#include "runtime/tokenizers/TextCodec.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct ModelDescription : Description {
  Marks marks;
  // Token ids from here on have no piece in the vocabulary.
  int64_t knownTokens = std::numeric_limits<int64_t>::max();
  bool scalesLoss = false, weighsTokens = false;
  bool hidesWords = false;  // an encoder that is trained to guess hidden words
  bool grades = false;      // the vectors of pairs of texts are trained with grades
  bool prefers = false;     // trained on pairs of answers
  bool isPublished = false; // compiled from a published model, whose tokenizer has its own rule for marks

  // Fails if Description::parse() refuses the text, or it does not describe a Transformer.
  static Result<ModelDescription> parse(std::string_view text);

  // Null if the architecture is none of the known tasks'.
  const schema::Task *task() const { return schema::findTask(architecture, &schema::Task::architecture); }
  Labelling labelling() const {
    Labelling kind = task() ? task()->labelling : Labelling::None;
    bool areGraded = kind == Labelling::Pairs ? classes == 0 : kind == Labelling::Partners && grades;
    return areGraded ? Labelling::Grades : hidesWords ? Labelling::Masked : kind;
  }
  // Returns true if the model predicts labels or grades of the texts that it is given.
  bool givesLabels() const {
    return labelling() != Labelling::None && !isOfHiddenWords(labelling()) && architecture != kEmbedder;
  }
  // The number of logits per row.
  int64_t choices() const { return classes != 0 ? classes : vocabularySize; }
  bool endsText(int32_t token) const {
    return token == marks.end || std::ranges::find(otherEnds, token) != otherEnds.end();
  }
  // The marks in the input of an encoder: the vocabulary's, or else a begin and an end mark. The input of a model with
  // only a decoder has the begin mark, if texts begin with one, and the marks that the vocabulary puts behind a text.
  InputMarks inputMarks(const TextCodec &vocabulary) const;
  BatchLimits limits() const { return {maximumTokens, maximumSequences, maximumLength, marks}; }
};

// Fails if the vocabulary has more pieces than the model has room for, or if it has an end mark that is not the
// model's.
Status checkVocabulary(const TextCodec &vocabulary, const ModelDescription &description);

// Adapts the vocabulary and the model to each other. A published decoder-only model takes the vocabulary's marks: texts
// start with the begin mark only if the vocabulary says so, and training ends them with the vocabulary's end mark.
// Tokens that the model has no row for become unknown. A published encoder takes the vocabulary's marks of inputs. A
// published encoder with a decoder takes only their begin marks, for its sources. Fails as checkVocabulary() does.
Status adoptVocabulary(TextCodec &vocabulary, ModelDescription &description);

// Fails if a checkpoint's vocabulary has no labels, or more labels than the model.
Status checkLabels(const TextCodec &vocabulary, const ModelDescription &description, std::string_view checkpoint);

// Fails if the model does not have the architecture `wanted`. The message says which command suits it instead of
// `command`.
Status checkArchitecture(const ModelDescription &description, std::string_view wanted, std::string_view command);

// Fails if the model is not for this kind of text.
Status checkTask(const ModelDescription &description, TextKind kind, std::string_view command);

// The keys in which two descriptions differ, as "d_model (512, now 64)". With `functionOnly`, ignores keys that change
// how a model is trained or how much a call holds, but not what its weights compute.
std::vector<std::string> differences(const nlohmann::json &before, const nlohmann::json &now, bool functionOnly);

} // namespace heddle
