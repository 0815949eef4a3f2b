#include "compiler/Program/Emit/Emit.h"

#include "compiler/Analysis/Cost/Cost.h"
#include "compiler/Analysis/Locations/Locations.h"
#include "compiler/Program/Contract/Forms.h"
#include "compiler/Program/Emit/KernelTable.h"
#include "compiler/Program/Emit/PackCode.h"
#include "compiler/Program/Planning/EntryGraph.h"
#include "dialects/Heddle/Heddle.h"
#include "dialects/Heddle/VariableRoles.h"
#include "dialects/Plan/Plan.h"
#include "mlir/IR/OperationSupport.h"
#include "runtime/schema/Constants.h"
#include "runtime/schema/Seal.h"

using namespace mlir;
using namespace mlir::heddle;
namespace schema = ::heddle::schema;

namespace {

template <typename T> using Offset = flatbuffers::Offset<T>;
using TensorTypes = flatbuffers::Vector<Offset<schema::TensorType>>;

/// Targets with the same launches, and their kernels.
struct SharedPlan {
  SmallVector<size_t> targets; // indices
  KernelTable kernels;
};

class Writer {
public:
  Writer(ArrayRef<PlannedTarget> targets, ArrayRef<SharedPlan> plans, ArrayRef<VocabularyFile> vocabulary)
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
       hasNarrowTexels = false, hasHalfWeights = false;
  llvm::StringMap<uint32_t> sizeIndices, variableIndices;
  std::vector<Offset<schema::Size>> sizes;
  std::vector<Offset<schema::Variable>> variables;
  llvm::DenseMap<Attribute, int32_t> costIndices, pairIndices; // launches with equal costs share one
  std::vector<Offset<schema::Cost>> costs;
  std::vector<Offset<schema::PairCount>> pairs;
  llvm::DenseMap<Type, Offset<schema::TensorType>> types; // types, and lists of types, are shared too
  llvm::DenseMap<Attribute, Offset<TensorTypes>> typeLists;
};

std::optional<schema::ElementType> toSchema(Type element) {
  if (element.isF32())
    return schema::ElementType::F32;
  if (element.isInteger(32))
    return schema::ElementType::I32;
  if (element.isBF16())
    return schema::ElementType::BF16;
  if (element.isF16())
    return schema::ElementType::F16;
  return std::nullopt;
}

template <typename Schema, typename Dialect> constexpr bool hasNumberOf(Schema schema, Dialect dialect) {
  return static_cast<int>(schema) == static_cast<int>(dialect);
}
#define SAME_ROLE(Name) hasNumberOf(schema::VariableRole::Name, VariableRole::Name)
#define SAME_KIND(Name) hasNumberOf(schema::VariableKind::Name, VariableKind::Name)
#define SAME_COLLECTIVE(Name) hasNumberOf(schema::CollectiveKind::Name, plan::Collective::Name)
static_assert(hasNumberOf(schema::VariableRole::MAX, getMaxEnumValForVariableRole()) && SAME_ROLE(FirstMoment) &&
                  SAME_ROLE(SecondMoment) && SAME_ROLE(Average) && SAME_ROLE(Gradient) && SAME_ROLE(Rounded) &&
                  SAME_ROLE(LossScale) && SAME_ROLE(Steps) && SAME_ROLE(MicroSteps) && SAME_ROLE(GoodSteps) &&
                  SAME_ROLE(SkippedSteps) && SAME_ROLE(Seed) && SAME_ROLE(Scales) && SAME_ROLE(Offsets) &&
                  SAME_ROLE(HighBits),
              "the artifact has the dialect's numbers of roles");
static_assert(hasNumberOf(schema::VariableKind::MAX, getMaxEnumValForVariableKind()) && SAME_KIND(Weight) &&
                  SAME_KIND(OptimizerState) && SAME_KIND(Gradient) && SAME_KIND(Counter) && SAME_KIND(Cache) &&
                  SAME_KIND(Frozen),
              "the artifact has the dialect's numbers of kinds");
static_assert(hasNumberOf(schema::CollectiveKind::MAX, plan::getMaxEnumValForCollective()) &&
                  SAME_COLLECTIVE(AllReduce) && SAME_COLLECTIVE(AllGather) && SAME_COLLECTIVE(ReduceScatter),
              "the artifact has the dialect's numbers of collectives");
#undef SAME_ROLE
#undef SAME_KIND
#undef SAME_COLLECTIVE

schema::Space toSchema(plan::Space space) {
  switch (space) {
  case plan::Space::Variable:
    return schema::Space::Variable;
  case plan::Space::Arena:
    return schema::Space::Arena;
  case plan::Space::Size:
    return schema::Space::Size;
  }
  llvm_unreachable("unknown space");
}

} // namespace

