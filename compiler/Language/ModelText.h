// A model text (.weft): what a model computes, in the words of models. README.md beside this file has the language.
//
// A text is read, its parameters get their values, and then it is elaborated to model functions of the heddle dialect,
// every op located at its place in the text and named by the path of bindings that it is a part of.
#ifndef HEDDLE_COMPILER_LANGUAGE_MODELTEXT_H
#define HEDDLE_COMPILER_LANGUAGE_MODELTEXT_H

#include "compiler/Language/Item.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::heddle::language {

/// A parameter's value and the line, or the flag, that gives it.
struct Setting {
  std::variant<bool, int64_t, double, std::string, std::vector<double>> value;
  LocationAttr where;
};
using Settings = llvm::StringMap<Setting>;

/// How much a call of the compiled model holds. A text knows the numbers by the names behind them.
struct Limits {
  int64_t vocabulary = 0;   // vocab_size: ids of tokens are below it
  int64_t maxTokens = 0;    // max_tokens: of a call, on each side
  int64_t maxSequences = 0; // max_sequences: of a call
  int64_t maxLength = 0;    // max_length: of a sequence, in tokens
};

class ModelText {
public:
  /// Reads `text`, called `path` in errors and locations, and the texts that it uses. Mistakes are errors of the
  /// context; the result is then a failure.
  static FailureOr<ModelText> read(MLIRContext *context, StringRef path, StringRef text);

  /// The task that the model is for; its name is one of getTaskNames().
  StringRef getTask() const { return task; }

  /// The sections `published` of the texts that it uses and of itself, in this order.
  SmallVector<std::reference_wrapper<const PublishedSection>> getPublishedSections() const;

  /// Differs between texts that compute different things: the name and revision of each library text, and for each
  /// other text a hash of its tokens, without comments and white space.
  std::string getFingerprint() const;

  /// Whether the text has a parameter of this name, and the name that is most like it; empty where none is.
  bool hasParameter(StringRef name) const;
  StringRef findNearestParameter(StringRef name) const;

  /// Gives each parameter its value: of `given`, which need not hold parameters only, or its default. Fails where a
  /// parameter has neither, or a value that it does not take.
  LogicalResult setParameters(const Settings &given);
  /// All parameters of the text with their values, once they have them.
  const Settings &getParameters() const { return parameters; }
  /// A parameter that says how many of something there are; 0 where there is none of this name.
  int64_t getCount(StringRef name) const;
  /// What the source's sequences are by the parameters `image_height`, `image_width` and `channels`.
  ImageShape getImageShape() const;

  /// Adds the sizes, weights and model functions to `module`, which is empty.
  LogicalResult elaborate(ModuleOp module, const Limits &limits) const;

private:
  friend class Elaborator;

  MLIRContext *context = nullptr;
  LocationAttr start;
  std::string task;
  std::vector<std::shared_ptr<Text>> texts; // a text behind those that it uses
  Settings parameters;
};

/// What models can be for.
SmallVector<StringRef> getTaskNames();

/// The item that a parameter's value is.
Item toItem(const Setting &setting);
/// The value that a parameter gets by the item; nothing if it is no number, string, flag or list of numbers.
std::optional<Setting> toSetting(const Item &item, LocationAttr where);

/// The text called `name` of those that Heddle brings along; empty where there is no such text.
StringRef findLibraryText(StringRef name);
/// Its fingerprint: the name with the revision, which a line `# revision 2` of the text says. It is raised whenever the
/// text's arithmetic changes; a text without that line has revision 1.
std::string getLibraryFingerprint(StringRef name);
/// The names of all of them.
ArrayRef<StringRef> getLibraryTexts();

} // namespace mlir::heddle::language

#endif
