#include "compiler/Emit/Emit.h"

#include "compiler/Cost/Cost.h"
#include "compiler/Emit/KernelTable.h"
#include "compiler/Planning/EntryGraph.h"
#include "dialects/Heddle/Heddle.h"
#include "dialects/Plan/Plan.h"
#include "mlir/IR/OperationSupport.h"
#include "runtime/schema/Constants.h"
#include "runtime/schema/Seal.h"

using namespace mlir;
using namespace mlir::heddle;
namespace schema = ::heddle::schema;

namespace {

template <typename T> using Offset = flatbuffers::Offset<T>;

class Writer {
public:
  Writer(ModuleOp module, const KernelTable &kernels) : module(module), kernels(kernels) {}

  LogicalResult write(ArrayRef<PlannedTarget> planned, Artifact &artifact);

private:
  FailureOr<Offset<schema::TensorType>> writeType(Operation *op, RankedTensorType type);
  LogicalResult writeSizes();
  LogicalResult writeVariables();
  FailureOr<Offset<schema::Entry>> writeEntry(plan::EntryOp entry);
  template <typename PortOp> LogicalResult writePorts(plan::EntryOp entry, std::vector<Offset<schema::Port>> &ports);
  FailureOr<Offset<schema::Launch>> writeLaunch(plan::LaunchOp launch);
  FailureOr<int32_t> writeCost(plan::LaunchOp launch);
  FailureOr<Offset<flatbuffers::Vector<const schema::CostTerm *>>> writeTerms(plan::LaunchOp launch,
                                                                              ArrayRef<TermAttr> terms);
  int32_t writePairs(PairsAttr pairs);
  Offset<schema::Target> writeTarget(StringRef name, ArrayRef<KernelCode> codes, uint64_t arenaBytes);
  Offset<flatbuffers::String> writeString(StringRef text) { return builder.CreateString(text.data(), text.size()); }

  /// The place of a size or variable in its table; failure after an error.
  FailureOr<uint32_t> find(Operation *op, const llvm::StringMap<uint32_t> &table, StringRef kind, StringRef name) {
    if (auto found = table.find(name); found != table.end())
      return found->second;
    return op->emitError() << "there is no " << kind << " '" << name << "'";
  }

  ModuleOp module;
  const KernelTable &kernels;
  flatbuffers::FlatBufferBuilder builder;
  llvm::StringMap<uint32_t> sizeIndices, variableIndices;
  std::vector<Offset<schema::Size>> sizes;
  std::vector<Offset<schema::Variable>> variables;
  llvm::DenseMap<Attribute, int32_t> costIndices, pairIndices; // launches of one cost share it
  std::vector<Offset<schema::Cost>> costs;
  std::vector<Offset<schema::PairCount>> pairs;
};

schema::VariableKind toSchema(VariableKind kind) {
  switch (kind) {
  case VariableKind::Weight:
    return schema::VariableKind::Weight;
  case VariableKind::OptimizerState:
    return schema::VariableKind::OptimizerState;
  case VariableKind::Gradient:
    return schema::VariableKind::Gradient;
  case VariableKind::Counter:
    return schema::VariableKind::Counter;
  case VariableKind::Cache:
    return schema::VariableKind::Cache;
  }
  llvm_unreachable("unknown kind of variable");
}

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
  if (!type.getElementType().isF32() && !type.getElementType().isInteger(32))
    return op->emitError() << "the artifact holds f32 and i32 tensors only, got " << type;
  auto element = type.getElementType().isF32() ? schema::ElementType::F32 : schema::ElementType::I32;
  return schema::CreateTensorTypeDirect(builder, element, &dims);
}

