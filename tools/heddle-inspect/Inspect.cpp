// heddle-inspect: shows the contents of an artifact. Needs no device.
#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/CodeFormat.h"
#include "runtime/core/File.h"
#include "runtime/core/Json.h"
#include "runtime/core/Log.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/SameFile.h"
#include "tools/heddle-inspect/Disassembly.h"
#include "tools/heddle-inspect/Pipelines.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace heddle {
namespace {

using Json = nlohmann::ordered_json;

const char *kindName(schema::VariableKind kind) {
  static constexpr const char *names[] = {"weight", "optimizer-state", "gradient", "counter", "cache", "frozen-weight"};
  return names[static_cast<size_t>(kind)];
}

// Returns "first-moment" for "FirstMoment".
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

// Returns "f32[source_tokens<=4096,512]".
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

// Returns "2097152*source_tokens + 2048*pairs(target_lengths, source_lengths, above 0)".
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

// Returns the code format of a target, or a format without a name if this build does not know it.
const CodeFormat &formatOf(const schema::Target &target) {
  static const CodeFormat unknown;
  const CodeFormat *format = findCodeFormat(view(target.name()));
  return format ? *format : unknown;
}

// Returns a kernel's code. If it is text, the NULs that end and pad it are left out.
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

// Returns the size of the target's code in the file.
uint64_t packedBytes(const Artifact &artifact, const schema::Target &target) {
  return target.code() ? target.code()->size() : codeBytes(artifact, target);
}

// Returns "3.1 KiB of code" and, for code that can be assembled, the assembler's result.
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
  return text + str(", shared ", describeBytes(kernel.shared_bytes()));
}

// Returns the bytes of each arena block, in the entry that needs the most.
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

// Returns "10.2 GiB" or "10.2 GiB in 3 blocks, the largest 4.0 GiB".
std::string arenaText(const schema::Module &module, const schema::Target &target) {
  std::vector<uint64_t> blocks = arenaBlocks(module, target);
  std::string text = describeBytes(target.arena_bytes());
  if (blocks.size() > 1)
    text += str(" in ", blocks.size(), " blocks, the largest ", describeBytes(std::ranges::max(blocks)));
  return text;
}

// Returns the variables that callers see, without those that only store other variables.
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

// Returns true if each rank keeps only a part of the variable.
bool isSharded(const schema::Module &module, const schema::Variable &variable) {
  return (variable.storage() < 0 ? variable : *module.variables()->Get(variable.storage())).sharded();
}

// Returns the name of the variable that stores this view; empty if it is no view.
std::string storageName(const schema::Module &module, const schema::Variable &variable) {
  return variable.storage() < 0 ? "" : std::string(view(module.variables()->Get(variable.storage())->name()));
}

struct KindTotal {
  size_t count = 0;
  uint64_t bytes = 0, sharded = 0;
};

std::map<schema::VariableKind, KindTotal> variableTotals(const schema::Module &module) {
  std::map<schema::VariableKind, KindTotal> totals;
  for (const schema::Variable *variable : knownVariables(module)) {
    ++totals[variable->kind()].count;
    totals[variable->kind()].bytes += variable->bytes();
    totals[variable->kind()].sharded += isSharded(module, *variable) ? variable->bytes() : 0;
  }
  return totals;
}

Json portsJson(const schema::Module &module, const flatbuffers::Vector<flatbuffers::Offset<schema::Port>> &ports) {
  Json list = Json::array();
  for (const schema::Port *port : ports) {
    Json shape = Json::array();
    for (const schema::Dim *dim : *port->type()->dims())
      shape.push_back(dim->size() < 0 ? Json(dim->extent()) : Json(view(module.sizes()->Get(dim->size())->name())));
    Json item = {{"name", view(port->name())},
                 {"type", toString(elementType(*port->type()))},
                 {"shape", shape},
                 {"arena_offset", port->arena_offset()},
                 {"bytes", port->bytes()}};
    if (port->value_limit())
      item["value_limit"] = port->value_limit();
    if (port->role())
      item["role"] = view(port->role());
    list.push_back(std::move(item));
  }
  return list;
}

// Parsing cannot fail: loading the artifact has parsed the description before.
Json descriptionOf(const Artifact &artifact) {
  Result<nlohmann::json> description = parseJson(artifact.description(), "the description");
  return description.ok() ? Json(*description) : Json::object();
}

