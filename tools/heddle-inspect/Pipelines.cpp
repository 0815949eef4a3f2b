#include "tools/heddle-inspect/Pipelines.h"

#include "runtime/core/Json.h"
#include "runtime/hal/Backend.h"
#include "tools/heddle-inspect/MachineCode.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace heddle {
namespace {

using Json = nlohmann::ordered_json;

hal::KernelSource sourceOf(const Artifact &artifact, const schema::Target &target, uint32_t index) {
  const schema::Kernel &kernel = *target.kernels()->Get(index);
  hal::KernelSource source;
  source.name = view(kernel.name());
  source.code = artifact.code(target, index).words;
  source.lanes = kernel.lanes();
  source.subgroup = kernel.subgroup();
  source.exactSubgroup = kernel.cooperative_side() != 0;
  if (const auto *texels = kernel.texels())
    source.texels = {texels->data(), texels->size()};
  source.texelFloats = kernel.texel_floats();
  return source;
}

// Columns of the table that show the driver's statistics, by their names in Mesa's AMD driver.
struct Column {
  const char *title, *number;
};
constexpr Column kColumns[] = {
    {"registers", "VGPRs"},           {"spilled", "Spilled VGPRs"},        {"scratch", "Scratch size"},
    {"shared", "LDS size"},           {"residents", "Subgroups per SIMD"}, {"code", "Code size"},
    {"clocks", "Inverse Throughput"},
};

std::string cell(const hal::CodeReport &report, const char *name) {
  auto found = std::ranges::find(report.numbers, name, &hal::CodeReport::Number::name);
  return found == report.numbers.end() ? "-" : str(found->value);
}

// Returns the loop with the most multiply-adds.
const LoopCount *mainLoop(const std::vector<LoopCount> &loops) {
  auto most = std::ranges::max_element(loops, {}, &LoopCount::multiplyAdds);
  return most == loops.end() || !most->multiplyAdds ? nullptr : &*most;
}

void printRow(std::string_view name, double milliseconds, const hal::CodeReport &report,
              const std::vector<LoopCount> &loops) {
  std::printf("  %-40s %8.1f %6u", std::string(name).c_str(), milliseconds, report.subgroup);
  for (const Column &column : kColumns)
    std::printf(" %9s", cell(report, column.number).c_str());
  if (const LoopCount *loop = mainLoop(loops))
    std::printf("  %zu of %zu (%.0f%%)", loop->multiplyAdds, loop->arithmetic + loop->memory,
                100 * loop->multiplyAddShare());
  std::printf("\n");
  std::fflush(stdout); // show the row now: the next kernel may take long
}

Json rowOf(const hal::KernelSource &source, double milliseconds, const hal::CodeReport &report,
           const std::vector<LoopCount> &loops) {
  Json row = {{"name", source.name},
              {"milliseconds", milliseconds},
              {"workgroup", source.lanes},
              {"subgroup", report.subgroup}};
  Json numbers = Json::object(), counted = Json::array();
  for (const auto &[number, value] : report.numbers)
    numbers[number] = value;
  for (const LoopCount &loop : loops)
    counted.push_back({{"arithmetic", loop.arithmetic},
                       {"multiply_adds", loop.multiplyAdds},
                       {"memory", loop.memory},
                       {"scalar", loop.scalar}});
  row["driver"] = std::move(numbers);
  row["loops"] = std::move(counted);
  return row;
}

void printTitle(const schema::Target &target, const hal::DeviceInfo &device) {
  std::printf("%s on %s (%s), by %s\n  %-40s %8s %6s", view(target.name()).data(), device.id.c_str(),
              device.name.c_str(), device.driver.c_str(), "kernel", "ms", "lanes");
  for (const Column &column : kColumns)
    std::printf(" %9s", column.title);
  std::printf("  multiply-adds of the main loop\n");
}

} // namespace

Status printPipelines(const Artifact &artifact, const PipelineOptions &options) {
  hal::DeviceOptions deviceOptions;
  deviceOptions.codeReports = true;
  HEDDLE_ASSIGN(std::unique_ptr<hal::Device> device, hal::openDevice(options.device, deviceOptions));
  Json all = {{"device", device->info().name}, {"driver", device->info().driver}, {"kernels", Json::array()}};
  const hal::Backend *backend = hal::findBackend(device->info().id);
  bool found = false;
  size_t leftOut = 0;
  for (const schema::Target *target : *artifact.module().targets()) {
    std::string_view targetName = view(target->name());
    if (hal::findBackend(targetName) != backend || (!options.target.empty() && targetName != options.target))
      continue;
    if (!options.json)
      printTitle(*target, device->info());
    for (uint32_t i = 0; i < target->kernels()->size(); ++i) {
      hal::KernelSource source = sourceOf(artifact, *target, i);
      if (!options.kernel.empty() && source.name != options.kernel)
        continue;
      found = true;
      if (std::ranges::any_of(options.without, [&](const std::string &part) {
            return source.name.find(part) != std::string_view::npos;
          })) {
        ++leftOut;
        continue;
      }
      std::clock_t begin = std::clock(); // CPU time, which leaves out other work on the machine
      HEDDLE_ASSIGN(auto executables, device->load({&source, 1}));
      double milliseconds = 1e3 * double(std::clock() - begin) / CLOCKS_PER_SEC;
      HEDDLE_ASSIGN(hal::CodeReport report, device->report(*executables.front()));
      std::vector<LoopCount> loops = innermostLoops(report.assembly);
      if (options.json) {
        all["kernels"].push_back(rowOf(source, milliseconds, report, loops));
        all["kernels"].back()["target"] = targetName;
        continue;
      }
      printRow(source.name, milliseconds, report, loops);
      if (!options.kernel.empty())
        std::printf("%s", report.assembly.c_str());
    }
  }
  if (!found)
    return makeError(ErrorKind::NotFound, "'", artifact.origin(), "' has no ",
                     options.kernel.empty() ? "kernel" : "kernel '" + options.kernel + "'", " for ",
                     options.target.empty() ? str("a ", backend->title(), " target")
                                            : "the target '" + options.target + "'",
                     ". Without --pipelines all kernels are listed.");
  all["left_out"] = leftOut;
  if (options.json)
    std::puts(all.dump(1).c_str());
  return Success();
}

} // namespace heddle