FailureOr<Offset<schema::TensorType>> Writer::writeType(Operation *op, RankedTensorType type) {
  if (Offset<schema::TensorType> known = types.lookup(type); !known.IsNull())
    return known;
  std::vector<schema::Dim> dims;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (!type.isDynamicDim(dim)) {
      dims.emplace_back(-1, type.getDimSize(dim));
      continue;
    }
    FailureOr<uint32_t> size = find(op, sizeIndices, "size", getSizeName(type, dim));
    if (failed(size))
      return failure();
    dims.emplace_back(*size, 0);
  }
  std::optional<schema::ElementType> element = toSchema(type.getElementType());
  if (!element)
    return op->emitError() << "the artifact has no element type for " << type;
  return types[type] = schema::CreateTensorTypeDirect(builder, *element, &dims);
}

/// Like writeType(), for tensors that callers see.
FailureOr<Offset<schema::TensorType>> Writer::writePortType(Operation *op, RankedTensorType type) {
  if (!type.getElementType().isF32() && !type.getElementType().isInteger(32))
    return op->emitError() << "the artifact holds f32 and i32 tensors only, got " << type;
  return writeType(op, type);
}

/// The types of a launch's inputs or results; null if they are not known.
FailureOr<Offset<TensorTypes>> Writer::writeTypes(plan::LaunchOp launch, std::optional<ArrayAttr> list) {
  if (!list)
    return Offset<TensorTypes>();
  if (Offset<TensorTypes> known = typeLists.lookup(*list); !known.IsNull())
    return known;
  std::vector<Offset<schema::TensorType>> written;
  for (auto type : list->getAsValueRange<TypeAttr>()) {
    auto one = writeType(launch, cast<RankedTensorType>(type));
    if (failed(one))
      return failure();
    written.push_back(*one);
  }
  return typeLists[*list] = builder.CreateVector(written);
}

static bool isSame(Operation *a, Operation *b) {
  return OperationEquivalence::isEquivalentTo(a, b, OperationEquivalence::IgnoreLocations);
}

/// Writes one table for all targets. Targets may have sizes of their own beside the model's; unused sizes do no harm.
LogicalResult Writer::writeSizes() {
  SmallVector<SizeOp> all;
  for (const PlannedTarget &target : targets)
    for (auto size : ModuleOp(target.module).getOps<SizeOp>()) {
      auto [known, isNew] = sizeIndices.try_emplace(size.getSymName(), all.size());
      if (isNew)
        all.push_back(size);
      else if (!isSame(all[known->second], size))
        return size.emitError()
               << "targets " << targets.front().profile->name << " and " << target.profile->name << " make the size '"
               << size.getSymName()
               << "' differently, and an artifact has a single table of sizes; compile an artifact for "
                  "each of them";
    }
  if (all.size() > schema::kMaxSizes)
    return emitError(module.getLoc()) << "the model has " << all.size()
                                      << " run-time sizes and sites of random numbers; " << schema::kMaxSizes
                                      << " are the most that an artifact holds";
  for (SizeOp size : all) {
    int32_t of = size.getOfAttr() ? sizeIndices.lookup(size.getOfAttr().getValue()) : -1;
    auto name = writeString(size.getSymName());
    auto longest = size.getLongest() ? writeString(*size.getLongest()) : 0;
    sizes.push_back(schema::CreateSize(builder, name, size.getMaximum(), longest, size.getFixed(), of, size.getFrom(),
                                       size.getWithin()));
    hasBounds |= size.getWithin();
  }
  return success();
}

