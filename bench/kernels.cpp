// Times single ops on the shapes of the paper's two models, each as a fraction of the device's ceilings, which are
// measured along with each op. The models are in bench/models; the build compiles them.
//
//   heddle-bench-kernels [--device=vulkan:0] [--models=DIR] [--repeat=7] [--ceilings=FILE|none]
//                        [Google Benchmark's flags]
//
// Times are the launches' times on the device; the median over the calls counts.
#include "runtime/artifact/Artifact.h"
#include "tools/heddle-run/bench/Ceilings.h"
#include "tools/heddle-run/bench/FillVariables.h"
#include "tools/heddle-run/call/RandomInputs.h"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstdio>
#include <filesystem>
#include <optional>

using namespace heddle;
using namespace heddle::run;

namespace {

struct Options {
  std::string device = "vulkan";
  std::string models = HEDDLE_BENCH_MODELS;
  std::string ceilings; // path of an artifact; empty: the one that was built for the target; "none": none
  int64_t repeat = 7;
};

Options options;
std::optional<CeilingMeasurement> ceilings;

// Returns true if the kernel's time counts. A backward pass begins with a forward pass, which does not count.
bool counts(std::string_view entry, std::string_view kernel) {
  return entry != "backward" || kernel.find("grad") != kernel.npos || kernel.find("delta") != kernel.npos;
}

Status run(benchmark::State &state, const std::shared_ptr<const Artifact> &artifact, const std::string &entry) {
  HEDDLE_ASSIGN(std::unique_ptr<Session> session, Session::open(artifact, {.device = options.device}));
  if (!ceilings && options.ceilings != "none") {
    std::optional<std::filesystem::path> path = options.ceilings;
    if (options.ceilings.empty())
      path = findCeilings(session->target());
    if (path) {
      HEDDLE_ASSIGN(ceilings, CeilingMeasurement::open(*path, session->device().id));
    }
  }
  HEDDLE_CHECK(fillVariables(*session, {&entry, 1}));
  HEDDLE_ASSIGN(std::vector<NamedTensor> tensors, randomInputs(*session->findEntry(entry)));
  std::vector<Input> inputs;
  for (const NamedTensor &named : tensors)
    inputs.push_back({named.name, named.tensor});
  HEDDLE_ASSIGN(std::vector<LaunchCost> costs, session->costs(entry, inputs));

  Ceilings limits;
  auto measureCeilings = [&]() -> Status {
    if (!ceilings)
      return Success();
    HEDDLE_ASSIGN(Ceilings measured, ceilings->measure());
    limits.include(measured);
    return Success();
  };
  HEDDLE_CHECK(measureCeilings());
  HEDDLE_CHECK(session->run(entry, inputs)); // touches the memory for the first time
  double flops = 0, bytes = 0;
  std::vector<double> times;
  for (auto iteration : state) {
    HEDDLE_ASSIGN(std::vector<LaunchProfile> launches, session->profile(entry, inputs));
    double seconds = flops = bytes = 0;
    for (size_t i = 0; i < launches.size(); ++i) {
      if (!counts(entry, launches[i].kernel))
        continue;
      seconds += double(launches[i].end - launches[i].begin) * 1e-9;
      flops += costs[i].flops;
      bytes += costs[i].bytes;
    }
    state.SetIterationTime(seconds);
    times.push_back(seconds);
  }
  HEDDLE_CHECK(measureCeilings());
  std::ranges::sort(times);
  double median = times[times.size() / 2];
  state.counters["median_ms"] = median * 1e3;
  state.counters["GFLOP/s"] = flops / median * 1e-9;
  state.counters["GB/s"] = bytes / median * 1e-9;
  if (ceilings) {
    state.counters["of_fma"] = flops / median / limits.arithmetic.rate;
    state.counters["of_copy"] = bytes / median / limits.copy.rate;
    state.counters["fma_GFLOP/s"] = limits.arithmetic.rate * 1e-9;
    state.counters["copy_GB/s"] = limits.copy.rate * 1e-9;
    state.counters["long_fma_GFLOP/s"] = limits.longestChain.rate * 1e-9;
  }
  return Success();
}

Status registerAll() {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto &file : std::filesystem::directory_iterator(options.models, error))
    if (file.path().extension() == ".heddle")
      paths.push_back(file.path());
  if (paths.empty())
    return makeError(ErrorKind::NotFound, "there are no artifacts in '", options.models,
                     "'; build the target heddle_bench_models.");
  std::ranges::sort(paths);
  for (const std::filesystem::path &path : paths) {
    HEDDLE_ASSIGN(std::shared_ptr<const Artifact> artifact, Artifact::load(path));
    for (const schema::Entry *entry : *artifact->module().entries()) {
      std::string name(view(entry->name()));
      auto body = [artifact, name](benchmark::State &state) {
        if (Status status = run(state, artifact, name); !status.ok())
          state.SkipWithError(status.message().c_str());
      };
      benchmark::RegisterBenchmark((path.stem().string() + "/" + name).c_str(), body)
          ->Iterations(options.repeat)
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
  return Success();
}

// Removes our flags from the command line; the others are Google Benchmark's.
void parseOptions(int &argc, char **argv) {
  auto ours = [](std::string_view argument) {
    auto value = [&](std::string_view flag) -> std::optional<std::string> {
      return argument.starts_with(flag) ? std::optional(std::string(argument.substr(flag.size()))) : std::nullopt;
    };
    if (auto device = value("--device="))
      options.device = *device;
    else if (auto models = value("--models="))
      options.models = *models;
    else if (auto ceilings = value("--ceilings="))
      options.ceilings = *ceilings;
    else if (auto repeat = value("--repeat="))
      options.repeat = std::max(1L, std::strtol(repeat->c_str(), nullptr, 10));
    else
      return false;
    return true;
  };
  argc = int(std::remove_if(argv + 1, argv + argc, ours) - argv);
}

} // namespace

int main(int argc, char **argv) {
  parseOptions(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 2;
  if (Status status = registerAll(); !status.ok()) {
    std::fprintf(stderr, "heddle-bench-kernels: %s\n", status.message().c_str());
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  ceilings.reset();
  benchmark::Shutdown();
  return 0;
}