std::string extentText(const schema::Module &module, const schema::Dim &dim) {
  return dim.size() < 0 ? std::to_string(dim.extent()) : std::string(view(module.sizes()->Get(dim.size())->name()));
}

// Returns "source_starts" or "2*ids[8..] + 1".
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

// Returns "source_lengths rows from source_starts of source_tokens".
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

struct CollectiveSize {
  size_t tensors = 0;
  uint64_t bytes = 0;
};

CollectiveSize sizeOf(const schema::Collective &collective) {
  CollectiveSize size{collective.from()->size()};
  for (const schema::Binding *binding : *collective.from())
    size.bytes += binding->bytes();
  return size;
}

// Returns "all-reduce" for AllReduce.
std::string kindName(schema::CollectiveKind kind) { return dashed(schema::EnumNameCollectiveKind(kind)); }

Json collectivesJson(const schema::Entry &entry) {
  Json list = Json::array();
  for (const schema::Collective *collective : *entry.collectives()) {
    CollectiveSize size = sizeOf(*collective);
    list.push_back({{"kind", kindName(collective->kind())},
                    {"before_launch", collective->before()},
                    {"tensors", size.tensors},
                    {"bytes", size.bytes},
                    {"location", view(collective->location())}});
  }
  return list;
}

Json toJson(const Artifact &artifact) {
  const schema::Module &module = artifact.module();
  Json root = {{"file", artifact.origin()},
               {"bytes", artifact.bytes()},
               {"schema_version", module.schema_version()},
               {"producer", view(module.producer())},
               {"description", descriptionOf(artifact)}};
  root["sizes"] = Json::array();
  for (const schema::Size *size : *module.sizes()) {
    Json item = {{"name", view(size->name())}, {"maximum", size->maximum()}};
    if (size->max_of_input())
      item["max_of_input"] = view(size->max_of_input());
    root["sizes"].push_back(std::move(item));
  }
  root["targets"] = Json::array();
  for (const schema::Target *target : *module.targets()) {
    std::map<uint32_t, size_t> launches = launchesPerKernel(module, *target);
    Json kernels = Json::array();
    for (flatbuffers::uoffset_t i = 0; i < target->kernels()->size(); ++i) {
      const schema::Kernel &kernel = *target->kernels()->Get(i);
      Json item = {{"name", view(kernel.name())},
                   {"lanes", kernel.lanes()},
                   {"code_bytes", codeOf(artifact, *target, i).size()},
                   {"launches", launches[i]}};
      if (!formatOf(*target).binaryName.empty())
        item.update({{"binary_bytes", binaryBytes(artifact, *target, i)},
                     {"shared_bytes", kernel.shared_bytes()},
                     {"registers", kernel.registers()},
                     {"spill_bytes", kernel.spill_bytes()}});
      kernels.push_back(std::move(item));
    }
    root["targets"].push_back({{"name", view(target->name())},
                               {"arena_bytes", target->arena_bytes()},
                               {"arena_blocks", arenaBlocks(module, *target)},
                               {"code_bytes", codeBytes(artifact, *target)},
                               {"packed_bytes", packedBytes(artifact, *target)},
                               {"kernels", std::move(kernels)}});
  }
  root["entries"] = Json::array();
  for (const schema::Entry *entry : *module.entries()) {
    // Launches with the same kernel and cost are counted together.
    std::map<std::pair<uint32_t, int32_t>, size_t> counts;
    for (const schema::Launch *launch : *entry->launches())
      ++counts[{launch->kernel(), launch->cost()}];
    Json costs = Json::array();
    for (const auto &[key, count] : counts) {
      Json item = {{"kernel", view(module.targets()->Get(0)->kernels()->Get(key.first)->name())}, {"launches", count}};
      if (key.second >= 0) {
        const schema::Cost &cost = *module.costs()->Get(static_cast<flatbuffers::uoffset_t>(key.second));
        item.update({{"flops", formulaText(module, cost.flops())},
                     {"model_flops", formulaText(module, cost.model_flops())},
                     {"bytes", formulaText(module, cost.bytes())}});
      }
      costs.push_back(std::move(item));
    }
    Json locations = Json::array(); // one per launch
    for (const schema::Launch *launch : *entry->launches())
      locations.push_back(view(launch->location()));
    root["entries"].push_back({{"name", view(entry->name())},
                               {"inputs", portsJson(module, *entry->inputs())},
                               {"outputs", portsJson(module, *entry->outputs())},
                               {"segments", segmentsOf(module, *entry)},
                               {"launches", entry->launches()->size()},
                               {"locations", std::move(locations)},
                               {"costs", std::move(costs)}});
    if (entry->collectives())
      root["entries"].back()["collectives"] = collectivesJson(*entry);
  }
  root["vocabulary"] = Json::array();
  if (module.vocabulary())
    for (const schema::VocabularyFile *file : *module.vocabulary())
      root["vocabulary"].push_back({{"name", view(file->name())}, {"bytes", file->bytes()->size()}});
  root["variables"] = Json::array();
  for (const schema::Variable *variable : knownVariables(module)) {
    root["variables"].push_back({{"name", view(variable->name())},
                                 {"kind", kindName(variable->kind())},
                                 {"type", toString(variable->type()->element())},
                                 {"shape", maximumShape(module, *variable->type())},
                                 {"bytes", variable->bytes()},
                                 {"storage", storageName(module, *variable)}});
    if (variable->role() != schema::VariableRole::None)
      root["variables"].back()["role"] = roleName(variable->role());
    if (variable->owner() >= 0)
      root["variables"].back()["owner"] = view(module.variables()->Get(variable->owner())->name());
    if (isSharded(module, *variable))
      root["variables"].back()["sharded"] = true;
    if (variable->value_limit())
      root["variables"].back()["value_limit"] = variable->value_limit();
  }
  return root;
}