LogicalResult Writer::verifySameVariables() {
  auto variablesOf = [](ModuleOp module) { return llvm::to_vector(module.getOps<VariableOp>()); };
  SmallVector<VariableOp> first = variablesOf(module);
  for (const PlannedTarget &target : targets.drop_front())
    if (SmallVector<VariableOp> own = variablesOf(target.module);
        own.size() != first.size() || !llvm::all_of_zip(first, own, isSame))
      return emitError(UnknownLoc::get(module.getContext()))
             << "targets " << targets.front().profile->name << " and " << target.profile->name
             << " keep different variables, and an artifact has a single table of variables; compile an artifact for "
                "each of "
                "them";
  return success();
}

/// Returns true for weights of 16 bits. Callers see them as f32.
static bool isHalfWeight(VariableOp variable) {
  Type element = variable.getTensorType().getElementType();
  return !variable.getRole() && variable.isWeight() && (element.isF16() || element.isBF16());
}

/// Returns true for weights of 16 bits, bf16 moments, and f16 parts of packed weights. Callers see them as f32.
static bool isNarrow(VariableOp variable) {
  bool isMoment = variable.getRole() == VariableRole::FirstMoment || variable.getRole() == VariableRole::SecondMoment;
  Type element = variable.getTensorType().getElementType();
  bool isPart = variable.getRole() && isPartOfPacked(*variable.getRole());
  return (isMoment && element.isBF16()) || (isPart && element.isF16()) || isHalfWeight(variable);
}

/// The type in the artifact. Narrow variables keep their type. Other 16-bit variables are caches that only the program
/// itself uses. Callers see them as 32-bit words with two elements each.
static RankedTensorType inWords(VariableOp variable) {
  RankedTensorType type = variable.getTensorType();
  if (isNarrow(variable) || type.getElementTypeBitWidth() != 16 || type.getShape().back() % 2 != 0)
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape.back() /= 2;
  return RankedTensorType::get(shape, IntegerType::get(type.getContext(), 32));
}

LogicalResult Writer::writeVariables() {
  VariablePlaces places = getVariablePlaces(module);
  // A view that has views itself exists only within the compiler. Bindings refer to the variable that owns the memory.
  DenseSet<StringAttr> storages;
  for (auto variable : module.getOps<VariableOp>())
    if (variable.getStorageAttr())
      storages.insert(variable.getStorageAttr().getAttr());
  auto isWritten = [&](VariableOp variable) {
    return !variable.getStorageAttr() || !storages.contains(variable.getSymNameAttr());
  };
  auto written = llvm::make_filter_range(module.getOps<VariableOp>(), isWritten);
  for (auto [index, variable] : llvm::enumerate(written))
    variableIndices[variable.getSymName()] = index;
  for (VariableOp variable : written) {
    const VariablePlace &place = places.find(variable.getSymNameAttr())->second;
    int32_t storage = variable.getStorageAttr() ? variableIndices.lookup(place.storage) : -1;
    RankedTensorType stored = inWords(variable);
    auto type = isNarrow(variable) ? writeType(variable, stored) : writePortType(variable, stored);
    if (failed(type))
      return failure();
    if (!variable.getTensorType().hasStaticShape())
      return variable.emitError() << "variable '" << variable.getSymName() << "' has no static shape";
    auto name = writeString(variable.getSymName());
    uint64_t bytes = stored.getNumElements() * stored.getElementTypeBitWidth() / 8;
    auto limit = variable->getAttrOfType<IntegerAttr>(kLimitAttrName);
    auto role =
        variable.getRole() ? static_cast<schema::VariableRole>(*variable.getRole()) : schema::VariableRole::None;
    // The owner is missing if it is a view that exists only within the compiler.
    auto owner = variable.getOwner() ? variableIndices.find(*variable.getOwner()) : variableIndices.end();
    variables.push_back(schema::CreateVariable(builder, name, static_cast<schema::VariableKind>(variable.getKind()),
                                               *type, bytes, storage, place.offset, limit ? limit.getInt() : 0, role,
                                               owner == variableIndices.end() ? -1 : int32_t(owner->second),
                                               variable.getSharded()));
    hasShards |= variable.getSharded();
    hasRoundedMoments |= isNarrow(variable);
    hasHalfWeights |= isHalfWeight(variable);
  }
  return success();
}

