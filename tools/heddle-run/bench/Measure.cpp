#include "tools/heddle-run/bench/Measure.h"

#include "tools/heddle-run/bench/OtherWork.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <utility>

namespace heddle::run {
namespace {

// Profiled calls are repeated, like the ordinary ones, until they have taken this long: a launch of a few microseconds
// is timed often, a step of a minute once.
constexpr double kProfilingSeconds = 1;

Result<double> secondsOf(const std::function<Status()> &work) {
  auto start = std::chrono::steady_clock::now();
  HEDDLE_CHECK(work());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void add(LaunchCost &sum, const LaunchCost &cost, bool first) {
  sum.known = cost.known && (first || sum.known);
  sum.flops += cost.flops;
  sum.modelFlops += cost.modelFlops;
  sum.bytes += cost.bytes;
}

double medianOf(std::vector<double> values) {
  auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

} // namespace

double EntryMeasurement::kernelSeconds() const {
  double sum = 0;
  for (const KernelMeasurement &kernel : kernels)
    sum += kernel.seconds;
  return sum;
}

int64_t EntryMeasurement::tokens() const {
  auto token = inputs.find("token");
  return token == inputs.end() || token->second.size() != 1 ? 0 : token->second.front();
}

Result<EntryMeasurement> measure(Session &session, const std::string &entry, std::span<const Input> inputs,
                                 const MeasureOptions &options) {
  EntryMeasurement result;
  result.name = entry;
  for (const Input &input : inputs)
    result.inputs[std::string(input.name)].assign(input.tensor.shape.begin(), input.tensor.shape.end());
  // Only the kernels' work is timed, without copying hundreds of megabytes. So inputs stay on the device. Inputs whose
  // memory the entry reuses for other values are sent again before the clock starts.
  Send missing = Send::All;
  auto send = [&]() -> Status {
    HEDDLE_CHECK(session.send(entry, inputs, std::exchange(missing, Send::Overwritten)));
    return session.wait();
  };
  auto call = [&]() -> Status {
    HEDDLE_CHECK(session.run(entry, inputs, Send::Nothing));
    return session.wait();
  };
  for (uint64_t i = 0; i < options.warmup; ++i) {
    HEDDLE_CHECK(send());
    HEDDLE_CHECK(call());
  }
  OtherWork otherWork;
  for (uint64_t i = 0; i < options.repeat; ++i) {
    HEDDLE_CHECK(send());
    HEDDLE_ASSIGN(double seconds, secondsOf(call));
    result.seconds.push_back(seconds);
  }
  if (session.device().type == hal::DeviceType::Cpu)
    result.otherWork = otherWork.fraction();
  std::ranges::sort(result.seconds);
  result.deviceBytes = session.memory().peak;

  std::vector<std::vector<double>> launchSeconds;
  std::vector<double> profiledSeconds;
  double spent = 0;
  while (result.profiledCalls == 0 || (result.profiledCalls < options.repeat && spent < kProfilingSeconds)) {
    HEDDLE_CHECK(send());
    HEDDLE_ASSIGN(double seconds, secondsOf([&]() -> Status {
                    HEDDLE_ASSIGN(result.lastProfile, session.profile(entry, inputs, Send::Nothing));
                    return Success();
                  }));
    launchSeconds.resize(result.lastProfile.size());
    for (size_t i = 0; i < launchSeconds.size(); ++i)
      launchSeconds[i].push_back(double(result.lastProfile[i].end - result.lastProfile[i].begin) * 1e-9);
    spent += seconds;
    profiledSeconds.push_back(seconds);
    ++result.profiledCalls;
  }
  result.profiledSeconds = medianOf(profiledSeconds);

  HEDDLE_ASSIGN(result.costs, session.costs(entry, inputs));
  std::map<std::string_view, KernelMeasurement> kernels;
  for (size_t i = 0; i < launchSeconds.size(); ++i) {
    KernelMeasurement &kernel = kernels[result.lastProfile[i].kernel];
    kernel.name = result.lastProfile[i].kernel;
    add(kernel.work, result.costs[i], kernel.launches++ == 0);
    add(result.work, result.costs[i], i == 0);
    kernel.seconds += medianOf(launchSeconds[i]);
  }
  for (auto &[name, kernel] : kernels)
    result.kernels.push_back(std::move(kernel));
  std::ranges::stable_sort(result.kernels, std::greater<>(), &KernelMeasurement::seconds);
  return result;
}

} // namespace heddle::run
