// The keys of a config.json, each read once: what nobody read or set aside is unknown in the end.
#ifndef HEDDLE_COMPILER_HUGGINGFACE_CONFIG_H
#define HEDDLE_COMPILER_HUGGINGFACE_CONFIG_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>

namespace mlir::heddle {

class HuggingFaceConfig {
public:
  /// Fails after an error where there is no such file or it is no JSON object.
  static FailureOr<HuggingFaceConfig> read(MLIRContext *context, StringRef path);
  /// A configuration that was made of another file's contents: errors name that file.
  static HuggingFaceConfig make(MLIRContext *context, StringRef path, llvm::json::Object object);

  MLIRContext *getContext() const { return context; }
  bool hasFailed() const { return failed; }
  void setFailed() { failed = true; }
  /// Takes a key over from another configuration, unless it has it or the other lacks it.
  void adopt(const HuggingFaceConfig &other, StringRef key);
  const llvm::json::Object &getObject() const { return object; }
  InFlightDiagnostic fail(StringRef key);
  /// The line of the key, or the file's first where it has none.
  LocationAttr whereIs(StringRef key) const;

  //===-- Values ------------------------------------------------------------------------------------------------===//
  // A key without a default must be there. After an error the value is the default, or something harmless.

  int64_t whole(StringRef key, int64_t low, int64_t high, std::optional<int64_t> otherwise = {});
  double number(StringRef key, double otherwise);
  bool flag(StringRef key, bool otherwise);
  std::string text(StringRef key, std::optional<StringRef> otherwise = {});
  /// The strings of a list; none where the key is not there.
  std::vector<std::string> list(StringRef key);

  /// A whole number or a list of them, none where the key is not there.
  SmallVector<int64_t> wholes(StringRef key, int64_t low, int64_t high);

  bool has(StringRef key) { return find(key); }
  /// The key's value; null where the key is not there, or null. The key is known from then on.
  const llvm::json::Value *value(StringRef key) { return find(key); }
  /// An error: a key that must be there is not. `what` it should be.
  void failLacking(StringRef key, StringRef what);
  /// Whether the key is there as null, which a default would hide.
  bool isNull(StringRef key) { return !find(key) && object.get(key); }
  /// Whether the key is there, even as null.
  bool isGiven(StringRef key) const { return object.get(key); }
  /// An object within, whose keys are read and rejected like those of the whole. Nothing where the key is not there.
  std::optional<HuggingFaceConfig> nested(StringRef key);

  //===-- Keys that are not followed ----------------------------------------------------------------------------===//

  /// An error where the key is there with another value: `why` completes "'key' is 3, but ...".
  void require(StringRef key, const llvm::json::Value &value, StringRef why);
  /// A warning where the key is there with another value: it changes how a model is trained, not what it computes.
  void notInTraining(StringRef key, const llvm::json::Value &value);
  /// Keys that say nothing about what the model computes.
  void ignore(ArrayRef<StringRef> keys);
  void ignorePrefix(StringRef start);
  /// Keys that change nothing if they are false; with another value they are unknown.
  void ignoreFalse(ArrayRef<StringRef> keys);
  /// An error for every key that nothing above has named, but a warning if its value is null or empty. Private keys,
  /// which begin with an underscore, and the keys of `given` (a key of an object within as "object.key") pass. A key of
  /// `given` that Heddle reads is an error.
  void rejectOthers(ArrayRef<std::string> given = {});

private:
  const llvm::json::Value *find(StringRef key);
  /// The key's value, or null after an error where it must be there.
  const llvm::json::Value *find(StringRef key, bool required, StringRef what);
  void wrongType(StringRef key, StringRef what, const llvm::json::Value &value);

  MLIRContext *context = nullptr;
  std::string path, source;
  std::string prefix; // of an object within: its name and a dot
  llvm::json::Object object;
  llvm::StringSet<> known;   // read, or passed over
  llvm::StringSet<> ignored; // passed over
  bool failed = false;
};

} // namespace mlir::heddle

#endif