template <typename PortOp>
LogicalResult Writer::writePorts(plan::EntryOp entry, std::vector<Offset<schema::Port>> &ports) {
  for (auto port : entry.getOps<PortOp>()) {
    auto type = writePortType(port, cast<RankedTensorType>(port.getType()));
    if (failed(type))
      return failure();
    auto name = writeString(port.getName());
    ports.push_back(schema::CreatePort(builder, name, *type, port.getOffset(), port.getBytes(),
                                       static_cast<int64_t>(port.getLimit()),
                                       port.getRole() ? writeString(*port.getRole()) : 0));
  }
  return success();
}

FailureOr<schema::Dim> Writer::writeExtent(Operation *op, plan::ExtentAttr extent) {
  if (extent.getSize().empty())
    return schema::Dim(-1, extent.getExtent());
  FailureOr<uint32_t> size = find(op, sizeIndices, "size", extent.getSize());
  if (failed(size))
    return failure();
  return schema::Dim(static_cast<int32_t>(*size), 0);
}

FailureOr<uint32_t> Writer::inputIndex(plan::SegmentsOp op, StringRef name) {
  uint32_t index = 0;
  for (auto input : op->getParentOfType<plan::EntryOp>().getOps<plan::InputOp>())
    if (input.getName() == name)
      return index;
    else
      ++index;
  return op->emitError() << "there is no input '" << name << "'";
}

FailureOr<Offset<schema::Sum>> Writer::writeSum(plan::SegmentsOp op, plan::SumAttr sum) {
  std::vector<schema::Addend> addends;
  for (plan::AddendAttr addend : sum.getAddends()) {
    FailureOr<uint32_t> input = inputIndex(op, addend.getInput());
    if (failed(input))
      return failure();
    addends.emplace_back(*input, static_cast<int32_t>(addend.getCoefficient()), addend.getFrom());
  }
  auto vector = addends.empty() ? 0 : builder.CreateVectorOfStructs(addends);
  return schema::CreateSum(builder, vector, sum.getConstant());
}

FailureOr<Offset<schema::Segments>> Writer::writeSegments(plan::SegmentsOp op) {
  plan::SegmentsAttr condition = op.getCondition();
  auto places = writeExtent(op, condition.getPlaces()), rows = writeExtent(op, condition.getRows());
  auto first = writeSum(op, condition.getFirst()), count = writeSum(op, condition.getCount());
  if (failed(places) || failed(rows) || failed(first) || failed(count))
    return failure();
  if (condition.getList().empty())
    return schema::CreateSegments(builder, &*places, *first, *count, &*rows);
  auto list = inputIndex(op, condition.getList());
  auto listed = writeExtent(op, condition.getListed());
  if (failed(list) || failed(listed))
    return failure();
  return schema::CreateSegments(builder, &*places, *first, *count, &*rows, static_cast<int32_t>(*list), &*listed);
}

FailureOr<std::vector<schema::Binding>> Writer::writeBindings(Operation *op, ArrayAttr list) {
  std::vector<schema::Binding> bindings;
  for (auto binding : list.getAsRange<plan::BindingAttr>()) {
    uint32_t index = 0;
    if (binding.getSpace() != plan::Space::Arena) {
      bool isSize = binding.getSpace() == plan::Space::Size;
      FailureOr<uint32_t> found =
          find(op, isSize ? sizeIndices : variableIndices, isSize ? "size" : "variable", binding.getName());
      if (failed(found))
        return failure();
      index = *found;
    }
    bindings.emplace_back(toSchema(binding.getSpace()), index, binding.getOffset(), binding.getBytes());
  }
  return bindings;
}

