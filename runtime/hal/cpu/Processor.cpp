#include "runtime/hal/cpu/Processor.h"

#include "runtime/core/Status.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <ranges>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace heddle::hal::cpu {
namespace {

#if defined(__x86_64__)

struct Leaf {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  Leaf result;
  if (!__get_cpuid_count(leaf, subleaf, &result.eax, &result.ebx, &result.ecx, &result.edx))
    return {};
  return result;
}

// Returns XCR0, the set of registers that the operating system saves. OSXSAVE must be set.
uint32_t savedRegisters() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

// Asks Linux for permission to use AMX's registers, which a process does not have at first. It holds for all threads.
bool allowsTiles() {
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM; the bit of XCR0
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

std::string brand() {
  std::array<char, 49> text{};
  for (uint32_t i = 0; i < 3; ++i) {
    Leaf part = cpuid(0x80000002 + i);
    std::memcpy(text.data() + 16 * i, &part, sizeof part);
  }
  std::string name = text.data();
  size_t first = name.find_first_not_of(' '), last = name.find_last_not_of(' ');
  return first == name.npos ? "x86-64 processor" : name.substr(first, last - first + 1);
}

Processor detect() {
  Processor processor{.name = brand(), .architecture = "x86-64"};
  Leaf basic = cpuid(1), extended = cpuid(7), amd = cpuid(0x80000001);
  bool savesAny = basic.ecx & bit_OSXSAVE;
  uint32_t saved = savesAny ? savedRegisters() : 0;
  auto list = [](std::string &names, bool present, const char *name) {
    if (!present)
      names += str(names.empty() ? "" : ", ", name);
  };
  constexpr uint32_t ymm = 0x06, zmm = 0xe6; // bits of XCR0
  for (auto [has, name] : {std::pair<uint32_t, const char *>(basic.ecx & bit_AVX, "AVX"),
                           {extended.ebx & bit_AVX2, "AVX2"},
                           {extended.ebx & bit_BMI, "BMI"},
                           {extended.ebx & bit_BMI2, "BMI2"},
                           {basic.ecx & bit_F16C, "F16C"},
                           {basic.ecx & bit_FMA, "FMA"},
                           {amd.ecx & bit_LZCNT, "LZCNT"},
                           {basic.ecx & bit_MOVBE, "MOVBE"}})
    list(processor.missingForV3, has, name);
  list(processor.missingForV3, (saved & ymm) == ymm, "an operating system that saves AVX's registers");
  processor.missingForV4 = processor.missingForV3;
  for (auto [has, name] : {std::pair<uint32_t, const char *>(extended.ebx & bit_AVX512F, "AVX512F"),
                           {extended.ebx & bit_AVX512BW, "AVX512BW"},
                           {extended.ebx & bit_AVX512CD, "AVX512CD"},
                           {extended.ebx & bit_AVX512DQ, "AVX512DQ"},
                           {extended.ebx & bit_AVX512VL, "AVX512VL"}})
    list(processor.missingForV4, has, name);
  if (extended.ebx & bit_AVX512F)
    list(processor.missingForV4, (saved & zmm) == zmm, "an operating system that saves AVX-512's registers");
  processor.missingForVnni = processor.missingForV4;
  list(processor.missingForVnni, extended.ecx & bit_AVX512VNNI, "AVX512VNNI");
  processor.missingForAmx = processor.missingForVnni;
  constexpr uint32_t amxBf16 = 1 << 22, amxTile = 1 << 24; // GCC and Clang have other names for these bits
  bool hasTiles = extended.edx & amxTile;
  list(processor.missingForAmx, hasTiles, "AMX-TILE");
  list(processor.missingForAmx, extended.edx & amxBf16, "AMX-BF16");
  if (hasTiles)
    list(processor.missingForAmx, savesAny && allowsTiles(), "an operating system that saves AMX's registers");
  return processor;
}

#else

std::string modelName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (size_t colon = line.find(": "); colon != line.npos)
        return line.substr(colon + 2);
  return "";
}

Processor detect() {
  std::string name = modelName();
#if defined(__aarch64__)
  return {.name = name.empty() ? "aarch64 processor" : name, .architecture = "aarch64"};
#else
  return {.name = name.empty() ? "processor" : name, .architecture = ""};
#endif
}

#endif

struct Target {
  std::string_view name, architecture;
  std::string Processor::*missing;
};

// From the target that suits least to the best.
constexpr Target kTargets[] = {{"cpu:aarch64", "aarch64", nullptr},
                               {"cpu:x86-64-v3", "x86-64", &Processor::missingForV3},
                               {"cpu:x86-64-v4", "x86-64", &Processor::missingForV4},
                               {"cpu:x86-64-v4-vnni", "x86-64", &Processor::missingForVnni},
                               {"cpu:x86-64-v4-amx", "x86-64", &Processor::missingForAmx}};

} // namespace

const Processor &Processor::get() {
  static const Processor processor = detect();
  return processor;
}

uint32_t Processor::suitability(std::string_view target) const {
  if (!obstacle(target).empty())
    return 0;
  return 1 + static_cast<uint32_t>(std::ranges::find(kTargets, target, &Target::name) - kTargets);
}

std::string Processor::obstacle(std::string_view target) const {
  const Target *known = std::ranges::find(kTargets, target, &Target::name);
  if (known == std::end(kTargets))
    return "this build does not know the target";
  if (known->architecture != architecture)
    return str("it is for ", known->architecture, " processors");
  if (!known->missing || (this->*known->missing).empty())
    return "";
  return "the processor lacks " + this->*known->missing;
}

std::string Processor::bestTarget() const {
  for (const Target &target : std::views::reverse(kTargets))
    if (suitability(target.name))
      return std::string(target.name);
  return "";
}

} // namespace heddle::hal::cpu
