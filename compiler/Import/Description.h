// A model description: what a .toml file or a Hugging Face folder says about a model, checked and with every default
// filled in.
#ifndef HEDDLE_COMPILER_IMPORT_DESCRIPTION_H
#define HEDDLE_COMPILER_IMPORT_DESCRIPTION_H

#include "compiler/Language/ModelText.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace mlir::heddle {

namespace language {
class PublishedFamily;
}

/// The keys of a description, with their defaults. Their meaning, their ranges and which of them must be given is the
/// table of DescriptionKeys.cpp.
struct Description {
  std::string architecture;
  int64_t dModel = 0;
  int64_t heads = 0;
  int64_t dFF = 0;
  int64_t encoderLayers = 0;
  int64_t decoderLayers = 0;
  int64_t vocabSize = 0;

  std::string norm = "post";
  std::string positions = "sinusoidal";
  std::string activation = "relu";
  std::string head = "linear";
  int64_t attentionWindow = 0;
  double attentionSoftCap = 0.0;
  bool shareEmbeddings = true;
  bool scaleEmbeddings = true;
  bool embeddingNorm = false;
  int64_t tokenTypes = 0;
  bool outputBias = false;
  bool pooler = false;
  double layerNormEpsilon = 1e-5;

  double dropout = 0.1;
  double attentionDropout = 0.0;
  double labelSmoothing = 0.1;

  double learningRate = 0.0;
  std::string schedule = "paper";
  int64_t warmup = 4000;
  int64_t decaySteps = 0;
  double finalLearningRate = 0.0;
  double adamBeta1 = 0.9;
  double adamBeta2 = 0.98;
  double adamEpsilon = 1e-9;
  double clipNorm = 0.0;
  double weightDecay = 0.0;
  double emaDecay = 0.0;
  double lossScale = 0.0;
  int64_t lossScaleInterval = 2000;
  bool accumulate = false;
  bool tokenWeights = false;
  bool sourceEnd = true;
  bool logitsEntry = false;
  bool explainEntry = false;
  int64_t beam = 4;

  int64_t maxTokens = 2048;
  int64_t maxSequences = 128;
  int64_t maxLength = 256;

  // What no key says: the ids of marks. A sentence's target begins with `beginId`, every sentence ends with `endId`
  // (a source only with `sourceEnd`), and a decoder never answers with `paddingId`.
  int64_t beginId = 1, endId = 2;
  std::optional<int64_t> unknownId = 0, paddingId;
  /// Tokens beside `endId` at which a decoder's text ends, such as the end of a turn.
  std::vector<int64_t> otherEnds;
  /// Labels that the model tells apart, where its logits are of labels.
  std::optional<int64_t> classes;
  /// Neighbours that a token has at most, where the tokens are a graph's nodes.
  std::optional<int64_t> neighbours;
  /// Sentences that a text has at most, where the model tells them apart.
  std::optional<int64_t> sentences;
  /// Images that the model takes, where it takes any.
  language::ImageShape image;
  std::vector<int64_t> strides; // of the images that the model makes of its images
  /// Where each weight comes from in the files of another program, as toJSON() has it; empty for models of our own.
  llvm::json::Object tensors;

  /// Names of a folder's tensors that begin so have no part in the model.
  llvm::json::Array ignoredTensors;
  /// Names the tensors of the model's weights, once these are known; null for models of our own, and where `tensors`
  /// has them.
  std::shared_ptr<language::PublishedFamily> family;
  /// The longest sequence that the published positions hold for; 0: any.
  int64_t longestPublished = 0;

  /// The published configuration's values that decide arithmetic, before any change; empty for models of our own.
  llvm::json::Object published;

  /// What the model computes, as a text of its own; null for the architectures that a description can name.
  std::shared_ptr<language::ModelText> text;
  /// Values of the text's parameters, from outside of it.
  language::Settings settings;