void printPorts(const schema::Module &module, const char *direction,
                const flatbuffers::Vector<flatbuffers::Offset<schema::Port>> &ports) {
  for (const schema::Port *port : ports) {
    std::printf("    %-3s %-24s %s", direction, port->name()->c_str(), typeText(module, *port->type()).c_str());
    if (port->value_limit())
      std::printf("  values < %lld", static_cast<long long>(port->value_limit()));
    std::printf("\n");
  }
}

/// Returns a value of the description on one line, cut if it is long: names of tensors may take thousands of
/// characters.
std::string shortText(const Json &value) {
  constexpr size_t longest = 120;
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() <= longest)
    return text;
  size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) // do not cut within a UTF-8 character
    --end;
  return str(text.substr(0, end), " ... (", text.size(), " bytes; --json prints all)");
}

void printText(const Artifact &artifact) {
  const schema::Module &module = artifact.module();
  std::string producer(view(module.producer()));
  std::printf("%s: Heddle artifact, %s, schema %u%s%s\n", artifact.origin().c_str(),
              describeBytes(artifact.bytes()).c_str(), module.schema_version(), producer.empty() ? "" : ", by ",
              producer.c_str());
  std::printf("\ndescription\n");
  const Json description = descriptionOf(artifact);
  for (const auto &[key, value] : description.items())
    std::printf("  %-26s %s\n", key.c_str(), shortText(value).c_str());

  if (module.vocabulary()) {
    std::printf("\nvocabulary\n");
    for (const schema::VocabularyFile *file : *module.vocabulary())
      std::printf("  %-26s %s\n", file->name()->c_str(), describeBytes(file->bytes()->size()).c_str());
  }

  std::printf("\ntargets\n");
  for (const schema::Target *target : *module.targets())
    std::printf("  %-26s %u kernels, %s of code (%s in the file), arena %s\n", target->name()->c_str(),
                target->kernels()->size(), describeBytes(codeBytes(artifact, *target)).c_str(),
                describeBytes(packedBytes(artifact, *target)).c_str(), arenaText(module, *target).c_str());

  std::printf("\nsizes\n");
  for (const schema::Size *size : *module.sizes()) {
    std::printf("  %-26s at most %lld", size->name()->c_str(), static_cast<long long>(size->maximum()));
    std::printf(size->max_of_input() ? ", the largest of `%s`\n" : "\n",
                size->max_of_input() ? size->max_of_input()->c_str() : "");
  }

  std::printf("\nentries\n");
  for (const schema::Entry *entry : *module.entries()) {
    std::printf("  %-26s %u launches\n", entry->name()->c_str(), entry->launches()->size());
    printPorts(module, "in", *entry->inputs());
    for (const std::string &segments : segmentsOf(module, *entry))
      std::printf("    needs %s\n", segments.c_str());
    printPorts(module, "out", *entry->outputs());
    if (entry->collectives())
      for (const schema::Collective *collective : *entry->collectives()) {
        CollectiveSize size = sizeOf(*collective);
        std::printf("    %s of %zu tensors, %s, before launch %u\n", kindName(collective->kind()).c_str(), size.tensors,
                    describeBytes(size.bytes).c_str(), collective->before());
      }
  }

  std::printf("\nvariables\n");
  for (const auto &[kind, total] : variableTotals(module))
    std::printf("  %-26s %zu, %s%s\n", kindName(kind), total.count, describeBytes(total.bytes).c_str(),
                total.sharded
                    ? str(", ", describeBytes(total.sharded), " of them in parts where several ranks train").c_str()
                    : "");
  for (const schema::Variable *variable : knownVariables(module))
    std::printf("    %-15s %-40s %s%s%s\n", kindName(variable->kind()), variable->name()->c_str(),
                typeText(module, *variable->type()).c_str(),
                variable->storage() < 0 ? "" : str(" in ", storageName(module, *variable)).c_str(),
                variable->value_limit() ? str("  values < ", variable->value_limit()).c_str() : "");

  for (const schema::Target *target : *module.targets()) {
    std::map<uint32_t, size_t> launches = launchesPerKernel(module, *target);
    std::printf("\nkernels of %s\n", target->name()->c_str());
    for (flatbuffers::uoffset_t i = 0; i < target->kernels()->size(); ++i) {
      const schema::Kernel &kernel = *target->kernels()->Get(i);
      std::printf("  %-50s %4u lanes %5zu launches, %s\n", kernel.name()->c_str(), kernel.lanes(), launches[i],
                  codeText(artifact, *target, i).c_str());
    }
  }
}

