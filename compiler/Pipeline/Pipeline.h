// The compiler's table of contents: which phases there are, in which order, and what each is made of.
#ifndef HEDDLE_COMPILER_PIPELINE_PIPELINE_H
#define HEDDLE_COMPILER_PIPELINE_PIPELINE_H

#include "compiler/Derive/Adapters.h"
#include "compiler/Derive/QuantizeWeights.h"
#include "compiler/Fusion/Recompute.h"
#include "compiler/Fusion/SetPrecision.h"
#include "compiler/Target/TargetProfile.h"
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

/// The training state of which each rank keeps only a part.
enum class Sharding { None, Optimizer };

/// The purpose of an artifact's entries. Every artifact has `init` and `eval`.
enum class Purpose { All, Training, Inference };

enum class Phase { Import, Derive, FuseAttention, Differentiate, Fuse, Tile, Layout, Lower, Plan, Emit };

/// A fusion pass that can be switched off, as a flag of the command line, named after the pass.
struct FusionFlag {
  StringLiteral name;
  StringLiteral description;
};
ArrayRef<FusionFlag> getFusionFlags();

/// Which of them run: all but those that are switched off.
class FusionOptions {
public:
  void switchOff(StringRef name) { off.push_back(name.str()); }
  bool has(const FusionFlag &flag) const { return !llvm::is_contained(off, flag.name); }

private:
  std::vector<std::string> off;
};

/// Passes that someone adds to a phase: their textual pipeline on a module, as mlir-opt's --pass-pipeline has it
/// between the parentheses of `builtin.module(...)`; a pass on functions is `func.func(NAME)`.
struct AddedPasses {
  Phase phase;
  std::string pipeline;
};

/// Fails where no phase can have these passes, and then says why in `problem`, in words for a user.
LogicalResult checkAddedPasses(const AddedPasses &added, std::string &problem);

/// Is shown what each phase leaves.
using PhaseWatch = std::function<void(Phase, ModuleOp)>;

struct PipelineOptions {
  /// What phases from `tile` on compile for.
  const TargetProfile *profile = nullptr;
  /// The heads that every target compiled for has rounded operands of, for phase `fuse`, which all targets share.
  HeadWidths heads;
  FusionOptions fusion;
  /// Of the operands of products, from phase `fuse` on.
  Precision precision = Precision::F32;
  /// Of keys and values that decoding keeps: f32, f16 or bf16, from phase `fuse` on.
  Precision caches = Precision::F32;
  /// Of Adam's moments of matrices between steps: f32 or bf16, from phase `fuse` on.
  Precision moments = Precision::F32;
  Recomputation recompute = Recomputation::None;
  /// What is trained of a model whose weights stay, for phase `derive`.
  std::optional<AdapterOptions> adapters;
  /// How several ranks train together, for phase `derive`; without it no entry is for several.
  std::optional<Sharding> sharding;
  /// Which entries phase `derive` makes.
  Purpose purpose = Purpose::All;
  /// What weights are kept as that nothing trains, for phase `derive`.
  WeightFormat weights{WeightFormat::Rule::Float};
  /// Measured tiles, for phase `tile`; may be null.
  TileChoices *choices = nullptr;
  /// They run in this order, each at the end of its phase, which is verified after them; checkAddedPasses() accepts all
  /// of them.
  std::vector<AddedPasses> added;
  /// Where to write NN-phase.mlir after each phase; empty: nowhere. `dumpTag` goes into the names of those files.
  std::string dumpDirectory;
  std::string dumpTag;
  PhaseWatch watch; // or null
};

/// One row of the table: `--compile-to`, `--dump-phases` and the help texts are made of it.
struct PhaseInfo {
  Phase phase;
  StringLiteral name;
  StringLiteral description;
  /// Adds the phase's passes. Import, before the passes, and emit, after them, have none.
  void (*build)(OpPassManager &passes, const PipelineOptions &options);
};

ArrayRef<PhaseInfo> getPhases();
const PhaseInfo &getPhase(Phase phase);

/// The phase called `name`, if there is such a phase.
std::optional<Phase> parsePhase(StringRef name);

/// Adds phases `first` to `last`, each with the pass that verifies its outcome.
void buildPhasePipeline(OpPassManager &passes, Phase first, Phase last, const PipelineOptions &options);

/// `heddle-verify-phase`, for a phase.
std::unique_ptr<Pass> createVerifyPhasePass(Phase phase);

/// Heddle's own backends and their targets. A program that adds backends or targets of its own does so after this, and
/// before it calls anything else. It may be called again.
void registerAllTargets();

/// Every dialect that a module may hold between import and emit.
void registerAllDialects(DialectRegistry &registry);

/// Every pass of ours, under the name that heddle-opt knows it by.
void registerAllPasses();

} // namespace heddle
} // namespace mlir

#endif
