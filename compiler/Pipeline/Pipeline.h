// The compiler's table of contents: its phases, their order, and their passes.
#pragma once

#include "compiler/Analysis/Profile/TargetProfile.h"
#include "compiler/Graph/Derive/Adapters.h"
#include "compiler/Graph/Derive/QuantizeWeights.h"
#include "compiler/Graph/Precision/SetPrecision.h"
#include "compiler/Kernel/Fusion/Recompute.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/Pass.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
class OpPassManager;

namespace heddle {

struct TileChoices;

/// The training state that is sharded over the ranks.
enum class Sharding { None, Optimizer };

/// The purpose of an artifact's entries. Every artifact has `init` and `eval`.
enum class Purpose { All, Training, Inference };

enum class Phase { Import, Derive, FuseAttention, Differentiate, Prepare, Fuse, Tile, Layout, Lower, Plan, Emit };

/// A fusion pass that a command-line flag of the same name can switch off.
struct FusionFlag {
  StringLiteral name;
  StringLiteral description;
};
ArrayRef<FusionFlag> getFusionFlags();

/// The fusion passes that run: all except those that are switched off.
class FusionOptions {
public:
  void switchOff(StringRef name) { off.push_back(name.str()); }
  bool has(const FusionFlag &flag) const { return !llvm::is_contained(off, flag.name); }

private:
  std::vector<std::string> off;
};

/// Passes that a user adds to a phase, as a textual pipeline on a module: the part of mlir-opt's --pass-pipeline
/// between the parentheses of `builtin.module(...)`. A pass on functions is `func.func(NAME)`.
struct AddedPasses {
  Phase phase;
  std::string pipeline;
};

/// Fails if these passes cannot be added, and sets `problem` to the reason, in words for a user.
LogicalResult checkAddedPasses(const AddedPasses &added, std::string &problem);

/// A callback that receives the module after each phase.
using PhaseWatch = std::function<void(Phase, ModuleOp)>;

struct PipelineOptions {
  /// The target, for phases from `tile` on.
  const TargetProfile *profile = nullptr;
  /// The head widths for which all targets support rounded operands, for phase `prepare`, which all targets share.
  HeadWidths heads;
  FusionOptions fusion;
  /// Precision of matmul operands, from phase `prepare` on.
  Precision precision = Precision::F32;
  /// Precision of the keys and values in decoding caches: f32, f16 or bf16, from phase `prepare` on.
  Precision caches = Precision::F32;
  /// Precision of Adam's moments of matrices between steps: f32 or bf16, from phase `prepare` on.
  Precision moments = Precision::F32;
  Recomputation recompute = Recomputation::None;
  /// Bytes of the smallest target's device memory, or of what `--fit` allows, for phases `prepare` and `fuse`, which all
  /// targets share; 0: not known.
  int64_t memory = 0;
  /// The adapters to train if the model's weights are frozen, for phase `derive`.
  std::optional<AdapterOptions> adapters;
  /// How several ranks train together, for phase `derive`; nothing: training runs on one rank.
  std::optional<Sharding> sharding;
  /// The entries that phase `derive` creates.
  Purpose purpose = Purpose::All;
  /// The storage format of weights that are not trained, for phase `derive`.
  WeightFormat weights{WeightFormat::Rule::Float};
  /// Measured tiles, for phase `tile`; may be null.
  TileChoices *choices = nullptr;
  /// Added passes. They run in this order at the end of their phase, before the phase is verified. checkAddedPasses()
  /// must accept all of them.
  std::vector<AddedPasses> added;
  /// The folder for a file NN-phase.mlir after each phase; empty: none. `dumpTag` becomes part of the file names.
  std::string dumpDirectory;
  std::string dumpTag;
  PhaseWatch watch; // may be null
};

/// One row of the table of phases. `--compile-to`, `--dump-phases` and the help texts use it.
struct PhaseInfo {
  Phase phase;
  StringLiteral name;
  StringLiteral description;
  /// Adds the phase's passes. The first phase, import, and the last, emit, have none.
  void (*build)(OpPassManager &passes, const PipelineOptions &options);
};

ArrayRef<PhaseInfo> getPhases();
const PhaseInfo &getPhase(Phase phase);

/// The phase called `name`, if there is one.
std::optional<Phase> parsePhase(StringRef name);

/// Adds the passes of phases `first` to `last`, each followed by the pass that verifies the phase.
void buildPhasePipeline(OpPassManager &passes, Phase first, Phase last, const PipelineOptions &options);

/// Creates `heddle-verify-phase` for a phase.
std::unique_ptr<Pass> createVerifyPhasePass(Phase phase);

/// Registers Heddle's own backends and their targets. A program that registers further backends or targets must do so
/// after this call and before any other call. Repeated calls do nothing.
void registerAllTargets();

/// Registers all dialects that a module may contain between import and emit.
void registerAllDialects(DialectRegistry &registry);

/// Registers all of Heddle's passes, under their names in heddle-opt.
void registerAllPasses();

} // namespace heddle
} // namespace mlir
