// A model text (.weft): the definition of a model in Heddle's language (README.md beside this file).
//
// To compile a text, read it, set its parameters, and elaborate it to model functions of the heddle dialect. The
// location of each op is its line in the text, named by the path of the bindings around it.
#pragma once

#include "compiler/Model/Language/Item.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::heddle::language {

/// A parameter's value, and the location of the line or the flag that sets it.
struct Setting {
  std::variant<bool, int64_t, double, std::string, std::vector<double>> value;
  LocationAttr where;
};
using Settings = llvm::StringMap<Setting>;

/// The maxima of a call of the compiled model. A text reads them by the names in the comments.
struct Limits {
  int64_t vocabulary = 0;   // vocab_size: exclusive upper bound of token ids
  int64_t maxTokens = 0;    // max_tokens: tokens of a call, on each side
  int64_t maxSequences = 0; // max_sequences: sequences of a call
  int64_t maxLength = 0;    // max_length: tokens of a sequence
};

/// A weight that an optimizer updates.
struct UpdatedWeight {
  std::string name; // for messages
  SmallVector<int64_t> shape;
  StringRef role;           // "embedding", "head", "matrix" or "vector"
  double weightDecay = 0.0; // 0 for weights that weight decay spares
  int64_t matrices = 1;     // that stand one below the other: one for each expert
};

class ModelText {
public:
  /// Reads `text` and the texts that it uses. Errors and locations call it `path`. If the text has mistakes, reports
  /// them to the context and fails.
  static FailureOr<ModelText> read(MLIRContext *context, StringRef path, StringRef text);

  /// Reads the text of an optimizer, which has a part `update` and no task.
  static FailureOr<ModelText> readOptimizer(MLIRContext *context, StringRef path, StringRef text);

  /// The part `update` of the text, or of the texts that it uses; null if there is none.
  const Part *findUpdate() const;
  /// The name of the text's file, and the file's contents, without the texts that it uses.
  StringRef getPath() const;
  StringRef getSource() const { return source; }

  /// The name of the model's task, one of schema::kTasks.
  StringRef getTask() const { return task; }
  /// Gives the model another task than its text's, one of schema::kTasks. Parts that only the text's task has are left
  /// out.
  void setTask(StringRef name) {
    isOwnTask &= name == task;
    task = name.str();
  }

  /// The `published` sections: first those of the texts that it uses, then its own.
  SmallVector<std::reference_wrapper<const PublishedSection>> getPublishedSections() const;

  /// A string that differs between texts that compute different things. It consists of the name and revision of each
  /// library text, and of a hash of the tokens of each other text, without comments and white space.
  std::string getFingerprint() const;

  /// Returns true if the text has a parameter called `name`.
  bool hasParameter(StringRef name) const;
  /// The parameter with the name most similar to `name`; empty if none is similar.
  StringRef findNearestParameter(StringRef name) const;

  /// Sets each parameter to its value in `given`, or else to its default. `given` may have other names too. Fails if a
  /// parameter has neither, or if the text does not allow the value.
  LogicalResult setParameters(const Settings &given);
  /// Returns true if only optimizers' texts declare the parameter, so that it does not affect the model.
  bool isOfOptimizer(StringRef parameter) const;
  /// All parameters of the text with their values; valid after setParameters().
  const Settings &getParameters() const { return parameters; }
  /// The value of a parameter that is a count; 0 if there is no parameter called `name`.
  int64_t getCount(StringRef name) const;
  /// The shape of the source's images, from the parameters `image_height`, `image_width` and `channels`.
  ImageShape getImageShape() const;

  /// Adds a function called `name`, which computes the step of `update` on a weight, to `module`. `values` has the
  /// value of each name that the text reads. Fails after an error.
  LogicalResult elaborateUpdate(ModuleOp module, StringRef name, const UpdatedWeight &weight,
                                const Settings &values) const;

  /// Adds the sizes, weights and model functions to `module`, which must be empty.
  LogicalResult elaborate(ModuleOp module, const Limits &limits) const;

private:
  friend class Elaborator;

  static FailureOr<ModelText> readTexts(MLIRContext *context, StringRef path, StringRef text);

  MLIRContext *context = nullptr;
  LocationAttr start;
  std::string source;
  std::string task;
  bool isOwnTask = true;                    // false if setTask() has chosen another task
  std::vector<std::shared_ptr<Text>> texts; // each text comes after the texts that it uses
  Settings parameters;
};

/// Converts a parameter's value to an item.
Item toItem(const Setting &setting);
/// Converts an item to a parameter's value; nothing unless it is a number, string, flag or list of numbers.
std::optional<Setting> toSetting(const Item &item, LocationAttr where);

/// The most similar of `names` to an unknown name; empty if none is similar.
StringRef findNearest(StringRef name, ArrayRef<StringRef> names);
/// The library text called `name`; empty if there is none.
StringRef findLibraryText(StringRef name);
/// The fingerprint of a library text: its name and revision. A line such as `# revision 2` sets the revision; without
/// it the revision is 1. Raise it whenever the text's arithmetic changes.
std::string getLibraryFingerprint(StringRef name);
/// The names of the library texts that are optimizers.
ArrayRef<StringRef> getOptimizers();
/// The names of all library texts.
ArrayRef<StringRef> getLibraryTexts();

} // namespace mlir::heddle::language
