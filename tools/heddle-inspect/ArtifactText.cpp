#include "tools/heddle-inspect/ArtifactText.h"

#include "runtime/core/Json.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace heddle {

const char *kindName(schema::VariableKind kind) {
  static constexpr const char *names[] = {"weight", "optimizer-state", "gradient", "counter", "cache", "frozen-weight"};
  return names[static_cast<size_t>(kind)];
}

std::string dashed(const char *camelCase) {
  std::string name;
  for (const char *c = camelCase; *c; ++c) {
    if (*c >= 'A' && *c <= 'Z' && !name.empty())
      name += '-';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  }
  return name;
}

std::string roleName(schema::VariableRole role) { return dashed(schema::EnumNameVariableRole(role)); }

std::string typeText(const schema::Module &module, const schema::TensorType &type) {
  std::string text = str(toString(type.element()), "[");
  for (const schema::Dim *dim : *type.dims()) {
    if (text.back() != '[')
      text += ',';
    if (dim->size() < 0) {
      text += std::to_string(dim->extent());
    } else {
      const schema::Size &size = *module.sizes()->Get(dim->size());
      text += str(view(size.name()), "<=", size.maximum());
    }
  }
  return text + "]";
}

std::string formulaText(const schema::Module &module, const flatbuffers::Vector<const schema::CostTerm *> *terms) {
  std::string text;
  if (terms)
    for (const schema::CostTerm *term : *terms) {
      text += str(text.empty() ? "" : " + ", term->coefficient());
      for (int32_t size : {term->first_size(), term->second_size(), term->third_size()})
        if (size >= 0)
          text += str("*", view(module.sizes()->Get(size)->name()));
      if (term->pairs() < 0)
        continue;
      const schema::PairCount &pairs = *module.pairs()->Get(term->pairs());
      text += str("*pairs(", pairs.queries() ? view(pairs.queries()) : "1", ", ", view(pairs.keys()));
      if (pairs.below() >= 0)
        text += str(", below ", pairs.below());
      if (pairs.above() >= 0)
        text += str(", above ", pairs.above());
      text += ")";
    }
  return text.empty() ? "0" : text;
}

const schema::Cost *costOf(const schema::Module &module, const schema::Launch &launch) {
  return launch.cost() < 0 ? nullptr : module.costs()->Get(static_cast<flatbuffers::uoffset_t>(launch.cost()));
}

std::map<uint32_t, size_t> launchesPerKernel(const schema::Module &module, const schema::Target &target) {
  std::map<uint32_t, size_t> launches;
  for (const schema::Entry *entry : entriesOf(module, target))
    for (const schema::Launch *launch : *entry->launches())
      ++launches[launch->kernel()];
  return launches;
}

const CodeFormat &formatOf(const schema::Target &target) {
  static const CodeFormat unknown;
  const CodeFormat *format = findCodeFormat(view(target.name()));
  return format ? *format : unknown;
}

std::string_view codeOf(const Artifact &artifact, const schema::Target &target, uint32_t kernel) {
  std::span<const uint32_t> words = artifact.code(target, kernel).words;
  const auto *code = reinterpret_cast<const char *>(words.data());
  return formatOf(target).isText ? std::string_view(code) : std::string_view(code, words.size_bytes());
}

uint64_t binaryBytes(const Artifact &artifact, const schema::Target &target, uint32_t kernel) {
  return artifact.code(target, kernel).binary.size();
}

uint64_t codeBytes(const Artifact &artifact, const schema::Target &target) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < target.kernels()->size(); ++i)
    bytes += codeOf(artifact, target, i).size() + binaryBytes(artifact, target, i);
  return bytes;
}

uint64_t packedBytes(const Artifact &artifact, const schema::Target &target) {
  return target.code() ? target.code()->size() : codeBytes(artifact, target);
}

std::string codeText(const Artifact &artifact, const schema::Target &target, uint32_t index) {
  const schema::Kernel &kernel = *target.kernels()->Get(index);
  std::string text = describeBytes(codeOf(artifact, target, index).size());
  const CodeFormat &format = formatOf(target);
  if (format.binaryName.empty())
    return text + " of code";
  uint64_t binary = binaryBytes(artifact, target, index);
  text += str(" of ", format.name, ", ", binary ? describeBytes(binary) + " of " : "no ", format.binaryName);
  if (kernel.registers()) // counted by the assembler
    text += str(", ", kernel.registers(), " registers, spills ", describeBytes(kernel.spill_bytes()));
  return text + str(", shared ", describeBytes(kernel.shared_bytes()), kernel.persistent() ? ", persistent" : "");
}

