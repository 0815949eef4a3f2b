#include "compiler/Program/Emit/Emit.h"

#include "compiler/Program/Contract/Forms.h"
#include "compiler/Program/Emit/ArtifactWriter.h"
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

namespace {

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
                  SAME_ROLE(HighBits) && SAME_ROLE(Table),
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

} // namespace

FailureOr<Offset<schema::TensorType>> ArtifactWriter::writeType(Operation *op, RankedTensorType type) {
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
FailureOr<Offset<schema::TensorType>> ArtifactWriter::writePortType(Operation *op, RankedTensorType type) {
  if (!type.getElementType().isF32() && !type.getElementType().isInteger(32))
    return op->emitError() << "the artifact holds f32 and i32 tensors only, got " << type;
  return writeType(op, type);
}

/// The types of a launch's inputs or results; null if they are not known.
FailureOr<Offset<TensorTypes>> ArtifactWriter::writeTypes(plan::LaunchOp launch, std::optional<ArrayAttr> list) {
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
LogicalResult ArtifactWriter::writeSizes() {
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
                                       size.getWithin(), static_cast<int64_t>(size.getTimes())));
    hasBounds |= size.getWithin();
    hasMultiples |= size.getTimes() != 1;
  }
  return success();
}

LogicalResult ArtifactWriter::verifySameVariables() {
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

/// Returns true for weights of 16 bits, bf16 moments, and 16-bit parts of packed weights. Callers see them as f32.
static bool isNarrow(VariableOp variable) {
  bool isMoment = variable.getRole() == VariableRole::FirstMoment || variable.getRole() == VariableRole::SecondMoment;
  Type element = variable.getTensorType().getElementType();
  bool isPart = variable.getRole() && isPartOfPacked(*variable.getRole());
  return (isMoment && element.isBF16()) || (isPart && (element.isF16() || element.isBF16())) || isHalfWeight(variable);
}

/// The type in the artifact. Narrow variables keep their type. Other 16-bit variables are caches that only the program
/// itself uses. Callers see them as 32-bit words with two elements each.
static RankedTensorType inWords(VariableOp variable) {
  RankedTensorType type = variable.getTypeOfCallers();
  if (isNarrow(variable) || type.getElementTypeBitWidth() != 16 || type.getShape().back() % 2 != 0)
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape.back() /= 2;
  return RankedTensorType::get(shape, IntegerType::get(type.getContext(), 32));
}

LogicalResult ArtifactWriter::writeVariables() {
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
    variables.push_back(schema::CreateVariable(
        builder, name, static_cast<schema::VariableKind>(variable.getKind()), *type, bytes, storage, place.offset,
        limit ? limit.getInt() : 0, role, owner == variableIndices.end() ? -1 : int32_t(owner->second),
        variable.getSharded(), variable.getColumns() ? variable.getTensorType().getDimSize(1) : 0));
    hasShards |= variable.getSharded();
    hasRoundedMoments |= isNarrow(variable);
    hasHalfWeights |= isHalfWeight(variable);
    hasPanels |= variable.getColumns().has_value();
  }
  return success();
}

/// Writes a kernel without its code, because the target holds the code of all its kernels.
Offset<schema::Kernel> ArtifactWriter::writeKernel(const KernelCode &code) {
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
  kernel.add_persistent(code.persistent);
  kernel.add_packed_code(code.words.size_in_bytes());
  kernel.add_packed_binary(code.binary.size());
  if (!code.entry.empty())
    kernel.add_entry(entry);
  return kernel.Finish();
}

LogicalResult ArtifactWriter::write(Artifact &artifact) {
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
      hasPrompts |= entry.getSymName() == "prefill";
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
  uint32_t version = hasPrompts          ? schema::kSchemaVersion
                     : hasPanels         ? schema::kSchemaVersionOfPanels
                     : hasMultiples      ? schema::kSchemaVersionOfMultiples
                     : hasHalfWeights    ? schema::kSchemaVersionOfHalfWeights
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

Offset<flatbuffers::Vector<Offset<schema::VocabularyFile>>> ArtifactWriter::writeVocabulary() {
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
  if (failed(ArtifactWriter(targets, plans, vocabulary).write(artifact)))
    return failure();
  return artifact;
}
