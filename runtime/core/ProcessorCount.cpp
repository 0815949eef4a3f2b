#include "runtime/core/ProcessorCount.h"

#include "runtime/core/Status.h"
#include "runtime/core/Threads.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sched.h>
#include <set>
#include <sstream>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace heddle {
namespace {

std::string firstLine(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Returns a name of a control group that is the same in all containers: the number of its folder.
std::string nameOf(const std::string &folder) {
  struct stat status = {};
  return ::stat(folder.c_str(), &status) == 0 ? str(status.st_dev, ":", status.st_ino) : folder;
}

// Lowers `limit` to `quota` microseconds of processor time in each `period` microseconds, which the folder's group allows.
void lower(ProcessorQuota &limit, const std::string &folder, std::optional<int64_t> quota,
           std::optional<int64_t> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0)
    return;
  auto allowed = static_cast<unsigned>(std::min<int64_t>((*quota - 1) / *period + 1, 1 << 20));
  if (limit.processors == 0 || allowed < limit.processors)
    limit = {allowed, nameOf(folder)};
}

// Calls `visit` for a group's folder and for its parent folders, up to `top`.
template <typename Visit> void eachGroup(const std::string &top, std::string group, Visit visit) {
  for (;;) {
    visit(top + (group == "/" ? "" : group));
    size_t slash = group.rfind('/');
    if (group.size() <= 1 || slash == group.npos)
      return;
    group.resize(std::max<size_t>(slash, 1));
  }
}

// Returns the processors of this thread's affinity mask; empty if the mask cannot be read.
std::vector<unsigned> affinity() {
  std::vector<unsigned> processors;
  for (size_t most = 1024; most <= 1 << 16; most *= 4) { // too small a mask fails with EINVAL
    cpu_set_t *set = CPU_ALLOC(most);
    if (!set)
      return {};
    size_t bytes = CPU_ALLOC_SIZE(most);
    bool known = sched_getaffinity(0, bytes, set) == 0;
    for (size_t i = 0; known && i < most; ++i)
      if (CPU_ISSET_S(i, bytes, set))
        processors.push_back(static_cast<unsigned>(i));
    CPU_FREE(set);
    if (known)
      break;
  }
  return processors;
}

// Returns the number of physical cores that this thread may run on. At least 1.
unsigned usableCores(const std::string &root) {
  std::set<std::pair<std::string, std::string>> cores;
  for (unsigned processor : affinity()) {
    std::string topology = str(root, "/sys/devices/system/cpu/cpu", processor, "/topology/");
    std::string package = firstLine(topology + "physical_package_id"), core = firstLine(topology + "core_id");
    if (core.empty()) // unknown topology: count every processor as a core
      core = str("processor ", processor);
    cores.emplace(package, core);
  }
  return std::max<unsigned>(static_cast<unsigned>(cores.size()), 1);
}

} // namespace

ProcessorQuota processorQuota(const std::string &root) {
  ProcessorQuota limit;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) { // "4:cpu,cpuacct:/a/b", or "0::/a/b" in version 2
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos)
      continue;
    std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) {
      for (const char *top : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
        eachGroup(root + top, group, [&](const std::string &folder) {
          std::istringstream words(firstLine(folder + "/cpu.max")); // "max 100000": no limit
          std::string quota, period;
          words >> quota >> period;
          lower(limit, folder, number(quota), number(period));
        });
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      for (const std::string &top : {"/sys/fs/cgroup/" + controllers, std::string("/sys/fs/cgroup/cpu")})
        eachGroup(root + top, group, [&](const std::string &folder) {
          lower(limit, folder, number(firstLine(folder + "/cpu.cfs_quota_us")),
                number(firstLine(folder + "/cpu.cfs_period_us")));
        });
    }
  }
  return limit;
}

unsigned usableProcessors(const std::string &root) {
  unsigned cores = usableCores(root), quota = processorQuota(root).processors;
  return quota ? std::min(cores, quota) : cores;
}

unsigned threadCount() {
  if (std::optional<unsigned> wanted = wantedThreads())
    return *wanted;
  return shareOf(usableCores(""), processorQuota().processors);
}

} // namespace heddle