std::vector<uint64_t> arenaBlocks(const schema::Module &module, const schema::Target &target) {
  std::vector<uint64_t> most = {target.arena_bytes()};
  uint64_t mostBytes = 0;
  for (const schema::Entry *entry : entriesOf(module, target))
    if (entry->blocks()) {
      uint64_t bytes = std::accumulate(entry->blocks()->begin(), entry->blocks()->end(), uint64_t(0));
      if (bytes > mostBytes)
        most.assign(entry->blocks()->begin(), entry->blocks()->end());
      mostBytes = std::max(bytes, mostBytes);
    }
  return most;
}

std::string arenaText(const schema::Module &module, const schema::Target &target) {
  std::vector<uint64_t> blocks = arenaBlocks(module, target);
  std::string text = describeBytes(target.arena_bytes());
  if (blocks.size() > 1)
    text += str(" in ", blocks.size(), " blocks, the largest ", describeBytes(std::ranges::max(blocks)));
  return text;
}

std::vector<const schema::Variable *> knownVariables(const schema::Module &module) {
  std::vector<bool> isStorage(module.variables()->size());
  for (const schema::Variable *variable : *module.variables())
    if (variable->storage() >= 0)
      isStorage[static_cast<size_t>(variable->storage())] = true;
  std::vector<const schema::Variable *> known;
  for (uint32_t i = 0; i < isStorage.size(); ++i)
    if (!isStorage[i])
      known.push_back(module.variables()->Get(i));
  return known;
}

bool isSharded(const schema::Module &module, const schema::Variable &variable) {
  return (variable.storage() < 0 ? variable : *module.variables()->Get(variable.storage())).sharded();
}

std::string storageName(const schema::Module &module, const schema::Variable &variable) {
  return variable.storage() < 0 ? "" : std::string(view(module.variables()->Get(variable.storage())->name()));
}

std::map<schema::VariableKind, KindTotal> variableTotals(const schema::Module &module) {
  std::map<schema::VariableKind, KindTotal> totals;
  for (const schema::Variable *variable : knownVariables(module)) {
    ++totals[variable->kind()].count;
    totals[variable->kind()].bytes += variable->bytes();
    totals[variable->kind()].sharded += isSharded(module, *variable) ? variable->bytes() : 0;
  }
  return totals;
}

std::string extentText(const schema::Module &module, const schema::Dim &dim) {
  return dim.size() < 0 ? std::to_string(dim.extent()) : std::string(view(module.sizes()->Get(dim.size())->name()));
}

std::string sumText(const schema::Entry &entry, const schema::Sum &sum) {
  std::string text;
  if (sum.addends())
    for (const schema::Addend *addend : *sum.addends()) {
      text += text.empty() ? "" : " + ";
      if (addend->coefficient() != 1)
        text += str(addend->coefficient(), "*");
      text += view(entry.inputs()->Get(addend->input())->name());
      if (addend->from())
        text += str("[", addend->from(), "..]");
    }
  if (sum.constant() || text.empty())
    text += str(text.empty() ? "" : " + ", sum.constant());
  return text;
}

std::string segmentsText(const schema::Module &module, const schema::Entry &entry, const schema::Segments &segments) {
  std::string text = str(sumText(entry, *segments.count()), " rows from ", sumText(entry, *segments.first()), " of ",
                         extentText(module, *segments.rows()));
  if (segments.list() >= 0)
    text += str(", by ", view(entry.inputs()->Get(static_cast<uint32_t>(segments.list()))->name()), " of ",
                extentText(module, *segments.listed()));
  return text;
}

std::vector<std::string> segmentsOf(const schema::Module &module, const schema::Entry &entry) {
  std::vector<std::string> texts;
  if (entry.segments())
    for (const schema::Segments *segments : *entry.segments())
      texts.push_back(segmentsText(module, entry, *segments));
  return texts;
}

CollectiveSize sizeOf(const schema::Collective &collective) {
  CollectiveSize size{collective.from()->size()};
  for (const schema::Binding *binding : *collective.from())
    size.bytes += binding->bytes();
  return size;
}

std::string kindName(schema::CollectiveKind kind) { return dashed(schema::EnumNameCollectiveKind(kind)); }

// Parsing cannot fail: loading the artifact has parsed the description before.
nlohmann::ordered_json descriptionOf(const Artifact &artifact) {
  Result<nlohmann::json> description = parseJson(artifact.description(), "the description");
  return description.ok() ? nlohmann::ordered_json(*description) : nlohmann::ordered_json::object();
}

} // namespace heddle