FailureOr<Offset<schema::Collective>> Writer::writeCollective(plan::CollectiveOp collective, size_t before) {
  hasCollectives = true;
  if (collective.getFrom().size() > schema::kMaxCollectiveTensors)
    return collective.emitError() << "a collective of " << collective.getFrom().size() << " tensors; "
                                  << schema::kMaxCollectiveTensors << " are the most";
  auto from = writeBindings(collective, collective.getFrom()), to = writeBindings(collective, collective.getTo());
  if (failed(from) || failed(to))
    return failure();
  std::string place = describeLocation(collective.getLoc());
  constexpr size_t mostOfPlaces = 1 << 10; // a bucket has many locations
  if (place.size() > mostOfPlaces)
    place = place.substr(0, place.rfind(';', mostOfPlaces)) + "; ...";
  auto location = place.empty() ? Offset<flatbuffers::String>() : builder.CreateSharedString(place);
  static_assert(static_cast<int>(plan::Collective::AllReduce) == static_cast<int>(schema::CollectiveKind::AllReduce) &&
                static_cast<int>(plan::Collective::AllGather) == static_cast<int>(schema::CollectiveKind::AllGather) &&
                static_cast<int>(plan::Collective::ReduceScatter) ==
                    static_cast<int>(schema::CollectiveKind::ReduceScatter));
  Offset<flatbuffers::Vector<uint32_t>> likeVector;
  if (auto like = collective.getLike()) {
    std::vector<uint32_t> indices;
    for (auto name : like->getAsRange<FlatSymbolRefAttr>()) {
      FailureOr<uint32_t> found = find(collective, variableIndices, "variable", name.getValue());
      if (failed(found))
        return failure();
      indices.push_back(*found);
    }
    likeVector = builder.CreateVector(indices);
  }
  return schema::CreateCollective(builder, static_cast<schema::CollectiveKind>(collective.getWhat()), before,
                                  builder.CreateVectorOfStructs(*from), builder.CreateVectorOfStructs(*to), location,
                                  likeVector);
}

/// Writes the bytes per row of each binding. Bindings of a single number have no rows.
FailureOr<Offset<schema::Shard>> Writer::writeShard(plan::LaunchOp launch) {
  plan::ShardAttr shard = launch.getShardAttr();
  if (!shard)
    return Offset<schema::Shard>();
  auto variable = launch->getParentOfType<ModuleOp>().lookupSymbol<VariableOp>(shard.getVariable());
  FailureOr<uint32_t> index = find(launch, variableIndices, "variable", shard.getVariable());
  if (failed(index) || !variable)
    return failure();
  int64_t rows = variable.getTensorType().getDimSize(0);
  std::vector<uint64_t> rowBytes;
  for (auto binding : launch.getBindings().getAsRange<plan::BindingAttr>())
    rowBytes.push_back(binding.getSpace() == plan::Space::Size || binding.getBytes() <= 4 ? 0
                                                                                          : binding.getBytes() / rows);
  return schema::CreateShard(builder, *index, shard.getAxis(), shard.getTile(), builder.CreateVector(rowBytes));
}

FailureOr<Offset<schema::Launch>> Writer::writeLaunch(plan::LaunchOp launch, const KernelTable &kernels) {
  std::vector<schema::Grid> grid;
  for (auto axis : launch.getGrid().getAsRange<tile::GridAttr>()) {
    int32_t size = -1;
    if (!axis.getSize().empty()) {
      FailureOr<uint32_t> found = find(launch, sizeIndices, "size", axis.getSize());
      if (failed(found))
        return failure();
      size = *found;
    }
    grid.emplace_back(size, axis.getTile(), axis.getRepeat());
  }
  if (launch.getBindings().size() > schema::kMaxBindings)
    return launch.emitError() << "kernel '" << launch.getKernel() << "' takes " << launch.getBindings().size()
                              << " arguments; " << schema::kMaxBindings << " are the most";
  FailureOr<std::vector<schema::Binding>> bindings = writeBindings(launch, launch.getBindings());
  if (failed(bindings))
    return failure();
  FailureOr<int32_t> cost = writeCost(launch);
  FailureOr<Offset<schema::Shard>> shard = writeShard(launch);
  auto reads = writeTypes(launch, launch.getReads()), writes = writeTypes(launch, launch.getWrites());
  if (failed(cost) || failed(shard) || failed(reads) || failed(writes))
    return failure();
  std::string place = describeLocation(launch.getLoc());
  auto location = place.empty() ? Offset<flatbuffers::String>() : builder.CreateSharedString(place);
  Offset<flatbuffers::Vector<uint64_t>> strides;
  std::vector<uint64_t> steps;
  for (auto binding : launch.getBindings().getAsRange<plan::BindingAttr>())
    steps.push_back(static_cast<uint64_t>(binding.getStep()));
  if (llvm::any_of(steps, [](uint64_t step) { return step != 0; }))
    strides = builder.CreateVector(steps);
  auto gridVector = builder.CreateVectorOfStructs(grid);
  auto bindingVector = builder.CreateVectorOfStructs(*bindings);
  return schema::CreateLaunch(builder, kernels.indexOf(launch.getKernel()), gridVector, bindingVector,
                              launch.getBarrier(), *cost, location, *reads, *writes, launch.getInfinities(), strides,
                              *shard);
}