Status writeFile(const std::string &path, std::string_view text) {
  HEDDLE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  HEDDLE_CHECK(file.write(std::as_bytes(std::span(text))));
  return file.commit();
}

// Writes the code of one kernel to a file or to standard output.
Status writeKernel(const Artifact &artifact, const std::string &kernelName, const std::string &targetName,
                   const std::string &path) {
  for (const schema::Target *target : *artifact.module().targets()) {
    if (!targetName.empty() && view(target->name()) != targetName)
      continue;
    for (uint32_t i = 0; i < target->kernels()->size(); ++i) {
      if (view(target->kernels()->Get(i)->name()) != kernelName)
        continue;
      std::string_view code = codeOf(artifact, *target, i);
      if (path != "-")
        return writeFile(path, code);
      bool done = std::fwrite(code.data(), 1, code.size(), stdout) == code.size() && std::fflush(stdout) == 0;
      if (!done)
        return makeError(ErrorKind::Io, "cannot write to standard output.");
      return Success();
    }
  }
  return makeError(ErrorKind::NotFound, "'", artifact.origin(), "' has no kernel '", kernelName, "'",
                   targetName.empty() ? "" : " for target '" + targetName + "'",
                   ". Without --kernel all kernels are listed.");
}

// Writes the code of every kernel of a target (by default the first target) to FOLDER/KERNEL.ptx or .spirv.
Status writeKernels(const Artifact &artifact, const std::string &targetName, const std::string &folder) {
  for (const schema::Target *target : *artifact.module().targets()) {
    if (!targetName.empty() && view(target->name()) != targetName)
      continue;
    std::string ending = ".";
    for (char c : formatOf(*target).name)
      if (std::isalnum(static_cast<unsigned char>(c)))
        ending += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
      return makeError(ErrorKind::Io, "cannot make the folder '", folder, "': ", error.message(), ".");
    for (uint32_t i = 0; i < target->kernels()->size(); ++i) {
      std::string_view name = view(target->kernels()->Get(i)->name());
      if (name.find('/') != std::string_view::npos) // only in an artifact made by hand
        return makeError(ErrorKind::InvalidArgument, "kernel ", i, " of '", artifact.origin(),
                         "' has a '/' in its name, and no file can be called so.");
      HEDDLE_CHECK(writeFile(str(folder, "/", name, ending), codeOf(artifact, *target, i)));
    }
    return Success();
  }
  return Success(); // unreachable: checkTarget has found the target
}

