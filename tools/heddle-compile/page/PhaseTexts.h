// What the phases left, as text: entries after each phase, and kernels from where they are cut to their last form.
#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_PAGE_PHASETEXTS_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_PAGE_PHASETEXTS_H

#include "compiler/Pipeline/Pipeline.h"
#include "mlir/IR/BuiltinOps.h"
#include "tools/heddle-compile/page/PackedTexts.h"
#include "tools/heddle-compile/page/PlaceTable.h"

#include <map>

namespace mlir::heddle {

/// Collects texts while a model is compiled. That of an entry is JSON: {"text": "...", "places": [3, -1]}, a place for
/// each line.
class PhaseTexts {
public:
  /// After a phase; `target` is empty for those that all targets share.
  void add(Phase phase, StringRef target, ModuleOp module);

  struct Kernel {
    SmallVector<StringRef> ops;                  // in it, when it was cut
    std::vector<std::pair<Phase, size_t>> texts; // by phase
    SmallVector<int64_t> tile; // that a workgroup multiplies, or otherwise the largest that it stores at a time
  };
  /// A kernel of a target that a launch at `place` starts.
  Kernel findKernel(StringRef target, StringRef name, Location place) const;

  PlaceTable &getPlaces() { return places; }
  PackedTexts &getTexts() { return texts; }
  /// [{"phase": "fuse", "target": "", "declarations": 3, "functions": [["train_step", 4]]}]
  const nlohmann::ordered_json &getPhases() const { return phases; }

private:
  size_t addWithPlaces(Operation *op);
  void addCutKernels(Operation *function);
  void addKernel(Phase phase, StringRef target, Operation *op, StringRef name);

  PlaceTable places;
  PackedTexts texts;
  nlohmann::ordered_json phases = nlohmann::ordered_json::array();
  DenseMap<Location, Kernel> cut;                                 // by the place of a kernel
  std::map<std::pair<std::string, std::string>, Kernel> compiled; // by target and name
};

} // namespace mlir::heddle

#endif