/// The cost's index in its table; -1 for a launch without cost.
FailureOr<int32_t> Writer::writeCost(plan::LaunchOp launch) {
  auto cost = launch->getAttrOfType<CostAttr>(kCostAttrName);
  if (!cost)
    return -1;
  auto [known, isNew] = costIndices.try_emplace(cost, costs.size());
  if (!isNew)
    return known->second;
  auto flops = writeTerms(launch, cost.getFlops()), model = writeTerms(launch, cost.getModel()),
       bytes = writeTerms(launch, cost.getBytes());
  if (failed(flops) || failed(model) || failed(bytes))
    return failure();
  costs.push_back(schema::CreateCost(builder, *flops, *model, *bytes));
  return known->second;
}

FailureOr<Offset<flatbuffers::Vector<const schema::CostTerm *>>> Writer::writeTerms(plan::LaunchOp launch,
                                                                                    ArrayRef<TermAttr> terms) {
  std::vector<schema::CostTerm> written;
  for (TermAttr term : terms) {
    int32_t indices[3] = {-1, -1, -1};
    if (term.getSizes().size() > std::size(indices))
      return launch.emitError() << "the cost of kernel '" << launch.getKernel() << "' multiplies "
                                << term.getSizes().size() << " sizes; " << std::size(indices) << " are the most";
    for (auto [name, index] : llvm::zip_first(term.getSizes(), indices)) {
      FailureOr<uint32_t> found = find(launch, sizeIndices, "size", name.getValue());
      if (failed(found))
        return failure();
      index = *found;
    }
    written.emplace_back(term.getCoefficient(), indices[0], indices[1], indices[2],
                         term.getPairs() ? writePairs(term.getPairs()) : -1);
  }
  if (written.empty()) // an empty vector of structs need not be aligned
    return Offset<flatbuffers::Vector<const schema::CostTerm *>>();
  return builder.CreateVectorOfStructs(written);
}

int32_t Writer::writePairs(PairsAttr attribute) {
  auto [known, isNew] = pairIndices.try_emplace(attribute, pairs.size());
  if (isNew) {
    auto queries = attribute.getQueries().empty() ? 0 : writeString(attribute.getQueries());
    auto keys = writeString(attribute.getKeys());
    pairs.push_back(schema::CreatePairCount(builder, queries, keys, attribute.getBelow(), attribute.getAbove(),
                                            attribute.getMaximum()));
  }
  return known->second;
}

FailureOr<Offset<schema::Repeat>> Writer::writeRepeat(plan::RepeatOp repeat, size_t first) {
  hasRepeats = true;
  auto launches = repeat.getOps<plan::LaunchOp>();
  auto trips = find(repeat, sizeIndices, "size", repeat.getTrips());
  auto rows = find(repeat, sizeIndices, "size", repeat.getRows());
  auto tokens = find(repeat, sizeIndices, "size", repeat.getTokens());
  if (failed(trips) || failed(rows) || failed(tokens))
    return failure();
  return schema::CreateRepeat(builder, first, std::distance(launches.begin(), launches.end()), *trips,
                              repeat.getSteps(), repeat.getReverse(), *rows, *tokens);
}

