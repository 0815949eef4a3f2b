// The state of an artifact while it is written.
#pragma once

#include "compiler/Program/Emit/Emit.h"
#include "compiler/Program/Emit/KernelTable.h"
#include "dialects/Heddle/Heddle.h"
#include "dialects/Plan/Plan.h"
#include "runtime/schema/artifact_generated.h"

namespace mlir::heddle {

namespace schema = ::heddle::schema;

template <typename T> using Offset = flatbuffers::Offset<T>;
using TensorTypes = flatbuffers::Vector<Offset<schema::TensorType>>;

/// Targets with the same launches, and their kernels.
struct SharedPlan {
  SmallVector<size_t> targets; // indices
  KernelTable kernels;
};

class ArtifactWriter {
public:
  ArtifactWriter(ArrayRef<PlannedTarget> targets, ArrayRef<SharedPlan> plans, ArrayRef<VocabularyFile> vocabulary)
      : targets(targets), plans(plans), vocabulary(vocabulary), module(targets.front().module) {}

  LogicalResult write(Artifact &artifact);

private:
  FailureOr<Offset<schema::TensorType>> writeType(Operation *op, RankedTensorType type);
  FailureOr<Offset<schema::TensorType>> writePortType(Operation *op, RankedTensorType type);
  FailureOr<Offset<TensorTypes>> writeTypes(plan::LaunchOp launch, std::optional<ArrayAttr> types);
  LogicalResult writeSizes();
  LogicalResult verifySameVariables();
  LogicalResult writeVariables();
  FailureOr<Offset<schema::Repeat>> writeRepeat(plan::RepeatOp repeat, size_t first);
  FailureOr<Offset<schema::Entry>> writeEntry(plan::EntryOp entry, const KernelTable &kernels);
  template <typename PortOp> LogicalResult writePorts(plan::EntryOp entry, std::vector<Offset<schema::Port>> &ports);
  FailureOr<schema::Dim> writeExtent(Operation *op, plan::ExtentAttr extent);
  FailureOr<Offset<schema::Sum>> writeSum(plan::SegmentsOp op, plan::SumAttr sum);
  FailureOr<uint32_t> inputIndex(plan::SegmentsOp op, StringRef name);
  FailureOr<Offset<schema::Segments>> writeSegments(plan::SegmentsOp op);
  FailureOr<std::vector<schema::Binding>> writeBindings(Operation *op, ArrayAttr bindings);
  FailureOr<Offset<schema::Collective>> writeCollective(plan::CollectiveOp collective, size_t before);
  FailureOr<Offset<schema::Launch>> writeLaunch(plan::LaunchOp launch, const KernelTable &kernels);
  FailureOr<int32_t> writeCost(plan::LaunchOp launch);
  FailureOr<Offset<schema::Shard>> writeShard(plan::LaunchOp launch);
  FailureOr<Offset<flatbuffers::Vector<const schema::CostTerm *>>> writeTerms(plan::LaunchOp launch,
                                                                              ArrayRef<TermAttr> terms);
  int32_t writePairs(PairsAttr pairs);
  Offset<schema::Kernel> writeKernel(const KernelCode &code);
  Offset<flatbuffers::Vector<Offset<schema::VocabularyFile>>> writeVocabulary();
  Offset<flatbuffers::String> writeString(StringRef text) { return builder.CreateString(text.data(), text.size()); }

  /// The index of a size or variable in its table. Fails after an error.
  FailureOr<uint32_t> find(Operation *op, const llvm::StringMap<uint32_t> &table, StringRef kind, StringRef name) {
    if (auto found = table.find(name); found != table.end())
      return found->second;
    return op->emitError() << "there is no " << kind << " '" << name << "'";
  }

  ArrayRef<PlannedTarget> targets;
  ArrayRef<SharedPlan> plans;
  ArrayRef<VocabularyFile> vocabulary;
  ModuleOp module; // the first target's; all targets have the same variables
  flatbuffers::FlatBufferBuilder builder;
  bool hasRepeats = false, hasCollectives = false, hasShards = false, hasRoundedMoments = false, hasBounds = false,
       hasMultiples = false, hasNarrowTexels = false, hasHalfWeights = false, hasPanels = false, hasPrompts = false;
  llvm::StringMap<uint32_t> sizeIndices, variableIndices;
  std::vector<Offset<schema::Size>> sizes;
  std::vector<Offset<schema::Variable>> variables;
  llvm::DenseMap<Attribute, int32_t> costIndices, pairIndices; // launches with equal costs share one
  std::vector<Offset<schema::Cost>> costs;
  std::vector<Offset<schema::PairCount>> pairs;
  llvm::DenseMap<Type, Offset<schema::TensorType>> types; // types, and lists of types, are shared too
  llvm::DenseMap<Attribute, Offset<TensorTypes>> typeLists;
};

} // namespace mlir::heddle
