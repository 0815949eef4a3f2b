// The keys of a config.json. A key that is neither read nor ignored is unknown in the end.
#pragma once

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
  /// Fails after an error if there is no such file, or it is no JSON object.
  static FailureOr<HuggingFaceConfig> read(MLIRContext *context, StringRef path);
  /// Makes a configuration from the contents of another file. Errors name that file.
  static HuggingFaceConfig make(MLIRContext *context, StringRef path, llvm::json::Object object);

  MLIRContext *getContext() const { return context; }
  /// The path of the file.
  StringRef getPath() const { return path; }
  bool hasFailed() const { return failed; }
  void setFailed() { failed = true; }
  /// Copies a key from another configuration, unless it is already there or missing in the other.
  void adopt(const HuggingFaceConfig &other, StringRef key);
  const llvm::json::Object &getObject() const { return object; }
  InFlightDiagnostic fail(StringRef key);
  /// Returns the line of the key, or the file's first line if the key is not there.
  LocationAttr whereIs(StringRef key) const;

  //===-- Values ------------------------------------------------------------------------------------------------===//
  // A key without a default is required. After an error the value is the default, or something harmless.

  int64_t whole(StringRef key, int64_t low, int64_t high, std::optional<int64_t> otherwise = {});
  double number(StringRef key, double otherwise);
  bool flag(StringRef key, bool otherwise);
  std::string text(StringRef key, std::optional<StringRef> otherwise = {});
  /// Returns the strings of a list, or none if the key is missing.
  std::vector<std::string> list(StringRef key);

  /// Returns a whole number or a list of them, without duplicates, or none if the key is missing.
  SmallVector<int64_t> wholes(StringRef key, int64_t low, int64_t high);

  bool has(StringRef key) { return find(key); }
  /// Returns the key's value, or null if the key is missing or null. The key then counts as known.
  const llvm::json::Value *value(StringRef key) { return find(key); }
  /// Emits the error that a required key is missing. `what` says what it should be.
  void failLacking(StringRef key, StringRef what);
  /// Returns true if the key is there, even as null.
  bool isGiven(StringRef key) const { return object.get(key); }
  /// Returns an inner object, or nothing if the key is missing. Its keys are read and rejected like those of the whole.
  std::optional<HuggingFaceConfig> nested(StringRef key);

  //===-- Keys that are not followed ----------------------------------------------------------------------------===//

  /// Emits an error if the key is there with another value. `why` completes "'key' is 3, but ...".
  void require(StringRef key, const llvm::json::Value &value, StringRef why);
  /// Emits a warning if the key is there with another value: it changes how a model is trained, but not its results.
  void notInTraining(StringRef key, const llvm::json::Value &value);
  /// Ignores keys that do not change the model's results.
  void ignore(ArrayRef<StringRef> keys);
  void ignorePrefix(StringRef start);
  /// Ignores keys that change nothing, if they are false. With another value they stay unknown.
  void ignoreFalse(ArrayRef<StringRef> keys);
  /// Emits an error for every unknown key, but a warning if its value is null or empty. Private keys, which begin with
  /// an underscore, pass, and so do the keys of `given` (an inner key is written "object.key"). A key of `given` that
  /// Heddle reads is an error.
  void rejectOthers(ArrayRef<std::string> given = {});

private:
  const llvm::json::Value *find(StringRef key);
  /// Returns the key's value, or null. A missing key is an error if it is required.
  const llvm::json::Value *find(StringRef key, bool required, StringRef what);
  void wrongType(StringRef key, StringRef what, const llvm::json::Value &value);

  MLIRContext *context = nullptr;
  std::string path, source;
  std::string prefix; // of an inner object: its name and a dot
  llvm::json::Object object;
  llvm::StringSet<> known;   // read or ignored
  llvm::StringSet<> ignored; // ignored
  bool failed = false;
};

} // namespace mlir::heddle
