// The sections `published` of model texts: how a family's parameters follow from a published configuration, and which
// tensor of the published files each weight is.
//
// A text's section adds to the sections of the texts that it uses. A statement, or a tensor's line, replaces an earlier
// one with the same left side.
#ifndef HEDDLE_COMPILER_LANGUAGE_PUBLISHED_H
#define HEDDLE_COMPILER_LANGUAGE_PUBLISHED_H

#include "compiler/Language/Elaborator.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"

namespace mlir::heddle::language {

/// The text of the family that publishes models of the architecture, by the name in config.json or in GGUF files; of
/// the texts that Heddle brings along. Nothing if there is none.
std::optional<ModelText> findFamily(MLIRContext *context, StringRef architecture, bool isGguf);
/// The architectures of all these texts, in the order of the texts.
std::vector<std::string> listArchitectures(bool isGguf);

class PublishedFamily {
public:
  /// The text has to outlive the family.
  PublishedFamily(const ModelText &text, OuterFunctions functions);

  /// Evaluates all statements, each with what it needs before it. `known` has names with values from outside; `placeOf`
  /// gives the place that a statement's value comes from, once that is evaluated, or null: it is then the statement's.
  /// Fails after an error.
  LogicalResult evaluate(const llvm::StringMap<Item> &known, function_ref<LocationAttr(StringRef name)> placeOf);
  /// The configuration is gone: its functions are not called any more.
  void forgetFunctions() { functions.clear(); }
  /// What a statement names; null if none does.
  const Item *find(StringRef name) const;
  /// Calls `visit` for every name with its value, in the order of the statements.
  void forEach(function_ref<void(StringRef name, const Item &value, LocationAttr where)> visit) const;
  /// Whether a statement, even one whose place another has taken, or a tensor's line uses the name.
  bool isUsed(StringRef name) const { return used.contains(name); }

  /// Where the weight lies in published files, as an object of the description's key `tensors` without its shape
  /// (runtime/artifact/Description.h). `parameters` are those of the model as it is compiled. An empty object if no
  /// line has the weight; a failure after an error.
  FailureOr<llvm::json::Object> findTensor(StringRef weight, size_t rank, const Settings &parameters);

private:
  Item valueOf(StringRef name, function_ref<LocationAttr(StringRef)> placeOf);
  bool evaluateOperands(const Expression &expression, function_ref<LocationAttr(StringRef)> placeOf);
  void collectUsed(const Expression &expression);
  std::optional<llvm::json::Object> readTensor(const Expression &expression, ArrayRef<std::string> numbers,
                                               StringRef ending, size_t rank, Scope &constants);

  OuterFunctions functions;
  Elaborator elaborator;
  Scope scope;
  llvm::StringMap<LocationAttr> places;                     // where the values come from
  llvm::MapVector<StringRef, const Statement *> statements; // by name
  std::vector<const Statement *> unnamed;
  llvm::MapVector<StringRef, const TensorRule *> tensors; // by the weights' pattern
  llvm::StringSet<> used;
  llvm::StringSet<> pending; // whose evaluation has begun
};

} // namespace mlir::heddle::language

#endif
