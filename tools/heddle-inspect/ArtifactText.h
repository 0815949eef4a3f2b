// Descriptions of parts of an artifact that both the text and the JSON of heddle-inspect print.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/CodeFormat.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct KindTotal {
  size_t count = 0;
  uint64_t bytes = 0, sharded = 0;
};

struct CollectiveSize {
  size_t tensors = 0;
  uint64_t bytes = 0;
};

const char *kindName(schema::VariableKind kind);
// Returns "first-moment" for "FirstMoment".
std::string dashed(const char *camelCase);
std::string roleName(schema::VariableRole role);
// Returns "f32[source_tokens<=4096,512]".
std::string typeText(const schema::Module &module, const schema::TensorType &type);
// Returns "2097152*source_tokens + 2048*pairs(target_lengths, source_lengths, above 0)".
std::string formulaText(const schema::Module &module, const flatbuffers::Vector<const schema::CostTerm *> *terms);
const schema::Cost *costOf(const schema::Module &module, const schema::Launch &launch);
std::map<uint32_t, size_t> launchesPerKernel(const schema::Module &module, const schema::Target &target);
// Returns the code format of a target, or a format without a name if this build does not know it.
const CodeFormat &formatOf(const schema::Target &target);
// Returns a kernel's code. If it is text, the NULs that end and pad it are left out.
std::string_view codeOf(const Artifact &artifact, const schema::Target &target, uint32_t kernel);
uint64_t binaryBytes(const Artifact &artifact, const schema::Target &target, uint32_t kernel);
uint64_t codeBytes(const Artifact &artifact, const schema::Target &target);
// Returns the size of the target's code in the file.
uint64_t packedBytes(const Artifact &artifact, const schema::Target &target);
// Returns "3.1 KiB of code" and, for code that can be assembled, the assembler's result.
std::string codeText(const Artifact &artifact, const schema::Target &target, uint32_t index);
// Returns the bytes of each arena block, in the entry that needs the most.
std::vector<uint64_t> arenaBlocks(const schema::Module &module, const schema::Target &target);
// Returns "10.2 GiB" or "10.2 GiB in 3 blocks, the largest 4.0 GiB".
std::string arenaText(const schema::Module &module, const schema::Target &target);
// Returns the variables that callers see: all but the storage of other variables.
std::vector<const schema::Variable *> knownVariables(const schema::Module &module);
// Returns true if each rank keeps only a part of the variable.
bool isSharded(const schema::Module &module, const schema::Variable &variable);
// Returns the name of the variable that stores this view; empty if it is no view.
std::string storageName(const schema::Module &module, const schema::Variable &variable);
std::map<schema::VariableKind, KindTotal> variableTotals(const schema::Module &module);
std::string extentText(const schema::Module &module, const schema::Dim &dim);
// Returns "source_starts" or "2*ids[8..] + 1".
std::string sumText(const schema::Entry &entry, const schema::Sum &sum);
// Returns "source_lengths rows from source_starts of source_tokens".
std::string segmentsText(const schema::Module &module, const schema::Entry &entry, const schema::Segments &segments);
std::vector<std::string> segmentsOf(const schema::Module &module, const schema::Entry &entry);
CollectiveSize sizeOf(const schema::Collective &collective);
// Returns "all-reduce" for AllReduce.
std::string kindName(schema::CollectiveKind kind);
// The description that the artifact carries.
nlohmann::ordered_json descriptionOf(const Artifact &artifact);

} // namespace heddle