  /// Which of the two stacks (3.1, Figure 1) there are. An encoder alone is not trained: it has no task of its own.
  bool hasEncoder() const { return encoderLayers > 0; }
  bool hasDecoder() const { return decoderLayers > 0; }
  bool scalesLoss() const { return hasDecoder() && lossScale > 0; }
  bool preNorm() const { return norm == "pre"; }
  /// How far from a token self-attention sees, to either side; none where it sees the whole sequence.
  std::optional<int64_t> attentionRadius() const {
    return attentionWindow > 0 ? std::optional<int64_t>(attentionWindow / 2) : std::nullopt;
  }
  bool learnedPositions() const { return positions == "learned"; }

  /// Where the key was given: its line in the file, or `--set`. A key at its default is placed at the file's start.
  Location whereIs(StringRef key) const;

  /// The keys of what the model computes, as settings of a text's parameters.
  language::Settings getStructure() const;

  /// The meaning of the model: the text, its parameters and the marks, which decide what its weights compute. Names are
  /// sorted, and numbers are as f32.
  llvm::json::Object describeMeaning() const;

  /// Every key with its value, the marks' token ids, and `tensors`.
  llvm::json::Object toJSON() const;

  /// The start of the file that describes the model.
  LocationAttr start;
  /// Where each key that has a value from outside got it.
  llvm::StringMap<LocationAttr> given;
};

/// The values that a number may have; `text` follows "a number" or "a whole number".
struct NumberRange {
  double low;
  double high;
  StringLiteral text;
};

/// One key of a description.
struct DescriptionKey {
  /// The member that holds the value; its type is the key's type.
  using Member =
      std::variant<std::string Description::*, int64_t Description::*, double Description::*, bool Description::*>;

  StringLiteral name;
  Member member;
  bool required;    // must be given unless the description names a `model`
  bool isStructure; // says what the model computes; a `model` text declares its own parameters instead
  NumberRange range;
  ArrayRef<StringLiteral> choices; // of a string
  StringLiteral doc;

  /// The values that the key takes: completes "'key' expects ...".
  std::string describeValues() const;
  /// The value that a description without the key has, as TOML writes it; empty for a key that must be given.
  std::string describeDefault() const;
};

/// All keys, in the order in which the documentation lists them.
ArrayRef<DescriptionKey> getDescriptionKeys();
/// The key called `name`, or null.
const DescriptionKey *findDescriptionKey(StringRef name);
/// The key that `name` most likely stands for, or null where it is like none of them.
const DescriptionKey *findNearestKey(StringRef name);
std::string showNumber(double value);

/// Writes docs/description.md: all keys in Markdown.
void printDescriptionPage(raw_ostream &stream);

/// What is changed of a description from outside of it.
struct DescriptionChanges {
  ArrayRef<std::string> overrides;        // each a `key=value` that replaces the description's own value
  double lossScale = 0;                   // where neither the description nor an override has `loss_scale`
  ArrayRef<std::string> ignoredKeys = {}; // of a published configuration: unknown keys that are passed over
  std::string family = {};                // the text (.weft) of a published model's family; empty: Heddle's own
};

/// Reads the description at `path` and changes it. Every mistake found is reported as an error of `context`.
FailureOr<Description> readDescription(MLIRContext *context, StringRef path, const DescriptionChanges &changes);

/// Reads the model text at `path`, which is named at `where`, or on the command line if that is null. Mistakes are
/// errors of `context`.
FailureOr<language::ModelText> readModelText(MLIRContext *context, StringRef path, LocationAttr where = {});

/// The description of the model text at `path`, changed: every key that is not of the text has its default.
FailureOr<Description> readTextDescription(MLIRContext *context, StringRef path, const DescriptionChanges &changes);

/// Changes `description` and checks the whole, as readDescription does.
FailureOr<Description> overrideDescription(MLIRContext *context, Description description,
                                           const DescriptionChanges &changes);

} // namespace mlir::heddle

#endif
