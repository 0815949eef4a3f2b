#include "tools/heddle-run/bench/BenchReport.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace heddle::run {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kWorthSaying = 0.03; // share of the processors' time; there is always a little other work

[[gnu::format(printf, 1, 2)]] std::string format(const char *pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  char text[1024];
  std::vsnprintf(text, sizeof(text), pattern, arguments);
  va_end(arguments);
  return text;
}

// Formats a column of the table: a number, or a dash if it is unknown or not positive.
std::string number(int width, int digits, double value, bool known = true) {
  return known && value > 0 ? format(" %*.*f", width, digits, value) : format(" %*s", width, "-");
}

// A kernel without workgroups takes no time, and does no work.
double rateOf(double work, double seconds) { return seconds > 0 ? work / seconds : 0; }

double ratio(double value, const Ceiling &ceiling) { return ceiling.rate > 0 ? value / ceiling.rate : 0; }

bool hasReads(const std::optional<Ceilings> &ceilings) { return ceilings && ceilings->read.rate > 0; }

// Returns the rates of `work` in `seconds`, also as fractions of the ceilings if those were measured.
Json rates(const LaunchCost &work, double seconds, const std::optional<Ceilings> &ceilings) {
  double flops = rateOf(work.flops, seconds), bytes = rateOf(work.bytes, seconds);
  Json record = {{"flops", work.flops},
                 {"model_flops", work.modelFlops},
                 {"bytes", work.bytes},
                 {"flops_per_second", flops},
                 {"bytes_per_second", bytes}};
  if (ceilings) {
    record["of_fma_ceiling"] = ratio(flops, ceilings->arithmetic);
    record["of_copy_ceiling"] = ratio(bytes, ceilings->copy);
  }
  if (hasReads(ceilings))
    record["of_read_ceiling"] = ratio(bytes, ceilings->read);
  return record;
}

} // namespace

BenchReport::BenchReport(const Session &session)
    : device(session.device().name), driver(session.device().driver), target(session.target()) {}

std::string BenchReport::ceilingText() const {
  if (!ceilings)
    return "ceilings: not measured\n";
  std::string text = format("ceilings: multiply-adds %.1f GFLOP/s (%s), copies %.2f GB/s, both ways (%s)",
                            ceilings->arithmetic.rate * 1e-9, ceilings->arithmetic.kernel.c_str(),
                            ceilings->copy.rate * 1e-9, ceilings->copy.kernel.c_str());
  text += hasReads(ceilings)
              ? format(", reads %.2f GB/s (%s)\n", ceilings->read.rate * 1e-9, ceilings->read.kernel.c_str())
              : "\n";
  if (ceilings->longestChain.rate > 0)
    text += format("  beside them: multiply-adds of fewer chains in longer bodies %.1f GFLOP/s (%s)\n",
                   ceilings->longestChain.rate * 1e-9, ceilings->longestChain.kernel.c_str());
  return text;
}

std::string BenchReport::text() const {
  std::string text = ceilingText();
  for (const EntryMeasurement &entry : entries)
    text += "\n" + table(entry);
  return text;
}