void printLaunches(const schema::Module &module, const schema::Target &target, flatbuffers::uoffset_t kernel) {
  for (const schema::Entry *entry : entriesOf(module, target))
    for (flatbuffers::uoffset_t l = 0; l < entry->launches()->size(); ++l) {
      const schema::Launch &launch = *entry->launches()->Get(l);
      if (launch.kernel() != kernel)
        continue;
      std::printf("  %s, launch %u: grid", entry->name()->c_str(), l);
      for (const schema::Grid *grid : *launch.grid())
        if (grid->size() < 0)
          std::printf(" %u", grid->repeat());
        else
          std::printf(" ceil(%s/%u)*%u", module.sizes()->Get(grid->size())->name()->c_str(), grid->tile(),
                      grid->repeat());
      std::printf("%s\n", launch.barrier() ? ", after a barrier" : "");
      if (launch.location())
        std::printf("    computes %s\n", launch.location()->c_str());
      if (const schema::Cost *cost = costOf(module, launch))
        std::printf("    FLOPs %s\n    of them the model's %s\n    bytes %s\n",
                    formulaText(module, cost->flops()).c_str(), formulaText(module, cost->model_flops()).c_str(),
                    formulaText(module, cost->bytes()).c_str());
      for (const schema::Binding *binding : *launch.bindings()) {
        if (binding->space() == schema::Space::Size)
          std::printf("    size %s\n", module.sizes()->Get(binding->index())->name()->c_str());
        else
          std::printf(
              "    %s + %llu, %llu bytes\n",
              binding->space() == schema::Space::Arena ? "arena"
                                                       : module.variables()->Get(binding->index())->name()->c_str(),
              static_cast<unsigned long long>(binding->offset()), static_cast<unsigned long long>(binding->bytes()));
      }
    }
}

// Returns a kernel's code as text. If it cannot be shown, returns an empty string and, if a program is missing for it,
// logs a warning.
std::string assemblyOf(const Artifact &artifact, const schema::Target &target, uint32_t kernel) {
  if (formatOf(target).isText)
    return std::string(codeOf(artifact, target, kernel));
  if (formatOf(target).backend != "cpu")
    return "";
  Result<std::string> assembly = disassemble(view(target.name()), artifact.code(target, kernel).words);
  if (!assembly)
    log(LogLevel::Warning, assembly.message());
  return assembly ? *assembly : "";
}

Status printKernel(const Artifact &artifact, const std::string &kernelName, const std::string &targetName) {
  const schema::Module &module = artifact.module();
  bool found = false, sharedPlanPrinted = false;
  for (const schema::Target *target : *module.targets()) {
    if (!targetName.empty() && view(target->name()) != targetName)
      continue;
    for (flatbuffers::uoffset_t i = 0; i < target->kernels()->size(); ++i) {
      const schema::Kernel &kernel = *target->kernels()->Get(i);
      if (view(kernel.name()) != kernelName)
        continue;
      found = true;
      std::printf("%s of %s: %u lanes, %s\n", kernel.name()->c_str(), target->name()->c_str(), kernel.lanes(),
                  codeText(artifact, *target, i).c_str());
      if (target->entries() || !std::exchange(sharedPlanPrinted, true))
        printLaunches(module, *target, i);
      std::string assembly = assemblyOf(artifact, *target, i);
      std::fwrite(assembly.data(), 1, assembly.size(), stdout);
    }
  }
  if (!found)
    return makeError(ErrorKind::NotFound, "'", artifact.origin(), "' has no kernel '", kernelName,
                     "'. Without --kernel all kernels are listed.");
  return Success();
}

Status checkTarget(const Artifact &artifact, const std::string &targetName) {
  std::string names;
  for (const schema::Target *target : *artifact.module().targets()) {
    if (view(target->name()) == targetName)
      return Success();
    names += str(names.empty() ? "" : ", ", view(target->name()));
  }
  return makeError(ErrorKind::NotFound, "'", artifact.origin(), "' has no target '", targetName, "'; it has ", names,
                   ".");
}

