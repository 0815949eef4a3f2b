#include "test/cuda/emulator/Registers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

namespace heddle::emulator {
namespace {

constexpr uint32_t kMostOfThread = 255, kWarp = 32, kUnit = 256;

uint64_t warpsOf(uint64_t threads) { return (threads + kWarp - 1) / kWarp; }

// Returns the command's output on stdout and stderr.
std::string outputOf(const std::string &command) {
  std::string output;
  // NOLINTNEXTLINE(bugprone-command-processor): the command is the test's own
  FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe)
    return output;
  char buffer[4096];
  while (size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
    output.append(buffer, count);
  pclose(pipe);
  return output;
}

} // namespace

uint32_t registerLimit(const Function &function) {
  uint64_t limit = function.maxRegisters ? std::min(function.maxRegisters, kMostOfThread) : kMostOfThread;
  const uint32_t *block = function.requiredThreads[0] ? function.requiredThreads : function.maxThreads;
  if (uint64_t warps = warpsOf(uint64_t(block[0]) * block[1] * block[2])) {
    uint64_t units = kRegisters / kUnit / (warps * std::max(1u, function.minBlocks));
    limit = std::min(limit, units * kUnit / kWarp);
  }
  return static_cast<uint32_t>(limit);
}

bool hasRegistersFor(uint64_t threads, uint32_t registers) {
  uint64_t units = (uint64_t(registers) * kWarp + kUnit - 1) / kUnit;
  return warpsOf(threads) * units * kUnit <= kRegisters;
}

uint32_t registersByPtxas(const std::string &ptx, const std::string &targetName, const std::string &kernel) {
  const char *named = std::getenv("HEDDLE_EMULATOR_PTXAS");
  std::string program = named ? named : "ptxas";
  const char *folder = std::getenv("TMPDIR");
  std::string path = std::string(folder && *folder ? folder : "/tmp") + "/heddle-emulator-XXXXXX";
  int file = mkstemp(path.data());
  if (file < 0)
    return 0;
  close(file);
  std::ofstream(path) << ptx;
  std::string cubin = path + ".cubin";
  std::string said = outputOf("'" + program + "' -v --gpu-name=" + targetName + " '" + path + "' -o '" + cubin + "'");
  std::remove(path.c_str());
  std::remove(cubin.c_str());
  const std::string before = "Used ";
  size_t at = said.find("entry function '" + kernel + "'");
  at = at == std::string::npos ? at : said.find(before, at);
  return at == std::string::npos ? 0 : static_cast<uint32_t>(std::strtoul(&said[at + before.size()], nullptr, 10));
}

} // namespace heddle::emulator
