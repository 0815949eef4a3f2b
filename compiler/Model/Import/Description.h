// A model description: the contents of a .toml file or a Hugging Face folder, checked, with every default filled in.
#pragma once

#include "compiler/Model/Language/ModelText.h"
#include "mlir/IR/Location.h"
#include "runtime/schema/DescriptionKeys.h"
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

/// A description: the keys of the table in DescriptionKeys.def, with their defaults, and fields that the compiler adds.
struct Description {
  using Text = std::string;
  using Flag = bool;
  using Whole = int64_t;
  using Number = double;
#define HEDDLE_KEY(type, member, name, initial, ...) type member = initial;
#include "runtime/schema/DescriptionKeys.def"

  // The ids of marks, which no key gives. A sentence's target begins with `beginId`, every sentence ends with `endId`
  // (a source only with `sourceEnd`), and a decoder never answers with `paddingId`.
  int64_t beginId = 1, endId = 2;
  std::optional<int64_t> unknownId = 0, paddingId;
  /// Tokens other than `endId` that end a decoder's text, such as the end of a turn.
  std::vector<int64_t> otherEnds;
  /// The number of labels, if the model's logits are of labels.
  std::optional<int64_t> classes;
  /// 1 if the vectors of pairs of texts are trained with grades.
  std::optional<int64_t> grades;
  /// 1 if an encoder is trained to guess hidden words.
  std::optional<int64_t> hiddenWords;
  /// The largest number of neighbours of a token, if tokens are the nodes of a graph.
  std::optional<int64_t> neighbours;
  /// The largest number of sentences in a text, if the model distinguishes them.
  std::optional<int64_t> sentences;
  /// The images that the model takes, if it takes any.
  language::ImageShape image;
  /// The tensor of each weight in the files of another program, as in toJSON(). Empty for models of our own.
  llvm::json::Object tensors;

  /// A folder's tensors whose names begin with one of these are no part of the model.
  llvm::json::Array ignoredTensors;
  /// Names the tensors of the model's weights, once these are known. Null for models of our own, and if `tensors` has
  /// the names.
  std::shared_ptr<language::PublishedFamily> family;
  /// The longest sequence for which the published positions are right; 0: any.
  int64_t longestPublished = 0;
  /// The number of positions that the published model has learned; 0 if the model is not published.
  int64_t learnedCount = 0;

  /// The published configuration's values that affect arithmetic, before any change. Empty for models of our own.
  llvm::json::Object published;

  /// The model's own text of what it computes. Null for the architectures that a description can name.
  std::shared_ptr<language::ModelText> text;
  /// Values of the text's parameters that come from outside the text.
  language::Settings settings;
  /// The optimizer's own text. Null if `update` is a part of the model's text, or if the optimizer is the fused Adam.
  std::shared_ptr<language::ModelText> optimizerText;

  /// Which of the two stacks (3.1, Figure 1) the model has. A model with only an encoder is not trained: it has no
  /// task.
  bool hasDecoder() const { return decoderLayers > 0; }
  bool scalesLoss() const { return hasDecoder() && lossScale > 0; }
  bool learnedPositions() const { return positions == "learned"; }

  /// Returns where the key was given: its line in the file, or `--set`. A key with its default is at the file's start.
  Location whereIs(StringRef key) const;

  /// Returns the keys of the model's structure, as settings of a text's parameters.
  language::Settings getStructure() const;

  /// Returns the meaning of the model: the text, its parameters and the marks, which determine what its weights
  /// compute. Names are sorted, and numbers are rounded to f32.
  llvm::json::Object describeMeaning() const;

  /// Returns every key with its value, the token ids of the marks, and `tensors`.
  llvm::json::Object toJSON() const;
  /// Adds the numbers of labels, neighbours and sentences and the shape of images, if the model has them.
  void addShapes(llvm::json::Object &object) const;

  /// The start of the file that describes the model.
  LocationAttr start;
  /// The place where each key got its value, for keys whose value comes from outside.
  llvm::StringMap<LocationAttr> given;
};

/// One key of a description.
struct DescriptionKey {
  /// The member that holds the value; its type is the key's type.
  using Member =
      std::variant<std::string Description::*, int64_t Description::*, double Description::*, bool Description::*>;

  StringLiteral name;
  Member member;
  bool required; // must be given unless the description names a `model`
  ::heddle::schema::KeyRole role;
  ::heddle::schema::NumberRange range;
  ArrayRef<StringLiteral> choices; // of a string
  StringLiteral doc;

  /// Returns true if a `model` text declares its own parameters instead of the key.
  bool isStructure() const {
    return role == ::heddle::schema::KeyRole::Structure || role == ::heddle::schema::KeyRole::Regularizer;
  }
  /// Returns the values that the key takes, to complete "'key' expects ...".
  std::string describeValues() const;
  /// Returns the default value in TOML notation, or empty for a key that must be given.
  std::string describeDefault() const;
};

/// All keys, in the order in which the documentation lists them.
ArrayRef<DescriptionKey> getDescriptionKeys();
/// Returns the key called `name`, or null.
const DescriptionKey *findDescriptionKey(StringRef name);
/// Returns the key that `name` most likely stands for, or null if it resembles none of them.
const DescriptionKey *findNearestKey(StringRef name);
std::string showNumber(double value);

/// Writes docs/description.md: all keys in Markdown.
void printDescriptionPage(raw_ostream &stream);

/// Changes of a description from outside.
struct DescriptionChanges {
  std::vector<std::string> overrides;   // each a `key=value` that replaces the description's own value
  double lossScale = 0;                 // used if neither the description nor an override has `loss_scale`
  std::vector<std::string> ignoredKeys; // unknown keys of a published configuration that pass
  std::string architecture;             // replaces a published configuration's; empty: does not
  std::string family;                   // the text (.weft) of a published model's family; empty: Heddle's own
  std::string optimizer;                // an optimizer's text (.weft), or an optimizer's name; empty: the description's
};

/// Reads the description at `path` and applies `changes`. Every mistake found is reported as an error of `context`.
FailureOr<Description> readDescription(MLIRContext *context, StringRef path, const DescriptionChanges &changes);

/// Reads the model text at `path`, which is named at `where`, or on the command line if that is null. Mistakes are
/// errors of `context`.
FailureOr<language::ModelText> readModelText(MLIRContext *context, StringRef path, LocationAttr where = {});

/// Returns the description of the model text at `path`, with `changes`. Keys that do not belong to the text have their
/// defaults.
FailureOr<Description> readTextDescription(MLIRContext *context, StringRef path, const DescriptionChanges &changes);

/// Applies `changes` to `description` and checks the whole, as readDescription does.
FailureOr<Description> overrideDescription(MLIRContext *context, Description description,
                                           const DescriptionChanges &changes);

} // namespace mlir::heddle