FailureOr<Offset<schema::Entry>> Writer::writeEntry(plan::EntryOp entry, const KernelTable &kernels) {
  std::vector<Offset<schema::Port>> inputs, outputs;
  if (failed(writePorts<plan::InputOp>(entry, inputs)) || failed(writePorts<plan::OutputOp>(entry, outputs)))
    return failure();
  std::vector<Offset<schema::Launch>> launches;
  std::vector<Offset<schema::Repeat>> repeats;
  std::vector<Offset<schema::Collective>> collectives;
  WalkResult walked = entry.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto repeat = dyn_cast<plan::RepeatOp>(op)) {
      FailureOr<Offset<schema::Repeat>> written = writeRepeat(repeat, launches.size());
      if (failed(written))
        return WalkResult::interrupt();
      repeats.push_back(*written);
    } else if (auto collective = dyn_cast<plan::CollectiveOp>(op)) {
      FailureOr<Offset<schema::Collective>> written = writeCollective(collective, launches.size());
      if (failed(written))
        return WalkResult::interrupt();
      collectives.push_back(*written);
    } else if (auto launch = dyn_cast<plan::LaunchOp>(op)) {
      FailureOr<Offset<schema::Launch>> written = writeLaunch(launch, kernels);
      if (failed(written))
        return WalkResult::interrupt();
      launches.push_back(*written);
    }
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  std::vector<Offset<schema::Segments>> conditions;
  for (auto op : entry.getOps<plan::SegmentsOp>()) {
    FailureOr<Offset<schema::Segments>> written = writeSegments(op);
    if (failed(written))
      return failure();
    conditions.push_back(*written);
  }
  std::vector<uint64_t> blocks;
  if (auto bytes = entry.getBlocks())
    blocks.assign(bytes->begin(), bytes->end());
  if (blocks.size() > schema::kMaxBlocks)
    return entry.emitError() << "the arena of entry '" << entry.getSymName() << "' has " << blocks.size() << " blocks; "
                             << schema::kMaxBlocks << " are the most: raise --max-allocation";
  return schema::CreateEntryDirect(builder, entry.getSymName().str().c_str(), &inputs, &outputs, &launches,
                                   conditions.empty() ? nullptr : &conditions, repeats.empty() ? nullptr : &repeats,
                                   collectives.empty() ? nullptr : &collectives, blocks.empty() ? nullptr : &blocks);
}

/// Writes a kernel without its code, because the target holds the code of all its kernels.
Offset<schema::Kernel> Writer::writeKernel(const KernelCode &code) {
  auto name = writeString(code.name);
  auto words = builder.CreateVector(std::vector<uint32_t>());
  Offset<flatbuffers::Vector<uint32_t>> texels;
  if (!code.texels.empty())
    texels = builder.CreateVector(code.texels.data(), code.texels.size());
  auto entry = code.entry.empty() ? Offset<flatbuffers::String>() : writeString(code.entry);
  schema::KernelBuilder kernel(builder);
  kernel.add_name(name);
  kernel.add_lanes(code.lanes);
  kernel.add_code(words);
  kernel.add_subgroup(code.subgroup);
  if (!code.texels.empty())
    kernel.add_texels(texels), kernel.add_texel_floats(static_cast<uint8_t>(code.texelFloats));
  hasNarrowTexels |= code.texelFloats != 4;
  kernel.add_shared_bytes(code.sharedBytes);
  kernel.add_registers(code.registers);
  kernel.add_spill_bytes(code.spillBytes);
  kernel.add_uses_float16(code.float16);
  kernel.add_uses_int16(code.int16);
  kernel.add_cooperative_side(code.cooperativeSide);
  kernel.add_packed_code(code.words.size_in_bytes());
  kernel.add_packed_binary(code.binary.size());
  if (!code.entry.empty())
    kernel.add_entry(entry);
  return kernel.Finish();
}

