// The module as text after each phase: entries, and kernels from the phase that outlines them on.
#pragma once

#include "compiler/Pipeline/Pipeline.h"
#include "mlir/IR/BuiltinOps.h"
#include "tools/heddle-compile/page/PackedTexts.h"
#include "tools/heddle-compile/page/PlaceTable.h"

#include <map>

namespace mlir::heddle {

/// Collects texts while a model is compiled. An entry's text is JSON: {"text": "...", "places": [3, -1]}, with a place
/// for each line.
class PhaseTexts {
public:
  /// Adds the module as it is after a phase. `target` is empty for phases that all targets share.
  void add(Phase phase, StringRef target, ModuleOp module);

  struct Kernel {
    SmallVector<StringRef> ops;                  // the ops in the kernel when it was outlined
    std::vector<std::pair<Phase, size_t>> texts; // by phase
    SmallVector<int64_t> tile; // the tile a workgroup multiplies; otherwise the largest tile it stores at a time
  };
  /// Returns the kernel of a target that a launch at `place` starts.
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
  DenseMap<Location, Kernel> cut;                                 // by the location of the outlined kernel
  std::map<std::pair<std::string, std::string>, Kernel> compiled; // by target and name
};

} // namespace mlir::heddle