LogicalResult Writer::writeSizes() {
  // Names first: a size may be a chunk of a later one.
  for (auto [index, size] : llvm::enumerate(module.getOps<SizeOp>()))
    sizeIndices[size.getSymName()] = index;
  for (auto size : module.getOps<SizeOp>()) {
    int32_t of = size.getOfAttr() ? sizeIndices.lookup(size.getOfAttr().getValue()) : -1;
    auto name = writeString(size.getSymName());
    auto longest = size.getLongest() ? writeString(*size.getLongest()) : 0;
    sizes.push_back(schema::CreateSize(builder, name, size.getMaximum(), longest, size.getFixed(), of, size.getFrom()));
  }
  return success();
}

LogicalResult Writer::writeVariables() {
  VariablePlaces places = getVariablePlaces(module);
  // A view that others are views of is but a name within the compiler: bindings refer to where all of it is stored.
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
    auto type = writeType(variable, variable.getTensorType());
    if (failed(type))
      return failure();
    if (!variable.getTensorType().hasStaticShape())
      return variable.emitError() << "variable '" << variable.getSymName() << "' has no static shape";
    auto name = writeString(variable.getSymName());
    uint64_t bytes = variable.getTensorType().getNumElements() * 4;
    variables.push_back(
        schema::CreateVariable(builder, name, toSchema(variable.getKind()), *type, bytes, storage, place.offset));
  }
  return success();
}

template <typename PortOp>
LogicalResult Writer::writePorts(plan::EntryOp entry, std::vector<Offset<schema::Port>> &ports) {
  for (auto port : entry.getOps<PortOp>()) {
    auto type = writeType(port, cast<RankedTensorType>(port.getType()));
    if (failed(type))
      return failure();
    auto name = writeString(port.getName());
    ports.push_back(schema::CreatePort(builder, name, *type, port.getOffset(), port.getBytes(),
                                       static_cast<int64_t>(port.getLimit())));
  }
  return success();
}

FailureOr<Offset<schema::Launch>> Writer::writeLaunch(plan::LaunchOp launch) {
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
  std::vector<schema::Binding> bindings;
  for (auto binding : launch.getBindings().getAsRange<plan::BindingAttr>()) {
    uint32_t index = 0;
    if (binding.getSpace() != plan::Space::Arena) {
      bool isSize = binding.getSpace() == plan::Space::Size;
      FailureOr<uint32_t> found =
          find(launch, isSize ? sizeIndices : variableIndices, isSize ? "size" : "variable", binding.getName());
      if (failed(found))
        return failure();
      index = *found;
    }
    bindings.emplace_back(toSchema(binding.getSpace()), index, binding.getOffset(), binding.getBytes());
  }
  FailureOr<int32_t> cost = writeCost(launch);
  if (failed(cost))
    return failure();
  return schema::CreateLaunchDirect(builder, kernels.indexOf(launch.getKernel()), &grid, &bindings, launch.getBarrier(),
                                    *cost);
}

/// The cost's place in its table, or -1 for a launch without one.
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

FailureOr<Offset<schema::Entry>> Writer::writeEntry(plan::EntryOp entry) {
  std::vector<Offset<schema::Port>> inputs, outputs;
  if (failed(writePorts<plan::InputOp>(entry, inputs)) || failed(writePorts<plan::OutputOp>(entry, outputs)))
    return failure();
  std::vector<Offset<schema::Launch>> launches;
  for (auto launch : entry.getOps<plan::LaunchOp>()) {
    FailureOr<Offset<schema::Launch>> written = writeLaunch(launch);
    if (failed(written))
      return failure();
    launches.push_back(*written);
  }
  return schema::CreateEntryDirect(builder, entry.getSymName().str().c_str(), &inputs, &outputs, &launches);
}