LogicalResult Writer::write(Artifact &artifact) {
  if (auto entries = llvm::range_size(module.getOps<plan::EntryOp>()); entries > schema::kMaxEntries)
    return emitError(module.getLoc()) << "the model has " << entries << " entries; " << schema::kMaxEntries
                                      << " are the most that an artifact holds";
  if (failed(writeSizes()) || failed(verifySameVariables()) || failed(writeVariables()))
    return failure();
  std::vector<Offset<schema::Entry>> moduleEntries;
  std::vector<Offset<schema::Target>> targetOffsets(targets.size());
  for (const SharedPlan &plan : plans) {
    bool isFirst = &plan == plans.begin();
    std::vector<Offset<schema::Entry>> entries;
    uint64_t arenaBytes = 0;
    for (auto entry : ModuleOp(targets[plan.targets.front()].module).getOps<plan::EntryOp>()) {
      FailureOr<Offset<schema::Entry>> written = writeEntry(entry, plan.kernels);
      if (failed(written))
        return failure();
      entries.push_back(*written);
      arenaBytes = std::max<uint64_t>(arenaBytes, entry.getArenaBytes());
      if (isFirst)
        artifact.launches += llvm::range_size(entry.getOps<plan::LaunchOp>());
    }
    for (auto [place, codes] : llvm::zip(plan.targets, plan.kernels.targets)) {
      std::vector<Offset<schema::Kernel>> kernels;
      for (const KernelCode &code : codes) {
        kernels.push_back(writeKernel(code));
        artifact.codeBytes += code.words.size_in_bytes() + code.binary.size();
      }
      FailureOr<PackedCode> packed = packCode(codes, module.getLoc());
      if (failed(packed))
        return failure();
      targetOffsets[place] =
          schema::CreateTargetDirect(builder, targets[place].profile->name.data(), &kernels, arenaBytes,
                                     isFirst ? nullptr : &entries, &packed->frame, packed->bytes);
    }
    artifact.kernels += plan.kernels.targets.front().size();
    if (isFirst)
      moduleEntries = std::move(entries);
  }
  auto text = module->getAttrOfType<StringAttr>("heddle.description");
  auto description = text ? writeString(text) : 0;
  auto producer = writeString("heddle-compile");
  auto sizeTable = builder.CreateVector(sizes);
  auto variableTable = builder.CreateVector(variables);
  auto entryTable = builder.CreateVector(moduleEntries);
  auto targetTable = builder.CreateVector(targetOffsets);
  auto costTable = builder.CreateVector(costs);
  auto pairTable = builder.CreateVector(pairs);
  auto vocabularyTable = writeVocabulary();
  uint32_t version = hasHalfWeights      ? schema::kSchemaVersion
                     : hasNarrowTexels   ? schema::kSchemaVersionOfTexels
                     : hasBounds         ? schema::kSchemaVersionOfBounds
                     : hasRoundedMoments ? schema::kSchemaVersionOfRoundedMoments
                     : hasShards         ? schema::kSchemaVersionOfShards
                     : hasCollectives    ? schema::kSchemaVersionOfCollectives
                     : hasRepeats        ? schema::kSchemaVersionOfRepeats
                                         : schema::kFirstSchemaVersion;
  schema::FinishModuleBuffer(builder, schema::CreateModule(builder, version, producer, description, sizeTable,
                                                           variableTable, entryTable, targetTable,
                                                           /*seal=*/1, costTable, pairTable, vocabularyTable));
  schema::seal(builder.GetBufferPointer(), builder.GetSize());
  artifact.entries = moduleEntries.size();
  artifact.bytes.assign(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
  return success();
}

Offset<flatbuffers::Vector<Offset<schema::VocabularyFile>>> Writer::writeVocabulary() {
  if (vocabulary.empty())
    return 0;
  std::vector<Offset<schema::VocabularyFile>> files;
  for (const VocabularyFile &file : vocabulary) {
    auto name = writeString(file.name);
    auto bytes = builder.CreateVector(reinterpret_cast<const uint8_t *>(file.bytes.data()), file.bytes.size());
    files.push_back(schema::CreateVocabularyFile(builder, name, bytes));
  }
  return builder.CreateVector(files);
}

static bool planAlike(PlannedTarget &a, PlannedTarget &b) {
  auto entriesOf = [](ModuleOp module) { return llvm::to_vector(module.getOps<plan::EntryOp>()); };
  auto as = entriesOf(a.module), bs = entriesOf(b.module);
  return as.size() == bs.size() && llvm::all_of_zip(as, bs, isSame);
}

FailureOr<Artifact> mlir::heddle::emitArtifact(MutableArrayRef<PlannedTarget> targets, StringRef assembler,
                                               ArrayRef<VocabularyFile> vocabulary) {
  std::vector<SharedPlan> plans(1);
  plans.front().targets = {0};
  for (size_t i = 1; i < targets.size(); ++i) {
    bool alike = planAlike(targets.front(), targets[i]);
    (alike ? plans.front() : plans.emplace_back()).targets.push_back(i);
  }
  for (SharedPlan &plan : plans) {
    SmallVector<PlannedTarget> planned;
    for (size_t place : plan.targets)
      planned.push_back(targets[place]);
    if (failed(plan.kernels.build(planned, assembler)))
      return failure();
  }
  Artifact artifact;
  if (failed(Writer(targets, plans, vocabulary).write(artifact)))
    return failure();
  return artifact;
}
