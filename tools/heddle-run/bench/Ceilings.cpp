#include "tools/heddle-run/bench/Ceilings.h"

#include "tools/heddle-run/call/RandomInputs.h"

#include <algorithm>

namespace heddle::run {
namespace {

constexpr int kCalls = 7;

void raise(Ceiling &ceiling, const Ceiling &other) {
  if (other.rate > ceiling.rate)
    ceiling = other;
}

} // namespace

void Ceilings::include(const Ceilings &other) {
  raise(arithmetic, other.arithmetic);
  raise(longestChain, other.longestChain);
  raise(copy, other.copy);
  raise(read, other.read);
}

std::optional<std::filesystem::path> findCeilings(std::string_view target) {
  std::string name = str("ceilings-", target, ".heddle");
  std::ranges::replace(name, ':', '-');
  std::error_code error;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  std::filesystem::path path = program.parent_path().parent_path() / "share/heddle" / name;
  if (error || !std::filesystem::exists(path, error))
    return std::nullopt;
  return path;
}

Result<CeilingMeasurement> CeilingMeasurement::open(const std::filesystem::path &artifact, const std::string &device) {
  CeilingMeasurement result;
  HEDDLE_ASSIGN(result.session, Session::open(artifact, {.device = device}));
  std::vector<std::string_view> names;
  for (const EntryInfo &entry : result.session->entries()) {
    Ceiling Ceilings::*kind = entry.name.starts_with("fma_")    ? &Ceilings::arithmetic
                              : entry.name.starts_with("long_") ? &Ceilings::longestChain
                              : entry.name.starts_with("copy_") ? &Ceilings::copy
                              : entry.name.starts_with("read_") ? &Ceilings::read
                                                                : nullptr;
    if (!kind || entry.inputs.size() != 1)
      return makeError(ErrorKind::InvalidArgument, "'", artifact.string(), "' measures no ceilings: its entry '",
                       entry.name, "' is not fma_*, long_*, copy_* or read_* with a single input.");
    HEDDLE_ASSIGN(auto inputs, randomInputs(entry));
    result.kernels.push_back({entry.name, kind, std::move(inputs.front().tensor), {}});
    names.push_back(entry.name);
  }
  HEDDLE_CHECK(result.session->prepare(names));
  for (Kernel &kernel : result.kernels) {
    const Input input{result.session->findEntry(kernel.entry)->inputs.front().name, kernel.input};
    HEDDLE_ASSIGN(auto costs, result.session->costs(kernel.entry, {&input, 1}));
    bool isMemory = kernel.kind == &Ceilings::copy || kernel.kind == &Ceilings::read;
    for (const LaunchCost &cost : costs) {
      kernel.isTimed.push_back(cost.known);
      kernel.work += isMemory ? cost.bytes : cost.flops;
    }
  }
  return result;
}

Result<Ceilings> CeilingMeasurement::measure() {
  Ceilings ceilings;
  for (const Kernel &kernel : kernels) {
    const Input input{session->findEntry(kernel.entry)->inputs.front().name, kernel.input};
    for (int i = 0; i < kCalls; ++i) {
      HEDDLE_ASSIGN(auto launches, session->profile(kernel.entry, {&input, 1}));
      uint64_t nanoseconds = 0;
      for (size_t launch = 0; launch < launches.size(); ++launch)
        if (kernel.isTimed[launch])
          nanoseconds += launches[launch].end - launches[launch].begin;
      raise(ceilings.*kernel.kind, {kernel.entry, kernel.work / (double(std::max<uint64_t>(nanoseconds, 1)) * 1e-9)});
    }
  }
  return ceilings;
}

} // namespace heddle::run