std::string BenchReport::table(const EntryMeasurement &entry) const {
  std::string text =
      format("%s: median %.3f ms of %zu calls, from %.3f to %.3f ms\n", entry.name.c_str(), entry.median() * 1e3,
             entry.seconds.size(), entry.seconds.front() * 1e3, entry.seconds.back() * 1e3);
  KernelMeasurement all{"all, in sequence", 0, entry.kernelSeconds(), entry.work};
  size_t width = all.name.size();
  for (const KernelMeasurement &kernel : entry.kernels)
    width = std::max(width, kernel.name.size());
  text += format("  %-*s %8s %10s %6s %10s %8s %6s %10s %7s %6s%s\n", int(width), "kernel", "launches", "ms", "%",
                 "MFLOP", "GFLOP/s", "of fma", "MB", "GB/s", "of cp", hasReads(ceilings) ? "  of rd" : "");
  auto row = [&](const KernelMeasurement &kernel, double share) {
    double flops = rateOf(kernel.work.flops, kernel.seconds), bytes = rateOf(kernel.work.bytes, kernel.seconds);
    bool known = kernel.work.known;
    text += format("  %-*s %8llu %10.3f %6.2f", int(width), kernel.name.c_str(),
                   static_cast<unsigned long long>(kernel.launches), kernel.seconds * 1e3, share * 100);
    text += number(10, 2, kernel.work.flops * 1e-6, known) + number(8, 2, flops * 1e-9, known) +
            number(6, 3, ceilings ? ratio(flops, ceilings->arithmetic) : 0, known) +
            number(10, 2, kernel.work.bytes * 1e-6, known) + number(7, 2, bytes * 1e-9, known) +
            number(6, 3, ceilings ? ratio(bytes, ceilings->copy) : 0, known) +
            (hasReads(ceilings) ? number(6, 3, ratio(bytes, ceilings->read), known) : "") + "\n";
  };
  for (const KernelMeasurement &kernel : entry.kernels) {
    row(kernel, kernel.seconds / all.seconds);
    all.launches += kernel.launches;
  }
  row(all, 1);
  text += format("  launches were timed in %llu calls that took %.3f ms each, timing included\n",
                 static_cast<unsigned long long>(entry.profiledCalls), entry.profiledSeconds * 1e3);
  text += format("  device memory: %s at most\n", describeBytes(entry.deviceBytes).c_str());
  if (entry.otherWork && *entry.otherWork > kWorthSaying)
    text += format("  other work had %.0f%% of the processors during the calls\n", *entry.otherWork * 100);
  if (entry.work.known) {
    double rate = entry.work.modelFlops / entry.median();
    text += format("  model FLOPs %.3f G in %.3f ms: %.2f GFLOP/s", entry.work.modelFlops * 1e-9, entry.median() * 1e3,
                   rate * 1e-9);
    text += ceilings ? format(", %.3f of the ceiling\n", ratio(rate, ceilings->arithmetic)) : "\n";
  }
  if (int64_t tokens = entry.tokens(); tokens && entry.work.known) {
    double bytes = entry.work.bytes / double(tokens), rate = double(tokens) / entry.median();
    text += format("  bytes a token: %.3f M, %.1f tokens/s", bytes * 1e-6, rate);
    text += hasReads(ceilings) ? format(", %.3f of the %.1f tokens/s at which all of these bytes could be read\n",
                                        ratio(bytes * rate, ceilings->read), ceilings->read.rate / bytes)
                               : "\n";
  }
  return text;
}

Json BenchReport::json(const EntryMeasurement &entry) const {
  Json kernels = Json::array();
  for (const KernelMeasurement &kernel : entry.kernels) {
    Json item = {{"kernel", kernel.name}, {"launches", kernel.launches}, {"seconds", kernel.seconds}};
    if (kernel.work.known)
      item.update(rates(kernel.work, kernel.seconds, ceilings));
    kernels.push_back(std::move(item));
  }
  Json record = {{"entry", entry.name},
                 {"inputs", entry.inputs},
                 {"repeat", entry.seconds.size()},
                 {"median_seconds", entry.median()},
                 {"minimum_seconds", entry.seconds.front()},
                 {"maximum_seconds", entry.seconds.back()},
                 {"profiled_seconds", entry.profiledSeconds},
                 {"profiled_calls", entry.profiledCalls},
                 {"kernel_seconds", entry.kernelSeconds()},
                 {"device_bytes", entry.deviceBytes}};
  if (entry.otherWork)
    record["other_work"] = *entry.otherWork;
  if (entry.work.known) {
    double rate = entry.work.modelFlops / entry.median();
    record.update(rates(entry.work, entry.median(), ceilings));
    record["model_flops_per_second"] = rate;
    if (ceilings)
      record["model_of_fma_ceiling"] = ratio(rate, ceilings->arithmetic);
    if (int64_t tokens = entry.tokens())
      record.update({{"tokens", tokens}, {"bytes_per_token", entry.work.bytes / double(tokens)}});
  }
  record["kernels"] = std::move(kernels);
  return record;
}

Json BenchReport::json() const {
  Json record = {{"device", device}, {"driver", driver}, {"target", target}};
  if (ceilings)
    record["ceilings"] = {{"fma_flops_per_second", ceilings->arithmetic.rate},
                          {"fma_kernel", ceilings->arithmetic.kernel},
                          {"long_fma_flops_per_second", ceilings->longestChain.rate},
                          {"long_fma_kernel", ceilings->longestChain.kernel},
                          {"copy_bytes_per_second", ceilings->copy.rate},
                          {"copy_kernel", ceilings->copy.kernel}};
  if (hasReads(ceilings))
    record["ceilings"].update({{"read_bytes_per_second", ceilings->read.rate}, {"read_kernel", ceilings->read.kernel}});
  record["entries"] = Json::array();
  for (const EntryMeasurement &entry : entries)
    record["entries"].push_back(json(entry));
  return record;
}

} // namespace heddle::run
