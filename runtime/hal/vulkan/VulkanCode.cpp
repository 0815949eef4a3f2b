// The code format of Vulkan targets: SPIR-V.
#include "runtime/artifact/CodeFormat.h"
#include "runtime/core/Status.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace heddle::hal::vulkan {
namespace {

// The few numbers of the SPIR-V specification that the check needs.
constexpr uint32_t magicNumber = 0x07230203;
constexpr size_t headerWords = 5;
constexpr uint32_t opMemoryModel = 14;
constexpr uint32_t opEntryPoint = 15;
constexpr uint32_t opExecutionMode = 16;
constexpr uint32_t opFunctionEnd = 56;
constexpr uint32_t opDecorate = 71;
constexpr uint32_t decorationBinding = 33;
constexpr uint32_t decorationDescriptorSet = 34;
constexpr uint32_t executionModelCompute = 5;
constexpr uint32_t executionModeLocalSize = 17;
constexpr uint32_t addressingPhysicalStorageBuffer64 = 5348;

// Returns true if the literal string that starts at words[0] is `main`.
bool isMain(std::span<const uint32_t> words) {
  static constexpr char name[8] = "main";
  return words.size() >= 2 && std::memcmp(words.data(), name, sizeof name) == 0;
}

// K2 of runtime/artifact/Verify.h.
std::string checkModule(std::span<const uint32_t> code, uint32_t lanes, std::span<const uint32_t> texels) {
  if (code.size() < headerWords)
    return str("has ", code.size(), " words of code, which no SPIR-V module has");
  if (code[0] != magicNumber)
    return "is not SPIR-V: its first word is another";
  uint32_t version = code[1];
  if (version < 0x00010000 || version > 0x00010600 || (version & 0xff))
    return str("is SPIR-V of an unknown version ", version >> 16, ".", (version >> 8) & 0xff);
  // Drivers allocate tables of this size. Vulkan guarantees only 4,194,303 ids.
  if (code[3] == 0 || code[3] > 4194303)
    return str("has an id bound of ", code[3]);

  bool physical = false;
  uint32_t last = 0;
  std::optional<uint32_t> entryPoint;
  std::optional<uint64_t> workgroup;
  std::vector<uint32_t> bound;
  for (size_t at = headerWords; at < code.size();) {
    uint32_t words = code[at] >> 16, opcode = code[at] & 0xffff;
    if (words == 0 || words > code.size() - at)
      return str("is damaged: the instruction at word ", at, " has ", words, " words");
    std::span<const uint32_t> operands = code.subspan(at + 1, words - 1);
    if (opcode == opMemoryModel && operands.size() == 2)
      physical = operands[0] == addressingPhysicalStorageBuffer64;
    if (opcode == opEntryPoint && operands.size() >= 4 && operands[0] == executionModelCompute &&
        isMain(operands.subspan(2)))
      entryPoint = operands[1];
    if (opcode == opExecutionMode && operands.size() == 5 && entryPoint && operands[0] == *entryPoint &&
        operands[1] == executionModeLocalSize) {
      uint64_t x = operands[2], y = operands[3], z = operands[4];
      // Each factor is bounded, because the product of three 32-bit numbers can wrap around to the right number.
      workgroup = x <= lanes && y <= lanes && z <= lanes ? x * y * z : 0;
    }
    if (opcode == opDecorate && operands.size() == 3 && operands[1] == decorationBinding)
      bound.push_back(operands[2]);
    if (opcode == opDecorate && operands.size() == 3 && operands[1] == decorationDescriptorSet && operands[2] != 0)
      return str("uses descriptor set ", operands[2]);
    at += words;
    last = opcode;
  }
  if (last != opFunctionEnd)
    return "is damaged: its code ends within a function";
  if (!physical)
    return "does not use physical storage buffer addressing";
  if (!entryPoint)
    return "has no compute entry point 'main'";
  if (workgroup != lanes)
    return str("does not have the ", lanes, " lanes a workgroup that the artifact says");
  std::sort(bound.begin(), bound.end());
  if (!std::equal(bound.begin(), bound.end(), texels.begin(), texels.end()))
    return str("binds ", bound.size(), " descriptors, other than the artifact lists");
  return "";
}

// K1 and K2.
std::string checkSpirv(const schema::Kernel &kernel, const KernelCode &code) {
  if (kernel.subgroup() && kernel.lanes() % kernel.subgroup())
    return str("has ", kernel.lanes(), " lanes, which are not a whole number of subgroups of ", kernel.subgroup());
  const auto *texels = kernel.texels();
  return checkModule(code.words, kernel.lanes(),
                     texels ? std::span(texels->data(), texels->size()) : std::span<const uint32_t>());
}

} // namespace

const CodeFormat &codeFormat() {
  static const CodeFormat format{.backend = "vulkan", .name = "SPIR-V", .check = checkSpirv};
  return format;
}

} // namespace heddle::hal::vulkan
