#include "tools/heddle-inspect/ArtifactText.h"
#include "tools/heddle-inspect/Show.h"

#include <cstdio>

namespace heddle {

using Json = nlohmann::ordered_json;

static void printPorts(const schema::Module &module, const char *direction,
                       const flatbuffers::Vector<flatbuffers::Offset<schema::Port>> &ports) {
  for (const schema::Port *port : ports) {
    std::printf("    %-3s %-24s %s", direction, port->name()->c_str(), typeText(module, *port->type()).c_str());
    if (port->value_limit())
      std::printf("  values < %lld", static_cast<long long>(port->value_limit()));
    std::printf("\n");
  }
}

// Returns a value of the description on one line, cut if it is long: names of tensors may take thousands of
// characters.
static std::string shortText(const Json &value) {
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

} // namespace heddle
