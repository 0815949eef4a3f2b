// The `published` sections of model texts. A section computes a family's parameters from a published configuration, and
// maps each weight to a tensor of the published files.
//
// A text's section extends the sections of the texts that it uses. A statement, or a tensor's line, replaces an earlier
// one with the same left side.
#pragma once

#include "compiler/Model/Language/Elaborator.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"

namespace mlir::heddle::language {

/// The library text whose section `published` names the architecture, as config.json or GGUF files (`isGguf`) name it.
/// Nothing if there is none.
std::optional<ModelText> findFamily(MLIRContext *context, StringRef architecture, bool isGguf);
/// The architectures of all library texts, in the order of the texts.
std::vector<std::string> listArchitectures(bool isGguf);

class PublishedFamily {
public:
  /// `text` must outlive the family.
  PublishedFamily(const ModelText &text, OuterFunctions functions);

  /// Evaluates all statements, each after the statements that it depends on. `known` has the values of further names.
  /// `placeOf` is called after a statement is evaluated and returns the location of its value; null: the statement's
  /// own. Fails after an error.
  LogicalResult evaluate(const llvm::StringMap<Item> &known, function_ref<LocationAttr(StringRef name)> placeOf);
  /// Drops the outer functions, before the configuration that they read goes away.
  void forgetFunctions() { functions.clear(); }
  /// The value of a name; null if it has none.
  const Item *find(StringRef name) const;
  /// Calls `visit` for each name and value, in the order of the statements.
  void forEach(function_ref<void(StringRef name, const Item &value, LocationAttr where)> visit) const;
  /// Returns true if a statement or a tensor's line uses the name. Replaced statements count too.
  bool isUsed(StringRef name) const { return used.contains(name); }

  /// The place of a weight in published files, in the format of the description's key `tensors`, without the shape
  /// (runtime/artifact/Description.h). `parameters` are the parameters of the compiled model. Returns an empty object
  /// if no line has the weight. Fails after an error.
  FailureOr<llvm::json::Object> findTensor(StringRef weight, size_t rank, const Settings &parameters);

private:
  Item valueOf(StringRef name, function_ref<LocationAttr(StringRef)> placeOf);
  bool evaluateOperands(const Expression &expression, function_ref<LocationAttr(StringRef)> placeOf);
  void collectUsed(const Expression &expression);
  /// The weight that a line of tensors is read for.
  struct WeightName {
    ArrayRef<std::string> numbers; // which the * in the line's name stand for
    StringRef ending;              // of the weight's name, where the line has none
    size_t rank;
    bool isGguf = false;
    bool isStacked = false; // its tensor is one of a stack
  };
  std::optional<llvm::json::Object> readTensor(const Expression &expression, WeightName weight, Scope &constants);
  std::optional<llvm::json::Object> readChosenTensor(const Expression &expression, WeightName weight, Scope &constants);

  OuterFunctions functions;
  Elaborator elaborator;
  Scope scope;
  llvm::StringMap<LocationAttr> places;                     // locations of the values
  llvm::MapVector<StringRef, const Statement *> statements; // by name
  std::vector<const Statement *> unnamed;
  llvm::MapVector<StringRef, const TensorRule *> tensors; // by the pattern of weight names
  llvm::StringSet<> used;
  llvm::StringSet<> pending; // names under evaluation, or evaluated
};

} // namespace mlir::heddle::language
