#include "runtime/artifact/Verify.h"

#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/CodeFormat.h"
#include "runtime/artifact/Description.h"
#include "runtime/core/Tensor.h"
#include "runtime/schema/Constants.h"
#include "runtime/schema/Seal.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_set>

namespace heddle {
namespace verifier {

Error broken(std::string message) { return Error{ErrorKind::Malformed, std::move(message)}; }

Status checkName(const flatbuffers::String *name, const std::string &what) {
  constexpr size_t limit = 1024;
  if (!name || name->size() == 0)
    return broken(what + " has no name.");
  if (name->size() > limit)
    return broken(str(what, " has a name of ", name->size(), " bytes; ", limit, " are the most."));
  bool printable = std::all_of(name->begin(), name->end(), [](char c) { return static_cast<uint8_t>(c) >= ' '; });
  if (!printable)
    return broken(what + " has a name with control characters.");
  return Success();
}

Result<uint64_t> tensorBytes(const schema::Module &module, const schema::TensorType *type, const std::string &what) {
  if (type->element() < schema::ElementType::MIN || type->element() > schema::ElementType::MAX)
    return broken(str(what, " has an unknown element type ", static_cast<int>(type->element()), "."));
  if (!aligned(*type->dims()))
    return broken(what + " has misaligned dimensions.");
  if (type->dims()->size() > schema::kMaxRank)
    return broken(str(what, " has ", type->dims()->size(), " dimensions; ", schema::kMaxRank, " are the most."));
  Shape shape;
  for (const schema::Dim *dim : *type->dims()) {
    if (dim->size() < -1 || dim->size() >= static_cast<int64_t>(module.sizes()->size()))
      return broken(str(what, " uses size ", dim->size(), ", and there are ", module.sizes()->size(), "."));
    if (dim->size() < 0 && dim->extent() < 1)
      return broken(str(what, " has an extent of ", dim->extent(), "."));
    shape.push_back(dim->size() < 0 ? dim->extent() : module.sizes()->Get(dim->size())->maximum());
  }
  std::optional<int64_t> count = elementCount(shape);
  if (!count)
    return broken(what + " is larger than any memory.");
  return static_cast<uint64_t>(*count) * elementBytes(type->element());
}

Result<uint64_t> callersBytes(const schema::Module &module, const schema::TensorType *type, const std::string &what) {
  HEDDLE_ASSIGN(uint64_t bytes, tensorBytes(module, type, what));
  if (type->element() != schema::ElementType::F32 && type->element() != schema::ElementType::I32)
    return broken(str(what, " has an element type of 16 bits, which callers do not see."));
  return bytes;
}

namespace {

// M2: each element has a valid name, and no name occurs twice.
template <typename Table>
Status checkNames(const flatbuffers::Vector<flatbuffers::Offset<Table>> &tables, const char *kind) {
  std::unordered_set<std::string_view> seen;
  for (const Table *table : tables) {
    HEDDLE_CHECK(checkName(table->name(), str(kind, " ", seen.size())));
    if (!seen.insert({table->name()->c_str(), table->name()->size()}).second)
      return broken(str(kind, " '", table->name()->c_str(), "' occurs twice."));
  }
  return Success();
}

// M3: a chunk, or a size within bounds, lies within a size that an input binds.
Status verifyChunk(const schema::Module &module, const schema::Size &size) {
  if (size.of_size() == -1)
    return size.within() || size.times() != 1
               ? Status(broken(str("size '", size.name()->c_str(), "' is within bounds of no size.")))
               : Success();
  std::string what = str("size '", size.name()->c_str(), "'");
  if (size.of_size() < 0 || size.of_size() >= static_cast<int64_t>(module.sizes()->size()))
    return broken(str(what, " is a chunk of size ", size.of_size(), ", and there are ", module.sizes()->size(), "."));
  const schema::Size &whole = *module.sizes()->Get(size.of_size());
  if (whole.of_size() != -1 || size.fixed() || size.max_of_input())
    return broken(str(what, " is a chunk of a chunk, or bound in another way too."));
  if (size.within() && module.schema_version() < schema::kSchemaVersionOfBounds)
    return broken(
        str(what, " is another size within bounds, which version ", module.schema_version(), " does not have."));
  constexpr int64_t largest = std::numeric_limits<int32_t>::max();
  bool isOfVersion = size.times() == 1 || module.schema_version() >= schema::kSchemaVersionOfMultiples;
  if (!isOfVersion || size.times() < 1 || whole.maximum() < 1 || size.times() > largest / whole.maximum())
    return broken(str(what, " is ", size.times(), " times another size, in version ", module.schema_version(), "."));
  int64_t most = whole.maximum() * size.times();
  if (size.within() ? size.from() < 0 || size.from() >= size.maximum() || size.maximum() > most
                    : size.from() < 0 || size.from() > most || size.maximum() > most - size.from())
    return broken(
        str(what, " covers ", size.maximum(), " from ", size.from(), " on of a size that is ", most, " at most."));
  return Success();
}

Status verifySizes(const schema::Module &module) {
  HEDDLE_CHECK(checkNames(*module.sizes(), "size"));
  if (module.sizes()->size() > schema::kMaxSizes)
    return broken(str("it has ", module.sizes()->size(), " sizes; ", schema::kMaxSizes, " are the most."));
  for (const schema::Size *size : *module.sizes()) {
    if (size->maximum() < (size->fixed() ? 0 : 1) || size->maximum() > std::numeric_limits<int32_t>::max())
      return broken(str("size '", size->name()->c_str(), "' has the maximum ", size->maximum(), ", not in [",
                        size->fixed() ? 0 : 1, ", 2^31)."));
    if (size->max_of_input())
      HEDDLE_CHECK(checkName(size->max_of_input(), str("the input behind size '", size->name()->c_str(), "'")));
    HEDDLE_CHECK(verifyChunk(module, *size));
  }
  return Success();
}

// V2: a view lies within a variable that is not a view.
Status verifyView(const schema::Module &module, const schema::Variable &variable, const std::string &what) {
  if (variable.storage() == -1)
    return Success();
  if (variable.storage() < 0 || variable.storage() >= static_cast<int64_t>(module.variables()->size()))
    return broken(
        str(what, " lies in variable ", variable.storage(), ", and there are ", module.variables()->size(), "."));
  const schema::Variable &storage = *module.variables()->Get(variable.storage());
  uint64_t offset = variable.storage_offset();
  if (storage.storage() != -1)
    return broken(what + " lies in a view.");
  if (offset % 4 || offset > storage.bytes() || variable.bytes() > storage.bytes() - offset)
    return broken(
        str(what, " lies at ", offset, " with ", variable.bytes(), " bytes, where ", storage.bytes(), " are."));
  return Success();
}

// Returns true for the parts of a packed weight other than its words, such as its scales.
bool isPartOfPacked(const schema::Variable &variable) { return variable.role() >= schema::VariableRole::Scales; }

// Checks that a variable with an owner has a role that belongs to a weight, and that its owner is a weight. A part of a
// packed weight must be a matrix, and so must its owner.
Status verifyRole(const schema::Module &module, const schema::Variable &variable, const std::string &what) {
  if (variable.role() < schema::VariableRole::MIN || variable.role() > schema::VariableRole::MAX)
    return broken(str(what, " has an unknown role ", static_cast<int>(variable.role()), "."));
  if (variable.owner() == -1)
    return Success();
  if (variable.owner() < 0 || variable.owner() >= static_cast<int64_t>(module.variables()->size()))
    return broken(
        str(what, " belongs to variable ", variable.owner(), ", and there are ", module.variables()->size(), "."));
  const schema::Variable &owner = *module.variables()->Get(variable.owner());
  bool isHigh = variable.role() == schema::VariableRole::HighBits, isPart = isPartOfPacked(variable);
  if (variable.role() == schema::VariableRole::None || (variable.role() > schema::VariableRole::Rounded && !isPart) ||
      (owner.kind() != schema::VariableKind::Weight && owner.kind() != schema::VariableKind::Frozen))
    return broken(str(what, " belongs to '", owner.name()->c_str(), "', which is no weight or has no such variable."));
  auto isMatrix = [](const schema::Variable &other, bool isWords) {
    return other.type() && other.type()->dims()->size() == 2 &&
           (!isWords || other.type()->element() == schema::ElementType::I32);
  };
  if (isPart && (!isMatrix(variable, isHigh) || !isMatrix(owner, /*isWords=*/true)))
    return broken(str(what, " is a part of '", owner.name()->c_str(),
                      "', and one of them is no matrix, or the latter has no words of i32."));
  return Success();
}

bool isWeightMatrix(const schema::Variable &variable) {
  return (variable.kind() == schema::VariableKind::Weight || variable.kind() == schema::VariableKind::Frozen) &&
         variable.role() == schema::VariableRole::None && variable.type()->dims()->size() == 2;
}

// A matrix of 16-bit floats that is not trained.
bool isHalfWeight(const schema::Module &module, const schema::Variable &variable) {
  schema::ElementType element = variable.type()->element();
  return isWeightMatrix(variable) && (element == schema::ElementType::F16 || element == schema::ElementType::BF16) &&
         module.schema_version() >= schema::kSchemaVersionOfHalfWeights;
}

// V5: panels are whole columns of a matrix of weights, which is not a view.
Status verifyPanel(const schema::Module &module, const schema::Variable &variable, std::string_view what) {
  int64_t panel = variable.panel();
  if (panel == 0)
    return Success();
  bool isOfVersion = module.schema_version() >= schema::kSchemaVersionOfPanels;
  bool isFloat = variable.type()->element() == schema::ElementType::F32 || isHalfWeight(module, variable);
  if (isOfVersion && panel > 0 && isFloat && isWeightMatrix(variable) && variable.storage() == -1 &&
      variable.type()->dims()->Get(1)->extent() % panel == 0)
    return Success();
  return broken(str(what, " is in panels of ", panel,
                    " columns, and no matrix of weights in f32 or 16 bits with a number of such panels."));
}

Status verifyVariables(const schema::Module &module) {
  HEDDLE_CHECK(checkNames(*module.variables(), "variable"));
  for (const schema::Variable *variable : *module.variables()) {
    std::string what = str("variable '", variable->name()->c_str(), "'");
    if (variable->kind() < schema::VariableKind::MIN || variable->kind() > schema::VariableKind::MAX)
      return broken(str(what, " is of an unknown kind ", static_cast<int>(variable->kind()), "."));
    bool isMoment =
        variable->role() == schema::VariableRole::FirstMoment || variable->role() == schema::VariableRole::SecondMoment;
    bool isNarrow = variable->type()->element() == schema::ElementType::BF16 && isMoment &&
                    module.schema_version() >= schema::kSchemaVersionOfRoundedMoments;
    bool isHalf = (variable->type()->element() == schema::ElementType::F16 ||
                   variable->type()->element() == schema::ElementType::BF16) &&
                  isPartOfPacked(*variable);
    isHalf |= isHalfWeight(module, *variable);
    HEDDLE_ASSIGN(uint64_t bytes, (isNarrow || isHalf ? tensorBytes : callersBytes)(module, variable->type(), what));
    for (const schema::Dim *dim : *variable->type()->dims())
      if (dim->size() >= 0)
        return broken(what + " has a size that varies between calls.");
    if (bytes != variable->bytes())
      return broken(str(what, " has ", variable->bytes(), " bytes, and its shape needs ", bytes, "."));
    HEDDLE_CHECK(verifyView(module, *variable, what));
    HEDDLE_CHECK(verifyRole(module, *variable, what));
    bool mayShard = variable->storage() == -1 && variable->kind() == schema::VariableKind::OptimizerState &&
                    (variable->type()->element() == schema::ElementType::F32 || isNarrow) &&
                    variable->type()->dims()->size() > 0 && variable->bytes() % schema::kShardAlignment == 0 &&
                    variable->bytes() > 0 && module.schema_version() >= schema::kSchemaVersionOfShards;
    if (variable->sharded() && !mayShard)
      return broken(what + " is sharded, and no optimizer's state whose rows ranks can share out.");
    HEDDLE_CHECK(verifyPanel(module, *variable, what));
    if (variable->value_limit() < 0 ||
        (variable->value_limit() > 0 && variable->type()->element() != schema::ElementType::I32))
      return broken(str(what, " has the value limit ", variable->value_limit(), ", which only i32 can have."));
  }
  return Success();
}

Status verifyCosts(const schema::Module &module) {
  constexpr uint32_t limit = 64; // terms of a cost, so that verifying a small file is fast
  auto exists = [](int32_t index, auto *table) {
    return index >= -1 && index < static_cast<int64_t>(table ? table->size() : 0);
  };
  if (module.pairs())
    for (const schema::PairCount *pairs : *module.pairs()) {
      HEDDLE_CHECK(checkName(pairs->keys(), "the keys of a count of pairs"));
      if (pairs->queries())
        HEDDLE_CHECK(checkName(pairs->queries(), "the queries of a count of pairs"));
      if (pairs->maximum() < 0)
        return broken(str("a count of pairs has the maximum ", pairs->maximum(), "."));
    }
  if (!module.costs())
    return Success();
  for (flatbuffers::uoffset_t i = 0; i < module.costs()->size(); ++i) {
    const schema::Cost &cost = *module.costs()->Get(i);
    for (const auto *terms : {cost.flops(), cost.model_flops(), cost.bytes()}) {
      if (!terms)
        continue;
      if (!aligned(*terms))
        return broken(str("cost ", i, " is misaligned."));
      if (terms->size() > limit)
        return broken(str("cost ", i, " has ", terms->size(), " terms; ", limit, " are the most."));
      for (const schema::CostTerm *term : *terms) {
        if (term->coefficient() < 0)
          return broken(str("cost ", i, " has the coefficient ", term->coefficient(), "."));
        for (int32_t size : {term->first_size(), term->second_size(), term->third_size()})
          if (!exists(size, module.sizes()))
            return broken(str("cost ", i, " uses size ", size, ", and there are ", module.sizes()->size(), "."));
        if (!exists(term->pairs(), module.pairs()))
          return broken(str("cost ", i, " uses count ", term->pairs(), " of pairs, which does not exist."));
      }
    }
  }
  return Success();
}

// K1 for one kernel, and the rules of its backend: K2, K4 or K6.
Status verifyKernel(const schema::Kernel &kernel, const KernelCode &code, std::string_view target,
                    const std::string &what) {
  if (kernel.lanes() < 1 || kernel.lanes() > 65536)
    return broken(str(what, " has ", kernel.lanes(), " lanes."));
  if (kernel.subgroup() > kernel.lanes())
    return broken(str(what, " has ", kernel.lanes(), " lanes, and subgroups of ", kernel.subgroup(), "."));
  const CodeFormat *format = findCodeFormat(target);
  std::string problem = format ? format->check(kernel, code) : "";
  return problem.empty() ? Status(Success()) : Status(broken(str(what, " ", problem, ".")));
}

Status verifyTargets(const schema::Module &module, const CodeTable &code) {
  HEDDLE_CHECK(checkNames(*module.targets(), "target"));
  if (module.targets()->size() == 0)
    return broken("it has no target.");
  const schema::Target &first = *module.targets()->Get(0);
  if (first.entries())
    return broken(str("its first target '", first.name()->c_str(), "' has entries beside the module's."));
  for (size_t place = 0; place < code.targets.size(); ++place) {
    const schema::Target *target = module.targets()->Get(static_cast<flatbuffers::uoffset_t>(place));
    std::string_view targetName = target->name()->string_view();
    if (!target->entries() && target->kernels()->size() != first.kernels()->size())
      return broken(str("target '", targetName, "' has ", target->kernels()->size(), " kernels, and '",
                        first.name()->c_str(), "' has ", first.kernels()->size(), "."));
    HEDDLE_CHECK(checkNames(*target->kernels(), "kernel"));
    for (flatbuffers::uoffset_t i = 0; i < target->kernels()->size(); ++i) {
      const schema::Kernel &kernel = *target->kernels()->Get(i);
      std::string what = str("kernel '", kernel.name()->c_str(), "' of target '", targetName, "'");
      if (!target->entries() && kernel.name()->string_view() != first.kernels()->Get(i)->name()->string_view())
        return broken(str(what, " stands where '", first.name()->c_str(), "' has another."));
      HEDDLE_CHECK(verifyKernel(kernel, code.targets[place][i], targetName, what));
    }
  }
  return Success();
}

// Checks the module's entries for the targets that use them, and the own entries of the other targets.
Status verifyEntries(const schema::Module &module) {
  HEDDLE_CHECK(checkNames(*module.entries(), "entry"));
  if (module.entries()->size() > schema::kMaxEntries)
    return broken(str("it has ", module.entries()->size(), " entries; ", schema::kMaxEntries, " are the most."));
  PlanTargets shared;
  for (const schema::Target *target : *module.targets())
    if (!target->entries())
      shared.targets.push_back(target);
  for (const schema::Entry *entry : *module.entries())
    HEDDLE_CHECK(verifyEntry(module, *entry, shared));
  for (const schema::Target *target : *module.targets()) {
    if (!target->entries())
      continue;
    std::string what = str("target '", target->name()->c_str(), "'");
    for (const schema::Entry *entry : *target->entries())
      if (Status status = verifyEntry(module, *entry, {{target}}); !status)
        return std::move(status).error().within(what);
    HEDDLE_CHECK(verifySameInterface(module, *target));
  }
  return Success();
}

// M4. Files may share bytes, so their number is limited.
Status verifyVocabulary(const schema::Module &module) {
  constexpr size_t limit = 16;
  if (!module.vocabulary())
    return Success();
  if (module.vocabulary()->size() > limit)
    return broken(str("its vocabulary has ", module.vocabulary()->size(), " files; ", limit, " are the most."));
  HEDDLE_CHECK(checkNames(*module.vocabulary(), "vocabulary file"));
  for (const schema::VocabularyFile *file : *module.vocabulary()) {
    std::string_view name = file->name()->string_view();
    if (name.find('/') != std::string_view::npos || name.front() == '.')
      return broken(str("vocabulary file '", name, "' has a name that is a path."));
    if (file->bytes()->size() == 0)
      return broken(str("vocabulary file '", name, "' is empty."));
  }
  return Success();
}

// M5
Status verifyDescription(const schema::Module &module) {
  if (!module.description() || module.description()->size() == 0)
    return Success();
  HEDDLE_ASSIGN(Description description, Description::parse(view(module.description())));
  return description.check(module);
}

} // namespace
} // namespace verifier

Result<CodeTable> verify(std::span<const std::byte> file) {
  using namespace verifier;
  const auto *bytes = reinterpret_cast<const uint8_t *>(file.data());
  const schema::Module &module = *schema::GetModule(bytes);
  if (module.seal() && module.seal() != schema::computeSeal(bytes, file.size()))
    return broken("it is damaged: its bytes do not match its seal.");
  if (module.schema_version() < schema::kFirstSchemaVersion || module.schema_version() > schema::kSchemaVersion)
    return broken(str("it is of version ", module.schema_version(), ", and this build reads versions ",
                      schema::kFirstSchemaVersion, " to ", schema::kSchemaVersion, "."));
  HEDDLE_CHECK(verifyVocabulary(module));
  HEDDLE_CHECK(verifySizes(module));
  HEDDLE_CHECK(verifyVariables(module));
  HEDDLE_ASSIGN(CodeTable code, readCode(module, file.size()));
  HEDDLE_CHECK(verifyTargets(module, code));
  HEDDLE_CHECK(verifyCosts(module));
  HEDDLE_CHECK(verifyEntries(module));
  HEDDLE_CHECK(verifyDescription(module));
  return code;
}

} // namespace heddle