Offset<schema::Target> Writer::writeTarget(StringRef name, ArrayRef<KernelCode> codes, uint64_t arenaBytes) {
  std::vector<Offset<schema::Kernel>> written;
  for (const KernelCode &code : codes) {
    auto kernelName = writeString(code.name);
    auto words = builder.CreateVector(code.words.data(), code.words.size());
    Offset<flatbuffers::Vector<uint32_t>> texels;
    if (!code.texels.empty())
      texels = builder.CreateVector(code.texels.data(), code.texels.size());
    schema::KernelBuilder kernel(builder);
    kernel.add_name(kernelName);
    kernel.add_lanes(code.lanes);
    kernel.add_code(words);
    kernel.add_subgroup(code.lanes); // every profile's workgroup is one subgroup
    if (!code.texels.empty())
      kernel.add_texels(texels);
    written.push_back(kernel.Finish());
  }
  return schema::CreateTargetDirect(builder, name.str().c_str(), &written, arenaBytes);
}

LogicalResult Writer::write(ArrayRef<PlannedTarget> planned, Artifact &artifact) {
  if (failed(writeSizes()) || failed(writeVariables()))
    return failure();
  std::vector<Offset<schema::Entry>> entries;
  uint64_t arenaBytes = 0;
  for (auto entry : module.getOps<plan::EntryOp>()) {
    FailureOr<Offset<schema::Entry>> written = writeEntry(entry);
    if (failed(written))
      return failure();
    entries.push_back(*written);
    arenaBytes = std::max<uint64_t>(arenaBytes, entry.getArenaBytes());
    artifact.launches += llvm::range_size(entry.getOps<plan::LaunchOp>());
  }
  std::vector<Offset<schema::Target>> targets;
  for (auto [target, codes] : llvm::zip(planned, kernels.targets)) {
    targets.push_back(writeTarget(target.name, codes, arenaBytes));
    for (const KernelCode &code : codes)
      artifact.codeBytes += code.words.size() * sizeof(uint32_t);
  }
  auto text = module->getAttrOfType<StringAttr>("heddle.description");
  auto description = text ? writeString(text) : 0;
  auto producer = writeString("heddle-compile");
  auto sizeTable = builder.CreateVector(sizes);
  auto variableTable = builder.CreateVector(variables);
  auto entryTable = builder.CreateVector(entries);
  auto targetTable = builder.CreateVector(targets);
  auto costTable = builder.CreateVector(costs);
  auto pairTable = builder.CreateVector(pairs);
  schema::FinishModuleBuffer(builder, schema::CreateModule(builder, schema::kSchemaVersion, producer, description,
                                                           sizeTable, variableTable, entryTable, targetTable,
                                                           /*seal=*/1, costTable, pairTable));
  schema::seal(builder.GetBufferPointer(), builder.GetSize());
  artifact.entries = entries.size();
  artifact.kernels = kernels.targets.front().size();
  artifact.bytes.assign(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
  return success();
}

/// The artifact has one list of launches for all of its targets.
static LogicalResult verifySamePlan(PlannedTarget &a, PlannedTarget &b) {
  auto entriesOf = [](ModuleOp module) { return llvm::to_vector(module.getOps<plan::EntryOp>()); };
  auto as = entriesOf(a.module), bs = entriesOf(b.module);
  auto same = [](plan::EntryOp x, plan::EntryOp y) {
    return OperationEquivalence::isEquivalentTo(x, y, OperationEquivalence::IgnoreLocations);
  };
  if (as.size() == bs.size() && llvm::all_of_zip(as, bs, same))
    return success();
  return emitError(UnknownLoc::get(a.module.getContext()))
         << "targets " << a.name << " and " << b.name
         << " launch their kernels differently, and an artifact has one plan; compile one artifact for each of them";
}

FailureOr<Artifact> mlir::heddle::emitArtifact(MutableArrayRef<PlannedTarget> targets) {
  for (PlannedTarget &other : targets.drop_front())
    if (failed(verifySamePlan(targets.front(), other)))
      return failure();
  KernelTable kernels;
  if (failed(kernels.build(targets)))
    return failure();
  Artifact artifact;
  if (failed(Writer(targets.front().module, kernels).write(targets, artifact)))
    return failure();
  return artifact;
}