int run(int argc, char **argv) {
  CLI::App app("Shows the contents of a Heddle artifact: targets, entries, variables, kernels.", "heddle-inspect");
  std::string path, kernel, target, output, folder;
  bool json = false;
  app.add_option("ARTIFACT", path, "The compiled model, a .heddle file")->required();
  CLI::Option *jsonFlag = app.add_flag("--json", json, "Print JSON");
  CLI::Option *kernelOption =
      app.add_option(
             "--kernel", kernel,
             "Show this kernel: its launches and their bindings, and its PTX, or the assembly of a processor's\n"
             "machine code as objdump prints it")
          ->excludes(jsonFlag);
  CLI::Option *targetOption = app.add_option("--target", target,
                                             "The target whose kernel or kernels are meant (default: the first target "
                                             "that has the kernel), or whose pipelines");
  CLI::Option *outputOption =
      app.add_option("-o,--output", output,
                     "Write the kernel's code (SPIR-V, PTX or machine code) to this file; - is standard output")
          ->needs(kernelOption);
  CLI::Option *folderOption =
      app.add_option("--kernels", folder,
                     "Write the code of every kernel of the target into this folder: KERNEL.ptx or KERNEL.spirv")
          ->excludes(jsonFlag)
          ->excludes(kernelOption);
  PipelineOptions pipelines;
  bool compile = false;
  CLI::Option *pipelinesFlag =
      app.add_flag(
             "--pipelines", compile,
             "Compile the Vulkan kernels (or the one of --kernel) on a device, and print what its driver says of\n"
             "the code. Mesa's driver for AMD compiles for GPUs that are not there:\n"
             "RADV_FORCE_FAMILY=GFX1100 VK_ICD_FILENAMES=/usr/share/vulkan/icd.d/radeon_icd.x86_64.json")
          ->excludes(outputOption)
          ->excludes(folderOption);
  app.add_option("--device", pipelines.device, "Where to compile: vulkan, or vulkan:1 as `heddle-run devices` says")
      ->needs(pipelinesFlag)
      ->capture_default_str();
  app.add_option("--without", pipelines.without, "Leave out kernels with this in their name; may be repeated")
      ->allow_extra_args(false)
      ->needs(pipelinesFlag);
  if (std::optional<int> code = cli::parseCommandLine(app, argc, argv))
    return *code;
  if ((kernelOption->count() && kernel.empty()) || (outputOption->count() && output.empty()) ||
      (folderOption->count() && folder.empty())) {
    std::cerr << "heddle-inspect: "
              << (folderOption->count() ? "--kernels names no folder"
                  : kernel.empty()      ? "--kernel names no kernel"
                                        : "-o names no file")
              << ". `heddle-inspect --help` lists the flags.\n";
    return cli::kWrongCommandLine;
  }

  Result<std::shared_ptr<const Artifact>> artifact = Artifact::load(path);
  if (!artifact) {
    std::cerr << "heddle-inspect: " << artifact.message() << "\n";
    return cli::kWorkFailed;
  }
  Status status = cli::checkOutput("-o", output, {path});
  if (status && targetOption->count())
    status = checkTarget(**artifact, target);
  if (!status) {
    std::cerr << "heddle-inspect: " << status.message() << "\n";
    return cli::kWorkFailed;
  }
  if (targetOption->count() && !compile && kernel.empty() && folder.empty()) {
    std::cerr
        << "heddle-inspect: --target needs --kernel, --kernels or --pipelines; without them all targets are shown.\n";
    return cli::kWrongCommandLine;
  }
  if (compile) {
    pipelines.kernel = kernel;
    pipelines.target = target;
    pipelines.json = json;
    status = printPipelines(**artifact, pipelines);
  } else if (!folder.empty())
    status = writeKernels(**artifact, target, folder);
  else if (!output.empty())
    status = writeKernel(**artifact, kernel, target, output);
  else if (!kernel.empty())
    status = printKernel(**artifact, kernel, target);
  else if (json)
    std::puts(toJson(**artifact).dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  else
    printText(**artifact);
  if (!status) {
    std::cerr << "heddle-inspect: " << status.message() << "\n";
    return cli::kWorkFailed;
  }
  return cli::finishOutput(app.get_name(), 0);
}

} // namespace
} // namespace heddle

int main(int argc, char **argv) {
  heddle::cli::beginProgram();
  return heddle::run(argc, argv);
}
